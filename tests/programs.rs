//! Programs that models write: what they reach, what they may use, and that they go on after whatever happens in between.

use std::fs;
use std::time::Duration;

use mock::{Behaviour, Reply, ScriptedCall};
use serde_json::{Value, json};

use crate::resume::{gone_on_with, journal};
use crate::support::{Project, Provider, Run, World};

const QUESTION: &str = "Which files greet?";

fn calls(program: &str, paths: &[&str]) -> Reply {
    let arguments = json!({"program": program, "paths": paths}).to_string();
    let call = ScriptedCall { name: "rlm_run".to_owned(), arguments };
    Reply { tool_calls: vec![call], ..Reply::of(Behaviour::ToolCall) }.to("analysis")
}

fn says(text: &str) -> Reply {
    Reply::text(text).to("analysis")
}

fn child(text: &str) -> Reply {
    Reply::text(text).to("child").forever()
}

fn project() -> Project {
    let long = "hello again\n".repeat(400);
    Project::new(&[
        ("greet.txt", "hello\n"),
        ("src/a.rs", "fn greet() {\n    say(\"hello\");\n}\n"),
        ("long.txt", &long),
        (".env", "TOKEN=x1hello\n"),
    ])
}

fn world(replies: Vec<Reply>) -> World {
    World::of(project(), Provider::new(replies))
}

