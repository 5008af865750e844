//! A worktree of a lane: a directory in the program's state that holds one tree of files, is written to by one crew, and goes
//! when that crew is done. It is never the user's directory, nor one that git lists in the user's repository.
//!
//! What it is for the lane's commands, a git worktree of the private repository with the caches of the user's builds, is made
//! in [`register`] and [`share`]; what became of the files is seen in [`look`].

mod copy;
mod fill;
mod look;
mod register;
mod remove;
mod rules;
mod share;
mod switch;
mod threads;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use self::register::Registration;
use super::snapshot::stamps::{Stamp, Stamps};
use super::{CommitLog, Entries, RepoPath, SnapshotError, Snapshots, TreeError, WriteTree};
use tools::clock::Timestamp;

/// A worktree of a lane.
#[derive(Debug)]
pub struct Worktree {
    root: PathBuf,
    /// What is known of files by their times, so that those that did not change are not read.
    known: Stamps,
    /// Files of the user's that are here for the builds, and no part of the lane's work.
    beside: Vec<(RepoPath, Stamp)>,
    /// Files and directories that builds of the user's left, and may be here in the same way.
    shared: Vec<RepoPath>,
}

/// What a worktree gets from the user's directory beside the files of its tree.
#[derive(Debug, Clone, Copy)]
pub struct Extras<'a> {
    /// Files that the snapshot left out, and builds may need all the same.
    pub left_out: &'a [RepoPath],
    /// Paths at which builds leave what they read again, such as `target`.
    pub share: &'a [String],
    /// Bytes of one such directory that are copied at most; a larger one is left out.
    pub max_copied_bytes: u64,
    /// The time now.
    pub now: Timestamp,
}

impl Worktree {
    /// Makes `dir`, which must not be there yet, hold `entries`. When that fails, it is not there afterwards.
    ///
    /// Files that the workspace has with the same content get the times they have there.
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
        remove::tree(&half)
            .and_then(|()| fs::create_dir_all(half.parent().unwrap_or(Path::new("/"))))
            .and_then(|()| fs::DirBuilder::new().mode(0o700).create(&half))
            .map_err(failed)?;
        let made = Self::fill(snapshots, entries, dir, &half, from)
            .and_then(|worktree| fs::rename(&half, dir).map(|()| worktree).map_err(failed));
        let undo = || remove::tree(&half).and_then(|()| Registration::of(snapshots, dir).remove());
        if made.is_err()
            && let Err(error) = undo()
        {
            tracing::warn!(%error, dir = %half.display(), "half a worktree stays");
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
        let files = fill::files(snapshots, entries, half)?;
        let beside = fill::beside(snapshots, from.left_out, half)?;
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
        Ok(Worktree { root: dir.to_owned(), known, beside, shared })
    }

    /// One that a process before this one made of `entries`. Nothing is known of its times: everything is read again.
    pub fn reopen(
        snapshots: &Snapshots,
        entries: &Entries,
        dir: &Path,
        from: &Extras<'_>,
    ) -> Worktree {
        let beside = from.left_out.iter().filter_map(|path| {
            let stamp = Stamp::of(&dir.join(path.as_str()))?;
            Some((path.clone(), stamp))
        });
        let (root, beside) = (dir.to_owned(), beside.collect());
        let shared = share::names(snapshots, entries, from);
        Worktree { root, known: Stamps::default(), beside, shared }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same directory, for its one writer. What is about to be done in it is noted in `log`.
    pub fn writable(&self, log: CommitLog) -> Result<WriteTree, TreeError> {
        WriteTree::open(&self.root, log)
    }

    /// Removes the worktree at `dir` with all in it, as far as it is there, and its registration.
    pub fn remove(snapshots: &Snapshots, dir: &Path) -> io::Result<()> {
        remove::tree(&half(dir))?;
        remove::tree(dir)?;
        Registration::of(snapshots, dir).remove()
    }
}

impl Snapshots {
    /// The worktrees there are, of living lanes and of those a crash left; some may be half made. While there is one, no
    /// object is dropped.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let is_there = |dir: &PathBuf| [dir, &half(dir)].iter().any(|dir| dir.exists());
        register::registered(self).filter(is_there).collect()
    }
}

/// Where a worktree is until it is whole: beside its place.
fn half(dir: &Path) -> PathBuf {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!(".{name}.half"))
}

#[cfg(test)]
mod share_tests;
#[cfg(test)]
mod tests;
