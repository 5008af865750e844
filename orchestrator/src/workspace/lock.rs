//! The lock that lets one process at a time work in a workspace. It is released when its owner dies, so it is never
//! stale.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use tokio::time::Instant;
use tools::regular;

/// The right to work in a workspace, held until dropped.
#[derive(Debug)]
pub struct WorkspaceLock {
    _file: File,
}

/// Why the lock was not acquired.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another deepseek is running in this directory (pid {owner})")]
    Held {
        /// Process id of the holder, as it wrote it.
        owner: String,
    },
    /// The system refused.
    #[error("cannot lock {path}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl WorkspaceLock {
    /// Acquires the lock file `path`; waits at most `timeout` for its holder.
    pub async fn acquire(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        const POLL: Duration = Duration::from_millis(50);
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        if let Some(dir) = path.parent() {
            regular::create_dir(dir).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = regular::open_regular_file(path, &mut options).map_err(failed)?;
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
    async fn a_second_process_learns_the_holder_and_gets_the_lock_later() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/lock");
        let first = WorkspaceLock::acquire(&path, Duration::ZERO).await.unwrap();
        let error = WorkspaceLock::acquire(&path, Duration::from_secs(5)).await.unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(first);
        WorkspaceLock::acquire(&path, Duration::ZERO).await.unwrap();
    }
}
