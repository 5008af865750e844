//! The global flags, which every command accepts. `flag_settings` has what they set in the configuration.

pub(crate) mod flag_settings;

use std::ffi::OsString;
use std::num::IntErrorKind;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use facts::delivery::Level;
use orchestrator::request::intent::RequestIntent;

/// Flags that every command accepts.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag")]
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Run a single request and exit.
    #[arg(short = 'p', long, global = true, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,

    /// Continue the session of this workspace that was used last.
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume")]
    pub(crate) continue_last: bool,

    /// Resume a session by id, start or end of an id, or `latest`; without a value, pick one from a list.
    #[arg(short = 'r', long, global = true, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// Work in this directory [default: the project around the current directory].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Use this model for planning, editing and answering.
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Have every model think before it answers, at every stage, or none; `auto` uses the configuration.
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) thinking: Option<ThinkingFlag>,

    /// Use the configuration profile `[profiles.NAME]`.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Read this file instead of your user configuration.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Set a configuration key for this run, for example `agent_loop.max_iterations=3`; can be repeated.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,

    /// When to ask before applying patches and running commands.
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) approval: Option<ApprovalFlag>,

    /// Do everything that is not on the deny list without asking.
    #[arg(long, global = true)]
    pub(crate) yolo: bool,

    /// Research each change as a mission first; execute it once you approve its card.
    #[arg(long, global = true, conflicts_with = "yolo")]
    pub(crate) hetun: bool,

    /// Allow commands to use the network.
    #[arg(long, global = true)]
    pub(crate) network: bool,

    /// Run commands without a sandbox.
    #[arg(long, global = true)]
    pub(crate) no_sandbox: bool,

    /// Allow requests to edit files and run commands.
    #[arg(long, global = true, value_name = "BOOL", action = clap::ArgAction::Set, num_args = 0..=1, default_value_t = true, default_missing_value = "true")]
    pub(crate) tools: bool,

    /// Always treat the request as an edit.
    #[arg(long, global = true, conflicts_with = "plan_only")]
    pub(crate) force_execute: bool,

    /// Stop after planning.
    #[arg(long, global = true)]
    pub(crate) plan_only: bool,

    /// Minimum verification for a change to count as delivered.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) require: Option<Require>,

    /// Have a model review what was delivered; its findings are shown but do not change the result.
    #[arg(long, global = true)]
    pub(crate) qa: bool,

    /// Limit the estimated cost of a request, in US dollars.
    #[arg(long, global = true, value_name = "USD", value_parser = some_dollars)]
    pub(crate) budget_usd: Option<f64>,

    /// Limit the tokens of a request, prompts and answers together.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,

    /// Split a task into parallel lanes [without a value: auto].
    #[arg(long, global = true, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) teammate_mode: Option<TeammateMode>,

    /// Maximum number of parallel lanes or other subagents (1-20).
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true, value_parser = any_number)]
    pub(crate) max_subagents: Option<i64>,

    /// Output format.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Print plain lines without animation, for screen readers and logs.
    #[arg(long, global = true)]
    pub(crate) plain: bool,

    /// Log internals to standard error (-vv for more).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Never use the alternate screen, not even for reviews, the transcript or the session picker.
    #[arg(long, global = true)]
    pub(crate) no_alt_screen: bool,

    /// Scroll reviews, the transcript and the session picker with the mouse wheel; terminals then select text with Shift.
    #[arg(long, global = true)]
    pub(crate) mouse_capture: bool,

    /// Leave the mouse to the terminal.
    #[arg(long, global = true, conflicts_with = "mouse_capture")]
    pub(crate) no_mouse_capture: bool,
}

/// Splits `KEY=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Parses a positive amount. Zero is rejected: a run with no budget could not make a single call.
fn some_dollars(text: &str) -> Result<f64, String> {
    let dollars: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if dollars.is_finite() && dollars > 0.0 {
        Ok(dollars)
    } else {
        Err("must be greater than 0".to_owned())
    }
}

