//! Lists what commands changed in a tree, from the layers that received their writes.

use std::ffi::{CStr, OsStr};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};

use crate::orders::{MAX_TOLD, Notice};

/// A layer over a directory of the tree.
pub(crate) struct Layer {
    /// The directory, relative to the tree.
    pub(crate) at: PathBuf,
    /// The directory that receives what is written, as the process that made the layer sees it.
    pub(crate) written: PathBuf,
    /// The same directory, open.
    pub(crate) upper: File,
    /// The directory underneath.
    pub(crate) lower: File,
}

/// Depth down to which changes are listed; of anything deeper, only the directory is reported.
const MAX_DEPTH: usize = 100;
/// Files up to this size, in bytes, are compared, so that a file that was only touched is not reported.
const MAX_COMPARED: u64 = 1 << 20;

/// Returns the changed paths as a notice, only the first ones.
pub(crate) fn notice(layers: &[Layer]) -> Notice {
    let mut found = changed_paths(layers, &|_| false);
    found.truncate(MAX_TOLD);
    Notice::Discarded(found.into_iter().map(PathBuf::into_os_string).collect())
}

/// Returns the paths that differ from what is under the layers, in order. Directories for which `skips` returns true are
/// not searched.
pub(crate) fn changed_paths(layers: &[Layer], skips: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for layer in layers {
        let mut search = Search { layer, skips, found: &mut found };
        if let Err(error) = search.below(layer.upper.as_fd(), Path::new(""), 0) {
            tracing::debug!(%error, "could not list all changes of a command");
        }
    }
    found.sort();
    found
}

struct Search<'s> {
    layer: &'s Layer,
    skips: &'s dyn Fn(&Path) -> bool,
    found: &'s mut Vec<PathBuf>,
}

impl Search<'_> {
    fn below(&mut self, dir: BorrowedFd<'_>, at: &Path, depth: usize) -> io::Result<()> {
        let device = rustix::fs::fstat(dir)?.st_dev;
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let path = at.join(OsStr::from_bytes(name.to_bytes()));
            let data = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let in_tree = self.layer.at.join(&path);
            match FileType::from_raw_mode(data.st_mode) {
                FileType::Directory => {
                    // A directory with a layer of its own is another device.
                    if data.st_dev != device || (self.skips)(&in_tree) {
                        continue;
                    }
                    if depth + 1 == MAX_DEPTH {
                        self.found.push(in_tree);
                        continue;
                    }
                    let below = openat(
                        dir,
                        name,
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                        Mode::empty(),
                    )?;
                    self.below(below.as_fd(), &path, depth + 1)?;
                }
                FileType::RegularFile if self.is_as_before(dir, name, &path) => {}
                FileType::Symlink if self.leads_as_before(dir, name, &path) => {}
                FileType::RegularFile
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => self.found.push(in_tree),
            }
        }
        Ok(())
    }

    fn leads_as_before(&self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> bool {
        let now = readlinkat(dir, name, Vec::new());
        now.is_ok_and(|now| readlinkat(&self.layer.lower, path, Vec::new()) == Ok(now))
    }

    /// Returns whether a file has the same content as under the layer.
    fn is_as_before(&self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = |opened: rustix::io::Result<OwnedFd>| {
            let file = File::from(opened.ok()?);
            let data = file.metadata().ok().filter(Metadata::is_file)?;
            Some((file, data))
        };
        let now = open(openat(dir, name, flags, Mode::empty()));
        let before = open(openat(&self.layer.lower, path, flags, Mode::empty()));
        let (Some((now, data)), Some((before, old))) = (now, before) else { return false };
        if data.len() != old.len() {
            return false;
        }
        if data.len() > MAX_COMPARED {
            let modified = |data: &Metadata| (data.mtime(), data.mtime_nsec());
            return modified(&data) == modified(&old);
        }
        let read = |mut file: File| {
            let mut content = Vec::new();
            file.read_to_end(&mut content).ok().map(|_| content)
        };
        read(now) == read(before)
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
        let (at, written) = (PathBuf::new(), upper.path().to_owned());
        let layer = Layer { at, written, upper: open(&upper), lower: open(&lower) };
        let Notice::Discarded(found) = notice(&[layer]) else { panic!("no list") };
        let expected = [dir(MAX_DEPTH), dir(MAX_DEPTH - 1).join("f")];
        assert_eq!(found, expected.map(PathBuf::into_os_string));
    }
}
