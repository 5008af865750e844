//! Tables of commands that prove nothing by passing, and of commands that could fail.

use super::*;

fn never(program: &str) -> Vacuous {
    Vacuous::NeverFails { program: program.to_owned() }
}

fn tells(option: &str) -> Vacuous {
    Vacuous::OnlyTells { option: option.to_owned() }
}

fn succeeds(option: &str) -> Vacuous {
    Vacuous::Succeeds { option: option.to_owned() }
}

fn assert_vacuous<const N: usize>(cases: [(&str, Vacuous); N]) {
    for (command, why) in cases {
        assert_eq!(proves_nothing(command), Some(why), "{command}");
    }
}

#[test]
fn commands_that_always_succeed_prove_nothing() {
    assert_vacuous([
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
        ("test -d .", Vacuous::Constant),
        ("[ -e ./.. ]", Vacuous::Constant),
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
        ("bash +e -c 'cargo test; true'", Vacuous::Masked),
        ("bash -o pipefail -c 'cargo test; true'", Vacuous::Masked),
        ("cargo test & wait", never("wait")),
        ("make -i test", succeeds("-i")),
        ("make -k -i test", succeeds("-i")),
        ("make --ignore-errors", succeeds("--ignore-errors")),
        ("make SHELL=/bin/true test", succeeds("SHELL=/bin/true")),
        ("make -h", tells("-h")),
        ("mvn -v", tells("-v")),
        ("python3 -c pass", never("python3")),
        ("python3 -c 'print(1)'", never("python3")),
        ("node -e ''", never("node")),
        ("node -e 'console.log(1)'", never("node")),
        ("env", never("env")),
        ("xargs true", never("true")),
        ("awk '{print}' f", never("awk")),
        ("sed -n 1p f", never("sed")),
        ("set -e", never("set")),
        ("trap '' EXIT", never("trap")),
        ("diff f f", Vacuous::Unrelated),
        ("cmp -s a.txt a.txt", Vacuous::Unrelated),
        ("expr 1", Vacuous::Unrelated),
        ("[ -n \"$HOME\" ]", Vacuous::Unrelated),
        ("[ \"$?\" = 0 ]", Vacuous::Unrelated),
        ("bash -lc 'cargo test || true'", Vacuous::Masked),
    ]);
}

#[test]
fn builtins_prove_nothing() {
    assert_vacuous([
        ("set -e", never("set")),
        ("cd .", never("cd")),
        ("exec true", never("true")),
        ("trap '' EXIT", never("trap")),
        ("command -v sh", never("command")),
        ("type sh", never("type")),
    ]);
}

#[test]
fn conditions_that_do_not_look_at_the_project_prove_nothing() {
    assert_vacuous([
        ("[ -n \"$HOME\" ]", Vacuous::Unrelated),
        ("[ \"$?\" = 0 ]", Vacuous::Unrelated),
        ("test \"$(cat a)\" = \"$(cat a)\"", Vacuous::Unrelated),
        ("diff a a", Vacuous::Unrelated),
        ("cmp -s a a", Vacuous::Unrelated),
        ("expr 1", Vacuous::Unrelated),
    ]);
}

#[test]
fn commands_that_run_and_read_nothing_of_the_project_prove_nothing() {
    assert_vacuous([
        ("env", never("env")),
        ("env A=1", never("env")),
        ("env -u A true", never("true")),
        ("xargs true", never("true")),
        ("xargs -n 1 echo", never("echo")),
        ("xargs", never("xargs")),
        ("awk '{print}' a", never("awk")),
        ("sed -n 1p a", never("sed")),
        ("sed -n '/x/q0' a", never("sed")),
        ("sed s/q1/x/ a", never("sed")),
        ("find . -name a", never("find")),
        ("find . -exec grep -q x {} ;", never("find")),
        ("find . -exec echo {} +", never("echo")),
        ("python3 -c pass", never("python3")),
        ("python3 -c 'print(1)'", never("python3")),
        ("python3.12 -B -c 'print(\"all is well\")'", never("python3.12")),
        ("python3 -c 'import sys; sys.exit(0)'", never("python3")),
        ("python3 -c 'assert 1 == 1'", never("python3")),
        ("node -e ''", never("node")),
        ("node --eval 'console.log(\"ok\")'", never("node")),
        ("ruby -e 'puts 1'", never("ruby")),
        ("perl -e 'print 1'", never("perl")),
    ]);
}

