//! The settings of an evaluation, and what the program around it provides. Values only.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Config;
use model::price::Usd;
use shell::RunOptions;
use tools::clock::Clock;

/// Returns how commands run in a scratch tree that is at the first path and is seen at the second.
type CommandOptions = dyn Fn(&Path, &Path) -> RunOptions + Send + Sync;

/// What the program around an evaluation provides.
#[derive(Clone)]
pub struct ScratchPrograms {
    /// Returns how commands run in a scratch tree that is at the first path and is seen at the second.
    pub command_options: Arc<CommandOptions>,
    /// Whether programs can see a scratch tree at another path.
    pub can_show_elsewhere: bool,
}

impl fmt::Debug for ScratchPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScratchPrograms")
            .field("can_show_elsewhere", &self.can_show_elsewhere)
            .finish_non_exhaustive()
    }
}

/// The settings of an evaluation.
#[derive(Debug, Clone)]
pub struct EvalSetup {
    /// The workspace whose history is drawn from; `None` for exercises.
    pub workspace: Option<PathBuf>,
    /// What the program around it provides.
    pub programs: ScratchPrograms,
    /// The configuration.
    pub config: Arc<Config>,
    /// The environment of the user.
    pub vars: BTreeMap<String, String>,
    /// The commands that run hidden tests; empty to derive them.
    pub commands: Vec<String>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The version of the program.
    pub version: &'static str,
}

/// How much variants may do.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Attempts at a time.
    pub parallel: usize,
    /// What the whole evaluation may spend, with what it has spent already; `None` for no limit.
    pub budget: Option<Usd>,
}
