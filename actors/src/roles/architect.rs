//! The Architect turns a request and its evidence into a plan, and a failure into a better plan.
//!
//! What it asks, and how the answer is read, is in prompts and grammars, not here.

pub mod unapprovable;
mod useless_checks;

use std::fmt;
use std::sync::Arc;

use checks::failure_class::FailureClass;
use checks::wording::Wording;
use config::AgentLoop;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::ContractError;
use facts::grammar::draft::{MayEnd, NeededFile};
use facts::grammar::plan::{FileIntent, Leniency, Plan, PlanLimits};
use model::AgentRole;
use patch::operations::{FileOperation, Impossible};
use policy::Verdict;
use ractor::{ActorCell, SpawnErr};
use thiserror::Error;
use tools::encoding::decode;
use tools::long_lines::is_all_shortened;
use tree::{Change, Entry, RepoPath, TreeError};

use crate::Unanswered;
use crate::calls::model_call::Caller;
use crate::looks::look_effect::LookSources;
use crate::looks::server_tools::with_server_tools;
use crate::roles::role_host::{RoleHost, RoleWork};
use crate::run::Run;
use crate::run::command_runner::CommandRunner;
use crate::run::file_reader::FileReader;
use crate::run::workspace::Unapproved;
use crate::talk::brief::{Brief, BriefShare};
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::{Prompt, Prompts};
use crate::talk::{AnswerError, Grammar, Objection, Raised, Talk, refused_plan};

/// A question to the Architect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAsk {
    /// Why it is asked.
    pub why: PlanWhy,
    /// The rendered results of the checks on the unchanged tree; empty if it has them already.
    pub baseline: String,
    /// Whether it may answer that nothing more is needed.
    pub may_end: MayEnd,
}

/// Why the Architect is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanWhy {
    /// There is no plan yet.
    First {
        /// True if the request may be a question, which is answered elsewhere.
        may_be_question: bool,
    },
    /// There was a plan, and it failed.
    Failed {
        /// The kind of failure.
        class: FailureClass,
        /// A rendered report of what was done and what failed.
        report: String,
    },
    /// Some checks fail that already failed before the change.
    OldFailures {
        /// A rendered report of what was done and what still fails.
        report: String,
    },
    /// It said that nothing more is needed, but a check fails that did not fail before the change.
    StillFails {
        /// A rendered report of what was done and what fails.
        report: String,
    },
    /// The diff is ready, but its checks cannot run here.
    CannotRun {
        /// The checks, as a list, with why they cannot run.
        checks: String,
    },
    /// The user declined the change.
    Objected {
        /// A rendered report of what was done and what the user said.
        report: String,
    },
    /// The plan lacks files that the Editor needs.
    Lacks(Vec<NeededFile>),
    /// A part of the change is made, and more remains.
    NextPart {
        /// A rendered report of what is made and what remains.
        report: String,
    },
}

/// A plan that was parsed and may be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Where the parser was lenient.
    pub tolerances: Vec<Leniency>,
    /// The files of the plan that do not exist yet.
    pub new: Vec<RepoPath>,
    /// The diff that came with it.
    pub draft: Option<String>,
}

/// A file that no diff can change.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{path} cannot be edited: {why}")]
pub struct Uneditable {
    /// The file, as the plan declares it.
    pub path: RepoPath,
    /// Why it cannot be edited, in words.
    pub why: String,
}