#[test]
fn scripts_that_go_on_after_a_failure_prove_nothing() {
    assert_vacuous([
        ("echo $(sh check.sh)", never("echo")),
        ("echo `sh check.sh`", never("echo")),
        ("x=$(sh check.sh) true", never("true")),
        ("x=$(sh check.sh); echo \"$x\"", Vacuous::Masked),
        ("bash +e -c 'sh check.sh; true'", Vacuous::Masked),
        ("bash -e +e -c 'sh check.sh; true'", Vacuous::Masked),
        ("bash -c 'sh check.sh | cat'", Vacuous::Masked),
        ("bash -ec 'set +e; sh check.sh; true'", Vacuous::Masked),
        ("(sh check.sh; true)", Vacuous::Masked),
        ("{ sh check.sh; true; }", Vacuous::Masked),
        ("sh check.sh &", Vacuous::Masked),
        ("if sh check.sh; then true; fi", Vacuous::Masked),
        ("if sh check.sh; then echo y; else echo n; fi", Vacuous::Masked),
        ("while false; do :; done", never(":")),
        ("for f in x; do sh check.sh; done; echo ok", Vacuous::Masked),
        ("false || true", never("true")),
        ("sh check.sh || x=1", Vacuous::Masked),
    ]);
}

#[test]
fn options_that_keep_a_program_from_failing_are_named() {
    assert_vacuous([
        ("cargo test & wait", never("wait")),
        ("make -i test", succeeds("-i")),
        ("make -k -i test", succeeds("-i")),
        ("make -ki test", succeeds("-ki")),
        ("make --ignore-errors test", succeeds("--ignore-errors")),
        ("make SHELL=/bin/true test", succeeds("SHELL=/bin/true")),
        ("ruff check --exit-zero .", succeeds("--exit-zero")),
        ("flake8 --exit-zero", succeeds("--exit-zero")),
        ("golangci-lint run --issues-exit-code 0", succeeds("--issues-exit-code 0")),
        ("mvn -fn test", succeeds("-fn")),
        ("make -h", tells("-h")),
        ("make test -h", tells("-h")),
        ("mvn -v", tells("-v")),
        ("cargo test -h", tells("-h")),
        ("./check -h", tells("-h")),
        ("java -version", tells("-version")),
        ("pytest --co -q", tells("--co")),
        ("python3 -m pytest --collect-only", tells("--collect-only")),
        ("npx jest --listTests", tells("--listTests")),
        ("vitest list", tells("list")),
        ("ctest -N", tells("-N")),
        ("gradle tasks", tells("tasks")),
        ("tox -l", tells("-l")),
    ]);
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
        "python3 -c 'print(open(\"f\").read())'",
        "python3 -c 'print(a.b)'",
        "node -e 'require(\"./a\")'",
        "node -e 'console.log(a.b())'",
        "awk '/bad/ {exit 1}' f",
        "awk -f check.awk f",
        "sed -n '/world/q0;q1' greet.txt",
        "env -i cargo test",
        "xargs grep -q world",
        "diff a b",
        "cmp a b",
        "[ \"$(cat a)\" = b ]",
        "bash -euo pipefail -c 'cargo test; true'",
        "make -k test",
        "pytest -v",
        "ctest -V",
        "./run-version",
        "no-such-tool --check",
    ] {
        assert_eq!(proves_nothing(command), None, "{command}");
    }
}

#[test]
fn commands_close_to_vacuous_ones_are_accepted() {
    for command in [
        "command cargo test",
        "exec sh check.sh",
        "exec sh check.sh; true",
        "ruby -e 'puts \"#{a}\"'",
        "set -e; sh check.sh; true",
        "[ -n \"$(cat a)\" ]",
        "x=$(cat a); [ -n \"$x\" ]",
        "x=$(sh check.sh)",
        "sh check.sh; [ \"$?\" = 0 ]",
        "sh check.sh; exit $?",
        "test \"$(sh check.sh)\" != x",
        "diff a b",
        "diff -u a a.expected",
        "echo x | diff - a",
        "cmp a b",
        "find . | xargs grep -q w",
        "xargs -n 1 grep -q w",
        "find . -name a -exec grep -q w {} +",
        "sed -n '/world/q0;q1' a",
        "sed '/x/Q 3' a",
        "awk '/w/{f=1} END{exit !f}' a",
        "awk -f check.awk a",
        "python3 -c 'import a; print(a.b())'",
        "python3 -c 'print(open(\"a\").read())'",
        "python3 -c 'print(f\"{a()}\")'",
        "python3 -m a -c pass",
        "python3 a.py -c pass",
        "node -e 'require(\"./a\")'",
        "node -e 'console.log(`${a()}`)'",
        "env A=1 sh check.sh",
        "env -u A make test",
        "bash -e -c 'sh check.sh; true'",
        "bash -o pipefail -c 'sh check.sh | cat'",
        "bash -euo pipefail -c 'sh check.sh | cat'",
        "set -o pipefail; sh check.sh | cat",
        "sh -c '. ./env; sh check.sh'",
        "(sh check.sh)",
        "sh check.sh || exit 1",
        "sh check.sh || false",
        "sh check.sh || { echo bad; exit 1; }",
        "sh check.sh || exit 1; echo ok",
        "if ! sh check.sh; then exit 1; fi",
        "if sh check.sh; then true; else false; fi",
        "case $x in a) sh check.sh;; esac",
        "until sh check.sh; do sleep 1; done",
        "rc=0; sh check.sh || rc=1; exit $rc",
        "make -k test",
        "make -j2 -k test",
        "make -Iinc test",
        "make -C init test",
        "make SHELL=/bin/bash test",
        "ruff check .",
        "grep -h x a",
        "sort -h a && sh check.sh",
        "pytest -k version",
        "pytest --exitfirst",
        "npm test --if-present",
        "cargo test --no-run",
        "mvn -f sub test",
        "git ls-files --error-unmatch a",
    ] {
        assert_eq!(proves_nothing(command), None, "{command}");
    }
}

