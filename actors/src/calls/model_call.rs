//! One paid model call, from permit to settlement: reserve, journal, send, retry within bounds, settle.
//!
//! Every model request goes through this module; a failed attempt leaves nothing in the dialogue.

mod arrived;
mod last_look;
mod waiting;

use std::sync::Arc;

use checks::wording::Wording;
use config::{ModelRole, Parameter};
use facts::amounts::{Amount, Charge, Unaffordable};
use facts::breach::Breach;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event, RequestTerms};
use facts::signal::{Signal, Speaker};
use model::{
    AgentRole, BYTES_PER_TOKEN, ChatMessage, ChatRequest, ModelError, ModelReply, ReplyDelta,
    SpokenDialect, ToolChoice, Usage, takes_images,
};
use thiserror::Error;

use self::arrived::{answer_began, cut_reply, kept_silent};
use self::last_look::breach;
use self::waiting::FailedCalls;
use crate::calls::admission::{AdmissionError, Pace, Permit};
use crate::calls::ledger::{Ask, Reservation};
use crate::run::Run;
use crate::run::effect::{Effect, Trace};
use crate::run::publisher::EventWritten;
use crate::run::terms::settings_of;
use crate::talk::brief::{images_shown, images_unseen};
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::Prompts;

/// Why there is no answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum CallError {
    /// The budget does not cover the call.
    #[error(transparent)]
    Budget(Unaffordable),
    /// The model gave no answer, retries included.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Admission has stopped or has no permit.
    #[error(transparent)]
    Admission(AdmissionError),
    /// The request differs from the terms of the run, and was not sent.
    #[error(transparent)]
    Breach(Breach),
    /// The journal is closed.
    #[error(transparent)]
    Journal(#[from] JournalClosed),
}

impl From<AdmissionError> for CallError {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Budget(refusal) => Self::Budget(refusal),
            AdmissionError::Stopped | AdmissionError::TimedOut => Self::Admission(error),
        }
    }
}

/// How many tokens an answer may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLength {
    /// The limit configured for the role.
    Usual,
    /// Twice that, after an answer ran into the limit.
    Double,
    /// A single token: the call only warms the provider's prompt cache, and its answer is ignored.
    Token,
}

/// What an answer may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Its maximum length.
    pub length: AnswerLength,
    /// Whether it may call the offered tools.
    pub tools: ToolChoice,
}

impl AnswerLimits {
    /// The default.
    pub const USUAL: Self = Self { length: AnswerLength::Usual, tools: ToolChoice::Auto };
}

/// What comments in a stream mean: that a call is queued would have to be said.
const KEPT_OPEN: &str = "the provider keeps the connection open and has not answered yet";

/// The provider's maximum number of output tokens.
const MAX_OUTPUT_TOKENS: u32 = 393_216;

/// Makes the model calls of a role. Model, thinking and effort are fixed for the lifetime of the caller.
#[derive(Clone)]
pub struct Caller {
    /// The run it belongs to.
    pub run: Run,
    /// The role that asks.
    pub role: AgentRole,
    /// The configured model of the role.
    pub settings: ModelRole,
}

impl Caller {
    /// Creates a caller for the model that is configured for a role.
    pub fn of(run: &Run, role: AgentRole) -> Self {
        let settings = settings_of(&run.config().llm, role).clone();
        Self { run: run.clone(), role, settings }
    }

    /// Returns the prompts of the run.
    pub fn prompts(&self) -> &Prompts {
        self.run.prompts()
    }

    /// Has the model answer `dialogue`, and appends the answer to it.
    pub async fn ask(&self, dialogue: &mut Dialogue) -> Result<ModelReply, CallError> {
        self.ask_with(dialogue, AnswerLimits::USUAL).await
    }

    /// Like [`ask`](Self::ask), with this limits for the answer.
    pub async fn ask_with(
        &self,
        dialogue: &mut Dialogue,
        limits: AnswerLimits,
    ) -> Result<ModelReply, CallError> {
        let (mut retries, mut failed) = (0, FailedCalls::default());
        let mut corrected: Option<SpokenDialect> = None;
        loop {
            let spoken = self.spoken(corrected.as_ref());
            failed.follows = self.run.publisher.follows();
            let (call, outcome) = self.attempt(dialogue, limits, (retries, &spoken)).await?;
            match outcome {
                Ok(reply) => {
                    if corrected.is_some() {
                        self.run.model.remember(&self.settings.model, &spoken);
                    }
                    dialogue.hear(call, &reply);
                    return Ok(reply);
                }
                // The model is not at fault, so there is no reason to wait.
                Err(ModelError::Lost) => {}
                Err(error) => {
                    let sent = self.request(dialogue, limits, &spoken).parameters();
                    let max_tokens = self.max_tokens(limits.length, &spoken);
                    if let Some(without) = spoken.corrected(&error, &sent, max_tokens) {
                        if without.refused.contains(&Parameter::Tools)
                            && !dialogue.tools().is_empty()
                        {
                            // The question itself must say how to call tools without them.
                            self.run.model.remember(&self.settings.model, &without);
                            return Err(error.into());
                        }
                        self.run
                            .publisher
                            .show_wait(format!("{error}; asked again {}", without.says()));
                        corrected = Some(without);
                        continue;
                    }
                    retries += 1;
                    self.wait(error, &mut failed).await?;
                }
            }
        }
    }

