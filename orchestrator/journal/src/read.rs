//! The reading end of the journal: every line checked against its checksum and its predecessor.
//!
//! A torn last line is what a crash leaves; it is left out and reported. Any other damage is an error that names the
//! line. Kinds that this version does not know are kept unchanged.

use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use facts::event::Event;
use facts::lane_id::LaneId;
use facts::scope::{Scope, Segment};
use facts::upgrade_v1;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;
use tools::regular::{self, MAX_STATE_BYTES};
use tree::FileHash;

pub use super::blobs::content;
use super::{EVENTS, SUM_DIGITS, checksum};

/// One line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Number of the line, contiguous from one.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// Kind and version.
    pub kind: String,
    /// The run it belongs to.
    #[serde(default)]
    pub run: Option<String>,
    /// The lane it belongs to, as written.
    #[serde(default)]
    pub lane: Option<String>,
    /// The part of the run or lane it belongs to, as written.
    #[serde(default)]
    pub part: Option<String>,
    /// The data, as written.
    pub data: Box<RawValue>,
    prev: String,
}

impl Record {
    /// Returns the scope it belongs to.
    pub fn scope(&self) -> Scope {
        let run = self.run.as_deref().map_or(Scope::SESSION, Scope::of_run);
        let scope = match self.lane.clone().and_then(|lane| LaneId::try_from(lane).ok()) {
            Some(lane) => run.within(Segment::Lane(lane)),
            None => run,
        };
        self.part.as_deref().map_or_else(|| scope.clone(), |part| scope.within_named(part))
    }

    /// Returns the kind without its version, under its current name.
    pub fn name(&self) -> &str {
        upgrade_v1::kind_name(&self.kind)
    }

    /// Returns the event; `None` for a kind or form that this version does not know.
    pub fn event(&self) -> Option<Event> {
        let current = parsed(&self.kind, &self.data);
        // An earlier version has another kind, which this version does not know.
        current.or_else(|| {
            let (kind, data) =
                upgrade_v1::upgraded(&self.kind, serde_json::from_str(self.data.get()).ok()?);
            parsed(&kind, &to_raw_value(&data).ok()?)
        })
    }
}

fn parsed(kind: &str, data: &RawValue) -> Option<Event> {
    let kind = serde_json::to_string(kind).ok()?;
    serde_json::from_str(&format!("{{\"kind\":{kind},\"data\":{data}}}", data = data.get())).ok()
}

/// Why a journal cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A line differs from what was written.
    #[error("{path}:{line}: the journal is damaged: {what}")]
    Damaged {
        /// The log file.
        path: PathBuf,
        /// Line number, one-based.
        line: usize,
        /// The damage.
        what: &'static str,
    },
    /// Content is missing, or differs from what was written.
    #[error("the content {hash} of this session is missing or damaged")]
    Content {
        /// The content's hash.
        hash: FileHash,
    },
}

/// The result of reading a journal.
#[derive(Debug, Clone)]
pub struct JournalReading {
    /// All complete lines.
    pub records: Vec<Record>,
    /// Bytes of a torn last line that were left out.
    pub torn_bytes: usize,
}

/// Reads the journal in the session directory `dir`.
pub fn read_journal(dir: &Path) -> Result<JournalReading, ReadError> {
    match read_valid(dir)? {
        (_, Some(damage)) => Err(damage),
        (reading, None) => Ok(reading),
    }
}

/// Reads the valid beginning of the journal; also returns the damage that ends it, if any.
pub fn read_valid(dir: &Path) -> Result<(JournalReading, Option<ReadError>), ReadError> {
    let path = dir.join(EVENTS);
    let text = regular::read_regular_file(&path, MAX_STATE_BYTES)
        .map_err(|source| ReadError::Io { path: path.clone(), source })?;
    let valid = scan_lines(&text, LogPlace::start());
    let damage = valid.damage(&path);
    let torn_bytes = if damage.is_some() { 0 } else { text.len() - valid.end.bytes };
    Ok((JournalReading { records: valid.records, torn_bytes }, damage))
}

/// Reads the valid beginning of the journal, record by record, so that not all of it is in memory. Returns the damage that
/// ends it, if any.
pub(crate) fn read_each(
    dir: &Path,
    take: impl FnMut(Record),
) -> Result<Option<ReadError>, ReadError> {
    read_on(dir, &mut LogPlace::start(), take)
}

