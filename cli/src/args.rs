//! The command line as it is written. What it means is decided by the commands.

use clap::{Parser, Subcommand};

use crate::commands::{
    apply, auth, completions, config, demo, diff, doctor, explain, export, fork, index, mock,
    patch, policy, prompts, replay, rewind, run, sandbox, sessions, tools, trust, usage,
};
use crate::flags::Global;

/// A coding agent for the terminal: it plans, edits by validated diffs, verifies with your project's own commands, and delivers or says exactly why not.
#[derive(Debug, Parser)]
#[command(name = "deepseek", version, propagate_version = false, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk about the workspace and have it changed (this is what happens without a command).
    Chat,
    /// Ask one question about the workspace.
    Ask {
        /// The question.
        question: String,
    },
    /// Make a plan for a task, and change nothing.
    Plan {
        /// The task.
        task: String,
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
    /// Resume an interrupted request.
    Run(run::RunArgs),
    /// Show what is staged, or what was changed.
    Diff(diff::DiffArgs),
    /// Apply a patch set that is staged but not applied.
    Apply(apply::ApplyArgs),
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
    /// List the tools that models may call.
    Tools(tools::ToolsArgs),
    /// List the texts that are said to models, or print one.
    Prompts(prompts::PromptsArgs),
    /// Run one command as a run would: confined.
    Sandbox(sandbox::SandboxArgs),
    /// See the whole pipeline at work, offline, on a sample repository.
    Demo(demo::DemoArgs),
    /// Check whether everything is in place.
    Doctor(doctor::DoctorArgs),
    /// Serve a scripted fake of the provider on this machine.
    Mock(mock::MockArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
}
