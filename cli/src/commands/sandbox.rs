//! `deepseek sandbox`: runs a command with the confinement of a run, to see what it can and cannot do.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use config::{NetworkReach, Settings};
use front::error::{CliError, CliErrorKind};
use policy::{PolicyRules, Verdict};
use sandbox::{ConfinementLevel, Network, TreeWrites};
use shell::{CommandConfinement, CommandLine, CommandOutcome, Exit, OutputSink, RunOptions};
use tools::redact::{MaskedStream, Redactor, values_in};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// Run a command in the sandbox, as a run would.
#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// The command and its arguments; a single argument is parsed as a shell command line.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command. Returns the exit code of the confined command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &SandboxArgs,
) -> Result<ExitCode, CliError> {
    let outcome = confined(around, global, &args.command, &mut |_| {}).await?;
    render::text(&outcome.output.text());
    for note in notes(&outcome) {
        render::warn(&note);
    }
    Ok(code(&outcome))
}

/// Like [`run`], but away from the terminal: passes the output to `sink` as it comes, and returns how the command ended if
/// it failed, and what was discarded. Secrets in the output are masked. Dropping the future kills the command.
pub(crate) async fn captured(
    around: &Surroundings,
    global: &Global,
    command: &[String],
    sink: OutputSink<'_>,
) -> Result<String, CliError> {
    let mut masked = MaskedStream::new(redactor(around, global).await?);
    let outcome =
        confined(around, global, command, &mut |bytes| sink(&masked.take_in(bytes))).await?;
    sink(&masked.end());
    let exit = match outcome.exit {
        Exit::Code(code) if code != 0 => Some(format!("exit {code}")),
        Exit::Code(_) | Exit::NotStarted(_) | Exit::NotFound | Exit::TimedOut | Exit::Signal(_) => {
            None
        }
    };
    let lines: Vec<String> = notes(&outcome).into_iter().chain(exit).collect();
    Ok(lines.join("\n"))
}

/// Returns a redactor for the secrets of this environment and workspace, as checks of a run are masked.
async fn redactor(around: &Surroundings, global: &Global) -> Result<Redactor, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let key = around.access(&settings, &workspace).key;
    let key = key.map(|key| key.expose().to_owned()).filter(|key| !key.is_empty());
    let redactor = around.redactor().knowing(key);
    let rules = rules(&settings)?;
    let read = tokio::task::spawn_blocking(move || {
        let is_secret = |path: &str| matches!(rules.may_read(path), Verdict::Deny { .. });
        let texts = tree::secret_texts(&workspace, &is_secret);
        redactor.knowing(texts.iter().flat_map(|text| values_in(text)))
    });
    read.await.map_err(|error| CliError::new(CliErrorKind::Internal, error.to_string()))
}

fn rules(settings: &Settings) -> Result<PolicyRules, CliError> {
    let config = &settings.config;
    PolicyRules::new(&config.policy, config.agent_loop.safety_gate)
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))
}

/// Runs a command confined. Fails if commands cannot be confined here.
async fn confined(
    around: &Surroundings,
    global: &Global,
    command: &[String],
    sink: OutputSink<'_>,
) -> Result<CommandOutcome, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let fence = fence(around, &settings, &workspace)?;
    let sandbox = Arc::clone(&fence.sandbox);
    let level = tokio::task::spawn_blocking(move || sandbox.level());
    let level =
        level.await.map_err(|error| CliError::new(CliErrorKind::Internal, error.to_string()))?;
    if let ConfinementLevel::None(why) = &level {
        return Err(CliError::new(
            CliErrorKind::Denied,
            format!("cannot confine commands here: {why}"),
        )
        .hint("`deepseek doctor` says what is missing; without a sandbox: --no-sandbox"));
    }
    let outcome = run_in(fence.clone(), around, (&settings, &workspace), command, sink).await?;
    let Some(failure) = outcome.walls_failed.clone() else { return Ok(outcome) };
    let sandbox = Arc::clone(&fence.sandbox);
    let level = tokio::task::spawn_blocking(move || sandbox.fall(failure));
    let level =
        level.await.map_err(|error| CliError::new(CliErrorKind::Internal, error.to_string()))?;
    if fence.sandbox.is_accepted(&level) {
        return run_in(fence, around, (&settings, &workspace), command, sink).await;
    }
    Ok(outcome)
}

