//! Queries about the past: the sessions of a workspace, their usage, their patch sets, the work of their lanes, and the
//! full story of one session.
//!
//! Queries about one session read its journal. Queries about many sessions read a projection.

mod causes;
mod decisions;
mod entry;
mod explained;
mod homes;
mod lanes;
mod server_tools;
mod story;
mod summary;
mod usage;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::decisions::{DecidedBy, DecidedQuestion};
pub use self::entry::StoryEntry;
pub(crate) use self::entry::{Fold, KeptEntries};
pub use self::explained::Explained;
use self::explained::Explaining;
pub use self::homes::Homes;
pub use self::lanes::{LaneState, LaneWork};
pub use self::server_tools::{RecordedToolCall, ToolTally};
pub use self::story::Story;
pub use self::summary::Summary;
use self::summary::Summing;
pub use self::usage::{CallReply, RecordedCall, Tally, told_apart};
use crate::moved::workspace_state;
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
        self.ask(reach, topics, |sessions: Vec<Summing>| {
            let mut all: Vec<Summary> =
                sessions.into_iter().rev().filter_map(Summing::done).collect();
            all.sort_by_cached_key(Summary::last_used);
            all
        })
    }

    /// Returns all model calls, oldest first within each workspace.
    pub fn calls(&self, reach: Reach) -> Result<Gathered<Vec<RecordedCall>>, HistoryError> {
        self.ask(reach, &[Topic::Calls], |sessions: Vec<KeptEntries>| {
            sessions.iter().flat_map(usage::calls).collect()
        })
    }

    /// Returns the questions whose models were chosen, oldest first within each workspace.
    pub fn decisions(&self, reach: Reach) -> Result<Gathered<Vec<DecidedQuestion>>, HistoryError> {
        let topics = &[Topic::Decisions, Topic::Sessions, Topic::Calls];
        self.ask(reach, topics, |sessions: Vec<KeptEntries>| {
            sessions.iter().flat_map(decisions::decisions).collect()
        })
    }

    /// Returns the calls of servers' tools, oldest first within each workspace.
    pub fn tool_calls(
        &self,
        reach: Reach,
    ) -> Result<Gathered<Vec<RecordedToolCall>>, HistoryError> {
        self.ask(reach, &[Topic::ServerTools, Topic::Calls], |sessions: Vec<KeptEntries>| {
            sessions.iter().flat_map(server_tools::tool_calls).collect()
        })
    }

    /// Returns the patch sets for this workspace, newest first.
    pub fn patches(&self) -> Result<Gathered<Vec<StagedPatch>>, HistoryError> {
        let topics = &[Topic::Patches, Topic::Commits];
        self.ask(Reach::Here, topics, |sessions: Vec<KeptEntries>| patches(&sessions))
    }

    /// Returns the lanes of all runs in this workspace, by number; the newest run first.
    pub fn lanes(&self) -> Result<Gathered<Vec<LaneWork>>, HistoryError> {
        let topics = &[Topic::Lanes, Topic::Patches, Topic::Commits];
        self.ask(Reach::Here, topics, |sessions: Vec<KeptEntries>| {
            sessions.iter().rev().flat_map(lanes::lanes).collect()
        })
    }

    /// Returns everything about one session of any workspace, up to the first damage in its journal.
    pub fn story(&self, session: &str) -> Result<Gathered<Story>, HistoryError> {
        self.story_with(session, |_| true)
    }

    /// Explains the event numbered `seq`. Returns also the story of its session, of which only the model calls of its run and
    /// what the explanation names are there.
    pub fn explain(
        &self,
        session: &str,
        seq: u64,
    ) -> Result<Gathered<(Story, Explained)>, HistoryError> {
        let dir = self.homes.dir(session);
        let mut run = None;
        read_each(&dir, |record| {
            if record.seq == seq {
                run = record.run;
            }
        })?;
        let is_near = |record: &Record| record.run.is_none() || record.run == run;
        let mut explaining = Explaining::new(seq);
        read_each(&dir, |record| {
            if is_near(&record) {
                explaining.hear(StoryEntry::from(record));
            }
        })?;
        let explained = explaining.done();
        let Gathered { value: story, troubles } = self.story_with(session, |record| {
            let is_call = matches!(record.name(), "ModelRequest" | "ModelReply");
            let is_first = record.seq == 1;
            is_first
                || record.seq == seq
                || explained.has(record.seq)
                || is_call && record.run == run
        })?;
        Ok(Gathered { value: (story, explained), troubles })
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
        let kept = KeptEntries { session: session.to_owned(), events, entries };
        let value = Story::of(kept, fates(&sessions)).ok_or_else(not_begun)?;
        Ok(Gathered { value, troubles })
    }

    /// Runs a query on the lines of some topics, in each workspace that `reach` covers.
    fn ask<F: Fold, T>(
        &self,
        reach: Reach,
        topics: &[Topic],
        question: impl Fn(Vec<F>) -> Vec<T>,
    ) -> Result<Gathered<Vec<T>>, HistoryError> {
        let workspaces = match reach {
            Reach::Here => vec![self.here.as_str()],
            Reach::Everywhere => self.homes.workspaces(),
        };
        let mut all = Gathered { value: Vec::new(), troubles: Vec::new() };
        for workspace in workspaces {
            let Gathered { value, troubles } =
                self.projection(workspace).folded(&self.homes, topics)?;
            all.value.extend(question(value));
            all.troubles.extend(troubles);
        }
        Ok(all)
    }

    fn projection(&self, workspace: &str) -> Projection {
        let own = workspace_state(&self.state, Path::new(workspace));
        Projection { database: own.join("projections.sqlite"), workspace: workspace.to_owned() }
    }
}
