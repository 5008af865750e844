//! Directories that builds of the user's filled, given to a lane so that it need not begin with nothing: cloned where the file
//! system can, else linked where that is safe, else copied, else left out.
//!
//! The rule of what is safe: no write of a lane may reach a file of the user's. A clone and a copy are the lane's own. A hard
//! link is not: whoever writes into it writes into the user's file. So a file is linked only if it has a second name already,
//! in a directory whose package managers link their packages from a store, and is not in a hidden directory of caches below
//! it. Such a manager has decided that nobody writes into a package. All other files are copied, as long as they are not too
//! much. Symlinks stay symlinks.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Origin, copy, threads};
use crate::tree::{Entries, RepoPath, Snapshots};

/// Directories of packages that are linked from a store, by those managers that have one.
const PACKAGES: [&str; 3] = ["node_modules", ".venv", "venv"];

/// The hidden directory in which `pnpm` keeps the packages themselves.
const STORE: &str = ".pnpm";

/// Cargo's.
const BUILDS: &str = "target";

/// What a lane got.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The directories that it has now.
    pub(super) shared: Vec<String>,
    /// What its commands need to know.
    pub(super) env: Vec<(String, String)>,
}

/// Gives `dir` those directories of the workspace that `from` names and `entries` have nothing of.
pub(super) fn all(
    snapshots: &Snapshots,
    entries: &Entries,
    dir: &Path,
    from: &Origin<'_>,
) -> io::Result<Shared> {
    let mut given = Shared::default();
    for name in from.share {
        let is_name = RepoPath::parse(name).is_ok_and(|path| path.components().count() == 1);
        let below = |path: &RepoPath| path.components().next() == Some(name);
        if !is_name || entries.keys().any(below) {
            continue;
        }
        let source = snapshots.workspace.join(name);
        let is_directory = fs::symlink_metadata(&source).is_ok_and(|data| data.is_dir());
        let way = if !is_directory {
            None
        } else if can_clone(&source, dir) {
            Some(Way::Clone)
        } else if name == BUILDS {
            None
        } else {
            Some(Way::LinkOrCopy { packages: PACKAGES.contains(&name.as_str()) })
        };
        match way {
            Some(way) => {
                let tree = Tree::of(&source, &snapshots.outside, way);
                if way != Way::Clone && tree.copied > from.max_copied_bytes {
                    tracing::info!(%name, bytes = tree.copied, "too large to be copied for a lane");
                    continue;
                }
                tree.give(&source, &dir.join(name), way)?;
                given.shared.push(name.clone());
            }
            None if builds_elsewhere(entries, name) => given.env.push(build_dir(from)),
            None => {}
        }
    }
    Ok(given)
}

/// What a worktree was given when it was made of `entries`.
pub(super) fn given(entries: &Entries, dir: &Path, from: &Origin<'_>) -> Shared {
    let is_there =
        |name: &&String| fs::symlink_metadata(dir.join(name)).is_ok_and(|data| data.is_dir());
    let is_own =
        |name: &&String| entries.keys().any(|path| path.components().next() == Some(name.as_str()));
    let shared: Vec<String> =
        from.share.iter().filter(is_there).filter(|name| !is_own(name)).cloned().collect();
    let elsewhere =
        from.share.iter().any(|name| !shared.contains(name) && builds_elsewhere(entries, name));
    Shared { shared, env: elsewhere.then(|| build_dir(from)).into_iter().collect() }
}

/// Whether Cargo is to build in a directory that lanes have in common.
fn builds_elsewhere(entries: &Entries, name: &str) -> bool {
    name == BUILDS && entries.keys().any(|path| path.as_str() == "Cargo.toml")
}

fn build_dir(from: &Origin<'_>) -> (String, String) {
    ("CARGO_TARGET_DIR".to_owned(), from.build_dir.to_string_lossy().into_owned())
}

/// How a directory is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Clone,
    LinkOrCopy {
        /// Whether those who fill it link packages.
        packages: bool,
    },
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

/// What is below a directory: directories first, in an order in which they can be made.
#[derive(Default)]
struct Tree {
    directories: Vec<(PathBuf, Metadata)>,
    /// By directory.
    leaves: Vec<(PathBuf, Vec<(PathBuf, Metadata)>)>,
    /// Bytes that have to be copied.
    copied: u64,
}

impl Tree {
    /// Of a directory; what can not be read is not in it, nor is anything in `outside`.
    fn of(source: &Path, outside: &Path, way: Way) -> Tree {
        let mut tree = Tree::default();
        let mut open = vec![PathBuf::new()];
        while let Some(above) = open.pop() {
            let mut leaves = Vec::new();
            for entry in fs::read_dir(source.join(&above)).into_iter().flatten().flatten() {
                let Ok(data) = entry.metadata() else { continue };
                let path = above.join(entry.file_name());
                if data.is_dir() && entry.path() != outside {
                    tree.directories.push((path.clone(), data));
                    open.push(path);
                } else if data.is_file() || data.is_symlink() {
                    if !may_link(way, &path, data.nlink()) {
                        tree.copied += data.len();
                    }
                    leaves.push((path, data));
                }
            }
            tree.leaves.push((above, leaves));
        }
        tree
    }

    /// Makes `target` of it.
    fn give(&self, source: &Path, target: &Path, way: Way) -> io::Result<()> {
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
                    let done = give(&dirs, name, data, may_link(way, path, data.nlink()));
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

/// Whether a file with so many names may get another one.
fn may_link(way: Way, path: &Path, names: u64) -> bool {
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".") && name != STORE;
    match way {
        Way::Clone | Way::LinkOrCopy { packages: false } => false,
        Way::LinkOrCopy { packages: true } => names > 1 && !path.iter().any(is_hidden),
    }
}

fn give(
    (from, to): &(OwnedFd, OwnedFd),
    name: &OsStr,
    data: &Metadata,
    link: bool,
) -> io::Result<()> {
    if data.is_symlink() {
        let target = rustix::fs::readlinkat(from, name, Vec::new())?;
        return Ok(rustix::fs::symlinkat(target, to, name)?);
    }
    if link && rustix::fs::linkat(from, name, to, name, AtFlags::empty()).is_ok() {
        return Ok(());
    }
    copy::file(from.as_fd(), to.as_fd(), name).map(drop)
}

fn directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
