//! What a team does to the world: looked up in what is recorded, else done, and written down either way.

use actors::delivery::{Delivery, FailureKind};
use actors::event::Event;
use actors::publisher::{JournalClosed, Publisher};
use tools::tree::SnapshotError;

/// What ends a team before its time.
pub(super) enum Stop {
    /// The run is over.
    Ended(Delivery),
    /// Nothing can be written down any more.
    Closed(JournalClosed),
}

impl From<JournalClosed> for Stop {
    fn from(closed: JournalClosed) -> Self {
        Self::Closed(closed)
    }
}

impl From<SnapshotError> for Stop {
    fn from(error: SnapshotError) -> Self {
        Self::Ended(Delivery::failed(FailureKind::Worktree, &error))
    }
}

/// What came of an effect, as `take` finds it in the event that tells it: what is recorded, or what comes of it now. It is
/// written down either way.
pub(super) async fn effect<T>(
    publisher: &Publisher,
    take: impl Fn(&Event) -> Option<T>,
    act: impl AsyncFnOnce() -> Result<Event, SnapshotError>,
) -> Result<T, Stop> {
    let recorded = publisher.recall(|event| take(event).is_some().then(|| event.clone())).await;
    let event = match recorded {
        Some(event) => event,
        None => act().await?,
    };
    let taken = take(&event);
    publisher.record(event).await?;
    taken.ok_or_else(|| JournalClosed.into())
}