/// Why there is no plan.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ArchitectError {
    /// No answer was a valid plan.
    #[error(transparent)]
    AnswerError(#[from] AnswerError),
    /// The plan is to change a file that cannot be edited; no other answer can help.
    #[error(transparent)]
    Uneditable(#[from] Uneditable),
    /// The request is a question, and nothing is to be changed.
    #[error("the request is a question")]
    Question,
    /// The actor gave no answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// The dialogue, including this exchange, and the result.
pub type PlanReply = (Dialogue, Result<Planned, ArchitectError>);

/// A handle to a running Architect.
#[derive(Clone)]
pub struct Architect(RoleHost<ArchitectSetup>);

/// What an Architect works with.
#[derive(Clone)]
pub struct ArchitectSetup {
    /// Makes its model calls.
    pub caller: Caller,
    /// Used to check whether a declared file can be edited.
    pub file_reader: FileReader,
    /// What the task starts with.
    pub brief: Arc<Brief>,
    /// Runs the commands that the model wants to try.
    pub commands: CommandRunner,
    /// Whether it may write a small diff with its plan.
    pub may_draft: bool,
}

impl Architect {
    /// Starts an Architect under `supervisor`.
    pub async fn spawn(setup: ArchitectSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.caller.run.role_timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// Returns the actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Asks for a plan. The dialogue is passed in and returned with the new messages, so it survives the death of the
    /// actor.
    pub async fn plan(&self, dialogue: Dialogue, ask: PlanAsk) -> Result<PlanReply, Unanswered> {
        self.0.ask((dialogue, ask)).await
    }
}

impl RoleWork for ArchitectSetup {
    const NAME: &'static str = "architect";
    type Question = (Dialogue, PlanAsk);
    type Answer = PlanReply;

    fn run(&self) -> &Run {
        &self.caller.run
    }

    async fn answer(&self, (mut dialogue, ask): (Dialogue, PlanAsk)) -> PlanReply {
        let planned = self.plan(&mut dialogue, &ask).await;
        (dialogue, planned)
    }
}

impl ArchitectSetup {
    fn bounds(&self) -> &AgentLoop {
        &self.caller.run.config().agent_loop
    }

    async fn plan(
        &self,
        dialogue: &mut Dialogue,
        ask: &PlanAsk,
    ) -> Result<Planned, ArchitectError> {
        let prompts = self.caller.prompts();
        let max_files = &self.bounds().max_files_per_iteration;
        let mut instructions = prompts.render(Prompt::Architect, &[("max_files", max_files)]);
        if self.may_draft {
            let lines = &self.bounds().draft_lines;
            let draft = prompts.render(Prompt::ArchitectDraft, &[("lines", lines)]);
            instructions.extend(["\n\n", &draft]);
        }
        let instructions = with_server_tools(&self.caller.run, AgentRole::Architect, instructions);
        let introduction = self.brief.introduction(
            prompts,
            dialogue,
            AgentRole::Architect,
            BriefShare::Everything,
            &instructions,
        );
        let question = [introduction, ask.baseline.clone(), question(prompts, &ask.why)].concat();
        dialogue.say(&question);
        let talk = Talk {
            caller: &self.caller,
            sources: LookSources::of_commands(&self.commands),
            repairs: self.bounds().architect_parse_retries,
            looks: self.bounds().max_look_rounds,
            since: None,
        };
        let may_be_question = matches!(ask.why, PlanWhy::First { may_be_question: true });
        let planning = Planning { setup: self, may_end: ask.may_end, may_be_question };
        talk.ask(dialogue, &planning).await?
    }
}

/// The Architect's contract.
struct Planning<'a> {
    setup: &'a ArchitectSetup,
    may_end: MayEnd,
    may_be_question: bool,
}

impl Grammar for Planning<'_> {
    type Answer = Result<Planned, ArchitectError>;

    fn is_formed(&self, answer: &str) -> bool {
        Plan::is_formed(answer) || self.is_question(answer)
    }

    /// Parses a plan, and checks that the files it declares can be edited.
    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<Self::Answer, ContractError>, JournalClosed> {
        if self.is_question(answer) {
            return Ok(Ok(Err(ArchitectError::Question)));
        }
        let (setup, bounds) = (self.setup, self.setup.bounds());
        let limits = PlanLimits {
            max_files: bounds.max_files_per_iteration,
            max_checks: bounds.max_checks_per_plan,
            may_end: self.may_end,
        };
        let (answer, draft) = Plan::with_draft(answer);
        let (mut plan, mut tolerances) = match Plan::parse(answer, limits) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        // A file that may not be read is not opened.
        let forbidden =
            plan.files.iter().find_map(|file| Some((file, setup.forbidden(&file.path)?)));
        if let Some((file, why)) = forbidden {
            return Ok(Err(uneditable(answer, file, &why)));
        }
        if let Some(refused) = self.refused_operation(answer, &plan).await? {
            return Ok(Err(refused));
        }
        let paths = plan.files.iter().map(|file| file.path.clone()).collect();
        let found = setup.file_reader.entries_alike(paths, bounds.max_file_bytes).await?;
        let mut new = Vec::new();
        for (file, (path, entry)) in plan.files.iter_mut().zip(found) {
            if matches!(entry, Ok(Entry::Missing)) {
                new.push(path.clone());
            }
            if file.path != path {
                file.path = path;
                tolerances.push(Leniency::Alike);
                if let Some(why) = setup.forbidden(&file.path) {
                    return Ok(Err(uneditable(answer, file, &why)));
                }
            }
            match unfit(entry) {
                Some(Unfit::Path(why)) => return Ok(Err(uneditable(answer, file, &why))),
                Some(Unfit::Content(why)) => {
                    let uneditable = Uneditable { path: file.path.clone(), why };
                    return Ok(Ok(Err(uneditable.into())));
                }
                None => {}
            }
        }
        let draft = draft.map(str::to_owned);
        Ok(Ok(Ok(Planned { plan, tolerances, new, draft })))
    }

    async fn objection(
        &self,
        planned: &Self::Answer,
        dialogue: &Dialogue,
    ) -> Result<Option<Objection>, JournalClosed> {
        let Ok(Planned { plan, .. }) = planned else { return Ok(None) };
        let setup = self.setup;
        if setup.commands.workspace.is_approved() {
            return setup.beyond(plan).await;
        }
        let (run, file_reader) = (&setup.caller.run, &setup.file_reader);
        useless_checks::objection(run, file_reader, &plan.verify, dialogue.lacking()).await
    }

    fn refused(&self, error: Wording) -> Event {
        Event::PlanRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

impl ArchitectSetup {
    /// Returns the objection to a plan that exceeds what the user approved. The Architect may insist; then the user is
    /// asked.
    async fn beyond(&self, plan: &Plan) -> Result<Option<Objection>, JournalClosed> {
        let files: Vec<RepoPath> = plan.touched().cloned().collect();
        let derived =
            if plan.verify.is_empty() { self.file_reader.checks().await? } else { Vec::new() };
        let commands = if plan.verify.is_empty() { &derived } else { &plan.verify };
        let Some(beyond) = self.commands.workspace.beyond(&files, commands) else {
            return Ok(None);
        };
        let Unapproved { planned, writes, commands } = beyond;
        let repair = self.caller.prompts().render(
            Prompt::PlanBeyond,
            &[
                ("planned", &listed(&planned)),
                ("writes", &listed(&writes)),
                ("commands", &listed(&commands)),
            ],
        );
        let said = format!("the user did not approve {}", planned.join(", "));
        let said = Wording::of(&self.caller.run.redactor.redact(&said));
        Ok(Some(Objection { said, repair, raised: Raised::Once }))
    }

    fn forbidden(&self, path: &RepoPath) -> Option<String> {
        if let Some(owner) = self.commands.workspace.owner(path) {
            return Some(format!("lane {owner} owns it"));
        }
        if path.is_in_our_directory() {
            return Some("only the user may change .deepseek".to_owned());
        }
        match self.caller.run.terms.rules.may_read(path.as_str()) {
            Verdict::Ask { why } | Verdict::Stage { why } | Verdict::Deny { why } => Some(why),
            Verdict::Allow => None,
        }
    }
}

impl Planning<'_> {
    fn is_question(&self, answer: &str) -> bool {
        self.may_be_question && Plan::is_question(answer)
    }

    /// Returns the error of the first operation that cannot be carried out, and of a FILE line with a path that one of
    /// them leaves.
    async fn refused_operation(
        &self,
        answer: &str,
        plan: &Plan,
    ) -> Result<Option<ContractError>, JournalClosed> {
        let setup = self.setup;
        let at = |line: &dyn fmt::Display, why: &str| {
            let text = line.to_string();
            let number = answer.lines().position(|it| it.contains(&text)).map_or(1, |at| at + 1);
            Some(ContractError::at(number, &text, why.to_owned()))
        };
        for planned in &plan.operations {
            let mut paths = planned.operation.paths();
            if let Some(why) = paths.find_map(|path| setup.forbidden(path)) {
                return Ok(at(&planned.operation, &format!("this may not be changed: {why}")));
            }
        }
        for file in &plan.files {
            if let Some(new) = plan.operations.iter().find_map(|it| it.operation.leads(&file.path))
            {
                let why = format!("the plan moves this file: name its new path, {new}");
                return Ok(at(&format!("FILE|{}", file.path), &why));
            }
        }
        let most = setup.bounds().max_file_bytes;
        let changes = match setup.file_reader.carried_out(plan.file_operations(), most).await? {
            Ok(changes) => changes,
            Err(Impossible { operation, why }) => return Ok(at(&operation, &why)),
        };
        // What is gone already may have been moved or deleted by the plan before.
        let is_there = |operation: &FileOperation| {
            let source = operation.source();
            matches!(operation, FileOperation::Mode { .. })
                || changes.iter().flat_map(Change::paths).any(|path| path.is_at_or_below(source))
        };
        let gone = plan.operations.iter().find(|it| !is_there(&it.operation));
        Ok(match (self.may_end, gone) {
            (MayEnd::NothingApplied, Some(gone)) => at(&gone.operation, "there is no such file"),
            (MayEnd::NothingApplied, None) | (MayEnd::Applied, _) => None,
        })
    }
}

/// Formats items as a list, one per line.
fn listed(things: &[String]) -> String {
    if things.is_empty() {
        return "- none".to_owned();
    }
    things.iter().map(|thing| format!("- {thing}")).collect::<Vec<_>>().join("\n")
}

/// Builds the error for a plan that declares a file which cannot be edited.
fn uneditable(answer: &str, file: &FileIntent, why: &str) -> ContractError {
    let path = file.path.as_str();
    let line = answer.lines().position(|line| line.contains(path)).unwrap_or(0) + 1;
    let text = format!("FILE|{path}|{}", file.intent);
    ContractError { line, text, rule: format!("this file cannot be edited: {why}") }
}

/// Why an entry cannot be edited.
#[derive(Debug, PartialEq, Eq)]
enum Unfit {
    /// The path is not that of a file: the plan may mean another one.
    Path(String),
    /// What the file contains cannot be changed by a diff.
    Content(String),
}

fn unfit(entry: Result<Entry, TreeError>) -> Option<Unfit> {
    let path = |why: &str| Some(Unfit::Path(why.to_owned()));
    match entry {
        Ok(Entry::File(file)) => match decode(&file.bytes) {
            None => Some(Unfit::Content("it is not text in one encoding".to_owned())),
            Some(decoded) if !decoded.is_exact => Some(Unfit::Content(format!(
                "it is in {}, and some of its bytes would change when it is written back; convert it to UTF-8",
                decoded.encoding.name()
            ))),
            Some(decoded) if is_all_shortened(&decoded.text) => Some(Unfit::Content(
                "its lines are too long to be shown; reformat it first".to_owned(),
            )),
            Some(_) => None,
        },
        Ok(Entry::Missing) => None,
        Ok(Entry::TooLarge { bytes }) => Some(Unfit::Content(format!(
            "it has {bytes} bytes, more than agent_loop.max_file_bytes, which can be raised"
        ))),
        Ok(Entry::Directory) => path("it is a directory"),
        Ok(Entry::Symlink) => path("it is a symlink"),
        Ok(Entry::Other) => path("it is not a regular file"),
        Err(TreeError::KeptOff { why, .. }) => Some(Unfit::Path(why.to_string())),
        Err(_) => path("it cannot be read"),
    }
}

fn question(prompts: &Prompts, why: &PlanWhy) -> String {
    match why {
        PlanWhy::First { may_be_question } => {
            let asked = prompts.render(Prompt::PlanRequest, &[]);
            if !may_be_question {
                return asked;
            }
            format!("{asked}\n\n{}", prompts.render(Prompt::PlanOrQuestion, &[]))
        }
        PlanWhy::Failed { class, report } => prompts
            .render(Prompt::PlanAgain, &[("class", &class.name()), ("last_step_outcome", report)]),
        PlanWhy::Lacks(files) => {
            let needed = |NeededFile { path, why }: &NeededFile| {
                prompts.render(Prompt::NeededFile, &[("path", path), ("why", why)])
            };
            let files: Vec<String> = files.iter().map(needed).collect();
            prompts.render(Prompt::PlanLacks, &[("files", &files.join("\n"))])
        }
        PlanWhy::Objected { report } => prompts.render(Prompt::PlanObjected, &[("report", report)]),
        PlanWhy::OldFailures { report } => {
            prompts.render(Prompt::PlanOldFailures, &[("report", report)])
        }
        PlanWhy::StillFails { report } => {
            prompts.render(Prompt::PlanStillFails, &[("report", report)])
        }
        PlanWhy::NextPart { report } => report.clone(),
        PlanWhy::CannotRun { checks } => {
            prompts.render(Prompt::PlanCannotRun, &[("checks", checks)])
        }
    }
}

#[cfg(test)]
mod tests {
    use tree::{FileMode, FileState};

    use super::*;

    #[test]
    fn files_whose_lines_can_be_shown_can_be_edited() {
        let unfit = |bytes: &[u8]| {
            let bytes = bytes.to_vec().into();
            match unfit(Ok(Entry::File(FileState { bytes, mode: FileMode::Regular }))) {
                Some(Unfit::Content(why)) => why,
                Some(Unfit::Path(_)) | None => String::new(),
            }
        };
        assert_eq!(unfit("- a line of a changelog\n".repeat(20_000).as_bytes()), "");
        assert_eq!(unfit(format!("{{\n{}\n}}\n", "x".repeat(300_000)).as_bytes()), "");
        assert_eq!(unfit(b"caf\xe9\n"), "");
        assert!(unfit("x".repeat(300_000).as_bytes()).contains("too long"));
        assert!(unfit(b"a\0").contains("not text"));
    }
}
