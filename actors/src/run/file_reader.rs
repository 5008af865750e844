//! Journaled file reads. What the roles of a run read is recorded before any decision depends on it, so that the run
//! can be replayed when the files have changed.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use checks::derive::{Project, derive};
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::seen::{FoundAtPath, SeenFile};
use patch::operations::{self, FileOperation, Impossible, Surveyor};
use policy::Verdict;
use tools::encoding::decode;
use tree::{Change, Entry, IgnoredByGit, Op, ReadTree, RepoPath, TreeError, list_for_models_below};

use crate::run::Run;
use crate::run::always_allowed::Always;
use crate::run::effect::{Effect, Position, Trace};

/// What was found at each path.
type Seen = BTreeMap<RepoPath, FoundAtPath>;

/// Names of programs that are not installed.
type Missing = BTreeSet<String>;

/// Larger directories are not listed.
const MOST_NAMES: usize = 10_000;

/// Reads files for a run. Shared by its roles; cheap to clone.
#[derive(Clone)]
pub struct FileReader {
    tree: ReadTree,
    run: Run,
    /// The state of each path according to the journal: as last read, or as written by this run.
    known: Arc<Mutex<Seen>>,
}

impl FileReader {
    /// Creates a reader of `tree`.
    pub fn new(tree: ReadTree, run: Run) -> Self {
        Self { tree, run, known: Arc::default() }
    }

    /// Returns the commands that the user always allows here; none in a lane, which may have changed what they run.
    pub(crate) fn always(&self) -> Option<Always> {
        let is_whole = self.run.scope().lane().is_none();
        is_whole.then(|| Always::of(self.tree.root(), &self.run.cache))
    }

    /// Starts a read. Reads happen one at a time: roles take turns.
    pub async fn look(&self) -> Result<FileLook, JournalClosed> {
        let follows = self.run.publisher.follows();
        let (seen, missing) = self.run.perform(&mut Reading).await?;
        let (seen, missing) = (Mutex::new(seen), Mutex::new(missing));
        Ok(FileLook { file_reader: self.clone(), follows, seen, missing })
    }

    /// Reads each of `paths` in the tree as it is after `operations`, as far as these can be carried out. Reads off the
    /// runtime, and records the result.
    pub async fn entries_after(
        &self,
        operations: Vec<FileOperation>,
        paths: Vec<RepoPath>,
        max_bytes: u64,
    ) -> Result<Vec<Result<Entry, TreeError>>, JournalClosed> {
        let entries = move |look: &FileLook| {
            let changes = look.carried_out(&operations, max_bytes).unwrap_or_default();
            let entry = |path: &RepoPath| look.entry(path, max_bytes);
            let entry = operations::after(&changes, &entry);
            paths.iter().map(entry).collect()
        };
        self.looking(entries).await
    }

    /// Returns the changes that `operations` make, or which one is impossible.
    pub async fn carried_out(
        &self,
        operations: Vec<FileOperation>,
        max_bytes: u64,
    ) -> Result<Result<Vec<Change>, Impossible>, JournalClosed> {
        self.looking(move |look| look.carried_out(&operations, max_bytes)).await
    }

    /// Reads each of `paths`, and returns also the path of each: where nothing is, the only existing path that looks the same.
    pub async fn entries_alike(
        &self,
        paths: Vec<RepoPath>,
        max_bytes: u64,
    ) -> Result<Vec<(RepoPath, Result<Entry, TreeError>)>, JournalClosed> {
        let found = move |look: &FileLook| {
            let found = |path: RepoPath| match look.entry(&path, max_bytes) {
                Ok(Entry::Missing) if let [alike] = look.alike(&path).as_slice() => {
                    (alike.clone(), look.entry(alike, max_bytes))
                }
                entry => (path, entry),
            };
            paths.into_iter().map(found).collect()
        };
        self.looking(found).await
    }

