//! Writes the files of a new worktree: from the workspace if they are the same there, otherwise from the private
//! repository.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};

use super::{copy, threads};
use crate::confine::{Root, open_below};
use crate::read::read_to_end;
use crate::snapshot::objects::Objects;
use crate::snapshot::stamps::{Stamp, Stamps};
use crate::{Entries, FileMode, KeptFile, RepoPath, SnapshotError, Snapshots};

/// Number of files of one directory that a thread writes at a time.
const AT_ONCE: usize = 64;

/// A written file or symlink.
pub(super) struct FilledFile<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) kept: KeptFile,
    pub(super) data: Metadata,
}

/// Some files of one directory, and its path.
type Job<'a> = (&'a str, Vec<(&'a RepoPath, KeptFile)>);

/// Writes `entries` to the empty directory `dir`.
pub(super) fn fill_directory<'a>(
    snapshots: &Snapshots,
    entries: &'a Entries,
    dir: &Path,
) -> Result<Vec<FilledFile<'a>>, SnapshotError> {
    let jobs = jobs(entries);
    let failed = |source| SnapshotError::Io { path: dir.to_owned(), source };
    let target = Root::open(dir)?;
    make_directories(&target, jobs.iter().map(|(above, _)| *above)).map_err(failed)?;
    let source = Source {
        snapshots,
        workspace: Root::open(&snapshots.workspace)?,
        known: Stamps::read(snapshots.dir()),
        dir,
    };
    let written = threads::act_on_each(&jobs, OnceCell::new, |objects, (above, files)| {
        let theirs = directory(&source.workspace, above).ok();
        let ours = directory(&target, above).map_err(failed)?;
        let write = |(path, kept): &(&'a RepoPath, KeptFile)| {
            source.write_stored(objects, theirs.as_ref(), &ours, path, *kept)
        };
        files.iter().map(write).collect::<Result<Vec<_>, _>>()
    });
    Ok(written?.into_iter().flatten().collect())
}

/// Groups the files by directory, at most [`AT_ONCE`] per job.
fn jobs(entries: &Entries) -> Vec<Job<'_>> {
    let mut by_directory: BTreeMap<&str, Vec<(&RepoPath, KeptFile)>> = BTreeMap::new();
    for (path, kept) in entries {
        let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
        by_directory.entry(above).or_default().push((path, *kept));
    }
    let parts = |(above, files): (_, Vec<_>)| {
        files.chunks(AT_ONCE).map(|part| (above, part.to_vec())).collect::<Vec<_>>()
    };
    by_directory.into_iter().flat_map(parts).collect()
}

/// Creates directories with their parents. Expects them in the order of their paths.
fn make_directories<'a>(root: &Root, all: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let mut last = "";
    for path in all.filter(|path| !path.is_empty()) {
        let shared = last.split('/').zip(path.split('/')).take_while(|(a, b)| a == b);
        let mut at: usize = shared.map(|(name, _)| name.len() + 1).sum();
        while let Some(rest) = path.get(at..) {
            at += rest.find('/').unwrap_or(rest.len());
            let made = path.get(..at).unwrap_or(path);
            rustix::fs::mkdirat(root.dir(), made, Mode::from_raw_mode(0o777))?;
            at += 1;
        }
        last = path;
    }
    Ok(())
}

/// Opens a directory below a root. An empty path is the root.
fn directory(root: &Root, path: &str) -> io::Result<OwnedFd> {
    match RepoPath::parse(path) {
        Ok(path) => Ok(root.directory(&path)?),
        Err(_) => Ok(open_below(root.dir(), ".")?),
    }
}

/// The source of the files' content.
struct Source<'a> {
    snapshots: &'a Snapshots,
    workspace: Root,
    /// The known contents of the workspace.
    known: Stamps,
    /// The target directory.
    dir: &'a Path,
}

