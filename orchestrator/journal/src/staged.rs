//! Patch sets as the journal keeps them, turned back into changes.

use std::path::Path;

use actors::delivery::StagedFor;
use actors::event::StagedFile;
use serde::Serialize;
use tools::tree::Change;

use crate::read::{ReadError, content};

/// A patch set of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StagedPatch {
    /// The session it was staged in.
    #[serde(skip)]
    pub session: String,
    /// Its id.
    #[serde(rename = "patch")]
    pub id: String,
    /// What it is for.
    pub purpose: StagedFor,
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
        self.purpose == StagedFor::WayBack
    }
}

/// The changes of a patch set, with their content read from the session directory `dir`.
pub fn changes(dir: &Path, files: &[StagedFile]) -> Result<Vec<Change>, ReadError> {
    let mut changes = Vec::new();
    for file in files {
        let mut file = file.clone();
        for staged in [&mut file.before, &mut file.after].into_iter().flatten() {
            staged.blob.content = content(dir, &staged.blob)?.into();
        }
        changes.push(file.change());
    }
    Ok(changes)
}
