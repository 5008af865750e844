//! A property: what a verification concludes equals what the same commands do by hand, in a copy of the project with the same
//! ignored files; and on the delivered files, where a command changed one.

use std::path::Path;

use crate::confinement::sandbox::skipped;
use crate::support::{
    Program, Project, Provider, World, architect, diff, editor, plan_verified_by, short_or_long,
};

/// The files of each project; `out` is ignored.
const FILES: [(&str, &str); 5] = [
    ("value.txt", "1\n"),
    ("source.txt", "some text\n"),
    ("generated.txt", "1\n"),
    ("expected.txt", "2\n"),
    (".gitignore", "out\nlog\n"),
];

/// What checks do: build, test, generate, format, look at git, remove, count.
const STEPS: [&str; 22] = [
    "mkdir -p out && cp value.txt out/value",
    "cat value.txt source.txt > out/all",
    "cmp -s out/value expected.txt",
    "cmp -s out/value value.txt",
    "grep -q text out/all",
    "test -e out/old",
    "rm -rf out && mkdir out",
    "cp value.txt generated.txt",
    "echo 3 > generated.txt",
    "git checkout -q -- generated.txt 2>/dev/null || cp out/old generated.txt",
    "cmp -s generated.txt value.txt",
    "cmp -s generated.txt expected.txt",
    "grep -q 1 generated.txt",
    "tr a-z A-Z < source.txt > upper && mv upper source.txt",
    "grep -q TEXT source.txt",
    "grep -q text source.txt",
    "git diff --quiet",
    "git diff --quiet -- source.txt generated.txt",
    "rm -f source.txt; test ! -e source.txt",
    "echo run >> log; test $(wc -l < log) -lt 3",
    "ln -sf value.txt out/link && grep -q 2 out/link",
    "chmod +x source.txt && test -x source.txt",
];

/// Creates the project, changed or not.
fn project() -> Project {
    let project = Project::new(&FILES);
    project.write("out/old", "1\n");
    project
}

fn succeeds(dir: &Path, command: &str) -> bool {
    let mut program = Program::new("sh", dir);
    program.args(["-c", command]).env("GIT_OPTIONAL_LOCKS", "0").run().code == Some(0)
}

/// Runs the commands by hand with the change made. Returns whether each succeeds; and if one of them leaves a file of the project
/// different, whether those after the first that did so also succeed without that.
fn by_hand(checks: &[String]) -> Vec<bool> {
    let project = project();
    project.write("value.txt", "2\n");
    let tracked = ["value.txt", "source.txt", "generated.txt", "expected.txt", ".gitignore"];
    let state = || tracked.map(|path| std::fs::read(project.path(path)).ok());
    let delivered = state();
    let mut succeeded = Vec::new();
    let mut first_writer = tracked.map(|_| None);
    for (at, check) in checks.iter().enumerate() {
        succeeded.push(succeeds(project.root(), check));
        for ((now, old), first) in state().iter().zip(&delivered).zip(&mut first_writer) {
            *first = if now == old { None } else { first.or(Some(at)) };
        }
    }
    let Some(writer) = first_writer.iter().flatten().min().copied() else { return succeeded };
    for (path, content) in tracked.iter().zip(&delivered) {
        project.write(path, content.as_ref().unwrap());
    }
    for (at, check) in checks.iter().enumerate().skip(writer + 1) {
        if succeeded[at] {
            succeeded[at] = succeeds(project.root(), check);
        }
    }
    succeeded
}

/// Returns whether each check of the first verification succeeds.
fn by_us(checks: &[String], level: &str) -> Option<Vec<bool>> {
    let texts: Vec<&str> = checks.iter().map(String::as_str).collect();
    let replies = vec![
        architect(plan_verified_by(&["value.txt"], &texts)),
        editor(diff("value.txt", "1", "2")),
    ];
    let config =
        format!("[sandbox]\nmode = \"{level}\"\nfloor = \"accept\"\n[llm]\nmax_retries = 0\n");
    let world = World::of(project(), Provider::new(replies)).configure(&config);
    let run = world.request("Make it two").args(["--yolo"]).run();
    let mut of_changed = run.all("VerificationRun");
    of_changed.retain(|check| check["baseline"] == false);
    // What the plan refuses is no check.
    let first = run.all("VerifyStarted").first()?["commands"].as_array()?.len();
    if first != checks.len() {
        return None;
    }
    let result = checks.iter().map(|check| {
        let of_check = of_changed.iter().filter(|it| it["command"] == check.as_str());
        let outcomes: Vec<&str> = of_check.filter_map(|it| it["outcome"].as_str()).collect();
        // A flaky check passed when it was run again; a failure after a success is that of the delivered files.
        *outcomes.last().unwrap_or_else(|| panic!("{check} did not run: {}", run.stderr))
            == "passed"
    });
    Some(result.collect())
}

fn compare(level: &str, seed: u64, count: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut compared = 0;
    for _ in 0..count {
        let checks: Vec<String> = (0..random.usize(1..=3))
            .map(|_| {
                let steps: Vec<&str> =
                    (0..random.usize(1..=2)).map(|_| STEPS[random.usize(..STEPS.len())]).collect();
                steps.iter().map(|step| format!("({step})")).collect::<Vec<_>>().join(" && ")
            })
            .collect();
        let mut distinct = checks.clone();
        distinct.dedup();
        if distinct.len() != checks.len() || checks.first() == checks.get(2) {
            continue;
        }
        let Some(ours) = by_us(&checks, level) else { continue };
        assert_eq!(ours, by_hand(&checks), "{level}: {checks:#?}");
        compared += 1;
    }
    assert!(compared * 2 > count, "{compared} of {count} were compared");
}

#[test]
fn verdicts_are_those_of_the_same_commands_by_hand() {
    compare("auto", 1, short_or_long(40, 600));
}

#[test]
fn verdicts_are_those_of_the_same_commands_by_hand_where_confinement_is_partial() {
    let world = World::of(project(), Provider::new(Vec::new()))
        .configure("[sandbox]\nmode = \"floor\"\nfloor = \"accept\"\n");
    let policy = world.deepseek(["policy", "show", "--output", "json"]).run();
    if !policy.stdout.contains("floor, accepted") {
        skipped("commands cannot be confined by Landlock here");
        return;
    }
    compare("floor", 2, short_or_long(30, 400));
}
