//! Tables of simple commands that succeed whatever the code does. Pure.

use super::{Vacuous, base_name};

/// Programs that print, wait or create something, and do not judge code.
const NEVER_FAIL: [&str; 60] = [
    ":", "alias", "arch", "basename", "cat", "cd", "chmod", "clear", "cp", "cut", "date", "df",
    "dirname", "du", "echo", "export", "file", "hash", "head", "hostname", "id", "kill", "killall",
    "less", "ls", "mkdir", "more", "mv", "nl", "nproc", "pkill", "printenv", "printf", "ps", "pwd",
    "readonly", "rev", "rm", "seq", "sleep", "sort", "stat", "tac", "tail", "tee", "touch", "tr",
    "trap", "tree", "true", "type", "ulimit", "umask", "uname", "uniq", "unset", "wc", "which",
    "whoami", "yes",
];

/// Options with which programs only tell something; those of `""` apply to all programs.
const TELLS: [(&str, &[&str]); 15] = [
    ("", &["--help", "--version"]),
    ("make gmake ninja", &["--dry-run", "--just-print", "--recon", "--touch", "--question"]),
    ("pytest", &["--collect-only", "--co", "--fixtures", "--markers", "--setup-only"]),
    ("pytest", &["--setup-plan"]),
    ("jest", &["--listTests", "--showConfig"]),
    ("mocha rspec", &["--dry-run"]),
    ("tsc", &["--showConfig", "--listFilesOnly"]),
    ("eslint", &["--print-config", "--env-info"]),
    ("ctest", &["-N", "--show-only"]),
    ("phpunit", &["--list-tests", "--list-suites", "--list-groups"]),
    ("gradle gradlew", &["--dry-run", "-m"]),
    ("tox", &["-l", "--listenvs"]),
    ("nox", &["-l", "--list"]),
    ("bats", &["--count"]),
    ("cargo npm pnpm yarn", &["-h"]),
];

/// First words with which programs only tell something.
const TELLS_FIRST: [(&str, &[&str]); 5] = [
    ("cargo go npm docker git", &["help"]),
    ("go npm docker", &["version"]),
    ("vitest", &["list"]),
    ("gradle gradlew", &["tasks", "projects"]),
    ("bazel", &["query", "info", "version"]),
];

/// Words with which programs only tell something if there are no others.
const TELLS_ALONE: [(&str, &[&str]); 4] = [
    ("", &["-h", "-help", "-version"]),
    ("node npm pnpm yarn make gmake mvn gradle gradlew php ruby tsc", &["-v"]),
    ("python python3 cargo rustc ruby pytest mypy ruff pip pip3 tsc", &["-V"]),
    ("", &["-?"]),
];

/// Options with which programs succeed whatever fails.
const SUCCEEDS: [(&str, &[&str]); 5] = [
    ("make gmake", &["--ignore-errors"]),
    ("flake8 pylint ruff", &["--exit-zero"]),
    ("ruff", &["-e"]),
    ("golangci-lint", &["--issues-exit-code=0"]),
    ("mvn", &["-fn", "--fail-never"]),
];

/// Interpreters, their option for a program in a word, and what a program that does nothing may name.
const ONE_LINERS: [(&str, &[&str], &[&str]); 5] = [
    (
        "python",
        &["-c"],
        &[
            "pass", "print", "exit", "quit", "sys", "import", "assert", "True", "False", "None",
            "not", "and", "or", "is", "in",
        ],
    ),
    (
        "node",
        &["-e", "--eval", "-p", "--print"],
        &["console", "log", "process", "exit", "true", "false", "null", "undefined"],
    ),
    ("ruby", &["-e"], &["puts", "print", "p", "exit", "true", "false", "nil"]),
    ("perl", &["-e", "-E"], &["print", "say", "exit"]),
    ("php", &["-r"], &["echo", "print", "exit", "true", "false", "null"]),
];

