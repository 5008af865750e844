//! Detects checks that prove nothing by passing: commands that succeed whatever the code does. Pure.

mod hidden_failure;
mod idle_commands;
mod script_status;

use std::fmt;

use shell::CommandLine;

pub use self::hidden_failure::HiddenFailure;

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
    /// A condition on the environment, or a comparison of a file with itself.
    Unrelated,
    /// An option keeps it from doing its work: `make -n`, `--version`.
    OnlyTells {
        /// The option.
        option: String,
    },
    /// An option keeps it from failing: `make -i`.
    Succeeds {
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
            Self::Unrelated => f.write_str("what it compares does not depend on the code"),
            Self::OnlyTells { option } => write!(f, "`{option}` makes it check nothing"),
            Self::Succeeds { option } => write!(f, "`{option}` makes it succeed whatever fails"),
            Self::FindsAnything => f.write_str("its pattern matches every line"),
            Self::Masked => {
                f.write_str("its exit status is that of its last part, which always succeeds")
            }
        }
    }
}

/// Returns why a command proves nothing by succeeding; `None` if, as far as can be told, it could have failed.
pub fn proves_nothing(command: &str) -> Option<Vacuous> {
    script_status::of_line(&CommandLine::parse(command).ok()?).proves_nothing()
}

/// Returns a command in a line whose failure the exit status of the line does not show.
pub fn hides_failure(line: &CommandLine) -> Option<HiddenFailure> {
    script_status::of_line(line).hidden
}

/// Returns the last component of a path.
fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
