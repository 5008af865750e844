//! The gate to the main tree: every change and every command passes policy, is asked for where policy says so, is
//! journaled, and only then happens. One change at a time.

use std::sync::Arc;
use std::time::Duration;

use actors::event::Event;
use actors::lane_id::LaneId;
use actors::publisher::{Answer, Proposal, Publisher};
use actors::recording::RecordedIds;
use actors::wording::Wording;
use actors::words::{Asked, DeniedBy};
use actors::workspace::{CommitRefused, Denied, Staged};
use ractor::{ActorRef, RpcReplyPort};
use tokio::sync::watch;
use tools::clock::{Clock, IdSource};
use tools::policy::{Action, Author, Rules, Verdict, quoted};
use tools::redact::redact;
use tools::shell::CommandLine;
use tools::tree::{Change, Checkpoint, Note, RepoPath};

use super::recorded::{
    HalfCommit, RecordedCommit, Step, answered, denied_unasked, recorded_saying, recorded_step,
    recorded_verdict,
};
use super::{Commit, Msg, News, Said, SaidTo, State, Wanted};
use crate::blocking::on_a_thread;
use crate::main_tree::MainTree;
use crate::request::Terms;

impl State {
    /// Starts the next change, if the tree is here and one waits.
    pub(super) fn commit_next(&mut self, myself: &ActorRef<Msg>) {
        let Some(tree) = self.main_tree.take() else { return };
        // What a run that is over still wanted is not done: dropping the reply says so.
        let over = |run: &Option<String>| {
            let active = self.active.as_ref().filter(|active| active.ending.is_none());
            run.is_some() && run.as_ref() != active.map(|active| &active.id)
        };
        while self.commits.front().is_some_and(|(run, ..)| over(run)) {
            self.commits.pop_front();
        }
        let Some((_, staged, reply)) = self.commits.pop_front() else {
            self.main_tree = Some(tree);
            return;
        };
        let gate = self.gate(None);
        let patch = staged.id.clone().unwrap_or_else(|| self.ids().fresh());
        // Never dropped: whoever has the tree brings it back.
        self.tell(myself, async move {
            let changes = staged.changes.clone();
            let (tree, result) = gate.commit(tree, &patch, staged).await;
            News::Committed(Box::new(Commit { tree, changes, reply, result }))
        });
    }

    /// The tree is back from a change.
    pub(super) async fn committed(&mut self, myself: &ActorRef<Msg>, commit: Commit) {
        let Commit { tree, changes, reply, result } = commit;
        self.main_tree = Some(tree);
        if let (Ok(()), Some(active)) = (&result, &mut self.active) {
            active.trail.follow(&changes);
        }
        if reply.send(result).is_err() {
            tracing::debug!("whoever wanted the change is gone");
        }
        if self.active.as_ref().is_some_and(|active| active.ending.is_some()) {
            self.finish().await;
        }
        self.commit_next(myself);
    }

    /// Whether a command may run. What was answered once holds for the rest of the run.
    pub(super) fn permit(
        &mut self,
        myself: &ActorRef<Msg>,
        (lane, command): (Option<LaneId>, CommandLine),
        reply: RpcReplyPort<Result<(), Denied>>,
    ) {
        let wanted = (lane, command.text().to_owned());
        // What was allowed when the run was driven before may be forbidden today.
        if self.gate(lane).denies(&command)
            && let Some(active) = &mut self.active
        {
            active.permits.retain(|known, permit| {
                *known != wanted || matches!(permit, super::Permit::Asking(_))
            });
        }
        let waiting =
            self.active.as_mut().map(|active| active.permits.entry(wanted.clone()).or_default());
        let Some(permit) = waiting else { return };
        match permit {
            super::Permit::Known(known) => {
                if reply.send(known.clone()).is_err() {
                    tracing::debug!("whoever wanted the command is gone");
                }
            }
            super::Permit::Asking(replies) => {
                replies.push(reply);
                if replies.len() == 1 {
                    let gate = self.gate(lane);
                    self.tell(myself, async move {
                        News::Permitted(wanted, gate.permit(&command).await)
                    });
                }
            }
        }
    }

