//! What the last commit has of some files, as it would be on the disk.

use std::collections::BTreeMap;

use front::error::CliError;
use shell::Git;
use tree::{FileMode, FileState, RepoPath};

use super::status::Dirty;
use crate::their_git::{bytes_of, output_of};

/// Files of the last commit, with its line ends and filters applied.
pub(super) struct Committed(BTreeMap<RepoPath, FileState>);

impl Committed {
    /// Reads the state of these files; `prefix` is the path of the workspace within the repository.
    pub(super) fn read(git: Git<'_>, prefix: &str, files: &[Dirty]) -> Result<Self, CliError> {
        let mut all = BTreeMap::new();
        let is_born = git.output(&["rev-parse", "--verify", "--quiet", "HEAD"]);
        if files.is_empty() || !is_born.is_ok_and(|ended| ended.status.success()) {
            return Ok(Self(all));
        }
        let paths = files.iter().map(|file| file.path.as_str());
        let words: Vec<&str> = ["ls-tree", "-z", "HEAD", "--"].into_iter().chain(paths).collect();
        for line in output_of(git.output(&words))?.split('\0') {
            let Some((kind, path)) = line.split_once('\t') else { continue };
            let Ok(path) = RepoPath::parse(path) else { continue };
            let (mode, convert) = match kind.split(' ').next().unwrap_or_default() {
                "100644" => (FileMode::Regular, "--filters"),
                "100755" => (FileMode::Executable, "--filters"),
                "120000" => (FileMode::Symlink, "blob"),
                _ => continue,
            };
            let object = format!("HEAD:{prefix}{path}");
            let bytes = bytes_of(git.output(&["cat-file", convert, &object]))?.into();
            all.insert(path, FileState { bytes, mode });
        }
        Ok(Self(all))
    }

    /// Returns the state of a file; `None` if the commit does not have it.
    pub(super) fn get(&self, path: &RepoPath) -> Option<&FileState> {
        self.0.get(path)
    }
}
