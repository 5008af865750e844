//! A conversation knows what became of its earlier turns, whichever process did it.

use std::fs;

use mock::ScriptedReply;
use serde_json::Value;

use crate::support::{
    Project, Provider, Run, Terminal, World, architect, diff, editor, plan, shell,
};

const CHECK: (&str, &str) = ("check.sh", "! grep -q bad *.txt\n");

/// Returns the answers that replace the only line of a file.
fn replaces(path: &str, old: &str, new: &str) -> Vec<ScriptedReply> {
    vec![architect(plan(&[path])), editor(diff(path, old, new))]
}

/// Returns the answers that replace the only lines of two files, with one patch.
fn replaces_both(one: (&str, &str, &str), two: (&str, &str, &str)) -> Vec<ScriptedReply> {
    let diffs = [one, two].map(|(path, old, new)| diff(path, old, new)).concat();
    vec![architect(plan(&[one.0, two.0])), editor(diffs)]
}

fn answers(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

/// Creates a project with files of one line, named after their file.
fn world(files: &[&str], replies: Vec<ScriptedReply>) -> World {
    let project = Project::without_git(&[CHECK]);
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

/// Returns the id of the conversation: commands such as `rewind` have sessions of their own, which are younger.
fn conversation(world: &World) -> String {
    let sessions = fs::read_dir(world.state().join("sessions")).unwrap();
    let first = sessions.map(|entry| entry.unwrap().file_name()).min().unwrap();
    first.into_string().unwrap()
}

/// Returns the data of the compactions of the conversation.
fn compactions(world: &World) -> Vec<Value> {
    let file = world.state().join("sessions").join(conversation(world)).join("events.jsonl");
    let text = fs::read_to_string(file).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let compacted = events.filter(|event| event["kind"] == "ConversationCompacted@v1");
    compacted.map(|mut event| event["data"].take()).collect()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", &conversation(world)]).run();
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

/// Twelve turns with an undo, a rewind of one file, an apply, a commit and an edit by hand between them, in as many
/// processes, and a compaction on the way: every later prompt tells what is true.
#[test]
fn a_long_conversation_is_told_what_is_true_at_each_turn() {
    let answer = |turn: usize| answers(&format!("Answer {turn}: {}", "so it is. ".repeat(60)));
    let replies = [
        replaces("a.txt", "a", "A"),
        vec![answer(2), answer(3)],
        replaces_both(("b.txt", "b", "B"), ("c.txt", "c", "C")),
        vec![answer(5), answer(6)],
        replaces("d.txt", "d", "D"),
        vec![answer(8), answer(9)],
        replaces("a.txt", "a", "AA"),
        vec![answer(11), answer(12)],
    ];
    let world = world(&["a", "b", "c", "d"], replies.concat())
        .configure("[agent_loop]\nconversation_tokens = 1200\n");
    let knows = |told: &str, facts: &[&str]| {
        for fact in facts {
            assert!(told.contains(fact), "{fact}: {told}");
        }
    };
    world.chat("Shout a");
    knows(&asks(&world, "Why?"), &["[1] The user: Shout a", "+A"]);
    does(&world, ["rewind", "latest"]);
    let undone = "[1] undone by the user: a.txt";
    knows(&asks(&world, "Is a loud?"), &[undone, "Answer 2: "]);
    edits(&world, "Shout b and c");
    does(&world, ["rewind", "latest", "b.txt"]);
    knows(&asks(&world, "Are b and c?"), &[undone, "[4] undone by the user: b.txt"]);
    does(&world, ["commit", "--yes"]);
    let both = ["[4] committed: c.txt", "[4] undone by the user: b.txt"];
    knows(&asks(&world, "Committed?"), &[undone, both[0], both[1], "Answer 3: "]);
    let words = ["-p", "Shout d", "-c", "--force-execute", "--approval", "never"];
    assert_eq!(world.deepseek(words).run().code, Some(3));
    let staged = "[7] not applied, only staged: d.txt";
    knows(&asks(&world, "Is d loud?"), &[undone, both[0], both[1], staged, "Answer 5: "]);
    does(&world, ["apply", "--yes"]);
    let applied = "[7] not applied then, but applied since: d.txt";
    knows(&asks(&world, "And now?"), &[undone, both[0], both[1], applied, "Answer 6: "]);
    edits(&world, "Shout a louder");
    knows(&asks(&world, "Louder?"), &[undone, both[0], both[1], applied, "Answer 8: "]);
    world.project.write("a.txt", "mine\n");
    let by_hand = "[10] removed by the user or another program: a.txt";
    let told = asks(&world, "Is it still loud?");
    knows(&told, &[undone, both[0], both[1], applied, by_hand]);
    // Of the summarised turns, goals, results and answers are left.
    let summary =
        ["Goals:\n- [1] Shout a\n", "- [1] delivered: a.txt", "Answers:\n- [2] Answer 2: so"];
    knows(&told, &summary);
    knows(&told, &["[11] The user: Louder?", "Answer 9: ", "Answer 11: so"]);
    assert!(!told.contains("+A\n"), "the diff of a summarised turn is left out: {told}");
    let compacted = compactions(&world);
    assert!((1..=4).contains(&compacted.len()), "{compacted:?}");
    for data in compacted {
        let [before, after] = ["before", "after"].map(|field| data[field].as_u64().unwrap());
        assert!(before > 1_200 && after <= 800, "{data}");
    }
    replays(&world);
}

#[test]
fn the_user_compacts_a_conversation_and_sees_what_fills_its_context() {
    let world = world(
        &[],
        vec![answers(&"Because. ".repeat(200)), answers("So."), answers("No."), answers("Yes.")],
    );
    let mut terminal = Terminal::start(&mut world.deepseek(["--plain"]));
    terminal.types("/compact\r");
    terminal.until("there is nothing to compact", 1);
    terminal.types("/ask Why?\r");
    terminal.until("tokens in", 1);
    terminal.types("/ask And?\r");
    terminal.until("tokens in", 2);
    terminal.types("/context\r");
    terminal.until("turn 1: Why?", 1);
    terminal.until("turn 2: And?", 1);
    terminal.types("/compact\r");
    terminal.until("1 turn summarized: ", 1);
    terminal.types("/context\r");
    terminal.until("summary of 1 turn", 1);
    terminal.types("/ask Is that all?\r");
    terminal.until("tokens in", 3);
    // The prompt is back: before, the end of the input would be lost.
    terminal.until("›", 8);
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    let told = world.provider.last_message("analysis", 3);
    assert!(told.contains("Goals:\n- [1] Why?") && told.contains("- [1] Because."), "{told}");
    assert!(told.contains("[2] The user: And?"), "{told}");
    assert!(told.len() < 9_000, "{told}");
    replays(&world);
    // Another process goes on with the same summary.
    let again = asks(&world, "Really?");
    assert!(again.contains("Goals:\n- [1] Why?"), "{again}");
    assert_eq!(compactions(&world).len(), 1);
}
