//! The tree in which the commands of one verification run, one after the other: each sees what earlier ones wrote, and
//! all of it is thrown away at the end, except for what the checks of a delivered change leave in caches of builds.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Degree, MAX_TOLD, Network, ScratchLayers, TreeWrites};
use shell::{CommandLine, CommandOutcome, Exit, OutputSink};
use tokio::time::Instant;
use tools::blocking::on_a_thread;
use tree::{
    FileThen, ListedFile, ReadTree, RepoPath, TreeError, differing, list_files, put, tracked_among,
};

use crate::run::command_runner::{CommandPlace, CommandRunner};
use crate::run::workspace::{Copied, NoCopy};

/// Which state of a tree commands see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeState {
    /// As it is, with the change in it. `touched` are the files of the change.
    Delivered { touched: Vec<RepoPath> },
    /// As it is, before any change.
    Untouched,
    /// As it was, with these files in another state.
    With(Vec<FileThen>),
}

/// A tree for the commands of one verification. It is made when the first of them runs.
pub(crate) struct ScratchTree {
    commands: CommandRunner,
    state: TreeState,
    /// Whether no other command is to see what one writes.
    is_for_one: bool,
    made: Option<Made>,
    /// The commands so far, in order.
    ran: Vec<CommandLine>,
    /// The files of the tree itself when the first command started.
    files: Vec<ListedFile>,
    /// What the last command changed, if it had layers of its own.
    discarded: Vec<PathBuf>,
    /// Files of the project that differ from the tree, each with the command that wrote it first.
    written: BTreeMap<RepoPath, String>,
}

/// How the tree was made.
enum Made {
    /// Layers over the tree, at full confinement.
    Layers(Arc<ScratchLayers>),
    /// Layers of its own for each command, at full confinement. They are there while it runs.
    Apart,
    /// A copy, where there are no layers.
    Copy(Box<dyn Copied>),
    /// The tree itself: it is a copy already, or commands are not confined.
    InPlace,
}

impl ScratchTree {
    pub(crate) fn new(commands: &CommandRunner, state: TreeState) -> Self {
        Self {
            commands: commands.clone(),
            state,
            is_for_one: false,
            made: None,
            ran: Vec::new(),
            files: Vec::new(),
            discarded: Vec::new(),
            written: BTreeMap::new(),
        }
    }

    /// As [`Self::new`], for this many different commands. Layers that commands share are not mounted for one alone.
    pub(crate) fn for_commands(commands: &CommandRunner, state: TreeState, count: usize) -> Self {
        Self { is_for_one: count == 1, ..Self::new(commands, state) }
    }

    /// From now on, other commands see what one writes, as do those who look at the tree.
    pub(crate) async fn share(&mut self) {
        self.is_for_one = false;
        if matches!(self.made, Some(Made::Apart)) {
            self.made = None;
            // Where that fails, the next command fails for the same reason.
            self.make(self.reach()).await.ok();
        }
    }

    /// Notes that a command ran in an earlier process. It runs again if a later one does.
    pub(crate) fn ran_before(&mut self, line: &CommandLine) {
        self.ran.push(line.clone());
    }

    /// Discards the tree, and makes it again for the next command.
    pub(crate) async fn discard(&mut self) {
        match self.made.take() {
            Some(Made::Copy(copy)) => copy.remove().await,
            Some(Made::Layers(layers)) => on_a_thread(move || drop(layers)).await,
            Some(Made::Apart | Made::InPlace) | None => {}
        }
        self.written.clear();
    }

    /// Runs a command with its first limit. If that is exceeded, runs it again with the larger limit and remembers the
    /// time.
    pub(crate) async fn run_to_limit(
        &mut self,
        line: &CommandLine,
        reach: Network,
    ) -> CommandOutcome {
        let (first, largest) = (self.commands.first_limit(line), self.commands.largest_limit());
        let outcome = self.run(line, first, reach, &mut |_| {}).await;
        if outcome.exit != Exit::TimedOut || first >= largest {
            return outcome;
        }
        self.commands.run.publisher.show_wait(format!(
            "`{}` took more than {} s; running it again with {} s",
            line.text(),
            first.as_secs(),
            largest.as_secs()
        ));
        let outcome = self.run(line, largest, reach, &mut |_| {}).await;
        if outcome.exit != Exit::TimedOut {
            self.commands.remember_time(line, outcome.elapsed);
        }
        outcome
    }

    /// Runs a command. Returns with it, as discarded, the files of the project that it changed.
    pub(crate) async fn run(
        &mut self,
        line: &CommandLine,
        limit: Duration,
        reach: Network,
        sink: OutputSink<'_>,
    ) -> CommandOutcome {
        if let Err(outcome) = self.make(reach).await {
            return outcome;
        }
        let mut outcome = self.execute(line, limit, reach, sink).await;
        if self.ran.last() != Some(line) {
            self.ran.push(line.clone());
        }
        self.discarded = std::mem::take(&mut outcome.discarded);
        if matches!(self.state, TreeState::Delivered { .. }) {
            if self.discarded.len() >= MAX_TOLD {
                // There may be more than was told.
                self.share().await;
            }
            outcome.discarded = self.note_written(line).await;
        }
        outcome
    }

