//! Child questions: the many short questions into which research on one topic is divided, each asked and ended once.
//! They share a prefix, byte for byte, so that the provider's prompt cache applies; an answer that was received before is
//! reused, not paid for again.

use std::sync::Arc;
use std::time::Duration;

use checks::wording::Wording;
pub use facts::answered::{AnswerFrom, ChildEnd, NoAnswer};
use facts::closed::JournalClosed;
use facts::delivery::Limit;
use facts::event::{Blob, Event};
use facts::grammar::contract::ContractError;
use facts::scope::Segment;
use model::AgentRole;
use tools::clock::Timestamp;
use tree::FileHash;

use crate::calls::kept_answers::KeptAnswers;
use crate::calls::model_call::{AnswerLength, AnswerLimits, CallError, Caller};
use crate::run::Run;
use crate::run::effect::{Effect, Trace};
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::Prompt;

/// Part of the cache key; changing it invalidates all stored answers.
const KEPT_AS: &str = "answer 1";

/// Checks an answer; the error names the line that breaks the contract.
pub type AnswerCheck = fn(&str) -> Result<(), ContractError>;

/// A child question.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its number within the run, from one.
    pub number: u32,
    /// The prefix it shares with other questions; shared because it may be large and have many users.
    pub common: Arc<Dialogue>,
    /// The question itself.
    pub question: String,
    /// Checks its answer.
    pub reads: AnswerCheck,
    /// Deadline of the answer, if any.
    pub by: Option<Timestamp>,
}

/// Why a question got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Journal(JournalClosed),
    To(NoAnswer),
}

impl From<JournalClosed> for Lost {
    fn from(closed: JournalClosed) -> Self {
        Self::Journal(closed)
    }
}

impl From<CallError> for Lost {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Budget(refusal) => Self::To(NoAnswer::Budget((&refusal).into())),
            CallError::Model(error) => Self::To(NoAnswer::Model(error.class())),
            CallError::Admission(_) | CallError::Breach(_) => Self::To(NoAnswer::Died),
            CallError::Journal(closed) => Self::Journal(closed),
        }
    }
}

impl Child {
    /// Returns the caller and the dialogue with which the question is asked.
    fn begun(&self, run: &Run) -> (Caller, Dialogue) {
        let run = run.at(&run.scope().within(Segment::Child(self.number)));
        let mut dialogue = Dialogue::clone(&self.common);
        dialogue.say(&self.question);
        (Caller::of(&run, AgentRole::Child), dialogue)
    }

    /// Returns a hash of everything that an answer depends on.
    pub fn key(&self, run: &Run) -> FileHash {
        let (caller, dialogue) = self.begun(run);
        key(&caller, &dialogue)
    }

    /// Begins the question, with its answer if that is `known` or stored. Then the question has ended; if there is none,
    /// call [`ask`](Self::ask).
    pub async fn recall(
        &self,
        run: &Run,
        answers: &KeptAnswers,
        known: Option<Arc<str>>,
    ) -> Result<Option<String>, JournalClosed> {
        let (caller, dialogue) = self.begun(run);
        let run = &caller.run;
        let key = key(&caller, &dialogue);
        let known = run.perform(&mut Recall { key, answers, known }).await?;
        let asked = Event::ChildAsked {
            question: Blob::new(run.redactor.redact(&self.question).into_owned()),
            key,
            known: known.clone().map(Blob::new),
        };
        run.publish(asked).await?;
        if known.is_some() {
            let end = ChildEnd::Answered(AnswerFrom::Kept);
            run.publish(Event::ChildEnded { end }).await?;
        }
        Ok(known)
    }

    /// Asks the question. The outer error means that the run has ended.
    pub async fn ask(
        &self,
        run: &Run,
        answers: &KeptAnswers,
    ) -> Result<Result<String, NoAnswer>, JournalClosed> {
        let (caller, dialogue) = self.begun(run);
        let (key, mut late) = (key(&caller, &dialogue), TooLate { by: self.by });
        let answer = tokio::select! {
            // Biased, so that nothing starts after the deadline.
            biased;
            late = caller.run.perform(&mut late) => {
                late.and(Err(Lost::To(NoAnswer::Budget(Limit::WallTime))))
            }
            answer = self.answer(&caller, dialogue) => answer,
        };
        let (end, answer) = match answer {
            Ok(answer) => (ChildEnd::Answered(AnswerFrom::Model), Ok(answer)),
            Err(Lost::To(why)) => (ChildEnd::Failed(why), Err(why)),
            Err(Lost::Journal(closed)) => return Err(closed),
        };
        if let Ok(answer) = &answer
            && !caller.run.only_compares()
        {
            answers.store(key, answer.clone()).await;
        }
        caller.run.publish(Event::ChildEnded { end }).await?;
        Ok(answer)
    }