/// Parses an integer. Out-of-range numbers saturate, so that they are clamped like any other.
fn any_number(text: &str) -> Result<i64, String> {
    match text.parse::<i64>() {
        Ok(number) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(i64::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Ok(i64::MIN),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// Rewrites `--teammate-mode MODE` as `--teammate-mode=MODE` in a command line.
///
/// The mode is optional. Without this, clap would take the word after the flag, often a command, for the mode.
pub(crate) fn with_mode_joined(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const FLAG: &str = "--teammate-mode";
    let mut joined: Vec<OsString> = Vec::new();
    let mut only_values = false;
    for arg in args {
        let is_mode = arg.to_str().is_some_and(|text| TeammateMode::from_str(text, false).is_ok());
        match joined.last_mut() {
            Some(last) if is_mode && !only_values && last == FLAG => {
                last.push("=");
                last.push(arg);
            }
            Some(_) | None => {
                only_values |= arg == "--";
                joined.push(arg);
            }
        }
    }
    joined
}

impl Global {
    /// Returns the intent that the flags force; `None` if the request itself decides.
    pub(crate) const fn intent(&self) -> Option<RequestIntent> {
        if self.plan_only {
            Some(RequestIntent::Plan)
        } else if !self.tools {
            Some(RequestIntent::Answer)
        } else if self.force_execute {
            Some(RequestIntent::Edit)
        } else {
            None
        }
    }

    /// Returns the intent of a request that may name one itself, together with the flags.
    pub(crate) fn intent_of(&self, said: Option<RequestIntent>) -> Option<RequestIntent> {
        let by_flag = self.intent();
        if said == Some(RequestIntent::Edit) { by_flag.or(said) } else { said.or(by_flag) }
    }
}

/// Whether models think before they answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingFlag {
    /// Every model thinks.
    On,
    /// No model thinks.
    Off,
    /// Each role's configured setting.
    Auto,
}

impl ThinkingFlag {
    /// Returns the value on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }

    /// Returns the setting for all models; `None` leaves it to the configuration.
    pub(crate) const fn fixed(self) -> Option<bool> {
        match self {
            Self::On => Some(true),
            Self::Off => Some(false),
            Self::Auto => None,
        }
    }
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Human-readable text.
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document per line for every event, as it happens.
    StreamJson,
}

impl OutputFormat {
    /// Returns the machine-readable format that a command line asks for, even if the rest of it does not parse.
    pub(crate) fn wanted(words: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let separate = words.windows(2).filter(|pair| pair.first() == Some(&"--output"));
        let joined = words.iter().filter_map(|word| word.strip_prefix("--output="));
        let wanted = separate.filter_map(|pair| pair.get(1).copied()).chain(joined).last()?;
        Self::from_str(wanted, false).ok().filter(|wanted| *wanted != Self::Text)
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// When to ask before applying patches and running commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalFlag {
    /// Ask before every patch.
    Suggest,
    /// Apply patches within the safety gate without asking.
    Auto,
    /// Never ask: patches are staged and no command runs.
    Never,
}

impl ApprovalFlag {
    /// Returns the configuration value.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Suggest => "suggest",
            Self::Auto => "auto",
            Self::Never => "never",
        }
    }
}

/// Minimum verification of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Require {
    /// Every check passed, and one of them could have failed.
    Passed,
    /// A check fails without the change and passes with it.
    Proven,
}

impl Require {
    /// Returns the required verification level.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::Passed => Level::Passed,
            Self::Proven => Level::Proven,
        }
    }
}

/// When to split a task into lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TeammateMode {
    /// Never.
    Off,
    /// When the task looks large enough and can be split.
    Auto,
    /// Whenever files are to be changed.
    On,
}

impl TeammateMode {
    /// Returns the configuration value.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::On => "on",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn parsed(words: &[&str]) -> Result<Cli, clap::Error> {
        let words = ["deepseek"].iter().chain(words).map(OsString::from);
        Cli::try_parse_from(with_mode_joined(words))
    }

    fn mode(words: &[&str]) -> Option<TeammateMode> {
        parsed(words).unwrap().global.teammate_mode
    }

    #[test]
    fn the_teammate_mode_is_optional_and_does_not_swallow_the_next_word() {
        use TeammateMode::{Auto, Off, On};
        for (words, expected) in [
            (vec!["--teammate-mode", "-p", "x"], Some(Auto)),
            (vec!["-p", "x", "--teammate-mode"], Some(Auto)),
            (vec!["chat", "--teammate-mode"], Some(Auto)),
            (vec!["--teammate-mode", "chat"], Some(Auto)),
            (vec!["--teammate-mode=on", "chat"], Some(On)),
            (vec!["--teammate-mode", "on", "chat"], Some(On)),
            (vec!["chat", "--teammate-mode", "off"], Some(Off)),
            (vec!["--teammate-mode=auto"], Some(Auto)),
            (vec!["-p", "on"], None),
            (vec!["ask", "--", "--teammate-mode"], None),
            (vec![], None),
        ] {
            assert_eq!(mode(&words), expected, "{words:?}");
        }
        assert!(matches!(
            parsed(&["--teammate-mode", "ask", "auto"]).unwrap().command,
            Some(Command::Ask { question }) if question == ["auto"]
        ));
        for words in [["--teammate-mode=", "chat"], ["--teammate-mode=never", "chat"]] {
            assert!(parsed(&words).is_err(), "{words:?}");
        }
        assert!(matches!(
            parsed(&["ask", "--", "--teammate-mode", "on"]).unwrap().command,
            Some(Command::Ask { question }) if question == ["--teammate-mode", "on"]
        ));
    }

    #[test]
    fn max_subagents_accepts_any_integer_and_saturates() {
        let number = |words: &[&str]| parsed(words).map(|cli| cli.global.max_subagents);
        assert_eq!(number(&["--max-subagents", "3"]).unwrap(), Some(3));
        assert_eq!(number(&["--max-subagents", "-3", "chat"]).unwrap(), Some(-3));
        let huge = "9".repeat(30);
        assert_eq!(number(&["--max-subagents", &huge]).unwrap(), Some(i64::MAX));
        assert!(number(&["--max-subagents", "many"]).is_err());
        assert!(number(&["--max-subagents"]).is_err());
    }
}
