//! Whole requests: the model calls they make, the workspace afterwards, and the reported outcome.

use mock::ScriptedReply;
use serde_json::Value;

use crate::support::{
    Project, Provider, Terminal, World, architect, diff, editor, greeting_fix, plan,
    plan_verified_by,
};

/// Returns a plan for the greeting, followed by these answers of the Editor.
fn planned(drafts: impl IntoIterator<Item = String>) -> Vec<ScriptedReply> {
    let mut replies = vec![architect(plan(&["greet.txt"]))];
    replies.extend(drafts.into_iter().map(editor));
    replies
}

/// Returns a diff that changes the greeting from `old` to `new`.
fn says(old: &str, new: &str) -> String {
    diff("greet.txt", old, new)
}

#[test]
fn a_change_of_one_file_is_planned_edited_verified_and_delivered() {
    let world = World::greeting(planned([says("hello", "hello world")]));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert_eq!(world.provider.roles(), "architect editor");
    assert_eq!(run.one("PlanCreated")["plan"]["files"][0]["path"], "greet.txt");
}

#[test]
fn acceptance_criteria_are_listed_with_the_check_that_showed_them_and_then_what_is_uncertain() {
    let accept = "ACCEPT|it greets the world|sh check.sh\nACCEPT|it is polite\nASSUME|one greeting\nRISK|others read it\n";
    let plan = plan(&["greet.txt"]).replace("ACCEPT|the check passes\n", accept);
    let replies = || vec![architect(plan.as_str()), editor(says("hello", "hello world"))];
    let world = World::greeting(replies());
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let listed = serde_json::json!([
        { "criterion": "it greets the world", "shown_by": "sh check.sh" },
        { "criterion": "it is polite", "shown_by": null },
    ]);
    assert_eq!(run.one("Outcome")["accept"], listed);
    let prompt = world.provider.last_message("editor", 1);
    assert!(prompt.contains("- it greets the world\n- it is polite\n"), "{prompt}");
    let args = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];
    let said = World::greeting(replies()).deepseek(args).run().stderr;
    assert!(said.contains("  accept: it greets the world — `sh check.sh`\n"), "{said}");
    let end =
        "  accept: it is polite — not checked\n  assumes: one greeting\n  risk: others read it\n";
    assert!(said.contains(end), "{said}");
}

#[test]
fn one_patch_can_change_create_delete_and_rename_files() {
    let project = Project::new(&[
        ("a.txt", "one\n"),
        ("old.txt", "gone\n"),
        ("from.txt", "moved\n"),
        (
            "check.sh",
            "test -f sub/new.txt && test ! -e old.txt && test -f to.txt && grep -q two a.txt\n",
        ),
    ]);
    let all = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n\
        --- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1 @@\n+new\n\
        --- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
        diff --git a/from.txt b/to.txt\nsimilarity index 100%\nrename from from.txt\nrename to to.txt\n";
    let files = ["a.txt", "sub/new.txt", "old.txt", "from.txt", "to.txt"];
    let provider = Provider::new(vec![architect(plan(&files)), editor(all)]);
    let world = World::of(project, provider);
    let run = world.chat("Move the files around");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let mut changed = world.project.changed();
    changed.sort();
    assert_eq!(changed, ["a.txt", "from.txt", "old.txt", "sub/new.txt", "to.txt"]);
    assert_eq!(world.project.read("to.txt"), "moved\n");
}

#[test]
fn a_refused_patch_is_corrected_by_the_editor_who_sees_the_reason() {
    let world =
        World::greeting(planned([says("hallo", "hello world"), says("hello", "hello world")]));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor");
    assert_eq!(run.all("PatchRefused").len(), 1);
    assert_eq!(run.classes(), ["patch_mismatch"]);
    let prompt = world.provider.last_message("editor", 2);
    assert!(
        prompt.contains("PatchMismatch") && prompt.contains("greet.txt: hunk 1 of 1"),
        "{prompt}"
    );
    assert!(
        world.provider.all_messages().contains("-hallo"),
        "the refused diff is still in the dialogue"
    );
}

