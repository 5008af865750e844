//! Projects that moved: their directory is found again by what it is, and its sessions, checkpoints and memory come
//! along. Journals are not rewritten; a list of moves says which sessions belong elsewhere now.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tools::regular::{self, MAX_NOTE_BYTES};
use tree::FileHash;

use crate::history::Homes;
/// File with the moves, in the state directory.
const MOVES: &str = "moves.json";
/// File that says which directory the state of a workspace is about.
const PLACE: &str = "place.json";
/// What a workspace has only after work was done in it.
const PAST: [&str; 2] = ["checkpoints.git", "memory.json"];

/// A directory of the user: where it is, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    path: PathBuf,
    /// Its inode number and the time of its creation, which stay when it is moved; `None` if the system does not tell.
    is: Option<(u64, u128)>,
}

/// Returns the directory with the state of one workspace, inside the program's state directory `state`.
pub fn workspace_state(state: &Path, workspace: &Path) -> PathBuf {
    let hash = FileHash::of(workspace.as_os_str().as_encoded_bytes()).to_string();
    state.join("workspaces").join(hash.chars().take(16).collect::<String>())
}

/// A move of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Move {
    from: String,
    to: String,
    /// The last session before the move.
    until: String,
}

/// Why the past of a project cannot be taken along.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// The directory is still there.
    #[error("{0} is still there, and keeps its sessions")]
    StillThere(PathBuf),
    /// Nothing was ever done in it.
    #[error("nothing is known about {0}")]
    Unknown(PathBuf),
    /// Work was done in the new directory already.
    #[error("{0} has checkpoints or a memory of its own")]
    NotNew(PathBuf),
    /// A process uses one of the directories.
    #[error("another deepseek is running in one of the directories")]
    InUse,
    /// The system refused.
    #[error("cannot use {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        let born = data.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let is = born.map(|born| (data.ino(), born.as_nanos()));
        Ok(Self { path: path.to_owned(), is })
    }

    fn read(own: &Path) -> Option<Self> {
        let text = regular::read_text(&own.join(PLACE), MAX_NOTE_BYTES).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns true if another directory, or none, is at the path by now.
    fn is_left(&self) -> bool {
        Self::of(&self.path).map_or(true, |now| now.is != self.is)
    }
}

/// Notes which directory the state of a workspace is about, if it has any state.
pub fn note_place(state: &Path, workspace: &Path) -> io::Result<()> {
    let own = workspace_state(state, workspace);
    let here = Place::of(workspace)?;
    if !own.is_dir() || Place::read(&own).as_ref() == Some(&here) {
        return Ok(());
    }
    regular::write_regular_file(&own.join(PLACE), &serde_json::to_vec(&here)?)
}

/// Finds the past of a workspace that was moved here from another path, and takes it along. Returns that path.
pub fn find_moved(state: &Path, workspace: &Path) -> Result<Option<PathBuf>, AdoptError> {
    if workspace_state(state, workspace).exists() {
        return Ok(None);
    }
    let Ok(here) = Place::of(workspace) else { return Ok(None) };
    let all = fs::read_dir(state.join("workspaces")).into_iter().flatten().flatten();
    let mut places = all.filter_map(|entry| Place::read(&entry.path()));
    let is_it = |place: &Place| {
        here.is.is_some() && place.is == here.is && place.path != here.path && place.is_left()
    };
    let Some(Place { path: from, .. }) = places.find(is_it) else { return Ok(None) };
    take_along(state, &from, workspace)?;
    Ok(Some(from))
}

/// Takes the past of the project that was at `from` along to `workspace`, because the user says that it is the same.
pub fn adopt(state: &Path, from: &Path, workspace: &Path) -> Result<(), AdoptError> {
    let place = Place::read(&workspace_state(state, from));
    if from.exists() && place.is_none_or(|place| !place.is_left()) {
        return Err(AdoptError::StillThere(from.to_owned()));
    }
    take_along(state, from, workspace)
}

