//! Runs hidden tests in a scratch tree, behind the walls, and says what they show.

use std::path::Path;

use checks::derive::{Project, derive_for_tests};
use checks::outcome::{Check, CheckOutcome, ReadingRules, read_outcome};
use checks::verified::MissingKind;
use config::Config;
use shell::{CommandLine, RunOptions};
use tools::plain::plain_text;
use tools::regular;
use tree::{ReadTree, RepoPath};

use crate::results::record::TestVerdict;

/// The largest file that is read to find out how a project is tested, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of names in a directory.
const MAX_NAMES: usize = 10_000;

/// How the reason begins if something that the tests need is missing.
pub(crate) const MISSING: &str = "missing: ";

/// What running hidden tests has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) verdict: TestVerdict,
    /// The commands with what they printed.
    pub(crate) output: String,
}

/// Returns the commands that run tests in a workspace. Blocks.
pub(crate) fn commands_for(workspace: &Path, tests: &[String], config: &Config) -> Vec<String> {
    let Ok(tree) = ReadTree::open(workspace) else { return Vec::new() };
    let read = |path: &str| regular::read_text(&workspace.join(path), MAX_BYTES).ok();
    let exists = |path: &str| workspace.join(path).exists();
    let names = |dir: &str| {
        let dir = RepoPath::parse(dir).ok();
        tree.names(dir.as_ref(), MAX_NAMES)
    };
    let project = Project { read: &read, exists: &exists, names: &names };
    derive_for_tests(&project, &config.projects, tests)
}

/// Runs commands until one does not pass.
pub(crate) async fn run_tests(commands: &[String], options: &RunOptions, config: &Config) -> Trial {
    let mut trial = Trial { verdict: TestVerdict::Passed, output: String::new() };
    if commands.is_empty() {
        trial.verdict =
            TestVerdict::CannotRun("no command is known that runs its tests".to_owned());
    }
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
        if trial.verdict != TestVerdict::Passed {
            break;
        }
    }
    trial
}

/// Returns what a check says about the tests that it ran. That something is missing, such as a module, may be the fault of
/// the change; the reference has shown that the tests can run.
fn verdict(check: &Check) -> TestVerdict {
    let first = || check.exact.iter().next().map(|error| error.message.clone());
    let why = || first().unwrap_or_else(|| check.exit.clone());
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
            let missing = check
                .missing
                .as_ref()
                .and_then(|it| Some(format!("{MISSING}{}", it.name.as_ref()?)));
            TestVerdict::Failed(missing.unwrap_or_else(why))
        }
    }
}
