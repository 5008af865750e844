//! What verification means: which commands check a project, what came of each, and which failures are new. Pure.
//!
//! Only a failure of the code is ever shown to a model as one; everything else is for the user.

use serde::{Deserialize, Serialize};
use shell::{CommandOutcome, Exit};

use crate::failure::{ErrorSet, Numbers, diagnostics};

/// What came of a check, or of all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Exit status 0 within the limit.
    Passed,
    /// It failed, and passed when run again on the same tree.
    Flaky,
    /// There was nothing to run.
    Unverified,
    /// It fails as it did before the change.
    PreExisting,
    /// The machine failed: disk, memory, network.
    Infrastructure,
    /// It did not end within the larger limit.
    TimedOut,
    /// The program, or the script it names, is not there.
    CommandMissing,
    /// It may not run.
    PolicyDenied,
    /// The code is wrong.
    CodeFailure,
}

/// What was read out of a command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The output, shortened; absent when it is short enough as it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excerpt: Option<String>,
    /// What is wrong, with numbers folded.
    #[serde(skip_serializing_if = "ErrorSet::is_empty", default)]
    pub errors: ErrorSet,
    /// What is wrong, to the letter.
    #[serde(skip_serializing_if = "ErrorSet::is_empty", default)]
    pub exact: ErrorSet,
}

/// One command with what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// As written.
    pub command: String,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// How it ended, for people.
    pub exit: String,
    /// What it printed, shortened.
    pub excerpt: String,
    /// What is wrong, with numbers folded.
    pub errors: ErrorSet,
    /// What is wrong, to the letter.
    pub exact: ErrorSet,
}

/// All commands together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order they were run.
    pub checks: Vec<Check>,
}

impl Report {
    /// The outcome of all commands together: the worst of them.
    pub fn outcome(&self) -> CheckOutcome {
        let proves =
            |check: &&Check| check.outcome != CheckOutcome::Passed || can_fail(&check.command);
        self.checks
            .iter()
            .filter(proves)
            .map(|check| check.outcome)
            .max()
            .unwrap_or(CheckOutcome::Unverified)
    }

    /// Everything that is wrong, with numbers folded.
    pub fn errors(&self) -> ErrorSet {
        self.failing().flat_map(|check| check.errors.iter().cloned()).collect()
    }

    /// Everything that is wrong, to the letter.
    pub fn exact(&self) -> ErrorSet {
        self.failing().flat_map(|check| check.exact.iter().cloned()).collect()
    }

    /// The commands that failed because of the code, now or before.
    pub fn failing(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| {
            matches!(check.outcome, CheckOutcome::CodeFailure | CheckOutcome::PreExisting)
        })
    }

    /// Marks the failures that were there before the change: those whose every error the same command had before.
    #[must_use]
    pub fn against(mut self, baseline: &Self) -> Self {
        for check in &mut self.checks {
            let before = baseline.checks.iter().find(|old| old.command == check.command);
            if let Some(before) = before
                && check.outcome == CheckOutcome::CodeFailure
                && before.outcome == CheckOutcome::CodeFailure
                && check.errors.is_subset(&before.errors)
            {
                check.outcome = CheckOutcome::PreExisting;
            }
        }
        self
    }
}

/// Reads what came of a command. Only [`CheckOutcome::CodeFailure`] comes with errors.
pub fn read(command: &str, outcome: &CommandOutcome, excerpt_bytes: usize) -> Check {
    /// Far more than a model is shown: what is new is told by comparing all of it.
    const MOST: usize = 2000;
    let text = outcome.output.text();
    let kind = kind(outcome, &text);
    let (errors, exact) = if kind == CheckOutcome::CodeFailure {
        (diagnostics(&text, MOST, Numbers::Folded), diagnostics(&text, MOST, Numbers::Kept))
    } else {
        (ErrorSet::new(), ErrorSet::new())
    };
    Check {
        command: command.to_owned(),
        outcome: kind,
        exit: exit_text(&outcome.exit),
        excerpt: outcome.output.excerpt(excerpt_bytes),
        errors,
        exact,
    }
}

fn kind(outcome: &CommandOutcome, text: &str) -> CheckOutcome {
    const MISSING: [&str; 8] = [
        "error: no such command: `",
        "No module named pytest",
        "No module named unittest",
        "Missing script:",
        "missing script:",
        "No rule to make target",
        "error: toolchain '",
        "rustup could not choose a version",
    ];
    const MACHINE: [&str; 7] = [
        "No space left on device",
        "Cannot allocate memory",
        "Could not resolve host",
        "Temporary failure in name resolution",
        "failed to download from",
        "Read-only file system",
        "Too many open files",
    ];
    let says = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    match &outcome.exit {
        Exit::Code(0) => CheckOutcome::Passed,
        Exit::TimedOut => CheckOutcome::TimedOut,
        Exit::NotFound => CheckOutcome::CommandMissing,
        // Never started, killed from outside, or by the kernel for its memory.
        Exit::NotStarted(_) | Exit::Signal(9 | 15) => CheckOutcome::Infrastructure,
        Exit::Code(_) if says(&MISSING) => CheckOutcome::CommandMissing,
        Exit::Code(_) | Exit::Signal(_) if says(&MACHINE) => CheckOutcome::Infrastructure,
        Exit::Code(_) | Exit::Signal(_) => CheckOutcome::CodeFailure,
    }
}

