//! Queries about the past: the sessions of a workspace, their usage, their patch sets, the work of their lanes, and the
//! full story of one session.
//!
//! Queries about one session read its journal. Queries about many sessions read a projection.

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
use crate::read::{ReadError, Record, read_each};
use crate::staged::{StagedPatch, fates, patches};

/// All sessions, seen from one workspace.
#[derive(Debug)]
pub struct History {
    /// The workspace of each session.
    pub homes: Homes,
    state: PathBuf,
    here: String,
}

/// Which sessions a query covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The sessions of this workspace.
    Here,
    /// The sessions of all workspaces, one workspace after the other.
    Everywhere,
}

/// The answer to a query.
#[derive(Debug)]
pub struct Gathered<T> {
    /// The answer itself.
    pub value: T,
    /// Damaged journals. Events before the damage are included in the answer.
    pub troubles: Vec<ReadError>,
}

/// Why a query failed.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The projection could not be created, not even in memory.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// The journal is unreadable from its first line on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The session has no first event.
    #[error("session {0} has not begun")]
    NotBegun(String),
}

/// Returns the directory with the state of one workspace, inside the program's state directory `state`.
pub fn workspace_state(state: &Path, workspace: &Path) -> PathBuf {
    let hash = FileHash::of(workspace.as_os_str().as_encoded_bytes()).to_string();
    state.join("workspaces").join(hash.chars().take(16).collect::<String>())
}

impl History {
    /// Finds the sessions in the program's state directory `state`.
    pub fn find(state: &Path, workspace: &Path) -> Self {
        let homes = Homes::find(&state.join("sessions"));
        Self { homes, state: state.to_owned(), here: workspace.display().to_string() }
    }

    /// Returns the workspace that the sessions are seen from.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// Returns the sessions, newest first within each workspace.
    pub fn sessions(&self, reach: Reach) -> Result<Gathered<Vec<Summary>>, HistoryError> {
        let topics = &[Topic::Sessions, Topic::Commits, Topic::Calls];
        self.ask(reach, topics, |sessions| sessions.iter().rev().filter_map(Summary::of).collect())
    }

    /// Returns all model calls, oldest first within each workspace.
    pub fn calls(&self, reach: Reach) -> Result<Gathered<Vec<Call>>, HistoryError> {
        self.ask(reach, &[Topic::Calls], |sessions| {
            sessions.iter().flat_map(usage::calls).collect()
        })
    }

    /// Returns the patch sets for this workspace, newest first.
    pub fn patches(&self) -> Result<Gathered<Vec<StagedPatch>>, HistoryError> {
        self.ask(Reach::Here, &[Topic::Patches, Topic::Commits], patches)
    }

    /// Returns the lanes of all runs in this workspace, by number; the newest run first.
    pub fn lanes(&self) -> Result<Gathered<Vec<LaneWork>>, HistoryError> {
        let topics = &[Topic::Lanes, Topic::Patches, Topic::Commits];
        self.ask(Reach::Here, topics, |sessions| {
            sessions.iter().rev().flat_map(lanes::lanes).collect()
        })
    }

    /// Returns everything about one session of any workspace, up to the first damage in its journal.
    pub fn story(&self, session: &str) -> Result<Gathered<Story>, HistoryError> {
        self.story_with(session, |_| true)
    }

    /// As [`Self::story`], with those events only that can be a cause or an effect of the event numbered `seq`: of the same
    /// run, and of none.
    pub fn story_around(&self, session: &str, seq: u64) -> Result<Gathered<Story>, HistoryError> {
        let mut run = None;
        read_each(&self.homes.dir(session), |record| {
            if record.seq == seq {
                run = record.run;
            }
        })?;
        self.story_with(session, |record| record.run.is_none() || record.run == run)
    }

    /// Returns the story of a session with some of its events.
    fn story_with(
        &self,
        session: &str,
        is_wanted: impl Fn(&Record) -> bool,
    ) -> Result<Gathered<Story>, HistoryError> {
        let not_begun = || HistoryError::NotBegun(session.to_owned());
        let (mut events, mut entries) = (0, Vec::new());
        let damage = read_each(&self.homes.dir(session), |record| {
            events = record.seq;
            if is_wanted(&record) {
                entries.push(StoryEntry::from(record));
            }
        })?;
        let Some(workspace) = self.homes.of(session) else {
            // The damage explains why the journal names no workspace.
            return Err(damage.map_or_else(not_begun, HistoryError::from));
        };
        // Its patch sets may have been applied or declined in another session.
        let Gathered { value: sessions, troubles } =
            self.projection(workspace).kept(&self.homes, &[Topic::Commits])?;
        let kept = Kept { session: session.to_owned(), events, entries };
        let value = Story::of(kept, fates(&sessions)).ok_or_else(not_begun)?;
        Ok(Gathered { value, troubles })
    }

    /// Runs a query on the lines of some topics, in each workspace that `reach` covers.
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