    /// The answer for a command is known.
    pub(super) fn permitted(&mut self, wanted: Wanted, result: &Result<(), Denied>) {
        let Some(active) = &mut self.active else { return };
        let known = super::Permit::Known(result.clone());
        if let Some(super::Permit::Asking(replies)) = active.permits.insert(wanted, known) {
            for reply in replies {
                if reply.send(result.clone()).is_err() {
                    tracing::debug!("whoever wanted the command is gone");
                }
            }
        }
    }

    /// Whether the patch of a lane may be written where its commands run. It is the lane's own for the run in hand, or nobody's.
    pub(super) fn approve(
        &mut self,
        myself: &ActorRef<Msg>,
        (run, lane): (&str, LaneId),
        (patch, changes): (String, Vec<Change>),
        reply: RpcReplyPort<Result<(), Denied>>,
    ) {
        if self.active.as_ref().is_none_or(|active| active.id != run) {
            return;
        }
        let gate = self.gate(Some(lane));
        self.tell(myself, async move {
            News::Approved(reply, gate.approve(lane, &patch, &changes).await)
        });
    }

    fn gate(&self, lane: Option<LaneId>) -> Gate {
        let (publisher, stop) = match &self.active {
            Some(active) => (active.publisher.clone(), active.stop.subscribe()),
            None => (self.publisher.clone(), self.idle.subscribe()),
        };
        let (publisher, ids) = match lane {
            Some(lane) => {
                let publisher = publisher.for_lane(lane);
                let ids = ids_of(&publisher, &self.setup.ids);
                (publisher, ids)
            }
            None => (publisher, self.ids()),
        };
        let Terms { config, rules, bars, .. } = self.terms();
        Gate {
            rules: Arc::clone(rules),
            bars: bars.clone(),
            ids,
            said: self.active.as_ref().map(|active| Arc::clone(&active.said)).unwrap_or_default(),
            clock: Arc::clone(&self.setup.clock),
            session: self.setup.session_id(),
            request: self.active.as_ref().map(|active| first_line(&active.request.text)),
            publisher,
            stop,
            patience: Duration::from_secs(config.limits.approval_timeout_seconds),
            asked: None,
        }
    }
}

/// What would let a command run that lacks these rules.
fn hint_for(missing: &[String], verdict: &Verdict) -> String {
    let rules: Vec<String> = missing.iter().map(|rule| quoted(rule)).collect();
    match (rules.is_empty(), verdict) {
        (true, Verdict::Deny { .. }) => {
            "no flag allows it: policy.deny_commands and plan mode come first".to_owned()
        }
        (true, _) => "to run it in this run: --yolo".to_owned(),
        (false, _) => format!(
            "to allow it from now on: deepseek config add policy.allow_commands {}{}; for this run only: --yolo",
            if missing.iter().any(|rule| rule.starts_with('-')) { "-- " } else { "" },
            rules.join(" ")
        ),
    }
}

fn stopped(what: Asked, hint: String) -> Denied {
    Denied { what, why: "the request was stopped".into(), hint: hint.into() }
}

/// The beginning of a request, in one line without secrets.
fn first_line(text: &str) -> String {
    const LENGTH: usize = 60;
    let text = redact(text);
    text.lines().next().unwrap_or_default().chars().take(LENGTH).collect()
}

/// Where the ids of a run, or of a lane of it, come from: from what is recorded, and then fresh.
pub(crate) fn ids_of(publisher: &Publisher, fresh: &Arc<dyn IdSource>) -> Arc<dyn IdSource> {
    let beyond = Arc::clone(fresh);
    match publisher.recording().cloned() {
        Some(recording) => Arc::new(RecordedIds { recording, beyond }),
        None => beyond,
    }
}

/// What an effect has to pass.
struct Gate {
    rules: Arc<Rules>,
    /// What must not be done any more, in a run that is taken up.
    bars: Option<Arc<Rules>>,
    ids: Arc<dyn IdSource>,
    /// What the user said to commands of this run.
    said: Said,
    clock: Arc<dyn Clock>,
    session: String,
    /// What the user asked for, in one line.
    request: Option<String>,
    publisher: Publisher,
    stop: watch::Receiver<bool>,
    /// How long an answer is waited for.
    patience: Duration,
    /// The question that was asked, and who said no to it if somebody did.
    asked: Option<(String, DeniedBy)>,
}

