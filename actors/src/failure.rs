//! Failed verifications: diagnostics parsed from output, their fingerprints, and the class of the failure. Pure.
//!
//! Fingerprints come from diagnostics, never from raw output, so that line numbers, times and temporary paths do not
//! make an old failure look new.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use config::FailureClassifier;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// One error, as a tool reported it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Error code or name of the failed test; empty if there is none.
    pub code: String,
    /// The file, if the tool named it; empty otherwise. Relative to the workspace where possible.
    pub file: String,
    /// The message, with numbers, paths, durations and addresses normalized.
    pub message: String,
}

/// The class of a failed attempt; determines which role acts next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The diff could not be applied.
    PatchMismatch,
    /// The checks failed because of the change.
    MechanicalVerifyFailure,
    /// The same failure occurred again under the same plan.
    RepeatedVerifyFailure,
    /// A new plan left about the same failures.
    DesignMismatch,
}

impl FailureClass {
    /// Returns the name used in prompts and shown to users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PatchMismatch => "PatchMismatch",
            Self::MechanicalVerifyFailure => "MechanicalVerifyFailure",
            Self::RepeatedVerifyFailure => "RepeatedVerifyFailure",
            Self::DesignMismatch => "DesignMismatch",
        }
    }
}

/// A set of distinct errors.
pub type ErrorSet = BTreeSet<Diagnostic>;

/// How numbers in messages are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Replaced, for fingerprints: `left: 3` and `left: 4` are the same failure.
    Folded,
    /// Kept, to detect whether anything changed at all.
    Kept,
}

/// Parses at most `limit` diagnostics from `output`. If no tool's format is recognized, uses the last lines instead.
pub fn diagnostics(output: &str, limit: usize, numbers: Numbers) -> ErrorSet {
    let lines = plain(output);
    let mut found = ErrorSet::new();
    for (at, line) in lines.iter().enumerate() {
        if found.len() >= limit {
            break;
        }
        let after = lines.get(at + 1..).unwrap_or_default();
        if let Some(mut diagnostic) = read_line(line, after) {
            diagnostic.message = normalise(&diagnostic.message, numbers);
            found.insert(diagnostic);
        }
    }
    if found.is_empty() {
        let said = lines.iter().rev().map(|line| line.trim()).filter(|line| !line.is_empty());
        found.extend(said.take(limit.min(3)).map(|line| Diagnostic {
            code: String::new(),
            file: String::new(),
            message: normalise(line, numbers),
        }));
    }
    found
}

/// A line of output, and the diagnostic that starts on it.
pub(crate) struct Line {
    /// The text without terminal colors.
    pub(crate) text: String,
    /// The diagnostic that starts on this line, verbatim.
    pub(crate) diagnostic: Option<Diagnostic>,
}

/// Returns the lines of `output`, each with the diagnostic that starts on it.
pub(crate) fn read_lines(output: &str) -> Vec<Line> {
    let lines = plain(output);
    let read = |at: usize| read_line(lines.get(at)?, lines.get(at + 1..).unwrap_or_default());
    let diagnostics: Vec<Option<Diagnostic>> = (0..lines.len()).map(read).collect();
    let both = lines.into_iter().zip(diagnostics);
    both.map(|(text, diagnostic)| Line { text, diagnostic }).collect()
}

/// Returns the lines of `output` without terminal colors, cut to the maximum length of a diagnostic.
fn plain(output: &str) -> Vec<String> {
    output.lines().map(|line| strip_ansi(beginning(line))).collect()
}

struct Patterns {
    compiler: Regex,
    rustc: Regex,
    arrow: Regex,
    rust_test: Regex,
    panic: Regex,
    pytest: Regex,
    python_error: Regex,
    unittest: Regex,
    go_test: Regex,
    js_test: Regex,
    noise: Regex,
}