    /// As [`Self::run`], but ends the command as timed out when `until` is over.
    pub(crate) async fn run_until(
        &mut self,
        line: &CommandLine,
        limit: Duration,
        reach: Network,
        sink: OutputSink<'_>,
        until: impl Future<Output = ()> + Send,
    ) -> CommandOutcome {
        if let Err(outcome) = self.make(reach).await {
            return outcome;
        }
        let began = Instant::now();
        tokio::select! {
            outcome = self.run(line, limit, reach, sink) => outcome,
            () = until => CommandOutcome::timed_out(began.elapsed()),
        }
    }

    /// Returns the network that commands can reach without approval.
    pub(crate) fn reach(&self) -> Network {
        self.commands.reach()
    }

    /// Makes the tree, and brings it to where the commands so far had left it.
    async fn make(&mut self, reach: Network) -> Result<(), CommandOutcome> {
        if self.made.is_some() {
            return Ok(());
        }
        let tree = self.commands.workspace.reader().clone();
        if !tree.is_in_place() {
            return Err(CommandOutcome::not_started(tree.gone()));
        }
        let max_files = self.commands.run.config().limits.max_workspace_files;
        let root = tree.root().to_owned();
        self.files = on_a_thread(move || list_files(&root, max_files).files).await;
        let made = match self.commands.run.confinement().await.degree() {
            Degree::Full if self.is_for_one => Made::Apart,
            Degree::Full => self.layers(reach).await?,
            Degree::Floor => self.copy().await?,
            Degree::None if matches!(self.state, TreeState::With(_)) => self.copy().await?,
            Degree::None => Made::InPlace,
        };
        let is_shared = !matches!(made, Made::Apart);
        self.made = Some(made);
        for line in self.ran.clone().into_iter().filter(|_| is_shared) {
            let limit = self.commands.largest_limit();
            self.execute(&line, limit, reach, &mut |_| {}).await;
            self.note_written(&line).await;
        }
        Ok(())
    }

    async fn layers(&self, reach: Network) -> Result<Made, CommandOutcome> {
        let fence =
            self.commands.fence(&CommandPlace::discarding(&*self.commands.workspace, reach));
        let layers = match fence.scratch_layers().await {
            Ok(Some(layers)) => layers,
            Ok(None) => return Ok(Made::InPlace),
            Err(failure) => return Err(CommandOutcome::without_walls(failure)),
        };
        let TreeState::With(files) = self.state.clone() else {
            return Ok(Made::Layers(Arc::new(layers)));
        };
        let put = on_a_thread(move || put(&layers.tree(), &files).map(|()| layers)).await;
        put.map(|layers| Made::Layers(Arc::new(layers))).map_err(|error| {
            CommandOutcome::not_started(format!("the earlier tree could not be made: {error}"))
        })
    }

    async fn copy(&self) -> Result<Made, CommandOutcome> {
        let files = if let TreeState::With(files) = &self.state { &files[..] } else { &[] };
        match self.commands.workspace.copied(files).await {
            Ok(copy) => Ok(Made::Copy(copy)),
            Err(NoCopy::NotHere) if files.is_empty() => Ok(Made::InPlace),
            Err(why) => Err(CommandOutcome::not_started(why.to_string())),
        }
    }

    async fn execute(
        &self,
        line: &CommandLine,
        limit: Duration,
        reach: Network,
        sink: OutputSink<'_>,
    ) -> CommandOutcome {
        let workspace = &*self.commands.workspace;
        let place = CommandPlace::discarding(workspace, reach);
        let place = match &self.made {
            Some(made @ (Made::Layers(_) | Made::Apart)) => {
                let writes = match self.state {
                    TreeState::Delivered { .. } => TreeWrites::CachesKept,
                    TreeState::Untouched | TreeState::With(_) => TreeWrites::Discarded,
                };
                let layers = if let Made::Layers(layers) = made { Some(layers) } else { None };
                CommandPlace { writes, layers, ..place }
            }
            Some(Made::Copy(copy)) => CommandPlace::in_copy(workspace, &**copy, reach),
            Some(Made::InPlace) | None => CommandPlace { writes: TreeWrites::Kept, ..place },
        };
        self.commands.execute_heard(place, line, limit, sink).await
    }

    /// Finds the files of the project that differ from the tree since this command.
    async fn note_written(&mut self, line: &CommandLine) -> Vec<PathBuf> {
        let differing = self.differing().await;
        self.written.retain(|path, _| differing.contains(path));
        let mut new = Vec::new();
        for path in differing {
            if let Entry::Vacant(entry) = self.written.entry(path) {
                new.push(PathBuf::from(entry.key().as_str()));
                entry.insert(line.text().to_owned());
            }
        }
        new
    }

