//! `deepseek review`: the changes that it reviews, its output as text and JSON, and that it writes nothing.

use mock::ScriptedReply;

use crate::support::{Project, Provider, World, greeting_fix, shell};

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

const FOUND: &str = "REVIEW_V1\nFINDING|low|greet.txt:1|no full stop\nFINDING|high|greet.txt:2|the greeting is said twice\nSUMMARY|It greets again. Not yet.\nREVIEW_END";
const NOTHING: &str = "REVIEW_V1\nSUMMARY|It can go in.\nREVIEW_END";

/// Creates a project with an uncommitted change.
fn changed() -> Project {
    let project = Project::greeting();
    project.write("greet.txt", "hello\nhello again\n");
    project
}

#[test]
fn findings_are_sorted_by_severity_in_text_and_json() {
    let world = World::of(changed(), Provider::new(vec![says(FOUND), says(FOUND)]));
    let before = world.project.hashes("");
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected = "greet.txt:2: high: the greeting is said twice\ngreet.txt:1: low: no full stop\n\nIt greets again. Not yet.\n";
    assert_eq!(run.stdout, expected);
    let prompt = world.provider.last_message("analysis", 1);
    assert!(prompt.contains("    1|  hello\n    2| +hello again"), "{prompt}");

    let run = world.deepseek(["review", "--output", "json"]).run();
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let first = &document["review"]["findings"][0];
    let wanted = serde_json::json!({"severity": "high", "path": "greet.txt", "line": 2, "text": "the greeting is said twice"});
    assert_eq!(*first, wanted);
    assert_eq!(world.project.hashes(""), before, "something was written");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn new_files_staged_changes_and_commits_can_be_reviewed() {
    let world = World::of(changed(), Provider::new(vec![says(NOTHING).forever()]));
    let root = world.project.root().to_owned();
    world.project.write("new.txt", "brand new\n");
    world.project.write("keys.pem", "not to be seen\n");
    let prompt = |number| world.provider.last_message("analysis", number);
    let review = |args: &[&'static str]| {
        let run = world.deepseek(["review"].into_iter().chain(args.iter().copied())).run();
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        run.stdout
    };
    review(&[]);
    assert!(prompt(1).contains("+++ b/new.txt") && prompt(1).contains("    1| +brand new"));
    assert!(!prompt(1).contains("not to be seen"), "{}", prompt(1));

    assert!(review(&["--staged"]).contains("nothing to review in staged changes"));
    assert_eq!(world.provider.of("analysis").len(), 1, "no model is asked for nothing");
    shell(&root, "git add greet.txt");
    review(&["--staged"]);
    assert!(prompt(2).contains("| +hello again") && !prompt(2).contains("+brand new"));

    shell(&root, "rm new.txt keys.pem");
    world.project.commit();
    review(&["HEAD~1..HEAD"]);
    assert!(prompt(3).contains("The change to review: HEAD~1..HEAD."), "{}", prompt(3));
    assert!(prompt(3).contains("    2| +hello again"));
}

#[test]
fn a_finding_at_a_line_that_does_not_exist_is_returned_to_the_model() {
    let wrong = "REVIEW_V1\nFINDING|high|greet.txt:99|far away\nSUMMARY|No.\nREVIEW_END";
    let replies = vec![says(wrong), says("NEED_CONTEXT|greet.txt"), says(FOUND)];
    let world = World::of(changed(), Provider::new(replies));
    let run = world.deepseek(["review", "--output", "json"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.last_message("analysis", 2).contains("greet.txt has 2 lines"));
    assert!(world.provider.last_message("analysis", 3).contains("   2| hello again"));
}

#[test]
fn an_impossible_review_is_refused_with_the_reason() {
    let world = World::of(changed(), Provider::new(Vec::<ScriptedReply>::new()));
    for (what, why) in [
        (
            "no-such-branch..HEAD",
            "error: there is no commit, branch or tag `no-such-branch` in this repository\nhint: `git branch",
        ),
        ("HEAD...gone", "there is no commit, branch or tag `gone`"),
        ("greet.txt", "there is no commit, branch or tag `greet.txt`"),
        ("--output=/tmp/x", "name commits as for `git diff`"),
    ] {
        let run = world.deepseek(["review", "--", what]).run();
        assert_eq!(run.code, Some(2), "{what}");
        assert!(!run.stderr.contains("model"), "{what}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{what}: {}", run.stderr);
    }
    let world = World::of(
        Project::without_git(&[("a.txt", "a\n")]),
        Provider::new(Vec::<ScriptedReply>::new()),
    );
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("the workspace is not a git repository"), "{}", run.stderr);
}

#[test]
fn with_qa_a_delivery_is_reviewed_and_stands() {
    let found = "REVIEW_V1\nFINDING|high|greet.txt:1|no comma\nSUMMARY|Nearly.\nREVIEW_END";
    let replies = greeting_fix().into_iter().chain([says(found)]);
    let world = World::of(Project::greeting(), Provider::new(replies.collect::<Vec<_>>()));
    let args = ["--qa", "--approval", "auto", "--force-execute", "-p", "Fix the greeting"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = world.provider.last_message("analysis", 1);
    assert!(told.contains("the changes of the last request"), "{told}");
    assert!(told.contains("    1| +hello world"), "{told}");
    let delivered = run.stderr.find("delivered").unwrap();
    let review = run.stderr.find("a model reviewed it (the delivery stands)").unwrap();
    assert!(
        delivered < review && run.stderr.contains("greet.txt:1: high: no comma"),
        "{}",
        run.stderr
    );
    assert!(!run.stdout.contains("REVIEW_V1"), "{}", run.stdout);
    let exported = world.deepseek(["export", "--format", "json"]).run().stdout;
    assert!(exported.contains("QaReport"), "{exported}");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_review_after_a_delivery_changes_nothing_of_its_document_and_asks_nobody() {
    let asks = says("NEED_ANSWER|Was that intended?");
    let found = says("REVIEW_V1\nSUMMARY|Fine.\nREVIEW_END");
    let answers = || greeting_fix().into_iter();
    let document = |replies: Vec<ScriptedReply>, more: &[&str]| {
        let world = World::of(Project::greeting(), Provider::new(replies));
        let args = ["-p", "Fix the greeting", "--force-execute", "--approval", "auto"];
        let args = args.into_iter().chain(["--output", "json"]).chain(more.iter().copied());
        let run = world.deepseek(args).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    let plain = document(answers().collect(), &[]);
    let reviewed = document(answers().chain([asks, found]).collect(), &["--qa"]);
    assert_eq!(reviewed["review"]["summary"], "Fine.", "{reviewed:#}");
    for field in ["version", "goal", "steps", "verification"] {
        assert_eq!(
            reviewed["plan"][field].to_string().replace(reviewed["run"].as_str().unwrap(), ""),
            plain["plan"][field].to_string().replace(plain["run"].as_str().unwrap(), ""),
            "{field}"
        );
    }
    assert_eq!(reviewed["plan"]["version"], 1);
    assert_eq!(reviewed["spent"]["calls"], 4, "the review is counted: {reviewed:#}");
}

#[test]
fn a_failed_review_does_not_affect_the_delivery() {
    let refused = ScriptedReply::of(mock::Behaviour::Http400).to("analysis").forever();
    let world = World::of(
        Project::greeting(),
        Provider::new(greeting_fix().into_iter().chain([refused]).collect::<Vec<_>>()),
    );
    let args = [
        "--qa",
        "--approval",
        "auto",
        "--force-execute",
        "--output",
        "json",
        "-p",
        "Fix the greeting",
    ];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["delivery"]["state"], "delivered");
    assert!(document["review"].is_null());
}
