//! Tests of replaying, differences, and recorded ids.

use std::time::Duration;

use checks::wording::Wording;
use facts::delivery::Delivery;
use facts::words::{EffectToApprove, Side};

use super::*;

fn turn(text: &str) -> Event {
    Event::TurnAdded {
        speaker: Side::User,
        text: text.to_owned(),
        intent: None,
        card: None,
        course: None,
    }
}

fn recording(events: Vec<Event>, at_end: AtRecordingEnd) -> Recording {
    let recorded = |(event, seq): (Event, u64)| Recorded { seq, scope: Scope::of_run("r"), event };
    let events = events.into_iter().zip(7..).map(recorded).collect();
    Recording::new(events, at_end, Requests::Compared)
}

fn end() -> Event {
    let (spent, rollbacks) = (Amount::default(), Vec::new());
    Event::RunFinished {
        delivery: Delivery::Cancelled,
        spent,
        spent_unknown: Amount::default(),
        rollbacks,
    }
}

#[test]
fn recorded_events_are_replayed_and_then_the_run_continues_or_stops() {
    for (at_end, last, then, differs) in [
        (AtRecordingEnd::GoOn, turn("two"), Followed::Beyond, false),
        (AtRecordingEnd::Stop, turn("two"), Followed::Different, false),
        (AtRecordingEnd::Stop, end(), Followed::Different, true),
    ] {
        let recording = recording(vec![turn("one"), last.clone()], at_end);
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
    let recording = recording(vec![turn("one"), turn("two")], AtRecordingEnd::GoOn);
    assert_eq!(recording.follow(&turn("other")), Followed::Different);
    assert_eq!(recording.follow(&turn("another")), Followed::Different);
    let difference = recording.difference().unwrap();
    assert_eq!(difference.recorded.as_ref().unwrap().seq, 7);
    assert_eq!(difference.done, Some(turn("other")));
}

#[test]
fn an_event_after_an_end_from_outside_is_not_a_difference() {
    let recording = recording(vec![turn("one"), end()], AtRecordingEnd::Stop);
    assert_eq!(recording.stops_here(), None);
    recording.follow(&turn("one"));
    assert_eq!(recording.stops_here(), Some(Delivery::Cancelled));
    assert_eq!(recording.follow(&turn("two")), Followed::TooLate);
    assert_eq!(recording.difference(), None);
    assert_eq!(recording.follow(&end()), Followed::Same(8));
}

#[test]
fn counts_after_a_death_of_admission_are_not_compared() {
    let died = Event::RoleCrashed { role: Role::Admission };
    let finished = |calls| {
        let spent = Amount { calls, ..Amount::default() };
        Event::RunFinished {
            delivery: Delivery::Cancelled,
            spent,
            spent_unknown: Amount::default(),
            rollbacks: Vec::new(),
        }
    };
    for (before, followed) in [(turn("x"), Followed::TooLate), (died, Followed::Same(8))] {
        let recording = recording(vec![before, finished(1)], AtRecordingEnd::Stop);
        recording.follow(&turn("x"));
        assert_eq!(recording.follow(&finished(2)), followed);
    }
}

#[test]
fn ids_are_taken_from_the_recording() {
    let ask = |ask: &str| Event::ApprovalAsked {
        ask: ask.to_owned(),
        action: EffectToApprove::Command(String::new()),
        why: Wording::default(),
    };
    let recording = recording(vec![ask("q1"), turn("x"), ask("q2")], AtRecordingEnd::GoOn);
    let ids = [(); 3].map(|()| recording.next_id());
    assert_eq!(ids, [Some("q1".to_owned()), Some("q2".to_owned()), None]);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_waits_while_an_event_is_next_has_stalled() {
    let recording = recording(vec![turn("one"), turn("two")], AtRecordingEnd::Stop);
    recording.follow(&turn("one"));
    recording.stands_still(Duration::from_secs(5)).await;
    let difference = recording.difference().unwrap();
    assert_eq!(difference.recorded.as_ref().unwrap().seq, 8);
    assert_eq!(difference.done, None);
}
