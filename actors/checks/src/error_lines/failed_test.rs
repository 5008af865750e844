//! Recognizes the lines in which test runners name a failed test. Pure.
//!
//! A line is known by its form: a mark of failure before the name or after it, a number in a list of failures, or a
//! frame around the name. What only looks like one has no such mark in its place.

use std::sync::LazyLock;

use regex::Regex;

use super::{Diagnostic, diagnostic};

/// The message of a diagnostic that only names a test.
pub(crate) const TEST_FAILED: &str = "test failed";

/// Marks before a name that occur nowhere else at the start of a line.
const MARKS: [&str; 8] = ["✕ ", "✖ ", "× ", "✗ ", "✘ ", "● ", "(fail) ", "--- FAIL: "];
/// Marks after a name.
const AFTER: [&str; 6] =
    [" ... FAILED", " *** FAILED ***", " <<< FAILURE!", " <<< ERROR!", " [FAIL]", "... FAIL"];

struct Patterns {
    pytest: Regex,
    unittest: Regex,
    duration: Regex,
}

// ASCII classes throughout: building the Unicode tables would take longer than checking a small project.
static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        pytest: Regex::new(r"^(?:FAILED|ERROR) ([^(: \t|][^: \t]*)(?:::([^ \t]+))?(?: - (.+))?$")
            .ok()?,
        unittest: Regex::new(r"^(?:FAIL|ERROR): ([^ \t]+) \(([^)]*)\)").ok()?,
        duration: Regex::new(
            r"[ \t]+(?:--[ \t]+)?(?:\(?\[?(?:< )?[0-9.]+ ?(?:ns|us|µs|ms|s|sec)\]?\)?|Time elapsed: [0-9.]+ s)$",
        )
        .ok()?,
    })
});

/// Parses the diagnostic of a failed test that is named on this line, or on those after it if this one announces it.
pub(super) fn failed_test(line: &str, after: &[String]) -> Option<Diagnostic> {
    let patterns = PATTERNS.as_ref()?;
    let group =
        |found: &regex::Captures<'_>, at| found.get(at).map_or("", |it| it.as_str()).to_owned();
    if let Some(found) = patterns.pytest.captures(line) {
        return Some(diagnostic(&group(&found, 2), &group(&found, 1), &group(&found, 3)));
    }
    if let Some(found) = patterns.unittest.captures(line) {
        return Some(diagnostic(&group(&found, 1), &group(&found, 2), TEST_FAILED));
    }
    let timeless = |text: &str| patterns.duration.replace(text.trim_end(), "").into_owned();
    let (written, line) = (line.trim_end(), timeless(line));
    let is_timed = line.len() < written.len();
    let name = marked_before(&line)
        .or_else(|| after_failed(&line).filter(|_| is_timed))
        .or_else(|| marked_after(&line))
        .or_else(|| framed(&line))
        .or_else(|| of_program(&line))
        .map(str::to_owned)
        .or_else(|| listed(&line, after))
        .or_else(|| headed(&line, after))?;
    let name = timeless(name.trim_end_matches(['─', ' '])).trim().to_owned();
    (!name.is_empty()).then(|| diagnostic(&name, "", TEST_FAILED))
}

/// Returns the name after a mark of failure.
fn marked_before(line: &str) -> Option<&str> {
    let text = line.trim_start();
    if let Some(name) = MARKS.iter().find_map(|mark| text.strip_prefix(mark)) {
        // Headlines of node and jest.
        let is_headline = name.ends_with("tests:") || name == "Console";
        return told_by_swift(name).filter(|_| !is_headline);
    }
    // TAP, with a directive if the failure is expected.
    if let Some(rest) = text.strip_prefix("not ok ") {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let name = name.strip_prefix("- ").unwrap_or(name);
        let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
        return (name.len() < rest.len() && directive.is_empty()).then_some(name);
    }
    // `[  FAILED  ] Sum.Adds`; in the list of failures the number of them comes first.
    if let Some((mark, name)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        let is_mark = matches!(mark.trim(), "FAIL" | "FAILED");
        return (is_mark && !name.ends_with("listed below:")).then(|| name.trim_start());
    }
    // `FAIL [ 0.003s] shop tests::adds`, `FAIL  a.test.js > sum > adds`.
    for mark in ["FAIL", "SIGABRT", "TIMEOUT"] {
        let Some(rest) = text.strip_prefix(mark).filter(|rest| rest.starts_with(' ')) else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some((_, name)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            let name = name.trim_start();
            let name = name
                .strip_prefix('(')
                .and_then(|it| it.split_once(") "))
                .map_or(name, |(_, it)| it);
            return Some(name.trim_start());
        }
        return rest.contains(" > ").then_some(rest);
    }
    None
}

/// Returns what follows the word in `Failed Shop.SumTests.Adds [4 ms]`; without the duration it could be any sentence.
fn after_failed(line: &str) -> Option<&str> {
    let text = line.trim_start();
    text.strip_prefix("Failed ").or_else(|| text.strip_prefix("failed "))
}

/// Returns the name in `Test adds() failed after 0.001 seconds`, `None` for a suite or a whole run; other names as they
/// are.
fn told_by_swift(name: &str) -> Option<&str> {
    let said = |text: &str| text.contains(" failed after ") || text.contains(" recorded an issue");
    if !said(name) {
        return Some(name);
    }
    let name = name.strip_prefix("Test ").filter(|name| !name.starts_with("run with "))?;
    [" failed after ", " recorded an issue"].iter().find_map(|end| Some(name.split_once(end)?.0))
}

