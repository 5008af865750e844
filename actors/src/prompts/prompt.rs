//! Every text that is said to models, by name: one file below `actors/prompts` each. Which texts a run uses is the set's business.
//! Pure.

/// A name, and the file of that name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../prompts/", $name, ".md")))
    };
}

/// A text that is said to a model, whole or as a part of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prompt {
    /// The standing instructions of the Architect.
    Architect,
    /// Asks the Architect for the first plan.
    PlanRequest,
    /// Asks the Architect for another plan after one failed.
    PlanAgain,
    /// How a plan failed, for the Architect.
    PlanReport,
    /// The diff that a plan led to, for the Architect.
    LastDiff,
    /// Quotes the rule that a plan breaks, to the Architect and the lane planner.
    PlanRefused,
    /// The standing instructions of the Editor.
    Editor,
    /// Asks the Editor for a diff.
    DraftRequest,
    /// A plan, for the Editor.
    DraftPlan,
    /// The criteria that a plan names.
    DraftAccept,
    /// The files that a plan names, as they are.
    DraftFiles,
    /// Quotes the rule that an answer of the Editor breaks.
    DraftRefused,
    /// Answers the Editor's requests for context.
    Context,
    /// Says why a file is not shown.
    ContextRefused,
    /// The title of the commands that would check a change, in the evidence.
    EvidenceChecks,
    /// The title of the files of a workspace, in its evidence.
    EvidenceFiles,
    /// The same, where not all of them were looked at.
    EvidenceManyFiles,
    /// The title of what became of earlier requests.
    EvidenceRuns,
    /// The title of what is not shown.
    EvidenceOmitted,
    /// The content of a file, or what a command printed, in a fence.
    File,
    /// The name of a part of a file.
    FileLines,
    /// A file that does not exist yet.
    FileMissing,
    /// A note below content whose last line has no end.
    NoFinalNewline,
    /// Tells the Editor that there is another plan.
    FeedbackNewPlan,
    /// Tells the Editor that its last answers were not a diff.
    FeedbackNoDiff,
    /// Tells the Editor that its last diff does not apply.
    FeedbackNotApplied,
    /// Tells the Editor that the checks fail with its last diff.
    FeedbackChecksFail,
    /// Tells the Editor that only what failed before still fails.
    FeedbackOldFailures,
    /// Says that a file is not the one that the last diff was written for.
    FileChanged,
    /// A command that fails since the change.
    CheckFailed,
    /// A command that failed before the change as well.
    CheckFailedBefore,
    /// The standing instructions of the lane planner.
    LanePlanner,
    /// Asks the lane planner how a task splits.
    SplitRequest,
    /// The request of one lane: its part of a task.
    LanePart,
    /// What a lane does and owns, in a list of all lanes.
    LaneOwned,
    /// Names the lanes whose work a lane begins from.
    LanesDone,
    /// The request of a lane whose work conflicts with that of others.
    LaneAgain,
    /// The request to fix what fails only when lanes come together.
    LanesTogether,
    /// What a lane was for, in a list of lanes.
    LaneGoal,
    /// Has a model tell a request for a change from a question.
    Intent,
    /// The standing instructions for answering questions.
    Analysis,
    /// A question of the user.
    Question,
}

impl Prompt {
    /// All of them.
    pub const ALL: [Self; 42] = [
        Self::Architect,
        Self::PlanRequest,
        Self::PlanAgain,
        Self::PlanReport,
        Self::LastDiff,
        Self::PlanRefused,
        Self::Editor,
        Self::DraftRequest,
        Self::DraftPlan,
        Self::DraftAccept,
        Self::DraftFiles,
        Self::DraftRefused,
        Self::Context,
        Self::ContextRefused,
        Self::EvidenceChecks,
        Self::EvidenceFiles,
        Self::EvidenceManyFiles,
        Self::EvidenceRuns,
        Self::EvidenceOmitted,
        Self::File,
        Self::FileLines,
        Self::FileMissing,
        Self::NoFinalNewline,
        Self::FeedbackNewPlan,
        Self::FeedbackNoDiff,
        Self::FeedbackNotApplied,
        Self::FeedbackChecksFail,
        Self::FeedbackOldFailures,
        Self::FileChanged,
        Self::CheckFailed,
        Self::CheckFailedBefore,
        Self::LanePlanner,
        Self::SplitRequest,
        Self::LanePart,
        Self::LaneOwned,
        Self::LanesDone,
        Self::LaneAgain,
        Self::LanesTogether,
        Self::LaneGoal,
        Self::Intent,
        Self::Analysis,
        Self::Question,
    ];

    /// The name of its file, without the ending.
    pub const fn name(self) -> &'static str {
        self.file().0
    }

    /// The text that this version was built with.
    pub fn built_in(self) -> &'static str {
        let (_, text) = self.file();
        text.strip_suffix('\n').unwrap_or(text)
    }

    const fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Architect => file!("architect"),
            Self::PlanRequest => file!("plan_request"),
            Self::PlanAgain => file!("plan_again"),
            Self::PlanReport => file!("plan_report"),
            Self::LastDiff => file!("last_diff"),
            Self::PlanRefused => file!("plan_refused"),
            Self::Editor => file!("editor"),
            Self::DraftRequest => file!("draft_request"),
            Self::DraftPlan => file!("draft_plan"),
            Self::DraftAccept => file!("draft_accept"),
            Self::DraftFiles => file!("draft_files"),
            Self::DraftRefused => file!("draft_refused"),
            Self::Context => file!("context"),
            Self::ContextRefused => file!("context_refused"),
            Self::EvidenceChecks => file!("evidence_checks"),
            Self::EvidenceFiles => file!("evidence_files"),
            Self::EvidenceManyFiles => file!("evidence_many_files"),
            Self::EvidenceRuns => file!("evidence_runs"),
            Self::EvidenceOmitted => file!("evidence_omitted"),
            Self::File => file!("file"),
            Self::FileLines => file!("file_lines"),
            Self::FileMissing => file!("file_missing"),
            Self::NoFinalNewline => file!("no_final_newline"),
            Self::FeedbackNewPlan => file!("feedback_new_plan"),
            Self::FeedbackNoDiff => file!("feedback_no_diff"),
            Self::FeedbackNotApplied => file!("feedback_not_applied"),
            Self::FeedbackChecksFail => file!("feedback_checks_fail"),
            Self::FeedbackOldFailures => file!("feedback_old_failures"),
            Self::FileChanged => file!("file_changed"),
            Self::CheckFailed => file!("check_failed"),
            Self::CheckFailedBefore => file!("check_failed_before"),
            Self::LanePlanner => file!("lane_planner"),
            Self::SplitRequest => file!("split_request"),
            Self::LanePart => file!("lane_part"),
            Self::LaneOwned => file!("lane_owned"),
            Self::LanesDone => file!("lanes_done"),
            Self::LaneAgain => file!("lane_again"),
            Self::LanesTogether => file!("lanes_together"),
            Self::LaneGoal => file!("lane_goal"),
            Self::Intent => file!("intent"),
            Self::Analysis => file!("analysis"),
            Self::Question => file!("question"),
        }
    }
}
