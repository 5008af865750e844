//! Brings the tables up to date with the journals: adds new lines, and reads journals again that changed otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use tools::regular::{self, MAX_STATE_BYTES};
use tree::FileHash;

use super::topic::Topic;
use crate::EVENTS;
use crate::history::Homes;
use crate::read::{LogPlace, ReadError, Record, scan_each};

/// How far a journal was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    /// File metadata when it was read; `None` if it must be read again in any case.
    stamp: Option<String>,
    /// The end of the last line read.
    place: LogPlace,
    /// Hash of everything before it.
    hash: String,
}

/// Projects all sessions of a workspace. Returns the damage in journals; their valid beginnings are projected.
pub(super) fn sync_projection(
    connection: &mut Connection,
    homes: &Homes,
    workspace: &str,
) -> rusqlite::Result<Vec<ReadError>> {
    let known = stamps(connection)?;
    for gone in known.keys().filter(|session| homes.of(session) != Some(workspace)) {
        let transaction = begin(connection)?;
        forget(&transaction, gone)?;
        transaction.commit()?;
    }
    let mut troubles = Vec::new();
    for session in homes.sessions_in(workspace) {
        let path = homes.dir(session).join(EVENTS);
        let projected = known.get(session).cloned().flatten();
        if projected.is_some() && projected == stamp(&path).ok() {
            continue;
        }
        let transaction = begin(connection)?;
        troubles.extend(project(&transaction, session, &path)?);
        transaction.commit()?;
    }
    Ok(troubles)
}

/// Begins a write transaction. No other process writes until it ends, so rows read in it cannot change before they are
/// updated.
fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Projects the lines of a journal after its mark, or all lines if those before the mark have changed.
fn project(
    tables: &Transaction<'_>,
    session: &str,
    path: &Path,
) -> rusqlite::Result<Option<ReadError>> {
    // Taken before reading, so that lines added during the read are noticed next time.
    let read = stamp(path)
        .and_then(|stamp| Ok((stamp, regular::read_regular_file(path, MAX_STATE_BYTES)?)));
    let (stamp, text) = match read {
        Ok(read) => read,
        Err(source) => {
            forget(tables, session)?;
            return Ok(Some(ReadError::Io { path: path.to_owned(), source }));
        }
    };
    let old = mark(tables, session)?;
    let is_prefix = |mark: &&Mark| hash(&text, mark.place.bytes).as_ref() == Some(&mark.hash);
    let from = old.as_ref().filter(is_prefix).map(|mark| mark.place.clone());
    if from.is_none() {
        forget(tables, session)?;
    }
    let from = from.unwrap_or_else(LogPlace::start);
    let mut inserted = Ok(());
    let valid = scan_each(&text, from, |record| {
        if inserted.is_ok()
            && let Some(topic) = record.event().as_ref().and_then(Topic::of)
        {
            inserted = insert(tables, session, topic, &record);
        }
    });
    inserted?;
    let damage = valid.damage(path);
    let hash = hash(&text, valid.end.bytes).unwrap_or_default();
    let stamp = Some(stamp).filter(|_| damage.is_none());
    let new = Mark { stamp, place: valid.end, hash };
    if old.as_ref() != Some(&new) {
        set_mark(tables, session, &new)?;
    }
    Ok(damage)
}

/// Returns metadata that changes when the file does.
fn stamp(path: &Path) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    Ok(format!(
        "{} {} {}.{:09} {}.{:09}",
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    ))
}

/// Returns the hash of the first `bytes` of a text; `None` if the text is shorter.
fn hash(text: &[u8], bytes: usize) -> Option<String> {
    text.get(..bytes).map(|prefix| FileHash::of(prefix).to_string())
}

fn stamps(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Option<String>>> {
    let mut statement = connection.prepare("SELECT session, stamp FROM journals")?;
    let stamps = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    stamps.collect()
}

fn mark(tables: &Connection, session: &str) -> rusqlite::Result<Option<Mark>> {
    let mut statement = tables
        .prepare_cached("SELECT stamp, seq, bytes, sum, hash FROM journals WHERE session = ?1")?;
    let mark = statement.query_row([session], |row| {
        let (seq, bytes): (i64, i64) = (row.get(1)?, row.get(2)?);
        let place = LogPlace {
            seq: u64::try_from(seq).unwrap_or_default(),
            bytes: usize::try_from(bytes).unwrap_or_default(),
            sum: row.get(3)?,
        };
        Ok(Mark { stamp: row.get(0)?, place, hash: row.get(4)? })
    });
    mark.optional()
}

fn set_mark(tables: &Connection, session: &str, mark: &Mark) -> rusqlite::Result<()> {
    let seq = i64::try_from(mark.place.seq).unwrap_or(i64::MAX);
    let bytes = i64::try_from(mark.place.bytes).unwrap_or(i64::MAX);
    tables
        .prepare_cached("INSERT OR REPLACE INTO journals VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute((session, &mark.stamp, seq, bytes, &mark.place.sum, &mark.hash))?;
    Ok(())
}

/// Removes a session from all tables.
fn forget(tables: &Connection, session: &str) -> rusqlite::Result<()> {
    for table in ["lines", "journals"] {
        let delete = format!("DELETE FROM {table} WHERE session = ?1");
        tables.prepare_cached(&delete)?.execute([session])?;
    }
    Ok(())
}

fn insert(
    tables: &Connection,
    session: &str,
    topic: Topic,
    record: &Record,
) -> rusqlite::Result<()> {
    let line = serde_json::to_string(record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    let seq = i64::try_from(record.seq).unwrap_or(i64::MAX);
    tables.prepare_cached("INSERT INTO lines VALUES (?1, ?2, ?3, ?4)")?.execute((
        session,
        seq,
        topic.name(),
        line,
    ))?;
    Ok(())
}
