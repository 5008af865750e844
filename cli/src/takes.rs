//! Which global flags have a meaning for a command. The others are refused, and hidden in its help.

use std::ffi::OsStr;

use clap::{Arg, Command};

use crate::flags::Global;

/// The global flags that have a meaning for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// All of them: the command runs requests.
    Requests,
    /// All except those that give or classify the request, which the command takes as an argument.
    Request,
    /// Those that select a configuration: the command only needs to reach the provider.
    Access,
    /// Those that select or set configuration.
    Settings,
    /// None.
    Nothing,
}

/// A flag, and whether it was given.
type Flag = (&'static str, fn(&Global) -> bool);

const ABOUT_REQUESTS: [Flag; 5] = [
    ("prompt", |it| it.prompt.is_some()),
    ("force-execute", |it| it.force_execute),
    ("plan-only", |it| it.plan_only),
    ("require", |it| it.require.is_some()),
    ("qa", |it| it.qa),
];
const ABOUT_EDITS: [Flag; 1] = [("tools", |it| !it.tools)];
const ABOUT_SESSIONS: [Flag; 2] =
    [("continue", |it| it.continue_last), ("resume", |it| it.resume.is_some())];
const ABOUT_ACCESS: [Flag; 2] =
    [("profile", |it| it.profile.is_some()), ("config", |it| it.config.is_some())];
const ABOUT_SETTINGS: [Flag; 10] = [
    ("model", |it| it.model.is_some()),
    ("set", |it| !it.set.is_empty()),
    ("thinking", |it| it.thinking.is_some()),
    ("approval", |it| it.approval.is_some()),
    ("yolo", |it| it.yolo),
    ("hetun", |it| it.hetun),
    ("budget-usd", |it| it.budget_usd.is_some()),
    ("budget-tokens", |it| it.budget_tokens.is_some()),
    ("teammate-mode", |it| it.teammate_mode.is_some()),
    ("max-subagents", |it| it.max_subagents.is_some()),
];

impl Takes {
    /// Returns what a command takes, given its name and that of its subcommand.
    pub(crate) fn of(command: Option<&str>, action: Option<&str>) -> Self {
        match (command.unwrap_or("chat"), action) {
            ("chat", _) => Self::Requests,
            ("autopilot", None | Some("resume"))
            | ("mission", None | Some("approve" | "reject" | "modify" | "resume"))
            | ("ask" | "plan" | "review", _) => Self::Request,
            ("run", _) => Self::Access,
            (
                "apply" | "commit" | "rewind" | "fork" | "config" | "auth" | "trust" | "index"
                | "policy" | "memory" | "mcp" | "prompts" | "sandbox" | "doctor" | "eval",
                _,
            ) => Self::Settings,
            _ => Self::Nothing,
        }
    }

    /// Returns the flags without a meaning.
    fn others(self) -> impl Iterator<Item = &'static Flag> {
        let others: &[&[Flag]] = match self {
            Self::Requests => &[],
            Self::Request => &[&ABOUT_REQUESTS],
            Self::Settings => &[&ABOUT_REQUESTS, &ABOUT_EDITS, &ABOUT_SESSIONS],
            Self::Access => &[&ABOUT_REQUESTS, &ABOUT_EDITS, &ABOUT_SESSIONS, &ABOUT_SETTINGS],
            Self::Nothing => {
                &[&ABOUT_REQUESTS, &ABOUT_EDITS, &ABOUT_SESSIONS, &ABOUT_ACCESS, &ABOUT_SETTINGS]
            }
        };
        others.iter().copied().flatten()
    }

    /// Returns the first flag that was given but has no meaning.
    pub(crate) fn meaningless(self, given: &Global) -> Option<&'static str> {
        self.others().find_map(|(name, is_given)| is_given(given).then_some(*name))
    }
}

/// Returns the grammar as it reads these words. Hiding flags takes time, so it is done only if they ask for help.
pub(crate) fn for_words<S: AsRef<OsStr>>(grammar: Command, words: &[S]) -> Command {
    let asks_for_help = |word: &S| ["-h", "--help", "help"].iter().any(|it| word.as_ref() == *it);
    if words.iter().any(asks_for_help) { for_help(grammar) } else { grammar }
}

/// Returns the grammar of the command line for showing help: each command without the global flags that have no meaning for it.
pub(crate) fn for_help(grammar: Command) -> Command {
    let global: Vec<Arg> =
        grammar.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let names = names(&grammar);
    names.into_iter().fold(grammar, |grammar, name| {
        grammar.mut_subcommand(&name, |mut command| {
            for action in self::names(&command) {
                let takes = Takes::of(Some(&name), Some(&action));
                command = command.mut_subcommand(action, |it| hiding(it, takes, &global));
            }
            hiding(command, Takes::of(Some(&name), None), &global)
        })
    })
}

fn names(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|it| it.get_name().to_owned()).collect()
}

/// Hides the flags of `global` that have no meaning. A command's own argument takes the place of the global one of that id.
fn hiding(command: Command, takes: Takes, global: &[Arg]) -> Command {
    let is_meaningless = |arg: &&Arg| takes.others().any(|(name, _)| arg.get_long() == Some(*name));
    let hidden = global.iter().filter(is_meaningless).map(|arg| arg.clone().hide(true));
    command.args(hidden)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Cli;

    fn shown(words: &[&str]) -> String {
        let words = ["deepseek"].iter().chain(words).chain(&["--help"]);
        for_help(Cli::command()).try_get_matches_from(words).unwrap_err().to_string()
    }

    #[test]
    fn help_shows_the_flags_that_have_a_meaning_for_the_command() {
        for (words, shows, hides) in [
            (&["sessions"][..], "--all", "--prompt"),
            (&["sessions", "show"], "--workspace", "--model"),
            (&["rewind"], "--set", "--continue"),
            (&["ask"], "--model", "--plan-only"),
            (&["mission", "list"], "--output", "--budget-usd"),
            (&["mission", "approve"], "--budget-usd", "--qa"),
            (&["run"], "--profile", "--yolo"),
        ] {
            let help = shown(words);
            assert!(help.contains(shows) && !help.contains(hides), "{words:?}: {help}");
        }
        let all = shown(&[]);
        for hidden in ["--prompt", "--model", "--continue", "--profile", "--tools"] {
            assert!(all.contains(hidden), "{all}");
        }
    }

    #[test]
    fn every_name_is_that_of_a_flag() {
        let grammar = Cli::command();
        for (name, is_given) in Takes::Nothing.others() {
            assert!(grammar.get_arguments().any(|arg| arg.get_long() == Some(name)), "{name}");
            assert!(!is_given(&Cli::try_parse_from(["deepseek"]).unwrap().global), "{name}");
        }
    }

    #[test]
    fn only_these_commands_take_nothing() {
        let grammar = Cli::command();
        let names = grammar.get_subcommands().map(Command::get_name);
        let nothing: Vec<&str> =
            names.filter(|name| Takes::of(Some(name), None) == Takes::Nothing).collect();
        // A new command is listed here or in `Takes::of`.
        assert_eq!(
            nothing,
            [
                "diff",
                "patch",
                "sessions",
                "explain",
                "replay",
                "export",
                "usage",
                "init",
                "tools",
                "demo",
                "mock",
                "schema",
                "completions",
                "man"
            ]
        );
    }
}
