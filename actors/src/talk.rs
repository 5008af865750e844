//! Asks a model a question until an answer keeps its contract. Looks are answered, and an answer that breaks the
//! contract is sent back with the broken rule. Both are bounded.
//!
//! This folder has what is said to a model; how the call is paid and what a look shows do not belong here.

pub mod asking_user;
pub mod brief;
pub mod child_question;
pub mod dialogue;
pub mod dialogues;
pub mod prompts;

use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::{ContractError, NO_LOOK_LEFT, quoted_line};
use facts::grammar::look::{self, Look, Looks};
use model::{AgentRole, ModelError, ToolCall};
use search::BYTES_PER_TOKEN;
use thiserror::Error;

use crate::calls::model_call::{CallError, Caller};
use crate::calls::steering::untold;
use crate::looks::instructions::instructions_for;
use crate::looks::look_effect::{LookSources, Looking, WantedBy, asked_elsewhere};
use crate::looks::look_or_answer::{Heard, Inquiry, InquiryStep};
use crate::looks::look_result::LookResult;
use crate::looks::tool_call::{ToolUse, refused, wanted};
use crate::run::Run;
use crate::run::effect::{Effect, Position, Trace};
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::{Prompt, Prompts};

/// Each call gets at least this fraction of a round's space, or is not carried out.
const LEAST_SHARE: usize = 16;
/// An answer that is given this often, with nothing new between, will be given for ever.
const SAME_ANSWERS: usize = 3;

/// Tells the author of a plan which line breaks its contract, and which rule of it.
pub fn refused_plan(prompts: &Prompts, error: &ContractError) -> String {
    let ContractError { line, text, rule } = error;
    prompts.render(Prompt::PlanRefused, &[("line", line), ("text", text), ("rule", rule)])
}

/// The contract of the answers to a question.
pub trait Grammar: Sync {
    /// The parsed answer.
    type Answer: Send;
    /// Whether an answer may be cut at its limit more than once: if not, the question asks for too much.
    const MAY_BE_CUT_AGAIN: bool = true;

    /// Returns true if an answer has the form of one, so that `NEED_…` lines in it are content.
    fn is_formed(&self, answer: &str) -> bool;

    /// Parses an answer.
    fn read(
        &self,
        answer: &str,
    ) -> impl Future<Output = Result<Result<Self::Answer, ContractError>, JournalClosed>> + Send;

    /// Returns an objection to an answer that keeps the contract. If no repair turn is left, the answer is accepted
    /// anyway.
    fn objection(
        &self,
        _: &Self::Answer,
        _: &Dialogue,
    ) -> impl Future<Output = Result<Option<Objection>, JournalClosed>> + Send {
        std::future::ready(Ok(None))
    }

    /// Returns what is kept of an answer that was cut after `most` tokens; `None` if it has to be given again.
    fn kept(&self, _: &Prompts, _cut: &str, _most: u32) -> Option<KeptPart> {
        None
    }

    /// Joins what was kept of an answer and what came later.
    fn joined(&self, _kept: &str, later: String) -> String {
        later
    }

    /// Returns the event for an answer that breaks the contract.
    fn refused(&self, error: Wording) -> Event;

    /// Returns the message to the model about it.
    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String;
}

/// What is kept of an answer that was cut.
#[derive(Debug, Clone)]
pub struct KeptPart {
    /// The text that is kept.
    pub text: String,
    /// What it is about, for people.
    pub names: Vec<String>,
    /// Asks the model for the rest.
    pub ask: String,
}

/// An objection to an answer.
#[derive(Debug, Clone)]
pub struct Objection {
    /// For people.
    pub said: Wording,
    /// For the model, which must answer again.
    pub repair: String,
    /// How often it is raised.
    pub raised: Raised,
}

/// How often an objection is raised in one question, if the model insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised {
    /// As long as repair turns are left.
    EachTime,
    /// Once.
    Once,
}

