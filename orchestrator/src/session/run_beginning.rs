//! Replaying and resuming runs: what a run begins with, how far its replay is, and its recorded end.

use std::sync::Arc;
use std::time::Duration;

use actors::run::publisher::Publisher;
use actors::run::recording::{AtRecordingEnd, Recording};
use actors::run::terms::{Terms, TermsError};
use config::Config;
use facts::delivery::Delivery;
use facts::event::{Blob, Event};
use policy::PolicyRules;
use ractor::ActorRef;
use tools::redact::Redactor;

use crate::root::ending::journal_closed;
use crate::root::{Msg, News, State};
use crate::session::past_requests::RecordedRun;

/// What a run begins with.
pub(crate) struct RunBeginning {
    pub(crate) id: String,
    pub(crate) terms: Terms,
    /// The current rules, for a resumed run: what they deny since it began is denied.
    pub(crate) current_rules: Option<Arc<PolicyRules>>,
    pub(crate) publisher: Publisher,
    pub(crate) redactor: Redactor,
    /// How long it has worked before.
    pub(crate) elapsed: Duration,
}

impl RunBeginning {
    pub(crate) fn new(state: &State) -> Self {
        let id = state.idle.ids.fresh();
        Self {
            publisher: state.idle.publisher.for_run(&id),
            id,
            terms: state.idle.terms.clone(),
            redactor: state.idle.redactor.clone(),
            current_rules: None,
            elapsed: Duration::ZERO,
        }
    }

    pub(crate) fn recorded(state: &State, recorded: RecordedRun) -> Self {
        let RecordedRun { run: id, terms, salt, secrets, recording, elapsed } = recorded;
        let redactor = state.idle.redactor.salted(&salt).knowing(secrets);
        let current_rules = Some(Arc::clone(&state.idle.terms.rules));
        let publisher = state.idle.publisher.for_run(&id).following(recording);
        Self { id, terms, current_rules, publisher, redactor, elapsed }
    }
}

/// How far a run is in its recording.
pub(crate) enum Progress {
    /// Past the recording, or nothing is recorded.
    Live,
    /// Only compared with its recording.
    AsRecorded,
    /// Resumed, and still following its recording.
    OnTheWay,
    /// Resumed, and differs from its recording.
    Astray(String),
}

pub(crate) fn progress(publisher: &Publisher) -> Progress {
    let Some(recording) = publisher.recording() else { return Progress::Live };
    match (recording.at_end(), recording.difference()) {
        (AtRecordingEnd::Stop, _) => Progress::AsRecorded,
        (AtRecordingEnd::GoOn, None) if recording.is_all_over() => Progress::Live,
        (AtRecordingEnd::GoOn, None) => Progress::OnTheWay,
        (AtRecordingEnd::GoOn, Some(difference)) => {
            Progress::Astray(format!("the run cannot be resumed: {difference}"))
        }
    }
}

/// How long to wait for lanes that still follow their recordings before checking again.
const CATCHING_UP: Duration = Duration::from_millis(500);

impl State {
    /// Makes runs that begin from now on use another configuration, which is recorded for their replay.
    pub(crate) async fn keep_to(&mut self, config: Arc<Config>) -> Result<(), TermsError> {
        let recorded = Blob::new(config::to_record(&config));
        self.idle.terms = Terms::new(config, self.idle.terms.prompts.as_ref().clone())?;
        // A closed journal will end the next request.
        self.idle.publisher.publish(Event::ConfigurationChanged { config: recorded }).await.ok();
        Ok(())
    }

    /// Stops the current run from outside. Lanes of a resumed run first reach the end of their recordings, each on its
    /// own: their spending is only counted then.
    pub(crate) fn stop(&mut self, myself: &ActorRef<Msg>, why: Delivery) {
        let Some(active) = self.active() else { return };
        let recording = active.run.publisher.recording().cloned();
        let catches_up = |recording: &Arc<Recording>| {
            recording.is_over() && !recording.is_all_over() && recording.difference().is_none()
        };
        let Some(recording) = recording.filter(catches_up) else {
            self.end(myself, why.into());
            return;
        };
        self.start_work(myself, async move {
            recording.all_over_within(CATCHING_UP).await;
            News::Stop(why)
        });
    }

    /// Ends a replayed run at the point where it was ended from outside.
    pub(crate) fn end_as_recorded(&mut self, myself: &ActorRef<Msg>) {
        let Some(active) = self.active() else { return };
        let Some(recording) = active.run.publisher.recording().cloned() else { return };
        let patience = Duration::from_secs(active.run.config().limits.replay_timeout_seconds);
        let ended = async move {
            Box::new(News::Stop(tokio::select! {
                biased;
                () = recording.all_over() => std::future::pending().await,
                why = recording.stopped() => why,
                () = recording.stands_still(patience) => journal_closed().delivery,
            }))
        };
        self.workers.expect(myself, ended, Msg::Worked);
    }
}
