//! Detects checks that prove nothing by passing: commands that succeed whatever the code does, and test runs without
//! tests. Pure.

use std::fmt;

use policy::{Join, SimpleCommand, hands_on};
use shell::CommandLine;

/// Maximum nesting depth of scripts in command words, such as `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;

/// Why a command proves nothing by succeeding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vacuous {
    /// The program succeeds regardless of the code.
    NeverFails {
        /// The name of the program.
        program: String,
    },
    /// A condition on constant words in the command.
    Constant,
    /// An option keeps it from doing its work: `make -n`, `--version`.
    OnlyTells {
        /// The option.
        option: String,
    },
    /// It searches for a pattern that every line matches.
    FindsAnything,
    /// The last part, which proves nothing, determines the exit status.
    Masked,
}

impl fmt::Display for Vacuous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverFails { program } => {
                write!(f, "`{program}` succeeds whatever the code does")
            }
            Self::Constant => f.write_str("its condition compares constants only"),
            Self::OnlyTells { option } => write!(f, "`{option}` makes it check nothing"),
            Self::FindsAnything => f.write_str("its pattern matches every line"),
            Self::Masked => {
                f.write_str("its exit status is that of its last part, which always succeeds")
            }
        }
    }
}

/// Returns why a command proves nothing by succeeding; `None` if, as far as can be told, it could have failed.
pub fn proves_nothing(command: &str) -> Option<Vacuous> {
    of_line(&CommandLine::parse(command).ok()?, Errors::OfTheLast, MAX_SCRIPTS)
}

/// Returns true if a test runner reports counts and all of them are zero.
pub fn ran_no_test(output: &str) -> bool {
    let mut counts = output.lines().filter_map(tests_run).peekable();
    counts.peek().is_some() && counts.all(|count| count == 0)
}

/// Returns the number of tests run, if a line of output reports one.
fn tests_run(line: &str) -> Option<u64> {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.parse().ok();
    match words.as_slice() {
        // libtest, unittest; node, rspec, mocha.
        ["running", count, "test" | "tests"]
        | ["Ran", count, "test" | "tests", "in", ..]
        | ["#" | "ℹ", "tests", count]
        | [count, "examples," | "example," | "passing", ..] => number(count),
        // go, ctest, PHPUnit.
        ["?", _, "[no", "test", "files]"]
        | ["ok", .., "[no", "tests", "to", "run]"]
        | ["No", "tests", "were", "found!!!"]
        | ["No", "tests", "executed!"] => Some(0),
        ["ok", _, time] if time.ends_with('s') || *time == "(cached)" => Some(1),
        _ => None,
    }
}

/// Which failures determine the exit status of a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// That of the last command, the shell's default.
    OfTheLast,
    /// Any failure, as with `set -e`.
    OfAny,
}

fn of_line(line: &CommandLine, errors: Errors, depth: usize) -> Option<Vacuous> {
    if line.opaque().is_some() {
        // Which part decides cannot be determined. If no part can fail, it does not matter.
        if line.text().trim_start_matches(['!', ' ']).starts_with('[') {
            return is_fixed(line.text()).then_some(Vacuous::Constant);
        }
        let never = line.segments().iter().map(|segment| never_fails(&segment.words));
        return never.collect::<Option<Vec<_>>>()?.pop();
    }
    let mut lists: Vec<&[SimpleCommand]> =
        line.segments().chunk_by(|_, next| next.join != Join::Then).collect();
    let sets = |list: &[SimpleCommand]| match list {
        [only] => matches!(only.words.as_slice(), [set, e] if set == "set" && e.starts_with("-e")),
        _ => false,
    };
    if errors == Errors::OfAny || lists.first().is_some_and(|list| sets(list)) {
        // What stands alone is judged like any other command.
        if lists.len() > 1 {
            lists.retain(|list| !sets(list));
        }
        let all: Option<Vec<_>> = lists.iter().map(|list| of_list(list, depth)).collect();
        return all?.pop();
    }
    let is_alone = lists.len() == 1;
    let last = of_list(lists.last()?, depth)?;
    Some(if is_alone { last } else { Vacuous::Masked })
}