    /// Reads off the runtime, and records what was read.
    async fn looking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&FileLook) -> T + Send + 'static,
    ) -> Result<T, JournalClosed> {
        let look = self.look().await?;
        let looked = tokio::task::spawn_blocking(move || {
            let found = read(&look);
            (look, found)
        });
        // Fails only if the whole program is shutting down.
        let (look, found) = looked.await.map_err(|_| JournalClosed)?;
        look.done().await?;
        Ok(found)
    }

    /// Returns the commands that check the project, derived from its files.
    pub async fn checks(&self) -> Result<Vec<String>, JournalClosed> {
        Ok(self.derived().await?.into_iter().map(|(command, _)| command).collect())
    }

    /// Returns those of [`Self::checks`] whose program is installed, as far as that is known.
    pub async fn startable_checks(&self) -> Result<Vec<String>, JournalClosed> {
        let derived = self.derived().await?.into_iter();
        Ok(derived.filter(|(_, can_start)| *can_start).map(|(command, _)| command).collect())
    }

    /// Returns the commands that check the project, and whether each can be started.
    async fn derived(&self) -> Result<Vec<(String, bool)>, JournalClosed> {
        const MOST: u64 = 1 << 20;
        let look = self.look().await?;
        let run = self.run.clone();
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
            let has_program = |name: &str| look.has_program(name);
            let project =
                Project { read: &read, exists: &exists, names: &names, has_program: &has_program };
            let with_start = |command: String| {
                let can_start = project.can_start(&command);
                (command, can_start)
            };
            let commands = derive(&project, &run.config().projects).into_iter();
            let commands = commands.map(with_start).collect();
            (look, commands)
        });
        // Fails only if the whole program is shutting down.
        let (look, commands) = derived.await.map_err(|_| JournalClosed)?;
        look.done().await?;
        Ok(commands)
    }

    /// Records changes that this run committed, so that they need not be read again.
    pub fn know(&self, changes: &[Change]) {
        let mut known = lock(&self.known);
        for change in changes {
            if let Op::Rename { from } = &change.op {
                known.insert(from.clone(), FoundAtPath::Missing);
            }
            let found = change
                .after
                .clone()
                .map_or(FoundAtPath::Missing, |it| FoundAtPath::File(it.into()));
            known.insert(change.path.clone(), found);
        }
    }
}

/// The effect of reading files. Its outcome is what was recorded; otherwise the read records its own result in
/// [`FileLook::done`].
struct Reading;

impl Effect for Reading {
    type Outcome = (Seen, Missing);
    type Stop = JournalClosed;
    // What is known already is not recorded again.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<(Seen, Missing)> {
        let Event::FilesRead { files, missing_programs } = event else { return Trace::Absent };
        let seen = files.iter().map(|file| (file.path.clone(), file.found.clone()));
        Trace::Foretold((seen.collect(), missing_programs.iter().cloned().collect()))
    }

    async fn act(&mut self, _: &Run) -> Result<(Seen, Missing), JournalClosed> {
        Ok((Seen::new(), Missing::new()))
    }
}

/// A read of several files.
pub struct FileLook {
    file_reader: FileReader,
    /// True if the run is replayed and must see what it saw originally.
    follows: bool,
    /// What was read and not known before; in a replay, what was read originally.
    seen: Mutex<Seen>,
    /// Programs that are not installed; in a replay, those that were not installed originally.
    missing: Mutex<Missing>,
}

impl FileLook {
    /// Returns whether a program is installed. Blocks.
    fn has_program(&self, name: &str) -> bool {
        if self.follows {
            return !lock(&self.missing).contains(name);
        }
        let is_there = self.file_reader.run.env.finds(name);
        if !is_there {
            lock(&self.missing).insert(name.to_owned());
        }
        is_there
    }

    /// Reads `path`. A file larger than `max_bytes` is not read. Blocks.
    pub fn entry(&self, path: &RepoPath, max_bytes: u64) -> Result<Entry, TreeError> {
        let known = lock(&self.file_reader.known).get(path).cloned();
        if self.follows {
            let seen = lock(&self.seen).get(path).cloned();
            return match seen.or(known) {
                Some(found) => found.look(path),
                None => self.file_reader.tree.entry(path, max_bytes),
            };
        }
        let entry = self.file_reader.tree.entry(path, max_bytes);
        let found = FoundAtPath::of(&entry);
        if known.as_ref() != Some(&found) {
            lock(&self.seen).insert(path.clone(), found);
        }
        entry
    }

    /// Returns the changes that `operations` make, or which one is impossible. Blocks.
    pub fn carried_out(
        &self,
        operations: &[FileOperation],
        max_bytes: u64,
    ) -> Result<Vec<Change>, Impossible> {
        if operations.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = LazyCell::new(|| IgnoredByGit::below(self.file_reader.tree.root()));
        let entry = |path: &RepoPath| self.held(path, max_bytes, &ignored);
        let below = |dir: &RepoPath| self.files_below(dir);
        operations::carried_out(operations, &Surveyor { entry: &entry, below: &below })
    }

