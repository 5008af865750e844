//! Lines for the end of a run: the outcome of each lane. Pure.

use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use facts::amounts::Spending;
use facts::lane_id::LaneId;
use facts::team::{EndedLane, LaneEnd, Other};
use tree::RepoPath;

use super::lines::{first_names, reason, style, used};
use super::{Lane, LaneTable, Stage};
use crate::diff::harmless_text as harmless;
use crate::paint::Paint;
use crate::run_view::CommandsGiven;

impl LaneTable {
    /// Returns the outcome of each lane, with its cost and changed files, and the command that shows the changes where
    /// there is one.
    pub(crate) fn ending(
        &self,
        ended: &[EndedLane],
        kept: &[PathBuf],
        paint: Paint,
        commands: CommandsGiven,
    ) -> Vec<String> {
        let written = ended.iter().any(|lane| lane.end == LaneEnd::Merged);
        let mut lines = Vec::new();
        for (id, lane) in self.in_order() {
            let end = ended.iter().find(|it| it.lane == id);
            let outcome = match end {
                Some(end) => outcome(end, paint),
                None => lane.unreported(written, paint),
            };
            let known = end.map_or(lane.spent.known, |end| end.spent);
            let mut line = format!("lane {id} {} — {outcome}", harmless(&lane.title));
            if !lane.files.is_empty() {
                let files: Vec<&str> = lane.files.iter().map(|file| file.path.as_str()).collect();
                line.push_str(&format!(" · {}", first_names(&files)));
            }
            line.push_str(&format!(" · {}", used(Spending { known, ..lane.spent })));
            lines.push(line);
            let own = kept.iter().filter(|path| is_of(path, id));
            lines.extend(own.map(|path| format!("  its worktree: {}", path.display())));
        }
        if self.lanes.values().any(|lane| !lane.files.is_empty() || !lane.staged.is_empty()) {
            lines.extend(commands.way("what a lane changed", "diff --lane NN"));
        }
        lines
    }
}

impl Lane {
    /// Returns the outcome of a lane that the end of the run does not report, because the run was interrupted or the lane is not
    /// in its plan.
    fn unreported(&self, written: bool, paint: Paint) -> String {
        match &self.stage {
            Stage::Waiting => "never started".to_owned(),
            Stage::Opening
            | Stage::Planning
            | Stage::Editing(_)
            | Stage::Applying
            | Stage::Checking(_) => {
                style(paint, AnsiColor::Yellow, &format!("stopped while {}", self.doing()))
            }
            Stage::Merged if written => style(paint, AnsiColor::Green, "merged"),
            Stage::Merged | Stage::Done | Stage::Empty => "done, not in the result".to_owned(),
            Stage::Failed => style(paint, AnsiColor::Red, "failed"),
            Stage::Conflicted => style(paint, AnsiColor::Yellow, "conflict"),
        }
    }
}

fn outcome(lane: &EndedLane, paint: Paint) -> String {
    match &lane.end {
        LaneEnd::Merged => style(paint, AnsiColor::Green, "merged"),
        LaneEnd::Staged => style(paint, AnsiColor::Yellow, "staged, not in the workspace"),
        LaneEnd::Empty => "empty: there was nothing to change".to_owned(),
        LaneEnd::Failed { why } => {
            format!("{} {}", style(paint, AnsiColor::Red, "failed:"), reason(why))
        }
        LaneEnd::Conflicted { paths, with } => {
            let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
            let with = match with {
                Other::Lanes => "with other lanes",
                Other::User => "with your own changes",
            };
            let title = style(paint, AnsiColor::Yellow, "conflict");
            format!("{title} {with} in {}", first_names(&paths))
        }
    }
}

/// Returns true if a worktree belongs to this lane, by its name, such as `02-1`.
fn is_of(path: &Path, lane: LaneId) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.starts_with(&format!("{lane}-")))
}
