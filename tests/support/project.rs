//! A small project in a git repository of its own, whose check is a shell script: a test of it takes milliseconds.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tree::FileHash;

use super::program::shell;

/// The check of [`Project::greeting`]. It tells what it found, so that another wrong change is another failure.
const CHECK: &str = r#"read -r line < greet.txt
[ "$line" = "hello world" ] && exit 0
echo "FAILED greet.txt::greeting - it says $line"
exit 1
"#;

/// A project.
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// A committed project of these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self::without_git(files);
        project.commit();
        project
    }

    /// Puts it under git, with all that is there committed.
    pub(crate) fn commit(&self) {
        shell(
            self.root(),
            "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm start",
        );
    }

    /// The same, not under git.
    pub(crate) fn without_git(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::Builder::new().prefix("deepseek-test-").tempdir().unwrap();
        let project = Self { dir };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// Says `hello`, and its check wants `hello world`.
    pub(crate) fn greeting() -> Self {
        Self::new(&[("greet.txt", "hello\n"), ("check.sh", CHECK)])
    }

    /// The workspace.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// A path in the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// What is in a file.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Puts something into a file, with the directories above it.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The paths that git says differ from the last commit, untracked ones included.
    pub(crate) fn changed(&self) -> Vec<String> {
        let status = shell(self.root(), "git --no-optional-locks status --porcelain -uall");
        status.lines().map(|line| line[3..].to_owned()).collect()
    }

    /// A hash of every file below `below`, by path.
    pub(crate) fn hashes(&self, below: &str) -> BTreeMap<PathBuf, FileHash> {
        hashes_in(&self.path(below))
    }
}

/// A hash of every file in a directory, by path.
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
        // What may not be written cannot be removed either.
        fs::set_permissions(self.root(), Permissions::from_mode(0o755)).ok();
    }
}