/// Evaluates commands joined by `&&`, `||` and `|`; in a pipe, the last one decides.
fn of_list(list: &[SimpleCommand], depth: usize) -> Option<Vacuous> {
    let mut pipes = list.chunk_by(|_, next| next.join == Join::Pipe);
    let decides = |pipe: &[SimpleCommand]| {
        let weighed = pipe.last().and_then(|last| of_simple(last, depth));
        weighed.map(|vacuous| if pipe.len() > 1 { Vacuous::Masked } else { vacuous })
    };
    let first = pipes.next().and_then(decides);
    pipes.fold(first, |before, pipe| match pipe.first().map(|first| first.join) {
        Some(Join::Or) => before.or(decides(pipe).map(|_| Vacuous::Masked)),
        _ => before.and(decides(pipe)),
    })
}

fn of_simple(command: &SimpleCommand, depth: usize) -> Option<Vacuous> {
    let words = &command.words;
    let (program, args) = words.split_first()?;
    let name = base_name(program);
    if matches!(name, "test" | "[" | "expr") {
        let is_fixed = !command.expands || args.iter().all(|arg| expands_to_a_constant(arg));
        return (is_fixed && is_constant(args)).then_some(Vacuous::Constant);
    }
    if let ("diff" | "cmp", [.., one, other]) = (name, args) {
        return (one == other).then_some(Vacuous::Constant);
    }
    if command.negated {
        let program = name.to_owned();
        return (name == "false").then_some(Vacuous::NeverFails { program });
    }
    let only_tells = only_tells(name, args).map(|option| Vacuous::OnlyTells { option });
    never_fails(words)
        .or_else(|| hands_on(words).then(|| of_wrapped(name, args, depth)).flatten())
        .or(only_tells)
        .or_else(|| says_only(name, args))
        .or_else(|| finds_anything(name, args).then_some(Vacuous::FindsAnything))
}

/// Evaluates a command run by a wrapper such as `env`, `timeout` or `sh -c`.
fn of_wrapped(name: &str, args: &[String], depth: usize) -> Option<Vacuous> {
    let depth = depth.checked_sub(1)?;
    let script = |text: &str, errors| of_line(&CommandLine::parse(text).ok()?, errors, depth);
    match name {
        "sh" | "ash" | "bash" | "dash" | "ksh" | "zsh" => {
            let is_option = |arg: &&String| {
                arg.starts_with('+') || arg.starts_with('-') && !arg.starts_with("--")
            };
            let (mut options, mut rest) = (String::new(), args.iter());
            let text = loop {
                let arg = rest.next()?;
                if !is_option(&arg) {
                    break arg;
                }
                // `-o` and `-euo` take a name.
                if arg.ends_with('o') {
                    rest.next();
                }
                options.push_str(arg.strip_prefix('+').map_or(arg, |_| ""));
            };
            let errors = if options.contains('e') { Errors::OfAny } else { Errors::OfTheLast };
            options.contains('c').then(|| script(text, errors))?
        }
        "eval" => script(&args.join(" "), Errors::OfTheLast),
        "env" | "time" | "nice" | "nohup" | "timeout" | "command" | "builtin" | "exec"
        | "setsid" | "stdbuf" | "xargs" => {
            let is_own = |arg: &String| {
                arg.starts_with('-')
                    || arg.contains('=')
                    || arg.starts_with(|c: char| c.is_ascii_digit())
            };
            let at = args.iter().position(|arg| !is_own(arg))?;
            let words = args.get(at..)?.to_vec();
            let (join, assignments) = (Join::First, Vec::new());
            let plain = SimpleCommand { join, negated: false, assignments, words, expands: false };
            of_simple(&plain, depth)
        }
        _ => None,
    }
}

/// Recognizes programs that print, wait or create something, and do not judge code.
fn never_fails(words: &[String]) -> Option<Vacuous> {
    const NEVER: [&str; 37] = [
        ":", "basename", "cat", "cd", "cut", "date", "dirname", "du", "echo", "export", "file",
        "find", "head", "less", "ls", "mkdir", "more", "nl", "printenv", "printf", "pwd", "seq",
        "sleep", "sort", "stat", "tail", "tee", "touch", "tr", "tree", "true", "type", "uniq",
        "wc", "which", "whoami", "yes",
    ];
    let (program, args) = words.split_first()?;
    let name = base_name(program);
    let has = |is_it: &dyn Fn(&str) -> bool| args.iter().any(|arg| is_it(arg));
    let never = match name {
        // It prints the variables, unless it runs a program.
        "env" => !has(&|arg| !arg.starts_with('-') && !arg.contains('=')),
        "awk" | "gawk" | "mawk" => !has(&|arg| arg.contains("exit") || arg.starts_with("-f")),
        "sed" => !has(&|arg| quits_with_a_status(arg) || arg.starts_with("-f")),
        "set" | "trap" | "umask" | "unset" => true,
        "exit" | "return" => args.first().is_some_and(|status| status == "0"),
        "git" => !args.iter().any(|arg| {
            matches!(arg.as_str(), "--exit-code" | "--quiet" | "--check" | "grep" | "apply")
        }),
        _ => NEVER.contains(&name),
    };
    never.then(|| Vacuous::NeverFails { program: name.to_owned() })
}

