//! Work beside a mailbox: an actor starts it and goes on with its messages, and the end of the work is one of them.
//!
//! This is the only way in which an actor waits for anything but the journal's queue. The exceptions are the roles and
//! whoever works like them: they serve one caller at a time, so their mailbox is the queue of their work.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use ractor::{ActorRef, Message};
use thiserror::Error;
use tokio::task::JoinSet;

use crate::mailbox::Waits;

/// The work panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the work panicked")]
pub struct Panicked;

/// How work ended, with the round in which it was started.
#[derive(Debug)]
pub struct Finished<T> {
    round: u64,
    result: Result<T, Panicked>,
}

impl<T> Finished<T> {
    /// Returns the result, whatever the round.
    pub fn result(self) -> Result<T, Panicked> {
        self.result
    }
}

/// The work beside one actor. It is aborted when this is dropped.
#[derive(Debug)]
pub struct Workers {
    waits: Waits,
    round: u64,
    tasks: JoinSet<()>,
}

impl Workers {
    /// Creates it for an actor that is waited for like this.
    pub fn new(waits: Waits) -> Self {
        Self { waits, round: 0, tasks: JoinSet::new() }
    }

    /// Starts work. Its end, or its panic, arrives as the message that `into` makes of it.
    pub fn start<M, T>(
        &mut self,
        what: &'static str,
        myself: &ActorRef<M>,
        work: impl Future<Output = T> + Send + 'static,
        into: impl FnOnce(Finished<T>) -> M + Send + 'static,
    ) where
        M: Message,
        T: Send + 'static,
    {
        let waits = self.waits.for_own_work();
        self.expect(myself, async move { waits.answer(what, work).await }, into);
    }

    /// Starts to wait for something that may never happen, such as a deadline. However long it takes, nothing is late.
    pub fn expect<M, T>(
        &mut self,
        myself: &ActorRef<M>,
        work: impl Future<Output = T> + Send + 'static,
        into: impl FnOnce(Finished<T>) -> M + Send + 'static,
    ) where
        M: Message,
        T: Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        let (myself, round) = (myself.clone(), self.round);
        let work = self.waits.working(work);
        self.tasks.spawn(async move {
            let result = AssertUnwindSafe(work).catch_unwind().await.map_err(|_| Panicked);
            if myself.cast(into(Finished { round, result })).is_err() {
                tracing::debug!("the actor has stopped; a result is dropped");
            }
        });
    }

    /// Returns how work ended; `None` if it belongs to an earlier round.
    pub fn admit<T>(&self, finished: Finished<T>) -> Option<Result<T, Panicked>> {
        (finished.round == self.round).then_some(finished.result)
    }

    /// Begins a new round. Work that is running goes on, but its end is not admitted any more.
    pub const fn next_round(&mut self) {
        self.round += 1;
    }

    /// Waits until all work has ended. For an actor that stops.
    pub async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Begins a new round, and returns the work of the earlier ones, which is aborted when dropped.
    pub fn retire(&mut self) -> JoinSet<()> {
        self.next_round();
        std::mem::take(&mut self.tasks)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use ractor::{Actor, ActorProcessingErr, RpcReplyPort};
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    struct Counter;

    enum Msg {
        Start(oneshot::Receiver<u32>),
        NextRound(RpcReplyPort<()>),
        Ended(Finished<u32>),
    }

    struct State {
        workers: Workers,
        ends: mpsc::Sender<Option<Result<u32, Panicked>>>,
        dropped: Arc<AtomicBool>,
    }

    struct SetOnDrop(Arc<AtomicBool>);

    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    impl Actor for Counter {
        type Msg = Msg;
        type State = State;
        type Arguments = State;

        async fn pre_start(
            &self,
            _: ActorRef<Msg>,
            state: State,
        ) -> Result<State, ActorProcessingErr> {
            Ok(state)
        }

        async fn handle(
            &self,
            myself: ActorRef<Msg>,
            msg: Msg,
            state: &mut State,
        ) -> Result<(), ActorProcessingErr> {
            match msg {
                Msg::Start(value) => {
                    let held = SetOnDrop(Arc::clone(&state.dropped));
                    let work = async move {
                        let value = value.await.expect("the test sends a value");
                        drop(held);
                        value
                    };
                    state.workers.start("counting", &myself, work, Msg::Ended);
                }
                Msg::NextRound(reply) => {
                    state.workers.next_round();
                    crate::answer(reply, ());
                }
                Msg::Ended(finished) => {
                    state.ends.try_send(state.workers.admit(finished)).ok();
                }
            }
            Ok(())
        }
    }

    type Ends = mpsc::Receiver<Option<Result<u32, Panicked>>>;

    async fn counter() -> (ActorRef<Msg>, Ends, Arc<AtomicBool>) {
        let (ends, received) = mpsc::channel(8);
        let dropped = Arc::new(AtomicBool::new(false));
        let workers = Workers::new(crate::run::testing::run(None).0.waits("counter"));
        let state = State { workers, ends, dropped: Arc::clone(&dropped) };
        let (actor, _) = Actor::spawn(None, Counter, state).await.unwrap();
        (actor, received, dropped)
    }

    #[tokio::test]
    async fn ends_and_panics_are_messages() {
        let (actor, mut ends, _) = counter().await;
        let (value, work) = oneshot::channel();
        actor.cast(Msg::Start(work)).unwrap();
        value.send(7).unwrap();
        assert_eq!(ends.recv().await, Some(Some(Ok(7))));
        let (value, work) = oneshot::channel();
        actor.cast(Msg::Start(work)).unwrap();
        drop(value);
        assert_eq!(ends.recv().await, Some(Some(Err(Panicked))));
    }

    #[tokio::test]
    async fn the_mailbox_goes_on_and_ends_of_an_earlier_round_are_not_admitted() {
        let (actor, mut ends, _) = counter().await;
        let (value, work) = oneshot::channel();
        actor.cast(Msg::Start(work)).unwrap();
        actor.call(Msg::NextRound, None).await.unwrap().unwrap();
        value.send(7).unwrap();
        assert_eq!(ends.recv().await, Some(None));
    }

    #[tokio::test]
    async fn work_ends_with_its_actor() {
        let (actor, mut ends, dropped) = counter().await;
        let (_value, work) = oneshot::channel();
        actor.cast(Msg::Start(work)).unwrap();
        actor.call(Msg::NextRound, None).await.unwrap().unwrap();
        actor.stop_and_wait(None, None).await.unwrap();
        assert_eq!(ends.recv().await, None);
        tokio::task::yield_now().await;
        assert!(dropped.load(Ordering::SeqCst));
    }
}
