//! The `deepseek` program: parses the command line, runs the command and reports how it ended.

mod args;
mod banner;
mod cards;
mod checkpoints;
mod commands;
mod completion_candidates;
mod dashed;
mod drive;
mod flags;
mod host;
mod key_store;
mod past;
mod prompts;
mod recap;
mod refused_parameters;
mod render;
mod surroundings;
mod takes;
mod telemetry;
mod their_git;
mod workspace;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use front::error::{CliError, CliErrorKind};
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Resource, getrlimit};

use crate::args::{Cli, Command};
use crate::flags::{Global, OutputFormat, with_mode_joined};
use crate::surroundings::Surroundings;
use crate::takes::Takes;

fn main() -> ExitCode {
    // Before anything else, in particular before any thread is started.
    if let Some(code) = sandbox::helper(std::env::args_os()) {
        return code;
    }
    if let Some(code) = interpreter::worker(std::env::args_os()) {
        return code;
    }
    if let Some(code) = images::worker(std::env::args_os()) {
        return code;
    }
    forbid_inspection();
    if let Some(shell) = surroundings::completing() {
        let words = std::env::args_os().skip(1).collect();
        return commands::completions::answer(&shell, words, Cli::command());
    }
    let (cli, takes) = match parsed() {
        Ok(parsed) => parsed,
        Err(error) => return refuse(&error),
    };
    match check(&cli, takes).and_then(|()| started(&cli)).and_then(|around| perform(&cli, &around))
    {
        Ok(code) if code == ExitCode::SUCCESS && !render::is_all_written() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(error) => {
            render::print_failure(cli.global.output, &error);
            error.code()
        }
    }
}

/// Parses the command line. The grammar is leaked, because dropping it would take longer than a small command.
fn parsed() -> Result<(Cli, Takes), clap::Error> {
    let words = with_mode_joined(std::env::args_os());
    if let Some((global, args)) = commands::patch::given(&words) {
        let cli = Cli { global, words: Vec::new(), command: Some(Command::Patch(args)) };
        return Ok((cli, Takes::Nothing));
    }
    let grammar = Box::leak(Box::new(takes::for_words(Cli::command(), &words)));
    let found = grammar.try_get_matches_from_mut(&words).or_else(|error| {
        let marked = dashed::with_requests_marked(&words, grammar).ok_or(error)?;
        grammar.try_get_matches_from_mut(marked)
    })?;
    let command = found.subcommand();
    let action = command.and_then(|(_, found)| found.subcommand_name());
    let takes = Takes::of(command.map(|(name, _)| name), action);
    let cli = Cli::from_arg_matches(&found).map_err(|error| error.format(grammar))?;
    Ok((cli, takes))
}

/// Reports an invalid command line, in the requested output format, or prints the requested help. Returns the exit code.
fn refuse(error: &clap::Error) -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if error.use_stderr()
        && let Some(output) = OutputFormat::wanted(&words)
    {
        let text = error.render().to_string();
        // The lines below the first one name what is missing.
        let lines = text.trim_start_matches("error: ").lines();
        let lines = lines.take_while(|line| !line.is_empty()).map(str::trim);
        let message = lines.collect::<Vec<_>>().join(" ");
        let hint = args::flag_of_others(error);
        let hint =
            hint.unwrap_or_else(|| "`deepseek --help` lists commands and options".to_owned());
        render::print_failure(output, &CliError::new(CliErrorKind::Usage, message).hint(hint));
        return ExitCode::from(CliErrorKind::Usage.code());
    }
    // Fails only if the reader has closed the pipe.
    error.print().ok();
    if let Some(hint) = args::flag_of_others(error) {
        render::warn(&format!("hint: {hint}"));
    }
    if error.use_stderr() { ExitCode::from(CliErrorKind::Usage.code()) } else { ExitCode::SUCCESS }
}

/// Prevents the user's other processes from reading this one's memory and environment, which hold the key.
fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        render::warn(&format!("warning: commands can read the key from this process: {error}"));
    }
}

