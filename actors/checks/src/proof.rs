//! Decides whether the tests of a change prove it: which of its files are tests, and what their results on the old tree
//! mean. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shell::CommandLine;
use tools::encoding::decode_lossy;
use tree::{Change, FileState, FileThen, Op, RepoPath};

use crate::outcome::{Check, CheckOutcome, Report, could_be_flaky};
use crate::proves_nothing::proves_nothing;

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
    /// They took too long, and may not even have been built.
    TimedOut,
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

/// A change to be proven.
#[derive(Debug, Clone, Default)]
pub struct ToProve {
    /// The files of the change.
    pub changes: Vec<Change>,
    /// Files of it that only tests read, as the plan says.
    pub test_data: Vec<RepoPath>,
}

impl ToProve {
    /// Returns which part of a file of the change is tests.
    fn tested(&self, change: &Change) -> Tested {
        if change.paths().all(|path| self.test_data.contains(path)) {
            return Tested::All;
        }
        tested(change)
    }
}

/// Returns which part of a change is tests, by the conventions of common languages.
pub fn tested(change: &Change) -> Tested {
    if change.paths().all(is_test_path) {
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
    with_tests_of(before, after).map_or(Tested::Nothing, Tested::Inside)
}

/// Returns a source file with the tests that another version of it has at its end; `None` if that version has none there.
pub fn with_tests_of(file: &FileState, other: &FileState) -> Option<FileState> {
    let text = |state: &FileState| String::from_utf8(state.bytes.to_vec()).ok();
    let (own, others) = (text(file)?, text(other)?);
    let (source, tests) = (in_two(&own).0, in_two(&others).1);
    let both = format!("{}\n\n{tests}", source.trim_end());
    (!tests.is_empty()).then(|| FileState { bytes: both.into(), mode: file.mode })
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
pub fn is_test_path(path: &RepoPath) -> bool {
    const DIRECTORIES: [&str; 6] = ["tests", "test", "spec", "specs", "testdata", "fixtures"];
    let (dirs, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    let is_test = |dir: &str| {
        DIRECTORIES.contains(&dir.trim_matches(['_', '-', '.'])) || dir.ends_with("_test")
    };
    if dirs.split('/').any(is_test) {
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
pub fn tests_of(change: &ToProve) -> Vec<RepoPath> {
    if change.changes.iter().all(|file| change.tested(file) == Tested::All) {
        return Vec::new();
    }
    let has_tests = |file: &&Change| file.after.is_some() && change.tested(file) != Tested::Nothing;
    change.changes.iter().filter(has_tests).map(|file| file.path.clone()).collect()
}

/// Returns the files of a change as they were before it.
pub fn undone(changes: &[Change]) -> Vec<FileThen> {
    let sides = changes.iter().flat_map(Change::sides);
    sides.map(|(path, before, _)| (path.clone(), before.cloned())).collect()
}

/// Returns the files of a change as they were before it, except for its tests.
pub fn undone_but_tests(change: &ToProve) -> Vec<FileThen> {
    let without_tests = |file: &Change| match change.tested(file) {
        Tested::All => Vec::new(),
        Tested::Inside(state) => vec![(file.path.clone(), Some(state))],
        Tested::Nothing => undone(std::slice::from_ref(file)),
    };
    change.changes.iter().flat_map(without_tests).collect()
}

/// Returns the checks that pass now and failed before the change.
pub fn repaired<'r>(before: &'r Report, report: &'r Report) -> impl Iterator<Item = &'r Check> {
    let failed = |check: &Check| {
        let mut old = before.checks.iter().filter(|old| old.command == check.command);
        old.any(|old| old.outcome == CheckOutcome::CodeFailure && old.missing.is_none())
    };
    report.checks.iter().filter(move |check| check.outcome == CheckOutcome::Passed && failed(check))
}

/// Returns the checks with which the tests of a change can be tried on the old tree: those that could have failed and
/// passed, if all did.
pub fn passed(report: &Report) -> Vec<Check> {
    let all_passed = matches!(report.outcome(), CheckOutcome::Passed | CheckOutcome::Flaky);
    let could_fail = |check: &&Check| {
        check.outcome == CheckOutcome::Passed && proves_nothing(&check.command).is_none()
    };
    report.checks.iter().filter(|_| all_passed).filter(could_fail).cloned().collect()
}

/// Returns the commands to run on the old tree before something is concluded from `report`: those that fail while their
/// earlier result is unknown, or of another day; and if none fails, one whose failure of another day would be a proof.
pub fn doubted(report: &Report, before: &Report) -> Vec<String> {
    let old = |check: &Check| before.checks.iter().find(|old| old.command == check.command);
    let fails = |check: &Check| {
        matches!(
            check.outcome,
            CheckOutcome::CodeFailure
                | CheckOutcome::CommandMissing
                | CheckOutcome::TimedOut
                | CheckOutcome::Infrastructure
        )
    };
    let is_doubted = |check: &&Check| fails(check) && old(check).is_none_or(|old| old.cached);
    let failing: Vec<String> =
        report.checks.iter().filter(is_doubted).map(|check| check.command.clone()).collect();
    let is_fresh = |check: &Check| old(check).is_some_and(|old| !old.cached);
    let mut repaired = repaired(before, report).peekable();
    let proof = repaired.peek().copied().filter(|_| !repaired.any(is_fresh));
    if failing.is_empty() {
        proof.map(|check| check.command.clone()).into_iter().collect()
    } else {
        failing
    }
}

/// How long the tests of a change may run on the old tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialLimits {
    /// The time to build and collect them.
    pub build: Duration,
    /// The time from then on.
    pub tests: Duration,
    /// Whether it shows that they hang if they take longer.
    pub shows_a_hang: bool,
}

impl TrialLimits {
    /// Returns the limits for a check that takes `elapsed` with the change. On the old tree, more has to be built. No check
    /// takes longer than `most`; where that is less than it takes to tell a hang, nothing is concluded from it.
    pub fn of(elapsed: Duration, most: Duration) -> Self {
        const LEAST_BUILD: Duration = Duration::from_secs(20);
        const LEAST_TESTS: Duration = Duration::from_secs(5);
        let hang = (elapsed * 10).max(LEAST_TESTS);
        let build = (elapsed * 2).max(LEAST_BUILD).min(most);
        Self { build, tests: hang.min(most), shows_a_hang: hang <= most }
    }
}

/// The words by which the output of a runner shows that it is at the tests of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestNames(BTreeSet<String>);

impl TestNames {
    /// Returns the names of the files with tests, and of the tests that are new in them.
    pub fn of(to_prove: &ToProve) -> Self {
        let mut names = BTreeSet::new();
        let has_tests = |change: &&Change| to_prove.tested(change) != Tested::Nothing;
        for change in to_prove.changes.iter().filter(has_tests) {
            names.insert(change.path.name().to_owned());
            let text = |state: Option<&FileState>| {
                state.map(|state| decode_lossy(&state.bytes).into_owned())
            };
            let old = text(change.before.as_ref()).unwrap_or_default();
            let old: BTreeSet<&str> = old.lines().collect();
            let new = text(change.after.as_ref()).unwrap_or_default();
            names.extend(new.lines().filter(|line| !old.contains(line)).filter_map(defined));
        }
        Self(names)
    }

    /// Returns true if the output of a runner names one of them.
    pub fn are_in(&self, output: &str) -> bool {
        self.0.iter().any(|name| {
            output.match_indices(name.as_str()).any(|(at, _)| {
                let (before, after) = (output.get(..at), output.get(at + name.len()..));
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                !before.is_some_and(|text| text.ends_with(is_word))
                    && !after.is_some_and(|text| text.starts_with(is_word))
            })
        })
    }

    /// Returns true if a command runs a file of them, and nothing else.
    pub fn are_all_of(&self, line: &CommandLine) -> bool {
        let [segment] = line.segments() else { return false };
        let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
        segment.words.iter().skip(1).any(|word| self.0.contains(&name(word)))
    }
}

/// Returns the name of the test that a line defines: the identifier between a keyword and a parenthesis, or the first text
/// given to a function.
fn defined(line: &str) -> Option<String> {
    const LEAST: usize = 4;
    let (head, rest) = line.trim().split_once('(')?;
    let mut words = head.split_whitespace().rev();
    let last = words.next()?;
    let is_identifier = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let name = if words.next().is_some() && is_identifier(last) {
        last
    } else {
        let quote = rest.trim_start().chars().next().filter(|c| "'\"`".contains(*c))?;
        rest.trim_start().get(1..)?.split(quote).next()?
    };
    (name.len() >= LEAST).then(|| name.to_owned())
}

/// Returns the result of a command on the old tree with the new tests. `unbuilt` is true if its output says that the
/// tests could not be built.
pub fn judge_on_old_tree(check: &Check, unbuilt: bool) -> OldTree {
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
        | CheckOutcome::CommandMissing
        | CheckOutcome::PolicyDenied => OldTree::NotRun,
        CheckOutcome::TimedOut => OldTree::TimedOut,
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
    fn a_hang_shows_only_where_the_limit_of_checks_leaves_time_to_tell_it() {
        let limits = |elapsed| {
            let TrialLimits { build, tests, shows_a_hang } =
                TrialLimits::of(Duration::from_secs(elapsed), Duration::from_mins(15));
            (build.as_secs(), tests.as_secs(), shows_a_hang)
        };
        assert_eq!(limits(0), (20, 5, true));
        assert_eq!(limits(60), (120, 600, true));
        assert_eq!(limits(252), (504, 900, false));
        assert_eq!(limits(800), (900, 900, false));
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
            "_test/extra.txt",
            "e2e_test/case.json",
        ] {
            assert!(is_test_path(&path(test)), "{test}");
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
            assert!(!is_test_path(&path(source)), "{source}");
        }
    }

    #[test]
    fn tests_alone_prove_nothing() {
        let source = change("cart.py", Op::Modify, true);
        let test = change("test_cart.py", Op::Modify, true);
        let gone = change("test_old.py", Op::Delete, false);
        let tests = |changes: &[&Change], data: &[&str]| {
            let changes = changes.iter().map(|change| (*change).clone()).collect();
            let test_data = data.iter().map(|data| path(data)).collect();
            tests_of(&ToProve { changes, test_data })
        };
        assert_eq!(tests(&[&source, &test, &gone], &[]), [path("test_cart.py")]);
        assert!(tests(&[&test], &[]).is_empty());
        assert!(tests(&[&source], &[]).is_empty());
        let from = path("cart.py");
        let renamed = change("test_cart.py", Op::Rename { from }, true);
        assert!(tests(&[&renamed, &test], &[]).len() == 1, "a source that became a test is none");
        let cases = change("cases.txt", Op::Modify, true);
        assert!(tests(&[&source, &cases], &[]).is_empty());
        assert_eq!(tests(&[&source, &cases], &["cases.txt"]), [path("cases.txt")]);
        assert!(tests(&[&cases], &["cases.txt"]).is_empty());
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