#[test]
fn a_failed_check_is_fixed_by_the_editor_alone() {
    let world = World::greeting(planned([
        says("hello", "hello wurld"),
        says("hello wurld", "hello world"),
    ]));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor", "1 Architect and 2 Editor calls");
    assert_eq!(run.classes(), ["mechanical_verify_failure"]);
    let prompt = world.provider.last_message("editor", 2);
    assert!(
        prompt.contains("MechanicalVerifyFailure") && prompt.contains("it says hello wurld"),
        "{prompt}"
    );
    assert!(prompt.contains("### greet.txt"), "the current file must be shown: {prompt}");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

/// Returns a diff that adds a second line to the greeting, so that the failure stays the same.
fn appends(line: &str) -> String {
    format!("--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1,2 @@\n hello moon\n+{line}\n")
}

#[test]
fn a_repeated_failure_goes_back_to_the_architect() {
    let mut answers = planned([says("hello", "hello moon"), appends("and more")]);
    answers.push(architect(plan(&["greet.txt"])));
    answers.push(editor(
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1 @@\n-hello moon\n-and more\n+hello world\n",
    ));
    let world = World::greeting(answers);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.classes(), ["mechanical_verify_failure", "repeated_verify_failure"]);
    assert_eq!(world.provider.roles(), "architect editor editor architect editor");
    let prompt = world.provider.last_message("architect", 2);
    assert!(
        prompt.contains("RepeatedVerifyFailure") && prompt.contains("it says hello moon"),
        "{prompt}"
    );
    assert_eq!(run.one("PlanRevised")["version"], 2);
}

#[test]
fn a_revised_plan_with_the_same_failure_is_a_design_mismatch() {
    let mut answers = planned([says("hello", "hello moon"), appends("one")]);
    answers.push(architect(plan(&["greet.txt"])));
    answers.push(editor(
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1,2 @@\n hello moon\n-one\n+two\n",
    ));
    answers.push(architect(plan(&["greet.txt"])));
    answers.push(editor(
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1 @@\n-hello moon\n-two\n+hello world\n",
    ));
    let world = World::greeting(answers);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let classes = ["mechanical_verify_failure", "repeated_verify_failure", "design_mismatch"];
    assert_eq!(run.classes(), classes);
    assert!(world.provider.last_message("architect", 3).contains("DesignMismatch"));
}

