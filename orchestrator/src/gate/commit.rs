//! The path of a change into the workspace: staged, approved, preceded by a checkpoint, and written atomically.

use std::sync::Arc;

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::run::workspace::{CommitRefused, Extent, Staged};
use facts::event::Event;
use facts::signal::Acceptance;
use tools::ids::short_id;
use tree::{Change, Checkpoint, CheckpointNote};

use super::Gate;
use super::decision::Goes;
use crate::workspace::main_tree::MainTree;

impl Gate {
    /// Commits a change, or the part of it that the user takes. Returns how much that is, and the changes.
    pub(super) async fn commit(
        mut self,
        tree: &MainTree,
        mut patch: String,
        mut staged: Staged,
    ) -> Result<(Extent, Arc<[Change]>), CommitRefused> {
        // A change of a run that ended while others were made is not made.
        if *self.run.stop.borrow() {
            return Err(CommitRefused::Gone);
        }
        self.run.publish(staged.event(&patch, None)).await?;
        let id = short_id(&patch);
        let hint = format!(
            "the patch is staged: see it with `deepseek diff {id}`, apply it with `deepseek apply {id}`"
        );
        let change = (Arc::clone(&staged.changes), staged.taken);
        let taken = self.pass_patch(&patch, change, Goes::IntoTheWorkspace, hint).await?;
        if let Extent::Part(left_out) = &taken {
            let not_taken = |change: &&Change| left_out.paths.contains(&change.path);
            let changes = staged.changes.iter().filter(not_taken).cloned().collect();
            let rest = Staged { changes, ..staged.clone() };
            staged.changes = left_out.rest(&staged.changes);
            // The whole patch stays open until the last of these events records what was taken of it: nothing is lost in
            // between.
            if staged.taken == Acceptance::RestStays {
                self.run.publish(rest.event(&self.run.fresh_id(), None)).await?;
            }
            let whole = std::mem::replace(&mut patch, self.run.fresh_id());
            let part = staged.event(&patch, Some(whole));
            self.run.publish(part).await?;
        }
        let note = self.note(&patch, &staged);
        let changes = staged.changes;
        // A process applying an earlier staged patch set may have been killed before that was recorded.
        let maybe_written = staged.id.as_ref() == Some(&patch);
        let mut commit = Commit {
            tree,
            patch,
            changes: Arc::clone(&changes),
            note,
            checkpoint_made: false,
            begun: false,
            maybe_written,
        };
        self.run.perform(&mut commit).await??;
        Ok((taken, changes))
    }
}

/// The effect of writing a change to the workspace. Its progress is tracked, so that only the rest is done.
struct Commit<'c> {
    tree: &'c MainTree,
    patch: String,
    changes: Arc<[Change]>,
    note: CheckpointNote,
    checkpoint_made: bool,
    begun: bool,
    /// True if the workspace may already contain the change although that is not recorded.
    maybe_written: bool,
}

impl Effect for Commit<'_> {
    type Outcome = Result<(), CommitRefused>;
    type Stop = CommitRefused;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are not steps of a commit")]
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        match event {
            Event::CheckpointCreated { patch, .. } if *patch == self.patch => {
                self.checkpoint_made = true;
                Trace::Begun
            }
            Event::PatchCommitting { patch } if *patch == self.patch => {
                self.begun = true;
                Trace::Begun
            }
            Event::PatchApplied { patch } if *patch == self.patch => Trace::Done(Ok(())),
            Event::PatchNotApplied { patch, why } if *patch == self.patch => {
                Trace::Done(Err(why.clone().into()))
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, CommitRefused> {
        let result = self.write(run).await;
        let patch = self.patch.clone();
        match &result {
            Ok(()) => drop(run.record(Event::PatchApplied { patch }).await?),
            Err(CommitRefused::NotApplied(why)) => {
                run.publish(Event::PatchNotApplied { patch, why: why.clone() }).await?;
            }
            Err(CommitRefused::Denied(_) | CommitRefused::Gone) => {}
        }
        Ok(result)
    }
}

impl Commit<'_> {
    /// Makes the checkpoint and then the change, skipping what was done before.
    async fn write(&self, run: &Run) -> Result<(), CommitRefused> {
        if (self.begun || self.maybe_written) && self.tree.holds(&self.changes).await {
            return Ok(());
        }
        let checkpoint = self.checkpoint(run).await?;
        if *run.stop.borrow() {
            self.tree.forget(checkpoint).await;
            return Err(CommitRefused::Gone);
        }
        // Everything needed to make or undo the change is on disk before the first byte is written.
        if !self.begun {
            run.record(Event::PatchCommitting { patch: self.patch.clone() }).await?;
        }
        self.tree.commit(&self.changes, checkpoint).await
    }

    /// Makes the checkpoint, unless it was made before.
    async fn checkpoint(&self, run: &Run) -> Result<Checkpoint, CommitRefused> {
        if self.checkpoint_made
            && let Some(checkpoint) = self.tree.checkpoint_for(&self.note.patch).await
        {
            return Ok(checkpoint);
        }
        let (note, now, stop) = (self.note.clone(), run.clock.now(), run.stop.clone());
        let (checkpoint, snapshot) =
            self.tree.checkpoint(&self.changes, note, now, move || *stop.borrow()).await?;
        let created = Event::CheckpointCreated {
            checkpoint: checkpoint.number,
            patch: checkpoint.note.patch.clone(),
            files: snapshot.entries.len(),
            left_out: snapshot.left_out,
        };
        run.publish(created).await?;
        Ok(checkpoint)
    }
}
