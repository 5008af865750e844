//! The root directory, held open, and the only ways to descend from it. No symlink is followed on the way.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::off_disk::OffDisk;
use super::{Entry, FileHash, RepoPath, TreeError};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory held open, so that no other can take its place.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    dir: OwnedFd,
    off_disk: OffDisk,
}

impl Root {
    /// Opens `path`. It may contain symlinks, because the user chose it.
    pub(super) fn open(path: &Path) -> Result<Root, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| {
            TreeError::Root { root: path.display().to_string(), source: errno.into() }
        })?;
        Ok(Root { path: path.to_owned(), dir, off_disk: OffDisk::default() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what there is at a path where nothing is: nothing, unless git keeps a file off the disk there.
    pub(super) fn missing(&self, path: &RepoPath) -> Result<Entry, TreeError> {
        match self.off_disk.reason(&self.path, path) {
            Some(why) => Err(TreeError::KeptOff { path: path.clone(), why }),
            None => Ok(Entry::Missing),
        }
    }

    /// Returns true if the path still leads to the open directory.
    pub(super) fn is_in_place(&self) -> bool {
        let held = rustix::fs::fstat(&self.dir);
        let there = rustix::fs::stat(&self.path);
        held.is_ok_and(|held| {
            there.is_ok_and(|there| (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino))
        })
    }

    /// Returns the hash of the canonical path, which identifies the directory across processes.
    pub(super) fn identity(&self) -> Result<FileHash, TreeError> {
        let failed = |source| TreeError::Root { root: self.path.display().to_string(), source };
        let path = self.path.canonicalize().map_err(failed)?;
        Ok(FileHash::of(path.as_os_str().as_encoded_bytes()))
    }

    /// Locks the directory against commits of other processes, for as long as the returned file is open. Waits at most
    /// `patience` for the current holder. On a file system without locks, nothing is locked.
    pub(super) fn lock(&self, patience: Duration) -> Result<OwnedFd, Errno> {
        let lock = open_below(self.dir(), ".")?;
        match lock_within(&lock, patience) {
            Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
            Ok(()) | Err(_) => Ok(lock),
        }
    }

    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Opens the parent directory of `path`. Returns `None` if it is missing.
    pub(super) fn parent_of(&self, path: &RepoPath) -> Result<Option<OwnedFd>, TreeError> {
        let opened = match path.parent() {
            None => open_below(self.dir(), "."),
            Some(parent) => self.directory(&parent),
        };
        match opened {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(TreeError::ThroughSymlink { path: path.clone() }),
            Err(Errno::NOTDIR) => Err(TreeError::ParentNotDirectory { path: path.clone() }),
            Err(errno) => Err(TreeError::Io { path: path.clone(), source: errno.into() }),
        }
    }

    /// Opens the directory `path`.
    #[cfg(target_os = "linux")]
    pub(super) fn directory(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(self.dir(), path.as_str(), DIRECTORY, Mode::empty(), resolve) {
            // `openat2` is missing or forbidden, raced with a rename, or met a symlink or a file, which `walk`
            // distinguishes.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NOTDIR) => self.walk(path),
            opened => opened,
        }
    }

    /// Opens the directory `path`.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn directory(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        self.walk(path)
    }

    /// Opens one component at a time, each relative to the one before: as safe as `openat2`, but with more system
    /// calls.
    fn walk(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        let mut dir = open_below(self.dir(), ".")?;
        for name in path.components() {
            dir = open_below(dir.as_fd(), name)?;
        }
        Ok(dir)
    }
}

/// Locks a file, waiting at most `patience` for the current holder. Then it fails with `WOULDBLOCK`.
#[expect(clippy::disallowed_methods, reason = "commits are made on threads that may block")]
pub(super) fn lock_within(file: impl AsFd, patience: Duration) -> Result<(), Errno> {
    const PAUSE: Duration = Duration::from_millis(5);
    let started = Instant::now();
    loop {
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if started.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Opens the directory `name` in `dir`. Fails with `LOOP` for a symlink and `NOTDIR` for any other file.
pub(super) fn open_below(dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, DIRECTORY, Mode::empty()).map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP if file_type(dir, name) == Some(FileType::Symlink) => {
            Errno::LOOP
        }
        Errno::LOOP => Errno::NOTDIR,
        other => other,
    })
}

fn file_type(dir: BorrowedFd<'_>, name: &str) -> Option<FileType> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_and_openat2_agree() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        std::fs::write(home.path().join("a/file"), "").unwrap();
        std::os::unix::fs::symlink("b", home.path().join("a/in")).unwrap();
        std::os::unix::fs::symlink("/", home.path().join("out")).unwrap();
        let root = Root::open(home.path()).unwrap();
        for (path, expected) in [
            ("a/b", None),
            ("a/none", Some(Errno::NOENT)),
            ("a/file", Some(Errno::NOTDIR)),
            ("a/in", Some(Errno::LOOP)),
            ("out/etc", Some(Errno::LOOP)),
        ] {
            let path = RepoPath::parse(path).unwrap();
            assert_eq!(root.walk(&path).err(), expected, "walk {path}");
            assert_eq!(root.directory(&path).err(), expected, "open {path}");
        }
    }
}