#[test]
fn after_six_failures_the_run_ends_and_offers_undo_patches() {
    // First two words fail, then one, then others: the best tree is neither the first nor the last.
    let check = "code=0\nfor word in $(cat words.txt); do [ $word = good ] || { echo \"FAILED words.txt::$word - is bad\"; code=1; }; done\nexit $code\n";
    let project = Project::new(&[("words.txt", "good\n"), ("check.sh", check)]);
    let texts = ["good", "a b", "c", "d e", "f g", "h i", "j k"];
    let mut answers = vec![architect(plan(&["words.txt"]))];
    answers.extend(texts.windows(2).map(|pair| editor(diff("words.txt", pair[0], pair[1]))));
    let world = World::of(project, Provider::new(answers));
    let run = world.chat("Improve the words");
    assert_eq!(run.ending(), "1 needs_work/iterations_used_up", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor editor editor editor editor");
    assert_eq!(world.project.read("words.txt"), "j k\n", "the last attempt is kept");
    let rollbacks = run.one("RunFinished")["rollbacks"].as_array().unwrap();
    let back_to = |rollback: &Value| {
        let id = rollback["patch"].as_str().unwrap();
        let applied = world.deepseek(["apply", id, "--yes"]).run();
        assert_eq!(applied.code, Some(0), "{}", applied.stderr);
        let text = world.project.read("words.txt");
        world.project.write("words.txt", "j k\n");
        text
    };
    assert_eq!(rollbacks.len(), 2);
    assert_eq!(rollbacks[0]["to"], "start");
    assert_eq!(back_to(&rollbacks[0]), "good\n");
    assert_eq!(back_to(&rollbacks[1]), "c\n", "{}", rollbacks[1]["to"]);
}

#[test]
fn the_editor_can_read_a_file_that_the_plan_does_not_declare() {
    let project = Project::greeting();
    project.write("notes/words.txt", "first\nsay world\nthird\n");
    let ask = "NEED_CONTEXT|notes/words.txt:2-3\nNEED_CONTEXT|.env\n".to_owned();
    let provider = Provider::new(planned([ask, says("hello", "hello world")]));
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("editor", 2);
    assert!(
        prompt.contains("   2| say world\n   3| third\n") && !prompt.contains("first"),
        "{prompt}"
    );
    assert!(prompt.contains(".env is not shown"), "{prompt}");
}

#[test]
fn a_file_that_was_only_shown_cannot_be_edited() {
    let project = Project::greeting();
    project.write("other.txt", "other\n");
    let ask = "NEED_CONTEXT|other.txt".to_owned();
    let outside = diff("other.txt", "other", "mine");
    let replies = [planned([ask, outside]), planned([says("hello", "hello world")])].concat();
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.all("PatchRefused").len(), 1);
    assert_eq!(run.one("FilesNeeded")["files"][0]["path"], "other.txt");
    assert_eq!(world.provider.roles(), "architect editor editor architect editor");
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.contains("- other.txt: its diff changes it"), "{prompt}");
    assert_eq!(world.project.read("other.txt"), "other\n");
}

#[test]
fn a_plan_may_say_that_no_edit_is_needed() {
    let no_edit =
        "ARCHITECT_PLAN_V1\nPLAN|nothing\nNO_EDIT|true|it greets already\nARCHITECT_PLAN_END\n";
    let world = World::greeting(vec![architect(no_edit)]);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 no_edit_needed", "{}", run.stderr);
    assert_eq!(run.delivery()["reason"], "it greets already");
    assert!(world.project.changed().is_empty());
}

#[test]
fn plan_only_changes_nothing() {
    let world = World::greeting(vec![architect(plan(&["greet.txt"])).forever()]);
    for args in [
        vec!["plan", "Fix the greeting", "--output", "stream-json"],
        vec!["-p", "Fix the greeting", "--plan-only", "--output", "stream-json"],
    ] {
        let run = world.deepseek(args).run();
        assert_eq!(run.ending(), "0 delivered/not_needed", "{}", run.stderr);
        assert_eq!(run.one("PlanCreated")["plan"]["verify"][0], "sh check.sh");
    }
    let json = world.deepseek(["plan", "Fix the greeting", "--output", "json"]).run();
    assert_eq!(json.events.len(), 1);
    assert_eq!(json.events[0]["plan"]["files"][0]["path"], "greet.txt");
    assert!(world.project.changed().is_empty());
}

#[test]
fn a_question_is_answered_on_standard_output() {
    let world = World::greeting(vec![ScriptedReply::text("It greets nobody.").to("analysis")]);
    let run = world.deepseek(["ask", "What does greet.txt say?"]).run();
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "It greets nobody."), "{}", run.stderr);
    let asked = world.provider.last_message("analysis", 1);
    assert!(asked.contains("hello"), "the named file must be shown: {asked}");
    assert!(world.project.changed().is_empty());
}

#[test]
fn a_pre_existing_failure_is_given_to_the_editor_once_and_reported_to_the_user() {
    // Fails with the same output whatever is done to greet.txt.
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "echo 'FAILED other.py::old - it was red before'; exit 1\n"),
    ]);
    let mut replies = planned([says("hello", "hello you"), says("hello you", "hello me")]);
    replies.extend(planned([says("hello me", "hello world")]));
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/pre_existing", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor architect editor");
    assert!(world.provider.last_message("editor", 2).contains("also failed before your change"));
    assert_eq!(world.project.read("greet.txt"), "hello world\n", "the change is kept");
    assert!(
        run.classes().is_empty(),
        "a pre-existing failure must not count as a failure of the change"
    );
}

