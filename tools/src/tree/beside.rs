//! Files beside their targets: under temporary names, and from there into place. What goes where is decided elsewhere.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::FileState;

/// What every temporary name begins with.
pub(super) const TEMPORARY: &str = ".deepseek-commit-";

/// Removes a temporary name, which may be gone already.
pub(super) fn drop_name(dir: BorrowedFd<'_>, name: &str) {
    rustix::fs::unlinkat(dir, name, AtFlags::empty()).unwrap_or_default();
}

pub(super) fn temporary_name() -> String {
    format!("{TEMPORARY}{:016x}", fastrand::u64(..))
}

/// Gives the file `name` the second name `kept`, or copies it where the file system has no links.
pub(super) fn keep(dir: &OwnedFd, name: &str, kept: &str, state: &FileState) -> io::Result<()> {
    match rustix::fs::linkat(dir, name, dir, kept, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
            write_file(dir.as_fd(), kept, state, permissions(dir.as_fd(), name))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Moves the file `new` to `name`, where nothing may be.
pub(super) fn place(dir: BorrowedFd<'_>, new: &str, name: &str) -> Result<(), Errno> {
    match rustix::fs::linkat(dir, new, dir, name, AtFlags::empty()) {
        Ok(()) => {
            drop_name(dir, new);
            Ok(())
        }
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
            match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(dir, new, dir, name),
                Ok(_) => Err(Errno::EXIST),
                Err(errno) => Err(errno),
            }
        }
        Err(errno) => Err(errno),
    }
}

/// Writes a new file and syncs it. Without `permissions` it gets those the system gives to new files.
pub(super) fn write_file(
    dir: BorrowedFd<'_>,
    name: &str,
    state: &FileState,
    permissions: Option<Mode>,
) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fresh = Mode::from_raw_mode(if state.executable { 0o777 } else { 0o666 });
    let mut file = File::from(rustix::fs::openat(dir, name, flags, fresh)?);
    file.write_all(&state.bytes)?;
    if let Some(permissions) = permissions {
        rustix::fs::fchmod(&file, permissions)?;
    }
    file.sync_all()
}

/// Permission bits of a file, without set-id and sticky bits.
pub(super) fn permissions(dir: BorrowedFd<'_>, name: &str) -> Option<Mode> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Mode::from_raw_mode(stat.st_mode & 0o777))
}

/// Syncs a directory; some file systems have no way to.
pub(super) fn sync(dir: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(dir) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) | Ok(()) => Ok(()),
        Err(errno) => Err(errno),
    }
}
