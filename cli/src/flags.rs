//! The flags that every command takes, as they are written.

use std::ffi::OsString;
use std::num::IntErrorKind;
use std::path::PathBuf;

use actors::delivery::Level;
use clap::{Args, ValueEnum};

/// Flags that every command takes.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Run this one request and exit, in place of a conversation.
    #[arg(short = 'p', long, global = true, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,

    /// Go on with the last session of this workspace.
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume")]
    pub(crate) continue_last: bool,

    /// Resume this session: its id, the beginning or end of it, or `latest`; without a value, pick one.
    #[arg(short = 'r', long, global = true, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// Work in this directory [default: the project that the current one belongs to].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Use this model for planning, editing and answering.
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Whether models think before they answer; `auto` leaves it to the configuration.
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) thinking: Option<Thinking>,

    /// Use this [profiles.NAME] of the configuration.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Read this file in place of your own configuration.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Set a configuration key for this run, such as `agent_loop.max_iterations=3`; may be repeated.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,

    /// When to ask before applying patches and running commands.
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) approval: Option<ApprovalFlag>,

    /// Let everything that is not denied go ahead without asking.
    #[arg(long, global = true)]
    pub(crate) yolo: bool,

    /// Research each change as a mission, and carry it out once its card is approved.
    #[arg(long, global = true, conflicts_with = "yolo")]
    pub(crate) hetun: bool,

    /// Let commands use the network.
    #[arg(long, global = true)]
    pub(crate) network: bool,

    /// Run commands without a sandbox.
    #[arg(long, global = true)]
    pub(crate) no_sandbox: bool,

    /// Whether requests may edit files and run commands.
    #[arg(long, global = true, value_name = "BOOL", action = clap::ArgAction::Set, default_value_t = true)]
    pub(crate) tools: bool,

    /// Treat the request as an edit, whatever it sounds like.
    #[arg(long, global = true, conflicts_with = "plan_only")]
    pub(crate) force_execute: bool,

    /// Make the plan and stop.
    #[arg(long, global = true)]
    pub(crate) plan_only: bool,

    /// Count a change as delivered only if it is verified so far: checks passed, or proven by one that fails without it.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) require: Option<Require>,

    /// Have what was delivered reviewed: what a model finds is told, and the delivery stands.
    #[arg(long, global = true)]
    pub(crate) qa: bool,

    /// Spend at most this many US dollars on a request, by the price table.
    #[arg(long, global = true, value_name = "USD", value_parser = some_dollars)]
    pub(crate) budget_usd: Option<f64>,

    /// Spend at most this many tokens on a request, prompt and answer together.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,

    /// Split a task into lanes that are worked on at once; without a mode as with `auto`.
    #[arg(long, global = true, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) teammate_mode: Option<TeammateMode>,

    /// Have at most this many lanes or other subagents at work at once, 1 to 20.
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true, value_parser = any_number)]
    pub(crate) max_subagents: Option<i64>,

    /// How results are printed.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Print plain lines only, with nothing that moves: for screen readers, and for logs.
    #[arg(long, global = true)]
    pub(crate) plain: bool,

    /// Log what happens inside to standard error; twice for more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Never use the alternate screen, not even for reviews, the transcript and the session picker.
    #[arg(long, global = true)]
    pub(crate) no_alt_screen: bool,

    /// Never capture the mouse. It is not captured yet, so this is always so.
    #[arg(long, global = true, hide = true, conflicts_with = "mouse_capture")]
    pub(crate) no_mouse_capture: bool,

    #[command(flatten)]
    pub(crate) later: Later,
}

/// A key and the value that it is to have.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it must be KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// An amount that can be spent: a budget of nothing would be none.
fn some_dollars(text: &str) -> Result<f64, String> {
    let dollars: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if dollars.is_finite() && dollars > 0.0 {
        Ok(dollars)
    } else {
        Err("it must be more than 0".to_owned())
    }
}

