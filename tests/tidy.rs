//! Rules for the source that the compiler does not check: which files may write, run commands or read the environment, and
//! which are pure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use actors::prompts::{Prompt, variables};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Files and folders without side effects. A file whose first paragraph says `Pure` also counts as one.
const PURE: [&str; 50] = [
    "config/policy/src/",
    "config/src/access.rs",
    "config/src/layers.rs",
    "config/src/schema.rs",
    "tools/model/src/chunk.rs",
    "tools/model/src/classify.rs",
    "tools/mock/src/cache.rs",
    "tools/mock/src/route.rs",
    "tools/mock/src/strict.rs",
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
    "actors/src/checks.rs",
    "actors/src/contract.rs",
    "actors/src/dialogue.rs",
    "actors/src/draft.rs",
    "actors/src/failure.rs",
    "actors/src/lane_id.rs",
    "actors/src/ledger.rs",
    "actors/src/plan.rs",
    "actors/src/prompts/",
    "lanes/src/crew/cycle.rs",
    "lanes/src/crew/cycle/",
    "lanes/src/crew/feedback.rs",
    "lanes/src/team/split/ownership.rs",
    "lanes/src/team/split/team_plan.rs",
    "lanes/src/crew/undo_patch.rs",
    "lanes/src/team/split/worth_splitting.rs",
    "lanes/src/team/bisect.rs",
    "lanes/src/team/brief.rs",
    "lanes/src/team/result.rs",
    "orchestrator/src/request/intent.rs",
    "orchestrator/journal/src/history/causes.rs",
    "orchestrator/journal/src/history/lanes.rs",
    "orchestrator/journal/src/history/summary.rs",
    "orchestrator/journal/src/history/usage.rs",
    "orchestrator/journal/src/projection/topic.rs",
    "orchestrator/journal/src/session.rs",
    "orchestrator/src/workspace/rewind.rs",
    "cli/report/src/",
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
fn every_test_file_is_listed_in_main() {
    let main =
        fs::read_to_string(Path::new(ROOT).join("tests/main.rs")).expect("tests have a main");
    for entry in fs::read_dir(Path::new(ROOT).join("tests")).expect("there are tests") {
        let path = entry.expect("an entry is readable").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            assert!(main.contains(&format!("mod {name};")), "tests/main.rs does not list {name}");
        }
    }
}

