//! Decides which paths `.gitignore`, `.ignore`, a repository's `info/exclude` and the user's own ignore file ignore. The
//! rules are git's. The ignore files are opened as untrusted files, which the walker of the `ignore` crate does not do.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::excludes::excludes_file;
use crate::repository;
use tools::regular;

/// Maximum size of one ignore file, in bytes; larger ones are skipped.
const MAX_BYTES: u64 = 256 << 10;
/// Maximum size of all ignore files together, in bytes.
const MAX_BYTES_IN_ALL: u64 = 2 << 20;

/// Which rules apply in addition to git's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreRules {
    /// `.ignore`, as in searches.
    WithDotIgnore,
    /// `.ignore` and `.deepseekignore`, which hides files from models. The latter takes precedence over all others.
    ForModels,
    /// `.deepseekignore` only: files that models may not see even when the user names them.
    Hidden,
    /// No others.
    Git,
}

/// The ignore rules for the paths below a directory.
pub(super) struct Ignored {
    /// Rules of directories above this one do not apply.
    top: PathBuf,
    rules: IgnoreRules,
    global: Gitignore,
    /// By path, as an `OsString` because it hashes faster than the components of a `PathBuf`.
    known: Mutex<HashMap<OsString, Chain>>,
    /// Remaining bytes that may be read.
    left: AtomicU64,
}

/// The directories with rules that apply in a directory, the nearest first. Most directories have none of their own and
/// share the chain of their parent.
type Chain = Arc<[Arc<Directory>]>;

/// The rules of one directory.
struct Directory {
    hidden: Gitignore,
    dot_ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
}

impl Ignored {
    /// Creates the rules for the paths below `top`, an absolute path.
    pub(super) fn new(top: PathBuf, rules: IgnoreRules) -> Self {
        let global = match rules {
            IgnoreRules::WithDotIgnore | IgnoreRules::ForModels | IgnoreRules::Git => {
                excludes_file(&top)
            }
            IgnoreRules::Hidden => None,
        };
        let (known, left) = (Mutex::default(), AtomicU64::new(MAX_BYTES_IN_ALL));
        let mut ignored = Self { top, rules, global: Gitignore::empty(), known, left };
        if let Some(file) = global {
            ignored.global = ignored.rules_in(&ignored.top, &file);
        }
        ignored
    }

    /// Returns true if `path`, which is below the top, is ignored. Assumes that none of its parents is.
    pub(super) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let (mut hidden, mut search) = (Match::None, Match::None);
        let (mut git, mut exclude) = (Match::None, Match::None);
        let chain = path.parent().map(|dir| self.chain(dir)).unwrap_or_default();
        let mut in_repository = true;
        for directory in chain.iter() {
            if hidden.is_none() {
                hidden = directory.hidden.matched(path, is_dir);
            }
            if search.is_none() {
                search = directory.dot_ignore.matched(path, is_dir);
            }
            if in_repository && git.is_none() {
                git = directory.gitignore.matched(path, is_dir);
            }
            if in_repository && exclude.is_none() {
                exclude = directory.exclude.matched(path, is_dir);
            }
            // Only its own rules apply to a nested repository.
            in_repository &= !directory.is_repository;
        }
        let global = self.global.matched(path, is_dir);
        hidden.or(search).or(git).or(exclude).or(global).is_ignore()
    }

    /// Returns the rules that apply in `dir`. Directories above it are read first, one after the other, however many
    /// there are.
    fn chain(&self, dir: &Path) -> Chain {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut unknown, mut chain) = (Vec::new(), Chain::default());
        for dir in dir.ancestors() {
            if let Some(known) = known.get(dir.as_os_str()) {
                chain = Arc::clone(known);
                break;
            }
            unknown.push(dir);
            if dir.parent().is_none_or(|above| !above.starts_with(&self.top)) {
                break;
            }
        }
        for dir in unknown.into_iter().rev() {
            if let Some(directory) = self.directory(dir) {
                let nearest = std::iter::once(Arc::new(directory));
                chain = nearest.chain(chain.iter().map(Arc::clone)).collect();
            }
            known.insert(dir.into(), Arc::clone(&chain));
        }
        chain
    }

    /// Returns the rules of `dir`; `None` if there are none.
    fn directory(&self, dir: &Path) -> Option<Directory> {
        let git_dir = repository::of(dir);
        let (hidden, dot_ignore, git) = match self.rules {
            IgnoreRules::ForModels => (true, true, true),
            IgnoreRules::Hidden => (true, false, false),
            IgnoreRules::WithDotIgnore => (false, true, true),
            IgnoreRules::Git => (false, false, true),
        };
        let rules_in = |count: bool, file: PathBuf| {
            if count { self.rules_in(dir, &file) } else { Gitignore::empty() }
        };
        let exclude = git_dir
            .as_deref()
            .map(|git_dir| rules_in(git, repository::common_dir(git_dir).join("info/exclude")));
        let directory = Directory {
            hidden: rules_in(hidden, dir.join(".deepseekignore")),
            dot_ignore: rules_in(dot_ignore, dir.join(".ignore")),
            gitignore: rules_in(git, dir.join(".gitignore")),
            exclude: exclude.unwrap_or_else(Gitignore::empty),
            is_repository: git_dir.is_some(),
        };
        let Directory { hidden, dot_ignore, gitignore, exclude, is_repository } = &directory;
        let is_empty =
            [hidden, dot_ignore, gitignore, exclude].into_iter().all(Gitignore::is_empty);
        (!is_empty || *is_repository).then_some(directory)
    }

    /// Reads the rules for `dir` from a file. An unreadable file and invalid lines are skipped.
    fn rules_in(&self, dir: &Path, file: &Path) -> Gitignore {
        let most = MAX_BYTES.min(self.left.load(Ordering::Relaxed));
        let bytes = match regular::read_regular_file(file, most) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Gitignore::empty();
            }
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "skipped an ignore file");
                return Gitignore::empty();
            }
        };
        self.left.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
        let mut builder = GitignoreBuilder::new(dir);
        for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
            if let Err(error) = builder.add_line(None, &without_alternatives(line)) {
                tracing::debug!(file = %file.display(), %error, "skipped a line of an ignore file");
            }
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

