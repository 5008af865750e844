//! What was done before, to be asked: the sessions of a workspace, what they used, what they staged, what their lanes did,
//! and the story of one.
//!
//! A question about one session is answered from its journal. What is asked of many is answered from a projection.

mod causes;
mod entry;
mod homes;
mod lanes;
mod story;
mod summary;
mod usage;

use std::path::{Path, PathBuf};

use thiserror::Error;
use tree::FileHash;

pub(crate) use self::entry::Kept;
pub use self::entry::StoryEntry;
pub use self::homes::Homes;
pub use self::lanes::{LaneState, LaneWork};
pub use self::story::{Explained, Story};
pub use self::summary::Summary;
pub use self::usage::{Call, CallReply, Tally, told_apart};
use crate::projection::topic::Topic;
use crate::projection::{Projection, ProjectionError};
use crate::read::{ReadError, read_valid};
use crate::staged::{StagedPatch, applied, patches};

/// All sessions, seen from a workspace.
#[derive(Debug)]
pub struct History {
    /// Which workspace each session is at home in.
    pub homes: Homes,
    state: PathBuf,
    here: String,
}

/// Whose sessions are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those of this workspace.
    Here,
    /// Those of every workspace, one after the other.
    Everywhere,
}

/// What was asked for.
#[derive(Debug)]
pub struct Gathered<T> {
    /// It.
    pub value: T,
    /// Journals that are damaged. What comes before the damage is in the answer.
    pub troubles: Vec<ReadError>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// There can be no projection, not even in memory.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// The journal cannot be read from its beginning.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no first event.
    #[error("session {0} has not begun")]
    NotBegun(String),
}

/// Where what is kept for one workspace is, below the directory `state` of the program.
pub fn workspace_state(state: &Path, workspace: &Path) -> PathBuf {
    let hash = FileHash::of(workspace.as_os_str().as_encoded_bytes()).to_string();
    state.join("workspaces").join(hash.chars().take(16).collect::<String>())
}

impl History {
    /// Finds the sessions below the directory `state` of the program.
    pub fn find(state: &Path, workspace: &Path) -> Self {
        let homes = Homes::find(&state.join("sessions"));
        Self { homes, state: state.to_owned(), here: workspace.display().to_string() }
    }

    /// The workspace that the sessions are seen from.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// The sessions, newest first in each workspace.
    pub fn sessions(&self, reach: Reach) -> Result<Gathered<Vec<Summary>>, HistoryError> {
        let topics = &[Topic::Sessions, Topic::Commits, Topic::Calls];
        self.ask(reach, topics, |sessions| sessions.iter().rev().filter_map(Summary::of).collect())
    }

    /// All calls of models, oldest first in each workspace.
    pub fn calls(&self, reach: Reach) -> Result<Gathered<Vec<Call>>, HistoryError> {
        self.ask(reach, &[Topic::Calls], |sessions| {
            sessions.iter().flat_map(usage::calls).collect()
        })
    }

    /// The patch sets for this workspace, newest first.
    pub fn patches(&self) -> Result<Gathered<Vec<StagedPatch>>, HistoryError> {
        self.ask(Reach::Here, &[Topic::Patches, Topic::Commits], patches)
    }

    /// The lanes of all runs in this workspace, by number; the newest run first.
    pub fn lanes(&self) -> Result<Gathered<Vec<LaneWork>>, HistoryError> {
        let topics = &[Topic::Lanes, Topic::Patches, Topic::Commits];
        self.ask(Reach::Here, topics, |sessions| {
            sessions.iter().rev().flat_map(lanes::lanes).collect()
        })
    }

    /// Everything about one session, wherever it is at home, as far as its journal is whole.
    pub fn story(&self, session: &str) -> Result<Gathered<Story>, HistoryError> {
        let not_begun = || HistoryError::NotBegun(session.to_owned());
        let (reading, damage) = read_valid(&self.homes.dir(session))?;
        let Some(workspace) = self.homes.of(session) else {
            // Why it does not tell is what its reader has to know.
            return Err(damage.map_or_else(not_begun, HistoryError::from));
        };
        // What it staged may have been applied in another session.
        let Gathered { value: sessions, troubles } =
            self.projection(workspace).kept(&self.homes, &[Topic::Commits])?;
        let entries: Vec<StoryEntry> = reading.records.into_iter().map(StoryEntry::from).collect();
        let events = entries.len() as u64;
        let kept = Kept { session: session.to_owned(), events, entries };
        let value = Story::of(kept, applied(&sessions)).ok_or_else(not_begun)?;
        Ok(Gathered { value, troubles })
    }

    /// Asks the lines of some topics in the workspaces that are meant.
    fn ask<T>(
        &self,
        reach: Reach,
        topics: &[Topic],
        question: impl Fn(&[Kept]) -> Vec<T>,
    ) -> Result<Gathered<Vec<T>>, HistoryError> {
        let workspaces = match reach {
            Reach::Here => vec![self.here.as_str()],
            Reach::Everywhere => self.homes.workspaces(),
        };
        let mut all = Gathered { value: Vec::new(), troubles: Vec::new() };
        for workspace in workspaces {
            let Gathered { value, troubles } =
                self.projection(workspace).kept(&self.homes, topics)?;
            all.value.extend(question(&value));
            all.troubles.extend(troubles);
        }
        Ok(all)
    }

    fn projection(&self, workspace: &str) -> Projection {
        let own = workspace_state(&self.state, Path::new(workspace));
        Projection { database: own.join("projections.sqlite"), workspace: workspace.to_owned() }
    }
}
