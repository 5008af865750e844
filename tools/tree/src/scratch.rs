//! Trees that are thrown away: giving their files another state, and comparing them with the original. The user's own
//! tree is only written to by commits.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use tools::clock::precise_now;
use tools::regular;

use super::confine::{Root, open_below};
use super::{FileMode, FileState, ListedFile, RepoPath, list_files};

/// A file in another state of a tree; `None` if it did not exist then.
pub type FileThen = (RepoPath, Option<FileState>);

/// Gives files in the scratch tree at `root` other states. They are newer than everything that was written before. Symlinks
/// on the way are not followed. Blocks.
pub fn put(root: &Path, files: &[FileThen]) -> io::Result<()> {
    let root = Root::open(root).map_err(io::Error::other)?;
    // A file may be where another state has a directory.
    for (path, _) in files.iter().filter(|(_, state)| state.is_none()) {
        match root.parent_of(path) {
            Ok(Some(dir)) => remove(dir.as_fd(), path.name())?,
            Ok(None) | Err(super::TreeError::ParentNotDirectory { .. }) => {}
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    for (path, state) in files {
        let Some(state) = state else { continue };
        let dir = make_parent_of(&root, path)?;
        remove(dir.as_fd(), path.name())?;
        write(&dir, path.name(), state)?;
    }
    Ok(())
}

/// Opens the parent directory of a path, and creates it with its parents if it does not exist.
fn make_parent_of(root: &Root, path: &RepoPath) -> io::Result<OwnedFd> {
    let mut dir = open_below(root.dir(), ".")?;
    let parent = path.parent();
    for name in parent.iter().flat_map(RepoPath::components) {
        match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        dir = open_below(dir.as_fd(), name)?;
    }
    Ok(dir)
}

/// Removes a file or an empty directory, if it exists.
fn remove(dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => Ok(unlinkat(dir, name, AtFlags::REMOVEDIR)?),
        Err(errno) => Err(errno.into()),
    }
}

fn write(dir: &OwnedFd, name: &str, state: &FileState) -> io::Result<()> {
    let mode = match state.mode {
        FileMode::Symlink => {
            return Ok(symlinkat(OsStr::from_bytes(&state.bytes), dir, name)?);
        }
        FileMode::Regular => 0o666,
        FileMode::Executable => 0o777,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, name, flags, Mode::from_raw_mode(mode))?);
    file.write_all(&state.bytes)?;
    file.set_modified(precise_now())
}

/// What becomes of a file or directory that git does not see, in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InCopy {
    /// It is left out.
    LeftOut,
    /// It is copied. A directory with too much in it is left out.
    CopiedOrLeftOut,
    /// It is copied. A directory with too much in it becomes a link to the original.
    CopiedOrLinked,
}

/// How what git does not see is added to a copy.
pub struct Rest<'r> {
    /// Returns what becomes of the file or directory at a path, relative to the tree. Directories below one that is copied
    /// are asked for as well.
    pub in_copy: &'r dyn Fn(&str, bool) -> InCopy,
    /// Maximum size of what is copied, in bytes.
    pub max_bytes: u64,
}

/// Maximum number of files and directories in a directory that is copied.
const MAX_COPIED: usize = 2000;

/// Adds to a copy what `root` has and the copy lacks, with its times. Returns the directories that links lead to. Blocks.
pub fn add_rest(root: &Path, copy: &Path, rest: &Rest<'_>) -> io::Result<Vec<PathBuf>> {
    const OURS: [&str; 2] = [".git", ".deepseek"];
    let (mut linked, mut left) = (Vec::new(), rest.max_bytes);
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(root.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            let (source, target) = (root.join(&path), copy.join(&path));
            let Ok(kind) = entry.file_type() else { continue };
            if let Ok(there) = fs::symlink_metadata(&target) {
                if there.is_dir() && kind.is_dir() {
                    waiting.push(path);
                }
                continue;
            }
            let is_ours =
                dir.as_os_str().is_empty() && OURS.iter().any(|name| path == Path::new(name));
            let in_copy = path.to_str().map(|path| (rest.in_copy)(path, kind.is_dir()));
            let Some(in_copy) = in_copy.filter(|it| !is_ours && *it != InCopy::LeftOut) else {
                continue;
            };
            if !kind.is_dir() {
                left = left.checked_sub(copy_leaf(&entry, &target)?).ok_or_else(|| {
                    let most = rest.max_bytes;
                    io::Error::other(format!(
                        "the files that git ignores are more than {most} bytes"
                    ))
                })?;
            } else if let Some(bytes) = size_of(&source).filter(|bytes| *bytes <= left) {
                left -= bytes;
                fs::create_dir(&target)?;
                waiting.push(path);
            } else if in_copy == InCopy::CopiedOrLinked {
                symlink(&source, &target)?;
                linked.push(source);
            }
        }
    }
    Ok(linked)
}

