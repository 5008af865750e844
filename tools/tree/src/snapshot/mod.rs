//! Whole trees of the user's files, kept in a private repository beside the state. It never writes to the workspace, nor to
//! the user's repository.
//!
//! The repository is an ordinary bare one that git can read. It borrows the objects of the user's through
//! `objects/info/alternates`; trees, and files that are changed by us, are always its own.

mod checkout;
mod checkpoint;
mod garbage;
pub(super) mod objects;
mod pack;
pub(super) mod stamps;
mod trees;

pub use checkpoint::{Checkpoint, Note, Own};
pub use trees::TreeId;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use self::objects::Objects;
use self::stamps::{Stamp, Stamps};
use super::confine::lock_within;
use super::files::git_sees;
use super::{FileMode, FileState, ReadTree, RepoPath, TreeError, repository};
use tools::clock::Timestamp;
use tools::regular::{self, MAX_NOTE_BYTES};

/// So many files that are not known are written together.
const MANY: usize = 1000;

/// Snapshots of one workspace.
#[derive(Debug, Clone)]
pub struct Snapshots {
    dir: PathBuf,
    pub(super) workspace: PathBuf,
    /// What is never part of it, wherever it lies: where the program keeps its state.
    pub(super) outside: PathBuf,
    pub(super) limits: SnapshotLimits,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Checkpoints; older ones go first.
    pub max_checkpoints: usize,
    /// Bytes of the repository, as far as they are its own; older checkpoints go to keep it.
    pub max_bytes: u64,
    /// Bytes of one file; larger ones are left out.
    pub max_file_bytes: u64,
    /// Files of one snapshot; others are left out.
    pub max_files: usize,
    /// How long another process that uses the repository is waited for.
    pub patience: Duration,
}

/// The files and symlinks of a tree, by path.
pub type Entries = BTreeMap<RepoPath, Kept>;

/// A tree of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What is at each path.
    pub entries: Entries,
    /// Files that were left out: too large or too many, not readable, or not there any more when they were read.
    pub left_out: Vec<RepoPath>,
}

/// A file or a symlink of a snapshot. As text it is a letter and the name of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Kept {
    pub(super) mode: FileMode,
    pub(super) id: ObjectId,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository cannot be made, read or written.
    #[error("cannot use the private repository {dir}")]
    Repository {
        /// Where it is.
        dir: PathBuf,
        /// What is wrong.
        #[source]
        source: Box<gix::Error>,
    },
    /// A file of the repository cannot be read or written.
    #[error("cannot use {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process uses the repository, for longer than it is waited for.
    #[error("another process uses {dir}")]
    Busy {
        /// The repository.
        dir: PathBuf,
    },
    /// Nobody wants it any more.
    #[error("stopped")]
    Stopped,
    /// An object that should be there is not: the user's repository it was borrowed from has dropped it.
    #[error("{path} is not kept any more: the repository that had it dropped it")]
    Lost {
        /// What it was.
        path: RepoPath,
    },
    /// A file of a lane that must be kept, and is larger than files that are.
    #[error("{path} is too large to be kept")]
    TooLarge {
        /// The file.
        path: RepoPath,
    },
    /// The workspace cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.mode {
            FileMode::Regular => 'f',
            FileMode::Executable => 'x',
            FileMode::Symlink => 'l',
        };
        write!(f, "{letter} {}", self.id)
    }
}

impl From<Kept> for String {
    fn from(kept: Kept) -> String {
        kept.to_string()
    }
}

impl TryFrom<String> for Kept {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Kept, Self::Error> {
        let (letter, id) = text.split_once(' ').ok_or("no object")?;
        let mode = match letter {
            "f" => FileMode::Regular,
            "x" => FileMode::Executable,
            "l" => FileMode::Symlink,
            _ => return Err("no such kind of file"),
        };
        Ok(Kept { mode, id: ObjectId::from_hex(id.as_bytes()).map_err(|_| "no object")? })
    }
}

impl Kept {
    /// Whether it is a symlink.
    pub fn is_symlink(self) -> bool {
        self.mode == FileMode::Symlink
    }

    /// Whether it is a file that its owner may execute.
    pub fn is_executable(self) -> bool {
        self.mode == FileMode::Executable
    }

    /// Whether both have the same bytes, whatever else they are. Of a symlink they are where it leads.
    pub fn has_bytes_of(self, other: Kept) -> bool {
        self.id == other.id
    }

    /// The same file, when its bytes are kept.
    pub(super) fn of_file(state: &FileState, id: ObjectId) -> Kept {
        Kept { mode: state.mode, id }
    }
}

/// The files of snapshots.
pub struct SnapshotReader {
    objects: Option<Objects>,
}

