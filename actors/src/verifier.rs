//! The Verifier runs the commands that show whether a change works. It calls no model.

mod old_tree;

use std::path::PathBuf;

use ractor::{ActorCell, SpawnErr};
use sandbox::Network;
use shell::{CommandLine, CommandOutcome};
use tools::regular::{self, MAX_NOTE_BYTES};
use tree::{Change, FileHash, tracked_among};

use crate::Unanswered;
use crate::checks::{self, Check, CheckOutcome, Findings, Report};
use crate::closed::JournalClosed;
use crate::commands::{NotRun, Runner};
use crate::complaints;
use crate::effect::{Effect, Position, Trace};
use crate::event::{Blob, Event};
use crate::failure::ErrorSet;
use crate::plan::Plan;
use crate::proof::OldTree;
use crate::role::{RoleHost, Work};
use crate::run::Run;
use crate::verified::MissingKind;
use crate::workspace::{Denied, Purpose};

/// The results of a verification, with the first denial if there was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The results of the commands.
    pub report: Report,
    /// The first denial that kept a command from running.
    pub denied: Option<Denied>,
}

/// Which tree is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The tree before the change. Results are cached for later runs, and published by the caller.
    Untouched,
    /// The tree with the change in it.
    Changed,
}

/// The Verifier's reply.
pub type VerifyReply = Result<Checked, JournalClosed>;

/// A handle to a running Verifier.
#[derive(Clone)]
pub struct Verifier(RoleHost<VerifierSetup>);

/// What a Verifier works with.
#[derive(Clone)]
pub struct VerifierSetup {
    /// Runs its commands.
    pub commands: Runner,
}

impl Verifier {
    /// Starts a Verifier under `supervisor`.
    pub async fn spawn(setup: VerifierSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.commands.run.role_timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// Returns the actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Runs `commands` in order.
    pub async fn verify(
        &self,
        commands: Vec<String>,
        subject: Subject,
    ) -> Result<VerifyReply, Unanswered> {
        match self.0.ask(Question::Verify(commands, subject)).await? {
            Answer::Verified(reply) => Ok(reply),
            Answer::Tried(_) | Answer::Reported(_) => Err(Unanswered::Stopped),
        }
    }

    /// Runs commands on the tree before `changes`: checks that were named only after it was changed. Those that could not
    /// be run there are missing in the report.
    pub async fn verify_before(
        &self,
        commands: Vec<String>,
        changes: Vec<Change>,
    ) -> Result<Result<Report, JournalClosed>, Unanswered> {
        match self.0.ask(Question::VerifyBefore(commands, changes)).await? {
            Answer::Reported(reply) => Ok(reply),
            Answer::Verified(_) | Answer::Tried(_) => Err(Unanswered::Stopped),
        }
    }

    /// Runs commands that passed on the tree before `changes`, plus the tests among the changes.
    pub async fn try_before(
        &self,
        commands: Vec<String>,
        changes: Vec<Change>,
    ) -> Result<Result<OldTree, JournalClosed>, Unanswered> {
        match self.0.ask(Question::TryBefore(commands, changes)).await? {
            Answer::Tried(reply) => Ok(reply),
            Answer::Verified(_) | Answer::Reported(_) => Err(Unanswered::Stopped),
        }
    }
}

/// A question to the Verifier.
pub(crate) enum Question {
    Verify(Vec<String>, Subject),
    TryBefore(Vec<String>, Vec<Change>),
    VerifyBefore(Vec<String>, Vec<Change>),
}

/// The answer to a question.
pub(crate) enum Answer {
    Verified(VerifyReply),
    Tried(Result<OldTree, JournalClosed>),
    Reported(Result<Report, JournalClosed>),
}

impl Work for VerifierSetup {
    type Question = Question;
    type Answer = Answer;

    async fn answer(&self, question: Question) -> Answer {
        match question {
            Question::Verify(commands, subject) => {
                Answer::Verified(self.verify(&commands, subject).await)
            }
            Question::TryBefore(commands, changes) => {
                Answer::Tried(self.try_before(&commands, &changes).await)
            }
            Question::VerifyBefore(commands, changes) => {
                Answer::Reported(self.verify_before(&commands, &changes).await)
            }
        }
    }
}

impl VerifierSetup {
    async fn verify(&self, commands: &[String], subject: Subject) -> VerifyReply {
        let tree = match subject {
            Subject::Untouched => {
                let max_files = self.commands.run.config().limits.max_workspace_files;
                tree_hash(self.commands.workspace.reader().root().to_owned(), max_files).await
            }
            Subject::Changed => None,
        };
        // A copy lacks some files that commands may look for, so a failure in a copy does not imply one here.
        let copy = if self.commands.workspace.in_place_of().is_some() { "\nin a copy" } else { "" };
        let degree = self.commands.run.confinement().await.degree();
        let key = |text: &str| {
            let tree = tree.as_ref()?;
            Some(FileHash::of(format!("{tree}\n{text}{copy}\n{degree:?}").as_bytes()))
        };
        let mut verified = Checked { report: Report::default(), denied: None };
        for text in commands {
            let checked = match subject {
                Subject::Untouched => {
                    let mut baseline = Baseline { verifier: self, text, key: key(text) };
                    self.commands.run.perform(&mut baseline).await?
                }
                Subject::Changed => self.check(text).await?,
            };
            let (check, denied) = match checked {
                Ok(check) => (check, None),
                Err((check, denied)) => (check, denied),
            };
            verified.report.checks.push(check);
            verified.denied = verified.denied.or(denied);
        }
        Ok(verified)
    }

