//! Copies of the workspace in an earlier state, for commands that must not see the current one. They are stored next to
//! the worktrees of lanes and are collected like them after a crash.

use std::path::{Path, PathBuf};

use actors::proof::{Tested, tested};
use actors::run::Run;
use actors::workspace::{Copied, NoCopy, Tests};
use futures_util::future::BoxFuture;
use lanes::worktrees::{Claim, claim_named, tidy};
use tools::blocking::on_a_thread;
use tree::{Change, Entries, Extras, ReadTree, SnapshotError, Snapshots, Worktree};

/// Makes copies of the workspace.
#[derive(Clone)]
pub(crate) struct Copies {
    /// The snapshots of the workspace.
    pub(crate) snapshots: Snapshots,
    /// The directory of worktrees.
    pub(crate) lanes: PathBuf,
    /// The session's id.
    pub(crate) session: String,
    /// The run that needs a copy.
    pub(crate) run: Run,
}

/// A copy, and the claim that marks it as in use.
struct Copy {
    dir: PathBuf,
    snapshots: Snapshots,
    claim: Claim,
}

impl Copies {
    /// Copies the workspace in its state before `changes`.
    pub(crate) async fn of(
        &self,
        tree: &ReadTree,
        changes: &[Change],
        tests: Tests,
    ) -> Result<Box<dyn Copied>, NoCopy> {
        let name = format!("{}.before", self.run.id());
        let claim = claim_named(&self.lanes, &name, &self.session, &self.run).await?;
        let dir = claim.dir.join("tree");
        let copy = Copy { dir, snapshots: self.snapshots.clone(), claim };
        let (tree, changes, run) = (tree.clone(), changes.to_vec(), self.run.clone());
        let made = on_a_thread(move || {
            let filled = copy.fill(&tree, (&changes, tests), &run);
            (copy, filled)
        });
        let (copy, filled) = made.await;
        match filled {
            Ok(()) => Ok(Box::new(copy)),
            Err(error) => {
                Box::new(copy).remove().await;
                Err(error)
            }
        }
    }
}

impl Copy {
    /// Writes the files. Blocks.
    fn fill(
        &self,
        tree: &ReadTree,
        (changes, tests): (&[Change], Tests),
        run: &Run,
    ) -> Result<(), NoCopy> {
        let (now, lanes) = (run.clock.now(), &run.config().lanes);
        let snapshot = self.snapshots.take(tree, &[], now)?;
        let entries = before(&self.snapshots, snapshot.entries, changes, tests)?;
        let extras = Extras {
            left_out: &snapshot.left_out,
            share: &lanes.share,
            max_copied_bytes: lanes.max_copied_bytes,
            now,
        };
        // An earlier process may have been killed here.
        Worktree::remove(&self.snapshots, &self.dir)?;
        Worktree::create(&self.snapshots, &entries, &self.dir, &extras)?;
        Ok(())
    }
}

/// Returns the files with all of `changes` undone; those to tests, if they are not kept.
fn before(
    snapshots: &Snapshots,
    mut entries: Entries,
    changes: &[Change],
    tests: Tests,
) -> Result<Entries, SnapshotError> {
    for change in changes {
        let kept = match tests {
            Tests::Kept => tested(change),
            Tests::Undone => Tested::Nothing,
        };
        let state = match kept {
            Tested::All => continue,
            Tested::Inside(state) => Some(state),
            Tested::Nothing => change.before.clone(),
        };
        match state {
            Some(state) => {
                let kept = snapshots.keep_file(&state)?;
                entries.insert(change.path.clone(), kept);
            }
            None => drop(entries.remove(&change.path)),
        }
    }
    Ok(entries)
}

impl Copied for Copy {
    fn root(&self) -> &Path {
        &self.dir
    }

    fn remove(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(on_a_thread(move || drop(tidy(&self.snapshots, &self.claim.dir, &[]))))
    }
}