fn take_along(state: &Path, from: &Path, to: &Path) -> Result<(), AdoptError> {
    let (old, new) = (workspace_state(state, from), workspace_state(state, to));
    let name = from.display().to_string();
    let of_it = Homes::find(&state.join("sessions"));
    let last = of_it.sessions_in(&name).next_back().map(str::to_owned);
    if !old.is_dir() && last.is_none() {
        return Err(AdoptError::Unknown(from.to_owned()));
    }
    if PAST.iter().any(|kept| new.join(kept).exists()) {
        return Err(AdoptError::NotNew(to.to_owned()));
    }
    let _locks = [locked(&old)?, locked(&new)?];
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| AdoptError::Io { path, source }
    };
    // First the sessions: what remains to be done after a crash is found again.
    if let Some(until) = last {
        let mut moves = moves(state);
        moves.push(Move { from: name, to: to.display().to_string(), until });
        let list = state.join(MOVES);
        let text = serde_json::to_vec(&moves).map_err(|error| failed(&list)(error.into()))?;
        regular::write_regular_file(&list, &text).map_err(failed(&list))?;
    }
    if old.is_dir() {
        if new.is_dir() {
            fs::remove_dir_all(&new).map_err(failed(&new))?;
        }
        fs::rename(&old, &new).map_err(failed(&old))?;
    }
    note_place(state, to).map_err(failed(&new))
}

/// Locks the state of a workspace for this process; `None` if it has none.
fn locked(own: &Path) -> Result<Option<File>, AdoptError> {
    let path = own.join("lock");
    let file = match regular::open_regular_file(&path, OpenOptions::new().write(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(AdoptError::Io { path, source }),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(AdoptError::InUse),
        Err(errno) => Err(AdoptError::Io { path, source: errno.into() }),
    }
}

/// Returns the moves so far, oldest first.
pub(crate) fn moves(state: &Path) -> Vec<Move> {
    let text = regular::read_text(&state.join(MOVES), MAX_NOTE_BYTES).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns where the workspace of a session is after these moves.
pub(crate) fn moved_home(session: &str, home: String, moves: &[Move]) -> String {
    let follow = |home: String, it: &Move| {
        if home == it.from && session <= it.until.as_str() { it.to.clone() } else { home }
    };
    moves.iter().fold(home, follow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_follow_the_moves_made_after_them() {
        let moved = |from: &str, to: &str, until: &str| Move {
            from: from.into(),
            to: to.into(),
            until: until.into(),
        };
        let moves = [moved("/a", "/b", "05"), moved("/b", "/c", "07")];
        for (session, home, expected) in
            [("03", "/a", "/c"), ("06", "/a", "/a"), ("06", "/b", "/c"), ("08", "/b", "/b")]
        {
            assert_eq!(moved_home(session, home.to_owned(), &moves), expected, "{session} {home}");
        }
    }

    #[test]
    fn a_renamed_directory_is_found_again_and_a_copy_is_not() {
        let home = tempfile::tempdir().unwrap();
        let (state, old) = (home.path().join("state"), home.path().join("old"));
        fs::create_dir_all(&old).unwrap();
        fs::create_dir_all(workspace_state(&state, &old)).unwrap();
        fs::write(workspace_state(&state, &old).join("memory.json"), "[]").unwrap();
        note_place(&state, &old).unwrap();
        let (copy, new) = (home.path().join("copy"), home.path().join("new"));
        fs::create_dir(&copy).unwrap();
        assert_eq!(find_moved(&state, &copy).unwrap(), None);
        fs::rename(&old, &new).unwrap();
        if Place::of(&new).unwrap().is.is_none() {
            return;
        }
        assert_eq!(find_moved(&state, &copy).unwrap(), None);
        assert_eq!(find_moved(&state, &new).unwrap(), Some(old.clone()));
        assert!(workspace_state(&state, &new).join("memory.json").exists());
        // Another project takes the place of the old one, and knows nothing of it.
        fs::create_dir(&old).unwrap();
        assert_eq!(find_moved(&state, &old).unwrap(), None);
        assert!(matches!(adopt(&state, &new, &old), Err(AdoptError::StillThere(_))));
        fs::remove_dir(&new).unwrap();
        adopt(&state, &new, &old).unwrap();
        assert!(workspace_state(&state, &old).join("memory.json").exists());
        assert!(matches!(adopt(&state, &new, &copy), Err(AdoptError::Unknown(_))));
    }
}
