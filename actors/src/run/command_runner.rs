//! Running the commands of a run: whether one may run, for how long, how it is confined, and masking its output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::NetworkReach;
use policy::Verdict;
use sandbox::{Degree, Network, ScratchLayers, TreeWrites};
use shell::{CommandConfinement, CommandLine, CommandOutcome, OutputSink, RunOptions, run_heard};
use tools::regular::{self, MAX_NOTE_BYTES, read_text};
use tree::{FileHash, git_dirs, is_unseen};

use crate::run::Run;
use crate::run::workspace::{Copied, Denied, Purpose, Workspace};

/// Runs commands for a part of a run. Cheap to clone.
#[derive(Clone)]
pub struct CommandRunner {
    /// Owns the tree and decides whether a command may run.
    pub workspace: Arc<dyn Workspace>,
    /// The run they belong to.
    pub run: Run,
}

/// Why a command is not run.
pub(crate) enum NotRun {
    /// The text is not a command.
    NoCommand(String),
    /// Policy or the user denied it.
    Denied(Denied),
}

/// Where and under which conditions a command runs.
pub(crate) struct CommandPlace<'p> {
    pub(crate) root: &'p Path,
    /// The directory that `root` is a copy of, if any. A fully confined command sees the copy under its path.
    pub(crate) in_place_of: Option<&'p Path>,
    /// The network it can reach.
    pub(crate) reach: Network,
    /// What happens to its writes to the tree.
    pub(crate) writes: TreeWrites,
    /// The layers that it shares with other commands, if any.
    pub(crate) layers: Option<&'p Arc<ScratchLayers>>,
    /// Further paths that it may read.
    pub(crate) read: Vec<PathBuf>,
}

impl<'p> CommandPlace<'p> {
    /// Returns the tree of a crew as a place in which nothing of a command's writes is kept.
    pub(crate) fn discarding(workspace: &'p dyn Workspace, reach: Network) -> Self {
        Self {
            root: workspace.reader().root(),
            in_place_of: workspace.in_place_of(),
            reach,
            writes: TreeWrites::Discarded,
            layers: None,
            read: Vec::new(),
        }
    }

    /// Returns a copy of a crew's tree as a place, in which what commands write is kept.
    pub(crate) fn in_copy(
        workspace: &'p dyn Workspace,
        copy: &'p dyn Copied,
        reach: Network,
    ) -> Self {
        let original = workspace.reader().root();
        Self {
            root: copy.root(),
            in_place_of: workspace.in_place_of().or(Some(original)),
            writes: TreeWrites::Kept,
            read: copy.linked().to_vec(),
            ..Self::discarding(workspace, reach)
        }
    }
}

impl CommandRunner {
    /// Parses a command and checks that it may run.
    pub(crate) async fn permitted(
        &self,
        text: &str,
        purpose: Purpose,
    ) -> Result<CommandLine, NotRun> {
        let line =
            CommandLine::parse(text).map_err(|error| NotRun::NoCommand(error.to_string()))?;
        self.workspace.permit(&line, purpose).await.map_err(NotRun::Denied)?;
        Ok(line)
    }

    /// Returns the network that commands can reach without approval.
    pub(crate) fn reach(&self) -> Network {
        match self.run.config().sandbox.network {
            NetworkReach::Own => Network::Own,
            NetworkReach::Host => Network::Host,
        }
    }

    /// Returns the path of the file that remembers how long a command takes.
    fn time_of(&self, line: &CommandLine) -> PathBuf {
        self.run.cache.join(format!("time-{}", FileHash::of(line.text().as_bytes())))
    }

    /// Returns the time limit of a command's first attempt.
    pub(crate) fn first_limit(&self, line: &CommandLine) -> Duration {
        let bounds = &self.run.config().agent_loop;
        let remembered = read_text(&self.time_of(line), MAX_NOTE_BYTES).ok();
        let measured = remembered.and_then(|text| text.trim().parse().ok());
        let largest = Duration::from_secs(bounds.verify_timeout_max_seconds);
        Duration::from_secs(measured.unwrap_or(bounds.verify_timeout_seconds)).min(largest)
    }

