//! Runs hidden tests in a scratch tree, behind the walls, and says what they show.

use std::path::Path;

use checks::derive::{Project, derive_for_tests};
use checks::outcome::{Check, CheckOutcome, ReadingRules, read_outcome};
use checks::verified::MissingKind;
use config::Config;
use shell::{CommandLine, Environment, RunOptions};
use tools::plain::plain_text;
use tools::regular;
use tree::{ReadTree, RepoPath};

use crate::results::record::TestVerdict;

/// The largest file that is read to find out how a project is tested, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of names in a directory.
const MAX_NAMES: usize = 10_000;

/// What running hidden tests has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) verdict: TestVerdict,
    /// What the tests need and is not there, such as a package. That may be the fault of the change, unless it is the reference.
    pub(crate) missing: Option<String>,
    /// The commands with what they printed.
    pub(crate) output: String,
}

impl Trial {
    /// Creates the trial of tests that could not run.
    pub(crate) const fn cannot_run(why: String) -> Self {
        Self { verdict: TestVerdict::CannotRun(why), missing: None, output: String::new() }
    }
}

/// Returns the commands that run tests in a workspace, in this environment. Blocks.
pub(crate) fn commands_for(
    workspace: &Path,
    tests: &[String],
    config: &Config,
    env: &Environment,
) -> Vec<String> {
    let Ok(tree) = ReadTree::open(workspace) else { return Vec::new() };
    let read = |path: &str| regular::read_text(&workspace.join(path), MAX_BYTES).ok();
    let exists = |path: &str| workspace.join(path).exists();
    let names = |dir: &str| {
        let dir = RepoPath::parse(dir).ok();
        tree.names(dir.as_ref(), MAX_NAMES)
    };
    let has_program = |name: &str| env.finds(name);
    let project =
        Project { read: &read, exists: &exists, names: &names, has_program: &has_program };
    derive_for_tests(&project, &config.projects, tests)
}

/// Runs commands until one does not pass.
pub(crate) async fn run_tests(commands: &[String], options: &RunOptions, config: &Config) -> Trial {
    if commands.is_empty() {
        return Trial::cannot_run("no command is known that runs its tests".to_owned());
    }
    let mut trial = Trial { verdict: TestVerdict::Passed, missing: None, output: String::new() };
    for command in commands {
        let line = match CommandLine::parse(command) {
            Ok(line) => line,
            Err(error) => {
                trial.verdict = TestVerdict::CannotRun(format!("`{command}`: {error}"));
                break;
            }
        };
        let outcome = shell::run(&line, options).await;
        let env = options.env.clone();
        let by = ReadingRules {
            excerpt_bytes: config.commands.output_keep_bytes,
            complaints: &config.commands.complaints,
            kinds: &config.projects,
            dir_of: &move |program| env.dir_of(program),
        };
        let check = read_outcome(command, &outcome, &by);
        let text = plain_text(&outcome.output.text());
        trial.output.push_str(&format!("$ {command}\n{}\n[{}]\n", text.trim_end(), check.exit));
        trial.verdict = verdict(&check);
        trial.missing = check.missing.and_then(|missing| missing.name);
        if trial.verdict != TestVerdict::Passed {
            break;
        }
    }
    trial
}

/// Returns what a check says about the tests that it ran.
fn verdict(check: &Check) -> TestVerdict {
    let walls = check.missing.as_ref().is_some_and(|it| it.kind == MissingKind::Walls);
    match check.outcome {
        CheckOutcome::Passed => TestVerdict::Passed,
        CheckOutcome::Infrastructure | CheckOutcome::PolicyDenied => {
            TestVerdict::CannotRun(check.exit.clone())
        }
        _ if walls => TestVerdict::CannotRun(check.exit.clone()),
        CheckOutcome::Unverified => TestVerdict::Failed("no tests ran".to_owned()),
        CheckOutcome::TimedOut => TestVerdict::Failed("timed out".to_owned()),
        CheckOutcome::CodeFailure
        | CheckOutcome::CommandMissing
        | CheckOutcome::Environment
        | CheckOutcome::PreExisting
        | CheckOutcome::Flaky => {
            let missing = check.missing.as_ref().and_then(|missing| missing.name.as_ref());
            let missing = missing.map(|name| format!("missing: {name}"));
            let first = || check.exact.iter().next().map(|error| error.message.clone());
            let why = missing.or_else(first).unwrap_or_else(|| check.exit.clone());
            TestVerdict::Failed(why)
        }
    }
}
