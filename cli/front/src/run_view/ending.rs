//! The lines shown at the end of a run: the result, how far it is verified, and what the user can do next. Pure.

use std::time::Duration;

use anstyle::AnsiColor;
use checks::proof::OldTree;
use facts::delivery::Delivery;
use facts::delivery::MissingKind;
use facts::delivery::NeedsWork;
use facts::delivery::Rollback;
use facts::delivery::UndoTarget;
use facts::delivery::Unverified;
use facts::delivery::Verified;
use facts::grammar::plan::Criterion;
use orchestrator::root::RequestOutcome;
use tree::{Change, ChangeSummary, Op, with_renames};

use super::lines::plan_text;
use super::{CommandsGiven, Commits, RunView, ViewOptions};
use crate::describe::{self, caveats, criteria};
use crate::diff::{harmless, harmless_text};

const NOTHING_CHANGED: &str = "  nothing was changed";
/// What a delivery says whose patch was found applied.
const ALREADY_THERE: &str = "nothing was changed, because the files already have the change";

impl RunView {
    pub(super) fn ended(&mut self, outcome: &RequestOutcome, session: &str, at: Duration) {
        if let (true, Some(plan)) = (self.plan_only, &outcome.plan) {
            self.result(format!("{}\n", plan_text(plan).trim_end()));
        }
        if let Some(answer) = &outcome.answer {
            let streamed = std::mem::take(&mut self.streamed);
            let missing = if streamed == *answer { "\n".to_owned() } else { format!("{answer}\n") };
            self.result(harmless_text(&missing));
        }
        let changed = changed(outcome);
        for line in self.title(&outcome.delivery, &changed) {
            self.say(line);
        }
        if let (None, Some(review)) = (&outcome.answer, &outcome.review) {
            let review = harmless_text(&review.to_string());
            self.say("  a model reviewed it (the delivery stands):");
            for line in review.lines().filter(|line| !line.is_empty()) {
                self.say(format!("    {line}"));
            }
        }
        for Criterion { criterion, shown_by } in criteria(outcome.plan.as_ref(), &outcome.delivery)
        {
            let shown =
                shown_by.map_or("not checked".to_owned(), |it| format!("`{}`", harmless(it)));
            self.say(format!("  accept: {} — {shown}", harmless(criterion)));
        }
        for (word, caveat) in caveats(outcome.plan.as_ref(), &outcome.delivery) {
            self.say(format!("  {word}: {}", harmless(caveat)));
        }
        let ViewOptions { paint, commands, .. } = self.options;
        for line in self.lanes.ending(&outcome.lanes, &outcome.kept, paint, commands) {
            self.say(format!("  {line}"));
        }
        for left in &outcome.put_aside {
            self.say(format!("  set aside, not applied: the changes to {}", left.path));
        }
        for line in self.next_steps(outcome) {
            self.say(format!("  {line}"));
        }
        self.say(self.summary(outcome.spent.at_most().calls, session, at));
    }

