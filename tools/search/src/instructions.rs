//! The instructions that a project has for every agent: the instruction file of each directory, and what it imports.

use std::collections::BTreeSet;
use std::rc::Rc;

use tree::{Hidden, ReadTree, RepoPath};

use super::items::{EvidenceItem, ItemKind};
use super::reader::{CachingReader, Text, Unshown};
use super::render::stable_item;

/// The names of instruction files. In each directory, the first that exists counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How deep imported files can import others.
const MAX_DEPTH: usize = 5;
/// Maximum number of files that one instruction file imports, directly or not.
const MAX_IMPORTS: usize = 50;
/// Maximum number of links that lead to a file.
const MAX_LINKS: usize = 8;
/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The instructions for some directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files, those of outer directories first, each followed by what it imports.
    pub shown: Vec<EvidenceItem>,
    /// What is not shown, one line each with the reason.
    pub omitted: Vec<String>,
}

impl Instructions {
    /// Renders the files as a prompt shows them, whoever asks.
    pub fn text(&self) -> String {
        self.shown.iter().map(stable_item).collect()
    }
}

/// Returns the directories above these paths, outer ones first, without the root.
pub fn directories_above<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<RepoPath> {
    let mut all = BTreeSet::new();
    for path in paths {
        let mut above = path.parent();
        while let Some(directory) = above {
            above = directory.parent();
            all.insert(directory);
        }
    }
    all.into_iter().collect()
}

/// Returns how the instructions of a directory begin in a prompt, one text for each name.
pub fn instruction_headings(directory: &RepoPath) -> [String; 2] {
    NAMES.map(|name| format!("### {directory}/{name}"))
}

/// Reads the instructions of these directories, in at most `max_bytes`. Blocks.
pub fn instructions_of(
    directories: &[RepoPath],
    tree: &ReadTree,
    may_read: &dyn Fn(&RepoPath) -> bool,
    max_bytes: usize,
) -> Instructions {
    let hidden = Hidden::below(tree.root());
    let may_show = |path: &RepoPath| match (may_read(path), hidden.has(path)) {
        (false, _) => Err(Unshown::Refused),
        (true, true) => Err(Unshown::Hidden),
        (true, false) => Ok(()),
    };
    let mut reader = CachingReader::new(tree, MAX_FILE_BYTES, &may_show);
    read_instructions(&mut reader, directories.iter().map(Some), max_bytes)
}

/// Reads the instructions of directories, outer ones first; `None` is the root. What does not fit into `max_bytes` is left
/// out, beginning with the outermost.
pub(super) fn read_instructions<'d>(
    reader: &mut CachingReader<'_>,
    directories: impl Iterator<Item = Option<&'d RepoPath>>,
    max_bytes: usize,
) -> Instructions {
    let mut found = Found { reader, files: Vec::new(), omitted: Vec::new() };
    for directory in directories {
        found.of_directory(directory);
    }
    let Found { files, mut omitted, .. } = found;
    let mut shown = Vec::new();
    let mut left = max_bytes;
    for (path, text) in files.iter().rev() {
        let lines = &text.lines;
        let Some(span) = lines.head(left) else {
            omitted.push(format!("{path}: does not fit"));
            continue;
        };
        left -= lines.cost(span);
        if span != lines.all() {
            omitted.push(format!(
                "{path}: only lines {}-{} of {} fit",
                span.first,
                span.last,
                lines.count()
            ));
        }
        shown.push(EvidenceItem::of(ItemKind::Instructions, path, text, span));
    }
    shown.reverse();
    Instructions { shown, omitted }
}

/// What has been found so far.
struct Found<'f, 'r> {
    reader: &'f mut CachingReader<'r>,
    files: Vec<(RepoPath, Rc<Text>)>,
    omitted: Vec<String>,
}

impl Found<'_, '_> {
    fn of_directory(&mut self, directory: Option<&RepoPath>) {
        for name in NAMES {
            let path = directory.map_or_else(|| name.to_owned(), |it| format!("{it}/{name}"));
            let Ok(path) = RepoPath::parse(&path) else { return };
            if self.reader.is_there(&path) {
                let most = self.files.len() + 1 + MAX_IMPORTS;
                return self.file(&path, 0, most);
            }
        }
    }

