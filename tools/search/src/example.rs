//! Finds, for a request for one more of a kind, what is there of that kind already. Pure.

use std::collections::BTreeMap;

use index::{FileKind, definitions_of_file};
use tree::{ListedFile, RepoPath};

use super::named::NamedFiles;
use super::reader::Text;
use super::terms::{Term, TermKind, is_common};
use super::text::Hit;

/// A directory with fewer files like each other is no collection.
const LEAST_FILES: usize = 3;
/// A file that more lines name is no example of its kind: its name is a common word.
pub(super) const MOST_NAMING_LINES: usize = 24;
/// Maximum number of lines per file that name an example.
const LINES_PER_FILE: usize = 2;
/// What "a new X" begins with.
const ONE_MORE: [&str; 4] = ["a", "an", "another", "new"];
/// Maximum number of words between that, or the first word, and the kind.
const WORDS_BETWEEN: usize = 3;

/// Returns the files like the one that `request` asks for, smallest first: those of a directory `rules` if it asks for "a
/// new rule" and names none that is there, or those next to a file that it names and that does not exist yet.
pub(super) fn examples<'f>(
    request: &str,
    terms: &[Term],
    names: &NamedFiles,
    files: &'f [ListedFile],
) -> Vec<&'f ListedFile> {
    let kinds = kinds_asked_for(request);
    let is_asked_for = |directory: &str| {
        let name = directory.rsplit('/').next().unwrap_or(directory).to_lowercase();
        kinds.iter().any(|kind| is_plural(&name, kind))
            || names.new_files.iter().any(|file| parent(file) == directory)
    };
    if kinds.is_empty() && names.new_files.is_empty() {
        return Vec::new();
    }
    let mut collections: BTreeMap<(&str, &str), Vec<&ListedFile>> = BTreeMap::new();
    for file in files {
        let Some((_, extension)) = stem_and_extension(&file.path) else { continue };
        let directory = parent(&file.path);
        if is_asked_for(directory) && FileKind::of_size(&file.path, file.bytes) == FileKind::Source
        {
            collections.entry((directory, extension)).or_default().push(file);
        }
    }
    let largest = collections.into_values().rev().max_by_key(Vec::len).unwrap_or_default();
    let is_named = |file: &&ListedFile| {
        names.files.iter().any(|named| named.path == file.path)
            || terms.iter().any(|it| it.is_name(&term(file).text))
    };
    if largest.len() < LEAST_FILES || largest.iter().any(is_named) {
        return Vec::new();
    }
    let mut examples = largest;
    examples.sort_by_key(|file| file.bytes);
    examples
}

/// Returns true if the text of `file` shows what its kind is like: it defines something, and does not list the others.
pub(super) fn is_example(file: &ListedFile, text: &Text, of: &[&ListedFile]) -> bool {
    let text = text.lines.text();
    let others = of.iter().filter(|other| other.path != file.path);
    let listed = others.clone().filter(|other| term(other).is_in(text)).count();
    !definitions_of_file(&file.path, text).is_empty() && listed <= others.count() / 2
}

/// Returns the first few of the lines in each other file that name `file`.
pub(super) fn lines_elsewhere(file: &ListedFile, naming: impl Iterator<Item = Hit>) -> Vec<Hit> {
    let mut lines: Vec<Hit> = Vec::new();
    for hit in naming.filter(|hit| hit.path != file.path) {
        if lines.iter().filter(|line| line.path == hit.path).count() < LINES_PER_FILE {
            lines.push(hit);
        }
    }
    lines
}

/// Returns what other files have to contain to name `file`.
pub(super) fn term(file: &ListedFile) -> Term {
    let stem = stem_and_extension(&file.path).map_or(file.path.name(), |(stem, _)| stem);
    Term { kind: TermKind::Quoted, text: stem.to_owned() }
}

/// Returns the last words, in lower case, of phrases such as "a new rule" or, after the first word of a line, "bash lexer".
fn kinds_asked_for(request: &str) -> Vec<String> {
    let mut kinds = Vec::new();
    for line in request.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let kind = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            let is_last = kind.len() < word.len()
                || words.get(at + 1).is_none_or(|next| is_function_word(next));
            let before = words.get(..at).unwrap_or_default();
            let phrase = before.get(before.len().saturating_sub(WORDS_BETWEEN + 1)..);
            let is_one_more = |word: &&str| ONE_MORE.iter().any(|it| word.eq_ignore_ascii_case(it));
            let begins = at > 0 && at <= WORDS_BETWEEN + 1
                || phrase.is_some_and(|words| words.iter().any(is_one_more));
            let is_known = phrase.is_some_and(|words| words.contains(&"the"));
            if is_last && begins && !is_known && kind.chars().all(char::is_alphabetic) {
                kinds.push(kind.to_lowercase());
            }
        }
    }
    kinds
}

