//! A question to a model, until an answer keeps its contract: what the model asks to see is shown, and an answer that breaks
//! the contract is sent back with the rule it breaks. Both are bounded.

use model::ModelError;
use thiserror::Error;
use tree::ReadTree;

use crate::call::{CallError, Caller, Room};
use crate::closed::JournalClosed;
use crate::contract::ContractError;
use crate::dialogue::Dialogue;
use crate::event::Event;
use crate::look;
use crate::looking::Looking;
use crate::prompts::Prompts;
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

    /// The event that tells of an answer which breaks the contract.
    fn refused(&self, error: Wording) -> Event;

    /// What the model is told about it.
    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String;
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
        loop {
            let (error, fatal) = match self.caller.ask_with(dialogue, room).await {
                Ok(reply) => {
                    let content = reply.content;
                    let asked =
                        if grammar.is_formed(&content) { None } else { look::read(&content) };
                    match asked {
                        Some(Ok(looks)) if looked < self.looks => {
                            looked += 1;
                            let left = self.looks - looked;
                            dialogue.looked(&looks.looks);
                            let mut looking = Looking { talk: self, looks, left };
                            let told = self.caller.run.perform(&mut looking).await?;
                            dialogue.say(&told);
                            continue;
                        }
                        Some(Ok(_)) => (ContractError::no_look_left(content.trim()), None),
                        Some(Err(error)) => (error, None),
                        None => match grammar.read(&content).await? {
                            Ok(answer) => return Ok(answer),
                            Err(error) => (error, None),
                        },
                    }
                }
                Err(CallError::Model(ModelError::Length { max_tokens, .. })) => {
                    room = Room::Double;
                    (ContractError::cut(max_tokens), None)
                }
                Err(CallError::Model(empty @ ModelError::Empty { .. })) => {
                    room = if repaired > 0 { Room::Double } else { room };
                    (ContractError::empty(), Some(empty))
                }
                Err(error) => return Err(error.into()),
            };
            let refused =
                grammar.refused(Wording::of(&self.caller.run.redactor.redact(&error.to_string())));
            self.caller.run.publish(refused).await?;
            if repaired == self.repairs {
                return Err(match fatal {
                    Some(error) => Unheard::Call(error.into()),
                    None => Unheard::Unreadable(error),
                });
            }
            repaired += 1;
            dialogue.say(&grammar.repair(self.caller.prompts(), &error));
        }
    }
}
