//! Lines about lanes, shown in addition to the table or instead of it. Pure.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checks::outcome::CheckOutcome;
use facts::amounts::{Amount, Spending};
use facts::delivery::{Delivery, Verified};
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::team::{Other, PlannedLane};
use tools::count::counted;
use tree::RepoPath;

use super::LaneTable;
use crate::describe;
use crate::diff::harmless_text as harmless;
use crate::paint::Paint;
use crate::run_view::{check_in_words, why_it_failed};

/// Most lines that say why a check of a lane failed; few, because other lanes print as well.
const REASON_LINES: usize = 5;

/// How much is shown in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything of interest, because there is no table.
    All,
    /// Only what the table does not show.
    Beside,
}

/// The prefix of the lines of a lane.
pub(crate) fn labelled(lane: LaneId, paint: Paint) -> String {
    paint.with(Style::new().dimmed(), &format!("lane {lane} · "))
}

impl LaneTable {
    /// Returns the lines for an event of a lane. The table must have received the event before.
    pub(crate) fn lines(
        &self,
        lane: LaneId,
        event: &Event,
        detail: Detail,
        paint: Paint,
    ) -> Vec<String> {
        let unknown = self.lanes.get(&lane).map(|lane| lane.spent.unknown).unwrap_or_default();
        let ends = ends(event, unknown, paint);
        let lines = match detail {
            Detail::All if ends.is_empty() => self.steps(lane, event, paint),
            Detail::All | Detail::Beside => ends,
        };
        let label = labelled(lane, paint);
        lines.into_iter().map(|line| format!("{label}{line}")).collect()
    }

