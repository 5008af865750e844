//! The index of a workspace, as used by a run. Updates happen on a background thread, and a run waits for them only for
//! a limited time.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tree::{ListedFile, ReadTree, RepoPath, list_for_models};

use crate::ranked::git;
use crate::ranked::mentions::Mentions;
use crate::ranked::ranking::{self, MAX_PARSED_BYTES, Ranking};
use crate::stored::settled;
use crate::stored::store::{IndexReading, StoreError};
use crate::stored::update::{self, Updated};

/// Decides whether a file may be read.
pub type MayRead = Arc<dyn Fn(&RepoPath) -> bool + Send + Sync>;

/// The location and limits of an index.
#[derive(Clone)]
pub struct IndexOptions {
    /// A directory for the index alone. Files next to it with the same stem also belong to the index.
    pub dir: PathBuf,
    /// Maximum number of files from the tree.
    pub max_files: usize,
    /// Larger files are not searched, in bytes.
    pub max_file_bytes: u64,
    /// How long a request waits for an index that is still being built.
    pub wait: Duration,
    /// Returns whether a file may be read; the others are ignored.
    pub may_read: MayRead,
}

/// The index of a workspace. Cheap to clone; reads nothing until its first use.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    tree: ReadTree,
    options: IndexOptions,
    work: Mutex<Work>,
    /// Notified when a part of an update is complete.
    done: Condvar,
    reading: Mutex<Option<Arc<IndexReading>>>,
    history: Mutex<Option<Arc<Mentions>>>,
    /// Held while the index is written.
    writing: Mutex<()>,
}

/// The state of the background thread.
#[derive(Default)]
struct Work {
    is_running: bool,
    /// True if no more work is to be begun.
    is_closing: bool,
    /// Number of updates requested so far, and the last request whose history, and whose files, are complete.
    asked: u64,
    history: u64,
    files: u64,
}

/// One of the two parts of an update.
#[derive(Clone, Copy)]
enum Part {
    History,
    Files,
}

/// How well an index matches its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Every file is up to date.
    Fresh,
    /// This many files differ.
    Stale(usize),
    /// There is no index.
    Missing,
    /// The index is unusable, and the next update rebuilds it. Contains the reason.
    Corrupt(String),
}

/// The status of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// How well it matches the tree.
    pub condition: Condition,
    /// Number of files in it.
    pub files: usize,
    /// One hash over the paths and contents of its files.
    pub root: Option<String>,
    /// The commit that was checked out when it was updated.
    pub baseline: Option<String>,
    /// Number of earlier commits that are remembered.
    pub commits: usize,
}

impl Index {
    /// Creates the index of `tree`.
    pub fn new(tree: ReadTree, options: IndexOptions) -> Index {
        let shared = Shared {
            tree,
            options,
            work: Mutex::default(),
            done: Condvar::new(),
            reading: Mutex::default(),
            history: Mutex::default(),
            writing: Mutex::default(),
        };
        Index { shared: Arc::new(shared) }
    }

    /// Returns the tree that is indexed.
    pub fn tree(&self) -> &ReadTree {
        &self.shared.tree
    }

    /// Returns whether a file may be read.
    pub fn may_read(&self, path: &RepoPath) -> bool {
        (self.shared.options.may_read)(path)
    }

    /// Returns the size above which files are not searched, in bytes.
    pub fn max_file_bytes(&self) -> u64 {
        self.shared.options.max_file_bytes
    }

    /// Lists the files that may be read, sorted by path, and returns whether the list is truncated.
    pub fn files(&self) -> (Vec<ListedFile>, bool) {
        self.shared.files()
    }

    /// Ranks `files`, as returned by [`Index::files`], for a request.
    ///
    /// Reads files that are missing or outdated in the index. If they are large, waits for an update in progress.
    pub fn rank(&self, request: &str, files: &[ListedFile]) -> Ranking {
        let shared = &self.shared;
        let max_bytes = shared.options.max_file_bytes;
        let mut reading = shared.reading();
        let mut history = shared.history();
        let manifest = reading.as_ref().map(|reading| &reading.manifest);
        let (changed, bytes) = ranking::changed_files(manifest, files, max_bytes);
        let mut stale = changed.len();
        if !changed.is_empty() || history.is_none() {
            let asked = Shared::ask(shared);
            if history.is_none() {
                shared.wait(asked, Part::History);
                history = shared.history();
            }
            if bytes > MAX_PARSED_BYTES {
                shared.wait(asked, Part::Files);
                reading = shared.reading();
                let manifest = reading.as_ref().map(|reading| &reading.manifest);
                stale = ranking::changed_files(manifest, files, max_bytes).0.len();
            }
        }
        let rank = |reading| {
            ranking::rank_for_request(
                request,
                &shared.tree,
                files,
                max_bytes,
                reading,
                history.as_deref(),
            )
        };
        rank(reading)
            .or_else(|error| {
                tracing::warn!(%error, "ranking without the index");
                rank(None)
            })
            .map(|ranking| ranking.of_stale(stale))
            .unwrap_or_default()
    }

    /// Ends an update in progress, which keeps what it has done. Waits for that, at most as long as a request may. Blocks.
    pub fn close(&self) {
        let shared = &self.shared;
        let mut work = lock(&shared.work);
        work.is_closing = true;
        let is_running = |work: &mut Work| work.is_running;
        drop(shared.done.wait_timeout_while(work, shared.options.wait, is_running));
    }

    /// Updates the index on this thread. Calls `on_file` with the number of files done and their total.
    pub fn update(&self, on_file: impl FnMut(usize, usize)) -> Result<Updated, StoreError> {
        self.shared.update_history()?;
        self.shared.update_files(on_file, &|| true)
    }

