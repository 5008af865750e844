//! Bad input from the user's side: every run ends with a clear message and the right exit code, and the workspace is
//! either unchanged or fully patched.

use std::fs;

use mock::{Behaviour, Options, ScriptedReply};

use crate::support::{KEY, Project, Provider, World, architect, diff, editor, greeting_fix, plan};

#[test]
fn a_workspace_does_not_need_git() {
    let project = Project::without_git(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "grep -q world greet.txt\n"),
    ]);
    let world = World::of(project, Provider::new(greeting_fix()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(!world.project.path(".git").exists());
}

#[test]
fn a_workspace_in_a_subdirectory_of_a_repository_is_patched_in_place() {
    let project = Project::new(&[
        ("greet.txt", "not me\n"),
        ("sub/greet.txt", "hello\n"),
        ("sub/check.sh", "grep -q world greet.txt\n"),
    ]);
    let headed = format!(
        "diff --git a/greet.txt b/greet.txt\n{}",
        diff("greet.txt", "hello", "hello world")
    );
    let provider = Provider::new(vec![architect(plan(&["greet.txt"])), editor(headed)]);
    let world = World::of(project, provider);
    let mut request = world.request("Fix the greeting");
    let run = request.args(["--workspace", "sub"]).run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.changed(), ["sub/greet.txt"]);
    assert_eq!(world.project.read("sub/greet.txt"), "hello world\n");
}

#[test]
fn uncommitted_changes_are_patched_and_kept() {
    let project = Project::new(&[
        ("greet.txt", "start\n"),
        ("mine.txt", "old\n"),
        ("check.sh", "grep -q world greet.txt\n"),
    ]);
    project.write("greet.txt", "hello\n");
    project.write("mine.txt", "new\n");
    project.write("untracked.txt", "untracked\n");
    let world = World::of(project, Provider::new(greeting_fix()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert_eq!(world.project.read("mine.txt"), "new\n");
    assert_eq!(world.project.read("untracked.txt"), "untracked\n");
}

#[test]
fn a_missing_workspace_request_or_key_is_refused_with_a_hint() {
    let world = World::greeting(Vec::new());
    let refused = |args: &[&str], words: &str| {
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(words) && run.stderr.contains("hint:"),
            "{args:?}: {}",
            run.stderr
        );
    };
    refused(&["-p", "Fix it", "--workspace", "nowhere"], "the workspace");
    refused(&["-p", "Fix it", "--workspace", "greet.txt"], "the workspace");
    refused(&["-p", "  "], "the request is empty");
    // A model cannot run what a conversation runs itself.
    for request in [&["-p", "!ls -l"][..], &["!ls", "src"], &["-p", "/undo"], &["/undo"]] {
        refused(request, "conversation");
    }
    let run = world.deepseek([]).input("!ls\n").run();
    assert!(run.code == Some(2) && run.stderr.contains("deepseek sandbox -- "), "{}", run.stderr);
    assert_eq!(world.provider.requests().len(), 0);
    let mut keyless = world.request("Fix the greeting");
    keyless.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL");
    let run = keyless.run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("no API key") && run.stderr.contains("DEEPSEEK_API_KEY"),
        "{}",
        run.stderr
    );
    assert!(world.provider.requests().is_empty());
}

#[test]
fn a_refused_key_is_reported_once_and_never_shown() {
    let options = Options { expected_key: Some("sk-another".to_owned()), ..Options::default() };
    let world = World::of(Project::greeting(), Provider::with(greeting_fix(), options));
    let run = world.request("Fix the greeting").args(["-vv"]).run();
    assert_eq!(run.ending(), "5 failed/auth", "{}", run.stderr);
    assert!(run.stderr.contains("hint:"), "{}", run.stderr);
    assert_eq!(world.provider.requests().len(), 1, "a refused key is not tried again");
    let journals = fs::read_dir(world.state().join("sessions")).unwrap();
    let journal: String = journals
        .map(|dir| fs::read_to_string(dir.unwrap().path().join("events.jsonl")).unwrap())
        .collect();
    for text in [&run.stdout, &run.stderr, &journal] {
        assert!(!text.contains(KEY) && !text.contains(&KEY[KEY.len() - 4..]), "{text}");
    }
    assert!(world.project.changed().is_empty());
}

#[test]
fn an_unknown_model_and_an_unreachable_server_are_reported() {
    let world = World::greeting(greeting_fix());
    let run = world.request("Fix the greeting").args(["--model", "deepseek-v9"]).run();
    assert_eq!(run.ending(), "5 failed/invalid_request", "{}", run.stderr);
    assert!(run.stderr.contains("deepseek-v9"), "{}", run.stderr);

    let run =
        world.request("Fix the greeting").env("DEEPSEEK_BASE_URL", "http://127.0.0.1:1").run();
    assert_eq!(run.ending(), "5 failed/unreachable", "{}", run.stderr);
    assert_eq!(run.all("ModelRequest").len(), 2, "one retry shows whether it passes");

    let run = world.request("Fix the greeting").env("DEEPSEEK_BASE_URL", "not a url").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(world.project.changed().is_empty());
}

