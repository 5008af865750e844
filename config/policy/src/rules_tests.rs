//! Tests: how effects are classified, and that stricter rules never widen a verdict.

use std::sync::LazyLock;

use config::{Approval, Config, Mode, Policy};
use proptest::prelude::*;

use crate::command::{Assignment, Join, PolicyCommand, SimpleCommand};
use crate::decide::{Confinement, Stage, Verdict};
use crate::patch_total::{PatchTotal, Touch, Touched};
use crate::rules::{Act, Author, PolicyError, PolicyRules};

static DEFAULTS: LazyLock<Config> =
    LazyLock::new(|| config::resolve_layers(&config::Inputs::default()).unwrap().config);

/// The default rules in every mode and under every approval.
static ALL: LazyLock<Vec<PolicyRules>> = LazyLock::new(|| {
    let modes = [Mode::Plan, Mode::Agent, Mode::Yolo];
    let approvals = [Approval::Suggest, Approval::Auto, Approval::Never];
    modes.iter().flat_map(|mode| approvals.map(|approval| rules(approval, *mode))).collect()
});

fn compiled(policy: &Policy) -> Result<PolicyRules, PolicyError> {
    PolicyRules::new(policy, DEFAULTS.agent_loop.safety_gate)
}

fn rules(approval: Approval, mode: Mode) -> PolicyRules {
    compiled(&Policy { approval, mode, ..DEFAULTS.policy.clone() }).unwrap()
}

fn command(text: &str) -> PolicyCommand {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let count = words.iter().take_while(|word| word.contains('=')).count();
    let (set, words) = (words[..count].to_vec(), words[count..].to_vec());
    let assignments = set.iter().map(|word| word.split_once('=').unwrap());
    let assignments = assignments
        .map(|(name, value)| Assignment { name: name.to_owned(), value: value.to_owned() })
        .collect();
    let segment =
        SimpleCommand { join: Join::First, negated: false, assignments, words, expands: false };
    PolicyCommand { segments: vec![segment], inner: Vec::new(), opaque: None }
}

