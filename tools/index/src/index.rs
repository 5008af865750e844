//! The index of a workspace as a run holds it: it asks for updates, which a thread makes, and never waits longer than it may.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tree::{Listed, ReadTree, RepoPath, list_for_models};

use crate::git;
use crate::mentions::Mentions;
use crate::ranking::{self, MAX_PARSED_BYTES, Ranking};
use crate::settled;
use crate::store::{Reading, StoreError};
use crate::update::{self, Updated};

/// Decides whether a file may be read.
pub type MayRead = Arc<dyn Fn(&RepoPath) -> bool + Send + Sync>;

/// Where an index is kept, and of what.
#[derive(Clone)]
pub struct IndexOptions {
    /// A directory of its own; what lies beside it with the same name is its own, too.
    pub dir: PathBuf,
    /// Most files of the tree.
    pub max_files: usize,
    /// Larger files are not searched.
    pub max_file_bytes: u64,
    /// How long a request waits for an index that is not there yet.
    pub wait: Duration,
    /// Other files are not looked at.
    pub may_read: MayRead,
}

/// The index of a workspace. Cheap to clone; nothing is read before something is asked.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    tree: ReadTree,
    options: IndexOptions,
    work: Mutex<Work>,
    /// Something of the work is done.
    done: Condvar,
    reading: Mutex<Option<Arc<Reading>>>,
    history: Mutex<Option<Arc<Mentions>>>,
    /// Held while something is written.
    writing: Mutex<()>,
}

/// What the thread has to do and has done.
#[derive(Default)]
struct Work {
    is_running: bool,
    /// How often an update was asked for, and the last of them whose history, and whose files, are done.
    asked: u64,
    history: u64,
    files: u64,
}

/// A part of an update.
#[derive(Clone, Copy)]
enum Part {
    History,
    Files,
}

/// How an index stands to its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It has every file as it is.
    Fresh,
    /// This many files are not as it has them.
    Stale(usize),
    /// There is none.
    Missing,
    /// It is of no use, and the next update builds it anew.
    Corrupt(String),
}

/// What is known of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How it stands to the tree.
    pub condition: Condition,
    /// Files it has.
    pub files: usize,
    /// One hash over the paths and contents of them.
    pub root: Option<String>,
    /// The commit that was checked out when it was updated.
    pub baseline: Option<String>,
    /// Earlier commits that are remembered.
    pub commits: usize,
}

impl Index {
    /// The index of `tree`.
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

    /// The tree it is of.
    pub fn tree(&self) -> &ReadTree {
        &self.shared.tree
    }

    /// Whether a file may be read.
    pub fn may_read(&self, path: &RepoPath) -> bool {
        (self.shared.options.may_read)(path)
    }

    /// The size above which files are not searched.
    pub fn max_file_bytes(&self) -> u64 {
        self.shared.options.max_file_bytes
    }

    /// The files that may be read, sorted by path, and whether there are more.
    pub fn files(&self) -> (Vec<Listed>, bool) {
        self.shared.files()
    }

    /// Ranks `files`, which are those of [`Index::files`], for a request.
    ///
    /// What the index does not have as it is now is read; where that is much, an index that is being made is waited for.
    pub fn rank(&self, request: &str, files: &[Listed]) -> Ranking {
        let shared = &self.shared;
        let max_bytes = shared.options.max_file_bytes;
        let mut reading = shared.reading();
        let mut history = shared.history();
        let manifest = reading.as_ref().map(|reading| &reading.manifest);
        let (changed, bytes) = ranking::changed(manifest, files, max_bytes);
        if !changed.is_empty() || history.is_none() {
            let asked = Shared::ask(shared);
            if history.is_none() {
                shared.wait(asked, Part::History);
                history = shared.history();
            }
            if bytes > MAX_PARSED_BYTES {
                shared.wait(asked, Part::Files);
                reading = shared.reading();
            }
        }
        let rank = |reading| {
            ranking::rank(request, &shared.tree, files, max_bytes, reading, history.as_deref())
        };
        rank(reading)
            .or_else(|error| {
                tracing::warn!(%error, "the index is not used");
                rank(None)
            })
            .unwrap_or_default()
    }

