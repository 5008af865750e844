//! The worktree of a lane: a directory in the program's state directory that holds one tree of files, is written to by
//! one crew, and is removed when that crew is done. It is never the user's directory, nor a worktree that git lists in
//! the user's repository.
//!
//! [`register`] makes it a git worktree of the private repository for the lane's commands, [`share`] copies the caches
//! of the user's builds into it, and [`look`] reads its files back.

mod copy;
mod fill;
mod look;
mod register;
mod remove;
mod rules;
pub(crate) mod share;
mod switch;
mod threads;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use self::register::Registration;
pub use self::remove::remove_tree;
use super::snapshot::stamps::{Stamp, Stamps};
use super::{CommitLog, Entries, RepoPath, SnapshotError, Snapshots, TreeError, WriteTree};
use tools::clock::Timestamp;

/// The worktree of a lane.
#[derive(Debug)]
pub struct Worktree {
    root: PathBuf,
    /// Known contents of files by their timestamps, so that unchanged files are not read.
    known: Stamps,
    /// Files of the user that builds need but that are not part of the lane's work.
    copied: Vec<(RepoPath, Stamp)>,
    /// Files and directories from the user's builds that are not part of the lane's work either.
    shared: Vec<RepoPath>,
}

/// What a worktree gets from the user's directory in addition to the files of its tree.
#[derive(Debug, Clone, Copy)]
pub struct Extras<'a> {
    /// Files that the snapshot left out but builds may need.
    pub left_out: &'a [RepoPath],
    /// Paths of build output and caches to copy, such as `target`.
    pub share: &'a [String],
    /// Largest such directory to copy, in bytes, if the file system cannot clone files; a larger one is left out.
    pub max_copied_bytes: u64,
    /// Where commands see the worktree.
    pub seen: SeenAt,
    /// The current time.
    pub now: Timestamp,
}

/// The path at which commands see a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenAt {
    /// That of the workspace.
    TheWorkspace,
    /// Its own.
    ItsOwnPath,
}

impl Worktree {
    /// Creates the worktree `dir`, which must not exist, with the files of `entries`. If this fails, `dir` does not
    /// exist afterwards.
    ///
    /// Files with the same content in the workspace get the modification times they have there.
    pub fn create(
        snapshots: &Snapshots,
        entries: &Entries,
        dir: &Path,
        from: &Extras<'_>,
    ) -> Result<Worktree, SnapshotError> {
        let half = half(dir);
        let failed = |source| SnapshotError::Io { path: dir.to_owned(), source };
        if fs::symlink_metadata(dir).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        remove_tree(&half)
            .and_then(|()| fs::create_dir_all(half.parent().unwrap_or(Path::new("/"))))
            .and_then(|()| fs::DirBuilder::new().mode(0o700).create(&half))
            .map_err(failed)?;
        let made = Self::fill(snapshots, entries, dir, &half, from)
            .and_then(|worktree| fs::rename(&half, dir).map(|()| worktree).map_err(failed));
        let undo = || remove_tree(&half).and_then(|()| Registration::of(snapshots, dir).remove());
        if made.is_err()
            && let Err(error) = undo()
        {
            tracing::warn!(%error, dir = %half.display(), "a partial worktree was left behind");
        }
        made
    }

    fn fill(
        snapshots: &Snapshots,
        entries: &Entries,
        dir: &Path,
        half: &Path,
        from: &Extras<'_>,
    ) -> Result<Worktree, SnapshotError> {
        let registration = Registration::of(snapshots, dir);
        let is_git = registration.make(snapshots, entries, from.now)?;
        let files = fill::fill_directory(snapshots, entries, half)?;
        let copied = fill::copy_left_out(snapshots, from.left_out, half)?;
        let failed = |source| SnapshotError::Io { path: half.to_owned(), source };
        let shared = share::all(snapshots, entries, (half, dir), from).map_err(failed)?;
        if is_git {
            registration.link(half)?;
            registration
                .write_index(files.iter().map(|file| (file.path, file.kept, Some(&file.data))))?;
        }
        let mut known = Stamps::default();
        for file in files {
            known.add_written(file.path.clone(), Stamp::from(&file.data), file.kept);
        }
        Ok(Worktree { root: dir.to_owned(), known, copied, shared })
    }

    /// Opens a worktree that an earlier process created from `entries`. Its timestamps are unknown, so every file is
    /// read again.
    pub fn reopen(
        snapshots: &Snapshots,
        entries: &Entries,
        dir: &Path,
        from: &Extras<'_>,
    ) -> Worktree {
        let copied = from.left_out.iter().filter_map(|path| {
            let stamp = Stamp::of(&dir.join(path.as_str()))?;
            Some((path.clone(), stamp))
        });
        let (root, copied) = (dir.to_owned(), copied.collect());
        let shared = share::names(snapshots, entries, from);
        Worktree { root, known: Stamps::default(), copied, shared }
    }

    /// Returns the path of the worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the directory for its only writer. Commits are recorded in `log`.
    pub fn writable(&self, log: CommitLog) -> Result<WriteTree, TreeError> {
        WriteTree::open(&self.root, log)
    }

    /// Removes the worktree at `dir`, as far as it exists, and its registration.
    pub fn remove(snapshots: &Snapshots, dir: &Path) -> io::Result<()> {
        remove_tree(&half(dir))?;
        remove_tree(dir)?;
        Registration::of(snapshots, dir).remove()
    }
}

impl Snapshots {
    /// Returns the existing worktrees, of running lanes and of those that a crash left behind; some may be incomplete.
    /// While there is one, no object is dropped.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let is_there = |dir: &PathBuf| [dir, &half(dir)].iter().any(|dir| dir.exists());
        register::registered(self).filter(is_there).collect()
    }
}

/// Returns the path of a worktree under construction, next to its final path.
fn half(dir: &Path) -> PathBuf {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!(".{name}.half"))
}

#[cfg(test)]
mod share_tests;
#[cfg(test)]
mod tests;
