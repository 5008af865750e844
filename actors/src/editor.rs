//! The Editor turns a plan and the exact content of its files into a diff; it may ask to see other files first.

use config::AgentLoop;
use model::ModelError;
use policy::Verdict;
use ractor::{ActorCell, SpawnErr};
use thiserror::Error;
use tools::redact::redact;
use tree::{Entry, ReadTree};

use crate::Unanswered;
use crate::call::{CallError, Caller};
use crate::dialogue::{Dialogue, shown_file};
use crate::draft::{self, ContextRequest, DraftError, EditorAnswer};
use crate::effect::{Effect, Position, Trace};
use crate::event::{Blob, Event};
use crate::plan::Plan;
use crate::prompts::{Prompt, Prompts};
use crate::role::{RoleHost, Work};
use crate::run::Run;
use crate::wording::Wording;

/// What the Editor is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftAsk {
    /// The plan, when it is new.
    pub plan: Option<Plan>,
    /// Declared files whose current content the Editor has not seen: (path, content; `None` when there is no such file).
    pub files: Vec<(String, Option<String>)>,
    /// What was wrong with the last diff, or with what it led to.
    pub feedback: Option<String>,
}

/// Why there is no diff.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum EditorError {
    /// No answer kept the contract, repair turns included.
    #[error("the Editor gave no usable diff: {0}")]
    Unreadable(DraftError),
    /// It asked for context more often than it may.
    #[error("the Editor asked for context more than {0} times")]
    TooManyRequests(u32),
    /// The model gave no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The actor gave none.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// The dialogue as it stands after the work, with the diff as the model wrote it.
pub type DraftReply = (Dialogue, Result<String, EditorError>);

/// A handle to a running Editor.
#[derive(Clone)]
pub struct Editor(RoleHost<EditorSetup>);

/// What an Editor works with.
#[derive(Clone)]
pub struct EditorSetup {
    /// Its line to the model.
    pub caller: Caller,
    /// Where it looks up what it asks to see.
    pub tree: ReadTree,
}

impl Editor {
    /// The dialogue an Editor begins with.
    pub fn dialogue(prompts: &Prompts, bounds: &AgentLoop) -> Dialogue {
        let max_range_lines = &bounds.max_context_range_lines;
        Dialogue::new(prompts.render(Prompt::Editor, &[("max_range_lines", max_range_lines)]))
    }

    /// Starts an Editor under `supervisor`.
    pub async fn spawn(setup: EditorSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.caller.run.role_timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Asks for a diff. The dialogue goes in and comes back grown.
    pub async fn draft(&self, dialogue: Dialogue, ask: DraftAsk) -> Result<DraftReply, Unanswered> {
        self.0.ask((dialogue, ask)).await
    }
}

impl Work for EditorSetup {
    type Question = (Dialogue, DraftAsk);
    type Answer = DraftReply;

    async fn answer(&self, (mut dialogue, ask): (Dialogue, DraftAsk)) -> DraftReply {
        let drafted = self.draft(&mut dialogue, &ask).await;
        (dialogue, drafted)
    }
}

impl EditorSetup {
    fn bounds(&self) -> &AgentLoop {
        &self.caller.run.config().agent_loop
    }

