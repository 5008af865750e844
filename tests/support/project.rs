//! A small project in its own git repository. Its check is a shell script, so that a test takes milliseconds.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tree::FileHash;

use super::program::shell;

/// The check of [`Project::greeting`]. It prints what it found, so that a different wrong change is a different failure.
const CHECK: &str = r#"read -r line < greet.txt
[ "$line" = "hello world" ] && exit 0
echo "FAILED greet.txt::greeting - it says $line"
exit 1
"#;

/// A project in a temporary directory.
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// Creates a git repository with these files, all committed.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self::without_git(files);
        project.commit();
        project
    }

    /// Creates a git repository and commits all files.
    pub(crate) fn commit(&self) {
        shell(
            self.root(),
            "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm start",
        );
    }

    /// Creates a project with these files and without git.
    pub(crate) fn without_git(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::Builder::new().prefix("deepseek-test-").tempdir().unwrap();
        let project = Self { dir };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// Creates the greeting project: `greet.txt` says `hello`, and the check wants `hello world`.
    pub(crate) fn greeting() -> Self {
        Self::new(&[("greet.txt", "hello\n"), ("check.sh", CHECK)])
    }

    /// Returns the root of the workspace.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a path in the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes a file, and creates its parent directories.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the paths that differ from the last commit according to git, including untracked ones.
    pub(crate) fn changed(&self) -> Vec<String> {
        let status = shell(self.root(), "git --no-optional-locks status --porcelain -uall");
        status.lines().map(|line| line[3..].to_owned()).collect()
    }

    /// Hashes every file in the directory `below`, by path.
    pub(crate) fn hashes(&self, below: &str) -> BTreeMap<PathBuf, FileHash> {
        hashes_in(&self.path(below))
    }
}

/// Hashes every file in a directory, by path.
pub(crate) fn hashes_in(dir: &Path) -> BTreeMap<PathBuf, FileHash> {
    let mut hashes = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let hash = FileHash::of(&fs::read(&path).unwrap());
                hashes.insert(path, hash);
            }
        }
    }
    hashes
}

impl Drop for Project {
    fn drop(&mut self) {
        // Files in a read-only directory cannot be removed.
        fs::set_permissions(self.root(), Permissions::from_mode(0o755)).ok();
    }
}
