//! `deepseek memory`: shows and edits the memos about the workspace. No model calls.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use front::error::{CliError, CliErrorKind};
use orchestrator::session::memory::{Basis, Memo, Memory, file_of, memo_holds};
use serde_json::{Value, json};
use tree::ReadTree;

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// List, show, edit or delete what is remembered about the workspace.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all memos, marking those whose files have changed since.
    List,
    /// Show a memo and the files it is based on.
    Show {
        /// The memo's number.
        id: u32,
    },
    /// Replace the text of a memo.
    Edit {
        /// The memo's number.
        id: u32,
        /// The new text.
        text: String,
    },
    /// Delete one memo, or all.
    Forget {
        /// The memo's number.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<u32>,
        /// Delete all memos.
        #[arg(long)]
        all: bool,
    },
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &MemoryArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let max_bytes = settings.config.limits.max_indexed_file_bytes;
    let tree = ReadTree::open(&workspace)
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let is_current = |memo: &Memo| memo_holds(&tree, max_bytes, memo);
    let file = file_of(&around.places(&workspace)?);
    let mut memory = Memory::read(&file).map_err(|error| unusable(&file, &error))?;
    match &args.action {
        Action::List => {
            list(global, &memory, is_current);
            return Ok(());
        }
        Action::Show { id } => {
            let memo = memory.find(*id).ok_or_else(|| unknown(*id))?;
            show(global, memo, is_current(memo));
            return Ok(());
        }
        Action::Edit { id, text } => {
            memory.find(*id).ok_or_else(|| unknown(*id))?.text.clone_from(text);
        }
        Action::Forget { id: Some(id), .. } => {
            memory.find(*id).ok_or_else(|| unknown(*id))?;
            memory.memos.retain(|memo| memo.id != *id);
        }
        Action::Forget { id: None, .. } => memory.memos.clear(),
    }
    memory.write(&file).map_err(|error| unusable(&file, &error))
}

fn list(global: &Global, memory: &Memory, is_current: impl Fn(&Memo) -> bool) {
    if global.output != OutputFormat::Text {
        let memos: Vec<Value> =
            memory.memos.iter().map(|memo| as_json(memo, is_current(memo))).collect();
        render::json_line(&memos.into());
        return;
    }
    if memory.memos.is_empty() {
        render::warn(
            "nothing is remembered about this workspace yet; delivered requests add memos",
        );
    }
    for memo in &memory.memos {
        let stale = if is_current(memo) { "" } else { " (not used: its files changed)" };
        let Memo { id, kind, text, .. } = memo;
        render::print_line(&format!("{id:>3}  {:8}  {text}{stale}", kind.name()));
    }
}

fn show(global: &Global, memo: &Memo, is_current: bool) {
    if global.output != OutputFormat::Text {
        render::json_line(&as_json(memo, is_current));
        return;
    }
    let Memo { id, kind, text, basis, at, session } = memo;
    render::print_line(&format!("{id}  {}  {text}", kind.name()));
    render::print_line(&format!("written {at} in session {session}"));
    for Basis { path, hash } in basis {
        let hash = hash.as_ref().map_or("deleted".to_owned(), ToString::to_string);
        render::print_line(&format!("based on {path} ({hash})"));
    }
    let told = if is_current { "sent to models" } else { "not sent to models: its files changed" };
    render::print_line(told);
}

fn as_json(memo: &Memo, is_current: bool) -> Value {
    json!({
        "id": memo.id,
        "kind": memo.kind,
        "text": memo.text,
        "basis": memo.basis,
        "at": memo.at,
        "session": memo.session,
        "holds": is_current,
    })
}

fn unknown(id: u32) -> CliError {
    CliError::new(CliErrorKind::Usage, format!("there is no memo {id}"))
        .hint("`deepseek memory list` lists them")
}

fn unusable(file: &Path, error: &io::Error) -> CliError {
    let file: PathBuf = file.to_owned();
    CliError::new(CliErrorKind::Usage, format!("{}: {error}", file.display()))
        .hint("delete the file to start over; nothing else depends on it")
}
