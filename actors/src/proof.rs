//! Decides whether the tests of a change prove it: which of its files are tests, and what their results on the old tree
//! mean. Pure.

use serde::{Deserialize, Serialize};
use tree::{Change, FileState, Op, RepoPath};

use crate::checks::{Check, CheckOutcome, Report, could_be_flaky};

/// The result of the new and changed tests on the tree before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldTree {
    /// They fail without the change, so the change makes them pass.
    Fails,
    /// They also pass without the change.
    Passes,
    /// They could not be built or collected, or something they need is missing, so the result is inconclusive.
    SaysNothing,
    /// They did not run to completion.
    NotRun,
}

/// Which part of a change is tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tested {
    /// None of it.
    Nothing,
    /// All of it.
    All,
    /// Tests inside a source file, at its end as in Rust. Holds the old source with the new tests.
    Inside(FileState),
}

/// Returns which part of a change is tests, by the conventions of common languages.
pub fn tested(change: &Change) -> Tested {
    if change.paths().all(is_test) {
        return Tested::All;
    }
    let (Op::Modify, Some(before), Some(after)) = (&change.op, &change.before, &change.after)
    else {
        return Tested::Nothing;
    };
    if change.path.name().rsplit_once('.').is_none_or(|(_, ending)| ending != "rs") {
        return Tested::Nothing;
    }
    let text = |state: &FileState| String::from_utf8(state.bytes.to_vec()).ok();
    let (Some(old), Some(new)) = (text(before), text(after)) else { return Tested::Nothing };
    let ((source, old_tests), (new_source, tests)) = (in_two(&old), in_two(&new));
    if tests.is_empty() || tests == old_tests {
        return Tested::Nothing;
    }
    if source.trim_end() == new_source.trim_end() {
        return Tested::All;
    }
    let both = format!("{}\n\n{tests}", source.trim_end());
    Tested::Inside(FileState { bytes: both.into(), mode: before.mode })
}

/// Splits a Rust file into its source and the test module at its end, if there is one that is only built for tests.
fn in_two(text: &str) -> (&str, &str) {
    let at = text.rfind("\n#[cfg(test)]\nmod ").map_or(text.len(), |at| at + 1);
    let (source, tests) = text.split_at(at);
    // A module in the middle of the file ends before the file does.
    let ends = tests.match_indices("\n}").map(|(end, _)| tests.get(end + 2..).unwrap_or_default());
    let is_last = ends.take(1).all(|rest| rest.trim().is_empty());
    if is_last { (source, tests) } else { (text, "") }
}

/// Returns true if a file holds tests, or data that only tests use.
fn is_test(path: &RepoPath) -> bool {
    const DIRECTORIES: [&str; 7] =
        ["tests", "test", "__tests__", "spec", "specs", "testdata", "fixtures"];
    let (dirs, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    if dirs.split('/').any(|dir| DIRECTORIES.contains(&dir)) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let begins = |prefix| stem.starts_with(prefix);
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| stem.ends_with(suffix));
    match ending {
        "py" => begins("test_") || ends(&["_test"]) || ["tests", "conftest"].contains(&stem),
        "rs" => stem == "tests" || ends(&["_test", "_tests"]),
        "go" | "c" | "cc" | "cpp" | "exs" | "dart" => ends(&["_test"]),
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => ends(&[".test", ".spec"]),
        "rb" => ends(&["_test", "_spec"]) || begins("test_"),
        "java" | "kt" | "cs" | "scala" | "swift" => ends(&["Test", "Tests"]),
        "php" => ends(&["Test"]),
        _ => false,
    }
}

/// Returns the files with tests of a change; empty if they cannot prove it, because nothing else changed.
pub fn tests_of(changes: &[Change]) -> Vec<RepoPath> {
    if changes.iter().all(|change| tested(change) == Tested::All) {
        return Vec::new();
    }
    let has_tests = |change: &&Change| change.after.is_some() && tested(change) != Tested::Nothing;
    changes.iter().filter(has_tests).map(|change| change.path.clone()).collect()
}

/// Returns true if a check that passes now failed on the untouched tree.
pub fn is_proven_by(baseline: &Report, report: &Report) -> bool {
    let failed =
        |check: &&Check| check.outcome == CheckOutcome::CodeFailure && check.missing.is_none();
    let failed: Vec<&Check> = baseline.checks.iter().filter(failed).collect();
    let passes = |check: &&Check| check.outcome == CheckOutcome::Passed;
    report
        .checks
        .iter()
        .filter(passes)
        .any(|check| failed.iter().any(|old| old.command == check.command))
}

