//! Lists the files of a tree as ripgrep and git see them. Reads directories and ignore files, never contents.

mod excludes;
mod ignored;
mod made;

use std::collections::BTreeSet;
use std::fs::{FileType, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use self::ignored::{IgnoreRules, Ignored};
use self::made::MadeDirectories;
use super::RepoPath;
use super::file_ops::is_temporary;
use super::repository::{Tracked, top_around};

/// Directories that are never listed: git's and ours.
const NEVER: [&str; 2] = [".git", ".deepseek"];

/// A regular file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// The path.
    pub path: RepoPath,
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
}

/// A list of the files of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by path.
    pub files: Vec<ListedFile>,
    /// True if there are more files than the limit.
    pub truncated: bool,
}

/// Lists at most `max_files` files below `root`, without those in directories that tools have made.
///
/// `.gitignore` and `.ignore` apply, with or without a repository. Hidden files are listed. Symlinks, unreadable
/// directories and names that are not a valid [`RepoPath`] are skipped. The user's own ignore file applies, as in git.
pub fn list_files(root: &Path, max_files: usize) -> Listing {
    list_by(root, root, max_files, IgnoreRules::WithDotIgnore)
}

/// Like [`list_files`], without the files that `.deepseekignore` hides from models.
pub fn list_for_models(root: &Path, max_files: usize) -> Listing {
    list_by(root, root, max_files, IgnoreRules::ForModels)
}

/// Like [`list_for_models`], with only the files below a directory of the tree.
pub fn list_for_models_below(root: &Path, directory: &RepoPath, max_files: usize) -> Listing {
    list_by(root, &root.join(directory.as_str()), max_files, IgnoreRules::ForModels)
}

/// The files that `.deepseekignore` hides from models, even when the user names them. Each ignore file is read once.
pub struct Hidden {
    root: PathBuf,
    ignored: Ignored,
}

impl Hidden {
    /// Returns the hidden files of the tree at `root`.
    pub fn below(root: &Path) -> Hidden {
        Hidden { root: root.to_owned(), ignored: Ignored::new(top_of(root), IgnoreRules::Hidden) }
    }

    /// Returns true if the file at `path` or one of its parents is hidden.
    pub fn has(&self, path: &RepoPath) -> bool {
        let above = std::iter::successors(path.parent(), RepoPath::parent);
        let is_hidden = |path: &RepoPath, is_dir| {
            self.ignored.is_ignored(&self.root.join(path.as_str()), is_dir)
        };
        is_hidden(path, false) || above.into_iter().any(|dir| is_hidden(&dir, true))
    }
}

fn list_by(root: &Path, below: &Path, max_files: usize, rules: IgnoreRules) -> Listing {
    let (ignored, made) = (Ignored::new(top_of(root), rules), MadeDirectories::below(root));
    let mut dirs = below.ancestors().take_while(|dir| *dir != root);
    let is_left_out = |dir: &Path| {
        let is_link = dir.symlink_metadata().is_ok_and(|data| data.is_symlink());
        is_link
            || NEVER.iter().any(|name| dir.ends_with(name))
            || ignored.is_ignored(dir, true)
            || made.has(dir)
    };
    if dirs.any(is_left_out) {
        return Listing { files: Vec::new(), truncated: false };
    }
    let walk = walker(below)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            !NEVER.iter().any(|name| entry.file_name() == *name)
                && !is_ignored(&ignored, entry)
                && !is_made(&made, entry)
        })
        .build();
    let mut found = walk.flatten().filter_map(|entry| listed(root, &entry));
    let mut files: Vec<ListedFile> = found.by_ref().take(max_files).collect();
    let truncated = found.next().is_some();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Listing { files, truncated }
}

/// Walks everything below `root`. It does not handle ignore files, because it would open whatever has taken their
/// place.
fn walker(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).follow_links(false);
    walk
}

/// Returns the highest directory whose ignore files apply: the top of the repository around `root`, or `root` itself
/// outside a repository.
fn top_of(root: &Path) -> PathBuf {
    let has_git = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    root.ancestors().find(has_git).unwrap_or(root).to_owned()
}

/// The files that git ignores. Each ignore file is read once.
pub struct IgnoredByGit {
    top: PathBuf,
    ignored: Ignored,
}

