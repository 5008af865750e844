//! The projection database: it is derived from the journals alone, and a missing or damaged one never prevents an answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mock::{Behaviour, Options, ScriptedCall, ScriptedReply};
use serde_json::Value;

use crate::support::{KEY, Project, Provider, Run, World, architect, diff, editor, plan};

/// Creates a world with three sessions: a request with two plans, three diffs and a failed check; a question; and a change
/// that was not approved because there was no terminal.
fn eventful() -> World {
    let world = World::greeting(vec![
        architect("That is easy."),
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "nothing like it", "hello world")),
        editor(diff("greet.txt", "hello", "hello ```wurld```")),
        editor(diff("greet.txt", "hello ```wurld```", "hello world")),
        ScriptedReply::text("It greets.").to("analysis"),
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello world", "hello")),
    ]);
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    assert_eq!(world.deepseek(["ask", &format!("What is {KEY}?")]).run().code, Some(0));
    let denied =
        world.deepseek(["--force-execute", "-p", "Fix it back", "--approval", "suggest"]).run();
    assert_eq!(denied.code, Some(3), "{}", denied.stderr);
    world
}

/// Runs a command that has to succeed.
fn succeed(world: &World, args: &[&str]) -> Run {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run
}

/// Returns the ids of all sessions, oldest first.
fn ids(world: &World) -> Vec<String> {
    let list = succeed(world, &["sessions", "--output", "json"]);
    let list = list.events[0].as_array().unwrap().iter().rev();
    list.map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the database of the only workspace.
fn database(world: &World) -> PathBuf {
    let workspaces = fs::read_dir(world.state().join("workspaces")).unwrap();
    let mut found = workspaces.map(|dir| dir.unwrap().path().join("projections.sqlite"));
    found.find(|path| path.exists()).expect("there is a database")
}

fn journal(world: &World, session: &str) -> PathBuf {
    world.state().join("sessions").join(session).join("events.jsonl")
}

/// Runs every command that reads past sessions. Returns exit codes, standard output and standard error.
fn answers(world: &World) -> Vec<(Option<i32>, String, String)> {
    let questions = [
        "sessions",
        "sessions list --all --output json",
        "sessions show --output json",
        "export",
        "export --format json",
        "usage",
        "usage --by session --all --output json",
        "usage --by role --since 2020-01-01",
        "usage --by decision",
        "usage --by decision --output json",
        "explain 12 --full",
        "explain 99999",
        "diff",
        "diff nothing",
        "diff --run latest",
        "rewind",
    ];
    let asked = questions.iter().map(|question| world.deepseek(question.split(' ')).run());
    asked.map(|run| (run.code, run.stdout, run.stderr)).collect()
}

#[test]
fn every_command_answers_the_same_without_its_database() {
    let world = eventful();
    let first = answers(&world);
    let path = database(&world);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o077,
        0,
        "others can access it"
    );
    for damage in ["none", "gone", "gone but for its log", "garbage"] {
        match damage {
            "none" => {}
            "gone" => fs::remove_file(&path).unwrap(),
            "garbage" => fs::write(&path, "garbage").unwrap(),
            _ => {
                fs::write(path.with_extension("sqlite-wal"), "garbage").unwrap();
                fs::remove_file(&path).unwrap();
            }
        }
        assert_eq!(answers(&world), first, "{damage}");
    }
}

#[test]
fn concurrent_processes_give_the_same_answers() {
    let world = eventful();
    let asking: Vec<_> =
        (0..6).map(|_| world.deepseek(["export", "--format", "json"]).start()).collect();
    let answers: Vec<Run> = asking.into_iter().map(crate::support::Running::end).collect();
    for answer in &answers {
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        assert_eq!(answer.stdout, answers[0].stdout);
    }
}

