//! What fills the context of the next request, and what compacting the conversation did.

use facts::event::{Blob, Event};
use facts::words::CompactedBy;
use thiserror::Error;
use tools::blocking::on_a_thread;

/// The oldest turns were replaced by a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Number of turns that are summarised.
    pub turns: usize,
    /// Estimated tokens of the conversation before.
    pub before: usize,
    /// Estimated tokens of the conversation after.
    pub after: usize,
    /// The summary.
    pub(crate) summary: String,
}

impl Compacted {
    pub(crate) fn event(&self, by: CompactedBy) -> Event {
        let Self { turns, before, after, summary } = self.clone();
        Event::ConversationCompacted { turns, by, before, after, summary: Blob::new(summary) }
    }
}

/// Why the conversation is not compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotCompacted {
    /// A request is running.
    #[error("a request is running")]
    AtWork,
    /// The last turn always stays as it is, and there is no other.
    #[error("there is nothing to compact: the last turn always stays as it is")]
    Nothing,
    /// The orchestrator or its journal is gone.
    #[error("the orchestrator is gone")]
    Gone,
}

/// What fills the context of the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Tokens that the model can take.
    pub window: u64,
    /// Tokens that the conversation may have before it is compacted.
    pub conversation: usize,
    /// The parts, in the order of prompts, with their estimated tokens.
    pub parts: Vec<(ContextPart, usize)>,
}

/// What fills the context, but for the memory, which is read from files.
pub(crate) struct ContextInHand {
    pub(crate) context: Context,
    /// Estimates the tokens of the memory. Blocks.
    pub(crate) memory: Box<dyn FnOnce() -> usize + Send>,
}

impl ContextInHand {
    /// Reads what is missing.
    pub(crate) async fn complete(self) -> Context {
        let Self { mut context, memory } = self;
        let memory = on_a_thread(memory).await;
        let at = context.parts.iter().position(|(part, _)| *part == ContextPart::Evidence);
        if memory > 0 {
            let at = at.unwrap_or(context.parts.len());
            context.parts.insert(at, (ContextPart::Memory, memory));
        }
        context
    }
}

/// A part of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextPart {
    /// What every role is told, and the rules of the Architect.
    Rules,
    /// Instructions, summary and checks of the project, as of the last request.
    Workspace,
    /// The summary of this many turns.
    Summary(usize),
    /// A turn: its number and its request.
    Turn(usize, String),
    /// What became of earlier changes is looked up with the request.
    Fates,
    /// What is remembered about the workspace.
    Memory,
    /// What was found for the last request.
    Evidence,
}