    /// Returns the lines for a step of a lane.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for the journal")]
    fn steps(&self, lane: LaneId, event: &Event, paint: Paint) -> Vec<String> {
        let refused = |what: &str| style(paint, AnsiColor::Yellow, what);
        match event {
            Event::LaneSpawned { attempt: 1, title, .. } => {
                vec![format!("begins: {}", harmless(title))]
            }
            Event::PlanCreated { plan, .. } | Event::PlanRevised { plan, .. } => {
                let files: Vec<&str> = plan.touched().map(RepoPath::as_str).collect();
                let then = if plan.more.is_some() { ", then more" } else { "" };
                vec![format!("plans to change {}{then}", first_names(&files))]
            }
            Event::PlanRefused { error } | Event::DraftRefused { error } => {
                vec![format!("{} {}", refused("answer refused:"), first_line(&error.to_string()))]
            }
            Event::FilesNeeded { files } => {
                let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                vec![format!("its plan lacks {}", first_names(&files))]
            }
            Event::PatchRefused { reasons, .. } => {
                let title = refused("patch refused, nothing written:");
                reasons
                    .iter()
                    .map(|reason| format!("{title} {}", first_line(&reason.to_string())))
                    .collect()
            }
            Event::PatchApplied { .. } => {
                self.staged(lane).iter().map(|file| file_line(file, paint)).collect()
            }
            Event::VerificationRun { command, baseline: false, outcome, exit, output, .. }
                if *outcome != CheckOutcome::Passed =>
            {
                let (colour, word) = check_in_words(*outcome);
                let word = style(paint, colour, word);
                let why = why_it_failed(*outcome, output).into_iter().take(REASON_LINES);
                let result = format!("`{}` {word} ({exit})", harmless(command));
                std::iter::once(result).chain(why.map(|line| format!("  {line}"))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the lines for the end of a lane, and for events that must always be shown.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is in the table, or a step")]
fn ends(event: &Event, unknown: Amount, paint: Paint) -> Vec<String> {
    let used = |spent: &Amount| used(Spending { known: *spent, unknown });
    match event {
        Event::LaneSpawned { attempt, .. } if *attempt > 1 => {
            vec!["is planned again on top of the merged work".to_owned()]
        }
        Event::LaneCompleted { verified, files, left_behind, spent, .. } => {
            let how = match verified {
                Verified::Proven => style(paint, AnsiColor::Green, "done, proven"),
                Verified::Passed => style(paint, AnsiColor::Green, "done, checks passed"),
                Verified::Unverified(_) => style(paint, AnsiColor::Yellow, "done, not verified"),
                Verified::NotNeeded => style(paint, AnsiColor::Green, "nothing to change"),
            };
            let changed: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let changed = if changed.is_empty() {
                String::new()
            } else {
                format!(" · {}", first_names(&changed))
            };
            let mut lines = vec![format!("{how}{changed} · {}", used(spent))];
            if !left_behind.is_empty() {
                let paths: Vec<&str> = left_behind.iter().map(RepoPath::as_str).collect();
                lines.push(format!(
                    "commands changed {}, which the lane does not own; these changes are left out",
                    first_names(&paths)
                ));
            }
            lines
        }
        Event::LaneFailed { why, spent, .. } => {
            let failed = style(paint, AnsiColor::Red, "failed:");
            vec![format!("{failed} {} · {}", reason(why), used(spent))]
        }
        Event::ApprovalDenied { action, why, .. } => {
            let denied = style(paint, AnsiColor::Red, "denied:");
            vec![format!("{denied} {}", harmless(&format!("{action}: {why}")))]
        }
        Event::RoleCrashed { role } => {
            let crashed = style(paint, AnsiColor::Red, "!");
            vec![format!("{crashed} the {} crashed; a new one was started", role.name())]
        }
        _ => Vec::new(),
    }
}

/// Formats the plan of a team, a line per lane.
pub(crate) fn team_plan_lines(lanes: &[PlannedLane]) -> String {
    let mut text = String::new();
    for PlannedLane { lane, title, goal, owns, after } in lanes {
        let what = if owns.is_empty() { goal } else { &owns.join(", ") };
        write!(text, "  {lane} {} — {}", harmless(title), harmless(what)).ok();
        if !after.is_empty() {
            let after: Vec<String> = after.iter().map(LaneId::to_string).collect();
            write!(text, " · after {}", after.join(", ")).ok();
        }
        text.push('\n');
    }
    text
}

/// Formats a conflict of a lane.
pub(crate) fn conflict(lane: LaneId, paths: &[RepoPath], with: Other, paint: Paint) -> String {
    let title = style(paint, AnsiColor::Yellow, "conflict:");
    let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    let paths = first_names(&paths);
    let what = match with {
        // The next attempt or the end of the run shows how it is resolved.
        Other::Lanes => format!("earlier lanes also changed {paths}"),
        Other::User => {
            format!(
                "you changed {paths} in the meantime; to see the work of the lane: deepseek diff --lane {lane}"
            )
        }
    };
    format!("{}{title} {what}", labelled(lane, paint))
}

/// Formats the result of a bisection: the lanes that pass alone and fail together.
pub(crate) fn bisected(lanes: &[LaneId], paint: Paint) -> String {
    let names: Vec<String> = lanes.iter().map(LaneId::to_string).collect();
    let what = match names.as_slice() {
        [one] => {
            format!("lane {one} passes in its own worktree, but fails with the current workspace")
        }
        several => format!("lanes {} pass alone, but fail together", several.join(", ")),
    };
    format!("  {}", style(paint, AnsiColor::Yellow, &what))
}

/// Formats a path with its numbers of added and removed lines.
pub(crate) fn file_line(file: &StagedFile, paint: Paint) -> String {
    let from = file.renamed_from.as_ref().map(|from| format!(" (from {from})")).unwrap_or_default();
    let added = style(paint, AnsiColor::Green, &format!("+{}", file.added));
    let removed = style(paint, AnsiColor::Red, &format!("-{}", file.removed));
    format!("{}{from} {added} {removed}", file.path)
}

/// Formats tokens and cost.
pub(crate) fn used(Spending { known, unknown }: Spending) -> String {
    let used = format!("{} · {}", counted(known.tokens, "token"), known.nano_usd);
    match unknown.calls {
        0 => used,
        calls => format!("{used} + {} of unknown cost", counted(calls, "call")),
    }
}

pub(crate) fn style(paint: Paint, colour: AnsiColor, text: &str) -> String {
    paint.with(Style::new().fg_color(Some(colour.into())).bold(), text)
}

/// Returns in one line why something was not done.
pub(super) fn reason(why: &Delivery) -> String {
    match why {
        Delivery::NeedsWork { detail, .. } => first_line(&detail.to_string()),
        Delivery::Failed { message, .. } => first_line(&message.to_string()),
        other @ (Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::Paused { .. }
        | Delivery::BudgetExhausted { .. }) => first_line(&describe::outcome(other)),
    }
}

fn first_line(text: &str) -> String {
    harmless(text.lines().next().unwrap_or_default())
}

/// Lists the first few names and the number of the others.
pub(super) fn first_names(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    let more = names.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}
