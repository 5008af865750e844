//! The tree of a lane: a worktree that only the lane can change. The team plan says which files it may change.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::run::workspace::{
    CommitRefused, Denied, Extent, Purpose, Staged, Unapproved, Workspace,
};
use facts::closed::JournalClosed;
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::write_failure::WriteFailure;
use futures_util::future::BoxFuture;
use shell::CommandLine;
use thiserror::Error;
use tools::blocking::on_a_thread;
use tools::clock::Clock;
use tree::{
    Change, CommitError, CommitLog, Entries, Entry, Extras, FileState, Op, ReadTree, RepoPath,
    SeenAt, Snapshot, SnapshotError, Snapshots, TreeError, TreeId, Worktree, WriteTree,
};

use crate::lane::LaneSetup;

/// The content of a lane's tree at the end of an attempt.
pub(crate) struct LaneLeft {
    pub(crate) tree: TreeId,
    pub(crate) files: Vec<StagedFile>,
    /// Changed files that are not part of the result.
    pub(crate) behind: Vec<RepoPath>,
}

/// Who owns a path, as seen from a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Territory {
    /// The lane itself.
    Own,
    /// No lane: every lane may change it, and conflicts are found when merging.
    Common,
    /// Another lane.
    Of(LaneId),
}

/// Returns who owns a path.
pub type Territories = Arc<dyn Fn(&RepoPath) -> Territory + Send + Sync>;

/// Source of files that are not in the snapshot: build caches, and files too large to store.
#[derive(Clone)]
pub struct WorktreeExtras {
    /// Files that the snapshot left out.
    pub left_out: Vec<RepoPath>,
    /// Directories copied because commands need them (`lanes.share`).
    pub share: Vec<String>,
    /// Maximum bytes copied of one such directory.
    pub max_copied_bytes: u64,
    /// Where commands see the worktrees.
    pub seen: SeenAt,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl WorktreeExtras {
    /// Returns the extras for creating a worktree now.
    pub fn now(&self) -> Extras<'_> {
        Extras {
            left_out: &self.left_out,
            share: &self.share,
            max_copied_bytes: self.max_copied_bytes,
            seen: self.seen,
            now: self.clock.now(),
        }
    }
}

/// Where an attempt works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaneStart {
    /// A worktree, created if it does not exist.
    At(PathBuf),
    /// An existing worktree, in which an earlier process made changes.
    GoOn(PathBuf),
    /// None is needed: the whole result is recorded.
    Nowhere,
}

/// Why the worktree is unusable.
#[derive(Debug, Error)]
pub(crate) enum LaneTreeError {
    /// Its content cannot be read or written.
    #[error("cannot create the worktree: {0}")]
    Snapshot(#[from] SnapshotError),
    /// It cannot be opened, or not recovered after a crash.
    #[error("cannot use the worktree: {0}")]
    Commit(#[from] CommitError),
    /// It cannot be opened.
    #[error("cannot use the worktree: {0}")]
    Tree(#[from] TreeError),
    /// An I/O error.
    #[error("cannot use the worktree: {0}")]
    Io(#[from] io::Error),
    /// It was removed between two processes.
    #[error("the worktree {0} is gone, and the changes in it are lost")]
    Gone(String),
}

/// The tree of a lane, with its only writer.
pub(crate) struct LaneTree {
    reader: ReadTree,
    /// `None` if the whole result is recorded.
    worktree: Option<Own>,
    base: Entries,
    snapshots: Snapshots,
    territories: Territories,
    above: Arc<dyn Workspace>,
    run: Run,
    /// Paths that the lane's own patches touched.
    patched: Mutex<BTreeSet<RepoPath>>,
}

struct Own {
    files: Worktree,
    writer: Arc<WriteTree>,
}

/// How long to wait for another process. None ever holds the log: a worktree has one owner.
const PATIENCE: Duration = Duration::from_secs(30);

impl LaneTree {
    /// Opens the tree of an attempt, and creates its worktree if needed.
    pub(crate) async fn open(
        setup: &LaneSetup,
        place: LaneStart,
        base: TreeId,
    ) -> Result<Self, LaneTreeError> {
        let lane = setup.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let (dir, base) = match &place {
                LaneStart::At(dir) | LaneStart::GoOn(dir) => {
                    (dir.clone(), lane.snapshots.tree(base)?)
                }
                LaneStart::Nowhere => {
                    let nowhere = lane.worktrees.join("nowhere");
                    fs::create_dir_all(&nowhere)?;
                    return Ok((ReadTree::open(&nowhere)?, None, Entries::new()));
                }
            };
            let files = if dir.exists() {
                Worktree::reopen(&lane.snapshots, &base, &dir, &lane.origin.now())
            } else if matches!(place, LaneStart::GoOn(_)) {
                return Err(LaneTreeError::Gone(dir.display().to_string()));
            } else {
                Worktree::create(&lane.snapshots, &base, &dir, &lane.origin.now())?
            };
            let log = CommitLog::at(dir.with_extension("commits"), PATIENCE)?;
            let writer = files.writable(log)?;
            for settled in writer.recover()? {
                tracing::warn!(?settled, "a change of a lane was interrupted");
            }
            Ok((writer.reader(), Some(Own { files, writer: Arc::new(writer) }), base))
        });
        let opened = opened.await;
        let (reader, worktree, base) =
            opened.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()))?;
        Ok(Self {
            reader,
            worktree,
            base,
            snapshots: setup.snapshots.clone(),
            territories: Arc::clone(&setup.territories),
            above: Arc::clone(&setup.above),
            run: setup.run.clone(),
            patched: Mutex::default(),
        })
    }

