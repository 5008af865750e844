//! What parts of a run want from the gate: changes, commands, and patches of lanes. Decided beside the mailbox; the answers
//! are kept for the rest of the run.

use std::sync::Arc;

use actors::answer;
use actors::run::always_allowed::Always;
use actors::run::workspace::{Denied, Purpose, Staged};
use facts::scope::Scope;
use policy::{Act, Stage, ToolKind};
use ractor::{ActorRef, RpcReplyPort};
use sandbox::{Degree, Network};
use shell::CommandLine;
use tree::Change;

use super::{Msg, News, State};
use crate::gate::Gate;
use crate::gate::memory::{Permission, Wanted};
use crate::gate::writer::{CommitReply, Written};

impl State {
    /// Passes a change on to the Writer. A change of a run that is over is not made: dropping the reply reports that.
    pub(crate) fn commit(&self, run: Option<&str>, staged: Staged, reply: CommitReply) {
        let at_work = self.at_work().map(|active| active.run.id());
        if run.is_some() && run != at_work {
            return;
        }
        let gate = self.gate(self.run().scope());
        let patch = staged.id.clone().unwrap_or_else(|| gate.run.fresh_id());
        self.writer.commit(gate, patch, staged, reply);
    }

    /// Keeps account of a change that was made.
    pub(crate) fn written(&mut self, Written { changes, put_aside }: Written) {
        let Some(active) = self.active_mut() else { return };
        active.trail.follow(&changes);
        active.put_aside.extend(put_aside);
        let scope = active.run.scope().clone();
        active.gate.count(&scope, &changes);
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
        let gate = self.gate(&scope);
        let mut wanted = (scope, command.command().clone(), purpose, self.confined());
        let denied_since = gate.denied_since(Stage::Verifying, Act::Command(command.command()));
        let Some(active) = self.active_mut() else { return };
        let permits = &mut active.gate.permits;
        // A command allowed before the run was resumed may be denied by now.
        if denied_since.is_some() && matches!(permits.get(&wanted), Some(Permission::Known(_))) {
            permits.remove(&wanted);
        }
        if purpose == Purpose::Check(Network::Own) && active.gate.was_tried(&wanted) {
            wanted.2 = Purpose::Trial;
        }
        match active.gate.permits.entry(wanted.clone()).or_default() {
            Permission::Known(known) => answer(reply, known.clone()),
            Permission::Asking(replies) => {
                replies.push(reply);
                if replies.len() == 1 {
                    self.start_work(myself, async move {
                        News::Permitted(wanted, gate.permit(&command, purpose).await)
                    });
                }
            }
        }
    }

    /// Stores the answer about a command and replies to everyone who waits for it.
    pub(crate) fn permitted(&mut self, mut wanted: Wanted, result: &Result<(), Denied>) {
        let confined = self.confined();
        let Some(active) = self.active_mut() else { return };
        let permits = &mut active.gate.permits;
        let asking = permits.remove(&wanted);
        // By now it is known how far the command would be confined.
        wanted.3 = wanted.3.or(confined);
        permits.insert(wanted, Permission::Known(result.clone()));
        if let Some(Permission::Asking(replies)) = asking {
            for reply in replies {
                answer(reply, result.clone());
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
        if let Some(active) = self.active_mut() {
            active.gate.count(scope, &changes);
        }
        self.start_work(myself, async move {
            News::Approved(reply, gate.approve(&patch, &changes).await)
        });
    }

    /// Decides whether a tool of a server may be called.
    pub(crate) fn permit_tool(
        &mut self,
        myself: &ActorRef<Msg>,
        scope: &Scope,
        (kind, call): (ToolKind, String),
        reply: RpcReplyPort<Result<(), Denied>>,
    ) {
        if !self.is_in_hand(scope) {
            return;
        }
        let gate = self.gate(scope);
        self.start_work(myself, async move {
            News::Approved(reply, gate.permit_tool(kind, call).await)
        });
    }

    /// Returns how far commands are confined, if that is known.
    fn confined(&self) -> Option<Degree> {
        self.run().sandbox.known_level().map(|level| level.degree())
    }

    /// Returns true if a scope belongs to the current run. Requests of other runs are not decided by its rules.
    fn is_in_hand(&self, scope: &Scope) -> bool {
        self.at_work().is_some_and(|active| active.run.scope().contains(scope))
    }

    fn gate(&self, scope: &Scope) -> Gate {
        let active = self.active();
        Gate {
            run: self.run().at(scope),
            current_rules: active.and_then(|active| active.current_rules.clone()),
            said: active.map(|active| Arc::clone(&active.gate.said)).unwrap_or_default(),
            written: active.map(|active| active.gate.written(scope)).unwrap_or_default(),
            session: self.session.clone(),
            request: active
                .map(|active| first_line(&active.run.redactor.redact(&active.request.text))),
            asked: None,
            always: Always::of(&self.dir, &self.idle.cache),
            grant: active.and_then(|active| active.grant().cloned()),
        }
    }
}

/// Returns the beginning of a request, in one line.
fn first_line(text: &str) -> String {
    const LENGTH: usize = 60;
    text.lines().next().unwrap_or_default().chars().take(LENGTH).collect()
}
