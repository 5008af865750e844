//! Waiting for a server or a network: as long as was asked or as the kind of work allows, and never for nothing.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mock::{Behaviour, Replies, ScriptedReply};

use super::networks::tunnel;
use crate::missions::mission::{GOAL, planned};
use crate::support::{Project, Provider, Run, World, greeting_fix, plan_verified_by};

/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9";
const AUTO: [&str; 2] = ["--approval", "auto"];

fn asked_to_wait(behaviour: Behaviour, seconds: &str) -> ScriptedReply {
    ScriptedReply { retry_after: Some(seconds.to_owned()), ..ScriptedReply::of(behaviour) }
}

/// Runs a command that reaches its server at `base_url`.
fn at(world: &World, base_url: &str, args: &[&str]) -> Run {
    world.deepseek(args.iter().copied()).env("DEEPSEEK_BASE_URL", base_url).run()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

/// A network that can be taken away: it leads to a server until then.
struct Network {
    base_url: String,
    is_down: Arc<AtomicBool>,
    works: JoinHandle<()>,
}

impl Network {
    /// Leads to `server`, until `is_down`.
    fn to(server: &str, is_down: Arc<AtomicBool>) -> Self {
        let server = server.replace("http://", "");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        listener.set_nonblocking(true).unwrap();
        let down = Arc::clone(&is_down);
        let works = thread::spawn(move || {
            let mut open = Vec::new();
            while !down.load(Ordering::SeqCst) {
                let Ok((client, _)) = listener.accept() else {
                    thread::park_timeout(Duration::from_millis(2));
                    continue;
                };
                client.set_nonblocking(false).unwrap();
                let there = TcpStream::connect(&server).unwrap();
                open.extend([client.try_clone().unwrap(), there.try_clone().unwrap()]);
                thread::spawn(move || tunnel(&client, &there));
            }
            drop(listener);
            for stream in open {
                // The program may have closed it before.
                drop(stream.shutdown(Shutdown::Both));
            }
        });
        Self { base_url, is_down, works }
    }

    /// Ends the test of it.
    fn was_taken_away(self) {
        assert!(self.is_down.load(Ordering::SeqCst));
        self.works.join().unwrap();
    }
}

#[test]
fn a_wait_that_a_server_asks_for_is_waited_out_beyond_the_usual_delays() {
    for behaviour in [Behaviour::Http429, Behaviour::Http503] {
        let world = World::greeting(vec![
            asked_to_wait(behaviour, "1"),
            ScriptedReply::text("It greets.").to("analysis"),
        ]);
        let begun = Instant::now();
        let run = world.asks("What is this?");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(begun.elapsed() >= Duration::from_secs(1));
        let waits: Vec<&str> =
            run.all("Waiting").iter().filter_map(|wait| wait["why"].as_str()).collect();
        let told = "(it asks to wait 1 s); attempt 2 of 3 in 1.0 s";
        assert!(waits.iter().any(|why| why.ends_with(told)), "{waits:?}");
        replays(&world);
    }
}

#[test]
fn a_longer_wait_is_named_with_the_setting_that_allows_it() {
    let world = World::greeting(vec![
        asked_to_wait(Behaviour::Http503, "61"),
        asked_to_wait(Behaviour::Http429, "1"),
        asked_to_wait(Behaviour::Http429, "1"),
        ScriptedReply::text("It greets.").to("analysis"),
    ]);
    let ask = ["ask", "What is this?"];
    let run = world.deepseek(ask).run();
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let [error, hint] = ["error: ", "hint: "].map(|start| {
        run.stderr.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default()
    });
    assert!(error.starts_with("the provider is overloaded"), "{error}");
    assert!(
        error.ends_with("(it asks to wait 61 s), and llm.max_retry_after_seconds is 60"),
        "{error}"
    );
    assert_eq!(hint, "try again then, or raise llm.max_retry_after_seconds");
    replays(&world);
    let [short, long] = ["0", "1"].map(|most| {
        let setting = format!("llm.max_retry_after_seconds={most}");
        world.deepseek(ask.into_iter().chain(["--set", &setting])).run()
    });
    assert_eq!((short.code, short.stderr.contains(hint)), (Some(5), true), "{}", short.stderr);
    assert_eq!((long.code, long.stdout.trim()), (Some(0), "It greets."), "{}", long.stderr);
}

#[test]
fn comments_of_a_server_say_nothing_of_a_queue() {
    let world = World::greeting(vec![ScriptedReply {
        behaviour: Behaviour::KeepaliveThenText,
        ..ScriptedReply::text("It greets.").to("analysis")
    }]);
    let run = world.asks("What is this?");
    let why = run.all("Waiting")[0]["why"].as_str().unwrap();
    assert_eq!(why, "the provider keeps the connection open and has not answered yet");
}

#[test]
fn without_a_network_an_answer_is_given_up_after_two_attempts_that_are_no_calls() {
    let world = World::greeting(Vec::new());
    let limits = ["--set", "budget.calls=1", "--set", "llm.max_retries=5"];
    let ask = ["ask", "What is this?"];
    let run =
        at(&world, NOWHERE, &[ask.as_slice(), &limits, &["--output", "stream-json"]].concat());
    assert_eq!(run.ending(), "5 failed/unreachable", "{}", run.stderr);
    assert_eq!(run.all("ModelRequest").len(), 2);
    assert_eq!(run.one("RunFinished")["spent"]["calls"], 0);
    replays(&world);
    let run = at(&world, NOWHERE, &ask);
    assert!(run.stderr.contains("0 calls"), "{}", run.stderr);
    let usage = world.deepseek(["usage", "--output", "json"]).run();
    assert!(
        usage.stdout.contains("\"calls\":0") || usage.stdout.contains("\"calls\": 0"),
        "{}",
        usage.stdout
    );
}

#[test]
fn a_mission_and_an_autopilot_wait_for_a_network_and_then_pause() {
    let world = || {
        let steer = |lines: &str| {
            ScriptedReply::text(format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END")).to("analysis")
        };
        let replies = [planned(crate::missions::mission::card("greet.txt", "sh check.sh"))];
        let steps = vec![steer("NEXT|Greet the world"), steer("DONE|it greets")];
        let replies = [replies.concat(), steps, greeting_fix()].concat();
        World::greeting(replies).configure("[llm]\noffline_patience_seconds = 1\n")
    };
    let mission = ["mission", GOAL];
    let autopilot = ["autopilot", "Have greet.txt greet the world", "--approval", "auto"];
    for (work, resume, ends) in [
        (mission.as_slice(), ["run"].as_slice(), Some(3)),
        (&autopilot, &["autopilot", "resume", "--approval", "auto"], Some(0)),
    ] {
        let world = world();
        let begun = Instant::now();
        let run = at(&world, NOWHERE, work);
        assert!(begun.elapsed() >= Duration::from_secs(1));
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        let paused = format!("error: paused: no connection to {NOWHERE}/chat/completions");
        assert!(run.stderr.contains(&paused), "{}", run.stderr);
        assert!(run.stderr.contains("resume"), "{}", run.stderr);
        let run = at(&world, &world.provider.base_url(), resume);
        assert_eq!(run.code, ends, "{}{}", run.stdout, run.stderr);
        replays(&world);
    }
}

#[test]
fn lanes_wait_for_a_network_and_then_pause() {
    const TEAM: &str = "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\nTEAM_PLAN_END";
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let new_file = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let replies = Replies::driven(move |request| {
        let path = match request.header("x-agent-lane") {
            Some("01") => "a.txt",
            _ => "b.txt",
        };
        ScriptedReply::text(match request.header("x-agent-role") {
            Some("lane-planner") => TEAM.to_owned(),
            Some("architect") => plan_verified_by(&[path], &["true"]),
            // The network is gone before any lane has its change.
            _ => {
                down.store(true, Ordering::SeqCst);
                new_file(path)
            }
        })
    });
    let world = World::of(Project::greeting(), Provider::new(replies))
        .configure("[llm]\noffline_patience_seconds = 1\n");
    let network = Network::to(&world.provider.base_url(), is_down);
    let team = ["--force-execute", "-p", "Make the files", "--teammate-mode", "on"];
    let run = at(&world, &network.base_url, &[team.as_slice(), &AUTO].concat());
    network.was_taken_away();
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.contains("error: paused: no connection to "), "{}", run.stderr);
    assert!(run.stderr.contains("hint: `deepseek run` resumes it"), "{}", run.stderr);
    assert_eq!(world.project.changed(), [""; 0]);
    let run = world.deepseek(["run"]).run();
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(world.project.changed(), ["a.txt", "b.txt"]);
    replays(&world);
}
