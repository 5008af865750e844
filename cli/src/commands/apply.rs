//! `deepseek apply`: applies a staged patch set to the workspace, through the same gate as any other patch.

use actors::run::workspace::{Extent, LeftOut, Staged};
use clap::Args;
use facts::signal::Acceptance;
use front::error::{CliError, CliErrorKind};
use front::exit;
use serde_json::json;
use tree::Change;

use super::diff::{FoundPatch, find};
use crate::checkpoints;
use crate::drive::Drive;
use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// Apply a staged patch.
#[derive(Debug, Args)]
#[command(
    after_help = "When asked about several files, answer `files 1 3` to apply only some of them; the others stay staged."
)]
pub(crate) struct ApplyArgs {
    /// The patch's id, or the start or end of it [default: the newest in this workspace].
    patch: Option<String>,
    /// Apply without asking.
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &ApplyArgs,
) -> Result<(), CliError> {
    // An interrupted commit may be of this very patch, so it is settled first.
    checkpoints::read_checkpoints(around, global)?;
    let FoundPatch { patch, changes } = find(around, global, args.patch.as_deref())?;
    if patch.applied {
        return Err(CliError::new(
            CliErrorKind::Usage,
            format!("patch {} is already applied", patch.id),
        ));
    }
    let mut global = global.clone();
    if args.yes {
        // `--yes` for a named patch is the user's approval.
        global.yolo = true;
    }
    let workspace = around.workspace(&global)?;
    let settings = around.settings(&global, &workspace)?;
    let mut view = render::view(around, &global);
    let mut drive = Drive::open_offline(around, &settings, workspace).await?;
    let files: Vec<_> = changes.iter().map(Change::summary).collect();
    let staged = Staged {
        id: Some(patch.id.clone()),
        purpose: patch.purpose,
        title: patch.title.as_str().into(),
        changes: changes.into(),
        repairs: Vec::new(),
        put_aside: Vec::new(),
        taken: Acceptance::RestStays,
    };
    let left_out =
        match exit::of_change(drive.apply(staged, view.as_mut()).await?, view.attendance())? {
            Extent::Whole => Vec::new(),
            Extent::Part(LeftOut { paths, .. }) => paths,
        };
    let (rest, files): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| left_out.contains(&file.path));
    let applied: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    if rest.is_empty() {
        view.note(&format!("applied {}", patch.id));
    } else {
        let applied = render::harmless(&applied.join(", "));
        let rest = around.naming("the rest stays staged: `deepseek diff` shows it");
        view.note(&format!("applied {applied}; {rest}"));
    }
    if global.output != OutputFormat::Text {
        render::json_line(&json!({
            "patch": patch.id, "title": patch.title, "applied": true, "files": files, "left_out": left_out,
        }));
    }
    Ok(())
}
