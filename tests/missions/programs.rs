//! Programs that models write: what they can access, their resource limits, and that they resume after a kill.

use std::fs;
use std::time::Duration;

use mock::{Behaviour, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use crate::sessions::resume::{journal, resumes_after_kills};
use crate::support::{Project, Provider, Run, World};

const QUESTION: &str = "Which files greet?";

fn calls(program: &str, paths: &[&str]) -> ScriptedReply {
    let arguments = json!({"program": program, "paths": paths}).to_string();
    let call = ScriptedCall { name: "rlm_run".to_owned(), arguments };
    ScriptedReply { tool_calls: vec![call], ..ScriptedReply::of(Behaviour::ToolCall) }
        .to("analysis")
}

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

fn child(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("child").forever()
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

fn world(replies: Vec<ScriptedReply>) -> World {
    World::of(project(), Provider::new(replies))
}

/// Returns the result of the program, from the model's second request.
fn program_result(world: &World) -> Value {
    let requests = world.provider.of("analysis");
    let messages = requests[1].request.json["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|it| it["role"] == "tool").unwrap();
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

/// Runs a single program and returns its result.
fn result_of(program: &str) -> Value {
    result_within(60, program)
}

/// Like [`result_of`], with a limit on computing time.
fn result_within(seconds: u32, program: &str) -> Value {
    let world = world(vec![calls(program, &[]), says("so it is")])
        .configure(&format!("[missions]\nprogram_seconds = {seconds}\n"));
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{program}: {}", run.stderr);
    program_result(&world)
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

fn answered() -> Vec<ScriptedReply> {
    vec![
        calls(PROGRAM, &["greet.txt", "src/"]),
        child("yes").when_asked("Is this a greeting?"),
        child("it says hello").when_asked("Sum up"),
        says("greet.txt and src/a.rs."),
    ]
}

#[test]
fn a_program_can_search_ask_questions_and_cite() {
    let world = world(answered());
    let before = world.project.hashes("");
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = program_result(&world);
    assert_eq!(result["ok"], true, "{result}");
    assert_eq!(
        result["value"],
        "Printed:\n2 lines\nCited:\nit greets [greet.txt:1-1]\n\
         Result: ['greet.txt', 'src/a.rs', 'yes', 'yes', 'it says hello']"
    );
    let asked = world.provider.all_messages();
    assert!(asked.contains("### greet.txt") && asked.contains("   1| hello"), "{asked}");
    assert_eq!(world.provider.of("child").len(), 3);
    assert_eq!(world.project.hashes(""), before, "something was written");
    replays(&world);
}

#[test]
fn a_killed_program_resumes_from_its_last_question() {
    let begin = || {
        let mut replies = answered();
        let says = replies.pop().unwrap();
        world(replies.into_iter().chain([says.forever()]).collect())
    };
    let kills = resumes_after_kills(5, &["ask", QUESTION], 0, begin, |world, step| {
        let messages = world.provider.all_messages();
        let is_called = journal(world).iter().any(|it| it["kind"] == "ToolResult@v1");
        assert_eq!(is_called, messages.contains("'yes', 'yes', 'it says hello']"), "step {step}");
        assert_eq!(paused(world), if is_called { 2 } else { 0 }, "step {step}");
    });
    assert!(kills > 4, "{kills} kills");
}

#[test]
fn a_program_can_access_only_the_texts_it_is_given() {
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
        let result = result_of(program);
        assert_eq!(result["ok"], false, "{program}: {result}");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(expected) && !error.contains("x1hello"), "{program}: {error}");
    }
}

#[test]
fn a_program_that_exceeds_a_limit_is_ended_with_the_reason() {
    // Programs that are to hit the memory limit get enough time, even on a busy machine.
    for (seconds, program, expected) in [
        (1, "while True: pass", "it computed longer than it may"),
        (60, "x = 'abcdefgh' * (1 << 27)\ny = x + x", "it used more memory than it may"),
        (60, "x = []\nwhile True: x.append('a' * 100000)", "it used more memory than it may"),
        (1, "sum(range(10 ** 12))", "it computed longer than it may"),
        (60, &"(".repeat(50_000), "too"),
    ] {
        let result = result_within(seconds, program);
        assert!(result["error"].as_str().unwrap().contains(expected), "{program}: {result}");
    }
    let result = result_of("for i in range(50000): print('xxxx')\nFINAL('done')");
    let value = result["value"].as_str().unwrap();
    assert!(value.contains("bytes of its output"), "{value}");
    assert!(value.len() < 40_000, "{}", value.len());
}

#[test]
fn the_process_of_a_program_is_sandboxed() {
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

/// Returns the status and limits of the sandboxed child process of `parent` that runs a program.
fn worker_of(parent: u32) -> Option<(String, String)> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let (status, limits) = (read("status")?, read("limits")?);
        let is_it = status.contains(&format!("PPid:\t{parent}\n"));
        (is_it && status.contains("Seccomp:\t2")).then_some((status, limits))
    })
}

#[test]
fn ctrl_c_ends_a_program_and_its_pending_questions() {
    let silent = ScriptedReply::of(Behaviour::StallAfterHeaders).to("child").forever();
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
fn a_failed_question_does_not_affect_the_others() {
    let world = world(vec![
        calls("FINAL(llm_query_batched(['one', 'two', 'three']))", &[]),
        ScriptedReply::of(Behaviour::Http500).to("child").forever().when_asked("two"),
        child("yes"),
        says("so it is"),
    ])
    .configure("[llm]\nmax_retries = 0\n");
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = program_result(&world);
    let expected =
        "Notes: question 2 has no answer: the model gave none\nResult: ['yes', None, 'yes']";
    assert_eq!(result["value"], expected);
}

#[test]
fn a_question_repeated_in_a_batch_is_paid_for_once() {
    let world = world(vec![
        calls("FINAL(llm_query_batched(['one', 'two', 'one', 'two', 'one']))", &[]),
        ScriptedReply::of(Behaviour::Http400).to("child").when_asked("two"),
        child("yes"),
        says("so it is"),
    ]);
    let run = world.asks(QUESTION);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.provider.of("child").len(), 2);
    let value = program_result(&world)["value"].to_string();
    assert!(value.contains("['yes', None, 'yes', None, 'yes']"), "{value}");
    for kind in ["ChildAsked@v1", "ChildEnded@v1"] {
        assert_eq!(journal(&world).iter().filter(|it| it["kind"] == kind).count(), 2, "{kind}");
    }
    assert_eq!(world.deepseek(["replay", "latest"]).run().code, Some(0));
}

#[test]
fn nested_programs_are_limited_to_the_configured_depth() {
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
    let value = program_result(&flat)["value"].clone();
    assert_eq!(
        value,
        "Notes: rlm_query was asked as llm_query: programs may be 1 deep here\nResult: some"
    );
    for depth in [2, 9] {
        let deep = world(replies()).configure(&format!("[missions]\nmax_depth = {depth}\n"));
        let run: Run = deep.asks(QUESTION);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(program_result(&deep)["value"], "Result: 400 lines: yes", "{depth}");
        replays(&deep);
    }
}

#[test]
fn the_helper_functions_are_listed_on_request() {
    let world = world(vec![calls("help", &[]), says("so it is")]);
    assert_eq!(world.asks(QUESTION).code, Some(0));
    let result = program_result(&world)["value"].as_str().unwrap().to_owned();
    assert!(result.contains("llm_query_batched(questions, about=None)"), "{result}");
    let offered = world.provider.of("analysis")[0].request.json["tools"].to_string();
    assert!(!offered.contains("llm_query"), "{offered}");
}

#[test]
fn no_program_runs_in_plan_mode_or_without_readable_files() {
    let plan = world(vec![calls("len(files())", &[]), says("so it is")])
        .configure("[policy]\nmode = \"plan\"\n");
    assert_eq!(plan.asks(QUESTION).code, Some(0));
    assert_eq!(program_result(&plan)["error"], "no process is started in plan mode");
    for (paths, expected) in [
        (["nowhere/"], "there are no files of these paths that can be read"),
        (["../x"], "`paths`: "),
        ([".env"], "there are no files of these paths that can be read"),
    ] {
        let world = world(vec![calls("len(files())", &paths), says("so it is")]);
        assert_eq!(world.asks(QUESTION).code, Some(0));
        let result = program_result(&world);
        assert!(result["error"].as_str().unwrap().starts_with(expected), "{result}");
    }
}
