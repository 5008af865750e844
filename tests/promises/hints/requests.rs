//! Requests that end without their change: the provider fails, the model does, a check, a limit, or an approval is missing.

use std::fs;

use mock::{Behaviour, Options, Replies, ScriptedReply};

use super::follow::Printed;
use crate::missions::mission as missions;
use crate::sessions::{replay, resume};
use crate::support::{
    Project, Provider, World, architect, diff, editor, greeting_fix, greeting_fix_checked_by,
    greeting_fix_insisting_on, plan, plan_verified_by,
};

/// The scenarios.
pub(super) const ALL: &[fn(&Printed)] = &[
    provider_fails,
    answers_are_unreadable,
    limits,
    not_verified,
    commands_are_denied,
    autopilots,
    missions_are_denied,
    lanes,
    lanes_are_denied,
    interrupted,
    places_are_unusable,
];

const EDIT: [&str; 5] = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];

fn always(answers: Vec<ScriptedReply>) -> Vec<ScriptedReply> {
    answers.into_iter().map(ScriptedReply::forever).collect()
}

fn provider_fails(hints: &Printed) {
    let asks = |replies: Vec<ScriptedReply>, options: Options| {
        let world = World::of(Project::greeting(), Provider::with(replies, options));
        hints.follow(&world, &["ask", "What is this?"]);
    };
    asks(vec![], Options { empty_balance: true, ..Options::default() });
    asks(vec![], Options { expected_key: Some("sk-another".to_owned()), ..Options::default() });
    asks(vec![], Options { models: vec!["another".to_owned()], ..Options::default() });
    asks(vec![], Options { context_tokens: 10, ..Options::default() });
    for behaviour in [
        Behaviour::HtmlPage,
        Behaviour::Http400,
        Behaviour::Http503,
        Behaviour::Http413,
        Behaviour::ContentFilter,
        Behaviour::EmptyStop,
        Behaviour::Length,
        Behaviour::ResetBeforeHeaders,
    ] {
        asks(vec![ScriptedReply::of(behaviour).forever()], Options::default());
    }
    let asks_to_wait = ScriptedReply {
        retry_after: Some("2".to_owned()),
        ..ScriptedReply::of(Behaviour::Http429)
    };
    let world = World::greeting(vec![asks_to_wait, ScriptedReply::text("It greets.").forever()]);
    let impatient = ["ask", "What is this?", "--set", "llm.max_retry_after_seconds=1"];
    hints.follow(&world, &impatient);
    let world = World::greeting(Vec::new());
    for (variable, value) in [
        ("DEEPSEEK_BASE_URL", "http://127.0.0.1:9"),
        ("ALL_PROXY", "gopher://model.invalid"),
        ("SSL_CERT_FILE", "/nowhere"),
    ] {
        hints.follow_by(&["ask", "What is this?"], |args| {
            let mut program = world.deepseek(args.iter().copied());
            program.env("DEEPSEEK_BASE_URL", "https://model.invalid").env(variable, value);
            program
        });
    }
    // Long work is paused.
    let world = World::greeting(Vec::new()).configure("[llm]\noffline_patience_seconds = 0\n");
    for work in [&["mission", missions::GOAL] as &[&str], &["autopilot", "Greet the world"]] {
        hints.follow_by(work, |args| {
            let mut program = world.deepseek(args.iter().copied());
            if args == work {
                program.env("DEEPSEEK_BASE_URL", "http://127.0.0.1:9");
            }
            program
        });
    }
}

fn answers_are_unreadable(hints: &Printed) {
    let world = World::greeting(vec![architect("Sure! I would mend it.").forever()]);
    hints.follow(&world, &EDIT);
    let world = World::greeting(vec![
        architect(plan(&["greet.txt"])).forever(),
        editor("I cannot.").forever(),
    ]);
    hints.follow(&world, &EDIT);
}

fn limits(hints: &Printed) {
    let world = World::greeting(always(greeting_fix()));
    for limit in [
        &["--budget-usd", "0.000001"] as &[&str],
        &["--budget-tokens", "10"],
        &["--set", "budget.calls=1"],
        &["--model", "no-price", "--budget-usd", "1"],
    ] {
        hints.follow(&world, &[limit, &EDIT].concat());
    }
}

