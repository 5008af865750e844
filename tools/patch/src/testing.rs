//! A tree of values to try the engine on.

use std::collections::BTreeMap;

use tree::{Entry, FileMode, FileState, RepoPath, TreeError};

/// Entries by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Files(BTreeMap<RepoPath, Entry>);

impl Files {
    pub(super) fn file(self, at: &str, text: &str) -> Files {
        self.entry(
            at,
            Entry::File(FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }),
        )
    }

    pub(super) fn entry(mut self, at: &str, entry: Entry) -> Files {
        self.0.insert(path(at), entry);
        self
    }

    #[expect(clippy::unnecessary_wraps, reason = "the engine asks for a result")]
    pub(super) fn read(&self, path: &RepoPath) -> Result<Entry, TreeError> {
        Ok(self.0.get(path).cloned().unwrap_or(Entry::Missing))
    }
}

pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}
