//! Removes a directory of ours with everything in it, whatever commands left there. Does not follow symlinks.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::threads;

/// Depth down to which directories are removed in parallel.
const DEPTH: usize = 2;

/// Removes `dir`, if it exists.
pub(super) fn tree(dir: &Path) -> io::Result<()> {
    // The first pass may leave files that could not be removed or were created in the meantime. The second pass reports
    // the error.
    if let Err(error) = threads::each(&subtrees(dir), || (), |(), below| remove_all(below)) {
        tracing::debug!(%error, "removing a directory again");
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
