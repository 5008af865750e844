//! The writing end of the journal: one thread that owns the file, behind a bounded channel.
//!
//! Events that arrive together are written together: one write, and one sync if any of them has to be durable. On a full
//! disk, the journal waits for space, and so does everything that waits for the journal. If the file cannot be written,
//! the thread ends and all waits end with it: the journal fails closed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use actors::event::{Blob, Envelope, Event};
use actors::publisher::{Publisher, Signal, Submission};
use actors::scope::Scope;
use crossbeam_channel::Receiver;
use model::AgentRole;
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tools::clock::Clock;
use tools::ids::short;
use tools::regular;

use super::blobs::{self, Base};
use super::read::{Place, ReadError, Record, scan};
use super::{EVENTS, Line, repair};
use crate::session::{SessionState, Transition, Transitions as _};

/// Why a journal cannot be opened.
#[derive(Debug, Error)]
pub enum LogError {
    /// The session's directory or file cannot be created or opened.
    #[error("cannot open the journal {path}")]
    Open {
        /// The log file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Another process is using the session in this directory.
    #[error("another process is using the session {}", name(.0))]
    InUse(PathBuf),
    /// The journal is damaged before its last line.
    #[error(transparent)]
    Damaged(ReadError),
    /// The thread cannot be started.
    #[error("cannot start the journal's thread")]
    Thread(#[source] io::Error),
}

/// Returns the short id of the session in the directory `dir`.
fn name(dir: &Path) -> Cow<'_, str> {
    match dir.file_name().map(OsStr::to_string_lossy) {
        Some(Cow::Borrowed(id)) => Cow::Borrowed(short(id)),
        Some(id) => id,
        None => dir.to_string_lossy(),
    }
}

/// A journal that is being written.
pub struct Journal {
    dir: PathBuf,
    failure: Arc<OnceLock<String>>,
    lives: watch::Receiver<()>,
}

/// Limits of a journal.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// How many events may wait to be written.
    pub queue: usize,
    /// How long to wait for space on a full disk.
    pub patience: Duration,
}

/// Most events written in one batch.
const BATCH: usize = 256;

/// Interval between checks for free space.
const PAUSE: Duration = Duration::from_millis(200);

impl Journal {
    /// Creates a journal in the directory `dir`, which must not have one. This process owns it for as long as it writes.
    pub fn create(
        dir: &Path,
        clock: Arc<dyn Clock>,
        capacity: Capacity,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, Publisher), LogError> {
        let path = dir.join(EVENTS);
        let open = |source| LogError::Open { path: path.clone(), source };
        // Prompts and answers are private.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir.join("blobs"))
            .map_err(open)?;
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(open)?;
        if !repair::is_free(&file).map_err(open)? {
            return Err(LogError::InUse(dir.to_owned()));
        }
        sync_dir(dir).map_err(open)?;
        let end = End { place: Place::start(), state: SessionState::Idle };
        Self::write_on(dir, file, end, clock, capacity, screen)
    }

    /// Reopens the journal in the directory `dir` and returns its records. A torn last line, as a crash leaves it, is
    /// first moved aside; any other damage is an error.
    pub fn reopen(
        dir: &Path,
        clock: Arc<dyn Clock>,
        capacity: Capacity,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, Publisher, Vec<Record>), LogError> {
        let path = dir.join(EVENTS);
        let open = |source| LogError::Open { path: path.clone(), source };
        let mut file =
            regular::open(&path, OpenOptions::new().read(true).append(true)).map_err(open)?;
        if !repair::is_free(&file).map_err(open)? {
            return Err(LogError::InUse(dir.to_owned()));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(open)?;
        let valid = scan(&text, Place::start());
        if let Some(damage) = valid.damage(&path) {
            return Err(LogError::Damaged(damage));
        }
        if repair::cut(dir, &file, &text, &valid.end).map_err(open)?.is_some() {
            tracing::warn!(path = %path.display(), "moved a torn last line aside");
        }
        let state = state_after(&valid.records);
        let end = End { place: valid.end, state };
        let (journal, publisher) = Self::write_on(dir, file, end, clock, capacity, screen)?;
        Ok((journal, publisher, valid.records))
    }

    fn write_on(
        dir: &Path,
        file: File,
        end: End,
        clock: Arc<dyn Clock>,
        capacity: Capacity,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, Publisher), LogError> {
        let failure = Arc::new(OnceLock::new());
        let (sender, entries) = crossbeam_channel::bounded(capacity.queue);
        let writer = Writer {
            dir: dir.to_owned(),
            file,
            len: end.place.bytes as u64,
            patience: capacity.patience,
            prompts: BTreeMap::new(),
            clock,
            screen: screen.clone(),
            seq: end.place.seq,
            prev: end.place.sum,
            state: end.state,
        };
        let why = Arc::clone(&failure);
        let (alive, lives) = watch::channel(());
        std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                if let Err(error) = writer.run(&entries) {
                    tracing::error!(%error, "the journal cannot be written");
                    why.set(error.to_string()).ok();
                }
                drop((entries, alive));
            })
            .map_err(LogError::Thread)?;
        let journal = Self { dir: dir.to_owned(), failure, lives: lives.clone() };
        Ok((journal, Publisher::new(sender, screen, lives)))
    }

    /// Waits until the file is written and closed, which happens once all publishers are dropped.
    pub async fn closed(&self) {
        // The sender is never used: the wait ends when it is dropped.
        self.lives.clone().changed().await.ok();
    }

    /// The session's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns why the journal ended, if it failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

