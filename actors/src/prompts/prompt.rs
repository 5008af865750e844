//! Every text that is said to models, by name: one file below `actors/prompts` each. Which texts a run uses is the set's business.
//! Pure.

/// Names, what each is for, and the file of each.
macro_rules! prompts {
    ($($(#[$doc:meta])* $prompt:ident = $file:literal,)+) => {
        /// A text that is said to a model, whole or as a part of another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Prompt {
            $($(#[$doc])* $prompt,)+
        }

        impl Prompt {
            /// All of them.
            pub const ALL: [Self; [$($file),+].len()] = [$(Self::$prompt),+];

            /// The name of its file, without the ending, and the text that this version was built with.
            const fn file(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$prompt => {
                        ($file, include_str!(concat!("../../prompts/", $file, ".md")))
                    })+
                }
            }
        }
    };
}

prompts! {
    /// What every model is told first, whatever its role.
    Common = "common",
    /// How a model asks to see more, in lines of text.
    Looks = "looks",
    /// What a run begins with: the workspace, what was said before, what was found for the request, and the request.
    Opening = "opening",
    /// The same for a model that is given a plan: the workspace and the request.
    OpeningForPlan = "opening_for_plan",
    /// The workspace as every request finds it.
    Workspace = "workspace",
    /// What was found for the request.
    Evidence = "evidence",
    /// The standing instructions of the Architect.
    Architect = "architect",
    /// Asks the Architect for the first plan.
    PlanRequest = "plan_request",
    /// Asks the Architect for another plan after one failed.
    PlanAgain = "plan_again",
    /// Asks the Architect what to do about failures that are older than the change.
    PlanOldFailures = "plan_old_failures",
    /// Asks the Architect for another plan, since the user said no.
    PlanObjected = "plan_objected",
    /// What the user said no to, and why.
    Objected = "objected",
    /// Which files of a diff the user left out.
    LeftOut = "left_out",
    /// How a plan failed, for the Architect.
    PlanReport = "plan_report",
    /// Tells the Architect which files the Editor needs beyond its plan.
    PlanLacks = "plan_lacks",
    /// A file that a plan lacks, and why.
    NeededFile = "needed_file",
    /// The diff that a plan led to, for the Architect.
    LastDiff = "last_diff",
    /// Why a file is needed that a diff changes and the plan does not declare.
    NeededByDiff = "needed_by_diff",
    /// Quotes the rule that a plan breaks, to the Architect and the lane planner.
    PlanRefused = "plan_refused",
    /// Tells the Architect which checks of its plan would not be run, and which would be.
    PlanBarred = "plan_barred",
    /// Tells the Architect which checks of its plan need a program that is not there.
    PlanUnstarted = "plan_unstarted",
    /// A check that would not be run, or would prove nothing, and why.
    BarredCheck = "barred_check",
    /// Tells the Architect that the checks of its plan prove nothing.
    PlanVacuous = "plan_vacuous",
    /// The checks that are run when a plan names none.
    BarredDerived = "barred_derived",
    /// The standing instructions of the Editor.
    Editor = "editor",
    /// Asks the Editor for a diff.
    DraftRequest = "draft_request",
    /// A plan, for the Editor.
    DraftPlan = "draft_plan",
    /// Names the plan that stands above in the same dialogue.
    DraftPlanAbove = "draft_plan_above",
    /// The criteria that a plan names.
    DraftAccept = "draft_accept",
    /// The files that a plan names, as they are.
    DraftFiles = "draft_files",
    /// Quotes the rule that an answer of the Editor breaks.
    DraftRefused = "draft_refused",
    /// Answers what a model asked to see.
    Looked = "looked",
    /// What is known of the workspace from earlier deliveries.
    Memory = "memory",
    /// Remembers a check that passed.
    MemoCheck = "memo_check",
    /// Remembers what the user answered.
    MemoAnswer = "memo_answer",
    /// Remembers what the user said no to, and why.
    MemoObjection = "memo_objection",
    /// Remembers what a request changed.
    MemoOutcome = "memo_outcome",
    /// Says that tools are offered.
    Tools = "tools",
    /// Says which tools can be called in lines of text.
    ToolsInText = "tools_in_text",
    /// Why a role may not ask the user.
    AskNotHere = "ask_not_here",
    /// Why the user is not asked once more.
    AskNoMore = "ask_no_more",
    /// What a model is told whose question no user is there to answer.
    AskNobody = "ask_nobody",
    /// What the plan wants the Editor to read besides the files that it may change.
    ShownByPlan = "shown_by_plan",
    /// One of the things it asked to see, numbered.
    Look = "look",
    /// Says why something is not shown.
    LookRefused = "look_refused",
    /// Says that nothing more fits into an answer.
    LookNoRoom = "look_no_room",
    /// Says that there is more than is shown.
    LookMore = "look_more",
    /// Says that a file has more matches than are shown.
    LookMoreInFile = "look_more_in_file",
    /// Says that more files have matches.
    LookMoreFiles = "look_more_files",
    /// Says that lines which were asked for do not fit.
    LookCut = "look_cut",
    /// Says that nothing was found.
    LookNothing = "look_nothing",
    /// The same, where what was looked for is Chinese.
    LookForeign = "look_foreign",
    /// Where a definition ends that is not shown to its end.
    LookGoesOn = "look_goes_on",
    /// Where a name is defined besides.
    LookOtherDefinitions = "look_other_definitions",
    /// The title of the lines that use a name.
    LookUses = "look_uses",
    /// How often a name is mentioned in prose.
    LookProse = "look_prose",
    /// The files that words are about after those that are shown.
    LookNext = "look_next",
    /// Lines or names that were found.
    LookFound = "look_found",
    /// What came of a command.
    LookRan = "look_ran",
    /// What a file defines, where it is too large to be shown.
    LookOutline = "look_outline",
    /// The title of the commands that would check a change, in what is known of the workspace.
    EvidenceChecks = "evidence_checks",
    /// The title of the files of a workspace, in its evidence.
    EvidenceFiles = "evidence_files",
    /// The same, where not all of them were looked at.
    EvidenceManyFiles = "evidence_many_files",
    /// The title of what is not shown.
    EvidenceOmitted = "evidence_omitted",
    /// The content of a file, or what a command printed, in a fence.
    File = "file",
    /// The name of a part of a file.
    FileLines = "file_lines",
    /// A file that does not exist yet.
    FileMissing = "file_missing",
    /// A file that was shown before and has not changed.
    FileAbove = "file_above",
    /// A large file of which only parts are shown.
    FileParts = "file_parts",
    /// What such a file defines in the parts that are not shown.
    FileElsewhere = "file_elsewhere",
    /// A note below content whose last line has no end.
    NoFinalNewline = "no_final_newline",
    /// Tells the Editor that there is another plan.
    FeedbackNewPlan = "feedback_new_plan",
    /// Tells the Editor that its last answers were not a diff.
    FeedbackNoDiff = "feedback_no_diff",
    /// Tells the Editor that its last diff does not apply.
    FeedbackNotApplied = "feedback_not_applied",
    /// Tells the Editor that the checks fail with its last diff.
    FeedbackChecksFail = "feedback_checks_fail",
    /// Tells the Editor that only what failed before still fails.
    FeedbackOldFailures = "feedback_old_failures",
    /// Tells the Editor that the user left some files of its last diff out.
    FeedbackLeftOut = "feedback_left_out",
    /// Says that a file is not the one that the last diff was written for.
    FileChanged = "file_changed",
    /// A command that fails since the change.
    CheckFailed = "check_failed",
    /// A command that failed before the change as well.
    CheckFailedBefore = "check_failed_before",
    /// What the checks said before any change.
    Baseline = "baseline",
    /// A check that passed before any change.
    BaselinePassed = "baseline_passed",
    /// A check that failed before any change.
    BaselineFailed = "baseline_failed",
    /// The standing instructions of the lane planner.
    LanePlanner = "lane_planner",
    /// Asks the lane planner how a task splits.
    SplitRequest = "split_request",
    /// The request of one lane: its part of a task.
    LanePart = "lane_part",
    /// What a lane does and owns, in a list of all lanes.
    LaneOwned = "lane_owned",
    /// Names the lanes whose work a lane begins from.
    LanesDone = "lanes_done",
    /// The request of a lane whose work conflicts with that of others.
    LaneAgain = "lane_again",
    /// The request to fix what fails only when lanes come together.
    LanesTogether = "lanes_together",
    /// What a lane was for, in a list of lanes.
    LaneGoal = "lane_goal",
    /// Has a model tell a request for a change from a question.
    Intent = "intent",
    /// The turn before the message.
    IntentBefore = "intent_before",
    /// The message itself.
    IntentMessage = "intent_message",
    /// The standing instructions for answering questions.
    Analysis = "analysis",
    /// Asks the small model whether a question needs long thought.
    RouterQuestion = "router_question",
    /// The standing instructions for reviewing a change.
    Reviewer = "reviewer",
    /// What the user wants who has a change reviewed.
    ReviewWanted = "review_wanted",
    /// The change that is to be reviewed.
    ReviewRequest = "review_request",
    /// The files of it that are not shown.
    ReviewLeftOut = "review_left_out",
    /// What was said and done earlier in the conversation.
    Conversation = "conversation",
    /// One turn of it.
    Turn = "turn",
    /// One turn of it in a line.
    TurnLine = "turn_line",
    /// What was planned in a turn.
    TurnPlan = "turn_plan",
    /// What was changed in a turn.
    TurnDiff = "turn_diff",
    /// The checks that failed at the end of a turn.
    TurnChecks = "turn_checks",
    /// What was answered in a turn.
    TurnAnswer = "turn_answer",
    /// The standing instructions of a small model that is asked one of many questions.
    MissionChild = "mission_child",
    /// What all questions of a part have in common: the goal and the files.
    MissionSources = "mission_sources",
    /// Asks what is surprising and important in a passage.
    MissionPassage = "mission_passage",
    /// Asks whether a claim holds.
    MissionClaim = "mission_claim",
    /// Asks a small model to check a hypothesis.
    MissionCheck = "mission_check",
    /// The standing instructions of the researcher.
    MissionLead = "mission_lead",
    /// Asks the researcher what else should be true if the findings are.
    MissionHypotheses = "mission_hypotheses",
    /// A finding, as the researcher is told of it.
    MissionFinding = "mission_finding",
    /// What the checks of a finding said that the researcher knows.
    MissionChecked = "mission_checked",
    /// Asks the researcher whether claims hold, with the lines that show them.
    MissionVerify = "mission_verify",
    /// A claim with the lines that show it.
    MissionEvidence = "mission_evidence",
    /// Asks the researcher for the plan of the mission.
    MissionPlan = "mission_plan",
    /// Asks the researcher for another plan, since the user wants it otherwise.
    MissionRevise = "mission_revise",
    /// Asks a small model to do a task that only reads.
    MissionTask = "mission_task",
    /// Asks the researcher for a program over the files.
    MissionProgram = "mission_program",
    /// What came of it, above what the researcher is asked next.
    MissionComputed = "mission_computed",
    /// The standing instructions of a small model that a program asks.
    ProgramChild = "program_child",
    /// What questions of a program are about.
    ProgramTexts = "program_texts",
    /// A question of a program that has texts of its own.
    ProgramQuestion = "program_question",
    /// Asks a small model for a program that answers a question.
    ProgramWanted = "program_wanted",
    /// A note that no further program is written.
    ProgramFlat = "program_flat",
    /// The result of a program.
    ProgramResult = "program_result",
    /// What a program printed.
    ProgramPrinted = "program_printed",
    /// The claims of a program, with their lines.
    ProgramCited = "program_cited",
    /// What of a program was cut, and which of its questions have no answer.
    ProgramNotes = "program_notes",
    /// Why a program came to no result.
    ProgramFailed = "program_failed",
    /// What the user says while a run is at work.
    Steered = "steered",
    /// Tells the Architect which files and commands of its plan the user did not approve.
    PlanBeyond = "plan_beyond",
    /// Asks for the next step of a long piece of work.
    Autopilot = "autopilot",
    /// Tells by which command it shows that the work is done, and what that printed last.
    AutopilotUntil = "autopilot_until",
    /// Tells how many steps did not change what that command prints.
    AutopilotAlike = "autopilot_alike",
    /// What a lane is to do for a task of a mission.
    MissionLane = "mission_lane",
}

impl Prompt {
    /// The name of its file, without the ending.
    pub const fn name(self) -> &'static str {
        self.file().0
    }

    /// The text that this version was built with.
    pub fn built_in(self) -> &'static str {
        let (_, text) = self.file();
        text.strip_suffix('\n').unwrap_or(text)
    }
}
