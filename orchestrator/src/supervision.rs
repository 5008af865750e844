//! The supervision tree in one place: who is hired under the orchestrator, with what, and how a lost one is replaced.
//!
//! ```text
//! Orchestrator ─┬─ Router     replaced, its ledger recovered from the journal
//!               ├─ Crew       its loss ends the run
//!               │  └─ Architect, Editor, Applier, Verifier     the crew is rebuilt, at the price of an attempt
//!               └─ Team       its loss ends the run
//!                  └─ Lane 01..N     its loss is that lane's end, and nobody else's
//!                     └─ Crew        as above
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::call::Caller;
use actors::event::Event;
use actors::lane_id::LaneId;
use actors::ledger::{Allowance, Amount};
use actors::publisher::Publisher;
use actors::router::{Book, Router, RouterSetup, Seat};
use actors::team::PlannedLane;
use lanes::crew::{Crew, CrewSetup};
use lanes::cycle::Goal;
use ractor::{ActorCell, ActorRef, SpawnErr};
use tools::model::price::Usd;
use tools::tree::ReadTree;

use crate::blocking::on_a_thread;
use crate::journal::read;
use crate::orchestrator::{Active, MainWorkspace, Msg, Setup};
use crate::places::snapshots;
use crate::request::Terms;
use crate::team::{Team, TeamSetup};
use crate::worktrees;

/// The accounts of a Router that died.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LostBooks {
    run: Book,
    lanes: BTreeMap<LaneId, Book>,
}

/// What a crew is hired for.
pub(crate) struct Work {
    pub(crate) run: String,
    pub(crate) request: String,
    pub(crate) evidence: String,
    pub(crate) goal: Goal,
}

fn router_setup(terms: &Terms, publisher: &Publisher, lost: LostBooks) -> RouterSetup {
    let Terms { config, prices, .. } = terms;
    let LostBooks { run, lanes } = lost;
    RouterSetup {
        book: Book { limits: Allowance::from(&config.budget), ..run },
        lanes,
        permits: config.llm.max_concurrent_calls,
        prices: Arc::clone(prices),
        publisher: publisher.clone(),
        timeout: Duration::from_secs(config.limits.role_timeout_seconds),
    }
}

/// Hires the Router of a run.
pub(crate) async fn hire_router(
    terms: &Terms,
    publisher: &Publisher,
    lost: LostBooks,
    orchestrator: &ActorRef<Msg>,
) -> Result<(Router, Seat), SpawnErr> {
    Router::spawn(router_setup(terms, publisher, lost), orchestrator.get_cell()).await
}

/// Puts a new Router in the seat of one that died.
pub(crate) async fn refill_router(
    seat: &Seat,
    terms: &Terms,
    publisher: &Publisher,
    lost: LostBooks,
    orchestrator: &ActorRef<Msg>,
) -> Result<(), SpawnErr> {
    seat.refill(router_setup(terms, publisher, lost), orchestrator.get_cell()).await
}

/// Hires a crew for the main tree.
pub(crate) async fn hire_crew(
    setup: &Setup,
    work: Work,
    reader: ReadTree,
    caller: Caller,
    terms: &Terms,
    orchestrator: &ActorRef<Msg>,
) -> Result<Crew, SpawnErr> {
    let Work { run, request, evidence, goal } = work;
    let crew = CrewSetup {
        request,
        evidence,
        goal,
        workspace: Arc::new(MainWorkspace { run, lane: None, reader, actor: orchestrator.clone() }),
        caller,
        config: Arc::clone(&terms.config),
        rules: Arc::clone(&terms.rules),
        cache: setup.cache.clone(),
        env: setup.env.clone(),
    };
    Crew::spawn(crew, orchestrator.get_cell()).await
}

