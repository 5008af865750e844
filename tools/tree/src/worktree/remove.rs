//! A directory of ours removed with all in it, whatever commands made of it. Nothing behind a symlink is touched.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::threads;

/// How deep below it directories are removed side by side.
const DEPTH: usize = 2;

/// Removes `dir`, if it is there.
pub(super) fn tree(dir: &Path) -> io::Result<()> {
    // The first time may leave what could not be removed, or was made meanwhile; the second says what is wrong with it.
    if let Err(error) = threads::each(&subtrees(dir), || (), |(), below| remove_all(below)) {
        tracing::debug!(%error, "a directory is removed once more");
    }
    remove_all(dir).or_else(|_| {
        unlock(dir);
        remove_all(dir)
    })
}

fn remove_all(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Real directories, no more than so deep.
fn subtrees(dir: &Path) -> Vec<PathBuf> {
    let mut level = vec![dir.to_owned()];
    let mut all = Vec::new();
    for _ in 0..DEPTH {
        let below = level.iter().flat_map(|dir| directories(dir)).collect();
        let above = std::mem::replace(&mut level, below);
        all.extend(above);
    }
    // The deepest first, so that little is left of those above them; `dir` itself comes last, elsewhere.
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

/// Lets its owner into every directory: some package managers take the permission away.
fn unlock(dir: &Path) {
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap_or_default();
        open.extend(directories(&dir));
    }
}