#[test]
fn truncated_and_damaged_journals_are_read_up_to_the_damage() {
    let world = eventful();
    let ids = ids(&world);
    let (torn, damaged) = (journal(&world, &ids[0]), journal(&world, &ids[2]));
    let mut text = fs::read_to_string(&torn).unwrap();
    text.truncate(text.find("RunFinished").unwrap());
    fs::write(&torn, text).unwrap();
    let mut text = fs::read(&damaged).unwrap();
    let lines: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    text[lines[8] + 50] ^= 1;
    fs::write(&damaged, text).unwrap();
    let first = answers(&world);
    let (code, list, warnings) = &first[0];
    assert_eq!((code, list.lines().count()), (&Some(0), 3), "{list}");
    assert!(list.lines().all(|line| line.contains("unfinished") || line.contains("What is")));
    assert!(warnings.contains("events.jsonl:10: the journal is damaged"), "{warnings}");
    assert_eq!(warnings.lines().count(), 1, "{warnings}");
    let show = world.deepseek(["sessions", "show", &ids[2]]).run();
    assert_eq!(show.code, Some(70), "{}", show.stderr);
    fs::remove_file(database(&world)).unwrap();
    assert_eq!(answers(&world), first);
}

/// Checks that all elements of a page are closed properly and that the page loads nothing from elsewhere.
pub(crate) fn assert_self_contained(page: &str) {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let name = tag.split(['>', ' ', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
    for outside in ["http:", "https:", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_session_is_exported_as_markdown_html_and_json() {
    let world = eventful();
    let ids = ids(&world);
    let page = succeed(&world, &["export", &ids[0]]).stdout;
    let parts = [
        "# Session ",
        "> Fix the greeting",
        "### The plan was rejected",
        "### Plan 1",
        "VERIFY|sh check.sh",
        "### The patch was rejected",
        "iteration 2 · applied\n\n````diff\ndiff --git a/greet.txt b/greet.txt\n--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello\n+hello ```wurld```",
        "- check `sh check.sh`: code failure (exit 1",
        "- failure: mechanical verify failure",
        "iteration 3 · applied",
        "- check `sh check.sh`: passed (exit 0",
        "### Outcome\n\ndelivered, proven",
    ];
    let mut rest = page.as_str();
    for part in parts {
        rest = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part} is missing or out of order: {page}"))
            .1;
    }
    let page = succeed(&world, &["export", &ids[0], "--html"]).stdout;
    let parts = [
        "<title>Fix the greeting</title>",
        "<h2 id=\"request-1\">Fix the greeting</h2>",
        "<h3>Plan 1</h3>",
        "<span class=\"mark good\">✓ done</span>",
        "<span class=\"mark good\">applied</span>",
        "<span class=\"gone\">-hello</span><span class=\"new\">+hello ```wurld```</span>",
        "<span class=\"mark bad\">code failure</span>",
        "<summary>Output</summary>",
        "<span class=\"mark good\">passed</span>",
        "delivered, proven",
        "<h2 id=\"calls\">Model calls</h2>",
    ];
    let mut rest = page.as_str();
    for part in parts {
        rest = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part} is missing or out of order: {page}"))
            .1;
    }
    assert_self_contained(&page);
    let document = &succeed(&world, &["export", &ids[0], "--format", "json"]).events[0];
    let events = document["events"].as_array().unwrap();
    let shown = succeed(&world, &["sessions", "show", &ids[0], "--output", "json"]);
    assert_eq!(events.len(), shown.events.len());
    for (event, shown) in events.iter().zip(&shown.events) {
        for key in ["seq", "at", "kind", "run"] {
            assert_eq!(event[key], shown[key]);
        }
    }
    let of = |what: &str| events.iter().filter(|event| event["what"] == what).count();
    assert_eq!((of("plan"), of("patch"), of("call"), of("reply"), of("delivery")), (1, 2, 5, 5, 1));
    let question = succeed(&world, &["export", &ids[1]]).stdout;
    assert!(question.contains("It greets.") && !question.contains(KEY), "{question}");
    let latest = succeed(&world, &["export"]).stdout;
    assert!(latest.contains("not applied") && latest.contains("- denied"), "{latest}");
}

/// Returns the steps of a trajectory after checking what every reader of it relies on.
fn checked_steps(trajectory: &Value) -> &[Value] {
    let steps = trajectory["steps"].as_array().unwrap();
    for (step, number) in steps.iter().zip(1..) {
        assert_eq!(step["step_id"], number, "{step}");
        let is_agent = step["source"] == "agent";
        let of_agents = ["model_name", "reasoning_content", "tool_calls", "metrics"];
        assert!(is_agent || of_agents.iter().all(|key| step.get(key).is_none()), "{step}");
        let calls = step["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let results = step["observation"]["results"].as_array().map(Vec::as_slice);
        for result in results.unwrap_or_default() {
            let call = &result["source_call_id"];
            let is_known = calls.iter().any(|it| &it["tool_call_id"] == call);
            assert!(call.is_null() || is_known, "{step}");
        }
    }
    steps
}

#[test]
fn a_session_is_exported_as_a_trajectory() {
    let world = eventful();
    let ids = ids(&world);
    let trajectory = &succeed(&world, &["export", &ids[0], "--format", "atif"]).events[0];
    let steps = checked_steps(trajectory);
    assert_eq!(
        (&steps[0]["source"], &steps[0]["message"]),
        (&"user".into(), &"Fix the greeting".into())
    );
    let last = steps.last().unwrap();
    assert!(last["message"].as_str().unwrap().starts_with("delivered, proven"), "{last}");
    let named = |name: &str| {
        let calls =
            steps.iter().filter_map(|step| Some((step, step["tool_calls"][0].as_object()?)));
        calls.filter(|(_, call)| call["function_name"] == name).map(|it| it.0).collect::<Vec<_>>()
    };
    let patches = named("apply_patch");
    let diff = patches[1]["tool_calls"][0]["arguments"]["diff"].as_str().unwrap();
    assert!(patches.len() == 2 && diff.contains("+hello world"), "{patches:?}");
    let ran = named("run")
        .iter()
        .map(|step| step["observation"]["results"][0]["content"].to_string())
        .collect::<String>();
    assert!(ran.contains("exit 1") && ran.contains("exit 0"), "{ran}");
    let sum =
        |key: &str| steps.iter().filter_map(|step| step["metrics"][key].as_u64()).sum::<u64>();
    let totals = &trajectory["final_metrics"];
    assert_eq!(totals["total_prompt_tokens"], sum("prompt_tokens"));
    assert_eq!(totals["total_completion_tokens"], sum("completion_tokens"));
    assert_eq!(totals["total_cached_tokens"], sum("cached_tokens"));
    assert_eq!(totals["total_steps"], steps.len());
    let calls = steps.iter().filter(|step| step["llm_call_count"] == 1).count();
    assert_eq!(totals["extra"]["model_calls"], calls);
    let denied = &succeed(&world, &["export", "--format", "atif"]).events[0];
    let denied = checked_steps(denied).iter().find(|step| step["source"] == "system").unwrap();
    assert!(denied["message"].as_str().unwrap().starts_with("denied"), "{denied}");
}

#[test]
fn a_trajectory_has_the_calls_of_tools_with_their_results() {
    let call =
        ScriptedCall { name: "fs_read".into(), arguments: r#"{"path": "greet.txt"}"#.into() };
    let world = World::greeting(vec![
        ScriptedReply { tool_calls: vec![call], ..ScriptedReply::of(Behaviour::ToolCall) }
            .to("analysis"),
        ScriptedReply::text("It says hello.").to("analysis"),
    ]);
    assert_eq!(world.deepseek(["ask", "What does it say?"]).run().code, Some(0));
    let trajectory = &succeed(&world, &["export", "--format", "atif"]).events[0];
    let steps = checked_steps(trajectory);
    let call = &steps[1]["tool_calls"][0];
    assert_eq!(
        (&call["function_name"], &call["arguments"]["path"]),
        (&"fs_read".into(), &"greet.txt".into())
    );
    let result = &steps[1]["observation"]["results"][0];
    assert!(result["content"].as_str().unwrap().contains("hello"), "{result}");
    assert_eq!(result["source_call_id"], call["tool_call_id"]);
    assert_eq!(steps[2]["message"], "It says hello.");
}

#[test]
fn usage_adds_up_to_the_recorded_usage_of_the_runs() {
    let world = eventful();
    let spent = |session: &str| {
        let shown = succeed(&world, &["sessions", "show", session, "--output", "json"]);
        let replies = shown.all("ModelReply");
        let sum = |key: &str| replies.iter().map(|data| data["usage"][key].as_u64().unwrap()).sum();
        let cost: u64 = replies.iter().map(|data| data["cost_nano_usd"].as_u64().unwrap()).sum();
        (replies.len() as u64, sum("prompt"), sum("hit"), sum("output"), cost)
    };
    let totals = |usage: &Value| {
        let of = |key: &str| usage[key].as_u64().unwrap();
        (of("calls"), of("prompt"), of("hit"), of("output"), of("cost_nano_usd"))
    };
    let by_session = &succeed(&world, &["usage", "--by", "session", "--output", "json"]).events[0];
    let rows = by_session["rows"].as_array().unwrap();
    for (row, id) in rows.iter().zip(ids(&world)) {
        assert_eq!(
            (row["session"].as_str(), totals(&row["usage"])),
            (Some(id.as_str()), spent(&id))
        );
    }
    for by in ["day", "model", "role"] {
        let usage = &succeed(&world, &["usage", "--by", by, "--output", "json"]).events[0];
        assert_eq!(usage["total"], by_session["total"], "{by}");
    }
    let none = succeed(&world, &["usage", "--since", "2999-01-01", "--output", "json"]);
    assert_eq!(none.events[0]["total"]["calls"], 0);
    let wrong = world.deepseek(["usage", "--since", "yesterday"]).run();
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn an_unknown_cost_is_shown_as_unknown() {
    let replies = vec![ScriptedReply::text("It greets.").to("analysis")];
    let options = Options { models: vec!["a-model".to_owned()], ..Options::default() };
    let world = World::of(Project::greeting(), Provider::with(replies, options))
        .configure("[llm.base_model]\nmodel = \"a-model\"\n");
    assert_eq!(succeed(&world, &["ask", "What is this?"]).code, Some(0));
    let usage = succeed(&world, &["usage", "--by", "model"]);
    let line = usage.stdout.lines().find(|line| line.starts_with("a-model")).unwrap();
    assert!(line.ends_with("unknown"), "{}", usage.stdout);
    assert!(succeed(&world, &["sessions"]).stdout.contains(" unknown "));
    assert!(succeed(&world, &["explain", "8"]).stdout.contains("cost unknown"));
}

#[test]
fn explain_traces_every_event_back_to_the_request() {
    let world = eventful();
    for id in ids(&world) {
        let shown = succeed(&world, &["sessions", "show", &id, "--output", "json"]);
        for event in &shown.events {
            let seq = event["seq"].to_string();
            let args = ["explain", &seq, "--session", &id[..], "--output", "json"];
            let explained = &succeed(&world, &args).events[0];
            assert_eq!(explained["event"]["kind"], event["kind"]);
            let because = explained["because"].as_array().unwrap();
            let first = because.last().unwrap_or(&explained["event"]);
            let is_request = first["data"]["speaker"] == "user";
            assert!(event["run"].is_null() || is_request, "{event}: {explained}");
        }
    }
}

#[test]
fn explain_shows_the_causes_of_a_patch_a_call_and_a_check() {
    let world = eventful();
    let ids = ids(&world);
    let shown = succeed(&world, &["sessions", "show", &ids[0], "--output", "json"]);
    let explain = |kind: &str, nth: usize| {
        let of_kind = |event: &&Value| event["kind"].as_str().unwrap().starts_with(kind);
        let seq = shown.events.iter().filter(of_kind).nth(nth).unwrap()["seq"].to_string();
        succeed(&world, &["explain", &seq, "--session", &ids[0], "--full"]).stdout
    };
    let in_order = |text: &str, words: &[&str]| {
        let mut rest = text;
        for word in words {
            rest =
                rest.split_once(word).unwrap_or_else(|| panic!("{word} is out of order: {text}")).1;
        }
    };
    in_order(
        &explain("PatchApplied", 0),
        &[
            "because",
            "PatchStaged",
            "editor asks",
            "PatchRefused",
            "PlanCreated",
            "architect asks",
            "Fix the greeting",
        ],
    );
    in_order(&explain("PatchStaged", 0), &["led to", "PatchApplied", "--- diff ---", "+hello"]);
    in_order(
        &explain("ModelRequest", 3),
        &[
            "editor asks",
            "ended ok",
            "tokens: ",
            "cost ",
            "iteration 2",
            "by plan 1",
            "--- request ---",
            "\"messages\"",
            "--- answer ---",
            "wurld",
        ],
    );
    in_order(
        &explain("VerificationRun", 1),
        &[
            "`sh check.sh`: code failure (exit 1",
            "VerifyCompleted",
            "mechanical verify failure",
            "--- output ---",
            "FAILED greet.txt",
        ],
    );
    in_order(&explain("IntentDecided", 0), &["edit, by a flag or the command"]);
    let denied = succeed(&world, &["sessions", "show", "--output", "json"]);
    let staged = denied.events.iter().find(|event| event["kind"] == "PatchStaged@v2").unwrap();
    let staged = succeed(&world, &["explain", &staged["seq"].to_string()]).stdout;
    in_order(&staged, &["led to", "ApprovalAsked", "ApprovalDenied"]);
    let none = world.deepseek(["explain", "9999"]).run();
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(none.stderr.contains("hint: "), "{}", none.stderr);
}

#[test]
fn a_workspace_sees_only_its_own_sessions_without_all() {
    let world = eventful();
    let ids = ids(&world);
    let elsewhere = Project::without_git(&[]);
    let root = elsewhere.root().to_str().unwrap();
    let there =
        |args: &[&str]| world.deepseek(args.iter().copied().chain(["--workspace", root])).run();
    assert_eq!(there(&["sessions"]).stdout, "");
    assert_eq!(there(&["sessions", "--all"]).stdout, succeed(&world, &["sessions"]).stdout);
    assert_eq!(there(&["usage", "--all"]).stdout, succeed(&world, &["usage"]).stdout);
    assert_eq!(there(&["export"]).code, Some(2));
    assert_eq!(there(&["export", &ids[0]]).stdout, succeed(&world, &["export", &ids[0]]).stdout);
}

#[test]
fn doctor_repairs_damaged_sessions_without_losing_data() {
    let world = eventful();
    let first = ids(&world).remove(0);
    let path = journal(&world, &first);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&path, &damaged).unwrap();

    let found = world.deepseek(["doctor"]).run();
    assert_eq!(found.code, Some(1));
    let line = whole[..whole.len() / 2].split(|byte| *byte == b'\n').count();
    assert!(
        found.stdout.contains(&format!("events.jsonl:{line}: the journal is damaged")),
        "{}",
        found.stdout
    );
    assert_eq!(fs::read(&path).unwrap(), damaged, "repaired without --repair");

    let repaired = world.deepseek(["doctor", "--repair"]).run();
    assert!(repaired.stdout.contains(&format!("kept {} events", line - 1)), "{}", repaired.stdout);
    let aside = fs::read(path.with_file_name("events.jsonl.damaged-1")).unwrap();
    assert_eq!([fs::read(&path).unwrap(), aside].concat(), damaged);
    succeed(&world, &["sessions", "show", &first]);
    let again = world.deepseek(["doctor", "--repair"]).run();
    assert!(again.stdout.contains("3 intact"), "{}", again.stdout);
}

#[test]
fn prune_removes_old_sessions_but_not_in_a_dry_run() {
    let world = eventful();
    let all = ids(&world);
    assert_eq!(world.deepseek(["sessions", "prune"]).run().code, Some(2), "a limit is required");
    let dry = succeed(&world, &["sessions", "prune", "--keep", "1", "--dry-run"]);
    assert!(dry.stderr.contains("2 of 3 sessions would be deleted"), "{}", dry.stderr);
    assert_eq!(ids(&world), all);
    succeed(&world, &["sessions", "prune", "--keep", "1"]);
    assert_eq!(ids(&world), all[2..]);
    let list = succeed(&world, &["sessions"]);
    assert_eq!(list.stdout.lines().count(), 1, "{}", list.stdout);
}
