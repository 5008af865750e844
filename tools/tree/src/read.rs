//! Reads below a root. Cannot write, and opens nothing that could block or lead outside.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::confine::Root;
use super::{Entry, FileMode, FileState, RepoPath, TreeError};

/// Larger directories are not searched for names that look alike.
const MAX_ALIKE: usize = 50_000;

/// A directory open for reading. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReadTree {
    root: Arc<Root>,
}

impl ReadTree {
    /// Opens the directory `root`.
    pub fn open(root: &Path) -> Result<ReadTree, TreeError> {
        Ok(ReadTree { root: Arc::new(Root::open(root)?) })
    }

    pub(super) fn of(root: &Arc<Root>) -> ReadTree {
        ReadTree { root: Arc::clone(root) }
    }

    /// Returns the path as it was opened.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns true if the path still leads to the opened directory and not to a replacement.
    pub fn is_in_place(&self) -> bool {
        self.root.is_in_place()
    }

    /// Returns the message for a directory that is no longer in place.
    pub fn gone(&self) -> String {
        let root = self.root().display();
        format!("{root} was moved, deleted or replaced while the request was running")
    }

    /// Returns the target of the symlink at `path`, without following it.
    pub fn link(&self, path: &RepoPath) -> Result<Vec<u8>, TreeError> {
        let failed = |errno: Errno| TreeError::Io { path: path.clone(), source: errno.into() };
        let dir = self.root.parent_of(path)?.ok_or(Errno::NOENT).map_err(failed)?;
        let target = rustix::fs::readlinkat(dir, path.name(), Vec::new()).map_err(failed)?;
        Ok(target.into_bytes())
    }

    /// Returns the entry at `path`. A symlink is returned as a file whose content is its target.
    pub fn entry_or_link(&self, path: &RepoPath, max_bytes: u64) -> Result<Entry, TreeError> {
        let entry = self.entry(path, max_bytes)?;
        if entry != Entry::Symlink {
            return Ok(entry);
        }
        let bytes = self.link(path)?.into();
        Ok(Entry::File(FileState { bytes, mode: FileMode::Symlink }))
    }

    /// Returns the sorted names in `dir`, or in the root if it is `None`. Empty if `dir` is not a directory, is behind
    /// a symlink, or has more than `most` entries.
    pub fn names(&self, dir: Option<&RepoPath>, most: usize) -> Vec<String> {
        let mut path = self.root().to_owned();
        for part in dir.iter().flat_map(|dir| dir.as_str().split('/')) {
            path.push(part);
            if !std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                return Vec::new();
            }
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(most.saturating_add(1)).collect();
        if names.len() > most {
            return Vec::new();
        }
        names.sort();
        names
    }

    /// Returns the permission bits of a regular file, without set-id and sticky bits.
    pub fn permissions(&self, path: &RepoPath) -> Option<u32> {
        let dir = self.root.parent_of(path).ok()??;
        let stat = rustix::fs::statat(&dir, path.name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then_some(stat.st_mode & 0o777)
    }

    /// Returns the only existing path that looks like `path`, which does not exist.
    pub fn alike(&self, path: &RepoPath) -> Option<RepoPath> {
        let mut alike = path.alike(&|dir| self.names(dir, MAX_ALIKE));
        alike.pop().filter(|_| alike.is_empty())
    }

    /// Returns the entry at `path`. A file larger than `max_bytes` is not read. A missing file that git tracks and keeps
    /// off the disk is an error.
    pub fn entry(&self, path: &RepoPath, max_bytes: u64) -> Result<Entry, TreeError> {
        let Some(dir) = self.root.parent_of(path)? else {
            return self.root.missing(path);
        };
        let failed = |errno: Errno| TreeError::Io { path: path.clone(), source: errno.into() };
        let stat = match rustix::fs::statat(&dir, path.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.root.missing(path),
            Err(errno) => return Err(failed(errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Entry::Directory),
            FileType::Symlink => return Ok(Entry::Symlink),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Ok(Entry::Other),
        }
        // The file may have been replaced since `statat`: do not follow a symlink or block on a FIFO.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(dir.as_fd(), path.name(), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return self.root.missing(path),
            Err(Errno::LOOP) => return Ok(Entry::Symlink),
            Err(errno) => return Err(failed(errno)),
        };
        read_regular(&file, max_bytes).map_err(failed)
    }
}

fn read_regular(file: &OwnedFd, max_bytes: u64) -> Result<Entry, Errno> {
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Entry::Other);
    }
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    if size > max_bytes {
        return Ok(Entry::TooLarge { bytes: size });
    }
    let bytes = read_to_end(file, size, max_bytes)?;
    let read = bytes.len() as u64;
    if read > max_bytes {
        return Ok(Entry::TooLarge { bytes: read });
    }
    let mode = FileMode::of_file(Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR));
    Ok(Entry::File(FileState { bytes: bytes.into(), mode }))
}

