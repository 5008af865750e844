//! Which events are asked of many sessions at once, and by which question. Pure.

use actors::event::Event;

/// What events of many sessions are asked for. An event that has no topic stands in its journal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// What was asked in a session, and how it ended.
    Sessions,
    /// What models were asked, and what it cost.
    Calls,
    /// Which patch sets there are.
    Patches,
    /// Which of them are in the workspace.
    Commits,
    /// What lanes did.
    Lanes,
}

impl Topic {
    /// The topic of an event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are asked of one session only")]
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::SessionStarted { .. }
            | Event::SessionStateChanged { .. }
            | Event::TurnAdded { .. }
            | Event::RunFinished { .. } => Self::Sessions,
            Event::ModelRequest { .. } | Event::ModelReply { .. } | Event::CallDropped { .. } => {
                Self::Calls
            }
            Event::PatchStaged { .. } => Self::Patches,
            Event::PatchApplied { .. } | Event::CommitSettled { .. } => Self::Commits,
            Event::LaneSpawned { .. }
            | Event::LaneCompleted { .. }
            | Event::LaneFailed { .. }
            | Event::LanesFinished { .. } => Self::Lanes,
            _ => return None,
        })
    }

    /// Its name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Calls => "calls",
            Self::Patches => "patches",
            Self::Commits => "commits",
            Self::Lanes => "lanes",
        }
    }
}
