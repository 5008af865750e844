//! Which commits are cases, and why others are not.

use super::{commit, document, draw, project, world};
use crate::support::{Project, Provider, Terminal, World};

fn titles(list: &serde_json::Value, of: &dyn Fn(&serde_json::Value) -> String) -> Vec<String> {
    let mut all: Vec<String> = list.as_array().unwrap().iter().map(of).collect();
    all.sort();
    all
}

#[test]
fn commits_whose_tests_fail_before_and_pass_after_are_cases() {
    let world = world();
    let report = document(&draw(&world));
    let cases = titles(&report["cases"], &|it| it["case"]["title"].as_str().unwrap().to_owned());
    assert_eq!(
        cases,
        ["Say the number one right", "Say the number three right", "Say the number two right"]
    );
    assert!(world.provider.requests().is_empty());
    assert_eq!(world.project.changed(), Vec::<String>::new());
    let ground = &report["cases"][0]["ground"]["holds"];
    assert_eq!(ground["commands"][0], "sh tests/all.sh");
}

#[test]
fn the_latest_evaluation_is_that_of_the_workspace() {
    let world = world();
    let own = document(&draw(&world))["id"].clone();
    let elsewhere = project();
    let root = elsewhere.root().to_str().unwrap();
    let args = ["eval", "draw", "--workspace", root, "--count", "1", "--output", "json"];
    let other = document(&world.deepseek(args).run())["id"].clone();
    let shown = |more: &[&str]| {
        let words = ["eval", "show", "--output", "json"].iter().chain(more).copied();
        document(&world.deepseek(words).run())["id"].clone()
    };
    assert_eq!((shown(&[]), shown(&["--workspace", root])), (own, other.clone()));
    let nowhere = Project::new(&[("a.txt", "a\n")]);
    assert_eq!(shown(&["--workspace", nowhere.root().to_str().unwrap()]), other);
}

#[test]
fn others_are_left_out_with_the_reason() {
    let project: Project = project();
    project.write("README.md", "Numbers in German, and more.\n");
    commit(&project, "Say more about the project");
    project.write("tests/test_more.sh", "grep -q more README.md\n");
    commit(&project, "Test what the readme says");
    project.write("src/four.sh", "vier\n");
    project.write("tests/test_four.sh", "grep -q German README.md\n");
    commit(&project, "Add a number with a test that shows nothing");
    project.write("src/five.sh", "fuenf\n");
    project.write("tests/test_five.sh", "grep -q sechs src/five.sh\n");
    commit(&project, "Add a number with a test that fails");
    project.write("tests/test_five.sh", "grep -q fuenf src/five.sh\n");
    project.write("src/five.sh", "  fuenf\n\n");
    commit(&project, "Indent the number five");
    project.write("src/one.sh", "eins \n");
    project.write("tests/test_one.sh", "grep -q eins src/one.sh\n");
    commit(&project, "wip");
    let world = World::of(project, Provider::new(Vec::new()));
    let args = ["eval", "draw", "--count", "9", "--output", "json", "--check", "sh tests/all.sh"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = document(&run);
    let left = titles(&report["left_out"], &|it| {
        format!("{}: {}", it["title"].as_str().unwrap(), it["why"].as_str().unwrap())
    });
    let expected = [
        "Add a number with a test that fails: no case: the tests fail with the reference: exit 1",
        "Add a number with a test that shows nothing: no case: the tests pass without the reference",
        "Indent the number five: it changes only the formatting",
        "Say more about the project: it changes no code",
        "Test what the readme says: it changes no code",
        "start: it is the first commit",
        "wip: its message does not say what is wanted",
    ];
    assert_eq!(left, expected);
    assert_eq!(report["cases"].as_array().unwrap().len(), 3);
    for line in ["Indent the number five: it changes only the formatting", "wip: its message"] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
}

#[test]
fn the_seed_decides_the_order_and_the_text_of_an_issue_replaces_the_message() {
    let drawn = |seed: &str, more: &[&str]| {
        let world = world();
        world.project.write("issues.json", "{");
        let args = ["eval", "draw", "--count", "1", "--seed", seed, "--output", "json"];
        let args = args.into_iter().chain(super::CHECK).chain(more.iter().copied());
        (world.deepseek(args).run(), world)
    };
    let title = |seed: &str| {
        let report = document(&drawn(seed, &[]).0);
        report["cases"][0]["case"]["title"].as_str().unwrap().to_owned()
    };
    let titles: std::collections::BTreeSet<String> =
        (1..=6).map(|seed| title(&seed.to_string())).collect();
    assert!(titles.len() > 1, "{titles:?}");
    assert_eq!(title("4"), title("4"));

    let (run, world) = drawn("1", &["--issues", "issues.json"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("it needs one JSON object of texts"), "{}", run.stderr);
    let id = crate::support::shell(world.project.root(), "git log --format=%h --grep='number two'");
    world
        .project
        .write("issues.json", format!(r#"{{"{}": "2 is not a word, they say."}}"#, id.trim()));
    let args =
        ["eval", "draw", "--grep", "number two", "--issues", "issues.json", "--output", "json"];
    let run = world.deepseek(args.into_iter().chain(super::CHECK)).run();
    let report = document(&run);
    assert_eq!(report["cases"].as_array().unwrap().len(), 1, "{}", run.stderr);
    assert_eq!(report["cases"][0]["case"]["request"], "2 is not a word, they say.");
}

#[test]
fn without_a_history_there_is_a_way_on() {
    let world = World::of(Project::without_git(&[("a.sh", "x\n")]), Provider::new(Vec::new()));
    for (args, says) in [
        (&["draw"][..], "or judge exercises: `deepseek eval exercises DIR`"),
        (&["run"], "`deepseek eval draw` draws cases from the history of this repository"),
        (&["show", "nosuch"], "`deepseek eval list` lists them"),
        (&["exercises", "."], "name the directory that has the languages, such as a clone"),
        (&["guard", "."], "`deepseek eval exercises DIR --answers DIR/answers` records them"),
    ] {
        let run = world.deepseek(["eval"].into_iter().chain(args.iter().copied())).run();
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn a_page_is_not_printed_to_a_terminal() {
    let world = world();
    draw(&world);
    let mut terminal = Terminal::start(&mut world.deepseek(["eval", "show", "--html"]));
    terminal.until_or_end("`deepseek eval show --html --out results.html` writes it to a file");
    assert_eq!(terminal.end(), Some(2));
    let args = ["eval", "show", "--html", "--out", "results.html"];
    assert_eq!(world.deepseek(args).run().code, Some(0));
    assert!(world.project.read("results.html").contains("Say the number two right"));
}