fn patch(
    rules: &PolicyRules,
    author: Author,
    paths: &[&'static str],
    before: &PatchTotal,
) -> Verdict {
    let stage = if author == Author::User { Stage::User } else { Stage::Executing };
    let touched = |(at, path): (usize, &&'static str)| Touched {
        path,
        lines: if at == 0 { 9 } else { 0 },
        how: Touch::Reshaped,
    };
    let touched: Vec<Touched<'_>> = paths.iter().enumerate().map(touched).collect();
    let size = rules.sized(before, &touched);
    rules.decide(stage, Act::Patch { author, paths, size }, Confinement::Off)
}

#[test]
fn reasons_given_for_effects() {
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let mut many = PatchTotal::default();
    many.add(&[Touched { path: "x", lines: 600, how: Touch::Edited }]);
    let mut lines = Vec::new();
    for (mode, approval) in [
        (Mode::Agent, Approval::Suggest),
        (Mode::Agent, Approval::Auto),
        (Mode::Agent, Approval::Never),
        (Mode::Yolo, Approval::Suggest),
        (Mode::Plan, Approval::Suggest),
    ] {
        let rules = rules(approval, mode);
        let model =
            |paths: &[&'static str]| patch(&rules, Author::Model, paths, &PatchTotal::default());
        let run = |text| {
            let command = command(text);
            rules.decide(Stage::Verifying, Act::Command(&command), Confinement::Off)
        };
        for (name, verdict) in [
            ("read a.rs", rules.may_read("a.rs")),
            ("read a/.ENV", rules.may_read("a/.ENV")),
            ("patch a", model(&["a"])),
            ("patch a, after 600 lines", patch(&rules, Author::Model, &["a"], &many)),
            ("patch nine files", model(&nine)),
            ("patch .github/workflows/ci.yml", model(&["a", ".github/workflows/ci.yml"])),
            ("patch x/.cargo/config.toml", model(&["x/.cargo/config.toml"])),
            ("patch .deepseek/config.toml", model(&[".deepseek/config.toml"])),
            ("patch .GIT/hooks/pre-push", model(&[".GIT/hooks/pre-push"])),
            ("patch .env", model(&[".env"])),
            (
                "apply .deepseek/x",
                patch(&rules, Author::User, &[".deepseek/x"], &PatchTotal::default()),
            ),
            ("apply nine files", patch(&rules, Author::User, &nine, &PatchTotal::default())),
            ("cargo test", run("cargo test")),
            ("CI=1 cargo test", run("CI=1 cargo test")),
            ("RUSTC=x cargo test", run("RUSTC=x cargo test")),
            ("CI=/x cargo test", run("CI=/x cargo test")),
            ("cargo run", run("cargo run")),
            ("grep x .env", run("grep x .env")),
            ("setsid git push", run("setsid git push")),
        ] {
            lines.push(format!("{mode:?} {approval:?} | {name} | {verdict}"));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_flag_named_for_an_act_allows_it() {
    let flag = |mode, approval, paths: &[&'static str]| {
        let rules = rules(approval, mode);
        let touched: Vec<Touched<'_>> =
            paths.iter().map(|path| Touched { path, lines: 1, how: Touch::Reshaped }).collect();
        let size = rules.sized(&PatchTotal::default(), &touched);
        let act = Act::Patch { author: Author::Model, paths, size };
        rules.flag_for(Stage::Executing, act, Confinement::Full)
    };
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let workflow = [".github/workflows/ci.yml"];

    assert_eq!(flag(Mode::Agent, Approval::Suggest, &["a"]), Some("--approval auto"));
    assert_eq!(flag(Mode::Agent, Approval::Never, &["a"]), Some("--approval auto"));
    for approval in [Approval::Suggest, Approval::Auto, Approval::Never] {
        assert_eq!(flag(Mode::Agent, approval, &nine), Some("--yolo"), "{approval:?}");
        assert_eq!(flag(Mode::Agent, approval, &workflow), Some("--yolo"), "{approval:?}");
        assert_eq!(flag(Mode::Agent, approval, &[".git/config"]), None, "{approval:?}");
    }
}

#[test]
fn start_files_and_instructions_of_agents_are_asked_for() {
    let rules = rules(Approval::Auto, Mode::Agent);
    let asks = |path: &'static str| {
        let verdict = patch(&rules, Author::Model, &[path], &PatchTotal::default());
        matches!(verdict, Verdict::Ask { .. })
    };
    for path in [
        "AGENTS.md",
        "pkg/a/AGENTS.md",
        "CLAUDE.md",
        ".agents/skills/x/SKILL.md",
        ".bashrc",
        "home/.zshenv",
        ".bash_profile",
        ".zlogin",
        ".bash_logout",
        ".gdbinit",
        "sub/.lldbinit",
        ".vimrc",
        ".envrc.local/.nvmrc",
        "home/.config/fish/.profile",
    ] {
        assert!(asks(path), "{path}");
    }
    for path in [
        "agents.rs",
        "src/rc",
        "docs/claude.markdown",
        "init",
        "a.init",
        "profile.py",
        ".gitignore",
    ] {
        assert!(!asks(path), "{path}");
    }
}

#[test]
fn test_commands_of_all_kinds_are_listed_with_harmless_options() {
    let rules = rules(Approval::Suggest, Mode::Agent);
    let verdict = |text: &str| {
        rules.decide(Stage::Verifying, Act::Command(&command(text)), Confinement::Full)
    };
    for listed in [
        "cargo test --locked --lib",
        "mvn test -o -q -pl core -Dtest=ATest",
        "./mvnw clean verify -B",
        "bundle exec rspec spec/a_spec.rb:3",
        "vendor/bin/phpunit --filter testA",
        "gradle test --tests ATest",
        "cmake -B build",
        "cmake --build build -j4",
        "ctest --test-dir build -R adds",
    ] {
        assert_eq!(verdict(listed), Verdict::Allow, "{listed}");
    }
    for unlisted in [
        "make test -C other",
        "npm test --prefix other",
        "pnpm test --dir other",
        "cargo test --manifest-path other/Cargo.toml",
        "go test -C other ./...",
        "gradle test -p other",
        "cmake -S other -B build",
        "meson setup build other",
        "make test -f other.mk",
        "make test CC=evil",
        "npm test --script-shell x",
        "npm publish",
        "python3 -s evil.py -m unittest",
        "python3 -v evil.py -m pytest",
        "cargo -p test run",
        "mvn deploy",
        "mvn test -f other.xml",
        "mvn test -s settings.xml",
        "mvn test -DargLine=evil",
        "mvn test deploy",
        "./gradlew publish",
        "./gradlew test -I init.gradle",
        "./gradlew test -x test",
        "gradle test -b other.gradle",
        "cmake -P script.cmake",
        "cmake -E rm a",
        "cmake --build build --target install",
        "cmake --install build",
        "cmake -S . -B build -DCMAKE_C_COMPILER=evil",
        "ctest -S script.cmake",
        "ctest --build-and-test a b",
        "dotnet publish",
        "dotnet test --settings x",
        "bundle exec rails db:drop",
        "bundle install",
        "rspec -r ./evil",
        "rspec --format Evil",
        "rake -f other test",
        "composer install",
        "phpunit --bootstrap evil.php",
        "mix test -r evil.exs",
        "mix run evil.exs",
        "swift test -Xswiftc -x",
        "sbt publish",
        "zig build run",
        "zig build test --build-file x.zig",
        "cabal run",
        "busted --helper evil",
        "busted -o evil",
        "bats -F /evil",
        "deno run -A evil.ts",
        "deno test --import-map x",
        "deno task deploy",
        "dune build @install",
        "bun run deploy",
        "bun test --preload evil.ts",
        "meson install -C build",
        "meson test --wrapper evil",
    ] {
        assert!(matches!(verdict(unlisted), Verdict::Ask { .. }), "{unlisted}");
    }
}

/// A word of a denied command, of a wrapper, or any other.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("git".to_owned()),
        Just("push".to_owned()),
        Just("env".to_owned()),
        Just("cargo".to_owned()),
        Just("test".to_owned()),
        "[a-z/.=-]{1,8}",
    ]
}

proptest! {
    #[test]
    fn the_deny_list_wins_in_every_mode_and_stage(
        before in proptest::collection::vec(word(), 0..4),
        between in proptest::collection::vec(word(), 0..3),
        after in proptest::collection::vec(word(), 0..3),
        stage in proptest::sample::select(Stage::ALL.to_vec()),
        confinement in proptest::sample::select(Confinement::ALL.to_vec()),
        wrapper in proptest::sample::select(vec!["env", "/usr/bin/nohup", "setsid", "xargs", "stdbuf"]),
    ) {
        let wrapped = if before.is_empty() { None } else { Some(wrapper.to_owned()) };
        let words: Vec<String> = wrapped.into_iter().chain(before).chain(["git".to_owned()])
            .chain(between).chain(["push".to_owned()]).chain(after).collect();
        let mut command = command("x");
        command.segments[0].words = words;
        for rules in ALL.iter() {
            let verdict = rules.decide(stage, Act::Command(&command), confinement);
            prop_assert!(matches!(verdict, Verdict::Deny { .. }), "{verdict}");
        }
    }

    /// A longer deny list, fewer allowed commands and options: never a verdict that is wider.
    #[test]
    fn stricter_rules_never_widen_a_verdict(
        words in proptest::collection::vec(word(), 1..5),
        drop in 0_usize..40,
        denied in word(),
    ) {
        // Globs are slow to compile and irrelevant to these words.
        let secret_files = vec![".env".to_owned()];
        let wide = Policy { secret_files, executed_files: Vec::new(), ..DEFAULTS.policy.clone() };
        let mut narrow = wide.clone();
        narrow.allow_commands.remove(drop % wide.allow_commands.len());
        narrow.deny_commands.push(denied);
        narrow.options.clear();
        let mut command = command("x");
        command.segments[0].words = words;
        let verdict = |policy: &Policy| {
            let rules = compiled(policy).unwrap();
            rules.decide(Stage::Verifying, Act::Command(&command), Confinement::Off)
        };
        let width = |verdict: Verdict| match verdict {
            Verdict::Deny { .. } => 0,
            Verdict::Stage { .. } => 1,
            Verdict::Ask { .. } => 2,
            Verdict::Allow => 3,
        };
        prop_assert!(width(verdict(&narrow)) <= width(verdict(&wide)));
    }
}

#[test]
fn a_glob_that_cannot_be_used_is_named_with_its_list() {
    let policy = Policy { executed_files: vec!["a[".to_owned()], ..DEFAULTS.policy.clone() };
    let error = compiled(&policy).unwrap_err();
    assert_eq!(error.to_string(), "`a[` in policy.executed_files is not a glob");
}
