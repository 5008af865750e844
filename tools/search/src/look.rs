//! Answers questions about a tree: lines of a file, matches of a pattern, definitions and uses of a name, contents of a
//! directory. All answers are bounded and say how much was left out. Their wording is decided elsewhere.

pub(crate) mod matches;
mod symbol;

use std::cell::Cell;
use std::collections::BTreeMap;

use index::definitions_of_file;
use thiserror::Error;
use tools::count::counted;
use tools::encoding::decode;
use tools::long_lines::shortened;
use tree::{
    Entry, FileHash, FileState, Hidden, ListedFile, Listing, ReadTree, RepoPath, TreeError,
    list_for_models, list_for_models_below,
};

pub use self::matches::{FileMatches, Matches};
pub(crate) use self::symbol::SymbolName;
pub use self::symbol::{Defined, DefinitionInFile, Symbol};

/// Larger files are neither searched nor shown.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Maximum number of definitions listed in place of a file's content.
const OUTLINE: usize = 200;
/// Maximum number of similar files suggested for a missing one.
const MEANT: usize = 5;

/// A tree together with what may be seen of it. All methods block.
pub struct VisibleTree<'a> {
    tree: &'a ReadTree,
    max_files: usize,
    hidden: Hidden,
    may_read: &'a dyn Fn(&RepoPath) -> Result<(), String>,
    /// True if there are more files than were listed since this was last asked.
    is_cut: Cell<bool>,
}

/// Why there is nothing to show.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookError {
    /// The policy does not allow reading it.
    #[error("{0}")]
    Refused(String),
    /// `.deepseekignore` hides it from models.
    #[error("`.deepseekignore` hides it from models")]
    Hidden,
    /// The file does not exist.
    #[error("there is no such file")]
    NoFile,
    /// The file does not exist, but there are files of that name elsewhere.
    #[error("there is no such file; there is {}", .0.join(", "))]
    NamedElsewhere(Vec<String>),
    /// There is no readable file below it.
    #[error("there is no such directory, or it holds nothing that may be read")]
    NoDirectory,
    /// It is not text.
    #[error("it is not text")]
    NotText,
    /// It is a directory, a symlink or a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// It exceeds the size limit. The value is its size in bytes.
    #[error("it has {0} bytes, which is more than can be read")]
    TooLarge(u64),
    /// The range is past its end. The value is its number of lines.
    #[error("it has only {}", counted(*.0, "line"))]
    NoLines(usize),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The pattern is not a one-line regular expression.
    #[error(
        "it is not a regular expression for one line; to search for a character such as ( or [ itself, write \\( or \\["
    )]
    NoPattern,
    /// The glob matches no readable file.
    #[error("no file that may be read matches `{0}`")]
    NoFiles(String),
    /// The glob is invalid.
    #[error("`{0}` is not a pattern for paths")]
    NoGlob(String),
    /// No line matches. The value is the number of files searched.
    #[error("nothing matches in {}", counted(*.0, "file"))]
    NoMatch(usize),
}

/// Consecutive lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookLines {
    /// The file.
    pub path: RepoPath,
    /// Number of the first line.
    pub first: usize,
    /// Number of the last line.
    pub last: usize,
    /// Number of lines of the whole file.
    pub of: usize,
    /// The encoding of the file, unless it is UTF-8.
    pub encoding: Option<&'static str>,
    /// The hash of the whole file, if it was read from the workspace.
    pub hash: Option<FileHash>,
    /// The lines with their line endings, decoded, and shortened if they are long.
    pub text: String,
}

/// A file, or as much of it as was requested and fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Lines of the file.
    Lines(LookLines),
    /// Its definitions, because the whole file does not fit.
    Outline {
        /// Number of lines of the file.
        of: usize,
        /// Line number of each definition, with its kind and name.
        definitions: Vec<(usize, String)>,
    },
}

/// The contents of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryNames {
    /// Names; those of directories end with `/` and the number of files below.
    pub names: Vec<String>,
    /// Number of names that did not fit.
    pub more: usize,
}

impl<'a> VisibleTree<'a> {
    /// Creates a view of `tree` that lists at most `max_files` files. `may_read` returns why a path may not be read.
    pub fn new(
        tree: &'a ReadTree,
        max_files: usize,
        may_read: &'a dyn Fn(&RepoPath) -> Result<(), String>,
    ) -> Self {
        let (hidden, is_cut) = (Hidden::below(tree.root()), Cell::default());
        Self { tree, max_files, hidden, may_read, is_cut }
    }

    /// Returns the largest number of files that are listed.
    pub const fn max_files(&self) -> usize {
        self.max_files
    }

    /// Notes that an answer lacks files, because there are more than are listed.
    pub fn cut(&self) {
        self.is_cut.set(true);
    }

