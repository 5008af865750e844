//! What somebody asks to see of a tree: lines of a file, what matches a pattern, where a name is defined and used, what a
//! directory holds. Everything is bounded, and says how much was left out. How it is put into words is not decided here.

use std::collections::BTreeMap;

use globset::GlobBuilder;
use index::definitions;
use thiserror::Error;
use tree::{Entry, Hidden, Listed, ReadTree, RepoPath, TreeError, list_for_models};

use super::text::{Hit, PatternKind, SearchLimits, search};

/// Files of a tree that are looked through.
const MAX_FILES: usize = 50_000;
/// Larger files are neither searched nor shown.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// What is told of matches: in one file, in all, and of one line.
const HITS_PER_FILE: usize = 20;
const HITS: usize = 100;
const HIT_BYTES: usize = 200;
/// Lines with a name among which its definitions are looked for.
const SYMBOL_HITS: usize = 20_000;
/// Definitions of a name that are shown with their lines, and how many lines of each.
const DEFINITIONS: usize = 5;
const DEFINITION_LINES: usize = 60;
/// Definitions of a file that are looked through, or listed in place of its content.
const OUTLINE: usize = 200;

/// A tree, with what may be seen of it. It blocks.
pub struct Sights<'a> {
    tree: &'a ReadTree,
    hidden: Hidden,
    may_read: &'a dyn Fn(&RepoPath) -> Result<(), String>,
}

/// Why there is nothing to see.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unseen {
    /// The policy does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The user does not want models to see it.
    #[error("`.deepseekignore` hides it from models")]
    Hidden,
    /// Nothing is there.
    #[error("there is no such file")]
    NoFile,
    /// No file is below it.
    #[error("there is no such directory, or it holds nothing that may be read")]
    NoDirectory,
    /// It has no lines.
    #[error("it is not text")]
    NotText,
    /// It is a directory, a link, a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// It is not read at all.
    #[error("it has {0} bytes, which is more than can be read")]
    TooLarge(u64),
    /// The range lies behind its end.
    #[error("it has only {0} lines")]
    NoLines(usize),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It is not a pattern.
    #[error(
        "it is not a regular expression for one line; to search for a character such as ( or [ itself, write \\( or \\["
    )]
    NoPattern,
    /// It stands for no file.
    #[error("no file that may be read matches `{0}`")]
    NoFiles(String),
    /// It is not a pattern for paths.
    #[error("`{0}` is not a pattern for paths")]
    NoGlob(String),
    /// No line matches.
    #[error("nothing matches in {0} files")]
    NoMatch(usize),
}

/// Lines of a file that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The file.
    pub path: RepoPath,
    /// Number of the first line.
    pub first: usize,
    /// Number of the last line.
    pub last: usize,
    /// How many lines the file has.
    pub of: usize,
    /// The lines, with their ends.
    pub text: String,
}

/// A file, or as much of it as was asked for and fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Its lines.
    Lines(Lines),
    /// What it defines, since the whole of it does not fit: line and name.
    Outline {
        /// How many lines it has.
        of: usize,
        /// Line, kind and name of each definition.
        definitions: Vec<(usize, String)>,
    },
}

/// Lines that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// In the order of paths, then lines.
    pub hits: Vec<Hit>,
    /// Whether there may be more.
    pub more: bool,
}

/// Where a name is defined and used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its definitions with their lines.
    pub definitions: Vec<Lines>,
    /// Lines elsewhere that have it.
    pub uses: Matches,
}

/// What a directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Names; those of directories end with `/` and the number of files below them.
    pub names: Vec<String>,
    /// How many did not fit.
    pub more: usize,
}

impl<'a> Sights<'a> {
    /// Of `tree`; `may_read` says of a path why it may not be read.
    pub fn new(tree: &'a ReadTree, may_read: &'a dyn Fn(&RepoPath) -> Result<(), String>) -> Self {
        Self { tree, hidden: Hidden::below(tree.root()), may_read }
    }

