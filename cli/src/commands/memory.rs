//! `deepseek memory`: what is remembered of the workspace. No model is asked.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use front::error::{CliError, Kind};
use orchestrator::memory::{Basis, Memo, Memory, file_of, holds};
use serde_json::{Value, json};
use tree::ReadTree;

use crate::flags::{Global, Output};
use crate::render;
use crate::surroundings::Surroundings;

/// List, show, change or forget what is remembered of the workspace.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List it; a memo whose files changed since is marked.
    List,
    /// Show one memo with what it rests on.
    Show {
        /// Its number.
        id: u32,
    },
    /// Say one memo in other words.
    Edit {
        /// Its number.
        id: u32,
        /// The words.
        text: String,
    },
    /// Forget one memo, or all.
    Forget {
        /// Its number.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<u32>,
        /// Forget all.
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
    let tree = ReadTree::open(&workspace).map_err(|error| CliError::caused(Kind::Usage, &error))?;
    let is_current = |memo: &Memo| holds(&tree, max_bytes, memo);
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
    if global.output != Output::Text {
        let memos: Vec<Value> =
            memory.memos.iter().map(|memo| as_json(memo, is_current(memo))).collect();
        render::json_line(&memos.into());
        return;
    }
    if memory.memos.is_empty() {
        render::warn("nothing is remembered of this workspace yet; what is delivered will be");
    }
    for memo in &memory.memos {
        let stale = if is_current(memo) { "" } else { " (its files changed: not told)" };
        let Memo { id, kind, text, .. } = memo;
        render::line(&format!("{id:>3}  {:8}  {text}{stale}", kind.name()));
    }
}

fn show(global: &Global, memo: &Memo, is_current: bool) {
    if global.output != Output::Text {
        render::json_line(&as_json(memo, is_current));
        return;
    }
    let Memo { id, kind, text, basis, at, session } = memo;
    render::line(&format!("{id}  {}  {text}", kind.name()));
    render::line(&format!("written {at} in session {session}"));
    for Basis { path, hash } in basis {
        let hash = hash.as_ref().map_or("deleted".to_owned(), ToString::to_string);
        render::line(&format!("rests on {path} ({hash})"));
    }
    let told = if is_current { "told to models" } else { "its files changed: not told to models" };
    render::line(told);
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
    CliError::new(Kind::Usage, format!("there is no memo {id}"))
        .hint("`deepseek memory list` lists them")
}

fn unusable(file: &Path, error: &io::Error) -> CliError {
    let file: PathBuf = file.to_owned();
    CliError::new(Kind::Usage, format!("{}: {error}", file.display()))
        .hint("remove the file to begin anew; nothing else depends on it")
}