// ASCII classes throughout: building the Unicode tables would take longer than checking a small project.
static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        compiler: Regex::new(r"^\s*([0-9A-Za-z_./\\-]+\.[0-9A-Za-z_]+)[:(]([0-9]+)[:,]?(?:[0-9]+)?\)?:? *(?:fatal )?(?:(error|Error)(?-u:\b):?)?\s*(TS[0-9]+|[A-Z][0-9]{3,4})?:?\s*(.+)$").ok()?,
        rustc: Regex::new(r"^error(?:\[(E[0-9]+)\])?: (.+)$").ok()?,
        arrow: Regex::new(r"^\s*--> ([^:]+):[0-9]+:[0-9]+").ok()?,
        rust_test: Regex::new(r"^test ([^ \t]+)(?: - .*)? \.\.\. FAILED$|^\s+(?:FAIL|SIGABRT|TIMEOUT) \[.*\] +(?:\(.*\) +)?(.+)$").ok()?,
        panic: Regex::new(r"^thread '([^']+)'(?: \([0-9]+\))? panicked at ([^:]+):[0-9]+:[0-9]+:$").ok()?,
        pytest: Regex::new(r"^(?:FAILED|ERROR) ([^(: \t][^: \t]*)(?:::([^ \t]+))?(?: - (.+))?$").ok()?,
        python_error: Regex::new(r"^([0-9A-Za-z_]*(?:Error|Exception)): (.*)$").ok()?,
        unittest: Regex::new(r"^(?:FAIL|ERROR): ([^ \t]+) \(([^)]*)\)").ok()?,
        go_test: Regex::new(r"^\s*--- FAIL: ([^ \t]+)").ok()?,
        js_test: Regex::new(r"^\s*(?:✕|✖|×|not ok [0-9]+ -|●) (.+)$").ok()?,
        noise: Regex::new(r"(?x)
            0x[0-9a-fA-F]+ | (?-u:\b)[0-9a-f]{12,}(?-u:\b)
            | (?:/[0-9A-Za-z_.@+-]+)+/(?P<name>[0-9A-Za-z_.@+-]+)
            | (?-u:\b)[0-9]+(?:\.[0-9]+)?\s?(?:ms|s|us|µs|ns|seconds?|minutes?)(?-u:\b)
            | (?P<number>[0-9]+)").ok()?,
    })
});

/// Parses the diagnostic that starts on this line, if any.
fn read_line(line: &str, after: &[String]) -> Option<Diagnostic> {
    let patterns = PATTERNS.as_ref()?;
    let group = |captures: &regex::Captures<'_>, at: usize| {
        captures.get(at).map_or("", |group| group.as_str()).to_owned()
    };
    if let Some(found) = patterns.rustc.captures(line) {
        let message = group(&found, 2);
        if ["could not compile", "aborting due to", "test failed", "test run failed"]
            .iter()
            .any(|summary| message.starts_with(summary))
        {
            return None;
        }
        let file = after.iter().take(3).find_map(|line| patterns.arrow.captures(line));
        let file = file.map(|found| group(&found, 1)).unwrap_or_default();
        return Some(diagnostic(&group(&found, 1), &file, &message));
    }
    if let Some(found) = patterns.panic.captures(line) {
        let message =
            after.iter().take_while(|line| !line.starts_with("note:") && !line.is_empty());
        let message: Vec<&str> = message.take(3).map(|line| line.trim()).collect();
        return Some(diagnostic(&group(&found, 1), &group(&found, 2), &message.join(" ")));
    }
    if let Some(found) = patterns.rust_test.captures(line) {
        return Some(diagnostic(&(group(&found, 1) + &group(&found, 2)), "", "test failed"));
    }
    if let Some(found) = patterns.pytest.captures(line) {
        return Some(diagnostic(&group(&found, 2), &group(&found, 1), &group(&found, 3)));
    }
    if let Some(found) = patterns.unittest.captures(line) {
        return Some(diagnostic(&group(&found, 1), &group(&found, 2), "test failed"));
    }
    if let Some(found) = patterns.python_error.captures(line) {
        return Some(diagnostic(&group(&found, 1), "", &group(&found, 2)));
    }
    if let Some(found) = patterns.go_test.captures(line) {
        return Some(diagnostic(&group(&found, 1), "", "test failed"));
    }
    if let Some(found) = patterns.js_test.captures(line) {
        return Some(diagnostic(&group(&found, 1), "", "test failed"));
    }
    let found = patterns.compiler.captures(line)?;
    let is_go = is_go_line(&group(&found, 1));
    let is_error = found.get(3).is_some() || found.get(4).is_some() || is_go;
    let warns = group(&found, 5).trim_start().to_ascii_lowercase().starts_with("warning");
    // The output of a Go test is indented; that of the compiler is not.
    let is_of_test = is_go && line.starts_with(char::is_whitespace);
    let code = if is_of_test { "go test".to_owned() } else { group(&found, 4) };
    (is_error && !warns).then(|| diagnostic(&code, &group(&found, 1), &group(&found, 5)))
}