impl Gate {
    fn decide(&self, action: Action<'_>, what: &Asked) -> Verdict {
        if self.publisher.takes_requests() {
            let recorded = self.publisher.recorded_next(|event| recorded_verdict(event, what));
            return recorded.unwrap_or(Verdict::Allow);
        }
        // What barred it then is not known now, but that it was barred is.
        let denied = self.publisher.recorded_next(|event| denied_unasked(event, what));
        let barred = denied.map(|why| Verdict::Deny { why }).or_else(|| self.bars(action));
        barred.unwrap_or_else(|| self.rules.decide(action))
    }

    /// Whether a command is denied without a question.
    fn denies(&self, command: &CommandLine) -> bool {
        let what = Asked::Command(command.text().to_owned());
        matches!(self.decide(Action::Command(command), &what), Verdict::Deny { .. })
    }

    /// The denial of what was forbidden after the run began. What is recorded was done before.
    fn bars(&self, action: Action<'_>) -> Option<Verdict> {
        let bars = self.bars.as_ref().filter(|_| !self.publisher.follows())?;
        Some(bars.decide(action)).filter(|verdict| matches!(verdict, Verdict::Deny { .. }))
    }

    /// Takes a change through, and gives the tree back.
    async fn commit(
        mut self,
        tree: MainTree,
        patch: &str,
        staged: Staged,
    ) -> (MainTree, Result<(), CommitRefused>) {
        let note = self.note(patch, &staged.title);
        let event = Event::staged(patch, &staged);
        let changes = staged.changes;
        if self.publisher.publish(event).await.is_err() {
            return (tree, Err(CommitRefused::Gone));
        }
        let hint = format!(
            "the patch is staged: look at it with `deepseek diff {patch}`, apply it with `deepseek apply {patch}`, or run again with `--approval auto`"
        );
        if let Err(denied) = self.pass_patch(patch, &changes, hint).await {
            return (tree, Err(denied.into()));
        }
        let half = match self.recorded_commit(patch).await {
            RecordedCommit::Ended(result) => return (tree, result),
            RecordedCommit::Half(half) => half,
        };
        let (tree, result) = self.write(tree, changes, note, half).await;
        if let Err(CommitRefused::NotApplied(why)) = &result {
            let failed = Event::PatchNotApplied { patch: patch.to_owned(), why: why.clone() };
            if self.publisher.publish(failed).await.is_err() {
                return (tree, Err(CommitRefused::Gone));
            }
        }
        (tree, result)
    }

    /// Takes the patch of a lane through: commands will run on what it says, before anybody sees the whole.
    async fn approve(
        mut self,
        lane: LaneId,
        patch: &str,
        changes: &[Change],
    ) -> Result<(), Denied> {
        let hint = format!(
            "see it with `deepseek diff --lane {lane}`, or run again with `--approval auto`, which does not ask for patches"
        );
        if self.publisher.follows() {
            return self.pass_patch(patch, changes, hint).await;
        }
        // Lanes ask one after the other.
        let said = Arc::clone(&self.said);
        let _turn = said.lock().await;
        self.pass_patch(patch, changes, hint).await
    }

    async fn pass_patch(
        &mut self,
        patch: &str,
        changes: &[Change],
        hint: String,
    ) -> Result<(), Denied> {
        let paths: Vec<&RepoPath> = changes.iter().flat_map(Change::paths).collect();
        let lines =
            changes.iter().map(Change::line_counts).map(|(added, removed)| added + removed).sum();
        let author = if self.publisher.run().is_empty() { Author::User } else { Author::Model };
        let what = Asked::Patch(patch.to_owned());
        let verdict = self.decide(Action::Patch { author, paths: &paths, lines }, &what);
        self.pass(verdict, Proposal::Patch(changes.to_vec()), what, hint).await
    }

    /// What is recorded of a commit, when the run is driven again.
    async fn recorded_commit(&mut self, patch: &str) -> RecordedCommit {
        let mut half = HalfCommit::default();
        loop {
            match self.publisher.pass_recorded(|event| recorded_step(event, patch)) {
                Some(Step::CheckpointMade) => half.checkpoint_made = true,
                Some(Step::Begun) => half.begun = true,
                Some(Step::Ended(result)) => return RecordedCommit::Ended(result),
                None => break,
            }
        }
        // What is recorded behind it without its outcome is the end of the run.
        tokio::select! {
            biased;
            () = self.publisher.live() => RecordedCommit::Half(half),
            _ = self.stop.wait_for(|stopped| *stopped) => {
                RecordedCommit::Ended(Err(CommitRefused::Gone))
            }
        }
    }

