//! Finds the files in a tree that commands must not read, and the directories they may write to, in one walk over names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of entries examined. A larger tree is not known well enough to run a command in it.
const MAX_ENTRIES: usize = 2_000_000;
/// Maximum length of a path that can be examined, in bytes, as everywhere in the program. A directory below is hidden
/// with everything in it: a command could still get there, step by step.
const MAX_PATH_BYTES: usize = 3072;
/// Directories that are not searched: they have many files and no secrets of the user.
const NOT_ENTERED: [&str; 4] = [".git", "node_modules", ".venv", "venv"];

/// What happens to a command's writes to its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeWrites {
    /// They are discarded, all of them.
    Discarded,
    /// They are discarded, except those to caches of builds. Only for a tree as the user has it: what is built from other
    /// sources would be newer than the user's.
    CachesKept,
    /// They are kept: the tree is a copy.
    Kept,
    /// Nothing may be written.
    Nothing,
}

impl TreeWrites {
    /// Returns true if what builds write to their caches is kept.
    pub(crate) const fn keep_caches(self) -> bool {
        match self {
            Self::CachesKept | Self::Kept => true,
            Self::Discarded | Self::Nothing => false,
        }
    }
}

/// A tree, and what its owner knows about it.
#[derive(Clone, Copy)]
pub struct Tree<'t> {
    /// Its directory, absolute and without symbolic links.
    pub root: &'t Path,
    /// The path at which commands see it, where they are fully confined.
    pub at: &'t Path,
    /// What happens to writes to it.
    pub writes: TreeWrites,
    /// Returns whether the file at a path relative to the tree is secret.
    pub is_secret: &'t (dyn Fn(&str) -> bool + Sync),
    /// Returns whether nothing in a directory is part of the project: git tracks nothing there, and shows nothing new.
    pub is_unseen: &'t (dyn Fn(&Path) -> bool + Sync),
    /// Returns the directories outside the tree that git reads for it, given where this program keeps its own.
    pub git_dirs: &'t (dyn Fn(&Path) -> Vec<PathBuf> + Sync),
}

/// The result of a survey.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Secret files, sockets, and directories too deep to be examined. For a symbolic link, its target if that is in the tree.
    pub(crate) secrets: Vec<PathBuf>,
    /// Existing caches of builds.
    pub(crate) caches: Vec<PathBuf>,
    /// Caches at the root that do not exist yet.
    pub(crate) missing_caches: Vec<PathBuf>,
}

/// Surveys a tree. `caches` maps the name of a file to the caches next to it.
pub(crate) fn survey(
    tree: &Tree<'_>,
    caches: &BTreeMap<String, Vec<String>>,
) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let mut entries = 0;
    let mut waiting = vec![tree.root.to_owned()];
    while let Some(dir) = waiting.pop() {
        let mut below = Vec::new();
        let mut names = Vec::new();
        let listed = match fs::read_dir(&dir) {
            // A directory that cannot be listed here cannot be listed by the command either.
            Err(error) if dir != tree.root => {
                tracing::debug!(%error, dir = %dir.display(), "directory not surveyed");
                continue;
            }
            listed => listed?,
        };
        for entry in listed {
            let entry = entry?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(io::Error::other(format!(
                    "the tree has more than {MAX_ENTRIES} files"
                )));
            }
            let name = entry.file_name();
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() {
                if path.as_os_str().len() > MAX_PATH_BYTES {
                    survey.secrets.push(path);
                } else if !NOT_ENTERED.iter().any(|not| name == *not) {
                    below.push(path);
                }
                continue;
            }
            let relative = path.strip_prefix(tree.root).unwrap_or(&path).to_string_lossy();
            // A socket is a way out: the process listening on it is not confined.
            if kind.is_socket() || (tree.is_secret)(&relative) {
                survey.secrets.extend(real(&path, tree.root));
            }
            names.push(name);
        }
        let here = caches.iter().filter(|(manifest, _)| {
            names.iter().any(|name| config::is_manifest(manifest, &name.to_string_lossy()))
        });
        for made in here.flat_map(|(_, made)| made).map(|made| dir.join(made)) {
            let is_known = survey.caches.contains(&made) || survey.missing_caches.contains(&made);
            if is_known || !(tree.is_unseen)(&made) {
                continue;
            }
            match fs::symlink_metadata(&made) {
                Ok(data) if data.is_dir() && real(&made, tree.root).as_ref() == Some(&made) => {
                    survey.caches.push(made);
                }
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && made.parent() == Some(tree.root) =>
                {
                    survey.missing_caches.push(made);
                }
                Ok(_) | Err(_) => {}
            }
        }
        below.retain(|dir| !survey.caches.contains(dir));
        waiting.extend(below);
    }
    survey.secrets.sort();
    survey.secrets.dedup();
    Ok(survey)
}

/// Resolves a path; `None` if it leads out of the tree.
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
    fn a_directory_too_deep_to_be_examined_is_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let name = "d".repeat(200);
        let deepest = (0..18).fold(root.clone(), |above, _| above.join(&name));
        put(&root, deepest.join(".env").to_str().unwrap());
        let tree = Tree {
            root: &root,
            writes: TreeWrites::Discarded,
            is_secret: &|path| path.rsplit('/').next() == Some(".env"),
            at: &root,
            is_unseen: &|_| true,
            git_dirs: &|_| Vec::new(),
        };
        let found = survey(&tree, &BTreeMap::new()).unwrap();
        let [hidden] = found.secrets.as_slice() else { panic!("{:?}", found.secrets) };
        assert!(deepest.starts_with(hidden) && hidden.as_os_str().len() > MAX_PATH_BYTES);
        assert!(hidden.as_os_str().len() <= MAX_PATH_BYTES + name.len() + 1, "no more than needed");
    }

    #[test]
    fn secrets_are_found_at_any_depth_and_caches_next_to_their_manifest() {
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
            at: &root,
            writes: TreeWrites::CachesKept,
            is_secret: &|path| path.rsplit('/').next() == Some(".env"),
            is_unseen: &|dir| !dir.parent().unwrap().ends_with("tracked"),
            git_dirs: &|_| Vec::new(),
        };
        let caches = vec!["target".to_owned(), "made".to_owned()];
        let mut found = survey(&tree, &[("*go.toml".to_owned(), caches)].into()).unwrap();
        found.caches.sort();
        let at = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>();
        assert_eq!(found.secrets, at(&[".env", "a/b/.env", "config/real"]));
        assert_eq!(found.caches, at(&["a/target", "target"]));
        assert_eq!(found.missing_caches, at(&["made"]));
    }
}
