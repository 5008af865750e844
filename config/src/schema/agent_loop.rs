//! Bounds of the loop Architect → Editor → Apply → Verify. Pure.

use serde::{Deserialize, Serialize};

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
    /// Files that one plan may declare without naming the lines that change.
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
    /// A workspace of at most this many tokens is shown to the Architect whole.
    pub small_tree_tokens: usize,
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
    /// Lines of one file shown to the Editor with a plan.
    pub max_place_lines: usize,
    /// Parts that one change may be planned in.
    pub max_parts: u32,
    /// Whether the Architect may write a small diff with its plan, in place of the Editor.
    pub draft_with_plan: bool,
    /// Maximum number of lines that such a diff adds and removes.
    pub draft_lines: usize,
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
