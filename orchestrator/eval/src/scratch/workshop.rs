//! What work on cases needs, and the scratch trees in which it is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Config;
use shell::Environment;
use tools::blocking::on_a_thread;
use tools::clock::Clock;
use tree::{FileThen, UserRepository, put, remove_tree};

use crate::eval_error::EvalError;
use crate::results::record::EvalCase;
use crate::scratch::hidden::CaseFiles;
use crate::scratch::repository::{Scratch, ScratchSource};
use crate::scratch::trial::{Trial, run_tests};
use crate::setup::{EvalSetup, ScratchPrograms};

/// What work on cases needs.
#[derive(Debug, Clone)]
pub(crate) struct Workshop {
    pub(crate) source: ScratchSource,
    pub(crate) programs: ScratchPrograms,
    pub(crate) config: Arc<Config>,
    /// The variables of variants.
    pub(crate) vars: BTreeMap<String, String>,
    /// The commands that run hidden tests; empty to derive them.
    pub(crate) commands: Vec<String>,
    /// Directories of package managers, in which later versions may be.
    pub(crate) package_places: Vec<PathBuf>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Returns what work with these settings needs. Blocks.
pub(crate) fn workshop(setup: &EvalSetup) -> Result<Workshop, EvalError> {
    let config = &setup.config;
    let (top, below) = match &setup.workspace {
        None => (None, PathBuf::new()),
        Some(workspace) => {
            let user = UserRepository::around(workspace).ok_or(EvalError::NoRepository)?;
            let below = workspace.strip_prefix(&user.top).unwrap_or(Path::new("")).to_owned();
            (Some(user.top), below)
        }
    };
    let kinds = config.projects.values().filter_map(|kind| kind.programs.as_ref());
    let package_dirs = kinds.filter_map(|programs| Some(programs.split_once('/')?.0.to_owned()));
    let home = setup.vars.get("HOME").map(PathBuf::from);
    let expanded = |path: &str| match path.strip_prefix("~/") {
        Some(rest) => home.as_ref().map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)),
    };
    let places = config.sandbox.tools.values().flat_map(|tool| {
        let named = setup.vars.get(&tool.variable).map(PathBuf::from);
        let dir = named.or_else(|| expanded(&tool.home));
        tool.read.iter().chain(&tool.layered).filter_map(move |name| Some(dir.as_ref()?.join(name)))
    });
    Ok(Workshop {
        source: ScratchSource {
            top,
            below,
            package_dirs: package_dirs.collect(),
            max_bytes: config.eval.max_copied_bytes,
        },
        programs: setup.programs.clone(),
        config: Arc::clone(config),
        vars: setup.vars.clone(),
        commands: setup.commands.clone(),
        package_places: places.collect(),
        clock: Arc::clone(&setup.clock),
    })
}

impl Workshop {
    /// Returns true if programs see a scratch tree at the path of the user's.
    pub(crate) const fn is_seen_in_place(&self) -> bool {
        self.programs.can_show_elsewhere
    }

    /// Returns the path at which a variant finds its workspace.
    pub(crate) fn workspace_of(&self, scratch: &Scratch) -> PathBuf {
        if self.is_seen_in_place() { scratch.seen_workspace() } else { scratch.workspace() }
    }

    /// Returns the command for the tests of an exercise, if its language has one.
    pub(crate) fn exercise_command(&self, case: &EvalCase) -> Option<String> {
        self.config.eval.exercises.get(&case.group)?.run.clone()
    }

    /// Reads the files of a case, with all its tests switched on.
    pub(crate) async fn files_of(&self, case: &EvalCase) -> Result<CaseFiles, EvalError> {
        let (top, of) = (self.source.top.clone().unwrap_or_default(), case.clone());
        let mut files = on_a_thread(move || CaseFiles::of_case(&top, &of)).await?;
        if let Some(language) = self.config.eval.exercises.get(&case.group) {
            files.switch_on(&language.switched_off);
        }
        Ok(files)
    }

    /// Gives files of a scratch tree other states.
    pub(crate) async fn put(
        &self,
        scratch: &Scratch,
        files: Vec<FileThen>,
    ) -> Result<(), EvalError> {
        let top = scratch.top.clone();
        let error = |error| EvalError::File { path: scratch.top.clone(), error };
        on_a_thread(move || put(&top, &files)).await.map_err(error)
    }

    /// Puts hidden tests over a scratch tree.
    pub(crate) async fn put_tests(
        &self,
        scratch: &Scratch,
        files: CaseFiles,
    ) -> Result<(), EvalError> {
        let top = scratch.top.clone();
        on_a_thread(move || files.put_tests(&top)).await
    }

    /// Returns the environment of commands in a scratch tree.
    pub(crate) fn environment_in(&self, scratch: &Scratch) -> Environment {
        (self.programs.command_options)(&scratch.top, &scratch.seen).env
    }

    /// Runs commands in a scratch tree.
    pub(crate) async fn run_tests(&self, commands: &[String], scratch: &Scratch) -> Trial {
        let mut options = (self.programs.command_options)(&scratch.top, &scratch.seen);
        options.cwd = scratch.workspace();
        run_tests(commands, &options, &self.config).await
    }

    /// Removes a directory.
    pub(crate) async fn remove(&self, dir: &Path) {
        let dir = dir.to_owned();
        let removed = on_a_thread(move || remove_tree(&dir)).await;
        if let Err(error) = removed {
            tracing::warn!(%error, "a scratch repository cannot be removed");
        }
    }
}
