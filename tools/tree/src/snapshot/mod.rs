//! Snapshots of the user's files, stored in a private repository in the program's state directory. Nothing here writes
//! to the workspace or to the user's repository.
//!
//! The repository is an ordinary bare repository that git can read. It borrows the objects of the user's repository
//! through `objects/info/alternates`. Trees, and files that we change, are always stored in it.

mod checkout;
mod checkpoint;
mod garbage;
mod kept;
pub(super) mod objects;
mod pack;
pub(super) mod stamps;
mod trees;

pub use checkpoint::{Checkpoint, CheckpointNote, Own};
pub use kept::{Entries, KeptFile, Snapshot, SnapshotError};
pub use trees::TreeId;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::bstr::ByteSlice as _;
use rustix::io::Errno;

use self::objects::Objects;
use self::stamps::{Stamp, Stamps};
use super::confine::lock_within;
use super::files::git_sees;
use super::repository::{self, UserRepository};
use super::{FileState, ReadTree, RepoPath};
use tools::clock::Timestamp;
use tools::regular::{self, MAX_NOTE_BYTES};

/// More unknown files than this are written to a pack.
const MANY: usize = 1000;

/// Snapshots of one workspace.
#[derive(Debug, Clone)]
pub struct Snapshots {
    dir: PathBuf,
    pub(super) workspace: PathBuf,
    /// The program's state directory, which is never part of a snapshot, wherever it is.
    pub(super) outside: PathBuf,
    pub(super) limits: SnapshotLimits,
}

/// Limits of the private repository and of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Maximum number of checkpoints; the oldest are dropped first.
    pub max_checkpoints: usize,
    /// Maximum size of the repository's own objects, in bytes; older checkpoints are dropped to stay below it.
    pub max_bytes: u64,
    /// Maximum size of one file, in bytes; larger ones are left out.
    pub max_file_bytes: u64,
    /// Maximum number of files in a snapshot; the others are left out.
    pub max_files: usize,
    /// How long to wait for another process that uses the repository.
    pub patience: Duration,
}

impl From<KeptFile> for String {
    fn from(kept: KeptFile) -> String {
        kept.to_string()
    }
}

/// Reads the files of snapshots.
pub struct SnapshotReader {
    objects: Option<Objects>,
}

impl SnapshotReader {
    /// Returns the file or symlink stored for `path`.
    pub fn file(&self, path: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError> {
        self.objects(path)?.file(path, kept)
    }

    /// Returns the stored bytes: the content of a file, or the target of a symlink.
    pub(super) fn content(
        &self,
        path: &RepoPath,
        kept: KeptFile,
    ) -> Result<Vec<u8>, SnapshotError> {
        self.objects(path)?.content(path, kept)
    }

    fn objects(&self, path: &RepoPath) -> Result<&Objects, SnapshotError> {
        self.objects.as_ref().ok_or_else(|| SnapshotError::Lost { path: path.clone() })
    }
}

impl Snapshots {
    /// Creates a handle for snapshots of `workspace` in the repository `dir`, which is created on the first write.
    /// Files below `outside` are never part of a snapshot.
    pub const fn new(
        dir: PathBuf,
        workspace: PathBuf,
        outside: PathBuf,
        limits: SnapshotLimits,
    ) -> Self {
        Self { dir, workspace, outside, limits }
    }

    /// Returns the path of the repository.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Takes a snapshot of the workspace: tracked, modified and untracked files without the ignored ones, plus the
    /// files at `also`. `now` decides which files are too fresh for their timestamps to be trusted.
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

    /// The caller settles the new objects, because it may add more.
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
        // Requested paths come first, so that the limits do not drop them.
        let others = paths.iter().filter(|path| !also.contains(path));
        // A single snapshot may use at most half of the repository.
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