    /// Returns true if an answer since the last call may lack files, because there are more than are listed.
    pub fn take_is_cut(&self) -> bool {
        self.is_cut.take()
    }

    /// Returns a file, or the requested lines of it: at most `max_lines` lines and `room` bytes.
    pub fn file(
        &self,
        path: &RepoPath,
        lines: Option<(usize, usize)>,
        max_lines: usize,
        room: usize,
    ) -> Result<Shown, LookError> {
        let meant = |why| if why == LookError::NoFile { self.meant(path) } else { why };
        let alike = match self.tree.entry(path, 0) {
            Ok(Entry::Missing) => self.tree.alike(path),
            Ok(_) | Err(_) => None,
        };
        let path = alike.as_ref().unwrap_or(path);
        let file = self.state(path).map_err(meant)?;
        let (hash, (text, encoding)) = (file.hash(), text_of(&file)?);
        Ok(match shown_of(path, text, lines, max_lines, room)? {
            Shown::Lines(lines) => Shown::Lines(LookLines { encoding, hash: Some(hash), ..lines }),
            outline @ Shown::Outline { .. } => outline,
        })
    }

    /// Returns the files that may be meant by a path that does not exist.
    fn meant(&self, path: &RepoPath) -> LookError {
        let files = self.files();
        let paths = || files.iter().map(|file| file.path.as_str());
        let end = format!("/{path}");
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut meant: Vec<&str> = paths().filter(|it| it.ends_with(&end)).collect();
        if meant.is_empty() {
            meant = paths().filter(|it| name(it) == path.name()).collect();
        }
        let meant: Vec<String> = meant.into_iter().take(MEANT).map(str::to_owned).collect();
        if meant.is_empty() { LookError::NoFile } else { LookError::NamedElsewhere(meant) }
    }

    /// Returns the contents of a directory, or of the root if it is `None`, in at most `room` bytes.
    pub fn names(
        &self,
        directory: Option<&RepoPath>,
        room: usize,
    ) -> Result<DirectoryNames, LookError> {
        let above = directory.map(|path| format!("{path}/")).unwrap_or_default();
        let mut children: BTreeMap<String, usize> = BTreeMap::new();
        for file in self.files_below(directory) {
            let Some(rest) = file.path.as_str().strip_prefix(&above) else { continue };
            match rest.split_once('/') {
                Some((name, _)) => *children.entry(format!("{name}/")).or_default() += 1,
                None => *children.entry(rest.to_owned()).or_default() += 1,
            }
        }
        if children.is_empty() {
            return Err(LookError::NoDirectory);
        }
        let all = children.len();
        let mut left = room;
        let named = children.into_iter().map(|(name, files)| match (name.ends_with('/'), files) {
            (false, _) => name,
            (true, files) => format!("{name} ({})", counted(files, "file")),
        });
        let names: Vec<String> = named.take_while(|name| take(&mut left, name.len() + 1)).collect();
        Ok(DirectoryNames { more: all - names.len(), names })
    }

    fn is_directory(&self, path: &RepoPath) -> bool {
        matches!(self.tree.entry(path, 0), Ok(Entry::Directory))
    }

    /// Returns the readable files in path order.
    fn files(&self) -> Vec<ListedFile> {
        self.files_below(None)
    }

    /// Returns the readable files below a directory, or all, in path order.
    fn files_below(&self, directory: Option<&RepoPath>) -> Vec<ListedFile> {
        let (root, max_files) = (self.tree.root(), self.max_files);
        let Listing { mut files, truncated } = match directory {
            Some(directory) => list_for_models_below(root, directory, max_files),
            None => list_for_models(root, max_files),
        };
        if truncated {
            self.cut();
        }
        files.retain(|file| (self.may_read)(&file.path).is_ok());
        files
    }

    /// Returns the text of a file, and its encoding unless that is UTF-8.
    fn text(&self, path: &RepoPath) -> Result<(String, Option<&'static str>), LookError> {
        text_of(&self.state(path)?)
    }

    fn state(&self, path: &RepoPath) -> Result<FileState, LookError> {
        (self.may_read)(path).map_err(LookError::Refused)?;
        if self.hidden.has(path) {
            return Err(LookError::Hidden);
        }
        match self.tree.entry(path, MAX_FILE_BYTES) {
            Ok(Entry::File(file)) => Ok(file),
            Ok(Entry::Missing) | Err(TreeError::ParentNotDirectory { .. }) => {
                Err(LookError::NoFile)
            }
            Ok(Entry::TooLarge { bytes }) => Err(LookError::TooLarge(bytes)),
            Ok(Entry::Directory | Entry::Symlink | Entry::Other) => Err(LookError::NotAFile),
            Err(error) => Err(LookError::Unreadable(error.to_string())),
        }
    }
}

