//! What was done before: sessions by their ids, and what their history answers, with the errors and warnings that users see.

use std::path::PathBuf;

use front::error::{CliError, Kind};
use journal::read::ReadError;
use journal::repair::is_in_use;
use journal::{
    Call, Gathered, History, HistoryError, LaneWork, Reach, StagedPatch, Story, Summary,
};

use tools::ids::{called, short};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// So many of the sessions that may be meant are named.
const FEW: usize = 4;

/// All sessions, seen from a workspace.
pub(crate) struct Past {
    history: History,
    damage: Damage,
}

/// What becomes of damage that is come across in journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Warned,
    PassedOver,
}

impl Past {
    /// Finds the sessions.
    pub(crate) fn find(around: &Surroundings, global: &Global) -> Result<Self, CliError> {
        Self::seen(around, global, Damage::Warned)
    }

    /// Finds the sessions, and says nothing of those that are damaged.
    pub(crate) fn find_quietly(around: &Surroundings, global: &Global) -> Result<Self, CliError> {
        Self::seen(around, global, Damage::PassedOver)
    }

    fn seen(around: &Surroundings, global: &Global, damage: Damage) -> Result<Self, CliError> {
        let workspace = around.workspace(global)?;
        Ok(Self { history: History::find(&around.state_dir()?, &workspace), damage })
    }

    /// The session with this id, the only one that is called so, or the latest of this workspace.
    pub(crate) fn session(&self, id: &str) -> Result<String, CliError> {
        if id == "latest" {
            let latest = self.history.homes.sessions_in(self.history.here()).next_back();
            return latest.map(str::to_owned).ok_or_else(|| {
                CliError::new(Kind::Usage, "there is no session in this workspace yet")
                    .hint("`deepseek sessions list --all` lists those of others")
            });
        }
        match called(self.history.homes.sessions(), id).as_slice() {
            [session] => Ok((*session).to_owned()),
            [] => Err(CliError::new(Kind::Usage, format!("there is no session `{id}`"))
                .hint("`deepseek sessions list --all` lists them")),
            several => {
                let many = format!("`{id}` may mean {} sessions", several.len());
                let ends: Vec<&str> = several.iter().rev().take(FEW).map(|id| short(id)).collect();
                Err(CliError::new(Kind::Usage, many)
                    .hint(format!("give more of the id, or its end: {}", ends.join(", "))))
            }
        }
    }

    /// The latest session of this workspace that something was asked in.
    pub(crate) fn talk(&self) -> Result<String, CliError> {
        let asked = |summary: &Summary| !summary.requests.is_empty();
        self.latest(&asked)?.ok_or_else(|| {
            CliError::new(Kind::Usage, "nothing was asked in this workspace yet")
                .hint("omit `-c` to start a new session")
        })
    }

    /// The latest session of this workspace whose last request was interrupted.
    pub(crate) fn cut_short(&self) -> Result<String, CliError> {
        // What somebody works at is not interrupted.
        let is_it = |it: &Summary| it.is_cut_short() && !is_in_use(&self.dir(&it.id));
        self.latest(&is_it)?.ok_or_else(|| {
            CliError::new(Kind::Usage, "no request was interrupted in this workspace")
                .hint("`deepseek -c` goes on with the last session")
        })
    }

    fn latest(&self, is_it: &dyn Fn(&Summary) -> bool) -> Result<Option<String>, CliError> {
        Ok(self.sessions(Reach::Here)?.into_iter().find(is_it).map(|summary| summary.id))
    }

    /// The session, if it is one of this workspace.
    pub(crate) fn here(&self, id: &str) -> Result<String, CliError> {
        let session = self.session(id)?;
        match self.history.homes.of(&session) {
            Some(workspace) if workspace != self.history.here() => {
                let elsewhere = format!("session {session} is one of {workspace}");
                Err(CliError::new(Kind::Usage, elsewhere)
                    .hint(format!("deepseek --workspace {workspace}")))
            }
            Some(_) | None => Ok(session),
        }
    }

    /// The directory of a session.
    pub(crate) fn dir(&self, session: &str) -> PathBuf {
        self.history.homes.dir(session)
    }

    /// The sessions, newest first in each workspace.
    pub(crate) fn sessions(&self, reach: Reach) -> Result<Vec<Summary>, CliError> {
        self.of_many(self.history.sessions(reach))
    }

    /// All calls of models, oldest first in each workspace.
    pub(crate) fn calls(&self, reach: Reach) -> Result<Vec<Call>, CliError> {
        self.of_many(self.history.calls(reach))
    }

    /// The patch sets for this workspace, newest first.
    pub(crate) fn patches(&self) -> Result<Vec<StagedPatch>, CliError> {
        self.of_many(self.history.patches())
    }

    /// The lanes of all runs in this workspace, the newest run first.
    pub(crate) fn lanes(&self) -> Result<Vec<LaneWork>, CliError> {
        self.of_many(self.history.lanes())
    }

    /// Everything about one session, wherever it is at home.
    pub(crate) fn story(&self, session: &str) -> Result<Story, CliError> {
        self.answered(self.history.story(session))
    }

    /// What is answered of many sessions. Journals that do not tell where they belong are warned of.
    fn of_many<T>(&self, answer: Result<Gathered<T>, HistoryError>) -> Result<T, CliError> {
        self.warn_of(&self.history.homes.troubles);
        self.answered(answer)
    }

    /// An answer, with a warning of each journal that is damaged.
    fn answered<T>(&self, answer: Result<Gathered<T>, HistoryError>) -> Result<T, CliError> {
        let answer = answer.map_err(|error| match error {
            HistoryError::NotBegun(_) => CliError::caused(Kind::Usage, &error),
            HistoryError::Projection(_) | HistoryError::Read(_) => {
                CliError::caused(Kind::Internal, &error)
            }
        })?;
        self.warn_of(&answer.troubles);
        Ok(answer.value)
    }

    fn warn_of(&self, troubles: &[ReadError]) {
        for trouble in troubles.iter().filter(|_| self.damage == Damage::Warned) {
            let error = CliError::caused(Kind::Internal, trouble);
            render::warn(&format!("warning: {}", render::harmless(error.message())));
        }
    }
}
