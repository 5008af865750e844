//! The mailbox of an actor, as its handle sends to it. What has had no answer for long is said in the log.
//!
//! Nothing here knows what a message means, or what is done about a missing answer.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use config::Config;
use facts::scope::Scope;
use ractor::rpc::CallResult;
use ractor::{ActorCell, ActorRef, Message, RpcReplyPort};
use tokio::time::{Instant, timeout};
use tracing::{Span, debug, info, info_span};

use crate::Unanswered;

tokio::task_local! {
    /// Who does the work of this task.
    static WAITING: &'static str;
}

/// The target of everything that is logged here. A span with it is open while an answer is late.
pub const LOG_TARGET: &str = module_path!();

/// How waiting appears in the log of a session, and how many messages of each kind are in flight. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WaitLog {
    session: Arc<str>,
    every: Duration,
    in_flight: InFlight,
}

/// The number of messages in flight, by who is to answer them.
type InFlight = Arc<Mutex<BTreeMap<&'static str, usize>>>;

impl WaitLog {
    /// Creates it for a session.
    pub fn new(session: &str, config: &Config) -> Self {
        let every = Duration::from_secs(config.limits.stall_seconds);
        Self { session: session.into(), every, in_flight: InFlight::default() }
    }

    /// Returns how waiting for one kind of actor appears, or for whatever else is waited for.
    pub fn of(&self, whom: &'static str, scope: &Scope) -> Waits {
        Waits { whom, scope: scope.clone(), log: self.clone() }
    }
}

/// How waiting for an answer appears in the log.
#[derive(Debug, Clone)]
pub struct Waits {
    whom: &'static str,
    scope: Scope,
    log: WaitLog,
}

impl Waits {
    /// Returns how an actor waits for its own work beside the mailbox.
    #[must_use]
    pub fn for_own_work(&self) -> Self {
        Self { whom: "its work", ..self.clone() }
    }

    /// Names this actor as the one who waits, in everything that `work` waits for.
    pub fn working<W: Future>(&self, work: W) -> impl Future<Output = W::Output> + use<W> {
        WAITING.scope(self.whom, work)
    }

    /// Waits for an answer. While it is late, the log says so every `limits.stall_seconds`.
    pub async fn answer<A: Future>(&self, what: &'static str, answer: A) -> A::Output {
        let Self { whom, scope, log: WaitLog { session, every, in_flight } } = self;
        let who = WAITING.try_with(|who| *who).unwrap_or("caller");
        let (sent, since) = (Sent::new(in_flight, whom), Instant::now());
        debug!(who, whom, what, %scope, in_flight = sent.in_flight(), "asked");
        let (mut answer, mut late) = (pin!(answer), None);
        loop {
            if let Ok(answer) = timeout(*every, answer.as_mut()).await {
                debug!(who, whom, what, %scope, took = ?since.elapsed(), "answered");
                return answer;
            }
            let (waited, in_flight) = (since.elapsed().as_secs(), sent.in_flight());
            let session = &**session;
            let open = || info_span!("late", session, who, whom, what, %scope, after = waited);
            let late: &Span = late.get_or_insert_with(open);
            info!(parent: late, waited, in_flight, "no answer yet");
        }
    }
}

/// A message in flight, until dropped.
struct Sent<'c> {
    counts: &'c Mutex<BTreeMap<&'static str, usize>>,
    whom: &'static str,
}

impl<'c> Sent<'c> {
    fn new(counts: &'c Mutex<BTreeMap<&'static str, usize>>, whom: &'static str) -> Self {
        *lock(counts).entry(whom).or_default() += 1;
        Self { counts, whom }
    }

    /// Returns the number of messages in flight of this kind.
    fn in_flight(&self) -> usize {
        lock(self.counts).get(self.whom).copied().unwrap_or_default()
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if let Some(count) = lock(self.counts).get_mut(self.whom) {
            *count -= 1;
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mailbox of a running actor. What a handle sends goes through it.
pub struct Mailbox<M> {
    actor: ActorRef<M>,
    waits: Waits,
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Self { actor: self.actor.clone(), waits: self.waits.clone() }
    }
}

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mailbox").field(&self.waits.whom).finish()
    }
}

impl<M: Message> Mailbox<M> {
    /// Creates the mailbox of an actor.
    pub const fn new(actor: ActorRef<M>, waits: Waits) -> Self {
        Self { actor, waits }
    }

    /// Returns the actor, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Sends a message and waits for its answer, at most for `limit`.
    pub async fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        message: impl FnOnce(RpcReplyPort<T>) -> M,
        limit: Option<Duration>,
    ) -> Result<T, Unanswered> {
        match self.waits.answer(what, self.actor.call(message, limit)).await {
            Ok(CallResult::Success(answer)) => Ok(answer),
            Ok(CallResult::Timeout) => Err(Unanswered::TimedOut),
            Ok(CallResult::SenderError) | Err(_) => Err(Unanswered::Stopped),
        }
    }

    /// Sends a message.
    pub fn cast(&self, what: &'static str, message: M) -> Result<(), Unanswered> {
        let Waits { whom, scope, .. } = &self.waits;
        debug!(whom, what, %scope, "told");
        self.actor.cast(message).map_err(|_| Unanswered::Stopped)
    }

    /// Waits for the answer to a message that was sent with a reply of its own.
    pub async fn answer<A: Future>(&self, what: &'static str, answer: A) -> A::Output {
        self.waits.answer(what, answer).await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;
    use crate::run::testing;

    #[tokio::test(start_paused = true)]
    async fn what_is_late_is_in_flight_until_nobody_waits_for_it() {
        let waits = testing::run(None).0.waits("model");
        let in_flight = || lock(&waits.log.in_flight).get("model").copied();
        let hour = Duration::from_hours(1);
        let waiting = timeout(hour, waits.answer("answer", pending::<()>()));
        let (given_up, ()) = tokio::join!(waiting, async {
            sleep(hour / 2).await;
            assert_eq!(in_flight(), Some(1));
        });
        assert!(given_up.is_err());
        assert_eq!(in_flight(), Some(0));
        waits.answer("answer", sleep(hour)).await;
        assert_eq!(in_flight(), Some(0));
    }
}
