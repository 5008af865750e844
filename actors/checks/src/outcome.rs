//! The outcome of a check: what the result of its command means. Pure.
//!
//! Only a failure of the code is ever shown to a model as one; everything else is for the user.

use std::path::PathBuf;

use config::Complaints;
use sandbox::Degree;
use serde::{Deserialize, Serialize};
use shell::{CommandOutcome, Exit};
use tools::plain::plain_text;
use tree::RepoPath;

use crate::complaints::{self, ComplaintTable};
use crate::derive::Kinds;
use crate::error_lines::{Diagnostic, ErrorSet, NumberFolding, diagnostics};
use crate::missing_prerequisite::missing_prerequisite;
use crate::proves_nothing::proves_nothing;
use crate::test_counts::{TestCounts, test_counts};
use crate::verified::{Missing, MissingKind, Unverified};
use crate::wording::Wording;

/// The outcome of one check, or of all of them together; ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Exit status 0 within the limit.
    Passed,
    /// It failed, and passed when run again on the same tree.
    Flaky,
    /// There was nothing to run, or it ran no tests.
    Unverified,
    /// It cannot run here, and could not before the change: something it needs is missing, or it timed out or the
    /// machine failed both times.
    Environment,
    /// It fails as it did before the change.
    PreExisting,
    /// The machine failed: disk, memory, network.
    Infrastructure,
    /// It did not finish within the larger time limit.
    TimedOut,
    /// The program, or the script it names, does not exist.
    CommandMissing,
    /// Policy or the user denied it.
    PolicyDenied,
    /// The code is wrong.
    CodeFailure,
}

/// What was extracted from a command's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The output, shortened; absent when the output is short enough to be used whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excerpt: Option<String>,
    /// Errors, with numbers normalized.
    #[serde(skip_serializing_if = "ErrorSet::is_empty", default)]
    pub errors: ErrorSet,
    /// Errors, verbatim.
    #[serde(skip_serializing_if = "ErrorSet::is_empty", default)]
    pub exact: ErrorSet,
    /// A missing prerequisite outside the code, such as a package or a service; absent if none was recognized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<Missing>,
    /// How many tests ran and were skipped; absent if the output does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tests: Option<TestCounts>,
    /// Number of secrets that were masked in the output.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
    /// How far the command was confined; absent if unknown, as in runs of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confined: Option<Degree>,
    /// Files of the project that the command changed; these changes were discarded.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub discarded: Vec<String>,
    /// True if the result is that of an earlier run on the same tree.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cached: bool,
    /// A file that the command passes with only after another command has changed it; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub needs: Option<WrittenByCheck>,
    /// The command that loads what is missing, if a lock file names that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fetch: Option<String>,
}

/// A file of the project that a check changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenByCheck {
    /// The file.
    pub path: RepoPath,
    /// The command that changed it first.
    pub command: String,
}

/// Returns true for zero, which is left out of events.
pub const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One command and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command, as written.
    pub command: String,
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// Its exit status, for people.
    pub exit: String,
    /// Its output, shortened.
    pub excerpt: String,
    /// Errors, with numbers normalized.
    pub errors: ErrorSet,
    /// Errors, verbatim.
    pub exact: ErrorSet,
    /// A missing prerequisite outside the code, if one was recognized.
    #[serde(default)]
    pub missing: Option<Missing>,
    /// How many tests ran and were skipped, if its output says so.
    #[serde(default)]
    pub tests: Option<TestCounts>,
    /// Number of secrets that were masked in its output.
    #[serde(default)]
    pub masked: usize,
    /// How far it was confined, if it ran.
    #[serde(default)]
    pub confined: Option<Degree>,
    /// Files of the project that it changed; these changes were discarded.
    #[serde(default)]
    pub discarded: Vec<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// True if the result is that of an earlier run on the same tree.
    #[serde(default)]
    pub cached: bool,
    /// A file that it passes with only after another command has changed it, if there is one.
    #[serde(default)]
    pub needs: Option<WrittenByCheck>,
    /// The command that loads what is missing, if a lock file names that.
    #[serde(default)]
    pub fetch: Option<String>,
}