    /// Runs one command on the changed tree, if it may run.
    async fn check(&self, text: &str) -> Result<MaybeChecked, JournalClosed> {
        let line = match self.permitted(text).await {
            Ok(line) => line,
            Err(not_run) => return Ok(Err(not_run)),
        };
        let mut first = Changed { verifier: self, text, line: &line, reach: self.commands.reach() };
        let check = self.commands.run.perform(&mut first).await?;
        if checks::wants_network(&check) {
            return Ok(Ok(self.with_network(text, &line).await?.unwrap_or(check)));
        }
        if !checks::could_be_flaky(&check) {
            return Ok(Ok(check));
        }
        let mut second = SecondTry { verifier: self, text, line: &line };
        let flaky = self.commands.run.perform(&mut second).await?;
        Ok(Ok(flaky.unwrap_or(check)))
    }

    /// Runs a command again with network access, if that may be granted: it failed for lack of it.
    async fn with_network(
        &self,
        text: &str,
        line: &CommandLine,
    ) -> Result<Option<Check>, JournalClosed> {
        if self.commands.workspace.permit(line, Purpose::Check(Network::Host)).await.is_err() {
            return Ok(None);
        }
        let mut again = Changed { verifier: self, text, line, reach: Network::Host };
        self.commands.run.perform(&mut again).await.map(Some)
    }

    pub(crate) async fn read(&self, text: &str, outcome: &CommandOutcome) -> Check {
        let commands = &self.commands.run.config().commands;
        let mut check =
            checks::read(text, outcome, commands.output_keep_bytes, &commands.complaints);
        check.discarded = self.discarded(outcome).await;
        let package = check.missing.as_ref().filter(|it| it.kind == MissingKind::Package);
        if let Some(name) = package.and_then(|package| package.name.clone())
            && self.should_have(name).await
        {
            check.missing = None;
        }
        check
    }

    /// Returns the project files that a command changed; those changes were discarded.
    async fn discarded(&self, outcome: &CommandOutcome) -> Vec<String> {
        if outcome.discarded.is_empty() {
            return Vec::new();
        }
        let root = self.commands.workspace.reader().root().to_owned();
        let paths = outcome.discarded.clone();
        let looked = tokio::task::spawn_blocking(move || tracked_among(&root, paths));
        let tracked = looked.await.unwrap_or_default();
        let shown =
            |path: PathBuf| self.commands.run.redactor.redact(&path.to_string_lossy()).into_owned();
        tracked.into_iter().map(shown).collect()
    }

    /// Returns true if a package of this name would be part of the tree.
    async fn should_have(&self, name: String) -> bool {
        let root = self.commands.workspace.reader().root().to_owned();
        let max_files = self.commands.run.config().limits.max_workspace_files;
        let looked = tokio::task::spawn_blocking(move || {
            let files = tree::list(&root, max_files).files;
            complaints::is_in_workspace(&name, files.iter().map(|file| &file.path))
        });
        looked.await.unwrap_or(true)
    }

    async fn publish(&self, check: &Check, outcome: &CommandOutcome) -> Result<(), JournalClosed> {
        let output = outcome.output.text();
        let elapsed_ms = u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX);
        self.commands.run.publish(run_event(check, false, elapsed_ms, output)).await
    }

    fn remembered(&self, key: &FileHash, text: &str) -> Option<Check> {
        let kept =
            regular::read(&self.commands.run.cache.join(format!("base-{key}")), MAX_NOTE_BYTES)
                .ok()?;
        let check: Check = serde_json::from_slice(&kept).ok()?;
        (check.command == text).then_some(check)
    }

    /// Only results that depend on the tree alone are cached: a full disk today may have space tomorrow.
    fn remember(&self, key: &FileHash, check: &Check) {
        if !matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::CodeFailure) {
            return;
        }
        if let Ok(text) = serde_json::to_vec(check) {
            self.commands.keep(&self.commands.run.cache.join(format!("base-{key}")), &text);
        }
    }

    /// Parses a command and checks that it may run.
    async fn permitted(&self, text: &str) -> Result<CommandLine, (Check, Option<Denied>)> {
        let permitted = self.commands.permitted(text, Purpose::Check(Network::Own)).await;
        permitted.map_err(|not| match not {
            NotRun::NoCommand(why) => (not_run(text, CheckOutcome::CommandMissing, &why), None),
            NotRun::Denied(denial) => {
                let check = not_run(text, CheckOutcome::PolicyDenied, &denial.why.to_string());
                (check, Some(denial))
            }
        })
    }
}

