//! What is remembered about a workspace from earlier deliveries: commands that check it, decisions of the user, outcomes.
//! Each memo names the files it rests on and is used only while they are unchanged. This file decides what is remembered
//! and used; callers read and write the file.

mod delivered;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use actors::talk::prompts::{Prompt, Prompts};
use search::estimate_tokens;
use serde::{Deserialize, Serialize};
use tools::regular;
use tree::{Entry, FileHash, ReadTree, RepoPath};

pub(crate) use self::delivered::{Delivered, DeliveryPlace, remember};
use crate::workspace::places::WorkspacePlaces;

/// Read limit; larger than any memory file.
const MAX_BYTES: u64 = 4 << 20;
/// Most characters of one memo.
const MAX_CHARS: usize = 400;

/// Files that define how a project is built and checked. Those that exist are the basis of facts.
const MANIFESTS: [&str; 9] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "Makefile",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
];

/// The kind of a memo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoKind {
    /// Something about the workspace, such as a command that checks it.
    Fact,
    /// A decision of the user.
    Decision,
    /// The result of a request.
    Outcome,
}

impl MemoKind {
    /// Returns the kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Decision => "decision",
            Self::Outcome => "outcome",
        }
    }
}

/// A file's state when a memo was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The file.
    pub path: RepoPath,
    /// Hash of its content; `None` if it was deleted.
    pub hash: Option<FileHash>,
}

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memo {
    /// Its number in this workspace.
    pub id: u32,
    /// The kind.
    pub kind: MemoKind,
    /// The text.
    pub text: String,
    /// The files it rests on; none for a decision of the user.
    pub basis: Vec<Basis>,
    /// When it was written.
    pub at: String,
    /// The session it was written in.
    pub session: String,
}

/// Everything remembered about a workspace, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The memos.
    pub memos: Vec<Memo>,
}

/// Returns the path of a workspace's memory file.
pub fn file_of(places: &WorkspacePlaces) -> PathBuf {
    places.checkpoints.with_file_name("memory.json")
}

impl Memory {
    /// Reads the memory; empty if there is none yet. Blocks.
    pub fn read(file: &Path) -> io::Result<Self> {
        match regular::read_text(file, MAX_BYTES) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes the memory atomically. Blocks.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let dir = file.parent().unwrap_or(Path::new("."));
        regular::create_dir(dir)?;
        if let Ok(there) = fs::symlink_metadata(file)
            && !there.is_file()
        {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut fresh = tempfile::NamedTempFile::new_in(dir)?;
        fresh.write_all(&serde_json::to_vec_pretty(self)?)?;
        fresh.persist(file)?;
        Ok(())
    }

    /// Adds a memo, replacing an identical one. Beyond `most` memos, the oldest outcome is dropped first, then decisions,
    /// then facts.
    pub fn remember(&mut self, memo: Memo, most: usize) {
        let text: String = memo.text.chars().take(MAX_CHARS).collect();
        let id = self.memos.iter().map(|memo| memo.id).max().unwrap_or(0) + 1;
        self.memos.retain(|known| (known.kind, &known.text) != (memo.kind, &text));
        self.memos.push(Memo { id, text, ..memo });
        while self.memos.len() > most {
            let least = self.memos.iter().map(|memo| memo.kind).max();
            let oldest = self.memos.iter().position(|memo| Some(memo.kind) == least);
            self.memos.remove(oldest.unwrap_or(0));
        }
    }

    /// Returns the memo with this id.
    pub fn find(&mut self, id: u32) -> Option<&mut Memo> {
        self.memos.iter_mut().find(|memo| memo.id == id)
    }

    /// Renders memos for a model in at most `most` tokens: those that hold, except those of `session` itself. Those that
    /// share the most words with `request` come first, then the newest.
    pub fn told(
        &self,
        prompts: &Prompts,
        (session, request): (&str, &str),
        most: usize,
        holds: impl Fn(&Memo) -> bool,
    ) -> String {
        let (mut left, mut left_out) = (most, 0_usize);
        let wanted = words(request);
        let of_others = self.memos.iter().rev().filter(|memo| memo.session != session);
        let mut of_others: Vec<&Memo> = of_others.collect();
        of_others
            .sort_by_cached_key(|memo| Reverse(words(&memo.text).intersection(&wanted).count()));
        let lines = of_others.into_iter().filter(|memo| holds(memo)).filter_map(|memo| {
            let line = format!("- {}: {}", memo.kind.name(), memo.text);
            let Some(room) = left.checked_sub(estimate_tokens(&line)) else {
                left_out += 1;
                return None;
            };
            left = room;
            Some(line)
        });
        let mut lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            return String::new();
        }
        if left_out > 0 {
            lines.push(prompts.render(Prompt::MemoryLeftOut, &[("count", &left_out)]));
        }
        prompts.render(Prompt::Memory, &[("memos", &lines.join("\n"))])
    }
}

