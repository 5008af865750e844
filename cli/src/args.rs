//! The command line as it is written. What it means is decided by the commands.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser, Subcommand};
use front::error::{CliError, Kind};

use crate::commands::{
    apply, auth, autopilot, commit, completions, config, demo, diff, doctor, explain, export, fork,
    index, init, man, memory, mission, mock, patch, policy, prompts, replay, rewind, run, sandbox,
    schema, sessions, tools, trust, usage,
};
use crate::flags::Global;

/// A coding agent for the terminal: it plans, edits by validated diffs, verifies with your project's own commands, and delivers or says exactly why not.
#[derive(Debug, Parser)]
#[command(name = "deepseek", version, propagate_version = false, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    /// The request, without quotes; without one, a conversation.
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) words: Vec<String>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The request that stands in the words of a command line. A single word that looks like a command is not paid for.
pub(crate) fn request(words: &[String]) -> Result<Option<String>, CliError> {
    if let [word] = words
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    {
        let meant = nearly_a_command(word);
        let meant = meant.map(|meant| format!("; did you mean `deepseek {meant}`?"));
        let error = format!("there is no command `{word}`{}", meant.unwrap_or_default());
        return Err(CliError::new(Kind::Usage, error)
            .hint(format!("to have it as a request: deepseek -p {word}")));
    }
    // Elsewhere it is a command, whose request is quoted.
    if let [word, request] = words
        && word == "exec"
        && request.contains(' ')
    {
        let error =
            format!("there is no command `exec`; did you mean `deepseek -p \"{request}\"`?");
        return Err(CliError::new(Kind::Usage, error));
    }
    Ok(Some(words.join(" ")).filter(|request| !request.is_empty()))
}

/// What this program calls a flag that other agents have, as the hint for who gave it.
pub(crate) fn flag_of_others(error: &clap::Error) -> Option<String> {
    const FLAGS: [(&str, &str); 10] = [
        ("--full-auto", "--approval auto"),
        ("--yes-always", "--approval auto"),
        ("--ask-for-approval", "--approval WHEN"),
        ("--permission-mode", "--approval WHEN"),
        ("--dangerously-skip-permissions", "--yolo"),
        ("--dangerously-bypass-approvals-and-sandbox", "--yolo"),
        ("--print", "-p TEXT"),
        ("--message", "-p TEXT"),
        ("-m", "--model NAME"),
        ("--cd", "--workspace DIR"),
    ];
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let (_, ours) = FLAGS.iter().find(|(theirs, _)| theirs == given)?;
    Some(format!("here that is `{ours}`"))
}

