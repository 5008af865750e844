//! Which workspace each session is at home in, by the first line of its journal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use actors::event::Event;
use tools::regular;

use crate::EVENTS;
use crate::read::{Place, ReadError, scan};

/// Longer than any first line.
const LONGEST: u64 = 1 << 20;

/// All sessions with the workspaces they are at home in.
#[derive(Debug)]
pub struct Homes {
    sessions: PathBuf,
    at: BTreeMap<String, Option<String>>,
    /// Journals that do not tell.
    pub troubles: Vec<ReadError>,
}

impl Homes {
    /// Looks at the first lines of all journals in the directory `sessions`.
    pub fn find(sessions: &Path) -> Self {
        let mut homes =
            Self { sessions: sessions.to_owned(), at: BTreeMap::new(), troubles: Vec::new() };
        let Ok(entries) = fs::read_dir(sessions) else { return homes };
        let dirs = entries.flatten().filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            dirs.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names {
            let home = home(&sessions.join(&name)).unwrap_or_else(|error| {
                homes.troubles.push(error);
                None
            });
            homes.at.insert(name, home);
        }
        homes
    }

    /// The directory of a session.
    pub fn dir(&self, session: &str) -> PathBuf {
        self.sessions.join(session)
    }

    /// The workspace of a session; none when its journal does not tell.
    pub fn of(&self, session: &str) -> Option<&str> {
        self.at.get(session)?.as_deref()
    }

    /// All sessions, oldest first: ids sort by time.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.at.keys().map(String::as_str)
    }

    /// The sessions of a workspace, oldest first.
    pub fn sessions_in<'a>(
        &'a self,
        workspace: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a str> {
        let here = self.at.iter().filter(move |(_, home)| home.as_deref() == Some(workspace));
        here.map(|(session, _)| session.as_str())
    }

    /// The workspaces that have sessions, by name.
    pub fn workspaces(&self) -> Vec<&str> {
        let mut workspaces: Vec<&str> = self.at.values().flatten().map(String::as_str).collect();
        workspaces.sort_unstable();
        workspaces.dedup();
        workspaces
    }
}

/// The workspace that the first line of a journal names; none when there is no whole line yet.
fn home(session: &Path) -> Result<Option<String>, ReadError> {
    let path = session.join(EVENTS);
    let file = match regular::open_to_read(&path) {
        Ok(file) => file,
        // What is no directory, or was begun and not gone on with, is no session.
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
    let first = scan(&line, Place::start());
    if let Some(damage) = first.damage(&path) {
        return Err(damage);
    }
    Ok(first.records.first().and_then(|record| match record.event() {
        Some(Event::SessionStarted { workspace, .. }) => Some(workspace),
        Some(_) | None => None,
    }))
}
