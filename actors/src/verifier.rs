//! The Verifier runs the commands that show whether a change works. It asks no model.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{AgentLoop, Commands};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort};
use tools::redact::redact;
use tools::regular::{self, MAX_NOTE_BYTES, read_text};
use tools::shell::{CommandLine, CommandOutcome, Environment, Exit, RunOptions, run};
use tools::tree::FileHash;

use crate::checks::{self, Check, CheckOutcome, Findings, Report};
use crate::event::{Blob, Event};
use crate::failure::ErrorSet;
use crate::publisher::{JournalClosed, Publisher};
use crate::workspace::{Denied, Workspace};
use crate::{Unanswered, answer, answered};

/// A report, with the first denial if there was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What came of each command.
    pub report: Report,
    /// The denial that kept a command from running.
    pub denied: Option<Denied>,
}

/// Which tree is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The tree before the change: results are kept for later runs, and published by whoever asked.
    Untouched,
    /// The tree with the change in it.
    Changed,
}

/// What the Verifier answers.
pub type VerifyReply = Result<Checked, JournalClosed>;

enum Msg {
    Verify { commands: Vec<String>, subject: Subject, reply: RpcReplyPort<VerifyReply> },
}

/// A handle to a running Verifier.
#[derive(Clone)]
pub struct Verifier {
    actor: ActorRef<Msg>,
    timeout: Duration,
}

/// What a Verifier works with.
#[derive(Clone)]
pub struct VerifierSetup {
    /// Who owns the tree and says whether a command may run.
    pub workspace: Arc<dyn Workspace>,
    /// Where facts go.
    pub publisher: Publisher,
    /// Its limits.
    pub bounds: AgentLoop,
    /// How commands run.
    pub commands: Commands,
    /// Where results of the untouched tree and measured times are kept between runs.
    pub cache: PathBuf,
    /// What commands see of the environment.
    pub env: Environment,
    /// A tree with more files has no hash, and its results are not kept.
    pub max_files: usize,
    /// How long it may take in all.
    pub timeout: Duration,
}

impl Verifier {
    /// Starts a Verifier under `supervisor`.
    pub async fn spawn(
        setup: VerifierSetup,
        supervisor: ActorCell,
    ) -> Result<Self, ractor::SpawnErr> {
        let timeout = setup.timeout;
        let (actor, _) = Actor::spawn_linked(None, VerifierActor, setup, supervisor).await?;
        Ok(Self { actor, timeout })
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Runs `commands` in order.
    pub async fn verify(
        &self,
        commands: Vec<String>,
        subject: Subject,
    ) -> Result<VerifyReply, Unanswered> {
        let message = |reply| Msg::Verify { commands, subject, reply };
        answered(self.actor.call(message, Some(self.timeout)).await)
    }
}

struct VerifierActor;

impl Actor for VerifierActor {
    type Msg = Msg;
    type State = VerifierSetup;
    type Arguments = VerifierSetup;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        setup: VerifierSetup,
    ) -> Result<VerifierSetup, ActorProcessingErr> {
        Ok(setup)
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        state: &mut VerifierSetup,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Verify { commands, subject, reply } => {
                answer(reply, state.verify(&commands, subject).await);
            }
        }
        Ok(())
    }
}

impl VerifierSetup {
    async fn verify(&self, commands: &[String], subject: Subject) -> VerifyReply {
        let tree = match subject {
            Subject::Untouched => {
                tree_hash(self.workspace.reader().root().to_owned(), self.max_files).await
            }
            Subject::Changed => None,
        };
        // A copy has not all that commands may look for: what fails there need not fail here.
        let copy = if self.workspace.in_place_of().is_some() { "\nin a copy" } else { "" };
        let key = |text: &str| {
            let tree = tree.as_ref()?;
            Some(FileHash::of(format!("{tree}\n{text}{copy}").as_bytes()))
        };
        let mut verified = Checked { report: Report::default(), denied: None };
        for text in commands {
            let key = key(text);
            let recalled = match subject {
                Subject::Untouched => self.recall_baseline(text).await,
                Subject::Changed => None,
            };
            let known = || key.as_ref().and_then(|key| self.remembered(key, text));
            let check = match recalled.or_else(known) {
                Some(check) => check,
                None => self.check(text, subject, key, &mut verified.denied).await?,
            };
            verified.report.checks.push(check);
        }
        Ok(verified)
    }

