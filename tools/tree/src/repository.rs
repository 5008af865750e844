//! Finds the user's repository and checks it before a library opens it, so that nothing in it can block.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use tools::regular;

use crate::{FileMode, FileState, RepoPath};

/// Files that are read whole and are small in every real repository.
const SMALL: [&str; 6] = ["HEAD", "config", "commondir", "shallow", "info/exclude", ALTERNATES];
pub(super) const ALTERNATES: &str = "objects/info/alternates";
/// Maximum size of one of them, in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a list of references or of an index, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 30;
/// Directories of a repository that are never read here.
const NOT_READ: [&str; 6] = ["hooks", "logs", "lfs", "modules", "rr-cache", "worktrees"];
/// Maximum number of object directories followed through alternates, including the repository's own.
const MAX_ALTERNATES: usize = 5;

/// The user's repository. It is only read, and its configuration cannot run anything.
pub struct UserRepository {
    /// The repository.
    pub repository: gix::Repository,
    /// The top of its work tree.
    pub top: PathBuf,
}

impl UserRepository {
    /// Opens the repository around `dir`. Returns `None` if there is none, or if something in it could block.
    pub fn around(dir: &Path) -> Option<UserRepository> {
        let (top, git_dir) = top_around(dir)?;
        if let Some(what) = what_blocks(&git_dir) {
            tracing::warn!(what = %what.display(), "the repository is not opened: git would not create such a file there");
            return None;
        }
        let repository = gix::open::Options::isolated().open(git_dir).ok()?.into();
        Some(UserRepository { repository, top })
    }

    /// Returns true if a repository of this program can borrow its objects: their ids must be of the same kind.
    pub(super) fn lends(&self) -> bool {
        self.repository.object_hash() == gix::hash::Kind::Sha1
    }

    /// Reads the index; `None` if there is none.
    pub(super) fn index(&self) -> Option<gix::index::File> {
        let (path, hash) = (self.repository.index_path(), self.repository.object_hash());
        gix::index::File::at(path, hash, true, gix::index::decode::Options::default()).ok()
    }
}

/// A commit of the user's repository, seen from a directory in it.
pub struct CommittedTree<'r> {
    tree: gix::Tree<'r>,
    below: PathBuf,
}

impl<'r> CommittedTree<'r> {
    /// Returns the commit checked out around `dir`; `None` if there is none yet.
    pub fn git_dir_of(user: &'r UserRepository, dir: &Path) -> Option<Self> {
        let below = dir.strip_prefix(&user.top).ok()?.to_owned();
        let id = gix::ObjectId::from_hex(head_of(dir)?.as_bytes()).ok()?;
        let tree = user.repository.find_commit(id).ok()?.tree().ok()?;
        Some(Self { tree, below })
    }

    /// Returns the commit with this id, in hexadecimal, seen from the top of the work tree; `None` if there is none.
    pub fn with_id(user: &'r UserRepository, id: &str) -> Option<Self> {
        let id = gix::ObjectId::from_hex(id.as_bytes()).ok()?;
        let tree = user.repository.find_commit(id).ok()?.tree().ok()?;
        Some(Self { tree, below: PathBuf::new() })
    }

    /// Returns the file at a path below the directory, as git stores it.
    pub fn file(&self, path: &RepoPath) -> Option<FileState> {
        let entry = self.tree.lookup_entry_by_path(self.below.join(path.as_str())).ok()??;
        let mode = match entry.mode().kind() {
            gix::objs::tree::EntryKind::Blob => FileMode::Regular,
            gix::objs::tree::EntryKind::BlobExecutable => FileMode::Executable,
            gix::objs::tree::EntryKind::Link => FileMode::Symlink,
            gix::objs::tree::EntryKind::Tree | gix::objs::tree::EntryKind::Commit => return None,
        };
        let bytes = entry.object().ok()?.detach().data.into();
        Some(FileState { bytes, mode })
    }
}

/// What git tracks around a directory.
pub(super) enum Tracked {
    /// Nothing: there is no repository.
    Nothing,
    /// The paths in the index of the repository with this top, sorted.
    Paths(PathBuf, Vec<Vec<u8>>),
    /// The repository cannot be read.
    Unknown,
}

