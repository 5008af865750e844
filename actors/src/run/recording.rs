//! The recording of a run that is replayed: each event is compared with it, and the results of effects are taken from
//! it.
//!
//! A run is determined by the results of its effects. So a run is resumed after a crash, or replayed, by driving it
//! through the same actors again: every effect is looked up here first, and only those that are not recorded are
//! performed.

mod difference;
mod replay_points;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use facts::amounts::Amount;
use facts::answered::ChildEnd;
use facts::event::Event;
use facts::scope::Scope;
use facts::words::Role;
use model::AgentRole;
use tokio::sync::watch;

pub use self::difference::Difference;
use self::replay_points::end_from_outside;
use crate::run::trace::{Position, Trace, Traced};

/// An event as it is in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its sequence number.
    pub seq: u64,
    /// The scope it belongs to.
    pub scope: Scope,
    /// The event, including the content that effects need.
    pub event: Event,
}

/// What happens when a run reaches the end of its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtRecordingEnd {
    /// It continues for real.
    GoOn,
    /// It stops.
    Stop,
}

/// How recorded model requests and policy verdicts are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// They are recomputed and compared.
    Compared,
    /// They are reused unchanged: another version made them, from other prompts or rules.
    Taken,
}

/// The recording of a run, or of a part of it such as a lane.
///
/// Lanes run concurrently, and their relative speed varies. So each lane is replayed on its own: the order of events is
/// fixed within a lane, and among the events that belong to no lane.
#[derive(Debug)]
pub struct Recording {
    events: Vec<Recorded>,
    how: How,
    /// Number of events replayed.
    at: watch::Sender<usize>,
    /// The recordings of the parts of this run.
    parts: Mutex<BTreeMap<Scope, Arc<Recording>>>,
    /// Number of events replayed in the run and its parts together.
    progress: Arc<watch::Sender<usize>>,
    /// How the recording ends.
    end: End,
    /// How the recordings end of parts that had not ended before the run.
    end_of_parts: End,
    ids: Mutex<VecDeque<String>>,
    /// Calls that were abandoned: the sequence number of the event, and the charge.
    dropped: BTreeMap<u64, (u64, Amount)>,
    /// Messages of the user that no model received.
    unheard: Vec<String>,
    difference: OnceLock<Difference>,
}

/// How a run is compared with its recording.
#[derive(Debug, Clone, Copy)]
struct How {
    at_end: AtRecordingEnd,
    requests: Requests,
    /// True if admission died: what its successor counted depends on timing.
    uncounted: bool,
}

/// What it means if the next event does not concern an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    /// Other events come first; wait for them.
    IsWaitedOut,
    /// The effect is not recorded.
    IsAnAnswer,
}

/// How a recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Interrupted: what would have come next is unknown.
    CutShort,
    /// Interrupted because the run was stopped.
    Stopped,
    /// The run ended by itself.
    Own,
}

/// How an event compares to the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    /// It is in the recording, with this number.
    Same(u64),
    /// The recording has ended, and the run continues.
    Beyond,
    /// Something else is recorded, or the recording has ended and the run must stop.
    Different,
    /// The run got ahead of the recorded end, which came from outside: this event was never reached.
    TooLate,
    /// The run got ahead of the recorded death of a role: this event was never reached. Known once the death is
    /// replayed.
    TooLateForTheDead,
}

/// Returns true for events that the journal itself writes.
const fn is_of_the_session(event: &Event) -> bool {
    matches!(event, Event::SessionStateChanged { .. } | Event::TransitionRefused { .. })
}

/// Returns true for events without a fixed position: messages of the user, and the end of something in a part that was
/// abandoned.
const fn is_from_outside(event: &Event) -> bool {
    matches!(
        event,
        Event::UserSaid { .. }
            | Event::CallDropped { .. }
            | Event::ChildEnded { end: ChildEnd::Cancelled }
    )
}

/// Returns the messages of the user that no model received.
fn unheard(events: &[Recorded]) -> Vec<String> {
    let (mut said, mut heard) = (Vec::new(), 0);
    for Recorded { event, .. } in events {
        if let Event::UserSaid { words } = event {
            said.push(words.clone());
        } else if let Event::UserSteered { words } = event {
            heard += words.len();
        }
    }
    said.into_iter().skip(heard).collect()
}

