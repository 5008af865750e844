//! A run that is driven again: what it begins with, where it is on its way, and the end it had.

use std::sync::Arc;
use std::time::Duration;

use actors::delivery::Delivery;
use actors::event::{Blob, Event};
use actors::publisher::Publisher;
use actors::recording::{Beyond, Recording};
use actors::run::{Terms, TermsError};
use config::Config;
use policy::Rules;
use ractor::ActorRef;
use tools::redact::Redactor;

use super::end::journal_closed;
use super::{Msg, State};
use crate::earlier::Again;

/// What a run begins with.
pub(super) struct Beginning {
    pub(super) id: String,
    pub(super) terms: Terms,
    /// What was forbidden since it began before.
    pub(super) bars: Option<Arc<Rules>>,
    pub(super) publisher: Publisher,
    pub(super) redactor: Redactor,
    /// How long it had worked before.
    pub(super) elapsed: Duration,
}

impl Beginning {
    pub(super) fn new(state: &State) -> Self {
        let id = state.idle.ids.fresh();
        Self {
            publisher: state.idle.publisher.for_run(&id),
            id,
            terms: state.idle.terms.clone(),
            redactor: state.idle.redactor.clone(),
            bars: None,
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn again(state: &State, again: Again) -> Self {
        let Again { run: id, terms, salt, secrets, recording, elapsed } = again;
        let redactor = state.idle.redactor.salted(&salt).knowing(secrets);
        let bars = Some(Arc::clone(&state.idle.terms.rules));
        let publisher = state.idle.publisher.for_run(&id).following(recording);
        Self { id, terms, bars, publisher, redactor, elapsed }
    }
}

/// Where a run is that is driven.
pub(super) enum Progress {
    /// Nothing is recorded of it.
    Live,
    /// It is only compared with its record.
    AsRecorded,
    /// It is taken up, and what is recorded is not followed to its end yet.
    OnTheWay,
    /// It is taken up, and did something else than is recorded.
    Astray(String),
}

pub(super) fn progress(publisher: &Publisher) -> Progress {
    let Some(recording) = publisher.recording() else { return Progress::Live };
    match (recording.beyond(), recording.difference()) {
        (Beyond::Stop, _) => Progress::AsRecorded,
        (Beyond::GoOn, None) if recording.is_all_over() => Progress::Live,
        (Beyond::GoOn, None) => Progress::OnTheWay,
        (Beyond::GoOn, Some(difference)) => {
            Progress::Astray(format!("the run cannot be taken up: {difference}"))
        }
    }
}

/// How long lanes that catch up with what is recorded of them are waited for, before it is looked again.
const CATCHING_UP: Duration = Duration::from_millis(500);

impl State {
    /// Has runs that begin from now on keep to another configuration, which is written down for when they are driven again.
    pub(super) async fn keep_to(&mut self, config: Arc<Config>) -> Result<(), TermsError> {
        let recorded = Blob::new(config::to_record(&config));
        self.idle.terms = Terms::new(config, self.idle.terms.prompts.as_ref().clone())?;
        // A journal that is gone ends the next request.
        self.idle.publisher.publish(Event::ConfigurationChanged { config: recorded }).await.ok();
        Ok(())
    }

    /// Stops the run in hand, from outside. Lanes that go on come to the end of what is recorded of them first, each for itself:
    /// what was spent is counted only then.
    pub(super) async fn stop(&mut self, myself: &ActorRef<Msg>, why: Delivery) {
        let Some(active) = &self.active else { return };
        let recording = active.run.publisher.recording().cloned();
        let catches_up = |recording: &Arc<Recording>| {
            recording.is_over() && !recording.is_all_over() && recording.difference().is_none()
        };
        let behind = recording.filter(catches_up);
        let Some(recording) = behind else {
            self.end(why.into()).await;
            return;
        };
        let (me, run) = (myself.clone(), Some(active.run.id().to_owned()));
        tokio::spawn(async move {
            tokio::time::timeout(CATCHING_UP, recording.all_over()).await.ok();
            // An orchestrator that is gone has nothing left to stop.
            me.cast(Msg::Cancel { run, why }).ok();
        });
    }

    /// Ends a run that is driven again where it was ended from outside.
    pub(super) fn end_as_recorded(&self, myself: &ActorRef<Msg>) {
        let Some(active) = &self.active else { return };
        let Some(recording) = active.run.publisher.recording().cloned() else { return };
        let (me, run) = (myself.clone(), active.run.id().to_owned());
        let patience = Duration::from_secs(active.run.config().limits.replay_timeout_seconds);
        tokio::spawn(async move {
            let why = tokio::select! {
                biased;
                () = recording.all_over() => return,
                why = recording.stopped() => why,
                () = recording.stands_still(patience) => journal_closed().delivery,
            };
            // An orchestrator that is gone has nothing left to stop.
            me.cast(Msg::Cancel { run: Some(run), why }).ok();
        });
    }
}