    /// Makes the checkpoint and then the change, as far as that was not done before.
    async fn write(
        &self,
        tree: MainTree,
        changes: Vec<Change>,
        note: Note,
        half: HalfCommit,
    ) -> (MainTree, Result<(), CommitRefused>) {
        let patch = note.patch.clone();
        let (tree, changes, holds) = if half.begun {
            let look = on_a_thread(move || {
                let holds = tree.holds(&changes);
                (tree, changes, holds)
            });
            look.await
        } else {
            (tree, changes, false)
        };
        if holds {
            return (tree, self.applied(&patch).await);
        }
        let kept = self.keep(tree, changes, note, half.checkpoint_made).await;
        let (tree, changes, checkpoint) = match kept {
            (tree, changes, Ok(checkpoint)) => (tree, changes, checkpoint),
            (tree, _, Err(refused)) => return (tree, Err(refused)),
        };
        if *self.stop.borrow() {
            let tree = on_a_thread(move || {
                tree.forget(&checkpoint);
                tree
            });
            return (tree.await, Err(CommitRefused::Gone));
        }
        // Everything that is needed to make the change, or to unmake it, is on disk before the first byte is written.
        if !half.begun
            && self.publisher.record(Event::PatchCommitting { patch: patch.clone() }).await.is_err()
        {
            return (tree, Err(CommitRefused::Gone));
        }
        let (tree, result) = on_a_thread(move || tree.commit(&changes, &checkpoint)).await;
        match result {
            Ok(()) => (tree, self.applied(&patch).await),
            refused @ Err(_) => (tree, refused),
        }
    }

    /// Writes down that a change is in the workspace.
    async fn applied(&self, patch: &str) -> Result<(), CommitRefused> {
        let applied = Event::PatchApplied { patch: patch.to_owned() };
        self.publisher.record(applied).await.map(|_| ()).map_err(|_| CommitRefused::Gone)
    }

    /// Makes the checkpoint to go back to, unless it was made before.
    async fn keep(
        &self,
        tree: MainTree,
        changes: Vec<Change>,
        note: Note,
        made_before: bool,
    ) -> (MainTree, Vec<Change>, Result<Checkpoint, CommitRefused>) {
        let now = self.clock.now();
        let stop = self.stop.clone();
        let kept = on_a_thread(move || {
            let before = made_before.then(|| tree.checkpoint_for(&note.patch)).flatten();
            let kept = before.map_or_else(
                || {
                    let made = tree.checkpoint(&changes, note, now, &|| *stop.borrow());
                    made.map(|(checkpoint, snapshot)| (checkpoint, Some(snapshot)))
                },
                |checkpoint| Ok((checkpoint, None)),
            );
            (tree, changes, kept)
        });
        let (tree, changes, kept) = kept.await;
        let (checkpoint, snapshot) = match kept {
            Ok((checkpoint, Some(snapshot))) => (checkpoint, snapshot),
            Ok((checkpoint, None)) => return (tree, changes, Ok(checkpoint)),
            Err(refused) => return (tree, changes, Err(refused)),
        };
        let created = Event::CheckpointCreated {
            checkpoint: checkpoint.number,
            patch: checkpoint.note.patch.clone(),
            files: snapshot.entries.len(),
            left_out: snapshot.left_out,
        };
        let published = self.publisher.publish(created).await;
        (tree, changes, published.map(|()| checkpoint).map_err(|_| CommitRefused::Gone))
    }

    /// What the change is to those who look at its checkpoint later.
    fn note(&self, patch: &str, title: &Wording) -> Note {
        let title = match &self.request {
            Some(request) => format!("{request} · {title}"),
            None => title.to_string(),
        };
        let run = Some(self.publisher.run().to_owned()).filter(|run| !run.is_empty());
        Note { title, patch: patch.to_owned(), session: self.session.clone(), run }
    }