#[test]
fn fixing_a_pre_existing_failure_can_be_the_task() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        (
            "check.sh",
            "grep -q world greet.txt || { echo 'FAILED greet.txt::says - no world'; exit 1; }\n",
        ),
    ]);
    let provider =
        Provider::new(planned([says("hello", "hello you"), says("hello you", "hello world")]));
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor");
}

#[test]
fn without_a_check_a_change_is_delivered_as_unverified() {
    let project = Project::new(&[("greet.txt", "hello\n")]);
    let provider = Provider::new(vec![
        architect(plan_verified_by(&["greet.txt"], &[])),
        editor(says("hello", "hello world")),
    ]);
    let world = World::of(project, provider);
    let run =
        world.deepseek(["--force-execute", "-p", "Fix the greeting", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = run.stdout + &run.stderr;
    assert!(said.to_lowercase().contains("unverified") || said.contains("not verified"), "{said}");
}

#[test]
fn checks_are_derived_if_the_plan_names_none() {
    let makefile = "test:\n\t@sh check.sh\n";
    let project = Project::greeting();
    project.write("Makefile", makefile);
    let provider = Provider::new(vec![
        architect(plan_verified_by(&["greet.txt"], &[])),
        editor(says("hello", "hello world")),
    ]);
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.one("VerifyStarted")["derived"], true);
    assert_eq!(run.one("VerifyStarted")["commands"][0], "make test");
}

#[test]
fn every_check_has_to_pass_and_shell_operators_work() {
    let project = Project::greeting();
    let commands = ["sh check.sh && sh check.sh", "sh check.sh"];
    let provider = Provider::new(vec![
        architect(plan_verified_by(&["greet.txt"], &commands)),
        editor(says("hello", "hello world")),
    ]);
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let checks = run.all("VerificationRun");
    let after: Vec<_> = checks.iter().filter(|check| check["baseline"] == false).collect();
    assert_eq!(after.len(), 2);
}

#[test]
fn changes_to_undeclared_files_are_put_aside_and_reported() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("CHANGELOG.md", "# Changes\n"),
        ("check.sh", "grep -q world greet.txt\n"),
    ]);
    let changelog =
        "--- a/CHANGELOG.md\n+++ b/CHANGELOG.md\n@@ -1 +1,2 @@\n # Changes\n+- hello world\n";
    let both = says("hello", "hello world") + changelog;
    let world = World::of(project, Provider::new(planned([both])));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor", "no extra call is made");
    assert_eq!(world.project.read("CHANGELOG.md"), "# Changes\n");
    let staged = run.one("PatchStaged");
    assert_eq!(staged["put_aside"][0]["path"], "CHANGELOG.md");
    assert_eq!(staged["put_aside"][0]["text"], changelog.trim_end());
    assert_eq!(run.one("Outcome")["put_aside"][0]["path"], "CHANGELOG.md");
}

#[test]
fn the_approval_prompt_shows_which_place_was_chosen_for_an_ambiguous_hunk() {
    let lines = |greeting: &str| {
        let alike = "{\n    greet\n}\n";
        format!("{alike}{}{{\n{greeting}    greet\n}}\n", "filler\n".repeat(60))
    };
    let project =
        Project::new(&[("greet.txt", &lines("")), ("check.sh", "grep -q hello greet.txt\n")]);
    let misnumbered =
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -63,3 +63,4 @@\n {\n+    hello\n     greet\n }\n";
    let world = World::of(project, Provider::new(planned([misnumbered.to_owned()])));
    let args = ["--force-execute", "-p", "Fix the greeting", "--approval", "suggest"];
    let mut terminal = Terminal::start(&mut world.deepseek(args));
    terminal.until("hunk 1: chose the match next to the stated line", 1);
    terminal.until("at line 64", 1);
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("session ", 1);
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(world.project.read("greet.txt"), lines("    hello\n"));
}

