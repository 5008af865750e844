//! Patch sets as the journal keeps them: changes turned into events with their content, and back again.

use std::path::Path;

use actors::delivery::WAY_BACK;
use actors::event::{Event, StagedContent, StagedFile};
use serde::Serialize;
use tools::tree::{Change, FileState, Op};

use crate::journal::read::{ReadError, content};

/// A patch set of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StagedPatch {
    /// The session it was staged in.
    #[serde(skip)]
    pub session: String,
    /// Its id.
    #[serde(rename = "patch")]
    pub id: String,
    /// What it is, for people.
    pub title: String,
    /// What it changes.
    pub files: Vec<StagedFile>,
    /// Whether it is in the workspace.
    pub applied: bool,
}

impl StagedPatch {
    /// Whether it was staged for going back, after something failed.
    pub fn is_way_back(&self) -> bool {
        self.title.starts_with(WAY_BACK)
    }
}

/// The event of a change that may be applied.
pub(crate) fn staged_event(
    patch: &str,
    title: &str,
    changes: &[Change],
    repairs: Vec<String>,
) -> Event {
    let content = |state: &FileState| StagedContent::from(state.clone());
    let file = |change: &Change| {
        let (added, removed) = change.line_counts();
        let renamed_from = match &change.op {
            Op::Rename { from } => Some(from.clone()),
            Op::Create | Op::Modify | Op::Delete => None,
        };
        StagedFile {
            path: change.path.clone(),
            renamed_from,
            before: change.before.as_ref().map(content),
            after: change.after.as_ref().map(content),
            added,
            removed,
        }
    };
    Event::PatchStaged {
        patch: patch.to_owned(),
        title: title.to_owned(),
        files: changes.iter().map(file).collect(),
        repairs,
    }
}

/// The changes of a patch set, with their content read from the session directory `dir`.
pub fn changes(dir: &Path, patch: &StagedPatch) -> Result<Vec<Change>, ReadError> {
    let state = |content_of: &Option<StagedContent>| -> Result<Option<FileState>, ReadError> {
        let Some(staged) = content_of else { return Ok(None) };
        let bytes = content(dir, &staged.blob)?.into();
        Ok(Some(FileState { bytes, mode: staged.mode }))
    };
    let mut changes = Vec::new();
    for file in &patch.files {
        let (before, after) = (state(&file.before)?, state(&file.after)?);
        let op = match (&file.renamed_from, &before, &after) {
            (Some(from), ..) => Op::Rename { from: from.clone() },
            (None, None, _) => Op::Create,
            (None, Some(_), None) => Op::Delete,
            (None, Some(_), Some(_)) => Op::Modify,
        };
        changes.push(Change { path: file.path.clone(), op, before, after });
    }
    Ok(changes)
}
