//! A run for tests, with a journal in memory and no other actors.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use config::Inputs;
use facts::event::Event;
use facts::signal::Attendance;
use facts::submission::{JournalInlet, Submission};
use model::NoModel;
use shell::Environment;
use tokio::sync::{mpsc, watch};
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use crate::calls::admission::Admission;
use crate::mailbox::WaitLog;
use crate::run::Run;
use crate::run::publisher::Publisher;
use crate::run::recording::Recording;
use crate::run::server_tools::ServerTools;
use crate::run::terms::Terms;
use crate::talk::prompts::Prompts;

/// Creates a run that replays `recording`, if given, and a function that returns the events it wrote.
pub fn run(recording: Option<Arc<Recording>>) -> (Run, impl Fn() -> Vec<Event>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let publisher = journal(Arc::clone(&events));
    let publisher = match recording {
        Some(recording) => publisher.following(recording),
        None => publisher,
    };
    let config = config::resolve_layers(&Inputs::default()).unwrap().config;
    let wait_log = WaitLog::new("s", &config);
    let terms = Terms::new(Arc::new(config), Prompts::default()).unwrap();
    let (stop, stopped) = watch::channel(false);
    // A run in a test is never stopped.
    std::mem::forget(stop);
    let run = Run {
        terms,
        publisher,
        admission: Admission::closed(),
        model: Arc::new(NoModel),
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
        server_tools: ServerTools::new(mcp::Servers::none()),
        cache: PathBuf::new(),
        attendance: Attendance::Unattended,
        conversation: "s".into(),
        until: None,
        user_said: Arc::default(),
        steering: crate::calls::steering::Steering::default(),
        wait_log,
        offline: crate::run::offline::Offline::new(false),
        stop: stopped,
    };
    (run, move || events.lock().unwrap().clone())
}

/// Collects events, and reports each immediately as durable.
fn journal(events: Arc<Mutex<Vec<Event>>>) -> Publisher {
    let (sender, entries) = crossbeam_channel::bounded(64);
    let (screen, _) = mpsc::channel(1);
    let (alive, lives) = watch::channel(());
    thread::spawn(move || {
        let _alive = alive;
        for (seq, Submission { event, durable, .. }) in (1..).zip(entries) {
            events.lock().unwrap().push(event);
            if let Some(waits) = durable {
                waits.send(seq).ok();
            }
        }
    });
    Publisher::new(JournalInlet { queue: sender, screen, lives }).for_run("run")
}
