//! Runs the new and changed tests of a change on the old tree, to see whether they fail there.

use std::time::Duration;

use checks::complaints::is_unbuilt;
use checks::outcome::{Check, CheckOutcome};
use checks::proof::{self, OldTree, TestNames, ToProve, TrialLimits};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use shell::{CommandLine, CommandOutcome, Exit};
use tokio::sync::Notify;
use tools::plain::plain_text;
use tree::RepoPath;

use super::VerifierSetup;
use crate::roles::verifier::scratch_tree::{ScratchTree, TreeState};
use crate::run::Run;
use crate::run::effect::{Effect, Position, Trace};

impl VerifierSetup {
    /// Runs the commands of `passed`, which are allowed, on the tree before the change plus its tests, until one fails.
    pub(super) async fn try_before(
        &self,
        passed: &[Check],
        change: &ToProve,
    ) -> Result<OldTree, JournalClosed> {
        let tests = proof::tests_of(change);
        if tests.is_empty() || passed.is_empty() {
            return Ok(OldTree::NotRun);
        }
        let mut trying = Trying { verifier: self, passed, change, tests };
        self.commands.run.perform(&mut trying).await
    }
}

/// The effect of running tests on the old tree.
struct Trying<'v> {
    verifier: &'v VerifierSetup,
    passed: &'v [Check],
    change: &'v ToProve,
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
        let mut last = Tried {
            outcome: OldTree::NotRun,
            command: self.passed.first().map(|check| check.command.clone()).unwrap_or_default(),
            exit: "not run: there is no such command".to_owned(),
            elapsed_ms: 0,
            output: String::new(),
        };
        let state = TreeState::With(proof::undone_but_tests(self.change));
        let mut tree = ScratchTree::new(&self.verifier.commands, state);
        let names = TestNames::of(self.change);
        for passed in self.passed {
            let Ok(line) = CommandLine::parse(&passed.command) else { continue };
            let most = self.verifier.commands.run.config().agent_loop.verify_timeout_max_seconds;
            let elapsed = Duration::from_millis(passed.elapsed_ms);
            let limits = TrialLimits::of(elapsed, Duration::from_secs(most));
            let (outcome, ended, heard) = run_within(&mut tree, &line, limits, &names).await;
            let check = self.verifier.read(&passed.command, &outcome).await;
            let output = match ended {
                Ended::ByItself => outcome.output.text(),
                Ended::InTheTests | Ended::TooLate => {
                    self.verifier.commands.run.redactor.redact(&heard).into_owned()
                }
            };
            let judged = match ended {
                Ended::ByItself => self.judged(&check, &output),
                Ended::InTheTests => OldTree::Fails,
                Ended::TooLate => OldTree::TimedOut,
            };
            last = Tried {
                outcome: judged,
                command: passed.command.clone(),
                exit: check.exit.clone(),
                elapsed_ms: check.elapsed_ms,
                output,
            };
            if judged == OldTree::Fails {
                break;
            }
        }
        tree.discard().await;
        last
    }

    fn judged(&self, check: &Check, output: &str) -> OldTree {
        let complaints = &self.verifier.commands.run.config().commands.complaints;
        let fails = check.outcome == CheckOutcome::CodeFailure;
        proof::judge_on_old_tree(check, fails && is_unbuilt(&plain_text(output), complaints))
    }
}

/// How a command on the old tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    ByItself,
    /// At its limit, in the tests of the change.
    InTheTests,
    /// At its limit, perhaps before they were built, or before a hang can be told from slow tests.
    TooLate,
}

/// Runs a command until it has taken too long to build the tests, or too long in them. Returns also the end of what it
/// printed.
async fn run_within(
    tree: &mut ScratchTree,
    line: &CommandLine,
    limits: TrialLimits,
    names: &TestNames,
) -> (CommandOutcome, Ended, String) {
    let reach = tree.reach();
    let (in_tests, mut heard) = (Notify::new(), Heard::default());
    let mut sink = |bytes: &[u8]| {
        if heard.names(bytes, names) {
            in_tests.notify_one();
        }
    };
    let whole = limits.build + limits.tests;
    let outcome = {
        let limit = async {
            tokio::select! {
                () = in_tests.notified() => tokio::time::sleep(limits.tests).await,
                // A command that runs nothing but the tests gets the whole time.
                () = tokio::time::sleep(limits.build), if !names.are_all_of(line) => {}
            }
        };
        tree.run_until(line, whole, reach, &mut sink, limit).await
    };
    let is_in_tests = heard.is_named || names.are_all_of(line);
    let ended = match (&outcome.exit, is_in_tests) {
        (Exit::TimedOut, true) if limits.shows_a_hang => Ended::InTheTests,
        (Exit::TimedOut, true | false) => Ended::TooLate,
        _ => Ended::ByItself,
    };
    (outcome, ended, String::from_utf8_lossy(&heard.last).into_owned())
}

/// What a command has printed.
#[derive(Default)]
struct Heard {
    /// The end of it.
    last: Vec<u8>,
    is_named: bool,
}

impl Heard {
    /// Returns true if the output names one of the tests, for the first time.
    fn names(&mut self, bytes: &[u8], names: &TestNames) -> bool {
        const MAX_KEPT: usize = 16 << 10;
        self.last.extend_from_slice(bytes);
        let is_first = !self.is_named && names.are_in(&String::from_utf8_lossy(&self.last));
        self.is_named |= is_first;
        let done = self.last.len().saturating_sub(MAX_KEPT);
        self.last.drain(..done);
        is_first
    }
}