    /// Returns true if the server does not take tools.
    pub fn lacks_tools(&self) -> bool {
        self.spoken(None).refused.contains(&Parameter::Tools)
    }

    /// Returns the dialect of the next attempt: the recorded one, the one just corrected, or the one of the server.
    fn spoken(&self, corrected: Option<&SpokenDialect>) -> SpokenDialect {
        let recorded = self.run.publisher.recorded_next(|event| {
            let Event::ModelRequest { terms, .. } = event else { return None };
            Some(terms.as_ref().map_or_else(SpokenDialect::default, |terms| terms.dialect.clone()))
        });
        let corrected = || corrected.cloned();
        recorded.or_else(corrected).unwrap_or_else(|| self.run.model.dialect(&self.settings.model))
    }

    /// Makes one attempt, journaled before and after. Returns the number of the call, and its outcome.
    async fn attempt(
        &self,
        dialogue: &Dialogue,
        limits: AnswerLimits,
        (retry, spoken): (u32, &SpokenDialect),
    ) -> Result<(u64, Result<ModelReply, ModelError>), CallError> {
        if self.run.publisher.follows() {
            // Whatever ended the recorded call, such as the time limit, gets a chance to be noticed first.
            tokio::task::yield_now().await;
        }
        let mut request = self.request(dialogue, limits, spoken);
        let breach = breach(&self.run.terms, self.role, &self.settings, &request.tools);
        if let Some(breach) = breach.filter(|_| !self.run.publisher.follows()) {
            let (role, terms) = (self.role, self.terms_of(&request, spoken));
            let blocked = Event::RequestBlocked { role, terms, breach: breach.clone() };
            self.run.publish(blocked).await?;
            return Err(CallError::Breach(breach));
        }
        let window = self.run.config().llm.context_window(&self.settings.model);
        let estimated = request.prompt_tokens().estimated;
        if estimated >= window && !self.run.publisher.follows() {
            let message = format!(
                "the prompt has about {estimated} tokens, and {} takes {window} with the answer; nothing was sent",
                request.model
            );
            return Err(ModelError::ContextTooLong { message }.into());
        }
        let recorded = self.recorded_request();
        let ask = recorded.as_ref().map_or_else(|| self.reserves(&request), |(ask, _)| *ask);
        let mut permit = self.run.admission.admit(&request.model, ask).await?;
        let reservation = permit.reservation();
        request.max_tokens = reservation.output_tokens;
        request.max_bytes = max_bytes(&request, &reservation);
        let asked = Event::ModelRequest {
            call: reservation.id,
            role: self.role,
            conversation: self.run.conversation.to_string(),
            model: request.model.clone(),
            max_tokens: request.max_tokens,
            retry,
            reserved: reservation.amount,
            terms: Some(self.terms_of(&request, spoken)),
            body: recorded.and_then(|(_, body)| body).unwrap_or_else(|| Blob::new(request.body())),
        };
        let begun = matches!(self.run.record(asked).await?, EventWritten::Before(_));
        permit.sent();
        if begun {
            permit.presume(self.run.publisher.recorded_charge(reservation.id));
        }
        let (caller, permit) = (self, Some(permit));
        let mut call = Call { caller, request, dialogue, permit, begun };
        let Answered { outcome, charge } = self.run.perform(&mut call).await?;
        if let Some(permit) = call.permit {
            permit.settle(charge);
        }
        Ok((reservation.id, outcome))
    }

    /// Returns the reservation that a request needs.
    fn reserves(&self, request: &ChatRequest) -> Ask {
        let window = self.run.config().llm.context_window(&self.settings.model);
        let prompt = request.prompt_tokens();
        // The answer gets what the prompt is estimated to leave of the context window.
        let left = window.saturating_sub(prompt.estimated);
        let room = u32::try_from(left).unwrap_or(u32::MAX);
        let output_tokens = request.max_tokens.min(room.max(1));
        Ask {
            prompt_tokens: prompt.most,
            output_tokens,
            reasons: request.thinking.is_some(),
            was_granted: false,
        }
    }