/// A number that may be too large for anything.
fn any_number(text: &str) -> Result<i64, String> {
    match text.parse::<i64>() {
        Ok(number) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(i64::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Ok(i64::MIN),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// The command line with a mode that stands behind `--teammate-mode` joined to it.
///
/// The mode may be left out, and what follows is often no mode but a command, which clap alone would take for one.
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

/// What a command does with the flags that every command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Requests: all of them.
    Requests,
    /// One request, which it is given: all but those that give one or say what it is.
    Request,
    /// The way to the provider: those that choose a configuration.
    Access,
    /// The configuration: those that set it.
    Settings,
    /// Neither.
    Nothing,
}

impl Global {
    /// The first flag that was given and means nothing to a command.
    pub(crate) fn meaningless(&self, takes: Takes) -> Option<&'static str> {
        let about_requests = [
            (self.prompt.is_some(), "--prompt"),
            (self.force_execute, "--force-execute"),
            (self.plan_only, "--plan-only"),
            (self.require.is_some(), "--require"),
            (self.qa, "--qa"),
        ];
        let about_edits = [(!self.tools, "--tools=false")];
        let about_sessions =
            [(self.continue_last, "--continue"), (self.resume.is_some(), "--resume")];
        let about_access =
            [(self.profile.is_some(), "--profile"), (self.config.is_some(), "--config")];
        let about_settings = [
            (self.model.is_some(), "--model"),
            (!self.set.is_empty(), "--set"),
            (self.thinking.is_some(), "--thinking"),
            (self.approval.is_some(), "--approval"),
            (self.yolo, "--yolo"),
            (self.hetun, "--hetun"),
            (self.budget_usd.is_some(), "--budget-usd"),
            (self.budget_tokens.is_some(), "--budget-tokens"),
            (self.teammate_mode.is_some(), "--teammate-mode"),
            (self.max_subagents.is_some(), "--max-subagents"),
        ];
        let given = |flags: &[(bool, &'static str)]| {
            flags.iter().find_map(|(given, name)| given.then_some(*name))
        };
        let meaningless: &[&[_]] = match takes {
            Takes::Requests => &[],
            Takes::Request => &[&about_requests],
            Takes::Settings => &[&about_requests, &about_edits, &about_sessions],
            Takes::Access => &[&about_requests, &about_edits, &about_sessions, &about_settings],
            Takes::Nothing => {
                &[&about_requests, &about_edits, &about_sessions, &about_access, &about_settings]
            }
        };
        meaningless.iter().find_map(|flags| given(flags))
    }
}

/// Flags of the product that this version does not have. They are refused, never ignored.
#[derive(Debug, Clone, Args)]
pub(crate) struct Later {
    /// Capture the mouse.
    #[arg(long, global = true, hide = true)]
    mouse_capture: bool,
}

impl Later {
    /// The first of these flags that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [(self.mouse_capture, "--mouse-capture")]
            .into_iter()
            .find_map(|(given, name)| given.then_some(name))
    }
}

/// Whether models think before they answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Thinking {
    /// They do.
    On,
    /// They do not.
    Off,
    /// As configured for each.
    Auto,
}

impl Thinking {
    /// What the user wants of all models, if it is not left to the configuration.
    pub(crate) const fn fixed(self) -> Option<bool> {
        match self {
            Self::On => Some(true),
            Self::Off => Some(false),
            Self::Auto => None,
        }
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document a line, for every event as it happens.
    StreamJson,
}

impl Output {
    /// The form that a command line asks for which could not be read as a whole, if it is one for programs.
    pub(crate) fn wanted(words: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let behind = words.windows(2).filter(|pair| pair.first() == Some(&"--output"));
        let joined = words.iter().filter_map(|word| word.strip_prefix("--output="));
        let wanted = behind.filter_map(|pair| pair.get(1).copied()).chain(joined).last()?;
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
    /// Patches are asked for.
    Suggest,
    /// Patches go ahead, within the safety gate.
    Auto,
    /// Nothing is asked: patches are staged, and no command runs.
    Never,
}

impl ApprovalFlag {
    /// As it stands in the configuration.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Suggest => "suggest",
            Self::Auto => "auto",
            Self::Never => "never",
        }
    }
}

/// How far a change has to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Require {
    /// Every check passed, and one of them could have failed.
    Passed,
    /// A check fails without the change and passes with it.
    Proven,
}

impl Require {
    /// The level it stands for.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::Passed => Level::Passed,
            Self::Proven => Level::Proven,
        }
    }
}

/// When a task is worked on in lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TeammateMode {
    /// Never.
    Off,
    /// When it looks large enough, and splits.
    Auto,
    /// Whenever files are to be changed.
    On,
}

impl TeammateMode {
    /// As it stands in the configuration.
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
    fn the_mode_is_optional_and_takes_no_other_word() {
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
    fn any_number_of_subagents_is_read() {
        let number = |words: &[&str]| parsed(words).map(|cli| cli.global.max_subagents);
        assert_eq!(number(&["--max-subagents", "3"]).unwrap(), Some(3));
        assert_eq!(number(&["--max-subagents", "-3", "chat"]).unwrap(), Some(-3));
        let huge = "9".repeat(30);
        assert_eq!(number(&["--max-subagents", &huge]).unwrap(), Some(i64::MAX));
        assert!(number(&["--max-subagents", "many"]).is_err());
        assert!(number(&["--max-subagents"]).is_err());
    }
}