impl Tracked {
    pub(super) fn around(root: &Path) -> Tracked {
        if top_around(root).is_none() {
            return Tracked::Nothing;
        }
        let Some(UserRepository { repository, top }) = UserRepository::around(root) else {
            return Tracked::Unknown;
        };
        let Ok(index) = repository.index_or_empty() else { return Tracked::Unknown };
        let paths = index.entries().iter().map(|entry| entry.path(&index).to_vec());
        Tracked::Paths(top, paths.collect())
    }

    /// Returns true if git tracks something below `dir`, or may.
    pub(super) fn has_below(&self, dir: &Path) -> bool {
        let (top, paths) = match self {
            Tracked::Nothing => return false,
            Tracked::Unknown => return true,
            Tracked::Paths(top, paths) => (top, paths),
        };
        let Ok(below) = dir.strip_prefix(top) else { return true };
        let prefix = [below.as_os_str().as_bytes(), b"/"].concat();
        let first = paths.get(paths.partition_point(|path| *path < prefix));
        first.is_some_and(|path| path.starts_with(&prefix))
    }
}

/// Returns those of `paths`, relative to `root`, that git tracks; outside a repository, those that exist.
pub fn tracked_among(root: &Path, mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    if paths.is_empty() {
        return paths;
    }
    let around = UserRepository::around(root);
    let tracked = around.as_ref().and_then(|UserRepository { repository, top }| {
        Some((repository.index_or_empty().ok()?, root.strip_prefix(top).ok()?))
    });
    paths.retain(|path| match &tracked {
        Some((index, below)) => {
            let path = below.join(path);
            index.entry_by_path(path.as_os_str().as_bytes().into()).is_some()
        }
        None => root.join(path).symlink_metadata().is_ok(),
    });
    paths
}

/// Returns the repository below the top of the one around `root` that the file at `path`, relative to `root`, belongs to:
/// a submodule, or a repository of its own. The result is relative to `root`.
pub fn nested_repository(root: &Path, path: &Path) -> Option<PathBuf> {
    let nearest = |dir: &Path| top_around(dir).map(|(top, _)| top);
    let top = nearest(root.join(path).parent()?)?;
    let nested = top.strip_prefix(root).ok().filter(|nested| !nested.as_os_str().is_empty())?;
    Some(nested.to_owned())
}

/// Returns true if a repository is around `dir`, whether git may use it or not.
pub fn is_in_repository(dir: &Path) -> bool {
    top_around(dir).is_some()
}

/// Returns the commit checked out around `dir`, in hexadecimal, without opening the repository.
pub fn head_of(dir: &Path) -> Option<String> {
    let (_, git_dir) = top_around(dir)?;
    let head = regular::read_text(&git_dir.join("HEAD"), MAX_BYTES).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return commit_in(&head) };
    let common = common_dir(&git_dir);
    let loose = regular::read_text(&common.join(name), MAX_BYTES).ok();
    loose.and_then(|text| commit_in(&text)).or_else(|| {
        let packed = regular::read_text(&common.join("packed-refs"), MAX_LIST_BYTES).ok()?;
        let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
        commit_in(line)
    })
}

