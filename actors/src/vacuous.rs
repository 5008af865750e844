//! Checks that prove nothing by passing: commands that end well whatever the code does, and runs in which nothing was tested. Pure.

use std::fmt;

use policy::{Join, SimpleCommand, hands_on};
use shell::CommandLine;

/// How deep scripts in the words of commands are read: `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;

/// Why a command that ends well shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vacuous {
    /// The program cannot find fault with code.
    NeverFails {
        /// Its name.
        program: String,
    },
    /// A condition on words that are written in the command.
    Constant,
    /// It is told not to do its work: `make -n`, `--version`.
    OnlyTells {
        /// The word that says so.
        option: String,
    },
    /// It looks for what is in every line.
    FindsAnything,
    /// What decides is its last part, which shows nothing.
    Masked,
}

impl fmt::Display for Vacuous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverFails { program } => {
                write!(f, "`{program}` ends well whatever the code does")
            }
            Self::Constant => f.write_str("its condition is about nothing but its own words"),
            Self::OnlyTells { option } => write!(f, "with `{option}` nothing is checked"),
            Self::FindsAnything => f.write_str("its pattern is in every line"),
            Self::Masked => f.write_str("its last part decides, and that ends well in any case"),
        }
    }
}

/// Why a command shows nothing by ending well; `None` where it could have failed, as far as can be told.
pub fn proves_nothing(command: &str) -> Option<Vacuous> {
    of_line(&CommandLine::parse(command).ok()?, Errors::OfTheLast, MAX_SCRIPTS)
}

/// Whether nothing was tested, by what a test runner says: it names counts, and all of them are zero.
pub fn ran_no_test(output: &str) -> bool {
    let mut counts = output.lines().filter_map(tests_run).peekable();
    counts.peek().is_some() && counts.all(|count| count == 0)
}

/// The tests that were run, where a line of output says so.
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

/// Whose failure a list of commands ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// That of the last, as shells have it.
    OfTheLast,
    /// Any: `set -e`.
    OfAny,
}

fn of_line(line: &CommandLine, errors: Errors, depth: usize) -> Option<Vacuous> {
    if line.opaque().is_some() {
        // What decides in it cannot be told. Where nothing in it can fail, it does not matter.
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
        lists.retain(|list| !sets(list));
        let all: Option<Vec<_>> = lists.iter().map(|list| of_list(list, depth)).collect();
        return all?.pop();
    }
    let is_alone = lists.len() == 1;
    let last = of_list(lists.last()?, depth)?;
    Some(if is_alone { last } else { Vacuous::Masked })
}

/// Commands joined by `&&`, `||` and `|`: of a pipe the last decides.
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
    if matches!(name, "test" | "[") {
        return (!command.expands && is_constant(args)).then_some(Vacuous::Constant);
    }
    if command.negated {
        let program = name.to_owned();
        return (name == "false").then_some(Vacuous::NeverFails { program });
    }
    let only_tells = only_tells(name, args).map(|option| Vacuous::OnlyTells { option });
    never_fails(words)
        .or_else(|| hands_on(words).then(|| of_wrapped(name, args, depth)).flatten())
        .or(only_tells)
        .or_else(|| finds_anything(name, args).then_some(Vacuous::FindsAnything))
}