#[test]
fn a_retired_model_name_is_accepted_with_one_warning() {
    let world = World::greeting(vec![ScriptedReply::text("yes").to("analysis")]);
    let run = world.deepseek(["ask", "Is it?", "--model", "deepseek-chat"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stderr.matches("is retired").count(), 1, "{}", run.stderr);
    assert_eq!(world.provider.requests()[0].request.json["model"], "deepseek-flash");
}

#[test]
fn a_plan_for_an_uneditable_file_is_returned_with_the_line_and_the_rule() {
    let thirteen: Vec<String> = (0..13).map(|at| format!("f{at}.txt")).collect();
    let thirteen: Vec<&str> = thirteen.iter().map(String::as_str).collect();
    let cases: [(&[&str], &str); 7] = [
        (&["../outside.txt"], "FILE|../outside.txt"),
        (&["/etc/passwd"], "FILE|/etc/passwd"),
        (&[".env"], "FILE|.env"),
        (&[".git/config"], "FILE|.git/config"),
        (&[".GIT/hooks/x"], "FILE|.GIT/hooks/x"),
        (&["link.txt"], "FILE|link.txt"),
        (&thirteen, "FILE|f12.txt"),
    ];
    for (files, quoted) in cases {
        let project = Project::greeting();
        project.write(".env", "PASSWORD=hunter2\n");
        std::os::unix::fs::symlink("/etc/passwd", project.path("link.txt")).unwrap();
        let mut replies = vec![architect(plan(files))];
        replies.extend(greeting_fix());
        let world = World::of(project, Provider::new(replies));
        let run = world.chat("Fix the greeting and .env and link.txt");
        assert_eq!(run.ending(), "0 delivered/proven", "{files:?}: {}", run.stderr);
        let prompt = world.provider.last_message("architect", 2);
        assert!(prompt.contains(quoted) && prompt.contains("Rule:"), "{prompt}");
        let said = world.provider.all_messages();
        assert!(!said.contains("hunter2") && !said.contains("root:x:0"), "{files:?}");
    }
}

#[test]
fn an_architect_without_a_valid_plan_ends_the_run_as_no_plan() {
    let world = World::greeting(vec![architect(plan(&[".env"])).forever()]);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/no_plan", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect architect", "two repair turns");
    assert!(world.project.changed().is_empty());
}

#[test]
fn an_editor_without_a_valid_draft_ends_the_run_as_no_draft() {
    for (answer, reason) in [("I cannot.", "no_draft"), ("NEED_CONTEXT|check.sh", "no_draft")] {
        let world = World::greeting(vec![
            architect(plan(&["greet.txt"])).forever(),
            editor(answer).forever(),
        ]);
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), format!("1 needs_work/{reason}"), "{}", run.stderr);
        assert!(world.project.changed().is_empty());
    }
}

#[test]
fn paths_and_contents_may_use_any_unicode_script() {
    let path = "dîr with space/文件 😀.txt";
    let project = Project::new(&[
        (path, "héllo 世界\r\nsecond 😀\r\n"),
        ("check.sh", "grep -rq 'wörld 🌍' d*\n"),
    ]);
    let change = format!(
        "--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-héllo 世界\n+wörld 🌍\n second 😀\n"
    );
    let provider = Provider::new(vec![architect(plan(&[path])), editor(change)]);
    let world = World::of(project, provider);
    let run = world.chat("修复 文件 😀.txt 的问候语 – naïve ﷽");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read(path), "wörld 🌍\r\nsecond 😀\r\n");
}

#[test]
fn unusable_answers_end_the_run_with_their_failure_class() {
    let cases = [
        (Behaviour::MalformedJsonEvent, "5 failed/malformed"),
        (Behaviour::InsufficientSystemResource, "5 failed/out_of_capacity"),
        (Behaviour::ContentFilter, "5 failed/content_filter"),
        (Behaviour::EmptyStop, "5 failed/empty"),
        (Behaviour::ReasoningOnly, "5 failed/empty"),
        (Behaviour::Length, "1 needs_work/no_plan"),
    ];
    for (behaviour, ending) in cases {
        let reply =
            ScriptedReply { text: Some(plan(&["greet.txt"])), ..ScriptedReply::of(behaviour) };
        let world = World::greeting(vec![reply.to("architect").forever()]);
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), ending, "{}: {}", behaviour.name(), run.stderr);
        assert!(run.all("PlanCreated").is_empty(), "an incomplete answer must not become a plan");
        assert!(world.project.changed().is_empty());
    }
}

#[test]
fn a_small_address_space_is_told_before_anything_is_begun() {
    let world = World::greeting(greeting_fix());
    let limited = world.after("ulimit -v 500000", "ask 'What is this?'").run();
    assert_eq!(limited.code, Some(2), "{}", limited.stderr);
    assert!(limited.stderr.contains("`ulimit -v 1048576` is enough"), "{}", limited.stderr);
    assert!(world.provider.requests().is_empty());
}

#[test]
fn a_check_that_cannot_fail_costs_no_further_call() {
    let project = Project::new(&[("greet.txt", "hello\n")]);
    let mut replies = greeting_fix();
    replies[0] = architect(plan(&["greet.txt"]).replace("VERIFY|sh check.sh", "VERIFY|true"));
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Fix the greeting");
    let ended = (run.ending(), world.provider.roles());
    let expected = ("0 delivered/unverified".to_owned(), "architect editor".to_owned());
    assert_eq!(ended, expected, "{}", world.provider.all_messages());
}