    /// Returns the files it started from.
    pub(crate) const fn base(&self) -> &Entries {
        &self.base
    }

    /// Returns the lane's result: the base with the changes to files that the lane owns or patched, and the other
    /// changed paths, which are left out. Blocks.
    pub(crate) fn artifact(
        &self,
        snapshots: &Snapshots,
    ) -> Result<(Entries, Vec<RepoPath>), SnapshotError> {
        let Some(own) = &self.worktree else { return Ok((self.base.clone(), Vec::new())) };
        let patched = self.patched.lock().unwrap_or_else(PoisonError::into_inner);
        let Snapshot { entries: now, left_out } =
            own.files.entries(snapshots, &self.base, &patched)?;
        if let Some(lost) = left_out.iter().find(|path| patched.contains(path)) {
            return Err(SnapshotError::TooLarge { path: lost.clone() });
        }
        let hands_over = |path: &RepoPath| {
            !path.is_in_our_directory()
                && ((self.territories)(path) == Territory::Own || patched.contains(path))
        };
        let mut artifact = self.base.clone();
        let mut left_behind = left_out;
        let paths: BTreeSet<&RepoPath> = self.base.keys().chain(now.keys()).collect();
        for path in paths.into_iter().filter(|path| self.base.get(*path) != now.get(*path)) {
            if !hands_over(path) {
                left_behind.push(path.clone());
            } else if let Some(kept) = now.get(path) {
                artifact.insert(path.clone(), *kept);
            } else {
                artifact.remove(path);
            }
        }
        left_behind.sort();
        Ok((artifact, left_behind))
    }

    /// Stores the content of the tree, and protects it from collection under the name `hold`.
    pub(crate) async fn left(self: &Arc<Self>, hold: &str) -> Result<LaneLeft, SnapshotError> {
        let (tree, hold) = (Arc::clone(self), hold.to_owned());
        on_a_thread(move || {
            let snapshots = &tree.snapshots;
            let (entries, behind) = tree.artifact(snapshots)?;
            let made = snapshots.keep_tree(&entries)?;
            snapshots.hold(&hold, made)?;
            let changes = changes_between(snapshots, tree.base(), &entries)?;
            let files = changes.iter().map(StagedFile::from).collect();
            Ok(LaneLeft { tree: made, files, behind })
        })
        .await
    }

    /// Removes the worktree. On failure it is collected at a later start.
    pub(crate) async fn remove_worktree(&self) {
        let Some(own) = &self.worktree else { return };
        let (snapshots, dir) = (self.snapshots.clone(), own.files.root().to_owned());
        let removed = tokio::task::spawn_blocking(move || remove(&snapshots, &dir)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "could not remove a worktree; a later start will retry");
        }
    }

    fn add_patched(&self, changes: &[Change]) {
        let mut patched = self.patched.lock().unwrap_or_else(PoisonError::into_inner);
        patched.extend(changes.iter().flat_map(Change::paths).cloned());
    }

    async fn commit_staged(&self, staged: Staged) -> Result<(), CommitRefused> {
        let patch = self.run.fresh_id();
        // Recorded before the first byte is written; otherwise a crash would leave changes of unknown origin.
        let event = staged.event(&patch, None);
        let changes = staged.changes;
        self.run.record(event).await.map_err(|_| CommitRefused::Gone)?;
        self.above.approve(&patch, &changes).await?;
        self.add_patched(&changes);
        let mut commit = LaneCommit { tree: self, patch, changes };
        let written = self.run.perform(&mut commit).await;
        written.map_err(|_| CommitRefused::Gone)?.map_err(CommitRefused::NotApplied)
    }
}

