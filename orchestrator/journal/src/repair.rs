//! Repairs a journal: keeps the valid beginning and moves the rest aside. Nothing is deleted.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use tools::regular;

use super::EVENTS;
use super::read::{LogPlace, scan_lines};

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Number of events kept.
    pub kept: usize,
    /// Number of bytes moved aside.
    pub cut_bytes: usize,
    /// The file that holds them now.
    pub aside: PathBuf,
}

/// Why a journal was not repaired.
#[derive(Debug, Error)]
pub enum RepairError {
    /// A process is using the session.
    #[error("another process is using this session")]
    InUse,
    /// The system refused. The journal is unchanged.
    #[error("cannot repair {path}")]
    Io {
        /// The log file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// Repairs the journal in the session directory `dir`; returns `None` if it is intact.
pub fn repair(dir: &Path) -> Result<Option<Repaired>, RepairError> {
    let path = dir.join(EVENTS);
    let failed = |source| RepairError::Io { path: path.clone(), source };
    let mut file = regular::open_regular_file(&path, OpenOptions::new().read(true).write(true))
        .map_err(failed)?;
    if !is_free(&file).map_err(failed)? {
        return Err(RepairError::InUse);
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    let valid = scan_lines(&text, LogPlace::start());
    let cut = cut_damage(dir, &file, &text, &valid.end).map_err(failed)?;
    let kept = valid.records.len();
    Ok(cut.map(|(cut_bytes, aside)| Repaired { kept, cut_bytes, aside }))
}

/// Cuts off everything after `end` and moves it aside. Returns its size and new path; `None` if there is nothing to cut.
pub(super) fn cut_damage(
    dir: &Path,
    file: &File,
    text: &[u8],
    end: &LogPlace,
) -> io::Result<Option<(usize, PathBuf)>> {
    let Some(rest) = text.get(end.bytes..).filter(|rest| !rest.is_empty()) else {
        return Ok(None);
    };
    let aside = set_aside(dir, rest)?;
    file.set_len(u64::try_from(end.bytes).unwrap_or(u64::MAX))?;
    file.sync_all()?;
    Ok(Some((rest.len(), aside)))
}

/// Returns true if no process is writing this journal. The answer holds for as long as the file is open.
pub(super) fn is_free(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns true if a process is using the session `dir`.
pub fn is_in_use(dir: &Path) -> bool {
    regular::open_to_read(&dir.join(EVENTS)).and_then(|file| is_free(&file)).is_ok_and(|free| !free)
}

/// Writes the cut-off bytes to a new file next to the log.
fn set_aside(dir: &Path, rest: &[u8]) -> io::Result<PathBuf> {
    for number in 1.. {
        let path = dir.join(format!("{EVENTS}.damaged-{number}"));
        match regular::create_new(&path) {
            Ok(mut file) => {
                file.write_all(rest)?;
                file.sync_all()?;
                File::open(dir)?.sync_all()?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