/// The checks of one verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they ran.
    pub checks: Vec<Check>,
}

impl Report {
    /// Returns the outcome of all commands together: the worst one, ignoring those that prove nothing.
    pub fn outcome(&self) -> CheckOutcome {
        let shows_nothing = |check: &Check| {
            check.outcome == CheckOutcome::Unverified
                || check.outcome == CheckOutcome::Passed && proves_nothing(&check.command).is_some()
        };
        let proves = |check: &&Check| !shows_nothing(check);
        self.checks
            .iter()
            .filter(proves)
            .map(|check| check.outcome)
            .max()
            .unwrap_or(CheckOutcome::Unverified)
    }

    /// Returns all errors, with numbers normalized.
    pub fn errors(&self) -> ErrorSet {
        self.failing().flat_map(|check| check.errors.iter().cloned()).collect()
    }

    /// Returns all errors, verbatim.
    pub fn exact(&self) -> ErrorSet {
        self.failing().flat_map(|check| check.exact.iter().cloned()).collect()
    }

    /// Returns the commands that fail because of the code, whether the failure is new or not.
    pub fn failing(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| {
            matches!(check.outcome, CheckOutcome::CodeFailure | CheckOutcome::PreExisting)
        })
    }

    /// Returns why checks cannot run here, with the change or without it; `None` if all of them can.
    pub fn hindrance(&self) -> Option<Unverified> {
        let hindered =
            || self.checks.iter().filter(|check| check.outcome == CheckOutcome::Environment);
        let missing = hindered().find_map(|check| check.missing.clone());
        let named = missing.map(|missing| Unverified::Environment { missing });
        let unnamed = |check: &Check| Unverified::CannotRun {
            command: check.command.clone(),
            exit: Wording::of(&check.exit),
        };
        named.or_else(|| hindered().next().map(unnamed))
    }

    /// Replaces results by later ones of the same commands, and adds those of others.
    pub fn replace(&mut self, later: Self) {
        for check in later.checks {
            match self.checks.iter_mut().find(|old| old.command == check.command) {
                Some(old) => *old = check,
                None => self.checks.push(check),
            }
        }
    }
}

/// Returns true if a command failed because its confinement denies it the network.
pub fn wants_network(check: &Check) -> bool {
    let is_missing = |missing: &Missing| missing.kind == MissingKind::Network;
    check.missing.as_ref().is_some_and(is_missing) && is_confined(check)
}

/// Returns true if a command ran confined.
pub const fn is_confined(check: &Check) -> bool {
    matches!(check.confined, Some(Degree::Full | Degree::Floor))
}

/// Returns true if a command was not run because full confinement cannot be set up for it; a lower level may work.
pub fn wants_other_walls(check: &Check) -> bool {
    let is_missing = |missing: &Missing| missing.kind == MissingKind::Walls;
    check.missing.as_ref().is_some_and(is_missing) && check.confined == Some(Degree::Full)
}

/// What the outcome of a command is interpreted by.
pub struct ReadingRules<'r> {
    /// Bytes of output kept from its start and from its end.
    pub excerpt_bytes: usize,
    /// The messages of tools that could not do their work.
    pub complaints: &'r ComplaintTable,
    /// The kinds of projects.
    pub kinds: &'r Kinds,
    /// Returns the directory of a program that is installed.
    pub dir_of: &'r (dyn Fn(&str) -> Option<PathBuf> + Sync),
}