    async fn answer(&self, caller: &Caller, mut dialogue: Dialogue) -> Result<String, Lost> {
        let run = &caller.run;
        let mut retries = run.config().missions.question_retries;
        loop {
            let answer = caller.ask(&mut dialogue).await?.content;
            let Err(error) = (self.reads)(&answer) else { return Ok(answer) };
            run.publish(Event::AnswerRefused { error: Wording::of(&error) }).await?;
            if retries == 0 {
                return Err(Lost::To(NoAnswer::Unreadable));
            }
            retries -= 1;
            let ContractError { line, text, rule } = &error;
            dialogue.say(
                &run.prompts().render(
                    Prompt::DraftRefused,
                    &[("line", line), ("text", text), ("rule", rule)],
                ),
            );
        }
    }
}

/// Records that a question was abandoned together with the run.
pub async fn give_up(run: &Run, number: u32) -> Result<(), JournalClosed> {
    let run = run.at(&run.scope().within(Segment::Child(number)));
    run.publish(Event::ChildEnded { end: ChildEnd::Cancelled }).await
}

/// Has the provider cache the prefix that questions will share. The answer does not matter, and a failed call only
/// makes the questions more expensive; an error means that the run has ended or that nothing more can be paid.
pub async fn prime(run: &Run, number: u32, common: &Dialogue) -> Result<(), CallError> {
    let run = run.at(&run.scope().within(Segment::Child(number)));
    let mut dialogue = common.clone();
    let limits = AnswerLimits { length: AnswerLength::Token, ..AnswerLimits::USUAL };
    match Caller::of(&run, AgentRole::Child).ask_with(&mut dialogue, limits).await {
        Ok(_) | Err(CallError::Model(_)) => Ok(()),
        Err(
            error @ (CallError::Budget(_)
            | CallError::Admission(_)
            | CallError::Breach(_)
            | CallError::Journal(_)),
        ) => Err(error),
    }
}

/// Returns the key of a stored answer: a hash of everything that it depends on.
fn key(caller: &Caller, dialogue: &Dialogue) -> FileHash {
    let settings = &caller.settings;
    let model = (
        KEPT_AS,
        &settings.model,
        settings.thinking.then_some(settings.effort),
        settings.max_output_tokens,
    );
    // Messages always serialize.
    FileHash::of(&serde_json::to_vec(&(model, dialogue.messages())).unwrap_or_default())
}

/// The effect of looking up an answer.
struct Recall<'a> {
    key: FileHash,
    answers: &'a KeptAnswers,
    known: Option<Arc<str>>,
}

impl Effect for Recall<'_> {
    type Outcome = Option<String>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Option<String>> {
        let Event::ChildAsked { known, .. } = event else { return Trace::Absent };
        let text = |blob: &Blob| String::from_utf8_lossy(&blob.content).into_owned();
        Trace::Foretold(known.as_ref().map(text))
    }

    async fn act(&mut self, _: &Run) -> Result<Option<String>, JournalClosed> {
        match self.known.take() {
            Some(known) => Ok(Some(known.to_string())),
            None => Ok(self.answers.stored(self.key).await),
        }
    }
}

/// The effect of waiting for the deadline of an answer.
struct TooLate {
    by: Option<Timestamp>,
}

impl Effect for TooLate {
    type Outcome = ();
    type Stop = Lost;

    fn look(&mut self, event: &Event) -> Trace<()> {
        let late = ChildEnd::Failed(NoAnswer::Budget(Limit::WallTime));
        let is_late = matches!(event, Event::ChildEnded { end } if *end == late);
        if is_late { Trace::Foretold(()) } else { Trace::Absent }
    }

    async fn act(&mut self, run: &Run) -> Result<(), Lost> {
        let Some(by) = self.by else { return std::future::pending().await };
        let left = Duration::try_from(by.duration_since(run.clock.now())).unwrap_or_default();
        if left > Duration::ZERO {
            tokio::time::sleep(left).await;
        }
        Ok(())
    }
}