/// Programs that run the command in their arguments, and their options that take the next word as their value.
const WRAPPERS: [(&str, &[&str]); 17] = [
    ("builtin", &[]),
    ("busybox", &[]),
    ("chrt", &[]),
    ("command", &[]),
    ("doas", &["-u"]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("exec", &["-a"]),
    ("ionice", &["-c", "-n"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("sudo", &["-u", "-g"]),
    ("taskset", &[]),
    ("time", &["-o", "-f"]),
    ("timeout", &["-k", "-s"]),
    ("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"]),
];

/// Returns why a command proves nothing by succeeding; `None` if it could fail.
pub(super) fn weighed(name: &str, args: &[String]) -> Option<Vacuous> {
    if never_fails(name, args) {
        return Some(Vacuous::NeverFails { program: name.to_owned() });
    }
    if compares_nothing(name, args) {
        return Some(Vacuous::Unrelated);
    }
    if finds_anything(name, args) {
        return Some(Vacuous::FindsAnything);
    }
    let (name, args) = tool(name, args);
    only_tells(name, args)
        .map(|option| Vacuous::OnlyTells { option })
        .or_else(|| succeeds(name, args).map(|option| Vacuous::Succeeds { option }))
}

/// Returns the words of the command that a wrapper runs, empty if there is none; `None` if the program is no wrapper.
pub(super) fn run_by<'a>(name: &str, args: &'a [String]) -> Option<&'a [String]> {
    if name == "find" {
        // With `+`, find fails if the command does.
        let exec = args.iter().position(|arg| arg == "-exec" || arg == "-execdir")?;
        return args
            .last()
            .filter(|last| *last == "+")
            .and_then(|_| args.get(exec + 1..args.len() - 1));
    }
    let (_, valued) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name)?;
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        let is_own = arg.starts_with('-')
            || arg.contains('=')
            || arg.starts_with(|c: char| c.is_ascii_digit());
        if !is_own {
            break;
        }
        let is_valued = valued.contains(&arg.as_str());
        rest = if is_valued { after.get(1..).unwrap_or_default() } else { after };
    }
    Some(rest)
}

/// Returns the tool that runs, for `python -m tool` and `npx tool`.
fn tool<'a>(name: &'a str, args: &'a [String]) -> (&'a str, &'a [String]) {
    match args {
        [option, tool, rest @ ..] if name.starts_with("python") && option == "-m" => (tool, rest),
        [tool, rest @ ..] if name == "npx" && !tool.starts_with('-') => (tool, rest),
        _ => (name, args),
    }
}

fn never_fails(name: &str, args: &[String]) -> bool {
    let has = |words: &[&str]| args.iter().any(|arg| words.contains(&arg.as_str()));
    match name {
        "git" => !has(&["--exit-code", "--quiet", "--check", "--error-unmatch", "grep", "apply"]),
        "sed" => !args.iter().any(|arg| quits(arg)),
        "awk" | "gawk" | "mawk" | "nawk" => {
            !has(&["-f"]) && !args.iter().any(|arg| arg.contains("exit"))
        }
        "find" => true,
        // With the number of a process, it has the exit status of that process.
        "wait" => args.is_empty(),
        _ => NEVER_FAIL.contains(&name) || is_idle(name, args),
    }
}

/// Returns true if a script of sed has `q` or `Q` with an exit status other than 0.
fn quits(script: &str) -> bool {
    script.match_indices(['q', 'Q']).any(|(at, _)| {
        let after = script.get(at + 1..).unwrap_or_default().trim_start();
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let status = after.strip_suffix(rest).unwrap_or_default();
        status.bytes().any(|digit| digit != b'0')
            && (rest.is_empty() || rest.starts_with([';', '}', ' ', '\n']))
    })
}

/// Returns true if an interpreter is given a program that does nothing, or prints a constant.
fn is_idle(name: &str, args: &[String]) -> bool {
    let interpreter = ONE_LINERS.iter().find(|(it, _, _)| {
        name.strip_prefix(it).is_some_and(|rest| rest.bytes().all(|b| !b.is_ascii_alphabetic()))
    });
    let Some((_, options, harmless)) = interpreter else { return false };
    let at = args
        .iter()
        .take_while(|arg| arg.starts_with('-') && *arg != "-m")
        .position(|arg| options.contains(&arg.as_str()));
    let code = at.and_then(|at| args.get(at + 1));
    code.is_some_and(|code| {
        names(code).is_some_and(|names| names.iter().all(|it| harmless.contains(it)))
    })
}

/// Returns the names in a program outside of quotes; `None` if quotes are not simple.
fn names(code: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        rest = match c {
            '"' | '\'' => {
                let (text, after) = rest.get(1..)?.split_once(c)?;
                // An escape, or a substitution in the text.
                if text.contains(['\\', '$', '#']) {
                    return None;
                }
                after
            }
            _ if is_part(c) => {
                let after = rest.trim_start_matches(is_part);
                let name = rest.strip_suffix(after).unwrap_or_default();
                if !c.is_ascii_digit() {
                    names.push(name);
                }
                after
            }
            _ => rest.get(c.len_utf8()..)?,
        };
    }
    Some(names)
}

