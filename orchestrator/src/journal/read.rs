//! The reading end of the journal: every line checked against its checksum and its predecessor.
//!
//! A torn last line is what a crash leaves; it is left out and reported. Anything else that is wrong is an error that names
//! the line. Kinds that this version does not know are kept as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use actors::event::{Blob, Event};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tools::tree::FileHash;

use super::{EVENTS, SUM_DIGITS, blob_path, checksum};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Record {
    /// Contiguous from one.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// Kind and version.
    pub kind: String,
    /// The run it belongs to.
    #[serde(default)]
    pub run: Option<String>,
    /// The lane it belongs to.
    #[serde(default)]
    pub lane: Option<String>,
    /// The data, as it was written.
    pub data: Value,
    prev: String,
}

impl Record {
    /// The event; `None` for a kind or form that this version does not know.
    pub fn event(&self) -> Option<Event> {
        let tagged = serde_json::json!({ "kind": self.kind, "data": self.data });
        serde_json::from_value(tagged).ok()
    }
}

/// Why a journal can not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system refused.
    #[error("can not read {path}")]
    Io {
        /// What.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// A line is not as it was written.
    #[error("{path}:{line}: the journal is damaged: {what}")]
    Damaged {
        /// The log.
        path: PathBuf,
        /// One-based.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// Content is missing or not as it was written.
    #[error("the content {hash} of this session is missing or damaged")]
    Content {
        /// Its name.
        hash: FileHash,
    },
}

/// A journal as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// All whole lines.
    pub records: Vec<Record>,
    /// Bytes of a torn last line that were left out.
    pub torn_bytes: usize,
}

/// Reads the journal in the session directory `dir`.
pub fn read(dir: &Path) -> Result<Reading, ReadError> {
    let path = dir.join(EVENTS);
    let text = fs::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (lines, torn) = text.split_at_checked(whole).unwrap_or((&text, &[]));
    let mut records: Vec<Record> = Vec::new();
    let mut prev = "0".repeat(SUM_DIGITS);
    for (at, line) in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate()
    {
        let damaged = |what| ReadError::Damaged { path: path.clone(), line: at + 1, what };
        let (record, sum) = record(line).map_err(damaged)?;
        if record.prev != prev {
            return Err(damaged("it does not follow the line before it"));
        }
        if record.seq != at as u64 + 1 {
            return Err(damaged("its number is not the next"));
        }
        prev = sum;
        records.push(record);
    }
    Ok(Reading { records, torn_bytes: torn.len() })
}

/// Reads one line and checks its sum.
fn record(line: &[u8]) -> Result<(Record, String), &'static str> {
    let tail = ",\"sum\":\"\"}".len() + SUM_DIGITS;
    let (head, rest) = line
        .len()
        .checked_sub(tail)
        .and_then(|at| line.split_at_checked(at))
        .ok_or("it is too short")?;
    let sum = checksum(head);
    if rest != format!(",\"sum\":\"{sum}\"}}").as_bytes() {
        return Err("its checksum is wrong");
    }
    let record = serde_json::from_slice(line).map_err(|_| "it is no event")?;
    Ok((record, sum))
}

/// Reads content that an event names.
pub fn content(dir: &Path, blob: &Blob) -> Result<Vec<u8>, ReadError> {
    let damaged = || ReadError::Content { hash: blob.blob };
    let packed = fs::read(blob_path(dir, &blob.blob)).map_err(|_| damaged())?;
    let size = usize::try_from(blob.bytes).map_err(|_| damaged())?;
    let bytes = zstd::bulk::decompress(&packed, size).map_err(|_| damaged())?;
    if FileHash::of(&bytes) == blob.blob { Ok(bytes) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;
    use tools::clock::{FixedClock, Timestamp};

    use super::*;
    use crate::journal::log::Journal;

    fn turn(text: &str) -> Event {
        Event::TurnAdded { speaker: "user".to_owned(), text: text.to_owned() }
    }

    /// A journal with three turns and one piece of content.
    async fn written() -> (tempfile::TempDir, Blob) {
        let dir = tempfile::tempdir().unwrap();
        let (screen, _seen) = mpsc::channel(100);
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let (_journal, publisher) = Journal::create(dir.path(), clock, 8, screen).unwrap();
        let publisher = publisher.for_run("r1");
        publisher.publish(turn("one")).await.unwrap();
        publisher.publish(turn("two ü\n")).await.unwrap();
        let text = Blob::new("x".repeat(1000));
        let evidence = Event::EvidenceGathered {
            items: vec![],
            omitted: vec![],
            tokens: 1,
            text: text.clone(),
        };
        assert_eq!(publisher.record(evidence).await.unwrap(), 3);
        (dir, text)
    }

    #[tokio::test]
    async fn what_is_written_is_read_back() {
        let (dir, text) = written().await;
        let reading = read(dir.path()).unwrap();
        assert_eq!(reading.torn_bytes, 0);
        assert_eq!(reading.records[1].event(), Some(turn("two ü\n")));
        assert_eq!(reading.records[1].run.as_deref(), Some("r1"));
        assert_eq!(reading.records[0].at, "1970-01-01T00:00:00.000Z");
        assert_eq!(content(dir.path(), &text).unwrap(), text.content);
    }

    #[tokio::test]
    async fn any_flipped_byte_is_found_and_its_line_named() {
        let (dir, _) = written().await;
        let path = dir.path().join(EVENTS);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            let line = good[..at].split(|byte| *byte == b'\n').count();
            match read(dir.path()) {
                Err(ReadError::Damaged { line: named, .. }) => assert_eq!(named, line, "byte {at}"),
                // The last newline was hit: the line before it is torn.
                Ok(reading) => assert_eq!((reading.records.len(), at), (2, good.len() - 1)),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[tokio::test]
    async fn a_torn_tail_is_left_out_and_reported() {
        let (dir, _) = written().await;
        let path = dir.path().join(EVENTS);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() - 7]).unwrap();
        let reading = read(dir.path()).unwrap();
        assert_eq!(reading.records.len(), 2);
        assert!(reading.torn_bytes > 0);
    }

    #[tokio::test]
    async fn missing_content_is_named() {
        let (dir, text) = written().await;
        fs::remove_file(blob_path(dir.path(), &text.blob)).unwrap();
        assert!(
            content(dir.path(), &text).unwrap_err().to_string().contains(&text.blob.to_string())
        );
    }

    #[test]
    fn unknown_kinds_are_kept() {
        let record = Record {
            seq: 1,
            at: String::new(),
            kind: "Later@v7".to_owned(),
            run: None,
            lane: None,
            data: serde_json::json!({"a": 1}),
            prev: String::new(),
        };
        assert_eq!(record.event(), None);
        assert_eq!(record.data["a"], 1);
    }
}
