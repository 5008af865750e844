//! Errors as the user meets them: one line with its causes, one hint, and the exit code of its kind.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

/// What kind of failure it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Not delivered.
    NotDelivered,
    /// The command line or the configuration.
    Usage,
    /// An approval was needed or denied.
    Denied,
    /// The budget is exhausted.
    Budget,
    /// The provider.
    Provider,
    /// A bug, or a machine that does not do what it has to.
    Internal,
    /// Stopped by the user.
    Interrupted,
}

impl Kind {
    /// The kind as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotDelivered => "not_delivered",
            Self::Usage => "usage",
            Self::Denied => "denied",
            Self::Budget => "budget",
            Self::Provider => "provider",
            Self::Internal => "internal",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code, by the contract of the command line.
    pub const fn code(self) -> u8 {
        match self {
            Self::NotDelivered => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Budget => 4,
            Self::Provider => 5,
            Self::Internal => 70,
            Self::Interrupted => 130,
        }
    }
}

/// A failure of the command.
#[derive(Debug)]
pub struct CliError {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl CliError {
    /// A failure in words.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A failure with its causes.
    pub fn caused(kind: Kind, error: &dyn StdError) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        Self::new(kind, message)
    }

    /// The same, with what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What happened, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What can be done about it, if anything is known.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What kind of failure it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A message of several lines keeps them below the first.
        write!(f, "error: {}", self.message.trim_end().replace('\n', "\n  "))?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