impl SnapshotReader {
    /// The file or symlink that was kept at `path`.
    pub fn file(&self, path: &RepoPath, kept: Kept) -> Result<FileState, SnapshotError> {
        self.objects(path)?.file(path, kept)
    }

    /// The bytes that were kept: a file's, or where a symlink leads.
    pub(super) fn content(&self, path: &RepoPath, kept: Kept) -> Result<Vec<u8>, SnapshotError> {
        self.objects(path)?.content(path, kept)
    }

    fn objects(&self, path: &RepoPath) -> Result<&Objects, SnapshotError> {
        self.objects.as_ref().ok_or_else(|| SnapshotError::Lost { path: path.clone() })
    }
}

impl Snapshots {
    /// Snapshots of `workspace` in the repository `dir`, which is made when it is first written to.
    /// What lies in `outside` is never part of one.
    pub const fn new(
        dir: PathBuf,
        workspace: PathBuf,
        outside: PathBuf,
        limits: SnapshotLimits,
    ) -> Self {
        Self { dir, workspace, outside, limits }
    }

    /// Where the repository is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The workspace they are of.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Takes a snapshot of the workspace as it is: tracked, modified and untracked files, without ignored ones; and
    /// whatever is at `also`. `now` tells which files are too fresh for their times to be trusted.
    pub fn take(
        &self,
        tree: &ReadTree,
        also: &[&RepoPath],
        now: Timestamp,
    ) -> Result<Snapshot, SnapshotError> {
        let _lock = self.lock()?;
        let objects = self.open_or_make()?;
        let snapshot = self.take_locked(&objects, tree, also, now, &|| false)?;
        objects.settle()?;
        Ok(snapshot)
    }

