//! The router: an actor that knows what a session has been through, and chooses the model that answers a question.
//!
//! It owns a fold of the session's journal, and reads on before each choice. The turns that were over when the run of a
//! question began are all on disk, so neither the order in which messages arrive nor the death of the actor changes a
//! choice. Calls of the edit loop never pass it.

mod chooser;
mod session_fold;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::mailbox::{Mailbox, Waits};
use actors::run::publisher::Publisher;
use config::Config;
use facts::event::Event;
use facts::model_choice::Assessment;
use facts::scope::Scope;
use facts::signal::Attendance;
use facts::words::Role;
use ractor::{Actor, ActorCell, RpcReplyPort, SpawnErr};
use tokio::sync::watch;

use self::chooser::RouterActor;
use self::session_fold::SessionPages;

/// A question whose model is to be chosen.
#[derive(Debug, Clone)]
pub(crate) struct RouteAsk {
    /// Where it is asked.
    pub(crate) scope: Scope,
    /// The request, including what is pasted in it.
    pub(crate) request: String,
    /// Number of files in the workspace that are related to it.
    pub(crate) files: usize,
    /// Whether a user waits for the answer.
    pub(crate) attendance: Attendance,
    /// The configuration of its run.
    pub(crate) config: Arc<Config>,
}

/// A message to the router.
enum Msg {
    Route(Box<RouteAsk>, RpcReplyPort<Option<Assessment>>),
}

/// A handle to the current router; when the actor dies, the handle reaches its successor.
#[derive(Clone)]
pub(crate) struct ModelRouter(watch::Receiver<Mailbox<Msg>>);

impl ModelRouter {
    /// Chooses the model that answers a question; `None` if the journal cannot be read, or if the router is gone for good.
    pub(crate) async fn route(&self, ask: RouteAsk) -> Option<Assessment> {
        let mut slot = self.0.clone();
        loop {
            let router = slot.borrow_and_update().clone();
            let ask = Box::new(ask.clone());
            let message = |reply| Msg::Route(ask, reply);
            if let Ok(route) = router.call("route", message, None).await {
                return route;
            }
            // The actor died: ask its successor, if one is started.
            tokio::time::timeout(SUCCESSION, slot.changed()).await.ok()?.ok()?;
        }
    }
}

/// How long the slot may hold a dead actor; its supervisor refills it as soon as it is notified.
const SUCCESSION: Duration = Duration::from_secs(5);

/// The slot that holds the router of a session; its supervisor keeps it.
pub(crate) struct RouterSlot {
    slot: watch::Sender<Mailbox<Msg>>,
    session: Arc<dyn SessionPages>,
    waits: Waits,
}

impl RouterSlot {
    /// Starts the router of the session in this directory.
    pub(crate) async fn fill(
        session: &Path,
        waits: Waits,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        Self::reading(Arc::new(session.to_owned()), waits, supervisor).await
    }

    async fn reading(
        session: Arc<dyn SessionPages>,
        waits: Waits,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let (actor, _) =
            Actor::spawn_linked(None, RouterActor, Arc::clone(&session), supervisor).await?;
        let slot = watch::channel(Mailbox::new(actor, waits.clone())).0;
        Ok(Self { slot, session, waits })
    }

    /// Puts a new router in place of one that died, and records that.
    pub(crate) async fn refill(
        &self,
        publisher: &Publisher,
        supervisor: ActorCell,
    ) -> Result<(), SpawnErr> {
        let session = Arc::clone(&self.session);
        let (actor, _) = Actor::spawn_linked(None, RouterActor, session, supervisor).await?;
        self.slot.send_replace(Mailbox::new(actor, self.waits.clone()));
        let died = Event::RoleCrashed { role: Role::ModelRouter };
        if publisher.publish(died).await.is_err() {
            tracing::debug!("the death of a router is not in the journal");
        }
        Ok(())
    }

    /// Returns a handle to whatever router is in the slot.
    pub(crate) fn handle(&self) -> ModelRouter {
        ModelRouter(self.slot.subscribe())
    }

    /// Returns true if this is the actor in the slot.
    pub(crate) fn holds(&self, who: &ActorCell) -> bool {
        self.slot.borrow().cell().get_id() == who.get_id()
    }
}

#[cfg(test)]
mod tests;
