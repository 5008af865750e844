//! What is recorded of a run that is driven again: it is followed event by event, and asked what came of each effect.
//!
//! A run is determined by what came of its effects. So a run is taken up after a crash, or replayed, by driving it again
//! through the same actors: every effect is looked up here first, and only what is not recorded is done.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::answered::ChildEnd;
use crate::delivery::{Delivery, StagedFor};
use crate::event::Event;
use crate::ledger::Amount;
use crate::scope::Scope;
use crate::trace::{Position, Trace, Traced};
use crate::words::Role;

/// An event as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its place in the journal.
    pub seq: u64,
    /// What it is about.
    pub scope: Scope,
    /// The event, with the content that effects are answered from.
    pub event: Event,
}

/// What happens when a run comes to the end of what is recorded of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// It goes on, for real.
    GoOn,
    /// It stops.
    Stop,
}

/// What is done with the requests to models and the verdicts of policy that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// They are made again, and compared.
    Compared,
    /// They are taken as they are: another version made them, from other texts or rules.
    Taken,
}

/// The first place where a run did not do what is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What is recorded; nothing if the run goes on where the record ends.
    pub recorded: Option<Recorded>,
    /// What it did; nothing if it did nothing any more.
    pub done: Option<Event>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.recorded, &self.done) {
            (Some(Recorded { seq, event, .. }), Some(done)) if event.kind() == done.kind() => {
                write!(f, "event {seq} is {}, and now it would say something else", event.kind())
            }
            (Some(Recorded { seq, event, .. }), Some(done)) => {
                write!(f, "event {seq} is {}, and now it would be {}", event.kind(), done.kind())
            }
            (Some(Recorded { seq, event, .. }), None) => {
                write!(f, "event {seq} is {}, and now it does not come", event.kind())
            }
            (None, Some(done)) => write!(f, "the record ends, and now {} follows", done.kind()),
            (None, None) => f.write_str("there is none"),
        }
    }
}

/// What is recorded of one run, or of a part of it: a lane.
///
/// Lanes work at the same time, and who is faster is not the same every time. So each lane is followed for itself: the order
/// of events holds within a lane, and within what belongs to none.
#[derive(Debug)]
pub struct Recording {
    events: Vec<Recorded>,
    how: How,
    /// How many of them were followed.
    at: watch::Sender<usize>,
    /// What is recorded of the parts of this run.
    parts: Mutex<BTreeMap<Scope, Arc<Recording>>>,
    /// How many events were followed in the run and its parts together.
    progress: Arc<watch::Sender<usize>>,
    /// How it ended, as far as that is recorded.
    end: End,
    /// How its parts ended that did not end before it.
    end_of_parts: End,
    ids: Mutex<VecDeque<String>>,
    /// Calls that were given up: the number of the event, and what was charged.
    dropped: BTreeMap<u64, (u64, Amount)>,
    /// What the user said and no model was told.
    unheard: Vec<String>,
    difference: OnceLock<Difference>,
}

/// How a run is compared with what is recorded of it.
#[derive(Debug, Clone, Copy)]
struct How {
    beyond: Beyond,
    requests: Requests,
    /// Whether admission died: what its successor counted depends on when.
    uncounted: bool,
}

/// What it means that the next event tells nothing of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    /// Others come first.
    IsWaitedOut,
    /// Nothing is recorded of it.
    IsAnAnswer,
}

/// How what is recorded ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// In the middle: what would have come next nobody knows.
    CutShort,
    /// So does it, but because the run was stopped.
    Stopped,
    /// By itself.
    Own,
}

/// How an event compares to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    /// It is recorded, with this number.
    Same(u64),
    /// The record is over, and the run goes on.
    Beyond,
    /// Something else is recorded, or nothing and that is the end.
    Different,
    /// It is faster than what ended the run here, which came from outside: it never comes to it.
    TooLate,
    /// The same, for the death of a role: it never comes to it, and that is known when the death is.
    TooLateForTheDead,
}

/// Whether the journal makes it.
const fn is_of_the_session(event: &Event) -> bool {
    matches!(event, Event::SessionStateChanged { .. } | Event::TransitionRefused { .. })
}

/// Whether it comes when it comes: what the user says, or the end of something in a part of the run that was given up.
const fn is_from_outside(event: &Event) -> bool {
    matches!(
        event,
        Event::UserSaid { .. }
            | Event::CallDropped { .. }
            | Event::ChildEnded { end: ChildEnd::Cancelled }
    )
}

