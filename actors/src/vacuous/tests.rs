//! Tables of commands that prove nothing by passing, and of commands that could fail.

use super::*;

#[test]
fn commands_that_always_succeed_prove_nothing() {
    let never = |program: &str| Vacuous::NeverFails { program: program.to_owned() };
    let tells = |option: &str| Vacuous::OnlyTells { option: option.to_owned() };
    for (command, why) in [
        ("true", never("true")),
        (":", never(":")),
        ("! false", never("false")),
        ("/bin/echo done", never("echo")),
        ("printf ok", never("printf")),
        ("exit 0", never("exit")),
        ("ls src && cat src/a.rs", never("cat")),
        ("git status", never("git")),
        ("git diff HEAD && true", never("true")),
        ("cd src && pwd", never("pwd")),
        ("echo \"$PATH\"", never("echo")),
        ("echo x > out.txt", never("echo")),
        ("env A=1 true", never("true")),
        ("timeout 5 echo x", never("echo")),
        ("nice -n 10 true", never("true")),
        ("sh -c 'true'", never("true")),
        ("sh -c \"sh -c 'exit 0'\"", never("exit")),
        ("eval true", never("true")),
        ("test x", Vacuous::Constant),
        ("test -n x", Vacuous::Constant),
        ("test a = a", Vacuous::Constant),
        ("! test -z x", Vacuous::Constant),
        ("test 1 -lt 2", Vacuous::Constant),
        ("[ x ]", Vacuous::Constant),
        ("[[ a == a ]]", Vacuous::Constant),
        ("make -n", tells("-n")),
        ("make test -n", tells("-n")),
        ("make -sn test", tells("-sn")),
        ("make --dry-run test", tells("--dry-run")),
        ("make -v", tells("-v")),
        ("pytest --version", tells("--version")),
        ("cargo test --help", tells("--help")),
        ("cargo test -- --list", tells("--list")),
        ("python3 -V", tells("-V")),
        ("go version", tells("version")),
        ("grep '' notes.txt", Vacuous::FindsAnything),
        ("grep -q '.*' notes.txt", Vacuous::FindsAnything),
        ("grep -c -m 1 ^ notes.txt", Vacuous::FindsAnything),
        ("grep -e '' notes.txt", Vacuous::FindsAnything),
        ("rg -n '' src", Vacuous::FindsAnything),
        ("cargo test || true", Vacuous::Masked),
        ("cargo test; true", Vacuous::Masked),
        ("cargo test; exit 0", Vacuous::Masked),
        ("cargo test | tee log", Vacuous::Masked),
        ("cargo test | tail -5", Vacuous::Masked),
        ("true || cargo test", never("true")),
        ("cargo test || echo failed", Vacuous::Masked),
        ("sh -c 'cargo test; true'", Vacuous::Masked),
        ("bash -lc 'cargo test || true'", Vacuous::Masked),
    ] {
        assert_eq!(proves_nothing(command), Some(why), "{command}");
    }
}

#[test]
fn commands_that_could_fail_are_accepted() {
    for command in [
        "cargo test",
        "cargo test -- --nocapture",
        "cargo test help",
        "cargo test version",
        "cd src && cargo test",
        "cargo test && echo done",
        "echo testing && cargo test",
        "true && cargo test",
        "cargo test; cargo clippy",
        "cat log | grep -q done",
        "set -e; cargo test; true",
        "sh -ec 'cargo test; true'",
        "false || cargo test",
        "cargo test || make test",
        "sh check.sh",
        "sh -c 'cargo test'",
        "env RUST_LOG=debug cargo test",
        "timeout 60 pytest -q",
        "make test",
        "make -C sub test",
        "make -j2 test",
        "make -fnew.mk test",
        "grep -q world greet.txt",
        "grep -v '' greet.txt",
        "grep -L '' greet.txt",
        "! grep -q bad *.txt",
        "! cat gone.txt",
        "test -f out.txt",
        "test -s out.txt",
        "test a -nt b",
        "test *.rs",
        "test \"$(wc -l < a)\" = 3",
        "[ -f out.txt ]",
        "[ \"$(wc -l < a)\" = 3 ]",
        "[[ $(cat a) == *done* ]]",
        "[ x ] && cargo test",
        "git diff --exit-code",
        "git grep -q world",
        "python3 -c 'import a'",
        "pytest -v",
        "ctest -V",
        "./run-version",
        "no-such-tool --check",
    ] {
        assert_eq!(proves_nothing(command), None, "{command}");
    }
}

#[test]
fn a_run_without_a_test_says_so() {
    for nothing in [
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 7 filtered out",
        "running 0 tests\nrunning 0 tests\n",
        "----\nRan 0 tests in 0.000s\n\nOK",
        "?   \texample.org/a\t[no test files]\nok  \texample.org/b\t0.01s [no tests to run]",
        "ℹ tests 0\nℹ pass 0",
        "0 examples, 0 failures",
        "No tests were found!!!",
    ] {
        assert!(ran_no_test(nothing), "{nothing}");
    }
    for something in [
        "",
        "all is well",
        "running 0 tests\nrunning 1 test\n",
        "Ran 2 tests in 0.1s",
        "ok  \texample.org/a\t0.01s\n?   \texample.org/b\t[no test files]",
        "ok  \texample.org/a\t(cached)",
        "# tests 3",
        "  12 passing (8ms)",
    ] {
        assert!(!ran_no_test(something), "{something}");
    }
}
