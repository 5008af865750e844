//! The files that a mission reads, and the passages that questions are about. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use tools::redact::without_salt;
use tree::{FileHash, RepoPath};

/// A file at the time the mission read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The file's path.
    pub path: RepoPath,
    /// The file's text.
    pub text: String,
}

impl SourceFile {
    /// Returns its number of lines.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Hashes its text. Two readings of a file agree also if they mask its secrets in different ways.
    pub fn hash(&self) -> FileHash {
        FileHash::of(without_salt(&self.text).as_bytes())
    }

    /// Returns the lines `first` to `last`, joined; `None` unless all of them exist.
    pub fn excerpt(&self, first: usize, last: usize) -> Option<String> {
        if first == 0 || first > last || last > self.lines() {
            return None;
        }
        let lines: Vec<&str> = self.text.lines().skip(first - 1).take(last - first + 1).collect();
        Some(lines.join("\n"))
    }
}

/// A range of lines of a file, one-based and inclusive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Passage {
    /// The file.
    pub path: RepoPath,
    /// Its first line.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, first, last } = self;
        if first == last { write!(f, "{path}:{first}") } else { write!(f, "{path}:{first}-{last}") }
    }
}

impl Passage {
    /// Parses `path:first-last` or `path:line`.
    pub fn read(text: &str) -> Option<Self> {
        let (path, lines) = text.trim().rsplit_once(':')?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let path = RepoPath::parse(path.trim()).ok()?;
        (1 <= first && first <= last).then_some(Self { path, first, last })
    }

    /// Returns its number of lines.
    pub const fn lines(&self) -> usize {
        self.last - self.first + 1
    }

    /// Returns its range extended by `more` lines on either side, within a file of `of` lines.
    pub fn within(&self, more: usize, of: usize) -> (usize, usize) {
        (self.first.saturating_sub(more).max(1), (self.last + more).min(of.max(self.last)))
    }

    /// Splits it into two halves; `None` if either would be shorter than `least` lines.
    pub fn halves(&self, least: usize) -> Option<[Self; 2]> {
        let half = self.lines() / 2;
        if half < least.max(1) {
            return None;
        }
        let middle = self.first + half;
        Some([Self { last: middle - 1, ..self.clone() }, Self { first: middle, ..self.clone() }])
    }

    /// Returns true if both have a line in common.
    pub fn touches(&self, other: &Self) -> bool {
        self.path == other.path && self.first <= other.last && other.first <= self.last
    }

    /// Hashes its lines in `sources`; `None` if they do not exist.
    pub fn hash(&self, sources: &[SourceFile]) -> Option<FileHash> {
        let source = sources.iter().find(|source| source.path == self.path)?;
        let lines = source.excerpt(self.first, self.last)?;
        Some(FileHash::of(without_salt(&lines).as_bytes()))
    }
}

/// Cuts every file into passages of at most `most_lines` lines, whose lengths within a file differ by at most one.
pub fn passages(sources: &[SourceFile], most_lines: usize) -> Vec<Passage> {
    sources.iter().flat_map(|source| cut(source, most_lines.max(1))).collect()
}

/// Cuts every file into passages of at most `lines` lines; longer ones if there would be more than `most` passages.
pub fn covering(sources: &[SourceFile], lines: usize, most: usize) -> Vec<Passage> {
    let longest = sources.iter().map(SourceFile::lines).max().unwrap_or_default();
    let mut lines = lines.max(1);
    loop {
        let all = passages(sources, lines);
        if all.len() <= most || lines >= longest {
            return all;
        }
        lines += lines.div_ceil(4);
    }
}

fn cut(source: &SourceFile, most_lines: usize) -> Vec<Passage> {
    let lines = source.lines();
    let parts = lines.div_ceil(most_lines);
    let edge = |part: usize| part * lines / parts.max(1);
    (0..parts)
        .map(|part| Passage {
            path: source.path.clone(),
            first: edge(part) + 1,
            last: edge(part + 1),
        })
        .collect()
}