/// Returns the name before a mark of failure.
fn marked_after(line: &str) -> Option<&str> {
    let text = line.trim();
    if let Some(name) = AFTER.iter().find_map(|mark| text.strip_suffix(mark)) {
        let name = name.strip_prefix("test ").or_else(|| name.strip_prefix("- ")).unwrap_or(name);
        // Doc tests, `src/lib.rs - add (line 3)`.
        let name =
            if line.starts_with("test ") { name.split(" - ").next().unwrap_or(name) } else { name };
        let name = name
            .strip_prefix("[xUnit.net ")
            .and_then(|it| it.split_once("] "))
            .map_or(name, |(_, it)| it);
        return (!name.starts_with("Tests run:")).then(|| name.trim_start());
    }
    // hspec numbers its failures: `adds FAILED [1]`.
    let numbered = text.rsplit_once(" FAILED [").filter(|(_, number)| number.ends_with(']'));
    if let Some((name, _)) = numbered {
        return Some(name);
    }
    // Gradle, `SumTest > adds FAILED`; tasks begin with the sign.
    if let Some(name) = text.strip_suffix(" FAILED") {
        return (name.contains(" > ") && !name.starts_with('>')).then_some(name);
    }
    // tasty aligns its results: `adds: FAIL`.
    let name = text.strip_suffix(" FAIL").map(str::trim_end)?;
    name.strip_suffix(':')
}

/// Returns the name in a frame that only a failed test has.
fn framed(line: &str) -> Option<&str> {
    let within = |start: &str, end: &str| Some(line.strip_prefix(start)?.split_once(end)?.0);
    within("Test Case '", "' failed")
        .map(|name| name.trim_start_matches("-[").trim_end_matches(']'))
        .or_else(|| within("error: '", "' failed:"))
}

/// Returns the name of a program that ctest or meson ran: `1/7 Test #1: plain ....***Failed`, `1/3 bad  FAIL`.
fn of_program(line: &str) -> Option<&str> {
    let (count, rest) = line.trim_start().split_once(' ')?;
    let (at, of) = count.split_once('/')?;
    if !at.bytes().chain(of.bytes()).all(|byte| byte.is_ascii_digit()) || at.is_empty() {
        return None;
    }
    let rest = rest.trim_start();
    if let Some((_, rest)) = rest.strip_prefix("Test").and_then(|rest| rest.split_once(": ")) {
        let (name, how) = rest.split_once("***")?;
        let is_skipped = how.starts_with("Skipped") || how.contains("(Disabled)");
        let name = name.split(" .").next().unwrap_or(name);
        return (!is_skipped).then_some(name);
    }
    let mark = ["FAIL", "ERROR", "TIMEOUT"].iter().find_map(|mark| {
        rest.match_indices(mark).map(|(at, _)| at).find(|at| {
            let after = rest.get(at + mark.len()..).unwrap_or_default();
            rest.get(..*at).is_some_and(|it| it.ends_with(' '))
                && (after.is_empty() || after.starts_with(' '))
        })
    })?;
    rest.get(..mark).map(str::trim_end)
}

/// Returns the name in a numbered list of failures: `1) Sum adds`. A list of something else goes on with the next
/// number, and one of pending tests says why in a comment.
fn listed(line: &str, after: &[String]) -> Option<String> {
    const DEEPEST: usize = 3;
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let name = text.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(") ")?;
    let next = after.iter().map(String::as_str).find(|line| !line.trim().is_empty())?;
    let is_item = |line: &str| {
        let text = line.trim_start();
        text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(')')
    };
    if text.starts_with(')')
        || indent > DEEPEST
        || is_item(next)
        || next.trim_start().starts_with('#')
    {
        return None;
    }
    // minitest names the kind first.
    if matches!(name, "Failure:" | "Error:") {
        let name = next.split(" [").next().unwrap_or(next);
        return Some(name.trim_end_matches(':').to_owned());
    }
    // mocha writes each level of the name on a line of its own, further to the right, the last with a colon.
    let mut levels = vec![name];
    for line in after {
        let level = line.trim();
        if line.len() - line.trim_start().len() != 5 + 2 * levels.len() {
            break;
        }
        levels.push(level);
        if let Some(last) = level.strip_suffix(':') {
            levels.pop();
            levels.push(last);
            return Some(levels.join(" "));
        }
    }
    Some(name.to_owned())
}

/// Returns the name under a headline: busted's `Failure -> file @ line`, or the rule above a test case of Catch2 that is
/// followed by a failed assertion.
fn headed(line: &str, after: &[String]) -> Option<String> {
    if line.starts_with("Failure -> ") || line.starts_with("Error -> ") {
        return after.first().cloned();
    }
    let is_rule = |line: &str| line.len() > 40 && line.bytes().all(|byte| byte == b'-');
    if !is_rule(line) {
        return None;
    }
    let levels: Vec<&str> =
        after.iter().map(|line| line.trim()).take_while(|line| !is_rule(line)).take(8).collect();
    let details = after.iter().skip(levels.len() + 1).take_while(|line| !is_rule(line));
    let fails = details.take(200).any(|line| line.ends_with(": FAILED:"));
    fails.then(|| levels.join(" / "))
}
