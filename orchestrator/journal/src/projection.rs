//! An `SQLite` cache of the journal lines that queries across many sessions of a workspace need, so that not every
//! journal has to be read. It holds no data of its own: it may be deleted at any time and is rebuilt identically.
//!
//! `topic` decides which lines are kept; `sync` brings the tables up to date. This file queries them and decides where
//! they live: in the workspace's file; in a new file if that one is unusable; or in memory if no file can be used. So no
//! problem with this database prevents an answer.

mod sync;
pub(crate) mod topic;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Type;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params_from_iter};
use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use tools::regular;
use tree::FileHash;

use self::topic::Topic;
use crate::history::{Fold, Gathered, Homes, KeptEntries, StoryEntry};
use crate::read::Record;

const SCHEMA: &str = include_str!("projection/schema.sql");

/// How long another process may take to project a session. After that, the answer comes from memory.
const PATIENCE: Duration = Duration::from_secs(2);

/// Capacity of the cache of prepared statements; more than there are.
const STATEMENTS: usize = 64;

/// The projection of one workspace.
#[derive(Debug)]
pub(crate) struct Projection {
    /// The database's file.
    pub(crate) database: PathBuf,
    /// The workspace, as the first event of its sessions names it.
    pub(crate) workspace: String,
}

/// Why a projection gave no answer.
#[derive(Debug, Error)]
pub enum ProjectionError {
    /// The tables failed even in memory.
    #[error("cannot project the journals")]
    Tables(#[from] rusqlite::Error),
    /// The file cannot be created or removed.
    #[error("cannot use {path}")]
    File {
        /// The database's file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The tables in the file belong to another version of the program.
    #[error("the projection was made by another version")]
    Version,
}

/// Where the tables may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the existing file.
    Kept,
    /// In a new file.
    Fresh,
    /// In memory, for one answer.
    Memory,
}

/// Opened tables.
struct Open {
    tables: Connection,
    /// Held while the file is in use, so that no other process removes it.
    _lock: Option<File>,
}

impl Projection {
    /// Brings the tables up to date and returns the lines of some topics by session, oldest session first.
    pub(crate) fn kept(
        &self,
        homes: &Homes,
        topics: &[Topic],
    ) -> Result<Gathered<Vec<KeptEntries>>, ProjectionError> {
        self.folded(homes, topics)
    }

    /// As [`Self::kept`], with what is made of the lines of each session.
    pub(crate) fn folded<F: Fold>(
        &self,
        homes: &Homes,
        topics: &[Topic],
    ) -> Result<Gathered<Vec<F>>, ProjectionError> {
        let mut place = Place::Kept;
        loop {
            let error = match self.folded_at(place, homes, topics) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tracing::debug!(?place, %error, "a projection cannot be used");
            place = match place {
                Place::Kept if is_damage(&error) => Place::Fresh,
                Place::Kept | Place::Fresh => Place::Memory,
                Place::Memory => return Err(error),
            };
        }
    }

    fn folded_at<F: Fold>(
        &self,
        place: Place,
        homes: &Homes,
        topics: &[Topic],
    ) -> Result<Gathered<Vec<F>>, ProjectionError> {
        let mut open = match place {
            Place::Kept => self.open()?,
            Place::Fresh => self.fresh()?,
            Place::Memory => Open { tables: prepared(Connection::open_in_memory()?)?, _lock: None },
        };
        let troubles = sync::sync_projection(&mut open.tables, homes, &self.workspace)?;
        // One transaction, so that all queries see the same state.
        open.tables.execute_batch("BEGIN")?;
        Ok(Gathered { value: lines(&open.tables, topics)?, troubles })
    }

