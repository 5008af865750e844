//! Recorded sessions: lookup by id and queries on their history, with errors and warnings worded for users.

use std::path::{Path, PathBuf};

use front::error::{CliError, CliErrorKind};
use journal::read::ReadError;
use journal::repair::is_in_use;
use journal::{
    DecidedQuestion, Explained, Gathered, History, HistoryError, LaneWork, Reach, RecordedCall,
    RecordedToolCall, StagedPatch, Story, Summary,
};

use policy::quoted_word;
use tools::ids::{ids_called, short_id};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// The most candidates that are listed for an ambiguous id.
const FEW: usize = 4;

/// Takes the past of the workspace along if it was moved here, and says so.
pub(crate) fn follow_a_move(around: &Surroundings, global: &Global) {
    let (Ok(state), Ok(workspace)) = (around.state_dir(), around.workspace(global)) else { return };
    match journal::find_moved(&state, &workspace) {
        Ok(Some(from)) => render::warn(&render::harmless(&format!(
            "this project was at {}; its sessions, checkpoints and memory came along",
            from.display()
        ))),
        Ok(None) => note_place(&state, &workspace),
        Err(error) => render::warn(&format!(
            "warning: the past of this project was not taken along: {}",
            render::harmless(CliError::caused(CliErrorKind::NotDelivered, &error).message())
        )),
    }
}

/// Notes what directory the workspace is, to find it again when it is moved.
pub(crate) fn note_place(state: &Path, workspace: &Path) {
    if let Err(error) = journal::note_place(state, workspace) {
        tracing::debug!(%error, "the place of the workspace is not noted");
    }
}

/// All sessions, as seen from one workspace.
pub(crate) struct Past {
    history: History,
    damage: Damage,
    /// The session of the conversation that asks, if it is one.
    own: Option<String>,
}

