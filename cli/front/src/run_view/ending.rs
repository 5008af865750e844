//! What is told at the end of a run: the result, how far it is verified, and the ways on. Pure.

use std::time::Duration;

use actors::delivery::{Delivery, NeedsWork, Rollback, Target, Verified};
use actors::plan::Criterion;
use anstyle::AnsiColor;
use orchestrator::orchestrator::Outcome;
use tree::{Change, ChangeSummary, RepoPath};

use super::lines::plan_text;
use super::{Commits, RunView};
use crate::diff::{harmless, harmless_text};
use crate::told::criteria;

impl RunView {
    pub(super) fn ended(&mut self, outcome: &Outcome, session: &str, at: Duration) {
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
            let told = harmless_text(&review.to_string());
            self.say("  a model reviewed it (the delivery stands):");
            for line in told.lines().filter(|line| !line.is_empty()) {
                self.say(format!("    {line}"));
            }
        }
        for Criterion { criterion, shown_by } in criteria(outcome.plan.as_ref(), &outcome.delivery)
        {
            let shown =
                shown_by.map_or("not checked".to_owned(), |it| format!("`{}`", harmless(it)));
            self.say(format!("  accept: {} — {shown}", harmless(criterion)));
        }
        for line in self.lanes.ending(&outcome.lanes, &outcome.kept, self.shows.paint) {
            self.say(format!("  {line}"));
        }
        for left in &outcome.put_aside {
            self.say(format!("  put aside, not applied: the changes of {}", left.path));
        }
        for line in self.ways_on(outcome) {
            self.say(format!("  {line}"));
        }
        self.say(self.summary(outcome.spent.calls, session, at));
    }

    /// How it ended: what was delivered and how far it is verified, or that it was not.
    fn title(&self, delivery: &Delivery, changed: &str) -> Vec<String> {
        let of = |mark: String, what: &str| match what {
            "" => mark,
            what => format!("{mark}: {what}"),
        };
        match delivery {
            Delivery::Delivered { verified: Verified::NotNeeded } => Vec::new(),
            Delivery::Delivered { verified } => {
                let colour = match verified {
                    Verified::Proven | Verified::Passed | Verified::NotNeeded => AnsiColor::Green,
                    Verified::Unverified(_) => AnsiColor::Yellow,
                };
                let how = harmless(&verified.to_string());
                vec![
                    of(self.style(AnsiColor::Green, "✓ delivered"), changed),
                    format!("  {}", self.style(colour, &how)),
                ]
            }
            Delivery::NoEditNeeded { reason } => {
                vec![of(
                    self.style(AnsiColor::Green, "✓ nothing to edit"),
                    &harmless(&reason.to_string()),
                )]
            }
            Delivery::NeedsWork { why: NeedsWork::Staged, .. } => {
                let staged = counted(self.staged.iter().map(|it| (&it.path, it.added, it.removed)));
                vec![of(self.style(AnsiColor::Yellow, "✗ staged, not written"), &staged)]
            }
            Delivery::NeedsWork { .. }
            | Delivery::Denied { .. }
            | Delivery::Cancelled
            | Delivery::BudgetExhausted { .. }
            | Delivery::Failed { .. } => {
                let mark = self.style(AnsiColor::Red, "✗ not delivered");
                let so_far = format!("{mark}; changed so far");
                vec![if changed.is_empty() { mark } else { of(so_far, changed) }]
            }
        }
    }

    /// What can be done about what was changed.
    fn ways_on(&self, outcome: &Outcome) -> Vec<String> {
        let commands = self.shows.commands;
        let mut ways = Vec::new();
        let to_start = outcome.rollbacks.iter().find(|it| it.to == Target::Start);
        match (self.start, to_start) {
            _ if outcome.changes.is_empty() => {}
            (Some(checkpoint), _) => {
                ways.push(format!("undo: {}", commands.given(&format!("rewind {checkpoint}"))));
            }
            (None, Some(Rollback { patch, .. })) => {
                ways.push(format!("undo: {}", commands.given(&format!("apply {patch}"))));
            }
            (None, None) => {}
        }
        let is_delivered = matches!(outcome.delivery, Delivery::Delivered { .. });
        if is_delivered && !outcome.changes.is_empty() && self.shows.commits == Commits::Offered {
            ways.push(format!("commit: {}", commands.given("commit")));
        }
        for Rollback { patch, to } in &outcome.rollbacks {
            match to {
                Target::Start => {}
                Target::Best => {
                    let apply = commands.given(&format!("apply {patch}"));
                    ways.push(format!("back to {to}: {apply}"));
                }
            }
        }
        ways
    }
}

/// The files that differ from the start of the run.
fn changed(outcome: &Outcome) -> String {
    let changes: Vec<ChangeSummary> = outcome.changes.iter().map(Change::summary).collect();
    counted(changes.iter().map(|it| (&it.path, it.added, it.removed)))
}

/// Files with the lines that came and went: the first few, and the sum of all.
fn counted<'p>(files: impl Iterator<Item = (&'p RepoPath, usize, usize)> + Clone) -> String {
    const SHOWN: usize = 4;
    let first: Vec<String> = files
        .clone()
        .take(SHOWN)
        .map(|(path, added, removed)| format!("{path} +{added} -{removed}"))
        .collect();
    let (count, added, removed) = files.fold((0, 0, 0), |(count, added, removed), file| {
        (count + 1, added + file.1, removed + file.2)
    });
    let more = match count - first.len() {
        0 => String::new(),
        more => format!(" and {more} more, in all +{added} -{removed}"),
    };
    first.join(", ") + &more
}