/// Returns the text of a file, and its encoding unless that is UTF-8.
fn text_of(file: &FileState) -> Result<(String, Option<&'static str>), LookError> {
    let decoded = decode(&file.bytes).ok_or(LookError::NotText)?;
    Ok((shortened(&decoded.text).into_owned(), decoded.encoding.unusual()))
}

/// Returns all of a file's `text`, or the requested lines: at most `max_lines` lines and `room` bytes. A whole file
/// that does not fit is returned as an outline.
pub fn shown_of(
    path: &RepoPath,
    text: String,
    lines: Option<(usize, usize)>,
    max_lines: usize,
    room: usize,
) -> Result<Shown, LookError> {
    if text.contains('\0') {
        return Err(LookError::NotText);
    }
    let of = text.lines().count();
    let Some((first, last)) = lines else {
        if text.len() <= room {
            let (path, first, last, encoding, hash) = (path.clone(), 1, of, None, None);
            return Ok(Shown::Lines(LookLines { path, first, last, of, encoding, hash, text }));
        }
        let definitions = outline(path, &text, room);
        // Of a file without definitions, its beginning says more.
        return Ok(if definitions.is_empty() {
            Shown::Lines(cut(path, &text, (1, of, of), room))
        } else {
            Shown::Outline { of, definitions }
        });
    };
    if first > of {
        return Err(LookError::NoLines(of));
    }
    let last = last.min(first.saturating_add(max_lines.max(1)) - 1).min(of);
    Ok(Shown::Lines(cut(path, &text, (first, last, of), room)))
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let fits = bytes <= *room;
    *room = room.saturating_sub(bytes);
    fits
}

/// Returns the lines from `first` to `last` that fit into `room` bytes. The first is always included, cut if necessary.
fn cut(
    path: &RepoPath,
    text: &str,
    (first, last, of): (usize, usize, usize),
    room: usize,
) -> LookLines {
    let mut shown = String::new();
    let mut end = first;
    for (number, line) in (1..).zip(text.split_inclusive('\n')).skip(first - 1) {
        let fits = shown.len() + line.len() <= room;
        if number > last || (number > first && !fits) {
            break;
        }
        shown.push_str(if fits {
            line
        } else {
            line.get(..line.floor_char_boundary(room)).unwrap_or_default()
        });
        end = number;
    }
    LookLines { path: path.clone(), first, last: end, of, encoding: None, hash: None, text: shown }
}

