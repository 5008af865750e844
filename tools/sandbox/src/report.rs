//! What passes between this program and itself started once more: its orders, and its report about a command.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use rustix::fs::{MemfdFlags, memfd_create};

#[cfg(target_os = "linux")]
use crate::orders::give_orders;
use crate::orders::{Ended, Failure, HeldLayer, Lack, Notice, notices};

/// This program, even if its file has been replaced since it started.
#[cfg(target_os = "linux")]
pub(crate) const SELF: &str = "/proc/self/exe";

/// Returns the orders as the helper's standard input, and the file for its report.
#[cfg(target_os = "linux")]
pub(crate) fn handed_over(orders: &impl serde::Serialize) -> io::Result<(File, ReportFile)> {
    let mut file = File::from(memfd_create("orders", MemfdFlags::CLOEXEC)?);
    let start = give_orders(&mut file, orders)?;
    Ok((file.try_clone()?, ReportFile::new(file, start)))
}

/// The file in which the helper reports about a command.
#[derive(Debug)]
pub struct ReportFile {
    file: File,
    start: u64,
    /// Directories created for the command; they are removed again if empty.
    made: Vec<PathBuf>,
    /// A temporary directory that is deleted with the report.
    scratch: Option<tempfile::TempDir>,
}

/// The helper's report about a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// How the command ended, if it did.
    pub ended: Option<Ended>,
    /// The error number if it could not be started.
    pub not_started: Option<i32>,
    /// The step of the confinement that failed; nothing was run then.
    pub failed: Option<Failure>,
    /// Paths in the tree whose changes were discarded; only the first ones.
    pub discarded: Vec<PathBuf>,
}

impl ReportFile {
    pub(crate) const fn new(file: File, start: u64) -> Self {
        Self { file, start, made: Vec::new(), scratch: None }
    }

    pub(crate) fn with(mut self, made: Vec<PathBuf>, scratch: Option<tempfile::TempDir>) -> Self {
        self.made = made;
        self.scratch = scratch;
        self
    }

    /// Reads the report. Call it after everything of the command has ended.
    pub fn read(mut self) -> io::Result<Reported> {
        let mut outcome = Reported::default();
        for notice in notices(&mut self.file, self.start)? {
            match notice {
                Notice::Failed(failure) => outcome.failed = Some(failure),
                Notice::Lacks(_) | Notice::Holds(_) => {}
                Notice::NotStarted(errno) => outcome.not_started = Some(errno),
                Notice::Ended(ended) => outcome.ended = Some(ended),
                Notice::Discarded(paths) => {
                    outcome.discarded = paths.into_iter().map(PathBuf::from).collect();
                }
            }
        }
        Ok(outcome)
    }

    /// Returns the layers that a holder reports, and its failure.
    pub(crate) fn held(mut self) -> io::Result<(Option<Failure>, Vec<HeldLayer>)> {
        let (mut failure, mut layers) = (None, Vec::new());
        for notice in notices(&mut self.file, self.start)? {
            match notice {
                Notice::Failed(failed) => failure = Some(failed),
                Notice::Holds(held) => layers = held,
                Notice::Lacks(_)
                | Notice::NotStarted(_)
                | Notice::Ended(_)
                | Notice::Discarded(_) => {}
            }
        }
        Ok((failure, layers))
    }

    pub(crate) fn lacks(&mut self) -> io::Result<Vec<Lack>> {
        let notices = notices(&mut self.file, self.start)?;
        Ok(notices
            .into_iter()
            .filter_map(|it| if let Notice::Lacks(lack) = it { Some(lack) } else { None })
            .collect())
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        for dir in &self.made {
            // Directories in which something was built are kept.
            fs::remove_dir(dir).ok();
        }
        if let Some(scratch) = self.scratch.take()
            && let Err(error) = scratch.close()
        {
            tracing::debug!(%error, "could not remove the temporary files of a command");
        }
    }
}
