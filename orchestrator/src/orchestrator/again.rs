//! A run that is driven again: what it begins with, where it is on its way, and the end it had.

use std::sync::Arc;
use std::time::Duration;

use actors::publisher::Publisher;
use actors::recording::Beyond;
use ractor::ActorRef;
use tools::clock::IdSource;

use super::gate::ids_of;
use super::run::journal_closed;
use super::{Msg, State};
use crate::earlier::Again;
use crate::request::Terms;

/// What a run begins with.
pub(super) struct Beginning {
    pub(super) run: String,
    pub(super) terms: Terms,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) publisher: Publisher,
    /// How long it had worked before.
    pub(super) elapsed: Duration,
}

impl Beginning {
    pub(super) fn new(state: &State) -> Self {
        let run = state.setup.ids.fresh();
        Self {
            publisher: state.publisher.for_run(&run),
            run,
            terms: state.terms.clone(),
            ids: Arc::clone(&state.setup.ids),
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn again(state: &State, again: Again) -> Self {
        let Again { run, mut terms, recording, elapsed } = again;
        terms.bars = Some(Arc::clone(&state.terms.rules));
        let publisher = state.publisher.for_run(&run).following(recording);
        let ids = ids_of(&publisher, &state.setup.ids);
        Self { run, terms, ids, publisher, elapsed }
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
            Progress::Astray(format!("the run can not be taken up: {difference}"))
        }
    }
}

impl State {
    /// Ends a run that is driven again where it was ended from outside.
    pub(super) fn end_as_recorded(&self, myself: &ActorRef<Msg>) {
        let Some(active) = &self.active else { return };
        let Some(recording) = active.publisher.recording().cloned() else { return };
        let (me, run) = (myself.clone(), active.id.clone());
        let patience = Duration::from_secs(active.terms.config.limits.replay_timeout_seconds);
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
