//! The five roles of a crew and the types they exchange.
//!
//! Each role is one actor in one file: callers use its handle and never see its messages. Grammars and decisions are in
//! pure files of their own. Nothing here knows which actor works for which: that is decided in the layer above.

pub mod admission;
pub mod always;
pub mod answered;
pub mod applier;
pub mod architect;
mod asking;
mod barred;
pub mod breach;
pub mod brief;
pub mod call;
pub mod changed;
pub mod checks;
pub mod child;
pub mod closed;
pub mod commands;
pub mod complaints;
pub mod contract;
pub mod delivery;
pub mod dialogue;
pub mod dialogues;
pub mod draft;
pub mod editor;
pub mod effect;
pub mod event;
pub mod failure;
pub mod fate;
pub mod file_reader;
mod inquiry;
mod instructing;
pub mod kept_answers;
pub mod lane_id;
pub mod ledger;
pub mod look;
pub mod looking;
pub mod own_tools;
pub mod plan;
pub mod portion;
pub mod programs;
pub mod prompts;
pub mod proof;
pub mod publisher;
pub mod reasons;
pub mod recording;
pub mod review;
mod role;
pub mod router;
pub mod run;
#[cfg(test)]
mod samples;
pub mod scope;
mod scratch_tree;
pub mod seen;
pub mod staged;
pub mod steering;
pub mod talk;
pub mod team;
pub mod test_counts;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool_use;
mod trace;
mod trial;
pub mod turns;
pub mod unapprovable;
pub mod v1;
pub mod vacuous;
pub mod verified;
pub mod verifier;
mod width;
pub mod wording;
pub mod words;
pub mod workspace;

use ractor::rpc::CallResult;
use ractor::{Message, MessagingErr, RpcReplyPort};
use thiserror::Error;

/// Why a role gave no answer at all.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum Unanswered {
    /// It died or was stopped.
    #[error("the role stopped")]
    Stopped,
    /// It exceeded its time limit.
    #[error("the role did not answer in time")]
    TimedOut,
}

/// Sends an answer. If the caller has gone, the actor carries on.
fn answer<T: Message>(reply: RpcReplyPort<T>, value: T) {
    if reply.send(value).is_err() {
        tracing::debug!("the caller left before the answer came");
    }
}

/// Returns the answer of a call to an actor, or why there is none.
pub fn answered<M, T>(called: Result<CallResult<T>, MessagingErr<M>>) -> Result<T, Unanswered> {
    match called {
        Ok(CallResult::Success(value)) => Ok(value),
        Ok(CallResult::Timeout) => Err(Unanswered::TimedOut),
        Ok(CallResult::SenderError) | Err(_) => Err(Unanswered::Stopped),
    }
}