    async fn draft(&self, dialogue: &mut Dialogue, ask: &DraftAsk) -> Result<String, EditorError> {
        dialogue.say(&question(self.prompts(), ask));
        let (mut repairs, mut rounds) = (0, 0);
        loop {
            match self.caller.ask(dialogue).await {
                Ok(reply) => {
                    match draft::parse(&reply.content, self.bounds().max_context_range_lines) {
                        Ok(EditorAnswer::Diff(diff)) => return Ok(diff),
                        Ok(EditorAnswer::NeedContext(requests)) => {
                            if rounds == self.bounds().max_context_requests_per_iteration {
                                return Err(EditorError::TooManyRequests(rounds));
                            }
                            rounds += 1;
                            self.show_context(dialogue, requests, rounds).await?;
                        }
                        Err(error) => self.repair(dialogue, error, &mut repairs).await?,
                    }
                }
                Err(CallError::Model(ModelError::Length { max_tokens, .. })) => {
                    let rule =
                        format!("the answer was cut at {max_tokens} tokens: write smaller hunks");
                    let error = DraftError { line: 1, text: String::new(), rule };
                    self.repair(dialogue, error, &mut repairs).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Quotes the broken rule, or gives up.
    async fn repair(
        &self,
        dialogue: &mut Dialogue,
        error: DraftError,
        repairs: &mut u32,
    ) -> Result<(), EditorError> {
        let refused = Event::DraftRefused { error: Wording::of(&redact(&error.to_string())) };
        self.caller.run.publish(refused).await.map_err(CallError::from)?;
        if *repairs == self.bounds().editor_parse_retries {
            return Err(EditorError::Unreadable(error));
        }
        *repairs += 1;
        let DraftError { line, text, rule } = &error;
        let prompts = self.prompts();
        let refused =
            prompts.render(Prompt::DraftRefused, &[("line", line), ("text", text), ("rule", rule)]);
        dialogue.say(&refused);
        Ok(())
    }

    /// Tells the model what it asked to see.
    async fn show_context(
        &self,
        dialogue: &mut Dialogue,
        requests: Vec<ContextRequest>,
        round: u32,
    ) -> Result<(), EditorError> {
        let mut context = Context { editor: self, requests, round };
        let told = self.caller.run.perform(&mut context).await?;
        dialogue.say(&told);
        Ok(())
    }

    /// What was asked for, as far as it may be shown and there is room, and why the rest is not.
    fn look_up_all(&self, requests: &[ContextRequest]) -> (String, Vec<Wording>) {
        let most = usize::try_from(self.bounds().max_file_bytes).unwrap_or(usize::MAX);
        let (mut shown, mut refused) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for request in requests {
            let looked = self.look_up(request).and_then(|text| {
                let fits = bytes + text.len() <= most;
                if fits {
                    Ok(text)
                } else {
                    Err("there is no room left for it in this answer".to_owned())
                }
            });
            let text = looked.unwrap_or_else(|why| {
                let line = self
                    .prompts()
                    .render(Prompt::ContextRefused, &[("request", request), ("why", &why)]);
                refused.push(Wording::of(&line));
                line
            });
            bytes += text.len();
            shown.push(text);
        }
        (shown.join("\n"), refused)
    }

    fn prompts(&self) -> &Prompts {
        self.caller.prompts()
    }

    fn look_up(&self, request: &ContextRequest) -> Result<String, String> {
        let path = request.path.as_str();
        match self.caller.run.terms.rules.may_read(path) {
            Verdict::Allow => {}
            Verdict::Ask { why } | Verdict::Stage { why } | Verdict::Deny { why } => {
                return Err(why);
            }
        }
        // A range of a large file is small: only what is shown has to fit.
        let most = if request.lines.is_some() {
            self.bounds().max_file_bytes.saturating_mul(50)
        } else {
            self.bounds().max_file_bytes
        };
        let entry = self.tree.entry(&request.path, most).map_err(|error| error.to_string())?;
        let text = match entry {
            Entry::File(file) => {
                String::from_utf8(file.bytes.to_vec()).map_err(|_| "it is not text".to_owned())?
            }
            Entry::Missing => return Err("there is no such file".to_owned()),
            Entry::TooLarge { bytes } => {
                return Err(format!("it has {bytes} bytes; ask for a range of lines"));
            }
            Entry::Directory | Entry::Symlink | Entry::Other => {
                return Err("it is not a regular file".to_owned());
            }
        };
        let Some((first, last)) = request.lines else {
            return Ok(shown_file(self.prompts(), path, None, &text));
        };
        let lines: String =
            text.split_inclusive('\n').skip(first - 1).take(last + 1 - first).collect();
        let count = text.lines().count();
        if lines.is_empty() {
            return Err(format!("it has only {count} lines"));
        }
        if lines.len() as u64 > self.bounds().max_file_bytes {
            return Err("the range is larger than agent_loop.max_file_bytes".to_owned());
        }
        Ok(shown_file(self.prompts(), path, Some((first, last.min(count))), &lines))
    }
}

/// The effect of showing what was asked for, as far as policy and the files allow.
struct Context<'e> {
    editor: &'e EditorSetup,
    requests: Vec<ContextRequest>,
    round: u32,
}

impl Effect for Context<'_> {
    type Outcome = String;
    type Stop = CallError;
    // Early versions did not record what was told.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<String> {
        let Event::ContextRequested { told: Some(told), .. } = event else { return Trace::Absent };
        Trace::Done(String::from_utf8_lossy(&told.content).into_owned())
    }

    async fn act(&mut self, run: &Run) -> Result<String, CallError> {
        let editor = self.editor;
        let (shown, refused) = editor.look_up_all(&self.requests);
        let left = editor.bounds().max_context_requests_per_iteration - self.round;
        let context =
            editor.prompts().render(Prompt::Context, &[("shown", &shown), ("left", &left)]);
        let told = Some(Blob::new(redact(&context).into_owned()));
        let asked = Event::ContextRequested { requests: self.requests.clone(), refused, told };
        run.publish(asked).await?;
        Ok(context)
    }
}

fn question(prompts: &Prompts, ask: &DraftAsk) -> String {
    let paragraph = |text: Option<String>| text.map(|text| text + "\n\n").unwrap_or_default();
    let feedback = paragraph(ask.feedback.clone());
    let plan = paragraph(ask.plan.as_ref().map(|plan| shown_plan(prompts, plan)));
    let shown: Vec<String> = ask
        .files
        .iter()
        .map(|(path, content)| match content {
            Some(content) => shown_file(prompts, path, None, content),
            None => prompts.render(Prompt::FileMissing, &[("path", path)]),
        })
        .collect();
    let files = paragraph(
        (!shown.is_empty())
            .then(|| prompts.render(Prompt::DraftFiles, &[("files", &shown.join("\n"))])),
    );
    prompts.render(
        Prompt::DraftRequest,
        &[("feedback", &feedback), ("plan", &plan), ("files", &files)],
    )
}

fn shown_plan(prompts: &Prompts, plan: &Plan) -> String {
    let list = |lines: Vec<String>| lines.join("\n");
    let steps = list(plan.steps.iter().map(|step| format!("- {step}")).collect());
    let files = plan.files.iter().map(|file| format!("- {}: {}", file.path, file.intent));
    let files = list(files.collect());
    let criteria = list(plan.accept.iter().map(|criterion| format!("- {criterion}")).collect());
    let accept = if criteria.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", prompts.render(Prompt::DraftAccept, &[("criteria", &criteria)]))
    };
    prompts.render(Prompt::DraftPlan, &[("steps", &steps), ("files", &files), ("accept", &accept)])
}

#[cfg(test)]
mod tests {
    use tree::RepoPath;

