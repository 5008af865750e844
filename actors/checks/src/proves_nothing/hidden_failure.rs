//! The failure of a command that the exit status of its line does not show, in words. Pure.

use std::fmt;

use shell::ShellScript;

/// A command whose failure the exit status of the line does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenFailure {
    /// The command.
    command: String,
    by: By,
}

impl HiddenFailure {
    pub(super) fn of(script: &ShellScript, by: By) -> Self {
        Self { command: name_of(script), by }
    }
}

/// What hides a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Pipe,
    Sequence,
    Or,
    Branch,
    Background,
}

impl fmt::Display for HiddenFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, by } = self;
        let (why, instead) = match by {
            By::Pipe => (
                "a pipe has the exit status of its last part",
                "leave the pipe out, or write `bash -o pipefail -c '…'`",
            ),
            By::Sequence => ("other commands follow", "join them with &&"),
            By::Or => ("what follows || can succeed", "leave it out, or write `|| exit 1`"),
            By::Branch => ("the compound command can succeed", "write `|| exit 1` after it"),
            By::Background => ("& does not wait for it", "leave & out"),
        };
        write!(f, "a failure of `{command}` is not seen, since {why}; {instead}")
    }
}

/// Returns the words of the first command that could fail.
fn name_of(script: &ShellScript) -> String {
    let of_first = |parts: &[ShellScript]| parts.first().map(name_of).unwrap_or_default();
    match script {
        ShellScript::Step(step) => step.words.join(" "),
        ShellScript::Not(inner)
        | ShellScript::For(inner)
        | ShellScript::Subshell(inner)
        | ShellScript::Background(inner) => name_of(inner),
        ShellScript::Pipe(parts) => parts.last().map(name_of).unwrap_or_default(),
        ShellScript::List(parts) | ShellScript::Case(parts) => of_first(parts),
        ShellScript::And(both) | ShellScript::Or(both) | ShellScript::While(both) => {
            of_first(&**both)
        }
        ShellScript::If(parts) => of_first(&**parts),
        ShellScript::Unknown => "…".to_owned(),
    }
}