/// Why there is no usable answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum AnswerError {
    /// No answer kept the contract, repair turns included.
    #[error("no answer was usable: {0}")]
    Unreadable(ContractError),
    /// The answer was cut at its limit again.
    #[error("the answer was cut at its limit of {most} tokens again")]
    CutAgain {
        /// The limit.
        most: u32,
    },
    /// The model repeats itself.
    #[error("the model gave the same answer {SAME_ANSWERS} times: `{}`", first_line(answer))]
    Repeated {
        /// The answer.
        answer: String,
    },
    /// The model gave no answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<JournalClosed> for AnswerError {
    fn from(closed: JournalClosed) -> Self {
        Self::Call(closed.into())
    }
}

/// A question to a model, with its bounds.
pub struct Talk<'t> {
    /// Makes the calls.
    pub caller: &'t Caller,
    /// Where its looks are answered from.
    pub sources: LookSources<'t>,
    /// Maximum number of repair turns.
    pub repairs: u32,
    /// Maximum number of answers that ask to see something.
    pub looks: u32,
    /// The first message of the dialogue from which repeated answers count; `None` for those of this question.
    pub since: Option<usize>,
}

/// A parsed answer.
enum Read<A> {
    /// It asks to see something, in lines of text.
    Looks(Looks),
    /// It calls tools.
    Calls(Vec<ToolCall>),
    /// It keeps the contract.
    Usable(A),
    /// It keeps the contract, but there is an objection.
    Objectionable(A, Objection),
    /// It is unusable.
    Broken(Heard, Objection, AnswerError),
    /// It was cut after this many tokens, and a part of it is kept.
    Cut(u32, KeptPart),
}

impl<A> Read<A> {
    const fn heard(&self) -> Heard {
        match self {
            Self::Looks(_) | Self::Calls(_) => Heard::Looks,
            Self::Usable(_) => Heard::Usable,
            Self::Objectionable(_, Objection { raised: Raised::EachTime, .. }) => {
                Heard::Objectionable
            }
            Self::Objectionable(_, Objection { raised: Raised::Once, .. }) => Heard::Doubtful,
            Self::Broken(heard, ..) => *heard,
            Self::Cut(..) => Heard::Cut,
        }
    }
}

