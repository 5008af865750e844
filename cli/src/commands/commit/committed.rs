//! What the last commit has of some files.

use std::collections::BTreeMap;

use front::error::CliError;
use shell::Git;
use tree::{FileMode, FileState, RepoPath};

use super::status::Dirty;
use crate::their_git::{bytes_of, output_of};

/// Files of the last commit: each as git keeps it, and as git would put it on the disk, with line ends and filters.
pub(super) struct LastCommitFiles(BTreeMap<RepoPath, [FileState; 2]>);

impl LastCommitFiles {
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
            let mode = match kind.split(' ').next().unwrap_or_default() {
                "100644" => FileMode::Regular,
                "100755" => FileMode::Executable,
                "120000" => FileMode::Symlink,
                _ => continue,
            };
            let object = format!("HEAD:{prefix}{path}");
            let read = |form| {
                let bytes = bytes_of(git.output(&["cat-file", form, &object]))?.into();
                Ok::<_, CliError>(FileState { bytes, mode })
            };
            all.insert(path, [read("blob")?, read("--filters")?]);
        }
        Ok(Self(all))
    }

    /// Returns the forms of a file; none if the commit does not have it.
    pub(super) fn forms(&self, path: &RepoPath) -> &[FileState] {
        self.0.get(path).map_or(&[], |forms| &forms[..])
    }
}
