//! A review: reads the change, asks a model what is wrong with it, and answers with the findings. Nothing is written.

mod findings;

use std::sync::Arc;

use actors::looks::git_change;
use actors::looks::look_effect::LookSources;
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::talk::AnswerError;
use actors::talk::brief::{Brief, BriefShare};
use actors::talk::prompts::Prompt;
use checks::wording::Wording;
use facts::delivery::{Delivery, NeedsWork, Verified};
use facts::grammar::review::{Review, Reviewed, ShownDiff, shown_diff};
use facts::signal::Attendance;
use facts::words::RequestIntent;
use index::FileKind;
use lanes::crew::call_failed;
use model::AgentRole;
use ractor::ActorRef;
use search::BYTES_PER_TOKEN;
use tree::RepoPath;

use self::findings::ReviewFindings;
use crate::request::LAST_REQUEST;
use crate::request::gathering::{Gathering, begins_with};
use crate::request::router::ModelRouter;
use crate::request::routing::{self, RoutedQuestion};
use crate::root::active::Work;
use crate::root::ending::{Ending, journal_closed};
use crate::root::{Msg, News, State};
use crate::session::turn;

impl State {
    /// Starts a review of the change that the request names.
    pub(crate) fn start_review(&mut self, myself: &ActorRef<Msg>, earlier: String) {
        let Some(active) = self.active_mut() else { return };
        active.work = Work::Reviewing;
        let words = active.request.text.trim().to_owned();
        let mut run = active.run.clone();
        if words == LAST_REQUEST {
            // The user has the result and waits for nothing.
            run.attendance = Attendance::Unattended;
        }
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let (index, memory) = (self.index.clone(), self.recall());
        let router = self.router.handle();
        let made = self.turns.last().map(|turn| turn::git_diff(&turn.changes)).unwrap_or_default();
        self.start_work(myself, async move {
            let commands = CommandRunner { workspace, run };
            let sources =
                LookSources { commands: &commands, index: Some(&index), own: &[], programs: None };
            let options = begins_with(&commands.run, RequestIntent::Review);
            let index = index.clone();
            let gather = |request, about| Gathering {
                request,
                about,
                index,
                options,
                earlier,
                memory,
                images: Vec::new(),
            };
            let reviewed = review(sources, (&words, router, made), gather).await;
            News::Reviewed(reviewed.unwrap_or_else(Box::new))
        });
    }
}

/// Runs a review. An unsuccessful end is returned as an error.
async fn review(
    sources: LookSources<'_>,
    (words, router, made): (&str, ModelRouter, String),
    gather: impl FnOnce(String, String) -> Gathering,
) -> Result<Box<Ending>, Ending> {
    let commands = sources.commands;
    let run = &commands.run;
    let of = if words == LAST_REQUEST {
        Some(Reviewed::Made(made))
    } else {
        Reviewed::read(words.strip_prefix("review").unwrap_or(words))
    };
    let of = of.ok_or_else(|| {
        none(&"name commits as `git diff` takes them, `--staged`, or nothing".into())
    })?;
    let read = git_change::read_change(commands, &of, words).await.map_err(|_| journal_closed())?;
    let diff = read.map_err(|why| none(&why))?;
    let room = run.config().agent_loop.review_tokens.saturating_mul(BYTES_PER_TOKEN);
    let may_read = |path: &str| run.terms.rules.may_read(path).unasked();
    let change = shown_diff(&diff, room, may_read);
    if change.text.is_empty() && change.left_out.is_empty() {
        let summary = format!("There is nothing to review in {of}.");
        return Ok(delivered(Review { summary, findings: Vec::new() }));
    }
    // The names of the changed files describe best what the review is about. Naming a lock file would show all of it.
    let is_written = |path: &&String| {
        RepoPath::parse(path).is_ok_and(|path| FileKind::of(&path) != FileKind::Aside)
    };
    let about: Vec<&str> = change.paths.iter().filter(is_written).map(String::as_str).collect();
    let about = about.join(" ");
    let request = run.prompts().render(Prompt::ReviewWanted, &[("what", &of)]);
    let brief = run.perform(&mut gather(request, about)).await?;
    let heard = ask(run, sources, brief, router, (&of, change)).await;
    heard.map(delivered).map_err(|unheard| match unheard {
        AnswerError::Call(error) => call_failed(&error).into(),
        AnswerError::Unreadable(error) => none(&format!("no review was usable: {error}").into()),
        end @ (AnswerError::Repeated { .. } | AnswerError::CutAgain { .. }) => {
            none(&Wording::of(&end))
        }
    })
}

async fn ask(
    run: &Run,
    sources: LookSources<'_>,
    brief: Brief,
    router: ModelRouter,
    (of, change): (&Reviewed, ShownDiff),
) -> Result<Review, AnswerError> {
    let (prompts, paths) = (run.prompts(), change.paths.clone());
    let tools = (toolbox::reading_tools(), &[][..]);
    let mut dialogue = routing::dialogue(run, tools);
    let introduction = brief.introduction(
        prompts,
        &mut dialogue,
        AgentRole::Analysis,
        BriefShare::Everything,
        &routing::analysis_instructions(run, tools, prompts.render(Prompt::Reviewer, &[])),
    );
    let files: Vec<String> =
        change.left_out.iter().map(|(path, why)| format!("{path}: {why}")).collect();
    let left_out = if files.is_empty() {
        String::new()
    } else {
        "\n\n".to_owned() + &prompts.render(Prompt::ReviewLeftOut, &[("files", &files.join("\n"))])
    };
    let request = prompts.render(
        Prompt::ReviewRequest,
        &[("what", of), ("diff", &change.text.trim_end()), ("left_out", &left_out)],
    );
    dialogue.say(&(introduction + &request));
    let max_bytes = run.config().agent_loop.max_file_bytes;
    let tree = sources.commands.workspace.reader();
    let question = RoutedQuestion { run, sources, brief: &brief, router, dialogue };
    question.ask(&ReviewFindings { tree, paths, max_bytes }).await
}

fn delivered(review: Review) -> Box<Ending> {
    let delivery = Delivery::Delivered { verified: Verified::NotNeeded };
    let answer = Some(review.to_string());
    Box::new(Ending { answer, review: Some(review), ..delivery.into() })
}

fn none(why: &Wording) -> Ending {
    Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail: why.clone() }.into()
}
