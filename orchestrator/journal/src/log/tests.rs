//! Tests: what is written, and what happens when it cannot be.

use std::os::unix::fs::symlink;

use actors::run::publisher::{EventWritten, Publisher};
use facts::amounts::Amount;
use tools::clock::{FixedClock, Timestamp};

use super::*;
use crate::read::read_journal;

const CAPACITY: Capacity = Capacity { queue: 8, patience: Duration::from_mins(1) };

fn journal(dir: &Path, capacity: Capacity) -> (Journal, Publisher, mpsc::Receiver<Signal>) {
    let (screen, seen) = mpsc::channel(100);
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let (journal, inlet) = Journal::create(dir, clock, capacity, screen).unwrap();
    (journal, Publisher::new(inlet), seen)
}

/// Returns an event whose content cannot be written once its path points to a full disk.
fn without_room(dir: &Path) -> (Event, PathBuf) {
    let text = Blob::new("evidence ".repeat(1000));
    let place = dir.join("blobs").join(format!("{}.tmp", text.blob));
    let event = Event::EvidenceGathered {
        items: vec![],
        omitted: vec![],
        partial: false,
        tokens: 1,
        text,
        workspace: None,
        earlier: None,
    };
    (event, place)
}

#[tokio::test]
async fn a_refused_transition_is_recorded_and_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, publisher, _seen) = journal(dir.path(), CAPACITY);
    let verify = Event::VerifyStarted { iteration: 1, commands: vec![], derived: true };
    publisher.record(verify).await.unwrap();
    publisher.record(Event::ArchitectStarted { iteration: 1 }).await.unwrap();
    drop((journal, publisher));
    let records = read_journal(dir.path()).unwrap().records;
    let (idle, planning) = (SessionState::Idle, SessionState::Planning);
    let refused = Event::TransitionRefused { from: idle, to: SessionState::Verifying };
    assert_eq!(records[1].event(), Some(refused));
    let taken = Event::SessionStateChanged { from: idle, to: planning };
    assert_eq!(records[3].event(), Some(taken));
}

/// Returns an answer that was paid for.
fn paid() -> Event {
    Event::ModelReply {
        call: 1,
        role: AgentRole::Editor,
        outcome: "ok".to_owned(),
        message: None,
        error: None,
        usage: None,
        cost_nano_usd: None,
        charged: Amount::default(),
        avoidable_misses: 0,
        answer: Some(Blob::new("a diff".to_owned())),
    }
}

#[tokio::test]
async fn a_full_disk_pauses_a_run_that_has_paid_until_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let (_journal, publisher, mut seen) = journal(dir.path(), CAPACITY);
    publisher.record(paid()).await.unwrap();
    assert!(matches!(seen.recv().await.unwrap(), Signal::Event(_)));
    let (event, place) = without_room(dir.path());
    symlink("/dev/full", &place).unwrap();
    let recorded = tokio::spawn(async move { publisher.record(event).await });
    let signal = seen.recv().await.unwrap();
    assert!(
        matches!(&signal, Signal::Paused(why) if why.starts_with("waiting for space on ")),
        "{signal:?}"
    );
    assert!(!recorded.is_finished());
    assert_eq!(read_journal(dir.path()).unwrap().records.len(), 1);
    fs::remove_file(place).unwrap();
    assert_eq!(recorded.await.unwrap(), Ok(EventWritten::Now(2)));
    assert_eq!(read_journal(dir.path()).unwrap().records.len(), 2);
}

#[tokio::test]
async fn a_run_with_nothing_to_lose_does_not_wait_for_space() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, publisher, _seen) = journal(dir.path(), CAPACITY);
    let (event, place) = without_room(dir.path());
    symlink("/dev/full", place).unwrap();
    assert!(publisher.record(event).await.is_err());
    let why = journal.failure().unwrap();
    assert!(why.contains("No space left") && why.contains(dir.path().to_str().unwrap()), "{why}");
}

#[tokio::test]
async fn a_run_that_is_stopped_no_longer_waits_for_space() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, publisher, mut seen) = journal(dir.path(), CAPACITY);
    publisher.record(paid()).await.unwrap();
    let (event, place) = without_room(dir.path());
    symlink("/dev/full", place).unwrap();
    let recorded = tokio::spawn(async move { publisher.record(event).await });
    while !matches!(seen.recv().await.unwrap(), Signal::Paused(_)) {}
    journal.stop_waiting();
    assert!(recorded.await.unwrap().is_err());
}

#[tokio::test]
async fn when_patience_runs_out_the_journal_fails_closed() {
    let dir = tempfile::tempdir().unwrap();
    let capacity = Capacity { patience: Duration::ZERO, ..CAPACITY };
    let (journal, publisher, _seen) = journal(dir.path(), capacity);
    publisher.record(paid()).await.unwrap();
    let (event, place) = without_room(dir.path());
    symlink("/dev/full", place).unwrap();
    assert!(publisher.record(event.clone()).await.is_err());
    assert!(publisher.record(event).await.is_err());
    assert!(journal.failure().unwrap().contains("No space left"), "{:?}", journal.failure());
}

#[tokio::test]
async fn an_open_session_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let (_journal, publisher, _seen) = journal(dir.path(), CAPACITY);
    assert!(repair::is_in_use(dir.path()));
    assert!(matches!(repair::repair(dir.path()), Err(repair::RepairError::InUse)));
    drop(publisher);
    while !repair::repair(dir.path()).is_ok_and(|repaired| repaired.is_none()) {
        tokio::task::yield_now().await;
    }
}