    /// Stores the file at `path`, unless its object exists or can be borrowed. Returns `None` if it is too large or
    /// cannot be read.
    pub(super) fn keep(
        &self,
        objects: &Objects,
        tree: &ReadTree,
        path: &RepoPath,
        stamp: &Stamp,
    ) -> Result<Option<KeptFile>, SnapshotError> {
        use super::Entry;
        if stamp.bytes() > self.limits.max_file_bytes {
            return Ok(None);
        }
        match tree.entry_or_link(path, self.limits.max_file_bytes) {
            Ok(Entry::File(state)) => {
                Ok(Some(KeptFile::of_file(&state, objects.keep_blob(&state.bytes)?)))
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

    /// Opens the stored files for reading.
    pub fn reader(&self) -> Result<SnapshotReader, SnapshotError> {
        Ok(SnapshotReader { objects: self.open()? })
    }

    /// Returns the paths that the user's repository tracks, which may include ignored files.
    fn tracked(&self) -> Vec<RepoPath> {
        let Some(UserRepository { repository, top }) = self.theirs() else { return Vec::new() };
        let Ok(index) = repository.index_or_empty() else { return Vec::new() };
        let Ok(below) = self.workspace.strip_prefix(top) else { return Vec::new() };
        let below = below.to_path_buf();
        let paths = index.entries().iter().filter_map(|entry| entry.path(&index).to_str().ok());
        let inside = paths.filter_map(|path| Path::new(path).strip_prefix(&below).ok()?.to_str());
        inside.filter_map(|path| RepoPath::parse(path).ok()).collect()
    }

    /// Returns the user's repository, if there is one. It is only read, and its configuration cannot run anything.
    pub(super) fn theirs(&self) -> Option<UserRepository> {
        UserRepository::around(&self.workspace)
    }

    /// Locks the repository for this process. Waits at most `limits.patience`, then fails with `Busy`.
    pub(super) fn lock(&self) -> Result<fs::File, SnapshotError> {
        let path = self.dir.with_extension("lock");
        let failed = |source| SnapshotError::Io { path: path.clone(), source };
        if let Some(above) = path.parent() {
            regular::create_dir(above).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = regular::open_regular_file(&path, &mut options).map_err(failed)?;
        if lock_within(&file, self.limits.patience) == Err(Errno::WOULDBLOCK) {
            return Err(SnapshotError::Busy { dir: self.dir.clone() });
        }
        self.drop_stale_locks();
        Ok(file)
    }

    /// Removes lock files of references. While we hold our own lock, only a crash can have left them.
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

    /// Opens the repository. Returns `None` if it has not been created yet.
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

    /// Creates the repository completely or not at all.
    fn make(&self) -> Result<(), SnapshotError> {
        let half = self.dir.with_extension("half");
        match fs::remove_dir_all(&half) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.io(error)),
            Ok(()) | Err(_) => {}
        }
        // Files that are private in the workspace must stay private here.
        fs::DirBuilder::new().mode(0o700).create(&half).map_err(|source| self.io(source))?;
        gix::create::into(&half, gix::create::Kind::Bare, gix::create::Options::default())
            .map_err(|source| self.unusable(source))?;
        fs::rename(&half, &self.dir).map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> SnapshotError {
        SnapshotError::Io { path: self.dir.clone(), source }
    }

    /// Registers the user's objects as alternates of ours.
    fn borrow_objects(&self) -> Result<(), SnapshotError> {
        let file = self.dir.join("objects/info/alternates");
        let failed = |source| SnapshotError::Io { path: file.clone(), source };
        let lender = self.theirs().filter(UserRepository::lends);
        let theirs = lender.map(|it| it.repository.objects.store_ref().path().to_path_buf());
        let wanted = match theirs.map(|theirs| theirs.canonicalize()) {
            Some(Ok(theirs)) => [theirs.as_os_str().as_encoded_bytes(), b"\n"].concat(),
            Some(Err(_)) | None => Vec::new(),
        };
        if regular::read_regular_file(&file, MAX_NOTE_BYTES).unwrap_or_default() == wanted {
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
