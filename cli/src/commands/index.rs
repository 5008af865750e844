//! `deepseek index`: shows, updates and queries the workspace index, which runs also maintain themselves. No model calls.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use front::error::{CliError, CliErrorKind};
use index::{Condition, Index, RankedFile, StoreError, WINDOW};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use orchestrator::workspace::places;
use serde_json::{Value, json};
use tools::count::counted;
use tree::ReadTree;

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// Show, update or query the index of the workspace.
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Rebuild the index from scratch.
    Build,
    /// Index the files that changed since the last update.
    Update,
    /// Show whether the index is fresh, stale, missing or corrupt.
    Status,
    /// List the files and lines that are relevant to a request.
    Query(QueryArgs),
}

#[derive(Debug, Args)]
struct QueryArgs {
    /// The request.
    request: String,
    /// Maximum number of files.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &IndexArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let index = open(around, global, &workspace)?;
    match &args.action {
        Action::Build => {
            index.remove().map_err(|error| failed(&error))?;
            update(&index, global)
        }
        Action::Update => update(&index, global),
        Action::Status => {
            status(&index, global);
            Ok(())
        }
        Action::Query(query) => {
            ask(&index, global, query);
            Ok(())
        }
    }
}

fn open(around: &Surroundings, global: &Global, workspace: &Path) -> Result<Index, CliError> {
    let settings = around.settings(global, workspace)?;
    let places = around.places(workspace)?;
    let tree =
        ReadTree::open(workspace).map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let rules =
        policy::PolicyRules::new(&settings.config.policy, settings.config.agent_loop.safety_gate)
            .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    Ok(places::index(&places, tree, &settings.config, &Arc::new(rules)))
}

fn update(index: &Index, global: &Global) -> Result<(), CliError> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let bar = match ProgressStyle::with_template("{spinner} {pos} of {len} files") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    let updated = index.update(|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let updated = updated.map_err(|error| failed(&error))?;
    index.settle().map_err(|error| failed(&error))?;
    if global.output == OutputFormat::Text {
        render::text(&format!(
            "{} indexed, {} removed, {} unchanged\n",
            counted(updated.added, "file"),
            updated.removed,
            updated.kept
        ));
    } else {
        render::json_line(&json!({
            "added": updated.added,
            "removed": updated.removed,
            "kept": updated.kept,
        }));
    }
    Ok(())
}

fn status(index: &Index, global: &Global) {
    let status = index.status();
    let (name, changed, problem) = match &status.condition {
        Condition::Fresh => ("fresh", 0, None),
        Condition::Stale(files) => ("stale", *files, None),
        Condition::Missing => ("missing", 0, None),
        Condition::Corrupt(why) => ("corrupt", 0, Some(why)),
    };
    if global.output != OutputFormat::Text {
        render::json_line(&json!({
            "condition": name,
            "changed": changed,
            "problem": problem,
            "files": status.files,
            "root": status.root,
            "baseline": status.baseline,
            "commits": status.commits,
        }));
        return;
    }
    let mut text = match (changed, problem) {
        (0, None) => format!("{name}\n"),
        (0, Some(why)) => format!("{name}: {why}; it will be rebuilt when needed\n"),
        (changed, _) => format!("{name}: {} changed\n", counted(changed, "file")),
    };
    text.push_str(&format!("files {}\ncommits {}\n", status.files, status.commits));
    for (what, value) in [("root", status.root), ("baseline", status.baseline)] {
        if let Some(value) = value {
            text.push_str(&format!("{what} {value}\n"));
        }
    }
    render::text(&render::harmless(&text));
}

fn ask(index: &Index, global: &Global, query: &QueryArgs) {
    let (files, _) = index.files();
    let ranking = index.rank(&query.request, &files);
    let found = ranking.files.iter().take(query.limit);
    if global.output == OutputFormat::Text {
        match (ranking.partial, ranking.stale) {
            (true, _) => {
                render::warn(
                    "warning: the index is incomplete; `deepseek index update` completes it",
                );
            }
            (false, 0) => render::warn("the index is fresh"),
            (false, stale) => render::warn(&format!(
                "the index is stale: {} changed since, and read for this answer",
                counted(stale, "file")
            )),
        }
        render::text(&render::harmless(&found.map(line).collect::<String>()));
    } else {
        let files: Vec<Value> = found.map(as_json).collect();
        let condition = if ranking.stale == 0 { "fresh" } else { "stale" };
        render::json_line(&json!({
            "condition": condition,
            "changed": ranking.stale,
            "partial": ranking.partial,
            "files": files,
        }));
    }
}

fn windows(file: &RankedFile) -> impl Iterator<Item = (u32, u32)> {
    const SHOWN: usize = 3;
    file.windows.iter().take(SHOWN).map(|window| (window.first, window.first + WINDOW - 1))
}

fn line(file: &RankedFile) -> String {
    let windows: Vec<String> =
        windows(file).map(|(first, last)| format!("{first}-{last}")).collect();
    format!("{}  {}\n", file.path, windows.join(" "))
}

fn as_json(file: &RankedFile) -> Value {
    let windows: Vec<Value> =
        windows(file).map(|(first, last)| json!({ "first": first, "last": last })).collect();
    json!({ "path": file.path.as_str(), "windows": windows })
}

fn failed(error: &StoreError) -> CliError {
    let hint = match error {
        StoreError::Locked => {
            "wait until the other process has finished; until then, runs use the index in its current state"
        }
        StoreError::Missing | StoreError::Unusable(_) => "`deepseek index build` rebuilds it",
        StoreError::Io(_) | StoreError::Library(_) => {
            "check the free space and permissions of the state directory with `deepseek doctor`; runs work without an index"
        }
    };
    CliError::caused(CliErrorKind::Internal, error).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::{StoreError, failed};

    #[test]
    fn an_index_that_cannot_be_read_is_rebuilt() {
        let hint = "`deepseek index build` rebuilds it";
        assert_eq!(failed(&StoreError::Missing).advice(), Some(hint));
    }
}
