//! Extracts the lines of a command's output that tell people why it failed: the first diagnostics with their context.
//! Pure.

use crate::error_lines::{OutputLine, TEST_FAILED, read_lines, telling};

/// Maximum number of lines shown for one diagnostic.
const OF_ONE: usize = 5;
/// Number of last lines shown if no tool's format is recognized.
const LAST: usize = 5;
/// Maximum number of characters shown of a line.
const WIDE: usize = 200;

/// How informative a line is; only the most informative kind that occurs is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tells {
    /// A test's name, and that it failed.
    Name,
    /// A summary of what failed.
    Summary,
    /// What is wrong.
    What,
}

/// The reasons for a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Lines of the output, without colors and shortened if very long.
    pub lines: Vec<String>,
    /// Number of further diagnostics that are not shown.
    pub more: usize,
}

/// Returns the first lines of `output` that say what is wrong, at most `most`; its last lines if nothing is recognized.
pub fn reasons(output: &str, most: usize) -> Reasons {
    let lines = read_lines(output);
    let found: Vec<(usize, Tells)> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at, tells(line)?))).collect();
    let Some(best) = found.iter().map(|(_, tells)| *tells).max() else {
        let said = telling(lines.iter().map(|line| line.text.as_str()), LAST.min(most));
        return Reasons { lines: said.into_iter().map(shown).collect(), more: 0 };
    };
    let mut reasons = Reasons::default();
    let mut past = 0;
    for (at, _) in found.into_iter().filter(|(_, tells)| *tells == best) {
        // This line may belong to the previous diagnostic.
        if at < past {
            continue;
        }
        let block = block(&lines, at, best);
        let room = most - reasons.lines.len();
        if reasons.lines.is_empty() || block.len() <= room {
            past = at + 1 + block.iter().filter(|(line, _)| *line > at).count();
            reasons.lines.extend(block.into_iter().take(room).map(|(_, text)| text));
        } else {
            reasons.more += 1;
        }
    }
    reasons
}

fn tells(line: &OutputLine) -> Option<Tells> {
    if is_assertion(&line.text) {
        return Some(Tells::What);
    }
    let diagnostic = line.diagnostic.as_ref()?;
    let is_summary = ["FAILED ", "ERROR "].iter().any(|word| line.text.starts_with(word));
    Some(match diagnostic.message.as_str() {
        TEST_FAILED => Tells::Name,
        _ if is_summary => Tells::Summary,
        _ => Tells::What,
    })
}

/// Returns true for a line in which pytest shows an assertion.
fn is_assertion(text: &str) -> bool {
    text.starts_with("E   ")
}

/// Returns a diagnostic with the surrounding lines that belong to it, judging by their position.
fn block(lines: &[OutputLine], at: usize, best: Tells) -> Vec<(usize, String)> {
    let numbered = || lines.iter().enumerate();
    let is_source =
        |line: &OutputLine| line.text.starts_with([' ', '>']) && !is_underline(&line.text);
    let starts = |words: &[&str]| {
        lines.get(at).is_some_and(|line| words.iter().any(|word| line.text.starts_with(word)))
    };
    // A traceback ends with the error; the place in the code precedes it.
    let is_last = starts(&["E   "])
        || !starts(&["error", " "])
            && lines
                .get(at)
                .and_then(|line| line.diagnostic.as_ref())
                .is_some_and(|it| it.file.is_empty());
    // In the other formats, the lines that follow are indented.
    let is_loose = best == Tells::Name || starts(&["E   ", "error", "thread '"]);
    let before = numbered().take(at).rev().filter(|(_, line)| !is_underline(&line.text));
    let before = before.take_while(|(_, line)| is_last && is_source(line)).take(2);
    let mut block: Vec<(usize, String)> =
        before.map(|(at, line)| (at, shown(&line.text))).collect();
    block.reverse();
    let after = numbered().skip(at + 1);
    let belongs = |line: &OutputLine| {
        let is_of_it = is_loose && !line.text.starts_with("note:") || line.text.starts_with(' ');
        let is_other = line.text.trim().is_empty() || tells(line).is_some_and(|it| it >= best);
        is_of_it && !is_other || is_assertion(&line.text)
    };
    let after = after.take_while(|(_, line)| best == Tells::Name || belongs(line));
    let after = after.filter(|(_, line)| belongs(line) && !is_underline(&line.text));
    let first = numbered().skip(at).take(1);
    block.extend(
        first.chain(after).take(OF_ONE - block.len()).map(|(at, it)| (at, shown(&it.text))),
    );
    block
}

