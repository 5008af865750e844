//! What runners say, read.

use super::*;
use crate::samples::SAMPLES;

fn counts(output: &str) -> Option<(u64, u64)> {
    test_counts(output).map(|it| (it.ran, it.skipped))
}

#[test]
fn every_runner_tells_how_many_tests_ran_and_were_skipped() {
    for sample in SAMPLES {
        assert_eq!(counts(sample.output), Some(sample.counts), "{}", sample.name);
    }
}

#[test]
fn a_run_without_a_test_says_so() {
    for nothing in [
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out",
        "running 0 tests\nrunning 0 tests\n",
        "running 1 test\ntest a ... ignored\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "----\nRan 0 tests in 0.000s\n\nOK",
        "s\n----\nRan 1 test in 0.000s\n\nOK (skipped=1)",
        "?   \texample.org/a\t[no test files]\nok  \texample.org/b\t0.01s [no tests to run]",
        "ℹ tests 0\nℹ pass 0",
        "0 examples, 0 failures",
        "No tests were found!!!",
        "No tests executed!",
        "1..1\nok 1 later # skip not yet",
        "[INFO] No tests to run.",
        "There are no tests to run",
        "\n0 passing (1ms)\n2 pending\n",
        "Tests:       2 skipped, 2 total",
        "===== 3 skipped in 0.01s =====\nno tests ran in 0.01s",
        "Passed!  - Failed:     0, Passed:     0, Skipped:     2, Total:     2, Duration: 5 ms - a.dll (net8.0)",
    ] {
        assert_eq!(counts(nothing).map(|it| it.0), Some(0), "{nothing}");
    }
    for something in [
        "running 0 tests\nrunning 1 test\n",
        "Ran 2 tests in 0.1s",
        "ok  \texample.org/a\t0.01s\n?   \texample.org/b\t[no test files]",
        "ok  \texample.org/a\t(cached)",
        "# tests 3",
        "  12 passing (8ms)",
        ".. [100%]\n2 passed in 0.01s",
        "OK (3 tests, 3 assertions)",
        "All tests passed (1 assertion in 1 test case)",
        "100% tests passed, 0 tests failed out of 3",
        "ok | 2 passed | 0 failed (6ms)",
        "[info] Passed: Total 2, Failed 0, Errors 0, Passed 2",
        "✔ Test run with 3 tests passed after 0.1 seconds.\nExecuted 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds",
        "Test summary: total: 4, failed: 0, succeeded: 4, skipped: 0, duration: 1.2s",
    ] {
        assert_ne!(counts(something).map_or(0, |it| it.0), 0, "{something}");
    }
}

#[test]
fn what_is_no_summary_of_tests_counts_nothing() {
    for other in [
        "",
        "all is well",
        "✖ 3 problems (0 errors, 3 warnings)",
        "0 errors, 0 warnings",
        "Found 0 errors. Watching for file changes.",
        "Test Suites: 1 passed, 1 total",
        "Snapshots:   0 total",
        "copied 3 files, 2 failed",
        "1) first thing, 2) second",
        "Success: no issues found in 3 source files",
    ] {
        assert_eq!(counts(other), None, "{other}");
    }
}