    /// Returns what is reused from the next recorded request: its reservation and, for older formats, its body.
    fn recorded_request(&self) -> Option<(Ask, Option<Blob>)> {
        // Child questions run concurrently, so what the budget leaves for each depends on timing.
        let is_child = self.run.scope().child().is_some();
        let takes_body = self.run.publisher.takes_requests();
        if !is_child && !takes_body {
            return None;
        }
        self.run.publisher.recorded_next(|event| {
            let Event::ModelRequest { max_tokens, reserved, body, .. } = event else { return None };
            let prompt_tokens = reserved.tokens.saturating_sub(u64::from(*max_tokens));
            let (output_tokens, reasons) = (*max_tokens, reserved.reasoning > 0);
            let ask = Ask { prompt_tokens, output_tokens, reasons, was_granted: is_child };
            Some((ask, takes_body.then(|| body.clone())))
        })
    }

    /// Returns the length limit of an answer, in tokens.
    fn max_tokens(&self, length: AnswerLength, spoken: &SpokenDialect) -> u32 {
        let usual = self.settings.max_output_tokens;
        let wanted = match length {
            AnswerLength::Usual => usual,
            AnswerLength::Double => usual.saturating_mul(2).min(MAX_OUTPUT_TOKENS.max(usual)),
            AnswerLength::Token => 1,
        };
        wanted.min(spoken.most_tokens.unwrap_or(u32::MAX))
    }

    fn request(
        &self,
        dialogue: &Dialogue,
        limits: AnswerLimits,
        spoken: &SpokenDialect,
    ) -> ChatRequest {
        let max_tokens = self.max_tokens(limits.length, spoken);
        ChatRequest {
            role: self.role,
            run: self.run.id().to_owned(),
            lane: self.run.scope().lane().map(|lane| lane.to_string()),
            model: self.settings.model.clone(),
            thinking: self.settings.thinking.then_some(self.settings.effort),
            max_tokens,
            max_bytes: u64::from(max_tokens).saturating_mul(BYTES_PER_TOKEN),
            tools: dialogue.tools().to_vec(),
            tool_choice: limits.tools,
            dialect: Arc::new(spoken.in_full(&self.run.config().llm)),
            messages: dialogue.messages().iter().map(|message| self.seen(message)).collect(),
        }
    }

    /// Returns a message as the model sees it: with the names of its images, and with the images if it takes any.
    fn seen(&self, message: &ChatMessage) -> ChatMessage {
        match message {
            ChatMessage::User { content, images } if !images.is_empty() => {
                let titles: Vec<&str> = images.iter().map(|image| image.title.as_str()).collect();
                let (told, images) =
                    if takes_images(&self.run.config().llm.images, &self.settings.model) {
                        (images_shown(self.prompts(), &titles), images.clone())
                    } else {
                        (images_unseen(self.prompts(), &titles), Vec::new())
                    };
                ChatMessage::User { content: format!("{content}\n\n{told}"), images }
            }
            ChatMessage::System { .. }
            | ChatMessage::User { .. }
            | ChatMessage::Assistant { .. }
            | ChatMessage::Tool { .. } => message.clone(),
        }
    }

    /// Returns the terms of a request: only the user decides about mode and reasoning.
    fn terms_of(&self, request: &ChatRequest, spoken: &SpokenDialect) -> RequestTerms {
        RequestTerms {
            user_mode: self.run.config().policy.mode,
            reasoning_enabled: request.thinking.is_some(),
            tool_count: request.tools.len(),
            tool_choice: request.tool_choice,
            dialect: spoken.clone(),
        }
    }

    fn speaker(&self) -> Speaker {
        Speaker { role: self.role, scope: self.run.scope().clone() }
    }

    /// Shows a piece of the answer on the screen, and counts it.
    fn hear(&self, permit: &Permit, delta: ReplyDelta) {
        match delta {
            ReplyDelta::Text(text) => {
                permit.count(text.len());
                self.run.publisher.show(Signal::Text(self.speaker(), text));
            }
            ReplyDelta::Reasoning(text) => {
                permit.count(text.len());
                self.run.publisher.show(Signal::Reasoning(self.speaker(), text));
            }
            ReplyDelta::Hidden(bytes) => permit.count(bytes),
            ReplyDelta::KeepAlive => {
                self.run.publisher.show_wait(KEPT_OPEN);
            }
        }
    }
}