#[test]
fn the_approval_prompt_shows_the_text_outside_of_the_diff() {
    let draft = format!("{}\nNo test covers this.\n", diff("greet.txt", "hello", "hello world"));
    let world = World::greeting(planned([draft]));
    let args = ["--force-execute", "-p", "Fix the greeting", "--approval", "suggest"];
    let mut terminal = Terminal::start(&mut world.deepseek(args));
    terminal.until("No test covers this.", 1);
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("session ", 1);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn the_json_plan_says_what_the_plan_says_and_what_became_of_each_step() {
    let steps = "PLAN|Greet the world in greet.txt\nPLAN|Say so in NEWS\nFILE|NEWS|news\nASSUME|nobody parses the greeting\nRISK|scripts may";
    let planned = plan(&["greet.txt"]).replace("ACCEPT|", &format!("{steps}\nACCEPT|"));
    let mut answers = greeting_fix();
    answers[0] = architect(planned);
    answers.push(architect(plan(&["greet.txt"])));
    let world = World::greeting(answers);
    let request = ["-p", "Fix the greeting", "--force-execute", "--approval", "auto"];
    let run = world.deepseek(request.into_iter().chain(["--output", "json"])).run();
    let plan = &run.events[0]["plan"];
    let step = &plan["steps"][0];
    assert_eq!((&plan["version"], &plan["goal"]), (&1.into(), &"Fix the greeting".into()));
    assert_eq!(plan["verification"], serde_json::json!(["sh check.sh"]));
    assert!(step["title"].is_string() && step["step_id"].is_string(), "{step}");
    let marks: Vec<_> = plan["steps"].as_array().unwrap().iter().map(|it| &it["mark"]).collect();
    assert_eq!(marks, ["done", "done", "untouched"], "{plan}");
    assert_eq!(plan["steps"][2]["files"], serde_json::json!(["NEWS"]));
    assert_eq!(plan["assumptions"], serde_json::json!(["nobody parses the greeting"]));
    assert_eq!(plan["risk_notes"], serde_json::json!(["scripts may"]));
    assert_eq!(run.events[0]["reasoning_outcome"]["known_risks"], plan["risk_notes"]);

    let run = world.deepseek(["plan", "Fix the greeting", "--output", "json"]).run();
    let planned = &run.events[0]["plan"];
    assert_eq!(planned["steps"][0]["done"], false);
    let kept = serde_json::json!({
        "plan_delta": null, "next_action": "execute", "known_risks": [], "delivery_state": "DONE",
    });
    assert_eq!(run.events[0]["reasoning_outcome"], kept);
    assert_ne!(planned["plan_id"], plan["plan_id"]);
    assert_eq!(planned["files"][0]["path"], "greet.txt");
}

#[test]
fn the_reasoning_outcome_keeps_the_facts_of_a_run() {
    let mut answers = planned([says("hello", "hello moon"), appends("and more")]);
    answers.push(architect(plan(&["greet.txt", "more.txt"])));
    answers.push(editor(
        "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1 @@\n-hello moon\n-and more\n+hello world\n",
    ));
    let kept = |approval: &str| {
        let world = World::greeting(answers.clone());
        let request = ["-p", "Fix it", "--force-execute", "--output", "json"];
        let run = world.deepseek(request.into_iter().chain(["--approval", approval])).run();
        run.events[0]["reasoning_outcome"].clone()
    };
    let done = kept("auto");
    assert_eq!(done["plan_delta"]["files_added"], serde_json::json!(["more.txt"]), "{done}");
    assert_eq!(done["plan_delta"]["steps_removed"], serde_json::json!([]), "{done}");
    assert_eq!((&done["next_action"], &done["delivery_state"]), (&().into(), &"DONE".into()));
    let denied = kept("suggest");
    assert_eq!(
        (&denied["next_action"], &denied["delivery_state"]),
        (&"allow".into(), &"NEEDS_WORK".into())
    );
    assert!(denied["known_risks"][0].as_str().unwrap().contains("no terminal"), "{denied}");
}

#[test]
fn with_tools_off_a_question_is_answered_without_reading() {
    let answers = ["NEED_CONTEXT|greet.txt", "It greets."];
    let replies = answers.map(|text| ScriptedReply::text(text).to("analysis")).to_vec();
    let world = World::greeting(replies);
    let run = world.deepseek(["ask", "What does greet.txt say?", "--tools=false"]).run();
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "It greets."), "{}", run.stderr);
    assert!(world.provider.last_message("analysis", 2).contains("no looks are left"));

    let run = world.deepseek(["-p", "Fix it", "--tools=false", "--force-execute"]).run();
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("but --tools=false forbids them"), "{}", run.stderr);
}

