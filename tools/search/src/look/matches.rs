//! Lines that match a pattern: some of each of many files rather than all of a few.

use std::iter;

use globset::{GlobBuilder, GlobMatcher};
use index::FileKind;
use tree::{ListedFile, RepoPath};

use super::super::text::{Hit, PatternKind, SearchLimits, search};
use super::{LookError, MAX_FILE_BYTES, VisibleTree, take};

/// Maximum number of matches returned.
pub(super) const MATCHES: Most = Most { in_file: 20, in_all: 100 };
/// Maximum length of a returned line, in bytes.
const HIT_BYTES: usize = 200;
/// Maximum number of matches collected before choosing which to return.
const SEEN: usize = 2000;

/// Matching lines by file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Sources before tests, and tests before documents, then by path.
    pub files: Vec<FileMatches>,
    /// True if other files have matches as well.
    pub more: bool,
}

/// How many of the matching lines are returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) in_file: usize,
    pub(super) in_all: usize,
}

/// The matching lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file.
    pub path: RepoPath,
    /// Number and text of each line, without the blanks at its end.
    pub lines: Vec<(usize, String)>,
    /// True if the file has more matches.
    pub more: bool,
}

impl VisibleTree<'_> {
    /// Returns the lines that match `pattern` in files chosen by `glob`, in at most `room` bytes.
    pub fn matches(
        &self,
        pattern: &str,
        glob: Option<&str>,
        room: usize,
    ) -> Result<Matches, LookError> {
        // What is beyond the limit can be searched where the glob names its directory.
        let below = glob.and_then(|glob| self.directory_of(glob));
        let mut files = self.files_below(below.as_ref());
        if let Some(glob) = glob {
            let chosen =
                ChosenFiles::by(glob, &files).ok_or_else(|| LookError::NoGlob(glob.to_owned()))?;
            files.retain(|file| chosen.has(&file.path));
            if files.is_empty() {
                return Err(LookError::NoFiles(glob.to_owned()));
            }
        }
        let limits = SearchLimits { hits_per_file: MATCHES.in_all + 1, ..limits() };
        Ok(fitting(self.hits(&files, pattern, &limits)?, MATCHES, room))
    }

    /// Splits a pattern whose last alternative is the name of a file from that name, which is meant as a glob, unless all
    /// alternatives are names of files.
    pub fn split_at_file_name<'p>(&self, pattern: &'p str) -> (&'p str, Option<&'p str>) {
        let Some((before, last)) = pattern.rsplit_once('|') else { return (pattern, None) };
        let files = self.files_below(None);
        let is_file = |name: &str| files.iter().any(|file| file.path.name() == name);
        let is_glob = is_file(last) && !before.ends_with('\\') && !before.split('|').all(is_file);
        if is_glob { (before, Some(last)) } else { (pattern, None) }
    }

    /// Returns the directory, or the file, that a glob names before its first pattern.
    fn directory_of(&self, glob: &str) -> Option<RepoPath> {
        let plain = glob.split(['*', '?', '[', '{', '!', ',', '\\']).next()?;
        let whole = plain.len() == glob.len();
        let end = if whole { plain.trim_end_matches('/').len() } else { plain.rfind('/')? };
        let path = RepoPath::parse(plain.get(..end)?).ok()?;
        let is_named = path.as_str().contains('/') || !whole || self.is_directory(&path);
        (is_named && !glob.contains([',', '!'])).then_some(path)
    }

    /// Returns all matching lines within the limits. Fails with `NoMatch` if there are none.
    pub(super) fn hits(
        &self,
        files: &[ListedFile],
        pattern: &str,
        limits: &SearchLimits,
    ) -> Result<Vec<Hit>, LookError> {
        let hits = search(self.tree, files, pattern, PatternKind::Regex, limits);
        let hits = hits.map_err(|_| LookError::NoPattern)?;
        if hits.is_empty() { Err(LookError::NoMatch(files.len())) } else { Ok(hits) }
    }
}