    /// Adds a file and what it imports.
    fn file(&mut self, path: &RepoPath, depth: usize, most: usize) {
        let (at, text) = self.followed(path);
        let text = match text {
            Ok(text) => text,
            Err(Unshown::Symlink) => {
                let why = "a symbolic link that does not lead to a file of the workspace";
                return self.omitted.push(format!("{path}: {why}"));
            }
            Err(why) => return self.omitted.push(format!("{path}: {why}")),
        };
        if text.lines.text().trim().is_empty() || self.has(&text) {
            return;
        }
        self.files.push((path.clone(), Rc::clone(&text)));
        for import in imports(text.lines.text()) {
            self.import(&at, &import, depth, most);
        }
    }

    fn import(&mut self, by: &RepoPath, import: &Import, depth: usize, most: usize) {
        let told = |why: &str| format!("{}: not imported by {by}: {why}", import.path);
        let Some(path) = beside(by, &import.path) else {
            if import.is_meant {
                self.omitted.push(told("it is not in the workspace"));
            }
            return;
        };
        match self.reader.text(&path) {
            // A word such as `@param`.
            Err(Unshown::Missing | Unshown::NotAFile) if !import.is_meant => {}
            _ if depth == MAX_DEPTH => self.omitted.push(told("it is imported too indirectly")),
            _ if self.files.len() >= most => self.omitted.push(told("there are too many imports")),
            _ => self.file(&path, depth + 1, most),
        }
    }

    /// Reads a file, or the one that it leads to as a symbolic link in the workspace. Returns its path as well.
    fn followed(&mut self, path: &RepoPath) -> (RepoPath, Result<Rc<Text>, Unshown>) {
        let mut at = path.clone();
        for _ in 0..MAX_LINKS {
            let text = self.reader.text(&at);
            let target =
                if matches!(text, Err(Unshown::Symlink)) { self.reader.link(&at) } else { None };
            match target.and_then(|target| beside(&at, &target)) {
                Some(target) => at = target,
                None => return (at, text),
            }
        }
        (at, Err(Unshown::Symlink))
    }

    /// Returns true if a file with this content is already there.
    fn has(&self, text: &Rc<Text>) -> bool {
        self.files.iter().any(|(_, known)| known.hash() == text.hash())
    }
}

/// A file that instructions import.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    /// The path as written, relative to the importing file.
    path: String,
    /// Whether nothing but an import can be meant: it stands on a line of its own.
    is_meant: bool,
}

/// Returns the imports in a text: words that begin with `@`, outside of code.
fn imports(text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                // Every second part is code.
                for part in line.split('`').step_by(2) {
                    let words = part.split_whitespace();
                    found.extend(words.filter_map(imported).map(|path| Import {
                        is_meant: line.strip_prefix('@') == Some(path),
                        path: path.to_owned(),
                    }));
                }
            }
        }
    }
    found
}

fn imported(word: &str) -> Option<&str> {
    let path = word.strip_prefix('@')?;
    let path = path.trim_end_matches(|c: char| ".,;:!?)".contains(c));
    (!path.is_empty()).then_some(path)
}

