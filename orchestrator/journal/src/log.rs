//! The writing end of the journal: one thread that owns the file, behind a bounded channel.
//!
//! Events that arrive together are written together: one write, and one sync if any of them has to be durable. If the
//! file cannot be written, the thread ends and all waits end with it: the journal fails closed. On a full disk it first
//! waits for space if there is a paid answer to lose, until the user stops the run; so does everything that waits for the
//! journal.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use facts::event::{Blob, Envelope, Event};
use facts::scope::Scope;
use facts::signal::Signal;
use facts::submission::{JournalInlet, Submission};
use model::AgentRole;
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tools::clock::Clock;
use tools::ids::short_id;
use tools::regular;

use super::blobs::{self, Base};
use super::read::{LogPlace, ReadError, Record, scan_lines};
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
        Some(Cow::Borrowed(id)) => Cow::Borrowed(short_id(id)),
        Some(id) => id,
        None => dir.to_string_lossy(),
    }
}

/// A journal that is being written.
pub struct Journal {
    dir: PathBuf,
    failure: Arc<OnceLock<String>>,
    /// True once the current run is stopped.
    is_stopped: Arc<AtomicBool>,
    lives: watch::Receiver<()>,
}

/// Limits of a journal.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// How many events may wait to be written.
    pub queue: usize,
    /// How long to wait for space on a full disk if a run has paid for answers.
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
    ) -> Result<(Self, JournalInlet), LogError> {
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
        let end = End { place: LogPlace::start(), state: SessionState::Idle };
        Self::write_on(dir, file, end, clock, capacity, screen)
    }

    /// Reopens the journal in the directory `dir` and returns its records. A torn last line, as a crash leaves it, is
    /// first moved aside; any other damage is an error.
    pub fn reopen(
        dir: &Path,
        clock: Arc<dyn Clock>,
        capacity: Capacity,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, JournalInlet, Vec<Record>), LogError> {
        let path = dir.join(EVENTS);
        let open = |source| LogError::Open { path: path.clone(), source };
        let mut file =
            regular::open_regular_file(&path, OpenOptions::new().read(true).append(true))
                .map_err(open)?;
        if !repair::is_free(&file).map_err(open)? {
            return Err(LogError::InUse(dir.to_owned()));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(open)?;
        let valid = scan_lines(&text, LogPlace::start());
        if let Some(damage) = valid.damage(&path) {
            return Err(LogError::Damaged(damage));
        }
        if repair::cut_damage(dir, &file, &text, &valid.end).map_err(open)?.is_some() {
            tracing::warn!(path = %path.display(), "moved a torn last line aside");
        }
        let state = state_after(&valid.records);
        let end = End { place: valid.end, state };
        let (journal, inlet) = Self::write_on(dir, file, end, clock, capacity, screen)?;
        Ok((journal, inlet, valid.records))
    }

    fn write_on(
        dir: &Path,
        file: File,
        end: End,
        clock: Arc<dyn Clock>,
        capacity: Capacity,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, JournalInlet), LogError> {
        let (failure, is_stopped) = (Arc::new(OnceLock::new()), Arc::<AtomicBool>::default());
        let (sender, entries) = crossbeam_channel::bounded(capacity.queue);
        let writer = Writer {
            dir: dir.to_owned(),
            file,
            len: end.place.bytes as u64,
            patience: capacity.patience,
            has_paid: false,
            is_stopped: Arc::clone(&is_stopped),
            prompts: BTreeMap::new(),
            clock,
            screen: screen.clone(),
            seq: end.place.seq,
            prev: end.place.sum,
            state: end.state,
        };
        let (why, of) = (Arc::clone(&failure), dir.to_owned());
        let (alive, lives) = watch::channel(());
        std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                let failed = |error: &io::Error| {
                    tracing::error!(%error, "the journal cannot be written");
                    why.set(format!("cannot write to {}: {error}", of.display())).ok();
                };
                writer.run(&entries, failed);
                drop((entries, alive));
            })
            .map_err(LogError::Thread)?;
        let journal = Self { dir: dir.to_owned(), failure, is_stopped, lives: lives.clone() };
        Ok((journal, JournalInlet { queue: sender, screen, lives }))
    }

    /// Waits until the file is written and closed, which happens once all publishers are dropped.
    pub async fn closed(&self) {
        // The sender is never used: the wait ends when it is dropped.
        self.lives.clone().changed().await.ok();
    }

    /// Called when the user stops the current run: it no longer waits for space on a full disk.
    pub fn stop_waiting(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
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
    place: LogPlace,
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
    /// True if the current run has paid for an answer.
    has_paid: bool,
    is_stopped: Arc<AtomicBool>,
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
    /// Writes until there is nothing more, or until that fails.
    fn run(mut self, entries: &Receiver<Submission>, failed: impl Fn(&io::Error)) {
        while let Ok(first) = entries.recv() {
            let mut batch = vec![first];
            batch.extend(entries.try_iter().take(BATCH - 1));
            // A caller that is let down finds the reason.
            let waiting: Vec<_> = batch.iter_mut().map(|entry| entry.durable.take()).collect();
            match self.write(batch, waiting.iter().any(Option::is_some)) {
                Ok(seqs) => {
                    for (waits, seq) in waiting.into_iter().zip(seqs) {
                        waits.and_then(|waits| waits.send(seq).ok());
                    }
                }
                Err(error) => return failed(&error),
            }
        }
        if let Err(error) = self.file.sync_data() {
            failed(&error);
        }
    }

    /// Writes a batch: first the content, then all lines at once, then the sync. Returns the number of each event.
    fn write(&mut self, batch: Vec<Submission>, durable: bool) -> io::Result<Vec<u64>> {
        let mut new_blobs = false;
        let mut text = Vec::new();
        let mut written = Vec::new();
        let mut seqs = Vec::new();
        for entry in &batch {
            self.note_run(&entry.event);
        }
        for entry in batch {
            for blob in entry.event.blobs() {
                new_blobs |= self.with_room(|writer| writer.keep(&entry, blob))?;
            }
            // Concurrent work of lanes is a single state to the session: they carry out its request.
            let changed = self.state.after(&entry.event).filter(|_| !entry.scope.is_part());
            let scope = entry.scope.clone();
            let envelope = self.line(entry.event, entry.scope, &mut text)?;
            seqs.push(envelope.seq);
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
            self.has_paid = false;
        }
        for envelope in written {
            self.show(Signal::Event(Arc::new(envelope)));
        }
        Ok(seqs)
    }

    /// Notes whether the current run has something to lose.
    fn note_run(&mut self, event: &Event) {
        if let Event::RunStarted { .. } = event {
            self.has_paid = false;
            self.is_stopped.store(false, Ordering::Relaxed);
        }
        self.has_paid |= matches!(event, Event::ModelReply { answer: Some(_), .. });
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
        tracing::info!(seq = self.seq, kind, scope = %scope, "event");
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
        blobs::keep_blob(&self.dir, blob)
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

    /// Runs `act`. On a full disk it is run again and again if the run has something to lose, until it succeeds, patience
    /// runs out, or the user stops the run. Nothing that waits for the journal happens in the meantime.
    fn with_room<T>(&mut self, act: impl Fn(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let (started, mut is_told) = (Instant::now(), false);
        loop {
            match act(self) {
                Err(error) if is_full(&error) && self.may_wait_since(started) => {
                    let dir = self.dir.display();
                    let why = format!("waiting for space on {dir}: free some, or stop with Ctrl-C");
                    // A slow or closed screen gets the message next time.
                    is_told = is_told || self.screen.try_send(Signal::Paused(why)).is_ok();
                    crossbeam_channel::after(PAUSE).recv().ok();
                }
                done => return done,
            }
        }
    }

    fn may_wait_since(&self, started: Instant) -> bool {
        self.has_paid
            && !self.is_stopped.load(Ordering::Relaxed)
            && started.elapsed() < self.patience
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
