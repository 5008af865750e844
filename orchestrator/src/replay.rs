//! Replays a session: drives its runs again through the same actors, with what is recorded in place of the world, and
//! compares event by event. Nothing outside of a scratch directory is touched, no model is asked and no command is run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::prompts::Prompts;
use actors::publisher::{Attendance, Signal};
use actors::recording::{Beyond, Difference, Recording};
use config::Config;
use model::NoModel;
use shell::Environment;
use thiserror::Error;
use tokio::sync::mpsc;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use crate::earlier::{CutShort, EarlierError, RunRecords, runs};
use crate::orchestrator::{Orchestrator, Setup, StartError};
use crate::places::Places;
use journal::read::{ReadError, read};

/// Why a session cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What is recorded cannot be understood.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// The actors cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The scratch directory cannot be used.
    #[error("cannot use the scratch directory")]
    Scratch(#[from] std::io::Error),
}

/// A run that was replayed.
#[derive(Debug)]
pub struct Replayed {
    /// Its id.
    pub run: String,
    /// What the user asked for.
    pub request: String,
    /// Events that were compared.
    pub events: usize,
    /// Whether it has an end.
    pub finished: bool,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// Replays the session in the directory `session`, up to the first difference.
pub async fn replay(session: &Path, scratch: &Path) -> Result<Vec<Replayed>, ReplayError> {
    let reading = read(session)?;
    let runs = runs(&reading.records);
    let mut replayed = Vec::new();
    let Some(first) = runs.first() else { return Ok(replayed) };
    let orchestrator = on_stage(scratch, first.terms(session)?.config).await?;
    for run in runs {
        let again = run.again(session, Beyond::Stop)?;
        let recording = Arc::clone(&again.recording);
        let patience = again.terms.config.limits.replay_timeout_seconds;
        let request = run.request();
        let (run_id, text) = (run.id.to_owned(), request.text.clone());
        drive(&orchestrator, CutShort { request, again }, &recording, &run, patience).await;
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

/// Drives one run to the end of what is recorded of it.
async fn drive(
    orchestrator: &Orchestrator,
    run: CutShort,
    recording: &Recording,
    records: &RunRecords<'_>,
    patience: u64,
) {
    let work = orchestrator.take_up(run);
    tokio::pin!(work);
    let over = async {
        recording.all_over().await;
        if records.is_finished() {
            // Its end is told by the run itself.
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

/// An orchestrator that has nothing but a scratch directory.
async fn on_stage(scratch: &Path, config: Arc<Config>) -> Result<Orchestrator, ReplayError> {
    let workspace = scratch.join("workspace");
    std::fs::create_dir_all(&workspace)?;
    let setup = Setup {
        workspace: workspace.canonicalize()?,
        session_dir: scratch.join("session"),
        cache: scratch.join("cache"),
        places: Places {
            state: scratch.to_owned(),
            commits: scratch.join("commits"),
            checkpoints: scratch.join("checkpoints.git"),
            lanes: scratch.join("lanes"),
        },
        config,
        // A call that is not recorded is a difference before it is made.
        model: Arc::new(NoModel),
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
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
