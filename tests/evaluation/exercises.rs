//! Exercises in the layout of the polyglot benchmark: two tries, the second with the output of the tests.

use mock::{ReceivedRequest, Replies, ScriptedReply};

use super::{document, verdicts};
use crate::support::{Project, Provider, World, diff, plan_verified_by};

/// The exercises: name, stub and solution.
pub(crate) const EXERCISES: [(&str, &str, &str); 2] =
    [("apple", "?", "red"), ("lime", "?", "green")];

/// Creates a directory of exercises for the shell.
pub(crate) fn exercise_project() -> Project {
    let project = Project::without_git(&[]);
    for (name, stub, solution) in EXERCISES {
        let write = |path: &str, text: &str| {
            project.write(&format!("sh/exercises/practice/{name}/{path}"), text);
        };
        write(".docs/instructions.md", &format!("Say in {name}.sh which colour it has.\n"));
        write(".meta/example.sh", &format!("{solution}\n"));
        write(
            ".meta/config.json",
            &format!(
                r#"{{"files": {{"solution": ["{name}.sh"], "test": ["check.sh"], "example": [".meta/example.sh"]}}}}"#
            ),
        );
        write(&format!("{name}.sh"), &format!("{stub}\n"));
        write(
            "check.sh",
            &format!(
                "read -r colour < {name}.sh\n[ \"$colour\" = {solution} ] && exit 0\necho \"FAILED check.sh::{name} - it is $colour\"\nexit 1\n"
            ),
        );
    }
    // One that nothing can be concluded from.
    let write = |path: &str, text: &str| {
        project.write(&format!("sh/exercises/practice/wrong/{path}"), text);
    };
    write(
        ".meta/config.json",
        r#"{"files": {"solution": ["w.sh"], "test": ["check.sh"], "example": [".meta/w.sh"]}}"#,
    );
    write(".meta/w.sh", "x\n");
    write("w.sh", "y\n");
    write("check.sh", "exit 1\n");
    project
}

/// Returns the answers of a model that says the right colour only when it is told what the tests say.
fn right_at_the_second_attempt() -> Replies {
    Replies::driven(|request: &ReceivedRequest| {
        let text = request.json["messages"].to_string();
        let (name, stub, right) =
            EXERCISES.into_iter().find(|(name, ..)| text.contains(&format!("{name}.sh"))).unwrap();
        let file = format!("{name}.sh");
        let is_told = text.contains("it is blue");
        let is_lime = name == "lime";
        ScriptedReply::text(match request.header("x-agent-role") {
            Some("architect") => plan_verified_by(&[&file], &["true"]),
            _ if is_lime => diff(&file, stub, right),
            _ if is_told => diff(&file, "blue", right),
            _ => diff(&file, stub, "blue"),
        })
    })
}

#[test]
fn the_second_attempt_is_told_what_the_tests_said() {
    let world = World::of(exercise_project(), Provider::new(right_at_the_second_attempt()));
    let world = world.configure("[eval.exercises.sh]\nrun = \"sh check.sh\"\n");
    let run = world.deepseek(["eval", "exercises", ".", "--output", "json"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = document(&run);
    let sums = &report["variants"][0]["sums"];
    assert_eq!((&sums["passed"], &sums["passed_at_once"]), (&2.into(), &1.into()), "{sums}");
    let attempts =
        |case: usize| report["cases"][case]["rows"][0]["attempts"].as_array().unwrap().len();
    assert_eq!((attempts(0), attempts(1), attempts(2)), (2, 1, 0));
    assert!(report["cases"][2]["ground"]["no_case"]["why"].as_str().unwrap().contains("reference"));
    // Nothing was written beside the exercises.
    assert!(!world.project.path("sh/exercises/practice/apple/.git").exists());
    assert!(!world.provider.all_messages().contains("example.sh"));
    let text = world.deepseek(["eval", "show"]).run().stdout;
    assert!(text.contains("sh: 2 of 3 can be judged, 1 are no cases, 0 cannot run here"), "{text}");
}

#[test]
fn one_try_is_one_try() {
    let world = World::of(exercise_project(), Provider::new(right_at_the_second_attempt()));
    let world = world.configure("[eval.exercises.sh]\nrun = \"sh check.sh\"\n");
    let only = ["eval", "exercises", ".", "--tries", "1", "--count", "2", "--seed", "2"];
    let checked = world.deepseek(only.into_iter().chain(["--only-check"])).run();
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(world.provider.requests().is_empty());
    let run = world.deepseek(["eval", "exercises", ".", "--tries", "1", "--output", "json"]).run();
    let report = document(&run);
    assert_eq!(report["variants"][0]["sums"]["failed"], 1, "{}", run.stderr);
    let mut rest = report.clone();
    rest["cases"].as_array_mut().unwrap().truncate(2);
    assert_eq!(verdicts(&rest, 0), ["failed", "passed"]);
}
