//! The card of a mission: what was found, what is to be done, what that may touch and cost. What is approved is its hash, so
//! that nothing of it can change afterwards. Values only.

use actors::delivery::Limit;
use actors::lane_id::LaneId;
use actors::ledger::Allowance;
use lanes::pattern::Pattern;
use serde::{Deserialize, Serialize};
use tree::{FileHash, RepoPath};

use crate::finding::{Confidence, Observation};

/// A group of findings, and of groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its number.
    pub id: u32,
    /// The group that it is part of; none of the uppermost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<u32>,
    /// What its findings say together.
    pub text: String,
    /// Its findings, by number.
    pub findings: Vec<u32>,
}

/// What a task does to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// It finds something out.
    Read,
    /// It changes files, in a lane of its own.
    Write,
}

impl TaskKind {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A part of what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubTask {
    /// Its name, which is that of its lane.
    pub id: LaneId,
    /// What it does to the workspace.
    pub kind: TaskKind,
    /// In a few words.
    pub title: String,
    /// What is to be done, or found out.
    pub goal: String,
    /// Files that it is given.
    pub reads: Vec<RepoPath>,
    /// What it may change.
    pub writes: Vec<Pattern>,
    /// Commands that it may run.
    pub commands: Vec<String>,
    /// What comes of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<String>,
    /// What has to hold in the end.
    pub acceptance: Vec<String>,
    /// Tasks that have to end before it begins.
    pub after: Vec<LaneId>,
    /// The model that does it.
    pub model: String,
}

/// From, to.
pub type Range = (u64, u64);

/// What carrying it out will take, as far as that can be told before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Model calls.
    pub calls: Range,
    /// Prompt and answer tokens.
    pub tokens: Range,
    /// Billionths of a dollar; unknown where a model has no price.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<Range>,
    /// Seconds.
    pub wall_seconds: Range,
}

/// How much of the workspace was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Files that were read.
    pub files_seen: usize,
    /// Files that could have been.
    pub files_total: usize,
    /// Bytes that were read.
    pub bytes_seen: u64,
    /// Bytes that could have been.
    pub bytes_total: u64,
}

/// What it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Capabilities {
    /// Files are changed.
    pub write: bool,
    /// Commands are run.
    pub shell: bool,
    /// Commands reach the network: never by a card.
    pub network: bool,
    /// Copies of the workspace are made to work in.
    pub worktree: bool,
}

/// What it may not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLimits {
    /// Calls, tokens and money of the run; absent where there is no limit.
    pub budget: Allowance,
    /// Seconds; zero is no limit.
    pub wall_seconds: u64,
    /// Questions that questions may ask in turn.
    pub max_depth: u32,
    /// Lanes and questions at work at once.
    pub max_subagents: u32,
}

/// The card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The run that researched it.
    pub mission_id: String,
    /// Counts from one: a card that the user wants otherwise is a new version.
    pub version: u32,
    /// What is wanted, in the user's words.
    pub goal: String,
    /// Groups of findings, those above first.
    pub groups: Vec<Group>,
    /// What was found.
    pub findings: Vec<Observation>,
    /// What is to be done.
    pub subtasks: Vec<SubTask>,
    /// Findings that something speaks against, by number.
    pub low_confidence: Vec<u32>,
    /// What it may do.
    pub capabilities: Capabilities,
    /// What it will take.
    pub estimate: Estimate,
    /// What it may not pass.
    pub limits: CardLimits,
    /// What was read for it.
    pub coverage: Coverage,
    /// Of everything that was read: what it rests on.
    pub base: FileHash,
    /// The limit that ended the research before its time, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<Limit>,
}

impl Card {
    /// What is approved.
    pub fn hash(&self) -> FileHash {
        FileHash::of(&self.to_json())
    }

    /// As it is recorded.
    pub fn to_json(&self) -> Vec<u8> {
        // A card has no form that could not be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// One of its tasks.
    pub fn task(&self, id: LaneId) -> Option<&SubTask> {
        self.subtasks.iter().find(|task| task.id == id)
    }

    /// Findings that something speaks against.
    pub fn doubted(findings: &[Observation]) -> Vec<u32> {
        let low = |finding: &&Observation| finding.confidence() == Confidence::Low;
        findings.iter().filter(low).map(|finding| finding.id).collect()
    }

    /// What another version may do that this one may not.
    pub fn widened_by(&self, other: &Self) -> Vec<Widening> {
        let own: Vec<Widening> = self.allowances().collect();
        other.allowances().filter(|it| !own.contains(it)).collect()
    }

    fn allowances(&self) -> impl Iterator<Item = Widening> {
        self.subtasks.iter().flat_map(|task| {
            let writes = task.writes.iter().map(|it| Widening::Write(it.as_str().to_owned()));
            writes.chain(task.commands.iter().cloned().map(Widening::Command))
        })
    }
}

/// Something that a card allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Widening {
    /// Changing what a pattern matches.
    Write(String),
    /// Running a command.
    Command(String),
}
