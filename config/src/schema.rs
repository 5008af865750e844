//! The shape of the configuration: one struct per table, every field documented in `defaults.toml`.
//!
//! Nothing here has a default. Defaults are in `defaults.toml` only, so that one file shows how the program behaves
//! unconfigured.

mod routing;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use self::routing::{Router, RouterParts, RouterScale, RouterWeights, RouterWords};

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
    /// Workspaces whose own configuration may widen policy and set keys or base URLs.
    pub trust: Trust,
    /// The terminal.
    pub tui: Tui,
}

/// Models and the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Llm {
    /// Base URL of an OpenAI-compatible server; `/chat/completions` is appended.
    pub base_url: String,
    /// Name of the environment variable that holds the key.
    pub api_key_env: String,
    /// Whether models that answer questions are offered tool calls; otherwise they look things up with lines of text.
    pub native_tools: bool,
    /// Seconds to wait for a connection.
    pub connect_timeout_seconds: u64,
    /// Seconds to wait for the first token, keep-alive comments notwithstanding.
    pub first_token_timeout_seconds: u64,
    /// Seconds without a single byte; once the answer has begun, without a part of it.
    pub idle_timeout_seconds: u64,
    /// Seconds one attempt may take in total.
    pub call_timeout_seconds: u64,
    /// Bytes of one response body, whatever its content.
    pub max_stream_bytes: u64,
    /// Retries of one call after transient errors.
    pub max_retries: u32,
    /// First retry delay in milliseconds; doubles with each retry.
    pub retry_base_ms: u64,
    /// Longest retry delay, and longest `Retry-After` that is honored, in milliseconds.
    pub retry_max_ms: u64,
    /// Concurrent model calls of this process.
    pub max_concurrent_calls: usize,
    /// Context window of the models: tokens of prompt and answer together.
    pub context_window_tokens: u64,
    /// The Architect's model.
    pub max_think_model: ModelRole,
    /// The model of the Editor, analysis and chat.
    pub base_model: ModelRole,
    /// The model for intent and other short questions.
    pub flash_model: ModelRole,
    /// USD per million tokens, by model id.
    pub prices: BTreeMap<String, Price>,
    /// When the peak prices apply.
    pub peak: Peak,
}

/// The model of a role, with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRole {
    /// Model id, passed through to the server.
    pub model: String,
    /// Whether the model thinks before it answers.
    pub thinking: bool,
    /// How hard it thinks; only sent when `thinking` is on.
    pub effort: Effort,
    /// Maximum answer length in tokens, reasoning included.
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
    /// Prompt tokens not found in the cache.
    pub miss: f64,
    /// Answer tokens, reasoning included.
    pub output: f64,
    /// Factor on all three prices during the peak window.
    pub peak_factor: f64,
}

/// The peak window, in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Days with a peak window: 1 is Monday, 7 is Sunday.
    pub weekdays: Vec<u8>,
    /// `HH:MM-HH:MM`, start inclusive, end exclusive.
    pub windows: Vec<String>,
    /// Dates without a peak window, `YYYY-MM-DD`.
    pub holidays: Vec<String>,
}