/// Go reports `file.go:12:3: message` without the word "error".
fn is_go_line(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| extension == "go")
}

fn diagnostic(code: &str, file: &str, message: &str) -> Diagnostic {
    let file = file.trim_start_matches("./").to_owned();
    Diagnostic { code: code.to_owned(), file, message: message.to_owned() }
}

/// Replaces everything in `text` that varies between runs: addresses, hashes, absolute directories, durations, and
/// numbers.
fn normalise(text: &str, numbers: Numbers) -> String {
    let Some(patterns) = PATTERNS.as_ref() else { return text.to_owned() };
    let replaced = patterns.noise.replace_all(text, |found: &regex::Captures<'_>| {
        match (found.name("name"), found.name("number")) {
            (Some(name), _) => format!("/{}", name.as_str()),
            (None, Some(number)) if numbers == Numbers::Kept => number.as_str().to_owned(),
            (None, _) => "#".to_owned(),
        }
    });
    replaced.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

/// Cuts a line to the maximum length of a diagnostic.
fn beginning(line: &str) -> &str {
    const MOST: usize = 4096;
    line.get(..line.floor_char_boundary(MOST)).unwrap_or(line)
}

/// Removes terminal colors.
fn strip_ansi(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A control sequence ends with its first letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Returns the similarity of two sets: size of intersection over size of union; 1 if both are empty.
pub fn similarity(a: &ErrorSet, b: &ErrorSet) -> f64 {
    let all = a.union(b).count();
    if all == 0 {
        return 1.0;
    }
    // Counts of diagnostics are far below 2^52.
    #[expect(clippy::cast_precision_loss, reason = "both are small counts")]
    let ratio = a.intersection(b).count() as f64 / all as f64;
    ratio
}

/// Returns true if `new` is better than `old`: fewer failures, or mostly different ones.
pub fn materially_reduced(new: &ErrorSet, old: &ErrorSet, rules: &FailureClassifier) -> bool {
    new.len() < old.len() || similarity(new, old) < rules.similarity_threshold
}

/// The failures so far, as far as they determine the class of the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureHistory {
    /// The errors of each failure under the current plan, in order.
    this_plan: Vec<ErrorSet>,
    /// The last failure under the previous plan.
    previous_plan: Option<ErrorSet>,
}

impl FailureHistory {
    /// Adds a failure and returns its class. Repetition is judged by the first diagnostics, reduction by all of them.
    pub fn classify(&mut self, errors: &ErrorSet, rules: &FailureClassifier) -> FailureClass {
        let first = self.this_plan.is_empty();
        self.this_plan.push(errors.clone());
        let first_ones =
            |set: &ErrorSet| set.iter().take(rules.fingerprint_lines).cloned().collect();
        let fingerprint: ErrorSet = first_ones(errors);
        let is_same = |earlier: &&ErrorSet| first_ones(earlier) == fingerprint;
        let seen = self.this_plan.iter().filter(is_same).count();
        let unreduced = |old: &ErrorSet| !materially_reduced(errors, old, rules);
        if first && self.previous_plan.as_ref().is_some_and(unreduced) {
            FailureClass::DesignMismatch
        } else if u32::try_from(seen).unwrap_or(u32::MAX) >= rules.repeat_threshold {
            FailureClass::RepeatedVerifyFailure
        } else {
            FailureClass::MechanicalVerifyFailure
        }
    }