/// Groups files to be shown together: as many as fit in `most_bytes`, in order. A larger file gets a group of its own.
pub fn together(sources: &[SourceFile], most_bytes: usize) -> Vec<Vec<&SourceFile>> {
    let mut groups: Vec<Vec<&SourceFile>> = Vec::new();
    let mut bytes = 0;
    for source in sources {
        match groups.last_mut() {
            Some(group) if bytes + source.text.len() <= most_bytes => {
                bytes += source.text.len();
                group.push(source);
            }
            Some(_) | None => {
                bytes = source.text.len();
                groups.push(vec![source]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(name: &str, lines: usize) -> SourceFile {
        let text = (1..=lines).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        SourceFile { path: RepoPath::parse(name).unwrap(), text }
    }

    #[test]
    fn a_passage_is_parsed_as_it_is_displayed() {
        let passage = Passage::read("src/a.rs:3-9").unwrap();
        assert_eq!((passage.to_string().as_str(), passage.lines()), ("src/a.rs:3-9", 7));
        let one = Passage::read("a:4").unwrap();
        assert_eq!((one.to_string().as_str(), one.first, one.last), ("a:4", 4, 4));
        assert_eq!(one.within(5, 7), (1, 7), "the context ends with the file");
        for broken in ["a", "a:", "a:0", "a:5-3", "../a:1", "a:x-y", ":1"] {
            assert_eq!(Passage::read(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_hash_of_a_passage_changes_only_with_its_lines() {
        let mut sources = [source("a", 4)];
        let passage = Passage::read("a:2-3").unwrap();
        let before = passage.hash(&sources).unwrap();
        sources[0].text = sources[0].text.replace("line 4", "line four");
        assert_eq!(passage.hash(&sources), Some(before));
        sources[0].text = sources[0].text.replace("line 3", "line three");
        assert_ne!(passage.hash(&sources), Some(before));
        assert_eq!(Passage::read("a:4-5").unwrap().hash(&sources), None);
    }

    #[test]
    fn a_secret_that_is_masked_differently_is_not_a_change() {
        let of = |salt: &str, text: &str| {
            let redactor = tools::redact::Redactor::new(salt, ["hunter2-hunter2".to_owned()]);
            let text = redactor.redact(text).into_owned();
            SourceFile { path: RepoPath::parse("a").unwrap(), text }
        };
        let text = "first\nkey = hunter2-hunter2\n";
        let (one, other) = (of("one", text), of("two", text));
        assert_ne!(one.text, other.text);
        assert_eq!(one.hash(), other.hash());
        let passage = Passage::read("a:2").unwrap();
        assert_eq!(passage.hash(&[one]), passage.hash(std::slice::from_ref(&other)));
        assert_ne!(other.hash(), of("two", "first\nkey = 1\n").hash());
    }

    #[test]
    fn files_are_grouped_as_long_as_they_fit() {
        let sources = [source("a", 2), source("b", 2), source("c", 9), source("d", 1)];
        let groups = together(&sources, 30);
        let names: Vec<Vec<&str>> = groups
            .iter()
            .map(|it| it.iter().map(|source| source.path.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["a", "b"], vec!["c"], vec!["d"]]);
    }

    proptest! {
        #[test]
        fn every_line_is_in_exactly_one_passage_also_after_halving(
            lines in 0usize..500, most in 1usize..60, least in 1usize..30,
        ) {
            let cut = passages(&[source("a", lines)], most);
            let covered = |passages: &[Passage]| -> Vec<usize> {
                passages.iter().flat_map(|it| it.first..=it.last).collect()
            };
            prop_assert_eq!(covered(&cut), (1..=lines).collect::<Vec<_>>());
            prop_assert!(cut.iter().all(|passage| passage.lines() <= most));
            for passage in &cut {
                if let Some(halves) = passage.halves(least) {
                    prop_assert_eq!(covered(&halves), covered(std::slice::from_ref(passage)));
                    prop_assert!(halves.iter().all(|half| half.lines() >= least));
                }
            }
        }
    }
}