fn not_verified(hints: &Printed) {
    // The check passes before the change.
    let green = ("check.sh", "grep -qx hello greet.txt || { echo FAILED t.py::a - x; exit 1; }\n");
    let replies = vec![
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello", "hello moon")),
        editor("DONE|the check is wrong"),
        architect("DONE|the check is wrong"),
        architect("NO_EDIT|true|it is done"),
    ];
    let project = Project::new(&[("greet.txt", "hello\n"), green]);
    hints.follow(&World::of(project, Provider::new(replies)), &EDIT);
    // The check fails whatever is done.
    let red = ("check.sh", "echo 'FAILED other.py::old - it was red before'; exit 1\n");
    let project = Project::new(&[("greet.txt", "hello\n"), red]);
    let says = |old: &str, new: &str| editor(diff("greet.txt", old, new));
    let replies = vec![
        architect(plan(&["greet.txt"])).forever(),
        says("hello", "hello you"),
        says("hello you", "hello me"),
        says("hello me", "hello world"),
    ];
    hints.follow(&World::of(project, Provider::new(replies)), &EDIT);
    // It dies once the change is there.
    let dies = ("check.sh", "grep -q world greet.txt && kill -9 $$; exit 0\n");
    let project = Project::new(&[("greet.txt", "hello\n"), dies]);
    let answers = greeting_fix_checked_by(&["sh check.sh"]);
    hints.follow(&World::of(project, Provider::new(answers)), &EDIT);
    // No diff can change the file.
    let project = Project::greeting();
    project.write("data.bin", [0xff, 0, 0xfe]);
    let world = World::of(project, Provider::new(vec![architect(plan(&["data.bin"])).forever()]));
    hints.follow(&world, &EDIT);
    // More is required than could be found out.
    let world = World::greeting(greeting_fix_checked_by(&["no-such-tool --check"]))
        .configure("[policy]\nallow_commands = [\"no-such-tool --check\"]\n");
    hints.follow(&world, &[EDIT.as_slice(), &["--require", "proven"]].concat());
}

fn commands_are_denied(hints: &Printed) {
    for (command, approval) in
        [("touch ran.txt", "auto"), ("git push", "auto"), ("touch ran.txt", "never")]
    {
        let world = World::greeting(greeting_fix_insisting_on(command)).unconfined();
        hints.follow(&world, &["--force-execute", "-p", "Fix it", "--approval", approval]);
    }
    // No command can be confined.
    let world =
        World::greeting(always(greeting_fix())).configure("[sandbox]\nprobe_timeout_ms = 0\n");
    hints.follow(&world, &EDIT);
    hints.follow(&world, &["sandbox", "--", "true"]);
}

