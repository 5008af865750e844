//! What lies in a tree that commands must not read, and what they may write: found by one walk over names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Entries looked at. A tree with more is not known well enough to run a command in it.
const MAX_ENTRIES: usize = 2_000_000;
/// Directories without secrets of the user, and with many files.
const NOT_ENTERED: [&str; 4] = [".git", "node_modules", ".venv", "venv"];

/// What becomes of what a command writes to its tree, but for build directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// It is thrown away: the tree is the user's.
    Discarded,
    /// It stays: the tree is a copy.
    Kept,
    /// It writes nothing, to build directories neither.
    Nothing,
}

/// What is asked of a tree.
#[derive(Clone, Copy)]
pub struct Tree<'t> {
    /// Its directory, absolute and without symbolic links.
    pub root: &'t Path,
    /// What becomes of what is written to it.
    pub writes: Writes,
    /// Whether the file at a path below it is secret.
    pub is_secret: &'t (dyn Fn(&str) -> bool + Sync),
    /// Whether git tracks something in a directory.
    pub has_tracked: &'t (dyn Fn(&Path) -> bool + Sync),
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Secret files, and sockets. Where one is a symbolic link, what it leads to in the tree.
    pub(crate) secrets: Vec<PathBuf>,
    /// Directories that builds write and that are there.
    pub(crate) built: Vec<PathBuf>,
    /// Those at the root that are not there yet.
    pub(crate) unbuilt: Vec<PathBuf>,
}

/// Looks a tree over; `built` says which directories builds write, by the file beside which they lie.
pub(crate) fn survey(tree: &Tree<'_>, built: &BTreeMap<String, Vec<String>>) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let mut entries = 0;
    let mut waiting = vec![tree.root.to_owned()];
    while let Some(dir) = waiting.pop() {
        let mut below = Vec::new();
        let mut names = Vec::new();
        let listed = match fs::read_dir(&dir) {
            // What cannot be listed here cannot be by the command.
            Err(error) if dir != tree.root => {
                tracing::debug!(%error, dir = %dir.display(), "not looked over");
                continue;
            }
            listed => listed?,
        };
        for entry in listed {
            let entry = entry?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(io::Error::other(format!("there are more than {MAX_ENTRIES} files")));
            }
            let name = entry.file_name();
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() {
                if !NOT_ENTERED.iter().any(|not| name == *not) {
                    below.push(path);
                }
                continue;
            }
            let relative = path.strip_prefix(tree.root).unwrap_or(&path).to_string_lossy();
            // A socket is a way out: whoever listens is not confined.
            if kind.is_socket() || (tree.is_secret)(&relative) {
                survey.secrets.extend(real(&path, tree.root));
            }
            names.push(name);
        }
        let here =
            built.iter().filter(|(beside, _)| names.iter().any(|name| name == beside.as_str()));
        for made in here.flat_map(|(_, made)| made).map(|made| dir.join(made)) {
            match fs::symlink_metadata(&made) {
                Ok(data) if data.is_dir() && real(&made, tree.root).as_ref() == Some(&made) => {
                    if !survey.built.contains(&made) && !(tree.has_tracked)(&made) {
                        survey.built.push(made);
                    }
                }
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && made.parent() == Some(tree.root)
                        && !survey.unbuilt.contains(&made) =>
                {
                    survey.unbuilt.push(made);
                }
                Ok(_) | Err(_) => {}
            }
        }
        below.retain(|dir| !survey.built.contains(dir));
        waiting.extend(below);
    }
    survey.secrets.sort();
    survey.secrets.dedup();
    Ok(survey)
}

/// Where a path leads, if that is in the tree.
fn real(path: &Path, root: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|real| real.starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(root: &Path, path: &str) {
        let at = root.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "x").unwrap();
    }

    #[test]
    fn secrets_are_found_at_any_depth_and_build_directories_beside_what_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in [
            ".env",
            "a/b/.env",
            "target/.env",
            "node_modules/m/.env",
            "Cargo.toml",
            "a/Cargo.toml",
            "a/target/x",
            "b/target/x",
            "config/real",
            "tracked/Cargo.toml",
            "tracked/target/x",
        ] {
            put(&root, path);
        }
        symlink("../config/real", root.join("b/.env")).unwrap();
        symlink("/etc/passwd", root.join("a/.env")).unwrap();
        fs::create_dir_all(root.join("linked")).unwrap();
        put(&root, "linked/Cargo.toml");
        symlink("/etc", root.join("linked/target")).unwrap();
        let tree = Tree {
            root: &root,
            writes: Writes::Discarded,
            is_secret: &|path| path.rsplit('/').next() == Some(".env"),
            has_tracked: &|dir| dir.parent().unwrap().ends_with("tracked"),
        };
        let built =
            [("Cargo.toml".to_owned(), vec!["target".to_owned(), "made".to_owned()])].into();
        let mut found = survey(&tree, &built).unwrap();
        found.built.sort();
        let at = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>();
        assert_eq!(found.secrets, at(&[".env", "a/b/.env", "config/real"]));
        assert_eq!(found.built, at(&["a/target", "target"]));
        assert_eq!(found.unbuilt, at(&["made"]));
    }
}
