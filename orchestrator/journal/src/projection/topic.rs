//! Which events are queried across many sessions, and by which query. Pure.

use facts::event::Event;
use facts::words::EffectToApprove;

/// A kind of query across sessions. Events without a topic are only in their journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The requests of a session and how they ended.
    Sessions,
    /// Model calls and their cost.
    Calls,
    /// Staged patch sets.
    Patches,
    /// What became of patch sets: applied to the workspace, or declined.
    Commits,
    /// Work of lanes.
    Lanes,
    /// Which models were chosen for questions.
    Decisions,
    /// Calls of servers' tools.
    ServerTools,
}

impl Topic {
    /// Returns the topic of an event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most events are queried in one session only"
    )]
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::SessionStarted { .. }
            | Event::SessionStateChanged { .. }
            | Event::TurnAdded { .. }
            | Event::AutopilotBegan { .. }
            | Event::AutopilotAsked { .. }
            | Event::RunFinished { .. } => Self::Sessions,
            Event::ModelRequest { .. } | Event::ModelReply { .. } | Event::CallDropped { .. } => {
                Self::Calls
            }
            Event::PatchStaged { .. } => Self::Patches,
            Event::PatchApplied { .. }
            | Event::CommitSettled { .. }
            | Event::ApprovalDenied { action: EffectToApprove::Patch(_), .. } => Self::Commits,
            Event::LaneSpawned { .. }
            | Event::LaneCompleted { .. }
            | Event::LaneFailed { .. }
            | Event::LanesFinished { .. } => Self::Lanes,
            Event::RouterDecision { .. } | Event::RouterEscalation { .. } => Self::Decisions,
            Event::ServerToolCalled { .. } | Event::ServerToolAnswered { .. } => Self::ServerTools,
            _ => return None,
        })
    }

    /// Returns its name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Calls => "calls",
            Self::Patches => "patches",
            Self::Commits => "commits",
            Self::Lanes => "lanes",
            Self::Decisions => "decisions",
            Self::ServerTools => "server_tools",
        }
    }
}
