//! The five roles of a crew, and everything that they do: paid calls, what is said in them, looks, and the run around them.
//!
//! Each role is one actor in one file: callers use its handle and never see its messages. What happened, and what a check is
//! worth, are crates of their own. Nothing here knows which actor works for which: that is decided in the layer above.

pub mod calls;
pub mod looks;
pub mod mailbox;
pub mod roles;
pub mod run;
pub mod talk;
pub mod workers;

use ractor::{Message, RpcReplyPort};
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
pub fn answer<T: Message>(reply: RpcReplyPort<T>, value: T) {
    if reply.send(value).is_err() {
        tracing::debug!("the caller left before the answer came");
    }
}
