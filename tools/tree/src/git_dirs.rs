//! Finds the directories outside a tree that git reads for it, in every layout that git makes: linked worktrees,
//! submodules, a git directory elsewhere, a tree below the top of its repository.
//!
//! Any archive can contain a `.git` that names a repository of the user. It counts only if that repository knows the
//! tree: it names the tree as its work tree, or its index was made from the files of the tree.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice as _};
use gix::index;
use gix::index::entry::stat::Time;
use gix::index::entry::{Flags, Stat};
use tools::regular;

use super::repository::{ALTERNATES, MAX_BYTES, UserRepository, common_dir, top_around};

/// Maximum number of files that are compared with an index.
const SAMPLE: usize = 500;

/// Returns the directories outside the tree at `root` that git reads for it, if their repository knows the tree. `own` is
/// where this program keeps repositories of its own, which it trusts. Blocks.
pub fn git_dirs(root: &Path, own: &Path) -> Vec<PathBuf> {
    let knows = || {
        let (top, git_dir) = top_around(root)?;
        let dir = git_dir.canonicalize().ok().filter(|dir| !dir.starts_with(root))?;
        let is_ours = own.canonicalize().is_ok_and(|own| dir.starts_with(own));
        Some(is_ours || knows(&dir, &top, root))
    };
    if knows() == Some(true) { dirs_of_repository(root) } else { Vec::new() }
}

/// Returns the directories that git reads for the tree at `root`, in it or not: the git directory, what work trees of the
/// repository share, and the objects that it borrows. Blocks.
pub fn dirs_of_repository(root: &Path) -> Vec<PathBuf> {
    let dir = top_around(root).and_then(|(_, git_dir)| git_dir.canonicalize().ok());
    let all = dir.map(|dir| {
        let common = common_dir(&dir);
        let borrowed = borrowed(&common);
        [dir, common].into_iter().chain(borrowed)
    });
    all.into_iter().flatten().collect()
}

/// Returns the object directories that a repository borrows from.
fn borrowed(common: &Path) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let list = regular::read_text(&common.join(ALTERNATES), MAX_BYTES).unwrap_or_default();
    let dirs = list.lines().map(|line| objects.join(line));
    dirs.filter(|dir| dir.ends_with("objects")).collect()
}

/// Returns true if the repository in a git directory knows the tree.
fn knows(git_dir: &Path, top: &Path, root: &Path) -> bool {
    let Some(UserRepository { repository, .. }) = UserRepository::around(top) else { return false };
    let work_tree = repository.workdir().and_then(|dir| dir.canonicalize().ok());
    // Without a setting, the work tree is wherever `.git` is.
    let names_it =
        work_tree.as_deref() == Some(top) && git_dir.file_name() != Some(".git".as_ref());
    let is_set = git_dir.join("gitdir").exists()
        || repository.config_snapshot().string("core.worktree").is_some();
    if names_it && is_set {
        return true;
    }
    let index = index::File::at(
        git_dir.join("index"),
        repository.object_hash(),
        true,
        index::decode::Options::default(),
    );
    index.is_ok_and(|index| is_made_from(&index, top, root))
}

/// Returns true if an index has files of the tree, and most of its files are on the disk as it has recorded them.
fn is_made_from(index: &index::File, top: &Path, root: &Path) -> bool {
    let Ok(below) = root.strip_prefix(top) else { return false };
    if !below.as_os_str().is_empty() {
        let prefix = [below.as_os_str().as_bytes(), b"/"].concat();
        if index.prefixed_entries(prefix.as_slice().into()).is_none() {
            return false;
        }
    }
    let is_on_disk = |entry: &&index::Entry| !entry.flags.contains(Flags::SKIP_WORKTREE);
    let (mut same, mut other) = (0_usize, 0_usize);
    for entry in index.entries().iter().filter(is_on_disk).take(SAMPLE) {
        let path: &BStr = entry.path(index);
        let found = path.to_path().ok().and_then(|path| fs::symlink_metadata(top.join(path)).ok());
        if found.is_some_and(|found| is_recorded(&entry.stat, &found)) {
            same += 1;
        } else {
            other += 1;
        }
    }
    same > other
}

/// Returns true if an index has recorded this very file. Nothing but the system sets these values.
fn is_recorded(stat: &Stat, found: &Metadata) -> bool {
    let found = index_stat(found);
    stat.ino != 0
        && (stat.ino, stat.size, stat.ctime.secs) == (found.ino, found.size, found.ctime.secs)
}

/// Converts metadata to the format of git's index: the low 32 bits of everything.
pub(super) fn index_stat(data: &Metadata) -> Stat {
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    let part = |time: i64| u32::try_from(time).unwrap_or_default();
    Stat {
        mtime: Time { secs: part(data.mtime()), nsecs: part(data.mtime_nsec()) },
        ctime: Time { secs: part(data.ctime()), nsecs: part(data.ctime_nsec()) },
        dev: low(data.dev()),
        ino: low(data.ino()),
        uid: data.uid(),
        gid: data.gid(),
        size: low(data.size()),
    }
}
