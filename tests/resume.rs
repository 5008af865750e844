//! Requests that are interrupted and resumed: nothing finished is done again, and the end is what it would have been.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mock::{Behaviour, ReceivedRequest, Replies, Reply};
use serde_json::Value;
use tree::FileHash;

use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, left_in, mended, plan, short_or_long,
};

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
pub(crate) fn said(request: &ReceivedRequest) -> usize {
    let messages = request.json["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// The program killed by itself at a step, if it comes to that.
pub(crate) fn killed_at(world: &World, step: u64, args: &[&str]) -> Run {
    let mut program = world.deepseek(args.iter().copied());
    program.env("DEEPSEEK_KILL_AT", step.to_string()).run()
}

/// Kills the program at each step of `args`, or every `stride`th where tests are to be short, in a world of its own. It goes on,
/// `holds` looks at what came of that, and nothing is paid twice. How often it was killed. `ends` is its exit status.
pub(crate) fn gone_on_with(
    stride: usize,
    args: &[&str],
    ends: i32,
    world: impl Fn() -> World,
    holds: impl Fn(&World, u64),
) -> usize {
    let stride = short_or_long(stride, 1);
    let mut kills = 0;
    for step in (0..).step_by(stride) {
        let world = world();
        let run = killed_at(&world, step, args);
        if run.code == Some(ends) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        kills += 1;
        if !has_begun(&world) {
            continue;
        }
        if !has_ended(&world) {
            let run = world.deepseek(GO_ON).run();
            assert_eq!(run.code, Some(ends), "step {step}: {}", run.stderr);
        }
        holds(&world, step);
        assert_eq!(nothing_was_paid_twice(&world), Ok(()), "step {step}");
    }
    kills
}

const REQUEST: [&str; 7] =
    ["--force-execute", "-p", "Fix the greeting", "--approval", "auto", "--output", "stream-json"];
pub(crate) const GO_ON: [&str; 3] = ["run", "--output", "stream-json"];

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
        // Each part numbers its own.
        let part = ["run", "lane", "part"].map(|name| event[name].as_str().map(str::to_owned));
        let call = (part, event["data"]["call"].as_u64());
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
pub(crate) fn journal(world: &World) -> Vec<Value> {
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
    assert_eq!(world.project.read("new.txt"), "new\n", "{context}");
    assert_eq!(world.project.changed(), ["greet.txt", "new.txt"], "{context}");
    assert_eq!(nothing_was_paid_twice(world), Ok(()), "{context}");
}

/// Each call was answered once, and made again only as often as its answer was lost on the way.
pub(crate) fn nothing_was_paid_twice(world: &World) -> Result<(), String> {
    let calls = calls(world);
    for (body, times) in asked(world) {
        let Calls { answered, lost } = calls[&body];
        if answered != 1 || times > 1 + lost {
            return Err(format!("asked {times} times, answered {answered}, lost {lost}"));
        }
    }
    Ok(())
}

pub(crate) fn has_begun(world: &World) -> bool {
    journal(world).iter().any(|event| event["kind"] == "TurnAdded@v1")
}

struct Rounds {
    random: u32,
    stride: usize,
}

fn rounds() -> Rounds {
    short_or_long(Rounds { random: 15, stride: 4 }, Rounds { random: 400, stride: 1 })
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
    // On a machine that does much else, the first may take far longer than the next.
    let took = world.deepseek(REQUEST).run().elapsed.min(Duration::from_millis(300));
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

pub(crate) fn has_ended(world: &World) -> bool {
    journal(world).iter().any(|event| event["kind"] == "RunFinished@v3")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kill comes at any time; nothing depends on when"
)]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Cuts the journal behind the `nth` event of a kind, counted from one, as if the program had been killed there.
pub(crate) fn cut(world: &World, kind: &str, nth: usize) {
    let path = session(world).join("events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let kind = format!("\"kind\":\"{kind}@v");
    let mut of_kind = lines.iter().enumerate().filter(|(_, line)| line.contains(&kind));
    let (at, _) = of_kind.nth(nth - 1).unwrap();
    std::fs::write(path, lines[..=at].concat()).unwrap();
}

/// The directory of the latest session.
fn session(world: &World) -> PathBuf {
    let sessions = std::fs::read_dir(world.state().join("sessions")).unwrap();
    sessions.map(|entry| entry.unwrap().path()).max().unwrap()
}

/// Goes on, ends with this code, and replays to the same.
fn ends_and_replays(world: &World, args: &[&str], code: i32) -> Run {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(code), "{args:?}: {}", run.stderr);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{args:?}: {}{}", replay.stdout, replay.stderr);
    run
}

#[test]
fn a_plan_and_a_question_stay_what_they_were() {
    for command in ["plan", "ask"] {
        let world = World::greeting(eventful());
        let config = "[policy]\napproval = \"auto\"\n";
        let world = world.configure(config);
        assert_eq!(world.deepseek([command, "Fix the greeting"]).run().code, Some(0));
        cut(&world, "TurnAdded", 1);
        ends_and_replays(&world, &["run"], 0);
        assert_eq!(world.project.read("greet.txt"), "hello\n", "{command}");
    }
}

#[test]
fn what_was_forbidden_meanwhile_is_not_done_any_more() {
    let world = World::greeting(mended());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    world.project.write("greet.txt", "hello\n");
    cut(&world, "ModelReply", 2);
    let world = world.configure("[policy]\nmode = \"plan\"\n");
    let run = ends_and_replays(&world, &["run"], 3);
    assert!(run.stderr.contains("plan mode reads only"), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn a_question_does_not_finish_an_edit_on_the_way() {
    let world = World::greeting(mended());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    world.project.write("greet.txt", "hello\n");
    cut(&world, "ModelReply", 2);
    let run = world.deepseek(["-c", "ask", "What is this?"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("deepseek run"), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn a_run_that_was_about_to_end_ends_once() {
    let answers = || {
        vec![
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hello moon")),
            editor(diff("greet.txt", "hello moon", "hello sun")),
        ]
    };
    let world = World::greeting(answers()).configure("[agent_loop]\nmax_iterations = 2\n");
    assert_eq!(world.deepseek(REQUEST).run().code, Some(1));
    // The last event but its end is the last way back.
    let staged = journal(&world).iter().filter(|it| it["kind"] == "PatchStaged@v2").count();
    cut(&world, "PatchStaged", staged);
    ends_and_replays(&world, &["run"], 1);
}

#[test]
fn a_session_that_somebody_works_in_is_left_alone() {
    let world = World::greeting(eventful());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    cut(&world, "ModelReply", 1);
    world.project.write("greet.txt", "hello\n");
    let session = session(&world);
    let lock = std::fs::File::open(session.join("events.jsonl")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let run = world.deepseek(["-r", "latest", "-p", "x"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("another process is using the session"), "{}", run.stderr);
    drop(lock);
    ends_and_replays(&world, &["run"], 0);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

#[test]
fn what_the_checks_left_running_is_ended_before_they_run_again() {
    let outside = tempfile::tempdir().unwrap();
    let begun = outside.path().join("begun");
    let check = format!(
        "grep -q world greet.txt || exit 1\n[ -e {0} ] && exit 0\ntouch {0}\nsleep 1000\n",
        begun.display()
    );
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", &check)]);
    let world = World::of(project, Provider::new(mended())).unconfined();
    let mut running = world.deepseek(REQUEST).start();
    running.until(|| begun.exists());
    running.kill();
    assert!(!left_in(world.project.root()).is_empty(), "the check should have been left");
    ends_and_replays(&world, &["run"], 0);
    assert!(left_in(world.project.root()).is_empty(), "{:?}", left_in(world.project.root()));
}

#[test]
fn what_can_not_be_read_and_what_is_not_waited_for_replays() {
    let answers = vec![
        architect(plan(&["greet.txt/x"])),
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello", "hello world")),
    ];
    ends_and_replays(&World::greeting(answers), &REQUEST, 0);
    let slow = "sleep 0.3\ngrep -q world greet.txt\n";
    for round in 0..4 {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", slow)]);
        let world = World::of(project, Provider::new(mended()))
            .configure("[agent_loop]\nbaseline = \"skip\"\n");
        ends_and_replays(&world, &REQUEST, 0);
        world.project.write("greet.txt", "hello world\n");
        cut(&world, ["EditorCompleted", "VerifyStarted"][round % 2], 1);
        if round % 2 == 0 {
            world.project.write("greet.txt", "hello\n");
        }
        ends_and_replays(&world, &["run"], 0);
    }
}

#[test]
fn a_question_that_was_stopped_is_not_gone_on_with() {
    let world = World::greeting(vec![
        Reply::of(Behaviour::StallAfterHeaders).to("analysis"),
        Reply::text("An answer.").to("analysis"),
    ]);
    let mut running = world.deepseek(["ask", "What is first?"]).start();
    running.until(|| world.provider.requests().len() == 1);
    assert_eq!(running.interrupt().0.code, Some(130));
    ends_and_replays(&world, &["-c", "ask", "What is second?"], 0);
    assert!(!world.provider.everything_said().contains("first?\nEvidence"));
}
