//! Properties of a whole file that show which added lines cannot be meant for it. Each property is computed once,
//! however many hunks need it. Pure.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use super::lines::pieces;

/// Extensions of text for people, which may show anything that would be damage elsewhere.
const PROSE: [&str; 9] = ["md", "markdown", "rst", "adoc", "org", "txt", "diff", "patch", "snap"];
/// Extensions of files that hold records or recorded output, which may have any character and any dots.
const DATA: [&str; 8] = ["csv", "tsv", "json", "jsonl", "txt", "dat", "out", "log"];
/// Further extensions of files that contain HTML entities.
const MARKUP: &[&str] = &[
    "html",
    "htm",
    "xhtml",
    "shtml",
    "rhtml",
    "xml",
    "svg",
    "vue",
    "svelte",
    "astro",
    "jsx",
    "tsx",
    "mdx",
    "svx",
    "php",
    "jsp",
    "jspx",
    "aspx",
    "ascx",
    "cshtml",
    "razor",
    "erb",
    "eex",
    "leex",
    "heex",
    "hbs",
    "mustache",
    "ejs",
    "j2",
    "jinja",
    "jinja2",
    "njk",
    "tmpl",
    "gohtml",
    "tpl",
    "twig",
    "liquid",
    "ftl",
    "vm",
    "soy",
    "dust",
    "cfm",
    "jelly",
    "haml",
    "slim",
    "pug",
    "jade",
    "rss",
    "atom",
    "opml",
    "plist",
    "xsl",
    "xslt",
    "xsd",
    "wsdl",
    "xlf",
    "xliff",
    "resx",
    "po",
    "kml",
    "gpx",
    "dae",
    "csproj",
    "props",
    "targets",
    "wxs",
    "xaml",
    "axml",
    "fxml",
    "storyboard",
    "xib",
    "ui",
    "ipynb",
];
/// Spaces other than U+0020.
pub(super) const HARD_SPACES: [char; 4] = ['\u{a0}', '\u{202f}', '\u{2007}', '\u{3000}'];
/// Zero-width characters and those that only break a line.
pub(super) const HIDDEN: [char; 8] =
    ['\u{200b}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{2060}', '\u{feff}', '\u{ad}'];
/// Characters that change the direction of text.
pub(super) const DIRECTIONS: [char; 9] = [
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}',
];
/// Characters that are displayed in place of a tab.
pub(super) const TAB_SIGNS: [char; 4] = ['→', '⇥', '␉', '»'];

/// A file and the properties computed so far.
pub(super) struct FileStyle<'f> {
    file: &'f [u8],
    name: &'f str,
    ending: String,
    lines: OnceCell<HashSet<&'f [u8]>>,
    words: OnceCell<HashSet<&'f [u8]>>,
    characters: OnceCell<HashSet<char>>,
    habits: OnceCell<Habits>,
    in_another_encoding: OnceCell<bool>,
    texts: RefCell<HashMap<&'static [u8], bool>>,
    /// How many times the whole file was read.
    #[cfg(test)]
    pub(super) passes: std::cell::Cell<usize>,
}

/// What a file does throughout, or nowhere.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts about one file")]
pub(super) struct Habits {
    /// True if the file has HTML entities.
    pub(super) has_entities: bool,
    /// True if the file has the first mark of a merge conflict.
    pub(super) has_conflicts: bool,
    /// True if a line begins with a character that is displayed in place of a tab.
    pub(super) has_tab_signs: bool,
    /// True if the file has `\"`.
    pub(super) has_escaped_quotes: bool,
    /// True if the file has `\_` or `\*`.
    pub(super) has_escapes: bool,
    /// The number of lines that are indented with tabs, and with at least two spaces.
    pub(super) tabbed: usize,
    pub(super) spaced: usize,
    /// The number of lines that are indented with an odd number of spaces.
    pub(super) odd: usize,
    /// The number of tabs inside every line, if it is the same for all lines and not 0.
    pub(super) columns: Option<usize>,
}

impl<'f> FileStyle<'f> {
    pub(super) fn of(file: &'f [u8], path: &'f str) -> FileStyle<'f> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        FileStyle {
            file,
            name,
            ending,
            lines: OnceCell::new(),
            words: OnceCell::new(),
            characters: OnceCell::new(),
            habits: OnceCell::new(),
            in_another_encoding: OnceCell::new(),
            texts: RefCell::default(),
            #[cfg(test)]
            passes: std::cell::Cell::default(),
        }
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

    /// Returns true if the file has one of these extensions.
    pub(super) fn is_of(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.ending.as_str())
    }

    pub(super) fn is_prose(&self) -> bool {
        self.is_of(&PROSE)
    }

    pub(super) fn is_data(&self) -> bool {
        self.is_of(&DATA)
    }

    /// Returns true if a line begins with a blank.
    pub(super) fn begins_with_blank(&self) -> bool {
        self.file.starts_with(b" ") || memchr::memmem::find(self.file, b"\n ").is_some()
    }

    pub(super) fn is_markup(&self) -> bool {
        self.is_of(MARKUP)
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

    /// Returns true if the file has this line, with the same indentation.
    pub(super) fn has_exactly(&self, line: &[u8]) -> bool {
        pieces(self.whole()).any(|it| it.trim_ascii_end() == line.trim_ascii_end())
    }

    /// Returns true if the file has this identifier.
    pub(super) fn has_word(&self, word: &[u8]) -> bool {
        let words = || self.whole().split(|byte| !is_of_word(*byte)).collect();
        self.words.get_or_init(words).contains(word)
    }

    /// Returns true if the file has this text anywhere.
    pub(super) fn has(&self, text: &'static [u8]) -> bool {
        let find = || memchr::memmem::find(self.whole(), text).is_some();
        *self.texts.borrow_mut().entry(text).or_insert_with(find)
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

    pub(super) fn habits(&self) -> &Habits {
        self.habits.get_or_init(|| Habits::of(self.whole()))
    }
}

impl Habits {
    fn of(file: &[u8]) -> Habits {
        let has = |text: &[u8]| memchr::memmem::find(file, text).is_some();
        let mut habits = Habits {
            has_entities: has(b"&lt;") || has(b"&amp;"),
            has_conflicts: has(b"<<<<<<<"),
            has_escaped_quotes: has(b"\\\""),
            has_escapes: has(b"\\_") || has(b"\\*"),
            ..Habits::default()
        };
        let (mut columns, mut is_even) = (None, true);
        for line in pieces(file).filter(|line| !line.trim_ascii().is_empty()) {
            habits.tabbed += usize::from(line.starts_with(b"\t"));
            habits.spaced += usize::from(line.starts_with(b"  "));
            let spaces = line.iter().take_while(|byte| **byte == b' ').count();
            habits.odd += usize::from(spaces % 2 == 1);
            habits.has_tab_signs |= begins_with(line, &TAB_SIGNS).is_some();
            let tabs = memchr::memchr_iter(b'\t', line.trim_ascii()).count();
            is_even &= columns.is_none_or(|columns| columns == tabs);
            columns = columns.or(Some(tabs));
        }
        habits.columns = columns.filter(|tabs| is_even && *tabs > 0);
        habits
    }
}

/// Returns true if a byte can be part of an identifier.
pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the one of `signs` that a line begins with, after any white space.
pub(super) fn begins_with(line: &[u8], signs: &[char]) -> Option<char> {
    let text = line.trim_ascii_start();
    signs.iter().copied().find(|c| text.starts_with(c.encode_utf8(&mut [0; 4]).as_bytes()))
}