    /// A file, or those of its lines that were asked for: at most `max_lines` of them and `room` bytes.
    pub fn file(
        &self,
        path: &RepoPath,
        lines: Option<(usize, usize)>,
        max_lines: usize,
        room: usize,
    ) -> Result<Shown, Unseen> {
        let text = self.text(path)?;
        let of = text.lines().count();
        let Some((first, last)) = lines else {
            if text.len() <= room {
                return Ok(Shown::Lines(Lines {
                    path: path.clone(),
                    first: 1,
                    last: of,
                    of,
                    text,
                }));
            }
            let outline = outline(path, &text, room);
            return Ok(Shown::Outline { of, definitions: outline });
        };
        if first > of {
            return Err(Unseen::NoLines(of));
        }
        let last = last.min(first.saturating_add(max_lines.max(1)) - 1).min(of);
        Ok(Shown::Lines(cut(path, &text, (first, last, of), room)))
    }

    /// Lines that match `pattern`, in files that match `glob`.
    pub fn matches(
        &self,
        pattern: &str,
        glob: Option<&str>,
        room: usize,
    ) -> Result<Matches, Unseen> {
        let mut files = self.files();
        if let Some(glob) = glob {
            let bad = |_| Unseen::NoGlob(glob.to_owned());
            // A name alone means a file of that name anywhere, and a directory all that is below it.
            let bare = glob.trim_end_matches('/');
            let below = format!("{bare}/");
            let anywhere = if files.iter().any(|file| file.path.as_str().starts_with(&below)) {
                format!("{bare}/**")
            } else if glob.contains('/') {
                glob.to_owned()
            } else {
                format!("**/{glob}")
            };
            let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
            let matcher = built.map_err(bad)?.compile_matcher();
            files.retain(|file| matcher.is_match(file.path.as_str()));
            if files.is_empty() {
                return Err(Unseen::NoFiles(glob.to_owned()));
            }
        }
        self.hits(&files, pattern, PatternKind::Regex, room)
    }

    /// Where `name` is defined, with the lines of it, and where it is used.
    pub fn symbol(&self, name: &str, room: usize) -> Result<Symbol, Unseen> {
        let bare = bare(name).ok_or(Unseen::NoPattern)?;
        let files = self.files();
        let word = format!(r"\b{}\b", regex::escape(bare));
        let limits =
            SearchLimits { hits_per_file: SYMBOL_HITS / 50, hits: SYMBOL_HITS, ..limits() };
        let hits = search(self.tree, &files, &word, PatternKind::Regex, &limits)
            .map_err(|_| Unseen::NoPattern)?;
        if hits.is_empty() {
            return Err(Unseen::NoMatch(files.len()));
        }
        let mut by_file: BTreeMap<&RepoPath, Vec<&Hit>> = BTreeMap::new();
        for hit in &hits {
            by_file.entry(&hit.path).or_default().push(hit);
        }
        let (mut defined, mut left) = (Vec::new(), room / 2);
        let mut at = Vec::new();
        for path in by_file.keys() {
            let Ok(text) = self.text(path) else { continue };
            for definition in definitions(path, &text) {
                let is_it = definition.name == bare && definition.kind != "impl";
                if !is_it || defined.len() == DEFINITIONS {
                    continue;
                }
                let (first, of) = (definition.line as usize, text.lines().count());
                let last = (definition.last as usize).min(first + DEFINITION_LINES - 1);
                let lines = cut(path, &text, (first, last, of), left);
                left = left.saturating_sub(lines.text.len());
                at.push(((*path).clone(), first..=last));
                defined.push(lines);
            }
        }
        let inside =
            |hit: &Hit| at.iter().any(|(p, range)| *p == hit.path && range.contains(&hit.line));
        let elsewhere: Vec<Hit> = hits.iter().filter(|hit| !inside(hit)).cloned().collect();
        let uses = fitting(elsewhere, room / 2 + left);
        Ok(Symbol { definitions: defined, uses })
    }

