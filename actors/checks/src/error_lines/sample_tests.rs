//! Failed tests are found by name in the output of every runner, and nothing else is taken for one.

use std::collections::BTreeSet;

use super::{NumberFolding, TEST_FAILED, diagnostics};
use crate::samples::SAMPLES;

#[test]
fn a_failed_test_is_found_by_its_name_in_the_output_of_every_runner() {
    for sample in SAMPLES {
        let found = diagnostics(sample.output, 100, NumberFolding::Folded);
        let named: BTreeSet<&str> = found.iter().map(|it| it.code.as_str()).collect();
        for name in sample.failed {
            assert!(named.contains(name), "{}: {name} not in {found:#?}", sample.name);
        }
        let only: BTreeSet<&str> = found
            .iter()
            .filter(|it| it.message == TEST_FAILED)
            .map(|it| it.code.as_str())
            .collect();
        let expected: BTreeSet<&str> = sample.failed.iter().copied().collect();
        assert!(
            only.is_subset(&expected),
            "{}: {only:?} has others than {expected:?}",
            sample.name
        );
    }
}

#[test]
fn what_only_looks_like_a_failed_test_is_none() {
    for line in [
        "Failed to connect to localhost",
        "failed to load the configuration",
        "> Task :test FAILED",
        ":test FAILED",
        "BUILD FAILED in 3s",
        "test result: FAILED. 1 passed; 1 failed",
        "FAILED | 1 passed | 1 failed (6ms)",
        "not ok 3 - a known one # TODO it",
        "[  FAILED  ] 2 tests, listed below:",
        "✖ failing tests:",
        "  ● Console",
        "1) first\n2) second",
        "1) a pending one\n   # not yet implemented",
        "6/7 Test #6: off ....***Not Run (Disabled)   0.00 sec",
        "7/7 Test #7: later ....***Skipped   0.00 sec",
        "2/3 ok      OK              0.01s",
        "Tests run: 4, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.058 s <<< FAILURE! - in x.T",
        "ok 1 - FAILED is only a word",
        "Test Case 'A.b' passed (0.0 seconds)",
        "----------------------------------------------------------------------",
    ] {
        let found = diagnostics(line, 10, NumberFolding::Kept);
        assert!(found.iter().all(|it| it.message != TEST_FAILED), "{line}: {found:?}");
    }
}

#[test]
fn the_duration_of_a_test_is_no_part_of_its_name() {
    for (one, other) in [
        ("✕ adds (2 ms)", "✕ adds (17 ms)"),
        ("✖ adds (1.099462ms)", "✖ adds (0.5ms)"),
        ("(fail) adds [0.12ms]", "(fail) adds [3.00ms]"),
        ("adds ... FAILED (582µs)", "adds ... FAILED (1ms)"),
        ("[  FAILED  ] Sum.Adds (0 ms)", "[  FAILED  ] Sum.Adds (12 ms)"),
        (
            "[ERROR] adds(x.T)  Time elapsed: 0.1 s  <<< FAILURE!",
            "[ERROR] adds(x.T)  Time elapsed: 2 s  <<< FAILURE!",
        ),
        ("  Failed X.Adds [4 ms]", "  Failed X.Adds [< 1 ms]"),
    ] {
        let read = |line| diagnostics(line, 10, NumberFolding::Kept);
        assert_eq!(read(one), read(other), "{one}");
        assert_eq!(read(one).len(), 1, "{one}");
    }
}

#[test]
fn an_output_of_no_known_form_tells_by_its_errors_or_its_end() {
    let maven = "[INFO] Building x 1\n[ERROR] Could not create local repository at /w/.m2 -> [Help 1]\n[ERROR] \n[ERROR] To see the full stack trace, re-run Maven with the -e switch.\n[ERROR] Re-run Maven using the -X switch.\n[ERROR] [Help 1] http://cwiki.example\n";
    let found = diagnostics(maven, 10, NumberFolding::Folded);
    assert!(found.iter().any(|it| it.message.contains("Could not create local")), "{found:?}");
    let javac = "[ERROR] /w/src/Sum.java:[3,5] cannot find symbol\n";
    let found: Vec<_> = diagnostics(javac, 10, NumberFolding::Folded).into_iter().collect();
    assert_eq!(
        (found[0].file.as_str(), found[0].message.as_str()),
        ("/w/src/Sum.java", "cannot find symbol")
    );
}
