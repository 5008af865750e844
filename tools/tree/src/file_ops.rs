//! File operations of a commit: writes files under temporary names next to their targets and moves them into place.
//! What goes where is decided elsewhere.

pub(super) mod attributes;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use self::attributes::Attributes;
use super::{FileMode, FileState, RepoPath};
use tools::clock::precise_now;
use tools::fault;

/// The two temporary names next to target number `index` of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemporaryNames {
    /// Name of the new file until it is moved into place.
    pub(super) new: String,
    /// Second name of the old file until the commit is over.
    pub(super) old: String,
}

/// Prefix of every temporary name.
const TEMPORARY: &str = ".deepseek-commit-";

/// Returns true if `path` is a temporary file of a commit, in progress or interrupted.
pub(super) fn is_temporary(path: &RepoPath) -> bool {
    path.name().starts_with(TEMPORARY)
}

impl TemporaryNames {
    pub(super) fn of(commit: &str, index: usize) -> TemporaryNames {
        let name = |end| format!("{TEMPORARY}{commit}-{index}.{end}");
        TemporaryNames { new: name("new"), old: name("old") }
    }

    /// Removes both names, where they exist.
    pub(super) fn drop_in(&self, dir: BorrowedFd<'_>) {
        drop_name(dir, &self.new);
        drop_name(dir, &self.old);
    }
}

/// Removes a temporary name, which may not exist.
pub(super) fn drop_name(dir: BorrowedFd<'_>, name: &str) {
    fault::point().unwrap_or_default();
    rustix::fs::unlinkat(dir, name, AtFlags::empty()).unwrap_or_default();
}

/// Gives the file `name` the second name `kept`, or copies it if the file system has no hard links.
pub(super) fn keep_second_name(
    dir: &OwnedFd,
    name: &str,
    kept: &str,
    state: &FileState,
) -> io::Result<()> {
    fault::point()?;
    match rustix::fs::linkat(dir, name, dir, kept, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
            write_file(dir.as_fd(), kept, state, Attributes::of(dir.as_fd(), name).as_ref())
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Moves the file `from` to `name`, replacing what is there.
pub(super) fn replace(dir: BorrowedFd<'_>, from: &str, name: &str) -> io::Result<()> {
    fault::point()?;
    Ok(rustix::fs::renameat(dir, from, dir, name)?)
}

/// Writes the content of the file `from` to the file `name`, which stays the same file. It is gone through from its
/// beginning to its end, so that a crash leaves the new beginning and the old end.
pub(super) fn rewrite(
    dir: BorrowedFd<'_>,
    from: &str,
    name: &str,
    permissions: Option<Mode>,
) -> io::Result<()> {
    let open = |name: &str, flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok::<_, io::Error>(File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?))
    };
    fault::point()?;
    let mut bytes = Vec::new();
    open(from, OFlags::RDONLY)?.read_to_end(&mut bytes)?;
    let mut file = open(name, OFlags::WRONLY)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (beginning, end) = bytes.split_at(bytes.len() / 2);
    file.write_all(beginning)?;
    fault::point()?;
    file.write_all(end)?;
    fault::point()?;
    file.set_len(bytes.len() as u64)?;
    if let Some(permissions) = permissions {
        rustix::fs::fchmod(&file, permissions)?;
    }
    file.set_modified(precise_now())?;
    fault::point()?;
    file.sync_all()
}

/// Returns true if `found` is what a crash leaves while `old` is rewritten as `new`.
pub(super) fn is_half_rewritten(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let same = found.iter().zip(new).take_while(|(a, b)| a == b).count();
    // Any end of the old file that begins at most there.
    found.len() == old.len().max(same)
        && found.get(same..) == Some(old.get(same..).unwrap_or_default())
}

/// Moves the file `new` to `name`. Fails if `name` exists.
pub(super) fn place(dir: BorrowedFd<'_>, new: &str, name: &str) -> io::Result<()> {
    fault::point()?;
    match rustix::fs::linkat(dir, new, dir, name, AtFlags::empty()) {
        Ok(()) => {
            drop_name(dir, new);
            Ok(())
        }
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
            match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => replace(dir, new, name),
                Ok(_) => Err(Errno::EXIST.into()),
                Err(errno) => Err(errno.into()),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the file `name`.
pub(super) fn remove_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    fault::point()?;
    Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?)
}

/// Writes a new file and syncs it. It gets the attributes of the one that it is `like`, or the system's defaults. Nothing may
/// change once its content is complete, because a start after a crash takes a complete file for a finished one.
pub(super) fn write_file(
    dir: BorrowedFd<'_>,
    name: &str,
    state: &FileState,
    like: Option<&Attributes>,
) -> io::Result<()> {
    let fresh = match state.mode {
        FileMode::Regular => 0o666,
        FileMode::Executable => 0o777,
        FileMode::Symlink => {
            fault::point()?;
            // A symlink cannot be synced; it becomes durable with its directory.
            return Ok(rustix::fs::symlinkat(OsStr::from_bytes(&state.bytes), dir, name)?);
        }
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fault::point()?;
    let fresh = Mode::from_raw_mode(fresh);
    let mut file = File::from(rustix::fs::openat(dir, name, flags, fresh)?);
    if let Some(like) = like {
        like.give(&file)?;
    }
    fault::point()?;
    file.write_all(&state.bytes)?;
    // Builds compare times: nothing built before may be as new as this file.
    file.set_modified(precise_now())?;
    fault::point()?;
    file.sync_all()
}

/// Syncs a directory. Ignored on file systems that cannot.
pub(super) fn sync_directory(dir: &OwnedFd) -> io::Result<()> {
    fault::point()?;
    match rustix::fs::fsync(dir) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