    /// Returns the files of the project, and of the change, that differ from the tree.
    async fn differing(&self) -> Vec<RepoPath> {
        let root = self.commands.workspace.reader().root().to_owned();
        let touched = match &self.state {
            TreeState::Delivered { touched } => touched.clone(),
            TreeState::Untouched | TreeState::With(_) => Vec::new(),
        };
        let of_project = move |root: &Path, paths: Vec<PathBuf>| {
            let parsed = |path: &PathBuf| RepoPath::parse(path.to_str()?).ok();
            let of_change = paths.iter().filter_map(parsed).filter(|path| touched.contains(path));
            let mut found: Vec<RepoPath> = of_change.collect();
            found.extend(tracked_among(root, paths).iter().filter_map(parsed));
            found.sort();
            found.dedup();
            found
        };
        match &self.made {
            Some(Made::Layers(layers)) => {
                let layers = Arc::clone(layers);
                let found = move || {
                    let changed = layers.changed(&|_| false).unwrap_or_else(|error| {
                        tracing::warn!(%error, "could not list what a check changed");
                        Vec::new()
                    });
                    of_project(&root, changed)
                };
                on_a_thread(found).await
            }
            Some(Made::Copy(copy)) => {
                let max_files = self.commands.run.config().limits.max_workspace_files;
                let copy = copy.root().to_owned();
                let found = move || of_project(&root, differing(&root, &copy, max_files));
                on_a_thread(found).await
            }
            Some(Made::Apart) => {
                let discarded = self.discarded.clone();
                on_a_thread(move || of_project(&root, discarded)).await
            }
            Some(Made::InPlace) | None => Vec::new(),
        }
    }

    /// Returns the files of the project that differ from the tree now, each with the command that wrote it.
    pub(crate) const fn written(&self) -> &BTreeMap<RepoPath, String> {
        &self.written
    }

    /// Opens the tree with what commands wrote, to read what they left; `None` if that is the tree itself, if it is not shared,
    /// or if no command ran.
    pub(crate) fn open(&self) -> Option<Result<ReadTree, TreeError>> {
        match &self.made {
            Some(Made::Layers(layers)) => Some(ReadTree::open(&layers.tree())),
            Some(Made::Copy(copy)) => Some(ReadTree::open(copy.root())),
            Some(Made::Apart | Made::InPlace) | None => None,
        }
    }

    /// Gives the files of the project, except for some, the state that they have in the tree.
    pub(crate) async fn restore(&mut self, except: &[RepoPath]) -> std::io::Result<()> {
        let tree = self.commands.workspace.reader().clone();
        let paths: Vec<RepoPath> =
            self.written.keys().filter(|path| !except.contains(path)).cloned().collect();
        self.written.retain(|path, _| except.contains(path));
        let states = move || states_in(&tree, paths);
        let states = on_a_thread(states).await.map_err(std::io::Error::other)?;
        match &self.made {
            Some(Made::Layers(layers)) => {
                let layers = Arc::clone(layers);
                on_a_thread(move || put(&layers.tree(), &states)).await
            }
            Some(Made::Copy(copy)) => {
                let root = copy.root().to_owned();
                on_a_thread(move || put(&root, &states)).await
            }
            Some(Made::Apart | Made::InPlace) | None => Ok(()),
        }
    }

    /// Returns the files of the tree itself that changed since the first command started. Nothing in the program changes
    /// them meanwhile.
    pub(crate) async fn moved(&self) -> Vec<String> {
        if !matches!(self.made, Some(Made::Layers(_) | Made::Apart | Made::Copy(_))) {
            return Vec::new();
        }
        let root = self.commands.workspace.reader().root().to_owned();
        let max_files = self.commands.run.config().limits.max_workspace_files;
        let now = on_a_thread(move || list_files(&root, max_files).files).await;
        let by_path = |files: &[ListedFile]| -> BTreeMap<RepoPath, (u64, i64)> {
            files.iter().map(|file| (file.path.clone(), (file.bytes, file.modified))).collect()
        };
        let (before, now) = (by_path(&self.files), by_path(&now));
        let all = before.keys().chain(now.keys().filter(|path| !before.contains_key(*path)));
        all.filter(|path| before.get(*path) != now.get(*path)).map(RepoPath::to_string).collect()
    }
}

/// Returns the states of files in a tree. Blocks.
fn states_in(tree: &ReadTree, paths: Vec<RepoPath>) -> Result<Vec<FileThen>, TreeError> {
    let state = |path: RepoPath| {
        let entry = tree.entry_or_link(&path, u64::MAX)?;
        let state = if let tree::Entry::File(state) = entry { Some(state) } else { None };
        Ok((path, state))
    };
    paths.into_iter().map(state).collect()
}
