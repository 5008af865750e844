//! The gate to the main tree: every change and every command is checked against policy, needs approval where policy says
//! so, and is recorded before it happens. One change at a time.
//! How the files are written belongs to [`crate::workspace`].

mod approval;
mod commit;
mod decision;
mod question;

use std::sync::Arc;

use actors::run::Run;
use actors::run::workspace::{Denied, Extent, Purpose, Staged};
use facts::delivery::StagedFor;
use facts::scope::Scope;
use facts::words::DeniedBy;
use missions::card::grant::Grant;
use policy::{Act, Confinement, PatchTotal, PolicyRules, Stage, Touch, Touched, Verdict};
use ractor::{ActorRef, RpcReplyPort};
use sandbox::{Degree, Network};
use shell::CommandLine;
use tree::{Change, CheckpointNote, FileState, Op};

use actors::run::always_allowed::Always;

use crate::root::{Msg, News, QueuedCommit, Said, State, Wanted};

impl State {
    /// Starts the next change, if the tree is here and a change is waiting.
    pub(crate) fn commit_next(&mut self, myself: &ActorRef<Msg>) {
        let Some(tree) = self.main_tree.take() else { return };
        // A change of a run that is over is not made: dropping the reply reports that.
        let over = |run: &Option<String>| {
            let active = self.active.as_ref().filter(|active| active.ending.is_none());
            run.is_some() && *run != active.map(|active| active.run.id().to_owned())
        };
        while self.commits.front().is_some_and(|(run, ..)| over(run)) {
            self.commits.pop_front();
        }
        let Some((_, staged, reply)) = self.commits.pop_front() else {
            self.main_tree = Some(tree);
            return;
        };
        let gate = self.gate(self.run().scope());
        let patch = staged.id.clone().unwrap_or_else(|| gate.run.fresh_id());
        // Never aborted: this task brings the tree back.
        self.tell(myself, async move {
            let (mut changes, put_aside) = (staged.changes.clone(), staged.put_aside.clone());
            let (tree, result) = gate.commit(tree, patch, staged).await;
            if let Ok(Extent::Part(left_out)) = &result {
                changes.retain(|change| !left_out.paths.contains(&change.path));
            }
            News::Committed(Box::new(QueuedCommit { tree, changes, put_aside, reply, result }))
        });
    }

    /// Takes the tree back after a change.
    pub(crate) async fn committed(&mut self, myself: &ActorRef<Msg>, commit: QueuedCommit) {
        let QueuedCommit { tree, changes, put_aside, reply, result } = commit;
        self.main_tree = tree;
        if let (Ok(_), Some(active)) = (&result, &mut self.active) {
            active.trail.follow(&changes);
            active.put_aside.extend(put_aside);
            let scope = active.run.scope().clone();
            count(active.written.entry(scope).or_default(), &changes);
        }
        if reply.send(result).is_err() {
            tracing::debug!("the requester of the change is gone");
        }
        if self.active.as_ref().is_some_and(|active| active.ending.is_some()) {
            self.finish().await;
        }
        self.commit_next(myself);
    }

    /// Decides whether a command may run. An answer holds for the rest of the run, unless the command would be confined
    /// less by now. A command allowed as a trial may also run as a check.
    pub(crate) fn permit(
        &mut self,
        myself: &ActorRef<Msg>,
        (scope, command, purpose): (Scope, CommandLine, Purpose),
        reply: RpcReplyPort<Result<(), Denied>>,
    ) {
        if !self.is_in_hand(&scope) {
            return;
        }
        let mut wanted = (scope.clone(), command.command().clone(), purpose, self.confined());
        // A command allowed before the run was resumed may be denied by now.
        if self
            .gate(&scope)
            .denied_since(Stage::Verifying, Act::Command(command.command()))
            .is_some()
            && let Some(active) = &mut self.active
        {
            active.permits.retain(|known, permit| {
                *known != wanted || matches!(permit, crate::root::Permission::Asking(_))
            });
        }
        if purpose == Purpose::Check(Network::Own) && self.was_tried(&wanted) {
            wanted.2 = Purpose::Trial;
        }
        let waiting =
            self.active.as_mut().map(|active| active.permits.entry(wanted.clone()).or_default());
        let Some(permit) = waiting else { return };
        match permit {
            crate::root::Permission::Known(known) => {
                if reply.send(known.clone()).is_err() {
                    tracing::debug!("the requester of the command is gone");
                }
            }
            crate::root::Permission::Asking(replies) => {
                replies.push(reply);
                if replies.len() == 1 {
                    let gate = self.gate(&scope);
                    self.tell(myself, async move {
                        News::Permitted(wanted, gate.permit(&command, purpose).await)
                    });
                }
            }
        }
    }

    /// Returns how far commands are confined, if that is known.
    fn confined(&self) -> Option<Degree> {
        self.run().sandbox.known_level().map(|level| level.degree())
    }

    /// Returns true if a command was allowed as a trial.
    fn was_tried(&self, (scope, command, _, confined): &Wanted) -> bool {
        let tried = (scope.clone(), command.clone(), Purpose::Trial, *confined);
        let known = self.active.as_ref().and_then(|active| active.permits.get(&tried));
        matches!(known, Some(crate::root::Permission::Known(Ok(()))))
    }

