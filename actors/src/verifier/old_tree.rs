//! Runs commands in a copy of the old tree: the new and changed tests of a change, to see whether they fail there; and
//! checks that were named only after the change, to see how they ended before it.

use sandbox::Writes;
use shell::CommandLine;
use tree::{Change, RepoPath};

use super::{VerifierSetup, recorded, run_event};
use crate::checks::{Check, CheckOutcome, Report};
use crate::closed::JournalClosed;
use crate::commands::Place;
use crate::complaints::is_unbuilt;
use crate::effect::{Effect, Position, Trace};
use crate::event::{Blob, Event};
use crate::proof::{self, OldTree};
use crate::run::Run;
use crate::workspace::Tests;

impl VerifierSetup {
    /// Runs `commands`, which passed and are allowed, on the tree before `changes` plus their tests, until one fails.
    pub(super) async fn try_before(
        &self,
        commands: &[String],
        changes: &[Change],
    ) -> Result<OldTree, JournalClosed> {
        let tests = proof::tests_of(changes);
        if tests.is_empty() || commands.is_empty() {
            return Ok(OldTree::NotRun);
        }
        let mut trying = Trying { verifier: self, commands, changes, tests };
        self.commands.run.perform(&mut trying).await
    }
}

impl VerifierSetup {
    /// Runs `commands`, which are allowed, on the tree before `changes`. Those that could not be run there are left out.
    pub(super) async fn verify_before(
        &self,
        commands: &[String],
        changes: &[Change],
    ) -> Result<Report, JournalClosed> {
        let mut report = Report::default();
        for text in commands {
            let mut late = Late { verifier: self, text, changes };
            report.checks.extend(self.commands.run.perform(&mut late).await?);
        }
        Ok(report)
    }
}

/// The effect of running a check on the old tree that was not yet named when the tree was unchanged.
struct Late<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    changes: &'v [Change],
}

impl Effect for Late<'_> {
    type Outcome = Option<Check>;
    type Stop = JournalClosed;
    // Recordings of earlier versions do not have it.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<Check>> {
        match recorded(event, self.text, true) {
            Some(check) => Trace::Done(Some(check)),
            None => Trace::Foretold(None),
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Check>, JournalClosed> {
        let Ok(line) = CommandLine::parse(self.text) else { return Ok(None) };
        if run.only_compares() {
            return Ok(None);
        }
        let commands = &self.verifier.commands;
        let workspace = &commands.workspace;
        let Ok(copy) = workspace.copied(self.changes, Tests::Undone).await else {
            return Ok(None);
        };
        let in_place_of = Some(workspace.in_place_of().unwrap_or(workspace.reader().root()));
        let (root, reach, writes) = (copy.root(), commands.reach(), Writes::Kept);
        let place = Place { root, in_place_of, reach, writes };
        let outcome = commands.execute_in(place, &line, commands.first_limit(&line)).await;
        let check = self.verifier.read(self.text, &outcome).await;
        copy.remove().await;
        if check.outcome == CheckOutcome::CodeFailure && check.excerpt.trim().is_empty() {
            // Without a reason it may as well fail for want of something that the copy lacks.
            return Ok(None);
        }
        let elapsed_ms = u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX);
        run.publish(run_event(&check, true, elapsed_ms, outcome.output.text())).await?;
        Ok(Some(check))
    }
}

/// The effect of running tests on the old tree.
struct Trying<'v> {
    verifier: &'v VerifierSetup,
    commands: &'v [String],
    changes: &'v [Change],
    tests: Vec<RepoPath>,
}

impl Effect for Trying<'_> {
    type Outcome = OldTree;
    type Stop = JournalClosed;
    // Recordings of earlier versions do not have it.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<OldTree> {
        if let Event::OldTreeTested { outcome, .. } = event {
            Trace::Done(*outcome)
        } else {
            Trace::Foretold(OldTree::NotRun)
        }
    }

    async fn act(&mut self, run: &Run) -> Result<OldTree, JournalClosed> {
        if run.only_compares() {
            return Ok(OldTree::NotRun);
        }
        let told = self.tried().await;
        let outcome = told.outcome;
        let Tried { command, exit, elapsed_ms, output, .. } = told;
        let output = Blob::new(output);
        let tests = self.tests.clone();
        run.publish(Event::OldTreeTested { tests, command, outcome, exit, elapsed_ms, output })
            .await?;
        Ok(outcome)
    }
}

/// The result, with the command that decided it.
struct Tried {
    outcome: OldTree,
    command: String,
    exit: String,
    elapsed_ms: u64,
    output: String,
}

impl Trying<'_> {
    /// Runs the commands in order and returns the first failure, or else the last result.
    async fn tried(&self) -> Tried {
        let not_run = |why: String| Tried {
            outcome: OldTree::NotRun,
            command: self.commands.first().cloned().unwrap_or_default(),
            exit: format!("not run: {why}"),
            elapsed_ms: 0,
            output: String::new(),
        };
        let commands = &self.verifier.commands;
        let workspace = &commands.workspace;
        let copy = match workspace.copied(self.changes, Tests::Kept).await {
            Ok(copy) => copy,
            Err(why) => return not_run(why.to_string()),
        };
        let in_place_of = workspace.in_place_of().unwrap_or(workspace.reader().root());
        let mut last = not_run("there is no such command".to_owned());
        for text in self.commands {
            let Ok(line) = CommandLine::parse(text) else { continue };
            // Limited to the first attempt's time: the proof is optional and not worth a longer wait.
            let limit = commands.first_limit(&line);
            let (in_place_of, reach) = (Some(in_place_of), commands.reach());
            let writes = Writes::Kept;
            let place = Place { root: copy.root(), in_place_of, reach, writes };
            let outcome = commands.execute_in(place, &line, limit).await;
            let check = self.verifier.read(text, &outcome).await;
            let output = outcome.output.text();
            let tried = Tried {
                outcome: self.judged(&check, &output),
                command: text.clone(),
                exit: check.exit.clone(),
                elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
                output,
            };
            let is_decided = tried.outcome == OldTree::Fails;
            last = tried;
            if is_decided {
                break;
            }
        }
        copy.remove().await;
        last
    }

    fn judged(&self, check: &Check, output: &str) -> OldTree {
        let complaints = &self.verifier.commands.run.config().commands.complaints;
        let fails = check.outcome == CheckOutcome::CodeFailure;
        proof::judged(check, fails && is_unbuilt(output, complaints))
    }
}
