//! Answers of the Editor that are cut at their limit: what arrived whole is kept, and the rest is asked for by name.

use mock::{Behaviour, ScriptedReply};

use crate::sessions::resume::{answers_so_far, resumes_after_kills};
use crate::support::{Project, Provider, World, architect, diff, editor, plan};

const FILES: [&str; 3] = ["a.txt", "b.txt", "c.txt"];

fn project() -> Project {
    let files = FILES.map(|name| (name, "old\n"));
    let check = ("check.sh", "cat a.txt b.txt c.txt | grep -c new | grep -q 3\n");
    Project::new(&[files.as_slice(), &[check]].concat())
}

fn changes(files: &[&str]) -> String {
    files.iter().map(|file| diff(file, "old", "new")).collect()
}

/// Returns the first half of an answer.
fn cut(text: String) -> ScriptedReply {
    ScriptedReply { behaviour: Behaviour::Length, ..editor(text) }
}

#[test]
fn the_sections_that_arrived_are_kept_and_the_rest_is_asked_for_by_name() {
    let rest = editor(changes(&FILES[1..]));
    let replies = vec![architect(plan(&FILES)), cut(changes(&FILES)), rest];
    let world = World::of(project(), Provider::new(replies));
    let run = world.chat("Renew the files");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor");
    let asked = world.provider.last_message("editor", 2);
    assert!(asked.contains("complete and kept: a.txt."), "{asked}");
    assert!(asked.contains("the rest only: b.txt, c.txt."), "{asked}");
    assert_eq!(run.one("AnswerCut")["kept"], serde_json::json!(["a.txt"]));
    assert_eq!(run.one("ApplyCompleted")["iteration"], 1);
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
}

#[test]
fn an_answer_that_is_cut_again_goes_back_to_the_architect() {
    for first in [changes(&FILES), changes(&FILES[..1])] {
        let world = World::of(
            project(),
            Provider::new(vec![
                architect(plan(&FILES)),
                cut(first),
                cut(changes(&FILES[1..])),
                architect(plan(&FILES)),
                editor(changes(&FILES)),
            ]),
        );
        let run = world.chat("Renew the files");
        assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
        assert_eq!(world.provider.roles(), "architect editor editor architect editor");
        let told = world.provider.last_message("architect", 2);
        assert!(told.contains("too long for one diff"), "{told}");
    }
}

#[test]
fn a_run_killed_around_a_cut_answer_is_resumed() {
    let kills = resumes_after_kills(
        7,
        &["--force-execute", "-p", "Renew the files", "--approval", "auto"],
        0,
        || {
            let provider = mock::Replies::driven(|request| {
                match (request.header("x-agent-role"), answers_so_far(request)) {
                    (Some("architect"), _) => architect(plan(&FILES)),
                    (_, 0) => cut(changes(&FILES)),
                    _ => editor(changes(&FILES[1..])),
                }
            });
            World::of(project(), Provider::new(provider))
        },
        |world, step| {
            for file in FILES {
                assert_eq!(world.project.read(file), "new\n", "step {step}");
            }
        },
    );
    assert!(kills > 3, "{kills}");
}
