//! `deepseek completions`: shell scripts that ask this program for completions, and the answers to them.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, Args, Command, FromArgMatches as _};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use front::error::{CliError, CliErrorKind};

use crate::completion_candidates::Nameable;
use crate::flags::Global;
use crate::render;
use crate::surroundings::{COMPLETING, Surroundings};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Also completes sessions, patches, checkpoints, models and configuration keys. In bash:\n\
  source <(deepseek completions bash)"
)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    const NAME: &str = "deepseek";
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string());
    let written =
        shell.and_then(|it| it.write_registration(COMPLETING, NAME, NAME, NAME, &mut script).ok());
    written.ok_or_else(|| {
        CliError::new(CliErrorKind::Internal, format!("there is no script for {}", args.shell))
    })?;
    render::text(&String::from_utf8_lossy(&script));
    Ok(())
}

/// Answers a shell's completion script, which passes the words of the command line after `--`. Errors yield no completions
/// rather than a message, since the user is in the middle of typing a line.
pub(crate) fn answer(shell: &str, words: Vec<OsString>, program: Command) -> ExitCode {
    let mut words = words.into_iter().skip_while(|word| word != "--").skip(1).collect::<Vec<_>>();
    // With the cursor after the last word, a shell may leave out the empty word there.
    if words.len() == 1 {
        words.push(OsString::new());
    }
    let Ok(around) = Surroundings::read() else { return ExitCode::SUCCESS };
    // The word being completed is not part of the given flags.
    let before = words.split_last().map_or_else(Default::default, |(_, before)| before);
    let global = given(&program, before).or_else(|| given(&program, &[]));
    let cwd = around.cwd.clone();
    let mut program = match global {
        Some(global) => with_offers(program, &Arc::new((around, global))),
        None => program,
    };
    if words.last().is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        program = with_options_last(program);
    }
    let mut answer = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell);
    let answered =
        shell.and_then(|it| it.write_complete(&mut program, words, Some(&cwd), &mut answer).ok());
    if answered.is_none() {
        return ExitCode::SUCCESS;
    }
    render::text(&String::from_utf8_lossy(&answer));
    ExitCode::SUCCESS
}

/// Parses the global flags of an incomplete command line.
fn given(program: &Command, words: &[OsString]) -> Option<Global> {
    let matches = program.clone().ignore_errors(true).try_get_matches_from(words).ok()?;
    Global::from_arg_matches(&matches).ok()
}

/// Adds dynamic completions to every argument that names something.
fn with_offers(program: Command, here: &Arc<(Surroundings, Global)>) -> Command {
    let with = |arg: Arg| {
        let names = arg.get_value_names().and_then(|names| names.first());
        let name = names.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
        let Some(nameable) = Nameable::called(&name).filter(|_| arg.get_action().takes_values())
        else {
            return arg;
        };
        let here = Arc::clone(here);
        arg.add(ArgValueCompleter::new(move |word: &OsStr| {
            let word = word.to_str().unwrap_or_default();
            let offers = nameable.offers(&here.0, &here.1);
            let named = offers.iter().filter_map(|offer| Some((offer.name(word)?, &offer.about)));
            let candidate = |(name, about): (&str, &String)| {
                let about = Some(about.clone()).filter(|about| !about.is_empty());
                CompletionCandidate::new(name).help(about.map(Into::into))
            };
            named.map(candidate).collect()
        }))
    };
    program.mut_args(with).mut_subcommands(|command| with_offers(command, here))
}

/// Hides options, so that they are offered only when nothing else matches.
fn with_options_last(program: Command) -> Command {
    let hidden = |arg: Arg| if arg.is_positional() { arg } else { arg.hide(true) };
    program.mut_args(hidden).mut_subcommands(with_options_last)
}
