//! What a conversation wants done, and what is being done for it. Pure.

use orchestrator::request::Request;

use super::settings::ConversationSetting;
use crate::completion::Named;

/// An effect that the conversation requests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConversationAct {
    /// Start this request.
    Begin(Request),
    /// Review these changes, if that is possible.
    Review(String),
    /// Send a message to the running request.
    Steer(String),
    /// Stop the running request.
    Cancel,
    /// Exit at once, even while a request is running.
    StopAtOnce,
    Leave,
    /// Suspend the program and give the terminal to the shell.
    Suspend,
    /// Run a command of the program, which uses the terminal.
    Program(Vec<String>),
    /// Run a shell command in the sandbox.
    Shell(String),
    /// Kill the running shell command.
    Kill,
    /// Change a setting for the requests that follow.
    Set(ConversationSetting, String),
    /// Compact the conversation.
    Compact,
    /// Show what fills the context.
    Context,
    /// Open the input in the user's editor.
    Edit,
    /// List the files of the workspace.
    FindFiles,
    /// List what an argument of a command can name.
    FindNamed(Named),
    /// Repaint everything.
    Redraw,
    /// List the sessions.
    FindSessions,
    /// Switch to another session.
    Resume(String),
    /// Switch to a new session.
    Clear,
    /// Save a message to the history.
    Keep(String),
}

/// What is running: a request, a shell command, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CurrentWork {
    Idle,
    /// A shell command is running.
    Shell,
    /// A request is running.
    Busy,
    /// The request is being stopped.
    Stopping,
}

impl CurrentWork {
    /// Returns true for a request.
    pub(crate) const fn is_a_request(self) -> bool {
        matches!(self, Self::Busy | Self::Stopping)
    }
}
