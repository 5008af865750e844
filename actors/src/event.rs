//! Every fact the program publishes, as it stands in the journal. Values only; how they get there is the publisher's.

use config::Mode;
use model::price::Usd;
use model::{AgentRole, ModelError, ToolChoice, Usage};
use patch::PutAside;
use sandbox::Degree;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolbox::OwnTool;
use tree::{FileHash, RepoPath, Settlement, TreeId};

use crate::answered::ChildEnd;
use crate::checks::{CheckOutcome, Findings};
use crate::delivery::{Delivery, Limit, Rollback, StagedFor, Verified};
use crate::draft::NeededFile;
use crate::failure::FailureClass;
use crate::lane_id::LaneId;
use crate::ledger::{Allowance, Amount};
use crate::look::Look;
use crate::plan::{Leniency, Plan, StepMark};
use crate::proof::OldTree;
use crate::review::Review;
use crate::router::{Assessment, Reason};
use crate::scope::Scope;
use crate::seen::SeenFile;
use crate::team::{EndedLane, Other, PlannedLane};
use crate::wording::Wording;
use crate::words::{
    Asked, CardAnswer, CardStep, DeniedBy, Intent, IntentBy, MissionPhase, ProgramEnd,
    ResearchStep, Role, SessionState, Side,
};
use crate::workspace::NotApplied;

mod blobs;
mod content;
mod decisions;

pub use self::content::{Blob, StagedContent, StagedFile};
pub use self::decisions::Decisions;

/// The number of the way in which this version puts requests together, of the prompts that are recorded, and of the verdicts
/// that it reaches from the same rules. A change that gives a recorded run another request body or verdict raises it; what an
/// older format recorded of either is taken as it is, and not compared. Another wording of a prompt is no such change.
pub const FORMAT: u32 = 10;

/// The format of journals that name none.
const fn first_format() -> u32 {
    1
}

/// A place in the journal of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Id of the session.
    pub session: String,
    /// Number of the event.
    pub seq: u64,
}

/// What a request is made under. Mode and reasoning are the user's; tools are those of the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTerms {
    /// The mode that the user chose.
    pub user_mode: Mode,
    /// Whether the model reasons, as the user configured it for the role.
    pub reasoning_enabled: bool,
    /// How many tools the stage offers.
    pub tool_count: usize,
    /// Whether the model may call them; earlier versions did not say.
    #[serde(skip_serializing_if = "ToolChoice::is_auto", default)]
    pub tool_choice: ToolChoice,
}