    /// Brings the index up to date on this thread. `on_file` is told how many files of how many are done.
    pub fn update(&self, on_file: impl FnMut(usize, usize)) -> Result<Updated, StoreError> {
        self.shared.update_history()?;
        self.shared.update_files(on_file)
    }

    /// Waits until all of the index is on the disk. One that never was is built anew after a power cut.
    pub fn settle(&self) -> Result<(), StoreError> {
        self.shared.settle()
    }

    /// Forgets what is on disk, so that the next update builds it anew.
    pub fn remove(&self) -> Result<(), StoreError> {
        crate::store::remove(&self.shared.options.dir)
    }

    /// How it stands to the tree.
    pub fn status(&self) -> Status {
        let shared = &self.shared;
        let commits = update::read_mentions(&shared.history_path());
        let commits = commits.map_or(0, |history| history.len());
        let reading = match Reading::open(&shared.options.dir) {
            Ok(reading) => reading,
            Err(error) => {
                let condition = match error {
                    StoreError::Missing => Condition::Missing,
                    StoreError::Unusable(_)
                    | StoreError::Locked
                    | StoreError::Io(_)
                    | StoreError::Library(_) => Condition::Corrupt(error.to_string()),
                };
                return Status { condition, files: 0, root: None, baseline: None, commits };
            }
        };
        let manifest = &reading.manifest;
        let (files, _) = self.files();
        let (changed, _) = ranking::changed(Some(manifest), &files, u64::MAX);
        let is_there = |path: &RepoPath| files.binary_search_by(|file| file.path.cmp(path)).is_ok();
        let gone = manifest.entries.keys().filter(|path| !is_there(path)).count();
        Status {
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
    fn files(&self) -> (Vec<Listed>, bool) {
        let listing = list_for_models(self.tree.root(), self.options.max_files);
        let mut files = listing.files;
        files.retain(|file| (self.options.may_read)(&file.path));
        (files, listing.truncated)
    }

    fn history_path(&self) -> PathBuf {
        self.options.dir.with_extension("history")
    }

    /// The index on disk, if there is one.
    fn reading(&self) -> Option<Arc<Reading>> {
        let mut known = lock(&self.reading);
        let current = known.as_ref().filter(|known| known.is_current(&self.options.dir));
        if current.is_none() {
            *known = match Reading::open(&self.options.dir) {
                Ok(reading) => Some(Arc::new(reading)),
                Err(error) => {
                    tracing::debug!(%error, "there is no index to read");
                    None
                }
            };
        }
        known.clone()
    }

    /// The history of the commit that is checked out; an empty one where there is no repository.
    fn history(&self) -> Option<Arc<Mentions>> {
        let Some(tip) = git::head(self.tree.root()) else { return Some(Arc::default()) };
        let mut known = lock(&self.history);
        if known.as_ref().is_none_or(|known| known.tip != tip) {
            let read = update::read_mentions(&self.history_path());
            *known = read.filter(|history| history.tip == tip).map(Arc::new);
        }
        known.clone()
    }

    /// Asks for an update; the thread that makes it is started if there is none.
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

    /// Updates until nothing more is asked for.
    fn work(&self) {
        loop {
            let asked = lock(&self.work).asked;
            if let Err(error) = self.update_history() {
                tracing::warn!(%error, "earlier commits cannot be remembered");
            }
            lock(&self.work).history = asked;
            self.done.notify_all();
            if let Err(error) = self.update_files(|_, _| ()) {
                tracing::warn!(%error, "the index cannot be updated");
            }
            let mut work = lock(&self.work);
            work.files = asked;
            work.is_running = work.asked > asked;
            self.done.notify_all();
            if !work.is_running {
                drop(work);
                if let Err(error) = self.settle() {
                    tracing::warn!(%error, "the index is not on the disk yet");
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

    fn update_files(&self, mut on_file: impl FnMut(usize, usize)) -> Result<Updated, StoreError> {
        let _alone = lock(&self.writing);
        let (files, _) = self.files();
        let Self { tree, options, .. } = self;
        let all = files.len();
        update::update(&options.dir, tree, &files, options.max_file_bytes, |done| {
            on_file(done, all);
        })
    }

    /// Others may write meanwhile.
    fn settle(&self) -> Result<(), StoreError> {
        Ok(settled::settle(&self.options.dir)?)
    }

    /// Waits for a part of an update, for as long as a request may.
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

/// Nothing that is locked here is left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
