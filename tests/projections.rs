//! The database of what was done: made of the journals alone, and never in the way of an answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mock::Reply;
use serde_json::Value;

use crate::support::{KEY, Project, Run, World, architect, diff, editor, plan};

/// A request that took two plans, three diffs and a red check; a question; and a change that there was no one to approve.
fn eventful() -> World {
    let world = World::greeting(vec![
        architect("That is easy."),
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "nothing like it", "hello world")),
        editor(diff("greet.txt", "hello", "hello ```wurld```")),
        editor(diff("greet.txt", "hello ```wurld```", "hello world")),
        Reply::text("It greets.").to("analysis"),
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

/// What a run says; it has to succeed.
fn said(world: &World, args: &[&str]) -> Run {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run
}

/// The ids of all sessions, oldest first.
fn ids(world: &World) -> Vec<String> {
    let list = said(world, &["sessions", "--output", "json"]);
    let list = list.events[0].as_array().unwrap().iter().rev();
    list.map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

/// The database of the only workspace.
fn database(world: &World) -> PathBuf {
    let workspaces = fs::read_dir(world.state().join("workspaces")).unwrap();
    let mut found = workspaces.map(|dir| dir.unwrap().path().join("projections.sqlite"));
    found.find(|path| path.exists()).expect("there is a database")
}

fn journal(world: &World, session: &str) -> PathBuf {
    world.state().join("sessions").join(session).join("events.jsonl")
}

/// All that is answered out of the past: exit codes and both streams.
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
fn without_its_database_every_command_answers_the_same() {
    let world = eventful();
    let first = answers(&world);
    let path = database(&world);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "nobody else's");
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
fn processes_at_once_have_the_same_answers() {
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
fn a_torn_and_a_damaged_journal_are_listed_as_far_as_they_are_whole() {
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

/// Every element of a page ends where it has to, and the page needs nothing besides.
pub(crate) fn is_whole(page: &str) {
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
fn a_session_is_exported_for_people_and_for_programs() {
    let world = eventful();
    let ids = ids(&world);
    let page = said(&world, &["export", &ids[0]]).stdout;
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
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("{part} is not in its place: {page}")).1;
    }
    let page = said(&world, &["export", &ids[0], "--html"]).stdout;
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
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("{part} is not in its place: {page}")).1;
    }
    is_whole(&page);
    let document = &said(&world, &["export", &ids[0], "--format", "json"]).events[0];
    let events = document["events"].as_array().unwrap();
    let shown = said(&world, &["sessions", "show", &ids[0], "--output", "json"]);
    assert_eq!(events.len(), shown.events.len());
    for (event, shown) in events.iter().zip(&shown.events) {
        for key in ["seq", "at", "kind", "run"] {
            assert_eq!(event[key], shown[key]);
        }
    }
    let of = |what: &str| events.iter().filter(|event| event["what"] == what).count();
    assert_eq!((of("plan"), of("patch"), of("call"), of("reply"), of("delivery")), (1, 2, 5, 5, 1));
    let question = said(&world, &["export", &ids[1]]).stdout;
    assert!(question.contains("It greets.") && !question.contains(KEY), "{question}");
    let latest = said(&world, &["export"]).stdout;
    assert!(latest.contains("not applied") && latest.contains("- denied"), "{latest}");
}

#[test]
fn usage_adds_up_to_what_the_runs_said() {
    let world = eventful();
    let spent = |session: &str| {
        let shown = said(&world, &["sessions", "show", session, "--output", "json"]);
        let replies = shown.all("ModelReply");
        let sum = |key: &str| replies.iter().map(|data| data["usage"][key].as_u64().unwrap()).sum();
        let cost: u64 = replies.iter().map(|data| data["cost_nano_usd"].as_u64().unwrap()).sum();
        (replies.len() as u64, sum("prompt"), sum("hit"), sum("output"), cost)
    };
    let told = |usage: &Value| {
        let of = |key: &str| usage[key].as_u64().unwrap();
        (of("calls"), of("prompt"), of("hit"), of("output"), of("cost_nano_usd"))
    };
    let by_session = &said(&world, &["usage", "--by", "session", "--output", "json"]).events[0];
    let rows = by_session["rows"].as_array().unwrap();
    for (row, id) in rows.iter().zip(ids(&world)) {
        assert_eq!((row["session"].as_str(), told(&row["usage"])), (Some(id.as_str()), spent(&id)));
    }
    for by in ["day", "model", "role"] {
        let usage = &said(&world, &["usage", "--by", by, "--output", "json"]).events[0];
        assert_eq!(usage["total"], by_session["total"], "{by}");
    }
    let none = said(&world, &["usage", "--since", "2999-01-01", "--output", "json"]);
    assert_eq!(none.events[0]["total"]["calls"], 0);
    let wrong = world.deepseek(["usage", "--since", "yesterday"]).run();
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn what_nobody_knows_stays_unknown() {
    let world = World::greeting(vec![Reply::text("It greets.").to("analysis")])
        .configure("[llm.base_model]\nmodel = \"deepseek-v4-flash\"\n");
    assert_eq!(said(&world, &["ask", "What is this?"]).code, Some(0));
    let usage = said(&world, &["usage", "--by", "model"]);
    let line = usage.stdout.lines().find(|line| line.starts_with("deepseek-v4-flash")).unwrap();
    assert!(line.ends_with("unknown"), "{}", usage.stdout);
    assert!(said(&world, &["sessions"]).stdout.contains(" unknown "));
    assert!(said(&world, &["explain", "8"]).stdout.contains("cost unknown"));
}

#[test]
fn every_event_of_a_request_is_explained_back_to_the_request() {
    let world = eventful();
    for id in ids(&world) {
        let shown = said(&world, &["sessions", "show", &id, "--output", "json"]);
        for event in &shown.events {
            let seq = event["seq"].to_string();
            let args = ["explain", &seq, "--session", &id[..], "--output", "json"];
            let explained = &said(&world, &args).events[0];
            assert_eq!(explained["event"]["kind"], event["kind"]);
            let because = explained["because"].as_array().unwrap();
            let first = because.last().unwrap_or(&explained["event"]);
            let is_request = first["data"]["speaker"] == "user";
            assert!(event["run"].is_null() || is_request, "{event}: {explained}");
        }
    }
}

#[test]
fn a_patch_a_call_and_a_check_tell_where_they_come_from() {
    let world = eventful();
    let ids = ids(&world);
    let shown = said(&world, &["sessions", "show", &ids[0], "--output", "json"]);
    let explain = |kind: &str, nth: usize| {
        let of_kind = |event: &&Value| event["kind"].as_str().unwrap().starts_with(kind);
        let seq = shown.events.iter().filter(of_kind).nth(nth).unwrap()["seq"].to_string();
        said(&world, &["explain", &seq, "--session", &ids[0], "--full"]).stdout
    };
    let in_order = |text: &str, words: &[&str]| {
        let mut rest = text;
        for word in words {
            rest = rest.split_once(word).unwrap_or_else(|| panic!("{word} in its place: {text}")).1;
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
    let denied = said(&world, &["sessions", "show", "--output", "json"]);
    let staged = denied.events.iter().find(|event| event["kind"] == "PatchStaged@v2").unwrap();
    let staged = said(&world, &["explain", &staged["seq"].to_string()]).stdout;
    in_order(&staged, &["led to", "ApprovalAsked", "ApprovalDenied"]);
    let none = world.deepseek(["explain", "9999"]).run();
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(none.stderr.contains("hint: "), "{}", none.stderr);
}

#[test]
fn another_workspace_sees_its_own_sessions_unless_it_asks_for_all() {
    let world = eventful();
    let ids = ids(&world);
    let elsewhere = Project::without_git(&[]);
    let root = elsewhere.root().to_str().unwrap();
    let there =
        |args: &[&str]| world.deepseek(args.iter().copied().chain(["--workspace", root])).run();
    assert_eq!(there(&["sessions"]).stdout, "");
    assert_eq!(there(&["sessions", "--all"]).stdout, said(&world, &["sessions"]).stdout);
    assert_eq!(there(&["usage", "--all"]).stdout, said(&world, &["usage"]).stdout);
    assert_eq!(there(&["export"]).code, Some(2));
    assert_eq!(there(&["export", &ids[0]]).stdout, said(&world, &["export", &ids[0]]).stdout);
}

#[test]
fn doctor_mends_what_is_damaged_and_loses_nothing() {
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
    assert_eq!(fs::read(&path).unwrap(), damaged, "nothing is mended unasked");

    let mended = world.deepseek(["doctor", "--repair"]).run();
    assert!(mended.stdout.contains(&format!("kept {} events", line - 1)), "{}", mended.stdout);
    let aside = fs::read(path.with_file_name("events.jsonl.damaged-1")).unwrap();
    assert_eq!([fs::read(&path).unwrap(), aside].concat(), damaged);
    said(&world, &["sessions", "show", &first]);
    let again = world.deepseek(["doctor", "--repair"]).run();
    assert!(again.stdout.contains("3 intact"), "{}", again.stdout);
}

#[test]
fn old_sessions_are_removed_when_it_is_asked_for_and_not_before() {
    let world = eventful();
    let all = ids(&world);
    assert_eq!(world.deepseek(["sessions", "prune"]).run().code, Some(2), "which?");
    let dry = said(&world, &["sessions", "prune", "--keep", "1", "--dry-run"]);
    assert!(dry.stderr.contains("2 of 3 sessions would be deleted"), "{}", dry.stderr);
    assert_eq!(ids(&world), all);
    said(&world, &["sessions", "prune", "--keep", "1"]);
    assert_eq!(ids(&world), all[2..]);
    let list = said(&world, &["sessions"]);
    assert_eq!(list.stdout.lines().count(), 1, "{}", list.stdout);
}
