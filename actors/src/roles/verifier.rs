//! The Verifier runs the commands that show whether a change works. It calls no model.

mod delivered;
mod old_tree;
mod scratch_tree;
mod untouched;

use std::path::PathBuf;

use checks::complaints;
use checks::error_lines::ErrorSet;
use checks::outcome::{self, Check, CheckOutcome, Findings, Report};
use checks::proof::{OldTree, ToProve};
use checks::verified::{Missing, MissingKind};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use policy::Verdict;
use ractor::{ActorCell, SpawnErr};
use sandbox::{Degree, Network};
use shell::{CommandLine, CommandOutcome};
use tools::blocking::on_a_thread;
use tools::plain::plain_text;
use tree::Change;

use crate::Unanswered;
use crate::roles::role_host::{RoleHost, RoleWork};
use crate::run::Run;
use crate::run::command_runner::{CommandPlace, CommandRunner, NotRun};
use crate::run::workspace::{Denied, Purpose};

/// The results of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The results of the commands.
    pub report: Report,
    /// The first denial that kept a command from running.
    pub denied: Option<Denied>,
    /// Files that something else changed while the commands ran, also when they were run again.
    pub moved: Vec<String>,
    /// Lock files that a command updated, because the change touches what they are made from.
    pub locks: Vec<Change>,
}

/// Which tree is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The tree before the change. Results are cached for later runs, and published by the caller.
    Untouched,
    /// The tree with these changes in it.
    Changed(Vec<Change>),
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
    pub commands: CommandRunner,
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
        match self.0.ask(VerifierQuestion::Verify(commands, subject)).await? {
            VerifierAnswer::Verified(reply) => Ok(reply),
            VerifierAnswer::Tried(_) => Err(Unanswered::Stopped),
        }
    }

    /// Runs commands on the tree before `changes`, now that these are made. Publishes the results.
    pub async fn verify_before(
        &self,
        commands: Vec<String>,
        changes: Vec<Change>,
    ) -> Result<VerifyReply, Unanswered> {
        match self.0.ask(VerifierQuestion::VerifyBefore(commands, changes)).await? {
            VerifierAnswer::Verified(reply) => Ok(reply),
            VerifierAnswer::Tried(_) => Err(Unanswered::Stopped),
        }
    }

    /// Runs commands that passed on the tree before the change, plus its tests.
    pub async fn try_before(
        &self,
        passed: Vec<Check>,
        change: ToProve,
    ) -> Result<Result<OldTree, JournalClosed>, Unanswered> {
        match self.0.ask(VerifierQuestion::TryBefore(passed, change)).await? {
            VerifierAnswer::Tried(reply) => Ok(reply),
            VerifierAnswer::Verified(_) => Err(Unanswered::Stopped),
        }
    }
}

/// A question to the Verifier.
pub(crate) enum VerifierQuestion {
    Verify(Vec<String>, Subject),
    VerifyBefore(Vec<String>, Vec<Change>),
    TryBefore(Vec<Check>, ToProve),
}

/// The answer to a question.
pub(crate) enum VerifierAnswer {
    Verified(VerifyReply),
    Tried(Result<OldTree, JournalClosed>),
}

impl RoleWork for VerifierSetup {
    const NAME: &'static str = "verifier";
    type Question = VerifierQuestion;
    type Answer = VerifierAnswer;

    fn run(&self) -> &Run {
        &self.commands.run
    }

    async fn answer(&self, question: VerifierQuestion) -> VerifierAnswer {
        match question {
            VerifierQuestion::Verify(commands, Subject::Untouched) => {
                VerifierAnswer::Verified(self.verify_untouched(&commands).await)
            }
            VerifierQuestion::Verify(commands, Subject::Changed(changes)) => {
                VerifierAnswer::Verified(self.verify_changed(&commands, &changes).await)
            }
            VerifierQuestion::VerifyBefore(commands, changes) => {
                VerifierAnswer::Verified(self.verify_before(&commands, &changes).await)
            }
            VerifierQuestion::TryBefore(passed, change) => {
                VerifierAnswer::Tried(self.try_before(&passed, &change).await)
            }
        }
    }
}