/// Hires a team of lanes for the request in hand, with a directory for their worktrees.
pub(crate) async fn hire_team(
    setup: &Setup,
    work: Work,
    reader: ReadTree,
    caller: Caller,
    active: &mut Active,
    orchestrator: &ActorRef<Msg>,
) -> Result<Team, String> {
    let Work { run, request, evidence, .. } = work;
    let (dir, session) = (setup.places.lanes.join(&run), setup.session_id());
    let patience = Duration::from_secs(active.terms.config.limits.workspace_lock_timeout_seconds);
    let now = setup.clock.now();
    let claim = on_a_thread(move || worktrees::claim(dir, &session, now, patience)).await;
    let claim = claim.map_err(|error| format!("there is no place for worktrees: {error}"))?;
    let worktrees = claim.dir.clone();
    active.claim = Some(claim);
    let Terms { config, rules, .. } = &active.terms;
    let team = TeamSetup {
        run,
        request,
        evidence,
        reader,
        snapshots: snapshots(&setup.places, &setup.workspace, config),
        worktrees,
        caller,
        config: Arc::clone(config),
        rules: Arc::clone(rules),
        fresh_ids: Arc::clone(&setup.ids),
        clock: Arc::clone(&setup.clock),
        cache: setup.cache.clone(),
        env: setup.env.clone(),
        above: orchestrator.clone(),
    };
    Team::spawn(team, orchestrator.get_cell()).await.map_err(|error| error.to_string())
}

/// Lets an actor go with everything below it. Work in flight is dropped, and with it its calls and commands.
///
/// Returns when they are gone, so that what their calls cost is settled; an actor that does not go in time is left behind.
pub(crate) async fn dismiss(actor: ActorCell) {
    const PATIENCE: Duration = Duration::from_millis(500);
    // The parent first, so that it hears of no death it would have to do something about.
    let mut all = vec![actor];
    let mut at = 0;
    while let Some(above) = all.get(at) {
        all.extend(above.get_children());
        at += 1;
    }
    for gone in all {
        if gone.kill_and_wait(Some(PATIENCE)).await.is_err() {
            tracing::debug!(actor = ?gone.get_id(), "an actor did not go in time");
        }
    }
}

/// What the run had spent, from the journal. A call without a reply counts with all that was set aside for it. Of a run, or a
/// lane, that is `on_the_way`, only what it has come to counts.
#[expect(clippy::wildcard_enum_match_arm, reason = "only two kinds of events are about spending")]
pub(crate) async fn recover_ledger(
    session: PathBuf,
    run: String,
    on_the_way: BTreeMap<Option<LaneId>, u64>,
) -> LostBooks {
    let reading = tokio::task::spawn_blocking(move || read::read(&session)).await;
    let Ok(Ok(reading)) = reading else {
        // Without a journal nothing may be spent any more.
        let all = u64::MAX;
        let spent = Amount { nano_usd: Usd::from_nanos(all), tokens: all, calls: all };
        return LostBooks { run: Book { spent, ..Book::default() }, lanes: BTreeMap::new() };
    };
    let is_reached = |record: &&read::Record| {
        on_the_way.get(&record.lane()).is_none_or(|next| record.seq < *next)
    };
    let of_run = |record: &&read::Record| record.run.as_deref() == Some(run.as_str());
    let records = reading.records.iter().filter(of_run).filter(is_reached);
    let mut open = BTreeMap::new();
    let (mut lost, mut planned) = (LostBooks::default(), Vec::new());
    for (lane, event) in records.filter_map(|record| Some((record.lane(), record.event()?))) {
        let book = match lane {
            Some(lane) => lost.lanes.entry(lane).or_default(),
            None => &mut lost.run,
        };
        match event {
            Event::ModelRequest { call, reserved, .. } => {
                open.insert((lane, call), reserved);
                book.last_call = book.last_call.max(call);
            }
            Event::ModelReply { call, charged, .. } | Event::CallDropped { call, charged } => {
                open.remove(&(lane, call));
                book.spent = book.spent.plus(charged);
            }
            Event::LaneSpawned { budget, .. } => book.limits = budget,
            Event::LanesPlanned { lanes, .. } => planned = lanes,
            Event::LanesBegun { budget, .. } => {
                for PlannedLane { lane, .. } in &planned {
                    lost.lanes.entry(*lane).or_default().limits = budget;
                }
            }
            _ => {}
        }
    }
    for ((lane, _), reserved) in open {
        let book = lane.map_or(&mut lost.run, |lane| lost.lanes.entry(lane).or_default());
        book.spent = book.spent.plus(reserved);
    }
    lost
}
