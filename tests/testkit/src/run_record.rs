//! Runs a request and records its outcome, events and questions.

use std::sync::Arc;

use facts::event::Envelope;
use facts::signal::{ApprovalAnswer, Signal};
use orchestrator::request::Request;
use orchestrator::root::{Orchestrator, RequestOutcome};
use ractor::ActorCell;
use tokio::sync::mpsc::Receiver;

/// The record of one request.
pub struct RunRecord {
    /// The outcome of the request.
    pub outcome: RequestOutcome,
    /// All events, in order.
    pub events: Vec<Arc<Envelope>>,
    /// The questions to the user, with the lanes that asked. Each was answered with yes.
    pub questions: Vec<String>,
}

impl RunRecord {
    /// Runs a request to its end. `heard` is called with each event as it happens.
    pub async fn of(
        orchestrator: &Orchestrator,
        mut signals: Receiver<Signal>,
        request: Request,
        mut heard: impl FnMut(&Envelope),
    ) -> Self {
        let (mut events, mut questions) = (Vec::new(), Vec::new());
        let mut hear = |signal| match signal {
            Signal::Event(envelope) => {
                heard(&envelope);
                events.push(envelope);
            }
            Signal::Question(question) => {
                questions.push(format!("{:?} {:?}", question.scope.lane(), question.what));
                question.answer.send(ApprovalAnswer::Yes).unwrap();
            }
            Signal::Text(..)
            | Signal::Reasoning(..)
            | Signal::Waiting(..)
            | Signal::Paused(..)
            | Signal::Unapprovable(..)
            | Signal::Confined(..)
            | Signal::Asked(..) => {}
        };
        let mut working = std::pin::pin!(orchestrator.run(request));
        let outcome = loop {
            tokio::select! {
                biased;
                Some(signal) = signals.recv() => hear(signal),
                outcome = &mut working => break outcome.unwrap(),
            }
        };
        while let Ok(signal) = signals.try_recv() {
            hear(signal);
        }
        Self { outcome, events, questions }
    }

    /// Returns the number of events of a kind.
    pub fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|envelope| envelope.event.kind() == kind).count()
    }
}

/// Returns the children of an actor, in the order in which they were spawned.
pub fn children_of(cell: &ActorCell) -> Vec<ActorCell> {
    let mut children = cell.get_children();
    // Ids are assigned in the order of spawning.
    children.sort_by_key(|cell| cell.get_id().pid());
    children
}

/// Drains the signals in the background, so that no sender blocks.
pub fn ignore(mut signals: Receiver<Signal>) {
    tokio::spawn(async move { while signals.recv().await.is_some() {} });
}
