//! Programs that the user runs by us at the terminal, unconfined: the editor, the pager, git with the user's hooks.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

/// A program with its options, in words that spaces divide.
#[expect(clippy::disallowed_methods, reason = "it wants the terminal, and its group")]
fn program(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Runs the user's editor on a file, at the user's terminal, to its end. `editor` may carry options.
pub fn interactive(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    program(editor).arg(file).status()
}

/// The user's own git in a directory. Variables of these names are not seen by it, nor by hooks.
#[derive(Debug, Clone, Copy)]
pub struct Git<'g> {
    /// Where it works.
    pub dir: &'g Path,
    /// Variables that are left out.
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

    /// What it says to these words; what it complains of is part of the output. Waits for its end.
    pub fn output<S: AsRef<OsStr>>(self, words: &[S]) -> io::Result<Output> {
        self.command(words).stdin(Stdio::null()).output()
    }

    /// Runs it with what the user sees: hooks and questions for a passphrase may use the terminal. What it prints goes to
    /// standard error.
    pub fn attended<S: AsRef<OsStr>>(self, words: &[S]) -> io::Result<ExitStatus> {
        let stderr = rustix::io::dup(rustix::stdio::stderr())?;
        self.command(words).stdout(Stdio::from(stderr)).status()
    }
}

/// A pager that has taken the place of standard output, until this is dropped.
#[derive(Debug)]
pub struct Pager {
    child: Child,
    before: OwnedFd,
}

impl Pager {
    /// Starts it: what is written to standard output from now on goes to it. `pager` may carry options.
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
        // The pager sees the end of its input, and stays until the user has read.
        if let Err(error) = rustix::stdio::dup2_stdout(&self.before) {
            tracing::warn!(%error, "standard output is not what it was");
        }
        self.child.wait().ok();
    }
}