/// Returns true for a word that cannot continue the name of a kind.
fn is_function_word(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    word.chars().count() < 3 || is_common(&word)
}

/// Returns true if `name` is the plural of `kind`, or `kind` is that plural itself.
fn is_plural(name: &str, kind: &str) -> bool {
    let of = |end: &str, singular: &str| {
        name.strip_suffix(end).is_some_and(|stem| kind.strip_suffix(singular) == Some(stem))
    };
    name.ends_with('s') && (name == kind || of("s", "") || of("es", "") || of("ies", "y"))
}

/// Returns the name of a file without its extension, and the extension.
fn stem_and_extension(path: &RepoPath) -> Option<(&str, &str)> {
    path.name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty())
}

fn parent(path: &RepoPath) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::extract;

    fn of(request: &str, new_files: &[&str]) -> Vec<String> {
        let file = |(path, bytes): (&str, u64)| ListedFile {
            path: RepoPath::parse(path).unwrap(),
            bytes,
            modified: 0,
        };
        let files: Vec<ListedFile> = [
            ("docs/extensions/tables.md", 9),
            ("lib/extensions/__init__.py", 0),
            ("lib/extensions/footnotes.py", 900),
            ("lib/extensions/nl2br.py", 100),
            ("lib/extensions/smarty.py", 300),
            ("lib/strategies/fast.py", 3),
            ("lib/strategies/lazy.py", 2),
            ("lib/strategies/slow.py", 1),
            ("lib/styles/a.css", 1),
            ("lib/styles/b.py", 1),
            ("lib/tests/a.py", 1),
            ("lib/tests/b.py", 1),
            ("lib/tests/c.py", 1),
        ]
        .map(file)
        .into();
        let new_files = new_files.iter().map(|path| RepoPath::parse(path).unwrap()).collect();
        let names = NamedFiles { new_files, ..NamedFiles::default() };
        let examples = examples(request, &extract(request), &names, &files);
        examples.iter().map(|file| file.path.name().to_owned()).collect()
    }

    #[test]
    fn one_more_of_a_kind_is_like_the_smallest_there_is() {
        let extensions = ["__init__.py", "nl2br.py", "smarty.py", "footnotes.py"];
        for request in [
            "Add a `del_ins` extension like the others",
            "Add a del_ins extension.",
            "We need a new extension, called del_ins",
            "Please write another Extension for ~~struck~~ text",
            "Implement del_ins extension",
            "Fix the toc\n\nAdd `del_ins` as an extension (see #12)",
        ] {
            assert_eq!(of(request, &[]), extensions, "{request}");
        }
        assert_eq!(of("Add a strategy that rests", &[]), ["slow.py", "lazy.py", "fast.py"]);
        assert_eq!(of("write it down", &["lib/extensions/del_ins.py"]), extensions);
    }

    #[test]
    fn what_is_there_needs_no_example() {
        for request in [
            "Fix the extension",
            "The footnotes extension loses a new line",
            "Add an option to the smarty extension",
            "Add a new extension setting",
            "Add an extensions_list to the config, whatever",
            "Add a style",
            "Add a test",
            "Add a plugin",
            "",
        ] {
            assert!(of(request, &[]).is_empty(), "{request}");
        }
        assert!(of("write it down", &["elsewhere/x.py"]).is_empty());
    }

    #[test]
    fn a_file_that_lists_the_others_is_no_example() {
        let paths = ["a/tab.py", "a/toc.py", "a/all.py", "a/mark.py"];
        let file =
            |path| ListedFile { path: RepoPath::parse(path).unwrap(), bytes: 1, modified: 0 };
        let files = paths.map(file);
        let of: Vec<&ListedFile> = files.iter().collect();
        let is = |at: usize, text: &str| is_example(of[at], &Text::new(text), &of);
        assert!(!is(2, "import tab\nimport toc\nimport mark\n\n#\n"));
        assert!(is(0, "import toc\n\ndef f():\n    pass\n\n"));
        assert!(!is(0, "import toc\n\n"));
    }
}
