//! Copies the output of the user's builds to a lane, so that it need not start from scratch: cloned if the file system
//! supports it, otherwise copied, or left out if too large. Nothing is hard-linked, so that no write of a lane reaches
//! a file of the user. Symlinks stay symlinks.
//!
//! Paths to the user's directory would make the lane's commands judge the user's files instead of the lane's. Therefore
//! a Python virtual environment is relocated where commands see the lane at its own path: its scripts and paths name the
//! lane's directory. Cargo's output for the
//! workspace itself has the directory compiled in and is not copied, only that for other packages. Lanes do not share a
//! build directory either, because Cargo detects changes by modification times and by paths that are the same in all
//! lanes.

mod cargo;

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::{Extras, SeenAt, copy, threads};
use crate::{Entries, RepoPath, Snapshots};
use tools::relocate::relocate;

/// A larger file is not searched for paths to the user's directory.
const MAX_MOVED_BYTES: u64 = 1 << 20;

/// Copies the paths that `from` names from the workspace to `half`, which will become `dir`, unless `entries` has files
/// there. Returns all such paths, which are not part of the tree: builds create anew what is too large to copy.
pub(super) fn all(
    snapshots: &Snapshots,
    entries: &Entries,
    (half, dir): (&Path, &Path),
    from: &Extras<'_>,
) -> io::Result<Vec<RepoPath>> {
    let shared = names(snapshots, entries, from);
    for name in &shared {
        let source = snapshots.workspace.join(name.as_str());
        let target = half.join(name.as_str());
        let Ok(data) = fs::symlink_metadata(&source) else { continue };
        let Some(above) = target.parent() else { continue };
        fs::create_dir_all(above)?;
        if data.is_file() {
            let dirs = (directory(source.parent().unwrap_or(&source))?, directory(above)?);
            copy::file(dirs.0.as_fd(), dirs.1.as_fd(), OsStr::new(name.name())).map(drop)?;
            continue;
        }
        let Some(tree) = Tree::of(&source, &snapshots.outside) else { continue };
        if tree.bytes > from.max_copied_bytes && !can_clone(&source, half) {
            tracing::info!(%name, bytes = tree.bytes, "too large to copy to a lane");
            continue;
        }
        let is_moved = from.seen == SeenAt::ItsOwnPath && source.join("pyvenv.cfg").exists();
        let moves = is_moved.then_some((&*snapshots.workspace, dir));
        tree.copy_to(&source, &target, moves)?;
    }
    Ok(shared)
}

/// Copies a directory of the user with its links, modes and times, without what cannot be read; a file is cloned if the file
/// system supports it. `target` must not exist, its parent must. Returns `false` if the directory is larger than `max_bytes`
/// and would have to be copied; nothing is done then. Blocks.
pub fn copy_directory(source: &Path, target: &Path, max_bytes: u64) -> io::Result<bool> {
    let parent = target.parent().unwrap_or(target);
    let Some(tree) = Tree::of(source, target) else { return Ok(false) };
    if tree.bytes > max_bytes && !can_clone(source, parent) {
        return Ok(false);
    }
    tree.copy_to(source, target, None).map(|()| true)
}

/// Returns the paths that `from` names, that exist in the workspace, and below which `entries` has nothing.
pub(super) fn names(snapshots: &Snapshots, entries: &Entries, from: &Extras<'_>) -> Vec<RepoPath> {
    let is_there = |name: &RepoPath| {
        let at = snapshots.workspace.join(name.as_str());
        // A symlink leads to another directory, which the lane would share with the user.
        let is_own = fs::canonicalize(&at).is_ok_and(|is| is == at);
        is_own && fs::symlink_metadata(at).is_ok_and(|data| data.is_dir() || data.is_file())
    };
    let is_shared =
        |name: &RepoPath| is_there(name) && !entries.keys().any(|path| path.is_at_or_below(name));
    from.share.iter().filter_map(|name| RepoPath::parse(name).ok()).filter(is_shared).collect()
}

