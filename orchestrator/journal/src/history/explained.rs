//! What an event comes from and leads to, found while the events of its session pass by once. Pure.

use std::collections::HashMap;

use facts::event::Event;

use super::causes::{EarlierEvents, EventPlace, is_of_the_gate, place_of};
use super::entry::StoryEntry;

/// The numbers of the causes and effects of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explained {
    /// Its causes, nearest first.
    pub because: Vec<u64>,
    /// Its effects, in order.
    pub led_to: Vec<u64>,
    /// For a command of a verification: the result of the whole verification, and how a failure was classified.
    pub verdict: Vec<u64>,
}

impl Explained {
    /// Returns true if it has the event with this number.
    pub(super) fn has(&self, seq: u64) -> bool {
        let is_effect = self.led_to.binary_search(&seq).is_ok();
        is_effect || self.because.contains(&seq) || self.verdict.contains(&seq)
    }
}

/// The explanation of an event while the events pass by. Those of other runs may be left out.
#[derive(Default)]
pub(super) struct Explaining {
    seq: u64,
    earlier: EarlierEvents,
    /// The cause of each event up to the one in question.
    causes: HashMap<u64, u64>,
    /// The events whose effects count. The decisions about a change count as its effects, until it is in the workspace.
    followed: Vec<u64>,
    verification: Verification,
    found: Explained,
}

/// Where the result of a verification is expected.
#[derive(Default)]
enum Verification {
    /// The event is not a command of one.
    #[default]
    None,
    /// It has not come yet in this place.
    Runs(EventPlace),
    /// It begins in this place, and may go on there.
    Ended(EventPlace),
}

impl Explaining {
    pub(super) fn new(seq: u64) -> Self {
        Self { seq, followed: vec![seq], ..Self::default() }
    }

    /// Takes in the next event.
    pub(super) fn hear(&mut self, entry: StoryEntry) {
        let cause = self.earlier.cause(&entry);
        if entry.seq <= self.seq {
            // A cause always precedes its effect, so a chain of causes ends.
            let cause = cause.filter(|cause| *cause < entry.seq);
            self.causes.extend(cause.map(|cause| (entry.seq, cause)));
        } else if cause.is_some_and(|cause| self.followed.contains(&cause)) {
            self.found.led_to.push(entry.seq);
            if entry.event.as_ref().is_some_and(is_of_the_gate) {
                self.followed.push(entry.seq);
            }
        }
        self.note_verdict(&entry);
        self.earlier.add(entry);
    }

    fn note_verdict(&mut self, entry: &StoryEntry) {
        let is_at = |place: &EventPlace| *place == place_of(entry);
        match (&self.verification, &entry.event) {
            (Verification::None, Some(Event::VerificationRun { baseline: false, .. }))
                if entry.seq == self.seq =>
            {
                self.verification = Verification::Runs(place_of(entry));
            }
            (Verification::Runs(place), Some(Event::VerifyCompleted { .. })) if is_at(place) => {
                self.found.verdict.push(entry.seq);
                self.verification = Verification::Ended(place.clone());
            }
            (Verification::Ended(place), event) if is_at(place) => match event {
                Some(Event::VerifyCompleted { .. } | Event::FailureClassified { .. }) => {
                    self.found.verdict.push(entry.seq);
                }
                Some(Event::SessionStateChanged { .. }) => {}
                Some(_) | None => self.verification = Verification::None,
            },
            (_, _) => {}
        }
    }

    /// Returns what was found.
    pub(super) fn done(self) -> Explained {
        let Self { seq, causes, found, .. } = self;
        let chain = std::iter::successors(Some(seq), |seq| causes.get(seq).copied());
        Explained { because: chain.skip(1).collect(), ..found }
    }
}