/// Files chosen by globs, as with ripgrep's `--glob`: those that match any of them, except for those that match one
/// with a leading `!`.
pub(crate) struct ChosenFiles {
    of: Vec<GlobMatcher>,
    but: Vec<GlobMatcher>,
}

impl ChosenFiles {
    /// Parses comma-separated globs. Returns `None` if one of them is invalid.
    pub(crate) fn by(globs: &str, files: &[ListedFile]) -> Option<Self> {
        let mut chosen = Self { of: Vec::new(), but: Vec::new() };
        let mut depth = 0_usize;
        let between = |c: char| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        };
        for glob in globs.split(between).filter(|glob| !glob.is_empty()) {
            match glob.strip_prefix('!') {
                Some(glob) => chosen.but.push(matcher(glob, files)?),
                None => chosen.of.push(matcher(glob, files)?),
            }
        }
        Some(chosen)
    }

    pub(crate) fn has(&self, path: &RepoPath) -> bool {
        let any = |of: &[GlobMatcher]| of.iter().any(|glob| glob.is_match(path.as_str()));
        (self.of.is_empty() || any(&self.of)) && !any(&self.but)
    }
}

/// Compiles a glob. A bare name matches files of that name anywhere, and a directory matches everything below it.
fn matcher(glob: &str, files: &[ListedFile]) -> Option<GlobMatcher> {
    let bare = glob.trim_end_matches('/');
    let below = format!("{bare}/");
    let whole = if files.iter().any(|file| file.path.as_str().starts_with(&below)) {
        format!("{bare}/**")
    } else if glob.contains('/') {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    };
    Some(GlobBuilder::new(&whole).literal_separator(true).build().ok()?.compile_matcher())
}

pub(super) fn limits() -> SearchLimits {
    SearchLimits {
        file_bytes: MAX_FILE_BYTES,
        hits_per_file: SEEN,
        hits: SEEN,
        line_bytes: HIT_BYTES,
    }
}

/// Returns as many hits as fit into `room` bytes: the more files there are, the fewer hits of each. A single file may have
/// them all.
pub(super) fn fitting(hits: Vec<Hit>, bound: Most, room: usize) -> Matches {
    let mut files: Vec<FileMatches> = Vec::new();
    for Hit { path, line, text } in hits {
        let line = (line, text.trim_end().to_owned());
        match files.last_mut() {
            Some(file) if file.path == path => file.lines.push(line),
            _ => files.push(FileMatches { path, lines: vec![line], more: false }),
        }
    }
    files.sort_by_cached_key(|file| (FileKind::of(&file.path), file.path.clone()));
    let size = |most: usize| -> (usize, usize) {
        let lines = |file: &FileMatches| file.lines.len().min(most);
        (files.iter().map(lines).sum(), files.iter().map(|file| cost(file, most)).sum())
    };
    let fits = |most: &usize| {
        let (lines, bytes) = size(*most);
        lines <= bound.in_all && bytes <= room
    };
    let halved = |most: &usize| (*most > 1).then_some(most / 2);
    let first = if files.len() == 1 { bound.in_all } else { bound.in_file };
    let most = iter::successors(Some(first), halved).find(fits).unwrap_or(1);
    let (all, mut left) = (files.len(), room);
    let mut shown: Vec<FileMatches> = files
        .into_iter()
        .take(bound.in_all)
        .take_while(|file| take(&mut left, cost(file, most)))
        .collect();
    for file in &mut shown {
        file.more = file.lines.len() > most;
        file.lines.truncate(most);
    }
    Matches { more: shown.len() < all, files: shown }
}

