//! The shape of the configuration: one struct per table, every field documented in `defaults.toml`.
//!
//! Nothing here has a default. Defaults are in `defaults.toml` only, so that one file shows how the program behaves
//! unconfigured.

mod agent_loop;
mod commands;
mod dialect;
mod eval;
mod mcp;
mod model;
mod policy;
mod routing;
mod sandbox;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use self::agent_loop::{AgentLoop, ApplyStrategy, Baseline, FailureClassifier, SafetyGate};
pub use self::commands::{Commands, Complaints, OnlyTests, ProjectKind, TestCommand};
pub use self::dialect::{
    Dialect, FinishReasons, Parameter, UsageFields, by_pattern, matches_pattern,
};
pub use self::eval::{Eval, ExerciseLanguage};
pub use self::mcp::{Mcp, McpServer};
pub use self::model::{Effort, ImageSettings, Llm, ModelRole, Peak, Price};
pub use self::policy::{Approval, Mode, Policy};
pub use self::routing::{
    Router, RouterAlone, RouterParts, RouterScale, RouterWeights, RouterWords,
};
pub use self::sandbox::{
    Floor, NetworkReach, OR_SOURCES, SandboxMode, SandboxSettings, UserTool, is_manifest,
};

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Models, where they are served, and their prices.
    pub llm: Llm,
    /// Bounds of the loop Architect → Editor → Apply → Verify.
    pub agent_loop: AgentLoop,
    /// When a question goes to `max_think_model`.
    pub router: Router,
    /// What happens after a change is delivered.
    pub qa: Qa,
    /// What is remembered about a workspace between sessions.
    pub memory: MemoryBounds,
    /// How missions are researched.
    pub missions: Missions,
    /// What a run may spend. Zero means no limit.
    pub budget: Budget,
    /// What may happen without asking.
    pub policy: Policy,
    /// How verification and other commands run.
    pub commands: Commands,
    /// Kinds of projects, and how each is tested.
    pub projects: BTreeMap<String, ProjectKind>,
    /// How commands are confined.
    pub sandbox: SandboxSettings,
    /// Timeouts and queue lengths other than those of the model.
    pub limits: Limits,
    /// Bounds of checkpoints.
    pub checkpoints: Checkpoints,
    /// How a task is split into lanes.
    pub lanes: Lanes,
    /// Tools of others, which servers of the Model Context Protocol provide.
    pub mcp: Mcp,
    /// How past commits and exercises are judged.
    pub eval: Eval,
    /// Workspaces whose own configuration may widen policy and set keys or base URLs.
    pub trust: Trust,
    /// The terminal.
    pub tui: Tui,
}

/// What a run may spend; zero means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// US dollars, estimated with the price table.
    pub usd: f64,
    /// Prompt and answer tokens.
    pub tokens: u64,
    /// Model calls, retries included.
    pub calls: u64,
    /// Answer tokens that models spend on thinking.
    pub reasoning_tokens: u64,
    /// Wall time in seconds.
    pub wall_seconds: u64,
}

/// What happens after a change is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qa {
    /// Whether a model reviews the change. Its findings are reported; the delivery stands either way.
    pub enabled: bool,
}

/// What is remembered about a workspace between sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryBounds {
    /// Whether deliveries are remembered and mentioned to models in later requests.
    pub enabled: bool,
    /// Memos kept; the oldest are dropped first.
    pub max_memos: usize,
    /// Tokens of memos shown to a model.
    pub max_tokens: usize,
}

