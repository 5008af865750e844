//! Directories that tools have made: packages, environments, caches, build output. They are recognized by the tables of the
//! configuration, next to their manifest, or by a mark inside. What git tracks something of is part of the project.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use crate::repository::Tracked;

/// Files that say of the directory they are in: a cache, a virtual environment of Python, a conda environment.
const MARKS: [&str; 3] = ["CACHEDIR.TAG", "pyvenv.cfg", "conda-meta"];
/// The ending of compiled Python files.
const COMPILED: &str = ".pyc";

/// The directories of the tables with their manifests, by their last name.
static TABLE: LazyLock<HashMap<OsString, Vec<(PathBuf, String)>>> = LazyLock::new(|| {
    let mut table: HashMap<OsString, Vec<(PathBuf, String)>> = HashMap::new();
    for (manifest, dir) in config::made_beside() {
        let dir = PathBuf::from(dir);
        let last = dir.file_name().unwrap_or_default().to_owned();
        table.entry(last).or_default().push((dir, manifest));
    }
    table
});

/// Recognizes made directories in one tree. Reads the user's repository only when it has met one.
pub(super) struct MadeDirectories {
    root: PathBuf,
    tracked: OnceLock<Tracked>,
}

impl MadeDirectories {
    pub(super) fn below(root: &Path) -> MadeDirectories {
        MadeDirectories { root: root.to_owned(), tracked: OnceLock::new() }
    }

    /// Returns true for a made directory below the root.
    pub(super) fn has(&self, dir: &Path) -> bool {
        dir != self.root
            && (is_in_table(dir) || is_marked(dir) || is_of_compiled_files(dir))
            && !self.tracked.get_or_init(|| Tracked::around(&self.root)).has_below(dir)
    }
}

/// Returns true if a directory of the tables is next to its manifest.
fn is_in_table(dir: &Path) -> bool {
    let known = dir.file_name().and_then(|name| TABLE.get(name));
    known.into_iter().flatten().any(|(made, manifest)| {
        let base = dir.ancestors().nth(made.components().count());
        dir.ends_with(made) && base.is_some_and(|base| has_file(base, manifest))
    })
}

fn has_file(dir: &Path, pattern: &str) -> bool {
    if !pattern.contains('*') {
        return dir.join(pattern).is_file();
    }
    names_in(dir).any(|name| config::is_manifest(pattern, &name.to_string_lossy()))
}

fn is_marked(dir: &Path) -> bool {
    MARKS.iter().any(|mark| dir.join(mark).symlink_metadata().is_ok())
}

/// Returns true for a directory with a name that languages reserve for themselves, and compiled files only.
fn is_of_compiled_files(dir: &Path) -> bool {
    let name = dir.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let is_reserved = name.starts_with("__") && name.ends_with("__");
    let mut names = names_in(dir).filter(|_| is_reserved).peekable();
    names.peek().is_some() && names.all(|name| name.to_string_lossy().ends_with(COMPILED))
}

fn names_in(dir: &Path) -> impl Iterator<Item = OsString> {
    dir.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name())
}