    /// Opens the tables in the file; creates it if there is none.
    fn open(&self) -> Result<Open, ProjectionError> {
        let failed = |source| ProjectionError::File { path: self.database.clone(), source };
        let lock = self.dir().map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockShared)
            .map_err(|errno| failed(errno.into()))?;
        let mut options = OpenOptions::new();
        // Prompts and answers are private.
        options.create(true).truncate(false).write(true).mode(0o600);
        regular::open_regular_file(&self.database, &mut options).map_err(failed)?;
        let tables = prepared(Connection::open(&self.database)?)?;
        Ok(Open { tables, _lock: Some(lock) })
    }

    /// Replaces the file with new tables.
    ///
    /// No other process may have it open: a database's log is found by its name, and would be taken for the new
    /// database's log.
    fn fresh(&self) -> Result<Open, ProjectionError> {
        let failed = |source| ProjectionError::File { path: self.database.clone(), source };
        let lock = self.dir().map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| failed(errno.into()))?;
        for suffix in ["-wal", "-shm", ""] {
            let mut name = self.database.clone().into_os_string();
            name.push(suffix);
            match fs::remove_file(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                Ok(()) | Err(_) => {}
            }
        }
        drop(lock);
        self.open()
    }

    /// Opens the file's directory; a lock on it marks the file as in use.
    fn dir(&self) -> io::Result<File> {
        let dir = self.database.parent().unwrap_or(Path::new("."));
        regular::create_dir(dir)?;
        File::open(dir)
    }
}

/// Reads the lines of some topics, by session.
fn lines<F: Fold>(tables: &Connection, topics: &[Topic]) -> rusqlite::Result<Vec<F>> {
    let mut journals = tables.prepare("SELECT session, seq FROM journals ORDER BY session")?;
    let folds = journals.query_map([], |row| {
        let events = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
        let session: String = row.get(0)?;
        Ok((session.clone(), F::begin(session, events)))
    })?;
    let mut folds = folds.collect::<rusqlite::Result<Vec<(String, F)>>>()?;
    let places = vec!["?"; topics.len()].join(", ");
    let mut lines = tables.prepare(&format!(
        "SELECT session, line FROM lines WHERE topic IN ({places}) ORDER BY session, seq"
    ))?;
    let mut lines = lines.query(params_from_iter(topics.iter().map(|topic| topic.name())))?;
    let mut sessions = folds.iter_mut().peekable();
    while let Some(row) = lines.next()? {
        let (session, line): (String, String) = (row.get(0)?, row.get(1)?);
        let record: Record = serde_json::from_str(&line).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error))
        })?;
        while sessions.next_if(|(id, _)| *id < session).is_some() {}
        if let Some((_, fold)) = sessions.peek_mut().filter(|(id, _)| *id == session) {
            fold.take_in(StoryEntry::from(record));
        }
    }
    Ok(folds.into_iter().map(|(_, fold)| fold).collect())
}

/// Makes sure that a database has the tables of this version.
fn prepared(mut connection: Connection) -> Result<Connection, ProjectionError> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A power cut may lose the last writes, which are rebuilt; the database only has to stay consistent.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version = version();
    let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == version {
        return Ok(connection);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created them in the meantime.
    let found: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", version)?;
    } else if found != version {
        return Err(ProjectionError::Version);
    }
    transaction.commit()?;
    Ok(connection)
}

/// Returns the version of the schema, a hash of its text.
fn version() -> i32 {
    let [a, b, c, d, ..] = *FileHash::of(SCHEMA.as_bytes()).as_bytes();
    // Zero means a database without tables.
    i32::from_be_bytes([a & 0x7f, b, c, d]).max(1)
}

/// Returns true if the file itself is at fault, not the machine or another process.
fn is_damage(error: &ProjectionError) -> bool {
    match error {
        ProjectionError::Version => true,
        ProjectionError::File { .. } => false,
        ProjectionError::Tables(error) => !matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::ReadOnly
                    | ErrorCode::DiskFull
                    | ErrorCode::CannotOpen
                    | ErrorCode::PermissionDenied
                    | ErrorCode::OutOfMemory
            )
        ),
    }
}

#[cfg(test)]
mod tests;
