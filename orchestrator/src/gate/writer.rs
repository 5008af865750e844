//! The actor that owns the main tree. Its mailbox is the queue of changes, so there is one at a time, and none is aborted
//! when its run ends.
//!
//! Like a role it does its work in the handler: a change is asked about, preceded by a checkpoint and written before the
//! next one is looked at. If it dies, another one opens the tree and settles what was half done.

use std::path::PathBuf;
use std::sync::Arc;

use actors::answer;
use actors::mailbox::{Mailbox, Waits};
use actors::run::publisher::Publisher;
use actors::run::workspace::{CommitRefused, Extent, Staged};
use config::Config;
use facts::closed::JournalClosed;
use facts::event::Event;
use patch::PutAside;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, DerivedActorRef, RpcReplyPort, SpawnErr,
};
use tree::{Change, CommitError, Settled};

use super::Gate;
use crate::workspace::main_tree::{MainTree, not_written};
use crate::workspace::places::WorkspacePlaces;

pub(crate) type CommitReply = RpcReplyPort<Result<Extent, CommitRefused>>;

/// What a Writer is created with.
pub(crate) struct WriterSetup {
    /// The workspace, absolute.
    pub(crate) dir: PathBuf,
    pub(crate) places: WorkspacePlaces,
    pub(crate) config: Arc<Config>,
    /// The tree, if it is open already.
    pub(crate) tree: Option<MainTree>,
    /// Who is told of each change before the one who wanted it.
    pub(crate) above: DerivedActorRef<Written>,
    /// How waiting for it appears in the log.
    pub(crate) waits: Waits,
}

/// A change that was made.
pub(crate) struct Written {
    pub(crate) changes: Arc<[Change]>,
    /// Parts of the diff that were left out.
    pub(crate) put_aside: Vec<PutAside>,
}

enum Msg {
    Commit {
        gate: Box<Gate>,
        patch: String,
        staged: Box<Staged>,
        reply: CommitReply,
    },
    /// Settle the commits that other processes left half done.
    Settle {
        publisher: Publisher,
        reply: RpcReplyPort<()>,
    },
    /// Answer once everything before this is done.
    Finish {
        reply: RpcReplyPort<()>,
    },
}

/// A handle to the Writer.
#[derive(Clone)]
pub(crate) struct Writer {
    mailbox: Mailbox<Msg>,
}

impl Writer {
    /// Starts the Writer under `supervisor`. It accepts messages at once.
    pub(crate) fn spawn(setup: WriterSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let waits = setup.waits.clone();
        let (actor, _) =
            ractor::ActorRuntime::spawn_linked_instant(None, WriterActor, setup, supervisor)?;
        Ok(Self { mailbox: Mailbox::new(actor, waits) })
    }

    /// Returns the actor, for its supervisor.
    pub(crate) fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }

    /// Makes a change, if the gate lets it pass.
    pub(crate) fn commit(&self, gate: Gate, patch: String, staged: Staged, reply: CommitReply) {
        let (gate, staged) = (Box::new(gate), Box::new(staged));
        if self.mailbox.cast("commit", Msg::Commit { gate, patch, staged, reply }).is_err() {
            tracing::debug!("the writer is gone; a change is not made");
        }
    }

    /// Settles the commits that other processes left half done in the workspace.
    pub(crate) fn settle(&self, publisher: Publisher, reply: RpcReplyPort<()>) {
        if self.mailbox.cast("settle", Msg::Settle { publisher, reply }).is_err() {
            tracing::debug!("the writer is gone; nothing is settled");
        }
    }

    /// Waits until everything that it was told to do is done.
    pub(crate) async fn finish(&self) {
        if self.mailbox.call("finish", |reply| Msg::Finish { reply }, None).await.is_err() {
            tracing::debug!("the writer is gone");
        }
    }
}

struct WriterActor;

impl WriterSetup {
    /// Returns the tree. A Writer that replaces another one opens it, and settles what that one left half done.
    async fn tree(&mut self, publisher: &Publisher) -> Result<&MainTree, CommitError> {
        let tree = if let Some(tree) = self.tree.take() {
            tree
        } else {
            let Self { dir, places, config, .. } = &*self;
            let opened = MainTree::reopen(dir.clone(), places.clone(), Arc::clone(config));
            let (tree, settled) = opened.await?;
            tell_or_log(publisher, settled).await;
            tree
        };
        Ok(self.tree.insert(tree))
    }

    /// Does what a message says.
    async fn obey(&mut self, msg: Msg) {
        match msg {
            Msg::Commit { gate, patch, staged, reply } => {
                let put_aside = staged.put_aside.clone();
                let made = match self.tree(&gate.run.publisher).await {
                    Ok(tree) => gate.commit(tree, patch, *staged).await,
                    Err(error) => Err(not_written(&error)),
                };
                let result = made.map(|(extent, changes)| {
                    // If the orchestrator is gone, no account is kept any more.
                    self.above.cast(Written { changes, put_aside }).ok();
                    extent
                });
                answer(reply, result);
            }
            Msg::Settle { publisher, reply } => {
                let settled = match self.tree(&publisher).await {
                    Ok(tree) => tree.recovered().await,
                    Err(error) => Err(error),
                };
                match settled {
                    Ok(settled) => tell_or_log(&publisher, settled).await,
                    Err(error) => {
                        tracing::warn!(%error, "an interrupted commit could not be settled");
                    }
                }
                answer(reply, ());
            }
            Msg::Finish { reply } => answer(reply, ()),
        }
    }
}

impl Actor for WriterActor {
    type Msg = Msg;
    type State = WriterSetup;
    type Arguments = WriterSetup;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        setup: WriterSetup,
    ) -> Result<WriterSetup, ActorProcessingErr> {
        Ok(setup)
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        state: &mut WriterSetup,
    ) -> Result<(), ActorProcessingErr> {
        let waits = state.waits.clone();
        waits.working(state.obey(msg)).await;
        Ok(())
    }
}

/// Records the interrupted commits that were settled.
pub(crate) async fn tell_settled(
    publisher: &Publisher,
    settled: Vec<Settled>,
) -> Result<(), JournalClosed> {
    for Settled { label: patch, outcome, left } in settled {
        publisher.publish(Event::CommitSettled { patch, outcome, left }).await?;
    }
    Ok(())
}

/// As [`tell_settled`]; a closed journal will end the next request.
async fn tell_or_log(publisher: &Publisher, settled: Vec<Settled>) {
    if tell_settled(publisher, settled).await.is_err() {
        tracing::debug!("settled commits could not be recorded");
    }
}