/// Reads the environment and starts logging.
fn started(cli: &Cli) -> Result<Surroundings, CliError> {
    let around = Surroundings::read()?;
    telemetry::start_logging(cli.global.verbose, &around)?;
    Ok(around)
}

/// Checks that the flags can be combined and have a meaning for the command.
fn check(cli: &Cli, takes: Takes) -> Result<(), CliError> {
    let global = &cli.global;
    // The demo accepts --hetun, and no other flag about edits.
    let is_shown = matches!(cli.command, Some(Command::Demo(_)));
    let given = Global { hetun: global.hetun && !is_shown, ..global.clone() };
    if let Some(flag) = takes.meaningless(&given) {
        return Err(CliError::new(
            CliErrorKind::Usage,
            format!("--{flag} has no effect on this command"),
        ));
    }
    if global.force_execute && !global.tools {
        let error = "--force-execute requires edits, but --tools=false forbids them";
        return Err(CliError::new(CliErrorKind::Usage, error).hint("use only one of the two"));
    }
    Ok(())
}

/// Runs the command of a command line.
fn perform(cli: &Cli, around: &Surroundings) -> Result<ExitCode, CliError> {
    let global = &cli.global;
    if has_past(cli.command.as_ref()) {
        past::follow_a_move(around, global);
    }
    let _pager = is_long(cli.command.as_ref()).then(|| pager(around, global)).flatten();
    let done = match &cli.command {
        None => match args::request_of_words(&cli.words)? {
            Some(text) => {
                let text = commands::once::with_piped(text)?;
                let Request { text, intent, .. } = commands::once::request(&text, global)?;
                blocking(commands::once::once(around, global, text, intent))
            }
            None => chat(around, global),
        },
        Some(Command::Chat) => chat(around, global),
        Some(Command::Ask { question }) => {
            let question = commands::once::with_piped(question.join(" "))?;
            blocking(commands::once::ask(around, global, question))
        }
        Some(Command::Review { range, staged }) => {
            let what = if *staged { "--staged" } else { range.as_deref().unwrap_or_default() };
            commands::review::check(&around.workspace(global)?, what)?;
            one_shot(around, global, format!("review {what}").trim_end(), RequestIntent::Review)
        }
        Some(Command::Plan { task }) => {
            let task = commands::once::with_piped(task.join(" "))?;
            one_shot(around, global, &task, RequestIntent::Plan)
        }
        Some(Command::Mission(args)) => blocking(commands::mission::run(around, global, args)),
        Some(Command::Autopilot(args)) => blocking(commands::autopilot::run(around, global, args)),
        Some(Command::Run(args)) => blocking(commands::run::run(around, global, args)),
        Some(Command::Diff(args)) => commands::diff::run(around, global, args),
        Some(Command::Apply(args)) => blocking(commands::apply::run(around, global, args)),
        Some(Command::Commit(args)) => blocking(commands::commit::run(around, global, args)),
        Some(Command::Rewind(args)) => blocking(commands::rewind::run(around, global, args)),
        Some(Command::Patch(args)) => {
            return Ok(commands::patch::run(around, global, args));
        }
        Some(Command::Sessions(args)) => commands::sessions::run(around, global, args),
        Some(Command::Explain(args)) => commands::explain::run(around, global, args),
        Some(Command::Fork(args)) => blocking(commands::fork::run(around, global, args)),
        Some(Command::Replay(args)) => blocking(commands::replay::run(around, global, args)),
        Some(Command::Export(args)) => commands::export::run(around, global, args),
        Some(Command::Eval(args)) => return blocking(commands::eval::run(around, global, args)),
        Some(Command::Usage(args)) => commands::usage::run(around, global, args),
        Some(Command::Config(args)) => commands::config::run(around, global, args),
        Some(Command::Auth(args)) => commands::auth::run(around, global, args),
        Some(Command::Init(args)) => commands::init::run(around, global, args),
        Some(Command::Trust(args)) => commands::trust::run(around, global, args),
        Some(Command::Index(args)) => commands::index::run(around, global, args),
        Some(Command::Memory(args)) => commands::memory::run(around, global, args),
        Some(Command::Tools(args)) => commands::tools::run(around, global, args),
        Some(Command::Mcp(args)) => return blocking(commands::mcp::run(around, global, args)),
        Some(Command::Prompts(args)) => commands::prompts::run(around, global, args),
        Some(Command::Policy(args)) => commands::policy::run(around, global, args),
        Some(Command::Sandbox(args)) => {
            return blocking(commands::sandbox::run(around, global, args));
        }
        Some(Command::Demo(args)) => blocking(commands::demo::run(around, global, args)),
        Some(Command::Doctor(args)) => blocking(commands::doctor::run(around, global, args)),
        Some(Command::Mock(args)) => blocking(commands::mock::run(args)),
        Some(Command::Schema(_)) => {
            commands::schema::run();
            Ok(())
        }
        Some(Command::Man(args)) => {
            commands::man::run(around, args, takes::for_help(Cli::command()))
        }
        Some(Command::Completions(args)) => commands::completions::run(args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Returns true if a command is about a workspace and what was done in it.
const fn has_past(command: Option<&Command>) -> bool {
    !matches!(
        command,
        Some(
            Command::Patch(_)
                | Command::Config(_)
                | Command::Auth(_)
                | Command::Mcp(_)
                | Command::Tools(_)
                | Command::Prompts(_)
                | Command::Policy(_)
                | Command::Sandbox(_)
                | Command::Demo(_)
                | Command::Mock(_)
                | Command::Schema(_)
                | Command::Man(_)
                | Command::Completions(_)
        )
    )
}

/// Returns true if a command may print more than one screen and can leave the terminal to a pager.
const fn is_long(command: Option<&Command>) -> bool {
    match command {
        // `config edit` gives the terminal to an editor.
        Some(Command::Config(args)) => args.is_shown(),
        command => matches!(
            command,
            Some(
                Command::Diff(_)
                    | Command::Sessions(_)
                    | Command::Explain(_)
                    | Command::Policy(_)
                    | Command::Memory(_)
                    | Command::Prompts(_)
                    | Command::Tools(_)
            )
        ),
    }
}

/// Redirects standard output to the user's pager. If the pager cannot be started, output is not paged.
fn pager(around: &Surroundings, global: &Global) -> Option<shell::Pager> {
    let pager = around.pager(global)?;
    shell::Pager::start(&pager).inspect_err(|error| tracing::debug!(%error, pager, "no pager")).ok()
}

fn chat(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    match commands::once::prompt(around, global)? {
        Some(Request { text, intent, .. }) => {
            blocking(commands::once::once(around, global, text, intent))
        }
        None => blocking(commands::chat::converse(around, global)),
    }
}

fn one_shot(
    around: &Surroundings,
    global: &Global,
    text: &str,
    intent: RequestIntent,
) -> Result<(), CliError> {
    blocking(commands::once::once(around, global, text.to_owned(), Some(intent)))
}

/// Fails if the address space is limited to less than a request takes. Every thread reserves some of it, and what cannot
/// be reserved in the middle of a request cannot be handled any more.
fn has_address_space() -> Result<(), CliError> {
    const LEAST: u64 = 1 << 30;
    match getrlimit(Resource::As).current {
        Some(limit) if limit < LEAST => {
            let what = format!("the address space is limited to {} MB", limit >> 20);
            Err(CliError::new(CliErrorKind::Usage, what)
                .hint("`ulimit -v unlimited` lifts the limit, `ulimit -v 1048576` is enough"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Runs an async command on a runtime of its own.
fn blocking<T, F>(work: F) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    const WORKERS: usize = 2;
    has_address_space()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| {
            CliError::new(CliErrorKind::Internal, format!("cannot start the runtime: {error}"))
        })?;
    let done = runtime.block_on(work);
    // A thread that is still reading the terminal would delay the exit.
    runtime.shutdown_background();
    done
}