/// Returns true if a script of sed ends with an exit status of its own: `/x/q0;q1`.
fn quits_with_a_status(script: &str) -> bool {
    let bytes = script.as_bytes();
    bytes.windows(2).any(|pair| matches!(pair, [b'q' | b'Q', status] if status.is_ascii_digit()))
}

/// Returns true if a word is the same in every workspace, although it expands.
fn expands_to_a_constant(word: &str) -> bool {
    const VARIABLES: [&str; 7] = ["$HOME", "$PATH", "$PWD", "$SHELL", "$USER", "$?", "$$"];
    !word.contains(['$', '`', '*', '?', '[', '~']) || VARIABLES.contains(&word)
}

/// Recognizes an interpreter whose script, given as an argument, does nothing or only prints.
fn says_only(name: &str, args: &[String]) -> Option<Vacuous> {
    let option = match name {
        "python" | "python3" => "-c",
        "node" | "ruby" | "perl" => "-e",
        _ => return None,
    };
    let [given, script] = args else { return None };
    let script = script.trim().trim_end_matches(';');
    let prints = ["print(", "console.log(", "puts ", "print "];
    // A script with a second call, an import or an operator may fail.
    let is_plain = script.matches('(').count() <= 1 && !script.contains(['\n', ';', '/', '.']);
    let says = matches!(script, "" | "pass" | "0" | "1" | "true")
        || is_plain && prints.iter().any(|print| script.starts_with(print))
        || script.starts_with("console.log(") && script.matches(['(', '.']).count() == 2;
    (given == option && says).then(|| Vacuous::NeverFails { program: name.to_owned() })
}

/// Returns true if the text is only a condition in brackets whose result is always the same.
fn is_fixed(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let is_plain = |word: &String| {
        let word = word.trim_matches('"');
        !word.contains(['&', '|', ';']) && (word.starts_with('[') || expands_to_a_constant(word))
    };
    words.iter().all(is_plain) && is_constant(&words)
}

/// Returns true if a `test` condition depends only on its words and looks at no file.
fn is_constant(args: &[String]) -> bool {
    const LOOKS: [&str; 24] = [
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-N", "-O", "-G", "-p", "-r",
        "-s", "-S", "-t", "-u", "-v", "-w", "-x", "-nt", "-ot",
    ];
    !args.iter().any(|arg| LOOKS.contains(&arg.as_str()) || arg == "-ef")
}

/// Returns the option that makes a program only print what it would do, or information about itself.
fn only_tells(name: &str, args: &[String]) -> Option<String> {
    let own: Vec<&str> = args.iter().map(String::as_str).take_while(|arg| *arg != "--").collect();
    let about = |arg: &&&str| matches!(**arg, "--help" | "--version");
    let dry = |arg: &&&str| match name {
        "make" | "gmake" | "ninja" => {
            let long = [
                "--dry-run",
                "--ignore-errors",
                "--just-print",
                "--question",
                "--recon",
                "--touch",
            ];
            long.contains(*arg)
                || arg.starts_with("SHELL=")
                || has_letter(arg, &['n', 't', 'q', 'i'], &['C', 'f', 'j', 'l', 'o', 'W', 'I'])
        }
        _ => false,
    };
    if let Some(word) = own.iter().find(about).or_else(|| own.iter().find(dry)) {
        return Some((*word).to_owned());
    }
    match (name, own.as_slice()) {
        ("cargo" | "go" | "npm", [word @ ("help" | "version"), ..])
        | ("node" | "npm" | "pnpm" | "yarn" | "make" | "mvn" | "gradle", [word @ "-v"])
        | (
            "cargo" | "cmake" | "ctest" | "go" | "gradle" | "make" | "mvn" | "ninja" | "npm"
            | "pytest" | "tox",
            [word @ "-h"],
        )
        | ("java" | "javac", [word @ "-version"])
        | ("python" | "python3" | "cargo" | "rustc" | "ruby" | "pytest" | "tsc", [word @ "-V"]) => {
            Some((*word).to_owned())
        }
        ("cargo", ["test", ..]) => args.iter().find(|arg| *arg == "--list").cloned(),
        _ => None,
    }
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

/// Returns the last component of a path.
fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
