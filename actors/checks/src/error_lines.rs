//! Failed verifications: diagnostics parsed from output, their fingerprints, and the class of the failure. Pure.
//!
//! Fingerprints come from diagnostics, never from raw output, so that line numbers, times and temporary paths do not
//! make an old failure look new.

mod compiler;
mod failed_test;
#[cfg(test)]
mod sample_tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use tools::plain::plain_line;

pub(crate) use self::failed_test::TEST_FAILED;

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

impl Diagnostic {
    /// Returns true if it is about the code: a test that ran and failed, or an error with a code and a place.
    pub(crate) fn is_of_code(&self) -> bool {
        !self.code.is_empty() && (self.message == TEST_FAILED || !self.file.is_empty())
    }
}

/// A set of distinct errors.
pub type ErrorSet = BTreeSet<Diagnostic>;

/// How numbers in messages are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFolding {
    /// Replaced, for fingerprints: `left: 3` and `left: 4` are the same failure.
    Folded,
    /// Kept, to detect whether anything changed at all.
    Kept,
}

/// Parses at most `limit` diagnostics from `output`. If no tool's format is recognized, uses the last lines instead.
pub fn diagnostics(output: &str, limit: usize, numbers: NumberFolding) -> ErrorSet {
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
        let said = telling(lines.iter().map(String::as_str), limit.min(3));
        found.extend(said.into_iter().map(|line| Diagnostic {
            code: String::new(),
            file: String::new(),
            message: normalise(line, numbers),
        }));
    }
    found
}

/// Returns the lines of an output of no known format that tell most: those that begin with a word for an error, else
/// the last ones.
pub(crate) fn telling<'l>(
    lines: impl Iterator<Item = &'l str> + Clone,
    most: usize,
) -> Vec<&'l str> {
    let said = lines.filter(|line| !line.trim().is_empty());
    let begins_with_error = |line: &&str| {
        let line = line.trim_start_matches([' ', '[']);
        ["error", "fatal"].iter().any(|word| {
            let begins = line.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
            let rest = line.get(word.len()..).unwrap_or_default();
            // Maven pads its errors with empty ones.
            begins && rest.starts_with([':', ']']) && rest.len() > 1
        })
    };
    let errors: Vec<&str> = said.clone().filter(begins_with_error).take(most).collect();
    if !errors.is_empty() {
        return errors;
    }
    let skipped = said.clone().count().saturating_sub(most);
    said.skip(skipped).collect()
}

/// A line of output, and the diagnostic that starts on it.
pub(crate) struct OutputLine {
    /// The text without what only a terminal shows.
    pub(crate) text: String,
    /// The diagnostic that starts on this line, verbatim.
    pub(crate) diagnostic: Option<Diagnostic>,
}

/// Returns the lines of `output`, each with the diagnostic that starts on it.
pub(crate) fn read_lines(output: &str) -> Vec<OutputLine> {
    let lines = plain(output);
    let read = |at: usize| read_line(lines.get(at)?, lines.get(at + 1..).unwrap_or_default());
    let diagnostics: Vec<Option<Diagnostic>> = (0..lines.len()).map(read).collect();
    let both = lines.into_iter().zip(diagnostics);
    both.map(|(text, diagnostic)| OutputLine { text, diagnostic }).collect()
}

/// Returns the number of the line, from zero, on which the first failure is reported in a known format.
pub fn first_failure(output: &str) -> Option<usize> {
    let lines = plain(output);
    (0..lines.len()).find(|at| {
        let after = lines.get(at + 1..).unwrap_or_default();
        lines.get(*at).is_some_and(|line| read_line(line, after).is_some())
    })
}

/// Returns the lines of `output` as plain text, cut to the maximum length of a diagnostic.
fn plain(output: &str) -> Vec<String> {
    output.lines().map(|line| plain_line(beginning(line))).collect()
}

/// Parses the diagnostic that starts on this line, if any.
fn read_line(line: &str, after: &[String]) -> Option<Diagnostic> {
    let line = without_level(line);
    compiler::rust(line, after)
        .or_else(|| failed_test::failed_test(line, after))
        .or_else(|| compiler::error(line))
}

/// Returns a line of a build tool without the level of its log: `[ERROR] `, `[info] `.
fn without_level(line: &str) -> &str {
    let rest = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let is_level = |word: &str| {
        ["error", "info", "warn", "warning"].iter().any(|it| word.eq_ignore_ascii_case(it))
    };
    rest.filter(|(level, _)| is_level(level)).map_or(line, |(_, rest)| rest)
}

pub(crate) fn diagnostic(code: &str, file: &str, message: &str) -> Diagnostic {
    let file = file.trim_start_matches("./").to_owned();
    Diagnostic { code: code.to_owned(), file, message: message.to_owned() }
}

// ASCII classes: building the Unicode tables would take longer than checking a small project.
static NOISE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        0x[0-9a-fA-F]+ | (?-u:\b)[0-9a-f]{12,}(?-u:\b)
        | (?:/[0-9A-Za-z_.@+-]+)+/(?P<name>[0-9A-Za-z_.@+-]+)
        | (?-u:\b)[0-9]+(?:\.[0-9]+)?\s?(?:ms|s|us|µs|ns|seconds?|minutes?)(?-u:\b)
        | (?P<number>[0-9]+)",
    )
    .ok()
});

/// Replaces everything in `text` that varies between runs: addresses, hashes, absolute directories, durations, and
/// numbers.
fn normalise(text: &str, numbers: NumberFolding) -> String {
    let Some(noise) = NOISE.as_ref() else { return text.to_owned() };
    let replaced = noise.replace_all(text, |found: &regex::Captures<'_>| {
        match (found.name("name"), found.name("number")) {
            (Some(name), _) => format!("/{}", name.as_str()),
            (None, Some(number)) if numbers == NumberFolding::Kept => number.as_str().to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Vec<String> {
        diagnostics(output, 40, NumberFolding::Folded)
            .iter()
            .map(|d| format!("{}|{}|{}", d.code, d.file, d.message))
            .collect()
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
                NumberFolding::Folded,
            )
        };
        assert_eq!(run("/tmp/abc1", 3, 15), run("/var/t/xyz2", 300, 7));
    }

    #[test]
    fn unknown_output_is_fingerprinted_by_its_last_lines() {
        assert_eq!(read("a\nb\n\nc 17\nd\n"), ["||b", "||c #", "||d"]);
        assert!(read("").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_read(output in "(error|FAILED|-->|panicked at|:|[0-9]|\\PC|\n|\u{1b}\\[){0,60}") {
            proptest::prop_assert!(diagnostics(&output, 5, NumberFolding::Kept).len() <= 5);
        }
    }
}