/// Returns the result of a command on the old tree with the new tests. `unbuilt` is true if its output says that the
/// tests could not be built.
pub fn judged(check: &Check, unbuilt: bool) -> OldTree {
    match check.outcome {
        CheckOutcome::Passed => OldTree::Passes,
        CheckOutcome::CodeFailure if unbuilt || check.missing.is_some() => OldTree::SaysNothing,
        // A compiler error is not a failed test.
        CheckOutcome::CodeFailure if !could_be_flaky(check) => OldTree::SaysNothing,
        CheckOutcome::CodeFailure => OldTree::Fails,
        CheckOutcome::Flaky
        | CheckOutcome::Unverified
        | CheckOutcome::Environment
        | CheckOutcome::PreExisting
        | CheckOutcome::Infrastructure
        | CheckOutcome::TimedOut
        | CheckOutcome::CommandMissing
        | CheckOutcome::PolicyDenied => OldTree::NotRun,
    }
}

#[cfg(test)]
mod tests {
    use tree::FileMode;

    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn change(at: &str, op: Op, stays: bool) -> Change {
        let state = FileState { bytes: "x".into(), mode: FileMode::Regular };
        Change { path: path(at), op, before: None, after: stays.then_some(state) }
    }

    #[test]
    fn tests_are_recognized_by_their_paths() {
        for test in [
            "tests/a.rs",
            "shop/test_cart.py",
            "cart_test.go",
            "src/a.test.ts",
            "src/__tests__/a.js",
            "src/cart_tests.rs",
            "app/CartTest.java",
            "spec/cart_spec.rb",
            "src/tests.rs",
            "pkg/testdata/in.json",
            "conftest.py",
        ] {
            assert!(is_test(&path(test)), "{test}");
        }
        for source in [
            "src/a.rs",
            "latest.py",
            "contest.go",
            "src/attest.ts",
            "testing.md",
            "src/test.rs",
            "README",
        ] {
            assert!(!is_test(&path(source)), "{source}");
        }
    }

    #[test]
    fn tests_alone_prove_nothing() {
        let source = change("cart.py", Op::Modify, true);
        let test = change("test_cart.py", Op::Modify, true);
        let gone = change("test_old.py", Op::Delete, false);
        assert_eq!(tests_of(&[source.clone(), test.clone(), gone]), [path("test_cart.py")]);
        assert!(tests_of(std::slice::from_ref(&test)).is_empty());
        assert!(tests_of(&[source]).is_empty());
        let from = path("cart.py");
        let renamed = change("test_cart.py", Op::Rename { from }, true);
        assert!(tests_of(&[renamed, test]).len() == 1, "a source that became a test is a source");
    }

    #[test]
    fn tests_inside_a_source_file_are_separated_from_it() {
        let source = |text: &str| format!("fn one() {{\n    {text}\n}}\n");
        let tests = |text: &str| {
            format!("\n#[cfg(test)]\nmod tests {{\n    fn t() {{\n        {text}\n    }}\n}}\n")
        };
        let state = |text: String| FileState { bytes: text.into(), mode: FileMode::Regular };
        let of = |at: &str, before: String, after: String| {
            let (before, after) = (Some(state(before)), Some(state(after)));
            tested(&Change { path: path(at), op: Op::Modify, before, after })
        };
        let (old, new) = (source("1"), source("2"));
        let both = of("a.rs", old.clone() + &tests("old"), new.clone() + &tests("new"));
        assert_eq!(both, Tested::Inside(state(old.clone() + &tests("new"))));
        let first = of("a.rs", old.clone(), new.clone() + &tests("new"));
        assert_eq!(first, Tested::Inside(state(old.clone() + &tests("new"))));
        let alone = of("a.rs", old.clone() + &tests("old"), old.clone() + &tests("new"));
        assert_eq!(alone, Tested::All);
        let untouched = of("a.rs", old.clone() + &tests("old"), new.clone() + &tests("old"));
        assert_eq!(untouched, Tested::Nothing);
        let amid = of(
            "a.rs",
            old.clone() + &tests("old") + "fn two() {}\n",
            new.clone() + &tests("new") + "fn two() {}\n",
        );
        assert_eq!(amid, Tested::Nothing);
        assert_eq!(of("a.py", old + &tests("old"), new + &tests("new")), Tested::Nothing);
    }
}