/// Returns the path that `target` names in the directory of `path`, if it is in the tree.
fn beside(path: &RepoPath, target: &str) -> Option<RepoPath> {
    if target.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = path.components().collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    RepoPath::parse(&parts.join("/")).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let at = home.path().join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        }
        home
    }

    fn read_in(home: &tempfile::TempDir, directories: &[&str], max_bytes: usize) -> Instructions {
        let tree = ReadTree::open(home.path()).unwrap();
        let may_show = |path: &RepoPath| match path.as_str() {
            "secret.md" => Err(Unshown::Refused),
            _ => Ok(()),
        };
        let mut reader = CachingReader::new(&tree, 1 << 20, &may_show);
        let directories: Vec<Option<RepoPath>> =
            directories.iter().map(|path| RepoPath::parse(path).ok()).collect();
        read_instructions(&mut reader, directories.iter().map(Option::as_ref), max_bytes)
    }

    fn shown(instructions: &Instructions) -> Vec<&str> {
        instructions.shown.iter().map(|item| item.path.as_str()).collect()
    }

    #[test]
    fn each_directory_has_one_file_and_what_it_imports() {
        let home = tree(&[
            (
                "AGENTS.md",
                "See @docs/style.md, and `@docs/code.md`.\n@secret.md\n@none.md\n@param x\n",
            ),
            ("CLAUDE.md", "not read\n"),
            ("docs/style.md", "@../more.md\n```\n@code.md\n```\n@~/own.md\n"),
            ("docs/code.md", "not imported\n"),
            ("more.md", "more @AGENTS.md\n"),
            ("secret.md", "secret\n"),
            ("pkg/CLAUDE.md", "of the package\n"),
        ]);
        let all = read_in(&home, &["", "pkg", "none"], 10_000);
        assert_eq!(shown(&all), ["AGENTS.md", "docs/style.md", "more.md", "pkg/CLAUDE.md"]);
        assert_eq!(
            all.omitted,
            [
                "~/own.md: not imported by docs/style.md: it is not in the workspace",
                "secret.md: the policy does not let it be read",
                "none.md: no such file",
            ]
        );
        let text = all.text();
        assert!(text.contains("### pkg/CLAUDE.md (instructions)\n```\nof the package\n```\n"));
        let [_, heading] = instruction_headings(&RepoPath::parse("pkg").unwrap());
        assert!(text.contains(&heading));
    }

    #[test]
    fn the_nearest_instructions_are_the_last_to_be_cut() {
        let rules = |name: &str| format!("{name} rule\n").repeat(10);
        let home = tree(&[
            ("AGENTS.md", &rules("outer")),
            ("a/AGENTS.md", &rules("middle")),
            ("a/b/AGENTS.md", &rules("inner")),
        ]);
        let all = read_in(&home, &["", "a", "a/b"], 10_000);
        assert_eq!((shown(&all).len(), all.omitted.len()), (3, 0));
        let some = read_in(&home, &["", "a", "a/b"], 230);
        assert_eq!(shown(&some), ["a/AGENTS.md", "a/b/AGENTS.md"]);
        assert_eq!(
            some.omitted,
            ["a/AGENTS.md: only lines 1-3 of 10 fit", "AGENTS.md: does not fit"]
        );
        assert!(some.text().starts_with("### a/AGENTS.md (beginning) (instructions)"));
    }

    #[test]
    fn links_are_followed_in_the_workspace() {
        let home = tree(&[("docs/agents.md", "@style.md\n"), ("docs/style.md", "style\n")]);
        symlink("docs/agents.md", home.path().join("AGENTS.md")).unwrap();
        fs::create_dir(home.path().join("out")).unwrap();
        symlink("/etc/passwd", home.path().join("out/AGENTS.md")).unwrap();
        fs::create_dir(home.path().join("loop")).unwrap();
        symlink("AGENTS.md", home.path().join("loop/AGENTS.md")).unwrap();
        symlink("/etc", home.path().join("etc")).unwrap();
        let all = read_in(&home, &["", "etc", "loop", "out"], 10_000);
        assert_eq!(shown(&all), ["AGENTS.md", "docs/style.md"]);
        let unfollowed = "a symbolic link that does not lead to a file of the workspace";
        assert_eq!(
            all.omitted,
            ["loop", "out"].map(|dir| format!("{dir}/AGENTS.md: {unfollowed}"))
        );
    }

    #[test]
    fn instructions_in_another_encoding_are_read() {
        let home = tree(&[]);
        let bytes: Vec<u8> =
            "\u{feff}Tabs, böse\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(home.path().join("AGENTS.md"), bytes).unwrap();
        let all = read_in(&home, &[""], 10_000);
        assert!(all.text().contains("Tabs, böse\n") && all.omitted.is_empty(), "{all:?}");
    }

    #[test]
    fn imports_are_bounded_in_depth() {
        let chain: Vec<(String, String)> =
            (0..9).map(|n| (format!("{n}.md"), format!("{n}\n@{}.md\n", n + 1))).collect();
        let mut files: Vec<(&str, &str)> =
            chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.push(("AGENTS.md", "@0.md\n"));
        let all = read_in(&tree(&files), &[""], 10_000);
        assert_eq!(shown(&all), ["AGENTS.md", "0.md", "1.md", "2.md", "3.md", "4.md"]);
        assert_eq!(all.omitted, ["5.md: not imported by 4.md: it is imported too indirectly"]);
    }
}
