//! A run that hangs: its log and `doctor` say who waits for whom.

use std::fs;

use mock::ScriptedReply;
use serde_json::Value;

use crate::support::{Running, World, architect};

/// The waits from the request to the model that does not answer.
const CHAIN: [(&str, &str, &str); 6] = [
    ("caller", "orchestrator", "run"),
    ("orchestrator", "its work", "request"),
    ("orchestrator", "crew", "work"),
    ("crew", "its work", "step"),
    ("crew", "architect", "answer"),
    ("architect", "model", "answer"),
];

/// Starts a request that the Architect's model does not answer.
fn stuck() -> (World, Running) {
    let silent = ScriptedReply { delay_ms: 600_000, ..architect("") };
    let world = World::greeting(vec![silent]).configure("limits.stall_seconds = 1");
    let running = world.request("Fix the greeting").env("DEEPSEEK_LOG", "info").start();
    (world, running)
}

#[test]
fn a_stuck_run_is_explained_from_the_log_alone() {
    let (_world, mut running) = stuck();
    let log = running.stderr_of();
    running.until(|| {
        let log = log();
        CHAIN.iter().all(|(who, whom, what)| {
            let says = format!("who=\"{who}\" whom=\"{whom}\" what=\"{what}\"");
            log.lines().any(|line| {
                line.contains(&says)
                    && line.contains("no answer yet waited=")
                    && (*whom != "model" || line.contains("scope=session / run "))
            })
        })
    });
    let (run, _) = running.interrupt();
    assert_eq!(run.ending(), "130 cancelled", "{}", run.stderr);
}

#[test]
fn doctor_says_what_a_session_at_work_waits_for() {
    let (world, mut running) = stuck();
    let sessions = || fs::read_dir(world.state().join("sessions")).unwrap();
    let file = || Some(sessions().next()?.unwrap().path().join("waits.json"));
    let is_noted = || file().and_then(|file| fs::read_to_string(file).ok());
    running.until(|| {
        world.state().join("sessions").exists()
            && is_noted().is_some_and(|late| late.contains("\"whom\":\"model\""))
    });
    let text = world.deepseek(["doctor"]).run().stdout;
    for (who, whom, what) in CHAIN {
        let says = format!(": {who} waits for {whom} ({what}) for ");
        assert!(text.lines().any(|line| line.contains("waits") && line.contains(&says)), "{text}");
    }
    let json = world.deepseek(["doctor", "--output", "json"]).run().stdout;
    let findings: Value = serde_json::from_str(&json).unwrap();
    let waits = findings.as_array().unwrap().iter().filter(|it| it["what"] == "waits");
    assert_eq!(waits.count(), CHAIN.len(), "{json}");

    let (run, _) = running.interrupt();
    assert_eq!(run.ending(), "130 cancelled", "{}", run.stderr);
    assert!(!file().unwrap().exists(), "nothing is late after the end");
    assert!(!world.deepseek(["doctor"]).run().stdout.contains(" waits for "));
}
