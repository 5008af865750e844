//! Tests the verdicts of the default rules on command lines.

use config::{Approval, Mode, Policy};
use policy::{Act, Confinement, PolicyRules, Stage, Verdict};

use super::CommandLine;

fn rules(approval: Approval, mode: Mode) -> PolicyRules {
    let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
    let policy = Policy { approval, mode, ..config.policy };
    PolicyRules::new(&policy, config.agent_loop.safety_gate).unwrap()
}

fn command(rules: &PolicyRules, text: &str) -> String {
    let line = CommandLine::parse(text).unwrap();
    let effect = Act::Command(line.command());
    rules.decide(Stage::Verifying, effect, Confinement::Off).to_string()
}

#[test]
fn listed_commands_run_with_the_options_named_for_them() {
    let rules = rules(Approval::Auto, Mode::Agent);
    for allowed in [
        "cargo test",
        "cargo test --workspace -p config -- --nocapture --test-threads=1 some_test",
        "cargo test -j4 --features a,b",
        "cargo clippy --all-targets -- -D warnings -Aclippy::pedantic",
        "cargo fmt --all -- --check",
        "cargo build --release",
        "npm test",
        "npm run test -- --runInBand",
        "npm run test:unit",
        "yarn test --watchAll=false",
        "pytest -q tests",
        "pytest -xvs -k 'not slow' --maxfail=2 tests/test_a.py::test_b",
        "pytest 'tests/test_a.py::test[1]'",
        "python3 -m pytest -rA tests",
        "python -m unittest discover -s tests -p 'test_*.py' -v",
        "go test ./...",
        "go test -race -run TestX -count=1 ./pkg/...",
        "make test",
        "make -s test",
        "make test -j4 --no-print-directory",
        "node --test",
        "node --test tests/a.test.js b.test.mjs",
        "cargo test 2>&1 | rg error",
        "rg -n -A3 'fn main' src",
        "grep -q 'hello world' greet.txt",
        "cargo clippy -- -D clippy::all -Wunused_variables",
        "test -f out.txt",
        "test -n x -a -d src",
        "true",
    ] {
        let is_make = allowed == "make -s test";
        let verdict = command(&rules, allowed);
        // Options must follow the words of a rule: options before them may change their meaning.
        assert_eq!(verdict == "allow", !is_make, "{allowed}: {verdict}");
    }
}

/// Each of these once ran without approval, or nearly did, or is a variant of one that did.
#[test]
fn no_rule_admits_an_option_that_it_does_not_name() {
    let rules = rules(Approval::Auto, Mode::Agent);
    for asked in [
        "node --test-only -p \"require('child_process').execSync('id')\"",
        "node --test-timeout=9 evil.js",
        "node --test -r ./evil.js",
        "node --test --import ./evil.mjs",
        "node --test --test-reporter=./evil.js",
        "node --test -p 1",
        "node -e 1 --test",
        "node --test=evil.js",
        "node --testx",
        "make test deploy",
        "make test-deploy",
        "make test.x",
        "make test --eval=x",
        "make test --eva=x",
        "make test -f other.mk",
        "make test -fother.mk",
        "make test -sf other.mk",
        "make test SHELL=x",
        "make test -n",
        "make test -C other",
        "npm run test-deploy",
        "npm run test deploy",
        "npm test deploy",
        "npm run test:e2e",
        "npm test --script-shell=./x",
        "npm test --prefix other",
        "yarn test --cwd other",
        "pnpm test -C other",
        "git status",
        "git diff-evil",
        "git show HEAD",
        "git log --show-signature",
        "git diff --no-index /dev/null README.md",
        "git diff --output=x",
        "cargo testify",
        "cargo run",
        "cargo fmt",
        "cargo --config x test",
        "cargo test --config x",
        "cargo test --config=x",
        "cargo test -Zunstable-options",
        "cargo test --target-dir out",
        "cargo clippy --fix",
        "cargo clippy -- -Clinker=./x",
        "cargo build --out-dir x",
        "RUSTC_WRAPPER=x cargo test",
        "./x/cargo test",
        "cargo test > out",
        "cargo test $(x)",
        "pytest -p evil",
        "pytest -pevil",
        "pytest -c evil.cfg",
        "pytest -o addopts=x",
        "pytest --rootdir=x",
        "pytest --basetemp=src",
        "pytest -xp evil",
        "pytest @args.txt",
        "pytest ../elsewhere",
        "pytest /tmp/x",
        "python -m evil -m pytest",
        "python -m pytest_evil",
        "python evil.py -m pytest",
        "go test -exec ./x ./...",
        "go test -toolexec=./x",
        "go test -vettool=./x",
        "go test -overlay=x",
        "go vet -vettool ./x",
        "go test -pgo=x",
        "go test -args x",
        "go test -run",
        "go test -run -exec ./x",
        "rg --pre ./x y",
        "rg -f .e y",
        "rg --hidden y",
        "rg key .env",
        "grep -f list x",
        "grep -R x .",
        "test -v x",
        "grep x .e*",
        "true x",
        "python3 -m unittest 'open(\"x\")' timeit.main",
        "python3 -m unittest os.abort",
        "python3 -m unittest tests.test_a",
        "cargo test --doc -- --skip='zz --logfile x'",
        "cargo test 'zz --logfile x'",
        "cargo clippy -- -Wunused__CLIPPY_HACKERY__-Clinker=./evil.sh",
        "cargo clippy -- -W unused__CLIPPY_HACKERY__@x",
        "cargo clippy -- --deny=x --emit=dep-info=y",
        "grep -rh TOKEN .",
        "make test 22>/dev/null",
        "make test '2'>/dev/null",
        "make test ''>/dev/null",
        "X=1 make test",
    ] {
        assert!(command(&rules, asked).starts_with("ask"), "{asked}");
    }
}

#[test]
fn denied_commands_are_found_whatever_precedes_them() {
    let rules = rules(Approval::Auto, Mode::Agent);
    for denied in [
        "sudo ls",
        "cargo test && sudo ls",
        "/usr/bin/sudo ls",
        "cargo test | git push -f",
        "mkfs.ext4 /dev/x",
        "git -C . push",
        "env A=1 sudo ls",
        "A=1 git push",
        "echo $(sudo ls)",
    ] {
        assert!(command(&rules, denied).starts_with("deny"), "{denied}");
    }
}

#[test]
fn secrets_are_never_read_in_any_mode() {
    for path in [
        ".env",
        ".env.local",
        "a/b/.env",
        "keys/server.PEM",
        ".ssh/id_rsa",
        "home/.aws/credentials",
    ] {
        let verdict = rules(Approval::Auto, Mode::Yolo).may_read(path);
        assert!(matches!(verdict, Verdict::Deny { .. }), "{path}");
    }
}
