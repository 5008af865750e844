//! What may happen without asking. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What may happen without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// When approval is needed.
    pub approval: Approval,
    /// How far the run may go.
    pub mode: Mode,
    /// Commands that run without asking; a final `*` allows further words.
    pub allow_commands: Vec<String>,
    /// Variables that may be set to a plain value for a listed command.
    pub allow_variables: Vec<String>,
    /// Options allowed for listed commands, by the words a command begins with.
    pub options: BTreeMap<String, Vec<String>>,
    /// Commands that never run. Overrides everything else.
    pub deny_commands: Vec<String>,
    /// Files that are never read, as globs on the workspace-relative path.
    pub secret_files: Vec<String>,
    /// Files that other tools execute: patches to them need approval even under `auto`. Globs, as above.
    pub executed_files: Vec<String>,
}

/// When approval is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// Patches and unlisted commands are shown and need approval.
    Suggest,
    /// Patches within the safety gate are applied; larger patches, and other permissions, need approval.
    Auto,
    /// Nothing is asked: patches are staged, and no commands run.
    Never,
}

/// How far a run may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reads only; nothing can be executed.
    Plan,
    /// Reads, edits and commands, subject to approval.
    Agent,
    /// Everything that is not denied happens without asking.
    Yolo,
    /// Edits are missions: researched, described on a card, and carried out once the card is approved. Otherwise like
    /// `Agent`.
    Hetun,
}