#[test]
fn processes_are_started_in_few_places() {
    // The sandbox starts itself and the command it is given.
    only_in(
        "Command::new(",
        &["tools/shell/src/", "tools/sandbox/src/", "tools/interpreter/src/worker.rs"],
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
    // The second file is not part of release builds; in the third, the library finds the settings of git as git does.
    let others = ["tools/src/fault.rs", "tools/tree/src/files/excludes.rs"];
    only_in("env::var", &["cli/src/surroundings.rs", others[0], others[1]]);
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
        "actors/src/scratch_tree.rs",
        "tools/model/src/",
        "tools/mock/src/",
        "tools/sandbox/src/probe.rs",
        "tools/shell/src/leftovers.rs",
        "tools/shell/src/run.rs",
        "tools/tree/src/confine.rs",
        "orchestrator/journal/src/log.rs",
        "orchestrator/src/workspace/lock.rs",
        "lanes/src/lane/worktrees.rs",
        "cli/src/commands/autopilot/pilot.rs",
        "cli/src/render/terminal.rs",
        "cli/tui/src/alone.rs",
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
    for words in ["RouterDecision", "RouterEscalation", "router::"] {
        only_in(
            words,
            &[
                "actors/src/",
                "orchestrator/src/request/routing.rs",
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

#[test]
fn text_for_models_is_in_prompt_files() {
    for (path, code) in sources_of_roles() {
        for opening in [".say(", "Dialogue::new("] {
            for argument in code.split(opening).skip(1) {
                let argument = argument.trim_start_matches(|c: char| c.is_whitespace() || c == '&');
                let text =
                    ["\"", "r\"", "r#", "format!", "concat!", "include_str!", "String::from("];
                let literal = text.iter().any(|start| argument.starts_with(start));
                let line = argument.lines().next().unwrap_or_default();
                assert!(!literal, "{path} sends a literal instead of a prompt: {opening}{line}");
            }
        }
    }
}

#[test]
fn prompts_are_rendered_with_exactly_their_variables() {
    let mut used = BTreeSet::new();
    for (path, code) in sources_of_roles() {
        let mut before = "";
        for part in code.split("Prompt::") {
            let name = part.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let prompt = Prompt::ALL.into_iter().find(|prompt| format!("{prompt:?}") == name);
            if let Some(prompt) = prompt {
                let rendered = before.trim_end().ends_with(".render(");
                assert!(rendered, "{path} uses the prompt {name} without rendering it");
                let wants: BTreeSet<&str> = variables(prompt.built_in()).collect();
                assert_eq!(given(part), wants, "{path}: variables of the prompt {name}");
                used.insert(prompt);
            }
            before = part;
        }
    }
    let unused: Vec<_> = Prompt::ALL.iter().filter(|prompt| !used.contains(prompt)).collect();
    assert!(unused.is_empty(), "unused prompts: {unused:?}");
}

/// Returns the names of the variables in the code after a prompt's name: `, &[("name", …), …])`.
fn given(code: &str) -> BTreeSet<&str> {
    let values = code.split(']').next().unwrap_or_default();
    let strings = values.split("(\"").skip(1).filter_map(|rest| rest.split('"').next());
    strings.filter(|text| text.chars().all(|c| c.is_ascii_lowercase() || c == '_')).collect()
}

/// Returns the sources of the crates that send messages to models, without the prompts themselves.
fn sources_of_roles() -> Vec<(String, String)> {
    let crates = ["actors/", "lanes/", "orchestrator/"];
    let mut sources = sources();
    sources.retain(|(path, _)| {
        crates.iter().any(|krate| path.starts_with(krate))
            && !path.starts_with("actors/src/prompts")
    });
    sources
}

#[test]
fn every_file_starts_with_a_description() {
    for (path, code) in sources() {
        assert!(code.starts_with("//! "), "{path} does not start with a //! comment");
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
    without_comments(code).any(|line| line.contains(words))
}

/// Returns the code without `#[cfg(test)]` items. In rustfmt's layout, an item ends with a `;` or with the first `}` at its own
/// indentation.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", &line[..indent]);
        let mut rest = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
        let first = rest.next().unwrap_or_default();
        if !first.ends_with(';') && !first.ends_with('}') {
            rest.find(|line| *line == end);
        }
    }
    kept
}

/// Returns true if the first paragraph says `Pure.`, or `Pure:` followed by exceptions.
fn says_it_is_pure(code: &str) -> bool {
    let opening: Vec<&str> = code.lines().take_while(|line| line.len() > "//!".len()).collect();
    let opening = opening.join(" ");
    opening.contains(" Pure.") || opening.contains(" Pure:")
}

pub(crate) fn without_comments(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// Returns the folder of every crate, except those in `tests/`.
pub(crate) fn crate_dirs() -> Vec<String> {
    let manifest =
        fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("Cargo.toml is readable");
    let manifest: toml::Table = manifest.parse().expect("Cargo.toml is valid TOML");
    let members = manifest["workspace"]["members"].as_array().expect("there are members");
    let crate_dirs = members.iter().filter_map(|krate| krate.as_str().map(String::from));
    crate_dirs.filter(|krate| !krate.starts_with("tests/")).collect()
}

/// Returns every source file without its tests, as path from the root and code.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for krate in crate_dirs() {
        collect(&Path::new(ROOT).join(krate).join("src"), &mut files);
    }
    let named = files.into_iter().map(|path| {
        let code = fs::read_to_string(&path).expect("a source file is text");
        let code = without_tests(&code);
        let name = path.strip_prefix(ROOT).expect("it is below the root");
        (name.to_string_lossy().into_owned(), code)
    });
    let tests = ["tests.rs", "testing.rs"];
    named.filter(|(name, _)| !tests.iter().any(|end| name.ends_with(end))).collect()
}

/// Adds the source files below a directory.
pub(crate) fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a source folder is readable") {
        let path = entry.expect("an entry is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
