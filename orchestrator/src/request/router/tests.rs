//! Kills the router during a choice, and compares what it knows with the turns of recorded sessions.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use actors::answer;
use actors::mailbox::WaitLog;
use facts::model_choice::{ModelChoice, PastSignals, RouterFold};
use journal::read::{ReadError, read_journal};
use ractor::{ActorProcessingErr, ActorRef, SupervisionEvent};
use tools::clock::{FixedClock, Timestamp};

use super::session_fold::SessionFold;
use super::*;
use crate::session::past_requests::SessionPast;
use facts::delivery::{Delivery, NeedsWork};
use facts::words::Side;
use journal::log::{Capacity, Journal};

/// A journal whose first reader waits in the middle of reading.
struct Stalling {
    session: PathBuf,
    /// Told when the first reader has begun; it goes on when the sender of the second end is gone.
    first: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl SessionPages for Stalling {
    fn read_on(&self, past: SessionFold) -> Result<SessionFold, ReadError> {
        let first = self.first.lock().unwrap().take();
        if let Some((begun, goes_on)) = first {
            begun.send(()).unwrap();
            goes_on.recv().ok();
        }
        self.session.read_on(past)
    }
}

/// How waiting for the router appears in the log.
fn waits() -> Waits {
    WaitLog::new("s", &asked("s").config).of("router", &Scope::SESSION)
}

/// Keeps a slot as the orchestrator does.
struct Keeper;

struct Kept {
    slot: RouterSlot,
    publisher: Publisher,
}

impl Actor for Keeper {
    type Msg = RpcReplyPort<(ModelRouter, ActorCell)>;
    type State = Kept;
    type Arguments = (Arc<dyn SessionPages>, Publisher);

    async fn pre_start(
        &self,
        me: ActorRef<Self::Msg>,
        (session, publisher): Self::Arguments,
    ) -> Result<Kept, ActorProcessingErr> {
        Ok(Kept { slot: RouterSlot::reading(session, waits(), me.get_cell()).await?, publisher })
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        reply: Self::Msg,
        Kept { slot, .. }: &mut Kept,
    ) -> Result<(), ActorProcessingErr> {
        answer(reply, (slot.handle(), slot.slot.borrow().cell()));
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        Kept { slot, publisher }: &mut Kept,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(who, _) | SupervisionEvent::ActorTerminated(who, ..) =
            event
            && slot.holds(&who)
        {
            slot.refill(publisher, me.get_cell()).await?;
        }
        Ok(())
    }
}

fn turn(text: &str) -> Event {
    Event::TurnAdded {
        speaker: Side::User,
        text: text.to_owned(),
        intent: None,
        card: None,
        course: None,
    }
}

fn failed() -> Event {
    let delivery =
        Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail: "no answer".to_owned().into() };
    let spent = facts::amounts::Amount::default();
    Event::RunFinished { delivery, spent, spent_unknown: spent, rollbacks: Vec::new() }
}

fn asked(run: &str) -> RouteAsk {
    let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
    RouteAsk {
        scope: Scope::of_run(run),
        request: "Why?".to_owned(),
        files: 3,
        attendance: Attendance::Attended,
        config: Arc::new(config),
    }
}

#[tokio::test]
async fn a_router_that_is_killed_during_a_choice_is_rebuilt_and_chooses_alike() {
    let dir = tempfile::tempdir().unwrap();
    let (screen, mut seen) = tokio::sync::mpsc::channel(100);
    tokio::spawn(async move { while seen.recv().await.is_some() {} });
    let capacity = Capacity { queue: 8, patience: Duration::ZERO };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let (_journal, inlet) = Journal::create(dir.path(), clock, capacity, screen).unwrap();
    let publisher = Publisher::new(inlet);
    for run in ["a", "b"] {
        publisher.for_run(run).publish(turn("Why?")).await.unwrap();
        publisher.for_run(run).record(failed()).await.unwrap();
    }
    publisher.for_run("c").publish(turn("Why?")).await.unwrap();

    let plain: Arc<dyn SessionPages> = Arc::new(dir.path().to_owned());
    let ((begun, has_begun), (goes_on, waits)) = (channel(), channel());
    let first = Mutex::new(Some((begun, waits)));
    let stalling = Arc::new(Stalling { session: dir.path().to_owned(), first });
    let mut routes = Vec::new();
    let (keeper, _) = Actor::spawn(None, Keeper, (plain, publisher.clone())).await.unwrap();
    let (router, _) = keeper.call(|reply| reply, None).await.unwrap().unwrap();
    routes.push(router.route(asked("c")).await.unwrap());

    let (keeper, _) = Actor::spawn(None, Keeper, (stalling as _, publisher.clone())).await.unwrap();
    let (router, actor) = keeper.call(|reply| reply, None).await.unwrap().unwrap();
    let route = tokio::spawn(async move { router.route(asked("c")).await });
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    actor.kill_and_wait(None).await.unwrap();
    routes.push(route.await.unwrap().unwrap());
    drop(goes_on);

    assert_eq!(routes[0], routes[1]);
    assert_eq!((routes[0].choice, routes[0].features.failure_streak), (ModelChoice::MaxThink, 1.0));
    // What was recorded of the death and of its own run makes no difference to the next choice either.
    publisher.for_run("c").record(turn("still asking")).await.unwrap();
    let (router, again) = keeper.call(|reply| reply, None).await.unwrap().unwrap();
    assert_ne!(actor.get_id(), again.get_id());
    assert_eq!(router.route(asked("c")).await.unwrap(), routes[0]);
    let records = read_journal(dir.path()).unwrap().records;
    let died = Event::RoleCrashed { role: Role::ModelRouter };
    let deaths = records.iter().filter(|record| record.event().as_ref() == Some(&died));
    assert_eq!(deaths.map(|record| record.run.clone()).collect::<Vec<_>>(), [None]);
}

#[tokio::test]
async fn without_a_journal_no_model_is_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let (keeper, _) = Actor::spawn(None, Idle, ()).await.unwrap();
    let slot = RouterSlot::fill(dir.path(), waits(), keeper.get_cell()).await.unwrap();
    assert_eq!(slot.handle().route(asked("a")).await, None);
}

struct Idle;

impl Actor for Idle {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// What the turns of a session say, which are restored from the same journal in another way.
fn of_turns(past: &SessionPast) -> PastSignals {
    let (mut failures, last) = (0, past.turns.last());
    for turn in &past.turns {
        if turn.is_done() {
            failures = 0;
        }
        failures += usize::from(matches!(turn.delivery, Delivery::NeedsWork { .. }));
    }
    PastSignals {
        failures,
        failing_checks: last.map_or(0, |turn| turn.failing.len()),
        failed_tools: 0,
        assumptions: last.and_then(|turn| turn.plan.as_ref()).map_or(0, |it| it.assumptions.len()),
    }
}

#[test]
fn the_fold_knows_of_recorded_sessions_what_their_turns_know() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let mut told = Vec::new();
    for session in fs::read_dir(golden).unwrap() {
        let session = session.unwrap().path();
        let records = read_journal(&session).unwrap().records;
        let mut fold = RouterFold::default();
        for record in &records {
            fold.note(&record.scope(), &record.event().unwrap());
        }
        let past = SessionPast::read(&session, &records).unwrap();
        let known = fold.before(&Scope::of_run("the next"));
        assert_eq!(known, of_turns(&past), "{}", session.display());
        told.push(known);
    }
    assert!(told.iter().any(|known| known.failures > 0 && known.failing_checks > 0), "{told:?}");
}