    /// Returns the title of the ending, with the changes and, if the run delivered, how far they are verified.
    fn title(&self, delivery: &Delivery, changed: &str) -> Vec<String> {
        let of = |mark: String, what: &str| match what {
            "" => mark,
            what => format!("{mark}: {what}"),
        };
        let so_far = match changed {
            "" => NOTHING_CHANGED.to_owned(),
            changed => format!("  changed so far: {changed}"),
        };
        match delivery {
            Delivery::Delivered { verified: Verified::NotNeeded } => Vec::new(),
            Delivery::Delivered { verified } => {
                let colour = match verified {
                    Verified::Proven | Verified::Passed | Verified::NotNeeded => AnsiColor::Green,
                    Verified::Unverified(_) => AnsiColor::Yellow,
                };
                let how = match verified {
                    Verified::Passed => format!("{verified}: {}", why_unproven(self.on_old_tree)),
                    Verified::Proven | Verified::Unverified(_) | Verified::NotNeeded => {
                        harmless(&verified.to_string())
                    }
                };
                let skipped = describe::skipped(self.skipped.values().sum());
                let how = how + &skipped.map(|it| format!(" ({it})")).unwrap_or_default();
                let next =
                    next_to_verify(verified).map(|next| format!("  next: {}", harmless(&next)));
                let changed = if changed.is_empty() { ALREADY_THERE } else { changed };
                let delivered = of(self.style(AnsiColor::Green, "✓ delivered"), changed);
                let how = format!("  {}", self.style(colour, &how));
                [delivered, how].into_iter().chain(next).collect()
            }
            Delivery::NoEditNeeded { reason } => {
                let mark = self.style(AnsiColor::Green, "✓ nothing to edit");
                vec![of(mark, &harmless(&reason.to_string())), NOTHING_CHANGED.to_owned()]
            }
            Delivery::NeedsWork { why: NeedsWork::Staged, .. } => {
                let staged = self.staged.iter();
                let staged =
                    file_counts(staged.map(|it| (it.path.to_string(), it.added, it.removed)));
                vec![of(self.style(AnsiColor::Yellow, "✗ staged, not written"), &staged)]
            }
            Delivery::NeedsWork { why, .. } => {
                let mark = self.style(AnsiColor::Red, "✗ not delivered");
                vec![of(mark, why_undelivered(*why)), so_far]
            }
            Delivery::Denied { card: None, .. } => {
                vec![self.style(AnsiColor::Red, "✗ denied"), so_far]
            }
            Delivery::Denied { card: Some(card), .. } => {
                vec![self.style(AnsiColor::Yellow, &format!("○ {}", card.name())), so_far]
            }
            Delivery::Cancelled => vec![self.style(AnsiColor::Red, "✗ stopped"), so_far],
            Delivery::Paused { .. } => {
                vec![self.style(AnsiColor::Yellow, "○ paused"), so_far]
            }
            Delivery::BudgetExhausted { .. } => {
                vec![self.style(AnsiColor::Red, "✗ stopped by the budget"), so_far]
            }
            Delivery::Failed { .. } => vec![self.style(AnsiColor::Red, "✗ failed"), so_far],
        }
    }

    /// Returns the commands that the user may run next: undo, continue, commit.
    fn next_steps(&self, outcome: &RequestOutcome) -> Vec<String> {
        let commands = self.options.commands;
        let mut ways = Vec::new();
        let to_start = outcome.rollbacks.iter().find(|it| it.to == UndoTarget::Start);
        let undo = match (self.undo_start(), to_start) {
            _ if outcome.changes.is_empty() => None,
            (Some(checkpoint), _) => Some(format!("rewind {checkpoint}")),
            (None, Some(Rollback { patch, .. })) => Some(format!("apply {patch}")),
            (None, None) => None,
        };
        ways.extend(undo.and_then(|words| commands.way("undo", &words)));
        // In a conversation the next message continues the request.
        if matches!((&outcome.delivery, commands), (Delivery::Cancelled, CommandsGiven::OfTheShell))
        {
            ways.extend(commands.way("continue", "-c"));
        }
        let is_delivered = matches!(outcome.delivery, Delivery::Delivered { .. });
        if is_delivered && !outcome.changes.is_empty() && self.options.commits == Commits::Offered {
            ways.extend(commands.way("commit", "commit"));
        }
        for Rollback { patch, to } in &outcome.rollbacks {
            match to {
                UndoTarget::Start => {}
                UndoTarget::Best => {
                    ways.extend(commands.way(&format!("restore {to}"), &format!("apply {patch}")));
                }
            }
        }
        ways
    }
}

/// Returns why a change whose checks pass is not proven.
fn why_unproven(on_old_tree: Option<OldTree>) -> &'static str {
    on_old_tree.map_or("it has no test of its own", describe::on_old_tree)
}