/// Returns the number of bytes for the first `most` matches of a file.
fn cost(file: &FileMatches, most: usize) -> usize {
    const AROUND: usize = 8;
    let lines = file.lines.iter().take(most).map(|(_, text)| text.len() + AROUND);
    file.path.as_str().len() + 1 + lines.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL, CART, MANY, tree};
    use super::*;

    fn summary(matches: &Matches) -> Vec<(&str, usize, bool)> {
        matches.files.iter().map(|it| (it.path.as_str(), it.lines.len(), it.more)).collect()
    }

    #[test]
    fn matches_are_bounded_and_truncation_is_marked_per_file() {
        let many = "  needle\n".repeat(25);
        let (_home, tree) =
            tree(&[("a.txt", "needle\nhay\n"), ("d/b.txt", &many), ("d/c.rs", "x needle")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        let one = visible.matches("^need", Some("a.*"), 10_000).unwrap();
        assert_eq!((summary(&one), one.more), (vec![("a.txt", 1, false)], false));
        let all = visible.matches("need", None, 10_000).unwrap();
        let expected = [("d/c.rs", 1, false), ("a.txt", 1, false), ("d/b.txt", 20, true)];
        assert_eq!((summary(&all).as_slice(), all.more), (expected.as_slice(), false));
        assert_eq!(all.files[2].lines[1], (2, "  needle".to_owned()));
        let alone = visible.matches("need", Some("d/b.txt"), 10_000).unwrap();
        assert_eq!(summary(&alone), [("d/b.txt", 25, false)]);
        let tight = visible.matches("need", None, 70).unwrap();
        let expected = [("d/c.rs", 1, false), ("a.txt", 1, false), ("d/b.txt", 1, true)];
        assert_eq!((summary(&tight).as_slice(), tight.more), (expected.as_slice(), false));
        let tiny = visible.matches("need", None, 40).unwrap();
        assert_eq!((summary(&tiny).len(), tiny.more), (1, true));
    }

    #[test]
    fn no_match_has_a_reason() {
        let (_home, tree) = tree(&[("a.txt", "needle\nhay\n"), ("d/c.rs", "x")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        assert_eq!(visible.matches("nowhere", None, 10_000), Err(LookError::NoMatch(2)));
        assert_eq!(visible.matches("need", Some("d/*.rs"), 10_000), Err(LookError::NoMatch(1)));
        assert_eq!(visible.matches("(", None, 10_000), Err(LookError::NoPattern));
        assert_eq!(visible.matches("x", Some("["), 10_000), Err(LookError::NoGlob("[".to_owned())));
    }

    #[test]
    fn a_name_of_a_file_after_the_pattern_is_a_glob() {
        let (_home, tree) = tree(&[("Rakefile", "spec"), ("lib/Gemfile", "x"), ("a.rb", "spec")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        for (pattern, expected) in [
            ("spec|Rakefile", ("spec", Some("Rakefile"))),
            ("a|b|Gemfile", ("a|b", Some("Gemfile"))),
            ("Rakefile|Gemfile", ("Rakefile|Gemfile", None)),
            ("spec|Makefile", ("spec|Makefile", None)),
            ("spec\\|Rakefile", ("spec\\|Rakefile", None)),
            ("Rakefile", ("Rakefile", None)),
        ] {
            assert_eq!(visible.split_at_file_name(pattern), expected);
        }
    }

    #[test]
    fn globs_include_and_exclude() {
        let (_home, tree) = tree(&[
            ("a/cart.rs", CART),
            ("a/cart.py", "Cart"),
            ("b/cart.rs", CART),
            ("c.md", "Cart"),
        ]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        let chosen = |globs| -> Vec<String> {
            let found = visible.matches("Cart", Some(globs), 10_000).unwrap().files;
            found.iter().map(|file| file.path.to_string()).collect()
        };
        assert_eq!(chosen("cart.rs"), ["a/cart.rs", "b/cart.rs"]);
        assert_eq!(chosen("!**/cart.rs"), ["a/cart.py", "c.md"]);
        assert_eq!(chosen("!a/"), ["b/cart.rs", "c.md"]);
        assert_eq!(chosen("*.py,*.md"), ["a/cart.py", "c.md"]);
        assert_eq!(chosen("*.{rs,py},!b"), ["a/cart.py", "a/cart.rs"]);
        let none = visible.matches("Cart", Some("!*"), 10_000);
        assert_eq!(none, Err(LookError::NoFiles("!*".into())));
    }
}
