//! `deepseek eval`: which cases are drawn, that variants know nothing of what comes later, how results are judged and compared,
//! and that no call is paid for twice. Intervals and records alone are tested in their crate.

mod answered;
mod cases;
mod exercises;
mod killed;
mod leaks;
mod verdicts;

use mock::{ReceivedRequest, Replies, ScriptedReply};
use serde_json::Value;

use crate::support::{Project, Provider, Run, World, diff, plan_verified_by, shell};

/// The command that runs the hidden tests of the project.
pub(crate) const CHECK: [&str; 2] = ["--check", "sh tests/all.sh"];

/// The words that the project's history changes, one after the other: each commit replaces one in its own file, and tests it.
pub(crate) const WORDS: [(&str, &str, &str); 3] =
    [("one", "1", "eins"), ("two", "2", "zwei"), ("three", "3", "drei")];

/// Creates a project whose history has a fix with a test for each of [`WORDS`].
pub(crate) fn project() -> Project {
    let project = Project::without_git(&[("README.md", "Numbers in German.\n")]);
    project.write("tests/all.sh", "for test in tests/test_*.sh; do sh \"$test\" || exit 1; done\n");
    for (name, wrong, _) in WORDS {
        project.write(&format!("src/{name}.sh"), format!("{wrong}\n"));
    }
    project.write("tests/test_readme.sh", "grep -q German README.md\n");
    project.commit();
    for (name, _, right) in WORDS {
        project.write(&format!("src/{name}.sh"), format!("{right}\n"));
        project.write(
            &format!("tests/test_{name}.sh"),
            format!("read -r word < src/{name}.sh\n[ \"$word\" = {right} ] && exit 0\necho \"FAILED tests/test_{name}.sh::{name} - it is $word\"\nexit 1\n"),
        );
        commit(&project, &format!("Say the number {name} right"));
    }
    project
}

/// Commits everything with this message.
pub(crate) fn commit(project: &Project, message: &str) {
    shell(
        project.root(),
        &format!(
            "git add -A && git -c user.name=t -c user.email=t@example.org commit -qm '{message}'"
        ),
    );
}

/// The word that a request is about, by its place in [`WORDS`].
pub(crate) fn asked_for(request: &ReceivedRequest) -> usize {
    let text = request.json["messages"].to_string();
    let is_meant =
        |(name, _, _): &(&str, &str, &str)| text.contains(&format!("the number {name} right"));
    WORDS.iter().position(is_meant).unwrap()
}

/// Returns the answers of a model that is right for these words and changes nothing that matters for the others.
pub(crate) fn right_for(words: &'static [usize]) -> impl Fn(&ReceivedRequest) -> ScriptedReply {
    move |request| {
        let at = asked_for(request);
        let (name, wrong, right) = WORDS[at];
        let file = format!("src/{name}.sh");
        let says = if words.contains(&at) { right } else { "falsch" };
        ScriptedReply::text(match request.header("x-agent-role") {
            Some("architect") => plan_verified_by(&[&file], &["sh tests/all.sh"]),
            _ => diff(&file, wrong, says),
        })
    }
}

/// Creates a world of the project with a model that is always right.
pub(crate) fn world() -> World {
    World::of(project(), Provider::new(Replies::driven(right_for(&[0, 1, 2]))))
}

/// Draws cases from the whole history.
pub(crate) fn draw(world: &World) -> Run {
    let words = ["eval", "draw", "--count", "3", "--output", "json"];
    let run = world.deepseek(words.into_iter().chain(CHECK)).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// Returns the JSON document that a run printed last.
pub(crate) fn document(run: &Run) -> Value {
    let last = run.stdout.lines().rfind(|line| line.starts_with('{'));
    serde_json::from_str(last.unwrap_or_else(|| panic!("{}\n{}", run.stdout, run.stderr))).unwrap()
}

/// Runs the cases, and returns the report.
pub(crate) fn run_cases(world: &World, more: &[&str]) -> Value {
    let words = ["eval", "run", "--output", "json"];
    let run = world.deepseek(words.into_iter().chain(more.iter().copied())).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    document(&run)
}

/// Returns the verdict of each case for a variant, in the order of the cases' titles: `passed`, `failed` or `cannot_run`.
pub(crate) fn verdicts(report: &Value, variant: usize) -> Vec<String> {
    let mut all: Vec<(String, String)> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let last = case["rows"][variant]["attempts"].as_array().unwrap().last();
            let verdict = &last.unwrap()["verdict"];
            let word = verdict.as_str().map_or_else(
                || verdict.as_object().unwrap().keys().next().unwrap().clone(),
                str::to_owned,
            );
            (case["case"]["title"].as_str().unwrap().to_owned(), word)
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, verdict)| verdict).collect()
}
