//! Autopilot: it takes steps until the task is done or a limit is reached, and keeps only delivered changes.

use std::sync::atomic::{AtomicUsize, Ordering};

use mock::{Behaviour, ReceivedRequest, Replies, ScriptedReply};
use serde_json::{Value, json};

use crate::sessions::resume::{answers_so_far, journal, killed_at, nothing_was_paid_twice};
use crate::support::{Project, Provider, Run, Terminal, World, diff, short_or_long};

const TASK: &str = "Have greet.txt greet the world";
const AUTO: [&str; 2] = ["--approval", "auto"];

fn steer(lines: &str) -> ScriptedReply {
    ScriptedReply::text(format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END")).to("analysis")
}

fn edits(path: &str, old: &str, new: &str) -> [ScriptedReply; 2] {
    let plan = crate::support::plan_verified_by(&[path], &["sh check.sh"]);
    [
        ScriptedReply::text(plan).to("architect"),
        ScriptedReply::text(diff(path, old, new)).to("editor"),
    ]
}

fn autopilot(world: &World, more: &[&str]) -> Run {
    world.deepseek(["autopilot", TASK].into_iter().chain(AUTO).chain(more.iter().copied())).run()
}

/// Returns the status document; null before autopilot has started.
fn status(world: &World) -> Value {
    let run = world.deepseek(["autopilot", "status", "--output", "json"]).run();
    serde_json::from_str(&run.stdout).unwrap_or_default()
}

#[test]
fn it_takes_steps_until_the_command_passes_and_undoes_failed_steps() {
    let [wrong_plan, wrong] = edits("greet.txt", "hello", "hello moon");
    let [plan, right] = edits("greet.txt", "hello", "hello world");
    let replies = vec![
        steer("NEXT|Greet the moon\nLATER|Greet the world"),
        wrong_plan,
        wrong,
        steer("NEXT|Greet the world"),
        plan,
        right,
    ];
    let world = World::of(Project::greeting(), Provider::new(replies))
        .configure("[agent_loop]\nmax_iterations = 1\n");
    let run = autopilot(&world, &["--until", "grep -q world greet.txt"]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    for expected in
        ["✗ 1. Greet the moon", "✓ 2. Greet the world", "Ended    the --until command passes"]
    {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("AUTOPILOT_V1"), "{}", run.stdout);
    let told = world.provider.last_message("analysis", 2);
    assert!(told.contains("1. Greet the moon — needs work") && told.contains("undone"), "{told}");
    assert!(told.contains("The task is done when `grep -q world greet.txt` passes."), "{told}");
    assert_eq!(status(&world)["autopilot"]["work"]["end"]["why"], "reached");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn an_impossible_task_ends_within_three_steps() {
    let [plan, wrong] = edits("greet.txt", "hello", "hello moon");
    let replies = vec![steer("NEXT|Try it again").forever(), plan.forever(), wrong.forever()];
    let world = World::of(Project::greeting(), Provider::new(replies))
        .configure("[agent_loop]\nmax_iterations = 1\n");
    let run = autopilot(&world, &["--output", "json"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        document["autopilot"]["end"]["why"], "no_progress",
        "a single document reports everything"
    );
    assert_eq!(status(&world)["autopilot"]["work"]["rounds"].as_array().unwrap().len(), 3);
    assert_eq!(world.project.read("greet.txt"), "hello\n", "no change is left");
}

#[test]
fn steps_that_undo_each_other_are_not_progress() {
    let [plan, to] = edits("greet.txt", "hello", "hello moon");
    let [_, fro] = edits("greet.txt", "hello moon", "hello");
    let drafts = AtomicUsize::new(0);
    let replies = Replies::driven(move |request| match request.header("x-agent-role") {
        Some("analysis") => steer("NEXT|Greet the moon, or nobody"),
        Some("architect") => plan.clone(),
        _ if drafts.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => to.clone(),
        _ => fro.clone(),
    });
    let project = Project::greeting();
    project.write("check.sh", "grep -q hello greet.txt\n");
    let world = World::of(project, Provider::new(replies));
    let run = autopilot(&world, &["--iterations", "20"]);
    assert_eq!(run.code, Some(1), "{}\n{}", run.stdout, run.stderr);
    let kept = status(&world);
    let work = &kept["autopilot"]["work"];
    assert_eq!(work["end"]["why"], "no_progress", "{work}");
    assert_eq!(work["rounds"].as_array().unwrap().len(), 4, "{work}");
}

#[test]
fn steps_that_do_not_change_the_failure_end_the_work() {
    let world = World::of(Project::greeting(), Provider::new(Replies::driven(counting)));
    let world = world.configure("[policy]\nallow_commands = [\"grep -q\"]\n");
    world.project.write("reached.sh", "echo 'the greeting is not in Latin yet'; exit 1\n");
    let run = autopilot(&world, &["--until", "sh reached.sh"]);
    assert_eq!(run.code, Some(1), "{}\n{}", run.stdout, run.stderr);
    let kept = status(&world);
    let work = &kept["autopilot"]["work"];
    assert_eq!(work["end"]["why"], "same_failure", "{work}");
    assert_eq!(work["rounds"].as_array().unwrap().len(), 9, "{work}");
    assert!(run.stdout.contains("prints the same as before the last 8 steps"), "{}", run.stdout);
    let prompt = world.provider.last_message("analysis", 4);
    assert!(prompt.contains("The last 2 steps did not change what it prints"), "{prompt}");
}

#[test]
fn with_a_command_as_goal_the_model_cannot_declare_the_task_done() {
    let world =
        World::of(Project::greeting(), Provider::new(vec![steer("DONE|I am sure").forever()]));
    let run = autopilot(&world, &["--until", "grep -q world greet.txt"]);
    assert_eq!(run.code, Some(1), "{}\n{}", run.stdout, run.stderr);
    assert!(
        world.provider.last_message("analysis", 2).contains("does not pass yet"),
        "the model is told so once"
    );
    assert_eq!(status(&world)["autopilot"]["work"]["end"]["why"], "stuck");
}

#[test]
fn without_approval_autopilot_changes_nothing() {
    let [plan, right] = edits("greet.txt", "hello", "hello world");
    let world = World::of(
        Project::greeting(),
        Provider::new(vec![steer("NEXT|Greet the world"), plan, right]),
    );
    let run = world.deepseek(["autopilot", TASK]).run();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    assert!(run.stderr.contains("--approval auto"), "{}", run.stderr);
}

#[test]
fn the_budget_covers_all_steps_together() {
    let replies = Replies::driven(counting);
    let world = World::of(Project::greeting(), Provider::new(replies));
    let run = autopilot(&world, &["--budget-tokens", "60000"]);
    assert_eq!(run.code, Some(4), "{}\n{}", run.stdout, run.stderr);
    let used: u64 =
        world.provider.requests().iter().map(|seen| seen.usage.map_or(0, |it| it.total())).sum();
    assert!(used <= 60_000, "{used}");
    assert!(run.stdout.contains("Ended    the budget is exhausted"), "{}", run.stdout);
}

/// Like [`counting`], with a fault at every third request: either a transient provider failure or an unusable answer.
fn counting_with_faults() -> impl Fn(&ReceivedRequest) -> ScriptedReply {
    let asked = AtomicUsize::new(0);
    move |request| {
        let faults = [
            ScriptedReply::of(Behaviour::Http500),
            ScriptedReply::of(Behaviour::EmptyStop),
            ScriptedReply::of(Behaviour::ResetBeforeHeaders),
            ScriptedReply::of(Behaviour::Http429),
            ScriptedReply::text("I would rather talk about it."),
            ScriptedReply::of(Behaviour::Length),
        ];
        let at = asked.fetch_add(1, Ordering::Relaxed);
        match faults.get(at / 3 % faults.len()) {
            Some(fault) if at % 3 == 2 => fault.clone(),
            Some(_) | None => counting(request),
        }
    }
}

/// Endless steps: each creates a file named after the number of the step.
fn counting(request: &ReceivedRequest) -> ScriptedReply {
    let said: Vec<&str> = request.messages().map(|(_, text)| text).collect();
    let said = said.join("\n");
    match request.header("x-agent-role") {
        Some("analysis") => {
            let number = |line: &str| line.split_once(". ")?.0.parse::<usize>().ok();
            let taken = said.lines().filter_map(number).max().unwrap_or_default();
            steer(&format!("NEXT|step {}", taken + 1))
        }
        role => {
            let step = said.rsplit("step ").next().unwrap_or_default();
            let number: String = step.chars().take_while(char::is_ascii_digit).collect();
            let path = format!("step{number}.txt");
            ScriptedReply::text(if role == Some("architect") {
                format!(
                    "ARCHITECT_PLAN_V1\nPLAN|write step {number}\nFILE|{path}|new\nVERIFY|grep -q done {path}\nARCHITECT_PLAN_END"
                )
            } else {
                format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+done\n")
            })
        }
    }
}

/// Endless steps: each writes its number into the greeting.
fn greeting(request: &ReceivedRequest) -> ScriptedReply {
    let said: String = request.messages().map(|(_, text)| text).collect();
    if request.header("x-agent-role") == Some("analysis") {
        let next = answers_so_far(request) + 1;
        return steer(&format!("NEXT|Greet number {next}\nLATER|Greet number {}", next + 1));
    }
    let number = said.rsplit("Greet number ").next().unwrap_or_default();
    let number: usize =
        number.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(1);
    let greets = |number| if number == 0 { "hello".to_owned() } else { format!("hello {number}") };
    let [plan, edit] = edits("greet.txt", &greets(number - 1), &greets(number));
    if request.header("x-agent-role") == Some("architect") { plan } else { edit }
}

#[test]
fn the_steering_dialogue_is_its_own_and_steps_do_not_grow() {
    let project = Project::greeting();
    project.write("check.sh", "grep -q hello greet.txt\n");
    project.write(
        "reached.sh",
        "seq 20000; echo 'the greeting is not in Latin yet'; cat greet.txt; exit 1\n",
    );
    let world = World::of(project, Provider::new(Replies::driven(greeting)));
    let run = autopilot(&world, &["--iterations", "12", "--until", "sh reached.sh"]);
    assert_eq!(run.code, Some(1), "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello 12\n");
    let architects = world.provider.of("architect");
    assert_eq!(architects.len(), 12);
    for seen in world.provider.requests() {
        let body = String::from_utf8_lossy(&seen.request.body).into_owned();
        let role = seen.request.header("x-agent-role").unwrap().to_owned();
        assert_eq!(body.contains("AUTOPILOT_V1"), role == "analysis", "{role}: {body}");
    }
    let size = |step: usize| architects[step - 1].request.body.len();
    println!("architect: {:?}", (1..=12).map(size).collect::<Vec<_>>());
    assert!(size(12) * 10 <= size(3) * 11, "{} after {}", size(12), size(3));
    let body = String::from_utf8_lossy(&architects[11].request.body).into_owned();
    assert!(body.contains(TASK) && body.contains("Greet number 11 (greet.txt)"), "{body}");
    // Each question is the one before, its answer, and what is new: the last lines of the output among it.
    let asked = world.provider.of("analysis");
    let messages = |at: usize| asked[at].request.json["messages"].as_array().unwrap().clone();
    println!("steering: {:?}", asked.iter().map(|it| it.request.body.len()).collect::<Vec<_>>());
    for at in 1..asked.len() {
        let (before, now) = (messages(at - 1), messages(at));
        assert_eq!(now.len(), before.len() + 2);
        assert_eq!(now[..before.len()], before[..]);
        let new = now.last().unwrap()["content"].as_str().unwrap();
        assert!(new.contains("not in Latin yet") && !new.contains("\n1000\n"), "{new}");
        assert!(new.len() < 3_000, "{new}");
    }
    // None of it is a turn of the session.
    let turns = journal(&world).into_iter().filter(|event| event["kind"] == "TurnAdded@v1");
    let turns: Vec<Value> = turns.map(|event| event["data"].clone()).collect();
    assert_eq!(turns.len(), 12);
    assert!(turns.iter().all(|it| it["text"].as_str().unwrap().starts_with("Greet number ")));
    let memory = world.deepseek(["memory"]).run().stdout;
    assert!(!memory.contains("AUTOPILOT"), "{memory}");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn killed_at_any_record_it_goes_on_with_everything_it_was_given() {
    let mut kills = 0;
    for step in (0..).step_by(short_or_long(31, 1)) {
        let project = Project::greeting();
        project.write("check.sh", "grep -q hello greet.txt\n");
        let world = World::of(project, Provider::new(Replies::driven(greeting)));
        let until = "grep -q 'hello 3' greet.txt";
        let model = "llm.base_model.model=\"deepseek-v4-flash\"";
        let mut args = vec!["autopilot", TASK, "--until", until, "--set", model];
        args.extend(["--iterations", "9", "--budget-tokens", "900000"]);
        args.extend(AUTO);
        let run = killed_at(&world, step, &args);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        kills += 1;
        if status(&world)["autopilot"].is_null() {
            // Killed before there was anything to go on with.
            continue;
        }
        if status(&world)["autopilot"]["work"]["end"].is_null() {
            let run = world.deepseek(["autopilot", "resume"]).run();
            assert_eq!(run.code, Some(0), "step {step}: {}\n{}", run.stdout, run.stderr);
        }
        assert_eq!(world.project.read("greet.txt"), "hello 3\n", "step {step}");
        let kept = status(&world);
        let work = &kept["autopilot"]["work"];
        assert_eq!(work["end"]["why"], "reached", "step {step}");
        assert_eq!((&work["until"], &work["bounds"]["iterations"]), (&json!(until), &json!(9)));
        assert_eq!(work["bounds"]["tokens"], 900_000);
        let steps: Vec<&str> = work["rounds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["step"].as_str().unwrap())
            .collect();
        assert_eq!(steps, ["Greet number 1", "Greet number 2", "Greet number 3"], "step {step}");
        let settings = kept["autopilot"]["settings"].as_str().unwrap();
        assert!(settings.contains("approval = \"auto\""), "step {step}: {settings}");
        let editors = world.provider.of("editor");
        assert!(editors.iter().all(|it| it.request.json["model"] == "deepseek-v4-flash"));
        assert_eq!(nothing_was_paid_twice(&world), Ok(()), "step {step}");
    }
    println!("{kills} kills");
    assert!(kills > short_or_long(3, 100), "{kills}");
}

#[test]
fn what_an_earlier_version_left_is_refused_with_a_reason() {
    let world = World::of(Project::greeting(), Provider::new(Vec::<ScriptedReply>::new()));
    let desk = || {
        let dirs = std::fs::read_dir(world.state().join("workspaces")).unwrap();
        dirs.map(|it| it.unwrap().path()).find(|it| it.is_dir()).unwrap().join("autopilot.json")
    };
    world.deepseek(["autopilot", TASK, "--until", "true"]).run();
    let old = r#"{"session":"x","pid":1,"heartbeat":"2026-01-01T00:00:00Z","doing":"ended",
        "work":{"task":"t","bounds":{},"rounds":[],"later":[],"worked":{"secs":1,"nanos":0}}}"#;
    std::fs::write(desk(), old).unwrap();
    for action in ["resume", "status", "stop"] {
        let run = world.deepseek(["autopilot", action]).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("run by an earlier version"), "{}", run.stderr);
        assert!(run.stderr.contains("its delivered steps are in the workspace"), "{}", run.stderr);
    }
}

#[test]
fn another_terminal_pauses_resumes_and_stops_it_and_it_resumes_after_a_crash() {
    let replies = Replies::driven(counting_with_faults());
    let world = World::of(Project::greeting(), Provider::new(replies));
    let world = world.configure(
        "[policy]\nallow_commands = [\"grep -q\"]\n[llm]\nretry_base_ms = 1\nretry_max_ms = 5\n",
    );
    let rounds = |world: &World| {
        let kept = status(world);
        kept["autopilot"]["work"]["rounds"].as_array().map_or(0, Vec::len)
    };
    let mut args = vec!["autopilot", TASK, "--iterations", "30"];
    args.extend(AUTO);
    let mut running = world.deepseek(args).start();
    running.until(|| rounds(&world) >= 2);
    let paused = world.deepseek(["autopilot", "pause"]).run();
    assert_eq!(paused.code, Some(0), "{}", paused.stderr);
    let shown = world.deepseek(["autopilot", "status"]).run();
    let is_so = ["it pauses after this step", "State    paused"];
    assert!(is_so.iter().any(|so| shown.stdout.contains(so)), "{}", shown.stdout);
    running.until(|| status(&world)["autopilot"]["doing"] == "paused");
    let at = rounds(&world);
    assert_eq!(rounds(&world), at);
    assert_eq!(world.deepseek(["autopilot", "resume"]).run().code, Some(0));
    running.until(|| rounds(&world) > at);
    running.kill();

    // The status says that it is interrupted. Completed steps are not repeated.
    let shown = world.deepseek(["autopilot", "status"]).run();
    assert!(shown.stdout.contains("interrupted"), "{}", shown.stdout);
    let mut running = world.deepseek(["autopilot", "resume"]).start();
    let before = rounds(&world);
    running.until(|| rounds(&world) > before + 1);
    assert_eq!(world.deepseek(["autopilot", "stop"]).run().code, Some(0));
    let run = running.end();
    assert_eq!(run.code, Some(1), "a stop on purpose is no interruption: {}", run.stderr);
    assert!(run.stdout.contains("Ended    stopped"), "{}", run.stdout);
    let run = world.deepseek(["autopilot", "resume"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(status(&world)["autopilot"]["work"]["end"]["why"], "iterations");
    assert_eq!(rounds(&world), 30);
    let written = |at: &usize| world.project.path(&format!("step{at}.txt")).exists();
    assert!((1..=30).filter(written).count() >= 28);
    let none = world.deepseek(["autopilot", "stop"]).run();
    assert_eq!(none.code, Some(2), "{}", none.stderr);
}

#[test]
fn another_terminal_stops_it_while_a_question_waits() {
    let [plan, right] = edits("greet.txt", "hello", "hello world");
    let replies = vec![steer("NEXT|Greet the world"), plan, right];
    let world = World::of(Project::greeting(), Provider::new(replies));
    let mut terminal = Terminal::start(&mut world.deepseek(["autopilot", TASK, "--plain"]));
    terminal.until("[y/N;", 1);
    let shown = world.deepseek(["autopilot", "status"]).run().stdout;
    assert!(shown.contains("working on step 1 since 2"), "{shown}");
    assert!(shown.contains(": Greet the world\n"), "{shown}");
    assert_eq!(world.deepseek(["autopilot", "stop"]).run().code, Some(0));
    assert_eq!(terminal.ends(), Some(1), "{}", terminal.shown());
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    assert_eq!(status(&world)["autopilot"]["work"]["end"]["why"], "stopped");
}

#[test]
fn a_step_interrupted_by_a_crash_is_finished_first() {
    for step in [20, 60, 90] {
        let world = World::of(Project::greeting(), Provider::new(Replies::driven(counting)));
        let world = world.configure("[policy]\nallow_commands = [\"grep -q\"]\n");
        let mut args = vec!["autopilot", TASK, "--iterations", "3"];
        args.extend(AUTO);
        let run = killed_at(&world, step, &args);
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        let run = world.deepseek(["autopilot", "resume"]).run();
        assert_eq!(run.code, Some(1), "step {step}: {}", run.stderr);
        let kept = status(&world);
        let rounds = kept["autopilot"]["work"]["rounds"].as_array().unwrap();
        let steps: Vec<&str> = rounds.iter().map(|it| it["step"].as_str().unwrap()).collect();
        assert_eq!(steps, ["step 1", "step 2", "step 3"], "step {step}");
        assert!(journal(&world).iter().any(|event| event["kind"] == "RunFinished@v3"));
    }
}

#[test]
fn resuming_keeps_the_settings_of_the_start() {
    let world = World::of(Project::greeting(), Provider::new(Replies::driven(counting)));
    let world = world.configure("[policy]\nallow_commands = [\"grep -q\"]\n");
    let model = "llm.base_model.model=\"deepseek-v4-flash\"";
    let mut args = vec!["autopilot", TASK, "--iterations", "3", "--set", model];
    args.extend(["--budget-tokens", "900000", "--max-subagents", "3"]);
    args.extend(AUTO);
    let run = killed_at(&world, 60, &args);
    assert_eq!(run.code, None, "{}", run.stderr);
    let before = world.provider.requests().len();
    let run = world.deepseek(["autopilot", "resume", "--max-subagents", "2"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let kept = status(&world);
    assert_eq!(kept["autopilot"]["work"]["end"]["why"], "iterations");
    let settings = kept["autopilot"]["settings"].as_str().unwrap();
    for part in ["approval = \"auto\"", "max_subagents = 2", "tokens = 900000"] {
        assert!(settings.contains(part), "{part}: {settings}");
    }
    let editors = world.provider.of("editor");
    assert!(editors.iter().all(|it| it.request.json["model"] == "deepseek-v4-flash"));
    assert!(world.provider.requests().len() > before);
}

#[test]
fn a_call_lost_in_a_crash_is_told_apart_from_what_is_known_spent() {
    let known = |world: &World| {
        let tokens = |seen: &mock::Exchange| seen.usage.map_or(0, |usage| usage.total());
        world.provider.requests().iter().map(tokens).sum::<u64>()
    };
    // The first Editor call never ends; the process is killed while it waits.
    let hangs = AtomicUsize::new(0);
    let replies = Replies::driven(move |request| {
        let is_editor = request.header("x-agent-role") == Some("editor");
        if is_editor && hangs.fetch_add(1, Ordering::Relaxed) == 0 {
            return ScriptedReply { delay_ms: 600_000, ..counting(request) };
        }
        counting(request)
    });
    let world = World::of(Project::greeting(), Provider::new(replies));
    let world = world.configure("[policy]\nallow_commands = [\"grep -q\"]\n");
    let mut args = vec!["autopilot", TASK, "--iterations", "2"];
    args.extend(AUTO);
    let mut running = world.deepseek(args).start();
    running.until(|| world.provider.roles().contains("editor"));
    running.kill();
    let run = world.deepseek(["autopilot", "resume"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let kept = status(&world);
    let (spent, unknown) = (&kept["spent"], &kept["spent_unknown"]);
    assert_eq!(unknown["calls"], 1, "{kept}");
    assert!(unknown["tokens"].as_u64().unwrap() > 10_000, "{kept}");
    let spent = spent["tokens"].as_u64().unwrap();
    assert!(spent <= known(&world), "{spent} of {}", known(&world));
    assert!(run.stdout.contains("; and 1 call of unknown cost, at most"), "{}", run.stdout);
    let usage = world.deepseek(["usage"]).run().stdout;
    assert!(usage.contains("+ 1 unknown"), "{usage}");
}

#[test]
fn a_denial_can_be_gone_on_from() {
    let [plan, right] = edits("greet.txt", "hello", "hello world");
    let replies = vec![
        steer("NEXT|Greet the world"),
        plan,
        right,
        steer("DONE|greet.txt says so").when_asked("denied"),
    ];
    let world = World::of(Project::greeting(), Provider::new(replies));
    let run = world.deepseek(["autopilot", TASK]).run();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("then go on with `deepseek autopilot resume`"), "{}", run.stderr);
    // As the hint says.
    assert_eq!(world.deepseek(["apply", "--yes"]).run().code, Some(0));
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    let run = world.deepseek(["autopilot", "resume"]).run();
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

#[test]
fn a_command_that_passes_before_the_first_step_shows_nothing() {
    let until = ["autopilot", TASK, "--approval", "auto", "--until", "grep -q hello greet.txt"];
    let world = World::of(Project::greeting(), Provider::new(Vec::<ScriptedReply>::new()));
    let run = world.deepseek(until).run();
    assert_eq!(run.code, Some(2), "{}\n{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("`grep -q hello greet.txt` passes already"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: name a command that fails until"), "{}", run.stderr);
    assert!(world.provider.requests().is_empty());
    for (answer, code) in [("y", 0), ("n", 2)] {
        let [plan, right] = edits("greet.txt", "hello", "hello world");
        let replies = vec![steer("NEXT|Greet the world"), plan, right, steer("DONE|it does")];
        let world = World::of(Project::greeting(), Provider::new(replies));
        let mut terminal =
            Terminal::start(&mut world.deepseek(until.into_iter().chain(["--plain"])));
        terminal.until("Work until the model says that the task is done? [y/N]", 1);
        terminal.types(&format!("{answer}\r"));
        assert_eq!(terminal.ends(), Some(code), "{}", terminal.shown());
        let is_done = world.project.read("greet.txt") == "hello world\n";
        assert_eq!(is_done, code == 0);
    }
}

#[test]
fn the_autopilot_demo_takes_two_steps_offline() {
    let world = World::of(Project::greeting(), Provider::new(Vec::<ScriptedReply>::new()));
    let mut program = world.deepseek(["demo", "--autopilot"]);
    program.with_cargo().env("TMPDIR", world.project.root());
    let run = program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL").run();
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    for expected in ["✓ 1. Write down", "✓ 2. Have subtotal", "the --until command passes"] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}