    /// Like [`Self::entry`], but neither a file that policy hides is read, nor one that git ignores: no checkpoint holds it.
    fn held(
        &self,
        path: &RepoPath,
        max_bytes: u64,
        ignored: &LazyCell<IgnoredByGit, impl FnOnce() -> IgnoredByGit>,
    ) -> Result<Entry, TreeError> {
        let (tree, rules) = (&self.file_reader.tree, &self.file_reader.run.terms.rules);
        let why = if self.follows {
            return self.entry(path, max_bytes);
        } else if rules.may_read(path.as_str()) != Verdict::Allow {
            "the policy does not let it be read"
        } else if ignored.has(&tree.root().join(path.as_str())) {
            "git ignores it, so no checkpoint could restore it"
        } else {
            return self.entry(path, max_bytes);
        };
        // Of what is not read it only counts whether it is a file.
        let entry = match tree.entry(path, 0) {
            Ok(Entry::File(_) | Entry::TooLarge { .. }) => {
                Err(TreeError::Io { path: path.clone(), source: io::Error::other(why) })
            }
            entry => entry,
        };
        let found = FoundAtPath::of(&entry);
        if lock(&self.file_reader.known).get(path) != Some(&found) {
            lock(&self.seen).insert(path.clone(), found);
        }
        entry
    }

    /// Returns the files below a directory that models may see; in a replay, those that were read originally.
    fn files_below(&self, dir: &RepoPath) -> Vec<RepoPath> {
        if !self.follows {
            let root = self.file_reader.tree.root();
            let listed = list_for_models_below(root, dir, MOST_NAMES);
            return listed.files.into_iter().map(|file| file.path).collect();
        }
        let (seen, known) = (lock(&self.seen), lock(&self.file_reader.known));
        let is_below = |path: &RepoPath| {
            std::iter::successors(path.parent(), RepoPath::parent).any(|above| above == *dir)
        };
        let is_there = |(path, found): &(&RepoPath, &FoundAtPath)| {
            let is_file = matches!(
                found,
                FoundAtPath::File(_)
                    | FoundAtPath::TooLarge { .. }
                    | FoundAtPath::Unreadable { .. }
            );
            is_file && is_below(path)
        };
        let there = known.iter().filter(|(path, _)| !seen.contains_key(*path)).chain(seen.iter());
        let there: BTreeSet<RepoPath> =
            there.filter(is_there).map(|(path, _)| path.clone()).collect();
        there.into_iter().collect()
    }

    /// Returns the sorted names in a directory, or in the root. In a replay, returns those names that were read
    /// originally, so only names that are read afterwards may matter. Blocks.
    pub fn names(&self, dir: Option<&RepoPath>, most: usize) -> Vec<String> {
        if !self.follows {
            return self.file_reader.tree.names(dir, most);
        }
        let (seen, known) = (lock(&self.seen), lock(&self.file_reader.known));
        let found = seen.iter().chain(known.iter());
        let there =
            found.filter(|(_, found)| **found != FoundAtPath::Missing).map(|(path, _)| path);
        let name = |path: &RepoPath| {
            let below = match dir {
                Some(dir) => path.as_str().strip_prefix(dir.as_str())?.strip_prefix('/')?,
                None => path.as_str(),
            };
            below.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = there.filter_map(name).collect();
        names.into_iter().collect()
    }

    /// Returns the existing paths that look like `path` and may be read. Blocks.
    pub fn alike(&self, path: &RepoPath) -> Vec<RepoPath> {
        let rules = &self.file_reader.run.terms.rules;
        let mut alike = path.alike(&|dir| self.names(dir, MOST_NAMES));
        alike.retain(|alike| rules.may_read(alike.as_str()) == Verdict::Allow);
        alike
    }

    /// Records what was read. No decision may depend on it before.
    pub async fn done(self) -> Result<(), JournalClosed> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let missing = self.missing.into_inner().unwrap_or_else(PoisonError::into_inner);
        if seen.is_empty() && missing.is_empty() {
            return Ok(());
        }
        let redactor = &self.file_reader.run.redactor;
        let file = |(path, found): (&RepoPath, &FoundAtPath)| {
            let text = found.content().and_then(|blob| decode(&blob.content));
            let secrets = text.map(|it| redactor.known_in(&it.text)).unwrap_or_default();
            SeenFile { path: path.clone(), found: found.clone(), secrets }
        };
        let missing_programs = missing.into_iter().collect();
        let read = Event::FilesRead { files: seen.iter().map(file).collect(), missing_programs };
        lock(&self.file_reader.known).extend(seen);
        self.file_reader.run.publish(read).await
    }
}

fn lock<T>(found: &Mutex<T>) -> MutexGuard<'_, T> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}