/// How missions are researched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missions {
    /// Whether the common part of many questions is sent once in advance, so that the provider has it in its cache.
    pub prime: bool,
    /// Minimum length of the common part, in tokens, for it to be sent in advance.
    pub prime_tokens: usize,
    /// Tokens of files that one mission reads.
    pub source_tokens: usize,
    /// Tokens of files in the common part of questions.
    pub common_tokens: usize,
    /// Lines of a passage that a question is about, in the first round.
    pub passage_lines: usize,
    /// Passages are not divided into parts shorter than this many lines.
    pub least_passage_lines: usize,
    /// Rounds of sampling, each with smaller passages.
    pub max_levels: u32,
    /// Sampling ends when the share of new findings in a round is below this.
    pub plateau: f64,
    /// Child questions per research.
    pub max_questions: usize,
    /// Share of a run's wall time reserved for the card.
    pub kept_time: f64,
    /// Length of the researcher's dialogue, in tokens, above which it starts over with only the findings.
    pub lead_tokens: usize,
    /// The model that judges each claim after a child question did.
    pub verdict_model: String,
    /// Claims that are verified.
    pub max_claims: usize,
    /// Programs that the researcher may write.
    pub max_programs: u32,
    /// Seconds of computation per program in total.
    pub program_seconds: u64,
    /// Memory of one program in megabytes.
    pub program_memory_mb: u64,
    /// Batches of questions that one program may ask.
    pub program_batches: u32,
    /// Child questions per program in total.
    pub program_questions: u32,
    /// Nesting depth of programs: 1 or 2.
    pub max_depth: u32,
    /// Rounds of making and checking hypotheses.
    pub hypothesis_rounds: u32,
    /// Retries of a child question after an unreadable answer.
    pub question_retries: u32,
    /// Answers to child questions kept per workspace.
    pub max_kept_answers: usize,
    /// Versions of a card, counting revisions that the user asks for.
    pub max_versions: u32,
}

/// Timeouts and queue lengths other than those of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Events that may wait for the journal.
    pub journal_queue: usize,
    /// Events that may wait for the screen.
    pub screen_queue: usize,
    /// Seconds a role may take for one task, model calls included.
    pub role_timeout_seconds: u64,
    /// Seconds an approval prompt waits for an answer.
    pub approval_timeout_seconds: u64,
    /// Seconds a process waits for another one to release the workspace.
    pub workspace_lock_timeout_seconds: u64,
    /// Seconds to wait for free space when the disk of the journal is full and the request has already paid for answers.
    pub disk_full_timeout_seconds: u64,
    /// Seconds a resumed or replayed run may wait for the next recorded event before it is declared divergent.
    pub replay_timeout_seconds: u64,
    /// Seconds without an answer after which the log says who waits for whom, and again after as many more.
    pub stall_seconds: u64,
    /// Files of the workspace that are mapped and searched.
    pub max_workspace_files: usize,
    /// Size in bytes above which a file is not searched for what a request is about.
    pub max_indexed_file_bytes: u64,
}

/// Trusted workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Absolute paths of trusted workspaces.
    pub workspaces: Vec<String>,
}

/// The terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tui {
    /// Whether reviews, the transcript and the session picker use the alternate screen.
    pub alt_screen: AltScreen,
    /// Whether the mouse wheel scrolls there.
    pub mouse_capture: bool,
}

/// Whether the alternate screen is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AltScreen {
    /// If the terminal has one.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Bounds of checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// Checkpoints kept per workspace; the oldest are deleted first.
    pub max_count: usize,
    /// Bytes they may take in addition to the workspace's own repository; the oldest are deleted first.
    pub max_bytes: u64,
    /// Size in bytes above which a file is not saved in checkpoints, unless a patch changes it.
    pub max_file_bytes: u64,
}

/// How a task is split into lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// When tasks are split.
    pub mode: LaneMode,
    /// Maximum number of lanes per task.
    pub max_lanes: usize,
    /// Lanes and other subagents that work in parallel, within [`SUBAGENTS`].
    pub max_subagents: u32,
    /// Points from which a request looks large enough to be split.
    pub auto_threshold: u32,
    /// Times that a lane is planned again when its work conflicts with that of other lanes.
    pub max_replans: u32,
    /// Git-ignored files and directories of the workspace that are copied into each lane.
    pub share: Vec<String>,
    /// Bytes of one such directory that are copied if the file system cannot clone it.
    pub max_copied_bytes: u64,
    /// Days to keep a failed lane's worktree.
    pub keep_days: u32,
}

/// Bounds of the number of subagents that work in parallel.
pub const SUBAGENTS: RangeInclusive<u32> = 1..=20;

/// When tasks are split into lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneMode {
    /// Never.
    Off,
    /// When the request looks large and can be split into more than one lane.
    Auto,
    /// For every edit.
    On,
}
