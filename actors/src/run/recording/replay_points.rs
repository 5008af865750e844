//! Waiting for a replay to reach a point of its recording.

use std::time::Duration;

use facts::delivery::{Delivery, StagedFor};
use facts::event::Event;
use facts::words::Role;

use super::{Recorded, Recording};

impl Recording {
    /// Waits until all events were replayed.
    pub async fn over(&self) {
        self.reached(<[Recorded]>::is_empty).await;
    }

    /// Waits until all events of the run and its lanes were replayed.
    pub async fn all_over(&self) {
        let mut progress = self.progress.subscribe();
        // The sender cannot close: this recording owns it.
        while !self.is_all_over() && progress.changed().await.is_ok() {}
    }

    /// As [`Self::all_over`], for at most this long.
    pub async fn all_over_within(&self, most: Duration) {
        tokio::time::timeout(most, self.all_over()).await.ok();
    }

    /// Waits until no event was replayed for `patience`: the run is waiting for something that is not recorded.
    pub async fn stands_still(&self, patience: Duration) {
        let mut progress = self.progress.subscribe();
        while tokio::time::timeout(patience, progress.changed()).await.is_ok() {}
        self.ended();
    }

    /// Waits for the next recorded death of a role at position `from` or later, once everything before it was replayed.
    /// Returns the position after it, from which to search next, and the role.
    pub async fn crash(&self, from: usize) -> (usize, Role) {
        self.found(|at, rest| {
            let Event::RoleCrashed { role } = &rest.first()?.event else { return None };
            (at >= from).then_some((at + 1, *role))
        })
        .await
    }

    /// Waits for an end that came from outside, a cancellation or the time limit, once everything before it was
    /// replayed.
    pub async fn stopped(&self) -> Delivery {
        let why = self.found(|_, rest| end_from_outside(rest)).await;
        for part in self.parts() {
            part.over().await;
        }
        why
    }

    /// Returns that end if it is the next event.
    pub fn stops_here(&self) -> Option<Delivery> {
        end_from_outside(self.rest())
    }

    /// Waits until another event was replayed.
    pub(crate) async fn moved(&self) {
        let from = *self.at.borrow();
        self.at.subscribe().wait_for(|at| *at != from).await.ok();
    }

    /// Waits until `find` succeeds at the current position and the events after it.
    async fn found<T>(&self, find: impl Fn(usize, &[Recorded]) -> Option<T>) -> T {
        let mut at = self.at.subscribe();
        loop {
            let here = *at.borrow_and_update();
            if let Some(found) = find(here, self.from(here)) {
                return found;
            }
            // The sender cannot close: this recording owns it.
            at.changed().await.ok();
        }
    }

    pub(super) async fn reached(&self, is_there: impl Fn(&[Recorded]) -> bool) {
        let mut at = self.at.subscribe();
        let there = |at: &usize| is_there(self.from(*at));
        at.wait_for(there).await.ok();
    }
}

/// Returns the delivery if the next event is an end that came from outside. Undo patches staged before it are part of
/// it.
pub(super) fn end_from_outside(rest: &[Recorded]) -> Option<Delivery> {
    let mut events = rest.iter().map(|recorded| &recorded.event).skip_while(|event| {
        matches!(event, Event::PatchStaged { purpose: StagedFor::WayBack, .. })
    });
    let (Event::RunFinished { delivery, .. } | Event::LaneFailed { why: delivery, .. }) =
        events.next()?
    else {
        return None;
    };
    delivery.is_from_outside().then(|| delivery.clone())
}
