//! A request at work, and what was told of it.

use std::sync::Arc;

use actors::event::Envelope;
use actors::publisher::{Answer, Signal};
use orchestrator::orchestrator::{Orchestrator, Outcome};
use orchestrator::request::Request;
use ractor::ActorCell;
use tokio::sync::mpsc::Receiver;

/// What came of a request.
pub struct Heard {
    /// How it ended.
    pub outcome: Outcome,
    /// What happened.
    pub events: Vec<Arc<Envelope>>,
    /// The questions that were asked, with the lanes that asked. Each was answered with yes.
    pub questions: Vec<String>,
}

impl Heard {
    /// Has a request done. `heard` hears of events as they happen.
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
                question.answer.send(Answer::Yes).unwrap();
            }
            Signal::Text(..)
            | Signal::Reasoning(..)
            | Signal::Waiting(..)
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

    /// How many events there were of a kind.
    pub fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|envelope| envelope.event.kind() == kind).count()
    }
}

/// Those who work for an actor, in the order in which they were hired.
pub fn hired(cell: &ActorCell) -> Vec<ActorCell> {
    let mut hired = cell.get_children();
    // Ids are given in the order of hiring.
    hired.sort_by_key(|cell| cell.get_id().pid());
    hired
}

/// Takes what nobody wants to know, so that nothing waits for it.
pub fn ignore(mut signals: Receiver<Signal>) {
    tokio::spawn(async move { while signals.recv().await.is_some() {} });
}
