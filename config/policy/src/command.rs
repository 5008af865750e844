//! A command as policy sees it: the words that a shell would pass, and what cannot be told from them. Values only.

use std::fmt;

/// A command line, read. Two that are equal do the same, however they are written; an approval is kept by this value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    /// The simple commands it runs, in order. Of what is opaque: those that could be found, as far as they could be read.
    pub segments: Vec<SimpleCommand>,
    /// Commands in the words of a program that runs others, such as the script of `sh -c`.
    pub inner: Vec<SimpleCommand>,
    /// What in it cannot be judged by its words, if anything.
    pub opaque: Option<Unread>,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimpleCommand {
    /// How it follows on the one before it.
    pub join: Join,
    /// Whether `!` stands before it.
    pub negated: bool,
    /// Variables that are set for it, or for the shell if there are no words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// Whether a word has a wildcard or `~` that is not quoted, so that a shell would put file names in its place.
    pub expands: bool,
}

/// A variable with the value it is set to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
}

/// How a simple command follows on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Join {
    /// It is the first.
    First,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, or a new line.
    Then,
}

/// What cannot be judged by its words, with the text it stands in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unread {
    /// What it is.
    pub what: Opaque,
    /// The whole command line.
    pub text: String,
}

/// Kinds of what cannot be judged by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opaque {
    /// `$X`, `$(…)`, a backquote.
    Substitution,
    /// `(…)`
    Subshell,
    /// `{a,b}`, which shells read differently.
    Braces,
    /// To or from a file.
    Redirection,
    /// `<<`
    HereDocument,
    /// `&`
    Background,
    /// A loop, a condition, a function, a declaration.
    Compound,
    /// What only some shells know, such as `&>` and `|&`.
    Dialect,
    /// Longer, or nested deeper, than what is read.
    TooLong,
    /// The grammar has no place for it.
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
            Self::TooLong => "more text than is read",
            Self::Unreadable => "syntax that is not understood",
        })
    }
}

/// Programs that run what their arguments say.
const HANDS_ON: [&str; 38] = [
    "ash", "bash", "builtin", "busybox", "chroot", "chrt", "command", "dash", "doas", "entr",
    "env", "eval", "exec", "fakeroot", "find", "fish", "flock", "ionice", "ksh", "nice", "nohup",
    "nsenter", "parallel", "prlimit", "runuser", "script", "setarch", "setpriv", "setsid", "sh",
    "stdbuf", "strace", "taskset", "time", "timeout", "unshare", "watch", "zsh",
];

/// Whether these words begin with a program that runs what its arguments say: `env`, `timeout`, `sh`, `xargs` and their like.
pub fn hands_on(words: &[String]) -> bool {
    let name = words.first().map_or("", |word| base_name(word));
    HANDS_ON.contains(&name) || matches!(name, "xargs" | "trap" | "." | "source")
}

/// The last component of a path.
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
