//! Maps each session to its workspace, using the first line of its journal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use facts::event::Event;
use tools::regular;

use crate::EVENTS;
use crate::moved::{moved_home, moves};
use crate::read::{LogPlace, ReadError, scan_lines};

/// Read limit for the first line; longer than any real one.
const LONGEST: u64 = 1 << 20;

/// All sessions with their workspaces.
#[derive(Debug)]
pub struct Homes {
    sessions: PathBuf,
    at: BTreeMap<String, Option<String>>,
    /// Journals whose workspace cannot be determined.
    pub troubles: Vec<ReadError>,
}

impl Homes {
    /// Reads the first line of each journal in the directory `sessions`.
    pub fn find(sessions: &Path) -> Self {
        let mut homes =
            Self { sessions: sessions.to_owned(), at: BTreeMap::new(), troubles: Vec::new() };
        let Ok(entries) = fs::read_dir(sessions) else { return homes };
        let moves = moves(sessions.parent().unwrap_or(sessions));
        let dirs = entries.flatten().filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            dirs.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names {
            let home = home(&sessions.join(&name)).unwrap_or_else(|error| {
                homes.troubles.push(error);
                None
            });
            let home = home.map(|home| moved_home(&name, home, &moves));
            homes.at.insert(name, home);
        }
        homes
    }

    /// Returns the directory of a session.
    pub fn dir(&self, session: &str) -> PathBuf {
        self.sessions.join(session)
    }

    /// Returns the workspace of a session; `None` if its journal does not name one.
    pub fn of(&self, session: &str) -> Option<&str> {
        self.at.get(session)?.as_deref()
    }

    /// Returns all sessions, oldest first: ids sort by time.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.at.keys().map(String::as_str)
    }

    /// Returns the sessions of a workspace, oldest first.
    pub fn sessions_in<'a>(
        &'a self,
        workspace: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a str> {
        let here = self.at.iter().filter(move |(_, home)| home.as_deref() == Some(workspace));
        here.map(|(session, _)| session.as_str())
    }

    /// Returns the workspaces that have sessions, sorted by name.
    pub fn workspaces(&self) -> Vec<&str> {
        let mut workspaces: Vec<&str> = self.at.values().flatten().map(String::as_str).collect();
        workspaces.sort_unstable();
        workspaces.dedup();
        workspaces
    }
}

/// Returns the workspace that the first line of a journal names; `None` if there is no complete line yet.
fn home(session: &Path) -> Result<Option<String>, ReadError> {
    let path = session.join(EVENTS);
    let file = match regular::open_to_read(&path) {
        Ok(file) => file,
        // Not a directory, or a session that was never written to: not a session.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(source) => return Err(ReadError::Io { path, source }),
    };
    let mut line = Vec::new();
    let read = BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line);
    read.map_err(|source| ReadError::Io { path: path.clone(), source })?;
    let first = scan_lines(&line, LogPlace::start());
    if let Some(damage) = first.damage(&path) {
        return Err(damage);
    }
    Ok(first.records.first().and_then(|record| match record.event() {
        Some(Event::SessionStarted { workspace, .. }) => Some(workspace),
        Some(_) | None => None,
    }))
}