/// A fact.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data")]
pub enum Event {
    /// A session begins.
    #[serde(rename = "SessionStarted@v1")]
    SessionStarted {
        /// Absolute path of the workspace.
        workspace: String,
        /// Version of the program.
        version: String,
        /// The configuration as TOML: its runs keep to it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        config: Option<Blob>,
        /// The texts that its runs say to models, as JSON: they keep to these.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        prompts: Option<Blob>,
        /// The [`FORMAT`] of its runs.
        #[serde(default = "first_format")]
        format: u32,
        /// What the masks of its runs depend on besides the values.
        #[serde(default)]
        salt: String,
        /// The session and the event that it was forked from; what follows up to that event is a copy.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        forked_from: Option<Origin>,
    },
    /// A session goes on in another process.
    #[serde(rename = "SessionContinued@v1")]
    SessionContinued {
        /// Version of the program.
        version: String,
        /// The configuration as TOML: runs that begin from now on keep to it.
        config: Blob,
        /// The texts that runs that begin from now on say to models, as JSON.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        prompts: Option<Blob>,
        /// The [`FORMAT`] of runs that begin from now on.
        #[serde(default = "first_format")]
        format: u32,
        /// What the masks of runs that begin from now on depend on besides the values.
        #[serde(default)]
        salt: String,
        /// The run that was cut short before, if there is one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        cut_short: Option<String>,
    },
    /// The user changed the configuration between two requests.
    #[serde(rename = "ConfigurationChanged@v1")]
    ConfigurationChanged {
        /// The configuration as TOML: runs that begin from now on keep to it.
        config: Blob,
    },
    /// The session went from one state to another.
    #[serde(rename = "SessionStateChanged@v1")]
    SessionStateChanged {
        /// The state left.
        from: SessionState,
        /// The state entered.
        to: SessionState,
    },
    /// An event would have led the session where its state does not lead: it stays as it is. This is a bug, kept to be found.
    #[serde(rename = "TransitionRefused@v1")]
    TransitionRefused {
        /// The state it is in.
        from: SessionState,
        /// The state that was refused.
        to: SessionState,
    },
    /// A request begins its way to a delivery.
    #[serde(rename = "RunStarted@v1")]
    RunStarted {
        /// What it is treated as.
        intent: Intent,
        /// What the user asked.
        request: String,
    },
    /// A message of the conversation.
    #[serde(rename = "TurnAdded@v1")]
    TurnAdded {
        /// Who said it.
        speaker: Side,
        /// What was said.
        text: String,
        /// What the message is, when a flag or a command says so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        intent: Option<Intent>,
        /// What it says to the card of a mission.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        card: Option<CardStep>,
    },
    /// It was decided how a message is treated.
    #[serde(rename = "IntentDecided@v1")]
    IntentDecided {
        /// What it is treated as.
        intent: Intent,
        /// How that was found out.
        reason: IntentBy,
    },
    /// It was decided which model answers, outside the loop.
    #[serde(rename = "RouterDecision@v2")]
    RouterDecision {
        /// Counts from one.
        decision_id: u32,
        /// Who asks.
        role: AgentRole,
        /// The model that answers.
        selected_model: String,
        /// Whether it thinks.
        thinking: bool,
        /// What the choice comes from.
        assessment: Assessment,
        /// Of what is sent.
        prompt_hash: String,
        /// Of the tools that it may call; none are offered natively.
        tool_schema_hash: Option<String>,
        /// Tokens that the answer may have.
        max_tokens: u32,
    },
    /// No answer of the role's own model was usable, so the one that thinks longest is asked, once.
    #[serde(rename = "RouterEscalation@v1")]
    RouterEscalation {
        /// Who asks.
        role: AgentRole,
        /// Why.
        reason_codes: Vec<Reason>,
        /// The model that was asked.
        from: String,
        /// The model that is asked.
        to: String,
    },
    /// Evidence was gathered from the workspace.
    #[serde(rename = "EvidenceGathered@v1")]
    EvidenceGathered {
        /// What was found: `path:first-last hash`.
        items: Vec<String>,
        /// What was left out and why.
        omitted: Vec<String>,
        /// Whether something was not known in time: earlier commits, definitions, or all of the text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// Estimated size.
        tokens: usize,
        /// The text that goes into prompts.
        text: Blob,
        /// What is known of the workspace whatever is asked; it goes into prompts before that.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        workspace: Option<Blob>,
        /// What was said and done earlier in the conversation, as it goes into prompts.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        earlier: Option<Blob>,
    },
    /// Files that a decision depends on were read. Only what the journal does not tell already: what was seen before, or
    /// written by this run, and is still so, is left out.
    #[serde(rename = "FilesRead@v1")]
    FilesRead {
        /// What was found.
        files: Vec<SeenFile>,
    },
    /// The Architect was asked.
    #[serde(rename = "ArchitectStarted@v1")]
    ArchitectStarted {
        /// One-based.
        iteration: u32,
    },
    /// The Architect is done.
    #[serde(rename = "ArchitectCompleted@v1")]
    ArchitectCompleted {
        /// One-based.
        iteration: u32,
        /// Whether there is a plan.
        planned: bool,
    },
    /// An answer of the Architect broke its contract.
    #[serde(rename = "PlanRefused@v1")]
    PlanRefused {
        /// Line and rule.
        error: Wording,
    },
    /// Checks of a plan would not be run: policy forbids them, asks where the user is not there to answer, or there is no such
    /// program. Or they prove nothing, and neither does any other. The Architect is told, of programs if others would be run.
    #[serde(rename = "ChecksBarred@v1")]
    ChecksBarred {
        /// Those that would not be run, as written.
        commands: Vec<String>,
        /// Programs that these need and that are not on this machine.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        missing: Vec<String>,
        /// Those that would be run and prove nothing, where there are no others.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        vacuous: Vec<String>,
        /// How far commands are confined, which policy goes by.
        confined: Degree,
    },
    /// The first plan of a run.
    #[serde(rename = "PlanCreated@v1")]
    PlanCreated {
        /// Counts from one.
        version: u32,
        /// The plan.
        plan: Plan,
        /// Where it was read tolerantly.
        tolerances: Vec<Leniency>,
    },
    /// A later plan of a run.
    #[serde(rename = "PlanRevised@v1")]
    PlanRevised {
        /// Counts from one.
        version: u32,
        /// The plan.
        plan: Plan,
        /// Where it was read tolerantly.
        tolerances: Vec<Leniency>,
    },
    /// What became of a step of a plan: all of a plan is carried out by one change, and stands or falls with it.
    #[serde(rename = "StepMarked@v1")]
    StepMarked {
        /// Version of the plan.
        plan: u32,
        /// Which step, counted from one.
        step: usize,
        /// What became of it.
        mark: StepMark,
    },
    /// The Editor was asked.
    #[serde(rename = "EditorStarted@v1")]
    EditorStarted {
        /// One-based.
        iteration: u32,
    },
    /// The Editor is done.
    #[serde(rename = "EditorCompleted@v1")]
    EditorCompleted {
        /// One-based.
        iteration: u32,
        /// Whether there is a diff.
        drafted: bool,
    },
    /// An answer of the Editor broke its contract.
    #[serde(rename = "DraftRefused@v1")]
    DraftRefused {
        /// Line and rule.
        error: Wording,
    },
    /// A model asked to see more before it answers.
    #[serde(rename = "Looked@v1")]
    Looked {
        /// Who asked.
        role: AgentRole,
        /// What for.
        looks: Vec<Look>,
        /// Where the answer was read tolerantly.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        tolerances: Vec<Leniency>,
        /// What was not shown, and why.
        refused: Vec<Wording>,
        /// What it was told.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        told: Option<Blob>,
    },
    /// A model called a tool.
    #[serde(rename = "ToolResult@v1")]
    ToolResult {
        /// Who called it.
        role: AgentRole,
        /// Id of the call in its answer.
        call: String,
        /// The tool, as the model named it.
        tool: String,
        /// Its arguments, as the model wrote them.
        arguments: String,
        /// Whether anything came of it.
        ok: bool,
        /// What the model was told: `{ok, value | error}`.
        told: Blob,
    },
    /// The workspace, which the user trusts, brings tools that a model may call.
    #[serde(rename = "ToolsFound@v1")]
    ToolsFound {
        /// The tools.
        tools: Vec<OwnTool>,
    },
    /// A model asks the user what a request means.
    #[serde(rename = "UserAsked@v1")]
    UserAsked {
        /// Who asks.
        role: AgentRole,
        /// The question.
        question: String,
    },
    /// The user answered, or was not there.
    #[serde(rename = "UserAnswered@v1")]
    UserAnswered {
        /// The answer; absent when there was none to get.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<String>,
    },
    /// The user says something to the run while it is at work.
    #[serde(rename = "UserSaid@v1")]
    UserSaid {
        /// What.
        words: String,
    },
    /// The model that is asked next is told what the user said to the run at work.
    #[serde(rename = "UserSteered@v1")]
    UserSteered {
        /// What was said, in its order.
        words: Vec<String>,
    },
    /// The change that is to be reviewed was read.
    #[serde(rename = "DiffRead@v1")]
    DiffRead {
        /// What was asked for, as `git diff` takes it; nothing for what is not committed.
        of: String,
        /// What was found.
        diff: Blob,
        /// Why there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        failed: Option<Wording>,
    },
    /// A model had a command run, to see what comes of it.
    #[serde(rename = "CommandTried@v1")]
    CommandTried {
        /// Who asked.
        role: AgentRole,
        /// As it was written.
        command: String,
        /// How it ended.
        exit: String,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// How far it was confined.
        confined: Degree,
        /// Secrets that were taken out of what it printed.
        #[serde(skip_serializing_if = "crate::checks::is_zero", default)]
        masked: usize,
        /// What it printed.
        output: Blob,
    },
    /// An answer to a question of the user could not be used.
    #[serde(rename = "AnswerRefused@v1")]
    AnswerRefused {
        /// What was wrong with it.
        error: Wording,
    },
    /// The Editor cannot write the diff within the plan; the Architect decides.
    #[serde(rename = "FilesNeeded@v1")]
    FilesNeeded {
        /// The files that the plan lacks.
        files: Vec<NeededFile>,
    },
    /// The Editor says that nothing more is needed than what is applied.
    #[serde(rename = "EditorDone@v1")]
    EditorDone {
        /// Why.
        reason: Wording,
    },
    /// A diff is being applied.
    #[serde(rename = "ApplyStarted@v1")]
    ApplyStarted {
        /// One-based.
        iteration: u32,
    },
    /// A diff was applied or refused.
    #[serde(rename = "ApplyCompleted@v1")]
    ApplyCompleted {
        /// One-based.
        iteration: u32,
        /// Whether it is in the tree.
        applied: bool,
    },
    /// A diff does not apply; nothing was written.
    #[serde(rename = "PatchRefused@v1")]
    PatchRefused {
        /// `file: hunk: reason`, for people.
        reasons: Vec<Wording>,
        /// What the model is told.
        feedback: Wording,
    },
    /// A patch set is validated and may be applied: now, or by the user later.
    #[serde(rename = "PatchStaged@v2")]
    PatchStaged {
        /// Its id.
        patch: String,
        /// What it is staged for.
        purpose: StagedFor,
        /// What it is: `iteration 2`, `back to the start`, …
        title: Wording,
        /// What it changes.
        files: Vec<StagedFile>,
        /// Where the diff was read tolerantly.
        repairs: Vec<Wording>,
        /// Sections of the diff that are not part of it, since their files are not in the plan.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        put_aside: Vec<PutAside>,
        /// The patch set that the user took only this of.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        part_of: Option<String>,
    },
    /// The workspace as it is before a patch set is kept, to go back to.
    #[serde(rename = "CheckpointCreated@v1")]
    CheckpointCreated {
        /// Its number in the workspace; `deepseek rewind` takes it.
        checkpoint: u64,
        /// The patch set it is made for.
        patch: String,
        /// Files it holds.
        files: usize,
        /// Files that were left out: too large, or not readable.
        left_out: Vec<RepoPath>,
    },
    /// A staged patch set is about to be written. Without a `PatchApplied` behind it, a crash came between; the next session
    /// of the workspace settles it.
    #[serde(rename = "PatchCommitting@v1")]
    PatchCommitting {
        /// Its id.
        patch: String,
    },
    /// A staged patch set is in the workspace.
    #[serde(rename = "PatchApplied@v1")]
    PatchApplied {
        /// Its id.
        patch: String,
    },
    /// A patch set could not be written; nothing of it is in the workspace.
    #[serde(rename = "PatchNotApplied@v1")]
    PatchNotApplied {
        /// Its id.
        patch: String,
        /// Why.
        why: NotApplied,
    },
    /// A commit that a crash cut short was completed, or taken back; it may be that of another session.
    #[serde(rename = "CommitSettled@v1")]
    CommitSettled {
        /// Id of its patch set.
        patch: String,
        /// `completed`, `taken_back`, or `stuck` when neither can be done any more.
        outcome: Settlement,
        /// Paths that somebody else changed meanwhile: they are as they were found.
        left: Vec<RepoPath>,
    },
    /// Something needs a yes.
    #[serde(rename = "ApprovalAsked@v1")]
    ApprovalAsked {
        /// Number of the question.
        ask: String,
        /// The effect.
        action: Asked,
        /// Why it has to be asked for.
        why: Wording,
    },
    /// The user approved it.
    #[serde(rename = "ApprovalGiven@v1")]
    ApprovalGiven {
        /// Number of the question.
        ask: String,
        /// Files of the change that the user left out; what was taken of it is staged as a patch set of its own.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        left_out: Vec<RepoPath>,
        /// What the user said against them, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        said: Option<String>,
    },
    /// The user declined, there was no one to ask, or policy forbids it.
    #[serde(rename = "ApprovalDenied@v1")]
    ApprovalDenied {
        /// Number of the question; absent when none was asked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        ask: Option<String>,
        /// The effect.
        action: Asked,
        /// Who said no.
        by: DeniedBy,
        /// Why.
        why: Wording,
        /// What the user said against it, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        said: Option<String>,
    },
    /// Verification begins.
    #[serde(rename = "VerifyStarted@v1")]
    VerifyStarted {
        /// One-based.
        iteration: u32,
        /// What will be run.
        commands: Vec<String>,
        /// Whether the commands were derived from the project's type.
        derived: bool,
    },
    /// The untouched tree was not checked in time, and is not waited for: all that fails from now on counts as new.
    #[serde(rename = "BaselineSkipped@v1")]
    BaselineSkipped {
        /// One-based.
        iteration: u32,
    },
    /// The checks pass, and were run once more in a copy: the tree as it was before the change, with the tests of the change.
    #[serde(rename = "OldTreeTested@v1")]
    OldTreeTested {
        /// The new and changed tests.
        tests: Vec<RepoPath>,
        /// The command that decided it, or the last one.
        command: String,
        /// What came of it.
        outcome: OldTree,
        /// How it ended.
        exit: String,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// What it printed.
        output: Blob,
    },
    /// Verification is done.
    #[serde(rename = "VerifyCompleted@v1")]
    VerifyCompleted {
        /// One-based.
        iteration: u32,
        /// The outcome of all commands together.
        outcome: CheckOutcome,
    },
    /// A command was run.
    #[serde(rename = "VerificationRun@v1")]
    VerificationRun {
        /// As written.
        command: String,
        /// Whether it was run on the untouched tree.
        baseline: bool,
        /// What came of it.
        outcome: CheckOutcome,
        /// How it ended: `exit 1`, `signal 9`, `timed out`, …
        exit: String,
        /// How long it took.
        elapsed_ms: u64,
        /// What it printed.
        output: Blob,
        /// What was read out of it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        findings: Option<Findings>,
    },
    /// A failure was classified.
    #[serde(rename = "FailureClassified@v1")]
    FailureClassified {
        /// Its class.
        class: FailureClass,
        /// Distinct failures.
        errors: usize,
    },
    /// A call is about to be made.
    #[serde(rename = "ModelRequest@v1")]
    ModelRequest {
        /// Number of the call in this run; retries have numbers of their own.
        call: u64,
        /// Who asks.
        role: AgentRole,
        /// The session: a fork names the one it was copied from in what was copied. Earlier versions did not say.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        conversation: String,
        /// Model id.
        model: String,
        /// Answer tokens it may have.
        max_tokens: u32,
        /// Which try this is, from zero.
        retry: u32,
        /// What is set aside for it.
        reserved: Amount,
        /// What the user chose and the stage allows; earlier versions did not record it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        terms: Option<RequestTerms>,
        /// The exact body.
        body: Blob,
    },
    /// A call ended.
    #[serde(rename = "ModelReply@v1")]
    ModelReply {
        /// Number of the call.
        call: u64,
        /// Who asked.
        role: AgentRole,
        /// `ok`, or the class of the error.
        outcome: String,
        /// The error in words.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        message: Option<Wording>,
        /// The error with all that is known of it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<ModelError>,
        /// What it used, if the server said.
        usage: Option<Usage>,
        /// What it cost in billionths of a dollar, if that is known.
        cost_nano_usd: Option<Usd>,
        /// What the ledger counts.
        charged: Amount,
        /// Tokens this role had sent before in this run that the cache did not have.
        avoidable_misses: u64,
        /// The answer: text and reasoning as JSON; absent when there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<Blob>,
    },
    /// A mission goes from one phase to the next.
    #[serde(rename = "MissionPhaseChanged@v1")]
    MissionPhaseChanged {
        /// The phase left.
        from: MissionPhase,
        /// The phase entered.
        to: MissionPhase,
    },
    /// The files that a mission is about were read.
    #[serde(rename = "SourcesRead@v1")]
    SourcesRead {
        /// How many were read.
        files: usize,
        /// How many could have been.
        files_total: usize,
        /// Their size.
        bytes: u64,
        /// The size of all.
        bytes_total: u64,
        /// What was read, as JSON.
        sources: Blob,
    },
    /// A step of research is done.
    #[serde(rename = "ResearchStep@v1")]
    ResearchStep {
        /// Which.
        step: ResearchStep,
        /// Counts from one, for each kind of step.
        round: u32,
        /// Small questions that were asked.
        asked: usize,
        /// Those that were answered.
        answered: usize,
        /// Findings that came of it.
        new: usize,
    },
    /// The research of a mission ends before its time, so that what is left is enough for the card.
    #[serde(rename = "ResearchCut@v1")]
    ResearchCut {
        /// What ends it.
        limit: Limit,
    },
    /// A mission has a card: it waits for an approval of this hash.
    #[serde(rename = "CardMade@v1")]
    CardMade {
        /// Counts from one.
        version: u32,
        /// What is approved.
        hash: FileHash,
        /// The card, as JSON.
        card: Blob,
    },
    /// A card that was made before is taken up.
    #[serde(rename = "CardTaken@v1")]
    CardTaken {
        /// Its hash.
        hash: FileHash,
        /// The card, as JSON; absent when there is none of this hash.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        card: Option<Blob>,
    },
    /// The user said something to a card, or was not there.
    #[serde(rename = "CardAnswered@v1")]
    CardAnswered {
        /// The card.
        hash: FileHash,
        /// What was said.
        answer: CardAnswer,
    },
    /// A task of a mission that only reads is done.
    #[serde(rename = "TaskAnswered@v1")]
    TaskAnswered {
        /// The task.
        task: LaneId,
        /// What was found out; absent when there was no answer.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        answer: Option<Blob>,
    },
    /// What a mission came to.
    #[serde(rename = "MissionReported@v1")]
    MissionReported {
        /// The card that was carried out, if one was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hash: Option<FileHash>,
        /// What carrying it out took.
        spent: Amount,
        /// Findings whose lines are not as they were found.
        stale: Vec<u32>,
    },
    /// A small question is asked, one of many that have all but their end in common.
    #[serde(rename = "ChildAsked@v1")]
    ChildAsked {
        /// The question, without what it has in common with others.
        question: Blob,
        /// What its answer is kept under.
        key: FileHash,
        /// The answer, if it was given before.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        known: Option<Blob>,
    },
    /// A program that a model wrote asks small questions, and waits for the answers.
    #[serde(rename = "ProgramPaused@v1")]
    ProgramPaused {
        /// What is left of it.
        state: Blob,
        /// The questions, as JSON.
        questions: Blob,
    },
    /// A program that a model wrote is over.
    #[serde(rename = "ProgramEnded@v1")]
    ProgramEnded {
        /// How it ended.
        end: ProgramEnd,
        /// What it leaves, as JSON.
        outcome: Blob,
    },
    /// A small question is over.
    #[serde(rename = "ChildEnded@v1")]
    ChildEnded {
        /// How.
        end: ChildEnd,
    },
    /// A call was given up in the middle: whoever made it died, or was stopped. It has no reply.
    #[serde(rename = "CallDropped@v1")]
    CallDropped {
        /// Number of the call.
        call: u64,
        /// What the ledger counts: the prompt, and what had come of the answer.
        charged: Amount,
    },
    /// A role died and the crew was rebuilt.
    #[serde(rename = "RoleCrashed@v1")]
    RoleCrashed {
        /// Which.
        role: Role,
    },
    /// The task was split over lanes.
    #[serde(rename = "LanesPlanned@v1")]
    LanesPlanned {
        /// The lanes, by number.
        lanes: Vec<PlannedLane>,
        /// Where the plan was read tolerantly.
        tolerances: Vec<Leniency>,
    },
    /// The task was not split: one crew does it.
    #[serde(rename = "LanesDeclined@v1")]
    LanesDeclined {
        /// Why.
        why: Wording,
    },
    /// The workspace as it is, with what is not committed, was kept: lanes begin from it.
    #[serde(rename = "LanesBegun@v1")]
    LanesBegun {
        /// The tree.
        tree: TreeId,
        /// Files it holds.
        files: usize,
        /// Files that were left out: too large, or not readable. Lanes can read them, and not change them.
        left_out: Vec<RepoPath>,
        /// Each lane's share of the budget.
        budget: Allowance,
    },
    /// A lane begins to work, in a worktree of its own.
    #[serde(rename = "LaneSpawned@v1")]
    LaneSpawned {
        /// Counts from one; a lane in conflict is planned again.
        attempt: u32,
        /// What it is, in a few words.
        title: String,
        /// The tree it begins from.
        base: TreeId,
        /// Its share of the budget.
        budget: Allowance,
    },
    /// A lane did what it was to do.
    #[serde(rename = "LaneCompleted@v2")]
    LaneCompleted {
        /// Which attempt.
        attempt: u32,
        /// How it was verified.
        verified: Verified,
        /// The tree it made.
        tree: TreeId,
        /// What it changed; nothing if there was nothing to change.
        files: Vec<StagedFile>,
        /// What commands changed besides, in files that the lane neither owns nor patched: it is in no result.
        left_behind: Vec<RepoPath>,
        /// What the lane used so far.
        spent: Amount,
    },
    /// A lane did not get done.
    #[serde(rename = "LaneFailed@v2")]
    LaneFailed {
        /// Which attempt; zero if it never began.
        attempt: u32,
        /// How it ended.
        why: Delivery,
        /// What it had changed.
        files: Vec<StagedFile>,
        /// The worktree that is kept, by its name below the directory of lanes.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        worktree: Option<String>,
        /// What the lane used so far.
        spent: Amount,
    },
    /// What a lane did was merged with what those before it did.
    #[serde(rename = "LaneMerged@v1")]
    LaneMerged {
        /// The lane.
        lane: LaneId,
        /// The tree that came of it.
        tree: TreeId,
    },
    /// What a lane did and what somebody else did exclude each other.
    #[serde(rename = "LaneConflicted@v1")]
    LaneConflicted {
        /// The lane.
        lane: LaneId,
        /// Where.
        paths: Vec<RepoPath>,
        /// Who the other is.
        with: Other,
    },
    /// Lanes were merged with the workspace as it is now: this is what would be written.
    #[serde(rename = "LanesMerged@v1")]
    LanesMerged {
        /// Those of which something is in it.
        lanes: Vec<LaneId>,
        /// The workspace as it was found.
        onto: TreeId,
        /// The tree that came of it.
        tree: TreeId,
        /// What it changes.
        files: Vec<StagedFile>,
    },
    /// Lanes that pass alone fail together: these are the fewest that do.
    #[serde(rename = "LanesBisected@v1")]
    LanesBisected {
        /// The lanes.
        lanes: Vec<LaneId>,
        /// Class of the failure.
        class: FailureClass,
    },
    /// What became of each lane.
    #[serde(rename = "LanesFinished@v2")]
    LanesFinished {
        /// The lanes, by number.
        lanes: Vec<EndedLane>,
    },
    /// What was delivered was reviewed. This changes nothing of it.
    #[serde(rename = "QaReport@v1")]
    QaReport {
        /// What the reviewer found.
        review: Review,
    },
    /// A run is over.
    #[serde(rename = "RunFinished@v3")]
    RunFinished {
        /// How.
        delivery: Delivery,
        /// What it used.
        spent: Amount,
        /// Patch sets staged for going back.
        rollbacks: Vec<Rollback>,
    },
}

impl Event {
    /// The kind as it stands in the line, e.g. `PlanCreated@v1`.
    pub fn kind(&self) -> String {
        self.field("kind").as_str().unwrap_or_default().to_owned()
    }

    /// The data as they stand in the line.
    pub fn data(&self) -> Value {
        self.field("data")
    }

    fn field(&self, name: &str) -> Value {
        let mut tagged = serde_json::to_value(self).unwrap_or_default();
        tagged.get_mut(name).map(Value::take).unwrap_or_default()
    }
}

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Contiguous from one.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// What it is about.
    pub scope: Scope,
    /// The event.
    pub event: Event,
}
