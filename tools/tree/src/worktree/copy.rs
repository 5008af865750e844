//! Copies one file of the user for a lane: as a clone if the file system supports it. The copy shares no byte with the
//! user's file for writing.

use std::ffi::OsStr;
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rustix::fs::{Mode, OFlags};

/// Copies the regular file `name` from one directory to another, with its times and permissions. Fails if the target
/// exists.
pub(super) fn file(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr) -> io::Result<Metadata> {
    let (source, target) = pair(from, to, name)?;
    match clone(&source, &target) {
        Ok(()) => {}
        Err(_) => drop(io::copy(&mut &source, &mut &target)?),
    }
    finish(&source, &target)
}

/// Like [`file`], but fails if the file system cannot clone it.
pub(super) fn cloned(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &OsStr,
) -> io::Result<Metadata> {
    let (source, target) = pair(from, to, name)?;
    clone(&source, &target)?;
    finish(&source, &target)
}

/// Copies a file, with the text returned by `change` if it returns one.
pub(super) fn copy_changed(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &OsStr,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> io::Result<()> {
    let (source, target) = pair(from, to, name)?;
    let mut text = Vec::new();
    (&source).read_to_end(&mut text)?;
    (&target).write_all(&change(&text).unwrap_or(text))?;
    finish(&source, &target).map(drop)
}

fn pair(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr) -> io::Result<(File, File)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = rustix::fs::openat(from, name, flags | OFlags::RDONLY, Mode::empty())?;
    let source = File::from(source);
    if !source.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let fresh = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let target = rustix::fs::openat(to, name, fresh, Mode::RUSR | Mode::WUSR)?;
    Ok((source, File::from(target)))
}

fn finish(source: &File, target: &File) -> io::Result<Metadata> {
    let data = source.metadata()?;
    target.set_permissions(Permissions::from_mode(data.mode() & 0o777))?;
    target.set_times(FileTimes::new().set_modified(data.modified()?))?;
    target.metadata()
}

#[cfg(target_os = "linux")]
fn clone(source: &File, target: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(target, source)?)
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
