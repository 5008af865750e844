//! The context of a run, shared by everything that works in it: its terms, its publisher, its admission, and the only
//! way to perform an effect.
//!
//! What only one role does, or only one kind of look, does not belong here.

pub mod always_allowed;
pub mod command_runner;
pub mod effect;
pub mod file_reader;
pub mod offline;
pub mod publisher;
pub mod recording;
pub mod server_tools;
pub mod staged;
pub mod terms;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trace;
pub mod workspace;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use config::Config;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::lane_id::LaneId;
use facts::scope::{Scope, Segment};
use facts::signal::Attendance;
use model::ChatModel;
use sandbox::{ConfinementLevel, Degree, Sandbox};
use shell::{CommandOutcome, Environment};
use tokio::sync::watch;
use tools::blocking::on_a_thread;
use tools::clock::{Clock, IdSource, Timestamp};
use tools::redact::Redactor;

use crate::calls::admission::Admission;
use crate::calls::steering::Steering;
use crate::mailbox::{WaitLog, Waits};
use crate::run::effect::Effect;
use crate::run::offline::Offline;
use crate::run::publisher::{EventWritten, Publisher};
use crate::run::recording::AtRecordingEnd;
use crate::run::server_tools::ServerTools;
use crate::run::terms::Terms;
use crate::talk::prompts::Prompts;

/// A statement of the user during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserWord {
    /// The answer to a question of a model.
    Answer {
        /// The question.
        question: String,
        /// The answer; `None` if no user was present.
        answer: Option<String>,
    },
    /// Why the user denied something.
    Objection {
        /// A command, or the files of a change.
        to: String,
        /// The reason.
        words: String,
    },
    /// A message to the active run.
    Said {
        /// The message.
        words: String,
    },
}

/// Everything that belongs to a run, for one of its scopes. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    /// Its settings.
    pub terms: Terms,
    /// Publishes its events.
    pub publisher: Publisher,
    /// Admits its model calls.
    pub admission: Admission,
    /// The id of the session.
    pub conversation: Arc<str>,
    /// The provider.
    pub model: Arc<dyn ChatModel>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The source of new ids.
    pub ids: Arc<dyn IdSource>,
    /// The environment of commands.
    pub env: Environment,
    /// Masks secrets in everything that is sent, stored or shown.
    pub redactor: Redactor,
    /// How commands are confined.
    pub sandbox: Arc<Sandbox>,
    /// Servers of tools, and which tools this request has found.
    pub server_tools: ServerTools,
    /// The directory for verification results that are kept between runs.
    pub cache: PathBuf,
    /// Whether the user can be asked.
    pub attendance: Attendance,
    /// The deadline of the run; `None` if its time is not limited.
    pub until: Option<Timestamp>,
    /// What the user said in answer to questions.
    pub user_said: Arc<Mutex<Vec<UserWord>>>,
    /// Messages that the user sends while the run is active.
    pub steering: Steering,
    /// How waiting appears in the log.
    pub wait_log: WaitLog,
    /// What it does without a network.
    pub offline: Offline,
    /// Becomes true when the run has ended, so that nothing waits for it any longer.
    pub stop: watch::Receiver<bool>,
}

impl Run {
    /// Returns the context for a part of the run: its events, calls and ids are kept apart from those of other parts.
    #[must_use]
    pub fn at(&self, scope: &Scope) -> Self {
        let below = scope.segments().iter().skip(self.scope().segments().len());
        let publisher =
            below.fold(self.publisher.clone(), |above, segment| above.for_part(segment.clone()));
        let admission = self.admission.for_scope(publisher.scope().clone());
        Self { publisher, admission, ..self.clone() }
    }

    /// Returns the context for a lane. Like all long work, it waits for a network.
    #[must_use]
    pub fn for_lane(&self, lane: LaneId) -> Self {
        let mut of_lane = self.at(&self.scope().within(Segment::Lane(lane)));
        of_lane.offline.waits = true;
        of_lane
    }

    /// Returns the scope: the run itself, or a part of it.
    pub const fn scope(&self) -> &Scope {
        self.publisher.scope()
    }

    /// Returns the unused share of the budget. The part must make no more calls.
    pub fn give_back(&self) {
        self.admission.take_back(self.scope().clone());
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.terms.config
    }

    /// Returns the prompts.
    pub fn prompts(&self) -> &Prompts {
        &self.terms.prompts
    }

    /// Returns the id of the run.
    pub fn id(&self) -> &str {
        self.publisher.run()
    }

    /// Returns how waiting for what works for this part of the run appears in the log.
    pub fn waits(&self, whom: &'static str) -> Waits {
        self.wait_log.of(whom, self.scope())
    }

    /// Returns the time limit of a role's answer.
    pub fn role_timeout(&self) -> Duration {
        Duration::from_secs(self.config().limits.role_timeout_seconds)
    }

    /// Returns how far commands are confined here. The first call has to try it out, which takes a moment.
    pub async fn confinement(&self) -> ConfinementLevel {
        if let Some(level) = self.sandbox.known_level() {
            return level.clone();
        }
        let sandbox = Arc::clone(&self.sandbox);
        let tried = tokio::task::spawn_blocking(move || sandbox.level().clone());
        tried.await.unwrap_or(ConfinementLevel::Off)
    }

    /// Lowers the level of confinement if full confinement could not be set up for a command. Returns whether it is lower now.
    pub async fn fall(&self, outcome: &CommandOutcome) -> bool {
        let failure = outcome.walls_failed.clone().filter(|_| outcome.confined == Degree::Full);
        let Some(failure) = failure else { return false };
        let sandbox = Arc::clone(&self.sandbox);
        let level = on_a_thread(move || sandbox.fall(failure)).await;
        self.publisher.tell_confined(level).await;
        true
    }

    /// Returns a new id: the recorded one in a replay, otherwise a fresh one.
    pub fn fresh_id(&self) -> String {
        self.publisher.recorded_id().unwrap_or_else(|| self.ids.fresh())
    }

    /// Performs an effect: takes its result from the recording, or performs it if it is not recorded. Once the run is
    /// stopped, it no longer waits for the recording.
    pub async fn perform<E: Effect>(&self, effect: &mut E) -> Result<E::Outcome, E::Stop> {
        if let Some(recording) = self.publisher.recording() {
            let mut stop = self.stop.clone();
            let recalled = tokio::select! {
                biased;
                recalled = recording.recall(effect) => recalled,
                _ = stop.wait_for(|stopped| *stopped) => return Err(JournalClosed.into()),
            };
            if let Some(outcome) = recalled {
                return Ok(outcome);
            }
        }
        effect.act(self).await
    }

    /// Returns true for a replay that only compares and never continues past the recording.
    pub fn only_compares(&self) -> bool {
        self.publisher
            .recording()
            .is_some_and(|recording| recording.at_end() == AtRecordingEnd::Stop)
    }

    /// Writes an event and waits until it is on disk.
    pub async fn record(&self, event: Event) -> Result<EventWritten, JournalClosed> {
        self.publisher.record(event).await
    }

    /// Writes an event in order, without waiting for the disk.
    pub async fn publish(&self, event: Event) -> Result<(), JournalClosed> {
        self.publisher.publish(event).await
    }
}