/// Reads a file that was just seen to have `size` bytes, in one read unless it is changing. Stops after more than
/// `max_bytes`.
pub(super) fn read_to_end(file: impl AsFd, size: u64, max_bytes: u64) -> Result<Vec<u8>, Errno> {
    let [size, max] = [size, max_bytes].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    while bytes.len() <= max {
        // The buffer has spare capacity, so a read that ends at exactly `size` bytes has reached the end.
        bytes.reserve(1);
        let read = retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut bytes)))?;
        if read == 0 || bytes.len() == size {
            break;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn returns_the_kind_of_entry_and_reads_files_only() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("d")).unwrap();
        std::fs::write(home.path().join("d/f"), "text").unwrap();
        std::fs::set_permissions(home.path().join("d/f"), PermissionsExt::from_mode(0o755))
            .unwrap();
        symlink("d/f", home.path().join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            home.path().join("fifo"),
            FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        let tree = ReadTree::open(home.path()).unwrap();

        let file = FileState { bytes: "text".into(), mode: FileMode::Executable };
        assert_eq!(tree.entry(&path("d/f"), 4).unwrap(), Entry::File(file));
        assert_eq!(tree.entry(&path("d/f"), 3).unwrap(), Entry::TooLarge { bytes: 4 });
        assert_eq!(tree.entry(&path("d"), 9).unwrap(), Entry::Directory);
        assert_eq!(tree.entry(&path("link"), 9).unwrap(), Entry::Symlink);
        let link = FileState { bytes: "d/f".into(), mode: FileMode::Symlink };
        assert_eq!(tree.entry_or_link(&path("link"), 9).unwrap(), Entry::File(link));
        assert_eq!(tree.entry_or_link(&path("d"), 9).unwrap(), Entry::Directory);
        assert_eq!(tree.entry(&path("fifo"), 9).unwrap(), Entry::Other);
        assert_eq!(tree.entry(&path("none/at/all"), 9).unwrap(), Entry::Missing);
    }

    #[test]
    fn reads_to_the_end_whatever_the_size_was() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("f"), "0123456789").unwrap();
        let file = || OwnedFd::from(std::fs::File::open(home.path().join("f")).unwrap());
        for size in [0, 1, 9, 10, 11, 99] {
            assert_eq!(read_to_end(file(), size, 99).unwrap(), b"0123456789", "{size}");
            assert!(read_to_end(file(), size, 5).unwrap().len() > 5, "{size}");
        }
    }

    #[test]
    fn never_passes_a_symlink_or_a_file() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::fs::write(home.path().join("f"), "x").unwrap();
        symlink(outside.path(), home.path().join("out")).unwrap();
        let tree = ReadTree::open(home.path()).unwrap();
        assert!(matches!(
            tree.entry(&path("out/secret"), 9),
            Err(TreeError::ThroughSymlink { .. })
        ));
        assert!(matches!(tree.entry(&path("f/x"), 9), Err(TreeError::ParentNotDirectory { .. })));
    }
}