    /// What a directory holds; the whole tree's top when none is named.
    pub fn names(&self, directory: Option<&RepoPath>, room: usize) -> Result<Names, Unseen> {
        let above = directory.map(|path| format!("{path}/")).unwrap_or_default();
        let mut children: BTreeMap<String, usize> = BTreeMap::new();
        for file in self.files() {
            let Some(rest) = file.path.as_str().strip_prefix(&above) else { continue };
            match rest.split_once('/') {
                Some((name, _)) => *children.entry(format!("{name}/")).or_default() += 1,
                None => *children.entry(rest.to_owned()).or_default() += 1,
            }
        }
        if children.is_empty() {
            return Err(Unseen::NoDirectory);
        }
        let all = children.len();
        let mut left = room;
        let named = children.into_iter().map(|(name, files)| match (name.ends_with('/'), files) {
            (false, _) => name,
            (true, 1) => format!("{name} (1 file)"),
            (true, files) => format!("{name} ({files} files)"),
        });
        let names: Vec<String> = named.take_while(|name| take(&mut left, name.len() + 1)).collect();
        Ok(Names { more: all - names.len(), names })
    }

    /// The files that may be read, in the order of their paths.
    fn files(&self) -> Vec<Listed> {
        let mut files = list_for_models(self.tree.root(), MAX_FILES).files;
        files.retain(|file| (self.may_read)(&file.path).is_ok());
        files
    }

    fn hits(
        &self,
        files: &[Listed],
        pattern: &str,
        kind: PatternKind,
        room: usize,
    ) -> Result<Matches, Unseen> {
        let hits = search(self.tree, files, pattern, kind, &limits());
        let hits = hits.map_err(|_| Unseen::NoPattern)?;
        if hits.is_empty() {
            return Err(Unseen::NoMatch(files.len()));
        }
        Ok(fitting(hits, room))
    }

    fn text(&self, path: &RepoPath) -> Result<String, Unseen> {
        (self.may_read)(path).map_err(Unseen::Refused)?;
        if self.hidden.has(path) {
            return Err(Unseen::Hidden);
        }
        match self.tree.entry(path, MAX_FILE_BYTES) {
            Ok(Entry::File(file)) => match String::from_utf8(file.bytes.to_vec()) {
                Ok(text) if !text.contains('\0') => Ok(text),
                Ok(_) | Err(_) => Err(Unseen::NotText),
            },
            Ok(Entry::Missing) | Err(TreeError::ParentNotDirectory { .. }) => Err(Unseen::NoFile),
            Ok(Entry::TooLarge { bytes }) => Err(Unseen::TooLarge(bytes)),
            Ok(Entry::Directory | Entry::Symlink | Entry::Other) => Err(Unseen::NotAFile),
            Err(error) => Err(Unseen::Unreadable(error.to_string())),
        }
    }
}

/// What is defined under a name like `Type::name()`, `module.name` or `Type<T>`: its last part, without arguments.
fn bare(name: &str) -> Option<&str> {
    let name = name.split(['<', '(']).next().unwrap_or_default();
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).rfind(|part| !part.is_empty())
}

fn limits() -> SearchLimits {
    SearchLimits {
        file_bytes: MAX_FILE_BYTES,
        hits_per_file: HITS_PER_FILE,
        hits: HITS,
        line_bytes: HIT_BYTES,
    }
}

/// As many hits as have room.
fn fitting(hits: Vec<Hit>, mut room: usize) -> Matches {
    let all = hits.len();
    let fits = |hit: &Hit| take(&mut room, hit.path.as_str().len() + hit.text.len() + 8);
    let hits: Vec<Hit> = hits.into_iter().take(HITS).take_while(fits).collect();
    // A search ends at its bounds without saying so.
    let mut per_file: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    for hit in &hits {
        *per_file.entry(&hit.path).or_default() += 1;
    }
    let at_bounds = all >= HITS || per_file.values().any(|hits| *hits >= HITS_PER_FILE);
    Matches { more: hits.len() < all || at_bounds, hits }
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let fits = bytes <= *room;
    *room = room.saturating_sub(bytes);
    fits
}

