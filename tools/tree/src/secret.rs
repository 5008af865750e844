//! Reads the secret files of a tree, so that their contents can be masked in other texts. Nothing else reads them.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use tools::regular;

use super::repository;

/// Maximum number of directory entries visited; those near the root come first.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of secret files read, and maximum size of one, in bytes.
const MAX_FILES: usize = 1_000;
const MAX_BYTES: u64 = 1 << 20;
/// Directories that only hold installed packages or build output.
const NOT_LOOKED_INTO: [&str; 7] =
    [".git", ".deepseek", "node_modules", "target", ".venv", "venv", "__pycache__"];

/// Returns the texts of the files below `root` whose path `is_secret`, including ignored ones, and the git
/// configuration of each repository.
pub fn secret_texts(root: &Path, is_secret: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut texts = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut directories = VecDeque::from([root.to_owned()]);
    while let Some(dir) = directories.pop_front() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1).filter(|_| texts.len() < MAX_FILES) else {
                return texts;
            };
            left = fewer;
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name() == ".git" {
                texts.extend(configuration_of(&dir));
            } else if kind.is_dir() {
                if !NOT_LOOKED_INTO.iter().any(|name| entry.file_name() == *name) {
                    directories.push_back(path);
                }
            } else if path.strip_prefix(root).ok().and_then(Path::to_str).is_some_and(is_secret) {
                texts.extend(regular::read_text(&path, MAX_BYTES).ok());
            }
        }
    }
    texts
}

/// Returns the configuration of the repository whose top is `dir`: its remotes may contain passwords.
fn configuration_of(dir: &Path) -> Option<String> {
    let config = |git_dir: PathBuf| repository::common_dir(&git_dir).join("config");
    regular::read_text(&config(repository::of(dir)?), MAX_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn secret_files_are_found_everywhere_without_blocking() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for path in [".env", "a/b/.env", "ignored/.env", "node_modules/x/.env", "a/plain"] {
            write(path, path);
        }
        write(".gitignore", "ignored\n.env\n");
        write(".git/config", "of the repository");
        write("shared", "behind a link");
        write(".git/.env", "no secret file");
        symlink("../shared", home.path().join("a/.env")).unwrap();
        fs::create_dir(home.path().join("pipe")).unwrap();
        mknodat(CWD, home.path().join("pipe/.env"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        symlink("/dev/zero", home.path().join("pipe/.env.zero")).unwrap();
        let is_secret = |path: &str| path.rsplit('/').next().unwrap().starts_with(".env");
        let mut texts = secret_texts(home.path(), &is_secret);
        texts.sort_unstable();
        let expected = [".env", "a/b/.env", "behind a link", "ignored/.env", "of the repository"];
        assert_eq!(texts, expected);
    }
}
