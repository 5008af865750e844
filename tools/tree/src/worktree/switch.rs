//! Switches a worktree to another tree, writing only the files that differ.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::register::Registration;
use super::{Worktree, fill};
use crate::confine::{Root, open_below};
use crate::snapshot::stamps::Stamp;
use crate::{Entries, RepoPath, SnapshotError, Snapshots, TreeError};

impl Worktree {
    /// Replaces the files of `from` with those of `to`, and makes `to` the base. `from` is the current state, as
    /// returned by [`Self::entries`]. Files in neither of them stay, unless they are in the way.
    ///
    /// Written files get the current time, even if the same content has another one elsewhere, so that they are newer
    /// than existing build output.
    pub fn switch(
        &mut self,
        snapshots: &Snapshots,
        from: &Entries,
        to: &Entries,
    ) -> Result<(), SnapshotError> {
        let root = Root::open(&self.root)?;
        for path in from.keys().filter(|path| !to.contains_key(path)) {
            self.known.forget(path);
            remove(&root, path).map_err(|source| self.failed(path, source))?;
        }
        let reader = snapshots.reader()?;
        for (path, kept) in to.iter().filter(|(path, kept)| from.get(path) != Some(kept)) {
            let failed = |source| self.failed(path, source);
            let content = reader.content(path, *kept)?;
            let dir = make_room(&root, path).map_err(failed)?;
            fill::write(dir.as_fd(), &self.root, path, *kept, &content, None).map_err(failed)?;
            self.known.forget(path);
        }
        self.copied.retain(|(path, _)| !to.contains_key(path));
        let registration = Registration::of(snapshots, &self.root);
        registration.rebase(snapshots, to)?;
        if registration.is_git() {
            self.write_index(&registration, to)?;
        }
        Ok(())
    }

    /// Writes git's index. Git need not read files that are known to be unchanged since they were written.
    fn write_index(&self, registration: &Registration, to: &Entries) -> Result<(), SnapshotError> {
        let known = |path: &RepoPath| {
            let data = fs::symlink_metadata(self.root.join(path.as_str())).ok()?;
            self.known.get(path, &Stamp::from(&data)).map(|_| data)
        };
        let data: Vec<_> = to.keys().map(known).collect();
        let files = to.iter().zip(&data).map(|((path, kept), data)| (path, *kept, data.as_ref()));
        registration.write_index(files)
    }

    fn failed(&self, path: &RepoPath, source: io::Error) -> SnapshotError {
        SnapshotError::Io { path: self.root.join(path.as_str()), source }
    }
}

/// Removes a file or symlink, and the parent directories that become empty.
fn remove(root: &Root, path: &RepoPath) -> io::Result<()> {
    let dir = match root.parent_of(path) {
        Ok(Some(dir)) => dir,
        Ok(None) | Err(TreeError::ThroughSymlink { .. } | TreeError::ParentNotDirectory { .. }) => {
            return Ok(());
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    match rustix::fs::unlinkat(&dir, path.name(), AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT | Errno::ISDIR) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    crate::attempt::remove_emptied(root, path);
    Ok(())
}

/// Opens the parent directory of `path`, creating it if needed, and removes anything at `path` or in the way.
fn make_room(root: &Root, path: &RepoPath) -> io::Result<OwnedFd> {
    let mut dir = open_below(root.dir(), ".")?;
    let mut names: Vec<&str> = path.components().collect();
    names.pop();
    for name in names {
        dir = match open_below(dir.as_fd(), name) {
            Err(errno @ (Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
                if errno != Errno::NOENT {
                    rustix::fs::unlinkat(&dir, name, AtFlags::empty())?;
                }
                rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777))?;
                open_below(dir.as_fd(), name)?
            }
            opened => opened?,
        };
    }
    match rustix::fs::unlinkat(&dir, path.name(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(Errno::ISDIR | Errno::PERM) => {
            super::remove::remove_tree(&root.path().join(path.as_str()))?;
        }
        Err(errno) => return Err(errno.into()),
    }
    Ok(dir)
}