impl Talk<'_> {
    /// Asks the question at the end of `dialogue`.
    pub async fn ask<G: Grammar>(
        &self,
        dialogue: &mut Dialogue,
        grammar: &G,
    ) -> Result<G::Answer, AnswerError> {
        let mut inquiry = Inquiry::new(self.repairs, self.looks);
        let mut usable = None;
        // The whole parts of an answer that was cut.
        let mut kept = String::new();
        let since = self.since.unwrap_or(dialogue.messages().len());
        loop {
            let read = self.hear(dialogue, &inquiry, grammar, &kept).await?;
            // An author that insists on what was objected to is heard in the end.
            if !matches!(read, Read::Objectionable(..)) {
                self.unrepeated(dialogue, since).await?;
            }
            let step = inquiry.after(read.heard());
            let (objection, end) = match (step, read) {
                (InquiryStep::Repair, Read::Cut(most, part)) => {
                    let (role, names) = (self.caller.role, part.names);
                    self.caller.run.publish(Event::AnswerCut { role, most, kept: names }).await?;
                    kept = grammar.joined(&kept, part.text.clone());
                    dialogue.heard_before(&part.text);
                    dialogue.say(&part.ask);
                    continue;
                }
                (_, Read::Cut(most, _)) => {
                    let (objection, end) = self.fault(grammar, ContractError::cut(most));
                    (objection, Err(end))
                }
                (InquiryStep::Show { left }, Read::Looks(looks)) => {
                    self.look(dialogue, looks, left).await?;
                    continue;
                }
                (InquiryStep::Show { left }, Read::Calls(calls)) => {
                    self.call(dialogue, &calls, left).await?;
                    continue;
                }
                (_, Read::Looks(looks)) => {
                    let first = looks.looks.first().map(Look::to_string).unwrap_or_default();
                    let (objection, end) = self.fault(grammar, ContractError::no_look_left(&first));
                    (objection, Err(end))
                }
                (_, Read::Calls(calls)) => {
                    let first = calls.first().map(|call| call.name.as_str()).unwrap_or_default();
                    let error = ContractError::no_look_left(first);
                    answer_none(dialogue, &calls);
                    let (objection, end) = self.fault(grammar, error);
                    (objection, Err(end))
                }
                (_, Read::Usable(answer)) | (InquiryStep::Take, Read::Objectionable(answer, _)) => {
                    return Ok(answer);
                }
                (_, Read::Objectionable(answer, objection)) => (objection, Ok(answer)),
                (_, Read::Broken(_, objection, error)) => (objection, Err(error)),
            };
            self.caller.run.publish(grammar.refused(objection.said)).await?;
            match (step, end) {
                (InquiryStep::Repair, Ok(answer)) => usable = Some(answer),
                (InquiryStep::Repair, Err(_)) => {}
                (_, end) => return usable.map_or(end, Ok),
            }
            dialogue.say(&objection.repair);
        }
    }

    /// Has the model answer, and parses the answer.
    async fn hear<G: Grammar>(
        &self,
        dialogue: &mut Dialogue,
        inquiry: &Inquiry,
        grammar: &G,
        kept: &str,
    ) -> Result<Read<G::Answer>, AnswerError> {
        let broken = |heard, error| {
            let (objection, end) = self.fault(grammar, error);
            Read::Broken(heard, objection, end)
        };
        let words = untold(&self.caller.run, dialogue).await?;
        if !words.is_empty() {
            let words = words.join("\n\n");
            let prompts = self.caller.prompts();
            dialogue.say(&prompts.render(Prompt::Steered, &[("words", &words)]));
        }
        let reply = match self.caller.ask_with(dialogue, inquiry.limits()).await {
            Ok(reply) => reply,
            Err(CallError::Model(ModelError::Length { max_tokens, text, .. })) => {
                if inquiry.was_cut() && !G::MAY_BE_CUT_AGAIN {
                    return Err(AnswerError::CutAgain { most: max_tokens });
                }
                let part = grammar.kept(self.caller.prompts(), &text, max_tokens);
                return Ok(part.map_or_else(
                    || broken(Heard::Cut, ContractError::cut(max_tokens)),
                    |part| Read::Cut(max_tokens, part),
                ));
            }
            Err(CallError::Model(empty @ ModelError::Empty { .. })) => {
                let (objection, _) = self.fault(grammar, ContractError::empty());
                return Ok(Read::Broken(Heard::Empty, objection, CallError::from(empty).into()));
            }
            Err(error) => return Err(error.into()),
        };
        let (calls, content) = (reply.tool_calls, reply.content);
        if !calls.is_empty() {
            // If the model may not call tools, its text is the answer.
            if inquiry.may_look() || content.trim().is_empty() {
                return Ok(Read::Calls(calls));
            }
            answer_none(dialogue, &calls);
        }
        let asked = if grammar.is_formed(&content) { None } else { look::read_looks(&content) };
        Ok(match asked {
            Some(Ok(looks)) => Read::Looks(looks),
            Some(Err(error)) => broken(Heard::Broken, error),
            None => match grammar.read(&grammar.joined(kept, content)).await? {
                Ok(answer) => match grammar.objection(&answer, dialogue).await? {
                    None => Read::Usable(answer),
                    Some(objection) => Read::Objectionable(answer, objection),
                },
                Err(error) => broken(Heard::Broken, error),
            },
        })
    }

    /// Fails if the last answer was given too often.
    async fn unrepeated(&self, dialogue: &Dialogue, since: usize) -> Result<(), AnswerError> {
        let times = dialogue.repetitions(since);
        if times < SAME_ANSWERS {
            return Ok(());
        }
        let mut repetition = Repetition { role: self.caller.role, times };
        if !self.caller.run.perform(&mut repetition).await? {
            return Ok(());
        }
        Err(AnswerError::Repeated { answer: dialogue.last_answer().unwrap_or_default().to_owned() })
    }

    /// Returns the objection to an answer that breaks its contract, and the error if no other answer follows.
    fn fault<G: Grammar>(&self, grammar: &G, error: ContractError) -> (Objection, AnswerError) {
        let objection = Objection {
            said: Wording::of(&self.caller.run.redactor.redact(&error.to_string())),
            repair: grammar.repair(self.caller.prompts(), &error),
            raised: Raised::EachTime,
        };
        (objection, AnswerError::Unreadable(error))
    }

    /// Answers looks that were requested in lines of text.
    async fn look(
        &self,
        dialogue: &mut Dialogue,
        looks: Looks,
        left: u32,
    ) -> Result<(), AnswerError> {
        let (caller, sources, wanted_by) = (self.caller, self.sources, WantedBy::Model { left });
        let seen = dialogue.looks().len();
        dialogue.looked(&looks.looks);
        let elsewhere = asked_elsewhere(sources, caller, &looks.looks).await?;
        note_what_lacks(dialogue, &looks.looks, &elsewhere);
        let mut looking = Looking { caller, sources, looks, elsewhere, wanted_by };
        let told = caller.run.perform(&mut looking).await?;
        dialogue.say(&told);
        self.instruct(dialogue, seen).await
    }

    /// Shows the project's instructions for the directories that the model has just looked into.
    async fn instruct(&self, dialogue: &mut Dialogue, seen: usize) -> Result<(), AnswerError> {
        let looks = dialogue.looks().get(seen..).unwrap_or_default();
        let paths = looks.iter().filter_map(|look| {
            if let Look::Context { path, .. } = look { Some(path) } else { None }
        });
        let text = instructions_for(paths, dialogue, self.caller, self.sources.commands).await?;
        if !text.is_empty() {
            dialogue.say(&text);
        }
        Ok(())
    }

    /// Answers tool calls one by one. They share the space of a round; what one does not use, later ones can.
    async fn call(
        &self,
        dialogue: &mut Dialogue,
        calls: &[ToolCall],
        rounds_left: u32,
    ) -> Result<(), AnswerError> {
        let (caller, sources, role) = (self.caller, self.sources, self.caller.role);
        let tokens = caller.run.config().agent_loop.max_look_tokens;
        let mut left = tokens.saturating_mul(BYTES_PER_TOKEN);
        let least = left / LEAST_SHARE;
        let seen = dialogue.looks().len();
        for (index, call) in calls.iter().enumerate() {
            let room = (left / (calls.len() - index)).max(least);
            let has_room = left >= least;
            let no_room = || caller.prompts().render(Prompt::LookNoRoom, &[]);
            let wanted = if has_room { wanted(call) } else { Err(no_room()) };
            let looks = wanted.as_ref().map(std::slice::from_ref).unwrap_or_default();
            dialogue.looked(looks);
            let elsewhere = asked_elsewhere(sources, caller, looks).await?;
            note_what_lacks(dialogue, looks, &elsewhere);
            let elsewhere = elsewhere.into_iter().next().flatten();
            let mut using = ToolUse { role, sources, call, wanted, elsewhere, room, rounds_left };
            let told = caller.run.perform(&mut using).await?;
            left = left.saturating_sub(told.len());
            dialogue.tell(&call.id, &told);
        }
        self.instruct(dialogue, seen).await
    }
}

