//! Every kind of event in the journal. Values only; `actors::run::publisher` writes them.

use checks::failure_class::FailureClass;
use checks::outcome::{CheckOutcome, Findings, WrittenByCheck};
use checks::proof::OldTree;
use checks::wording::Wording;
use config::Mode;
use model::price::Usd;
use model::{AgentRole, ModelError, SpokenDialect, ToolChoice, Usage};
use patch::PutAside;
use sandbox::Degree;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolbox::OwnTool;
use tree::{FileHash, RepoPath, Settlement, TreeId};

use crate::amounts::{Allowance, Amount};
use crate::answered::ChildEnd;
use crate::autopilot::{AutopilotEnd, ChangedFile, WorkBounds};
use crate::breach::Breach;
use crate::delivery::{Delivery, Limit, Missing, Rollback, StagedFor, Verified};
use crate::fate::ChangeFate;
use crate::grammar::draft::NeededFile;
use crate::grammar::look::Look;
use crate::grammar::plan::{Leniency, Plan, StepMark};
use crate::grammar::review::Review;
use crate::lane_id::LaneId;
use crate::model_choice::{Assessment, ChoiceReason};
use crate::scope::Scope;
use crate::seen::SeenFile;
use crate::team::{EndedLane, Other, PlannedLane};
use crate::words::{
    AnsweredCard, CardAnswer, CompactedBy, DeniedBy, EffectToApprove, IntentBy, LackingServer,
    MissionPhase, ProgramEnd, RequestIntent, ResearchStep, Role, SessionState, Side, ToolCallEnd,
};
use crate::write_failure::WriteFailure;

mod blobs;
mod content;
mod decisions;
mod image;

pub use self::content::{Blob, StagedContent, StagedFile};
pub use self::decisions::Decisions;
pub use self::image::{ImageRead, NamedImage};

/// The version of request bodies, recorded prompts, and verdicts. Raise it for a change that gives a recorded run
/// another request body or verdict: a replay reuses those of older formats without comparing them. Rewording a prompt
/// is not such a change.
pub const FORMAT: u32 = 15;

/// The format of journals that do not name one.
const fn first_format() -> u32 {
    1
}

/// A position in the journal of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Id of the session.
    pub session: String,
    /// Sequence number of the event.
    pub seq: u64,
}

/// The terms of a model request. The user determines mode and reasoning, the stage its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTerms {
    /// The mode that the user chose.
    pub user_mode: Mode,
    /// True if the model reasons, as the user configured for the role.
    pub reasoning_enabled: bool,
    /// Number of tools that the stage offers.
    pub tool_count: usize,
    /// Whether the model may call them; absent if it may, and in events of earlier versions.
    #[serde(skip_serializing_if = "ToolChoice::is_auto", default)]
    pub tool_choice: ToolChoice,
    /// The dialect in which it is written; absent if it is that of DeepSeek with nothing left out.
    #[serde(skip_serializing_if = "SpokenDialect::is_usual", default)]
    pub dialect: SpokenDialect,
}

