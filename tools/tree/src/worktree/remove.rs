//! Removes a directory of ours with everything in it, whatever commands left there, however deep. Does not follow
//! symlinks.

use std::ffi::{CStr, CString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::threads;

/// Depth down to which directories are removed in parallel.
const DEPTH: usize = 2;
/// Depth down to which directories are entered. What is deeper is first moved to the top, since neither a stack nor the
/// open files of a process are enough for any depth.
const MAX_DEPTH: usize = 64;

/// Removes `dir`, if it exists.
pub fn remove_tree(dir: &Path) -> io::Result<()> {
    // The first pass may leave files that could not be removed or were created in the meantime. The second pass reports
    // the error.
    if let Err(error) = threads::act_on_each(&subtrees(dir), || (), |(), below| remove_all(below)) {
        tracing::debug!(%error, "removing a directory again");
    }
    remove_all(dir).or_else(|_| {
        unlock(dir);
        remove_all(dir)
    })
}

fn remove_all(dir: &Path) -> io::Result<()> {
    let removed = open(rustix::fs::CWD, dir).and_then(|top| {
        Removal { top, moved: 0, waiting: Vec::new() }.run()?;
        fs::remove_dir(dir)
    });
    unless_gone(removed)
}

/// Opens a directory without following a symlink.
fn open(dir: impl rustix::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, path, flags, Mode::empty())?)
}

/// The removal of everything in a directory.
struct Removal {
    top: OwnedFd,
    /// Number of directories that were moved to the top.
    moved: u64,
    /// Those that are not empty yet.
    waiting: Vec<CString>,
}

impl Removal {
    fn run(&mut self) -> io::Result<()> {
        self.empty(&self.top.try_clone()?, 0)?;
        while let Some(name) = self.waiting.pop() {
            // It may have been seen at the top, and removed.
            unless_gone(self.remove(&self.top.try_clone()?, &name, FileType::Directory, 0))?;
        }
        Ok(())
    }

    /// Empties a directory. What others remove in the meantime is gone as well.
    fn empty(&mut self, dir: &OwnedFd, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                unless_gone(self.remove(dir, name, entry.file_type(), depth))?;
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        kind: FileType,
        depth: usize,
    ) -> io::Result<()> {
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
                // The file system did not say what it is.
                Err(Errno::ISDIR) if kind == FileType::Unknown => {}
                done => return Ok(done?),
            }
        }
        if depth == MAX_DEPTH {
            return self.move_up(dir, name);
        }
        self.empty(&open(dir, name)?, depth + 1)?;
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a directory to the top, under a name that is free there.
    fn move_up(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            let Ok(free) = CString::new(format!(".removed-{}", self.moved)) else { continue };
            match rustix::fs::renameat(dir, name, &self.top, &free) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(()) => {
                    self.waiting.push(free);
                    return Ok(());
                }
            }
        }
    }
}

/// Ignores that something is already gone.
fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the directories below `dir` down to [`DEPTH`], without symlinks.
fn subtrees(dir: &Path) -> Vec<PathBuf> {
    let mut level = vec![dir.to_owned()];
    let mut all = Vec::new();
    for _ in 0..DEPTH {
        let below = level.iter().flat_map(|dir| directories(dir)).collect();
        let above = std::mem::replace(&mut level, below);
        all.extend(above);
    }
    // Deepest first, so that little is left for their parents. `dir` itself is removed by the caller.
    all.extend(level);
    all.reverse();
    all.pop();
    all
}

fn directories(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    real.map(|entry| entry.path()).collect()
}

/// Makes every directory accessible to its owner: some package managers remove that permission.
fn unlock(dir: &Path) {
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap_or_default();
        open.extend(directories(&dir));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates directories, one in the other, with a file in each hundredth.
    fn dig(root: &Path, depth: usize) {
        let mut dir = open(rustix::fs::CWD, root).unwrap();
        for level in 0..depth {
            rustix::fs::mkdirat(&dir, "d", Mode::RWXU).unwrap();
            if level % 100 == 0 {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
                rustix::fs::openat(&dir, "f", flags, Mode::RUSR).unwrap();
            }
            dir = open(&dir, "d").unwrap();
        }
    }

    #[test]
    fn a_directory_is_removed_however_deep_it_is() {
        for depth in [3, MAX_DEPTH, MAX_DEPTH + 1, 3_000] {
            let home = tempfile::tempdir().unwrap();
            let dir = home.path().join("dir");
            fs::create_dir_all(dir.join(".removed-1/kept")).unwrap();
            dig(&dir, depth);
            remove_tree(&dir).unwrap();
            assert!(!dir.exists(), "{depth}");
        }
    }

    #[test]
    fn nothing_is_removed_through_a_symlink() {
        let home = tempfile::tempdir().unwrap();
        let (dir, other) = (home.path().join("dir"), home.path().join("other"));
        fs::create_dir_all(dir.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("f"), "x").unwrap();
        symlink(&other, dir.join("a/b/link")).unwrap();
        symlink(&other, home.path().join("link")).unwrap();
        remove_tree(&dir).unwrap();
        assert!(!dir.exists() && other.join("f").exists());
        assert!(remove_tree(&home.path().join("link")).is_err());
        assert!(remove_tree(&dir).is_ok(), "it is gone");
    }
}
