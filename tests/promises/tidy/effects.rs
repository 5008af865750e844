//! Which files may write, run commands, or read the environment and the clock, and which are pure.

use std::fs;
use std::path::Path;

use super::sources::{ROOT, sources, without_comments, without_tests};

/// Files and folders without side effects. A file whose first paragraph says `Pure` also counts as one.
const PURE: [&str; 52] = [
    "cli/report/src/",
    "config/policy/src/",
    "config/src/access.rs",
    "config/src/layers.rs",
    "config/src/schema.rs",
    "tools/model/src/chunk.rs",
    "tools/model/src/classify.rs",
    "tools/mock/src/cache.rs",
    "tools/mock/src/route.rs",
    "tools/mock/src/validate/strict.rs",
    "tools/mock/src/validate.rs",
    "tools/model/src/price.rs",
    "tools/model/src/reply.rs",
    "tools/model/src/retry.rs",
    "tools/model/src/sse.rs",
    "tools/model/src/wire.rs",
    "tools/patch/src/",
    "tools/src/redact.rs",
    "tools/search/src/packing.rs",
    "tools/search/src/terms/",
    "tools/shell/src/command.rs",
    "tools/shell/src/command/",
    "tools/tree/src/path.rs",
    "actors/checks/src/",
    "actors/facts/src/amounts.rs",
    "actors/facts/src/delivery.rs",
    "actors/facts/src/event.rs",
    "actors/facts/src/event/",
    "actors/facts/src/grammar/",
    "actors/facts/src/words.rs",
    "actors/src/talk/dialogue.rs",
    "actors/src/calls/ledger.rs",
    "actors/src/talk/prompts/",
    "lanes/src/crew/cycle.rs",
    "lanes/src/crew/cycle/",
    "lanes/src/crew/feedback.rs",
    "lanes/src/team/split/path_pattern.rs",
    "lanes/src/team/split/team_plan.rs",
    "lanes/src/crew/undo_patch.rs",
    "lanes/src/team/split/worth_splitting.rs",
    "lanes/src/team/bisect.rs",
    "lanes/src/team/brief.rs",
    "lanes/src/team/result.rs",
    "orchestrator/src/request/intent.rs",
    "orchestrator/journal/src/history/causes.rs",
    "orchestrator/journal/src/history/decisions.rs",
    "orchestrator/journal/src/history/lanes.rs",
    "orchestrator/journal/src/history/summary.rs",
    "orchestrator/journal/src/history/usage.rs",
    "orchestrator/journal/src/projection/topic.rs",
    "orchestrator/journal/src/session.rs",
    "orchestrator/src/workspace/rewind.rs",
];

/// Names that a pure file must not contain.
const EFFECTS: [&str; 11] = [
    "tokio",
    "ractor",
    "crossbeam",
    "rustix",
    "reqwest",
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "SystemTime",
    "Instant",
];

#[test]
fn processes_are_started_in_few_places() {
    // The sandbox starts itself and the command it is given.
    only_in(
        "Command::new(",
        &["tools/shell/src/", "tools/sandbox/src/", "tools/src/worker_process.rs"],
    );
}

#[test]
fn trees_are_opened_for_writing_in_three_places() {
    // The last one is a command that runs without an orchestrator.
    only_in(
        "WriteTree::open(",
        &[
            "orchestrator/src/workspace/main_tree.rs",
            "tools/tree/src/",
            "cli/src/commands/patch.rs",
        ],
    );
}

#[test]
fn the_environment_is_read_in_one_file() {
    // The second file is not part of release builds; in the others, a library reads the same variables: those of git, and
    // those of proxies and certificates.
    let others =
        ["tools/src/fault.rs", "tools/tree/src/files/excludes.rs", "tools/model/src/network.rs"];
    only_in("env::var", &[&["cli/src/surroundings.rs"], others.as_slice()].concat());
    only_in("current_dir()", &["cli/src/surroundings.rs"]);
}

#[test]
fn time_and_randomness_come_from_one_file() {
    // The second simulates server faults from a seed.
    only_in("fastrand", &["tools/src/clock.rs", "tools/mock/src/state.rs"]);
    only_in("SystemTime::now", &["tools/src/clock.rs"]);
    only_in("Timestamp::now", &["tools/src/clock.rs"]);
}

/// Monotonic time is only used for waits and timeouts; nothing that is recorded may depend on it.
#[test]
fn monotonic_time_is_used_only_for_waits() {
    let places = [
        "actors/src/calls/model_call/waiting.rs",
        "actors/src/mailbox.rs",
        "actors/src/roles/verifier/scratch_tree.rs",
        "tools/mcp/src/connection.rs",
        "tools/model/src/",
        "tools/mock/src/",
        "tools/sandbox/src/probe.rs",
        "tools/shell/src/leftovers.rs",
        "tools/shell/src/run.rs",
        "tools/tree/src/confine.rs",
        "orchestrator/journal/src/log.rs",
        "orchestrator/src/workspace/lock.rs",
        "lanes/src/lane/worktrees.rs",
        "cli/src/render/terminal.rs",
        "cli/tui/src/single_prompts.rs",
        "cli/tui/src/converse.rs",
    ];
    only_in("Instant::now", &places);
}