/// Returns the definitions of a file that fit into `room` bytes.
fn outline(path: &RepoPath, text: &str, mut room: usize) -> Vec<(usize, String)> {
    let named = definitions_of_file(path, text)
        .into_iter()
        .filter(|it| it.kind != "impl")
        .take(OUTLINE)
        .map(|it| (it.line as usize, format!("{} {}", it.kind, it.name)));
    named.take_while(|(_, name)| take(&mut room, name.len() + 8)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    pub(super) const CART: &str = "struct Cart;\n\nimpl Cart {\n    fn total(&self) -> u32 {\n        if true {\n            return 1;\n        }\n        2\n    }\n\n    fn count(&self) -> u32 {\n        self.total()\n    }\n}\n";

    pub(super) fn tree(files: &[(&str, &str)]) -> (TempDir, ReadTree) {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = ReadTree::open(home.path()).unwrap();
        (home, tree)
    }

    pub(super) const MANY: usize = 1000;

    pub(super) const ALL: &dyn Fn(&RepoPath) -> Result<(), String> = &|_| Ok(());

    fn path(name: &str) -> RepoPath {
        RepoPath::parse(name).unwrap()
    }

    #[test]
    fn a_file_is_shown_whole_in_part_or_as_an_outline() {
        let (_home, tree) = tree(&[("a/cart.rs", CART)]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        let shown = |lines, room| visible.file(&path("a/cart.rs"), lines, 400, room).unwrap();
        let Shown::Lines(whole) = shown(None, 10_000) else { panic!("it fits") };
        assert_eq!((whole.first, whole.last, whole.of, whole.text.as_str()), (1, 14, 14, CART));
        let Shown::Lines(part) = shown(Some((11, 90)), 10_000) else { panic!("it fits") };
        assert_eq!((part.first, part.last), (11, 14));
        let Shown::Lines(tight) = shown(Some((11, 90)), 40) else { panic!("one line fits") };
        assert_eq!((tight.first, tight.last), (11, 11));
        let Shown::Outline { of, definitions } = shown(None, 60) else { panic!("it does not fit") };
        let first = [(1, "struct Cart".to_owned()), (4, "fn total".to_owned())];
        assert_eq!((of, definitions.first_chunk()), (14, Some(&first)));
        let list = "- a line of a list\n".repeat(20);
        let shown = shown_of(&path("list.md"), list, None, 400, 100);
        assert!(
            matches!(shown, Ok(Shown::Lines(LookLines { first: 1, last: 2..=5, of: 20, .. }))),
            "{shown:?}"
        );
        let long = visible.file(&path("a/cart.rs"), Some((1, 14)), 3, 10_000);
        assert!(matches!(long, Ok(Shown::Lines(LookLines { first: 1, last: 3, .. }))));
        let past_the_end = visible.file(&path("a/cart.rs"), Some((15, 20)), 400, 10_000);
        assert_eq!(past_the_end, Err(LookError::NoLines(14)));
    }

    #[test]
    fn a_refused_file_is_neither_shown_nor_searched_nor_listed() {
        let (_home, tree) = tree(&[(".env", "KEY=Cart"), ("a/cart.rs", CART)]);
        let may_read = |path: &RepoPath| match path.as_str() {
            ".env" => Err("it is a secret file".to_owned()),
            _ => Ok(()),
        };
        let visible = VisibleTree::new(&tree, MANY, &may_read);
        let refused = visible.file(&path(".env"), None, 400, 10_000);
        assert_eq!(refused, Err(LookError::Refused("it is a secret file".to_owned())));
        let hits = visible.matches("Cart|KEY", None, 10_000).unwrap().files;
        assert!(hits.iter().all(|hit| hit.path.as_str() == "a/cart.rs"));
        assert_eq!(visible.names(None, 10_000).unwrap().names, ["a/ (1 file)"]);
    }

    #[test]
    fn a_file_hidden_from_models_is_neither_shown_nor_searched_nor_listed() {
        let (_home, tree) =
            tree(&[(".deepseekignore", "/a/\n"), ("a/cart.rs", CART), ("b.rs", "struct Cart;\n")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        assert_eq!(visible.file(&path("a/cart.rs"), None, 400, 10_000), Err(LookError::Hidden));
        let hits = visible.matches("Cart", None, 10_000).unwrap().files;
        assert!(hits.iter().all(|hit| hit.path.as_str() == "b.rs"), "{hits:?}");
        assert_eq!(visible.symbol("total", 10_000), Err(LookError::NoMatch(2)));
        assert_eq!(visible.names(None, 10_000).unwrap().names, [".deepseekignore", "b.rs"]);
    }

    #[test]
    fn a_missing_file_is_suggested_elsewhere() {
        let (_home, tree) = tree(&[("a/src/cart.rs", ""), ("b/src/cart.rs", ""), ("c.rs", "")]);
        let why = |name| {
            VisibleTree::new(&tree, MANY, ALL).file(&path(name), None, 400, 100).unwrap_err()
        };
        let both = "there is no such file; there is a/src/cart.rs, b/src/cart.rs";
        assert_eq!(why("cart.rs").to_string(), both);
        assert_eq!(why("src/cart.rs").to_string(), both);
        assert_eq!(why("a/cart.rs").to_string(), both, "the file name is enough");
        assert_eq!(why("dog.rs"), LookError::NoFile);
    }

    #[test]
    fn files_beyond_the_limit_are_found_where_they_are_named() {
        let (_home, tree) = tree(&[("a/1", "Cart"), ("a/2", ""), ("a/3", ""), ("z/4", "Cart")]);
        let visible = VisibleTree::new(&tree, 2, ALL);
        let found = |glob| {
            let found = visible.matches("Cart", glob, 1000);
            let paths = found.map(|it| it.files.iter().map(|it| it.path.to_string()).collect());
            (paths.unwrap_or_else(|why| vec![why.to_string()]), visible.take_is_cut())
        };
        assert_eq!(found(None), (vec!["a/1".to_owned()], true));
        assert_eq!(found(Some("z/*")), (vec!["z/4".to_owned()], false));
        assert_eq!(
            found(Some("z/**/*.rs")),
            (vec!["no file that may be read matches `z/**/*.rs`".to_owned()], false)
        );
        assert_eq!(
            found(Some("*.rs")),
            (vec!["no file that may be read matches `*.rs`".to_owned()], true)
        );
        assert_eq!(visible.names(Some(&path("z")), 100).unwrap().names, ["4"]);
        assert!(!visible.take_is_cut());
    }

    #[test]
    fn a_directory_is_listed_with_file_counts() {
        let (_home, tree) = tree(&[("a/b/c.rs", ""), ("a/b/d.rs", ""), ("a/e.rs", ""), ("f", "")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        assert_eq!(visible.names(None, 100).unwrap().names, ["a/ (3 files)", "f"]);
        assert_eq!(visible.names(Some(&path("a")), 100).unwrap().names, ["b/ (2 files)", "e.rs"]);
        let tight = visible.names(Some(&path("a")), 15).unwrap();
        assert_eq!((tight.names.len(), tight.more), (1, 1));
        assert_eq!(visible.names(Some(&path("f")), 100), Err(LookError::NoDirectory));
    }
}
