//! Reading below a root. It can not write, and it opens nothing that could block or lead outside.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::confine::Root;
use super::{Entry, FileState, RepoPath, TreeError};

/// A directory that may be read. Cheap to clone.
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

    /// The directory, as it was opened.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where the symlink at `path` points to. It is not followed.
    pub fn link(&self, path: &RepoPath) -> Result<Vec<u8>, TreeError> {
        let failed = |errno: Errno| TreeError::Io { path: path.clone(), source: errno.into() };
        let dir = self.root.parent_of(path)?.ok_or(Errno::NOENT).map_err(failed)?;
        let target = rustix::fs::readlinkat(dir, path.name(), Vec::new()).map_err(failed)?;
        Ok(target.into_bytes())
    }

    /// What is at `path`. A file of more than `max_bytes` is not read.
    pub fn entry(&self, path: &RepoPath, max_bytes: u64) -> Result<Entry, TreeError> {
        let Some(dir) = self.root.parent_of(path)? else {
            return Ok(Entry::Missing);
        };
        let failed = |source: io::Error| TreeError::Io { path: path.clone(), source };
        let stat = match rustix::fs::statat(&dir, path.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Entry::Missing),
            Err(errno) => return Err(failed(errno.into())),
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
        // Something else may have taken the name meanwhile: then it is neither followed nor waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(dir.as_fd(), path.name(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(Entry::Missing),
            Err(Errno::LOOP) => return Ok(Entry::Symlink),
            Err(errno) => return Err(failed(errno.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| failed(errno.into()))?;
        read_regular(file, &stat, max_bytes).map_err(failed)
    }
}

fn read_regular(file: File, stat: &Stat, max_bytes: u64) -> io::Result<Entry> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Entry::Other);
    }
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    if size > max_bytes {
        return Ok(Entry::TooLarge { bytes: size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if read > max_bytes {
        return Ok(Entry::TooLarge { bytes: read });
    }
    let executable = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
    Ok(Entry::File(FileState { bytes: bytes.into(), executable }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn tells_what_is_there_and_reads_files_only() {
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

        let file = FileState { bytes: "text".into(), executable: true };
        assert_eq!(tree.entry(&path("d/f"), 4).unwrap(), Entry::File(file));
        assert_eq!(tree.entry(&path("d/f"), 3).unwrap(), Entry::TooLarge { bytes: 4 });
        assert_eq!(tree.entry(&path("d"), 9).unwrap(), Entry::Directory);
        assert_eq!(tree.entry(&path("link"), 9).unwrap(), Entry::Symlink);
        assert_eq!(tree.entry(&path("fifo"), 9).unwrap(), Entry::Other);
        assert_eq!(tree.entry(&path("none/at/all"), 9).unwrap(), Entry::Missing);
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