/// The result of a command; or why it did not run, with the denial if that was the reason.
type MaybeChecked = Result<Check, (Check, Option<Denied>)>;

/// The effect of running a command on the changed tree.
struct Changed<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    line: &'v CommandLine,
    /// The network it can reach.
    reach: Network,
}

impl Effect for Changed<'_> {
    type Outcome = Check;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Check> {
        recorded(event, self.text, false).map_or(Trace::Absent, Trace::Done)
    }

    async fn act(&mut self, _: &Run) -> Result<Check, JournalClosed> {
        let outcome = self.verifier.commands.run_to_limit(self.line, self.reach).await;
        let check = self.verifier.read(self.text, &outcome).await;
        self.verifier.publish(&check, &outcome).await?;
        Ok(check)
    }
}

/// The effect of running a failed command again. It is recorded only if it then passes.
struct SecondTry<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    line: &'v CommandLine,
}

impl Effect for SecondTry<'_> {
    type Outcome = Option<Check>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<Check>> {
        let check = recorded(event, self.text, false);
        match check.filter(|check| check.outcome == CheckOutcome::Flaky) {
            Some(flaky) => Trace::Done(Some(flaky)),
            None => Trace::Foretold(None),
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Check>, JournalClosed> {
        if run.only_compares() {
            return Ok(None);
        }
        let outcome =
            self.verifier.commands.run_to_limit(self.line, self.verifier.commands.reach()).await;
        if !outcome.succeeded() {
            return Ok(None);
        }
        let read = self.verifier.read(self.text, &outcome).await;
        let flaky = Check { outcome: CheckOutcome::Flaky, ..read };
        self.verifier.publish(&flaky, &outcome).await?;
        Ok(Some(flaky))
    }
}

/// The effect of running a command on the untouched tree. It runs concurrently with other work and is published later
/// by its user, so it is found ahead in the recording.
struct Baseline<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    /// The hash of everything it depends on; `None` if the tree has none.
    key: Option<FileHash>,
}

impl Effect for Baseline<'_> {
    type Outcome = MaybeChecked;
    type Stop = JournalClosed;
    const POSITION: Position = Position::Ahead;

    fn look(&mut self, event: &Event) -> Trace<MaybeChecked> {
        let other_checks = |plan: &Plan| !plan.verify.iter().any(|command| command == self.text);
        if matches!(event, Event::RoleCrashed { .. } | Event::PlanCreated { .. }) {
            return Trace::Over;
        }
        // If the plan names no checks, they are derived and stay the same.
        if let Event::PlanRevised { plan, .. } = event
            && !plan.verify.is_empty()
            && other_checks(plan)
        {
            return Trace::Over;
        }
        recorded(event, self.text, true).map_or(Trace::Absent, |check| Trace::Foretold(Ok(check)))
    }

    fn may_precede(&self, event: &Event) -> bool {
        matches!(event, Event::VerificationRun { baseline: true, .. })
    }

    async fn act(&mut self, _: &Run) -> Result<MaybeChecked, JournalClosed> {
        let verifier = self.verifier;
        let known = self.key.as_ref().and_then(|key| verifier.remembered(key, self.text));
        if let Some(check) = known {
            return Ok(Ok(check));
        }
        let line = match verifier.permitted(self.text).await {
            Ok(line) => line,
            Err(not_run) => return Ok(Err(not_run)),
        };
        let outcome = verifier.commands.run_to_limit(&line, verifier.commands.reach()).await;
        let check = verifier.read(self.text, &outcome).await;
        if let Some(key) = &self.key {
            verifier.remember(key, &check);
        }
        Ok(Ok(check))
    }
}

/// Returns the event of a check. Checks of the untouched tree are published when they are used, so that their order is
/// fixed.
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
            missing: check.missing.clone(),
            masked: check.masked,
            confined: check.confined,
            discarded: check.discarded.clone(),
        }),
        output: Blob::new(output),
    }
}

/// Returns the check that an event records, if it is of `text`.
fn recorded(event: &Event, text: &str, of_baseline: bool) -> Option<Check> {
    if let Event::VerificationRun { command, baseline, outcome, exit, output, findings, .. } = event
        && command == text
        && *baseline == of_baseline
    {
        let Findings { excerpt, errors, exact, missing, masked, confined, discarded } =
            findings.clone()?;
        let whole = || String::from_utf8_lossy(&output.content).into_owned();
        let excerpt = excerpt.unwrap_or_else(whole);
        let (command, exit) = (command.clone(), exit.clone());
        Some(Check {
            command,
            outcome: *outcome,
            exit,
            excerpt,
            errors,
            exact,
            missing,
            masked,
            confined,
            discarded,
        })
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
        missing: None,
        masked: 0,
        confined: None,
        discarded: Vec::new(),
    }
}

/// Returns a hash of all files that are not ignored, on which the results of commands depend.
async fn tree_hash(root: PathBuf, max_files: usize) -> Option<FileHash> {
    tokio::task::spawn_blocking(move || search::tree_hash(&root, max_files)).await.ok().flatten()
}