impl Recording {
    /// Creates the recording of a run from its events, in the order of the journal.
    ///
    /// Session states are left out, since the journal writes them. So are deaths of admission: only what its successors
    /// counted depends on them, and that is then not compared. When an abandoned call is reported depends on timing, so
    /// those events have no fixed position.
    pub fn new(events: Vec<Recorded>, at_end: AtRecordingEnd, requests: Requests) -> Self {
        let is_admission =
            |event: &Event| matches!(event, Event::RoleCrashed { role: Role::Admission });
        let uncounted = events.iter().any(|recorded| is_admission(&recorded.event));
        let how = How { at_end, requests, uncounted };
        let mut own = Vec::new();
        let mut of_parts: BTreeMap<Scope, Vec<Recorded>> = BTreeMap::new();
        for recorded in events.into_iter().filter(|recorded| !is_admission(&recorded.event)) {
            if recorded.scope.segments().len() > 1 {
                of_parts.entry(recorded.scope.clone()).or_default().push(recorded);
            } else {
                own.push(recorded);
            }
        }
        let states = is_of_the_session;
        let last = own.iter().map(|recorded| &recorded.event).rfind(|event| !states(event));
        let (of_run, of_part) = match last {
            Some(Event::RunFinished { delivery, .. }) if delivery.is_from_outside() => {
                (End::Own, End::Stopped)
            }
            Some(Event::RunFinished { .. }) => (End::Own, End::Own),
            _ => (End::CutShort, End::CutShort),
        };
        let run = Self::part(own, how, of_run, Arc::default());
        let part = |(scope, events)| {
            let progress = Arc::clone(&run.progress);
            (scope, Arc::new(Self::part(events, how, of_part, progress)))
        };
        let parts = Mutex::new(of_parts.into_iter().map(part).collect());
        Self { parts, end_of_parts: of_part, ..run }
    }

    fn part(
        mut events: Vec<Recorded>,
        how: How,
        end: End,
        progress: Arc<watch::Sender<usize>>,
    ) -> Self {
        let dropped = events.iter().filter_map(|Recorded { seq, event, .. }| {
            if let Event::CallDropped { call, charged } = event {
                Some((*call, (*seq, *charged)))
            } else {
                None
            }
        });
        let (dropped, unheard) = (dropped.collect(), unheard(&events));
        events
            .retain(|Recorded { event, .. }| !is_of_the_session(event) && !is_from_outside(event));
        let ids = events.iter().filter_map(|recorded| made_id(&recorded.event)).collect();
        Self {
            events,
            how,
            at: watch::channel(0).0,
            parts: Mutex::default(),
            progress,
            end,
            end_of_parts: end,
            ids: Mutex::new(ids),
            dropped,
            unheard,
            difference: OnceLock::new(),
        }
    }

