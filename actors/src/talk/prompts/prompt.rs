//! The names of all prompts; each is a file in `actors/prompts`. Which texts a run uses is decided by
//! [`super::Prompts`]. Pure.

/// Lists each prompt with its purpose and its file.
macro_rules! prompts {
    ($($(#[$doc:meta])* $prompt:ident = $file:literal,)+) => {
        /// A text sent to a model, whole or as a part of another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Prompt {
            $($(#[$doc])* $prompt,)+
        }

        impl Prompt {
            /// All prompts.
            pub const ALL: [Self; [$($file),+].len()] = [$(Self::$prompt),+];

            /// Returns the name of its file, without the extension, and the text built into this version.
            const fn file(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$prompt => {
                        ($file, include_str!(concat!("../../../prompts/", $file, ".md")))
                    })+
                }
            }
        }
    };
}

prompts! {
    /// The system message of every model, whatever its role.
    Common = "common",
    /// How a model asks to see more, in lines of text.
    Looks = "looks",
    /// The start of a task: the workspace, the earlier conversation, the evidence, and the request.
    Opening = "opening",
    /// The start of a task for a model that is given a plan: the workspace and the request.
    OpeningForPlan = "opening_for_plan",
    /// The part about the workspace that is the same for every request.
    Workspace = "workspace",
    /// The project's instructions for directories that a model has come to.
    Instructions = "instructions",
    /// The evidence found for the request.
    Evidence = "evidence",
    /// The standing instructions of the Architect.
    Architect = "architect",
    /// Asks the Architect for the first plan.
    PlanRequest = "plan_request",
    /// Says how the Architect leaves a question to be answered.
    PlanOrQuestion = "plan_or_question",
    /// Asks the Architect for another plan after one failed.
    PlanAgain = "plan_again",
    /// Asks the Architect what to do about failures that predate the change.
    PlanOldFailures = "plan_old_failures",
    /// Tells the Architect that something fails although it needs nothing more.
    PlanStillFails = "plan_still_fails",
    /// Asks the Architect for other checks before the diff is applied.
    PlanCannotRun = "plan_cannot_run",
    /// An answer that was given again and again.
    Repeated = "repeated",
    /// Asks the Architect for another plan after the user declined.
    PlanObjected = "plan_objected",
    /// What the user declined, and why.
    Objected = "objected",
    /// The files of a diff that the user left out.
    LeftOut = "left_out",
    /// The Architect's report of how a plan failed.
    PlanReport = "plan_report",
    /// Tells the Architect which files the Editor needs beyond its plan.
    PlanLacks = "plan_lacks",
    /// Asks the Architect for the next part of a change.
    PlanNextPart = "plan_next_part",
    /// What the checks of a part found.
    PartFails = "part_fails",
    /// Tells the Editor what is planned after a part of a change.
    DraftMore = "draft_more",
    /// Tells the Editor why a diff of the Architect is not used.
    DraftPassedOver = "draft_passed_over",
    /// A file that the plan lacks, and the reason it is needed.
    NeededFile = "needed_file",
    /// The diff that a plan produced, for the Architect.
    LastDiff = "last_diff",
    /// The reason for a needed file: a diff changes it, but the plan does not declare it.
    NeededByDiff = "needed_by_diff",
    /// Quotes the rule that a plan breaks, to the Architect and the lane planner.
    PlanRefused = "plan_refused",
    /// Tells the Architect which checks of its plan would not be run, and which commands would be.
    PlanBarred = "plan_barred",
    /// Tells the Architect that checks of its plan need a program that is not installed.
    PlanUnstarted = "plan_unstarted",
    /// A check that would not be run, or would prove nothing, and the reason.
    BarredCheck = "barred_check",
    /// Tells the Architect that the checks of its plan prove nothing.
    PlanVacuous = "plan_vacuous",
    /// The checks that run if a plan names none.
    BarredDerived = "barred_derived",
    /// Tells the Architect how to write a small diff with its plan.
    ArchitectDraft = "architect_draft",
    /// The standing instructions of the Editor.
    Editor = "editor",
    /// Asks the Editor for a diff.
    DraftRequest = "draft_request",
    /// A plan, for the Editor.
    DraftPlan = "draft_plan",
    /// Refers to the plan above in the same dialogue.
    DraftPlanAbove = "draft_plan_above",
    /// The acceptance criteria of a plan.
    DraftAccept = "draft_accept",
    /// The current content of the files that a plan names.
    DraftFiles = "draft_files",
    /// Quotes the rule that an answer of the Editor breaks.
    DraftRefused = "draft_refused",
    /// Asks the Editor for the rest of a diff that was cut.
    DraftCut = "draft_cut",
    /// Tells the Architect that the diff of its plan is too long for one answer.
    DraftTooLong = "draft_too_long",
    /// Answers what a model asked to see.
    Looked = "looked",
    /// What is remembered about the workspace from earlier deliveries.
    Memory = "memory",
    /// Says that there are more memos.
    MemoryLeftOut = "memory_left_out",
    /// A remembered check that passed.
    MemoCheck = "memo_check",
    /// A remembered answer of the user.
    MemoAnswer = "memo_answer",
    /// A remembered objection of the user, with the reason.
    MemoObjection = "memo_objection",
    /// A remembered change that a request made.
    MemoOutcome = "memo_outcome",
    /// Tells the model that tools are offered.
    Tools = "tools",
    /// Lists the tools that can be called in lines of text.
    ToolsInText = "tools_in_text",
    /// Lists the tools of servers that a role may call in lines of text.
    ServerTools = "server_tools",
    /// Lists tools of servers whose definitions are not offered.
    ServerCatalogue = "server_catalogue",
    /// Says how to find the arguments of tools that are listed without them, in lines of text.
    ServerToolsFind = "server_tools_find",
    /// The answer of a server's tool.
    ServerAnswer = "server_answer",
    /// Says that what a server's tool wrote in the workspace is not kept.
    ServerDiscards = "server_discards",
    /// Tells a role that it may not ask the user.
    AskNotHere = "ask_not_here",
    /// Tells a role that the user will not be asked again.
    AskNoMore = "ask_no_more",
    /// Tells a model that no user is present to answer its question.
    AskNobody = "ask_nobody",
    /// What the plan wants the Editor to read in addition to the files to be changed.
    ShownByPlan = "shown_by_plan",
    /// The numbered result of one look.
    Look = "look",
    /// Why a look shows nothing.
    LookRefused = "look_refused",
    /// Says that nothing more fits.
    LookNoRoom = "look_no_room",
    /// Says that there are more entries than shown.
    LookMore = "look_more",
    /// Says that a file has more matches than shown.
    LookMoreInFile = "look_more_in_file",
    /// Says that more files match.
    LookMoreFiles = "look_more_files",
    /// Says that not all files were searched.
    LookUnsearched = "look_unsearched",
    /// Says that the requested lines did not all fit.
    LookCut = "look_cut",
    /// Says that nothing matched.
    LookNothing = "look_nothing",
    /// Says that nothing matched, for a search in Chinese.
    LookForeign = "look_foreign",
    /// The last line of a definition that is not shown completely.
    LookGoesOn = "look_goes_on",
    /// Other places where a name is defined.
    LookOtherDefinitions = "look_other_definitions",
    /// The heading of the lines that use a name.
    LookUses = "look_uses",
    /// How often a name is mentioned in prose.
    LookProse = "look_prose",
    /// The next best files of a search.
    LookNext = "look_next",
    /// The hash of a file that was read.
    LookHash = "look_hash",
    /// That an index matches the files.
    IndexFresh = "index_fresh",
    /// That files changed since they were indexed.
    IndexStale = "index_stale",
    /// That an index is not complete.
    IndexPartial = "index_partial",
    /// Lines or names that were found.
    LookFound = "look_found",
    /// The result of a command.
    LookRan = "look_ran",
    /// The definitions in a file that is too large to be shown.
    LookOutline = "look_outline",
    /// The heading of the commands that check a change, in the workspace part.
    EvidenceChecks = "evidence_checks",
    /// The heading of the lines that name the example.
    EvidenceExample = "evidence_example",
    /// The heading of the workspace's files, in the evidence.
    EvidenceFiles = "evidence_files",
    /// The heading of the workspace's files, if not all of them were searched.
    EvidenceManyFiles = "evidence_many_files",
    /// Heading of the lines with what a request quotes or names.
    EvidenceMentions = "evidence_mentions",
    /// The heading of what is left out.
    EvidenceOmitted = "evidence_omitted",
    /// The content of a file or the output of a command, in a fence.
    File = "file",
    /// The name of a part of a file.
    FileLines = "file_lines",
    /// A file that does not exist yet.
    FileMissing = "file_missing",
    /// A file that was shown before and has not changed.
    FileAbove = "file_above",
    /// A large file of which only parts are shown.
    FileParts = "file_parts",
    /// The places named by a plan that are not shown.
    FileUnshown = "file_unshown",
    /// The definitions in the hidden parts of a large file.
    FileLookResult = "file_elsewhere",
    /// What a plan has the program do before the Editor's diff.
    DraftOperations = "draft_operations",
    /// A note that a file is not in UTF-8.
    FileEncoding = "file_encoding",
    /// A note that the content does not end with a newline.
    NoFinalNewline = "no_final_newline",
    /// Tells the Editor that there is another plan.
    FeedbackNewPlan = "feedback_new_plan",
    /// Tells the Editor that its last answers were not a diff.
    FeedbackNoDiff = "feedback_no_diff",
    /// Tells the Editor that its last diff does not apply.
    FeedbackNotApplied = "feedback_not_applied",
    /// Tells the Editor that the checks fail with its last diff.
    FeedbackChecksFail = "feedback_checks_fail",
    /// Tells the Editor that only checks fail that failed before.
    FeedbackOldFailures = "feedback_old_failures",
    /// Tells the Editor that the user left out some files of its last diff.
    FeedbackLeftOut = "feedback_left_out",
    /// Says that a file has changed since the last diff was written.
    FileChanged = "file_changed",
    /// A command that fails because of the change.
    CheckFailed = "check_failed",
    /// A command that also failed before the change.
    CheckFailedBefore = "check_failed_before",
    /// A check that passes only after another one has changed a file.
    CheckNeeds = "check_needs",
    /// The results of the checks before any change.
    Baseline = "baseline",
    /// A check that passed before any change.
    BaselinePassed = "baseline_passed",
    /// A check that failed before any change.
    BaselineFailed = "baseline_failed",
    /// The standing instructions of the lane planner.
    LanePlanner = "lane_planner",
    /// Asks the lane planner how to split a task.
    SplitRequest = "split_request",
    /// The request of one lane: its part of a task.
    LanePart = "lane_part",
    /// A lane's task and its files, in a list of all lanes.
    LaneOwned = "lane_owned",
    /// The lanes whose work a lane starts from.
    LanesDone = "lanes_done",
    /// The request of a lane whose work conflicts with others.
    LaneAgain = "lane_again",
    /// The request to fix failures that appear only when lanes are combined.
    LanesTogether = "lanes_together",
    /// The goal of a lane, in a list of lanes.
    LaneGoal = "lane_goal",
    /// Asks a model to tell requests for a change from questions.
    Intent = "intent",
    /// The turn before the message to be classified.
    IntentBefore = "intent_before",
    /// The message to be classified.
    IntentMessage = "intent_message",
    /// The standing instructions for answering questions.
    Analysis = "analysis",
    /// Asks the small model whether a question needs the long-thinking model.
    RouterQuestion = "router_question",
    /// The standing instructions for reviewing a change.
    Reviewer = "reviewer",
    /// The user's wishes for a review.
    ReviewWanted = "review_wanted",
    /// The change to be reviewed.
    ReviewRequest = "review_request",
    /// The files of the change that are not shown.
    ReviewLeftOut = "review_left_out",
    /// The earlier conversation.
    Conversation = "conversation",
    /// One turn of the conversation.
    Turn = "turn",
    /// One turn of the conversation on a single line.
    TurnLine = "turn_line",
    /// A summary of the oldest turns.
    TurnsSummary = "turns_summary",
    /// What the user said while a turn was worked on.
    TurnSaid = "turn_said",
    /// A message of the user to the active request.
    TurnWord = "turn_word",
    /// What became of the changes of earlier turns.
    TurnsSince = "turns_since",
    /// The plan of a turn.
    TurnPlan = "turn_plan",
    /// The diff of a turn.
    TurnDiff = "turn_diff",
    /// The checks that failed at the end of a turn.
    TurnChecks = "turn_checks",
    /// The answer of a turn.
    TurnAnswer = "turn_answer",
    /// The standing instructions of a small model that answers child questions.
    MissionChild = "mission_child",
    /// The shared prefix of the questions of a part: the goal and the files.
    MissionSources = "mission_sources",
    /// Asks what is surprising and important in a passage.
    MissionPassage = "mission_passage",
    /// Asks whether a claim is true.
    MissionClaim = "mission_claim",
    /// Asks a small model to check a hypothesis.
    MissionCheck = "mission_check",
    /// The standing instructions of the researcher.
    MissionLead = "mission_lead",
    /// Asks the researcher what else should be true if the findings are.
    MissionHypotheses = "mission_hypotheses",
    /// A finding, as shown to the researcher.
    MissionFinding = "mission_finding",
    /// What the checks of a finding showed, for the researcher.
    MissionChecked = "mission_checked",
    /// Asks the researcher whether claims are true, given the lines that support them.
    MissionVerify = "mission_verify",
    /// A claim with the lines that support it.
    MissionEvidence = "mission_evidence",
    /// Asks the researcher for the mission's plan.
    MissionPlan = "mission_plan",
    /// Asks the researcher to revise the plan as the user requested.
    MissionRevise = "mission_revise",
    /// Asks a small model to do a read-only task.
    MissionTask = "mission_task",
    /// Asks the researcher for a program over the files.
    MissionProgram = "mission_program",
    /// The result of that program, above the next question to the researcher.
    MissionComputed = "mission_computed",
    /// The standing instructions of a small model that answers a program's questions.
    ProgramChild = "program_child",
    /// The texts that a program's questions are about.
    ProgramTexts = "program_texts",
    /// A question of a program that has texts of its own.
    ProgramQuestion = "program_question",
    /// Asks a small model for a program that answers a question.
    ProgramWanted = "program_wanted",
    /// A note that no nested program will be written.
    ProgramFlat = "program_flat",
    /// The result of a program.
    ProgramResult = "program_result",
    /// What a program printed.
    ProgramPrinted = "program_printed",
    /// The claims of a program, with the lines they cite.
    ProgramCited = "program_cited",
    /// What was cut from a program's result, and which of its questions have no answer.
    ProgramNotes = "program_notes",
    /// Why a program has no result.
    ProgramFailed = "program_failed",
    /// What the user said while the run was active.
    Steered = "steered",
    /// Tells the Architect which files and commands of its plan the user did not approve.
    PlanBeyond = "plan_beyond",
    /// Asks for the next step of a long task.
    Autopilot = "autopilot",
    /// Names the command that shows whether the task is done, and its last output.
    AutopilotUntil = "autopilot_until",
    /// Says for how many steps the output of that command has not changed.
    AutopilotAlike = "autopilot_alike",
    /// Asks for the next step in the same dialogue.
    AutopilotNext = "autopilot_next",
    /// Tells the models of a step about the task and the steps before it.
    AutopilotCourse = "autopilot_course",
    /// Names the images that are shown with a message.
    Images = "images",
    /// Names images that are not shown.
    ImagesUnseen = "images_unseen",
    /// The request of a lane that does a mission's task.
    MissionLane = "mission_lane",
}

impl Prompt {
    /// Returns the name of its file, without the extension.
    pub const fn name(self) -> &'static str {
        self.file().0
    }

    /// Returns the text built into this version.
    pub fn built_in(self) -> &'static str {
        let (_, text) = self.file();
        text.strip_suffix('\n').unwrap_or(text)
    }
}