/// An event in the journal: its kind with a version, and its data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data")]
pub enum Event {
    /// A session started.
    #[serde(rename = "SessionStarted@v1")]
    SessionStarted {
        /// Absolute path of the workspace.
        workspace: String,
        /// Version of the program.
        version: String,
        /// The configuration of the session's runs, as TOML. Absent in journals of early versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        config: Option<Blob>,
        /// The prompts of the session's runs: a JSON object of names and texts. Absent in journals of early versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        prompts: Option<Blob>,
        /// Format version of the session's runs (`FORMAT`); 1 if absent.
        #[serde(default = "first_format")]
        format: u32,
        /// Salt of the masks that replace secrets in the session's runs; empty if absent.
        #[serde(default)]
        salt: String,
        /// The session and event that it was forked from; events up to that one are copies. Absent unless it is a fork.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        forked_from: Option<Origin>,
    },
    /// A session was continued by another process.
    #[serde(rename = "SessionContinued@v1")]
    SessionContinued {
        /// Version of the program.
        version: String,
        /// The configuration of runs that start from now on, as TOML.
        config: Blob,
        /// The prompts of runs that start from now on: a JSON object of names and texts. Absent in journals of early
        /// versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        prompts: Option<Blob>,
        /// Format version of runs that start from now on (`FORMAT`); 1 if absent.
        #[serde(default = "first_format")]
        format: u32,
        /// Salt of the masks that replace secrets in runs that start from now on; empty if absent.
        #[serde(default)]
        salt: String,
        /// Id of the run that had been interrupted; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        cut_short: Option<String>,
    },
    /// The user changed the configuration between two requests.
    #[serde(rename = "ConfigurationChanged@v1")]
    ConfigurationChanged {
        /// The configuration of runs that start from now on, as TOML.
        config: Blob,
    },
    /// The session changed its state.
    #[serde(rename = "SessionStateChanged@v1")]
    SessionStateChanged {
        /// The previous state.
        from: SessionState,
        /// The new state.
        to: SessionState,
    },
    /// An event would have caused an invalid change of state, so the state stayed the same. This indicates a bug.
    #[serde(rename = "TransitionRefused@v1")]
    TransitionRefused {
        /// The current state.
        from: SessionState,
        /// The state that was refused.
        to: SessionState,
    },
    /// A run started: the work on one request.
    #[serde(rename = "RunStarted@v1")]
    RunStarted {
        /// How the request is treated.
        intent: RequestIntent,
        /// The user's request.
        request: String,
    },
    /// A message was added to the conversation.
    #[serde(rename = "TurnAdded@v1")]
    TurnAdded {
        /// The author.
        speaker: Side,
        /// The text.
        text: String,
        /// The intent set by a flag or a command; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        intent: Option<RequestIntent>,
        /// An answer to a mission's card; absent if the message is not one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        card: Option<AnsweredCard>,
        /// For a step of an autopilot: what the models are told of the task and of earlier steps, in place of the
        /// conversation. Absent for other messages.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        course: Option<String>,
    },
    /// An autopilot began, or went on in another process.
    #[serde(rename = "AutopilotBegan@v1")]
    AutopilotBegan {
        /// The user's task.
        task: String,
        /// The command that passes once the task is done; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        until: Option<String>,
        /// The limits of the task.
        bounds: WorkBounds,
        /// The configuration that the steps are taken with, as TOML, before it is narrowed to what is left of the limits.
        config: Blob,
    },
    /// The steering model was asked for the next step. The question belongs to the autopilot's own dialogue, not to the
    /// conversation.
    #[serde(rename = "AutopilotAsked@v1")]
    AutopilotAsked {
        /// The user's task.
        task: String,
        /// True if a new dialogue begins with this question.
        opens: bool,
        /// The command without which the task is not done; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        until: Option<String>,
        /// Hash of the diagnostics that the command printed before the question; absent if it printed none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        failure: Option<FileHash>,
        /// What the question adds to the dialogue.
        said: String,
    },
    /// The steering model gave a usable answer.
    #[serde(rename = "AutopilotAnswered@v1")]
    AutopilotAnswered {
        /// The whole message that the answer replies to: the question, and for the first of a dialogue what precedes it.
        told: Blob,
        /// The answer.
        answer: String,
    },
    /// A step of an autopilot has ended. If it was not delivered, its changes have been undone.
    #[serde(rename = "AutopilotStepTaken@v1")]
    AutopilotStepTaken {
        /// The step.
        step: String,
        /// How it ended.
        delivery: Delivery,
        /// True if the step was kept: it was delivered and changed something.
        stays: bool,
        /// The files that it changed, if it was kept.
        files: Vec<ChangedFile>,
        /// What it used, including the question that chose the step, in calls of known cost.
        spent: Amount,
        /// The most that the other calls can have used. Absent if there are none.
        #[serde(skip_serializing_if = "Amount::is_zero", default)]
        spent_unknown: Amount,
        /// Number of steps planned after it.
        to_come: usize,
        /// The working time so far, in milliseconds.
        worked_ms: u64,
    },
    /// An autopilot was paused.
    #[serde(rename = "AutopilotPaused@v1")]
    AutopilotPaused {
        /// The working time so far, in milliseconds.
        worked_ms: u64,
    },
    /// An autopilot ended.
    #[serde(rename = "AutopilotEnded@v1")]
    AutopilotEnded {
        /// Why.
        end: AutopilotEnd,
        /// The working time so far, in milliseconds.
        worked_ms: u64,
    },
    /// The changes of earlier turns were looked up: in the workspace, its checkpoints, and the user's last commit.
    #[serde(rename = "EarlierChangesFound@v1")]
    EarlierChangesFound {
        /// What became of them; changes that just stand are left out.
        fates: Vec<ChangeFate>,
    },
    /// The oldest turns of the conversation were replaced in prompts by a summary.
    #[serde(rename = "ConversationCompacted@v1")]
    ConversationCompacted {
        /// Number of turns that are summarized, from the first.
        turns: usize,
        /// What caused it.
        by: CompactedBy,
        /// Estimated tokens of the conversation before.
        before: usize,
        /// Estimated tokens of the conversation after.
        after: usize,
        /// The summary.
        summary: Blob,
    },
    /// It was decided how a message is treated.
    #[serde(rename = "IntentDecided@v1")]
    IntentDecided {
        /// How the message is treated.
        intent: RequestIntent,
        /// How that was determined.
        reason: IntentBy,
    },
    /// A model was chosen for an answer outside the edit loop.
    #[serde(rename = "RouterDecision@v2")]
    RouterDecision {
        /// 1 for the first decision on a question, 2 for the decision after a small model was asked.
        decision_id: u32,
        /// The role that asks.
        role: AgentRole,
        /// Id of the chosen model.
        selected_model: String,
        /// True if the model reasons.
        thinking: bool,
        /// The basis of the choice.
        assessment: Assessment,
        /// SHA-256 of the messages to be sent, as JSON, in hexadecimal digits.
        prompt_hash: String,
        /// Hash of the schemas of the tools that the model may call; `null` if none are offered.
        tool_schema_hash: Option<String>,
        /// Maximum number of tokens of the answer.
        max_tokens: u32,
    },
    /// The role's own model gave no usable answer, so the long-thinking model is asked once.
    #[serde(rename = "RouterEscalation@v1")]
    RouterEscalation {
        /// The role that asks.
        role: AgentRole,
        /// Why the question was escalated.
        reason_codes: Vec<ChoiceReason>,
        /// Id of the model that was asked before.
        from: String,
        /// Id of the model that is asked now.
        to: String,
    },
    /// The images that the request names were read.
    #[serde(rename = "ImagesRead@v1")]
    ImagesRead {
        /// The images, in the order in which they are named.
        images: Vec<NamedImage>,
        /// Id of the model that would see them first, if it takes no images. Absent if it does.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        unseen_by: Option<String>,
    },
    /// Evidence for the request was gathered from the workspace.
    #[serde(rename = "EvidenceGathered@v1")]
    EvidenceGathered {
        /// The passages found, each as `path:first-last hash`.
        items: Vec<String>,
        /// What was left out, and why.
        omitted: Vec<String>,
        /// True if a search did not finish in time: in earlier commits, definitions or the full text. Absent if false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// Estimated size of `text` in tokens.
        tokens: usize,
        /// The evidence as it appears in prompts.
        text: Blob,
        /// The description of the workspace that precedes the evidence in prompts, the same for every request. Absent
        /// if empty.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        workspace: Option<Blob>,
        /// The earlier conversation as it appears in prompts. Absent if empty.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        earlier: Option<Blob>,
    },
    /// Files that a decision depends on were read. Files are left out if they are unchanged since the journal last
    /// recorded them, as read or as written by this run.
    #[serde(rename = "FilesRead@v1")]
    FilesRead {
        /// The paths, with what was found at each.
        files: Vec<SeenFile>,
        /// Programs that were looked for and are not installed; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        missing_programs: Vec<String>,
    },
    /// The Architect was asked for a plan.
    #[serde(rename = "ArchitectStarted@v1")]
    ArchitectStarted {
        /// Number of the attempt, from one.
        iteration: u32,
    },
    /// The Architect finished.
    #[serde(rename = "ArchitectCompleted@v1")]
    ArchitectCompleted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// True if there is a plan.
        planned: bool,
    },
    /// An answer of the Architect broke its contract.
    #[serde(rename = "PlanRefused@v1")]
    PlanRefused {
        /// The line and the rule that it breaks.
        error: Wording,
    },
    /// Some checks of a plan are useless: policy denies them, they need approval and the user is absent, or their
    /// program is missing, or the Architect tried them and they lacked something; or they prove nothing, and neither
    /// does any other. The Architect is told, but of what is missing only if other checks would run, and of checks that
    /// prove nothing only if none can be derived.
    #[serde(rename = "ChecksBarred@v1")]
    ChecksBarred {
        /// Checks that would not be run, as written.
        commands: Vec<String>,
        /// Programs of these checks that are not installed; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        missing: Vec<String>,
        /// Of these checks, those that were tried and lacked something, with what they lacked; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        lacking: Vec<(String, Missing)>,
        /// Checks that would run but prove nothing, if the plan has no others; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        vacuous: Vec<String>,
        /// The confinement of commands, on which policy depends.
        confined: Degree,
    },
    /// The first plan of a run.
    #[serde(rename = "PlanCreated@v1")]
    PlanCreated {
        /// Always 1.
        version: u32,
        /// The plan.
        plan: Plan,
        /// Where the parser was lenient.
        tolerances: Vec<Leniency>,
    },
    /// A later plan of a run.
    #[serde(rename = "PlanRevised@v1")]
    PlanRevised {
        /// Number of the plan, from two.
        version: u32,
        /// The plan.
        plan: Plan,
        /// Where the parser was lenient.
        tolerances: Vec<Leniency>,
    },
    /// A step of a plan was completed or abandoned. A plan is carried out by one change; a step that names files which
    /// the change does not touch is told apart.
    #[serde(rename = "StepMarked@v1")]
    StepMarked {
        /// Number of the plan.
        plan: u32,
        /// Number of the step, from one.
        step: usize,
        /// The result.
        mark: StepMark,
    },
    /// The Editor's turn began: it is asked for a diff, or its diff came with the plan.
    #[serde(rename = "EditorStarted@v1")]
    EditorStarted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// Number of the Architect's call whose answer has the diff as well. Absent if the Editor is asked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        call: Option<u64>,
    },
    /// The Editor's turn ended.
    #[serde(rename = "EditorCompleted@v1")]
    EditorCompleted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// True if there is a diff.
        drafted: bool,
        /// As in the event of its beginning.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        call: Option<u64>,
    },
    /// A diff came with a plan and is not used, so the Editor is asked.
    #[serde(rename = "DraftPassedOver@v1")]
    DraftPassedOver {
        /// Number of the call whose answer has it.
        call: u64,
        /// Why it is not used.
        why: Wording,
    },
    /// An answer of the Editor broke its contract.
    #[serde(rename = "DraftRefused@v1")]
    DraftRefused {
        /// The line and the rule that it breaks.
        error: Wording,
    },
    /// An answer was cut at its limit. What it has of some files arrived whole and is kept, and the rest is asked for.
    #[serde(rename = "AnswerCut@v1")]
    AnswerCut {
        /// The role that asked.
        role: AgentRole,
        /// The limit, in tokens.
        most: u32,
        /// The files that are kept.
        kept: Vec<String>,
    },
    /// A model asked to see something before it answers, in lines of text.
    #[serde(rename = "Looked@v1")]
    Looked {
        /// The role that asked.
        role: AgentRole,
        /// What it asked to see.
        looks: Vec<Look>,
        /// Where the parser was lenient; absent if nowhere.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        tolerances: Vec<Leniency>,
        /// What was not shown, and why.
        refused: Vec<Wording>,
        /// The answer to the model; absent in events of early versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        told: Option<Blob>,
    },
    /// A model was shown the project's instructions for directories that it looked into or that its plan changes.
    #[serde(rename = "InstructionsRead@v1")]
    InstructionsRead {
        /// The role.
        role: AgentRole,
        /// The files.
        files: Vec<RepoPath>,
        /// What was not shown, and why.
        omitted: Vec<String>,
        /// The message to the model.
        told: Blob,
    },
    /// A model called a tool.
    #[serde(rename = "ToolResult@v1")]
    ToolResult {
        /// The role that called it.
        role: AgentRole,
        /// Id of the tool call in the model's answer.
        call: String,
        /// Name of the tool, as the model wrote it.
        tool: String,
        /// The arguments, as the model wrote them, with secrets masked.
        arguments: String,
        /// True if the call succeeded.
        ok: bool,
        /// The result as the model sees it, as JSON: `{ok, value}` or `{ok, error}`.
        told: Blob,
    },
    /// Tools were found in a trusted workspace, which models may call.
    #[serde(rename = "ToolsFound@v1")]
    ToolsFound {
        /// The tools.
        tools: Vec<OwnTool>,
    },
    /// Tools of servers were found, which models may call.
    #[serde(rename = "ServerToolsFound@v1")]
    ServerToolsFound {
        /// The names of the tools of approved servers.
        tools: Vec<String>,
        /// Their definitions, as JSON: a list of `ServerTool`.
        definitions: Blob,
        /// The servers that cannot be used.
        unusable: Vec<LackingServer>,
    },
    /// A tool of a server is called.
    #[serde(rename = "ServerToolCalled@v1")]
    ServerToolCalled {
        /// The role that calls it.
        role: AgentRole,
        /// The server.
        server: String,
        /// The name of the tool for models.
        tool: String,
        /// The arguments, with secrets masked, as they are sent.
        arguments: String,
    },
    /// A call of a server's tool ended.
    #[serde(rename = "ServerToolAnswered@v1")]
    ServerToolAnswered {
        /// The server.
        server: String,
        /// The name of the tool for models.
        tool: String,
        /// How it ended.
        end: ToolCallEnd,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// The whole answer, or why there is none, with secrets masked.
        told: Blob,
    },
    /// A model asked the user what a request means, or a server what it needs for a call.
    #[serde(rename = "UserAsked@v1")]
    UserAsked {
        /// The role that asked.
        role: AgentRole,
        /// The question.
        question: String,
    },
    /// The user answered the question of a model or a server, or was absent.
    #[serde(rename = "UserAnswered@v1")]
    UserAnswered {
        /// The answer; absent if there was none, empty if a server's question was left empty.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<String>,
    },
    /// The user sent a message to the active run.
    #[serde(rename = "UserSaid@v1")]
    UserSaid {
        /// The message.
        words: String,
    },
    /// Messages of the user were passed on with the next model call.
    #[serde(rename = "UserSteered@v1")]
    UserSteered {
        /// The messages, in order.
        words: Vec<String>,
    },
    /// The change to be reviewed was read.
    #[serde(rename = "DiffRead@v1")]
    DiffRead {
        /// The arguments of `git diff`; empty for uncommitted changes.
        of: String,
        /// The diff; empty if it could not be read.
        diff: Blob,
        /// Why it could not be read; absent if it was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        failed: Option<Wording>,
    },
    /// A model tried a command before it answered.
    #[serde(rename = "CommandTried@v1")]
    CommandTried {
        /// The role that asked.
        role: AgentRole,
        /// The command, as written.
        command: String,
        /// Its exit status: `exit 1`, `signal 9`, `timed out`, …
        exit: String,
        /// True if it did not succeed; absent if false, and in events of early versions.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        failed: bool,
        /// Duration in milliseconds.
        elapsed_ms: u64,
        /// How far it was confined.
        confined: Degree,
        /// A prerequisite outside the code for want of which it failed; absent if none was recognized.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        missing: Option<Missing>,
        /// Number of secrets that were masked in the output; absent if zero.
        #[serde(skip_serializing_if = "checks::outcome::is_zero", default)]
        masked: usize,
        /// The output.
        output: Blob,
    },
    /// An answer to a question of the user was unusable.
    #[serde(rename = "AnswerRefused@v1")]
    AnswerRefused {
        /// What was wrong with it.
        error: Wording,
    },
    /// A model gave the same answer again and again, with nothing new between; it is not asked again.
    #[serde(rename = "AnswerRepeated@v1")]
    AnswerRepeated {
        /// The role that was asked.
        role: AgentRole,
        /// How often it gave the answer.
        times: usize,
    },
    /// The Editor cannot write the diff within the plan; the Architect has to revise it.
    #[serde(rename = "FilesNeeded@v1")]
    FilesNeeded {
        /// The files that the plan lacks.
        files: Vec<NeededFile>,
    },
    /// The Editor says that the applied changes suffice.
    #[serde(rename = "EditorDone@v1")]
    EditorDone {
        /// The Editor's reason.
        reason: Wording,
    },
    /// Applying a diff started.
    #[serde(rename = "ApplyStarted@v1")]
    ApplyStarted {
        /// Number of the attempt, from one.
        iteration: u32,
    },
    /// A diff was applied or refused.
    #[serde(rename = "ApplyCompleted@v1")]
    ApplyCompleted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// True if the change is in the tree.
        applied: bool,
    },
    /// A diff does not apply; nothing was written.
    #[serde(rename = "PatchRefused@v1")]
    PatchRefused {
        /// The reasons, each as `file: hunk: reason`.
        reasons: Vec<Wording>,
        /// The message to the model.
        feedback: Wording,
    },
    /// A patch set was validated and staged. It may be applied now, or by the user later.
    #[serde(rename = "PatchStaged@v2")]
    PatchStaged {
        /// Id of the patch set.
        patch: String,
        /// Why it is staged.
        purpose: StagedFor,
        /// A title: `iteration 2`, `back to the start`, …
        title: Wording,
        /// The changed files.
        files: Vec<StagedFile>,
        /// Where the diff was read leniently.
        repairs: Vec<Wording>,
        /// Sections of the diff that were left out because their files are not in the plan; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        put_aside: Vec<PutAside>,
        /// Id of the patch set of which the user accepted only this part; absent if this is not a part.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        part_of: Option<String>,
    },
    /// A checkpoint was created: the state of the workspace before a patch set is applied, for restoring it.
    #[serde(rename = "CheckpointCreated@v1")]
    CheckpointCreated {
        /// Number of the checkpoint in the workspace, for `deepseek rewind`.
        checkpoint: u64,
        /// Id of the patch set that follows.
        patch: String,
        /// Number of files in the checkpoint.
        files: usize,
        /// Files that are not in it because they are too large or unreadable.
        left_out: Vec<RepoPath>,
    },
    /// A staged patch set is about to be written. If neither `PatchApplied` nor `PatchNotApplied` follows, a crash
    /// intervened; the next session in the workspace settles it.
    #[serde(rename = "PatchCommitting@v1")]
    PatchCommitting {
        /// Id of the patch set.
        patch: String,
    },
    /// A staged patch set was written to the workspace.
    #[serde(rename = "PatchApplied@v1")]
    PatchApplied {
        /// Id of the patch set.
        patch: String,
    },
    /// A patch set could not be written; nothing in the workspace was changed.
    #[serde(rename = "PatchNotApplied@v1")]
    PatchNotApplied {
        /// Id of the patch set.
        patch: String,
        /// Why it could not be written.
        why: WriteFailure,
    },
    /// A commit that a crash had interrupted was completed or undone. It may belong to another session.
    #[serde(rename = "CommitSettled@v1")]
    CommitSettled {
        /// Id of its patch set.
        patch: String,
        /// `completed`, `taken_back`, or `stuck` if neither is possible any more.
        outcome: Settlement,
        /// Paths that another process has changed since; they were left unchanged.
        left: Vec<RepoPath>,
    },
    /// The user was asked to approve an effect.
    #[serde(rename = "ApprovalAsked@v1")]
    ApprovalAsked {
        /// Id of the question.
        ask: String,
        /// The effect.
        action: EffectToApprove,
        /// Why it needs approval.
        why: Wording,
    },
    /// The user approved an effect.
    #[serde(rename = "ApprovalGiven@v1")]
    ApprovalGiven {
        /// Id of the question.
        ask: String,
        /// Files that the user left out of the change; the accepted part is staged as a patch set of its own. Absent if
        /// there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        left_out: Vec<RepoPath>,
        /// The user's reason for leaving them out, for the model; absent if none was given.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        said: Option<String>,
    },
    /// An effect was denied by the user, by policy, or because the user was absent.
    #[serde(rename = "ApprovalDenied@v1")]
    ApprovalDenied {
        /// Id of the question; absent if none was asked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        ask: Option<String>,
        /// The effect.
        action: EffectToApprove,
        /// Who or what denied it.
        by: DeniedBy,
        /// The reason.
        why: Wording,
        /// The user's objection, for the model; absent if none was given.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        said: Option<String>,
    },
    /// Verification started.
    #[serde(rename = "VerifyStarted@v1")]
    VerifyStarted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// The commands to be run.
        commands: Vec<String>,
        /// True if they were derived from the project's files, because the plan names none.
        derived: bool,
    },
    /// Checking the untouched tree took too long and is no longer waited for: from now on, every failure counts as new.
    #[serde(rename = "BaselineSkipped@v1")]
    BaselineSkipped {
        /// Number of the attempt, from one.
        iteration: u32,
    },
    /// The checks passed and were run once more in a copy, which has the tree before the change and the tests of the
    /// change.
    #[serde(rename = "OldTreeTested@v1")]
    OldTreeTested {
        /// The new and changed tests.
        tests: Vec<RepoPath>,
        /// The command that decided the outcome, or the last one that ran.
        command: String,
        /// Whether the tests fail there.
        outcome: OldTree,
        /// The command's exit status: `exit 1`, `signal 9`, `timed out`, …
        exit: String,
        /// Duration in milliseconds.
        elapsed_ms: u64,
        /// The output.
        output: Blob,
    },
    /// Verification finished.
    #[serde(rename = "VerifyCompleted@v1")]
    VerifyCompleted {
        /// Number of the attempt, from one.
        iteration: u32,
        /// The outcome of all commands together.
        outcome: CheckOutcome,
    },
    /// After the checks, files of the project were not as before them.
    #[serde(rename = "CheckedTreeChanged@v1")]
    CheckedTreeChanged {
        /// Files that something else changed meanwhile; the checks are run again, once.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        moved: Vec<String>,
        /// Files that a check changed. The changes are discarded, and later checks run again without them.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        written: Vec<WrittenByCheck>,
        /// Lock files that a check updated, because the change touches what they are made from.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        locks: Vec<StagedFile>,
    },
    /// A check was run.
    #[serde(rename = "VerificationRun@v1")]
    VerificationRun {
        /// The command, as written.
        command: String,
        /// True if it ran on the untouched tree.
        baseline: bool,
        /// The outcome.
        outcome: CheckOutcome,
        /// The exit status: `exit 1`, `signal 9`, `timed out`, …
        exit: String,
        /// Duration in milliseconds.
        elapsed_ms: u64,
        /// The output.
        output: Blob,
        /// What was extracted from the output; absent in events of early versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        findings: Option<Findings>,
    },
    /// A failure was classified.
    #[serde(rename = "FailureClassified@v1")]
    FailureClassified {
        /// Its class.
        class: FailureClass,
        /// Number of distinct errors.
        errors: usize,
    },
    /// A model call is about to be made.
    #[serde(rename = "ModelRequest@v1")]
    ModelRequest {
        /// Number of the call in its scope, from one. A retry has a number of its own.
        call: u64,
        /// The role that asks.
        role: AgentRole,
        /// Id of the session. In events copied by a fork it is that of the original session. Absent in events of
        /// earlier versions.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        conversation: String,
        /// Id of the model.
        model: String,
        /// Maximum number of tokens of the answer.
        max_tokens: u32,
        /// Number of retries before this attempt, from zero.
        retry: u32,
        /// The amount reserved in the budget.
        reserved: Amount,
        /// The user's settings and the stage's tools; absent in events of earlier versions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        terms: Option<RequestTerms>,
        /// The exact request body, as JSON.
        body: Blob,
    },
    /// A model request was not sent, because it differs from the terms of its run. This indicates a bug.
    #[serde(rename = "RequestBlocked@v1")]
    RequestBlocked {
        /// The role that would have asked.
        role: AgentRole,
        /// The terms of the request.
        terms: RequestTerms,
        /// How they differ from those of the run.
        breach: Breach,
    },
    /// A model call ended.
    #[serde(rename = "ModelReply@v1")]
    ModelReply {
        /// Number of the call.
        call: u64,
        /// The role that asked.
        role: AgentRole,
        /// `ok`, or the class of the error.
        outcome: String,
        /// The error in words; absent on success.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        message: Option<Wording>,
        /// The error with its details; absent on success.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<ModelError>,
        /// The tokens used, by the server's count; `null` if it did not report them.
        usage: Option<Usage>,
        /// The cost in billionths of a US dollar; `null` if unknown.
        cost_nano_usd: Option<Usd>,
        /// The amount charged to the budget.
        charged: Amount,
        /// Prompt tokens that this role had sent before in this run but that missed the provider's cache.
        avoidable_misses: u64,
        /// The answer with its reasoning and tool calls, as JSON; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<Blob>,
    },
    /// A mission entered its next phase.
    #[serde(rename = "MissionPhaseChanged@v1")]
    MissionPhaseChanged {
        /// The previous phase.
        from: MissionPhase,
        /// The new phase.
        to: MissionPhase,
    },
    /// The files that a mission concerns were read.
    #[serde(rename = "SourcesRead@v1")]
    SourcesRead {
        /// Number of files read.
        files: usize,
        /// Number of files that could have been read.
        files_total: usize,
        /// Total size of the files read, in bytes.
        bytes: u64,
        /// Total size of all these files, in bytes.
        bytes_total: u64,
        /// The files read, as JSON.
        sources: Blob,
    },
    /// Files were compared with what a mission had read of them: before its card was planned, when it was made, and when it was
    /// approved.
    #[serde(rename = "EvidenceCompared@v1")]
    EvidenceCompared {
        /// Numbers of the findings whose lines have changed.
        stale: Vec<u32>,
        /// Files of the card's base that have changed; only compared for the approval.
        changed: Vec<RepoPath>,
    },
    /// A research step finished.
    #[serde(rename = "ResearchStep@v1")]
    ResearchStep {
        /// The kind of step.
        step: ResearchStep,
        /// Number of the step among those of its kind, from one.
        round: u32,
        /// Number of child questions asked.
        asked: usize,
        /// Number of child questions answered.
        answered: usize,
        /// Number of new findings.
        new: usize,
    },
    /// The research of a mission ended early, to leave enough of the budget for the card.
    #[serde(rename = "ResearchCut@v1")]
    ResearchCut {
        /// The limit that ended it.
        limit: Limit,
    },
    /// A mission has a card, which waits for approval under this hash.
    #[serde(rename = "CardMade@v1")]
    CardMade {
        /// Number of the card in the mission, from one.
        version: u32,
        /// Hash of the card, which the user approves.
        hash: FileHash,
        /// The card, as JSON.
        card: Blob,
    },
    /// A card from an earlier run was loaded.
    #[serde(rename = "CardTaken@v1")]
    CardTaken {
        /// Hash of the card.
        hash: FileHash,
        /// The card, as JSON; absent if no card has this hash.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        card: Option<Blob>,
    },
    /// The user answered a card, or was absent.
    #[serde(rename = "CardAnswered@v1")]
    CardAnswered {
        /// Hash of the card.
        hash: FileHash,
        /// The answer.
        answer: CardAnswer,
    },
    /// A read-only task of a mission finished.
    #[serde(rename = "TaskAnswered@v1")]
    TaskAnswered {
        /// Number of the task.
        task: LaneId,
        /// The answer; absent if there was none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<Blob>,
    },
    /// A mission ended, with this report.
    #[serde(rename = "MissionReported@v1")]
    MissionReported {
        /// Hash of the card that was carried out; absent if none was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hash: Option<FileHash>,
        /// The amount that carrying it out cost.
        spent: Amount,
        /// Numbers of the findings whose lines have changed since.
        stale: Vec<u32>,
    },
    /// A child question is about to be asked: one of many short questions whose prompts differ only at the end.
    #[serde(rename = "ChildAsked@v1")]
    ChildAsked {
        /// The question, without the shared part.
        question: Blob,
        /// The key under which its answer is stored.
        key: FileHash,
        /// The stored answer; absent if there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        known: Option<Blob>,
    },
    /// A model-written program asked child questions and waits for the answers.
    #[serde(rename = "ProgramPaused@v1")]
    ProgramPaused {
        /// The saved state of the program.
        state: Blob,
        /// The questions, as JSON.
        questions: Blob,
    },
    /// A model-written program ended.
    #[serde(rename = "ProgramEnded@v1")]
    ProgramEnded {
        /// How it ended.
        end: ProgramEnd,
        /// Its result and output, as JSON.
        outcome: Blob,
    },
    /// A child question ended.
    #[serde(rename = "ChildEnded@v1")]
    ChildEnded {
        /// How it ended.
        end: ChildEnd,
    },
    /// A model call was abandoned because its caller died or was stopped. It has no `ModelReply`.
    #[serde(rename = "CallDropped@v1")]
    CallDropped {
        /// Number of the call.
        call: u64,
        /// The amount charged to the budget: at most that much was used for the prompt and the part of the answer that had arrived.
        charged: Amount,
    },
    /// A role died and was replaced, together with its crew if it belongs to one.
    #[serde(rename = "RoleCrashed@v1")]
    RoleCrashed {
        /// The role that died.
        role: Role,
    },
    /// The task was split into lanes.
    #[serde(rename = "LanesPlanned@v1")]
    LanesPlanned {
        /// The lanes, by number.
        lanes: Vec<PlannedLane>,
        /// Where the parser was lenient.
        tolerances: Vec<Leniency>,
    },
    /// The task was not split; a single crew does it.
    #[serde(rename = "LanesDeclined@v1")]
    LanesDeclined {
        /// The reason.
        why: Wording,
    },
    /// A snapshot of the workspace, including uncommitted changes, was taken as the starting point of the lanes.
    #[serde(rename = "LanesBegun@v1")]
    LanesBegun {
        /// The tree of the snapshot.
        tree: TreeId,
        /// Number of files in it.
        files: usize,
        /// Files that are not in it because they are too large or unreadable. Lanes can read them but not change them.
        left_out: Vec<RepoPath>,
        /// Each lane's share of the budget.
        budget: Allowance,
    },
    /// A lane started in a worktree of its own.
    #[serde(rename = "LaneSpawned@v1")]
    LaneSpawned {
        /// Number of the attempt, from one; a lane in conflict is planned again.
        attempt: u32,
        /// Its title, in a few words.
        title: String,
        /// The tree it starts from.
        base: TreeId,
        /// Its share of the budget.
        budget: Allowance,
    },
    /// A lane completed its task.
    #[serde(rename = "LaneCompleted@v2")]
    LaneCompleted {
        /// Number of the attempt, from one.
        attempt: u32,
        /// How far it was verified.
        verified: Verified,
        /// The resulting tree.
        tree: TreeId,
        /// The changed files; empty if there was nothing to change.
        files: Vec<StagedFile>,
        /// Other files that commands changed, which the lane neither owns nor patched; they are not part of the result.
        left_behind: Vec<RepoPath>,
        /// The total amount that the lane's calls of known cost have used so far.
        spent: Amount,
    },
    /// A lane failed.
    #[serde(rename = "LaneFailed@v2")]
    LaneFailed {
        /// Number of the attempt, from one; zero if it never started.
        attempt: u32,
        /// How it ended.
        why: Delivery,
        /// The files it had changed.
        files: Vec<StagedFile>,
        /// Name of the worktree that is kept, in the directory of lanes; absent if none is.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        worktree: Option<String>,
        /// The total amount that the lane's calls of known cost have used so far.
        spent: Amount,
    },
    /// The changes of a lane were merged with those of the lanes before it.
    #[serde(rename = "LaneMerged@v1")]
    LaneMerged {
        /// The lane.
        lane: LaneId,
        /// The resulting tree.
        tree: TreeId,
    },
    /// The changes of a lane conflict with others.
    #[serde(rename = "LaneConflicted@v1")]
    LaneConflicted {
        /// The lane.
        lane: LaneId,
        /// The conflicting files.
        paths: Vec<RepoPath>,
        /// Whose changes they conflict with.
        with: Other,
    },
    /// The lanes were merged with the current workspace; this is what will be written.
    #[serde(rename = "LanesMerged@v1")]
    LanesMerged {
        /// The lanes that contributed changes.
        lanes: Vec<LaneId>,
        /// The tree of the workspace that they were merged onto.
        onto: TreeId,
        /// The resulting tree.
        tree: TreeId,
        /// The changed files.
        files: Vec<StagedFile>,
    },
    /// Lanes that pass alone fail together; this is the smallest set found that fails.
    #[serde(rename = "LanesBisected@v1")]
    LanesBisected {
        /// The lanes.
        lanes: Vec<LaneId>,
        /// Class of the failure.
        class: FailureClass,
    },
    /// All lanes ended.
    #[serde(rename = "LanesFinished@v2")]
    LanesFinished {
        /// The lanes, by number, with the final state of each.
        lanes: Vec<EndedLane>,
    },
    /// The delivered change was reviewed. The review does not affect the delivery.
    #[serde(rename = "QaReport@v1")]
    QaReport {
        /// The review.
        review: Review,
    },
    /// A run ended.
    #[serde(rename = "RunFinished@v3")]
    RunFinished {
        /// How it ended.
        delivery: Delivery,
        /// The amount that its calls of known cost used.
        spent: Amount,
        /// The most that its other calls can have used: their answers were lost, or they were stopped. Absent if there are none.
        #[serde(skip_serializing_if = "Amount::is_zero", default)]
        spent_unknown: Amount,
        /// Undo patches that were staged; empty if there are none.
        rollbacks: Vec<Rollback>,
    },
}

impl Event {
    /// Returns the kind as written in the journal, such as `PlanCreated@v1`.
    pub fn kind(&self) -> String {
        self.field("kind").as_str().unwrap_or_default().to_owned()
    }

    /// Returns the data as written in the journal.
    pub fn data(&self) -> Value {
        self.field("data")
    }

    fn field(&self, name: &str) -> Value {
        let mut tagged = serde_json::to_value(self).unwrap_or_default();
        tagged.get_mut(name).map(Value::take).unwrap_or_default()
    }
}

/// An event with its position in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Sequence number, contiguous from one.
    pub seq: u64,
    /// The time at which it was written.
    pub at: String,
    /// The scope it belongs to.
    pub scope: Scope,
    /// The event.
    pub event: Event,
}
