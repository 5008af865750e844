//! A worktree that becomes another one: only what differs is written.

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
    /// Makes the files those of `to`, and `to` its base. `from` is what they are now, as [`Self::entries`] told. What is in
    /// neither stays, unless it is in the way.
    ///
    /// What is written is new, whatever times the same content had elsewhere: builds that were made here are older.
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
        self.beside.retain(|(path, _)| !to.contains_key(path));
        let registration = Registration::of(snapshots, &self.root);
        registration.rebase(snapshots, to)?;
        if registration.is_git() {
            self.write_index(&registration, to)?;
        }
        Ok(())
    }

    /// What is known to be as it was written need not be read by git.
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

/// Removes a file or symlink, and the directories that are empty then.
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

/// The directory of `path`, made if need be, without anything at `path`. What is in the way goes.
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
            super::remove::tree(&root.path().join(path.as_str()))?;
        }
        Err(errno) => return Err(errno.into()),
    }
    Ok(dir)
}