    /// Takes a command through.
    async fn permit(mut self, command: &CommandLine) -> Result<(), Denied> {
        let what = Asked::Command(command.text().to_owned());
        let verdict = self.decide(Action::Command(command), &what);
        let hint = hint_for(&self.rules.missing_rules(command), &verdict);
        let proposal = Proposal::Command(command.text().to_owned());
        if !matches!(verdict, Verdict::Ask { .. }) {
            return self.pass(verdict, proposal, what, hint).await;
        }
        if let Some(said) =
            self.publisher.pass_recorded(|event| recorded_saying(event, &what, &hint))
        {
            return said.result;
        }
        if self.publisher.follows() {
            return self.pass(verdict, proposal, what, hint).await;
        }
        // Lanes ask one after the other, and nothing is asked twice.
        let said = Arc::clone(&self.said);
        let mut said = said.lock().await;
        if let Some(said) = said.get(&what) {
            return self.say_again(said).await;
        }
        let result = self.pass(verdict, proposal, what.clone(), hint).await;
        if let Some((ask, by)) = self.asked.take() {
            said.insert(what, SaidTo { ask, by, result: result.clone() });
        }
        result
    }

    /// Writes down what was said to the same command before, in answer to another lane.
    async fn say_again(&self, said: &SaidTo) -> Result<(), Denied> {
        let ask = said.ask.clone();
        let event = match &said.result {
            Ok(()) => Event::ToolApproved { ask },
            Err(Denied { what, why, .. }) => Event::ToolDenied {
                ask: Some(ask),
                action: what.clone(),
                by: said.by,
                why: why.clone(),
            },
        };
        if self.publisher.record(event).await.is_err() {
            tracing::debug!("what was said before could not be journaled again");
        }
        said.result.clone()
    }

    /// Allows, asks or denies, and writes down what was asked and answered.
    async fn pass(
        &mut self,
        verdict: Verdict,
        effect: Proposal,
        what: Asked,
        hint: String,
    ) -> Result<(), Denied> {
        let why = match verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny { why } => {
                return Err(self.deny(None, what, DeniedBy::Policy, why.into(), hint).await);
            }
            Verdict::Ask { why } => why,
        };
        if *self.stop.borrow() {
            return Err(stopped(what, hint));
        }
        let ask = self.ids.fresh();
        let proposed = Event::ToolProposed {
            ask: ask.clone(),
            action: what.clone(),
            why: why.as_str().into(),
        };
        // Recorded, so that everything before it is on the screen when the question comes.
        if self.publisher.record(proposed).await.is_err() {
            return Err(no_journal(what, hint));
        }
        let answered = answered(&self.publisher, &ask, effect, why.clone());
        let answer = tokio::select! {
            answer = answered => answer,
            _ = self.stop.wait_for(|stopped| *stopped) => {
                // Nobody said anything, and nobody waits any more: that the run is over is told by its end.
                return Err(stopped(what, hint));
            }
            () = tokio::time::sleep(self.patience) => None,
        };
        let (by, why) = match answer {
            Some(Answer::Yes) => {
                self.asked = Some((ask.clone(), DeniedBy::Nobody));
                let approved = self.publisher.record(Event::ToolApproved { ask }).await;
                return approved.map(|_| ()).map_err(|_| no_journal(what, hint));
            }
            Some(Answer::No) => (DeniedBy::User, "you said no".into()),
            None => {
                let why = format!("{why}, and there is no terminal to ask on");
                (DeniedBy::Nobody, why.into())
            }
        };
        self.asked = Some((ask.clone(), by));
        Err(self.deny(Some(ask), what, by, why, hint).await)
    }

    async fn deny(
        &self,
        ask: Option<String>,
        what: Asked,
        by: DeniedBy,
        why: Wording,
        hint: String,
    ) -> Denied {
        let denied = Event::ToolDenied { ask, action: what.clone(), by, why: why.clone() };
        if self.publisher.record(denied).await.is_err() {
            tracing::debug!("a denial could not be journaled; nothing happens all the same");
        }
        Denied { what, why, hint: hint.into() }
    }
}

fn no_journal(what: Asked, hint: String) -> Denied {
    Denied { what, why: "the journal takes no more events".into(), hint: hint.into() }
}
