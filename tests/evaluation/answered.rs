//! Answers from elsewhere: requests are written to a directory and answered there, and what was recorded judges other builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::exercises::{EXERCISES, exercise_project};
use crate::support::{Provider, Run, World, diff, plan_verified_by, wait_until};

/// Returns the requests below a directory that have no reply, without their ending.
fn unanswered(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Some(stem) = path.to_str().unwrap().strip_suffix(".request.md") {
                let stem = PathBuf::from(stem);
                if !stem.with_extension("reply.md").exists() {
                    found.push(stem);
                }
            }
        }
    }
    found
}

/// Plays the models as a person would, from the requests alone, until `is_over`.
fn play(dir: &Path, is_over: &AtomicBool) {
    let answered = wait_until(Duration::from_mins(2), || {
        for stem in unanswered(dir) {
            answer(&stem);
        }
        is_over.load(Ordering::Relaxed).then_some(())
    });
    assert!(answered.is_some());
}

/// Answers a request as a person would, from its text alone.
fn answer(stem: &Path) {
    let request = fs::read_to_string(stem.with_extension("request.md")).unwrap();
    let is_meant = |(name, ..): &(&str, &str, &str)| request.contains(&format!("{name}.sh"));
    let (name, wrong, right) = EXERCISES.into_iter().find(is_meant).unwrap();
    let file = format!("{name}.sh");
    let reply = if stem.to_str().unwrap().ends_with("architect") {
        plan_verified_by(&[&file], &["sh check.sh"])
    } else {
        diff(&file, wrong, right)
    };
    fs::write(stem.with_extension("reply.md"), reply).unwrap();
}

fn recorded() -> (World, Run) {
    let world = World::of(exercise_project(), Provider::new(Vec::new()));
    let world = world.configure("[eval.exercises.sh]\nrun = \"sh check.sh\"\n");
    let (answers, is_over) = (world.project.path("answers"), AtomicBool::new(false));
    let run = std::thread::scope(|scope| {
        scope.spawn(|| play(&answers, &is_over));
        let args = ["eval", "exercises", ".", "--answers", "answers", "--output", "json"];
        let run = world.deepseek(args).run();
        is_over.store(true, Ordering::Relaxed);
        run
    });
    (world, run)
}

#[test]
fn requests_are_answered_in_a_directory_and_recorded() {
    let (world, run) = recorded();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.requests().is_empty());
    let report = super::document(&run);
    assert_eq!(report["variants"][0]["sums"]["passed"], 2);
    assert!(run.stderr.contains("waits for an answer: "), "{}", run.stderr);
    for (name, ..) in EXERCISES {
        let dir = format!("answers/sh/{name}");
        assert!(world.project.read(&format!("{dir}/001-architect.request.md")).contains("# user"));
        let result: serde_json::Value =
            serde_json::from_str(&world.project.read(&format!("{dir}/result.json"))).unwrap();
        assert_eq!(result["verdict"], "passed");
    }
}

#[test]
fn recorded_answers_judge_a_build() {
    let (world, _) = recorded();
    let guard = |more: &[&str]| {
        world.deepseek(["eval", "guard", "."].into_iter().chain(more.iter().copied())).run()
    };
    let run = guard(&[]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("2 recorded cases, 0 worse"), "{}", run.stdout);
    // As if the recording build had needed fewer calls and tokens, and verified more.
    let (name, ..) = EXERCISES[0];
    let path = format!("answers/sh/{name}/result.json");
    let mut result: serde_json::Value = serde_json::from_str(&world.project.read(&path)).unwrap();
    result["used"]["calls"] = 1.into();
    result["used"]["new"] = 100.into();
    world.project.write(&path, result.to_string());
    let run = guard(&[]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    for line in [&format!("✗ sh/{name}: 2 calls, 1 when recorded"), "✗ all: "] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    // An answer that is missing.
    fs::remove_file(world.project.path(&format!("answers/sh/{name}/002-editor.reply.md"))).unwrap();
    let run = guard(&[]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("no further answer of the role editor is recorded"),
        "{}",
        run.stdout
    );
    assert_eq!(guard(&["--accept"]).code, Some(0));
    assert_eq!(guard(&[]).code, Some(0));
}