/// Escapes the braces of a line, since git takes them literally.
fn without_alternatives(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    let mut after_backslash = false;
    for c in line.chars() {
        if matches!(c, '{' | '}') && !after_backslash {
            escaped.push('\\');
        }
        after_backslash = c == '\\' && !after_backslash;
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn ignored(rules: &str, path: &str) -> bool {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".gitignore"), rules).unwrap();
        let ignored = Ignored::new(home.path().to_owned(), IgnoreRules::WithDotIgnore);
        ignored.is_ignored(&home.path().join(path), false)
    }

    #[test]
    fn braces_are_literal_as_in_git_at_any_depth() {
        assert!(ignored("{a,b}\n", "{a,b}"));
        assert!(!ignored("{a,b}\n", "a"));
        assert!(ignored("\\{a\n", "{a"));
        let deep = format!("{}b{}\n", "{a,".repeat(20_000), "}".repeat(20_000));
        assert!(!ignored(&deep, "a"));
    }

    #[test]
    fn deepseekignore_applies_to_models_only() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".deepseekignore"), "data\n!kept.log\n").unwrap();
        fs::write(home.path().join(".gitignore"), "*.log\n").unwrap();
        let is_ignored = |rules, path: &str| {
            let ignored = Ignored::new(home.path().to_owned(), rules);
            ignored.is_ignored(&home.path().join(path), false)
        };
        assert!(is_ignored(IgnoreRules::ForModels, "data"));
        assert!(!is_ignored(IgnoreRules::WithDotIgnore, "data"));
        assert!(!is_ignored(IgnoreRules::ForModels, "kept.log"));
        assert!(is_ignored(IgnoreRules::ForModels, "a.log"));
        assert!(
            is_ignored(IgnoreRules::Hidden, "data") && !is_ignored(IgnoreRules::Hidden, "a.log")
        );
    }

    #[test]
    fn nearer_rules_take_precedence_and_large_files_are_skipped() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        fs::create_dir_all(at("sub")).unwrap();
        fs::write(at(".gitignore"), "*.log\n").unwrap();
        fs::write(at("sub/.gitignore"), "!keep.log\n").unwrap();
        let ignored = Ignored::new(home.path().to_owned(), IgnoreRules::WithDotIgnore);
        assert!(ignored.is_ignored(&at("a.log"), false));
        assert!(ignored.is_ignored(&at("sub/a.log"), false));
        assert!(!ignored.is_ignored(&at("sub/keep.log"), false));
        fs::write(at(".gitignore"), "x\n".repeat(1 << 18)).unwrap();
        let ignored = Ignored::new(home.path().to_owned(), IgnoreRules::WithDotIgnore);
        assert!(!ignored.is_ignored(&at("x"), false));
    }
}
