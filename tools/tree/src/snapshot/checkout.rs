//! Writes a stored tree of files to a new directory.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{Entries, SnapshotError, SnapshotReader};
use crate::{FileMode, remove_tree};

impl SnapshotReader {
    /// Writes `entries` to `dir`, which must not exist. If this fails, `dir` is removed.
    pub fn check_out(&self, entries: &Entries, dir: &Path) -> Result<(), SnapshotError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| SnapshotError::Io { path, source }
        };
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::create_dir(dir).map_err(failed(dir))?;
        let written = entries.iter().try_for_each(|(path, kept)| {
            let target = dir.join(path.as_str());
            let content = self.content(path, *kept)?;
            write(&target, kept.mode, &content).map_err(failed(&target))
        });
        if written.is_err()
            && let Err(error) = remove_tree(dir)
        {
            tracing::warn!(%error, dir = %dir.display(), "a partial checkout was left behind");
        }
        written
    }
}

/// Cannot write through a symlink: a git tree has none above a file.
fn write(target: &Path, mode: FileMode, content: &[u8]) -> io::Result<()> {
    let above: PathBuf = target.parent().map(Path::to_owned).unwrap_or_default();
    fs::create_dir_all(above)?;
    match mode {
        FileMode::Symlink => symlink(as_path(content), target),
        FileMode::Regular => fs::write(target, content),
        FileMode::Executable => {
            fs::write(target, content)?;
            fs::set_permissions(target, Permissions::from_mode(0o755))
        }
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