fn commit_in(text: &str) -> Option<String> {
    let id = text.split_whitespace().next()?;
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

/// Returns the git directory of the repository whose top is `dir`: its `.git`, or the directory that a `.git` file
/// names.
pub(super) fn of(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    let data = fs::metadata(&dot_git).ok()?;
    if data.is_dir() {
        return Some(dot_git);
    }
    let text = regular::read_text(&dot_git, MAX_BYTES).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(dir.join(named))
}

/// Makes `copy`, a copy of `dir`, a work tree of the same repository: git compares its files with the same index. Returns the
/// directories that git reads then; empty if `dir` is not the top of a repository. Blocks.
pub fn share_repository(dir: &Path, copy: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(git_dir) = of(dir).and_then(|git_dir| git_dir.canonicalize().ok()) else {
        return Ok(Vec::new());
    };
    let link = copy.join(".git");
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::write(link, format!("gitdir: {}\n", git_dir.display()))?;
    let common = common_dir(&git_dir).canonicalize()?;
    Ok([git_dir, common].into_iter().collect())
}

/// Returns the top of the repository around `dir`, and its git directory.
pub(super) fn top_around(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    dir.ancestors().find_map(|dir| {
        let git_dir = of(dir).filter(|git_dir| git_dir.join("HEAD").exists())?;
        Some((dir.to_owned(), git_dir))
    })
}

/// Returns the directory with what the worktrees of a repository share.
pub(super) fn common_dir(git_dir: &Path) -> PathBuf {
    match regular::read_text(&git_dir.join("commondir"), MAX_BYTES) {
        Ok(common) => git_dir.join(common.trim()),
        Err(_) => git_dir.to_owned(),
    }
}

/// Returns the first file in a repository that could block or is too large. Such a repository is not opened.
pub(super) fn what_blocks(git_dir: &Path) -> Option<PathBuf> {
    let common = common_dir(git_dir);
    let of_worktree = (common != git_dir).then_some(git_dir);
    let mut objects = vec![common.join("objects")];
    let blocked = [Some(common.as_path()), of_worktree].into_iter().flatten().find_map(|dir| {
        let small = SMALL.iter().map(|name| (dir.join(name), MAX_BYTES));
        let lists = ["packed-refs", "index"].map(|name| (dir.join(name), MAX_LIST_BYTES));
        let giant = small.chain(lists).find(|(file, most)| is_larger(file, *most));
        giant.map(|(file, _)| file).or_else(|| special_below(dir))
    });
    let mut next = 0;
    blocked.or_else(|| {
        // Objects of other repositories are opened as well.
        while let Some(dir) = objects.get(next).cloned() {
            next += 1;
            if next > MAX_ALTERNATES {
                return Some(dir);
            }
            let list = dir.join("info/alternates");
            if next > 1
                && let Some(special) = special_below(&dir)
            {
                return Some(special);
            }
            if is_larger(&list, MAX_BYTES) {
                return Some(list);
            }
            let lines = regular::read_text(&list, MAX_BYTES).unwrap_or_default();
            if lines.lines().any(|line| line.starts_with('"')) {
                // Quoted lines have parsing rules of their own, and git does not write any.
                return Some(list);
            }
            objects
                .extend(lines.lines().filter(|line| !line.is_empty()).map(|line| dir.join(line)));
        }
        None
    })
}

fn is_larger(file: &Path, max_bytes: u64) -> bool {
    fs::metadata(file).is_ok_and(|data| data.len() > max_bytes && !data.is_dir())
}

/// Returns the first file that should be regular and is not, in a repository of our own.
pub(super) fn not_regular(git_dir: &Path) -> Option<PathBuf> {
    let files = SMALL.iter().copied().chain(["packed-refs"]).map(|name| git_dir.join(name));
    files.into_iter().find(|file| fs::metadata(file).is_ok_and(|data| !data.is_file()))
}

/// Returns a pipe or a device below `dir`, following symlinks.
fn special_below(dir: &Path) -> Option<PathBuf> {
    let is_special =
        |kind: FileType| kind.is_fifo() || kind.is_char_device() || kind.is_block_device();
    let mut open = vec![dir.to_owned()];
    let mut seen = HashSet::new();
    while let Some(below) = open.pop() {
        let is_new = fs::metadata(&below).is_ok_and(|data| seen.insert((data.dev(), data.ino())));
        if !is_new {
            continue;
        }
        for entry in fs::read_dir(&below).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let kind = match kind.is_symlink().then(|| fs::metadata(entry.path())) {
                Some(Ok(data)) => data.file_type(),
                Some(Err(_)) => continue,
                None => kind,
            };
            if is_special(kind) {
                return Some(entry.path());
            }
            let is_read = below != dir || !NOT_READ.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && is_read {
                open.push(entry.path());
            }
        }
    }
    None
}
