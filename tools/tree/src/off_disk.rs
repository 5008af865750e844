//! Files that git tracks and keeps off the disk: a sparse checkout leaves them out, they are marked to be skipped, or
//! nothing was checked out. A new file in such a place would replace, in the next commit, what the repository has.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gix::bstr::BStr;
use gix::index;
use gix::index::entry::Flags;
use policy::quoted_word;
use serde::{Deserialize, Serialize};

use super::RepoPath;
use super::files::modified;
use super::repository::{UserRepository, top_around};

/// Why a tracked file is not on the disk, and the command that brings it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOff {
    /// The reason.
    pub by: KeptOffBy,
    /// The command that brings it to the disk, for the root of the tree.
    pub cure: String,
}

/// What keeps a tracked file off the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptOffBy {
    /// The sparse checkout.
    SparseCheckout,
    /// A mark in the index.
    SkipWorktree,
    /// Nothing was checked out.
    NoCheckout,
}

impl fmt::Display for KeptOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            KeptOffBy::SparseCheckout => "the sparse checkout leaves it out",
            KeptOffBy::SkipWorktree => "it is marked skip-worktree",
            KeptOffBy::NoCheckout => "nothing was checked out",
        };
        write!(
            f,
            "git tracks it, but it is not on the disk: {by}; to bring it there: {}",
            self.cure
        )
    }
}

/// What is known about the files of a tree that are kept off the disk.
#[derive(Debug, Default)]
pub(super) struct OffDisk(Mutex<Option<Known>>);

/// The index of a repository, if it marks files to be skipped.
#[derive(Debug)]
struct Known {
    index: PathBuf,
    /// Size, inode and time of the index; `None` if there is none.
    stamp: Option<(u64, u64, i64)>,
    skipped: Option<Arc<index::File>>,
}

impl OffDisk {
    /// Returns why the file at `path`, which is missing in the tree at `root`, is not on the disk; `None` if git does not
    /// track it, or if it was deleted.
    pub(super) fn reason(&self, root: &Path, path: &RepoPath) -> Option<KeptOff> {
        let file = root.join(path.as_str());
        let (top, git_dir) = top_around(file.parent()?)?;
        let within = file.strip_prefix(&top).ok()?;
        let by = if let Some(index) = self.skipped(&top, git_dir.join("index")) {
            is_skipped(&top, &index, within).then(|| {
                let is_sparse = git_dir.join("info/sparse-checkout").exists();
                if is_sparse { KeptOffBy::SparseCheckout } else { KeptOffBy::SkipWorktree }
            })
        } else {
            let has_index = git_dir.join("index").symlink_metadata().is_ok();
            (!has_index && is_in_head(&top, within)).then_some(KeptOffBy::NoCheckout)
        }?;
        Some(KeptOff { by, cure: cure(by, root, &top, path) })
    }

    /// Returns the index, if it marks files to be skipped. It is read again when it has changed.
    fn skipped(&self, top: &Path, index: PathBuf) -> Option<Arc<index::File>> {
        let data = fs::metadata(&index).ok();
        let stamp = data.map(|data| (data.len(), data.ino(), modified(&data)));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &&Known| known.index == index && known.stamp == stamp;
        if let Some(known) = known.as_ref().filter(is_known) {
            return known.skipped.clone();
        }
        let read = stamp.and_then(|_| UserRepository::around(top)?.index());
        let has_skipped = |index: &index::File| index.entries().iter().any(is_marked);
        let skipped = read.filter(has_skipped).map(Arc::new);
        *known = Some(Known { index, stamp, skipped: skipped.clone() });
        skipped
    }
}

fn is_marked(entry: &index::Entry) -> bool {
    entry.flags.contains(Flags::SKIP_WORKTREE)
}

/// Returns true if the index marks a path to be skipped, or has a directory around it as a whole that contains it.
fn is_skipped(top: &Path, index: &index::File, path: &Path) -> bool {
    let bytes: &BStr = path.as_os_str().as_bytes().into();
    if let Some(entry) = index.entry_by_path(bytes) {
        return is_marked(entry);
    }
    let mut above = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
    above.any(|dir| {
        let name = [dir.as_os_str().as_bytes(), b"/"].concat();
        let whole = index.entry_by_path(name.as_slice().into());
        let Some(entry) = whole.filter(|entry| entry.mode.is_sparse()) else { return false };
        let Ok(below) = path.strip_prefix(dir) else { return false };
        // Where the objects are not there either, it may contain anything.
        let repository = UserRepository::around(top).map(|around| around.repository);
        let tree = repository.as_ref().and_then(|it| it.find_tree(entry.id).ok());
        tree.and_then(|tree| tree.lookup_entry_by_path(below).ok())
            .is_none_or(|found| found.is_some())
    })
}

/// Returns true if the last commit contains a path. Without an index, git has everything in it left to check out.
fn is_in_head(top: &Path, path: &Path) -> bool {
    let repository = UserRepository::around(top).map(|around| around.repository);
    let tree = repository.as_ref().and_then(|it| it.head_tree().ok());
    tree.and_then(|tree| tree.lookup_entry_by_path(path).ok()).flatten().is_some()
}

/// Returns the command that brings a file to the disk.
fn cure(by: KeptOffBy, root: &Path, top: &Path, path: &RepoPath) -> String {
    // The command is for the root of the tree, also for a file of a submodule.
    let submodule = top.strip_prefix(root).ok().filter(|it| !it.as_os_str().is_empty());
    let git = submodule
        .map_or("git".to_owned(), |dir| format!("git -C {}", quoted_word(&dir.to_string_lossy())));
    let path = Path::new(path.as_str());
    let path = submodule.and_then(|dir| path.strip_prefix(dir).ok()).unwrap_or(path);
    let named = |path: &Path| quoted_word(&path.to_string_lossy());
    match by {
        KeptOffBy::SparseCheckout => {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            format!("{git} sparse-checkout add {}", named(dir.unwrap_or(path)))
        }
        KeptOffBy::SkipWorktree => {
            let path = named(path);
            format!("{git} update-index --no-skip-worktree {path} && {git} checkout -- {path}")
        }
        KeptOffBy::NoCheckout => format!("{git} checkout"),
    }
}