    /// What is new is settled by the caller, who may have more.
    fn take_locked(
        &self,
        objects: &Objects,
        tree: &ReadTree,
        also: &[&RepoPath],
        now: Timestamp,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Snapshot, SnapshotError> {
        let known = Stamps::read(&self.dir);
        let mut seen = Stamps::default();
        let mut snapshot = Snapshot { entries: Entries::new(), left_out: Vec::new() };
        let paths = git_sees(&self.workspace, &self.outside, self.tracked());
        if paths.len().saturating_sub(known.len()) > MANY {
            objects.pack();
        }
        // What is asked for by name comes first, so that it is not among what is too much.
        let others = paths.iter().filter(|path| !also.contains(path));
        // No single snapshot may fill the repository.
        let mut room = self.limits.max_bytes / 2;
        for path in also.iter().copied().chain(others).cloned() {
            if stopped() {
                return Err(SnapshotError::Stopped);
            }
            let Some(stamp) = Stamp::of(&self.workspace.join(path.as_str())) else { continue };
            let kept = match known.get(&path, &stamp).filter(|kept| objects.has(kept.id)) {
                _ if snapshot.entries.len() >= self.limits.max_files => None,
                Some(kept) => Some(kept),
                None if stamp.bytes() > room => None,
                None => {
                    room -= stamp.bytes();
                    self.keep(objects, tree, &path, &stamp)?
                }
            };
            match kept {
                Some(kept) => {
                    seen.add(path.clone(), stamp, kept, now);
                    snapshot.entries.insert(path, kept);
                }
                None => snapshot.left_out.push(path),
            }
        }
        if seen != known {
            seen.write(&self.dir)?;
        }
        Ok(snapshot)
    }

    /// Writes what is at `path` to the repository, unless it is there or can be borrowed.
    pub(super) fn keep(
        &self,
        objects: &Objects,
        tree: &ReadTree,
        path: &RepoPath,
        stamp: &Stamp,
    ) -> Result<Option<Kept>, SnapshotError> {
        use super::Entry;
        if stamp.bytes() > self.limits.max_file_bytes {
            return Ok(None);
        }
        match tree.entry_or_link(path, self.limits.max_file_bytes) {
            Ok(Entry::File(state)) => {
                Ok(Some(Kept::of_file(&state, objects.keep_blob(&state.bytes)?)))
            }
            Ok(
                Entry::Missing
                | Entry::Directory
                | Entry::Symlink
                | Entry::Other
                | Entry::TooLarge { .. },
            )
            | Err(_) => Ok(None),
        }
    }

    /// What is kept, for reading. Open for as long as it lives.
    pub fn reader(&self) -> Result<SnapshotReader, SnapshotError> {
        Ok(SnapshotReader { objects: self.open()? })
    }

    /// The paths the user's repository tracks; an ignored file may be among them.
    fn tracked(&self) -> Vec<RepoPath> {
        let Some(theirs) = self.theirs() else { return Vec::new() };
        let Ok(index) = theirs.index_or_empty() else { return Vec::new() };
        let Some(top) = theirs.workdir().and_then(|top| top.canonicalize().ok()) else {
            return Vec::new();
        };
        let Ok(below) = self.workspace.strip_prefix(top) else { return Vec::new() };
        let below = below.to_path_buf();
        let paths = index.entries().iter().filter_map(|entry| entry.path(&index).to_str().ok());
        let inside = paths.filter_map(|path| Path::new(path).strip_prefix(&below).ok()?.to_str());
        inside.filter_map(|path| RepoPath::parse(path).ok()).collect()
    }

    /// The user's repository, if there is one. It is only read, and its configuration runs nothing.
    pub(super) fn theirs(&self) -> Option<gix::Repository> {
        repository::UserRepository::around(&self.workspace).map(|theirs| theirs.repository)
    }

    /// One process at a time uses the repository; others wait for as long as a snapshot takes.
    pub(super) fn lock(&self) -> Result<fs::File, SnapshotError> {
        let path = self.dir.with_extension("lock");
        let failed = |source| SnapshotError::Io { path: path.clone(), source };
        if let Some(above) = path.parent() {
            regular::create_dir(above).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = regular::open(&path, &mut options).map_err(failed)?;
        if lock_within(&file, self.limits.patience) == Err(Errno::WOULDBLOCK) {
            return Err(SnapshotError::Busy { dir: self.dir.clone() });
        }
        self.drop_stale_locks();
        Ok(file)
    }

    /// Removes locks of references, which only a crash can have left while ours is held.
    fn drop_stale_locks(&self) {
        let is_lock = |path: &Path| path.extension().is_some_and(|end| end == "lock");
        let mut open = vec![self.dir.join(checkpoint::REFS), self.dir.join(trees::REFS)];
        let mut locks = vec![self.dir.join("packed-refs.lock")];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(entry.path()),
                    Ok(_) if is_lock(&entry.path()) => locks.push(entry.path()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        for path in locks {
            fs::remove_file(path).unwrap_or_default();
        }
    }

    /// The repository, if it was ever made.
    pub(super) fn open(&self) -> Result<Option<Objects>, SnapshotError> {
        if !self.dir.exists() {
            return Ok(None);
        }
        if let Some(path) = repository::not_regular(&self.dir) {
            let source = io::ErrorKind::InvalidInput.into();
            return Err(SnapshotError::Io { path, source });
        }
        let opened = gix::open::Options::isolated().open_path_as_is(true).open(&self.dir);
        opened
            .map(|repo| Some(Objects::new(repo.into(), &self.dir)))
            .map_err(|source| self.unusable(source))
    }

    pub(super) fn open_or_make(&self) -> Result<Objects, SnapshotError> {
        if !self.dir.exists() {
            self.make()?;
        }
        self.borrow_objects()?;
        let objects = self.open()?;
        objects.ok_or_else(|| self.io(io::ErrorKind::NotFound.into()))
    }

    /// Makes the repository, whole or not at all.
    fn make(&self) -> Result<(), SnapshotError> {
        let half = self.dir.with_extension("half");
        match fs::remove_dir_all(&half) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.io(error)),
            Ok(()) | Err(_) => {}
        }
        // Files that are private in the workspace stay so here.
        fs::DirBuilder::new().mode(0o700).create(&half).map_err(|source| self.io(source))?;
        gix::create::into(&half, gix::create::Kind::Bare, gix::create::Options::default())
            .map_err(|source| self.unusable(source))?;
        fs::rename(&half, &self.dir).map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> SnapshotError {
        SnapshotError::Io { path: self.dir.clone(), source }
    }

    /// Names the user's objects as ours to read.
    fn borrow_objects(&self) -> Result<(), SnapshotError> {
        let file = self.dir.join("objects/info/alternates");
        let failed = |source| SnapshotError::Io { path: file.clone(), source };
        let theirs = self.theirs().map(|theirs| theirs.objects.store_ref().path().to_path_buf());
        let wanted = match theirs.map(|theirs| theirs.canonicalize()) {
            Some(Ok(theirs)) => [theirs.as_os_str().as_encoded_bytes(), b"\n"].concat(),
            Some(Err(_)) | None => Vec::new(),
        };
        if regular::read(&file, MAX_NOTE_BYTES).unwrap_or_default() == wanted {
            return Ok(());
        }
        regular::create_dir(&self.dir.join("objects/info")).map_err(failed)?;
        fs::write(&file, wanted).map_err(failed)
    }

    pub(super) fn unusable(&self, source: gix::Error) -> SnapshotError {
        SnapshotError::Repository { dir: self.dir.clone(), source: Box::new(source) }
    }
}

#[cfg(test)]
mod tests;