    use super::*;
    use crate::plan::FileIntent;

    #[test]
    fn a_question_has_the_parts_there_are() {
        let file = |path: &str| FileIntent {
            path: RepoPath::parse(path).unwrap(),
            intent: "say {{plan}}".to_owned(),
        };
        let plan = Plan {
            steps: vec!["greet".to_owned(), "check".to_owned()],
            files: vec![file("a.txt"), file("b.txt")],
            verify: Vec::new(),
            accept: vec!["it greets".to_owned()],
            no_edit: None,
        };
        let ask = DraftAsk {
            plan: Some(plan),
            files: vec![
                ("a.txt".to_owned(), Some("{{feedback}}".to_owned())),
                ("b.txt".into(), None),
            ],
            feedback: Some("Your last diff was refused.".to_owned()),
        };
        insta::assert_snapshot!(question(&Prompts::default(), &ask), @r"
        Your last diff was refused.

        The plan:
        - greet
        - check

        Files that may be changed:
        - a.txt: say {{plan}}
        - b.txt: say {{plan}}

        This must hold in the end:
        - it greets

        Current content:

        ### a.txt
        ```
        {{feedback}}
        (no newline at the end)
        ```
        ### b.txt
        (there is no such file yet)

        Answer now, with the unified diff or with NEED_CONTEXT lines.
        ");
        let nothing = DraftAsk { plan: None, files: Vec::new(), feedback: None };
        let told = question(&Prompts::default(), &nothing);
        assert_eq!(told, "Answer now, with the unified diff or with NEED_CONTEXT lines.");
    }
}