    /// Runs one command, if it may run.
    async fn check(
        &self,
        text: &str,
        subject: Subject,
        key: Option<FileHash>,
        denied: &mut Option<Denied>,
    ) -> Result<Check, JournalClosed> {
        let line = match CommandLine::parse(text) {
            Ok(line) => line,
            Err(error) => {
                return Ok(not_run(text, CheckOutcome::CommandMissing, &error.to_string()));
            }
        };
        if let Err(denial) = self.workspace.permit(&line).await {
            let check = not_run(text, CheckOutcome::PolicyDenied, &denial.why.to_string());
            denied.get_or_insert(denial);
            return Ok(check);
        }
        if subject == Subject::Changed
            && let Some(check) = self.recall(text).await
        {
            return Ok(check);
        }
        let mut outcome = self.run_to_limit(&line).await;
        let mut check = self.read(text, &outcome);
        if subject == Subject::Changed && checks::could_be_flaky(&check) {
            let again = self.run_to_limit(&line).await;
            if again.succeeded() {
                self.publish(&check, &outcome).await?;
                outcome = again;
                check = Check { outcome: CheckOutcome::Flaky, ..self.read(text, &outcome) };
            }
        }
        match (subject, key) {
            (Subject::Untouched, Some(key)) => self.remember(&key, &check),
            (Subject::Untouched, None) => {}
            (Subject::Changed, _) => self.publish(&check, &outcome).await?,
        }
        Ok(check)
    }

    /// What came of a command on the untouched tree when the run was driven before; `None` when that has to be found out.
    async fn recall_baseline(&self, text: &str) -> Option<Check> {
        self.publisher.recall_baseline(|event| recorded(event, text, true)).await
    }

    /// What came of a command when the run was driven before; `None` when it is to be run.
    async fn recall(&self, text: &str) -> Option<Check> {
        let publisher = &self.publisher;
        let first = publisher.recall(|event| recorded(event, text, false)).await?;
        publisher.pass_recorded(|_| Some(()));
        // What failed and then passed is told of twice.
        let flaky = publisher.pass_recorded(|event| {
            recorded(event, text, false).filter(|check| check.outcome == CheckOutcome::Flaky)
        });
        Some(flaky.unwrap_or(first))
    }

    fn read(&self, text: &str, outcome: &CommandOutcome) -> Check {
        let mut check = checks::read(text, outcome, self.commands.output_keep_bytes);
        check.excerpt = redact(&check.excerpt).into_owned();
        check
    }

    /// Runs with the first limit; when that is exceeded, once more with the larger one, and remembers the time it took.
    async fn run_to_limit(&self, line: &CommandLine) -> CommandOutcome {
        let remembered = self.cache.join(format!("time-{}", FileHash::of(line.text().as_bytes())));
        let measured =
            read_text(&remembered, MAX_NOTE_BYTES).ok().and_then(|text| text.trim().parse().ok());
        let largest = Duration::from_secs(self.bounds.verify_timeout_max_seconds);
        let first = Duration::from_secs(measured.unwrap_or(self.bounds.verify_timeout_seconds))
            .min(largest);
        let outcome = self.run(line, first).await;
        if outcome.exit != Exit::TimedOut || first >= largest {
            return outcome;
        }
        let seconds = first.as_secs();
        let why = format!(
            "`{}` took more than {seconds} s; running it again with {} s",
            line.text(),
            largest.as_secs()
        );
        self.publisher.show_wait(why);
        let outcome = self.run(line, largest).await;
        if outcome.exit != Exit::TimedOut {
            // Half as much again, so that a slower day does not cost a second run.
            let limit = outcome.elapsed.as_secs() * 3 / 2 + 1;
            self.keep(&remembered, limit.to_string().as_bytes());
        }
        outcome
    }

