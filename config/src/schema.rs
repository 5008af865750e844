//! The shape of the configuration: one struct per table, every field documented in `defaults.toml`.
//!
//! Nothing here has a default. Defaults stand in `defaults.toml` only, so that what the program does unasked
//! can be read in one place.

mod routing;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use self::routing::{Router, RouterParts, RouterScale, RouterWeights, RouterWords};

/// Everything the program can be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which models are used, where they are, and what they cost.
    pub llm: Llm,
    /// The bounds of Architect → Editor → Apply → Verify.
    pub agent_loop: AgentLoop,
    /// When a question goes to the model that thinks longest.
    pub router: Router,
    /// What is done about a change once it is delivered.
    pub qa: Qa,
    /// What is remembered of a workspace from one session to the next.
    pub memory: MemoryBounds,
    /// How missions are researched.
    pub missions: Missions,
    /// How much a run may spend. Zero means no limit.
    pub budget: Budget,
    /// What may happen without asking.
    pub policy: Policy,
    /// How verification and other commands run.
    pub commands: Commands,
    /// How commands are confined.
    pub sandbox: SandboxSettings,
    /// Waits and queues that are not about the model.
    pub limits: Limits,
    /// What is kept to go back to.
    pub checkpoints: Checkpoints,
    /// How a task is worked on in lanes.
    pub lanes: Lanes,
    /// Workspaces whose own configuration may widen policy and set keys or base URLs.
    pub trust: Trust,
}

/// Models and the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Llm {
    /// Base URL of an OpenAI-compatible server; `/chat/completions` is appended.
    pub base_url: String,
    /// Name of the environment variable that holds the key.
    pub api_key_env: String,
    /// Whether models are offered tools to call where they answer questions; without, they look by lines of text.
    pub native_tools: bool,
    /// Seconds to establish a connection.
    pub connect_timeout_seconds: u64,
    /// Seconds until the first token, keep-alive comments notwithstanding.
    pub first_token_timeout_seconds: u64,
    /// Seconds without a single byte; once an answer has begun, without a piece of it.
    pub idle_timeout_seconds: u64,
    /// Seconds one attempt may take in all.
    pub call_timeout_seconds: u64,
    /// Bytes of one answer as it is sent, whatever they say.
    pub max_stream_bytes: u64,
    /// Retries of one call after transient failures.
    pub max_retries: u32,
    /// First back-off, in milliseconds; doubles with each retry.
    pub retry_base_ms: u64,
    /// Largest back-off, and largest `Retry-After` that is waited for, in milliseconds.
    pub retry_max_ms: u64,
    /// Model calls in flight at once, in this process.
    pub max_concurrent_calls: usize,
    /// Tokens of prompt and answer together that a model can hold.
    pub context_window_tokens: u64,
    /// Architect.
    pub max_think_model: ModelRole,
    /// Editor, analysis, chat.
    pub base_model: ModelRole,
    /// Intent and other short questions.
    pub flash_model: ModelRole,
    /// USD per million tokens, by model id.
    pub prices: BTreeMap<String, Price>,
    /// When the peak prices hold.
    pub peak: Peak,
}

/// A role a model is hired for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRole {
    /// Model id, passed through to the server.
    pub model: String,
    /// Whether the model thinks before it answers.
    pub thinking: bool,
    /// How hard it thinks; only sent when `thinking` is on.
    pub effort: Effort,
    /// Upper bound of the answer in tokens, reasoning included.
    pub max_output_tokens: u32,
}

/// Reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Short reasoning.
    Low,
    /// The provider's default.
    High,
    /// As long as it takes.
    Max,
}

/// Price of a model, USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens found in the provider's cache.
    pub hit: f64,
    /// Prompt tokens not found there.
    pub miss: f64,
    /// Answer tokens, reasoning included.
    pub output: f64,
    /// Factor on all three during the peak window.
    pub peak_factor: f64,
}

/// The peak window, in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Days on which the window opens: 1 is Monday, 7 is Sunday.
    pub weekdays: Vec<u8>,
    /// `HH:MM-HH:MM`, start inclusive, end exclusive.
    pub windows: Vec<String>,
    /// Dates without a peak, `YYYY-MM-DD`.
    pub holidays: Vec<String>,
}

