//! Errors as the user sees them: one line with the causes, a hint, and the exit code of the kind of error.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

/// The kind of a failure; determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CliErrorKind {
    /// The request was not delivered.
    NotDelivered,
    /// The command line or the configuration is wrong.
    Usage,
    /// An approval was missing or denied.
    Denied,
    /// The budget is exhausted.
    Budget,
    /// The provider failed or refused the call.
    Provider,
    /// A bug, or a failure of the system.
    Internal,
    /// Stopped by the user.
    Interrupted,
}

impl CliErrorKind {
    /// Returns the kind as one word.
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

    /// Returns the exit code documented for the command line.
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
    kind: CliErrorKind,
    message: String,
    hint: Option<String>,
}

impl CliError {
    /// Creates a failure with this message.
    pub fn new(kind: CliErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Creates a failure whose message is the error and its causes, joined by colons.
    pub fn caused(kind: CliErrorKind, error: &dyn StdError) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        Self::new(kind, message)
    }

    /// Sets the hint: what the user can do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the message, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the hint, if there is one.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the kind of the failure.
    pub const fn kind(&self) -> CliErrorKind {
        self.kind
    }

    /// Returns the exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Further lines of the message are indented.
        write!(f, "error: {}", self.message.trim_end().replace('\n', "\n  "))?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
