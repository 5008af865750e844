//! The Editor turns a plan and the exact content of its files into a diff. It may look first, report files that the
//! plan lacks, or report that nothing more is needed.

pub mod draft_with_plan;

use std::sync::Arc;

use checks::wording::Wording;
use config::AgentLoop;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::ContractError;
use facts::grammar::cut_diff;
use facts::grammar::draft::{self, EditorAnswer, MayEnd};
use facts::grammar::look::{Look, Looks};
use facts::grammar::plan::Plan;
use index::{Definition, definitions_of_file};
use model::AgentRole;
use ractor::{ActorCell, SpawnErr};
use thiserror::Error;
use tools::blocking::on_a_thread;
use tools::long_lines::shortened;
use tree::RepoPath;

use crate::Unanswered;
use crate::calls::model_call::{CallError, Caller};
use crate::looks::instructions::instructions_for;
use crate::looks::look_effect::{LookSources, Looking, WantedBy};
use crate::looks::server_tools::with_server_tools;
use crate::looks::shown_lines::{self, FirstSight, Hints, ShownRange};
use crate::roles::editor::draft_with_plan::{DraftWithPlan, Unusable};
use crate::roles::role_host::{RoleHost, RoleWork};
use crate::run::Run;
use crate::run::command_runner::CommandRunner;
use crate::talk::brief::{Brief, BriefShare, paragraph};
use crate::talk::dialogue::{Dialogue, in_encoding, shown_file, shown_lines};
use crate::talk::prompts::{Prompt, Prompts};
use crate::talk::{AnswerError, Grammar, KeptPart, Talk};

/// Maximum number of definitions listed for the hidden parts of a large file.
const OUTLINE: usize = 40;

/// A question to the Editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftAsk {
    /// The plan, if it is new to the Editor.
    pub plan: Option<Plan>,
    /// Declared files whose current content the Editor has not seen.
    pub files: Vec<FileNow>,
    /// What was wrong with the last diff, or with its results.
    pub feedback: Option<String>,
    /// The rendered results of the checks on the unchanged tree; empty if it has them already.
    pub baseline: String,
    /// Whether it may answer that nothing more is needed.
    pub may_end: MayEnd,
    /// The files that its diff may change.
    pub declared: Vec<RepoPath>,
    /// The first message of the dialogue from which its answers count as repeated: since its plan was made, or its last
    /// diff applied.
    pub since: usize,
}

/// The current state of a declared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNow {
    /// The file.
    pub path: RepoPath,
    /// Its content, decoded; `None` if it does not exist.
    pub now: Option<String>,
    /// Its encoding, unless it is UTF-8.
    pub encoding: Option<&'static str>,
    /// The content that the Editor was last shown, if any.
    pub seen: Option<String>,
    /// Where it is likely to be changed.
    pub hints: Hints,
}

