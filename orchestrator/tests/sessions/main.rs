//! Sessions from a request to its outcome, with real actors, real files and scripted models.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in a test, a panic is the report"
)]

use std::sync::Arc;

use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::Orchestrator;
use facts::event::Envelope;
use testkit::{AnswerSource, RunRecord, World};

// Concurrent requests.
mod one_at_a_time;

// Concurrent lanes.
mod isolation;
mod order;

// Losses in the middle of a run.
mod kill;
mod kill_lanes;

// All of it, a thousand times.
mod simulation;

/// Runs a request in lanes. `heard` is called with each event.
async fn in_lanes<S: AnswerSource>(
    world: &World,
    model: &Arc<S>,
    flags: &[(&'static str, &str)],
    heard: impl FnMut(&Envelope),
) -> RunRecord {
    let always = [("lanes.mode", "\"on\""), ("lanes.max_lanes", "9")];
    let setup = world.setup(model, &[always.as_slice(), flags].concat());
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    let request = Request::new("Do it all", Some(RequestIntent::Edit));
    RunRecord::of(&orchestrator, signals, request, heard).await
}