/// Like reading the whole journal, but begins at `place`, and moves it behind what was read.
pub fn read_on(
    dir: &Path,
    place: &mut LogPlace,
    mut take: impl FnMut(Record),
) -> Result<Option<ReadError>, ReadError> {
    let path = dir.join(EVENTS);
    let failed = |source| ReadError::Io { path: path.clone(), source };
    let mut file = BufReader::new(regular::open_to_read(&path).map_err(failed)?);
    let from = u64::try_from(place.bytes).unwrap_or(u64::MAX);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        file.read_until(b'\n', &mut line).map_err(failed)?;
        match next(&line, place) {
            Ok(Some((record, end))) => {
                *place = end;
                take(record);
            }
            Ok(None) => return Ok(None),
            Err(what) => {
                let end = place.clone();
                let valid = Valid { records: Vec::new(), end, damage: Some(what) };
                return Ok(valid.damage(&path));
            }
        }
    }
}

/// A position between two lines of a log. The next line has to follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    /// Number of the line before it.
    pub(super) seq: u64,
    /// Bytes before it.
    pub(super) bytes: usize,
    /// Checksum of the line before it.
    pub(super) sum: String,
}

impl LogPlace {
    /// The position before the first line.
    pub fn start() -> Self {
        Self { seq: 0, bytes: 0, sum: "0".repeat(SUM_DIGITS) }
    }
}

/// The valid lines of a log after some position.
pub(super) struct Valid {
    pub(super) records: Vec<Record>,
    /// The position after the last of them.
    pub(super) end: LogPlace,
    /// The damage in the next line; `None` if that line is torn or there is none.
    damage: Option<&'static str>,
}

impl Valid {
    /// Returns the damage as an error, with the path of its log.
    pub(super) fn damage(&self, path: &Path) -> Option<ReadError> {
        let line = usize::try_from(self.end.seq + 1).unwrap_or(usize::MAX);
        self.damage.map(|what| ReadError::Damaged { path: path.to_owned(), line, what })
    }
}

/// Reads the lines of `text` after a position, for as long as each is complete and follows the previous one.
pub(super) fn scan_lines(text: &[u8], from: LogPlace) -> Valid {
    let mut records = Vec::new();
    let valid = scan_each(text, from, |record| records.push(record));
    Valid { records, ..valid }
}

/// As [`scan`], but passes each record on.
pub(super) fn scan_each(text: &[u8], from: LogPlace, mut take: impl FnMut(Record)) -> Valid {
    let rest = text.get(from.bytes..).unwrap_or_default();
    let mut valid = Valid { records: Vec::new(), end: from, damage: None };
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        match next(line, &valid.end) {
            Ok(Some((record, end))) => {
                valid.end = end;
                take(record);
            }
            Ok(None) => break,
            Err(what) => {
                valid.damage = Some(what);
                break;
            }
        }
    }
    valid
}

/// Parses the line at a position, with its line ending. Returns its record and the position behind it; `None` if the line is
/// torn.
fn next(line: &[u8], at: &LogPlace) -> Result<Option<(Record, LogPlace)>, &'static str> {
    let Some(whole) = line.strip_suffix(b"\n") else { return Ok(None) };
    let (record, sum) = record(whole)?;
    if record.prev != at.sum {
        return Err("it does not follow the line before it");
    }
    if record.seq != at.seq + 1 {
        return Err("its number is not the next");
    }
    let end = LogPlace { seq: record.seq, bytes: at.bytes + line.len(), sum };
    Ok(Some((record, end)))
}