/// What the model was told of its program, in its second request.
fn told(world: &World) -> Value {
    let requests = world.provider.of("analysis");
    let messages = requests[1].request.json["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|it| it["role"] == "tool").unwrap();
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

/// What a program alone comes to.
fn comes_to(program: &str) -> Value {
    comes_to_within(60, program)
}

/// What a program alone comes to that may compute for so many seconds.
fn comes_to_within(seconds: u32, program: &str) -> Value {
    let world = world(vec![calls(program, &[]), says("so it is")])
        .configure(&format!("[missions]\nprogram_seconds = {seconds}\n"));
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{program}: {}", run.stderr);
    told(&world)
}

fn paused(world: &World) -> usize {
    journal(world).iter().filter(|it| it["kind"] == "ProgramPaused@v1").count()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

const PROGRAM: &str = "
found = grep('hello', files())
print(len(found), 'lines')
first = [part for part in found if part.first < 3]
answers = llm_query_batched([('Is this a greeting?', part) for part in first])
cite(first[0], 'it greets', weight=9)
summary = llm_query('Sum up', 'src/a.rs')
FINAL(sorted(set(part.path for part in first)) + answers + [summary])
";

fn answered() -> Vec<Reply> {
    vec![
        calls(PROGRAM, &["greet.txt", "src/"]),
        child("yes").when_asked("Is this a greeting?"),
        child("it says hello").when_asked("Sum up"),
        says("greet.txt and src/a.rs."),
    ]
}

#[test]
fn a_program_counts_asks_and_cites() {
    let world = world(answered());
    let before = world.project.hashes("");
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = told(&world);
    assert_eq!(told["ok"], true, "{told}");
    assert_eq!(
        told["value"],
        "Printed:\n2 lines\nCited:\nit greets [greet.txt:1-1]\n\
         Result: ['greet.txt', 'src/a.rs', 'yes', 'yes', 'it says hello']"
    );
    let asked = world.provider.everything_said();
    assert!(asked.contains("### greet.txt") && asked.contains("   1| hello"), "{asked}");
    assert_eq!(world.provider.of("child").len(), 3);
    assert_eq!(world.project.hashes(""), before, "nothing is written");
    replays(&world);
}

#[test]
fn a_program_that_is_killed_goes_on_from_where_it_asked() {
    let begin = || {
        let mut replies = answered();
        let says = replies.pop().unwrap();
        world(replies.into_iter().chain([says.forever()]).collect())
    };
    let kills = gone_on_with(5, &["ask", QUESTION], 0, begin, |world, step| {
        let told = world.provider.everything_said();
        let is_called = journal(world).iter().any(|it| it["kind"] == "ToolResult@v1");
        assert_eq!(is_called, told.contains("'yes', 'yes', 'it says hello']"), "step {step}");
        assert_eq!(paused(world), if is_called { 2 } else { 0 }, "step {step}");
    });
    assert!(kills > 4, "{kills} kills");
}

#[test]
fn nothing_is_reached_but_texts() {
    for (program, expected) in [
        ("open('/etc/passwd').read()", "PermissionError"),
        ("from pathlib import Path\nPath('greet.txt').read_text()", "PermissionError"),
        ("from pathlib import Path\nPath('x').write_text('y')", "PermissionError"),
        ("import os\nos.getenv('HOME')", "PermissionError"),
        ("import subprocess", "ModuleNotFoundError"),
        ("import socket", "ModuleNotFoundError"),
        ("__import__('os')", "NameError"),
        ("peek('.env')[:6] + str(1 / 0)", "ZeroDivisionError"),
        ("peek(files('*env')[0])", "ValueError"),
        ("peek(lines('greet.txt', 1, 1)._replace(path='../x'))", "Error"),
    ] {
        let told = comes_to(program);
        assert_eq!(told["ok"], false, "{program}: {told}");
        let error = told["error"].as_str().unwrap();
        assert!(error.contains(expected) && !error.contains("x1hello"), "{program}: {error}");
    }
}

#[test]
fn a_program_that_takes_too_much_is_ended_and_said_to_be() {
    // What is to end by its memory has all the time it needs on a machine that is busy.
    for (seconds, program, expected) in [
        (1, "while True: pass", "it computed longer than it may"),
        (60, "x = 'abcdefgh' * (1 << 27)\ny = x + x", "it used more memory than it may"),
        (60, "x = []\nwhile True: x.append('a' * 100000)", "it used more memory than it may"),
        (1, "sum(range(10 ** 12))", "it computed longer than it may"),
        (60, &"(".repeat(50_000), "too"),
    ] {
        let told = comes_to_within(seconds, program);
        assert!(told["error"].as_str().unwrap().contains(expected), "{program}: {told}");
    }
    let told = comes_to("for i in range(50000): print('xxxx')\nFINAL('done')");
    let value = told["value"].as_str().unwrap();
    assert!(value.contains("bytes of its output are left out"), "{value}");
    assert!(value.len() < 40_000, "{}", value.len());
}

#[test]
fn the_process_of_a_program_is_shut_in() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let world = world(vec![calls("while True: pass", &[]), says("so it is")]);
    let mut running = world.deepseek(["ask", QUESTION]).start();
    let (id, found) = (running.id(), std::cell::RefCell::new(None));
    running.until(|| {
        *found.borrow_mut() = worker_of(id);
        found.borrow().is_some()
    });
    let (status, limits) = found.into_inner().unwrap();
    for expected in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
        assert!(status.contains(expected), "{expected}: {status}");
    }
    for expected in ["Max open files            0 ", "Max file size             0 "] {
        assert!(limits.contains(expected), "{expected}: {limits}");
    }
    let (run, _) = running.interrupt();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
}

/// What the system tells of a process that runs a program for the process of this id, and is shut in.
fn worker_of(parent: u32) -> Option<(String, String)> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let (status, limits) = (read("status")?, read("limits")?);
        let is_it = status.contains(&format!("PPid:\t{parent}\n"));
        (is_it && status.contains("Seccomp:\t2")).then_some((status, limits))
    })
}

#[test]
fn ctrl_c_while_a_question_of_a_program_is_pending_ends_all() {
    let silent = Reply::of(Behaviour::StallAfterHeaders).to("child").forever();
    let world = world(vec![calls("llm_query_batched(['a', 'b', 'c'])", &[]), silent]);
    let mut running = world.deepseek(["ask", QUESTION]).start();
    running.until(|| world.provider.of("child").len() == 3);
    let (run, took) = running.interrupt();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(took < Duration::from_secs(3), "it took {took:?}");
    assert_eq!(paused(&world), 1);
    let ended = journal(&world).into_iter().filter(|it| it["kind"] == "ChildEnded@v1");
    let ended: Vec<Value> = ended.map(|it| it["data"]["end"].clone()).collect();
    assert_eq!(ended, [json!("cancelled"), json!("cancelled"), json!("cancelled")]);
}

