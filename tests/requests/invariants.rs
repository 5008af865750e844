//! Properties of every run: git stays untouched, there is one end, runs are reproducible, and prompts only grow.

use std::collections::BTreeMap;
use std::fs;

use mock::ScriptedReply;
use serde_json::Value;

use crate::sessions::resume::resumes_after_kills;
use crate::support::{Project, Provider, Run, World, architect, diff, editor, greeting_fix, plan};

/// A run with everything: an unreadable plan, a read, a refused patch, a failed check, a new plan.
fn eventful() -> Vec<ScriptedReply> {
    let says = |old: &str, new: &str| editor(diff("greet.txt", old, new));
    vec![
        architect("Let me think."),
        architect(plan(&["greet.txt", "new.txt"])),
        editor("NEED_CONTEXT|check.sh"),
        editor("I would change the greeting."),
        says("hallo", "hello world"),
        says("hello", "hello moon"),
        editor("--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1,2 @@\n hello moon\n+and more\n"),
        architect(plan(&["greet.txt", "new.txt"])),
        editor(
            "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1 @@\n-hello moon\n-and more\n+hello world\n\
             --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n",
        ),
    ]
}

#[test]
fn git_is_untouched_and_only_the_files_of_the_plan_are_changed() {
    let world = World::greeting(eventful());
    world.project.write("untracked.txt", "mine\n");
    let before = world.project.hashes(".git");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.hashes(".git"), before);
    assert_eq!(world.project.changed(), ["greet.txt", "new.txt", "untracked.txt"]);
}

#[test]
fn a_failed_run_does_not_touch_git() {
    let world = World::greeting(vec![
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello", "bye")).forever(),
    ]);
    let before = world.project.hashes(".git");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.code, Some(5), "the scripted answers contain no second plan: {}", run.ending());
    assert_eq!(world.project.hashes(".git"), before);
}

#[test]
fn the_same_answers_give_the_same_events_and_requests() {
    let observed = || {
        let world = World::greeting(eventful());
        let run = world.chat("Fix the greeting");
        let requests: Vec<_> =
            world.provider.requests().iter().map(|seen| seen.request.body.clone()).collect();
        (events_without_time(&run), requests)
    };
    let ((events, requests), (again, same)) = (observed(), observed());
    assert!(events.len() > 40, "{events:#?}");
    for (first, second) in events.iter().zip(&again) {
        assert_eq!(first, second);
    }
    assert_eq!(events.len(), again.len());
    assert_eq!(requests, same);
}

/// Returns the events without everything that depends on time or chance.
fn events_without_time(run: &Run) -> Vec<String> {
    let lossless = run.events.iter().filter(|event| event["seq"].is_u64());
    let mut names = BTreeMap::new();
    lossless.map(|event| timeless(event.clone(), &mut names).to_string()).collect()
}

