//! One process at a time works in a workspace. The lock dies with its owner, so a stale one is taken over by itself.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use tokio::time::Instant;
use tools::regular;

/// The right to work in a workspace, for as long as this lives.
#[derive(Debug)]
pub struct WorkspaceLock {
    _file: File,
}

/// Why the workspace is not ours.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process works in it.
    #[error("another deepseek is at work in this directory (pid {owner})")]
    Held {
        /// Its process id, as it wrote it.
        owner: String,
    },
    /// The system refused.
    #[error("cannot lock {path}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

impl WorkspaceLock {
    /// Takes the lock file `path`, waiting at most `timeout` for whoever has it.
    pub async fn acquire(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        const POLL: Duration = Duration::from_millis(50);
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        if let Some(dir) = path.parent() {
            regular::create_dir(dir).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = regular::open(path, &mut options).map_err(failed)?;
        let deadline = Instant::now() + timeout;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    tokio::time::sleep(POLL).await;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let mut owner = String::new();
                    file.read_to_string(&mut owner).map_err(failed)?;
                    return Err(LockError::Held { owner: owner.trim().to_owned() });
                }
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_second_is_told_who_has_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/lock");
        let first = WorkspaceLock::acquire(&path, Duration::ZERO).await.unwrap();
        let error = WorkspaceLock::acquire(&path, Duration::from_secs(5)).await.unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(first);
        WorkspaceLock::acquire(&path, Duration::ZERO).await.unwrap();
    }
}