/// What a program runs that runs what its arguments say: `env`, `timeout`, `sh -c`.
fn of_wrapped(name: &str, args: &[String], depth: usize) -> Option<Vacuous> {
    let depth = depth.checked_sub(1)?;
    let script = |text: &str, errors| of_line(&CommandLine::parse(text).ok()?, errors, depth);
    match name {
        "sh" | "ash" | "bash" | "dash" | "ksh" | "zsh" => {
            let is_option = |arg: &&String| arg.starts_with('-') && !arg.starts_with("--");
            let options: String = args.iter().take_while(is_option).map(String::as_str).collect();
            let text = args.iter().find(|arg| !is_option(arg))?;
            let errors = if options.contains('e') { Errors::OfAny } else { Errors::OfTheLast };
            options.contains('c').then(|| script(text, errors))?
        }
        "eval" => script(&args.join(" "), Errors::OfTheLast),
        "env" | "time" | "nice" | "nohup" | "timeout" | "command" | "builtin" | "exec"
        | "setsid" | "stdbuf" => {
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

/// Programs that print, wait, or make something, and do not judge code.
fn never_fails(words: &[String]) -> Option<Vacuous> {
    const NEVER: [&str; 38] = [
        ":", "basename", "cat", "cd", "cut", "date", "dirname", "du", "echo", "export", "file",
        "find", "head", "less", "ls", "mkdir", "more", "nl", "printenv", "printf", "pwd", "sed",
        "seq", "sleep", "sort", "stat", "tail", "tee", "touch", "tr", "tree", "true", "type",
        "uniq", "wc", "which", "whoami", "yes",
    ];
    let (program, args) = words.split_first()?;
    let name = base_name(program);
    let never = match name {
        "exit" | "return" => args.first().is_some_and(|status| status == "0"),
        "git" => !args.iter().any(|arg| {
            matches!(arg.as_str(), "--exit-code" | "--quiet" | "--check" | "grep" | "apply")
        }),
        _ => NEVER.contains(&name),
    };
    never.then(|| Vacuous::NeverFails { program: name.to_owned() })
}

/// Whether a condition in brackets, and nothing else, is the same each time.
fn is_fixed(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let is_plain = |word: &String| !word.contains(['$', '`', '*', '?', '&', '|', ';']);
    words.iter().all(is_plain) && is_constant(&words)
}

/// Whether a condition of `test` is about its words alone: it looks at no file.
fn is_constant(args: &[String]) -> bool {
    const LOOKS: [&str; 24] = [
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-N", "-O", "-G", "-p", "-r",
        "-s", "-S", "-t", "-u", "-v", "-w", "-x", "-nt", "-ot",
    ];
    !args.iter().any(|arg| LOOKS.contains(&arg.as_str()) || arg == "-ef")
}

/// The word by which a program only tells what it would do, or about itself.
fn only_tells(name: &str, args: &[String]) -> Option<String> {
    let own: Vec<&str> = args.iter().map(String::as_str).take_while(|arg| *arg != "--").collect();
    let about = |arg: &&&str| matches!(**arg, "--help" | "--version");
    let dry = |arg: &&&str| match name {
        "make" | "gmake" | "ninja" => {
            let long = ["--dry-run", "--just-print", "--recon", "--touch", "--question"];
            long.contains(*arg)
                || has_letter(arg, &['n', 't', 'q'], &['C', 'f', 'j', 'l', 'o', 'W', 'I'])
        }
        _ => false,
    };
    if let Some(word) = own.iter().find(about).or_else(|| own.iter().find(dry)) {
        return Some((*word).to_owned());
    }
    match (name, own.as_slice()) {
        ("cargo" | "go" | "npm", [word @ ("help" | "version"), ..])
        | ("node" | "npm" | "pnpm" | "yarn" | "make", [word @ "-v"])
        | ("java" | "javac", [word @ "-version"])
        | ("python" | "python3" | "cargo" | "rustc" | "ruby" | "pytest" | "tsc", [word @ "-V"]) => {
            Some((*word).to_owned())
        }
        ("cargo", ["test", ..]) => args.iter().find(|arg| *arg == "--list").cloned(),
        _ => None,
    }
}

/// Whether a word of short options has one of these letters, before one that takes the rest of the word.
fn has_letter(word: &str, letters: &[char], taking: &[char]) -> bool {
    let Some(options) = word.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
        return false;
    };
    options.chars().take_while(|letter| !taking.contains(letter)).any(|c| letters.contains(&c))
}

/// Whether it is a search for a pattern that every line has.
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

/// The last component of a path.
fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
