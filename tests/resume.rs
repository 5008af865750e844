//! Requests that are cut short, and gone on with: nothing finished is done again, and the end is what it would have been.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tools::model::mock::{ReceivedRequest, Replies, Reply};
use tools::tree::FileHash;

use crate::support::{Run, World, diff, plan};

/// A run with some of everything: an unreadable plan, a look at a file, a refused patch, a red check, a new plan. What is
/// answered depends on nothing but what is asked.
pub(crate) fn eventful() -> Replies {
    let says = |old: &str, new: &str| diff("greet.txt", old, new);
    let architect = vec!["Let me think.".to_owned(), plan(&["greet.txt", "new.txt"])];
    let editor = vec![
        "NEED_CONTEXT|check.sh".to_owned(),
        "I would change the greeting.".to_owned(),
        says("hallo", "hello world"),
        says("hello", "hello moon"),
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1,2 @@\n hello moon\n+and more\n".to_owned(),
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1 @@\n-hello moon\n-and more\n+hello world\n\
         --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
            .to_owned(),
    ];
    Replies::driven(move |request| {
        let answers = match request.header("x-agent-role") {
            Some("architect") => &architect,
            _ => &editor,
        };
        Reply::text(answers[said(request).min(answers.len() - 1)].clone())
    })
}

/// How often the model has answered in a conversation.
fn said(request: &ReceivedRequest) -> usize {
    let messages = request.json["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// The program killed by itself at a step, if it comes to that.
fn killed_at(world: &World, step: u64, args: &[&str]) -> Run {
    let mut program = world.deepseek(args.iter().copied());
    program.env("DEEPSEEK_KILL_AT", step.to_string()).run()
}

const REQUEST: [&str; 6] =
    ["-p", "Fix the greeting", "--approval", "auto", "--output", "stream-json"];
const GO_ON: [&str; 3] = ["run", "--output", "stream-json"];

/// What the journal says of the calls with one body.
#[derive(Debug, Default)]
struct Calls {
    answered: usize,
    /// The program was killed before the answer was kept.
    lost: usize,
}

/// The calls that the journal knows, by their bodies.
fn calls(world: &World) -> BTreeMap<String, Calls> {
    let mut bodies = BTreeMap::new();
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for event in journal(world) {
        let call = event["data"]["call"].as_u64();
        match (event["kind"].as_str().unwrap(), event["data"]["outcome"].as_str()) {
            ("ModelRequest@v1", _) => {
                bodies.insert(call, event["data"]["body"]["blob"].as_str().unwrap().to_owned());
            }
            ("ModelReply@v1", Some("ok")) => {
                calls.entry(bodies[&call].clone()).or_default().answered += 1;
            }
            ("ModelReply@v1", Some("lost")) => {
                calls.entry(bodies[&call].clone()).or_default().lost += 1;
            }
            _ => {}
        }
    }
    calls
}

/// Every whole line of the journal of the latest session; none if there is none.
fn journal(world: &World) -> Vec<Value> {
    let sessions = std::fs::read_dir(world.state().join("sessions")).into_iter().flatten();
    // Ids sort by time.
    let Some(latest) = sessions.map(|entry| entry.unwrap().path()).max() else { return Vec::new() };
    let text = std::fs::read(latest.join("events.jsonl")).unwrap_or_default();
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// How often each body was asked.
fn asked(world: &World) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for seen in world.provider.requests() {
        *asked.entry(FileHash::of(&seen.request.body).to_string()).or_default() += 1;
    }
    asked
}

/// Goes on to the end, and sees that it is the right one.
fn goes_on(world: &World, context: &str) {
    if !has_ended(world) {
        // Where nothing was written down yet, there is nothing to go on with.
        let args = if has_begun(world) { GO_ON.as_slice() } else { &REQUEST };
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{context}: {}", run.stderr);
    }
    assert_eq!(world.project.read("greet.txt"), "hello world\n", "{context}");
    assert_eq!(world.project.changed(), ["greet.txt", "new.txt"], "{context}");
    assert_eq!(nothing_was_paid_twice(world), Ok(()), "{context}");
}

/// Each call was answered once, and made again only as often as its answer was lost on the way.
fn nothing_was_paid_twice(world: &World) -> Result<(), String> {
    let calls = calls(world);
    for (body, times) in asked(world) {
        let Calls { answered, lost } = calls[&body];
        if answered != 1 || times > 1 + lost {
            return Err(format!("asked {times} times, answered {answered}, lost {lost}"));
        }
    }
    Ok(())
}

fn has_begun(world: &World) -> bool {
    journal(world).iter().any(|event| event["kind"] == "TurnAdded@v1")
}

struct Rounds {
    random: u32,
    stride: usize,
}

fn rounds() -> Rounds {
    match std::env::var_os("DEEPSEEK_LONG_TESTS") {
        Some(_) => Rounds { random: 300, stride: 1 },
        None => Rounds { random: 12, stride: 9 },
    }
}

#[test]
fn a_request_killed_at_any_step_is_gone_on_with() {
    let mut steps = 0;
    for step in (0..).step_by(rounds().stride) {
        let world = World::greeting(eventful());
        let run = killed_at(&world, step, &REQUEST);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        goes_on(&world, &format!("step {step}"));
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
}

#[test]
fn a_request_killed_at_any_time_and_again_while_it_goes_on_is_gone_on_with() {
    let world = World::greeting(eventful());
    let took = world.deepseek(REQUEST).run().elapsed;
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..rounds().random {
        let world = World::greeting(eventful());
        for life in 0..3 {
            if has_ended(&world) || (life > 0 && !has_begun(&world)) {
                break;
            }
            let args = if life > 0 { GO_ON.as_slice() } else { &REQUEST };
            let running = world.deepseek(args.iter().copied()).start();
            sleep(took.mul_f64(random.f64() * 0.7));
            running.kill();
        }
        goes_on(&world, &format!("round {round}"));
    }
}

fn has_ended(world: &World) -> bool {
    journal(world).iter().any(|event| event["kind"] == "RunFinished@v1")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kill comes at any time; nothing depends on when"
)]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}