/// Bounds of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentLoop {
    /// Verified attempts before the run gives up.
    pub max_iterations: u32,
    /// Repair turns after an unreadable plan.
    pub architect_parse_retries: u32,
    /// Repair turns after an unreadable draft.
    pub editor_parse_retries: u32,
    /// Files one plan may declare.
    pub max_files_per_iteration: usize,
    /// Checks one plan may name.
    pub max_checks_per_plan: usize,
    /// Largest file shown to or edited by the Editor.
    pub max_file_bytes: u64,
    /// Largest diff.
    pub max_diff_bytes: usize,
    /// Tokens of earlier turns that are told to the next one in full; older ones are told in a line each.
    pub conversation_tokens: usize,
    /// Tokens of evidence given to the Architect for a request.
    pub evidence_tokens: usize,
    /// Tokens of evidence given to a model that can look for more itself before it answers a question.
    pub question_tokens: usize,
    /// How long a request waits for the index of the workspace, in milliseconds.
    pub index_wait_ms: u64,
    /// Rounds of looks before the Architect, or the lane planner, must answer.
    pub max_look_rounds: u32,
    /// Commands that are tried for a model before it is answered.
    pub max_commands_per_look: usize,
    /// Questions that a model may ask the user in one request.
    pub max_user_questions: usize,
    /// Tokens of a change that is reviewed; what does not fit is named.
    pub review_tokens: usize,
    /// Tokens of what is shown in one round of looks.
    pub max_look_tokens: usize,
    /// Rounds of looks before the Editor must answer.
    pub max_context_requests_per_iteration: u32,
    /// Lines of one file shown at once; a longer file is shown in parts.
    pub max_context_range_lines: usize,
    /// First time limit of a verification command.
    pub verify_timeout_seconds: u64,
    /// Time limit of its second run, after the first was exceeded.
    pub verify_timeout_max_seconds: u64,
    /// Whether the commands are run on the untouched tree first.
    pub baseline: Baseline,
    /// What happens when a file changed since the Editor saw it.
    pub apply_strategy: ApplyStrategy,
    /// When failures count as the same.
    pub failure_classifier: FailureClassifier,
    /// When a patch needs an approval it would not need otherwise.
    pub safety_gate: SafetyGate,
}

/// Verification of the untouched tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// Applying waits for it.
    Wait,
    /// Used if it is there in time.
    Skip,
    /// Not run.
    Off,
}

/// What happens to a patch whose base went stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyStrategy {
    /// Refused where it touches the changed region, merged elsewhere.
    Auto,
    /// Always merged three ways.
    ThreeWay,
}

/// When failures count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureClassifier {
    /// The same fingerprint this often within one plan is a repeated failure.
    pub repeat_threshold: u32,
    /// Error sets at least this similar are not materially reduced.
    pub similarity_threshold: f64,
    /// Diagnostics that enter a fingerprint.
    pub fingerprint_lines: usize,
}

/// When a patch needs an approval it would not need otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SafetyGate {
    /// More files than this ask.
    pub max_files_without_approval: usize,
    /// More added and removed lines than this ask.
    pub max_loc_without_approval: usize,
}

/// What a run may spend; zero means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// US dollars, by the price table.
    pub usd: f64,
    /// Prompt and answer tokens.
    pub tokens: u64,
    /// Model calls, retries included.
    pub calls: u64,
    /// Wall time.
    pub wall_seconds: u64,
}

/// What may happen without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// How approvals are handled.
    pub approval: Approval,
    /// How far the run may go.
    pub mode: Mode,
    /// Commands that run without asking; `*` stands for any further words.
    pub allow_commands: Vec<String>,
    /// Variables that may be set for a listed command, to a plain value.
    pub allow_variables: Vec<String>,
    /// Options that listed commands may be given, by the words a command begins with.
    pub options: BTreeMap<String, Vec<String>>,
    /// Commands that never run. Wins over everything.
    pub deny_commands: Vec<String>,
    /// Files that are never read, as globs on the workspace-relative path.
    pub secret_files: Vec<String>,
    /// Files that other tools execute: patches to them are asked for under `auto`, too. Globs, likewise.
    pub executed_files: Vec<String>,
}