/// Parses one line and checks its checksum.
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
    let record = serde_json::from_slice(line).map_err(|_| "it is not an event")?;
    Ok((record, sum))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::sync::Arc;
    use std::time::Duration;

    use actors::run::publisher::{EventWritten, Publisher};
    use facts::event::Blob;
    use tokio::sync::mpsc;
    use tools::clock::{FixedClock, Timestamp};

    use super::*;
    use crate::log::{Capacity, Journal};
    use crate::repair::{RepairError, Repaired, is_in_use, repair};

    const CAPACITY: Capacity = Capacity { queue: 8, patience: Duration::ZERO };

    fn turn(text: &str) -> Event {
        Event::TurnAdded {
            speaker: facts::words::Side::User,
            text: text.to_owned(),
            intent: None,
            card: None,
            course: None,
        }
    }

    /// A journal with three turns and one piece of content.
    async fn written() -> (tempfile::TempDir, Blob) {
        let dir = tempfile::tempdir().unwrap();
        let (screen, _seen) = mpsc::channel(100);
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let (_journal, inlet) = Journal::create(dir.path(), clock, CAPACITY, screen).unwrap();
        let publisher = Publisher::new(inlet).for_run("r1");
        publisher.publish(turn("one")).await.unwrap();
        publisher.publish(turn("two ü\n")).await.unwrap();
        let text = Blob::new("x".repeat(1000));
        let evidence = Event::EvidenceGathered {
            items: vec![],
            omitted: vec![],
            partial: false,
            tokens: 1,
            text: text.clone(),
            workspace: None,
            earlier: None,
        };
        assert_eq!(publisher.record(evidence).await, Ok(EventWritten::Now(3)));
        drop(publisher);
        while is_in_use(dir.path()) {
            tokio::task::yield_now().await;
        }
        (dir, text)
    }

    #[tokio::test]
    async fn reading_goes_on_where_it_ended() {
        let (dir, _) = written().await;
        let path = dir.path().join(EVENTS);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            let (mut place, mut seen) = (LogPlace::start(), Vec::new());
            for end in [cut, whole.len()] {
                fs::write(&path, &whole[..end]).unwrap();
                let damage = read_on(dir.path(), &mut place, |record| seen.push(record.seq));
                assert!(damage.unwrap().is_none(), "{cut}");
            }
            assert_eq!(seen, [1, 2, 3], "{cut}");
        }
    }

    #[tokio::test]
    async fn written_events_are_read_back() {
        let (dir, text) = written().await;
        let reading = read_journal(dir.path()).unwrap();
        assert_eq!(reading.torn_bytes, 0);
        assert_eq!(reading.records[1].event(), Some(turn("two ü\n")));
        assert_eq!(reading.records[1].run.as_deref(), Some("r1"));
        assert_eq!(reading.records[0].at, "1970-01-01T00:00:00.000Z");
        assert_eq!(content(dir.path(), &text).unwrap(), text.content);
    }

    /// Flips each byte of a journal in turn and calls `look` with the directory, the byte's offset and line, and the
    /// damaged bytes.
    async fn with_each_byte_flipped(look: impl Fn(&Path, usize, usize, &[u8])) {
        let (dir, _) = written().await;
        let path = dir.path().join(EVENTS);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            let line = good[..at].split(|byte| *byte == b'\n').count();
            look(dir.path(), at, line, &bad);
        }
    }

    #[tokio::test]
    async fn any_flipped_byte_is_found_and_its_line_reported() {
        with_each_byte_flipped(|dir, at, line, bad| match read_journal(dir) {
            Err(ReadError::Damaged { line: named, .. }) => assert_eq!(named, line, "byte {at}"),
            // The last newline was hit: the line before it is torn.
            Ok(reading) => assert_eq!((reading.records.len(), at), (2, bad.len() - 1)),
            Err(error) => panic!("{error}"),
        })
        .await;
    }

    #[tokio::test]
    async fn a_torn_last_line_is_left_out_and_reported() {
        let (dir, _) = written().await;
        let path = dir.path().join(EVENTS);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() - 7]).unwrap();
        let reading = read_journal(dir.path()).unwrap();
        assert_eq!(reading.records.len(), 2);
        assert!(reading.torn_bytes > 0);
    }

    #[tokio::test]
    async fn missing_content_is_reported_by_its_hash() {
        let (dir, text) = written().await;
        fs::remove_dir_all(dir.path().join("blobs")).unwrap();
        assert!(
            content(dir.path(), &text).unwrap_err().to_string().contains(&text.blob.to_string())
        );
    }

    /// Repairs the journal. A process that another test spawns may inherit the lock for a moment, until it calls `exec`.
    fn repair_when_free(dir: &Path) -> Option<Repaired> {
        loop {
            match repair(dir) {
                Err(RepairError::InUse) => std::thread::yield_now(),
                done => return done.unwrap(),
            }
        }
    }

    #[tokio::test]
    async fn repair_keeps_the_valid_beginning_and_moves_the_rest_aside() {
        with_each_byte_flipped(|dir, at, line, bad| {
            let repaired = repair_when_free(dir).unwrap();
            assert_eq!(repaired.kept, line - 1, "byte {at}");
            assert_eq!(read_journal(dir).unwrap().records.len(), line - 1);
            let kept = fs::read(dir.join(EVENTS)).unwrap();
            let aside = fs::read(repaired.aside).unwrap();
            assert_eq!([kept, aside].concat(), bad, "nothing is lost");
            assert_eq!(repair_when_free(dir), None);
        })
        .await;
    }

    #[test]
    fn unknown_kinds_are_kept() {
        let record = Record {
            seq: 1,
            at: String::new(),
            kind: "Later@v7".to_owned(),
            run: None,
            lane: None,
            part: None,
            data: to_raw_value(&serde_json::json!({"a": 1})).unwrap(),
            prev: String::new(),
        };
        assert_eq!(record.event(), None);
        assert_eq!(record.data.get(), r#"{"a":1}"#);
    }
}
