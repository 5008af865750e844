//! Replays a session: runs it again through the same actors, with its recording instead of the outside world, and
//! compares event by event. It touches nothing outside a scratch directory, calls no model and runs no command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::run::recording::{AtRecordingEnd, Difference, Recording};
use actors::talk::prompts::Prompts;
use config::Config;
use facts::signal::{Attendance, Signal};
use mcp::Servers;
use model::NoModel;
use shell::Environment;
use thiserror::Error;
use tokio::sync::mpsc;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use crate::root::{Orchestrator, Setup, StartError};
use crate::session::past_requests::{EarlierError, InterruptedRun, RunRecords, runs};
use crate::workspace::places::WorkspacePlaces;
use journal::read::{ReadError, read_journal};

/// Why a session cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The recorded data cannot be understood.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// The actors cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The scratch directory cannot be used.
    #[error("cannot use the scratch directory")]
    Scratch(#[from] std::io::Error),
}

/// A replayed run.
#[derive(Debug)]
pub struct Replayed {
    /// The run's id.
    pub run: String,
    /// The user's request.
    pub request: String,
    /// Number of events compared.
    pub events: usize,
    /// True if its end is recorded.
    pub finished: bool,
    /// The first difference, if any.
    pub difference: Option<Difference>,
}

/// Replays the session in the directory `session`, up to the first difference.
pub async fn replay(session: &Path, scratch: &Path) -> Result<Vec<Replayed>, ReplayError> {
    let reading = read_journal(session)?;
    let runs = runs(&reading.records);
    let mut replayed = Vec::new();
    let Some(first) = runs.first() else { return Ok(replayed) };
    let orchestrator = on_stage(scratch, first.terms(session)?.config).await?;
    for run in runs {
        let recorded = run.recorded(session, AtRecordingEnd::Stop)?;
        let recording = Arc::clone(&recorded.recording);
        let patience = recorded.terms.config.limits.replay_timeout_seconds;
        let request = run.request();
        let (run_id, text) = (run.id.to_owned(), request.text.clone());
        drive(&orchestrator, InterruptedRun { request, recorded }, &recording, &run, patience)
            .await;
        let difference = recording.difference();
        let differs = difference.is_some();
        replayed.push(Replayed {
            run: run_id,
            request: text,
            events: recording.followed(),
            finished: run.is_finished(),
            difference,
        });
        if differs {
            break;
        }
    }
    orchestrator.stop();
    Ok(replayed)
}

/// Replays one run to the end of its recording.
async fn drive(
    orchestrator: &Orchestrator,
    run: InterruptedRun,
    recording: &Recording,
    records: &RunRecords<'_>,
    patience: u64,
) {
    let work = orchestrator.take_up(run);
    tokio::pin!(work);
    let over = async {
        recording.all_over().await;
        if records.is_finished() {
            // The run itself ends.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        _ = &mut work => recording.ended(),
        () = over => {}
        () = recording.stands_still(Duration::from_secs(patience)) => {}
    }
}

/// Starts an orchestrator that uses nothing but a scratch directory.
async fn on_stage(scratch: &Path, config: Arc<Config>) -> Result<Orchestrator, ReplayError> {
    let workspace = scratch.join("workspace");
    std::fs::create_dir_all(&workspace)?;
    let setup = Setup {
        workspace: workspace.canonicalize()?,
        session_dir: scratch.join("session"),
        cache: scratch.join("cache"),
        places: WorkspacePlaces {
            state: scratch.to_owned(),
            commits: scratch.join("commits"),
            checkpoints: scratch.join("checkpoints.git"),
            lanes: scratch.join("lanes"),
        },
        config,
        // A call that is not recorded is reported as a difference before it is made.
        model: Arc::new(NoModel),
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
        servers: Servers::none(),
        prompts: Prompts::default(),
        attendance: Attendance::Unattended,
        version: String::new(),
    };
    let (orchestrator, signals) = Orchestrator::start(setup).await?;
    tokio::spawn(ignore(signals));
    Ok(orchestrator)
}

async fn ignore(mut signals: mpsc::Receiver<Signal>) {
    while signals.recv().await.is_some() {}
}
