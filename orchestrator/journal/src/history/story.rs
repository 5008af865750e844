//! One session with all its details and the cause of each event. Values only.

use actors::event::Event;

use super::causes::{causes, is_of_the_gate};
use super::entry::{Kept, StoryEntry};
use super::summary::Summary;
use super::usage::{Call, calls};
use crate::staged::{Fates, StagedPatch};

/// A session with all its events.
#[derive(Debug)]
pub struct Story {
    /// Summary of the session.
    pub summary: Summary,
    /// Its events, in order.
    pub entries: Vec<StoryEntry>,
    calls: Vec<Call>,
    fates: Fates,
}

/// An event with its causes and effects.
#[derive(Debug)]
pub struct Explained<'s> {
    /// The event.
    pub entry: &'s StoryEntry,
    /// Its causes, nearest first.
    pub because: Vec<&'s StoryEntry>,
    /// Its effects, in order.
    pub led_to: Vec<&'s StoryEntry>,
    /// For a command of a verification: the result of the whole verification.
    pub verdict: Vec<&'s StoryEntry>,
}

impl Story {
    /// Builds the story from all events of a session; `None` if the session has not begun.
    pub(super) fn of(kept: Kept, fates: Fates) -> Option<Self> {
        let (summary, calls) = (Summary::of(&kept)?, calls(&kept));
        Some(Self { summary, entries: kept.entries, calls, fates })
    }

    /// Returns the call that an event begins or ends.
    pub fn call(&self, entry: &StoryEntry) -> Option<&Call> {
        let replied = |call: &Call| call.reply.as_ref().map(|reply| reply.seq);
        self.calls.iter().rfind(|it| it.seq == entry.seq || replied(it) == Some(entry.seq))
    }

    /// Returns the patch set that an event stages.
    pub fn patch(&self, entry: &StoryEntry) -> Option<StagedPatch> {
        StagedPatch::of(&self.summary.id, entry.event.as_ref()?, &self.fates)
    }

    /// Explains the event numbered `seq`; `None` if there is no such event.
    pub fn explain(&self, seq: u64) -> Option<Explained<'_>> {
        let at = |seq: u64| self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok();
        let entry = self.entries.get(at(seq)?)?;
        let causes = causes(&self.entries);
        let cause = |seq: &u64| causes.get(at(*seq)?).copied().flatten();
        // A cause always precedes its effect, so this ends.
        let chain = std::iter::successors(Some(seq), |seq| cause(seq).filter(|cause| cause < seq));
        let because = chain.skip(1).filter_map(|seq| self.entries.get(at(seq)?)).collect();
        let mut led_to = Vec::new();
        // The decisions about a change count as its effects, until it is in the workspace.
        let mut followed = vec![seq];
        for (effect, cause) in self.entries.iter().zip(&causes) {
            if cause.is_some_and(|cause| followed.contains(&cause)) {
                led_to.push(effect);
                if effect.event.as_ref().is_some_and(is_of_the_gate) {
                    followed.push(effect.seq);
                }
            }
        }
        Some(Explained { entry, because, led_to, verdict: self.verdict(entry) })
    }

    /// Returns the result of the verification that this command belongs to, and how a failure was classified.
    fn verdict(&self, entry: &StoryEntry) -> Vec<&StoryEntry> {
        let Some(Event::VerificationRun { baseline: false, .. }) = entry.event else {
            return Vec::new();
        };
        let later = self.entries.iter().filter(|it| it.seq > entry.seq && it.is_beside(entry));
        let is_done = |it: &&StoryEntry| matches!(it.event, Some(Event::VerifyCompleted { .. }));
        let is_verdict = |it: &&StoryEntry| {
            is_done(it) || matches!(it.event, Some(Event::FailureClassified { .. }))
        };
        let is_state =
            |it: &StoryEntry| matches!(it.event, Some(Event::SessionStateChanged { .. }));
        let verdict = later.skip_while(|it| !is_done(it));
        verdict.filter(|it| !is_state(it)).take_while(is_verdict).collect()
    }
}