    /// Returns the recording of a part of this run; empty if the part had not started.
    pub fn of_part(&self, scope: &Scope) -> Arc<Recording> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = || {
            let progress = Arc::clone(&self.progress);
            Arc::new(Self::part(Vec::new(), self.how, self.end_of_parts, progress))
        };
        Arc::clone(parts.entry(scope.clone()).or_insert_with(nothing))
    }

    fn parts(&self) -> Vec<Arc<Recording>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.values().map(Arc::clone).collect()
    }

    /// Returns the first difference, if there is one.
    pub fn difference(&self) -> Option<Difference> {
        let of_parts = || self.parts().iter().find_map(|part| part.difference());
        self.difference.get().cloned().or_else(of_parts)
    }

    /// Returns what happens at the end of the recording.
    pub const fn at_end(&self) -> AtRecordingEnd {
        self.how.at_end
    }

    /// Returns how requests and verdicts are treated.
    pub const fn requests(&self) -> Requests {
        self.how.requests
    }

    /// Returns all recorded events, including those of lanes, in the order of the journal.
    pub fn events(&self) -> Vec<Recorded> {
        let parts = self.parts();
        let of_parts = parts.iter().flat_map(|part| part.events.iter().cloned());
        let mut all: Vec<Recorded> = self.events.iter().cloned().chain(of_parts).collect();
        all.sort_by_key(|recorded| recorded.seq);
        all
    }

    /// Returns true if all events were replayed, not counting those of lanes.
    pub fn is_over(&self) -> bool {
        *self.at.borrow() >= self.events.len()
    }

    /// Returns true if all events of the run and its lanes were replayed.
    pub fn is_all_over(&self) -> bool {
        self.is_over() && self.parts().iter().all(|part| part.is_over())
    }

    /// Returns the number of the next event of the run, under `run`, and of each part that is not fully replayed.
    pub fn on_the_way(&self, run: &Scope) -> BTreeMap<Scope, u64> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = |part: &Self| part.rest().first().map(|recorded| recorded.seq);
        let of_parts = parts.iter().filter_map(|(scope, part)| Some((scope.clone(), next(part)?)));
        of_parts.chain(next(self).map(|seq| (run.clone(), seq))).collect()
    }

    /// Returns true if all events were replayed, but the recording was interrupted there.
    pub(crate) fn was_cut(&self) -> bool {
        self.is_over() && self.end != End::Own
    }

    /// Returns the number of events replayed, including those of lanes.
    pub fn followed(&self) -> usize {
        *self.progress.borrow()
    }

    /// Called when the run has ended: any event left in the recording is a difference.
    pub fn ended(&self) {
        let parts = self.parts();
        let left = std::iter::once(self).chain(parts.iter().map(AsRef::as_ref));
        let first = left.filter_map(|part| part.rest().first()).min_by_key(|next| next.seq);
        if let Some(recorded) = first.cloned() {
            self.difference.set(Difference { recorded: Some(recorded), done: None }).ok();
        }
    }

    /// Compares an event of the running replay with the next recorded one.
    pub(crate) fn follow(&self, event: &Event) -> Followed {
        if let Event::CallDropped { call, .. } = event {
            return self.follow_dropped(*call);
        }
        let mut followed = Followed::Different;
        self.at.send_if_modified(|at| {
            let next = self.events.get(*at);
            match next {
                Some(recorded) if self.says_the_same(recorded, event) => {
                    followed = Followed::Same(recorded.seq);
                    *at += 1;
                    self.progress.send_modify(|all| *all += 1);
                }
                None if self.how.at_end == AtRecordingEnd::GoOn => followed = Followed::Beyond,
                Some(_) if end_from_outside(self.from(*at)).is_some() => {
                    followed = Followed::TooLate;
                }
                Some(Recorded { event: Event::RoleCrashed { .. }, .. }) => {
                    followed = Followed::TooLateForTheDead;
                }
                // The recording was interrupted here; what would have come next is unknown.
                None if self.end != End::Own => {}
                Some(_) | None => {
                    let different =
                        Difference { recorded: next.cloned(), done: Some(event.clone()) };
                    self.difference.set(different).ok();
                }
            }
            matches!(followed, Followed::Same(_))
        });
        followed
    }

    fn says_the_same(&self, recorded: &Recorded, event: &Event) -> bool {
        let counted: &[&str] = if self.how.uncounted { &COUNTED } else { &[] };
        let judged: &[&str] = if self.how.requests == Requests::Taken { &JUDGED } else { &[] };
        let decided =
            |event: &Event| event.decisions().without(counted).without(judged).without(&WHERE);
        decided(&recorded.event) == decided(event)
    }

    /// Applies `take` to the next recorded event.
    pub(crate) fn next<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.rest().first().and_then(|recorded| take(&recorded.event))
    }

    /// Returns whether a failed call of `role` was made again; `None` if that is not recorded.
    pub(crate) fn tried_again(&self, role: AgentRole) -> Option<bool> {
        let again = self.rest().iter().find_map(|recorded| {
            let Event::ModelRequest { role: of, retry, .. } = &recorded.event else { return None };
            (*of == role).then_some(*retry > 0)
        });
        again.or_else(|| (self.end == End::Own).then_some(false))
    }

    /// Returns the recorded result of `effect`; `None` if it has to be performed.
    pub(crate) async fn recall<E: Traced>(&self, effect: &mut E) -> Option<E::Outcome> {
        let recalled = match E::POSITION {
            Position::Next => self.recall_next(effect, Absence::IsWaitedOut).await,
            Position::NextIfAtAll => self.recall_next(effect, Absence::IsAnAnswer).await,
            Position::Ahead | Position::AheadIfAtAll => self.recall_ahead(effect),
        };
        if recalled.is_some() {
            return recalled;
        }
        if matches!(E::POSITION, Position::NextIfAtAll | Position::AheadIfAtAll) {
            return None;
        }
        let is_past = |rest: &[Recorded]| rest.iter().all(|next| effect.may_precede(&next.event));
        self.reached(is_past).await;
        // From here on everything is performed for real, if the run continues at all.
        if self.how.at_end == AtRecordingEnd::Stop {
            std::future::pending::<()>().await;
        }
        None
    }

    /// Replays the events of `effect`, starting from the next one.
    async fn recall_next<E: Traced>(&self, effect: &mut E, absence: Absence) -> Option<E::Outcome> {
        let mut at = self.at.subscribe();
        loop {
            at.borrow_and_update();
            match self.look_and_follow(effect) {
                Some(Trace::Done(outcome) | Trace::Foretold(outcome)) => return Some(outcome),
                Some(Trace::Begun) => {}
                Some(Trace::Absent | Trace::Over) if absence == Absence::IsWaitedOut => {
                    // The sender cannot close: this recording owns it.
                    at.changed().await.ok();
                }
                Some(Trace::Absent | Trace::Over) | None => return None,
            }
        }
    }

    /// Returns what the next event says about `effect`, and marks the event as replayed if it belongs to the effect.
    fn look_and_follow<E: Traced>(&self, effect: &mut E) -> Option<Trace<E::Outcome>> {
        let here = *self.at.borrow();
        // Not under the lock of `at`: the effect may ask for the position of the run.
        let looked = self.events.get(here).map(|next| effect.look(&next.event));
        if matches!(looked, Some(Trace::Done(_) | Trace::Begun)) {
            self.at.send_if_modified(|at| {
                let is_here = *at == here;
                if is_here {
                    *at += 1;
                    self.progress.send_modify(|all| *all += 1);
                }
                is_here
            });
        }
        looked
    }

    /// Returns what any later event says about `effect`, without marking events as replayed.
    fn recall_ahead<E: Traced>(&self, effect: &mut E) -> Option<E::Outcome> {
        for next in self.rest() {
            match effect.look(&next.event) {
                Trace::Done(outcome) | Trace::Foretold(outcome) => return Some(outcome),
                Trace::Absent | Trace::Begun => {}
                Trace::Over => return None,
            }
        }
        None
    }

    /// Returns the next recorded id.
    pub(crate) fn next_id(&self) -> Option<String> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Returns the charge of an abandoned call. If the run ended without recording one, the call was never sent.
    pub(crate) fn charged_for(&self, call: u64) -> Option<Amount> {
        let unsent = || (self.end != End::CutShort).then(Amount::default);
        self.dropped.get(&call).map(|(_, charged)| *charged).or_else(unsent)
    }

    /// Returns the messages of the user that no model received.
    pub fn unheard(&self) -> &[String] {
        &self.unheard
    }

    /// Compares the event of an abandoned call; there is one for each call.
    fn follow_dropped(&self, call: u64) -> Followed {
        match (self.dropped.get(&call), self.how.at_end) {
            (Some((seq, _)), _) => Followed::Same(*seq),
            (None, AtRecordingEnd::GoOn) => Followed::Beyond,
            (None, AtRecordingEnd::Stop) => Followed::Same(0),
        }
    }

    fn rest(&self) -> &[Recorded] {
        self.from(*self.at.borrow())
    }

    fn from(&self, at: usize) -> &[Recorded] {
        self.events.get(at..).unwrap_or_default()
    }
}

/// Fields that depend on how much admission has counted.
const COUNTED: [&str; 6] = ["spent", "spent_unknown", "reserved", "max_tokens", "body", "budget"];

/// Fields that tell where an event is recorded, which is elsewhere for forks and replays.
const WHERE: [&str; 1] = ["conversation"];

/// Fields that another version may judge differently from the same results.
const JUDGED: [&str; 5] = ["verified", "terms", "card", "spent", "spent_unknown"];

/// Returns the id that was generated for an event.
fn made_id(event: &Event) -> Option<String> {
    if let Event::PatchStaged { patch: id, .. } | Event::ApprovalAsked { ask: id, .. } = event {
        Some(id.clone())
    } else {
        None
    }
}
