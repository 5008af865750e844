//! The supervision tree: which actors the orchestrator starts, with what, and how a lost one is replaced.
//!
//! ```text
//! Orchestrator ─┬─ Writer        replaced, what it left half done is settled
//!               ├─ Router        replaced, its fold rebuilt from the journal
//!               ├─ Admission     replaced, its ledger recovered from the journal
//!               ├─ Crew       its loss ends the run
//!               │  └─ Architect, Editor, Applier, Verifier     the crew is rebuilt, at the cost of an attempt
//!               ├─ Team       its loss ends the run
//!               │  └─ Lane 01..N     its loss ends only that lane
//!               │     └─ Crew        as above
//!               ├─ Autopilot  its loss ends its work in this process
//!               └─ Pool       asks a mission's child questions
//!                  └─ worker 1..20    replaced; its question gets no answer
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::calls::admission::{Account, Admission, AdmissionSetup, Slot};
use actors::mailbox::WaitLog;
use actors::run::publisher::Publisher;
use actors::run::terms::Terms;
use facts::amounts::{Allowance, Amount, Charge, Spending};
use facts::event::Event;
use facts::scope::{Scope, Segment};
use facts::team::PlannedLane;
use index::Index;
use journal::read;
use model::price::Usd;
use ractor::{ActorCell, SpawnErr};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tools::blocking::on_a_thread;

use super::active::ToStop;
use crate::gate::writer::Writer;

/// How long work may take to stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// The accounts of an Admission actor that died.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LostAccounts {
    run: Account,
    parts: BTreeMap<Scope, Account>,
}

fn admission_setup(
    terms: &Terms,
    publisher: &Publisher,
    lost: LostAccounts,
    log: &WaitLog,
) -> AdmissionSetup {
    let Terms { config, prices, .. } = terms;
    let LostAccounts { run, parts } = lost;
    AdmissionSetup {
        account: Account { limits: Allowance::from(&config.budget), ..run },
        parts,
        permits: config.llm.max_concurrent_calls,
        prices: Arc::clone(prices),
        publisher: publisher.clone(),
        timeout: Duration::from_secs(config.limits.role_timeout_seconds),
        waits: log.of("admission", publisher.scope()),
    }
}

/// Starts the Admission actor of a run.
pub(crate) async fn start_admission(
    terms: &Terms,
    publisher: &Publisher,
    lost: LostAccounts,
    log: &WaitLog,
    orchestrator: ActorCell,
) -> Result<(Admission, Slot), SpawnErr> {
    Admission::spawn(admission_setup(terms, publisher, lost, log), orchestrator).await
}

/// Puts a new Admission actor in the slot of one that died.
pub(crate) async fn restart_admission(
    slot: &Slot,
    terms: &Terms,
    publisher: &Publisher,
    lost: LostAccounts,
    log: &WaitLog,
    orchestrator: ActorCell,
) -> Result<(), SpawnErr> {
    slot.refill(admission_setup(terms, publisher, lost, log), orchestrator).await
}

/// Kills an actor and everything below it. Work in flight is dropped, along with its calls and commands.
///
/// Returns once they are gone, so that the cost of their calls is settled; an actor that does not stop in time is
/// abandoned.
pub(crate) async fn shut_down(actor: ActorCell) {
    // The parent first, so that it does not react to the deaths of its children.
    let mut all = vec![actor];
    let mut at = 0;
    while let Some(above) = all.get(at) {
        all.extend(above.get_children());
        at += 1;
    }
    for gone in all {
        if gone.kill_and_wait(Some(PATIENCE)).await.is_err() {
            tracing::debug!(actor = ?gone.get_id(), "an actor did not stop in time");
        }
    }
}

/// Stops everything that works on a request, and waits for the changes that are being made.
pub(crate) async fn stop_work(
    mut work: JoinSet<()>,
    ToStop { actors, children }: ToStop,
    stop: watch::Sender<bool>,
    writer: Writer,
) {
    // Wait for it before the actors are killed, so that its last call is counted.
    if tokio::time::timeout(PATIENCE, work.shutdown()).await.is_err() {
        tracing::debug!("work of a request did not stop in time");
    }
    for actor in actors {
        shut_down(actor).await;
    }
    if let Some(children) = children {
        children.give_up().await;
    }
    stop.send_replace(true);
    writer.finish().await;
}

/// Closes the index with the session.
pub(crate) async fn close_index(index: Index) {
    on_a_thread(move || index.close()).await;
}

/// Recovers a run's spending from the journal. A call without a reply counts with everything reserved for it. For a run
/// or lane in `on_the_way`, only the events before the given number count.
#[expect(clippy::wildcard_enum_match_arm, reason = "only two kinds of events are about spending")]
pub(crate) async fn recover_ledger(
    session: PathBuf,
    run: Scope,
    on_the_way: BTreeMap<Scope, u64>,
) -> LostAccounts {
    let reading = tokio::task::spawn_blocking(move || read::read_journal(&session)).await;
    let Ok(Ok(reading)) = reading else {
        // Without a journal, nothing more may be spent.
        let all = u64::MAX;
        let known =
            Amount { nano_usd: Usd::from_nanos(all), tokens: all, calls: all, reasoning: 0 };
        let spent = Spending { known, ..Spending::default() };
        return LostAccounts {
            run: Account { spent, ..Account::default() },
            parts: BTreeMap::new(),
        };
    };
    let is_reached = |record: &&read::Record| {
        on_the_way.get(&record.scope()).is_none_or(|next| record.seq < *next)
    };
    let of_run = |record: &&read::Record| record.run.as_deref() == run.run();
    let records = reading.records.iter().filter(of_run).filter(is_reached);
    let mut open = BTreeMap::new();
    let (mut lost, mut planned) = (LostAccounts::default(), Vec::new());
    for (scope, event) in records.filter_map(|record| Some((record.scope(), record.event()?))) {
        let account =
            if scope == run { &mut lost.run } else { lost.parts.entry(scope.clone()).or_default() };
        match event {
            Event::ModelRequest { call, reserved, .. } => {
                open.insert((scope, call), reserved);
                account.last_call = account.last_call.max(call);
            }
            Event::ModelReply { call, charged, usage, error, .. } => {
                open.remove(&(scope, call));
                let charge = Charge::of(charged, usage.as_ref(), error.as_ref());
                account.spent = account.spent.plus(charge.spending());
            }
            Event::CallDropped { call, charged } => {
                open.remove(&(scope, call));
                account.spent = account.spent.plus(Charge::AtMost(charged).spending());
            }
            Event::LaneSpawned { budget, .. } => account.limits = budget,
            Event::LanesPlanned { lanes, .. } => planned = lanes,
            Event::LanesBegun { budget, .. } => {
                for PlannedLane { lane, .. } in &planned {
                    let part = run.within(Segment::Lane(*lane));
                    lost.parts.entry(part).or_default().limits = budget;
                }
            }
            _ => {}
        }
    }
    for ((scope, _), reserved) in open {
        let account =
            if scope == run { &mut lost.run } else { lost.parts.entry(scope).or_default() };
        account.spent = account.spent.plus(Charge::AtMost(reserved).spending());
    }
    lost
}