/// Where a journal ends, and the session's state at that point.
struct End {
    place: Place,
    state: SessionState,
}

/// Returns the state that a session was left in.
fn state_after(records: &[Record]) -> SessionState {
    let state = |record: &Record| match record.event() {
        Some(Event::SessionStateChanged { to, .. }) => Some(to),
        _ => None,
    };
    let mut changes = records.iter().rev().filter(|it| it.name() == "SessionStateChanged");
    changes.find_map(state).unwrap_or(SessionState::Idle)
}

struct Writer {
    dir: PathBuf,
    file: File,
    /// Length of the complete lines, in bytes.
    len: u64,
    patience: Duration,
    /// The last prompt of each role in each scope; the next one repeats most of it.
    prompts: BTreeMap<(Scope, AgentRole), Option<Base>>,
    clock: Arc<dyn Clock>,
    screen: mpsc::Sender<Signal>,
    seq: u64,
    prev: String,
    state: SessionState,
}

/// A serialised event, with its kind and data as separate fields.
#[derive(serde::Deserialize)]
struct Tagged {
    kind: String,
    data: Box<RawValue>,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Submission>) -> io::Result<()> {
        while let Ok(first) = entries.recv() {
            let mut batch = vec![first];
            batch.extend(entries.try_iter().take(BATCH - 1));
            self.write(batch)?;
        }
        self.file.sync_data()
    }

    /// Writes a batch: first the content, then all lines at once, then the sync. Only then are the waiting callers
    /// notified.
    fn write(&mut self, batch: Vec<Submission>) -> io::Result<()> {
        let durable = batch.iter().any(|entry| entry.durable.is_some());
        let mut new_blobs = false;
        let mut text = Vec::new();
        let mut written = Vec::new();
        let mut waiting = Vec::new();
        for entry in batch {
            for blob in entry.event.blobs() {
                new_blobs |= self.with_room(|writer| writer.keep(&entry, blob))?;
            }
            // Concurrent work of lanes is a single state to the session: they carry out its request.
            let changed = self.state.after(&entry.event).filter(|_| !entry.scope.is_part());
            let scope = entry.scope.clone();
            let envelope = self.line(entry.event, entry.scope, &mut text)?;
            if let Some(waits) = entry.durable {
                waiting.push((waits, envelope.seq));
            }
            written.push(envelope);
            let from = self.state;
            let event = match changed {
                None => continue,
                Some(Transition::Refused(to)) => Event::TransitionRefused { from, to },
                Some(Transition::To(to)) => {
                    self.state = to;
                    Event::SessionStateChanged { from, to }
                }
            };
            written.push(self.line(event, scope, &mut text)?);
        }
        if new_blobs {
            sync_dir(&self.dir.join("blobs"))?;
        }
        tools::fault::point()?;
        self.with_room(|writer| writer.append(&text))?;
        tools::fault::point()?;
        if durable {
            self.file.sync_data()?;
        }
        if written.iter().any(|line| matches!(line.event, Event::RunFinished { .. })) {
            self.prompts.clear();
        }
        for envelope in written {
            self.show(Signal::Event(Arc::new(envelope)));
        }
        for (waits, seq) in waiting {
            waits.send(seq).ok();
        }
        Ok(())
    }

    /// Sends the screen a signal that must not be lost. A closed screen is ignored.
    fn show(&self, signal: Signal) {
        // Blocking sends cost more even if the channel has space, so try first.
        if let Err(TrySendError::Full(signal)) = self.screen.try_send(signal) {
            self.screen.blocking_send(signal).ok();
        }
    }

    /// Appends the line of one event to `text`.
    fn line(&mut self, event: Event, scope: Scope, text: &mut Vec<u8>) -> io::Result<Envelope> {
        self.seq += 1;
        let at = format!("{:.3}", self.clock.now());
        let Tagged { kind, data } = serde_json::from_str(&serde_json::to_string(&event)?)?;
        let line = Line {
            seq: self.seq,
            at: &at,
            kind: &kind,
            run: scope.run(),
            lane: scope.lane(),
            part: scope.below(),
            data: &data,
            prev: &self.prev,
        };
        self.prev = line.append_to(text)?;
        Ok(Envelope { seq: self.seq, at, scope, event })
    }

    /// Stores content next to the log; returns true if it is new.
    fn keep(&mut self, entry: &Submission, blob: &Blob) -> io::Result<bool> {
        if let Event::ModelRequest { role, .. } = &entry.event {
            // The prompts of child questions differ only at the end.
            let scope = if entry.scope.child().is_some() { entry.scope.above() } else { None };
            let scope = scope.unwrap_or_else(|| entry.scope.clone());
            let last = self.prompts.entry((scope, *role)).or_default();
            return blobs::keep_like(&self.dir, blob, last);
        }
        blobs::keep(&self.dir, blob)
    }

    /// Appends complete lines, or nothing.
    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        match self.file.write_all(text) {
            Ok(()) => {
                self.len += text.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.file.set_len(self.len)?;
                Err(error)
            }
        }
    }

    /// Runs `act` again and again while the disk is full, until it succeeds or patience runs out. Nothing that waits for
    /// the journal happens in the meantime.
    fn with_room<T>(&mut self, act: impl Fn(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let started = Instant::now();
        loop {
            match act(self) {
                Err(error) if is_full(&error) && started.elapsed() < self.patience => {
                    let dir = self.dir.display();
                    let why = format!("{error} in {dir}: paused until there is free space");
                    // A slow or closed screen gets the message next time.
                    self.screen.try_send(Signal::Waiting(Scope::SESSION, why.into())).ok();
                    crossbeam_channel::after(PAUSE).recv().ok();
                }
                done => return done,
            }
        }
    }
}