/// Returns how the user can get an unverified delivery verified.
fn next_to_verify(verified: &Verified) -> Option<String> {
    let Verified::Unverified(why) = verified else { return None };
    let missing = match why {
        Unverified::NothingCouldFail => {
            return Some(
                "try it yourself, or ask for a test that fails without the change".to_owned(),
            );
        }
        Unverified::TreeMoved => {
            return Some(
                "ask again when nothing else changes the files, or run the checks".to_owned(),
            );
        }
        Unverified::CannotRun { .. } => return Some("run it where it can run".to_owned()),
        Unverified::OldFailures { .. } => {
            return Some("ask for a fix of the earlier failures".to_owned());
        }
        Unverified::Environment { missing } => missing,
    };
    let first = match (missing.kind, &missing.cure) {
        (MissingKind::Network, Some(cure)) => {
            return Some(format!(
                "run `{cure}` once, or allow commands to use the network: --network"
            ));
        }
        (MissingKind::Network, None) => {
            let next =
                "run the checks with a network connection, or allow commands to use it: --network";
            return Some(next.to_owned());
        }
        (MissingKind::Hidden, Some(cure)) => format!("show it to commands with `{cure}`"),
        (_, Some(cure)) => format!("run `{cure}`"),
        (MissingKind::Package | MissingKind::Program, None) => "install it".to_owned(),
        (MissingKind::Service, None) => "start the service".to_owned(),
        (MissingKind::Display, None) => "start a virtual display, such as Xvfb".to_owned(),
        (MissingKind::Walls, _) => {
            return Some(
                "`deepseek doctor` says what is missing; run the checks yourself".to_owned(),
            );
        }
        (MissingKind::Confined | MissingKind::Hidden, None) => {
            return Some("run the checks yourself, or without a sandbox: --no-sandbox".to_owned());
        }
    };
    Some(format!("{first} and run the checks"))
}

/// Returns in a few words why a request was not delivered.
const fn why_undelivered(why: NeedsWork) -> &'static str {
    match why {
        NeedsWork::IterationsUsedUp => "every attempt failed",
        NeedsWork::ChecksFail => "checks fail that did not before the change",
        NeedsWork::PreExisting => "the checks fail as they did before the change",
        NeedsWork::Unverifiable => "the checks could not be run",
        NeedsWork::NoPlan => "the model gave no plan",
        NeedsWork::Uneditable => "a file cannot be edited",
        NeedsWork::NoDraft => "the model gave no usable diff",
        NeedsWork::NoAnswer => "the model gave no usable answer",
        NeedsWork::Crashed => "parts of the program crashed",
        NeedsWork::LanesFailed => "lanes failed or conflict",
        NeedsWork::Staged => "the change is staged",
    }
}

/// Lists the files that differ from the start of the run; one that was only moved has both of its names.
fn changed(outcome: &RequestOutcome) -> String {
    let changes: Vec<ChangeSummary> =
        with_renames(&outcome.changes).iter().map(Change::summary).collect();
    file_counts(changes.iter().map(|it| {
        let name = match &it.op {
            Op::Rename { from } => format!("{from} → {}", it.path),
            Op::Create | Op::Modify | Op::Delete => it.path.to_string(),
        };
        (name, it.added, it.removed)
    }))
}

/// Lists the first few files with their added and removed lines; if there are more, adds their number and the total.
fn file_counts(files: impl Iterator<Item = (String, usize, usize)> + Clone) -> String {
    const SHOWN: usize = 4;
    let first: Vec<String> = files
        .clone()
        .take(SHOWN)
        .map(|(name, added, removed)| format!("{name} +{added} -{removed}"))
        .collect();
    let (count, added, removed) = files.fold((0, 0, 0), |(count, added, removed), file| {
        (count + 1, added + file.1, removed + file.2)
    });
    let more = match count - first.len() {
        0 => String::new(),
        more => format!(" and {more} more, total +{added} -{removed}"),
    };
    first.join(", ") + &more
}
