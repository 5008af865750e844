//! What is told at the end of a run: the result, how far it is verified, and the ways on. Pure.

use std::time::Duration;

use actors::delivery::{Delivery, Target, Verified};
use actors::plan::Criterion;
use anstyle::AnsiColor;
use orchestrator::orchestrator::Outcome;

use super::RunView;
use super::lines::plan_text;
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
        let line = match &outcome.delivery {
            Delivery::Delivered { verified: verified @ (Verified::Proven | Verified::Passed) } => {
                format!("{}, {verified}", self.style(AnsiColor::Green, "✓ delivered"))
            }
            Delivery::Delivered { verified: verified @ Verified::Unverified(_) } => {
                let verified = harmless(&verified.to_string());
                self.style(AnsiColor::Yellow, &format!("✓ delivered, {verified}"))
            }
            Delivery::Delivered { verified: Verified::NotNeeded } => String::new(),
            Delivery::NoEditNeeded { reason } => {
                format!(
                    "{} {}",
                    self.style(AnsiColor::Green, "✓ nothing to edit:"),
                    harmless(&reason.to_string())
                )
            }
            Delivery::NeedsWork { .. }
            | Delivery::Denied { .. }
            | Delivery::Cancelled
            | Delivery::BudgetExhausted { .. }
            | Delivery::Failed { .. } => self.style(AnsiColor::Red, "✗ not delivered"),
        };
        if !line.is_empty() {
            self.say(&line);
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
        let done =
            matches!(outcome.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !outcome.changes.is_empty() && !done {
            self.say("  the changes made so far are in the workspace");
        }
        for line in self.lanes.ending(&outcome.lanes, &outcome.kept, self.paint) {
            self.say(format!("  {line}"));
        }
        for left in &outcome.put_aside {
            self.say(format!("  put aside, not applied: the changes of {}", left.path));
        }
        for rollback in &outcome.rollbacks {
            let way = match (rollback.to, self.start) {
                (Target::Start, Some(checkpoint)) => format!("rewind {checkpoint}"),
                (Target::Start | Target::Best, _) => format!("apply {}", rollback.patch),
            };
            self.say(format!("  back to {}: deepseek {way}", rollback.to));
        }
        self.say(self.summary(outcome.spent.calls, session, at));
    }
}
