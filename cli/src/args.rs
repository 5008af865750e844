//! The grammar of the command line. The commands decide what it means.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser, Subcommand};
use front::error::{CliError, CliErrorKind};

use crate::commands::{
    apply, auth, autopilot, commit, completions, config, demo, diff, doctor, eval, explain, export,
    fork, index, init, man, mcp, memory, mission, mock, patch, policy, prompts, replay, rewind,
    run, sandbox, schema, sessions, tools, trust, usage,
};
use crate::flags::Global;

/// A coding agent for the terminal. It plans, edits with validated diffs, verifies with your project's own commands, and delivers or says exactly why it could not.
#[derive(Debug, Parser)]
#[command(name = "deepseek", version, propagate_version = false, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    /// The request, without quotes. Without a request, deepseek starts an interactive session.
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) words: Vec<String>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Joins the words of a command line into a request. A single word that looks like a mistyped command is an error, so
/// that a typo does not cost a model call.
pub(crate) fn request_of_words(words: &[String]) -> Result<Option<String>, CliError> {
    if let [word] = words
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    {
        let meant = nearly_a_command(word);
        let meant = meant.map(|meant| format!("; did you mean `deepseek {meant}`?"));
        let error = format!("there is no command `{word}`{}", meant.unwrap_or_default());
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint(format!("to send it as a request: deepseek -p {word}")));
    }
    // Few requests of two words begin with a misspelled command and end with a number, an id or an option.
    if let [word, given] = words
        && !given.contains(' ')
        && (given.contains(|c: char| c.is_ascii_digit()) || given.starts_with('-'))
        && let Some(meant) = nearly_a_command(word)
    {
        let error =
            format!("there is no command `{word}`; did you mean `deepseek {meant} {given}`?");
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint(format!("to send it as a request: deepseek -p \"{word} {given}\"")));
    }
    // In other agents `exec` is a command that takes a quoted request.
    if let [word, request] = words
        && word == "exec"
        && request.contains(' ')
    {
        let error =
            format!("there is no command `exec`; did you mean `deepseek -p \"{request}\"`?");
        return Err(CliError::new(CliErrorKind::Usage, error));
    }
    Ok(Some(words.join(" ")).filter(|request| !request.is_empty()))
}

/// Returns a hint with our name for a flag that other coding agents use.
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