/// What the user said, and no model was told.
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
    /// What is recorded of a run, in the order of the journal.
    ///
    /// The states of the session are left out, since the journal makes them. So are deaths of admission: nothing depends on
    /// them but what their successors counted, which is not compared then. And when a call is told to be given up depends on
    /// who is faster.
    pub fn new(events: Vec<Recorded>, beyond: Beyond, requests: Requests) -> Self {
        let is_admission =
            |event: &Event| matches!(event, Event::RoleCrashed { role: Role::Admission });
        let uncounted = events.iter().any(|recorded| is_admission(&recorded.event));
        let how = How { beyond, requests, uncounted };
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

    /// What is recorded of a part of this run; nothing if it had not begun.
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

    /// The first difference, if there was one.
    pub fn difference(&self) -> Option<Difference> {
        let of_parts = || self.parts().iter().find_map(|part| part.difference());
        self.difference.get().cloned().or_else(of_parts)
    }

    /// What happens at the end of the record.
    pub const fn beyond(&self) -> Beyond {
        self.how.beyond
    }

    /// What is done with requests and verdicts.
    pub const fn requests(&self) -> Requests {
        self.how.requests
    }

    /// What is recorded, that of the lanes included, in the order of the journal.
    pub fn events(&self) -> Vec<Recorded> {
        let parts = self.parts();
        let of_parts = parts.iter().flat_map(|part| part.events.iter().cloned());
        let mut all: Vec<Recorded> = self.events.iter().cloned().chain(of_parts).collect();
        all.sort_by_key(|recorded| recorded.seq);
        all
    }

    /// Whether everything recorded was followed; what is recorded of lanes is not looked at.
    pub fn is_over(&self) -> bool {
        *self.at.borrow() >= self.events.len()
    }

    /// Whether everything recorded of the run and its lanes was followed.
    pub fn is_all_over(&self) -> bool {
        self.is_over() && self.parts().iter().all(|part| part.is_over())
    }

    /// How far each part of the run has come, while it is on its way: the number of the event that it comes to next. That of
    /// the run itself stands under `run`.
    pub fn on_the_way(&self, run: &Scope) -> BTreeMap<Scope, u64> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = |part: &Self| part.rest().first().map(|recorded| recorded.seq);
        let of_parts = parts.iter().filter_map(|(scope, part)| Some((scope.clone(), next(part)?)));
        of_parts.chain(next(self).map(|seq| (run.clone(), seq))).collect()
    }

    /// Whether everything recorded was followed, and that is not all that there was to be.
    pub(crate) fn was_cut(&self) -> bool {
        self.is_over() && self.end != End::Own
    }

    /// How many events were followed, those of the lanes included.
    pub fn followed(&self) -> usize {
        *self.progress.borrow()
    }

    /// The run has ended: what is recorded behind that is a difference.
    pub fn ended(&self) {
        let parts = self.parts();
        let left = std::iter::once(self).chain(parts.iter().map(AsRef::as_ref));
        let first = left.filter_map(|part| part.rest().first()).min_by_key(|next| next.seq);
        if let Some(recorded) = first.cloned() {
            self.difference.set(Difference { recorded: Some(recorded), done: None }).ok();
        }
    }

    /// Comes back when everything recorded was followed.
    pub async fn over(&self) {
        self.reached(<[Recorded]>::is_empty).await;
    }

    /// Comes back when everything recorded of the run and its lanes was followed.
    pub async fn all_over(&self) {
        let mut progress = self.progress.subscribe();
        // The sender is this recording's own.
        while !self.is_all_over() && progress.changed().await.is_ok() {}
    }

    /// Comes back when nothing was followed for as long as `patience`: the run waits for what is not recorded.
    pub async fn stands_still(&self, patience: Duration) {
        let mut progress = self.progress.subscribe();
        while tokio::time::timeout(patience, progress.changed()).await.is_ok() {}
        self.ended();
    }

    /// The role that dies next, once everything before its death was followed, and that is at least `from` events; with where
    /// to look for the death behind it.
    pub async fn crash(&self, from: usize) -> (usize, Role) {
        self.found(|at, rest| {
            let Event::RoleCrashed { role } = &rest.first()?.event else { return None };
            (at >= from).then_some((at + 1, *role))
        })
        .await
    }

    /// The end that came from outside, once everything before it was followed: a cancel, or the end of the time.
    pub async fn stopped(&self) -> Delivery {
        let why = self.found(|_, rest| end_from_outside(rest)).await;
        for part in self.parts() {
            part.over().await;
        }
        why
    }

    /// The same, if it is next.
    pub fn stops_here(&self) -> Option<Delivery> {
        end_from_outside(self.rest())
    }

    /// Compares what happens now with what is recorded next.
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
                None if self.how.beyond == Beyond::GoOn => followed = Followed::Beyond,
                Some(_) if end_from_outside(self.from(*at)).is_some() => {
                    followed = Followed::TooLate;
                }
                Some(Recorded { event: Event::RoleCrashed { .. }, .. }) => {
                    followed = Followed::TooLateForTheDead;
                }
                // It was cut short there; what would have come next nobody knows.
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

    /// Comes back when something more was followed.
    pub(crate) async fn moved(&self) {
        let from = *self.at.borrow();
        self.at.subscribe().wait_for(|at| *at != from).await.ok();
    }

    fn says_the_same(&self, recorded: &Recorded, event: &Event) -> bool {
        let counted: &[&str] = if self.how.uncounted { &COUNTED } else { &[] };
        let judged: &[&str] = if self.how.requests == Requests::Taken { &JUDGED } else { &[] };
        let decided =
            |event: &Event| event.decisions().without(counted).without(judged).without(&WHERE);
        decided(&recorded.event) == decided(event)
    }

    /// What `take` finds in the event that is recorded next.
    pub(crate) fn next<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.rest().first().and_then(|recorded| take(&recorded.event))
    }

    /// What came of `effect`, as far as that is recorded; `None` when it is to be done.
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
        // From here on everything is done for real, if anything is.
        if self.how.beyond == Beyond::Stop {
            std::future::pending::<()>().await;
        }
        None
    }

    /// Follows the events that tell of `effect`, from the next one on.
    async fn recall_next<E: Traced>(&self, effect: &mut E, absence: Absence) -> Option<E::Outcome> {
        let mut at = self.at.subscribe();
        loop {
            at.borrow_and_update();
            match self.look_and_follow(effect) {
                Some(Trace::Done(outcome) | Trace::Foretold(outcome)) => return Some(outcome),
                Some(Trace::Begun) => {}
                Some(Trace::Absent | Trace::Over) if absence == Absence::IsWaitedOut => {
                    // The sender is this recording itself.
                    at.changed().await.ok();
                }
                Some(Trace::Absent | Trace::Over) | None => return None,
            }
        }
    }

    /// What the next event tells of `effect`; the event is followed if it is one of the effect's own.
    fn look_and_follow<E: Traced>(&self, effect: &mut E) -> Option<Trace<E::Outcome>> {
        let here = *self.at.borrow();
        // Not under the lock of `at`: the effect may ask where the run is.
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

    /// What any of the events to come tells of `effect`. None of them is followed by that.
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

    /// The id that was made next.
    pub(crate) fn next_id(&self) -> Option<String> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// What was charged for a call that was given up. When the run ended and nothing is recorded of it, it was not sent.
    pub(crate) fn charged_for(&self, call: u64) -> Option<Amount> {
        let unsent = || (self.end != End::CutShort).then(Amount::default);
        self.dropped.get(&call).map(|(_, charged)| *charged).or_else(unsent)
    }

    /// What the user said to it, and no model was told.
    pub fn unheard(&self) -> &[String] {
        &self.unheard
    }

    /// How the end of a call that is given up compares: it is told once.
    fn follow_dropped(&self, call: u64) -> Followed {
        match (self.dropped.get(&call), self.how.beyond) {
            (Some((seq, _)), _) => Followed::Same(*seq),
            (None, Beyond::GoOn) => Followed::Beyond,
            (None, Beyond::Stop) => Followed::Same(0),
        }
    }

    fn rest(&self) -> &[Recorded] {
        self.from(*self.at.borrow())
    }

    fn from(&self, at: usize) -> &[Recorded] {
        self.events.get(at..).unwrap_or_default()
    }

    /// What is found at the place that was come to, and in what is recorded behind it.
    async fn found<T>(&self, find: impl Fn(usize, &[Recorded]) -> Option<T>) -> T {
        let mut at = self.at.subscribe();
        loop {
            let here = *at.borrow_and_update();
            if let Some(found) = find(here, self.from(here)) {
                return found;
            }
            // The sender is this recording itself.
            at.changed().await.ok();
        }
    }

    async fn reached(&self, is_there: impl Fn(&[Recorded]) -> bool) {
        let mut at = self.at.subscribe();
        let there = |at: &usize| is_there(self.from(*at));
        at.wait_for(there).await.ok();
    }
}

/// What depends on how much admission has counted.
const COUNTED: [&str; 5] = ["spent", "reserved", "max_tokens", "body", "budget"];

/// Where an event is recorded: a fork, and what is replayed, are elsewhere.
const WHERE: [&str; 1] = ["conversation"];

/// What another version may judge otherwise from the same results.
const JUDGED: [&str; 2] = ["verified", "terms"];

/// The id that was made for an event.
fn made_id(event: &Event) -> Option<String> {
    if let Event::PatchStaged { patch: id, .. } | Event::ApprovalAsked { ask: id, .. } = event {
        Some(id.clone())
    } else {
        None
    }
}

/// How a run ends, if its end is next, and came from outside. Ways back are staged as part of it.
fn end_from_outside(rest: &[Recorded]) -> Option<Delivery> {
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