/// Returns true for a comparison of a file with itself, or of constants.
fn compares_nothing(name: &str, args: &[String]) -> bool {
    let mut files = args.iter().filter(|arg| !arg.starts_with('-'));
    match name {
        "diff" | "cmp" => match (files.next(), files.next(), files.next()) {
            (Some(one), Some(other), None) => one == other && !one.contains('$'),
            _ => false,
        },
        "expr" => !args.iter().any(|arg| arg.contains(['$', '`', '*'])),
        _ => false,
    }
}

/// Returns the option in a table that a command has.
fn listed<'a>(
    table: &[(&str, &[&str])],
    name: &str,
    args: impl IntoIterator<Item = &'a String>,
) -> Option<String> {
    let is_of = |programs: &str| programs.is_empty() || programs.split(' ').any(|it| it == name);
    let mut words = args.into_iter();
    words
        .find(|arg| {
            table.iter().any(|(programs, words)| is_of(programs) && words.contains(&arg.as_str()))
        })
        .cloned()
}

/// Returns the option that makes a program only print what it would do, or information about itself.
fn only_tells(name: &str, args: &[String]) -> Option<String> {
    let own = || args.iter().take_while(|arg| *arg != "--");
    let alone = args.first().filter(|_| args.len() == 1);
    listed(&TELLS, name, own())
        .or_else(|| listed(&TELLS_FIRST, name, args.first()))
        .or_else(|| listed(&TELLS_ALONE, name, alone))
        .or_else(|| {
            own()
                .find(|arg| {
                    is_make(name) && has_letter(arg, &['n', 't', 'q', 'h', 'v'], &MAKE_TAKES)
                })
                .cloned()
        })
        .or_else(|| match (name, args) {
            ("cargo", [test, ..]) if test == "test" => {
                args.iter().find(|arg| *arg == "--list").cloned()
            }
            _ => None,
        })
}

/// Options of make that take the rest of the word as their value.
const MAKE_TAKES: [char; 8] = ['C', 'f', 'j', 'l', 'o', 'W', 'I', 'E'];

fn is_make(name: &str) -> bool {
    matches!(name, "make" | "gmake" | "ninja")
}

/// Returns the word that makes a program succeed whatever fails.
fn succeeds(name: &str, args: &[String]) -> Option<String> {
    let own = || args.iter().take_while(|arg| *arg != "--");
    let ignores = |arg: &&String| {
        let shell = arg.strip_prefix("SHELL=").map(base_name);
        has_letter(arg, &['i'], &MAKE_TAKES)
            || shell.is_some_and(|shell| NEVER_FAIL.contains(&shell))
    };
    let zero = |pair: &[String]| pair == ["--issues-exit-code", "0"];
    listed(&SUCCEEDS, name, own())
        .or_else(|| own().find(|arg| matches!(name, "make" | "gmake") && ignores(arg)).cloned())
        .or_else(|| {
            args.windows(2)
                .find(|pair| name == "golangci-lint" && zero(pair))
                .map(|pair| pair.join(" "))
        })
}

/// Returns true if a word of short options has one of `letters` before a letter that takes the rest of the word as its
/// value.
fn has_letter(word: &str, letters: &[char], taking: &[char]) -> bool {
    let Some(options) = word.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
        return false;
    };
    options.chars().take_while(|letter| !taking.contains(letter)).any(|c| letters.contains(&c))
}

/// Returns true for a search whose pattern matches every line.
fn finds_anything(name: &str, args: &[String]) -> bool {
    const ANYTHING: [&str; 9] = ["", ".", "^", "$", ".*", "^.*", ".*$", "^.*$", ".?"];
    if !matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag") {
        return false;
    }
    let mut rest = args.iter().map(String::as_str);
    let mut first = None;
    while let Some(arg) = rest.next() {
        match arg {
            "-e" | "--regexp" => return rest.next().is_some_and(|it| ANYTHING.contains(&it)),
            "-v" | "--invert-match" | "-L" | "--files-without-match" | "-f" | "--file" => {
                return false;
            }
            "-A" | "-B" | "-C" | "-m" | "-t" | "-T" | "-g" => drop(rest.next()),
            "--" => first = first.or(rest.next()),
            option if option.len() > 1 && option.starts_with('-') => {
                if has_letter(option, &['v', 'L'], &['e', 'm', 'A', 'B', 'C']) {
                    return false;
                }
            }
            word => first = first.or(Some(word)),
        }
    }
    first.is_some_and(|pattern| ANYTHING.contains(&pattern))
}
