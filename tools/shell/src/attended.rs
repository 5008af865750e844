//! Programs that run unconfined at the user's terminal: the editor, the pager, git with the user's hooks.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

/// Creates the command for a program and its options, split at white space.
#[expect(
    clippy::disallowed_methods,
    reason = "the program needs the terminal and stays in its process group"
)]
fn program(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Runs the user's editor on a file at the terminal, and waits for it. `editor` may contain options.
pub fn interactive(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    program(editor).arg(file).status()
}

/// The user's own git, run in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Git<'g> {
    /// The working directory.
    pub dir: &'g Path,
    /// Names of environment variables hidden from git and its hooks.
    pub hidden: &'g [&'g str],
}

impl Git<'_> {
    fn command<S: AsRef<OsStr>>(self, words: &[S]) -> Command {
        let mut command = program("git --literal-pathspecs");
        command.args(words).current_dir(self.dir);
        for name in self.hidden {
            command.env_remove(name);
        }
        command
    }

    /// Runs git with these words and returns its output, including standard error. Waits for it to end.
    pub fn output<S: AsRef<OsStr>>(self, words: &[S]) -> io::Result<Output> {
        self.command(words).stdin(Stdio::null()).output()
    }

    /// Runs git at the terminal, so that hooks and passphrase prompts can use it. What git prints goes to standard error.
    pub fn attended<S: AsRef<OsStr>>(self, words: &[S]) -> io::Result<ExitStatus> {
        let stderr = rustix::io::dup(rustix::stdio::stderr())?;
        self.command(words).stdout(Stdio::from(stderr)).status()
    }
}

/// A pager that replaces standard output until it is dropped.
#[derive(Debug)]
pub struct Pager {
    child: Child,
    before: OwnedFd,
}

impl Pager {
    /// Starts the pager and redirects standard output to it. `pager` may contain options.
    pub fn start(pager: &str) -> io::Result<Self> {
        let before = rustix::io::dup(rustix::stdio::stdout())?;
        let mut child = program(pager).stdin(Stdio::piped()).spawn()?;
        if let Some(pipe) = child.stdin.take() {
            rustix::stdio::dup2_stdout(File::from(OwnedFd::from(pipe)))?;
        }
        Ok(Self { child, before })
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The pager gets the end of its input, and stays until the user quits it.
        if let Err(error) = rustix::stdio::dup2_stdout(&self.before) {
            tracing::warn!(%error, "cannot restore standard output");
        }
        self.child.wait().ok();
    }
}
