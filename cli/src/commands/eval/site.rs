//! What the evaluation commands have in common: where evaluations are kept, and how commands run in scratch trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Settings;
use eval::results::compare::EvalReport;
use eval::{EvalError, EvalPlace, EvalSetup, Evaluation, ScratchPrograms, list_evaluations};
use front::error::{CliError, CliErrorKind};
use sandbox::{ConfinementLevel, Degree};
use shell::{CommandConfinement, RunOptions};
use tools::blocking::on_a_thread;
use tools::clock::{IdSource as _, RandomIds, SystemClock};
use tools::ids::short_id;

use crate::commands::sandbox::{fence, options_in};
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// Where and with which settings evaluations are made.
pub(super) struct EvalSite<'s> {
    pub(super) around: &'s Surroundings,
    pub(super) global: &'s Global,
    pub(super) state: PathBuf,
}

impl<'s> EvalSite<'s> {
    pub(super) fn new(around: &'s Surroundings, global: &'s Global) -> Result<Self, CliError> {
        Ok(Self { around, global, state: around.state_dir()? })
    }

    /// Returns the place of a new evaluation.
    pub(super) fn fresh(&self) -> EvalPlace {
        EvalPlace::new(&self.state, &RandomIds.fresh())
    }

    /// Returns the evaluation that a word calls. The latest one is that of this workspace, if it has any.
    pub(super) fn called(&self, word: &str) -> Result<EvalPlace, CliError> {
        let own = if word == "latest" { self.latest_here() } else { None };
        let found = own.map_or_else(|| EvalPlace::called(&self.state, word), |own| vec![own]);
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] if word == "latest" => {
                Err(CliError::new(CliErrorKind::Usage, "there are no evaluations yet")
                    .hint("`deepseek eval draw` draws cases from the history of this repository"))
            }
            [] => {
                Err(CliError::new(CliErrorKind::Usage, format!("there is no evaluation `{word}`"))
                    .hint("`deepseek eval list` lists them"))
            }
            several => {
                let many = format!("`{word}` matches {} evaluations", several.len());
                Err(CliError::new(CliErrorKind::Usage, many)
                    .hint("use more characters, or the end of the id"))
            }
        }
    }

    /// Returns the latest evaluation whose cases were drawn from this workspace.
    fn latest_here(&self) -> Option<EvalPlace> {
        let workspace = self.around.workspace(self.global).ok()?;
        let is_of_it = |place: &EvalPlace| {
            let report = place.report().ok().flatten();
            report.is_some_and(|report| Path::new(&report.from) == workspace)
        };
        list_evaluations(&self.state).into_iter().rev().find(is_of_it)
    }

    /// Reads the report of an evaluation.
    pub(super) fn report(place: &EvalPlace) -> Result<EvalReport, CliError> {
        let report = place.report().map_err(|error| {
            let error = format!("cannot read the evaluation {}: {error}", short_id(place.id()));
            CliError::new(CliErrorKind::NotDelivered, error)
        })?;
        report.ok_or_else(|| failed(&EvalError::NotDrawn))
    }

    /// Opens or creates an evaluation; `workspace` is `None` for exercises.
    pub(super) async fn open(
        &self,
        place: EvalPlace,
        workspace: Option<PathBuf>,
        commands: Vec<String>,
    ) -> Result<Arc<Evaluation>, CliError> {
        let root = match &workspace {
            Some(workspace) => workspace.clone(),
            None => place.dir().to_owned(),
        };
        let settings = self.around.settings(self.global, &root)?;
        let programs = self.programs(&settings, &root).await?;
        let setup = EvalSetup {
            workspace,
            programs,
            config: Arc::new(settings.config),
            vars: self.around.vars.clone(),
            commands,
            clock: Arc::new(SystemClock),
            version: env!("CARGO_PKG_VERSION"),
        };
        let opened = on_a_thread(move || Evaluation::open(place, setup)).await;
        opened.map(Arc::new).map_err(|error| failed(&error))
    }

    /// Returns how programs run in scratch trees.
    async fn programs(
        &self,
        settings: &Settings,
        root: &Path,
    ) -> Result<ScratchPrograms, CliError> {
        let fence = fence(self.around, settings, root)?;
        let sandbox = Arc::clone(&fence.sandbox);
        let level = on_a_thread(move || sandbox.level()).await;
        if let ConfinementLevel::None(why) = &level {
            let error = format!("cannot confine the tests of past commits here: {why}");
            return Err(CliError::new(CliErrorKind::Denied, error)
                .hint("`deepseek doctor` says what is missing; without a sandbox: --no-sandbox"));
        }
        let can_show_elsewhere = level.degree() == Degree::Full;
        let options = options_in(fence, self.around, (settings, root));
        Ok(ScratchPrograms {
            command_options: Arc::new(move |top: &Path, seen: &Path| {
                in_scratch(&options, top, seen, can_show_elsewhere)
            }),
            can_show_elsewhere,
        })
    }
}

/// Returns options for commands in a scratch tree.
fn in_scratch(
    options: &RunOptions,
    top: &Path,
    seen: &Path,
    can_show_elsewhere: bool,
) -> RunOptions {
    let root = top.to_owned();
    let unseen = top.to_owned();
    let fence = options.fence.clone().map(|fence| CommandConfinement {
        tree: top.to_owned(),
        at: seen.to_owned(),
        is_unseen: Arc::new(move |dir: &Path| tree::is_unseen(&unseen, dir)),
        git_dirs: Arc::new(move |own: &Path| tree::git_dirs(&root, own)),
        ..fence
    });
    RunOptions {
        cwd: top.to_owned(),
        in_place_of: Some(seen.to_owned()),
        appears_in_place: can_show_elsewhere,
        fence,
        ..options.clone()
    }
}

/// Converts an error of an evaluation.
pub(super) fn failed(error: &EvalError) -> CliError {
    let (kind, hint) = match error {
        EvalError::NoRepository => (
            CliErrorKind::Usage,
            Some(
                "change to a project with a history, or judge exercises: `deepseek eval exercises DIR`",
            ),
        ),
        EvalError::InUse => {
            (CliErrorKind::NotDelivered, Some("wait until it has ended, or end it"))
        }
        EvalError::NotDrawn | EvalError::HalfDrawn => {
            (CliErrorKind::Usage, Some("`deepseek eval draw` draws cases from the history"))
        }
        EvalError::Exercise { .. } => (
            CliErrorKind::Usage,
            Some(
                "name the directory that has the languages, such as a clone of a repository with exercises",
            ),
        ),
        EvalError::Paused { .. } => {
            (CliErrorKind::NotDelivered, Some("`deepseek eval run` continues where it stopped"))
        }
        EvalError::Git { .. }
        | EvalError::NoCommit { .. }
        | EvalError::File { .. }
        | EvalError::NotStarted { .. } => (CliErrorKind::NotDelivered, None),
    };
    let error = CliError::caused(kind, error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_names_the_command_that_goes_on() {
        let error = failed(&EvalError::Paused { why: "no network".to_owned() }).to_string();
        assert!(error.contains("paused: no network"), "{error}");
        assert!(error.contains("`deepseek eval run` continues where it stopped"), "{error}");
        let error = failed(&EvalError::NotDrawn).to_string();
        assert!(error.contains("`deepseek eval draw` draws cases from the history"), "{error}");
    }
}
