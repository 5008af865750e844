//! The files of a tree as the author of a diff sees them: each is read once, and decoded if it is in another encoding. Pure.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use tools::encoding::{TextEncoding, decode};
use tree::{Entry, FileHash, FileState, RepoPath, TreeError};

use crate::plan::planner::Outcome;
use crate::plan::prepare::{BaseState, Current};
use crate::refusal::reasons::{PatchMismatch, Reason};

/// Reads files, decoded where the answer needs that.
pub(crate) struct Texts<'c> {
    current: &'c Current<'c>,
    /// True if files in other encodings are decoded.
    decodes: bool,
    seen: RefCell<BTreeMap<RepoPath, Seen>>,
}

/// A path as it was read: a plan is based on one state of the tree.
#[derive(Clone)]
struct Seen {
    entry: Entry,
    coded: Option<Coded>,
}

/// A file in another encoding than UTF-8.
#[derive(Clone)]
struct Coded {
    on_disk: FileState,
    encoding: TextEncoding,
}

impl<'c> Texts<'c> {
    /// Creates a reader for an answer. One that is not UTF-8 itself has the bytes of the files.
    pub(crate) fn new(answer: &[u8], current: &'c Current<'c>) -> Texts<'c> {
        let decodes = std::str::from_utf8(answer).is_ok();
        Texts { current, decodes, seen: RefCell::default() }
    }

    /// Returns the entry at a path, with the text of a file.
    pub(crate) fn entry(&self, path: &RepoPath) -> Result<Entry, TreeError> {
        Ok(self.look(path)?.entry)
    }

    /// Returns a base as its author saw it.
    pub(crate) fn base(&self, path: &RepoPath, base: &BaseState) -> BaseState {
        match base {
            BaseState::File { bytes: Some(bytes), .. } if self.decodes => match coded(bytes) {
                Some((text, _)) => BaseState::of(text),
                None => base.clone(),
            },
            BaseState::File { hash, bytes: None } => match self.look(path) {
                Ok(Seen { entry: Entry::File(text), coded: Some(coded) })
                    if *hash == coded.on_disk.hash() =>
                {
                    BaseState::File { hash: FileHash::of(&text.bytes), bytes: None }
                }
                Ok(_) | Err(_) => base.clone(),
            },
            BaseState::File { .. } | BaseState::Missing => base.clone(),
        }
    }

    /// Returns the file at `path`, whose text is `text`, as it is on disk.
    pub(crate) fn on_disk(&self, path: &RepoPath, text: FileState) -> FileState {
        match self.look(path) {
            Ok(Seen { coded: Some(Coded { on_disk, .. }), .. }) => on_disk,
            Ok(_) | Err(_) => text,
        }
    }

    /// Returns the bytes of a new text of the file that is at `path` now.
    pub(crate) fn encoded(&self, path: &RepoPath, text: Bytes) -> Outcome<Bytes> {
        let Ok(Seen { coded: Some(Coded { encoding, .. }), .. }) = self.look(path) else {
            return Ok(text);
        };
        let lacks = |why: String| {
            let mismatch = PatchMismatch::file(Reason::NotInEncoding, path.as_str());
            vec![mismatch.note(format!("The file is in {}, {why}.", encoding.name()))]
        };
        let text = std::str::from_utf8(&text).map_err(|_| lacks("and this is no text".into()))?;
        let bytes = encoding
            .encode(text)
            .map_err(|c| lacks(format!("which has no `{c}` (U+{:04X})", u32::from(c))))?;
        Ok(bytes.into())
    }

    fn look(&self, path: &RepoPath) -> Result<Seen, TreeError> {
        if let Some(seen) = self.seen.borrow().get(path) {
            return Ok(seen.clone());
        }
        let entry = (self.current)(path)?;
        let mut seen = Seen { entry, coded: None };
        if let Entry::File(on_disk) = &seen.entry
            && self.decodes
            && let Some((text, encoding)) = coded(&on_disk.bytes)
        {
            let on_disk = on_disk.clone();
            let entry = Entry::File(FileState { bytes: text, mode: on_disk.mode });
            seen = Seen { entry, coded: Some(Coded { on_disk, encoding }) };
        }
        self.seen.borrow_mut().insert(path.clone(), seen.clone());
        Ok(seen)
    }
}

/// Returns the text of a file that can be written back in its encoding, which is not UTF-8.
fn coded(bytes: &[u8]) -> Option<(Bytes, TextEncoding)> {
    let decoded = decode(bytes).filter(|it| it.is_exact && it.encoding.unusual().is_some())?;
    Some((decoded.text.into_owned().into(), decoded.encoding))
}
