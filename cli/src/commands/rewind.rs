//! `deepseek rewind`: lists the checkpoints of the workspace, shows one, or undoes changes back to one.

use std::path::Path;

use actors::run::workspace::Staged;
use clap::Args;
use facts::delivery::StagedFor;
use facts::signal::Acceptance;
use front::error::{CliError, CliErrorKind};
use front::exit;
use orchestrator::workspace::checkpoints::{RestoreMode, RestorePlan};
use serde_json::{Value, json};
use tools::count::counted;
use tree::{Change, Checkpoint, Own, RepoPath};

use crate::checkpoints;
use crate::drive::Drive;
use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// List checkpoints, or undo changes back to one.
#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// The checkpoint's number, or `latest` [default: list all checkpoints].
    checkpoint: Option<String>,
    /// Undo changes only in these files and directories.
    paths: Vec<String>,
    /// Show the change made after the checkpoint, without changing anything.
    #[arg(long, requires = "checkpoint")]
    show: bool,
    /// Show what would be undone, without changing anything.
    #[arg(long, requires = "checkpoint", conflicts_with = "show")]
    dry_run: bool,
    /// Restore the files exactly, overwriting your later edits.
    #[arg(long, requires = "checkpoint")]
    exact: bool,
}

impl RewindArgs {
    /// Returns the arguments to go back to a checkpoint, keeping the user's own changes.
    pub(crate) fn to(checkpoint: u64) -> Self {
        let checkpoint = Some(checkpoint.to_string());
        Self { checkpoint, paths: Vec::new(), show: false, dry_run: false, exact: false }
    }
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &RewindArgs,
) -> Result<(), CliError> {
    let history = checkpoints::read_checkpoints(around, global)?;
    let Some(wanted) = &args.checkpoint else {
        list(around, global, history.checkpoints());
        return Ok(());
    };
    let checkpoint = checkpoints::checkpoint(&history, wanted)?;
    if args.show {
        let changes =
            history.own_changes(checkpoint).map_err(|error| checkpoints::unreadable(&error))?;
        let title = format!("checkpoint {} · {}", checkpoint.number, checkpoint.note.title);
        render::print_changes(around, global, &title, as_json(checkpoint), &changes);
        return Ok(());
    }
    let paths = paths(around, global, &args.paths)?;
    let mode = if args.exact { RestoreMode::Exactly } else { RestoreMode::KeepTheirs };
    let wanted = |path: &RepoPath| paths.is_empty() || paths.iter().any(|dir| is_in(path, dir));
    let back = history
        .restore_plan(checkpoint, mode, wanted)
        .map_err(|error| checkpoints::unreadable(&error))?;
    if back.changes.is_empty() && back.left.is_empty() && !paths.is_empty() {
        return Err(CliError::new(
            CliErrorKind::Usage,
            "deepseek changed nothing in these paths since then",
        )
        .hint("`deepseek rewind N --dry-run` shows what it changed"));
    }
    if args.dry_run {
        let title = format!("back to checkpoint {}", checkpoint.number);
        render::print_changes(
            around,
            global,
            &title,
            undo_as_json(checkpoint, &back),
            &back.changes,
        );
    } else {
        let step = Step::back_to(checkpoint, history.checkpoints());
        go(around, global, checkpoint, &back, step).await?;
    }
    result(&back)
}

fn list(around: &Surroundings, global: &Global, checkpoints: &[Checkpoint]) {
    if global.output != OutputFormat::Text {
        let list = checkpoints.iter().map(as_json).collect::<Vec<_>>();
        render::json_line(&json!(list));
        return;
    }
    if checkpoints.is_empty() {
        render::warn(
            "there are no checkpoints in this workspace yet; one is saved before each change",
        );
    } else {
        render::warn(&around.naming(
            "checkpoints (state before each change); restore one with `deepseek rewind N`",
        ));
    }
    for Checkpoint { number, at, note, own, .. } in checkpoints {
        let files = counted(own.len(), "file");
        let at = around.local(&at.to_string());
        render::print_line(&format!(
            "{number:>4}  {at}  {files:>8}  {}",
            render::harmless(&note.title)
        ));
    }
}

fn as_json(checkpoint: &Checkpoint) -> Value {
    let Checkpoint { number, at, note, own, .. } = checkpoint;
    let paths: Vec<_> = own.iter().map(|own| &own.path).collect();
    json!({
        "checkpoint": number, "at": at, "title": note.title, "patch": note.patch,
        "session": note.session, "run": note.run, "paths": paths,
    })
}