impl IgnoredByGit {
    /// Returns the ignored files of the tree at `root`.
    pub fn below(root: &Path) -> Self {
        let top = top_of(root);
        Self { ignored: Ignored::new(top.clone(), IgnoreRules::Git), top }
    }

    /// Returns true if git ignores the file at `path`, or a directory that it is in.
    pub fn has(&self, path: &Path) -> bool {
        let mut dirs = path.ancestors().skip(1).take_while(|dir| *dir != self.top);
        self.ignored.is_ignored(path, false) || dirs.any(|dir| self.ignored.is_ignored(dir, true))
    }
}

/// Returns true if nothing in a directory is part of the project: git tracks nothing in it, and ignores whatever is new
/// there. Without a repository, that holds for every directory.
pub fn is_unseen(root: &Path, dir: &Path) -> bool {
    if top_around(root).is_none() {
        return true;
    }
    IgnoredByGit::below(root).has(&dir.join("x")) && !Tracked::around(root).has_below(dir)
}

fn is_ignored(ignored: &Ignored, entry: &DirEntry) -> bool {
    ignored.is_ignored(entry.path(), entry.file_type().is_some_and(|kind| kind.is_dir()))
}

fn is_made(made: &MadeDirectories, entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir()) && made.has(entry.path())
}

/// Returns what git would add below `root`: files and symlinks that are not ignored (the user's global excludes apply)
/// and in no directory that tools have made, and the `tracked` ones. Skips everything below `outside` and names that are not a valid [`RepoPath`].
pub(super) fn git_sees(
    root: &Path,
    outside: &Path,
    tracked: impl IntoIterator<Item = RepoPath>,
) -> BTreeSet<RepoPath> {
    let tracked = tracked.into_iter().filter(|path| !root.join(path.as_str()).starts_with(outside));
    let made = Some(MadeDirectories::below(root));
    let mut seen = leaves(root, top_of(root), vec![outside.to_owned()], made);
    seen.extend(tracked.filter(|path| !is_temporary(path)));
    seen
}

/// Returns what git would add in a worktree that is the top of a repository, or outside any. Rules above `root` do not
/// apply. Skips everything below the directories `but`.
pub(super) fn git_sees_alone(root: &Path, but: Vec<PathBuf>) -> BTreeSet<RepoPath> {
    leaves(root, root.to_owned(), but, None)
}

fn leaves(
    root: &Path,
    top: PathBuf,
    but: Vec<PathBuf>,
    made: Option<MadeDirectories>,
) -> BTreeSet<RepoPath> {
    let ignored = Ignored::new(top, IgnoreRules::Git);
    let walk = walker(root)
        .filter_entry(move |entry| {
            entry.file_name() != ".git"
                && !but.iter().any(|but| but == entry.path())
                && !is_ignored(&ignored, entry)
                && !made.as_ref().is_some_and(|made| is_made(made, entry))
        })
        .build();
    let is_leaf = |kind: FileType| kind.is_file() || kind.is_symlink();
    let leaves = walk.flatten().filter(|entry| entry.file_type().is_some_and(is_leaf));
    let paths = leaves
        .filter_map(|entry| RepoPath::parse(entry.path().strip_prefix(root).ok()?.to_str()?).ok());
    paths.filter(|path| !is_temporary(path)).collect()
}

fn listed(root: &Path, entry: &DirEntry) -> Option<ListedFile> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    let path = RepoPath::parse(path).ok()?;
    let data = entry.metadata().ok()?;
    Some(ListedFile { path, bytes: data.len(), modified: modified(&data) })
}

