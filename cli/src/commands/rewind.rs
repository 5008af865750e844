//! `deepseek rewind`: lists the checkpoints of the workspace, shows one, and goes back to one.

use actors::workspace::Staged;
use clap::Args;
use orchestrator::checkpoints::{History, Manner, WayBack};
use serde_json::json;
use tools::tree::{Change, Checkpoint, RepoPath};

use super::{apply, diff};
use crate::drive::Session;
use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::render;
use crate::surroundings::Surroundings;

/// List checkpoints, or go back to one.
///
/// There is one before each change. What deepseek changed since is undone; what you changed stays.
#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// Number of the checkpoint, or `latest`; without it they are listed.
    checkpoint: Option<String>,
    /// Go back only in these files and directories.
    paths: Vec<String>,
    /// Show the change that was made there, and go nowhere.
    #[arg(long)]
    show: bool,
    /// Show what going back would change, and go nowhere.
    #[arg(long, conflicts_with = "show")]
    dry_run: bool,
    /// Bring the files back exactly, even where you changed them since.
    #[arg(long)]
    exact: bool,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &RewindArgs,
) -> Result<(), CliError> {
    let history = history(around, global)?;
    let Some(wanted) = &args.checkpoint else {
        list(global, history.checkpoints());
        return Ok(());
    };
    let checkpoint = find(&history, wanted)?;
    if args.show {
        let changes = history.own_changes(checkpoint).map_err(|error| unreadable(&error))?;
        show(around, global, checkpoint, &changes);
        return Ok(());
    }
    let paths = paths(&args.paths)?;
    let manner = if args.exact { Manner::Exactly } else { Manner::KeepTheirs };
    let wanted = |path: &RepoPath| paths.is_empty() || paths.iter().any(|dir| is_in(path, dir));
    let back = history.way_back(checkpoint, manner, wanted).map_err(|error| unreadable(&error))?;
    if args.dry_run {
        show(around, global, checkpoint, &back.changes);
    } else {
        go(around, global, checkpoint, &back).await?;
    }
    told_left(&back)
}

/// The checkpoints of the workspace.
pub(super) fn history(around: &Surroundings, global: &Global) -> Result<History, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let dir = around.checkpoints(&workspace)?;
    History::read(&dir, &workspace, &settings.config).map_err(|error| unreadable(&error))
}

/// The checkpoint that is meant.
pub(super) fn find<'h>(history: &'h History, wanted: &str) -> Result<&'h Checkpoint, CliError> {
    let number = wanted.trim_start_matches('#').parse::<u64>().ok();
    let found = match wanted {
        "latest" => history.checkpoints().last(),
        _ => history.checkpoints().iter().find(|checkpoint| Some(checkpoint.number) == number),
    };
    found.ok_or_else(|| {
        CliError::new(Kind::Usage, format!("there is no checkpoint {wanted} in this workspace"))
            .hint("`deepseek rewind` lists them; one is made before each change")
    })
}

pub(super) fn unreadable(error: &tools::tree::SnapshotError) -> CliError {
    CliError::caused(Kind::Internal, error)
        .hint("the session's own patch sets are kept apart from it: `deepseek sessions`")
}

fn list(global: &Global, checkpoints: &[Checkpoint]) {
    if global.output != Output::Text {
        let list = checkpoints.iter().map(as_json).collect::<Vec<_>>();
        render::json_line(&json!(list));
        return;
    }
    if checkpoints.is_empty() {
        render::warn(
            "there is no checkpoint in this workspace yet; one is made before each change",
        );
    }
    for Checkpoint { number, at, note, own, .. } in checkpoints {
        let files =
            if own.len() == 1 { "1 file".to_owned() } else { format!("{} files", own.len()) };
        let at = at.strftime("%Y-%m-%d %H:%M:%SZ");
        render::line(&format!("{number:>4}  {at}  {files:>8}  {}", render::harmless(&note.title)));
    }
}

fn show(around: &Surroundings, global: &Global, checkpoint: &Checkpoint, changes: &[Change]) {
    let title = format!("checkpoint {} · {}", checkpoint.number, checkpoint.note.title);
    diff::show(around, global, &title, as_json(checkpoint), changes);
}

fn as_json(checkpoint: &Checkpoint) -> serde_json::Value {
    let Checkpoint { number, at, note, own, .. } = checkpoint;
    let paths: Vec<_> = own.iter().map(|own| &own.path).collect();
    json!({
        "checkpoint": number, "at": at, "title": note.title, "patch": note.patch,
        "session": note.session, "run": note.run, "paths": paths,
    })
}

/// Goes back, through the same gate as every other change. Naming the checkpoint is the approval.
async fn go(
    around: &Surroundings,
    global: &Global,
    checkpoint: &Checkpoint,
    back: &WayBack,
) -> Result<(), CliError> {
    if back.changes.is_empty() {
        render::warn("nothing of what was changed since is left to undo");
        return Ok(());
    }
    let mut global = global.clone();
    global.yolo = true;
    let workspace = around.workspace(&global)?;
    let settings = around.settings(&global, &workspace)?;
    let mut view = render::view(around, &global);
    let mut session = Session::open_offline(around, &settings, workspace).await?;
    let staged = Staged {
        id: None,
        title: format!("rewind to {}", checkpoint.number),
        changes: back.changes.clone(),
        repairs: Vec::new(),
    };
    let result = session.apply(staged, view.as_mut()).await?;
    apply::outcome(result)?;
    let own = checkpoint.number;
    view.note(&format!("as it was at checkpoint {own}; going back was a change, too: `deepseek rewind latest` undoes it"));
    Ok(())
}

/// What could not be brought back is said last, and is why the command fails.
fn told_left(back: &WayBack) -> Result<(), CliError> {
    let [(path, conflict), others @ ..] = back.left.as_slice() else { return Ok(()) };
    for (path, conflict) in &back.left {
        render::warn(&format!("  left {path} as it is: {conflict}"));
    }
    let what = match others.len() {
        0 => format!("{path} is left as it is: {conflict}"),
        more => format!("{} files are left as they are", more + 1),
    };
    Err(CliError::new(Kind::NotDelivered, what)
        .hint("`--exact` brings them back as they were; what is in them now stays in a checkpoint"))
}

fn paths(texts: &[String]) -> Result<Vec<RepoPath>, CliError> {
    let parse = |text: &String| {
        RepoPath::parse(text.trim_end_matches('/')).map_err(|error| {
            CliError::new(Kind::Usage, format!("`{text}` is {error}"))
                .hint("name files and directories as they are called in the workspace")
        })
    };
    texts.iter().map(parse).collect()
}

fn is_in(path: &RepoPath, dir: &RepoPath) -> bool {
    std::iter::successors(Some(path.clone()), RepoPath::parent).any(|above| above == *dir)
}