#[test]
fn a_line_that_hides_the_failure_of_a_check_says_which() {
    let hidden = |command: &str| {
        let line = CommandLine::parse(command).unwrap();
        hides_failure(&line).map(|hidden| hidden.to_string())
    };
    for (command, part, why) in [
        ("sh check.sh | cat", "sh check.sh", "a pipe"),
        ("cargo test 2>&1 | grep -v warning", "cargo test", "a pipe"),
        ("! cargo test | grep FAILED", "cargo test", "a pipe"),
        ("sh check.sh; echo done", "sh check.sh", "other commands"),
        ("sh check.sh\ncargo test", "sh check.sh", "other commands"),
        ("cargo test; cargo clippy", "cargo test", "other commands"),
        ("sh check.sh; echo x; exit $?", "sh check.sh", "other commands"),
        ("set -e; set +e; sh check.sh; true", "sh check.sh", "other commands"),
        ("set -e; sh a && sh b; true", "sh a", "other commands"),
        ("sh check.sh || true", "sh check.sh", "what follows ||"),
        ("cargo test || make test", "cargo test", "what follows ||"),
        ("sh check.sh || exit 0", "sh check.sh", "what follows ||"),
        ("sh check.sh &", "sh check.sh", "& does not"),
        ("sh check.sh & sleep 1", "sh check.sh", "& does not"),
        ("./server & sh check.sh; kill %1", "sh check.sh", "other commands"),
        ("if sh check.sh; then true; fi", "sh check.sh", "the compound"),
        ("for f in 1 2; do sh check.sh; done", "sh check.sh", "the compound"),
        ("sh -c 'sh check.sh; true'", "sh check.sh", "other commands"),
        ("(cd a; make test | tee log)", "make test", "a pipe"),
    ] {
        let said = hidden(command).unwrap_or_default();
        let expected = format!("a failure of `{part}` is not seen, since {why}");
        assert!(said.starts_with(&expected), "{command}: {said}");
    }
    for command in [
        "sh check.sh",
        "cargo build && cargo test",
        "cat a | grep -q world",
        "echo x | diff - a",
        "find . | xargs grep -q w",
        "find . -name a | sort | xargs cat | grep -q w",
        "sh check.sh || exit 1",
        "sh check.sh || false",
        "sh check.sh || { echo bad; exit 1; }",
        "sh check.sh || exit 1; echo ok",
        "if ! sh check.sh; then exit 1; fi",
        "if sh check.sh; then echo ok; else exit 1; fi",
        "sh check.sh; exit $?",
        "sh check.sh; exit",
        "sh check.sh; rc=$?; rm -f tmp; exit $rc",
        "sh check.sh; [ $? -eq 0 ]",
        "rc=0; sh check.sh || rc=1; exit $rc",
        "for f in 1 2; do sh check.sh $f || exit 1; done",
        "set -e; sh check.sh; true",
        "set -o pipefail; sh check.sh | cat",
        "bash -o pipefail -c 'sh check.sh | cat'",
        "./server & sleep 1; sh check.sh",
        "./server & sh check.sh; rc=$?; kill $!; exit $rc",
        "cd a; make test",
        "mkdir -p a; make test",
        "(cd a && make test)",
        "true; true",
        "echo $(sh check.sh)",
    ] {
        assert_eq!(hidden(command), None, "{command}");
    }
}
