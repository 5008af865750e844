//! What was done before: sessions by their ids, and what the projections of the journals answer about them.

use std::path::{Path, PathBuf};

use journal::projection::answers::{StoryEvent, Summary};
use journal::projection::homes::Homes;
use journal::projection::queries::Tables;
use journal::projection::{Projection, ProjectionError};
use journal::read::read;
use journal::repair::is_in_use;

use crate::error::{CliError, Kind};
use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// All sessions, seen from a workspace.
pub(crate) struct Past<'a> {
    around: &'a Surroundings,
    homes: Homes,
    here: String,
}

impl<'a> Past<'a> {
    /// Finds the sessions. Journals that do not tell where they belong are warned of.
    pub(crate) fn find(around: &'a Surroundings, global: &Global) -> Result<Self, CliError> {
        let here = around.workspace(global)?.display().to_string();
        let homes = Homes::find(&around.state_dir()?.join("sessions"));
        Ok(Self { around, homes, here })
    }

    /// The session with this id, the only one that begins so, or the latest of this workspace.
    pub(crate) fn session(&self, id: &str) -> Result<String, CliError> {
        if id == "latest" {
            return self.homes.sessions_in(&self.here).next_back().map(str::to_owned).ok_or_else(
                || {
                    CliError::new(Kind::Usage, "there is no session in this workspace yet")
                        .hint("`deepseek sessions list --all` lists those of others")
                },
            );
        }
        let matching: Vec<&str> =
            if id.is_empty() { Vec::new() } else { self.homes.beginning(id).collect() };
        match matching.as_slice() {
            [session] => Ok((*session).to_owned()),
            [] => Err(CliError::new(Kind::Usage, format!("there is no session `{id}`"))
                .hint("`deepseek sessions list --all` lists them")),
            several => {
                let many = format!("{} sessions begin with {id}", several.len());
                Err(CliError::new(Kind::Usage, many).hint("give more of the id"))
            }
        }
    }

    /// The latest session of this workspace that something was asked in.
    pub(crate) fn talk(&self) -> Result<String, CliError> {
        let asked = |summary: &Summary| !summary.requests.is_empty();
        self.latest(&asked)?.ok_or_else(|| {
            CliError::new(Kind::Usage, "nothing was asked in this workspace yet")
                .hint("without -c a session begins")
        })
    }

    /// The latest session of this workspace whose last request was cut short.
    pub(crate) fn cut_short(&self) -> Result<String, CliError> {
        // What somebody works at is not cut short.
        let is_it = |it: &Summary| it.is_cut_short() && !is_in_use(&self.dir(&it.id));
        self.latest(&is_it)?.ok_or_else(|| {
            CliError::new(Kind::Usage, "no request was cut short in this workspace")
                .hint("`deepseek -c` goes on with the last session")
        })
    }

    fn latest(&self, is_it: &dyn Fn(&Summary) -> bool) -> Result<Option<String>, CliError> {
        self.ask(|tables| Ok(tables.sessions()?.into_iter().find(is_it).map(|summary| summary.id)))
    }

    /// The session, if it is one of this workspace.
    pub(crate) fn here(&self, id: &str) -> Result<String, CliError> {
        let session = self.session(id)?;
        match self.homes.of(&session) {
            Some(workspace) if workspace != self.here => {
                let elsewhere = format!("session {session} is one of {workspace}");
                Err(CliError::new(Kind::Usage, elsewhere)
                    .hint(format!("deepseek --workspace {workspace}")))
            }
            Some(_) | None => Ok(session),
        }
    }

    /// The directory of a session.
    pub(crate) fn dir(&self, session: &str) -> PathBuf {
        self.homes.dir(session)
    }

    /// Asks about the sessions of this workspace.
    pub(crate) fn ask<T>(
        &self,
        question: impl Fn(&Tables) -> Result<T, ProjectionError>,
    ) -> Result<T, CliError> {
        self.warn_of_strangers();
        self.ask_in(&self.here, question)
    }

    /// Asks about the sessions of every workspace, one after the other.
    pub(crate) fn ask_all<T>(
        &self,
        question: impl Fn(&Tables) -> Result<Vec<T>, ProjectionError>,
    ) -> Result<Vec<T>, CliError> {
        self.warn_of_strangers();
        let mut all = Vec::new();
        for workspace in self.homes.workspaces() {
            all.extend(self.ask_in(workspace, &question)?);
        }
        Ok(all)
    }

    /// Everything about one session, wherever it is at home.
    pub(crate) fn story(&self, session: &str) -> Result<(Summary, Vec<StoryEvent>), CliError> {
        let Some(workspace) = self.homes.of(session) else {
            // Why it does not tell is what its reader has to know.
            let read = read(&self.dir(session));
            return Err(read.map_or_else(
                |error| CliError::caused(Kind::Internal, &error),
                |_| CliError::new(Kind::Usage, format!("session {session} has not begun")),
            ));
        };
        let story = self.ask_in(workspace, |tables| {
            let summary = tables.sessions()?.into_iter().find(|summary| summary.id == session);
            Ok((summary, tables.story(session)?))
        })?;
        let (Some(summary), entries) = story else {
            return Err(CliError::new(Kind::Internal, format!("session {session} is gone")));
        };
        Ok((summary, entries))
    }

    fn ask_in<T>(
        &self,
        workspace: &str,
        question: impl Fn(&Tables) -> Result<T, ProjectionError>,
    ) -> Result<T, CliError> {
        let own = self.around.workspace_state(Path::new(workspace))?;
        let projection = Projection {
            database: own.join("projections.sqlite"),
            workspace: workspace.to_owned(),
        };
        let answer = projection
            .ask(&self.homes, question)
            .map_err(|error| CliError::caused(Kind::Internal, &error))?;
        for trouble in &answer.troubles {
            warn_of(trouble);
        }
        Ok(answer.value)
    }

    fn warn_of_strangers(&self) {
        for trouble in &self.homes.troubles {
            warn_of(trouble);
        }
    }
}

fn warn_of(trouble: &dyn std::error::Error) {
    let error = CliError::caused(Kind::Internal, trouble);
    render::warn(&format!("warning: {}", render::harmless(error.message())));
}
