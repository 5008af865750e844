//! Hosts stateless roles as actors: a question goes in and an answer comes out, one at a time.
//!
//! A role does its work inside the message handler: it serves a single caller, and cancelling kills the actor.

use std::marker::PhantomData;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};

use crate::mailbox::{Mailbox, Waits};
use crate::run::Run;
use crate::{Unanswered, answer};

/// The work of a role.
pub(crate) trait RoleWork: Send + Sync + 'static {
    /// The name of the role in the log.
    const NAME: &'static str;
    /// The question it is asked.
    type Question: Send + 'static;
    /// The answer it gives.
    type Answer: Send + 'static;

    /// Returns the run that it works for.
    fn run(&self) -> &Run;

    /// Answers a question.
    fn answer(&self, question: Self::Question) -> impl Future<Output = Self::Answer> + Send;
}

struct Msg<W: RoleWork> {
    question: W::Question,
    reply: RpcReplyPort<W::Answer>,
}

/// A handle to a running role.
pub(crate) struct RoleHost<W: RoleWork> {
    mailbox: Mailbox<Msg<W>>,
    timeout: Duration,
}

impl<W: RoleWork> Clone for RoleHost<W> {
    fn clone(&self) -> Self {
        Self { mailbox: self.mailbox.clone(), timeout: self.timeout }
    }
}

impl<W: RoleWork> RoleHost<W> {
    /// Starts a role under `supervisor`. An answer may take up to `timeout`.
    pub(crate) async fn spawn(
        work: W,
        timeout: Duration,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let waits = work.run().waits(W::NAME);
        let host = Host(PhantomData);
        let (actor, _) = Actor::spawn_linked(None, host, (work, waits.clone()), supervisor).await?;
        Ok(Self { mailbox: Mailbox::new(actor, waits), timeout })
    }

    /// Returns the actor itself, for its supervisor.
    pub(crate) fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }

    /// Asks a question.
    pub(crate) async fn ask(&self, question: W::Question) -> Result<W::Answer, Unanswered> {
        let message = |reply| Msg { question, reply };
        self.mailbox.call("answer", message, Some(self.timeout)).await
    }
}

struct Host<W>(PhantomData<fn() -> W>);

impl<W: RoleWork> Actor for Host<W> {
    type Msg = Msg<W>;
    type State = (W, Waits);
    type Arguments = (W, Waits);

    async fn pre_start(
        &self,
        _: ActorRef<Msg<W>>,
        work: (W, Waits),
    ) -> Result<(W, Waits), ActorProcessingErr> {
        Ok(work)
    }

    async fn handle(
        &self,
        _: ActorRef<Msg<W>>,
        Msg { question, reply }: Msg<W>,
        (work, waits): &mut (W, Waits),
    ) -> Result<(), ActorProcessingErr> {
        answer(reply, waits.working(work.answer(question)).await);
        Ok(())
    }
}
