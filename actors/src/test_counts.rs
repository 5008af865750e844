//! How many tests a command ran and how many it skipped, as its output tells. Pure.
//!
//! Runners end with a line of counts, such as `3 passed, 1 skipped` or `Tests run: 4, Failures: 1`. It is read by its
//! form: nothing but counts, each with a word that is known. The runners that tell it otherwise have a rule each.

use serde::{Deserialize, Serialize};

/// How many tests a command ran and skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Tests that ran, whether they passed or not.
    pub ran: u64,
    /// Tests that are ignored, skipped, disabled, pending or still to be written.
    pub skipped: u64,
}

/// Returns what `output` says about the number of tests; `None` if it says nothing.
pub fn test_counts(output: &str) -> Option<TestCounts> {
    let mut told = Told::default();
    for line in output.lines() {
        told.add(line.trim());
    }
    told.counts()
}

/// What a word next to a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// All tests, also skipped ones.
    All,
    /// Tests that ran and passed.
    Passed,
    /// Tests that ran and did not pass.
    Failed,
    /// Tests that did not run.
    Skipped,
    /// Something else.
    Other,
}

impl Counted {
    fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "tests" | "test" | "doctest" | "doctests" | "run" | "runs" | "ran" | "examples"
            | "example" | "total" | "cases" | "completed" => Self::All,
            "passed" | "passing" | "pass" | "succeeded" | "success" | "successes" | "xfailed"
            | "xpassed" => Self::Passed,
            "failed" | "failing" | "fail" | "failure" | "failures" | "error" | "errors" => {
                Self::Failed
            }
            "skipped" | "skip" | "skips" | "ignored" | "pending" | "todo" | "disabled"
            | "incomplete" | "canceled" => Self::Skipped,
            "assertions" | "assertion" | "measured" | "filtered" | "out" | "excluded"
            | "deselected" | "warnings" | "warning" | "risky" | "expected" | "flaky" => Self::Other,
            _ => return None,
        })
    }
}

/// A line of counts.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    all: Option<u64>,
    passed: Option<u64>,
    failed: u64,
    skipped: u64,
}

impl Line {
    fn add(&mut self, counted: Counted, count: u64) {
        match counted {
            Counted::All => *self.all.get_or_insert(0) += count,
            Counted::Passed => *self.passed.get_or_insert(0) += count,
            Counted::Failed => self.failed += count,
            Counted::Skipped => self.skipped += count,
            Counted::Other => {}
        }
    }

    /// Returns the counts; `None` if neither all tests nor those that passed are counted: it could count anything.
    fn counts(self) -> Option<TestCounts> {
        let ran = match (self.all, self.passed) {
            (Some(all), _) => all.saturating_sub(self.skipped),
            (None, Some(passed)) => passed + self.failed,
            (None, None) => return None,
        };
        Some(TestCounts { ran, skipped: self.skipped })
    }
}

/// What the lines of an output tell, by the ways of telling that must not be added up.
#[derive(Debug, Default)]
struct Told {
    /// Lines of counts, each complete.
    lines: Option<TestCounts>,
    /// Counts that have a line each.
    single: Line,
    /// Tests that a runner said it would run.
    announced: Option<u64>,
    /// Tests that were told one by one.
    each: Option<TestCounts>,
    /// Go packages with and without tests, if their tests are not told.
    packages: Option<u64>,
    /// What ctest tells about the programs that it ran; each may tell more.
    programs: Option<TestCounts>,
}

