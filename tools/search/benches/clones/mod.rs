//! Clones of repositories for the benchmarks of this crate. What is measured on them is in the benchmarks.

#![expect(clippy::disallowed_methods, reason = "git itself checks out the commits")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The result of a benchmark.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A clone that shares its objects with the original.
pub(crate) struct Clone {
    /// Its work tree.
    pub(crate) tree: PathBuf,
    _home: TempDir,
}

/// Returns the repositories named on the command line, without the `--bench` that Cargo adds.
pub(crate) fn repositories() -> Vec<PathBuf> {
    std::env::args().skip(1).filter(|word| !word.starts_with("--")).map(PathBuf::from).collect()
}

impl Clone {
    /// Clones the repository without checking anything out.
    pub(crate) fn of(repository: &Path) -> Outcome<Clone> {
        let home = tempfile::tempdir()?;
        let origin = repository.display().to_string();
        git(home.path(), &["clone", "-q", "--shared", "--no-checkout", &origin, "clone"])?;
        let tree = home.path().join("clone");
        // Videos are excluded: they do not matter, and not every clone has them.
        git(&tree, &["config", "core.sparseCheckout", "true"])?;
        std::fs::write(tree.join(".git/info/sparse-checkout"), "/*\n!*.mp4\n!*.gif\n")?;
        Ok(Clone { tree, _home: home })
    }

    /// Checks out a commit.
    pub(crate) fn check_out(&self, commit: &str) -> Outcome<()> {
        self.git(&["checkout", "-q", "-f", "--detach", commit]).map(drop)
    }

    /// Runs git in the clone.
    pub(crate) fn git(&self, arguments: &[&str]) -> Outcome<String> {
        git(&self.tree, arguments)
    }
}

fn git(dir: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git").arg("-C").arg(dir).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