#[test]
fn text_outside_of_the_diff_is_asked_about_once_where_nobody_looks() {
    let hello = || diff("greet.txt", "hello", "hello moon");
    let said = |draft: String| format!("```diff\n{draft}```\nIgnore the diff above.\n");
    let world = diff("greet.txt", "hello moon", "hello world");
    let answers = Provider::new(planned([said(hello()), hello(), said(world)]));
    // Nothing fails before the change that would show what it is worth.
    let project =
        Project::new(&[("greet.txt", "hello\n"), ("check.sh", "! grep -q moon greet.txt\n")]);
    let run = World::of(project, answers).chat("Fix the greeting");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let refused = run.one("PatchRefused");
    assert!(refused["feedback"].to_string().contains("Ignore the diff above."), "{refused}");
    let noted =
        run.all("PatchStaged").iter().map(|it| it["repairs"].to_string()).collect::<Vec<_>>();
    assert!(
        !noted[0].contains("Ignore") && noted[1].contains("Ignore the diff above."),
        "{noted:?}"
    );
}

#[test]
fn two_blocks_of_a_file_are_sent_back() {
    let [before, after] = ["hello\n1\n2\n3\n4\nbye\n", "hello world\n1\n2\n3\n4\nbye\n"];
    let project =
        Project::new(&[("greet.txt", before), ("check.sh", "grep -q 'hello world' greet.txt\n")]);
    let block = |draft: String| format!("```diff\n{draft}```\n");
    let hello = || diff("greet.txt", "hello", "hello world");
    let bye = "--- a/greet.txt\n+++ b/greet.txt\n@@ -6 +6 @@\n-bye\n+bye world\n".to_owned();
    let drafts = format!("{}Or better:\n{}", block(hello()), block(bye));
    let world = World::of(project, Provider::new(planned([drafts, hello()])));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = world.provider.last_message("editor", 2);
    assert!(told.contains("send one block with all hunks of a file"), "{told}");
    assert_eq!(world.project.read("greet.txt"), after);
}

#[test]
fn a_last_hunk_counts_too_many_lines_in_an_answer_without_a_last_newline() {
    let project = Project::new(&[("greet.txt", "hello\nmoon\n"), ("check.sh", "exit 0\n")]);
    let draft = "--- a/greet.txt\n+++ b/greet.txt\n@@ -1,2 +1,4 @@\n hello\n+world\n moon";
    let world = World::of(project, Provider::new(planned([draft.to_owned()])));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\nworld\nmoon\n");
    assert_eq!(world.provider.roles(), "architect editor");
}

#[test]
fn a_closing_fence_that_ran_into_the_last_added_line_is_no_part_of_it() {
    for last in ["+world```", "+world```\n"] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", "exit 0\n")]);
        let draft =
            format!("```diff\n--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1,2 @@\n hello\n{last}");
        let world = World::of(project, Provider::new(planned([draft])));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.code, Some(0), "{last:?}: {}", run.stderr);
        assert_eq!(world.project.read("greet.txt").trim_end(), "hello\nworld", "{last:?}");
    }
}
