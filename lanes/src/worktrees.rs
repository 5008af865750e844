//! The directories in which lanes of runs have their worktrees: whose they are, and how they are removed.
//!
//! A run's directory has a file that its process keeps locked for as long as it lives, with its id and the session in it. So
//! what a living process owns is never taken from it, and what a crash left is found.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actors::run::Run;
use serde::{Deserialize, Serialize};
use tools::blocking::on_a_thread;
use tools::clock::Timestamp;
use tools::regular;
use tree::Snapshots;

use crate::lane_tree::remove;

const OWNER: &str = "owner";

/// A run's directory, owned for as long as this lives.
#[derive(Debug)]
pub struct Claim {
    /// The directory.
    pub dir: PathBuf,
    _owner: File,
}

/// Who owns a run's directory.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    process: u32,
    /// When it claimed the directory, in seconds since 1970.
    since: u64,
    session: String,
}

/// How long to wait before looking again whether a directory is free.
const PAUSE: Duration = Duration::from_millis(10);

/// Claims the directory `dir` of a run for `session`. Whoever has it is waited for as long as `patience`. Blocks.
fn claim(dir: PathBuf, session: &str, now: Timestamp, patience: Duration) -> io::Result<Claim> {
    let file = owner_file(&dir)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // A process that is just being started has what this one had open.
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

/// The file in the directory of a run that whoever owns it has locked; both are made if they are not there.
fn owner_file(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    loop {
        regular::create_dir(dir)?;
        match regular::open(&dir.join(OWNER), &mut options) {
            // A process that collects took the directory, empty as it was.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
}

/// Removes the worktrees in the directory of a run but those of lanes that failed, which are told; and the directory, if
/// nothing stays.
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
            tracing::warn!(%error, path = %path.display(), "a worktree stays until a later start");
        }
    }
    if kept.is_empty()
        && let Err(error) = remove_owned(dir)
    {
        tracing::warn!(%error, dir = %dir.display(), "a run's directory stays");
    }
    kept.sort();
    kept
}

/// Whether anybody has ever claimed the directory of a run.
pub fn was_claimed(dir: &Path) -> bool {
    dir.join(OWNER).exists()
}

/// Removes the directory of a run. What says whose it is goes last, so that a crash leaves it to be collected.
fn remove_owned(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != OWNER {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(dir.join(OWNER))?;
    fs::remove_dir(dir)
}

/// Claims a directory for the worktrees of `run`, off the runtime.
pub async fn claim_for(lanes: &Path, session: &str, run: &Run) -> io::Result<Claim> {
    claim_named(lanes, run.id(), session, run).await
}

/// Claims a directory of this name for `run`, which may have others.
pub async fn claim_named(lanes: &Path, name: &str, session: &str, run: &Run) -> io::Result<Claim> {
    let (dir, session, now) = (lanes.join(name), session.to_owned(), run.clock.now());
    let patience = Duration::from_secs(run.config().limits.workspace_lock_timeout_seconds);
    on_a_thread(move || claim(dir, &session, now, patience)).await
}

/// The session of a run's directory that no living process owns, with the lock on it. Where a crash came before it was written
/// down, there is none.
pub fn unowned(dir: &Path) -> Option<(File, Option<String>)> {
    let file = regular::open_to_read(&dir.join(OWNER)).ok()?;
    file.try_lock().ok()?;
    let owner = serde_json::from_reader(&file).ok();
    Some((file, owner.map(|owner: Owner| owner.session)))
}