fn timeless(value: Value, names: &mut BTreeMap<String, usize>) -> Value {
    match value {
        Value::Object(map) => {
            let timed = ["at", "elapsed_ms", "workspace", "session", "conversation", "salt"];
            let kept = map.into_iter().filter(|(key, _)| !timed.contains(&key.as_str()));
            kept.map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    // Ids are numbered: only their identity matters.
                    ("run" | "patch" | "ask", Value::String(id)) => {
                        let next = names.len();
                        Value::from(*names.entry(id).or_insert(next))
                    }
                    (_, value) => timeless(value, names),
                };
                (key, value)
            })
            .collect()
        }
        Value::Array(items) => items.into_iter().map(|item| timeless(item, names)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[test]
fn the_messages_of_each_role_only_grow() {
    let world = World::greeting(eventful());
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    for (role, calls) in [("architect", 3), ("editor", 6)] {
        let requests = world.provider.of(role);
        assert_eq!(requests.len(), calls, "{role}");
        for pair in requests.windows(2) {
            let (before, after) = (&pair[0].request, &pair[1].request);
            // The body ends with the messages, and they with `]}`.
            let grown = before.body.strip_suffix(b"]}").expect("messages come last");
            assert!(
                after.body.starts_with(grown),
                "{role}: request {} rewrote history",
                after.number
            );
        }
    }
}

/// Nine attempts of which all but the last fail, each in a different way; twenty calls in all.
pub(crate) fn twenty_calls() -> (Project, Vec<ScriptedReply>) {
    let prose =
        "A line of a file worth reading, as long as lines of prose are when people write them.\n"
            .repeat(300);
    let check = "read -r word < words.txt\n[ $word = good ] || { echo \"FAILED words.txt::$word - is bad\"; exit 1; }\n";
    let project = Project::new(&[("words.txt", &format!("good\n{prose}")), ("check.sh", check)]);
    let mut replies = vec![architect("not a plan"), architect(plan(&["words.txt"]))];
    let words = ["good", "a", "b", "c", "d", "e", "f", "g", "h", "good"];
    for pair in words.windows(2) {
        replies.push(editor("NEED_CONTEXT|check.sh"));
        replies.push(editor(diff("words.txt", pair[0], pair[1])));
    }
    (project, replies)
}

#[test]
fn repeated_prompt_prefixes_hit_the_providers_cache() {
    let (project, replies) = twenty_calls();
    let twice: Vec<ScriptedReply> = replies.iter().chain(&replies).cloned().collect();
    let world =
        World::of(project, Provider::new(twice)).configure("[agent_loop]\nmax_iterations = 12\n");
    let run = world.chat("Improve words.txt");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let prompts: u64 =
        world.provider.requests().iter().map(|seen| seen.usage.unwrap().prompt).sum();
    let replies = run.all("ModelReply");
    let avoidable = replies.iter().map(|reply| reply["avoidable_misses"].as_u64().unwrap());
    let (sum, most) = (avoidable.clone().sum::<u64>(), avoidable.max().unwrap());
    println!("{} calls, {prompts} prompt tokens, {sum} avoidable misses", replies.len());
    assert_eq!(replies.len(), 20);
    assert!(sum * 100 <= prompts, "{sum} of {prompts} tokens were avoidable misses");
    assert!(most < 128, "more than the last cache unit was missed: {most}");

    let run = world.chat("Improve words.txt");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let all = world.provider.requests();
    assert_eq!(all.len(), 40);
    for seen in &all[20..] {
        let usage = seen.usage.unwrap();
        assert!(usage.miss() < 128, "{usage:?} of request {}", seen.request.number);
    }
}

#[test]
fn a_journal_stores_repeated_prompt_parts_once() {
    let (project, replies) = twenty_calls();
    let world =
        World::of(project, Provider::new(replies)).configure("[agent_loop]\nmax_iterations = 12\n");
    assert_eq!(world.chat("Improve words.txt").ending(), "0 delivered/passed");
    let requests = world.provider.requests();
    assert_eq!(requests.len(), 20);
    let (mut last, mut all, mut unique) = (BTreeMap::new(), 0, 0);
    for request in &requests {
        let body = &request.request.body;
        let role = request.request.header("x-agent-role").unwrap().to_owned();
        let before: &[u8] = last.insert(role, body).map_or(&[], |body| body);
        let repeated = body.iter().zip(before).take_while(|(new, old)| new == old).count();
        all += body.len();
        unique += body.len() - repeated;
    }
    let session =
        fs::read_dir(world.state().join("sessions")).unwrap().next().unwrap().unwrap().path();
    let blobs = fs::read_dir(session.join("blobs")).unwrap().map(|blob| blob.unwrap().path());
    let files = blobs.chain([session.join("events.jsonl")]);
    let kept: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
    println!("{all} bytes of prompts, {unique} of them unique, {kept} bytes of journal");
    assert!(
        kept * 4 <= all as u64,
        "{kept} bytes stored; {unique} of {all} prompt bytes are unique"
    );
}

#[test]
fn every_run_has_one_end_and_no_escalation() {
    let ask = || vec![ScriptedReply::text("An answer.").to("analysis")];
    let runs = [
        ("Fix the greeting", eventful(), "0 delivered/proven"),
        ("What is this?", ask(), "0 delivered/not_needed"),
        ("Fix the greeting", vec![ScriptedReply::text("no").forever()], "1 needs_work/no_plan"),
        ("Fix the greeting", Vec::new(), "5 failed/server"),
    ];
    for (request, replies, ending) in runs {
        let world = World::greeting(replies);
        let run = if request.ends_with('?') { world.asks(request) } else { world.chat(request) };
        assert_eq!(run.ending(), ending, "{}", run.stderr);
        let kinds: Vec<_> =
            run.events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert!(!kinds.iter().any(|kind| kind.starts_with("RouterEscalation")));
        let end = kinds.iter().position(|kind| *kind == "RunFinished@v3").unwrap();
        assert_eq!(kinds[end + 1..], ["SessionStateChanged@v1", "Outcome"], "after the end");
        let numbers: Vec<_> = run.events.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert!(numbers.iter().zip(1..).all(|(seq, place)| *seq == place), "{numbers:?}");
    }
}

#[test]
fn the_journal_records_every_displayed_event_and_every_request_byte_for_byte() {
    let world = World::greeting(eventful());
    let run = world.chat("Fix the greeting");
    let session =
        fs::read_dir(world.state().join("sessions")).unwrap().next().unwrap().unwrap().path();
    let journal = fs::read_to_string(session.join("events.jsonl")).unwrap();
    let kinds = |events: &mut dyn Iterator<Item = Value>| -> Vec<String> {
        events.map(|event| format!("{} {}", event["seq"], event["kind"])).collect()
    };
    let kept = kinds(&mut journal.lines().map(|line| serde_json::from_str(line).unwrap()));
    let shown = kinds(&mut run.events.iter().filter(|event| event["seq"].is_u64()).cloned());
    assert_eq!(kept, shown);
    let asked = run.all("ModelRequest");
    let sent = world.provider.requests();
    assert_eq!(asked.len(), sent.len());
    for (event, sent) in asked.iter().zip(&sent) {
        let hash = tree::FileHash::of(&sent.request.body);
        assert_eq!(event["body"]["blob"], hash.to_string());
    }
}

#[test]
fn removed_sql_comments_and_fences_inside_files_are_not_diff_syntax() {
    let project = Project::new(&[
        ("query.sql", "SELECT 1;\n-- old comment\n-- another\nSELECT 2;\n"),
        ("README.md", "# Title\n\n```sh\nrun old\n```\n\nEnd\n"),
        ("check.sh", "! grep -q 'old' query.sql README.md\n"),
    ]);
    let text = "```diff\n--- a/query.sql\n+++ b/query.sql\n@@ -1,4 +1,3 @@\n SELECT 1;\n--- old comment\n -- another\n SELECT 2;\n\
        --- a/README.md\n+++ b/README.md\n@@ -2,5 +2,6 @@\n \n ```sh\n-run old\n+run new\n ```\n+```text\n \n```\n";
    let provider = Provider::new(vec![architect(plan(&["query.sql", "README.md"])), editor(text)]);
    let world = World::of(project, provider);
    let run = world.chat("Remove the old things");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read("query.sql"), "SELECT 1;\n-- another\nSELECT 2;\n");
    assert_eq!(world.project.read("README.md"), "# Title\n\n```sh\nrun new\n```\n```text\n\nEnd\n");
}

