//! A conversation knows what became of its earlier turns, whichever process did it.

use mock::Reply;

use crate::support::{
    Project, Provider, Run, Terminal, World, architect, diff, editor, plan, shell,
};

const CHECK: (&str, &str) = ("check.sh", "! grep -q bad *.txt\n");

/// Returns the answers that replace the only line of a file.
fn replaces(path: &str, old: &str, new: &str) -> Vec<Reply> {
    vec![architect(plan(&[path])), editor(diff(path, old, new))]
}

/// Returns the answers that replace the only lines of two files, with one patch.
fn replaces_both(one: (&str, &str, &str), two: (&str, &str, &str)) -> Vec<Reply> {
    let diffs = [one, two].map(|(path, old, new)| diff(path, old, new)).concat();
    vec![architect(plan(&[one.0, two.0])), editor(diffs)]
}

fn answers(text: &str) -> Reply {
    Reply::text(text).to("analysis")
}

/// Creates a project with files of one line, named after their file.
fn world(files: &[&str], replies: Vec<Reply>) -> World {
    let project = Project::new(&[CHECK]);
    for file in files {
        project.write(&format!("{file}.txt"), format!("{file}\n"));
    }
    project.commit();
    shell(project.root(), "git config user.name t && git config user.email t@example.org");
    World::of(project, Provider::new(replies))
}

/// Has the next request of the conversation change files.
fn edits(world: &World, request: &str) -> Run {
    let run = world.request(request).args(["-c"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// Asks a question, and returns what the model is told of earlier turns.
fn asks(world: &World, question: &str) -> String {
    let run = world.deepseek(["ask", question, "-c", "--output", "stream-json"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let number = world.provider.of("analysis").len();
    world.provider.last_message("analysis", number)
}

/// Runs a command that has to succeed.
fn does<'a>(world: &World, words: impl IntoIterator<Item = &'a str>) -> Run {
    let run = world.deepseek(words).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn what_was_undone_committed_or_changed_by_hand_is_told() {
    let replies = [
        replaces("a.txt", "a", "A"),
        vec![answers("yes"), answers("no")],
        replaces_both(("b.txt", "b", "B"), ("c.txt", "c", "C")),
        vec![answers("half"), answers("yes"), answers("no")],
    ];
    let world = world(&["a", "b", "c"], replies.concat());
    world.chat("Shout a");
    let told = asks(&world, "Is a shouted?");
    assert!(!told.contains("What became of"), "nothing became of it: {told}");
    does(&world, ["rewind", "latest"]);
    let told = asks(&world, "Is a shouted now?");
    assert!(told.contains("\n[1] undone by the user: a.txt\n"), "{told}");
    edits(&world, "Shout b and c");
    does(&world, ["rewind", "latest", "b.txt"]);
    let told = asks(&world, "Are both shouted?");
    assert!(
        told.contains("\n[1] undone by the user: a.txt\n[4] undone by the user: b.txt\n"),
        "{told}"
    );
    does(&world, ["commit", "--yes"]);
    let told = asks(&world, "Is c committed?");
    assert!(told.contains("[4] committed: c.txt\n[4] undone by the user: b.txt\n"), "{told}");
    world.project.write("c.txt", "mine\n");
    let told = asks(&world, "Does c stand?");
    let by_hand = "[4] removed by the user or another program; the last commit has it: c.txt\n";
    assert!(told.contains(by_hand), "{told}");
    replays(&world);
}

#[test]
fn what_was_left_out_or_only_staged_is_told_until_it_is_applied() {
    let replies = [
        replaces_both(("a.txt", "a", "A"), ("b.txt", "b", "B")),
        vec![editor("DONE|b stays quiet"), answers("a only")],
        replaces("c.txt", "c", "C"),
        vec![answers("not yet"), answers("yes")],
        replaces("c.txt", "C", "CC"),
        vec![answers("again")],
    ];
    let world = world(&["a", "b", "c"], replies.concat());
    let words = ["-p", "Shout both", "--force-execute", "--plain", "--approval", "suggest"];
    let mut terminal = Terminal::start(&mut world.deepseek(words));
    terminal.until("[y/N; files 1 2, no: WHY, show]", 1);
    terminal.types("files 1: b stays quiet\r");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    let told = asks(&world, "What is shouted?");
    assert!(told.contains("\n[1] left out by the user (\"b stays quiet\"): b.txt\n"), "{told}");
    let words = ["-p", "Shout c", "-c", "--force-execute", "--approval", "never"];
    let run = world.deepseek(words).run();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let told = asks(&world, "Is c shouted?");
    assert!(told.contains("\n[3] not applied, only staged: c.txt\n"), "{told}");
    does(&world, ["apply", "--yes"]);
    let told = asks(&world, "Is c shouted now?");
    assert!(told.contains("\n[3] not applied then, but applied since: c.txt\n"), "{told}");
    edits(&world, "Shout c louder");
    let told = asks(&world, "Is c loud?");
    // What a later turn did is not put down to the user.
    assert!(!told.contains("removed"), "{told}");
    replays(&world);
}