/// Returns the size of the files in a directory; `None` if there are too many.
fn size_of(dir: &Path) -> Option<u64> {
    let (mut bytes, mut count) = (0, 0);
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            count += 1;
            match entry.metadata() {
                _ if count > MAX_COPIED => return None,
                Ok(data) if data.is_dir() => waiting.push(entry.path()),
                Ok(data) => bytes += data.len(),
                Err(_) => {}
            }
        }
    }
    Some(bytes)
}

/// Copies a file or a link. Returns its size. Anything else is left out.
fn copy_leaf(entry: &fs::DirEntry, target: &Path) -> io::Result<u64> {
    let data = entry.metadata()?;
    if data.is_symlink() {
        symlink(fs::read_link(entry.path())?, target)?;
        return Ok(0);
    }
    if data.is_file() {
        copy_with_times(&entry.path(), target, &data)?;
    }
    Ok(data.len())
}

/// Copies a file. One that cannot be read is left out.
fn copy_with_times(from: &Path, to: &Path, data: &fs::Metadata) -> io::Result<()> {
    match fs::copy(from, to) {
        Ok(_) => File::open(to)?.set_modified(data.modified()?),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the paths, relative to both, at which `copy` differs from `root`; at most `max_files` files of each are compared.
/// Blocks.
pub fn differing(root: &Path, copy: &Path, max_files: usize) -> Vec<PathBuf> {
    let (ours, theirs) = (list_files(copy, max_files).files, list_files(root, max_files).files);
    let find = |files: &[ListedFile], path: &RepoPath| {
        files
            .binary_search_by(|file| file.path.cmp(path))
            .ok()
            .and_then(|at| files.get(at).cloned())
    };
    let is_same = |one: &ListedFile, other: &ListedFile| {
        let stamp = |file: &ListedFile| (file.bytes, file.modified);
        let content =
            |root: &Path| regular::read_regular_file(&root.join(one.path.as_str()), one.bytes).ok();
        stamp(one) == stamp(other) || one.bytes == other.bytes && content(copy) == content(root)
    };
    let changed = ours
        .iter()
        .filter(|file| find(&theirs, &file.path).is_none_or(|other| !is_same(file, &other)));
    let removed = theirs.iter().filter(|file| find(&ours, &file.path).is_none());
    changed.chain(removed).map(|file| PathBuf::from(file.path.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn state(text: &'static str, mode: FileMode) -> FileState {
        FileState { bytes: text.into(), mode }
    }

    #[test]
    fn files_get_another_state_and_are_newer() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        fs::create_dir_all(at("was_file")).unwrap();
        fs::write(at("was_file/new"), "x").unwrap();
        fs::write(at("was_dir"), "x").unwrap();
        symlink("/etc/hostname", at("link")).unwrap();
        let of = |path: &str, state: Option<FileState>| (RepoPath::parse(path).unwrap(), state);
        let files = [
            of("was_file", Some(state("old", FileMode::Executable))),
            of("was_file/new", None),
            of("was_dir", None),
            of("was_dir/old", Some(state("old", FileMode::Regular))),
            of("link", Some(state("old", FileMode::Regular))),
            of("gone/too", None),
        ];
        put(home.path(), &files).unwrap();
        for path in ["was_file", "was_dir/old", "link"] {
            assert_eq!(fs::read_to_string(at(path)).unwrap(), "old", "{path}");
        }
        assert!(fs::metadata(at("was_file")).unwrap().permissions().mode() & 0o100 != 0);
        assert!(!at("gone").exists() && !at("link").is_symlink());
        fs::write(at("built"), "").unwrap();
        put(home.path(), &[of("link", Some(state("again", FileMode::Regular)))]).unwrap();
        let modified = |path: &str| fs::metadata(at(path)).unwrap().modified().unwrap();
        assert!(modified("link") > modified("built"));
    }

    #[test]
    fn nothing_outside_is_written() {
        let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), home.path().join("dir")).unwrap();
        let file = (RepoPath::parse("dir/x").unwrap(), Some(state("x", FileMode::Regular)));
        assert!(put(home.path(), &[file]).is_err());
        assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    }

    #[test]
    fn a_copy_differs_where_content_differs() {
        let (root, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, here, there) in [("same", "a", "a"), ("other", "a", "b"), ("longer", "a", "ab")]
        {
            fs::write(root.path().join(path), here).unwrap();
            fs::write(copy.path().join(path), there).unwrap();
        }
        // What a command writes is newer.
        File::open(copy.path().join("other")).unwrap().set_modified(precise_now()).unwrap();
        fs::write(root.path().join("removed"), "").unwrap();
        fs::write(copy.path().join("new"), "").unwrap();
        let mut found = differing(root.path(), copy.path(), 100);
        found.sort();
        assert_eq!(found, ["longer", "new", "other", "removed"].map(PathBuf::from));
    }
}
