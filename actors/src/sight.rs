//! What the roles of a run see of its files. What they see is written down before anything is decided by it, so that the
//! run can be driven again when the files are others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tree::{Change, Entry, Op, ReadTree, RepoPath, TreeError};

use crate::checks;
use crate::closed::JournalClosed;
use crate::effect::{Effect, Position, Trace};
use crate::event::Event;
use crate::run::Run;
use crate::seen::{Found, SeenFile};

/// What was found at each path.
type Seen = BTreeMap<RepoPath, Found>;

/// The sight of a run; shared by its roles, cheap to clone.
#[derive(Clone)]
pub struct Sight {
    tree: ReadTree,
    run: Run,
    /// What the journal tells of each path: as it was seen last, or written.
    known: Arc<Mutex<Seen>>,
}

impl Sight {
    /// Sees the files of `tree`.
    pub fn new(tree: ReadTree, run: Run) -> Self {
        Self { tree, run, known: Arc::default() }
    }

    /// Begins to look. One at a time: roles take turns.
    pub async fn look(&self) -> Result<FileLook, JournalClosed> {
        let follows = self.run.publisher.follows();
        let seen = self.run.perform(&mut Reading).await?;
        Ok(FileLook { sight: self.clone(), follows, seen: Mutex::new(seen) })
    }

    /// What is at each of `paths`; nothing where it cannot be read. Written down, and off the runtime.
    pub async fn entries(
        &self,
        paths: Vec<RepoPath>,
        max_bytes: u64,
    ) -> Result<Vec<Option<Entry>>, JournalClosed> {
        let look = self.look().await?;
        let looked = tokio::task::spawn_blocking(move || {
            let entries = paths.iter().map(|path| look.entry(path, max_bytes).ok()).collect();
            (look, entries)
        });
        // It can only fail when the whole program is shutting down.
        let (look, entries): (FileLook, _) = looked.await.map_err(|_| JournalClosed)?;
        look.done().await?;
        Ok(entries)
    }

    /// The commands that check the kinds of project that are seen.
    pub async fn checks(&self) -> Result<Vec<String>, JournalClosed> {
        const MOST: u64 = 1 << 20;
        const MOST_NAMES: usize = 10_000;
        let look = self.look().await?;
        let derived = tokio::task::spawn_blocking(move || {
            let entry = |name: &str| {
                RepoPath::parse(name).ok().and_then(|path| look.entry(&path, MOST).ok())
            };
            let read = |name: &str| match entry(name) {
                Some(Entry::File(file)) => String::from_utf8(file.bytes.to_vec()).ok(),
                Some(_) | None => None,
            };
            let exists = |name: &str| !matches!(entry(name), Some(Entry::Missing) | None);
            let names = |dir: &str| look.names(RepoPath::parse(dir).ok().as_ref(), MOST_NAMES);
            let project = checks::Project { read: &read, exists: &exists, names: &names };
            let commands = checks::derive(&project);
            (look, commands)
        });
        // It can only fail when the whole program is shutting down.
        let (look, commands) = derived.await.map_err(|_| JournalClosed)?;
        look.done().await?;
        Ok(commands)
    }

    /// Knows changes that this run committed without looking.
    pub fn know(&self, changes: &[Change]) {
        let mut known = lock(&self.known);
        for change in changes {
            if let Op::Rename { from } = &change.op {
                known.insert(from.clone(), Found::Missing);
            }
            let found = change.after.clone().map_or(Found::Missing, |it| Found::File(it.into()));
            known.insert(change.path.clone(), found);
        }
    }
}

/// The effect of reading files, which begins with what is recorded of it. What was read is told by the look once it is done.
struct Reading;

impl Effect for Reading {
    type Outcome = Seen;
    type Stop = JournalClosed;
    // What is known from before is not recorded again.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Seen> {
        let Event::FilesRead { files } = event else { return Trace::Absent };
        let seen = files.iter().map(|file| (file.path.clone(), file.found.clone()));
        Trace::Foretold(seen.collect())
    }

    async fn act(&mut self, _: &Run) -> Result<Seen, JournalClosed> {
        Ok(Seen::new())
    }
}

/// A look at some files.
pub struct FileLook {
    sight: Sight,
    /// Whether the run is driven again, so that it sees what it saw then.
    follows: bool,
    /// What was seen and is not known; what was seen then, if the run is driven again.
    seen: Mutex<Seen>,
}

impl FileLook {
    /// What is at `path`. A file of more than `max_bytes` is not read. Blocks.
    pub fn entry(&self, path: &RepoPath, max_bytes: u64) -> Result<Entry, TreeError> {
        let known = lock(&self.sight.known).get(path).cloned();
        if self.follows {
            let seen = lock(&self.seen).get(path).cloned();
            return match seen.or(known) {
                Some(found) => found.look(path),
                None => self.sight.tree.entry(path, max_bytes),
            };
        }
        let entry = self.sight.tree.entry(path, max_bytes);
        let found = Found::of(&entry);
        if known.as_ref() != Some(&found) {
            lock(&self.seen).insert(path.clone(), found);
        }
        entry
    }

    /// The names in a directory, sorted, of which those count that are looked at next; of the root, if none is given. In a run
    /// that is driven again it has those that were looked at then. Blocks.
    pub fn names(&self, dir: Option<&RepoPath>, most: usize) -> Vec<String> {
        if !self.follows {
            return self.sight.tree.names(dir, most);
        }
        let (seen, known) = (lock(&self.seen), lock(&self.sight.known));
        let inside = |path: &RepoPath| path.parent().as_ref() == dir;
        let paths = seen.keys().chain(known.keys()).filter(|path| inside(path));
        let names: BTreeSet<String> = paths.map(|path| path.name().to_owned()).collect();
        names.into_iter().collect()
    }

    /// Writes down what was seen. Nothing is decided by it before.
    pub async fn done(self) -> Result<(), JournalClosed> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        if seen.is_empty() {
            return Ok(());
        }
        let file = |(path, found): (&RepoPath, &Found)| SeenFile {
            path: path.clone(),
            found: found.clone(),
        };
        let read = Event::FilesRead { files: seen.iter().map(file).collect() };
        lock(&self.sight.known).extend(seen);
        self.sight.run.publish(read).await
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
