//! A question to a model, until an answer keeps its contract: what the model asks to see is shown, and an answer that breaks
//! the contract is sent back with the rule it breaks. Both are bounded.

use model::ModelError;
use thiserror::Error;
use tree::ReadTree;

use crate::call::{CallError, Caller, Room};
use crate::closed::JournalClosed;
use crate::commands::Runner;
use crate::contract::ContractError;
use crate::dialogue::Dialogue;
use crate::event::Event;
use crate::look;
use crate::looking::{Looking, WantedBy};
use crate::prompts::Prompts;
use crate::trial;
use crate::wording::Wording;

/// The contract that the answers to a question keep.
pub trait Grammar: Sync {
    /// What is read from an answer.
    type Answer: Send;

    /// Whether an answer has the form of one at all: what looks like `NEED_…` lines in it is content then.
    fn is_formed(&self, answer: &str) -> bool;

    /// Reads an answer.
    fn read(
        &self,
        answer: &str,
    ) -> impl Future<Output = Result<Result<Self::Answer, ContractError>, JournalClosed>> + Send;

    /// What is to be said against an answer that keeps the contract. When no repair turn is left, it is taken all the same.
    fn objection(
        &self,
        _: &Self::Answer,
    ) -> impl Future<Output = Result<Option<Objection>, JournalClosed>> + Send {
        std::future::ready(Ok(None))
    }

    /// The event that tells of an answer which breaks the contract.
    fn refused(&self, error: Wording) -> Event;

    /// What the model is told about it.
    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String;
}

/// What is said against an answer.
#[derive(Debug, Clone)]
pub struct Objection {
    /// For people.
    pub said: Wording,
    /// For the model, which is to answer again.
    pub repair: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum Unheard {
    /// No answer kept the contract, repair turns included.
    #[error("no answer was usable: {0}")]
    Unreadable(ContractError),
    /// The model gave none.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<JournalClosed> for Unheard {
    fn from(closed: JournalClosed) -> Self {
        Self::Call(closed.into())
    }
}

/// A line to a model, with what it may look at and how often.
pub struct Talk<'t> {
    /// The line.
    pub caller: &'t Caller,
    /// The tree it may look at.
    pub tree: &'t ReadTree,
    /// What runs the commands that it wants to try; none where nothing is run.
    pub commands: Option<&'t Runner>,
    /// Repair turns.
    pub repairs: u32,
    /// Answers that ask to see something.
    pub looks: u32,
}

impl Talk<'_> {
    /// Asks the question that `dialogue` ends with.
    pub async fn ask<G: Grammar>(
        &self,
        dialogue: &mut Dialogue,
        grammar: &G,
    ) -> Result<G::Answer, Unheard> {
        let (mut repaired, mut looked, mut room) = (0, 0, Room::Usual);
        let mut usable = None;
        loop {
            let broken = |error: ContractError| Fault {
                objection: Objection {
                    said: Wording::of(&self.caller.run.redactor.redact(&error.to_string())),
                    repair: grammar.repair(self.caller.prompts(), &error),
                },
                end: Err(Unheard::Unreadable(error)),
            };
            let fault = match self.caller.ask_with(dialogue, room).await {
                Ok(reply) => {
                    let content = reply.content;
                    let asked =
                        if grammar.is_formed(&content) { None } else { look::read(&content) };
                    match asked {
                        Some(Ok(looks)) if looked < self.looks => {
                            looked += 1;
                            let wanted_by = WantedBy::Model { left: self.looks - looked };
                            dialogue.looked(&looks.looks);
                            let (caller, tree) = (self.caller, self.tree);
                            let tried =
                                trial::tried(self.commands, caller.role, &looks.looks).await?;
                            let mut looking = Looking { caller, tree, looks, tried, wanted_by };
                            let told = self.caller.run.perform(&mut looking).await?;
                            dialogue.say(&told);
                            continue;
                        }
                        Some(Ok(_)) => broken(ContractError::no_look_left(content.trim())),
                        Some(Err(error)) => broken(error),
                        None => match grammar.read(&content).await? {
                            Ok(answer) => match grammar.objection(&answer).await? {
                                None => return Ok(answer),
                                Some(objection) => Fault { objection, end: Ok(answer) },
                            },
                            Err(error) => broken(error),
                        },
                    }
                }
                Err(CallError::Model(ModelError::Length { max_tokens, .. })) => {
                    room = Room::Double;
                    broken(ContractError::cut(max_tokens))
                }
                Err(CallError::Model(empty @ ModelError::Empty { .. })) => {
                    room = if repaired > 0 { Room::Double } else { room };
                    Fault {
                        end: Err(CallError::from(empty).into()),
                        ..broken(ContractError::empty())
                    }
                }
                Err(error) => return Err(error.into()),
            };
            let Fault { objection: Objection { said, repair }, end } = fault;
            let is_last = repaired == self.repairs;
            match end {
                Ok(answer) if is_last => return Ok(answer),
                Ok(answer) => usable = Some(answer),
                Err(error) if is_last => {
                    self.caller.run.publish(grammar.refused(said)).await?;
                    return usable.ok_or(error);
                }
                Err(_) => {}
            }
            self.caller.run.publish(grammar.refused(said)).await?;
            repaired += 1;
            dialogue.say(&repair);
        }
    }
}

/// Why a model has to answer again.
struct Fault<A> {
    objection: Objection,
    /// What comes of it when it need not.
    end: Result<A, Unheard>,
}
