//! The directories that hold the worktrees of a run's lanes: who owns them, and how they are removed.
//!
//! Each run's directory has a file with the process id and the session, locked by the process as long as it lives. So a
//! directory owned by a living process is never taken from it, and one left by a crash is recognized.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actors::run::Run;
use serde::{Deserialize, Serialize};
use tools::blocking::on_a_thread;
use tools::clock::Timestamp;
use tools::regular;
use tree::{Snapshots, remove_tree};

use crate::lane::lane_tree::remove;

const OWNER: &str = "owner";

/// A run's directory, owned as long as this value lives.
#[derive(Debug)]
pub struct Claim {
    /// The directory.
    pub dir: PathBuf,
    _owner: File,
}

/// The owner of a run's directory.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    process: u32,
    /// When it claimed the directory, in seconds since 1970.
    since: u64,
    session: String,
}

/// How long to wait before checking again whether a directory is free.
const PAUSE: Duration = Duration::from_millis(10);

/// Claims the directory `dir` of a run for `session`. Waits for another owner for at most `patience`. Blocks.
fn claim(dir: PathBuf, session: &str, now: Timestamp, patience: Duration) -> io::Result<Claim> {
    let file = owner_file(&dir)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // A process that is being spawned briefly inherits what this one had open.
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => {
                crossbeam_channel::after(PAUSE).recv().ok();
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::ResourceBusy.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    let since = u64::try_from(now.as_second()).unwrap_or_default();
    let owner = Owner { process: std::process::id(), since, session: session.to_owned() };
    file.set_len(0)?;
    serde_json::to_writer(&file, &owner)?;
    (&file).flush()?;
    Ok(Claim { dir, _owner: file })
}

/// Opens the lock file in the directory of a run. Creates both if they do not exist.
fn owner_file(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    loop {
        regular::create_dir(dir)?;
        match regular::open_regular_file(&dir.join(OWNER), &mut options) {
            // Another process that collects leftovers removed the directory while it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
}

/// Removes the worktrees in the directory of a run, except those of failed lanes, whose paths are returned. Removes the
/// directory if nothing is left in it.
pub fn tidy(snapshots: &Snapshots, dir: &Path, failed: &[String]) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || name.ends_with(".commits") {
            continue;
        }
        if failed.contains(&name) {
            kept.push(path);
        } else if let Err(error) = remove(snapshots, &path) {
            tracing::warn!(%error, path = %path.display(), "could not remove a worktree; a later start will retry");
        }
    }
    if kept.is_empty()
        && let Err(error) = remove_owned(dir)
    {
        tracing::warn!(%error, dir = %dir.display(), "could not remove a run's directory");
    }
    kept.sort();
    kept
}

/// Returns true if a process has ever claimed the directory of a run.
pub fn was_claimed(dir: &Path) -> bool {
    dir.join(OWNER).exists()
}

/// Removes the directory of a run. The lock file goes last, so that after a crash the rest can still be collected.
fn remove_owned(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        } else if entry.file_name() != OWNER {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(dir.join(OWNER))?;
    fs::remove_dir(dir)
}

/// Claims a directory for the worktrees of `run`, on a blocking thread.
pub async fn claim_for(lanes: &Path, session: &str, run: &Run) -> io::Result<Claim> {
    claim_named(lanes, run.id(), session, run).await
}

/// Claims a directory with this name for `run`, which may own others.
pub async fn claim_named(lanes: &Path, name: &str, session: &str, run: &Run) -> io::Result<Claim> {
    let (dir, session, now) = (lanes.join(name), session.to_owned(), run.clock.now());
    let patience = Duration::from_secs(run.config().limits.workspace_lock_timeout_seconds);
    on_a_thread(move || claim(dir, &session, now, patience)).await
}

/// Returns the session of a run's directory that no living process owns, with the lock on it. The session is `None` if
/// a crash came before it was written.
pub fn unowned(dir: &Path) -> Option<(File, Option<String>)> {
    let file = regular::open_to_read(&dir.join(OWNER)).ok()?;
    file.try_lock().ok()?;
    let owner = serde_json::from_reader(&file).ok();
    Some((file, owner.map(|owner: Owner| owner.session)))
}
