//! The writing end of the journal: one thread that owns the file, behind a bounded channel.
//!
//! What has come in together is written together: one write, one sync when anybody waits for it. When the file can not be
//! written the thread ends, and with it every wait: the journal fails closed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use actors::event::{Blob, Envelope, Event};
use actors::publisher::{Publisher, Signal, Submission};
use crossbeam_channel::Receiver;
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::sync::mpsc;
use tools::clock::Clock;

use super::{EVENTS, blob_path, checksum};
use crate::session::SessionState;

/// Why there is no journal.
#[derive(Debug, Error)]
pub enum LogError {
    /// The session's directory or file can not be made.
    #[error("can not open the journal {path}")]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The thread can not be started.
    #[error("can not start the journal's thread")]
    Thread(#[source] io::Error),
}

/// A journal that is being written.
pub struct Journal {
    dir: PathBuf,
    failure: Arc<OnceLock<String>>,
}

/// Events written in one go at most.
const BATCH: usize = 256;

impl Journal {
    /// Makes a new journal in the directory `dir`, which must not have one.
    pub fn create(
        dir: &Path,
        clock: Arc<dyn Clock>,
        queue: usize,
        screen: mpsc::Sender<Signal>,
    ) -> Result<(Self, Publisher), LogError> {
        let path = dir.join(EVENTS);
        let open = |source| LogError::Open { path: path.clone(), source };
        // What was asked and answered is nobody else's business.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir.join("blobs"))
            .map_err(open)?;
        let file = OpenOptions::new().create_new(true).append(true).open(&path).map_err(open)?;
        sync_dir(dir).map_err(open)?;
        let failure = Arc::new(OnceLock::new());
        let (sender, entries) = crossbeam_channel::bounded(queue);
        let writer = Writer {
            dir: dir.to_owned(),
            file,
            clock,
            screen: screen.clone(),
            seq: 0,
            prev: "0".repeat(super::SUM_DIGITS),
            state: SessionState::Idle,
        };
        let why = Arc::clone(&failure);
        std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                if let Err(error) = writer.run(&entries) {
                    tracing::error!(%error, "the journal can not be written");
                    why.set(error.to_string()).ok();
                }
            })
            .map_err(LogError::Thread)?;
        Ok((Self { dir: dir.to_owned(), failure }, Publisher::new(sender, screen)))
    }

    /// The session's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Why the journal ended, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

struct Writer {
    dir: PathBuf,
    file: File,
    clock: Arc<dyn Clock>,
    screen: mpsc::Sender<Signal>,
    seq: u64,
    prev: String,
    state: SessionState,
}

/// The line of an event, but for its checksum.
#[derive(serde::Serialize)]
struct Line<'a> {
    seq: u64,
    at: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
    data: &'a RawValue,
    prev: &'a str,
}

/// An event as it serialises: its kind beside its data.
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

    /// Writes a batch: content first, then all lines at once, then the sync; only then is anybody told.
    fn write(&mut self, batch: Vec<Submission>) -> io::Result<()> {
        let durable = batch.iter().any(|entry| entry.durable.is_some());
        let mut new_blobs = false;
        let mut text = Vec::new();
        let mut written = Vec::new();
        let mut waiting = Vec::new();
        for entry in batch {
            for blob in entry.event.blobs() {
                new_blobs |= self.keep(blob)?;
            }
            let changed = self.state.after(&entry.event);
            let (run, lane) = (entry.run.clone(), entry.lane.clone());
            let envelope = self.line(entry.event, entry.run, entry.lane, &mut text)?;
            if let Some(waits) = entry.durable {
                waiting.push((waits, envelope.seq));
            }
            written.push(envelope);
            if let Some(to) = changed {
                let from = std::mem::replace(&mut self.state, to);
                let event =
                    Event::SessionStateChanged { from: from.to_string(), to: to.to_string() };
                written.push(self.line(event, run, lane, &mut text)?);
            }
        }
        if new_blobs {
            sync_dir(&self.dir.join("blobs"))?;
        }
        self.file.write_all(&text)?;
        if durable {
            self.file.sync_data()?;
        }
        for envelope in written {
            // A screen that is gone needs no events.
            self.screen.blocking_send(Signal::Event(Arc::new(envelope))).ok();
        }
        for (waits, seq) in waiting {
            waits.send(seq).ok();
        }
        Ok(())
    }

    /// Appends the line of one event to `text`.
    fn line(
        &mut self,
        event: Event,
        run: Option<String>,
        lane: Option<String>,
        text: &mut Vec<u8>,
    ) -> io::Result<Envelope> {
        self.seq += 1;
        let at = format!("{:.3}", self.clock.now());
        let Tagged { kind, data } = serde_json::from_str(&serde_json::to_string(&event)?)?;
        let line = Line {
            seq: self.seq,
            at: &at,
            kind: &kind,
            run: run.as_deref(),
            lane: lane.as_deref(),
            data: &data,
            prev: &self.prev,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.pop();
        let sum = checksum(&bytes);
        text.extend_from_slice(&bytes);
        text.extend_from_slice(format!(",\"sum\":\"{sum}\"}}\n").as_bytes());
        self.prev = sum;
        Ok(Envelope { seq: self.seq, at, run, lane, event })
    }

    /// Keeps content beside the log; true when it was not there yet.
    fn keep(&self, blob: &Blob) -> io::Result<bool> {
        const FAST: i32 = 1;
        let path = blob_path(&self.dir, &blob.blob);
        if path.exists() {
            return Ok(false);
        }
        let temporary = path.with_extension("tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&zstd::bulk::compress(&blob.content, FAST)?)?;
        file.sync_data()?;
        fs::rename(temporary, path)?;
        Ok(true)
    }
}

/// Makes the names in a directory durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