/// Records which of the commands that a model tried lacked something.
fn note_what_lacks(dialogue: &mut Dialogue, looks: &[Look], told: &[Option<LookResult>]) {
    for (look, told) in looks.iter().zip(told) {
        if let (Look::Run { command }, Some(LookResult::Ran { missing: Some(missing), .. })) =
            (look, told)
        {
            dialogue.lacked(command, missing.clone());
        }
    }
}

/// The effect of ending a question because the model repeats itself. Runs of earlier versions went on.
struct Repetition {
    role: AgentRole,
    times: usize,
}

impl Effect for Repetition {
    type Outcome = bool;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<bool> {
        let is_recorded = matches!(event, Event::AnswerRepeated { .. });
        if is_recorded { Trace::Done(true) } else { Trace::Foretold(false) }
    }

    async fn act(&mut self, run: &Run) -> Result<bool, JournalClosed> {
        let (role, times) = (self.role, self.times);
        run.publish(Event::AnswerRepeated { role, times }).await?;
        Ok(true)
    }
}

fn first_line(answer: &str) -> String {
    quoted_line(answer.lines().next().unwrap_or_default())
}

/// Refuses each call: the API requires an answer to every call.
fn answer_none(dialogue: &mut Dialogue, calls: &[ToolCall]) {
    for call in calls {
        dialogue.tell(&call.id, &refused(NO_LOOK_LEFT));
    }
}
