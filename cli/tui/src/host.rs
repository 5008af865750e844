//! What a conversation needs from the program around it.

use std::pin::Pin;

use config::Config;

use crate::completion::{Completion, Named};
use crate::conversation::ConversationSetting;
use crate::picker::KeptSession;

/// A running shell command. Resolves to a message about its end, or an error if it was not run. Dropping it kills the command and
/// all its child processes.
pub type Shell = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// Receives the output of a shell command as it arrives.
pub type OnOutput = Box<dyn FnMut(&[u8]) + Send>;

/// What a conversation needs from the program around it. Unless stated otherwise, methods are called off the runtime.
pub trait Host: Send + Sync {
    /// Runs a command of the program in the conversation of this session, and returns what it printed. The terminal is
    /// restored before, but does not echo.
    fn command(&self, session: &str, words: &[String]) -> String;

    /// Runs a shell command in the sandbox, without access to the terminal. Called on the runtime.
    fn shell(&self, line: &str, on_output: OnOutput) -> Shell;

    /// Changes a setting for the rest of the session and returns the new configuration, or the reason why this is not possible.
    /// Called on the runtime.
    fn configured(&self, setting: ConversationSetting, value: &str) -> Result<Config, String>;

    /// Returns the paths of the files in the workspace.
    fn files(&self) -> Vec<String>;

    /// Returns what an argument of a command can name, newest first.
    fn named(&self, what: Named) -> Vec<Completion>;

    /// Returns the sessions of the workspace that have a request, newest first, or the reason why they cannot be listed.
    fn sessions(&self) -> Result<Vec<KeptSession>, String>;

    /// Resolves a session name to its id, or returns the reason why there is no such session.
    fn session(&self, called: &str) -> Result<String, String>;

    /// Returns true if a session is open, in this process or in another one.
    fn is_open(&self, session: &str) -> bool;

    /// Checks that these changes can be reviewed, or returns the reason why not.
    fn reviewable(&self, what: &str) -> Result<(), String>;

    /// Lets the user edit a text in an editor and returns the new text, or the reason why this failed. The terminal is restored
    /// before.
    fn edited(&self, text: &str) -> Result<String, String>;
}