fn autopilots(hints: &Printed) {
    let steer = |lines: &str| {
        ScriptedReply::text(format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END"))
            .to("analysis")
            .forever()
    };
    let wrong = [architect(plan(&["greet.txt"])), editor(diff("greet.txt", "hello", "hello moon"))];
    let replies = [vec![steer("NEXT|Try it again")], always(wrong.to_vec())].concat();
    let world = World::greeting(replies).configure("[agent_loop]\nmax_iterations = 1\n");
    let task = ["autopilot", "Have greet.txt greet the world", "--approval", "auto"];
    hints.follow(&world, &[task.as_slice(), &["--iterations", "1"]].concat());
    hints.follow(&world, &["autopilot", "resume"]);
    hints.follow(&world, &["autopilot", "stop"]);
    let stalls = ScriptedReply::of(Behaviour::StallAfterHeaders).to("architect").forever();
    let world = World::greeting(vec![steer("NEXT|Try it"), stalls]);
    let mut running = world.deepseek(task).start();
    running.until(|| !world.provider.of("architect").is_empty());
    let stopped = world.deepseek(["autopilot", "stop"]).run();
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    let run = running.end();
    hints.note(&run);
    assert!(run.stderr.contains("hint: deepseek autopilot resume"), "{}", run.stderr);
    let mut running = world.deepseek(["autopilot", "resume"]).start();
    let asked = world.provider.of("architect").len();
    running.until(|| world.provider.of("architect").len() > asked);
    running.interrupt();
}

fn missions_are_denied(hints: &Printed) {
    hints.follow(&missions::with_goals(1), &["mission", missions::GOAL]);
    let (world, hash) = missions::with_a_card();
    hints.follow(&world, &["mission", "reject", &hash]);
    let (world, hash) = missions::with_a_card();
    let changes = ["--set", "missions.max_versions=1", "mission", "modify", &hash, "more"];
    hints.follow(&world, &changes);
}

/// Returns the answers of two lanes that each create a file, checked by this command.
pub(super) fn two_lanes(check: &str) -> Vec<ScriptedReply> {
    let team = "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\nTEAM_PLAN_END";
    let mut replies = vec![ScriptedReply::text(team).to("lane-planner").forever()];
    for (id, file) in [("01", "a.txt"), ("02", "b.txt")] {
        let new = format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+{id}\n");
        let plan = plan_verified_by(&[file], &[check]);
        replies.push(ScriptedReply::text(plan).to("architect").in_lane(id).forever());
        replies.push(ScriptedReply::text(new).to("editor").in_lane(id).forever());
    }
    replies
}

pub(super) fn lane_project() -> Project {
    Project::new(&[("base.txt", "base\n"), ("check.sh", "! grep -q bad *.txt\n")])
}

pub(super) const LANES: [&str; 5] =
    ["--force-execute", "--teammate-mode", "on", "-p", "Make the files"];

fn lanes(hints: &Printed) {
    let world = World::of(lane_project(), Provider::new(two_lanes("sh check.sh")));
    let run = world
        .deepseek([LANES.as_slice(), &["--approval", "auto", "--output", "stream-json"]].concat())
        .run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    hints.follow(&world, &["diff", "--lane", "07"]);
    let begun = run
        .events
        .iter()
        .find(|event| event["kind"].as_str().is_some_and(|kind| kind.starts_with("LanesBegun")));
    let at = (begun.unwrap()["seq"].as_u64().unwrap() + 1).to_string();
    let into = world.home().join("fork");
    hints.follow(&world, &["fork", "--into", into.to_str().unwrap(), "--at", &at]);
    assert!(into.join("base.txt").exists(), "the hinted fork was made");
    // No lane gets anywhere.
    let cannot = ScriptedReply::text("I cannot.").to("architect").forever();
    let team = two_lanes("sh check.sh").swap_remove(0);
    let world = World::of(lane_project(), Provider::new(vec![team, cannot]));
    hints.follow(&world, &[LANES.as_slice(), &["--approval", "auto"]].concat());
    // What they made cannot be written at once.
    let project =
        Project::new(&[("base.txt", "base\n"), ("check.sh", "rm -rf d && echo file > d\n")]);
    project.write("d/one.txt", "1\n");
    let mut replies = two_lanes("sh check.sh");
    let team = "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a.txt\nOWN|01|d\nOWN|01|d/**\nLANE|02|b|make b\nOWN|02|b.txt\nTEAM_PLAN_END";
    replies[0] = ScriptedReply::text(team).to("lane-planner").forever();
    let world = World::of(project, Provider::new(replies)).unconfined();
    hints.follow(&world, &[LANES.as_slice(), &["--approval", "auto"]].concat());
}

fn lanes_are_denied(hints: &Printed) {
    let world = World::of(lane_project(), Provider::new(two_lanes("sh check.sh"))).unconfined();
    hints.follow(&world, &LANES);
}

fn interrupted(hints: &Printed) {
    let stalls = ScriptedReply::of(Behaviour::StallAfterHeaders).forever();
    let world = World::greeting(vec![stalls]);
    let mut running = world.deepseek(EDIT).start();
    running.until(|| !world.provider.requests().is_empty());
    running.kill();
    hints.follow_by(&["-c", "ask", "why?"], |args| {
        let mut program = world.deepseek(args.iter().copied());
        program.env("DEEPSEEK_BASE_URL", "http://127.0.0.1:9");
        program
    });
    // What is recorded is not what is done again.
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(EDIT).run().code, Some(0));
    replay::forge(&replay::session(&world), 2, "hello world", "hello moon");
    resume::cut(&world, "PatchApplied", 1);
    hints.follow(&world, &["run"]);
}

fn places_are_unusable(hints: &Printed) {
    // A file is where the worktrees of lanes belong.
    let world = World::of(lane_project(), Provider::new(two_lanes("sh check.sh")));
    let root = world.project.root().canonicalize().unwrap();
    let own = journal::workspace_state(&world.state(), &root);
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("lanes"), "").unwrap();
    let run = world.deepseek([LANES.as_slice(), &["--approval", "auto"]].concat()).run();
    hints.note(&run);
    fs::remove_file(own.join("lanes")).unwrap();
    let run = world.deepseek([LANES.as_slice(), &["--approval", "auto"]].concat()).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // A file is where the session, and then the log of commits, belong.
    for name in ["sessions", "commits"] {
        let world = World::greeting(Replies::from(greeting_fix()));
        fs::create_dir_all(world.state()).unwrap();
        fs::write(world.state().join(name), "").unwrap();
        let run = world.deepseek(EDIT).run();
        hints.note(&run);
        assert_ne!(run.code, Some(0), "{}", run.stderr);
        fs::remove_file(world.state().join(name)).unwrap();
        let run = world.deepseek(EDIT).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    // A file is where the checkpoints belong.
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(["--force-execute", "-p", "Fix it"]).run().code, Some(3));
    let root = world.project.root().canonicalize().unwrap();
    let checkpoints = journal::workspace_state(&world.state(), &root).join("checkpoints.git");
    fs::remove_dir_all(&checkpoints).ok();
    fs::write(&checkpoints, "").unwrap();
    let run = world.deepseek(["rewind"]).run();
    hints.note(&run);
    assert_ne!(run.code, Some(0), "{}", run.stderr);
    fs::remove_file(&checkpoints).unwrap();
    let run = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
