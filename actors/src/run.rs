//! A run, as everybody who works in it holds it: what it keeps to, where its facts go, who admits its calls, and the one way
//! to do an effect.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use config::{Config, ModelRole};
use model::price::{PriceError, Prices};
use model::{AgentRole, ChatModel};
use policy::{PolicyError, Rules};
use sandbox::{Confining, Sandbox};
use shell::Environment;
use thiserror::Error;
use tokio::sync::watch;
use tools::clock::{Clock, IdSource, Timestamp};
use tools::redact::Redactor;

use crate::admission::Admission;
use crate::call::Caller;
use crate::closed::JournalClosed;
use crate::effect::Effect;
use crate::event::Event;
use crate::lane_id::LaneId;
use crate::prompts::Prompts;
use crate::publisher::{Attendance, Publisher, Written};
use crate::recording::Beyond;
use crate::scope::{Scope, Segment};
use crate::steering::Steering;

/// What a run keeps to from its beginning to its end.
#[derive(Clone)]
pub struct Terms {
    /// The configuration.
    pub config: Arc<Config>,
    /// What may be done.
    pub rules: Arc<Rules>,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// What is said to models.
    pub prompts: Arc<Prompts>,
}

/// Why a run cannot keep to a configuration.
#[derive(Debug, Error)]
pub enum TermsError {
    /// A rule of the policy is invalid.
    #[error("the policy is invalid")]
    Policy(#[from] PolicyError),
    /// The price table is invalid.
    #[error("the price table is invalid")]
    Prices(#[from] PriceError),
}

impl Terms {
    /// Compiles what a configuration says.
    pub fn new(config: Arc<Config>, prompts: Prompts) -> Result<Self, TermsError> {
        let rules = Arc::new(Rules::new(&config.policy, config.agent_loop.safety_gate)?);
        let prices = Arc::new(Prices::new(&config.llm.prices, &config.llm.peak)?);
        Ok(Self { config, rules, prices, prompts: Arc::new(prompts) })
    }
}

/// What the user said in words while a run was on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserWord {
    /// The answer to a question of a model.
    Answer {
        /// The question.
        question: String,
        /// The answer, if there was a user to give one.
        answer: Option<String>,
    },
    /// Why something must not happen that was asked for.
    Objection {
        /// A command, or the files of a change.
        to: String,
        /// The reason.
        words: String,
    },
}

/// Everything that belongs to a run, as one of its scopes has it. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    /// What it keeps to.
    pub terms: Terms,
    /// Where its facts go.
    pub publisher: Publisher,
    /// Who admits its model calls.
    pub admission: Admission,
    /// The session that it is part of.
    pub conversation: Arc<str>,
    /// The provider.
    pub model: Arc<dyn ChatModel>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from that are not recorded.
    pub ids: Arc<dyn IdSource>,
    /// What commands see of the environment.
    pub env: Environment,
    /// Takes secrets out of what is said, written down and shown.
    pub redactor: Redactor,
    /// How commands are confined.
    pub sandbox: Arc<Sandbox>,
    /// Where results of verification are kept between runs.
    pub cache: PathBuf,
    /// Whether the user can be asked.
    pub attendance: Attendance,
    /// When its time is over, if it is limited.
    pub until: Option<Timestamp>,
    /// What the user said in words.
    pub user_said: Arc<Mutex<Vec<UserWord>>>,
    /// What the user says while it is at work.
    pub steering: Steering,
    /// Says when the run is over, so that nobody waits for it any longer.
    pub stop: watch::Receiver<bool>,
}

impl Run {
    /// The same run as a part of it has it: its facts, calls and ids are told apart from those of others.
    #[must_use]
    pub fn at(&self, scope: &Scope) -> Self {
        let below = scope.segments().iter().skip(self.scope().segments().len());
        let publisher =
            below.fold(self.publisher.clone(), |above, segment| above.for_part(segment.clone()));
        let admission = self.admission.for_scope(publisher.scope().clone());
        Self { publisher, admission, ..self.clone() }
    }

    /// The same run as a lane of it has it.
    #[must_use]
    pub fn for_lane(&self, lane: LaneId) -> Self {
        self.at(&self.scope().within(Segment::Lane(lane)))
    }

    /// What it is: the run itself, or a part of it.
    pub const fn scope(&self) -> &Scope {
        self.publisher.scope()
    }

    /// Gives back what it did not use of its share of the budget. It makes no more calls.
    pub fn give_back(&self) {
        self.admission.take_back(self.scope().clone());
    }

    /// The configuration it keeps to.
    pub fn config(&self) -> &Config {
        &self.terms.config
    }

    /// What is said to models.
    pub fn prompts(&self) -> &Prompts {
        &self.terms.prompts
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.publisher.run()
    }

    /// A line to the model that is configured for a role.
    pub fn caller(&self, role: AgentRole) -> Caller {
        let llm = &self.terms.config.llm;
        let hire: &ModelRole = match role {
            AgentRole::Architect | AgentRole::LanePlanner | AgentRole::Researcher => {
                &llm.max_think_model
            }
            AgentRole::Editor | AgentRole::Analysis => &llm.base_model,
            AgentRole::Intent | AgentRole::Child => &llm.flash_model,
        };
        Caller { run: self.clone(), role, hire: hire.clone() }
    }

    /// How long a role may take for an answer.
    pub fn role_timeout(&self) -> Duration {
        Duration::from_secs(self.config().limits.role_timeout_seconds)
    }

    /// How far commands are confined here. The first time it is tried, which takes a moment.
    pub async fn confinement(&self) -> Confining {
        if let Some(level) = self.sandbox.known_level() {
            return level.clone();
        }
        let sandbox = Arc::clone(&self.sandbox);
        let tried = tokio::task::spawn_blocking(move || sandbox.level().clone());
        tried.await.unwrap_or(Confining::Off)
    }

    /// A new id: the one that is recorded here, or a fresh one.
    pub fn fresh_id(&self) -> String {
        self.publisher.recorded_id().unwrap_or_else(|| self.ids.fresh())
    }

    /// Does an effect: looks it up in what is recorded of this run, and does what is not. A run that is stopped waits for no
    /// record.
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

    /// Whether it is only compared with what is recorded, and never goes on behind that.
    pub fn only_compares(&self) -> bool {
        self.publisher.recording().is_some_and(|recording| recording.beyond() == Beyond::Stop)
    }

    /// Writes a fact and waits until it is on disk.
    pub async fn record(&self, event: Event) -> Result<Written, JournalClosed> {
        self.publisher.record(event).await
    }

    /// Writes a fact in its turn.
    pub async fn publish(&self, event: Event) -> Result<(), JournalClosed> {
        self.publisher.publish(event).await
    }
}
