//! What builds of the user's left, given to a lane so that it need not begin with nothing: cloned where the file system can,
//! else copied, else left out. No write of a lane reaches a file of the user's, so nothing is linked. Symlinks stay symlinks.
//!
//! What names the user's directory would lead the lane's commands back there, and have them judge the user's files instead of
//! the lane's. So a virtual environment of Python is moved: its scripts and paths name the lane's. What Cargo built of the
//! workspace itself has the directory compiled in and is not given, only what it built of others. And lanes do not build in one
//! directory: Cargo tells by the times of files and by paths that are the same in all of them.

mod cargo;

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::{Extras, copy, threads};
use crate::{Entries, RepoPath, Snapshots};
use tools::relocate::relocate;

/// A text that is longer does not tell where its directory is.
const MAX_MOVED_BYTES: u64 = 1 << 20;

/// Gives `half`, which will be `dir`, what `from` names of the workspace and `entries` have nothing of. Tells all that is no
/// part of the tree: what is too large to be given is made anew by whoever builds there.
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
            tracing::info!(%name, bytes = tree.bytes, "too large to be copied for a lane");
            continue;
        }
        let moves = source.join("pyvenv.cfg").exists().then_some((&*snapshots.workspace, dir));
        tree.give(&source, &target, moves)?;
    }
    Ok(shared)
}

/// What `from` names and the workspace has, and `entries` have nothing of.
pub(super) fn names(snapshots: &Snapshots, entries: &Entries, from: &Extras<'_>) -> Vec<RepoPath> {
    let is_there = |name: &RepoPath| {
        let at = snapshots.workspace.join(name.as_str());
        // Behind a symlink is another directory, which a lane would share with the user.
        let is_own = fs::canonicalize(&at).is_ok_and(|is| is == at);
        is_own && fs::symlink_metadata(at).is_ok_and(|data| data.is_dir() || data.is_file())
    };
    let is_shared =
        |name: &RepoPath| is_there(name) && !entries.keys().any(|path| path.is_at_or_below(name));
    from.share.iter().filter_map(|name| RepoPath::parse(name).ok()).filter(is_shared).collect()
}

/// Whether the file system of `dir` clones the files of `source`: tried with one of them.
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

/// Directories that stand for one another: what named the first is to name the second.
type Moves<'a> = Option<(&'a Path, &'a Path)>;

/// What is below a directory: directories first, in an order in which they can be made.
#[derive(Default)]
struct Tree {
    directories: Vec<(PathBuf, Metadata)>,
    /// By directory.
    leaves: Vec<(PathBuf, Vec<(PathBuf, Metadata)>)>,
    bytes: u64,
}

impl Tree {
    /// Of a directory; what cannot be read is not in it, nor is anything in `outside`. None if nothing of it can be given.
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

    /// Makes `target` of it.
    fn give(&self, source: &Path, target: &Path, moves: Moves<'_>) -> io::Result<()> {
        fs::create_dir(target)?;
        for (path, _) in &self.directories {
            fs::create_dir(target.join(path))?;
        }
        threads::each(
            &self.leaves,
            || (),
            |(), (above, leaves)| {
                let dirs = (directory(&source.join(above))?, directory(&target.join(above))?);
                let give = |(path, data): &(PathBuf, Metadata)| {
                    let name = path.file_name().unwrap_or_default();
                    // What went meanwhile, or may not be read, is missing as it is from the user's directory.
                    let done = give(&dirs, name, data, moves);
                    done.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
                };
                leaves.iter().try_for_each(give)
            },
        )?;
        // Only now, since whatever is made in a directory gives it another time, and some may not be written to.
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

fn give(
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
    copy::changed(from.as_fd(), to.as_fd(), name, |text| {
        (!text.contains(&0)).then(|| moved(text))?
    })
}

fn directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
