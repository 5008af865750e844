//! The path of a change into the workspace: staged, approved, preceded by a checkpoint, and written atomically.

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::run::workspace::{CommitRefused, Extent, Staged};
use facts::event::Event;
use facts::signal::Acceptance;
use tools::blocking::on_a_thread;
use tools::ids::short_id;
use tree::{Change, Checkpoint, CheckpointNote};

use super::Gate;
use super::decision::Goes;
use crate::workspace::main_tree::MainTree;

impl Gate {
    /// Commits a change, or the part of it that the user takes, and returns the tree.
    pub(super) async fn commit(
        mut self,
        tree: MainTree,
        mut patch: String,
        mut staged: Staged,
    ) -> (Option<MainTree>, Result<Extent, CommitRefused>) {
        let event = staged.event(&patch, None);
        if self.run.publish(event).await.is_err() {
            return (Some(tree), Err(CommitRefused::Gone));
        }
        let id = short_id(&patch);
        let hint = format!(
            "the patch is staged: see it with `deepseek diff {id}`, apply it with `deepseek apply {id}`"
        );
        let change = (staged.changes.as_slice(), staged.taken);
        let taken = match self.pass_patch(&patch, change, Goes::IntoTheWorkspace, hint).await {
            Ok(taken) => taken,
            Err(denied) => return (Some(tree), Err(denied.into())),
        };
        if let Extent::Part(left_out) = &taken {
            let mut rest = staged.clone();
            rest.changes.retain(|change| left_out.paths.contains(&change.path));
            staged.changes.retain(|change| !left_out.paths.contains(&change.path));
            // The whole patch stays open until the last of these events records what was taken of it: nothing is lost in
            // between.
            if staged.taken == Acceptance::RestStays
                && self.run.publish(rest.event(&self.run.fresh_id(), None)).await.is_err()
            {
                return (Some(tree), Err(CommitRefused::Gone));
            }
            let whole = std::mem::replace(&mut patch, self.run.fresh_id());
            let part = staged.event(&patch, Some(whole));
            if self.run.publish(part).await.is_err() {
                return (Some(tree), Err(CommitRefused::Gone));
            }
        }
        let (note, changes) = (self.note(&patch, &staged), staged.changes);
        // A process applying an earlier staged patch set may have been killed before that was recorded.
        let maybe_written = staged.id.as_ref() == Some(&patch);
        let mut commit = Commit {
            tree: Some(tree),
            patch,
            changes,
            note,
            checkpoint_made: false,
            begun: false,
            maybe_written,
        };
        let result = self.run.perform(&mut commit).await;
        (commit.tree, result.and_then(|written| written).map(|()| taken))
    }
}

/// The effect of writing a change to the workspace. Its progress is tracked, so that only the rest is done.
struct Commit {
    /// `None` while a blocking call uses it.
    tree: Option<MainTree>,
    patch: String,
    changes: Vec<Change>,
    note: CheckpointNote,
    checkpoint_made: bool,
    begun: bool,
    /// True if the workspace may already contain the change although that is not recorded.
    maybe_written: bool,
}

impl Effect for Commit {
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

impl Commit {
    /// Makes the checkpoint and then the change, skipping what was done before.
    async fn write(&mut self, run: &Run) -> Result<(), CommitRefused> {
        let changes = self.changes.clone();
        let maybe_written = self.begun || self.maybe_written;
        if maybe_written && self.with_tree(move |tree| tree.holds(&changes)).await? {
            return Ok(());
        }
        let checkpoint = self.checkpoint(run).await?;
        if *run.stop.borrow() {
            self.with_tree(move |tree| tree.forget(&checkpoint)).await?;
            return Err(CommitRefused::Gone);
        }
        // Everything needed to make or undo the change is on disk before the first byte is written.
        if !self.begun {
            run.record(Event::PatchCommitting { patch: self.patch.clone() }).await?;
        }
        let changes = self.changes.clone();
        let tree = self.tree.take().ok_or(CommitRefused::Gone)?;
        let (tree, written) = on_a_thread(move || tree.commit(&changes, &checkpoint)).await;
        self.tree = Some(tree);
        written
    }

    /// Makes the checkpoint, unless it was made before.
    async fn checkpoint(&mut self, run: &Run) -> Result<Checkpoint, CommitRefused> {
        let (changes, note) = (self.changes.clone(), self.note.clone());
        let (stop, now, made_before) = (run.stop.clone(), run.clock.now(), self.checkpoint_made);
        let kept = self.with_tree(move |tree| {
            let before = made_before.then(|| tree.checkpoint_for(&note.patch)).flatten();
            before.map_or_else(
                || {
                    let made = tree.checkpoint(&changes, note, now, &|| *stop.borrow());
                    made.map(|(checkpoint, snapshot)| (checkpoint, Some(snapshot)))
                },
                |checkpoint| Ok((checkpoint, None)),
            )
        });
        let (checkpoint, snapshot) = kept.await??;
        if let Some(snapshot) = snapshot {
            let created = Event::CheckpointCreated {
                checkpoint: checkpoint.number,
                patch: checkpoint.note.patch.clone(),
                files: snapshot.entries.len(),
                left_out: snapshot.left_out,
            };
            run.publish(created).await?;
        }
        Ok(checkpoint)
    }

    /// Does blocking work with the tree and takes it back.
    async fn with_tree<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&MainTree) -> T + Send + 'static,
    ) -> Result<T, CommitRefused> {
        let tree = self.tree.take().ok_or(CommitRefused::Gone)?;
        let (tree, done) = on_a_thread(move || {
            let done = work(&tree);
            (tree, done)
        })
        .await;
        self.tree = Some(tree);
        Ok(done)
    }
}
