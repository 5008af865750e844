//! A post in the supervision tree without work of its own: it stands for those below it. When it is killed they go with it;
//! when one of them dies, whoever waits for its work hears of it, and nobody else is touched.

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};

struct Post;

/// Puts a post under `supervisor`.
pub async fn spawn(supervisor: ActorCell) -> Result<ActorCell, SpawnErr> {
    let (actor, _) = Actor::spawn_linked(None, Post, (), supervisor).await?;
    Ok(actor.get_cell())
}

impl Actor for Post {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        _: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}
