//! What is recorded of changes and commands at the gate, when a run is driven again.

use actors::event::Event;
use actors::publisher::{Answer, Proposal, Publisher};
use actors::words::{Asked, DeniedBy};
use actors::workspace::{CommitRefused, Denied};
use tools::policy::Verdict;

use super::SaidTo;

/// The answer to a question: what was answered when the run was driven before, or what the user says now.
pub(super) async fn answered(
    publisher: &Publisher,
    question: &str,
    effect: Proposal,
    why: String,
) -> Option<Answer> {
    match publisher.recall(|event| recorded_answer(event, question)).await {
        Some(Reaction(answer)) => answer,
        None => publisher.ask(effect, why).await,
    }
}

/// Why `what` was denied without a question, if an event says so.
pub(super) fn denied_unasked(event: &Event, what: &Asked) -> Option<String> {
    let Event::ToolDenied { ask: None, action, why, .. } = event else { return None };
    (action == what).then(|| why.to_string())
}

/// What policy said to `what`, if an event tells that it did not simply let it go ahead.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events come of no verdict")]
pub(super) fn recorded_verdict(event: &Event, what: &Asked) -> Option<Verdict> {
    match event {
        Event::ToolProposed { action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ToolDenied { ask: None, action, why, .. } if action == what => {
            Some(Verdict::Deny { why: why.to_string() })
        }
        // What was said to the same command in answer to another lane.
        Event::ToolDenied { ask: Some(_), action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ToolApproved { .. } => Some(Verdict::Ask { why: String::new() }),
        _ => None,
    }
}

/// What came of a question: the answer, or that nobody was there to give one.
struct Reaction(Option<Answer>);

/// What an event says came of a question, if it does.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are no answers")]
fn recorded_answer(event: &Event, question: &str) -> Option<Reaction> {
    match event {
        Event::ToolApproved { ask } if ask == question => Some(Reaction(Some(Answer::Yes))),
        Event::ToolDenied { ask: Some(ask), by, .. } if ask == question => {
            Some(Reaction((*by == DeniedBy::User).then_some(Answer::No)))
        }
        _ => None,
    }
}

/// What is recorded to have been said to a command in answer to another lane: an answer without a question before it.
pub(super) fn recorded_saying(event: &Event, what: &Asked, hint: &str) -> Option<SaidTo> {
    if let Event::ToolApproved { ask } = event {
        return Some(SaidTo { ask: ask.clone(), by: DeniedBy::Nobody, result: Ok(()) });
    }
    let Event::ToolDenied { ask: Some(ask), action, by, why } = event else { return None };
    let denied = Denied { what: action.clone(), why: why.clone(), hint: hint.into() };
    (action == what).then(|| SaidTo { ask: ask.clone(), by: *by, result: Err(denied) })
}

/// What is recorded of a commit.
pub(super) enum RecordedCommit {
    /// What came of it.
    Ended(Result<(), CommitRefused>),
    /// How far it had come, and nothing more: the rest is to be done.
    Half(HalfCommit),
}

/// How far a commit had come when the run was driven before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HalfCommit {
    pub(super) checkpoint_made: bool,
    pub(super) begun: bool,
}

/// A step of a commit, as it is recorded.
pub(super) enum Step {
    CheckpointMade,
    Begun,
    Ended(Result<(), CommitRefused>),
}

/// The step of the commit of `patch` that an event tells of, if it does.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are no steps of a commit")]
pub(super) fn recorded_step(event: &Event, patch: &str) -> Option<Step> {
    match event {
        Event::CheckpointCreated { patch: of, .. } if of == patch => Some(Step::CheckpointMade),
        Event::PatchCommitting { patch: of } if of == patch => Some(Step::Begun),
        Event::PatchApplied { patch: of } if of == patch => Some(Step::Ended(Ok(()))),
        Event::PatchNotApplied { patch: of, why } if of == patch => {
            Some(Step::Ended(Err(why.clone().into())))
        }
        _ => None,
    }
}
