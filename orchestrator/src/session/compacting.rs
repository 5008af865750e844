//! Compacts the conversation, and reports what fills the context of the next request.

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::talk::brief::Brief;
use actors::talk::dialogues::introduction;
use actors::talk::prompts::Prompt;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::words::CompactedBy;
use search::estimate_tokens;

use crate::root::{CurrentRequest, State};
use crate::session::context::{Compacted, Context, ContextInHand, ContextPart, NotCompacted};
use crate::session::turn::summary::{compaction, summary};
use crate::session::turn::{self, PartOf};

/// The effect of compacting the conversation, if that is due. Its outcome is the number of summarised turns.
pub(crate) struct Compacting {
    /// The number of turns that are summarised already.
    pub(crate) before: usize,
    pub(crate) due: Option<Compacted>,
}

impl Compacting {
    /// For a request that reads no conversation.
    pub(crate) const fn nothing() -> Self {
        Self { before: 0, due: None }
    }
}

impl Effect for Compacting {
    type Outcome = usize;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<usize> {
        // If nothing is recorded, it was not due.
        let Event::ConversationCompacted { turns, .. } = event else {
            return Trace::Foretold(self.before);
        };
        Trace::Done(*turns)
    }

    async fn act(&mut self, run: &Run) -> Result<usize, JournalClosed> {
        let Some(due) = self.due.take() else { return Ok(self.before) };
        run.record(due.event(CompactedBy::Limit)).await?;
        Ok(due.turns)
    }
}

impl State {
    /// Decides whether the conversation has to be compacted before the next request.
    pub(crate) fn compacting(&mut self) -> Compacting {
        let (prompts, most) = (self.run().prompts(), self.conversation_tokens());
        let due = compaction(prompts, &self.turns, self.compacted, most);
        let due = due.map(|turns| self.compacted_to(turns));
        let before = self.compacted;
        self.compacted = due.as_ref().map_or(before, |due| due.turns);
        Compacting { before, due }
    }

    /// Compacts all turns but the last, because the user wants it.
    pub(crate) async fn compact(&mut self) -> Result<Compacted, NotCompacted> {
        if !matches!(self.current, CurrentRequest::Idle) {
            return Err(NotCompacted::AtWork);
        }
        let turns = self.turns.len().saturating_sub(1);
        if turns <= self.compacted {
            return Err(NotCompacted::Nothing);
        }
        let compacted = self.compacted_to(turns);
        let event = compacted.event(CompactedBy::User);
        self.idle.publisher.publish(event).await.map_err(|_| NotCompacted::Gone)?;
        self.compacted = turns;
        Ok(compacted)
    }

    fn compacted_to(&self, turns: usize) -> Compacted {
        let (prompts, most) = (self.run().prompts(), self.conversation_tokens());
        let tokens = |compacted| {
            estimate_tokens(&turn::conversation(prompts, &self.turns, compacted, &[], most))
        };
        let summary = summary(prompts, &self.turns, turns, most).unwrap_or_default();
        Compacted { turns, before: tokens(self.compacted), after: tokens(turns), summary }
    }

    fn conversation_tokens(&self) -> usize {
        self.run().config().agent_loop.conversation_tokens
    }

    /// Returns what fills the context, but for what is read from files.
    pub(crate) fn context_in_hand(&self) -> ContextInHand {
        let (run, recall, index) = (self.run().clone(), self.recall(), self.index.clone());
        let memory = move || estimate_tokens(&recall.told(&run, "", &index));
        ContextInHand { context: self.context(), memory: Box::new(memory) }
    }

    fn context(&self) -> Context {
        let (prompts, most) = (self.run().prompts(), self.conversation_tokens());
        let (bounds, llm) = (&self.run().config().agent_loop, &self.run().config().llm);
        let max_files = &bounds.max_files_per_iteration;
        let rules = introduction(&self.run().terms)
            + &prompts.render(Prompt::Architect, &[("max_files", max_files)]);
        let mut parts = vec![(ContextPart::Rules, estimate_tokens(&rules))];
        let Brief { workspace, evidence, .. } = &self.last_brief;
        let of_last = |part, text: &str| (!text.is_empty()).then(|| (part, estimate_tokens(text)));
        parts.extend(of_last(ContextPart::Workspace, workspace));
        for part in turn::turn_parts(prompts, &self.turns, self.compacted, &[], most) {
            let request = |number: usize| {
                self.turns.get(number - 1).map(|turn| turn.request.clone()).unwrap_or_default()
            };
            let of = match part.of {
                PartOf::Summary(turns) => ContextPart::Summary(turns),
                PartOf::Turn(number) => ContextPart::Turn(number, request(number)),
                PartOf::Fates => ContextPart::Fates,
            };
            parts.push((of, estimate_tokens(&part.text)));
        }
        parts.extend(of_last(ContextPart::Evidence, evidence));
        let window = llm.context_window(&llm.max_think_model.model);
        Context { window, conversation: most, parts }
    }
}
