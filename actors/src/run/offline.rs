//! What a run does without a network: it ends soon, or it waits for one and then pauses. Which of them depends on the kind of
//! the run, not on time that has passed.

use std::sync::Arc;

use model::ModelError;
use tokio::sync::watch;

/// What a run does without a network, and its word to the orchestrator that it has waited long enough.
#[derive(Debug, Clone)]
pub struct Offline {
    /// True for work that no user watches: in an autopilot, a mission or a lane. It waits for a network.
    pub waits: bool,
    given_up: Arc<watch::Sender<Option<ModelError>>>,
}

impl Offline {
    /// Creates it for a run that waits for a network, or for one that ends.
    pub fn new(waits: bool) -> Self {
        Self { waits, given_up: Arc::new(watch::channel(None).0) }
    }

    /// Asks the orchestrator to pause the run. Never returns: the run ends here, and is resumed from its recording.
    pub(crate) async fn pause<T>(&self, why: ModelError) -> T {
        self.given_up.send_replace(Some(why));
        std::future::pending().await
    }

    /// Returns why the run has to pause, once it has to.
    pub async fn given_up(&self) -> ModelError {
        let mut given_up = self.given_up.subscribe();
        // The sender cannot close: it is in `self`.
        match given_up.wait_for(Option::is_some).await.map(|why| why.clone()) {
            Ok(Some(why)) => why,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}