/// Returns the command that a word names in other programs, or that it misspells.
fn nearly_a_command(word: &str) -> Option<String> {
    const ELSEWHERE: [(&str, &str); 6] = [
        ("exec", "-p \"…\""),
        ("login", "auth login"),
        ("logout", "auth logout"),
        ("model", "--model NAME"),
        ("status", "sessions"),
        ("version", "--version"),
    ];
    const SLIPS: usize = 2;
    let root = Cli::command();
    let ours = root.get_subcommands().flat_map(|it| {
        let name = it.get_name();
        it.get_all_aliases().chain([name]).map(move |called| (called, name))
    });
    let near = ours
        .chain(ELSEWHERE)
        .map(|(called, meant)| (strsim::damerau_levenshtein(word, called), called, meant));
    let near = near.filter(|(slips, called, _)| *slips <= SLIPS && *slips < called.len() / 2);
    near.min().map(|(_, _, meant)| meant.to_owned())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start an interactive session (default).
    Chat,
    /// Ask a question about the workspace.
    Ask {
        /// The question, without quotes.
        #[arg(required = true)]
        question: Vec<String>,
    },
    /// Plan a task without changing anything.
    Plan {
        /// The task, without quotes.
        #[arg(required = true)]
        task: Vec<String>,
    },
    /// Review uncommitted changes, staged changes or commits, without changing anything.
    Review {
        /// Commits to review, in the syntax of `git diff`, for example `main..HEAD`.
        #[arg(conflicts_with = "staged", value_name = "RANGE")]
        range: Option<String>,
        /// Review staged changes.
        #[arg(long, visible_alias = "cached")]
        staged: bool,
    },
    /// Research a goal; execute it once you approve the mission card.
    Mission(mission::MissionArgs),
    /// Work on a task step by step until it is done or a limit is reached.
    Autopilot(autopilot::AutopilotArgs),
    /// Resume an interrupted request.
    #[command(visible_alias = "resume")]
    Run(run::RunArgs),
    /// Show staged patches or past changes.
    Diff(diff::DiffArgs),
    /// Apply a staged patch.
    Apply(apply::ApplyArgs),
    /// Commit what deepseek changed and no commit has yet, and nothing else.
    ///
    /// The message comes from the request and the plan's steps. You see the files and the message, and confirm them; git runs
    /// its hooks. A file is committed as it is now; if you changed it as well, the list says so.
    Commit(commit::CommitArgs),
    /// List checkpoints, or undo changes back to one.
    ///
    /// A checkpoint is saved before each change. Rewinding to it undoes what deepseek has changed since and keeps your own edits.
    /// It does not ask for confirmation: `--dry-run` shows what would be undone, and the rewind itself can be undone.
    #[command(visible_alias = "undo")]
    Rewind(rewind::RewindArgs),
    /// Check or apply a diff with the patch engine alone, without a model.
    Patch(patch::PatchArgs),
    /// List sessions, or show one.
    Sessions(sessions::SessionsArgs),
    /// Explain an event and its causes.
    Explain(explain::ExplainArgs),
    /// Replay a recorded session and report differences.
    Replay(replay::ReplayArgs),
    /// Start a new session from an earlier point of another.
    Fork(fork::ForkArgs),
    /// Print a session as Markdown, JSON or HTML.
    Export(export::ExportArgs),
    /// Judge models, settings and builds on past commits of this repository, or on exercises.
    ///
    /// Commits with tests are drawn; each request is its message, and its tests stay hidden until the result is judged. Nothing is
    /// done in the workspace.
    Eval(eval::EvalArgs),
    /// Show calls, tokens and cost.
    ///
    /// The cost is an estimate from the price table in effect at the time of each call. Unknown prices and usage stay unknown.
    Usage(usage::UsageArgs),
    /// Write AGENTS.md and .deepseek/config.toml for this project.
    ///
    /// AGENTS.md lists the project's check commands and directories. No model calls are made, and existing files are left
    /// unchanged.
    Init(init::InitArgs),
    /// Show and change the configuration.
    Config(config::ConfigArgs),
    /// Show, update or query the index of the workspace.
    Index(index::IndexArgs),
    /// Store or delete the API key, or show where it comes from.
    Auth(auth::AuthArgs),
    /// Trust this workspace, so that its own configuration applies in full.
    ///
    /// Its configuration may then set policy, budgets and models, and its `.env` the address of the server.
    Trust(trust::TrustArgs),
    /// Show what is allowed, what needs approval and what is denied.
    Policy(policy::PolicyArgs),
    /// List, show, edit or delete what is remembered about the workspace.
    Memory(memory::MemoryArgs),
    /// List, add, approve and check servers of tools (MCP).
    Mcp(mcp::McpArgs),
    /// List the tools that models can call.
    Tools(tools::ToolsArgs),
    /// List the prompts sent to models, or print one.
    Prompts(prompts::PromptsArgs),
    /// Run a command in the sandbox, as a run would.
    Sandbox(sandbox::SandboxArgs),
    /// Run the whole pipeline offline on a sample repository.
    Demo(demo::DemoArgs),
    /// Check the installation.
    Doctor(doctor::DoctorArgs),
    /// Run a local fake DeepSeek API from a script.
    Mock(mock::MockArgs),
    /// Print the JSON Schema of events and errors.
    ///
    /// It covers journal lines, `--output stream-json` and errors in JSON.
    Schema(schema::SchemaArgs),
    /// Print a shell completion script.
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands.
    Man(man::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Option<String>, CliError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        request_of_words(&words)
    }

    #[test]
    fn words_are_a_request_unless_a_single_word_looks_like_a_command() {
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&["fix", "the", "test"]).unwrap(), Some("fix the test".to_owned()));
        assert_eq!(read(&["fix the test"]).unwrap(), Some("fix the test".to_owned()));
        assert_eq!(read(&["重构"]).unwrap(), Some("重构".to_owned()));
        assert!(read(&["refactor"]).is_err_and(|error| !error.to_string().contains("mean")));
        for request in [&["plan", "it"][..], &["fix", "issue-3"], &["test", "v2"]] {
            assert!(read(request).is_ok(), "{request:?}");
        }
        let error = read(&["rewnd", "3"]).unwrap_err().to_string();
        assert!(error.contains("`deepseek rewind 3`"), "{error}");
        let exec = read(&["exec", "fix the test"]).unwrap_err().to_string();
        assert!(exec.contains("deepseek -p \"fix the test\""), "{exec}");
        let exec = read(&["exec", "fix issue 3"]).unwrap_err().to_string();
        assert!(exec.contains("deepseek -p \"fix issue 3\""), "{exec}");
        for (word, meant) in [
            ("login", "auth login"),
            ("rewnd", "rewind"),
            ("sesions", "sessions"),
            ("undoo", "rewind"),
            ("statuz", "sessions"),
        ] {
            let error = read(&[word]).unwrap_err().to_string();
            assert!(error.contains(&format!("deepseek {meant}")), "{error}");
        }
    }

    #[test]
    fn undo_and_resume_are_aliases() {
        let command = |word| Cli::try_parse_from(["deepseek", word]).unwrap().command;
        assert!(matches!(command("undo"), Some(Command::Rewind(_))));
        assert!(matches!(command("resume"), Some(Command::Run(_))));
    }

    #[test]
    fn flags_of_other_agents_get_a_hint_with_our_name() {
        let hint =
            |flag: &str| flag_of_others(&Cli::try_parse_from(["deepseek", flag]).unwrap_err());
        assert_eq!(hint("--full-auto"), Some("here that is `--approval auto`".to_owned()));
        assert_eq!(hint("--nonsense"), None);
    }

    #[test]
    fn the_fast_path_parses_patch_like_the_full_command_line() {
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
