//! Interrupted requests are resumed: completed work is not repeated, and the result is the same as without the interruption.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mock::{Behaviour, ReceivedRequest, Replies, ScriptedReply};
use serde_json::Value;
use tree::FileHash;

use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, greeting_fix, plan, processes_left_in,
    short_or_long,
};

/// A run with everything: an unreadable plan, a read, a refused patch, a failed check, a new plan. Each answer depends only on
/// its request.
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
        ScriptedReply::text(answers[answers_so_far(request).min(answers.len() - 1)].clone())
    })
}

/// Returns how often the model has answered so far in the conversation of a request.
pub(crate) fn answers_so_far(request: &ReceivedRequest) -> usize {
    let messages = request.json["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// Runs the program, which kills itself at the given step if it gets that far.
pub(crate) fn killed_at(world: &World, step: u64, args: &[&str]) -> Run {
    let mut program = world.deepseek(args.iter().copied());
    program.env("DEEPSEEK_KILL_AT", step.to_string()).run()
}

/// Kills the program at each step of `args`, each time in a new world; in short test runs, at every `stride`th step only. The
/// request is resumed and has to end with the exit code `ends`. Then `holds` checks the result, and no call may have been
/// paid for twice. Returns the number of kills.
pub(crate) fn resumes_after_kills(
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
            let run = world.deepseek(RESUME).run();
            assert_eq!(run.code, Some(ends), "step {step}: {}", run.stderr);
        }
        holds(&world, step);
        assert_eq!(nothing_was_paid_twice(&world), Ok(()), "step {step}");
    }
    kills
}

const REQUEST: [&str; 7] =
    ["--force-execute", "-p", "Fix the greeting", "--approval", "auto", "--output", "stream-json"];
pub(crate) const RESUME: [&str; 3] = ["run", "--output", "stream-json"];

/// The recorded calls with the same body.
#[derive(Debug, Default)]
struct Calls {
    answered: usize,
    /// Calls whose answer was lost because the program was killed before recording it.
    lost: usize,
}