/// Returns the modification time of a file, in nanoseconds since 1970.
pub fn modified(data: &Metadata) -> i64 {
    data.mtime().saturating_mul(1_000_000_000).saturating_add(data.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn lists_the_files_ripgrep_would_and_hidden_ones() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        write(root, ".gitignore", "target/\n*.log\n");
        write(root, ".git/config", "x");
        write(root, "sub/.git/config", "x");
        write(root, ".deepseek/config.toml", "x");
        write(root, ".github/ci.yml", "x");
        write(root, "target/out", "x");
        write(root, "run.log", "x");
        write(root, "a/b.rs", "12345");
        write(root, "a.rs", "x");
        write(root, "文档/说明.md", "x");
        fs::write(root.join(OsStr::from_bytes(b"bad\xff.rs")), "x").unwrap();
        fs::write(root.join("two\nlines.rs"), "x").unwrap();
        symlink("a.rs", root.join("link.rs")).unwrap();
        symlink("a", root.join("linked")).unwrap();

        let listing = list_files(root, 100);
        assert_eq!(
            names(&listing),
            [".github/ci.yml", ".gitignore", "a.rs", "a/b.rs", "文档/说明.md"]
        );
        assert_eq!(listing.files.iter().find(|f| f.path.as_str() == "a/b.rs").unwrap().bytes, 5);
        assert!(!listing.truncated);
        assert_eq!(listing, list_files(root, 100));
    }

    #[test]
    fn what_tools_have_made_is_not_listed_unless_git_tracks_it() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let made = [
            "node_modules/a/index.js",
            "web/dist/x.js",
            "target/debug/x",
            "env/lib/site.py",
            "env/pyvenv.cfg",
            "py/__pycache__/a.cpython-312.pyc",
            "kept/CACHEDIR.TAG",
            "php/vendor/bin/x",
        ];
        let written = [
            "Cargo.toml",
            "lib/x.js",
            "node_modules.md",
            "other/target/x",
            "package.json",
            "php/composer.json",
            "py/__tests__/a.js",
            "py/a.py",
            "web/lib/x.js",
            "web/package.json",
        ];
        for path in made.iter().chain(&written) {
            write(root, path, "x");
        }
        assert_eq!(names(&list_files(root, 100)), written);
        assert_eq!(names(&list_files(&root.join("node_modules"), 100)), ["a/index.js"]);
        let seen = git_sees(root, Path::new("/none"), []);
        assert_eq!(seen.iter().map(RepoPath::as_str).collect::<Vec<_>>(), written);

        gix::init(root).unwrap();
        write(root, ".git/index", "no index");
        assert!(list_files(root, 100).files.len() > written.len() + 3, "it may track all of them");
    }

    #[test]
    fn deepseekignore_hides_a_directory_with_everything_in_it() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), ".deepseekignore", "/data/\n*.key\n");
        write(home.path(), "sub/.deepseekignore", "!a.key\n");
        write(home.path(), ".gitignore", "out\n");
        let hidden = Hidden::below(home.path());
        let has = |path: &str| hidden.has(&RepoPath::parse(path).unwrap());
        assert!(has("data/deep/a.rs") && has("b.key") && has("sub/b.key"));
        assert!(!has("sub/data/a.rs") && !has("sub/a.key") && !has("out"));
    }

    #[test]
    fn a_directory_is_listed_by_the_rules_around_it() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), ".gitignore", "*.log\n/out/\n");
        for path in ["a/b.rs", "a/c.log", "z/d.rs", "out/e.rs", "z/.git/x"] {
            write(home.path(), path, "x");
        }
        symlink("a", home.path().join("link")).unwrap();
        let below = |dir: &str| {
            let dir = RepoPath::parse(dir).unwrap();
            let listing = list_for_models_below(home.path(), &dir, 9);
            names(&listing).join(" ")
        };
        let all = ["a", "z", "out", "link", "none"].map(below);
        assert_eq!(all, ["a/b.rs", "z/d.rs", "", "", ""]);
    }

    #[test]
    fn reports_truncation() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            write(home.path(), name, "");
        }
        assert_eq!(names(&list_files(home.path(), 2)), ["a", "b"]);
        assert!(list_files(home.path(), 2).truncated);
        assert!(!list_files(home.path(), 3).truncated);
    }

    #[test]
    fn ignore_files_above_the_root_apply_only_inside_a_repository() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), ".gitignore", "*.tmp\n");
        write(home.path(), "sub/a.tmp", "");
        let sub = home.path().join("sub");
        assert_eq!(names(&list_files(&sub, 9)), ["a.tmp"]);
        fs::create_dir(home.path().join(".git")).unwrap();
        assert!(names(&list_files(&sub, 9)).is_empty());
    }

    #[test]
    fn a_missing_directory_is_an_empty_list() {
        let listing = list_files(Path::new("/does/not/exist"), 9);
        assert_eq!(listing, Listing { files: Vec::new(), truncated: false });
    }
}
