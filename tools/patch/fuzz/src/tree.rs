//! A small in-memory tree with something of every kind in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use deepseek_patch::ApplyPlan;
use tree::{Entry, FileMode, FileState, Op, RepoPath, TreeError};

/// The entries by path; parent directories are not listed.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree(BTreeMap<RepoPath, Entry>);

/// `src/lib.rs` of the sample.
pub(super) const LIBRARY: &str = "//! Sums.\n\nuse std::fmt;\n\n/// A sum.\npub struct Sum {\n    total: u64,\n}\n\nimpl Sum {\n    /// Adds `n`.\n    pub(super) fn add(&mut self, n: u64) {\n        self.total += n;\n    }\n\n    /// All of it.\n    pub(super) fn total(&self) -> u64 {\n        self.total\n    }\n}\n\nimpl fmt::Display for Sum {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        write!(f, \"{}\", self.total)\n    }\n}\n";

/// The tree the seeds are written for.
pub(super) static SAMPLE: LazyLock<Tree> = LazyLock::new(|| {
    Tree::default()
        .file("src/lib.rs", LIBRARY)
        .file("Makefile", "all: build\n\tcargo build\n\ntest:\n\tcargo test\n\tcargo clippy\n")
        .file("README.md", "# Sums\n\nA \"sum\" - that's all.\n\n- fast\n- small")
        .file("windows.txt", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n")
        .file(
            "twins.py",
            "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n",
        )
        .file("empty", "")
        .file("nested", "here\n")
        .file("a/nested", "there\n")
        .file("with space/ünï.txt", "ä\nö\nü\n")
        .entry(
            "run.sh",
            Entry::File(FileState {
                bytes: "#!/bin/sh\necho run\n".into(),
                mode: FileMode::Executable,
            }),
        )
        .entry("binary", Entry::File(FileState { bytes: "a\0b\n".into(), mode: FileMode::Regular }))
        .entry("link", Entry::Symlink)
        .entry("pipe", Entry::Other)
        .entry("big", Entry::TooLarge { bytes: 9_999_999 })
});

impl Tree {
    /// Adds a file.
    #[must_use]
    pub(super) fn file(self, at: &str, text: &str) -> Tree {
        self.entry(
            at,
            Entry::File(FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }),
        )
    }

    fn entry(mut self, at: &str, entry: Entry) -> Tree {
        self.0.insert(path(at), entry);
        self
    }

    /// Returns what a real tree would have at `path`.
    pub(super) fn read(&self, path: &RepoPath) -> Result<Entry, TreeError> {
        for above in std::iter::successors(path.parent(), RepoPath::parent) {
            match self.0.get(&above) {
                None => {}
                Some(Entry::Symlink) => {
                    return Err(TreeError::ThroughSymlink { path: path.clone() });
                }
                Some(_) => return Err(TreeError::ParentNotDirectory { path: path.clone() }),
            }
        }
        let below = format!("{path}/");
        let is_directory = || self.0.keys().any(|other| other.as_str().starts_with(&below));
        let otherwise = || if is_directory() { Entry::Directory } else { Entry::Missing };
        Ok(self.0.get(path).cloned().unwrap_or_else(otherwise))
    }

    /// Returns the file at `path`, if it exists.
    pub(super) fn state(&self, path: &RepoPath) -> Option<FileState> {
        match self.0.get(path) {
            Some(Entry::File(state)) => Some(state.clone()),
            _ => None,
        }
    }

    /// Returns the tree with `plan` applied.
    #[must_use]
    pub(super) fn after(&self, plan: &ApplyPlan) -> Tree {
        let mut entries = self.0.clone();
        for change in &plan.changes {
            match &change.op {
                Op::Rename { from } => drop(entries.remove(from)),
                Op::Create | Op::Modify | Op::Delete => drop(entries.remove(&change.path)),
            }
        }
        let arrives =
            |change: &tree::Change| Some((change.path.clone(), Entry::File(change.after.clone()?)));
        entries.extend(plan.changes.iter().filter_map(arrives));
        Tree(entries)
    }

    /// Returns true if nothing is below a file.
    pub(super) fn is_sound(&self) -> bool {
        let above = |path: &RepoPath| {
            std::iter::successors(path.parent(), RepoPath::parent)
                .any(|above| self.0.contains_key(&above))
        };
        !self.0.keys().any(above)
    }
}

/// Parses a path that must be valid.
pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("a valid path")
}
