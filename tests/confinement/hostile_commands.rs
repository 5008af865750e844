//! Hundreds of hostile commands, generated from a seed by combining listed commands with attacks.
//!
//! They are judged by the real policy rules. `sandbox.rs` tests what such commands can do inside the sandbox.

use policy::{Act, Confinement, Gaps, Stage, Verdict};
use shell::CommandLine;

use crate::confinement::hostile::all_rules;

/// Commands that the defaults allow, as the starting point of an attack.
const LISTED: [&str; 16] = [
    "cargo test",
    "cargo check",
    "npm test",
    "pytest -q",
    "python3 -m unittest",
    "go test ./...",
    "make test",
    "node --test a.test.js",
    "mvn test -B",
    "ctest --test-dir build",
    "bundle exec rspec",
    "vendor/bin/phpunit",
    "grep x greet.txt",
    "rg x",
    "test -f greet.txt",
    "true",
];

/// Ways to combine a listed command, `IT`, with another one, `DO`.
const COMBINATIONS: [&str; 44] = [
    "IT; DO",
    "IT && DO",
    "IT || DO",
    "IT | DO",
    "IT & DO",
    "IT\nDO",
    "DO; IT",
    "! DO && IT",
    "(IT; DO)",
    "{ IT; DO; }",
    "if IT; then DO; fi",
    "while DO; do IT; done",
    "for x in 1; do DO; done",
    "case x in x) DO;; esac",
    "f() { DO; }; f",
    "IT $(DO)",
    "IT `DO`",
    "IT \"$(DO)\"",
    "IT <(DO)",
    "IT >(DO)",
    "IT <<< $(DO)",
    "IT <<X\n$(DO)\nX",
    "X=$(DO) IT",
    "X=`DO` IT",
    "IT > OUTSIDE/new",
    "IT >> OUTSIDE/new",
    "IT 2> OUTSIDE/new",
    "IT &> OUTSIDE/new",
    "IT >| OUTSIDE/new",
    "IT <> OUTSIDE/new",
    "PATH=.:$PATH IT",
    "LD_PRELOAD=./x.so IT",
    "BASH_ENV=./x IT",
    "RUSTC_WRAPPER=./x IT",
    "PYTHONPATH=. IT",
    "NODE_OPTIONS=--require=./x.js IT",
    "GOFLAGS=-toolexec=./x IT",
    "MAKEFLAGS=--eval=all:;DO IT",
    "CI=$(DO) IT",
    "WRAP DO",
    "WRAP sh -c 'DO'",
    "IT ; WRAP DO",
    "IT $'\\n'DO; DO",
    "t''rue; DO",
];

const WRAPPERS: [&str; 16] = [
    "env",
    "env -i",
    "env -S",
    "nice -n 5",
    "nohup",
    "setsid",
    "timeout 5",
    "time",
    "command",
    "exec",
    "eval",
    "xargs -n1",
    "stdbuf -o0",
    "busybox",
    "flock greet.txt",
    "find . -exec",
];

const ATTACKS: [&str; 12] = [
    "touch OUTSIDE/new",
    "rm -rf OUTSIDE",
    "cp greet.txt OUTSIDE/new",
    "curl http://127.0.0.1:9/",
    "cat .env",
    "printenv",
    "sh -c 'echo > OUTSIDE/new'",
    "python3 -c 'print(1)'",
    "git config core.hooksPath .",
    "ln -s / x",
    "node -e 1",
    "./x",
];

/// Options and arguments that make a listed command do something else.
const MISUSED: [&str; 30] = [
    "cargo test --config build.rustc-wrapper=\"./x\"",
    "cargo test --manifest-path OUTSIDE/Cargo.toml",
    "cargo test --target-dir OUTSIDE",
    "cargo +evil test",
    "npm test --prefix OUTSIDE",
    "npm test --script-shell=./x",
    "pytest -p x",
    "pytest --rootdir=OUTSIDE -c OUTSIDE/x.ini",
    "pytest -o cache_dir=OUTSIDE",
    "pytest --basetemp=OUTSIDE",
    "python3 -m unittest_evil",
    "python3 -c 'x' -m unittest",
    "go test -exec ./x ./...",
    "go test -o OUTSIDE/new ./...",
    "go test -coverprofile=OUTSIDE/new ./...",
    "go build -o OUTSIDE/new ./...",
    "make test -f OUTSIDE/Makefile",
    "make test SHELL=./x",
    "node --test -r ./x.js",
    "rg --pre ./x x",
    "mvn test -f OUTSIDE/pom.xml",
    "mvn test -Dmaven.repo.local=OUTSIDE",
    "./gradlew test -I OUTSIDE/init.gradle",
    "cmake -P OUTSIDE/x.cmake",
    "cmake --install build --prefix OUTSIDE",
    "ctest -S OUTSIDE/x.cmake",
    "bundle exec rspec -r ./x",
    "vendor/bin/phpunit --bootstrap ./x.php",
    "mix test -r x.exs",
    "deno test --import-map OUTSIDE/x.json",
];

fn commands(seed: u64, count: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pick = |from: &[&'static str]| from[random.usize(..from.len())];
    let command = |at: usize| {
        if at.is_multiple_of(5) {
            return pick(&MISUSED).to_owned();
        }
        let combination = pick(&COMBINATIONS).replace("WRAP", pick(&WRAPPERS));
        combination.replace("IT", pick(&LISTED)).replace("DO", pick(&ATTACKS))
    };
    (0..count).map(command).collect()
}

#[test]
fn without_a_sandbox_no_generated_command_runs_without_approval() {
    let (rules, mut read) = (all_rules(), 0);
    let bare = [Confinement::None, Confinement::Off, Confinement::Floor { missing: Gaps::Untold }];
    for text in commands(14, 500) {
        let Ok(line) = CommandLine::parse(&text) else { continue };
        read += 1;
        for (name, rules) in &rules {
            for confinement in bare {
                let verdict =
                    rules.decide(Stage::Verifying, Act::Command(line.command()), confinement);
                let is_free = *name == "yolo" && verdict == Verdict::Allow;
                assert!(is_free || verdict != Verdict::Allow, "{name}, {confinement:?}: {text}");
            }
            let planned =
                rules.decide(Stage::Planning, Act::Command(line.command()), Confinement::None);
            assert!(*name == "yolo" || planned != Verdict::Allow, "{name}: {text}");
        }
        let never =
            rules[2].1.decide(Stage::Verifying, Act::Command(line.command()), Confinement::Full);
        assert!(matches!(never, Verdict::Deny { .. }), "{never:?}: {text}");
    }
    assert!(read > 400, "only {read} of them could be parsed as commands");
}
