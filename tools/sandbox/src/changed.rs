//! Lists what a command changed in the tree, from the overlay layer that received its writes, before the layer is
//! discarded.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::orders::Notice;

/// An overlay over a directory.
pub(crate) struct Layer {
    /// The layer with what was written.
    pub(crate) upper: File,
    /// The directory underneath.
    pub(crate) lower: File,
}

/// Maximum number of paths reported.
const MAX_TOLD: usize = 1000;
/// Depth down to which changes are listed; of anything deeper, only the directory is reported.
const MAX_DEPTH: usize = 100;
/// Files up to this size, in bytes, are compared, so that a file that was only touched is not reported.
const MAX_COMPARED: u64 = 1 << 20;

impl Layer {
    /// Returns the changed paths as a notice.
    pub(crate) fn notice(&self) -> Notice {
        let mut found = Vec::new();
        if let Err(error) = self.collect(self.upper.as_fd(), Path::new(""), 0, &mut found) {
            tracing::debug!(%error, "could not list all changes of a command");
        }
        found.sort();
        found.truncate(MAX_TOLD);
        Notice::Discarded(found)
    }

    fn collect(
        &self,
        dir: std::os::fd::BorrowedFd<'_>,
        at: &Path,
        depth: usize,
        found: &mut Vec<OsString>,
    ) -> io::Result<()> {
        if depth == MAX_DEPTH {
            found.push(at.into());
            return Ok(());
        }
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let path: PathBuf = at.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            let data = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(data.st_mode) {
                FileType::Directory => {
                    let below = openat(
                        dir,
                        name,
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                        Mode::empty(),
                    )?;
                    self.collect(below.as_fd(), &path, depth + 1, found)?;
                }
                FileType::RegularFile if self.is_as_before(dir, name, &path) => {}
                FileType::RegularFile
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => found.push(path.into_os_string()),
            }
        }
        Ok(())
    }

    /// Returns whether a file has the same content as below the layer.
    fn is_as_before(
        &self,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &std::ffi::CStr,
        path: &Path,
    ) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let read = |opened: rustix::io::Result<OwnedFd>| {
            let file = File::from(opened.ok()?);
            let data = file.metadata().ok()?;
            if !data.is_file() || data.len() > MAX_COMPARED {
                return None;
            }
            let mut content = Vec::new();
            file.take(MAX_COMPARED + 1).read_to_end(&mut content).ok()?;
            Some(content)
        };
        let now = read(openat(dir, name, flags, Mode::empty()));
        now.is_some() && now == read(openat(&self.lower, path, flags, Mode::empty()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changes_are_listed_down_to_a_depth() {
        let (upper, lower) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dir = |depth: usize| (0..depth).map(|_| "d").collect::<PathBuf>();
        fs::create_dir_all(upper.path().join(dir(MAX_DEPTH + 50))).unwrap();
        for path in [dir(MAX_DEPTH - 1).join("f"), dir(MAX_DEPTH + 50).join("g")] {
            fs::write(upper.path().join(path), "x").unwrap();
        }
        let open = |dir: &tempfile::TempDir| File::open(dir.path()).unwrap();
        let Notice::Discarded(found) =
            (Layer { upper: open(&upper), lower: open(&lower) }).notice()
        else {
            panic!("no list");
        };
        let expected = [dir(MAX_DEPTH), dir(MAX_DEPTH - 1).join("f")];
        assert_eq!(found, expected.map(PathBuf::into_os_string));
    }
}
