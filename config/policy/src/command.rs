//! A command as policy sees it: the words that a shell would pass, and the parts whose effect they do not show. Values
//! only.

use std::fmt;

/// A parsed command line. Equal values do the same, however they are written; approvals are stored by this value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyCommand {
    /// The simple commands it runs, in order. For an opaque command: those that could be found and read.
    pub segments: Vec<SimpleCommand>,
    /// Commands among the arguments of a program that runs others, such as the script of `sh -c`.
    pub inner: Vec<SimpleCommand>,
    /// The part that cannot be judged by its words, if any.
    pub opaque: Option<Unread>,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimpleCommand {
    /// How it is joined to the previous command.
    pub join: Join,
    /// True if `!` precedes it.
    pub negated: bool,
    /// Variables set for it, or for the shell if there are no words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// True if a word has an unquoted wildcard or `~`, which a shell would replace by file names.
    pub expands: bool,
}

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// The variable's name.
    pub name: String,
    /// The value, without quotes.
    pub value: String,
}

/// How a simple command is joined to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Join {
    /// It is the first command.
    First,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, or a newline.
    Then,
}

/// A construct that cannot be judged by its words, with the command line that has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unread {
    /// The kind of construct.
    pub what: Opaque,
    /// The whole command line.
    pub text: String,
}

/// Constructs that cannot be judged by their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opaque {
    /// `$X`, `$(…)`, or a backquote.
    Substitution,
    /// `(…)`
    Subshell,
    /// `{a,b}`, which shells read differently.
    Braces,
    /// A redirection to or from a file.
    Redirection,
    /// `<<`
    HereDocument,
    /// `&`
    Background,
    /// A loop, condition, function or declaration.
    Compound,
    /// Syntax that only some shells know, such as `&>` and `|&`.
    Dialect,
    /// Longer, or nested deeper, than the parser accepts.
    TooLong,
    /// A syntax error.
    Unreadable,
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Substitution => "a variable or substitution",
            Self::Subshell => "a subshell",
            Self::Braces => "a brace expression",
            Self::Redirection => "a redirection to or from a file",
            Self::HereDocument => "a here-document",
            Self::Background => "a background command",
            Self::Compound => "a compound command or declaration",
            Self::Dialect => "syntax that not every shell knows",
            Self::TooLong => "too much text or nesting",
            Self::Unreadable => "a syntax error",
        })
    }
}

/// Programs that run a command given in their arguments.
const HANDS_ON: [&str; 38] = [
    "ash", "bash", "builtin", "busybox", "chroot", "chrt", "command", "dash", "doas", "entr",
    "env", "eval", "exec", "fakeroot", "find", "fish", "flock", "ionice", "ksh", "nice", "nohup",
    "nsenter", "parallel", "prlimit", "runuser", "script", "setarch", "setpriv", "setsid", "sh",
    "stdbuf", "strace", "taskset", "time", "timeout", "unshare", "watch", "zsh",
];

/// Returns true if the words begin with a program that runs a command given in its arguments, such as `env`, `timeout`,
/// `sh` or `xargs`.
pub fn hands_on(words: &[String]) -> bool {
    let name = words.first().map_or("", |word| base_name(word));
    HANDS_ON.contains(&name) || matches!(name, "xargs" | "trap" | "." | "source")
}

/// Returns the last component of a path.
pub(crate) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.assignments.iter().map(|it| format!("{}={}", it.name, it.value));
        let words: Vec<String> = set.chain(self.words.iter().cloned()).collect();
        f.write_str(&words.join(" "))
    }
}
