//! One paid model call, from admission to settlement: reserved, journaled, made, retried within bounds, settled.
//!
//! Everything that talks to a model goes through here; nothing of a failed attempt gets into a dialogue.

use std::sync::Arc;
use std::time::Duration;

use config::ModelRole;
use thiserror::Error;
use tools::clock::{self, Clock};
use tools::model::price::Prices;
use tools::model::retry::{self, Retry, RetryPolicy};
use tools::model::{
    AgentRole, Awaited, ChatModel, ChatRequest, Delta, ModelError, ModelReply, Usage,
};

use crate::dialogue::Dialogue;
use crate::event::{Blob, Event};
use crate::ledger::{Amount, Ask, Unaffordable};
use crate::publisher::{JournalClosed, Publisher, Signal, Speaker, Written};
use crate::router::{Admission, AdmissionError, Router};
use crate::wording::Wording;

/// Why there is no answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum CallError {
    /// The call could not be paid.
    #[error(transparent)]
    Budget(Unaffordable),
    /// The model gave none, retries included.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The Router is gone or has no permit.
    #[error(transparent)]
    Router(AdmissionError),
    /// The journal is gone.
    #[error(transparent)]
    Journal(#[from] JournalClosed),
}

impl From<AdmissionError> for CallError {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Budget(refusal) => Self::Budget(refusal),
            AdmissionError::Stopped | AdmissionError::TimedOut => Self::Router(error),
        }
    }
}

/// A role's line to its model. Model, thinking and effort are fixed for its life.
#[derive(Clone)]
pub struct Caller {
    /// Who asks.
    pub role: AgentRole,
    /// The model that is hired for it.
    pub hire: ModelRole,
    /// The provider.
    pub model: Arc<dyn ChatModel>,
    /// Who admits.
    pub router: Router,
    /// Where facts go.
    pub publisher: Publisher,
    /// When to try again.
    pub retry: RetryPolicy,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Tokens of prompt and answer together that the model can hold.
    pub window: u64,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

impl Caller {
    /// Lets the model answer `dialogue`, and adds the answer to it.
    pub async fn ask(&self, dialogue: &mut Dialogue) -> Result<ModelReply, CallError> {
        let mut retries = 0;
        loop {
            match self.attempt(dialogue, retries).await? {
                Ok(reply) => {
                    dialogue.hear(&reply);
                    return Ok(reply);
                }
                // It was not the model's fault, and nobody has to be waited for.
                Err(ModelError::Lost) => {}
                Err(error) => {
                    let wait = match retry::next(&self.retry, &error, retries, clock::chance()) {
                        Retry::After(wait) => wait,
                        Retry::GiveUp => return Err(error.into()),
                    };
                    retries += 1;
                    if !self.publisher.follows() {
                        self.show_wait(&error, wait, retries);
                        tokio::time::sleep(wait).await;
                    }
                }
            }
        }
    }

    /// One attempt, journaled on both sides.
    async fn attempt(
        &self,
        dialogue: &Dialogue,
        retry: u32,
    ) -> Result<Result<ModelReply, ModelError>, CallError> {
        let mut request = self.request(dialogue);
        // A token is at least a byte, so the length of the body is a bound that can not be passed.
        let prompt_tokens = request.body().len() as u64;
        // The answer gets what the prompt, at four bytes a token, leaves of the window.
        let room = u32::try_from(self.window.saturating_sub(prompt_tokens / 4)).unwrap_or(u32::MAX);
        let ask = Ask { prompt_tokens, output_tokens: request.max_tokens.min(room.max(1)) };
        let recorded = self.recorded_request();
        let ask = recorded.as_ref().map_or(ask, |(ask, _)| *ask);
        let mut admission = self.router.admit(&request.model, ask).await?;
        let reservation = admission.reservation();
        request.max_tokens = reservation.output_tokens;
        let asked = Event::ModelRequest {
            call: reservation.id,
            role: self.role,
            model: request.model.clone(),
            max_tokens: request.max_tokens,
            retry,
            reserved: reservation.amount,
            body: recorded.map_or_else(|| Blob::new(request.body()), |(_, body)| body),
        };
        let outcome = match self.publisher.record(asked).await? {
            Written::Now(_) => {
                admission.sent();
                self.model.attempt(&request, &mut |delta| self.hear(&admission, delta)).await
            }
            Written::Before(_) => {
                let replied = replied(reservation.id);
                admission.sent();
                admission.presume(self.publisher.recorded_charge(reservation.id));
                if let Some((outcome, charged, reply)) = self.publisher.recall(replied).await {
                    admission.settle(charged);
                    self.publisher.publish(reply).await?;
                    return Ok(outcome);
                }
                Err(ModelError::Lost)
            }
        };
        self.settle(admission, &request.model, dialogue, &outcome).await?;
        Ok(outcome)
    }