/// Returns the words of a text, in lower case; of a script without blanks, its characters.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let of = |word: &str| {
        let word = word.to_lowercase();
        if word.is_ascii() { vec![word] } else { word.chars().map(String::from).collect() }
    };
    words.flat_map(of).filter(|word| word.len() > 2).collect()
}

/// Returns true if the files that a memo rests on are unchanged. Blocks.
pub fn memo_holds(tree: &ReadTree, max_bytes: u64, memo: &Memo) -> bool {
    memo.basis.iter().all(|basis| hash_of(tree, max_bytes, &basis.path) == basis.hash)
}

/// Returns the current state of files, as the basis of a memo. Blocks.
fn basis_of(
    tree: &ReadTree,
    max_bytes: u64,
    paths: impl IntoIterator<Item = RepoPath>,
) -> Vec<Basis> {
    let basis = |path| Basis { hash: hash_of(tree, max_bytes, &path), path };
    paths.into_iter().map(basis).collect()
}

fn hash_of(tree: &ReadTree, max_bytes: u64, path: &RepoPath) -> Option<FileHash> {
    match tree.entry(path, max_bytes) {
        Ok(Entry::File(file)) => Some(FileHash::of(&file.bytes)),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memo(kind: MemoKind, text: &str, session: &str) -> Memo {
        let (text, session) = (text.to_owned(), session.to_owned());
        Memo { id: 0, kind, text, basis: Vec::new(), at: "now".to_owned(), session }
    }

    fn texts(memory: &Memory) -> Vec<&str> {
        memory.memos.iter().map(|memo| memo.text.as_str()).collect()
    }

    #[test]
    fn repeated_memos_are_kept_once_and_the_oldest_outcome_is_dropped_first() {
        let mut memory = Memory::default();
        for (kind, text) in [
            (MemoKind::Decision, "d"),
            (MemoKind::Outcome, "a"),
            (MemoKind::Fact, "f"),
            (MemoKind::Outcome, "b"),
            (MemoKind::Fact, "f"),
        ] {
            memory.remember(memo(kind, text, "s"), 3);
        }
        assert_eq!(texts(&memory), ["d", "b", "f"]);
        let ids: Vec<u32> = memory.memos.iter().map(|memo| memo.id).collect();
        assert_eq!(ids, [1, 4, 5]);
        memory.remember(memo(MemoKind::Fact, &"x".repeat(1_000), "s"), 9);
        assert_eq!(memory.memos.last().unwrap().text.len(), MAX_CHARS);
    }

    #[test]
    fn valid_memos_of_other_sessions_are_rendered_within_the_limit() {
        let mut memory = Memory::default();
        for (text, session) in [("old", "a"), ("mine", "b"), ("new", "a")] {
            memory.remember(memo(MemoKind::Outcome, text, session), 9);
        }
        let told = |most, holds: fn(&Memo) -> bool| {
            memory.told(&Prompts::default(), ("b", ""), most, holds)
        };
        let all = told(100, |_| true);
        assert!(all.contains("new") && all.contains("old") && !all.contains("mine"), "{all}");
        let few = told(5, |_| true);
        assert!(!few.contains("old") && few.contains("1 more"), "{few}");
        let about = memory.told(&Prompts::default(), ("b", "Why was the OLD one so?"), 5, |_| true);
        assert!(about.contains("old") && !about.contains("new"), "{about}");
        assert!(!told(100, |memo| memo.text != "new").contains("new"));
        assert_eq!(told(100, |_| false), "");
    }

    #[test]
    fn memory_survives_a_round_trip_and_memos_hold_while_their_files_are_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("below/memory.json");
        assert_eq!(Memory::read(&file).unwrap(), Memory::default());
        fs::write(dir.path().join("a.txt"), "one").unwrap();
        let tree = ReadTree::open(dir.path()).unwrap();
        let [there, gone] = ["a.txt", "gone.txt"].map(|path| RepoPath::parse(path).unwrap());
        let basis = basis_of(&tree, 100, [there, gone]);
        let mut memory = Memory::default();
        memory.remember(Memo { basis, ..memo(MemoKind::Outcome, "a", "s") }, 9);
        memory.write(&file).unwrap();
        let read = Memory::read(&file).unwrap();
        assert_eq!(read, memory);
        assert!(memo_holds(&tree, 100, &read.memos[0]));
        fs::write(dir.path().join("a.txt"), "two").unwrap();
        assert!(!memo_holds(&tree, 100, &read.memos[0]));
        fs::write(&file, "{").unwrap();
        assert!(Memory::read(&file).is_err());
    }
}