/// Formats an undo patch as JSON.
fn undo_as_json(checkpoint: &Checkpoint, back: &RestorePlan) -> Value {
    let left = back.left.iter().map(|(path, why)| json!({"path": path, "why": why.to_string()}));
    json!({ "checkpoint": checkpoint.number, "left": left.collect::<Vec<_>>() })
}

/// What going back to a checkpoint means to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Changes are taken back.
    Undo,
    /// The last change, which took others back, is taken back itself.
    Redo,
}

impl Step {
    /// Returns what going back to `checkpoint` means: a redo brings back what changes had made of each file, after a way
    /// back had taken it.
    fn back_to(checkpoint: &Checkpoint, all: &[Checkpoint]) -> Self {
        let is_last = all.last().is_some_and(|last| last.number == checkpoint.number);
        let changes = || all.iter().rev().filter(|it| !it.note.is_way_back);
        let comes_back = |own: &Own| {
            let mut made = changes().flat_map(|it| &it.own).filter(|it| it.path == own.path);
            made.next().is_some_and(|made| made.after == own.before)
        };
        if is_last && checkpoint.note.is_way_back && checkpoint.own.iter().all(comes_back) {
            Self::Redo
        } else {
            Self::Undo
        }
    }
}

/// Applies the undo patch through the same gate as every other change. By naming the checkpoint, the user approves it.
async fn go(
    around: &Surroundings,
    global: &Global,
    checkpoint: &Checkpoint,
    back: &RestorePlan,
    step: Step,
) -> Result<(), CliError> {
    let number = checkpoint.number;
    if back.changes.is_empty() {
        render::warn("there is nothing left to undo since this checkpoint");
    } else {
        let mut global = global.clone();
        global.yolo = true;
        let workspace = around.workspace(&global)?;
        let settings = around.settings(&global, &workspace)?;
        let mut view = render::view(around, &global);
        let mut drive = Drive::open_offline(around, &settings, workspace).await?;
        let staged = Staged {
            id: None,
            purpose: StagedFor::WayBack,
            title: format!("back to checkpoint {number}").into(),
            changes: back.changes.clone().into(),
            repairs: Vec::new(),
            put_aside: Vec::new(),
            taken: Acceptance::Whole,
        };
        exit::of_change(drive.apply(staged, view.as_mut()).await?, view.attendance())?;
        let (done, again) = match step {
            Step::Undo => {
                (format!("undone: all deepseek changes since checkpoint {number}"), "redo")
            }
            Step::Redo => {
                (format!("redone: what the rewind of checkpoint {number} took back"), "undo")
            }
        };
        view.note(&around.naming(&format!("{done}; to {again} it: `deepseek rewind latest`")));
    }
    if global.output != OutputFormat::Text {
        let mut done = undo_as_json(checkpoint, back);
        let files: Vec<_> = back.changes.iter().map(Change::summary).collect();
        if let Some(fields) = done.as_object_mut() {
            fields.insert("files".to_owned(), json!(files));
        }
        render::json_line(&done);
    }
    Ok(())
}

/// Fails if files could not be restored, and names them. Comes last, after the files that were restored.
fn result(back: &RestorePlan) -> Result<(), CliError> {
    let what = match back.left.as_slice() {
        [] => return Ok(()),
        [(path, conflict)] => format!("{path} was left unchanged: {conflict}"),
        several => {
            for (path, conflict) in several {
                render::warn(&format!("  {path} was left unchanged: {conflict}"));
            }
            format!("{} files were left unchanged", several.len())
        }
    };
    Err(CliError::new(CliErrorKind::NotDelivered, what)
        .hint("--exact restores them anyway; their current content is saved in a checkpoint"))
}

fn paths(
    around: &Surroundings,
    global: &Global,
    texts: &[String],
) -> Result<Vec<RepoPath>, CliError> {
    let workspace = around.workspace(global)?;
    // Paths are relative to the current directory.
    let here = workspace.join(around.within(&workspace).unwrap_or_default());
    let parse = |text: &String| {
        let path = here.join(text);
        let below = path.strip_prefix(&workspace).ok().and_then(Path::to_str);
        RepoPath::parse(below.unwrap_or(text).trim_end_matches('/')).map_err(|error| {
            CliError::new(CliErrorKind::Usage, format!("`{text}` is {error}"))
                .hint("name files and directories in the workspace")
        })
    };
    texts.iter().map(parse).collect()
}

fn is_in(path: &RepoPath, dir: &RepoPath) -> bool {
    std::iter::successors(Some(path.clone()), RepoPath::parent).any(|above| above == *dir)
}