    /// The request that is recorded next, where it is taken as it is: what it asked to be reserved, and its body.
    fn recorded_request(&self) -> Option<(Ask, Blob)> {
        if !self.publisher.takes_requests() {
            return None;
        }
        self.publisher.recorded_next(|event| {
            let Event::ModelRequest { max_tokens, reserved, body, .. } = event else { return None };
            let prompt_tokens = reserved.tokens.saturating_sub(u64::from(*max_tokens));
            Some((Ask { prompt_tokens, output_tokens: *max_tokens }, body.clone()))
        })
    }

    fn request(&self, dialogue: &Dialogue) -> ChatRequest {
        ChatRequest {
            role: self.role,
            run: self.publisher.run().to_owned(),
            lane: self.publisher.lane().map(|lane| lane.to_string()),
            model: self.hire.model.clone(),
            thinking: self.hire.thinking.then_some(self.hire.effort),
            max_tokens: self.hire.max_output_tokens,
            messages: dialogue.messages().to_vec(),
        }
    }

    const fn speaker(&self) -> Speaker {
        Speaker { role: self.role, lane: self.publisher.lane() }
    }

    /// Passes a piece of the answer on to the screen, and counts it.
    fn hear(&self, admission: &Admission, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                admission.count(text.len());
                self.publisher.show(Signal::Text(self.speaker(), text));
            }
            Delta::Reasoning(text) => {
                admission.count(text.len());
                self.publisher.show(Signal::Reasoning(self.speaker(), text));
            }
            Delta::KeepAlive => {
                self.publisher.show_wait("the provider has queued the call");
            }
        }
    }

    /// Settles the ledger and journals what came of the attempt.
    async fn settle(
        &self,
        admission: Admission,
        model: &str,
        dialogue: &Dialogue,
        outcome: &Result<ModelReply, ModelError>,
    ) -> Result<(), JournalClosed> {
        let usage = match outcome {
            Ok(reply) => reply.usage,
            Err(error) => error.usage(),
        };
        let cost = self.prices.cost(model, usage, self.clock.now());
        let charged = match (usage, outcome) {
            (Some(usage), _) => {
                Amount { nano_usd: cost.unwrap_or_default(), tokens: usage.total(), calls: 1 }
            }
            (None, Err(ModelError::Lost)) => admission.reservation().amount,
            // Refused before an answer began: the provider counts nothing. Where it only kept silent, it may.
            (None, Err(error)) if !error.answer_started() && !kept_silent(error) => {
                Amount { calls: 1, ..Amount::default() }
            }
            (None, _) => admission.worst_so_far(),
        };
        let call = admission.reservation().id;
        let answer =
            outcome.as_ref().ok().and_then(|reply| serde_json::to_vec(reply).ok()).map(Blob::new);
        let (name, message) = match outcome {
            Ok(_) => ("ok".to_owned(), None),
            Err(error) => (error.class().name().to_owned(), Some(Wording::of(error))),
        };
        let reply = Event::ModelReply {
            call,
            role: self.role,
            outcome: name,
            message,
            error: outcome.as_ref().err().cloned(),
            usage,
            cost_nano_usd: cost,
            charged,
            avoidable_misses: usage.map_or(0, |usage| avoidable(&usage, dialogue.sent_tokens())),
            answer,
        };
        admission.settle(charged);
        self.publisher.publish(reply).await
    }

    fn show_wait(&self, error: &ModelError, wait: Duration, retries: u32) {
        let seconds = wait.as_secs_f64();
        let why = format!(
            "{error}; try {} of {} in {seconds:.1} s",
            retries + 1,
            self.retry.max_retries + 1
        );
        self.publisher.show_wait(why);
    }
}

/// Finds what is recorded of a call: what came of it, and what was charged for it.
fn replied(id: u64) -> impl Fn(&Event) -> Option<(Result<ModelReply, ModelError>, Amount, Event)> {
    move |event| {
        if let Event::ModelReply { call, answer, error, charged, .. } = event
            && *call == id
        {
            let answer = answer.as_ref().and_then(|it| serde_json::from_slice(&it.content).ok());
            let outcome = match (answer, error) {
                (Some(reply), _) => Ok(reply),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => return None,
            };
            Some((outcome, *charged, event.clone()))
        } else {
            None
        }
    }
}

/// Whether the request was taken and nothing was heard of it in time.
fn kept_silent(error: &ModelError) -> bool {
    matches!(error, ModelError::TimedOut { what, .. } if *what != Awaited::Connection)
}

/// Prompt tokens that this role had sent before and the cache did not have.
const fn avoidable(usage: &Usage, sent_before: u64) -> u64 {
    let known = if sent_before < usage.prompt { sent_before } else { usage.prompt };
    known.saturating_sub(usage.hit)
}