/// Returns true for a line that only underlines the one above.
fn is_underline(text: &str) -> bool {
    text.chars().all(|c| "~^-=| ".contains(c)) && text.contains(['~', '^', '-', '|'])
}

fn shown(line: &str) -> String {
    let text = line.trim_end();
    match text.char_indices().nth(WIDE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(output: &str) -> String {
        let Reasons { lines, more } = reasons(output, 12);
        let more = if more == 0 { String::new() } else { format!("\n+{more}") };
        lines.join("\n") + &more
    }

    #[test]
    fn each_tool_says_why_in_its_own_form() {
        insta::assert_snapshot!(told(
            "   Compiling a v0.1.0\nerror[E0425]: cannot find value `x` in this scope\n  --> src/lib.rs:3:5\n   |\n3  |     x + 1\n   |     ^ not found in this scope\n\nerror: could not compile `a` (lib) due to 1 previous error\n"
        ), @"
        error[E0425]: cannot find value `x` in this scope
          --> src/lib.rs:3:5
        3  |     x + 1
           |     ^ not found in this scope
        ");
        insta::assert_snapshot!(told(
            "running 2 tests\ntest tests::adds ... FAILED\ntest tests::zero ... ok\n\nfailures:\n\n---- tests::adds stdout ----\n\nthread 'tests::adds' (123) panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 3\n right: 4\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n    tests::adds\n\ntest result: FAILED. 1 passed; 1 failed\n\nerror: test failed, to rerun pass `--lib`\n"
        ), @"
        thread 'tests::adds' (123) panicked at src/lib.rs:9:5:
        assertion `left == right` failed
          left: 3
         right: 4
        ");
        insta::assert_snapshot!(told(
            "F   [100%]\n=== FAILURES ===\n___ test_sum ___\n\n    def test_sum():\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\ntest_a.py:4: AssertionError\n=== short test summary info ===\nFAILED test_a.py::test_sum - assert 3 == 4\n1 failed in 0.01s\n"
        ), @"
            def test_sum():
        >       assert add(1, 2) == 4
        E       assert 3 == 4
        E        +  where 3 = add(1, 2)
        ");
        insta::assert_snapshot!(told(
            "F\n======\nFAIL: test_sum (tests.T.test_sum)\n------\nTraceback (most recent call last):\n  File \"/w/tests.py\", line 7, in test_sum\n    self.assertEqual(add(1, 2), 4)\n    ~~~~~~~~~~~~~~~~^^^^^^^^^^^^^^\nAssertionError: 3 != 4\n\n------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n"
        ), @"
          File \"/w/tests.py\", line 7, in test_sum
            self.assertEqual(add(1, 2), 4)
        AssertionError: 3 != 4
        ");
        insta::assert_snapshot!(told(
            "--- FAIL: TestSum (0.00s)\n    sum_test.go:7: got 3, want 4\nFAIL\nexit status 1\n"
        ), @"    sum_test.go:7: got 3, want 4");
        insta::assert_snapshot!(told(
            " FAIL  ./sum.test.js\n  ● sum › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\n      3 | test\n"
        ), @"
          ● sum › adds
            expect(received).toBe(expected)
            Expected: 4
            Received: 3
              3 | test
        ");
        insta::assert_snapshot!(told("main.c:3:5: error: 'x' undeclared\n    3 |     x = 1;\n      |     ^\nmake: *** [Makefile:2: all] Error 1\n"), @"
        main.c:3:5: error: 'x' undeclared
            3 |     x = 1;
        ");
    }

    #[test]
    fn unrecognized_output_shows_its_last_lines() {
        assert_eq!(told("1\n2\n\n3\n4\n5\n6\n"), "2\n3\n4\n5\n6");
        assert_eq!(told(""), "");
        assert_eq!(told("\u{1b}[31mwrong\u{1b}[0m\n"), "wrong");
        assert!(told(&"x".repeat(500)).ends_with('…'));
    }

    #[test]
    fn many_failures_are_counted_and_the_first_are_shown() {
        let one = |at: u32| format!("src/a.rs:{at}:1: error: no {at}\n");
        let Reasons { lines, more } = reasons(&(1..=30).map(one).collect::<String>(), 12);
        assert_eq!((lines.len(), more), (12, 18));
        assert!(lines[0].ends_with("no 1"), "{lines:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_read(output in "(error: x|FAILED|E   a|-->|panicked at|:|[0-9]|\\PC|\n| |\u{1b}\\[){0,60}") {
            proptest::prop_assert!(reasons(&output, 12).lines.len() <= 12);
        }
    }
}
