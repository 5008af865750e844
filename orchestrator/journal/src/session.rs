//! The states of a session and the transitions between them. Pure.
//!
//! The journal consults this after every event and records a change directly after its cause.

use facts::delivery::Delivery;
use facts::event::Event;
pub(crate) use facts::words::SessionState;

/// The transitions of a session's state.
pub(crate) trait Transitions: Sized {
    /// Returns the transition that `event` asks for, if it is about another state; refused if it is not allowed from this
    /// one.
    fn after(self, event: &Event) -> Option<Transition>;
}

/// A transition from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transition {
    /// Allowed.
    To(SessionState),
    /// Not allowed from the current state: the state does not change.
    Refused(SessionState),
}

impl Transitions for SessionState {
    fn after(self, event: &Event) -> Option<Transition> {
        let to = wanted_by(self, event).filter(|to| *to != self)?;
        let allowed = leads_to(self, to);
        Some(if allowed { Transition::To(to) } else { Transition::Refused(to) })
    }
}

/// Returns true if a session may go from one state to the other.
const fn leads_to(from: SessionState, to: SessionState) -> bool {
    use SessionState::{
        AwaitingApproval, AwaitingUserInput, Completed, ExecutingStep, Failed, Idle, Paused,
        Planning, Verifying,
    };
    // Only a request in progress can complete, but it may fail or be stopped before that.
    matches!(
        (from, to),
        (
            Idle | Completed | Paused | Failed,
            Planning | AwaitingApproval | AwaitingUserInput | Failed | Paused
        ) | (
            Planning,
            // The checks of a new plan are run on what an earlier one has changed.
            ExecutingStep
                | AwaitingApproval
                | AwaitingUserInput
                | Verifying
                | Completed
                | Failed
                | Paused
        ) | (AwaitingUserInput, Planning | Failed | Paused)
            | (
                ExecutingStep,
                AwaitingApproval | Planning | Verifying | Completed | Failed | Paused
            )
            | (AwaitingApproval, ExecutingStep | Planning | Verifying | Failed | Paused)
            | (
                Verifying,
                ExecutingStep | AwaitingApproval | Planning | Completed | Failed | Paused
            )
    )
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most events leave a session in its state")]
fn wanted_by(state: SessionState, event: &Event) -> Option<SessionState> {
    let to = match event {
        Event::RunStarted { .. } | Event::ArchitectStarted { .. } | Event::UserAnswered { .. } => {
            SessionState::Planning
        }
        Event::EditorStarted { .. }
        | Event::ApplyStarted { .. }
        | Event::LanesBegun { .. }
        | Event::LanesMerged { .. } => SessionState::ExecutingStep,
        Event::ApprovalAsked { .. } => SessionState::AwaitingApproval,
        Event::ApprovalGiven { .. } | Event::ApprovalDenied { .. }
            if state == SessionState::AwaitingApproval =>
        {
            SessionState::ExecutingStep
        }
        Event::UserAsked { .. } => SessionState::AwaitingUserInput,
        Event::VerifyStarted { .. } => SessionState::Verifying,
        Event::RunFinished { delivery, .. } => match delivery {
            Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. } => SessionState::Completed,
            Delivery::Cancelled | Delivery::Paused { .. } => SessionState::Paused,
            Delivery::NeedsWork { .. }
            | Delivery::Denied { .. }
            | Delivery::BudgetExhausted { .. }
            | Delivery::Failed { .. } => SessionState::Failed,
        },
        _ => return None,
    };
    Some(to)
}

#[cfg(test)]
mod tests {
    use checks::wording::Wording;
    use facts::words::EffectToApprove;

    use super::*;

    const ALL: [SessionState; 9] = [
        SessionState::Idle,
        SessionState::Planning,
        SessionState::ExecutingStep,
        SessionState::AwaitingApproval,
        SessionState::AwaitingUserInput,
        SessionState::Verifying,
        SessionState::Completed,
        SessionState::Paused,
        SessionState::Failed,
    ];

    #[test]
    fn work_needs_a_plan_first_and_no_state_leads_back_to_idle() {
        for state in ALL {
            assert!(!leads_to(state, SessionState::Idle), "{state}");
        }
        for ended in [SessionState::Completed, SessionState::Paused, SessionState::Failed] {
            assert!(leads_to(ended, SessionState::Planning), "{ended}");
            for during in [SessionState::ExecutingStep, SessionState::Verifying] {
                assert!(!leads_to(ended, during), "{ended} {during}");
            }
        }
        // The journal refuses transitions that are out of order, and keeps the state.
        let verify = Event::VerifyStarted { iteration: 1, commands: vec![], derived: true };
        for state in [SessionState::Idle, SessionState::Completed] {
            assert_eq!(
                state.after(&verify),
                Some(Transition::Refused(SessionState::Verifying)),
                "{state}"
            );
        }
    }

    #[test]
    fn a_run_passes_through_the_states() {
        let finished = |delivery| Event::RunFinished {
            delivery,
            spent: facts::amounts::Amount::default(),
            spent_unknown: facts::amounts::Amount::default(),
            rollbacks: Vec::new(),
        };
        let ask = String::new();
        let events = [
            (Event::ArchitectStarted { iteration: 1 }, Some(SessionState::Planning)),
            (Event::EditorStarted { iteration: 1, call: None }, Some(SessionState::ExecutingStep)),
            (
                Event::ApprovalAsked {
                    ask: ask.clone(),
                    action: EffectToApprove::Command(String::new()),
                    why: Wording::default(),
                },
                Some(SessionState::AwaitingApproval),
            ),
            (
                Event::ApprovalGiven { ask, left_out: vec![], said: None },
                Some(SessionState::ExecutingStep),
            ),
            (Event::ApplyStarted { iteration: 1 }, None),
            (
                Event::VerifyStarted { iteration: 1, commands: vec![], derived: true },
                Some(SessionState::Verifying),
            ),
            (Event::EditorStarted { iteration: 2, call: None }, Some(SessionState::ExecutingStep)),
            (finished(Delivery::Cancelled), Some(SessionState::Paused)),
        ];
        let mut state = SessionState::Idle;
        for (event, expected) in events {
            let next = state.after(&event);
            assert_eq!(next, expected.map(Transition::To), "{event:?}");
            state = expected.unwrap_or(state);
        }
    }
}
