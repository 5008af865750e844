//! What is recorded of a run that is driven again: it is followed event by event, and asked what came of each effect.
//!
//! A run is determined by what came of its effects. So a run is taken up after a crash, or replayed, by driving it again
//! through the same actors: every effect is looked up here first, and only what is not recorded is done.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tools::clock::IdSource;

use crate::delivery::{Delivery, StagedFor};
use crate::event::Event;
use crate::lane_id::LaneId;
use crate::ledger::Amount;
use crate::words::Role;

/// An event as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its place in the journal.
    pub seq: u64,
    /// The lane it belongs to.
    pub lane: Option<LaneId>,
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

/// What is recorded of one run, or of one of its lanes.
///
/// Lanes work at the same time, and who is faster is not the same every time. So each lane is followed for itself: the order
/// of events holds within a lane, and within what belongs to none.
#[derive(Debug)]
pub struct Recording {
    events: Vec<Recorded>,
    how: How,
    /// How many of them were followed.
    at: watch::Sender<usize>,
    /// What is recorded of the lanes of this run.
    lanes: Mutex<BTreeMap<LaneId, Arc<Recording>>>,
    /// How many events were followed in the run and its lanes together.
    progress: Arc<watch::Sender<usize>>,
    /// How it ended, as far as that is recorded.
    end: End,
    /// How its lanes ended that did not end before it.
    end_of_lanes: End,
    ids: Mutex<VecDeque<String>>,
    /// Calls that were given up: the number of the event, and what was charged.
    dropped: BTreeMap<u64, (u64, Amount)>,
    difference: OnceLock<Difference>,
}

/// How a run is compared with what is recorded of it.
#[derive(Debug, Clone, Copy)]
struct How {
    beyond: Beyond,
    requests: Requests,
    /// Whether a Router died: what its successor counted depends on when.
    uncounted: bool,
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

impl Recording {
    /// What is recorded of a run, in the order of the journal.
    ///
    /// The states of the session are left out, since the journal makes them. So are Routers that died: nothing depends on
    /// them but what their successors counted, which is not compared then. And when a call is told to be given up depends on
    /// who is faster.
    pub fn new(events: Vec<Recorded>, beyond: Beyond, requests: Requests) -> Self {
        let is_router = |event: &Event| matches!(event, Event::RoleCrashed { role: Role::Router });
        let uncounted = events.iter().any(|recorded| is_router(&recorded.event));
        let how = How { beyond, requests, uncounted };
        let mut own = Vec::new();
        let mut of_lanes: BTreeMap<LaneId, Vec<Recorded>> = BTreeMap::new();
        for recorded in events.into_iter().filter(|recorded| !is_router(&recorded.event)) {
            match recorded.lane {
                Some(lane) => of_lanes.entry(lane).or_default().push(recorded),
                None => own.push(recorded),
            }
        }
        let states = |event: &Event| matches!(event, Event::SessionStateChanged { .. });
        let last = own.iter().map(|recorded| &recorded.event).rfind(|event| !states(event));
        let (of_run, of_lane) = match last {
            Some(Event::RunFinished { delivery, .. }) if delivery.is_from_outside() => {
                (End::Own, End::Stopped)
            }
            Some(Event::RunFinished { .. }) => (End::Own, End::Own),
            _ => (End::CutShort, End::CutShort),
        };
        let run = Self::part(own, how, of_run, Arc::default());
        let lane = |(id, events)| {
            let progress = Arc::clone(&run.progress);
            (id, Arc::new(Self::part(events, how, of_lane, progress)))
        };
        let lanes = Mutex::new(of_lanes.into_iter().map(lane).collect());
        Self { lanes, end_of_lanes: of_lane, ..run }
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
        let dropped = dropped.collect();
        events.retain(|Recorded { event, .. }| {
            !matches!(event, Event::SessionStateChanged { .. } | Event::CallDropped { .. })
        });
        let ids = events.iter().filter_map(|recorded| made_id(&recorded.event)).collect();
        Self {
            events,
            how,
            at: watch::channel(0).0,
            lanes: Mutex::default(),
            progress,
            end,
            end_of_lanes: end,
            ids: Mutex::new(ids),
            dropped,
            difference: OnceLock::new(),
        }
    }

    /// What is recorded of a lane of this run; nothing if it had not begun.
    pub fn of_lane(&self, lane: LaneId) -> Arc<Recording> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = || {
            let progress = Arc::clone(&self.progress);
            let end = self.end_of_lanes;
            Arc::new(Self::part(Vec::new(), self.how, end, progress))
        };
        Arc::clone(lanes.entry(lane).or_insert_with(nothing))
    }

