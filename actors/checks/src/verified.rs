//! How far a delivery is verified, and what prevented more. Values only.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wording::Wording;

/// How far a delivery is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// A check failed without the change and passes with it.
    Proven,
    /// Every command passed, but may also have passed before the change.
    Passed,
    /// Nothing shows that the change works.
    Unverified(Unverified),
    /// Nothing was changed, so there was nothing to verify.
    NotNeeded,
}

/// Why nothing shows that a change works. Two values are equal even if their wording differs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Unverified {
    /// No command could have failed because of the change.
    NothingCouldFail,
    /// The checks lack a prerequisite, with the change and without it.
    Environment {
        /// What is missing.
        missing: Missing,
    },
    /// The files kept changing while the checks ran.
    TreeMoved,
    /// A check cannot run here, with the change or without it, and did not say what it lacks.
    CannotRun {
        /// The command.
        command: String,
        /// How it ended.
        exit: Wording,
    },
    /// The checks fail as they did before the change. The model says that nothing more is needed; or it is a lane, whose
    /// failures are dealt with when lanes are combined; or the lanes' own checks pass.
    OldFailures {
        /// The model's reason; absent in a lane and where lanes are combined.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reason: Option<Wording>,
    },
}

impl PartialEq for Unverified {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Environment { missing: a }, Self::Environment { missing: b }) => a == b,
            (Self::CannotRun { command: a, .. }, Self::CannotRun { command: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

impl Eq for Unverified {}

/// Something that a command needs and that is not part of the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Missing {
    /// The kind of prerequisite.
    pub kind: MissingKind,
    /// Its name; absent if the command did not say it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The command with which the user can change that, if one is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cure: Option<String>,
}

/// A kind of prerequisite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingKind {
    /// A package, or a module of one.
    Package,
    /// A program.
    Program,
    /// A service that does not respond.
    Service,
    /// The network.
    Network,
    /// The confinement of commands, which cannot be set up.
    Walls,
    /// A display.
    Display,
    /// Something that the sandbox does not allow.
    Confined,
    /// A program that is installed, but that the sandbox hides.
    Hidden,
}

/// The minimum verification required of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every command passed.
    Passed,
    /// A check failed without the change.
    Proven,
}

impl Verified {
    /// Returns true if the verification reaches `least`. If nothing was changed, it always does.
    pub const fn is_at_least(&self, least: Level) -> bool {
        match self {
            Self::Proven | Self::NotNeeded => true,
            Self::Passed => matches!(least, Level::Passed),
            Self::Unverified(_) => false,
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proven => {
                f.write_str("proven: a check fails without the change and passes with it")
            }
            Self::Passed => {
                f.write_str("checks passed; whether one would fail without the change is not known")
            }
            Self::Unverified(why) => write!(f, "not verified: {why}"),
            Self::NotNeeded => f.write_str("nothing to verify"),
        }
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingCouldFail => f.write_str(
                "no test ran, and no command that did could have failed because of the change",
            ),
            Self::Environment { missing } => {
                write!(f, "{missing}, so the checks cannot run here, with the change or without it")
            }
            Self::TreeMoved => f.write_str("the files kept changing while the checks ran"),
            Self::CannotRun { command, exit } => {
                write!(f, "`{command}` cannot run here, with the change or without it: {exit}")
            }
            Self::OldFailures { reason } => {
                f.write_str("the checks fail as they did before the change")?;
                reason.as_ref().map_or(Ok(()), |why| write!(f, "; the model says: {why}"))
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |f: &mut fmt::Formatter<'_>, what: &str| match &self.name {
            Some(name) => write!(f, "{what} `{name}` is missing"),
            None => write!(f, "a {what} is missing"),
        };
        match self.kind {
            MissingKind::Package => name(f, "package"),
            MissingKind::Program => name(f, "program"),
            MissingKind::Service => f.write_str("a service does not answer"),
            MissingKind::Network => f.write_str("the network is out of reach"),
            MissingKind::Walls => {
                f.write_str("commands cannot be confined")?;
                self.name.as_ref().map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            MissingKind::Display => f.write_str("there is no display"),
            MissingKind::Confined => match &self.name {
                Some(name) => write!(f, "the sandbox does not let a command write `{name}`"),
                None => f.write_str("the sandbox does not allow what a command does"),
            },
            MissingKind::Hidden => match &self.name {
                Some(name) => write!(f, "`{name}` is installed, but the sandbox hides it"),
                None => f.write_str("the sandbox hides an installed program"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_in_order() {
        let unverified = Verified::Unverified(Unverified::NothingCouldFail);
        for (verified, passed, proven) in [
            (Verified::Proven, true, true),
            (Verified::Passed, true, false),
            (unverified, false, false),
            (Verified::NotNeeded, true, true),
        ] {
            assert_eq!(verified.is_at_least(Level::Passed), passed, "{verified}");
            assert_eq!(verified.is_at_least(Level::Proven), proven, "{verified}");
        }
    }
}