/// Bounds of the agent loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentLoop {
    /// Attempts before the run gives up.
    pub max_iterations: u32,
    /// Requests for a corrected plan after an unreadable one.
    pub architect_parse_retries: u32,
    /// Requests for a corrected draft after an unreadable one.
    pub editor_parse_retries: u32,
    /// Files that one plan may declare.
    pub max_files_per_iteration: usize,
    /// Checks that one plan may name.
    pub max_checks_per_plan: usize,
    /// Largest file in bytes that is shown to the Editor or edited by it.
    pub max_file_bytes: u64,
    /// Largest diff in bytes.
    pub max_diff_bytes: usize,
    /// Tokens of earlier turns that the next turn is told. Beyond that, the oldest turns become a summary.
    pub conversation_tokens: usize,
    /// Tokens of evidence given to the Architect for a request.
    pub evidence_tokens: usize,
    /// Tokens of the project's instructions: of those in the root, and of those in directories below it.
    pub instruction_tokens: usize,
    /// Tokens of evidence given to a model that answers a question and can look up more by itself.
    pub question_tokens: usize,
    /// Milliseconds a request waits for the workspace index.
    pub index_wait_ms: u64,
    /// Rounds of lookups before the Architect, or the lane planner, must answer.
    pub max_look_rounds: u32,
    /// Commands that a model may try in one round of lookups.
    pub max_commands_per_look: usize,
    /// Questions a model may ask the user during one request.
    pub max_user_questions: usize,
    /// Tokens of a change that are reviewed; what does not fit is listed by name.
    pub review_tokens: usize,
    /// Tokens shown in one round of lookups.
    pub max_look_tokens: usize,
    /// Rounds of lookups before the Editor must answer.
    pub max_context_requests_per_iteration: u32,
    /// Lines of one file shown at once; a longer file is shown in parts.
    pub max_context_range_lines: usize,
    /// Seconds a verification command may take.
    pub verify_timeout_seconds: u64,
    /// Seconds a verification command may take when it is run again after exceeding the first limit.
    pub verify_timeout_max_seconds: u64,
    /// Whether the checks are run on the unchanged tree first.
    pub baseline: Baseline,
    /// What happens when a file changed since the Editor saw it.
    pub apply_strategy: ApplyStrategy,
    /// When failures count as the same.
    pub failure_classifier: FailureClassifier,
    /// When a patch needs approval because of its size.
    pub safety_gate: SafetyGate,
}

/// Whether and how the unchanged tree is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// The change is applied only after it has ended.
    Wait,
    /// Its result is used if it is ready in time.
    Skip,
    /// It is not run.
    Off,
}

/// What happens to a patch whose base is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyStrategy {
    /// Merged if the changes are at least a line apart.
    Auto,
    /// Merged also where the changes replace lines next to each other.
    ThreeWay,
}

/// When failures count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureClassifier {
    /// Occurrences of the same fingerprint within one plan that count as a repeated failure.
    pub repeat_threshold: u32,
    /// Similarity from which two sets of errors count as not materially reduced.
    pub similarity_threshold: f64,
    /// Diagnostics included in a fingerprint.
    pub fingerprint_lines: usize,
}

/// The patch size from which approval is needed even when approval is auto.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SafetyGate {
    /// Patches that touch more files than this need approval.
    pub max_files_without_approval: usize,
    /// Patches with more added and removed lines than this need approval.
    pub max_loc_without_approval: usize,
    /// A file counts if more of its lines than this change, or if it is created, deleted, moved or made executable.
    pub gate_lines_per_file: usize,
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

/// How commands run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Bytes of a command's output kept from its start and from its end, each.
    pub output_keep_bytes: usize,
    /// Bytes of output kept in the journal in total.
    pub output_journal_bytes: usize,
    /// Milliseconds between the polite signal and the final one.
    pub kill_grace_ms: u64,
    /// Variables that commands see: names, or prefixes followed by `*`; prefixes do not match names that look secret.
    pub env: Vec<String>,
    /// Lock files that commands update, by the manifest that they are made from.
    pub locks: BTreeMap<String, Vec<String>>,
    /// Messages of tools that could not do their work, by tool.
    pub complaints: BTreeMap<String, Complaints>,
}

/// Messages of a tool that could not do its work: text within a line, in which `{}` stands for a name. A tool that says
/// nothing of a kind has no list for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Complaints {
    /// A package is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub package: Vec<String>,
    /// A program is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<String>,
    /// A service does not respond.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<String>,
    /// The network is unreachable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// There is no display.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<String>,
    /// The sandbox does not allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confined: Vec<String>,
    /// The command itself names something that does not exist, such as a script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The machine failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    /// Tests could not be built or collected, so they did not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unbuilt: Vec<String>,
    /// The command that installs a missing package, in which `{}` stands for its name and `{fetch}` for the command
    /// that loads the packages of the project; empty if none does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cure: String,
}