/// Symbols of the runtime that the loop replaced, and of model routing, which must not occur in the loop.
#[test]
fn symbols_of_the_legacy_runtime_are_denied() {
    let legacy = [
        "r1_drive",
        "R1Drive",
        "allow_r1",
        "dsml",
        "Dsml",
        "DSML",
        "doom_loop",
        "DoomLoop",
        "mode_router",
        "ModeRouter",
        "tool_call_loop",
        "ToolCallLoop",
    ];
    for words in legacy {
        only_in(words, &[]);
    }
    for words in ["RouterDecision", "RouterEscalation", "model_choice::"] {
        only_in(
            words,
            &[
                "actors/",
                "orchestrator/src/request/images.rs",
                "orchestrator/src/request/router.rs",
                "orchestrator/src/request/router/",
                "orchestrator/src/request/routing.rs",
                "orchestrator/journal/src/history/decisions.rs",
                "orchestrator/journal/src/projection/topic.rs",
                "cli/front/src/",
                "cli/src/render/",
            ],
        );
    }
}

/// A planted violation in a file whose tests precede its code, which the check once missed.
#[test]
fn a_violation_anywhere_in_a_file_is_found() {
    let name = "lanes/src/crew.rs";
    let code = fs::read_to_string(Path::new(ROOT).join(name)).expect("a source file is text");
    assert!(
        code.lines().any(|line| line == "#[cfg(test)]"),
        "{name} has no tests above its code any more"
    );
    let planted = format!("{code}\nfn planted() {{ WriteTree::open(here, log); }}\n");
    assert!(has(&without_tests(&planted), "WriteTree::open("));
    assert!(!has(&without_tests(&code), "WriteTree::open("));
    let in_test = "#[cfg(test)]\nmod tests {\n    fn f() {\n        WriteTree::open(a);\n    }\n}\nfn g() {}\n";
    assert_eq!(without_tests(in_test), "fn g() {}\n");
    let outside = "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\nfn g() {}\n";
    assert_eq!(without_tests(outside), "fn g() {}\n");
}

/// A handler that waits for a thread, a task or the clock holds up its mailbox. The roles and the Writer, which serve one
/// caller at a time, have what they wait for in other files as well.
#[test]
fn no_file_of_a_handler_waits_for_anything_but_the_journal() {
    let waits = ["on_a_thread(", "spawn_blocking(", "tokio::spawn(", "sleep(", "timeout("];
    let is_handler = |code: &str| {
        ["impl Actor for", "impl State {"]
            .iter()
            .any(|begins| without_comments(code).any(|line| line.starts_with(begins)))
    };
    let mut handlers = 0;
    for (path, code) in sources() {
        if !is_handler(&code) || !path.contains("/src/") || path.starts_with("tools/") {
            continue;
        }
        handlers += 1;
        for wait in waits {
            assert!(!has(&code, wait), "{path} has handlers and names {wait}…)");
        }
    }
    assert!(handlers > 10, "{handlers} files with handlers were found");
}

#[test]
fn pure_files_have_no_effects() {
    let sources = sources();
    for listed in PURE {
        assert!(
            sources.iter().any(|(path, _)| path.starts_with(listed)),
            "{listed} does not exist"
        );
    }
    for (path, code) in &sources {
        let listed = PURE.iter().any(|pure| path.starts_with(pure));
        if listed || says_it_is_pure(code) {
            for effect in EFFECTS {
                let names = without_comments(code).any(|line| line.contains(effect));
                assert!(!names, "{path} is pure but names {effect}");
            }
        }
    }
}

/// Checks that code containing `words` is only in `places`.
fn only_in(words: &str, places: &[&str]) {
    for (path, code) in sources() {
        let allowed = places.iter().any(|place| path.starts_with(place));
        assert!(allowed || !has(&code, words), "{path} has {words}, which belongs in {places:?}");
    }
}

fn has(code: &str, words: &str) -> bool {
    // `PolicyCommand::new(` does not contain `Command::new(`.
    let begins = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    without_comments(code).any(|line| {
        line.match_indices(words).any(|(at, _)| begins(line.get(..at).unwrap_or_default()))
    })
}

/// Returns true if the first paragraph says `Pure.`, or `Pure:` followed by exceptions.
fn says_it_is_pure(code: &str) -> bool {
    let opening: Vec<&str> = code.lines().take_while(|line| line.len() > "//!".len()).collect();
    let opening = opening.join(" ");
    opening.contains(" Pure.") || opening.contains(" Pure:")
}