fn exit_text(exit: &Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "timed out".to_owned(),
        Exit::NotFound => "not found".to_owned(),
        Exit::NotStarted(why) => format!("not started: {why}"),
    }
}

/// Whether a command says anything by ending well.
fn can_fail(command: &str) -> bool {
    const NEVER: [&str; 8] = ["true", ":", "echo", "printf", "pwd", "ls", "cat", "git"];
    let Ok(line) = shell::CommandLine::parse(command) else { return true };
    !line
        .segments()
        .iter()
        .all(|segment| segment.words.first().is_some_and(|word| NEVER.contains(&word.as_str())))
}

/// Whether running the same command again on the same tree could end otherwise: a compiler's complaint cannot.
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

/// The commands that check the kinds of project found here. `read` gives a file's text, if there is one.
pub fn derive(read: &dyn Fn(&str) -> Option<String>, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut commands = Vec::new();
    if exists("Cargo.toml") {
        commands.push("cargo test".to_owned());
    }
    if let Some(package) = read("package.json") {
        let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
        let script = package.pointer("/scripts/test").and_then(serde_json::Value::as_str);
        if script.is_some_and(|script| !script.contains("no test specified")) {
            let manager = match (exists("pnpm-lock.yaml"), exists("yarn.lock")) {
                (true, _) => "pnpm",
                (false, true) => "yarn",
                (false, false) => "npm",
            };
            commands.push(format!("{manager} test"));
        }
    }
    let pytest_is_named =
        ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "tox.ini"]
            .iter()
            .any(|file| read(file).is_some_and(|text| text.contains("pytest")));
    if pytest_is_named
        || exists("pytest.ini")
        || exists("conftest.py")
        || exists("tests/conftest.py")
    {
        commands.push("python3 -m pytest -q".to_owned());
    } else if ["pyproject.toml", "setup.py"].iter().any(|file| exists(file)) && exists("tests") {
        commands.push("python3 -m unittest discover".to_owned());
    }
    if exists("go.mod") {
        commands.push("go test ./...".to_owned());
    }
    let makefile = ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|file| read(file));
    let tests = |text: &str| {
        text.lines().any(|line| line.starts_with("test:") || line.starts_with("test :"))
    };
    // A Makefile beside another project file usually wraps the same commands.
    if commands.is_empty() && makefile.is_some_and(|text| tests(&text)) {
        commands.push("make test".to_owned());
    }
    commands
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shell::{CommandLine, Environment, RunOptions};

    use super::*;

    async fn check(command: &str) -> Check {
        let options = RunOptions {
            cwd: std::env::temp_dir(),
            timeout: Duration::from_secs(20),
            keep_bytes: 10_000,
            kill_grace: Duration::from_millis(100),
            env: Environment::default(),
            in_place_of: None,
            notes: None,
        };
        let outcome = shell::run(&CommandLine::parse(command).unwrap(), &options).await;
        read(command, &outcome, 1000)
    }

    #[tokio::test]
    async fn outcomes_are_kept_apart() {
        for (command, outcome) in [
            ("true", CheckOutcome::Passed),
            ("false", CheckOutcome::CodeFailure),
            ("no-such-program", CheckOutcome::CommandMissing),
            ("echo 'error: no such command: `nextest`' && false", CheckOutcome::CommandMissing),
            ("echo 'write: No space left on device' && false", CheckOutcome::Infrastructure),
            ("kill -9 $$", CheckOutcome::Infrastructure),
            ("kill -11 $$", CheckOutcome::CodeFailure),
        ] {
            assert_eq!(check(command).await.outcome, outcome, "{command}");
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

    #[test]
    fn every_kind_of_project_found_is_checked() {
        let derive_from = |files: &[(&str, &str)]| {
            let read = |name: &str| {
                files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
            };
            derive(&read, &|name| files.iter().any(|(file, _)| *file == name))
        };
        assert_eq!(
            derive_from(&[
                ("Cargo.toml", ""),
                ("package.json", r#"{"scripts":{"test":"jest"}}"#),
                ("yarn.lock", ""),
                ("pyproject.toml", "[tool.pytest]"),
                ("go.mod", ""),
                ("Makefile", "test:\n\tx"),
            ]),
            ["cargo test", "yarn test", "python3 -m pytest -q", "go test ./..."]
        );
        assert_eq!(derive_from(&[("Makefile", "all:\n\ntest:\n\tx")]), ["make test"]);
        assert!(derive_from(&[("package.json", "{}"), ("README.md", "")]).is_empty());
    }
}
