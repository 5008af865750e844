//! The supervision tree in one place: who is hired under the orchestrator, with what, and how a lost one is replaced.
//!
//! ```text
//! Orchestrator ─┬─ Router     replaced, its ledger recovered from the journal
//!               └─ Crew       its loss ends the run
//!                  └─ Architect, Editor, Applier, Verifier     the crew is rebuilt, at the price of an attempt
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::call::Caller;
use actors::event::Event;
use actors::ledger::{Allowance, Amount};
use actors::publisher::Publisher;
use actors::router::{Router, RouterSetup, Seat};
use lanes::crew::{Crew, CrewSetup};
use lanes::cycle::Goal;
use ractor::{ActorCell, ActorRef, SpawnErr};
use tools::tree::ReadTree;

use crate::journal::read;
use crate::orchestrator::{MainWorkspace, Msg, Setup};
use crate::request::Terms;

/// What a Router that died had counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LostLedger {
    spent: Amount,
    last_call: u64,
}

/// What a crew is hired for.
pub(crate) struct Work {
    pub(crate) run: String,
    pub(crate) request: String,
    pub(crate) evidence: String,
    pub(crate) goal: Goal,
}

fn router_setup(terms: &Terms, publisher: &Publisher, lost: LostLedger) -> RouterSetup {
    let Terms { config, prices, .. } = terms;
    RouterSetup {
        limits: Allowance::from(&config.budget),
        spent: lost.spent,
        last_call: lost.last_call,
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
    lost: LostLedger,
    orchestrator: &ActorRef<Msg>,
) -> Result<(Router, Seat), SpawnErr> {
    Router::spawn(router_setup(terms, publisher, lost), orchestrator.get_cell()).await
}

/// Puts a new Router in the seat of one that died.
pub(crate) async fn refill_router(
    seat: &Seat,
    terms: &Terms,
    publisher: &Publisher,
    lost: LostLedger,
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
        workspace: Arc::new(MainWorkspace { run, reader, actor: orchestrator.clone() }),
        caller,
        config: Arc::clone(&terms.config),
        rules: Arc::clone(&terms.rules),
        cache: setup.cache.clone(),
        hidden_env: setup.hidden_env.clone(),
    };
    Crew::spawn(crew, orchestrator.get_cell()).await
}

/// Lets an actor go with everything below it. Work in flight is dropped, and with it its calls and commands.
///
/// Returns when they are gone, so that what their calls cost is settled; an actor that does not go in time is left behind.
pub(crate) async fn dismiss(actor: ActorCell) {
    const PATIENCE: Duration = Duration::from_millis(500);
    // The parent first, so that it hears of no death it would have to do something about.
    let children = actor.get_children();
    for gone in [actor].into_iter().chain(children) {
        if gone.kill_and_wait(Some(PATIENCE)).await.is_err() {
            tracing::debug!(actor = ?gone.get_id(), "an actor did not go in time");
        }
    }
}

/// What the run had spent, from the journal. A call without a reply counts with all that was set aside for it.
#[expect(clippy::wildcard_enum_match_arm, reason = "only two kinds of events are about spending")]
pub(crate) async fn recover_ledger(session: PathBuf, run: String) -> LostLedger {
    let reading = tokio::task::spawn_blocking(move || read::read(&session)).await;
    let Ok(Ok(reading)) = reading else {
        // Without a journal nothing may be spent any more.
        return LostLedger {
            spent: Amount {
                nano_usd: tools::model::price::Usd::from_nanos(u64::MAX),
                tokens: u64::MAX,
                calls: u64::MAX,
            },
            last_call: 0,
        };
    };
    let records =
        reading.records.iter().filter(|record| record.run.as_deref() == Some(run.as_str()));
    let mut open = std::collections::BTreeMap::new();
    let mut lost = LostLedger::default();
    for event in records.filter_map(read::Record::event) {
        match event {
            Event::ModelRequest { call, reserved, .. } => {
                open.insert(call, reserved);
                lost.last_call = lost.last_call.max(call);
            }
            Event::ModelReply { call, charged, .. } | Event::CallDropped { call, charged } => {
                open.remove(&call);
                lost.spent = lost.spent.plus(charged);
            }
            _ => {}
        }
    }
    lost.spent = open.values().fold(lost.spent, |sum, amount| sum.plus(*amount));
    lost
}
