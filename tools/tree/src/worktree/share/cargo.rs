//! Distinguishes Cargo's output for the workspace from its output for other packages.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that Cargo keeps at the top of a target directory.
const MARK: &str = ".rustc_info.json";

/// The directory with a fingerprint directory for each built unit.
const FINGERPRINTS: &str = ".fingerprint";

/// Marks a fingerprint of a package whose sources are in a local directory and may change, unlike those of other
/// packages.
const LOCAL: &[u8] = b"\"CheckDepInfo\"";

/// The units in a target directory of Cargo. Without its fingerprint, a unit is rebuilt.
pub(super) struct Builds {
    /// `None` if it is not a target directory.
    dir: Option<PathBuf>,
    found: bool,
}

impl Builds {
    pub(super) fn below(dir: &Path) -> Builds {
        let is_cargos = dir.join(MARK).exists();
        Builds { dir: is_cargos.then(|| dir.to_owned()), found: false }
    }

    /// Returns true if the directory at `path` is the fingerprint of a unit of the workspace.
    pub(super) fn are_of_the_workspace(&mut self, path: &Path) -> bool {
        let Some(dir) = &self.dir else { return false };
        if path.parent().and_then(Path::file_name) != Some(OsStr::new(FINGERPRINTS)) {
            return false;
        }
        let notes = fs::read_dir(dir.join(path)).into_iter().flatten().flatten();
        let is_note = |path: &PathBuf| path.extension() == Some(OsStr::new("json"));
        let says = |path: PathBuf| {
            fs::read(path).is_ok_and(|note| memchr::memmem::find(&note, LOCAL).is_some())
        };
        let is = notes.map(|note| note.path()).filter(is_note).any(says);
        self.found |= is;
        is
    }

    /// Returns true if the fingerprints were understood. A workspace that was built has at least one of its own. If
    /// none was found, this version of Cargo uses another format, and its output cannot be classified.
    pub(super) const fn are_known(&self) -> bool {
        self.dir.is_none() || self.found
    }
}