/// The effect of a journaled request: the model answers it.
struct Call<'c> {
    caller: &'c Caller,
    request: ChatRequest,
    dialogue: &'c Dialogue,
    /// Taken and settled when the outcome is known.
    permit: Option<Permit>,
    /// True if the request is already recorded; if its reply is not, the reply was lost.
    begun: bool,
}

/// The outcome of a call, and its charge.
struct Answered {
    outcome: Result<ModelReply, ModelError>,
    charge: Charge,
}

impl Effect for Call<'_> {
    type Outcome = Answered;
    type Stop = CallError;

    fn look(&mut self, event: &Event) -> Trace<Answered> {
        let Event::ModelReply { call, answer, error, charged, usage, .. } = event else {
            return Trace::Absent;
        };
        let id = self.permit.as_ref().map(|permit| permit.reservation().id);
        if Some(*call) != id {
            return Trace::Absent;
        }
        let answer = answer.as_ref();
        let answer: Option<ModelReply> =
            answer.and_then(|it| serde_json::from_slice(&it.content).ok());
        let outcome = match (answer, error) {
            (Some(ModelReply { content, .. }), Some(ModelError::Length { max_tokens, .. })) => {
                let (max_tokens, usage) = (*max_tokens, *usage);
                Err(ModelError::Length { max_tokens, usage, text: content })
            }
            (Some(reply), _) => Ok(reply),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => return Trace::Absent,
        };
        let charge = Charge::of(*charged, usage.as_ref(), outcome.as_ref().err());
        Trace::Done(Answered { outcome, charge })
    }

    async fn act(&mut self, run: &Run) -> Result<Answered, CallError> {
        // Always `Some`: an effect acts at most once.
        let Some(permit) = &self.permit else { return Err(JournalClosed.into()) };
        let outcome = if self.begun {
            Err(ModelError::Lost)
        } else {
            let mut hear = |delta| self.caller.hear(permit, delta);
            run.waits("model").answer("answer", run.model.attempt(&self.request, &mut hear)).await
        };
        permit.felt(match outcome {
            Err(ModelError::RateLimited { .. }) => Pace::Throttled,
            Ok(_) | Err(_) => Pace::Kept,
        });
        let (charge, reply) = self.reply(permit, &outcome);
        if let Some(permit) = self.permit.take() {
            permit.settle(charge);
        }
        run.publish(reply).await?;
        Ok(Answered { outcome, charge })
    }
}

impl Call<'_> {
    /// Returns the charge for an outcome, and the event that records both.
    ///
    /// The server's counts are used where they exceed our own.
    fn reply(&self, permit: &Permit, outcome: &Result<ModelReply, ModelError>) -> (Charge, Event) {
        let run = &self.caller.run;
        if let Err(error) = outcome {
            permit.count_up_to(error.partial().map_or(0, |partial| partial.bytes));
        }
        let usage = match outcome {
            Ok(reply) => reply.usage,
            Err(error) => error.usage(),
        };
        let prompt = self.request.prompt_bytes() / BYTES_PER_TOKEN;
        let used = usage.map(|told| told.at_least(prompt, permit.heard_tokens()));
        let cost = run.terms.prices.cost(&self.request.model, used, run.clock.now());
        let thought = outcome.as_ref().ok().and_then(|reply| reply.reasoning.as_ref());
        let thought = thought.map_or(0, |text| text.len() as u64 / BYTES_PER_TOKEN);
        let charged = match (used, outcome) {
            (Some(used), _) => {
                let (nano_usd, tokens) = (cost.unwrap_or_default(), used.total());
                Amount {
                    nano_usd,
                    tokens,
                    calls: 1,
                    reasoning: used.reasoning.unwrap_or_default().max(thought),
                }
            }
            (None, Err(ModelError::Lost)) => permit.reservation().amount,
            // It never left.
            (None, Err(error)) if error.never_left() => Amount::default(),
            // Refused before an answer began: the provider charges nothing. A server that timed out without a word may
            // charge.
            (None, Err(error)) if !answer_began(permit, error) && !kept_silent(error) => {
                Amount { calls: 1, ..Amount::default() }
            }
            (None, _) => permit.worst_so_far(),
        };
        let arrived = match outcome {
            Ok(reply) => Some(reply.clone()),
            Err(error) => cut_reply(error, &self.request.model),
        };
        let answer = arrived.and_then(|reply| serde_json::to_vec(&reply).ok()).map(Blob::new);
        let (name, message) = match outcome {
            Ok(_) => ("ok".to_owned(), None),
            Err(error) => (error.class().name().to_owned(), Some(Wording::of(error))),
        };
        let sent = self.dialogue.sent_tokens();
        let reply = Event::ModelReply {
            call: permit.reservation().id,
            role: self.caller.role,
            outcome: name,
            message,
            error: outcome.as_ref().err().cloned(),
            usage,
            cost_nano_usd: cost,
            charged,
            avoidable_misses: usage.map_or(0, |usage| avoidable(&usage, sent)),
            answer,
        };
        (Charge::of(charged, usage.as_ref(), outcome.as_ref().err()), reply)
    }
}