    /// Stores the answer about a command and replies to everyone who waits for it.
    pub(crate) fn permitted(&mut self, mut wanted: Wanted, result: &Result<(), Denied>) {
        let confined = self.confined();
        let Some(active) = &mut self.active else { return };
        let asking = active.permits.remove(&wanted);
        // By now it is known how far the command would be confined.
        wanted.3 = wanted.3.or(confined);
        active.permits.insert(wanted, crate::root::Permission::Known(result.clone()));
        if let Some(crate::root::Permission::Asking(replies)) = asking {
            for reply in replies {
                if reply.send(result.clone()).is_err() {
                    tracing::debug!("the requester of the command is gone");
                }
            }
        }
    }

    /// Decides whether a lane's patch may be written where its commands run. Ignores lanes of other runs.
    pub(crate) fn approve(
        &mut self,
        myself: &ActorRef<Msg>,
        scope: &Scope,
        (patch, changes): (String, Vec<Change>),
        reply: RpcReplyPort<Result<(), Denied>>,
    ) {
        if !self.is_in_hand(scope) {
            return;
        }
        let gate = self.gate(scope);
        if let Some(active) = &mut self.active {
            count(active.written.entry(scope.clone()).or_default(), &changes);
        }
        self.tell(
            myself,
            async move { News::Approved(reply, gate.approve(&patch, &changes).await) },
        );
    }

    /// Returns true if a scope belongs to the current run. Requests of other runs are not decided by its rules.
    fn is_in_hand(&self, scope: &Scope) -> bool {
        self.active.as_ref().is_some_and(|active| active.run.scope().contains(scope))
    }

    fn gate(&self, scope: &Scope) -> Gate {
        Gate {
            run: self.run().at(scope),
            current_rules: self.active.as_ref().and_then(|active| active.current_rules.clone()),
            said: self.active.as_ref().map(|active| Arc::clone(&active.said)).unwrap_or_default(),
            written: self
                .active
                .as_ref()
                .and_then(|active| active.written.get(scope).cloned())
                .unwrap_or_default(),
            session: self.session.clone(),
            request: self
                .active
                .as_ref()
                .map(|active| first_line(&active.run.redactor.redact(&active.request.text))),
            asked: None,
            always: Always::of(&self.dir, &self.idle.cache),
            grant: self.active.as_ref().and_then(|active| active.grant.clone()),
        }
    }
}

/// Adds the changes of a patch to the total.
fn count(written: &mut PatchTotal, changes: &[Change]) {
    written.add(&touched(changes));
}

/// Returns the files that a patch touches.
fn touched(changes: &[Change]) -> Vec<Touched<'_>> {
    changes.iter().map(touch).collect()
}

fn touch(change: &Change) -> Touched<'_> {
    let mode = |state: &Option<FileState>| state.as_ref().map(|it| it.mode);
    let (added, removed) = change.line_counts();
    let is_edited = matches!(change.op, Op::Modify) && mode(&change.before) == mode(&change.after);
    let how = if is_edited { Touch::Edited } else { Touch::Reshaped };
    Touched { path: change.path.as_str(), lines: added + removed, how }
}

/// Returns the beginning of a request, in one line.
fn first_line(text: &str) -> String {
    const LENGTH: usize = 60;
    text.lines().next().unwrap_or_default().chars().take(LENGTH).collect()
}

/// Everything needed to decide about an effect.
struct Gate {
    /// The run, in the scope that requests the effect.
    run: Run,
    /// The current rules, for a resumed run: what they deny must not be done any more.
    current_rules: Option<Arc<PolicyRules>>,
    /// The user's answers about commands of this run.
    said: Said,
    /// Total changes by earlier patches of this scope.
    written: PatchTotal,
    session: String,
    /// The user's request, in one line.
    request: Option<String>,
    /// What the user always allows.
    always: Always,
    /// The permissions of a mission's approved card.
    grant: Option<Arc<Grant>>,
    /// The id of the question asked, and who denied it, if it was denied.
    asked: Option<(String, DeniedBy)>,
}

impl Gate {
    /// Returns the denial of an effect that was forbidden after the run began. Recorded effects were done before that.
    fn denied_since(&self, stage: Stage, act: Act<'_>) -> Option<Verdict> {
        let current_rules =
            self.current_rules.as_ref().filter(|_| !self.run.publisher.follows())?;
        // Confinement affects what needs approval, not what is forbidden.
        let verdict = current_rules.decide(stage, act, Confinement::Full);
        matches!(verdict, Verdict::Stage { .. } | Verdict::Deny { .. }).then_some(verdict)
    }

    /// Returns the note of a change's checkpoint.
    fn note(&self, patch: &str, staged: &Staged) -> CheckpointNote {
        let title = &staged.title;
        let title = match &self.request {
            Some(request) => format!("{request} · {title}"),
            None => title.to_string(),
        };
        let run = Some(self.run.id().to_owned()).filter(|run| !run.is_empty());
        let is_way_back = staged.purpose == StagedFor::WayBack;
        CheckpointNote {
            title,
            patch: patch.to_owned(),
            session: self.session.clone(),
            run,
            is_way_back,
        }
    }
}
