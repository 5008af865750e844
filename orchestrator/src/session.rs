//! The states of a session and what leads from one to the next. Pure.
//!
//! The journal asks after every event and writes the change down right behind its cause.

use std::fmt;

use actors::delivery::Delivery;
use actors::event::Event;
use serde::Deserialize;

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum SessionState {
    /// Nothing was asked yet.
    Idle,
    /// Evidence is gathered, a plan is made, an answer is thought about.
    Planning,
    /// A diff is written or applied.
    ExecutingStep,
    /// The user is asked for a yes.
    AwaitingApproval,
    /// The checks are run.
    Verifying,
    /// The last request was delivered.
    Completed,
    /// The last request was stopped and may be taken up again.
    Paused,
    /// The last request was not delivered.
    Failed,
}

impl SessionState {
    /// The state of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// The state that `event` leads to, when it is another. An event that would lead where this state does not leaves it.
    pub(crate) fn after(self, event: &Event) -> Option<Self> {
        self.wanted_by(event).filter(|to| *to != self && self.leads_to(*to))
    }

    /// Whether a session in this state can get into another.
    const fn leads_to(self, to: Self) -> bool {
        use SessionState::{
            AwaitingApproval, Completed, ExecutingStep, Failed, Idle, Paused, Planning, Verifying,
        };
        // Only what is in hand comes to an end, but a request may fail, or be stopped, before it is in hand.
        matches!(
            (self, to),
            (Idle | Completed | Paused | Failed, Planning | AwaitingApproval | Failed | Paused)
                | (Planning, ExecutingStep | AwaitingApproval | Completed | Failed | Paused)
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
    fn wanted_by(self, event: &Event) -> Option<Self> {
        let to = match event {
            Event::RunStarted { .. } | Event::ArchitectStarted { .. } => Self::Planning,
            Event::EditorStarted { .. }
            | Event::ApplyStarted { .. }
            | Event::LanesBegun { .. }
            | Event::LanesMerged { .. } => Self::ExecutingStep,
            Event::ToolProposed { .. } => Self::AwaitingApproval,
            Event::ToolApproved { .. } | Event::ToolDenied { .. }
                if self == Self::AwaitingApproval =>
            {
                Self::ExecutingStep
            }
            Event::VerifyStarted { .. } => Self::Verifying,
            Event::RunFinished { delivery, .. } => match delivery {
                Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. } => Self::Completed,
                Delivery::Cancelled => Self::Paused,
                Delivery::NeedsWork { .. }
                | Delivery::Denied { .. }
                | Delivery::BudgetExhausted { .. }
                | Delivery::Failed { .. } => Self::Failed,
            },
            _ => return None,
        };
        Some(to)
    }
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [SessionState; 8] = [
        SessionState::Idle,
        SessionState::Planning,
        SessionState::ExecutingStep,
        SessionState::AwaitingApproval,
        SessionState::Verifying,
        SessionState::Completed,
        SessionState::Paused,
        SessionState::Failed,
    ];

    #[test]
    fn what_has_not_begun_is_not_carried_out_and_nothing_is_idle_again() {
        for state in ALL {
            assert!(!state.leads_to(SessionState::Idle), "{state}");
            assert_eq!(SessionState::named(&state.to_string()), Some(state));
        }
        for ended in [SessionState::Completed, SessionState::Paused, SessionState::Failed] {
            assert!(ended.leads_to(SessionState::Planning), "{ended}");
            for during in [SessionState::ExecutingStep, SessionState::Verifying] {
                assert!(!ended.leads_to(during), "{ended} {during}");
            }
        }
        // The journal refuses what is out of order: the state stays.
        let verify = Event::VerifyStarted { iteration: 1, commands: vec![], derived: true };
        for state in [SessionState::Idle, SessionState::Planning, SessionState::Completed] {
            assert_eq!(state.after(&verify), None, "{state}");
        }
    }

    #[test]
    fn a_run_walks_through_the_states() {
        let finished = |delivery| Event::RunFinished {
            delivery,
            spent: actors::ledger::Amount::default(),
            rollbacks: Vec::new(),
        };
        let ask = String::new();
        let events = [
            (Event::ArchitectStarted { iteration: 1 }, Some(SessionState::Planning)),
            (Event::EditorStarted { iteration: 1 }, Some(SessionState::ExecutingStep)),
            (
                Event::ToolProposed { ask: ask.clone(), what: ask.clone(), why: ask.clone() },
                Some(SessionState::AwaitingApproval),
            ),
            (Event::ToolApproved { ask }, Some(SessionState::ExecutingStep)),
            (Event::ApplyStarted { iteration: 1 }, None),
            (
                Event::VerifyStarted { iteration: 1, commands: vec![], derived: true },
                Some(SessionState::Verifying),
            ),
            (Event::EditorStarted { iteration: 2 }, Some(SessionState::ExecutingStep)),
            (finished(Delivery::Cancelled), Some(SessionState::Paused)),
        ];
        let mut state = SessionState::Idle;
        for (event, expected) in events {
            let next = state.after(&event);
            assert_eq!(next, expected, "{event:?}");
            state = next.unwrap_or(state);
        }
    }
}
