//! Hosts stateless roles as actors: a question goes in and an answer comes out, one at a time.
//!
//! A role does its work inside the message handler: it serves a single caller, and cancelling kills the actor.

use std::marker::PhantomData;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};

use crate::{Unanswered, answer, answered};

/// The work of a role.
pub(crate) trait RoleWork: Send + Sync + 'static {
    /// The question it is asked.
    type Question: Send + 'static;
    /// The answer it gives.
    type Answer: Send + 'static;

    /// Answers a question.
    fn answer(&self, question: Self::Question) -> impl Future<Output = Self::Answer> + Send;
}

struct Msg<W: RoleWork> {
    question: W::Question,
    reply: RpcReplyPort<W::Answer>,
}

/// A handle to a running role.
pub(crate) struct RoleHost<W: RoleWork> {
    actor: ActorRef<Msg<W>>,
    timeout: Duration,
}

impl<W: RoleWork> Clone for RoleHost<W> {
    fn clone(&self) -> Self {
        Self { actor: self.actor.clone(), timeout: self.timeout }
    }
}

impl<W: RoleWork> RoleHost<W> {
    /// Starts a role under `supervisor`. An answer may take up to `timeout`.
    pub(crate) async fn spawn(
        work: W,
        timeout: Duration,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let host = Host(PhantomData);
        let (actor, _) = Actor::spawn_linked(None, host, work, supervisor).await?;
        Ok(Self { actor, timeout })
    }

    /// Returns the actor itself, for its supervisor.
    pub(crate) fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Asks a question.
    pub(crate) async fn ask(&self, question: W::Question) -> Result<W::Answer, Unanswered> {
        let message = |reply| Msg { question, reply };
        answered(self.actor.call(message, Some(self.timeout)).await)
    }
}

struct Host<W>(PhantomData<fn() -> W>);

impl<W: RoleWork> Actor for Host<W> {
    type Msg = Msg<W>;
    type State = W;
    type Arguments = W;

    async fn pre_start(&self, _: ActorRef<Msg<W>>, work: W) -> Result<W, ActorProcessingErr> {
        Ok(work)
    }

    async fn handle(
        &self,
        _: ActorRef<Msg<W>>,
        Msg { question, reply }: Msg<W>,
        work: &mut W,
    ) -> Result<(), ActorProcessingErr> {
        answer(reply, work.answer(question).await);
        Ok(())
    }
}