/// The lines from `first` to `last`, as many as have room; the first always does, cut if it must be.
fn cut(
    path: &RepoPath,
    text: &str,
    (first, last, of): (usize, usize, usize),
    room: usize,
) -> Lines {
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
    Lines { path: path.clone(), first, last: end, of, text: shown }
}

/// What a file defines, as much as has room.
fn outline(path: &RepoPath, text: &str, mut room: usize) -> Vec<(usize, String)> {
    let named = definitions(path, text)
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

    const CART: &str = "struct Cart;\n\nimpl Cart {\n    fn total(&self) -> u32 {\n        if true {\n            return 1;\n        }\n        2\n    }\n\n    fn count(&self) -> u32 {\n        self.total()\n    }\n}\n";

    fn tree(files: &[(&str, &str)]) -> (TempDir, ReadTree) {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = ReadTree::open(home.path()).unwrap();
        (home, tree)
    }

    const ALL: &dyn Fn(&RepoPath) -> Result<(), String> = &|_| Ok(());

    fn path(name: &str) -> RepoPath {
        RepoPath::parse(name).unwrap()
    }

    #[test]
    fn a_file_is_shown_whole_in_part_or_by_what_it_defines() {
        let (_home, tree) = tree(&[("a/cart.rs", CART)]);
        let sights = Sights::new(&tree, ALL);
        let shown = |lines, room| sights.file(&path("a/cart.rs"), lines, 400, room).unwrap();
        let Shown::Lines(whole) = shown(None, 10_000) else { panic!("it fits") };
        assert_eq!((whole.first, whole.last, whole.of, whole.text.as_str()), (1, 14, 14, CART));
        let Shown::Lines(part) = shown(Some((11, 90)), 10_000) else { panic!("it fits") };
        assert_eq!((part.first, part.last), (11, 14));
        let Shown::Lines(tight) = shown(Some((11, 90)), 40) else { panic!("one line fits") };
        assert_eq!((tight.first, tight.last), (11, 11));
        let Shown::Outline { of, definitions } = shown(None, 60) else { panic!("it does not fit") };
        let first = [(1, "struct Cart".to_owned()), (4, "fn total".to_owned())];
        assert_eq!((of, definitions.first_chunk()), (14, Some(&first)));
        let long = sights.file(&path("a/cart.rs"), Some((1, 14)), 3, 10_000);
        assert!(matches!(long, Ok(Shown::Lines(Lines { first: 1, last: 3, .. }))));
        let behind = sights.file(&path("a/cart.rs"), Some((15, 20)), 400, 10_000);
        assert_eq!(behind, Err(Unseen::NoLines(14)));
    }

    #[test]
    fn what_may_not_be_read_is_neither_shown_nor_searched_nor_listed() {
        let (_home, tree) = tree(&[(".env", "KEY=Cart"), ("a/cart.rs", CART)]);
        let may_read = |path: &RepoPath| match path.as_str() {
            ".env" => Err("it is a secret file".to_owned()),
            _ => Ok(()),
        };
        let sights = Sights::new(&tree, &may_read);
        let refused = sights.file(&path(".env"), None, 400, 10_000);
        assert_eq!(refused, Err(Unseen::Refused("it is a secret file".to_owned())));
        let hits = sights.matches("Cart|KEY", None, 10_000).unwrap().hits;
        assert!(hits.iter().all(|hit| hit.path.as_str() == "a/cart.rs"));
        assert_eq!(sights.names(None, 10_000).unwrap().names, ["a/ (1 file)"]);
    }

    #[test]
    fn what_is_hidden_from_models_is_neither_shown_nor_searched_nor_listed() {
        let (_home, tree) =
            tree(&[(".deepseekignore", "/a/\n"), ("a/cart.rs", CART), ("b.rs", "struct Cart;\n")]);
        let sights = Sights::new(&tree, ALL);
        assert_eq!(sights.file(&path("a/cart.rs"), None, 400, 10_000), Err(Unseen::Hidden));
        let hits = sights.matches("Cart", None, 10_000).unwrap().hits;
        assert!(hits.iter().all(|hit| hit.path.as_str() == "b.rs"), "{hits:?}");
        assert_eq!(sights.symbol("total", 10_000), Err(Unseen::NoMatch(2)));
        assert_eq!(sights.names(None, 10_000).unwrap().names, [".deepseekignore", "b.rs"]);
    }

    #[test]
    fn matches_are_bounded_and_say_so() {
        let many = "needle\n".repeat(HITS_PER_FILE + 5);
        let (_home, tree) =
            tree(&[("a.txt", "needle\nhay\n"), ("d/b.txt", &many), ("d/c.rs", "x")]);
        let sights = Sights::new(&tree, ALL);
        let one = sights.matches("^need", Some("a.*"), 10_000).unwrap();
        assert_eq!((one.hits.len(), one.more), (1, false));
        let both = sights.matches("need", Some("*.txt"), 10_000).unwrap();
        assert_eq!((both.hits.len(), both.more), (1 + HITS_PER_FILE, true));
        let tight = sights.matches("need", None, 40).unwrap();
        assert_eq!((tight.hits.len(), tight.more), (2, true));
        assert_eq!(sights.matches("nowhere", None, 10_000), Err(Unseen::NoMatch(3)));
        assert_eq!(sights.matches("need", Some("d/*.rs"), 10_000), Err(Unseen::NoMatch(1)));
        assert_eq!(sights.matches("(", None, 10_000), Err(Unseen::NoPattern));
        assert_eq!(sights.matches("x", Some("["), 10_000), Err(Unseen::NoGlob("[".to_owned())));
    }

    #[test]
    fn a_symbol_has_its_definition_whole_and_its_uses() {
        let python = "def total(cart):\n    return sum(cart)\n\n\nprint(total([1]))\n";
        let (_home, tree) = tree(&[("a/cart.rs", CART), ("b.py", python)]);
        let sights = Sights::new(&tree, ALL);
        let Symbol { definitions, uses } = sights.symbol("Cart::total()", 10_000).unwrap();
        let spans: Vec<_> =
            definitions.iter().map(|it| (it.path.as_str(), it.first, it.last)).collect();
        assert_eq!(spans, [("a/cart.rs", 4, 9), ("b.py", 1, 2)]);
        let used: Vec<_> = uses.hits.iter().map(|hit| (hit.path.as_str(), hit.line)).collect();
        assert_eq!(used, [("a/cart.rs", 12), ("b.py", 5)]);
        assert_eq!(sights.symbol("nothing", 10_000), Err(Unseen::NoMatch(2)));
        assert_eq!(sights.symbol("::", 10_000), Err(Unseen::NoPattern));
        assert_eq!((bare("a.b.c<T>"), bare("<T>"), bare("f(x)")), (Some("c"), None, Some("f")));
    }

    #[test]
    fn a_directory_is_listed_with_how_much_is_below() {
        let (_home, tree) = tree(&[("a/b/c.rs", ""), ("a/b/d.rs", ""), ("a/e.rs", ""), ("f", "")]);
        let sights = Sights::new(&tree, ALL);
        assert_eq!(sights.names(None, 100).unwrap().names, ["a/ (3 files)", "f"]);
        assert_eq!(sights.names(Some(&path("a")), 100).unwrap().names, ["b/ (2 files)", "e.rs"]);
        let tight = sights.names(Some(&path("a")), 15).unwrap();
        assert_eq!((tight.names.len(), tight.more), (1, 1));
        assert_eq!(sights.names(Some(&path("f")), 100), Err(Unseen::NoDirectory));
    }
}
