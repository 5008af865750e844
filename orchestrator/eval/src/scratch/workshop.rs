//! What work on cases needs, and the scratch trees in which it is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Config;
use tools::blocking::on_a_thread;
use tools::clock::Clock;
use tree::{FileState, UserRepository, remove_tree};

use crate::eval_error::EvalError;
use crate::results::record::EvalCase;
use crate::scratch::hidden::CaseFiles;
use crate::scratch::repository::{Scratch, ScratchSource};
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

    /// Returns the files of a case with all tests switched on.
    pub(crate) fn switched_on(&self, case: &EvalCase, mut files: CaseFiles) -> CaseFiles {
        let Some(language) = self.config.eval.exercises.get(&case.group) else { return files };
        for (_, state) in &mut files.tests {
            let Some(file) = state else { continue };
            let Ok(mut text) = String::from_utf8(file.bytes.to_vec()) else { continue };
            for [off, on] in &language.switched_off {
                text = text.replace(off.as_str(), on);
            }
            *file = FileState { bytes: text.into(), mode: file.mode };
        }
        files
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