    /// Returns the largest time limit of a command.
    pub(crate) fn largest_limit(&self) -> Duration {
        Duration::from_secs(self.run.config().agent_loop.verify_timeout_max_seconds)
    }

    /// Remembers the time that a command took which exceeded its first limit.
    pub(crate) fn remember_time(&self, line: &CommandLine, took: Duration) {
        // Half as much again, so that a slower day does not need a second attempt.
        let limit = took.as_secs() * 3 / 2 + 1;
        self.keep(&self.time_of(line), limit.to_string().as_bytes());
    }

    /// Runs a command in a directory, which it may see under another path.
    pub(crate) async fn execute_in(
        &self,
        place: CommandPlace<'_>,
        line: &CommandLine,
        timeout: Duration,
    ) -> CommandOutcome {
        self.execute_heard(place, line, timeout, &mut |_| {}).await
    }

    /// As [`Self::execute_in`], for whoever wants to hear what the command prints while it runs. What is heard is not
    /// masked.
    pub(crate) async fn execute_heard(
        &self,
        place: CommandPlace<'_>,
        line: &CommandLine,
        timeout: Duration,
        sink: OutputSink<'_>,
    ) -> CommandOutcome {
        let commands = &self.run.config().commands;
        let level = self.run.confinement().await.degree();
        let options = RunOptions {
            cwd: place.root.to_owned(),
            timeout,
            keep_bytes: commands.output_journal_bytes / 2,
            kill_grace: Duration::from_millis(commands.kill_grace_ms),
            env: self.run.env.clone(),
            in_place_of: place.in_place_of.map(Path::to_owned),
            appears_in_place: level == Degree::Full,
            notes: Some(running(&self.run.cache)),
            fence: Some(self.fence(&place)),
        };
        self.run.publisher.show_wait(format!("running `{}`", line.text()));
        let waits = self.run.waits("command");
        let mut outcome = waits.answer("end", run_heard(line, &options, sink)).await;
        // Masked before anything is parsed, stored or reported.
        outcome.output.mask(&self.run.redactor);
        outcome
    }

    /// Returns the directory that lists what is running.
    pub(crate) fn notes(&self) -> PathBuf {
        running(&self.run.cache)
    }

    /// Finds out what commands need, so that the first one need not wait for it.
    pub async fn prepare(&self) {
        self.fence(&CommandPlace::discarding(&*self.workspace, self.reach())).prepare().await;
    }

    /// Returns the confinement of a command.
    pub(crate) fn fence(&self, place: &CommandPlace<'_>) -> CommandConfinement {
        let (rules, tree) = (Arc::clone(&self.run.terms.rules), place.root.to_owned());
        CommandConfinement {
            sandbox: Arc::clone(&self.run.sandbox),
            tree: place.root.to_owned(),
            at: place.in_place_of.unwrap_or(place.root).to_owned(),
            writes: place.writes,
            read: place.read.clone(),
            write: Vec::new(),
            home: None,
            network: place.reach,
            is_secret: Arc::new(move |path: &str| !matches!(rules.may_read(path), Verdict::Allow)),
            is_unseen: Arc::new({
                let tree = tree.clone();
                move |dir: &Path| is_unseen(&tree, dir)
            }),
            git_dirs: Arc::new(move |own: &Path| git_dirs(&tree, own)),
            layers: place.layers.cloned(),
        }
    }

    /// Writes a cache file. If that fails, the next run only takes longer.
    pub(crate) fn keep(&self, path: &Path, content: &[u8]) {
        let written = regular::create_dir(&self.run.cache)
            .and_then(|()| regular::write_regular_file(path, content));
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "a verification result could not be stored");
        }
    }
}

/// Returns the directory that lists running commands, in the cache of a workspace.
pub fn running(cache: &Path) -> PathBuf {
    cache.join("running")
}