/// What to do about damaged journals.
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

    /// Finds the sessions without warning about damaged ones.
    pub(crate) fn find_quietly(around: &Surroundings, global: &Global) -> Result<Self, CliError> {
        Self::seen(around, global, Damage::PassedOver)
    }

    fn seen(around: &Surroundings, global: &Global, damage: Damage) -> Result<Self, CliError> {
        let workspace = around.workspace(global)?;
        let history = History::find(&around.state_dir()?, &workspace);
        Ok(Self { history, damage, own: around.conversation.clone() })
    }

    /// Resolves an id, an unambiguous start or end of an id, or `latest` to a session id. `latest` is the session of the
    /// conversation that asks, or else the one with a request that was used last, if there is one: commands such as
    /// `apply` and `rewind` have sessions of their own.
    pub(crate) fn session(&self, id: &str) -> Result<String, CliError> {
        if id == "latest" {
            if let Some(own) = &self.own {
                return Ok(own.clone());
            }
            let newest = || self.history.homes.sessions_in(self.history.here()).next_back();
            let latest = self.latest(&has_request)?.or_else(|| newest().map(str::to_owned));
            return latest.ok_or_else(|| {
                CliError::new(CliErrorKind::Usage, "there are no sessions in this workspace yet")
                    .hint("`deepseek sessions list --all` lists those of all workspaces")
            });
        }
        match ids_called(self.history.homes.sessions(), id).as_slice() {
            [session] => Ok((*session).to_owned()),
            [] => Err(CliError::new(CliErrorKind::Usage, format!("there is no session `{id}`"))
                .hint("`deepseek sessions list --all` lists them")),
            several => {
                let many = format!("`{id}` matches {} sessions", several.len());
                let ends: Vec<&str> =
                    several.iter().rev().take(FEW).map(|id| short_id(id)).collect();
                Err(CliError::new(CliErrorKind::Usage, many).hint(format!(
                    "use more characters, or the end of the id: {}",
                    ends.join(", ")
                )))
            }
        }
    }

    /// Returns the session of this workspace that has a request and was used last.
    pub(crate) fn talk(&self) -> Result<String, CliError> {
        self.latest(&has_request)?.ok_or_else(|| {
            CliError::new(CliErrorKind::Usage, "there is no session to continue in this workspace")
                .hint("leave out -c to start a new session")
        })
    }

    /// Returns the latest session of this workspace whose last request was interrupted.
    pub(crate) fn interrupted(&self) -> Result<String, CliError> {
        // A request that another process is running is not interrupted.
        let is_it = |it: &Summary| it.is_cut_short() && !self.is_open(&it.id);
        self.latest(&is_it)?.ok_or_else(|| {
            CliError::new(CliErrorKind::Usage, "there is no interrupted request in this workspace")
                .hint("`deepseek -c` continues the session that was used last")
        })
    }

    fn latest(&self, is_it: &dyn Fn(&Summary) -> bool) -> Result<Option<String>, CliError> {
        Ok(self.sessions(Reach::Here)?.into_iter().find(is_it).map(|summary| summary.id))
    }

    /// Resolves an id like [`session`](Self::session), but only within this workspace.
    pub(crate) fn here(&self, id: &str) -> Result<String, CliError> {
        let session = self.session(id)?;
        match self.history.homes.of(&session) {
            Some(workspace) if workspace != self.history.here() => {
                let elsewhere = format!("session {session} belongs to {workspace}");
                let named = quoted_word(workspace);
                let hint = if Path::new(workspace).is_dir() {
                    format!("deepseek --workspace {named} -r {}", short_id(&session))
                } else {
                    format!(
                        "that directory is gone; if this is the same project: deepseek sessions adopt {named}"
                    )
                };
                Err(CliError::new(CliErrorKind::Usage, elsewhere).hint(hint))
            }
            Some(_) | None => Ok(session),
        }
    }

    /// Returns the directory of a session.
    pub(crate) fn dir(&self, session: &str) -> PathBuf {
        self.history.homes.dir(session)
    }

    /// Returns true if a process has this session open.
    pub(crate) fn is_open(&self, session: &str) -> bool {
        is_in_use(&self.dir(session))
    }

    /// Lists sessions, the last used first within each workspace.
    pub(crate) fn sessions(&self, reach: Reach) -> Result<Vec<Summary>, CliError> {
        self.of_many(self.history.sessions(reach))
    }

    /// Lists all model calls, oldest first within each workspace.
    pub(crate) fn calls(&self, reach: Reach) -> Result<Vec<RecordedCall>, CliError> {
        self.of_many(self.history.calls(reach))
    }

    /// Lists the questions whose models were chosen.
    pub(crate) fn decisions(&self, reach: Reach) -> Result<Vec<DecidedQuestion>, CliError> {
        self.of_many(self.history.decisions(reach))
    }

    /// Lists the calls of servers' tools.
    pub(crate) fn tool_calls(&self, reach: Reach) -> Result<Vec<RecordedToolCall>, CliError> {
        self.of_many(self.history.tool_calls(reach))
    }

    /// Lists the patch sets of this workspace, newest first.
    pub(crate) fn patches(&self) -> Result<Vec<StagedPatch>, CliError> {
        self.of_many(self.history.patches())
    }

    /// Lists the lanes of all runs in this workspace, newest run first.
    pub(crate) fn lanes(&self) -> Result<Vec<LaneWork>, CliError> {
        self.of_many(self.history.lanes())
    }

    /// Returns everything recorded about one session, of any workspace.
    pub(crate) fn story(&self, session: &str) -> Result<Story, CliError> {
        self.answered(self.history.story(session))
    }

    /// Returns the causes and effects of an event, with what is recorded about them.
    pub(crate) fn explain(&self, session: &str, seq: u64) -> Result<(Story, Explained), CliError> {
        self.answered(self.history.explain(session, seq))
    }

    /// Unwraps an answer about many sessions, warning also about journals whose workspace is unknown.
    fn of_many<T>(&self, answer: Result<Gathered<T>, HistoryError>) -> Result<T, CliError> {
        self.warn_of(&self.history.homes.troubles);
        self.answered(answer)
    }

    /// Unwraps an answer and warns about each damaged journal.
    fn answered<T>(&self, answer: Result<Gathered<T>, HistoryError>) -> Result<T, CliError> {
        let answer = answer.map_err(|error| match error {
            HistoryError::NotBegun(_) => CliError::caused(CliErrorKind::Usage, &error),
            HistoryError::Projection(_) | HistoryError::Read(_) => {
                CliError::caused(CliErrorKind::Internal, &error)
            }
        })?;
        self.warn_of(&answer.troubles);
        Ok(answer.value)
    }

    fn warn_of(&self, troubles: &[ReadError]) {
        for trouble in troubles.iter().filter(|_| self.damage == Damage::Warned) {
            let error = CliError::caused(CliErrorKind::Internal, trouble);
            render::warn(&format!("warning: {}", render::harmless(error.message())));
        }
    }
}

fn has_request(summary: &Summary) -> bool {
    !summary.requests.is_empty()
}