/// A kind of project, known by its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectKind {
    /// Files that show such a project; `*` stands for any text.
    pub manifests: Vec<String>,
    /// Whether a directory with such a file is the project that its subdirectories belong to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_root: bool,
    /// Commands that run its tests, best first.
    pub tests: Vec<TestCommand>,
    /// Other commands that run them, as documents write them, without options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Commands that load packages with the network, each for the checks that begin with its program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetch: Vec<String>,
    /// The directory in the project that has the programs of its packages, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<String>,
}

/// A command that runs the tests of a project, and the conditions under which it can. Conditions on files are
/// `[!]PATH[: TEXT[|TEXT]…]`, with `*` in the last part of the path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TestCommand {
    /// The command for the root of the workspace; none if there is only one for directories below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The command for a directory below the root, which `{}` stands for; none if the tool has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Scripts of the manifest, of which the first that is there stands for `{script}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
    /// A target of the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Conditions that must all hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// Conditions of which one must hold; if there are none, that a manifest is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
}

/// How commands are confined. In paths, `~` is the home directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// How far commands are confined.
    pub mode: SandboxMode,
    /// What happens on a machine that can confine commands only in part.
    pub floor: Floor,
    /// The network that commands have.
    pub network: NetworkReach,
    /// Variables for commands with an isolated network.
    pub offline: BTreeMap<String, String>,
    /// Milliseconds that testing the sandbox may take.
    pub probe_timeout_ms: u64,
    /// Concurrent processes of a command.
    pub max_processes: u64,
    /// Size in bytes of any one file that a command writes.
    pub max_file_bytes: u64,
    /// Bytes of discarded files that a command may write.
    pub scratch_bytes: u64,
    /// Bytes of a tree that is copied to run commands which are confined only in part.
    pub copy_bytes: u64,
    /// Paths outside the tree that commands may read.
    pub read: Vec<String>,
    /// Paths that commands may not read, although they are below one of `read`.
    pub hidden: Vec<String>,
    /// Settings of the user's git that hold for commands.
    pub git: Vec<String>,
    /// Tools that keep files in a directory of the user.
    pub tools: BTreeMap<String, UserTool>,
    /// Directories that builds keep for later builds, by the file next to which they are.
    pub caches: BTreeMap<String, Vec<String>>,
    /// Directories that builds make anew, by the file next to which they are; `?` after a name means that it may also be
    /// that of sources.
    pub outputs: BTreeMap<String, Vec<String>>,
}

/// The mark after the name of an output that may also be the name of sources.
pub const OR_SOURCES: char = '?';

/// Returns true if a file has a name from a table of directories that builds write to. `*` at the start stands for
/// anything.
pub fn is_named(pattern: &str, name: &str) -> bool {
    pattern.strip_prefix('*').map_or(pattern == name, |ending| name.ends_with(ending))
}

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// As far as this machine can.
    Auto,
    /// With only Landlock and seccomp.
    Floor,
    /// Not at all.
    Off,
}

/// What happens to commands that are confined only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Floor {
    /// The user is asked once per workspace.
    Ask,
    /// They run.
    Accept,
}

/// The network that commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkReach {
    /// An isolated one: a command reaches only itself.
    Own,
    /// The user's network.
    Host,
}

/// A tool that keeps files in a directory of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTool {
    /// Variable that names the directory; empty if there is none.
    pub variable: String,
    /// The directory if the variable is not set.
    pub home: String,
    /// Paths in it that commands may read.
    pub read: Vec<String>,
    /// Paths in it that commands may write to; the changes are discarded.
    pub layered: Vec<String>,
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