/// Returns the confinement of commands in a workspace.
pub(crate) fn fence(
    around: &Surroundings,
    settings: &Settings,
    workspace: &Path,
) -> Result<CommandConfinement, CliError> {
    let config = &settings.config;
    let network = match config.sandbox.network {
        NetworkReach::Own => Network::Own,
        NetworkReach::Host => Network::Host,
    };
    let rules = rules(settings)?;
    let root = workspace.to_owned();
    Ok(CommandConfinement {
        sandbox: around.sandbox(settings, workspace)?,
        tree: workspace.to_owned(),
        at: workspace.to_owned(),
        writes: TreeWrites::CachesKept,
        read: Vec::new(),
        write: Vec::new(),
        home: None,
        network,
        is_secret: Arc::new(move |path: &str| !matches!(rules.may_read(path), Verdict::Allow)),
        is_unseen: Arc::new({
            let root = root.clone();
            move |dir: &Path| tree::is_unseen(&root, dir)
        }),
        git_dirs: Arc::new(move |own: &Path| tree::git_dirs(&root, own)),
        layers: None,
    })
}

/// Runs a command in a fence.
async fn run_in(
    fence: CommandConfinement,
    around: &Surroundings,
    (settings, workspace): (&Settings, &Path),
    words: &[String],
    sink: OutputSink<'_>,
) -> Result<CommandOutcome, CliError> {
    let text = match words {
        [line] => line.clone(),
        words => words.iter().map(|word| policy::quoted_word(word)).collect::<Vec<_>>().join(" "),
    };
    let line =
        CommandLine::parse(&text).map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let options = options_in(fence, around, (settings, workspace));
    Ok(shell::run_heard(&line, &options, sink).await)
}

/// Returns how a command is run in a fence.
pub(crate) fn options_in(
    fence: CommandConfinement,
    around: &Surroundings,
    (settings, workspace): (&Settings, &Path),
) -> RunOptions {
    let config = &settings.config;
    RunOptions {
        cwd: workspace.to_owned(),
        timeout: Duration::from_secs(config.agent_loop.verify_timeout_max_seconds),
        keep_bytes: config.commands.output_journal_bytes / 2,
        kill_grace: Duration::from_millis(config.commands.kill_grace_ms),
        env: around.seen_by_commands(config),
        in_place_of: None,
        appears_in_place: false,
        notes: None,
        fence: Some(fence),
    }
}

/// Lists what to report in addition to the output: an abnormal end, and discarded files.
fn notes(outcome: &CommandOutcome) -> Vec<String> {
    let ended = match &outcome.exit {
        Exit::NotStarted(why) => Some(format!("the command could not be started: {why}")),
        Exit::NotFound => Some("no such program".to_owned()),
        Exit::TimedOut => Some("the command timed out and was killed".to_owned()),
        Exit::Signal(signal) => Some(format!("the command was killed by signal {signal}")),
        Exit::Code(_) => None,
    };
    let discarded = outcome.discarded.iter();
    let discarded =
        discarded.map(|it| format!("not kept: {}", render::harmless(&it.to_string_lossy())));
    ended.into_iter().chain(discarded).collect()
}

fn code(outcome: &CommandOutcome) -> ExitCode {
    const SIGNALLED: i32 = 128;
    let code = match &outcome.exit {
        Exit::Code(code) => *code,
        Exit::Signal(signal) => SIGNALLED + signal,
        Exit::TimedOut => 124,
        Exit::NotFound => 127,
        Exit::NotStarted(_) => 126,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