/// Returns true if the file system of `dir` can clone the files of `source`, by trying one of them.
fn can_clone(source: &Path, dir: &Path) -> bool {
    let mut open = vec![source.to_owned()];
    while let Some(above) = open.pop() {
        for entry in fs::read_dir(&above).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    let tried = directory(&above).and_then(|from| {
                        let to = directory(dir)?;
                        copy::cloned(from.as_fd(), to.as_fd(), &entry.file_name())
                    });
                    fs::remove_file(dir.join(entry.file_name())).unwrap_or_default();
                    return tried.is_ok();
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    false
}

/// A relocation: paths to the first directory become paths to the second.
type Moves<'a> = Option<(&'a Path, &'a Path)>;

/// The contents of a directory. Directories are in an order in which they can be created.
#[derive(Default)]
struct Tree {
    directories: Vec<(PathBuf, Metadata)>,
    /// Files and symlinks by directory.
    leaves: Vec<(PathBuf, Vec<(PathBuf, Metadata)>)>,
    bytes: u64,
}

impl Tree {
    /// Reads a directory, without unreadable entries and without `outside`. Returns `None` if nothing of it can be
    /// copied.
    fn of(source: &Path, outside: &Path) -> Option<Tree> {
        let mut tree = Tree::default();
        let mut builds = cargo::Builds::below(source);
        let mut open = vec![PathBuf::new()];
        while let Some(above) = open.pop() {
            let mut leaves = Vec::new();
            for entry in fs::read_dir(source.join(&above)).into_iter().flatten().flatten() {
                let Ok(data) = entry.metadata() else { continue };
                let path = above.join(entry.file_name());
                if data.is_dir() && entry.path() != outside {
                    if builds.are_of_the_workspace(&path) {
                        continue;
                    }
                    tree.directories.push((path.clone(), data));
                    open.push(path);
                } else if data.is_file() || data.is_symlink() {
                    tree.bytes += data.len();
                    leaves.push((path, data));
                }
            }
            tree.leaves.push((above, leaves));
        }
        builds.are_known().then_some(tree)
    }

    /// Creates `target` with these contents.
    fn copy_to(&self, source: &Path, target: &Path, moves: Moves<'_>) -> io::Result<()> {
        fs::create_dir(target)?;
        for (path, _) in &self.directories {
            fs::create_dir(target.join(path))?;
        }
        threads::act_on_each(
            &self.leaves,
            || (),
            |(), (above, leaves)| {
                let dirs = (directory(&source.join(above))?, directory(&target.join(above))?);
                let copy = |(path, data): &(PathBuf, Metadata)| {
                    let name = path.file_name().unwrap_or_default();
                    // Files that have disappeared or are not readable are skipped.
                    let done = copy_leaf(&dirs, name, data, moves);
                    done.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
                };
                leaves.iter().try_for_each(copy)
            },
        )?;
        // Done last, because creating entries changes the time of a directory, and some directories are not writable.
        let top = fs::metadata(source)?;
        let all = self.directories.iter().rev().map(|(path, data)| (target.join(path), data));
        for (path, data) in all.chain([(target.to_owned(), &top)]) {
            let dir = File::open(&path)?;
            dir.set_times(FileTimes::new().set_modified(data.modified()?))?;
            dir.set_permissions(Permissions::from_mode(data.mode() & 0o777))?;
        }
        Ok(())
    }
}

fn is_missing(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied].contains(&error.kind())
}

fn copy_leaf(
    (from, to): &(OwnedFd, OwnedFd),
    name: &OsStr,
    data: &Metadata,
    moves: Moves<'_>,
) -> io::Result<()> {
    let moved = |text: &[u8]| {
        let (from, to) = moves?;
        relocate(text, from.as_os_str().as_bytes(), to.as_os_str().as_bytes())
    };
    if data.is_symlink() {
        let target = rustix::fs::readlinkat(from, name, Vec::new())?.into_bytes();
        let target = moved(&target).unwrap_or(target);
        return Ok(rustix::fs::symlinkat(OsStr::from_bytes(&target), to, name)?);
    }
    if moves.is_none() || data.len() > MAX_MOVED_BYTES {
        return copy::file(from.as_fd(), to.as_fd(), name).map(drop);
    }
    copy::copy_changed(from.as_fd(), to.as_fd(), name, |text| {
        (!text.contains(&0)).then(|| moved(text))?
    })
}

fn directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