    /// Syncs the index to disk. An index that was never synced is rebuilt after a power failure.
    pub fn settle(&self) -> Result<(), StoreError> {
        self.shared.settle()
    }

    /// Deletes the index from disk, so that the next update rebuilds it.
    pub fn remove(&self) -> Result<(), StoreError> {
        crate::stored::store::remove(&self.shared.options.dir)
    }

    /// Compares the index with the tree.
    pub fn status(&self) -> IndexStatus {
        let shared = &self.shared;
        let commits = update::read_mentions(&shared.history_path());
        let commits = commits.map_or(0, |history| history.len());
        let reading = match IndexReading::open(&shared.options.dir) {
            Ok(reading) => reading,
            Err(error) => {
                let condition = match error {
                    StoreError::Missing => Condition::Missing,
                    StoreError::Unusable(_)
                    | StoreError::Locked
                    | StoreError::Io(_)
                    | StoreError::Library(_) => Condition::Corrupt(error.to_string()),
                };
                return IndexStatus { condition, files: 0, root: None, baseline: None, commits };
            }
        };
        let manifest = &reading.manifest;
        let (files, _) = self.files();
        let (changed, _) = ranking::changed_files(Some(manifest), &files, u64::MAX);
        let is_there = |path: &RepoPath| files.binary_search_by(|file| file.path.cmp(path)).is_ok();
        let gone = manifest.entries.keys().filter(|path| !is_there(path)).count();
        IndexStatus {
            condition: match changed.len() + gone {
                0 => Condition::Fresh,
                stale => Condition::Stale(stale),
            },
            files: manifest.entries.len(),
            root: Some(manifest.root().to_string()),
            baseline: manifest.baseline.clone(),
            commits,
        }
    }
}

impl Shared {
    fn files(&self) -> (Vec<ListedFile>, bool) {
        let listing = list_for_models(self.tree.root(), self.options.max_files);
        let mut files = listing.files;
        files.retain(|file| (self.options.may_read)(&file.path));
        (files, listing.truncated)
    }

    fn history_path(&self) -> PathBuf {
        self.options.dir.with_extension("history")
    }

    /// Returns the index on disk, if there is one.
    fn reading(&self) -> Option<Arc<IndexReading>> {
        let mut known = lock(&self.reading);
        let current = known.as_ref().filter(|known| known.is_current(&self.options.dir));
        if current.is_none() {
            *known = match IndexReading::open(&self.options.dir) {
                Ok(reading) => Some(Arc::new(reading)),
                Err(error) => {
                    tracing::debug!(%error, "no index to read");
                    None
                }
            };
        }
        known.clone()
    }

    /// Returns the history of the commit that is checked out; an empty one without a repository, `None` if it must be
    /// read first.
    fn history(&self) -> Option<Arc<Mentions>> {
        let Some(tip) = git::head(self.tree.root()) else { return Some(Arc::default()) };
        let mut known = lock(&self.history);
        if known.as_ref().is_none_or(|known| known.tip != tip) {
            let read = update::read_mentions(&self.history_path());
            *known = read.filter(|history| history.tip == tip).map(Arc::new);
        }
        known.clone()
    }

    /// Requests an update, starting the background thread if necessary. Returns the number of the request.
    fn ask(shared: &Arc<Shared>) -> u64 {
        let mut work = lock(&shared.work);
        work.asked += 1;
        if !work.is_running {
            let on_thread = Arc::clone(shared);
            let thread = thread::Builder::new().name("index".to_owned());
            let started = thread.spawn(move || on_thread.work());
            work.is_running = started.is_ok();
        }
        work.asked
    }

    /// Runs updates until no more are requested.
    fn work(&self) {
        loop {
            let asked = lock(&self.work).asked;
            if let Err(error) = self.update_history() {
                tracing::warn!(%error, "cannot update the history of commits");
            }
            lock(&self.work).history = asked;
            self.done.notify_all();
            let goes_on = || !lock(&self.work).is_closing;
            if let Err(error) = self.update_files(|_, _| (), &goes_on) {
                tracing::warn!(%error, "cannot update the index");
            }
            let mut work = lock(&self.work);
            work.files = asked;
            work.is_running = work.asked > asked && !work.is_closing;
            self.done.notify_all();
            if !work.is_running {
                drop(work);
                if let Err(error) = self.settle() {
                    tracing::warn!(%error, "cannot sync the index to disk");
                }
                return;
            }
        }
    }

    fn update_history(&self) -> Result<(), StoreError> {
        let _alone = lock(&self.writing);
        let history = update::update_history(&self.history_path(), self.tree.root())?;
        *lock(&self.history) = Some(Arc::new(history));
        Ok(())
    }

    fn update_files(
        &self,
        mut on_file: impl FnMut(usize, usize),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Updated, StoreError> {
        let _alone = lock(&self.writing);
        let (files, _) = self.files();
        let Self { tree, options, .. } = self;
        let all = files.len();
        let mut on_file = |done| {
            on_file(done, all);
            goes_on()
        };
        update::update(&options.dir, tree, &files, options.max_file_bytes, &mut on_file)
    }

    /// Does not hold the lock, so that others can write during the sync.
    fn settle(&self) -> Result<(), StoreError> {
        Ok(settled::settle_store(&self.options.dir)?)
    }

    /// Waits for a part of an update, at most as long as a request may.
    fn wait(&self, asked: u64, part: Part) {
        let is_due = |work: &mut Work| {
            let done = match part {
                Part::History => work.history,
                Part::Files => work.files,
            };
            work.is_running && done < asked
        };
        let work = lock(&self.work);
        drop(self.done.wait_timeout_while(work, self.options.wait, is_due));
    }
}

/// Locks a mutex, ignoring poisoning: no operation here leaves its data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