/// Interprets the outcome of a command. Only [`CheckOutcome::CodeFailure`] has errors, and it always has at least one.
pub fn read_outcome(command: &str, outcome: &CommandOutcome, by: &ReadingRules<'_>) -> Check {
    /// Far more than a model is shown: the full set is needed to tell which errors are new.
    const MOST: usize = 2000;
    let text = plain_text(&outcome.output.text());
    let tests = test_counts(&text);
    let exact = diagnostics(&text, MOST, NumberFolding::Kept);
    let kind = kind(outcome, &text, tests, &exact, by.complaints);
    let exit = exit_text(&outcome.exit);
    let errors = |mut errors: ErrorSet| {
        if kind != CheckOutcome::CodeFailure {
            return ErrorSet::new();
        }
        if errors.is_empty() {
            // The command reports no reason, so the exit status counts as its one error.
            let (code, file) = (String::new(), String::new());
            errors.insert(Diagnostic { code, file, message: exit.clone() });
        }
        errors
    };
    Check {
        command: command.to_owned(),
        outcome: kind,
        errors: errors(diagnostics(&text, MOST, NumberFolding::Folded)),
        exact: errors(exact),
        excerpt: outcome.output.excerpt(by.excerpt_bytes),
        exit: exit.clone(),
        missing: missing_prerequisite(command, outcome, &text, by),
        tests,
        masked: outcome.output.masked(),
        confined: Some(outcome.confined),
        discarded: Vec::new(),
        elapsed_ms: 0,
        cached: false,
        needs: None,
        fetch: None,
    }
}

fn kind(
    outcome: &CommandOutcome,
    text: &str,
    tests: Option<TestCounts>,
    errors: &ErrorSet,
    complaints: &ComplaintTable,
) -> CheckOutcome {
    let says = |of: fn(&Complaints) -> &Vec<String>| {
        complaints.values().any(|tool| complaints::has(text, of(tool)))
    };
    // What failed in the code did not fail for the machine.
    let failed = || errors.iter().any(Diagnostic::is_of_code);
    match &outcome.exit {
        Exit::Code(0) if tests.is_some_and(|tests| tests.ran == 0) => CheckOutcome::Unverified,
        Exit::Code(0) => CheckOutcome::Passed,
        Exit::TimedOut => CheckOutcome::TimedOut,
        Exit::NotFound => CheckOutcome::CommandMissing,
        // Never started, killed from outside, or killed by the kernel for its memory use.
        Exit::NotStarted(_) | Exit::Signal(9 | 15) => CheckOutcome::Infrastructure,
        Exit::Code(_) if says(|tool| &tool.command) => CheckOutcome::CommandMissing,
        Exit::Code(_) | Exit::Signal(_) if !failed() && says(|tool| &tool.machine) => {
            CheckOutcome::Infrastructure
        }
        Exit::Code(_) | Exit::Signal(_) => CheckOutcome::CodeFailure,
    }
}

/// Returns how a command ended, in words.
pub fn exit_text(exit: &Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "timed out".to_owned(),
        Exit::NotFound => "not found".to_owned(),
        Exit::NotStarted(why) => format!("not started: {why}"),
    }
}