impl VerifierSetup {
    pub(crate) async fn read(&self, text: &str, outcome: &CommandOutcome) -> Check {
        let config = self.commands.run.config();
        let by = outcome::ReadingRules {
            excerpt_bytes: config.commands.output_keep_bytes,
            complaints: &config.commands.complaints,
            kinds: &config.projects,
            dir_of: &|program| self.commands.run.env.dir_of(program),
        };
        let mut check = outcome::read_outcome(text, outcome, &by);
        check.elapsed_ms = u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX);
        check.discarded = self.discarded(outcome);
        if let Some(failure) = &outcome.walls_failed {
            let name = Some(failure.to_string());
            check.missing = Some(Missing { kind: MissingKind::Walls, name, cure: None });
        }
        check.missing = self.not_hidden(check.missing).await;
        if let Some(hidden) = self.hidden(&check, outcome).await {
            check.missing = Some(hidden);
        }
        check.fetch = self.locked_fetch(&check).await;
        let package = check.missing.as_ref().filter(|it| it.kind == MissingKind::Package);
        if let Some(name) = package.and_then(|package| package.name.clone())
            && self.should_have(name).await
        {
            check.missing = None;
        }
        check
    }

    /// Returns the command that loads what a check lacks, if a lock file names that.
    async fn locked_fetch(&self, check: &Check) -> Option<String> {
        let config = self.commands.run.config();
        let locked = checks::missing_prerequisite::locked_fetch(
            check,
            &config.projects,
            &config.commands.locks,
        )?;
        let root = self.commands.workspace.reader().root().to_owned();
        let is_there = move || {
            locked.files.iter().any(|file| root.join(file).is_file()).then_some(locked.fetch)
        };
        on_a_thread(is_there).await
    }

    /// Returns what a command lacks, without the claim that an installed program is hidden if it is not: then the command
    /// looked for it elsewhere.
    async fn not_hidden(&self, missing: Option<Missing>) -> Option<Missing> {
        let missing = missing?;
        let name = missing.name.as_deref().filter(|_| missing.kind == MissingKind::Hidden);
        let Some(path) = name.and_then(|name| Some(self.commands.run.env.dir_of(name)?.join(name)))
        else {
            return Some(missing);
        };
        if self.first_hidden(vec![path]).await.is_some() {
            Some(missing)
        } else {
            Some(Missing { kind: MissingKind::Program, name: None, cure: None })
        }
    }

    async fn first_hidden(&self, paths: Vec<PathBuf>) -> Option<PathBuf> {
        let place = CommandPlace::discarding(&*self.commands.workspace, self.commands.reach());
        self.commands.fence(&place).first_hidden(paths).await
    }

    /// Returns what a failed command was refused because the sandbox hides it, if there is such a thing.
    async fn hidden(&self, check: &Check, outcome: &CommandOutcome) -> Option<Missing> {
        let is_open = check.missing.as_ref().is_none_or(|it| it.kind == MissingKind::Confined);
        if !is_open
            || check.outcome != CheckOutcome::CodeFailure
            || outcome.confined == Degree::None
        {
            return None;
        }
        let paths =
            checks::missing_prerequisite::refused_paths(&plain_text(&outcome.output.text()));
        if paths.is_empty() {
            return None;
        }
        let path = self.first_hidden(paths).await?;
        let named = path.strip_prefix("/").unwrap_or(&path).to_string_lossy();
        let is_secret = self.commands.run.terms.rules.may_read(&named) != Verdict::Allow;
        let hidden = checks::missing_prerequisite::hidden_path(&path);
        // No verification is worth showing a secret to commands.
        Some(if is_secret { Missing { cure: None, ..hidden } } else { hidden })
    }

    /// Returns the project files that a command changed; those changes were discarded.
    fn discarded(&self, outcome: &CommandOutcome) -> Vec<String> {
        let shown = |path: &PathBuf| {
            self.commands.run.redactor.redact(&path.to_string_lossy()).into_owned()
        };
        outcome.discarded.iter().map(shown).collect()
    }

    /// Returns true if a package of this name would be part of the tree.
    async fn should_have(&self, name: String) -> bool {
        let root = self.commands.workspace.reader().root().to_owned();
        let max_files = self.commands.run.config().limits.max_workspace_files;
        let looked = tokio::task::spawn_blocking(move || {
            let files = tree::list_files(&root, max_files).files;
            complaints::is_in_workspace(&name, files.iter().map(|file| &file.path))
        });
        looked.await.unwrap_or(true)
    }

    async fn publish(
        &self,
        check: &Check,
        baseline: bool,
        outcome: &CommandOutcome,
    ) -> Result<(), JournalClosed> {
        let output = outcome.output.text();
        self.commands.run.publish(run_event(check, baseline, check.elapsed_ms, output)).await
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

impl Checked {
    fn add(&mut self, checked: MaybeChecked) {
        let (check, denied) = match checked {
            Ok(check) => (check, None),
            Err((check, denied)) => (check, denied),
        };
        self.report.checks.push(check);
        self.denied = self.denied.take().or(denied);
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
            tests: check.tests,
            masked: check.masked,
            confined: check.confined,
            discarded: check.discarded.clone(),
            cached: check.cached,
            needs: check.needs.clone(),
            fetch: check.fetch.clone(),
        }),
        output: Blob::new(output),
    }
}

/// Returns the check that an event records, if it is of `text`.
fn recorded(event: &Event, text: &str, of_baseline: bool) -> Option<Check> {
    if let Event::VerificationRun {
        command,
        baseline,
        outcome,
        exit,
        elapsed_ms,
        output,
        findings,
        ..
    } = event
        && command == text
        && *baseline == of_baseline
    {
        let Findings {
            excerpt,
            errors,
            exact,
            missing,
            tests,
            masked,
            confined,
            discarded,
            cached,
            needs,
            fetch,
        } = findings.clone()?;
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
            tests,
            masked,
            confined,
            discarded,
            elapsed_ms: *elapsed_ms,
            cached,
            needs,
            fetch,
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
        tests: None,
        masked: 0,
        confined: None,
        discarded: Vec::new(),
        elapsed_ms: 0,
        cached: false,
        needs: None,
        fetch: None,
    }
}
