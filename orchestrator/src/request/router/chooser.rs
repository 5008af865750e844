//! The actor behind the router: it keeps the fold of its session, and answers with a choice.

use std::sync::Arc;

use actors::answer;
use facts::model_choice::{Assessment, Signals, assess};
use facts::signal::Attendance;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::session_fold::{SessionFold, SessionPages};
use super::{Msg, RouteAsk};

pub(super) struct RouterActor;

pub(super) struct State {
    session: Arc<dyn SessionPages>,
    past: SessionFold,
}

impl Actor for RouterActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Arc<dyn SessionPages>;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        session: Arc<dyn SessionPages>,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { session, past: SessionFold::begin() })
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        Msg::Route(ask, reply): Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let route = match state.past.clone().read_on(Arc::clone(&state.session)).await {
            Ok(past) => {
                state.past = past;
                Some(state.assessed(&ask))
            }
            Err(error) => {
                tracing::warn!(%error, "the router cannot read the journal");
                None
            }
        };
        answer(reply, route);
        Ok(())
    }
}

impl State {
    fn assessed(&self, ask: &RouteAsk) -> Assessment {
        let signals = Signals {
            request: &ask.request,
            files: ask.files,
            is_unattended: ask.attendance == Attendance::Unattended,
            past: self.past.fold.before(&ask.scope),
        };
        assess(signals, &ask.config.router)
    }
}
