//! What is told of lanes in lines, where there is no table, or beside it. Pure.

use std::fmt::Write as _;

use actors::checks::CheckOutcome;
use actors::delivery::{Delivery, Verified};
use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::ledger::Amount;
use actors::team::{Other, PlannedLane};
use anstyle::{AnsiColor, Style};
use tree::RepoPath;

use super::LaneTable;
use crate::diff::harmless_text as harmless;
use crate::paint::Paint;
use crate::run_view::{check_in_words, why_it_failed};
use crate::told;

/// So many lines say why a check of a lane failed: others work beside it.
const WHY: usize = 5;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything worth knowing: there is no table.
    All,
    /// What a table does not show.
    Beside,
}

/// What is put before the lines of a lane.
pub(crate) fn labelled(lane: LaneId, paint: Paint) -> String {
    paint.with(Style::new().dimmed(), &format!("lane {lane} · "))
}

impl LaneTable {
    /// What an event of a lane is worth to be told. The table has heard of it before.
    pub(crate) fn told(
        &self,
        lane: LaneId,
        event: &Event,
        detail: Detail,
        paint: Paint,
    ) -> Vec<String> {
        let ends = ends(event, paint);
        let lines = match detail {
            Detail::All if ends.is_empty() => self.steps(lane, event, paint),
            Detail::All | Detail::Beside => ends,
        };
        let label = labelled(lane, paint);
        lines.into_iter().map(|line| format!("{label}{line}")).collect()
    }

    /// What a lane does, step by step.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for the journal")]
    fn steps(&self, lane: LaneId, event: &Event, paint: Paint) -> Vec<String> {
        let refused = |what: &str| style(paint, AnsiColor::Yellow, what);
        match event {
            Event::LaneSpawned { attempt: 1, title, .. } => {
                vec![format!("begins: {}", harmless(title))]
            }
            Event::PlanCreated { plan, .. } | Event::PlanRevised { plan, .. } => {
                let files: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
                vec![format!("plans to change {}", list(&files))]
            }
            Event::PlanRefused { error } | Event::DraftRefused { error } => {
                vec![format!("{} {}", refused("answer refused:"), first_line(&error.to_string()))]
            }
            Event::FilesNeeded { files } => {
                let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                vec![format!("its plan lacks {}", list(&files))]
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
                let why = why_it_failed(*outcome, output).into_iter().take(WHY);
                let said = format!("`{}` {word} ({exit})", harmless(command));
                std::iter::once(said).chain(why.map(|line| format!("  {line}"))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What ends a lane, and what nobody may miss.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is in the table, or a step")]
fn ends(event: &Event, paint: Paint) -> Vec<String> {
    match event {
        Event::LaneSpawned { attempt, .. } if *attempt > 1 => {
            vec!["is planned again, on what there is by now".to_owned()]
        }
        Event::LaneCompleted { verified, files, left_behind, spent, .. } => {
            let how = match verified {
                Verified::Proven => style(paint, AnsiColor::Green, "done, proven"),
                Verified::Passed => style(paint, AnsiColor::Green, "done, checks passed"),
                Verified::Unverified(_) => style(paint, AnsiColor::Yellow, "done, not verified"),
                Verified::NotNeeded => style(paint, AnsiColor::Green, "nothing to change"),
            };
            let changed: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let changed =
                if changed.is_empty() { String::new() } else { format!(" · {}", list(&changed)) };
            let mut lines = vec![format!("{how}{changed} · {}", used(*spent))];
            if !left_behind.is_empty() {
                let paths: Vec<&str> = left_behind.iter().map(RepoPath::as_str).collect();
                lines.push(format!(
                    "commands changed {}, not the lane's to hand over; that is left out",
                    list(&paths)
                ));
            }
            lines
        }
        Event::LaneFailed { why, spent, .. } => {
            let failed = style(paint, AnsiColor::Red, "failed:");
            vec![format!("{failed} {} · {}", reason(why), used(*spent))]
        }
        Event::ApprovalDenied { action, why, .. } => {
            let denied = style(paint, AnsiColor::Red, "denied:");
            vec![format!("{denied} {}", harmless(&format!("{action}: {why}")))]
        }
        Event::RoleCrashed { role } => {
            let crashed = style(paint, AnsiColor::Red, "!");
            vec![format!("{crashed} the {} died; a new one takes over", role.name())]
        }
        _ => Vec::new(),
    }
}

/// The plan of a team.
pub(crate) fn plan(lanes: &[PlannedLane]) -> String {
    let mut text = String::new();
    for PlannedLane { lane, title, owns, after, .. } in lanes {
        let owns: Vec<&str> = owns.iter().map(String::as_str).collect();
        write!(text, "  {lane} {} — {}", harmless(title), harmless(&owns.join(", "))).ok();
        if !after.is_empty() {
            let after: Vec<String> = after.iter().map(LaneId::to_string).collect();
            write!(text, " · after {}", after.join(", ")).ok();
        }
        text.push('\n');
    }
    text
}

/// Where a lane does not fit in.
pub(crate) fn conflict(lane: LaneId, paths: &[RepoPath], with: Other, paint: Paint) -> String {
    let title = style(paint, AnsiColor::Yellow, "conflict:");
    let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    let paths = list(&paths);
    let what = match with {
        // What becomes of it then is told when it begins again, or at the end.
        Other::Lanes => format!("lanes before it changed {paths}, too"),
        Other::User => {
            format!("you changed {paths} meanwhile; it is kept aside: deepseek diff --lane {lane}")
        }
    };
    format!("{}{title} {what}", labelled(lane, paint))
}

/// Lanes that pass alone and fail together.
pub(crate) fn bisected(lanes: &[LaneId], paint: Paint) -> String {
    let names: Vec<String> = lanes.iter().map(LaneId::to_string).collect();
    let what = match names.as_slice() {
        [one] => {
            format!("lane {one} passes in its own worktree, and fails with the workspace as it is")
        }
        several => format!("lanes {} pass alone, and fail together", several.join(", ")),
    };
    format!("  {}", style(paint, AnsiColor::Yellow, &what))
}

/// A path with the lines that came and went.
pub(crate) fn file_line(file: &StagedFile, paint: Paint) -> String {
    let from = file.renamed_from.as_ref().map(|from| format!(" (from {from})")).unwrap_or_default();
    let added = style(paint, AnsiColor::Green, &format!("+{}", file.added));
    let removed = style(paint, AnsiColor::Red, &format!("-{}", file.removed));
    format!("{}{from} {added} {removed}", file.path)
}

/// Tokens and cost.
pub(crate) fn used(spent: Amount) -> String {
    format!("{} tokens · {}", spent.tokens, spent.nano_usd)
}

pub(crate) fn style(paint: Paint, colour: AnsiColor, text: &str) -> String {
    paint.with(Style::new().fg_color(Some(colour.into())).bold(), text)
}

/// Why something was not done.
pub(super) fn reason(why: &Delivery) -> String {
    match why {
        Delivery::NeedsWork { detail, .. } => first_line(&detail.to_string()),
        Delivery::Failed { message, .. } => first_line(&message.to_string()),
        other @ (Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::BudgetExhausted { .. }) => first_line(&told::outcome(other)),
    }
}

fn first_line(text: &str) -> String {
    harmless(text.lines().next().unwrap_or_default())
}

/// The first few of many.
pub(super) fn list(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    let more = names.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}