/// Returns the recorded calls, by the hash of their body.
fn calls(world: &World) -> BTreeMap<String, Calls> {
    let mut bodies = BTreeMap::new();
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for event in journal(world) {
        // Each run, lane and part numbers its own calls.
        let part = ["run", "lane", "part"].map(|name| event[name].as_str().map(str::to_owned));
        let call = (part, event["data"]["call"].as_u64());
        match (event["kind"].as_str().unwrap(), event["data"]["outcome"].as_str()) {
            ("ModelRequest@v1", _) => {
                bodies.insert(call, event["data"]["body"]["blob"].as_str().unwrap().to_owned());
            }
            ("ModelReply@v1", Some("ok" | "length")) => {
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

/// Returns every complete line of the latest session's journal; empty if there is no session.
pub(crate) fn journal(world: &World) -> Vec<Value> {
    let sessions = fs::read_dir(world.state().join("sessions")).into_iter().flatten();
    // Ids sort by time.
    let Some(latest) = sessions.map(|entry| entry.unwrap().path()).max() else { return Vec::new() };
    let text = fs::read(latest.join("events.jsonl")).unwrap_or_default();
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Returns how often each body was sent to the provider.
fn asked(world: &World) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for seen in world.provider.requests() {
        *asked.entry(FileHash::of(&seen.request.body).to_string()).or_default() += 1;
    }
    asked
}

/// Resumes the request to its end, and checks the result.
fn resume_and_check(world: &World, context: &str) {
    if !has_ended(world) {
        // If nothing was recorded yet, there is nothing to resume.
        let args = if has_begun(world) { RESUME.as_slice() } else { &REQUEST };
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{context}: {}", run.stderr);
    }
    assert_eq!(world.project.read("greet.txt"), "hello world\n", "{context}");
    assert_eq!(world.project.read("new.txt"), "new\n", "{context}");
    assert_eq!(world.project.changed(), ["greet.txt", "new.txt"], "{context}");
    assert_eq!(nothing_was_paid_twice(world), Ok(()), "{context}");
}

/// Checks that each call was answered once, and repeated only as often as its answer was lost.
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
fn a_request_killed_at_any_step_is_resumed() {
    let mut steps = 0;
    for step in (0..).step_by(rounds().stride) {
        let world = World::greeting(eventful());
        let run = killed_at(&world, step, &REQUEST);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        resume_and_check(&world, &format!("step {step}"));
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
}

#[test]
fn a_request_killed_repeatedly_at_random_times_is_resumed() {
    let world = World::greeting(eventful());
    // On a busy machine, the first run may take far longer than the next.
    let took = world.deepseek(REQUEST).run().elapsed.min(Duration::from_millis(300));
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..rounds().random {
        let world = World::greeting(eventful());
        for life in 0..3 {
            if has_ended(&world) || (life > 0 && !has_begun(&world)) {
                break;
            }
            let args = if life > 0 { RESUME.as_slice() } else { &REQUEST };
            let running = world.deepseek(args.iter().copied()).start();
            sleep(took.mul_f64(random.f64() * 0.7));
            running.kill();
        }
        resume_and_check(&world, &format!("round {round}"));
    }
}

pub(crate) fn has_ended(world: &World) -> bool {
    journal(world).iter().any(|event| event["kind"] == "RunFinished@v3")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kill comes at a random time; the result must not depend on it"
)]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Cuts the journal after the `nth` event of a kind, counted from one, as if the program had been killed there.
pub(crate) fn cut(world: &World, kind: &str, nth: usize) {
    let path = session(world).join("events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let kind = format!("\"kind\":\"{kind}@v");
    let mut of_kind = lines.iter().enumerate().filter(|(_, line)| line.contains(&kind));
    let (at, _) = of_kind.nth(nth - 1).unwrap();
    fs::write(path, lines[..=at].concat()).unwrap();
}

/// Returns the directory of the latest session.
fn session(world: &World) -> PathBuf {
    let sessions = fs::read_dir(world.state().join("sessions")).unwrap();
    sessions.map(|entry| entry.unwrap().path()).max().unwrap()
}

/// Runs the program, which has to end with this exit code, and checks that the session replays.
fn ends_and_replays(world: &World, args: &[&str], code: i32) -> Run {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(code), "{args:?}: {}", run.stderr);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{args:?}: {}{}", replay.stdout, replay.stderr);
    run
}

#[test]
fn an_interrupted_plan_or_question_does_not_become_an_edit() {
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
fn a_resumed_run_obeys_the_current_policy() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    world.project.write("greet.txt", "hello\n");
    cut(&world, "ModelReply", 2);
    let world = world.configure("[policy]\nmode = \"plan\"\n");
    let run = ends_and_replays(&world, &["run"], 3);
    assert!(run.stderr.contains("plan mode reads only"), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn asking_a_question_does_not_resume_an_interrupted_edit() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    world.project.write("greet.txt", "hello\n");
    cut(&world, "ModelReply", 2);
    let run = world.deepseek(["-c", "ask", "What is this?"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("deepseek run"), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn a_run_killed_just_before_its_end_ends_once() {
    let answers = || {
        vec![
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hello moon")),
            editor(diff("greet.txt", "hello moon", "hello sun")),
        ]
    };
    let world = World::greeting(answers()).configure("[agent_loop]\nmax_iterations = 2\n");
    assert_eq!(world.deepseek(REQUEST).run().code, Some(1));
    // The last event before the end stages the last undo patch.
    let staged = journal(&world).iter().filter(|it| it["kind"] == "PatchStaged@v2").count();
    cut(&world, "PatchStaged", staged);
    ends_and_replays(&world, &["run"], 1);
}

#[test]
fn a_session_in_use_by_another_process_is_refused() {
    let world = World::greeting(eventful());
    assert_eq!(world.deepseek(REQUEST).run().code, Some(0));
    cut(&world, "ModelReply", 1);
    world.project.write("greet.txt", "hello\n");
    let session = session(&world);
    let lock = fs::File::open(session.join("events.jsonl")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let run = world.deepseek(["-r", "latest", "-p", "x"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let id = session.file_name().unwrap().to_str().unwrap();
    let (_, short) = id.split_at(id.len() - 6);
    let says = format!("another process is using the session {short}\n");
    assert!(run.stderr.contains(&says), "{}", run.stderr);
    drop(lock);
    ends_and_replays(&world, &["run"], 0);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

/// Returns whether the record of a running command is complete.
fn is_recorded(world: &World) -> bool {
    let mut homes = fs::read_dir(world.state().join("workspaces")).into_iter().flatten().flatten();
    homes.any(|home| {
        let records = fs::read_dir(home.path().join("verify/running"));
        records.into_iter().flatten().flatten().any(|it| it.metadata().is_ok_and(|it| it.len() > 0))
    })
}

#[test]
fn processes_left_by_a_killed_check_are_ended_before_it_runs_again() {
    let outside = tempfile::tempdir().unwrap();
    let begun = outside.path().join("begun");
    let check = format!(
        "grep -q world greet.txt || exit 1\n[ -e {0} ] && exit 0\ntouch {0}\nsleep 1000\n",
        begun.display()
    );
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", &check)]);
    let world = World::of(project, Provider::new(greeting_fix())).unconfined();
    let mut running = world.deepseek(REQUEST).start();
    // A command may be at work a moment before it is recorded.
    running.until(|| begun.exists() && is_recorded(&world));
    running.kill();
    assert!(
        !processes_left_in(world.project.root()).is_empty(),
        "the check should still be running"
    );
    ends_and_replays(&world, &["run"], 0);
    assert!(
        processes_left_in(world.project.root()).is_empty(),
        "{:?}",
        processes_left_in(world.project.root())
    );
}

#[test]
fn unreadable_paths_and_skipped_baselines_replay() {
    let answers = vec![
        architect(plan(&["greet.txt/x"])),
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello", "hello world")),
    ];
    ends_and_replays(&World::greeting(answers), &REQUEST, 0);
    let slow = "sleep 0.3\ngrep -q world greet.txt\n";
    for round in 0..4 {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", slow)]);
        let world = World::of(project, Provider::new(greeting_fix()))
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
fn a_cancelled_question_is_not_resumed() {
    let world = World::greeting(vec![
        ScriptedReply::of(Behaviour::StallAfterHeaders).to("analysis"),
        ScriptedReply::text("An answer.").to("analysis"),
    ]);
    let mut running = world.deepseek(["ask", "What is first?"]).start();
    running.until(|| world.provider.requests().len() == 1);
    assert_eq!(running.interrupt().0.code, Some(130));
    ends_and_replays(&world, &["-c", "ask", "What is second?"], 0);
    assert!(!world.provider.all_messages().contains("first?\nEvidence"));
}