/// Returns the byte count at which an answer is cut off: where, at four bytes per token, it would exceed the
/// reservation.
fn max_bytes(request: &ChatRequest, reservation: &Reservation) -> u64 {
    let reserved = reservation.amount.tokens.saturating_mul(BYTES_PER_TOKEN);
    reserved.saturating_sub(request.prompt_bytes())
}

/// Returns the prompt tokens that this role had sent before but that missed the cache; none if the provider does not say
/// what it found there.
fn avoidable(usage: &Usage, sent_before: u64) -> u64 {
    let known = sent_before.min(usage.prompt);
    usage.hit.map_or(0, |hit| known.saturating_sub(hit))
}

#[cfg(test)]
mod tests {
    use config::{Inputs, Mode};

    use super::*;
    use crate::run::terms::Terms;
    use crate::run::testing;

    /// Every combination of mode and reasoning that the user can choose.
    fn choices() -> impl Iterator<Item = (Mode, bool, Run)> {
        let modes = [
            ("plan", Mode::Plan),
            ("agent", Mode::Agent),
            ("yolo", Mode::Yolo),
            ("hetun", Mode::Hetun),
        ];
        modes.into_iter().flat_map(|(name, mode)| {
            [true, false].map(|thinks| {
                let thinking = |role| (role, "test", thinks.to_string());
                let flags = vec![
                    ("policy.mode", "test", format!("{name:?}")),
                    thinking("llm.max_think_model.thinking"),
                    thinking("llm.base_model.thinking"),
                    thinking("llm.flash_model.thinking"),
                ];
                let config =
                    config::resolve_layers(&Inputs { flags, ..Inputs::default() }).unwrap().config;
                let terms = Terms::new(Arc::new(config), Prompts::default()).unwrap();
                (mode, thinks, Run { terms, ..testing::run(None).0 })
            })
        })
    }

    #[tokio::test]
    async fn a_stage_chooses_its_tools_and_changes_neither_mode_nor_reasoning() {
        for (mode, thinks, run) in choices() {
            for role in AgentRole::ALL {
                for offers in [Vec::new(), toolbox::offers(toolbox::tools(), &[], &[])] {
                    let (caller, count) = (Caller::of(&run, role), offers.len());
                    let dialogue = Dialogue::new("s".to_owned(), &run.redactor).offering(offers);
                    let all = [
                        (AnswerLength::Usual, ToolChoice::Auto),
                        (AnswerLength::Double, ToolChoice::Auto),
                        (AnswerLength::Usual, ToolChoice::None),
                    ];
                    for (length, tool_choice) in all {
                        let limits = AnswerLimits { length, tools: tool_choice };
                        let spoken = SpokenDialect::default();
                        let request = caller.request(&dialogue, limits, &spoken);
                        let terms = caller.terms_of(&request, &spoken);
                        let expected = RequestTerms {
                            user_mode: mode,
                            reasoning_enabled: thinks,
                            tool_count: count,
                            tool_choice,
                            dialect: spoken,
                        };
                        assert_eq!(terms, expected, "{role:?}");
                        let body: serde_json::Value =
                            serde_json::from_slice(&request.body()).unwrap();
                        let kind = if thinks { "enabled" } else { "disabled" };
                        assert_eq!(body["thinking"]["type"], kind, "{role:?}");
                        let sent = body["tools"].as_array().map_or(0, Vec::len);
                        assert_eq!(sent, count, "{role:?}");
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn a_request_that_breaks_the_terms_is_an_event_and_is_not_sent() {
        let (run, events) = testing::run(None);
        let settings = run.config().llm.max_think_model.clone();
        let caller = Caller { settings, ..Caller::of(&run, AgentRole::Editor) };
        let mut dialogue = Dialogue::new("s".to_owned(), &run.redactor);
        let asked = caller.ask(&mut dialogue).await;
        assert_eq!(asked.unwrap_err(), CallError::Breach(Breach::Reasoning));
        // What is on disk has everything before it on disk.
        run.publisher.note(Event::AnswerRefused { error: "none".into() }).await.unwrap();
        let kinds: Vec<String> = events().iter().map(Event::kind).collect();
        assert_eq!(kinds, ["RequestBlocked@v1", "AnswerRefused@v1"]);
    }
}