impl Told {
    fn add(&mut self, line: &str) {
        let whole = |counts: TestCounts, to: &mut Option<TestCounts>| {
            let sum = to.get_or_insert_default();
            sum.ran += counts.ran;
            sum.skipped += counts.skipped;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().ok();
        let ran = |ran: u64| TestCounts { ran, skipped: 0 };
        let skipped = TestCounts { ran: 0, skipped: 1 };
        match words.as_slice() {
            ["running", count, "test" | "tests"] => {
                if let Some(count) = number(count) {
                    *self.announced.get_or_insert(0) += count;
                }
            }
            // unittest; its skipped tests follow.
            ["Ran", count, "test" | "tests", "in", _] | ["Ran", count, "test" | "tests", "across", ..] => {
                if let Some(count) = number(count) {
                    self.single.add(Counted::All, count);
                }
            }
            ["no", "tests", "ran", ..]
            | ["No", "tests", "executed!" | "found."]
            | ["There", "are", "no", "tests", "to", "run"]
            | ["[INFO]", "No", "tests", "to", "run."] => whole(ran(0), &mut self.lines),
            ["No", "tests", "were", "found!!!"] => whole(ran(0), &mut self.programs),
            // go
            ["---", "PASS:" | "FAIL:", ..] => whole(ran(1), &mut self.each),
            ["---", "SKIP:", ..] => whole(skipped, &mut self.each),
            ["?", _, "[no", "test", "files]"] | ["ok", .., "[no", "tests", "to", "run]"] => {
                self.packages.get_or_insert(0);
            }
            ["ok", _, time] if time.ends_with('s') || *time == "(cached)" => {
                *self.packages.get_or_insert(0) += 1;
            }
            // TAP
            ["ok", count, ..] | ["not", "ok", count, ..] if number(count).is_some() => {
                let directive = words.iter().position(|word| *word == "#");
                let directive = directive.and_then(|at| words.get(at + 1)).copied().unwrap_or("");
                let is_skipped = ["skip", "skipped", "todo"].contains(&&*directive.to_ascii_lowercase());
                whole(if is_skipped { skipped } else { ran(1) }, &mut self.each);
            }
            // node
            ["#" | "ℹ", word, count] => {
                let counted = match *word {
                    "tests" => Counted::All,
                    "skipped" | "todo" => Counted::Skipped,
                    _ => return,
                };
                if let Some(count) = number(count) {
                    self.single.add(counted, count);
                }
            }
            // ctest
            [.., "tests", "failed", "out", "of", count] => {
                whole(ran(number(count).unwrap_or(0)), &mut self.programs);
            }
            [at, "-", .., "(Disabled)"] if number(at).is_some() => whole(skipped, &mut self.programs),
            [at, "-", .., "(Skipped)"] if number(at).is_some() => {
                let programs = self.programs.get_or_insert_default();
                programs.ran = programs.ran.saturating_sub(1);
                programs.skipped += 1;
            }
            // GoogleTest
            ["[==========]", count, "test" | "tests", "from", .., "ran."]
            | ["[==========]", count, "test" | "tests", "from", .., "ran.", _, "ms", "total)"]
            // Catch2, tasty, Swift
            | ["All", count, "tests", "passed", ..]
            | [_, "out", "of", count, "tests", "failed", ..]
            | [_, "Test", "run", "with", count, "test" | "tests", ..] => {
                whole(ran(number(count).unwrap_or(0)), &mut self.lines);
            }
            ["[", "SKIPPED", "]", count, "test," | "tests,", "listed", "below:"]
            | ["YOU", "HAVE", count, "DISABLED", "TEST" | "TESTS"] => {
                let count = number(count).unwrap_or(0);
                let lines = self.lines.get_or_insert_default();
                if words.first() == Some(&"[") {
                    lines.ran = lines.ran.saturating_sub(count);
                }
                lines.skipped += count;
            }
            ["All", "tests", "passed", _, _, "in", count, "test", "case)" | "cases)"] => {
                whole(ran(number(count).unwrap_or(0)), &mut self.lines);
            }
            // XCTest tells it for each suite, the whole last.
            ["Executed", count, "test," | "tests,", "with", rest @ ..] => {
                let all = number(count).unwrap_or(0);
                let skipped = match rest {
                    [count, "test" | "tests", "skipped", ..] => number(count).unwrap_or(0),
                    _ => 0,
                };
                self.lines = Some(TestCounts { ran: all.saturating_sub(skipped), skipped });
            }
            [count, word] | [count, word, _] if matches!(*word, "passing" | "failing" | "pending" | "pass" | "fail" | "skip" | "todo") => {
                if let (Some(count), Some(counted)) = (number(count), Counted::of(word)) {
                    self.single.add(counted, count);
                }
            }
            // meson, dotnet
            [word, count] if word.ends_with(':') && number(count).is_some() => {
                let counted = match *word {
                    "Ok:" | "Passed:" => Counted::Passed,
                    "Fail:" | "Failed:" | "Timeout:" => Counted::Failed,
                    "Skipped:" => Counted::Skipped,
                    _ => return,
                };
                self.single.add(counted, number(count).unwrap_or(0));
            }
            _ => match (marked(line), of_zig(&words).or_else(|| line_of_counts(line))) {
                (Some(marked), _) => self.single.skipped += marked,
                (None, Some(counts)) => whole(counts, &mut self.lines),
                (None, None) => {}
            },
        }
    }

    fn counts(self) -> Option<TestCounts> {
        if self.programs.is_some() {
            return self.programs;
        }
        let both = [self.lines, self.single.counts()].into_iter().flatten();
        let sum = both.reduce(|one, other| TestCounts {
            ran: one.ran + other.ran,
            skipped: one.skipped + other.skipped,
        });
        let ran = |count: Option<u64>| count.map(|ran| TestCounts { ran, skipped: 0 });
        sum.or(self.each).or(ran(self.packages)).or(ran(self.announced))
    }
}

/// Returns the skipped tests in unittest's last line, `OK (skipped=1)`.
fn marked(line: &str) -> Option<u64> {
    let inside = line.strip_prefix("OK (").or_else(|| line.strip_prefix("FAILED ("))?;
    let inside = inside.strip_suffix(')')?;
    if !inside.contains('=') {
        return None;
    }
    let skipped = inside.split(", ").filter_map(|pair| pair.strip_prefix("skipped="));
    Some(skipped.filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// Reads Zig's summary of a build, `…; 1/3 tests passed (1 skipped, 1 failed)`.
fn of_zig(words: &[&str]) -> Option<TestCounts> {
    let at = words.windows(2).position(|pair| pair == ["tests", "passed"])?;
    let all = words.get(at.checked_sub(1)?)?.split_once('/')?.1.parse::<u64>().ok()?;
    let skipped = words.get(at + 2..).unwrap_or_default().iter();
    let skipped = skipped.zip(words.get(at + 3..).unwrap_or_default());
    let skipped = skipped.filter(|(_, word)| word.starts_with("skipped"));
    let skipped =
        skipped.filter_map(|(count, _)| count.trim_matches('(').parse::<u64>().ok()).sum();
    Some(TestCounts { ran: all.saturating_sub(skipped), skipped })
}

/// Reads a line that consists of counts.
fn line_of_counts(line: &str) -> Option<TestCounts> {
    let line = line.trim_matches(['=', ' ']);
    let line = line.strip_prefix('[').and_then(|it| it.split_once("] ")).map_or(line, |(_, it)| it);
    let line = line.strip_prefix("OK (").and_then(|it| it.strip_suffix(')')).unwrap_or(line);
    let mut counts = Line::default();
    let mut parts = 0;
    let separated =
        line.replace(" | ", ", ").replace(" / ", ", ").replace("; ", ", ").replace(". ", ", ");
    for (at, part) in separated.trim_end_matches('.').split(',').enumerate() {
        match pair(part.trim(), at == 0) {
            Some((counted, count)) => {
                counts.add(counted, count);
                parts += 1;
            }
            // What precedes the counts: `test result: ok`, `FAILED`.
            None if at == 0 && !part.contains(|c: char| c.is_ascii_digit()) => {}
            None => return None,
        }
    }
    if parts < 2 && !(parts == 1 && separated.contains(" in ") && counts.passed.is_some()) {
        return None;
    }
    counts.counts()
}

/// Reads `3 passed`, `4 tests completed`, `Failures: 1` or `ignored 2`. In the first part of a line a label may come
/// before, in the last one a duration may follow.
fn pair(part: &str, is_first: bool) -> Option<(Counted, u64)> {
    let part = part.split(" (").next().unwrap_or(part).split(" : ").next().unwrap_or(part);
    let part = part.split(" in ").next().unwrap_or(part);
    let words: Vec<&str> = part.split([' ', ':', '\t']).filter(|word| !word.is_empty()).collect();
    if !is_first && matches!(words.as_slice(), ["finished" | "duration" | "Duration", ..]) {
        return Some((Counted::Other, 0));
    }
    let at = words.iter().rposition(|word| word.bytes().all(|byte| byte.is_ascii_digit()))?;
    let count = words.get(at)?.parse().ok()?;
    let (before, after) = (words.get(..at)?, words.get(at + 1..)?);
    let labels = ["suites", "files", "snapshots", "assertions", "steps", "+-"];
    if is_first && before.iter().any(|word| labels.contains(&word.to_ascii_lowercase().as_str())) {
        return None;
    }
    let known =
        |words: &[&str]| words.iter().map(|word| Counted::of(word)).collect::<Option<Vec<_>>>();
    // In `4 tests completed` or `1 expected failure`, the last word counts.
    if !after.is_empty() {
        let last = *known(after)?.last()?;
        return (is_first || before.is_empty()).then_some((last, count));
    }
    match before {
        [.., word] if is_first => Some((Counted::of(word)?, count)),
        before => Some((*known(before)?.last()?, count)),
    }
}

#[cfg(test)]
mod tests;
