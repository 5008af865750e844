//! JSON output of runs: one line per event, or one document at the end.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use facts::event::{Envelope, Event};
use facts::scope::Scope;
use facts::signal::Signal;
use front::describe::criteria;
use futures_util::future::BoxFuture;
use orchestrator::root::RequestOutcome;
use serde_json::{Value, json};
use tree::Change;

use super::RunPresenter;
use super::artifact::Artifact;

/// Prints every event as it happens, as recorded in the journal but without checksums, and text deltas in between.
#[derive(Default)]
pub(crate) struct StreamJson {
    plan: Artifact,
}

/// Prints one document at the end.
#[derive(Default)]
pub(crate) struct FinalJson {
    plan: Artifact,
}

impl RunPresenter for StreamJson {
    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()> {
        match signal {
            Signal::Event(envelope) => {
                hear(&mut self.plan, &envelope);
                tell(&event(&envelope));
            }
            Signal::Text(speaker, text) => {
                let data = json!({"role": speaker.role, "text": text});
                tell(&within(json!({"kind": "TextDelta", "data": data}), &speaker.scope));
            }
            Signal::Reasoning(speaker, text) => {
                let data = json!({"role": speaker.role, "text": text});
                tell(&within(json!({"kind": "ReasoningDelta", "data": data}), &speaker.scope));
            }
            Signal::Waiting(scope, why) => {
                tell(&within(json!({"kind": "Waiting", "data": {"why": why}}), &scope));
            }
            Signal::Paused(why) => tell(&json!({"kind": "Waiting", "data": {"why": why}})),
            Signal::Unapprovable(why) => {
                tell(&json!({"kind": "Unapprovable", "data": {"why": why}}));
            }
            Signal::Confined(level) => {
                let data = json!({"degree": level.degree(), "told": level.to_string()});
                tell(&json!({"kind": "Confined", "data": data}));
            }
            // Dropping a question tells the asker that there is no user to answer it.
            Signal::Question(_) | Signal::Asked(_) => {}
        }
        Box::pin(std::future::ready(()))
    }

    fn note(&mut self, text: &str) {
        note(text);
    }

    fn outcome(&mut self, outcome: &RequestOutcome, session: &str) {
        let mut document = document(outcome, &self.plan, session);
        if let Some(map) = document.as_object_mut() {
            map.shift_remove("answer");
        }
        print(&json!({"kind": "Outcome", "data": document}));
    }

    fn earlier(&mut self, scope: &Scope, event: &Event) {
        if scope.lane().is_none() {
            self.plan.hear(event);
        }
    }
}

impl RunPresenter for FinalJson {
    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()> {
        if let Signal::Event(envelope) = signal {
            hear(&mut self.plan, &envelope);
        }
        Box::pin(std::future::ready(()))
    }

    fn note(&mut self, text: &str) {
        note(text);
    }

    fn outcome(&mut self, outcome: &RequestOutcome, session: &str) {
        print(&document(outcome, &self.plan, session));
    }

    fn earlier(&mut self, scope: &Scope, event: &Event) {
        if scope.lane().is_none() {
            self.plan.hear(event);
        }
    }
}

fn hear(plan: &mut Artifact, envelope: &Envelope) {
    if envelope.scope.lane().is_none() {
        plan.hear(&envelope.event);
    }
}

/// Formats an event as a JSON line.
fn event(envelope: &Envelope) -> Value {
    let mut line = json!({"seq": envelope.seq, "at": envelope.at});
    if let (Some(line), Ok(Value::Object(event))) =
        (line.as_object_mut(), serde_json::to_value(&envelope.event))
    {
        line.extend(event);
        if let Some(run) = envelope.scope.run() {
            line.insert("run".to_owned(), run.into());
        }
    }
    within(line, &envelope.scope)
}

/// Adds the lane and part of the run that a line belongs to.
fn within(mut line: Value, scope: &Scope) -> Value {
    if let Some(fields) = line.as_object_mut() {
        let lane = scope.lane().map(|lane| lane.to_string());
        for (field, value) in [("lane", lane), ("part", scope.below())] {
            if let Some(value) = value {
                fields.insert(field.to_owned(), value.into());
            }
        }
    }
    line
}

fn document(outcome: &RequestOutcome, plan: &Artifact, session: &str) -> Value {
    json!({
        "session": session,
        "run": outcome.run,
        "delivery": outcome.delivery,
        "plan": plan.document(outcome),
        "reasoning_outcome": plan.reasoning_outcome(outcome),
        "accept": criteria(outcome.plan.as_ref(), &outcome.delivery),
        "answer": outcome.answer,
        "review": outcome.review,
        "card": outcome.card.as_ref().map(|card| json!({"hash": card.hash(), "card": card.card()})),
        "changes": outcome.changes.iter().map(Change::summary).collect::<Vec<_>>(),
        "put_aside": outcome.put_aside,
        "rollbacks": outcome.rollbacks,
        "spent": outcome.spent.known,
        "spent_unknown": Some(outcome.spent.unknown).filter(|unknown| !unknown.is_zero()),
        "lanes": outcome.lanes,
        "kept": outcome.kept,
    })
}

/// True once a document has been printed.
static IS_PRINTED: AtomicBool = AtomicBool::new(false);

/// Returns true once a document has been printed.
pub(super) fn is_printed() -> bool {
    IS_PRINTED.load(Ordering::Relaxed)
}

/// Prints a document as one line.
pub(crate) fn print(value: &Value) {
    IS_PRINTED.store(true, Ordering::Relaxed);
    tell(value);
}

/// Prints a line of a stream, whose last line is a document.
fn tell(value: &Value) {
    super::print_line(&value.to_string());
}

fn note(text: &str) {
    writeln!(io::stderr(), "{text}").ok();
}
