//! What a file does throughout, or nowhere, which shows what added lines cannot be meant for it. Each property is computed
//! once, however many hunks need it. Pure.

use std::cell::OnceCell;
use std::collections::HashSet;

use crate::diff::lines::pieces;

/// Extensions of text for people, which may show anything that would be damage elsewhere.
const PROSE: [&str; 9] = ["md", "markdown", "rst", "adoc", "org", "txt", "diff", "patch", "snap"];
/// Extensions of files that hold records or recorded output, which may have any character and any dots.
const DATA: [&str; 8] = ["csv", "tsv", "json", "jsonl", "txt", "dat", "out", "log"];

/// A file and the properties computed so far.
#[derive(Default)]
pub(crate) struct FileHabits<'f> {
    file: &'f [u8],
    name: &'f str,
    ending: String,
    lines: OnceCell<HashSet<&'f [u8]>>,
    characters: OnceCell<HashSet<char>>,
    indents: OnceCell<Indents>,
    in_another_encoding: OnceCell<bool>,
    /// How many times the whole file was read.
    #[cfg(test)]
    passes: std::cell::Cell<usize>,
}

/// The number of lines that are indented with tabs, and with at least two spaces.
#[derive(Debug, Default)]
pub(super) struct Indents {
    pub(super) tabbed: usize,
    pub(super) spaced: usize,
}

impl<'f> FileHabits<'f> {
    pub(crate) fn of(file: &'f [u8], path: &'f str) -> FileHabits<'f> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        FileHabits { file, name, ending, ..FileHabits::default() }
    }

    /// Returns the bytes, for a question about all of them.
    fn whole(&self) -> &'f [u8] {
        #[cfg(test)]
        self.passes.set(self.passes.get() + 1);
        self.file
    }

    /// Returns true if the file is empty or yet to be created.
    pub(super) fn is_empty(&self) -> bool {
        self.file.is_empty()
    }

    fn is_of(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.ending.as_str())
    }

    /// Returns true if its name says that the file is text for people.
    pub(crate) fn is_prose(&self) -> bool {
        self.is_of(&PROSE)
    }

    pub(super) fn is_data(&self) -> bool {
        self.is_of(&DATA)
    }

    /// Returns true if the file holds diffs or recorded output, with whatever damage they have.
    pub(super) fn is_of_diffs(&self) -> bool {
        self.is_of(&["diff", "patch", "snap"])
    }

    pub(super) fn is_makefile(&self) -> bool {
        let stem = self.name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        ["makefile", "gnumakefile"].contains(&stem.as_str()) || self.is_of(&["mk", "mak"])
    }

    /// Returns true if its name says that the file holds code or data, in which every character counts.
    pub(super) fn is_code(&self) -> bool {
        (self.is_makefile() || !self.ending.is_empty()) && !self.is_prose()
    }

    /// Returns true if the file has this line, with any indentation.
    pub(super) fn has_line(&self, line: &[u8]) -> bool {
        let lines = || pieces(self.whole()).map(<[u8]>::trim_ascii).collect();
        self.lines.get_or_init(lines).contains(line.trim_ascii())
    }

    /// Returns true if a line of the file begins with `mark`.
    pub(super) fn has_line_that_begins_with(&self, mark: &[u8]) -> bool {
        self.file.starts_with(mark) || self.has(&[b"\n", mark].concat())
    }

    /// Returns true if the file has this text anywhere.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        memchr::memmem::find(self.file, text).is_some()
    }

    /// Returns true if the file has bytes that are not UTF-8, and no character that is UTF-8 but not ASCII.
    pub(super) fn is_in_another_encoding(&self) -> bool {
        *self.in_another_encoding.get_or_init(|| {
            let mut chunks = self.whole().utf8_chunks();
            std::str::from_utf8(self.file).is_err() && chunks.all(|it| it.valid().is_ascii())
        })
    }

    /// Returns true if the file has this character, which must be a control character or not ASCII.
    pub(super) fn has_char(&self, c: char) -> bool {
        let is_rare = |c: &char| !c.is_ascii() || c.is_ascii_control();
        let all = || String::from_utf8_lossy(self.whole()).chars().filter(is_rare).collect();
        self.characters.get_or_init(all).contains(&c)
    }

    pub(super) fn indents(&self) -> &Indents {
        self.indents.get_or_init(|| {
            let mut indents = Indents::default();
            for line in pieces(self.whole()).filter(|line| !line.trim_ascii().is_empty()) {
                indents.tabbed += usize::from(line.starts_with(b"\t"));
                indents.spaced += usize::from(line.starts_with(b"  "));
            }
            indents
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::added::found;
    use crate::tests::testing::hunk_of;

    #[test]
    fn a_file_is_read_once_per_question_however_many_hunks_need_it() {
        let file = "fn line() {}\n".repeat(2_000);
        let habits = FileHabits::of(file.as_bytes(), "a.rs");
        let hunks = [
            ["-fn line() {}", "+// ..."],
            [" fn line() {}", "+\u{a0}x"],
            [" fn line() {}", "+\tx"],
        ];
        for _ in 0..1_000 {
            for hunk in hunks {
                found(&habits, &hunk_of(&hunk));
            }
        }
        assert!(habits.passes.get() <= 4, "the file was read {} times", habits.passes.get());
    }
}