/// The command that a word is taken for elsewhere, or is a slip away from.
fn nearly_a_command(word: &str) -> Option<String> {
    const ELSEWHERE: [(&str, &str); 6] = [
        ("exec", "-p \"…\""),
        ("undo", "rewind"),
        ("resume", "run"),
        ("login", "auth login"),
        ("logout", "auth logout"),
        ("status", "sessions"),
    ];
    const SLIPS: usize = 2;
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == word);
    if let Some((_, meant)) = elsewhere {
        return Some((*meant).to_owned());
    }
    let root = Cli::command();
    let names = root.get_subcommands().map(clap::Command::get_name);
    let near = names.map(|name| (strsim::damerau_levenshtein(word, name), name));
    let near = near.filter(|(slips, name)| *slips <= SLIPS && *slips < name.len() / 2);
    near.min().map(|(_, name)| name.to_owned())
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk about the workspace and have it changed (this is what happens without a command).
    Chat,
    /// Ask one question about the workspace.
    Ask {
        /// The question, without quotes.
        #[arg(required = true)]
        question: Vec<String>,
    },
    /// Make a plan for a task, and change nothing.
    Plan {
        /// The task, without quotes.
        #[arg(required = true)]
        task: Vec<String>,
    },
    /// Review what is not committed, what is staged, or some commits; nothing is changed.
    Review {
        /// Commits, as `git diff` takes them, such as `main..HEAD`.
        #[arg(conflicts_with = "staged", value_name = "RANGE")]
        range: Option<String>,
        /// Review what is staged.
        #[arg(long, visible_alias = "cached")]
        staged: bool,
    },
    /// Research a goal, and carry it out once its card is approved.
    Mission(mission::MissionArgs),
    /// Work on a task, step by step, until it is reached or a bound is.
    Autopilot(autopilot::AutopilotArgs),
    /// Resume an interrupted request.
    Run(run::RunArgs),
    /// Show what is staged, or what was changed.
    Diff(diff::DiffArgs),
    /// Apply a patch set that is staged but not applied.
    Apply(apply::ApplyArgs),
    /// Commit what deepseek changed since the last commit, and nothing else.
    Commit(commit::CommitArgs),
    /// List checkpoints, or go back to one.
    Rewind(rewind::RewindArgs),
    /// The patch engine alone: check or apply a diff, without a model.
    Patch(patch::PatchArgs),
    /// List sessions, or show one.
    Sessions(sessions::SessionsArgs),
    /// Tell what an event was, and why it happened.
    Explain(explain::ExplainArgs),
    /// Re-run a session from its journal and check that the result is identical.
    Replay(replay::ReplayArgs),
    /// Begin a session at an earlier point of another.
    Fork(fork::ForkArgs),
    /// Print a session as a document.
    Export(export::ExportArgs),
    /// Add up calls, tokens and cost.
    Usage(usage::UsageArgs),
    /// Write AGENTS.md and .deepseek/config.toml for this project.
    Init(init::InitArgs),
    /// Show and change the configuration.
    Config(config::ConfigArgs),
    /// Look at, update or ask the index of the workspace.
    Index(index::IndexArgs),
    /// Keep the key for the provider, forget it, or say where it is from.
    Auth(auth::AuthArgs),
    /// Let this workspace's own configuration count in full.
    Trust(trust::TrustArgs),
    /// Show what may happen, and what is asked for.
    Policy(policy::PolicyArgs),
    /// List, show, change or forget what is remembered of the workspace.
    Memory(memory::MemoryArgs),
    /// List the tools that models may call.
    Tools(tools::ToolsArgs),
    /// List the texts that are said to models, or print one.
    Prompts(prompts::PromptsArgs),
    /// Run one command as a run would: confined.
    Sandbox(sandbox::SandboxArgs),
    /// See the whole pipeline at work, offline, on a sample repository; with --hetun, a mission.
    Demo(demo::DemoArgs),
    /// Check whether everything is in place.
    Doctor(doctor::DoctorArgs),
    /// Serve a scripted fake of the provider on this machine.
    Mock(mock::MockArgs),
    /// Print the JSON Schema of events and of failures.
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands.
    Man(man::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Option<String>, CliError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        request(&words)
    }

    #[test]
    fn words_are_a_request_unless_there_is_one_that_looks_like_a_command() {
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&["fix", "the", "test"]).unwrap(), Some("fix the test".to_owned()));
        assert_eq!(read(&["fix the test"]).unwrap(), Some("fix the test".to_owned()));
        assert_eq!(read(&["重构"]).unwrap(), Some("重构".to_owned()));
        assert!(read(&["refactor"]).is_err_and(|error| !error.to_string().contains("mean")));
        let exec = read(&["exec", "fix the test"]).unwrap_err().to_string();
        assert!(exec.contains("deepseek -p \"fix the test\""), "{exec}");
        for (word, meant) in [("undo", "rewind"), ("rewnd", "rewind"), ("sesions", "sessions")] {
            let error = read(&[word]).unwrap_err().to_string();
            assert!(error.contains(&format!("deepseek {meant}")), "{error}");
        }
    }

    #[test]
    fn flags_of_other_agents_are_told_by_ours() {
        let hint =
            |flag: &str| flag_of_others(&Cli::try_parse_from(["deepseek", flag]).unwrap_err());
        assert_eq!(hint("--full-auto"), Some("here that is `--approval auto`".to_owned()));
        assert_eq!(hint("--nonsense"), None);
    }

    #[test]
    fn a_patch_is_read_alike_without_the_other_commands() {
        for line in [
            "patch apply --root w f.diff --output json",
            "patch check --workspace w --declare a --declare b --no-limits -vv -",
            "patch apply --patch f --base a=0 --base-from b --base-dir c --strategy three_way",
            "patch check -- --f",
            "patch apply --budget-usd 1 --tools=false --teammate-mode",
        ] {
            let words = ["deepseek"].into_iter().chain(line.split(' '));
            let whole = Cli::try_parse_from(words.clone()).unwrap();
            let words: Vec<_> = words.map(Into::into).collect();
            let (global, args) = patch::given(&words).unwrap();
            let alone = Cli { global, words: Vec::new(), command: Some(Command::Patch(args)) };
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"));
        }
        for other in ["patch", "patch apply -h", "patch apply --no-such", "diff check", "patch f"] {
            let words: Vec<_> = ["deepseek"].into_iter().chain(other.split(' ')).collect();
            assert!(patch::given(&words.into_iter().map(Into::into).collect::<Vec<_>>()).is_none());
        }
    }

    #[test]
    fn the_first_word_decides_whether_it_is_a_command() {
        let cli = Cli::try_parse_from(["deepseek", "fix", "the", "demo"]).unwrap();
        assert!(cli.command.is_none() && cli.words == ["fix", "the", "demo"]);
        let cli = Cli::try_parse_from(["deepseek", "ask", "where", "is", "it"]).unwrap();
        assert!(
            matches!(cli.command, Some(Command::Ask { question }) if question == ["where", "is", "it"])
        );
        assert!(Cli::try_parse_from(["deepseek", "-p", "fix", "it"]).is_err());
    }
}
