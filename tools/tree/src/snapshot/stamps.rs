//! Known contents of files by size and timestamps, so that an unchanged file is not read again.
//!
//! One line per path: kind and object, size, times, inode, mode, path. Unreadable lines are ignored.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::kept::{KeptFile, SnapshotError};
use crate::RepoPath;
use tools::clock::Timestamp;
use tools::regular::{self, MAX_STATE_BYTES};

const FILE: &str = "stamps";

/// How long a file must have been unchanged before its timestamps are trusted to show a later change, in seconds. Some
/// file systems have a resolution of two seconds.
const RESTING_SECONDS: i64 = 3;

/// The metadata of a file, which is available without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    mode: u32,
}

/// The known files by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    known: BTreeMap<RepoPath, (Stamp, KeptFile)>,
}

impl Stamp {
    /// Returns the stamp of a file or symlink, or `None` for anything else.
    pub(crate) fn of(path: &Path) -> Option<Stamp> {
        let data = fs::symlink_metadata(path).ok()?;
        (data.is_file() || data.is_symlink()).then(|| Stamp::from(&data))
    }

    /// Returns true if any later write changes the stamp, however coarse the clock of the file system is: the
    /// modification time is well before the inode's change time.
    pub(crate) const fn shows_writes(&self) -> bool {
        self.modified.0 < self.changed.0 - RESTING_SECONDS
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl From<&Metadata> for Stamp {
    fn from(data: &Metadata) -> Stamp {
        Stamp {
            bytes: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
            inode: data.ino(),
            mode: data.mode(),
        }
    }
}

impl Stamps {
    pub(crate) fn read(dir: &Path) -> Stamps {
        let text = regular::read_text(&dir.join(FILE), MAX_STATE_BYTES).unwrap_or_default();
        Stamps { known: text.lines().filter_map(parse).collect() }
    }

    /// Returns the number of known files.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the known content of `path` if its stamp has not changed.
    pub(crate) fn get(&self, path: &RepoPath, stamp: &Stamp) -> Option<KeptFile> {
        self.known.get(path).filter(|(known, _)| known == stamp).map(|(_, kept)| *kept)
    }

    /// Remembers a file, unless it changed so shortly before `now` that another change might not show in its stamp.
    pub(crate) fn add(&mut self, path: RepoPath, stamp: Stamp, kept: KeptFile, now: Timestamp) {
        let latest = stamp.modified.0.max(stamp.changed.0);
        if latest < now.as_second() - RESTING_SECONDS {
            self.known.insert(path, (stamp, kept));
        }
    }

    /// Remembers a file that was just written, if a later write is certain to change its stamp.
    pub(crate) fn add_written(&mut self, path: RepoPath, stamp: Stamp, kept: KeptFile) {
        if stamp.shows_writes() {
            self.known.insert(path, (stamp, kept));
        }
    }

    pub(crate) fn forget(&mut self, path: &RepoPath) {
        self.known.remove(path);
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), SnapshotError> {
        let mut text = String::new();
        for (path, (stamp, kept)) in &self.known {
            let Stamp { bytes, modified, changed, inode, mode } = stamp;
            let times = format!("{} {} {} {}", modified.0, modified.1, changed.0, changed.1);
            writeln!(text, "{kept} {bytes} {times} {inode} {mode} {path}").unwrap_or_default();
        }
        let path = dir.join(FILE);
        let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
            io::Write::write_all(&mut file, text.as_bytes())?;
            file.persist(&path)?;
            Ok(())
        });
        written.map_err(|source| SnapshotError::Io { path: path.clone(), source })
    }
}

fn parse(line: &str) -> Option<(RepoPath, (Stamp, KeptFile))> {
    let mut words = line.splitn(10, ' ');
    let kept = KeptFile::try_from(format!("{} {}", words.next()?, words.next()?)).ok()?;
    let bytes = words.next()?.parse().ok()?;
    let mut time = || words.next()?.parse::<i64>().ok();
    let (modified, changed) = ((time()?, time()?), (time()?, time()?));
    let (inode, mode) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let path = RepoPath::parse(words.next()?).ok()?;
    Some((path, (Stamp { bytes, modified, changed, inode, mode }, kept)))
}
