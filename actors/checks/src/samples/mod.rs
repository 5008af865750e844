//! Outputs of test runners, recorded or as their documentation shows them, each with what it tells. The samples of one reader
//! alone stand in its own tests.

/// The output of a runner in which one test fails or two, and what is to be read from it.
pub(crate) struct Sample {
    /// The name of the file.
    pub(crate) name: &'static str,
    pub(crate) output: &'static str,
    /// The names of the failed tests, as the runner writes them.
    pub(crate) failed: &'static [&'static str],
    /// The numbers of tests that ran and that were skipped.
    pub(crate) counts: (u64, u64),
}

macro_rules! samples {
    ($($name:literal: $ran:literal $skipped:literal $failed:expr;)*) => {
        &[$(Sample {
            name: $name,
            output: include_str!(concat!($name, ".txt")),
            failed: &$failed,
            counts: ($ran, $skipped),
        }),*]
    };
}

/// All of them.
pub(crate) const SAMPLES: &[Sample] = samples! {
    "bats": 2 1 ["adds"];
    "bun": 2 2 ["sum > adds"];
    "busted": 3 1 ["sum adds", "sum errs"];
    "catch2": 2 0 ["sum adds / small"];
    "ctest": 5 2 ["plain", "gt", "c2", "gone", "Sum.Adds", "sum adds / small"];
    "deno": 2 1 ["adds"];
    "dotnet": 2 1 ["Shop.Tests.SumTests.Adds"];
    "exunit": 2 1 ["test adds (AppTest)"];
    "go": 2 0 ["TestBad", "TestBad/sub_case"];
    "go-v": 3 1 ["TestBad", "TestBad/sub_case"];
    "gradle": 3 1 ["SumTest > adds", "SumTest > errs"];
    "gtest": 2 2 ["Sum.Adds"];
    "hspec": 2 1 ["sum adds", "adds"];
    "jest": 2 2 ["adds", "sum › adds"];
    "junit5-gradle": 2 1 ["SumTest > adds()"];
    "meson": 2 1 ["bad"];
    "minitest": 3 1 ["SumTest#test_adds", "SumTest#test_err"];
    "mocha": 3 2 ["sum adds", "sum deep fails too"];
    "nextest": 2 1 ["shop tests::adds", "tests::adds"];
    "node-pipe": 3 2 ["adds", "sum", "top fails"];
    "node-spec": 3 2 ["adds", "sum", "top fails"];
    "phpunit": 3 2 ["SumTest::testAdds", "SumTest::testErr"];
    "pytest": 7 1 ["T::test_bad", "test_p[2]", "TestC::test_m"];
    "rspec": 2 2 ["Sum adds"];
    "scalatest": 2 1 ["adds"];
    "surefire": 3 1 ["adds(x.SumTest)", "errs(x.SumTest)"];
    "surefire3": 2 1 ["x.SumTest.adds"];
    "swift-testing": 3 0 ["adds()"];
    "tasty": 2 0 ["adds"];
    "unittest": 3 1 ["test_bad"];
    "vitest": 2 2 ["a.test.js > sum > adds"];
    "xctest": 2 1 ["SumTests.testAdds"];
    "zig": 2 1 ["a.test.adds"];
};