#[test]
fn files_are_recognized_in_a_request_that_looks_like_git_status() {
    let project = Project::greeting();
    project.write("src/lib.rs", "pub fn first() {}\n");
    let provider = Provider::new(greeting_fix());
    let world = World::of(project, provider);
    let run = world.chat("Fix this:\n M src/lib.rs\n?? greet.txt\n");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let evidence = run.one("EvidenceGathered")["items"].to_string();
    assert!(
        evidence.contains("src/lib.rs:1-1") && evidence.contains("greet.txt:1-1"),
        "{evidence}"
    );
    assert!(!evidence.contains("\"rc/lib.rs"), "{evidence}");
}

#[test]
fn a_message_that_is_no_question_by_its_form_costs_no_call_to_find_out() {
    let answers = |first: ScriptedReply| {
        vec![
            first,
            ScriptedReply::text("It is red.").to("analysis"),
            editor(diff("greet.txt", "hello", "hello world")),
        ]
    };
    let question = || architect("QUESTION|whether the build is broken");
    for (first, message, roles, intents) in [
        (architect(plan(&["greet.txt"])), "the build is broken", "architect editor", "edit"),
        (question(), "the build is broken", "architect analysis", "edit answer"),
        (question(), "hello", "architect analysis", "edit answer"),
        (question(), "Is the build broken?", "analysis", "answer"),
    ] {
        let world = World::greeting(answers(first));
        let run = world.message(message).run();
        assert_eq!(run.code, Some(0), "{message}: {}", run.stderr);
        assert_eq!(world.provider.roles(), roles, "{message}");
        let decided = run.all("IntentDecided");
        let decided: Vec<_> = decided.iter().map(|it| it["intent"].as_str().unwrap()).collect();
        assert_eq!(decided.join(" "), intents, "{message}");
        if intents.ends_with("answer") {
            assert_eq!(run.ending(), "0 delivered/not_needed", "{message}");
            assert!(world.project.changed().is_empty(), "{message}");
        }
        let replayed = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replayed.code, Some(0), "{message}: {}", replayed.stderr);
    }
}

#[test]
fn a_question_that_the_architect_finds_is_answered_in_its_dialogue() {
    let look = ScriptedReply::text("NEED_CONTEXT|greet.txt").to("analysis");
    let answers = vec![architect("Well:\n**QUESTION|what it says**"), look];
    let answer = ScriptedReply::text("It says hello.").to("analysis");
    let world = World::greeting([answers, vec![answer]].concat());
    let run = world.message("tell me what greet.txt says").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("It says hello."), "{}", run.stdout);
    let asked = &world.provider.requests()[1].request.json["messages"];
    assert_eq!(asked[1], world.provider.requests()[0].request.json["messages"][1]);
    assert!(asked[2]["content"].to_string().contains("QUESTION|"), "{asked}");
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
}

#[test]
fn what_was_asked_for_as_an_edit_is_no_question() {
    let replies = vec![architect("QUESTION|what to do"), architect(plan(&["greet.txt"]))];
    let fix = editor(diff("greet.txt", "hello", "hello world"));
    let world = World::greeting([replies, vec![fix]].concat());
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect editor");
}

#[test]
fn a_question_killed_anywhere_is_resumed() {
    let answers = || {
        let question = architect("QUESTION|what it says").forever();
        vec![question, ScriptedReply::text("It says hello.").to("analysis").forever()]
    };
    let kills = resumes_after_kills(
        3,
        &["-p", "tell me what it says"],
        0,
        || World::greeting(answers()),
        |world, step| assert!(world.project.changed().is_empty(), "step {step}"),
    );
    assert!(kills > 2, "{kills}");
}