/// Returns true if the command might pass when run again on the same tree; a compiler error would not go away.
pub fn could_be_flaky(check: &Check) -> bool {
    check.outcome == CheckOutcome::CodeFailure
        && !check.errors.iter().any(|error| {
            let coded = error.code.len() > 2
                && error.code.chars().skip(1).all(|c| c.is_ascii_alphanumeric());
            !error.file.is_empty()
                && (coded && error.code.chars().any(|c| c.is_ascii_digit())
                    || error.code.is_empty())
        })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shell::{CommandLine, Environment, RunOptions};

    use super::*;
    use crate::baseline::{can_check, cannot_run};

    async fn check(command: &str) -> Check {
        let options = RunOptions {
            cwd: std::env::temp_dir(),
            timeout: Duration::from_secs(20),
            keep_bytes: 10_000,
            kill_grace: Duration::from_millis(100),
            env: Environment::default(),
            in_place_of: None,
            appears_in_place: false,
            notes: None,
            fence: None,
        };
        let outcome = shell::run(&CommandLine::parse(command).unwrap(), &options).await;
        let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let by = ReadingRules {
            excerpt_bytes: 1000,
            complaints: &config.commands.complaints,
            kinds: &config.projects,
            dir_of: &|_| None,
        };
        read_outcome(command, &outcome, &by)
    }

    #[tokio::test]
    async fn outcomes_are_distinguished() {
        for (command, outcome) in [
            ("true", CheckOutcome::Passed),
            ("false", CheckOutcome::CodeFailure),
            ("cd .", CheckOutcome::Passed),
            ("exit 3", CheckOutcome::CodeFailure),
            ("no-such-program", CheckOutcome::CommandMissing),
            ("echo 'error: no such command: `nextest`' && false", CheckOutcome::CommandMissing),
            ("echo 'write: No space left on device' && false", CheckOutcome::Infrastructure),
            ("kill -9 $$", CheckOutcome::Infrastructure),
            ("kill -11 $$", CheckOutcome::CodeFailure),
            ("echo running 0 tests", CheckOutcome::Unverified),
            ("echo running 2 tests", CheckOutcome::Passed),
            ("printf '\\033[32mrunning\\033[0m 0 tests\\n'", CheckOutcome::Unverified),
            ("printf 'exit 127: npm\\n'; exit 127", CheckOutcome::CommandMissing),
        ] {
            assert_eq!(check(command).await.outcome, outcome, "{command}");
        }
    }

    #[tokio::test]
    async fn a_test_failure_may_be_flaky_and_a_compiler_error_may_not() {
        for (said, expected) in [
            (
                "FAIL: test_a (t.T.test_a)\nAssertionError: 1 != 2\nRan 1 test\n\nFAILED (failures=1)",
                true,
            ),
            ("FAILED t.py::test_a - assert 1 == 2", true),
            ("--- FAIL: TestA (0.00s)\n    a_test.go:7: got 3\nFAIL", true),
            ("test tests::a ... FAILED\n\nthread 'tests::a' panicked at src/a.rs:9:5:\nleft", true),
            ("ERROR t.py\nerror during collection", false),
            ("./a.go:7:2: undefined: x", false),
            ("error[E0425]: cannot find value `x`\n  --> src/a.rs:3:5", false),
        ] {
            let check = check(&format!("cat <<'END' && false\n{said}\nEND")).await;
            assert_eq!(could_be_flaky(&check), expected, "{said}: {:?}", check.errors);
        }
    }

    #[tokio::test]
    async fn only_errors_that_were_not_there_before_are_new() {
        let report =
            async |text: &str| Report { checks: vec![check(&format!("sh -c '{text}'")).await] };
        let of = |mut report: Report| {
            report.checks[0].command = "c".to_owned();
            report
        };
        let one = of(report("echo FAILED t.py::a - x; exit 1").await);
        let two = of(report("echo FAILED t.py::a - x; echo FAILED t.py::b - y; exit 1").await);
        let none = of(report("exit 0").await);
        assert_eq!(one.clone().against(&two).outcome(), CheckOutcome::PreExisting);
        assert_eq!(two.clone().against(&one).outcome(), CheckOutcome::CodeFailure);
        assert_eq!(one.clone().against(&none).outcome(), CheckOutcome::CodeFailure);
        assert_eq!(none.against(&one).outcome(), CheckOutcome::Passed);
        assert_eq!(Report::default().outcome(), CheckOutcome::Unverified);
    }

    #[tokio::test]
    async fn a_check_that_fails_silently_has_one_error() {
        let report = async |text: &str| {
            let check = check(&format!("sh -c '{text}'")).await;
            Report { checks: vec![Check { command: "c".to_owned(), ..check }] }
        };
        let (silent, other) =
            (report("exit 1").await, report("echo FAILED t.py::a - x; exit 1").await);
        assert_eq!((silent.errors().len(), silent.exact().len()), (1, 1));
        assert_eq!(silent.clone().against(&silent).outcome(), CheckOutcome::PreExisting);
        assert_eq!(silent.against(&other).outcome(), CheckOutcome::CodeFailure);
    }

    #[tokio::test]
    async fn what_cannot_run_before_the_change_is_told_apart_from_what_may_come_with_it() {
        for (command, cannot, can) in [
            ("no-such-program", true, false),
            ("sh -c 'echo \"No module named flask\"; exit 1'", true, false),
            ("kill -9 $$", true, false),
            ("sh -c 'echo No rule to make target \"lint\"; exit 2'", false, false),
            ("sh -c 'echo FAILED t.py::a - x; exit 1'", false, true),
            ("true", false, false),
            ("sh -c 'test ! -e missing'", false, true),
        ] {
            let check = check(command).await;
            assert_eq!((cannot_run(&check), can_check(&check)), (cannot, can), "{command}");
        }
        let missing = Some(Missing { kind: MissingKind::Network, name: None, cure: None });
        let walled = Check { missing, confined: Some(Degree::Full), ..check("false").await };
        assert!(!cannot_run(&walled), "the user may allow the network");
        assert!(cannot_run(&Check { confined: Some(Degree::None), ..walled }));
        let timed_out = Check { outcome: CheckOutcome::TimedOut, ..check("false").await };
        assert!(!cannot_run(&timed_out), "the change may mend a hang");
    }

    #[tokio::test]
    async fn the_same_obstacle_before_and_after_is_the_environment_and_a_new_one_is_not() {
        let ended = async |outcome: CheckOutcome| {
            let check = check("false").await;
            let errors = ErrorSet::new();
            Report { checks: vec![Check { outcome, errors, ..check }] }
        };
        let passed = ended(CheckOutcome::Passed).await;
        for outcome in
            [CheckOutcome::TimedOut, CheckOutcome::Infrastructure, CheckOutcome::CommandMissing]
        {
            let report = ended(outcome).await;
            assert_eq!(report.clone().against(&passed).outcome(), outcome);
            let same = report.clone().against(&report);
            assert_eq!(same.outcome(), CheckOutcome::Environment, "{outcome:?}");
            let named = matches!(same.hindrance(), Some(Unverified::CannotRun { .. }));
            assert!(named, "{:?}", same.hindrance());
        }
    }

    #[tokio::test]
    async fn the_same_missing_prerequisite_before_and_after_is_the_environment() {
        let report = async |text: &str| {
            let check = check(&format!("sh -c '{text}'")).await;
            Report { checks: vec![Check { command: "c".to_owned(), ..check }] }
        };
        let said = |module: &str| {
            format!("echo ModuleNotFoundError: No module named \"'{module}'\"; exit 1")
        };
        let said = |module: &str| said(module).replace('\'', "'\\''");
        let (one, other) = (report(&said("one")).await, report(&said("other")).await);
        let passed = report("exit 0").await;
        let worse = report(&format!("echo FAILED t.py::a - x; {}", said("one"))).await;
        assert_eq!(one.checks[0].missing.as_ref().unwrap().name.as_deref(), Some("one"));
        assert_eq!(one.clone().against(&one).outcome(), CheckOutcome::Environment);
        let missing = one.checks[0].missing.clone().unwrap();
        let hindrance = one.clone().against(&one).hindrance();
        assert_eq!(hindrance, Some(Unverified::Environment { missing }));
        for before in [&other, &passed] {
            assert_eq!(one.clone().against(before).outcome(), CheckOutcome::CodeFailure);
        }
        assert_eq!(worse.against(&one).outcome(), CheckOutcome::CodeFailure, "something new fails");
        let gone = Report { checks: vec![check("no-such-program").await] };
        assert_eq!(gone.clone().against(&gone).outcome(), CheckOutcome::Environment);
    }
}
