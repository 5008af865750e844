//! The mounts of this mount namespace.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{MountFlags, mount_remount};

/// Where the machine's root is mounted while a new one is built.
pub(super) const OLD: &str = "/old";

/// Makes a mount read-only. The flags that it has already cannot be taken away, and are kept.
pub(super) fn read_only(mounted: &Path) -> io::Result<()> {
    let now = statvfs(mounted)?.f_flag;
    if now.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (is, stays) in kept {
        if now.contains(is) {
            flags |= stays;
        }
    }
    mount_remount(mounted, flags, c"")?;
    Ok(())
}

/// Returns all mount points, in the order in which they were mounted.
pub(super) fn mounts() -> io::Result<Vec<PathBuf>> {
    let table = fs::read(Path::new(OLD).join("proc/self/mountinfo"))?;
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(|point| PathBuf::from(OsString::from_vec(unescaped(point)))).collect())
}

/// Decodes a path of the mount table, in which blanks and other special characters are written as a backslash and three
/// octal digits.
fn unescaped(mut text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    while let [byte, rest @ ..] = text {
        text = rest;
        if *byte == b'\\'
            && let [a, b, c, rest @ ..] = rest
            && let Some(code) = OsStr::from_bytes(&[*a, *b, *c]).to_str()
            && let Ok(code) = u8::from_str_radix(code, 8)
        {
            plain.push(code);
            text = rest;
            continue;
        }
        plain.push(*byte);
    }
    plain
}