    fn lanes(&self) -> Vec<Arc<Recording>> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.values().map(Arc::clone).collect()
    }

    /// The first difference, if there was one.
    pub fn difference(&self) -> Option<Difference> {
        let of_lanes = || self.lanes().iter().find_map(|lane| lane.difference());
        self.difference.get().cloned().or_else(of_lanes)
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
        let lanes = self.lanes();
        let of_lanes = lanes.iter().flat_map(|lane| lane.events.iter().cloned());
        let mut all: Vec<Recorded> = self.events.iter().cloned().chain(of_lanes).collect();
        all.sort_by_key(|recorded| recorded.seq);
        all
    }

    /// Whether everything recorded was followed; what is recorded of lanes is not looked at.
    pub fn is_over(&self) -> bool {
        *self.at.borrow() >= self.events.len()
    }

    /// Whether everything recorded of the run and its lanes was followed.
    pub fn is_all_over(&self) -> bool {
        self.is_over() && self.lanes().iter().all(|lane| lane.is_over())
    }

    /// Where the run and each of its lanes is on its way, if it is: the number of the event that it comes to next.
    pub fn on_the_way(&self) -> BTreeMap<Option<LaneId>, u64> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let next = |part: &Self| part.rest().first().map(|recorded| recorded.seq);
        let of_lanes = lanes.iter().filter_map(|(id, lane)| Some((Some(*id), next(lane)?)));
        of_lanes.chain(next(self).map(|seq| (None, seq))).collect()
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
        let lanes = self.lanes();
        let left = std::iter::once(self).chain(lanes.iter().map(AsRef::as_ref));
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
        for lane in self.lanes() {
            lane.over().await;
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
        recorded.event.decisions().without(counted) == event.decisions().without(counted)
    }

    /// What `take` finds in the event that is recorded next.
    pub(crate) fn next<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.rest().first().and_then(|recorded| take(&recorded.event))
    }

    /// The same, and passes over that event.
    pub(crate) fn pass<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        let taken = self.next(take)?;
        self.progress.send_modify(|all| *all += 1);
        self.at.send_modify(|at| *at += 1);
        Some(taken)
    }

    /// What `take` finds first in the events to come, before one that `ends` the search.
    pub(crate) fn ahead<T>(
        &self,
        take: impl Fn(&Event) -> Option<T>,
        ends: impl Fn(&Event) -> bool,
    ) -> Option<T> {
        let events = self.rest().iter().map(|recorded| &recorded.event);
        events.take_while(|event| !ends(event)).find_map(take)
    }

    /// What `take` finds in the event that is recorded next, as soon as it does; `None` when the record is over, and the run
    /// goes on beyond it.
    pub(crate) async fn recall<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        let recalled = self.found(|_, rest| match rest.first() {
            Some(next) => take(&next.event).map(Some),
            None => Some(None),
        });
        let recalled = recalled.await;
        if recalled.is_none() && self.how.beyond == Beyond::Stop {
            std::future::pending::<()>().await;
        }
        recalled
    }

    /// Comes back when nothing but events of a kind is left, and the run goes on beyond them.
    pub(crate) async fn live(&self, is_of_kind: impl Fn(&Event) -> bool) {
        self.reached(|rest| rest.iter().all(|recorded| is_of_kind(&recorded.event))).await;
        if self.how.beyond == Beyond::Stop {
            std::future::pending::<()>().await;
        }
    }

    /// What was charged for a call that was given up. When the run ended and nothing is recorded of it, it was not sent.
    pub(crate) fn charged_for(&self, call: u64) -> Option<Amount> {
        let unsent = || (self.end != End::CutShort).then(Amount::default);
        self.dropped.get(&call).map(|(_, charged)| *charged).or_else(unsent)
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

/// What depends on how much a Router has counted.
const COUNTED: [&str; 5] = ["spent", "reserved", "max_tokens", "body", "budget"];

/// Ids as they are recorded, and fresh ones beyond.
#[derive(Debug)]
pub struct RecordedIds {
    /// The record.
    pub recording: Arc<Recording>,
    /// Where ids come from when it has none left.
    pub beyond: Arc<dyn IdSource>,
}

impl IdSource for RecordedIds {
    fn fresh(&self) -> String {
        let mut ids = self.recording.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.pop_front().unwrap_or_else(|| self.beyond.fresh())
    }
}

/// The id that was made for an event.
fn made_id(event: &Event) -> Option<String> {
    if let Event::PatchStaged { patch: id, .. } | Event::ToolProposed { ask: id, .. } = event {
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

#[cfg(test)]
mod tests {
    use tools::clock::CountingIds;

    use super::*;
    use crate::wording::Wording;
    use crate::words::{Asked, Side};

    fn turn(text: &str) -> Event {
        Event::TurnAdded { speaker: Side::User, text: text.to_owned(), intent: None }
    }

    fn recording(events: Vec<Event>, beyond: Beyond) -> Recording {
        let recorded = |(event, seq): (Event, u64)| Recorded { seq, lane: None, event };
        let events = events.into_iter().zip(7..).map(recorded).collect();
        Recording::new(events, beyond, Requests::Compared)
    }

    fn end() -> Event {
        let (spent, rollbacks) = (Amount::default(), Vec::new());
        Event::RunFinished { delivery: Delivery::Cancelled, spent, rollbacks }
    }

    #[test]
    fn what_is_recorded_is_followed_and_then_the_run_goes_on_or_stops() {
        for (beyond, last, then, differs) in [
            (Beyond::GoOn, turn("two"), Followed::Beyond, false),
            (Beyond::Stop, turn("two"), Followed::Different, false),
            (Beyond::Stop, end(), Followed::Different, true),
        ] {
            let recording = recording(vec![turn("one"), last.clone()], beyond);
            assert_eq!(recording.follow(&turn("one")), Followed::Same(7));
            assert!(!recording.is_over());
            assert_eq!(recording.follow(&last), Followed::Same(8));
            assert!(recording.is_over());
            assert_eq!(recording.follow(&turn("three")), then);
            let different = Difference { recorded: None, done: Some(turn("three")) };
            assert_eq!(recording.difference(), differs.then_some(different));
        }
    }

    #[test]
    fn only_the_first_difference_counts() {
        let recording = recording(vec![turn("one"), turn("two")], Beyond::GoOn);
        assert_eq!(recording.follow(&turn("other")), Followed::Different);
        assert_eq!(recording.follow(&turn("another")), Followed::Different);
        let difference = recording.difference().unwrap();
        assert_eq!(difference.recorded.as_ref().unwrap().seq, 7);
        assert_eq!(difference.done, Some(turn("other")));
    }

    #[test]
    fn what_comes_too_late_for_an_end_from_outside_is_no_difference() {
        let recording = recording(vec![turn("one"), end()], Beyond::Stop);
        assert_eq!(recording.stops_here(), None);
        recording.follow(&turn("one"));
        assert_eq!(recording.stops_here(), Some(Delivery::Cancelled));
        assert_eq!(recording.follow(&turn("two")), Followed::TooLate);
        assert_eq!(recording.difference(), None);
        assert_eq!(recording.follow(&end()), Followed::Same(8));
    }

    #[test]
    fn what_a_router_counted_that_died_is_not_compared() {
        let died = Event::RoleCrashed { role: Role::Router };
        let finished = |calls| {
            let spent = Amount { calls, ..Amount::default() };
            Event::RunFinished { delivery: Delivery::Cancelled, spent, rollbacks: Vec::new() }
        };
        for (before, followed) in [(turn("x"), Followed::TooLate), (died, Followed::Same(8))] {
            let recording = recording(vec![before, finished(1)], Beyond::Stop);
            recording.follow(&turn("x"));
            assert_eq!(recording.follow(&finished(2)), followed);
        }
    }

    #[test]
    fn ids_are_those_of_the_record_and_then_fresh_ones() {
        let ask = |ask: &str| Event::ToolProposed {
            ask: ask.to_owned(),
            action: Asked::Command(String::new()),
            why: Wording::default(),
        };
        let recording = Arc::new(recording(vec![ask("q1"), turn("x"), ask("q2")], Beyond::GoOn));
        let ids = RecordedIds { recording, beyond: Arc::new(CountingIds::default()) };
        assert_eq!(
            ["q1", "q2", "0000000000000001"].map(str::to_owned),
            [(); 3].map(|()| ids.fresh())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_waits_where_something_is_recorded_stands_still() {
        let recording = recording(vec![turn("one"), turn("two")], Beyond::Stop);
        recording.follow(&turn("one"));
        recording.stands_still(Duration::from_secs(5)).await;
        let difference = recording.difference().unwrap();
        assert_eq!(difference.recorded.as_ref().unwrap().seq, 8);
        assert_eq!(difference.done, None);
    }
}