impl Source<'_> {
    fn write_stored<'p>(
        &self,
        objects: &OnceCell<Option<Objects>>,
        theirs: Option<&OwnedFd>,
        ours: &OwnedFd,
        path: &'p RepoPath,
        kept: KeptFile,
    ) -> Result<FilledFile<'p>, SnapshotError> {
        let failed = |source| SnapshotError::Io { path: self.dir.join(path.as_str()), source };
        let theirs = theirs.filter(|_| !kept.is_symlink());
        let max_bytes = self.snapshots.limits.max_file_bytes;
        let found = theirs.and_then(|dir| read(dir.as_fd(), path.name(), max_bytes));
        let same = found.as_ref().filter(|(data, _)| {
            self.known.get(path, &Stamp::from(data)).is_some_and(|known| known == kept)
        });
        let data = if let Some((data, bytes)) = same {
            let (mode, modified) = (data.mode(), data.modified().ok());
            write_file(ours.as_fd(), path.name(), bytes, mode, modified).map_err(failed)?
        } else {
            let content = self.content(objects, path, kept)?;
            let same = found.filter(|(_, bytes)| *bytes == content);
            let modified = same.and_then(|(data, _)| data.modified().ok());
            write(ours.as_fd(), self.dir, path, kept, &content, modified).map_err(failed)?
        };
        Ok(FilledFile { path, kept, data })
    }

    fn content(
        &self,
        objects: &OnceCell<Option<Objects>>,
        path: &RepoPath,
        kept: KeptFile,
    ) -> Result<Vec<u8>, SnapshotError> {
        let opened = if let Some(opened) = objects.get() {
            opened
        } else {
            let opened = self.snapshots.open()?;
            objects.get_or_init(|| opened)
        };
        let objects = opened.as_ref().ok_or_else(|| SnapshotError::Lost { path: path.clone() })?;
        objects.content(path, kept)
    }
}

/// Reads a regular file. Returns `None` for anything else, for a file that is too large, and for one that changes while
/// it is read.
fn read(dir: BorrowedFd<'_>, name: &str, max_bytes: u64) -> Option<(Metadata, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty()).ok()?);
    let data = file.metadata().ok().filter(|data| data.is_file() && data.len() <= max_bytes)?;
    let bytes = read_to_end(&file, data.len(), max_bytes).ok()?;
    let after = file.metadata().ok()?;
    (Stamp::from(&data) == Stamp::from(&after)).then_some((data, bytes))
}

/// Writes stored content to `path` below `root`. `dir` is the open parent directory, and nothing may exist at `path`.
pub(super) fn write(
    dir: BorrowedFd<'_>,
    root: &Path,
    path: &RepoPath,
    kept: KeptFile,
    content: &[u8],
    modified: Option<SystemTime>,
) -> io::Result<Metadata> {
    match kept.mode {
        FileMode::Regular => write_file(dir, path.name(), content, 0o666, modified),
        FileMode::Executable => write_file(dir, path.name(), content, 0o777, modified),
        FileMode::Symlink => {
            rustix::fs::symlinkat(OsStr::from_bytes(content), dir, path.name())?;
            fs::symlink_metadata(root.join(path.as_str()))
        }
    }
}

fn write_file(
    dir: BorrowedFd<'_>,
    name: &str,
    bytes: &[u8],
    mode: u32,
    modified: Option<SystemTime>,
) -> io::Result<Metadata> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode & 0o777);
    let mut file = File::from(rustix::fs::openat(dir, name, flags, mode)?);
    file.write_all(bytes)?;
    if let Some(modified) = modified {
        file.set_times(FileTimes::new().set_modified(modified))?;
    }
    file.metadata()
}

/// Copies those of `paths` that are files of the workspace to `dir`. Files that cannot be copied are skipped, as in the
/// snapshot.
pub(super) fn copy_left_out(
    snapshots: &Snapshots,
    paths: &[RepoPath],
    dir: &Path,
) -> Result<Vec<(RepoPath, Stamp)>, SnapshotError> {
    let (theirs, ours) = (Root::open(&snapshots.workspace)?, Root::open(dir)?);
    let copy = |path: &RepoPath| -> io::Result<Stamp> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let source = theirs.parent_of(path).map_err(io::Error::other)?.ok_or_else(missing)?;
        let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
        fs::create_dir_all(dir.join(above))?;
        let target = ours.parent_of(path).map_err(io::Error::other)?.ok_or_else(missing)?;
        copy::file(source.as_fd(), target.as_fd(), OsStr::new(path.name()))
            .map(|data| Stamp::from(&data))
    };
    let mut copied = Vec::new();
    for path in paths {
        match copy(path) {
            Ok(stamp) => copied.push((path.clone(), stamp)),
            Err(error) => {
                tracing::debug!(%path, %error, "cannot copy a file that the snapshot left out");
            }
        }
    }
    Ok(copied)
}
