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
    for says in output.lines().filter_map(|line| Says::read(line.trim())) {
        told.add(says);
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

/// What a line says about the tests.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// A runner will run so many.
    Announced(u64),
    /// One test was run, or skipped.
    Each(TestCounts),
    /// A Go package was tested, whose tests are not told; 0 for one without tests.
    Package(u64),
    /// ctest ran programs; each may tell more.
    Programs(TestCounts),
    /// Of the programs that ctest ran, this one only said that it cannot.
    SkippedProgram,
    /// So many ran and were skipped.
    Whole(TestCounts),
    /// So many ran and were skipped, those told before included.
    Overall(TestCounts),
    /// Of those told before, so many were skipped.
    SkippedAmong(u64),
    /// So many besides those told before were skipped.
    SkippedBesides(u64),
    /// One of the counts that have a line each.
    Single(Counted, u64),
}

const fn ran(ran: u64) -> TestCounts {
    TestCounts { ran, skipped: 0 }
}

const SKIPPED: TestCounts = TestCounts { ran: 0, skipped: 1 };

fn number(word: &str) -> Option<u64> {
    word.parse().ok()
}

impl Says {
    fn read(line: &str) -> Option<Self> {
        /// A line that counts something is short.
        const LONGEST: usize = 300;
        if line.len() > LONGEST {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let counts = || of_zig(&words).or_else(|| line_of_counts(line)).map(Self::Whole);
        one_by_one(&words)
            .or_else(|| of_ctest(&words))
            .or_else(|| in_a_sentence(&words))
            .or_else(|| single(&words))
            .or_else(|| marked(line).map(|skipped| Self::Single(Counted::Skipped, skipped)))
            .or_else(counts)
    }
}

/// Reads lines about one test or package: Go, TAP.
fn one_by_one(words: &[&str]) -> Option<Says> {
    Some(match words {
        ["---", "PASS:" | "FAIL:", ..] => Says::Each(ran(1)),
        ["---", "SKIP:", ..] => Says::Each(SKIPPED),
        ["?", _, "[no", "test", "files]"] | ["ok", .., "[no", "tests", "to", "run]"] => {
            Says::Package(0)
        }
        ["ok", count, ..] | ["not", "ok", count, ..] if number(count).is_some() => {
            let mut rest = words.iter().skip_while(|word| **word != "#").skip(1);
            let directive = rest.next().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
            let is_skipped = ["skip", "skipped", "todo"].contains(&directive.as_str());
            Says::Each(if is_skipped { SKIPPED } else { ran(1) })
        }
        ["ok", _, time] if time.ends_with('s') || *time == "(cached)" => Says::Package(1),
        _ => return None,
    })
}

fn of_ctest(words: &[&str]) -> Option<Says> {
    Some(match words {
        [.., "tests", "failed", "out", "of", count] => Says::Programs(ran(number(count)?)),
        ["No", "tests", "were", "found!!!"] => Says::Programs(ran(0)),
        [at, "-", .., "(Disabled)"] if number(at).is_some() => Says::Programs(SKIPPED),
        [at, "-", .., "(Skipped)"] if number(at).is_some() => Says::SkippedProgram,
        _ => return None,
    })
}

fn in_a_sentence(words: &[&str]) -> Option<Says> {
    Some(match words {
        ["running", count, "test" | "tests"] => Says::Announced(number(count)?),
        // unittest, bun; what they skipped follows.
        ["Ran", count, "test" | "tests", "in", _]
        | ["Ran", count, "test" | "tests", "across", ..] => {
            Says::Single(Counted::All, number(count)?)
        }
        ["no", "tests", "ran", ..]
        | ["No", "tests", "executed!" | "found."]
        | ["There", "are", "no", "tests", "to", "run"]
        | ["[INFO]", "No", "tests", "to", "run."] => Says::Whole(ran(0)),
        // GoogleTest, with the time or without; tasty, Swift, Catch2.
        ["[==========]", count, "test" | "tests", "from", .., "ran."]
        | ["[==========]", count, "test" | "tests", "from", .., "ran.", _, "ms", "total)"]
        | ["All", count, "tests", "passed", ..]
        | [_, "out", "of", count, "tests", "failed", ..]
        | [_, "Test", "run", "with", count, "test" | "tests", ..]
        | ["All", "tests", "passed", _, _, "in", count, "test", "case)" | "cases)"] => {
            Says::Whole(ran(number(count)?))
        }
        ["[", "SKIPPED", "]", count, "test," | "tests,", "listed", "below:"] => {
            Says::SkippedAmong(number(count)?)
        }
        ["YOU", "HAVE", count, "DISABLED", "TEST" | "TESTS"] => {
            Says::SkippedBesides(number(count)?)
        }
        // XCTest tells it for each suite, the whole last.
        ["Executed", all, "test," | "tests,", "with", rest @ ..] => {
            let skipped = match rest {
                [count, "test" | "tests", "skipped", ..] => number(count)?,
                _ => 0,
            };
            Says::Overall(TestCounts { ran: number(all)?.saturating_sub(skipped), skipped })
        }
        _ => return None,
    })
}

/// Reads a line with one count: mocha and bun, node, meson and dotnet.
fn single(words: &[&str]) -> Option<Says> {
    let (counted, count) = match words {
        [count, word] | [count, word, _] => match *word {
            "passing" | "failing" | "pending" | "pass" | "fail" | "skip" | "todo"
                if number(count).is_some() =>
            {
                (Counted::of(word)?, count)
            }
            _ => match words {
                ["#" | "ℹ", "tests", count] => (Counted::All, count),
                ["#" | "ℹ", "skipped" | "todo", count] | ["Skipped:", count] => {
                    (Counted::Skipped, count)
                }
                ["Ok:" | "Passed:", count] => (Counted::Passed, count),
                ["Fail:" | "Failed:" | "Timeout:", count] => (Counted::Failed, count),
                _ => return None,
            },
        },
        _ => return None,
    };
    Some(Says::Single(counted, number(count)?))
}

/// What the lines of an output tell, by the ways of telling that must not be added up.
#[derive(Debug, Default)]
struct Told {
    lines: Option<TestCounts>,
    single: Line,
    announced: Option<u64>,
    each: Option<TestCounts>,
    packages: Option<u64>,
    programs: Option<TestCounts>,
    overall: Option<TestCounts>,
}

impl Told {
    fn add(&mut self, says: Says) {
        let add = |to: &mut Option<TestCounts>, counts: TestCounts| {
            let sum = to.get_or_insert_default();
            sum.ran += counts.ran;
            sum.skipped += counts.skipped;
        };
        let skip_among = |of: &mut Option<TestCounts>, count: u64| {
            let sum = of.get_or_insert_default();
            sum.ran = sum.ran.saturating_sub(count);
            sum.skipped += count;
        };
        match says {
            Says::Announced(count) => *self.announced.get_or_insert(0) += count,
            Says::Each(counts) => add(&mut self.each, counts),
            Says::Package(count) => *self.packages.get_or_insert(0) += count,
            Says::Programs(counts) => add(&mut self.programs, counts),
            Says::SkippedProgram => skip_among(&mut self.programs, 1),
            Says::Whole(counts) => add(&mut self.lines, counts),
            Says::Overall(counts) => self.overall = Some(counts),
            Says::SkippedAmong(count) => skip_among(&mut self.lines, count),
            Says::SkippedBesides(skipped) => add(&mut self.lines, TestCounts { ran: 0, skipped }),
            Says::Single(counted, count) => self.single.add(counted, count),
        }
    }

    fn counts(self) -> Option<TestCounts> {
        if self.programs.is_some() {
            return self.programs;
        }
        let told = [self.lines, self.overall, self.single.counts()].into_iter().flatten();
        let sum = told.reduce(|one, other| TestCounts {
            ran: one.ran + other.ran,
            skipped: one.skipped + other.skipped,
        });
        sum.or(self.each).or(self.packages.map(ran)).or(self.announced.map(ran))
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
    // Most lines count nothing.
    if !line.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
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