/// Returns true if freeing space would fix the error.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

/// Makes the names in a directory durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use actors::publisher::Written;
    use tools::clock::{FixedClock, Timestamp};

    use super::*;
    use crate::read::read;

    const CAPACITY: Capacity = Capacity { queue: 8, patience: Duration::from_mins(1) };

    fn journal(dir: &Path, capacity: Capacity) -> (Journal, Publisher, mpsc::Receiver<Signal>) {
        let (screen, seen) = mpsc::channel(100);
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let (journal, publisher) = Journal::create(dir, clock, capacity, screen).unwrap();
        (journal, publisher, seen)
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
        let records = read(dir.path()).unwrap().records;
        let (idle, planning) = (SessionState::Idle, SessionState::Planning);
        let refused = Event::TransitionRefused { from: idle, to: SessionState::Verifying };
        assert_eq!(records[1].event(), Some(refused));
        let taken = Event::SessionStateChanged { from: idle, to: planning };
        assert_eq!(records[3].event(), Some(taken));
    }

    #[tokio::test]
    async fn a_full_disk_pauses_everything_until_there_is_space() {
        let dir = tempfile::tempdir().unwrap();
        let (_journal, publisher, mut seen) = journal(dir.path(), CAPACITY);
        let (event, place) = without_room(dir.path());
        symlink("/dev/full", &place).unwrap();
        let recorded = tokio::spawn(async move { publisher.record(event).await });
        let signal = seen.recv().await.unwrap();
        assert!(
            matches!(&signal, Signal::Waiting(_, why) if why.contains("until there is free space")),
            "{signal:?}"
        );
        assert!(!recorded.is_finished());
        assert_eq!(read(dir.path()).unwrap().records.len(), 0);
        fs::remove_file(place).unwrap();
        assert_eq!(recorded.await.unwrap(), Ok(Written::Now(1)));
        assert_eq!(read(dir.path()).unwrap().records.len(), 1);
    }

    #[tokio::test]
    async fn when_patience_runs_out_the_journal_fails_closed() {
        let dir = tempfile::tempdir().unwrap();
        let capacity = Capacity { patience: Duration::ZERO, ..CAPACITY };
        let (journal, publisher, _seen) = journal(dir.path(), capacity);
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
}