    async fn run(&self, line: &CommandLine, timeout: Duration) -> CommandOutcome {
        let options = RunOptions {
            cwd: self.workspace.reader().root().to_owned(),
            timeout,
            keep_bytes: self.commands.output_journal_bytes / 2,
            kill_grace: Duration::from_millis(self.commands.kill_grace_ms),
            env: self.env.clone(),
            in_place_of: self.workspace.in_place_of().map(Path::to_owned),
            notes: Some(running(&self.cache)),
        };
        self.publisher.show_wait(format!("running `{}`", line.text()));
        run(line, &options).await
    }

    async fn publish(&self, check: &Check, outcome: &CommandOutcome) -> Result<(), JournalClosed> {
        let output = redact(&outcome.output.text()).into_owned();
        let elapsed_ms = u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX);
        self.publisher.publish(run_event(check, false, elapsed_ms, output)).await
    }

    fn remembered(&self, key: &FileHash, text: &str) -> Option<Check> {
        let kept = regular::read(&self.cache.join(format!("base-{key}")), MAX_NOTE_BYTES).ok()?;
        let check: Check = serde_json::from_slice(&kept).ok()?;
        (check.command == text).then_some(check)
    }

    /// Only what the tree decides is worth remembering: a full disk today is none tomorrow.
    fn remember(&self, key: &FileHash, check: &Check) {
        if !matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::CodeFailure) {
            return;
        }
        if let Ok(text) = serde_json::to_vec(check) {
            self.keep(&self.cache.join(format!("base-{key}")), &text);
        }
    }

    /// Writes a cache file; without it the next run only takes longer.
    fn keep(&self, path: &Path, content: &[u8]) {
        let written = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.cache)
            .and_then(|()| regular::write(path, content));
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "a result of verification could not be kept");
        }
    }
}

/// Where commands are noted while they run, below the cache of a workspace.
pub fn running(cache: &Path) -> PathBuf {
    cache.join("running")
}

/// The event of a check; those of the untouched tree are published when they are used, so that their order is fixed.
pub fn run_event(check: &Check, baseline: bool, elapsed_ms: u64, output: String) -> Event {
    Event::VerificationRun {
        command: check.command.clone(),
        baseline,
        outcome: check.outcome,
        exit: check.exit.clone(),
        elapsed_ms,
        findings: Some(Findings {
            excerpt: (check.excerpt != output).then(|| check.excerpt.clone()),
            errors: check.errors.clone(),
            exact: check.exact.clone(),
        }),
        output: Blob::new(output),
    }
}

/// The check that an event tells of, if it is one of `text`.
fn recorded(event: &Event, text: &str, of_baseline: bool) -> Option<Check> {
    if let Event::VerificationRun { command, baseline, outcome, exit, output, findings, .. } = event
        && command == text
        && *baseline == of_baseline
    {
        let Findings { excerpt, errors, exact } = findings.clone()?;
        let whole = || String::from_utf8_lossy(&output.content).into_owned();
        let excerpt = excerpt.unwrap_or_else(whole);
        let (command, exit) = (command.clone(), exit.clone());
        Some(Check { command, outcome: *outcome, exit, excerpt, errors, exact })
    } else {
        None
    }
}

fn not_run(text: &str, outcome: CheckOutcome, why: &str) -> Check {
    Check {
        command: text.to_owned(),
        outcome,
        exit: format!("not run: {why}"),
        excerpt: String::new(),
        errors: ErrorSet::new(),
        exact: ErrorSet::new(),
    }
}

/// A hash of every file that is not ignored: what the result of a command on this tree depends on.
async fn tree_hash(root: PathBuf, max_files: usize) -> Option<FileHash> {
    tokio::task::spawn_blocking(move || tools::search::tree_hash(&root, max_files))
        .await
        .ok()
        .flatten()
}