/// Why there is no answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum EditorError {
    /// No answer kept the contract, or there was none.
    #[error(transparent)]
    AnswerError(#[from] AnswerError),
    /// The actor gave no answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// Returns the diff that came with a plan if it can be used: [`DraftWithPlan::usable`], beside the mailbox.
pub async fn usable_with_plan(
    draft: DraftWithPlan,
    files: Vec<FileNow>,
    author: Dialogue,
    run: Run,
) -> Result<String, Unusable> {
    let usable = move || {
        let bounds = &run.config().agent_loop;
        draft.usable(&files, &author, bounds).map(str::to_owned)
    };
    on_a_thread(usable).await
}

/// The dialogue, including this exchange, and the answer.
pub type DraftReply = (Dialogue, Result<EditorAnswer, EditorError>);

/// A handle to a running Editor.
#[derive(Clone)]
pub struct Editor(RoleHost<EditorSetup>);

/// What an Editor works with.
#[derive(Clone)]
pub struct EditorSetup {
    /// Makes its model calls.
    pub caller: Caller,
    /// Runs the commands that the model wants to try.
    pub commands: CommandRunner,
    /// What the task starts with.
    pub brief: Arc<Brief>,
}

impl Editor {
    /// Starts an Editor under `supervisor`.
    pub async fn spawn(setup: EditorSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.caller.run.role_timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// Returns the actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Asks for a diff. The dialogue is passed in and returned with the new messages.
    pub async fn draft(&self, dialogue: Dialogue, ask: DraftAsk) -> Result<DraftReply, Unanswered> {
        self.0.ask((dialogue, ask)).await
    }
}

impl RoleWork for EditorSetup {
    const NAME: &'static str = "editor";
    type Question = (Dialogue, DraftAsk);
    type Answer = DraftReply;

    fn run(&self) -> &Run {
        &self.caller.run
    }

    async fn answer(&self, (mut dialogue, ask): (Dialogue, DraftAsk)) -> DraftReply {
        let drafted = self.draft(&mut dialogue, &ask).await;
        (dialogue, drafted.map_err(EditorError::from))
    }
}

impl EditorSetup {
    fn sources(&self) -> LookSources<'_> {
        LookSources::of_commands(&self.commands)
    }

    fn bounds(&self) -> &AgentLoop {
        &self.caller.run.config().agent_loop
    }

    async fn draft(
        &self,
        dialogue: &mut Dialogue,
        ask: &DraftAsk,
    ) -> Result<EditorAnswer, AnswerError> {
        let prompts = self.caller.prompts();
        let is_shared = !dialogue.is_new();
        let instructions = prompts.render(Prompt::Editor, &[]);
        let instructions = with_server_tools(&self.caller.run, AgentRole::Editor, instructions);
        let introduction = self.brief.introduction(
            prompts,
            dialogue,
            AgentRole::Editor,
            BriefShare::Plan,
            &instructions,
        );
        let declared = ask.plan.iter().flat_map(|plan| &plan.files).map(|file| &file.path);
        let rules = instructions_for(declared, dialogue, &self.caller, &self.commands).await?;
        let besides = self.besides(dialogue, ask).await?;
        // If the Architect shares this dialogue, its plan is already there.
        let plan = ask.plan.as_ref().map(|plan| {
            if is_shared && dialogue.has_heard(&plan.to_string()) {
                prompts.render(Prompt::DraftPlanAbove, &[])
            } else {
                shown_plan(prompts, plan)
            }
        });
        let shown: Vec<String> =
            ask.files.iter().map(|file| self.shown(prompts, dialogue, file)).collect();
        let files = if shown.is_empty() {
            String::new()
        } else {
            prompts.render(Prompt::DraftFiles, &[("files", &shown.join("\n"))])
        };
        let question = prompts.render(
            Prompt::DraftRequest,
            &[
                ("baseline", &ask.baseline),
                ("feedback", &paragraph(ask.feedback.clone().unwrap_or_default())),
                ("plan", &paragraph(plan.unwrap_or_default())),
                ("files", &(paragraph(rules) + &paragraph(besides) + &paragraph(files))),
            ],
        );
        dialogue.say(&(introduction + &question));
        let talk = Talk {
            caller: &self.caller,
            sources: self.sources(),
            repairs: self.bounds().editor_parse_retries,
            looks: self.bounds().max_context_requests_per_iteration,
            since: Some(ask.since),
        };
        let draft = Draft { may_end: ask.may_end, declared: &ask.declared };
        talk.ask(dialogue, &draft).await
    }

    /// Shows what a new plan wants the Editor to read, except what was looked at in this dialogue and the files to be
    /// changed.
    async fn besides(&self, dialogue: &mut Dialogue, ask: &DraftAsk) -> Result<String, CallError> {
        let Some(plan) = &ask.plan else { return Ok(String::new()) };
        let declared = |wanted: &RepoPath| plan.files.iter().any(|file| file.path == *wanted);
        let is_new = |look: &&Look| {
            let Look::Context { path, .. } = look else { return false };
            !declared(path) && !dialogue.looks().contains(look)
        };
        let looks: Vec<Look> = plan.show.iter().filter(is_new).cloned().collect();
        if looks.is_empty() {
            return Ok(String::new());
        }
        dialogue.looked(&looks);
        let looks = Looks { looks, tolerances: Vec::new() };
        let (caller, wanted_by) = (&self.caller, WantedBy::Plan);
        let (sources, elsewhere) = (self.sources(), Vec::new());
        caller.run.perform(&mut Looking { caller, sources, looks, elsewhere, wanted_by }).await
    }

    fn shown(&self, prompts: &Prompts, dialogue: &Dialogue, file: &FileNow) -> String {
        in_encoding(prompts, self.lines_of(prompts, dialogue, file), file.encoding)
    }

    /// Formats a file, or its relevant parts: those that changed since it was last shown, or those that the plan will
    /// change.
    fn lines_of(&self, prompts: &Prompts, dialogue: &Dialogue, file: &FileNow) -> String {
        let path = &file.path;
        // Masked before it is split: part of a secret may not be recognized as one.
        let masked = |text: &String| shortened(&self.caller.run.redactor.redact(text)).into_owned();
        let Some(now) = file.now.as_ref().map(masked) else {
            return prompts.render(Prompt::FileMissing, &[("path", path)]);
        };
        let lines = |(first, last): ShownRange| {
            let of = now.lines().count();
            shown_lines(
                prompts,
                path.as_str(),
                (first, last, of),
                &shown_lines::lines_of(&now, (first, last)),
            )
        };
        let seen = file.seen.as_ref().map(masked);
        if let Some(changed) = seen.and_then(|seen| shown_lines::changed_parts(&seen, &now))
            && !changed.is_empty()
        {
            return changed.into_iter().map(lines).collect::<Vec<_>>().join("\n");
        }
        let definitions = definitions_of_file(path, &now);
        let blocks: Vec<ShownRange> =
            definitions.iter().map(|it| (it.first as usize, it.last as usize)).collect();
        let most = self.bounds().max_place_lines;
        let FirstSight::Parts { shown, unshown } =
            shown_lines::first_sight(&now, &blocks, &file.hints, most)
        else {
            let whole = shown_file(prompts, path.as_str(), &now);
            return if dialogue.has_told_model(&whole) {
                prompts.render(Prompt::FileAbove, &[("path", path)])
            } else {
                whole
            };
        };
        // An Editor that was told where to change the file needs no outline.
        let elsewhere = if file.hints.named.is_empty() {
            elsewhere(prompts, definitions, &shown)
        } else if unshown.is_empty() {
            String::new()
        } else {
            let unshown = unshown.iter().map(|(first, last)| format!("{first}-{last}"));
            let unshown = unshown.collect::<Vec<_>>().join(", ");
            format!(" {}", prompts.render(Prompt::FileUnshown, &[("unshown", &unshown)]))
        };
        let lines_of_it = now.lines().count();
        let heading = prompts.render(
            Prompt::FileParts,
            &[("path", path), ("lines", &lines_of_it), ("elsewhere", &elsewhere)],
        );
        let parts = shown.into_iter().map(lines);
        std::iter::once(heading).chain(parts).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the definitions of a file that are outside the shown parts.
fn elsewhere(prompts: &Prompts, definitions: Vec<Definition>, parts: &[ShownRange]) -> String {
    let is_shown = |at: u32| {
        usize::try_from(at)
            .is_ok_and(|at| parts.iter().any(|(first, last)| (*first..=*last).contains(&at)))
    };
    let defined = definitions.into_iter().filter(|it| !is_shown(it.line));
    let mut defined: Vec<String> =
        defined.map(|it| format!("{:>5}| {} {}", it.line, it.kind, it.name)).collect();
    let more = defined.len().saturating_sub(OUTLINE);
    if more > 0 {
        defined.truncate(OUTLINE);
        defined.push(prompts.render(Prompt::LookMore, &[("what", &more)]));
    }
    if defined.is_empty() {
        return String::new();
    }
    format!("\n{}", prompts.render(Prompt::FileLookResult, &[("definitions", &defined.join("\n"))]))
}

/// The Editor's contract.
struct Draft<'a> {
    may_end: MayEnd,
    /// The files that a diff may change.
    declared: &'a [RepoPath],
}

impl Grammar for Draft<'_> {
    type Answer = EditorAnswer;
    const MAY_BE_CUT_AGAIN: bool = false;

    fn is_formed(&self, answer: &str) -> bool {
        draft::is_formed(answer)
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<EditorAnswer, ContractError>, JournalClosed> {
        Ok(draft::parse_draft(answer, self.may_end))
    }

    fn kept(&self, prompts: &Prompts, cut: &str, most: u32) -> Option<KeptPart> {
        let (names, text) = cut_diff::whole_sections(cut)?;
        let is_missing = |path: &&RepoPath| names.iter().all(|name| name != path.as_str());
        let missing: Vec<&str> =
            self.declared.iter().filter(is_missing).map(RepoPath::as_str).collect();
        let (kept, rest) = (names.join(", "), missing.join(", "));
        let ask =
            prompts.render(Prompt::DraftCut, &[("most", &most), ("kept", &kept), ("rest", &rest)]);
        Some(KeptPart { text, names, ask })
    }

    fn joined(&self, kept: &str, later: String) -> String {
        cut_diff::joined(kept, &later)
    }

    fn refused(&self, error: Wording) -> Event {
        Event::DraftRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        let ContractError { line, text, rule } = error;
        prompts.render(Prompt::DraftRefused, &[("line", line), ("text", text), ("rule", rule)])
    }
}

fn shown_plan(prompts: &Prompts, plan: &Plan) -> String {
    let list = |lines: Vec<String>| lines.join("\n");
    let steps = list(plan.steps.iter().map(|step| format!("- {step}")).collect());
    let files = plan.files.iter().map(|file| format!("- {}: {}", file.path, file.intent));
    let files = list(files.collect());
    let criteria = list(plan.criteria().map(|it| format!("- {}", it.criterion)).collect());
    let accept = if criteria.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", prompts.render(Prompt::DraftAccept, &[("criteria", &criteria)]))
    };
    let operations = list(plan.operations.iter().map(|it| format!("- {it}")).collect());
    let operations = if operations.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", prompts.render(Prompt::DraftOperations, &[("operations", &operations)]))
    };
    let more = plan.more.as_ref().map_or_else(String::new, |more| {
        format!("\n\n{}", prompts.render(Prompt::DraftMore, &[("more", more)]))
    });
    prompts.render(
        Prompt::DraftPlan,
        &[
            ("steps", &steps),
            ("files", &files),
            ("operations", &operations),
            ("accept", &accept),
            ("more", &more),
        ],
    )
}
