//! A file in the index: its words with their lines, and its definitions. Pure.

use tree::{FileHash, RepoPath};

use crate::defined::definitions::{Definition, definitions_of_file};
use crate::ranked::stems;

/// How often a word of the path counts, compared with one in the text.
const PATH_WEIGHT: usize = 3;
/// How often a word in the name of a definition counts in addition to its occurrence in the text.
const DEFINITION_WEIGHT: usize = 2;

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The stem of each word and its line, ordered by line. Words of the path are on line 0.
    pub(crate) words: Vec<(u32, String)>,
    /// The definitions in the file.
    pub(crate) definitions: Vec<Definition>,
}

impl Document {
    /// Creates the document of the file at `path` with this text.
    pub fn of(path: &RepoPath, text: &str) -> Document {
        let definitions = definitions_of_file(path, text);
        let mut words = Vec::new();
        each_word(path, text, &definitions, |line, word| words.push((line, word.to_owned())));
        words.sort_by_key(|(line, _)| *line);
        Document { words, definitions }
    }

    /// Returns the stem of each word and its line, ordered by line.
    pub fn words(&self) -> &[(u32, String)] {
        &self.words
    }

    /// Returns the definitions in the file.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }
}

/// Calls `on_word` with the line and stem of each word, repeated by its weight. The lines are not in order.
pub(crate) fn each_word(
    path: &RepoPath,
    text: &str,
    definitions: &[Definition],
    mut on_word: impl FnMut(u32, &str),
) {
    stems::each(path.as_str(), |word| (0..PATH_WEIGHT).for_each(|_| on_word(0, word)));
    for Definition { name, line, .. } in definitions {
        stems::each(name, |word| (0..DEFINITION_WEIGHT).for_each(|_| on_word(*line, word)));
    }
    stems::each_by_line(text, on_word);
}

/// Returns the id of a file with this content: the same everywhere, and different for any other path or content.
pub(crate) fn id(path: &RepoPath, hash: &FileHash) -> u64 {
    let name = FileHash::of(format!("{path}\0{hash}").as_bytes());
    name.as_bytes().iter().take(8).fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_definitions_count_more() {
        let path = RepoPath::parse("src/pager.rs").unwrap();
        let document = Document::of(&path, "use b;\n\nfn turn_page() {}\n");
        let count = |word: &str, line| {
            document.words.iter().filter(|(at, known)| known == word && *at == line).count()
        };
        assert_eq!(
            [count("pager", 0), count("pag", 3), count("turn", 3), count("use", 1)],
            [3, 3, 3, 1]
        );
        assert!(document.words.is_sorted_by_key(|(line, _)| *line));
    }
}
