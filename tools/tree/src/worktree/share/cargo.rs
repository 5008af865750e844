//! What Cargo built of the workspace, told from what it built of packages from elsewhere.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that Cargo keeps at the top of the directory it builds in.
const MARK: &str = ".rustc_info.json";

/// Where it notes what is built: a directory for each unit.
const NOTES: &str = ".fingerprint";

/// How a note says that the sources lie in a directory that may change: those of packages from elsewhere do not.
const OF_A_PATH: &[u8] = b"\"CheckDepInfo\"";

/// The units below a directory that Cargo builds in. Without its note, a unit is built anew.
pub(super) struct Builds {
    /// None where Cargo does not build.
    dir: Option<PathBuf>,
    found: bool,
}

impl Builds {
    pub(super) fn below(dir: &Path) -> Builds {
        let is_cargos = dir.join(MARK).exists();
        Builds { dir: is_cargos.then(|| dir.to_owned()), found: false }
    }

    /// Whether the directory at `path` is the note of a unit of the workspace.
    pub(super) fn are_of_the_workspace(&mut self, path: &Path) -> bool {
        let Some(dir) = &self.dir else { return false };
        if path.parent().and_then(Path::file_name) != Some(OsStr::new(NOTES)) {
            return false;
        }
        let notes = fs::read_dir(dir.join(path)).into_iter().flatten().flatten();
        let is_note = |path: &PathBuf| path.extension() == Some(OsStr::new("json"));
        let says = |path: PathBuf| {
            fs::read(path).is_ok_and(|note| memchr::memmem::find(&note, OF_A_PATH).is_some())
        };
        let is = notes.map(|note| note.path()).filter(is_note).any(says);
        self.found |= is;
        is
    }

    /// Whether the notes were understood. A workspace that was built has one of its own; where none was found, another Cargo
    /// notes it otherwise, and none of its builds can be told from those of others.
    pub(super) const fn are_known(&self) -> bool {
        self.dir.is_none() || self.found
    }
}
