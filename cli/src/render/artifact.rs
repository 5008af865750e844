//! The plan of a run as JSON: the plan itself, what the run knows about it, and its outcome. Pure.

use std::collections::BTreeMap;

use checks::verified::Verified;
use facts::delivery::Delivery;
use facts::event::Event;
use facts::grammar::plan::{Plan, StepMark};
use facts::words::RequestIntent;
use orchestrator::root::RequestOutcome;
use serde_json::{Value, json};

/// What the events so far say about the plan.
#[derive(Debug, Default)]
pub(super) struct Artifact {
    goal: Option<String>,
    version: u32,
    /// The current plan and the previous one.
    plans: [Option<Plan>; 2],
    marks: BTreeMap<usize, StepMark>,
    /// The run's checks, used when the plan names none.
    checks: Vec<String>,
}

impl Artifact {
    /// Takes in an event of the run itself, not of a lane.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events do not concern the plan")]
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            // A review may follow the request that it reviews.
            Event::RunStarted { request, intent, .. } if *intent != RequestIntent::Review => {
                *self = Self { goal: Some(request.clone()), ..Self::default() };
            }
            Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. } => {
                self.version = *version;
                self.plans = [Some(plan.clone()), self.plans[0].take()];
                self.marks.clear();
            }
            Event::StepMarked { plan, step, mark } if *plan == self.version => {
                self.marks.insert(*step, *mark);
            }
            Event::VerifyStarted { commands, .. } => self.checks.clone_from(commands),
            _ => {}
        }
    }

    /// Returns the plan that a run ended with. Unknown fields are null.
    pub(super) fn document(&self, outcome: &RequestOutcome) -> Value {
        let Some(plan) = &outcome.plan else { return Value::Null };
        let id = format!("{}/{}", outcome.run, self.version);
        let steps = plan.steps.iter().zip(1..).map(|(title, number)| {
            let mark = self.marks.get(&number);
            json!({
                "step_id": format!("{id}/{number}"),
                "title": title,
                "files": plan.files_of_step(title),
                "mark": mark,
                "done": mark == Some(&StepMark::Done),
            })
        });
        let verification = if plan.verify.is_empty() { &self.checks } else { &plan.verify };
        let mut document = json!({
            "plan_id": id,
            "version": self.version,
            "goal": self.goal,
            "assumptions": plan.assumptions,
            "steps": steps.collect::<Vec<_>>(),
            "verification": (!verification.is_empty()).then_some(verification),
            "risk_notes": plan.risks,
        });
        let said = serde_json::to_value(plan).unwrap_or_default();
        if let (Some(document), Value::Object(said)) = (document.as_object_mut(), said) {
            document
                .extend(said.into_iter().filter(|(name, _)| name != "steps" && name != "risks"));
        }
        document
    }

    /// Returns what is kept of a run in place of its models' reasoning: recorded facts, no model text.
    pub(super) fn reasoning_outcome(&self, outcome: &RequestOutcome) -> Value {
        let [plan, before] = &self.plans;
        let delta = plan.as_ref().zip(before.as_ref()).map(|(plan, before)| {
            let files =
                |plan: &Plan| -> Vec<String> { plan.touched().map(ToString::to_string).collect() };
            json!({
                "steps_added": missing_from(&plan.steps, &before.steps),
                "steps_removed": missing_from(&before.steps, &plan.steps),
                "files_added": missing_from(&files(plan), &files(before)),
                "files_removed": missing_from(&files(before), &files(plan)),
            })
        });
        let foreseen = plan.iter().flat_map(|plan| plan.risks.iter().cloned());
        let is_only_planned = plan.is_some() && self.marks.is_empty();
        let (next, risk, state) = match &outcome.delivery {
            Delivery::Delivered { verified } => {
                let risk = match verified {
                    Verified::Unverified(why) => Some(why.to_string()),
                    Verified::Proven | Verified::Passed | Verified::NotNeeded => None,
                };
                (is_only_planned.then_some("execute"), risk, "DONE")
            }
            Delivery::NoEditNeeded { .. } => (None, None, "DONE"),
            Delivery::NeedsWork { detail, .. } => {
                (Some("revise"), Some(detail.to_string()), "NEEDS_WORK")
            }
            Delivery::Denied { what, .. } => (Some("allow"), Some(what.to_string()), "NEEDS_WORK"),
            Delivery::Failed { message, .. } => {
                (Some("resume"), Some(message.to_string()), "NEEDS_WORK")
            }
            Delivery::Cancelled | Delivery::Paused { .. } | Delivery::BudgetExhausted { .. } => {
                (Some("resume"), None, "NEEDS_WORK")
            }
        };
        json!({
            "plan_delta": delta,
            "next_action": next,
            "known_risks": foreseen.chain(risk).collect::<Vec<_>>(),
            "delivery_state": state,
        })
    }
}

/// Returns the entries of `these` that are not in `those`.
fn missing_from<'s>(these: &'s [String], those: &[String]) -> Vec<&'s str> {
    these.iter().filter(|one| !those.contains(one)).map(String::as_str).collect()
}