    /// Starts a new plan.
    pub fn replanned(&mut self) {
        if let Some(last) = self.this_plan.pop() {
            self.previous_plan = Some(last);
        }
        self.this_plan.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: FailureClassifier =
        FailureClassifier { repeat_threshold: 2, similarity_threshold: 0.8, fingerprint_lines: 40 };

    fn read(output: &str) -> Vec<String> {
        diagnostics(output, 40, Numbers::Folded)
            .iter()
            .map(|d| format!("{}|{}|{}", d.code, d.file, d.message))
            .collect()
    }

    fn set(names: &[&str]) -> ErrorSet {
        names.iter().map(|name| diagnostic(name, "f", "m")).collect()
    }

    #[test]
    fn formats_of_common_tools() {
        let rustc = "error[E0425]: cannot find value `x` in this scope\n  --> src/lib.rs:3:5\n   |\nerror: could not compile `a` due to 1 previous error\n";
        assert_eq!(read(rustc), ["E0425|src/lib.rs|cannot find value `x` in this scope"]);
        let cargo_test = "test tests::adds ... FAILED\n\nthread 'tests::adds' (123) panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 3\n right: 4\nnote: run with\n";
        assert_eq!(
            read(cargo_test),
            [
                "tests::adds||test failed",
                "tests::adds|src/lib.rs|assertion `left == right` failed left: # right: #"
            ]
        );
        assert_eq!(
            read("FAILED tests/test_a.py::test_sum - assert 3 == 4\n"),
            ["test_sum|tests/test_a.py|assert # == #"]
        );
        assert_eq!(read("FAIL: test_sum (tests.T)\nAssertionError: 3 != 4\n").len(), 2);
        assert_eq!(read("--- FAIL: TestSum (0.00s)\n    sum_test.go:7: got 3\n").len(), 2);
        assert_eq!(
            read("src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n"),
            ["TS2304|src/a.ts|Cannot find name 'x'."]
        );
        assert_eq!(read("main.c:3:5: error: 'x' undeclared\n"), ["|main.c|'x' undeclared"]);
        assert_eq!(
            read("main.c:3:5: warning: unused\nall done\n"),
            ["||all done", "||main.c:#:#: warning: unused"]
        );
    }

    #[test]
    fn details_that_vary_between_runs_do_not_change_the_fingerprint() {
        let run = |dir: &str, line: u32, ms: u32| {
            diagnostics(
                &format!(
                    "\u{1b}[31merror\u{1b}[0m: bad thing at {dir}/x.rs after {ms} ms 0x7f{line:x}\n --> src/a.rs:{line}:1\n"
                ),
                40,
                Numbers::Folded,
            )
        };
        assert_eq!(run("/tmp/abc1", 3, 15), run("/var/t/xyz2", 300, 7));
    }

    #[test]
    fn unknown_output_is_fingerprinted_by_its_last_lines() {
        assert_eq!(read("a\nb\n\nc 17\nd\n"), ["||b", "||c #", "||d"]);
        assert!(read("").is_empty());
    }

    #[test]
    fn every_class_is_reachable_and_distinct() {
        let mut history = FailureHistory::default();
        assert_eq!(
            history.classify(&set(&["a", "b"]), &RULES),
            FailureClass::MechanicalVerifyFailure
        );
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::MechanicalVerifyFailure);
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::RepeatedVerifyFailure);
        history.replanned();
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::DesignMismatch);
        history.replanned();
        assert_eq!(history.classify(&set(&["c"]), &RULES), FailureClass::MechanicalVerifyFailure);
        history.replanned();
        // One failure fewer than under the previous plan is progress, even if the rest is the same.
        let mut history =
            FailureHistory { previous_plan: Some(set(&["a", "b"])), ..FailureHistory::default() };
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::MechanicalVerifyFailure);
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_read(output in "(error|FAILED|-->|panicked at|:|[0-9]|\\PC|\n|\u{1b}\\[){0,60}") {
            proptest::prop_assert!(diagnostics(&output, 5, Numbers::Kept).len() <= 5);
        }
    }
}
