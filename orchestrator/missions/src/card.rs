//! The card of a mission: the findings, the tasks, and what they may touch and cost. Approval names the card's hash, so
//! nothing in it can change afterwards. Values only.

use actors::delivery::Limit;
use actors::lane_id::LaneId;
use actors::ledger::Allowance;
use lanes::pattern::Pattern;
use serde::{Deserialize, Serialize};
use tree::{FileHash, RepoPath};

use crate::finding::{Confidence, Observation};

/// A group of findings and of further groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The group's number.
    pub id: u32,
    /// The parent group; `None` at the top level.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<u32>,
    /// What its findings have in common, in words.
    pub text: String,
    /// Numbers of its findings.
    pub findings: Vec<u32>,
}

/// What a task does to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Only finds something out.
    Read,
    /// Changes files, in a lane of its own.
    Write,
}

impl TaskKind {
    /// Returns the kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A task of the mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubTask {
    /// The task's id, which is also that of its lane.
    pub id: LaneId,
    /// What it does to the workspace.
    pub kind: TaskKind,
    /// Short title.
    pub title: String,
    /// What to do, or to find out.
    pub goal: String,
    /// Files whose content it is given.
    pub reads: Vec<RepoPath>,
    /// Files it may change.
    pub writes: Vec<Pattern>,
    /// Commands it may run.
    pub commands: Vec<String>,
    /// The expected result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<String>,
    /// Criteria that must hold once it is done.
    pub acceptance: Vec<String>,
    /// Tasks that must end before it begins.
    pub after: Vec<LaneId>,
    /// The model for this task.
    pub model: String,
}

/// A range: least and most.
pub type Range = (u64, u64);

/// Estimated cost of carrying the card out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Model calls.
    pub calls: Range,
    /// Prompt and answer tokens.
    pub tokens: Range,
    /// Billionths of a dollar; `None` if a model has no price.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<Range>,
    /// Seconds.
    pub wall_seconds: Range,
}

/// How much of the workspace the research read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Files read.
    pub files_seen: usize,
    /// Files that could have been read.
    pub files_total: usize,
    /// Bytes read.
    pub bytes_seen: u64,
    /// Bytes that could have been read.
    pub bytes_total: u64,
}

/// What the mission may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate capability")]
pub struct Capabilities {
    /// May change files.
    pub write: bool,
    /// May run commands.
    pub shell: bool,
    /// Commands may use the network; no card ever allows this.
    pub network: bool,
    /// Works in copies of the workspace.
    pub worktree: bool,
}

/// Limits of the mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLimits {
    /// Calls, tokens and money of the run; each is absent if unlimited.
    pub budget: Allowance,
    /// Seconds; zero means no limit.
    pub wall_seconds: u64,
    /// How deeply questions may nest.
    pub max_depth: u32,
    /// Maximum number of lanes and questions at work at once.
    pub max_subagents: u32,
}

/// The card of a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The run that researched it.
    pub mission_id: String,
    /// Version of the card, from one; each requested change makes a new version.
    pub version: u32,
    /// The user's goal, in the user's words.
    pub goal: String,
    /// Groups of findings, parents first.
    pub groups: Vec<Group>,
    /// The findings.
    pub findings: Vec<Observation>,
    /// The tasks.
    pub subtasks: Vec<SubTask>,
    /// Numbers of findings with evidence against them.
    pub low_confidence: Vec<u32>,
    /// What the mission may do.
    pub capabilities: Capabilities,
    /// The estimated cost.
    pub estimate: Estimate,
    /// The limits of the mission.
    pub limits: CardLimits,
    /// How much was read for it.
    pub coverage: Coverage,
    /// Hash of everything that was read for it.
    pub base: FileHash,
    /// The limit that cut the research short, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<Limit>,
}

impl Card {
    /// Returns the hash that approval names.
    pub fn hash(&self) -> FileHash {
        FileHash::of(&self.to_json())
    }

    /// Returns the recorded form.
    pub fn to_json(&self) -> Vec<u8> {
        // Every card can be serialised.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Returns the task with this id.
    pub fn task(&self, id: LaneId) -> Option<&SubTask> {
        self.subtasks.iter().find(|task| task.id == id)
    }

    /// Returns the numbers of findings with evidence against them.
    pub fn doubted(findings: &[Observation]) -> Vec<u32> {
        let low = |finding: &&Observation| finding.confidence() == Confidence::Low;
        findings.iter().filter(low).map(|finding| finding.id).collect()
    }

    /// Returns what `other` allows and this card does not.
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

/// A permission that one card grants and another does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Widening {
    /// Changing files that match a pattern.
    Write(String),
    /// Running a command.
    Command(String),
}