/// How approvals are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// Effects are shown and asked for.
    Suggest,
    /// Patches within the safety gate go ahead; what is larger, or wants more, is asked for.
    Auto,
    /// Nothing is asked: patches are staged, and no command is run.
    Never,
}

/// How far a run may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reads only; there is no execution path.
    Plan,
    /// Reads, edits and commands, under approvals.
    Agent,
    /// Everything not denied goes ahead without asking.
    Yolo,
    /// Edits are missions: researched, put on a card, and carried out once the card is approved. Beyond the card as an agent.
    Hetun,
}

/// What is done about a change once it is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qa {
    /// Whether a model reviews it. What it finds is told, and changes nothing: the delivery stands.
    pub enabled: bool,
}

/// What is remembered of a workspace from one session to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryBounds {
    /// Whether deliveries are remembered, and told to later requests.
    pub enabled: bool,
    /// Memos kept; what was done longest ago goes first.
    pub max_memos: usize,
    /// Tokens of what is told to a model.
    pub max_tokens: usize,
}

/// How missions are researched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missions {
    /// Whether what many questions have in common is sent alone first, so that the provider has it in its cache.
    pub prime: bool,
    /// Tokens from which on it is sent first.
    pub prime_tokens: usize,
    /// Tokens of files that one mission reads.
    pub source_tokens: usize,
    /// Tokens of files that questions have in common.
    pub common_tokens: usize,
    /// Lines of a passage that a question is about, at first.
    pub passage_lines: usize,
    /// Lines below which a passage is not divided any more.
    pub least_passage_lines: usize,
    /// Rounds of sampling, each with finer passages.
    pub max_levels: u32,
    /// Share of findings that have to be new, or sampling ends.
    pub plateau: f64,
    /// Small questions of one research.
    pub max_questions: usize,
    /// Share of the time of a run that is kept for the card.
    pub kept_time: f64,
    /// Tokens of the researcher's dialogue from which on it begins anew, with the findings alone.
    pub lead_tokens: usize,
    /// Claims that are checked.
    pub max_claims: usize,
    /// Programs that the researcher may write.
    pub max_programs: u32,
    /// Seconds that one program computes, in all.
    pub program_seconds: u64,
    /// Memory of one program, in megabytes.
    pub program_memory_mb: u64,
    /// Times that one program asks questions.
    pub program_batches: u32,
    /// Small questions of one program, in all.
    pub program_questions: u32,
    /// How deep programs may be within each other: 1 or 2.
    pub max_depth: u32,
    /// Rounds in which hypotheses are made and checked.
    pub hypothesis_rounds: u32,
    /// Times that a small question is asked again after an unreadable answer.
    pub question_retries: u32,
    /// Answers to small questions that are kept for a workspace.
    pub max_kept_answers: usize,
    /// Versions of a card that are made because the user wants it otherwise.
    pub max_versions: u32,
}

/// How commands run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Bytes of output kept from the start and from the end of a command, each.
    pub output_keep_bytes: usize,
    /// Bytes of output kept in the journal in all.
    pub output_journal_bytes: usize,
    /// Milliseconds between the polite and the final signal.
    pub kill_grace_ms: u64,
    /// Variables that commands see: names, or how names begin and `*`; of the latter none that looks secret.
    pub env: Vec<String>,
    /// What tools say that could not do their work, by tool.
    pub complaints: BTreeMap<String, Complaints>,
}

/// What a tool says that could not do its work: text of a line, in which `{}` stands for a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complaints {
    /// A package is missing.
    pub package: Vec<String>,
    /// A program is missing.
    pub program: Vec<String>,
    /// A service does not answer.
    pub service: Vec<String>,
    /// The network is out of reach.
    pub network: Vec<String>,
    /// Tests could not be built or collected, so that none of them failed.
    pub unbuilt: Vec<String>,
}