#[test]
fn a_question_that_fails_leaves_the_others_their_answers() {
    let world = world(vec![
        calls("FINAL(llm_query_batched(['one', 'two', 'three']))", &[]),
        Reply::of(Behaviour::Http500).to("child").forever().when_asked("two"),
        child("yes"),
        says("so it is"),
    ])
    .configure("[llm]\nmax_retries = 0\n");
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = told(&world);
    let expected =
        "Notes: question 2 has no answer: the model gave none\nResult: ['yes', None, 'yes']";
    assert_eq!(told["value"], expected);
}

#[test]
fn a_question_that_a_batch_asks_twice_is_paid_once() {
    let world = world(vec![
        calls("FINAL(llm_query_batched(['one', 'two', 'one', 'two', 'one']))", &[]),
        Reply::of(Behaviour::Http400).to("child").when_asked("two"),
        child("yes"),
        says("so it is"),
    ]);
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.provider.of("child").len(), 2);
    let value = told(&world)["value"].to_string();
    assert!(value.contains("['yes', None, 'yes', None, 'yes']"), "{value}");
    for kind in ["ChildAsked@v1", "ChildEnded@v1"] {
        assert_eq!(journal(&world).iter().filter(|it| it["kind"] == kind).count(), 2, "{kind}");
    }
    assert_eq!(world.deepseek(["replay", "latest"]).run().code, Some(0));
}

#[test]
fn programs_within_programs_are_as_deep_as_is_allowed() {
    let program = "FINAL(rlm_query('How many lines greet?', 'long.txt'))";
    let inner = "PROGRAM_V1\nn = count_matches('hello', files())\n\
                 said = rlm_query('Is that many?', 'greet.txt')\nFINAL(f'{n} lines: {said}')\nPROGRAM_END";
    let replies = || {
        vec![
            calls(program, &[]),
            child(inner).when_asked("Answer by one program"),
            child("yes").when_asked("Is that many?"),
            child("some").when_asked("How many lines greet?"),
            says("so it is"),
        ]
    };
    let flat = world(replies());
    assert_eq!(flat.asks(QUESTION).code, Some(0));
    let value = told(&flat)["value"].clone();
    assert_eq!(
        value,
        "Notes: rlm_query was asked as llm_query: programs may be 1 deep here\nResult: some"
    );
    for depth in [2, 9] {
        let deep = world(replies()).configure(&format!("[missions]\nmax_depth = {depth}\n"));
        let run: Run = deep.asks(QUESTION);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(told(&deep)["value"], "Result: 400 lines: yes", "{depth}");
        replays(&deep);
    }
}

#[test]
fn the_helpers_are_told_to_who_asks() {
    let world = world(vec![calls("help", &[]), says("so it is")]);
    assert_eq!(world.asks(QUESTION).code, Some(0));
    let told = told(&world)["value"].as_str().unwrap().to_owned();
    assert!(told.contains("llm_query_batched(questions, about=None)"), "{told}");
    let offered = world.provider.of("analysis")[0].request.json["tools"].to_string();
    assert!(!offered.contains("llm_query"), "{offered}");
}

#[test]
fn no_program_runs_in_plan_mode_or_over_what_is_not_there() {
    let plan = world(vec![calls("len(files())", &[]), says("so it is")])
        .configure("[policy]\nmode = \"plan\"\n");
    assert_eq!(plan.asks(QUESTION).code, Some(0));
    assert_eq!(told(&plan)["error"], "no process is started in plan mode");
    for (paths, expected) in [
        (["nowhere/"], "there are no files of these paths that can be read"),
        (["../x"], "`paths`: "),
        ([".env"], "there are no files of these paths that can be read"),
    ] {
        let world = world(vec![calls("len(files())", &paths), says("so it is")]);
        assert_eq!(world.asks(QUESTION).code, Some(0));
        let told = told(&world);
        assert!(told["error"].as_str().unwrap().starts_with(expected), "{told}");
    }
}
