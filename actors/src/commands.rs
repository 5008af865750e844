//! Running the commands of a run: whether one may run, where, for how long, how it is confined, and masking its output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::NetworkReach;
use policy::Verdict;
use sandbox::{Network, Writes};
use shell::{CommandLine, CommandOutcome, Exit, Fence, RunOptions, run};
use tools::regular::{self, MAX_NOTE_BYTES, read_text};
use tree::{FileHash, tracks_below};

use crate::run::Run;
use crate::workspace::{Denied, Purpose, Workspace};

/// Runs commands for a part of a run. Cheap to clone.
#[derive(Clone)]
pub struct Runner {
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
pub(crate) struct Place<'p> {
    pub(crate) root: &'p Path,
    /// The directory whose path the command sees instead of `root`, if any.
    pub(crate) in_place_of: Option<&'p Path>,
    /// The network it can reach.
    pub(crate) reach: Network,
    /// Whether its writes to the tree are kept.
    pub(crate) writes: Writes,
}

impl Runner {
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

    /// Runs a command with the first limit. If that is exceeded, runs it again with the larger limit and remembers the
    /// time.
    pub(crate) async fn run_to_limit(&self, line: &CommandLine, reach: Network) -> CommandOutcome {
        let bounds = &self.run.config().agent_loop;
        let remembered = self.time_of(line);
        let largest = Duration::from_secs(bounds.verify_timeout_max_seconds);
        let first = self.first_limit(line);
        let outcome = self.execute(line, first, reach).await;
        if outcome.exit != Exit::TimedOut || first >= largest {
            return outcome;
        }
        let seconds = first.as_secs();
        let why = format!(
            "`{}` took more than {seconds} s; running it again with {} s",
            line.text(),
            largest.as_secs()
        );
        self.run.publisher.show_wait(why);
        let outcome = self.execute(line, largest, reach).await;
        if outcome.exit != Exit::TimedOut {
            // Half as much again, so that a slower day does not need a second attempt.
            let limit = outcome.elapsed.as_secs() * 3 / 2 + 1;
            self.keep(&remembered, limit.to_string().as_bytes());
        }
        outcome
    }

    /// Runs a command in the tree.
    async fn execute(
        &self,
        line: &CommandLine,
        timeout: Duration,
        reach: Network,
    ) -> CommandOutcome {
        let tree = self.workspace.reader();
        if !tree.is_in_place() {
            return CommandOutcome::not_started(tree.gone());
        }
        let in_place_of = self.workspace.in_place_of();
        let writes = if in_place_of.is_some() { Writes::Kept } else { Writes::Discarded };
        let place = Place { root: tree.root(), in_place_of, reach, writes };
        self.execute_in(place, line, timeout).await
    }

    /// Runs a command in a directory, which it may see under another path.
    pub(crate) async fn execute_in(
        &self,
        Place { root, in_place_of, reach, writes }: Place<'_>,
        line: &CommandLine,
        timeout: Duration,
    ) -> CommandOutcome {
        let commands = &self.run.config().commands;
        let options = RunOptions {
            cwd: root.to_owned(),
            timeout,
            keep_bytes: commands.output_journal_bytes / 2,
            kill_grace: Duration::from_millis(commands.kill_grace_ms),
            env: self.run.env.clone(),
            in_place_of: in_place_of.map(Path::to_owned),
            notes: Some(running(&self.run.cache)),
            fence: Some(self.fence(root, writes, reach)),
        };
        self.run.publisher.show_wait(format!("running `{}`", line.text()));
        let mut outcome = run(line, &options).await;
        // Masked before anything is parsed, stored or reported.
        outcome.output.mask(&self.run.redactor);
        outcome
    }

    /// Returns the confinement of a command in the tree at `root`, which may be a copy.
    fn fence(&self, root: &Path, writes: Writes, network: Network) -> Fence {
        let (rules, tree) = (Arc::clone(&self.run.terms.rules), root.to_owned());
        Fence {
            sandbox: Arc::clone(&self.run.sandbox),
            tree: root.to_owned(),
            writes,
            read: Vec::new(),
            network,
            is_secret: Arc::new(move |path: &str| !matches!(rules.may_read(path), Verdict::Allow)),
            has_tracked: Arc::new(move |dir: &Path| tracks_below(&tree, dir)),
        }
    }

    /// Writes a cache file. If that fails, the next run only takes longer.
    pub(crate) fn keep(&self, path: &Path, content: &[u8]) {
        let written =
            regular::create_dir(&self.run.cache).and_then(|()| regular::write(path, content));
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "a verification result could not be stored");
        }
    }
}

/// Returns the directory that lists running commands, in the cache of a workspace.
pub fn running(cache: &Path) -> PathBuf {
    cache.join("running")
}