/// The effect of writing a patch to the worktree.
struct LaneCommit<'t> {
    tree: &'t LaneTree,
    patch: String,
    changes: Arc<[Change]>,
}

impl Effect for LaneCommit<'_> {
    type Outcome = Result<(), WriteFailure>;
    type Stop = JournalClosed;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        match event {
            Event::PatchApplied { patch } if *patch == self.patch => Trace::Done(Ok(())),
            Event::PatchNotApplied { patch, why } if *patch == self.patch => {
                Trace::Done(Err(why.clone()))
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let Some(own) = &self.tree.worktree else { return Err(JournalClosed) };
        let (writer, label) = (Arc::clone(&own.writer), self.patch.clone());
        let changes = Arc::clone(&self.changes);
        let written = tokio::task::spawn_blocking(move || {
            if has_changes(&writer.reader(), &changes) {
                Ok(())
            } else {
                write(&writer, &changes, &label)
            }
        });
        let result = written.await.unwrap_or_else(|_| Err(not_written("the writer died")));
        let patch = self.patch.clone();
        let event = match &result {
            Ok(()) => Event::PatchApplied { patch },
            Err(why) => Event::PatchNotApplied { patch, why: why.clone() },
        };
        run.record(event).await?;
        Ok(result)
    }
}

impl Workspace for LaneTree {
    fn reader(&self) -> &ReadTree {
        &self.reader
    }

    fn in_place_of(&self) -> Option<&Path> {
        Some(self.snapshots.workspace())
    }

    fn owner(&self, path: &RepoPath) -> Option<LaneId> {
        match (self.territories)(path) {
            Territory::Of(lane) => Some(lane),
            Territory::Own | Territory::Common => None,
        }
    }

    fn is_approved(&self) -> bool {
        self.above.is_approved()
    }

    fn beyond(&self, files: &[RepoPath], commands: &[String]) -> Option<Unapproved> {
        self.above.beyond(files, commands)
    }

    fn commit_patch_set(&self, staged: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>> {
        Box::pin(async move { self.commit_staged(staged).await.map(|()| Extent::Whole) })
    }

    fn approve<'a>(
        &'a self,
        patch: &'a str,
        changes: &'a [Change],
    ) -> BoxFuture<'a, Result<(), Denied>> {
        self.above.approve(patch, changes)
    }

    fn permit<'a>(
        &'a self,
        command: &'a CommandLine,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<(), Denied>> {
        self.above.permit(command, purpose)
    }
}

/// Returns the changes between two trees. Blocks.
pub fn changes_between(
    snapshots: &Snapshots,
    from: &Entries,
    to: &Entries,
) -> Result<Vec<Change>, SnapshotError> {
    let reader = snapshots.reader()?;
    let paths: BTreeSet<&RepoPath> = from.keys().chain(to.keys()).collect();
    let mut changes = Vec::new();
    for path in paths.into_iter().filter(|path| from.get(*path) != to.get(*path)) {
        let state = |entries: &Entries| match entries.get(path) {
            Some(kept) => reader.file(path, *kept).map(Some),
            None => Ok(None),
        };
        changes.extend(Change::of(path.clone(), state(from)?, state(to)?));
    }
    Ok(changes)
}

/// Returns true if every path has the content that `changes` give it. Blocks.
pub fn has_changes(tree: &ReadTree, changes: &[Change]) -> bool {
    let is = |path: &RepoPath, state: Option<&FileState>| match tree.entry_or_link(path, u64::MAX) {
        Ok(Entry::File(found)) => Some(&found) == state,
        Ok(Entry::Missing) => state.is_none(),
        Ok(_) | Err(_) => false,
    };
    changes.iter().all(|change| {
        let moved = match &change.op {
            Op::Rename { from } => is(from, None),
            Op::Create | Op::Modify | Op::Delete => true,
        };
        moved && is(&change.path, change.after.as_ref())
    })
}

/// Removes a worktree with its log.
pub fn remove(snapshots: &Snapshots, dir: &Path) -> io::Result<()> {
    Worktree::remove(snapshots, dir)?;
    match fs::remove_dir_all(dir.with_extension("commits")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write(writer: &WriteTree, changes: &[Change], label: &str) -> Result<(), WriteFailure> {
    match writer.commit(changes, label) {
        Ok(_) => Ok(()),
        Err(CommitError::Stale { path }) => Err(WriteFailure::Stale { path: path.to_string() }),
        Err(error) => Err(not_written(&error.to_string())),
    }
}

fn not_written(message: &str) -> WriteFailure {
    WriteFailure::NotWritten { message: message.into() }
}