/// How commands are confined. Of paths, `~` is the home directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// How far.
    pub mode: SandboxMode,
    /// What becomes of commands where this machine lets them be confined only in part.
    pub floor: Floor,
    /// Whom commands reach.
    pub network: NetworkReach,
    /// Milliseconds that trying the walls may take.
    pub probe_timeout_ms: u64,
    /// Processes that a command may have at once.
    pub max_processes: u64,
    /// Bytes of a file that a command writes.
    pub max_file_bytes: u64,
    /// Bytes that a command may write to what is thrown away.
    pub scratch_bytes: u64,
    /// What commands may read outside the tree.
    pub read: Vec<String>,
    /// What they may not, though it lies there.
    pub hidden: Vec<String>,
    /// Tools that keep something in a directory of the user.
    pub tools: BTreeMap<String, UserTool>,
    /// Directories that builds write, by the file beside which they lie.
    pub built: BTreeMap<String, Vec<String>>,
}

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// As far as this machine can.
    Auto,
    /// With Landlock and seccomp alone.
    Floor,
    /// Not at all.
    Off,
}

/// What becomes of commands that are confined only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Floor {
    /// The user is asked once in a workspace.
    Ask,
    /// They run.
    Accept,
}

/// Whom commands reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkReach {
    /// Themselves.
    Own,
    /// Whom the user reaches.
    Host,
}

/// A tool that keeps something in a directory of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTool {
    /// The variable that names the directory; empty if there is none.
    pub variable: String,
    /// Where it is otherwise.
    pub home: String,
    /// What commands may read in it.
    pub read: Vec<String>,
    /// What seems to be written in it and is thrown away.
    pub layered: Vec<String>,
}

/// Waits and queues that are not about the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Events waiting for the journal.
    pub journal_queue: usize,
    /// Events waiting for the screen.
    pub screen_queue: usize,
    /// Seconds a role may take for one piece of work, model calls included.
    pub role_timeout_seconds: u64,
    /// Seconds an approval waits for an answer.
    pub approval_timeout_seconds: u64,
    /// Seconds a second process waits for the workspace.
    pub workspace_lock_timeout_seconds: u64,
    /// Seconds to wait for room when the disk of the journal is full.
    pub disk_full_timeout_seconds: u64,
    /// How long a resumed or replayed run may wait for the next recorded event before it counts as diverged, in seconds.
    pub replay_timeout_seconds: u64,
    /// Files looked at when the workspace is mapped and searched.
    pub max_workspace_files: usize,
    /// Larger files are not searched for what a request is about.
    pub max_indexed_file_bytes: u64,
}

/// Trust in workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Absolute paths of trusted workspaces.
    pub workspaces: Vec<String>,
}

/// What is kept to go back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// Checkpoints of a workspace; the oldest go first.
    pub max_count: usize,
    /// Bytes they may take beyond what the workspace's own repository has; the oldest go first.
    pub max_bytes: u64,
    /// Bytes of one file; larger ones are not kept, unless a patch changes them.
    pub max_file_bytes: u64,
}

/// How a task is worked on in lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// Whether tasks are split.
    pub mode: LaneMode,
    /// Lanes a task may be split into.
    pub max_lanes: usize,
    /// Lanes and other subagents at work at once, of [`SUBAGENTS`].
    pub max_subagents: u32,
    /// Points from which on a request looks large enough to be split.
    pub auto_threshold: u32,
    /// Times that a lane whose work conflicts is planned again.
    pub max_replans: u32,
    /// Ignored files and directories below the workspace that lanes get a copy of.
    pub share: Vec<String>,
    /// Bytes of one such directory that are copied, where they cannot be cloned.
    pub max_copied_bytes: u64,
    /// Days that the worktree of a failed lane is kept.
    pub keep_days: u32,
}

/// As many subagents can be at work at once.
pub const SUBAGENTS: RangeInclusive<u32> = 1..=20;

/// Whether tasks are split into lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneMode {
    /// Never.
    Off,
    /// When the request looks large and more than one lane comes of it.
    Auto,
    /// Whenever files are to be changed.
    On,
}
