//! Which command is derived for which files.

use std::collections::BTreeSet;

use config::Approval;
use policy::{Act, Confinement, PolicyRules, Stage, Verdict};
use shell::CommandLine;

use super::*;

fn settings() -> config::Config {
    config::resolve_layers(&config::Inputs::default()).unwrap().config
}

fn derived(files: &[(&str, &str)]) -> Vec<String> {
    derived_with(files, &|_| true)
}

fn derived_with(files: &[(&str, &str)], has_program: &dyn Fn(&str) -> bool) -> Vec<String> {
    let read = |name: &str| {
        files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
    };
    let exists = |name: &str| {
        let below = format!("{name}/");
        files.iter().any(|(file, _)| *file == name || file.starts_with(&below))
    };
    let names = |dir: &str| {
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let inside = files.iter().filter_map(|(file, _)| file.strip_prefix(&prefix));
        let names: BTreeSet<&str> = inside.filter_map(|rest| rest.split('/').next()).collect();
        names.into_iter().map(str::to_owned).collect()
    };
    derive(
        &Project { read: &read, exists: &exists, names: &names, has_program },
        &settings().projects,
    )
}

/// Returns the verdict of the default policy about a command that is fully confined.
fn verdict(command: &str, approval: Approval) -> Verdict {
    let settings = settings();
    let policy = config::Policy { approval, ..settings.policy };
    let rules = PolicyRules::new(&policy, settings.agent_loop.safety_gate).unwrap();
    let line = CommandLine::parse(command).unwrap();
    rules.decide(Stage::Verifying, Act::Command(line.command()), Confinement::Full)
}

/// Files of a project of each kind, and the commands derived for them.
const KINDS: &[(&[(&str, &str)], &str)] = &[
    (&[("Cargo.toml", "")], "cargo test"),
    (&[("package.json", r#"{"scripts":{"test":"jest"}}"#)], "npm test"),
    (&[("package.json", r#"{"scripts":{"test":"jest"}}"#), ("pnpm-lock.yaml", "")], "pnpm test"),
    (
        &[("package.json", r#"{"scripts":{"test":"jest"},"packageManager":"pnpm@9.1.0"}"#)],
        "pnpm test",
    ),
    (&[("package.json", r#"{"scripts":{"test":"jest"}}"#), ("yarn.lock", "")], "yarn test"),
    (&[("package.json", r#"{"scripts":{"test":"bun test"}}"#), ("bun.lock", "")], "bun run test"),
    (&[("package.json", r#"{"scripts":{"test:unit":"vitest run"}}"#)], "npm run test:unit"),
    (
        &[("package.json", r#"{"scripts":{"unit":"vitest run"}}"#), ("yarn.lock", "")],
        "yarn run unit",
    ),
    (&[("pyproject.toml", "[tool.pytest]")], "python3 -m pytest -q"),
    (&[("cart_test.py", "import pytest\n")], "python3 -m pytest -q"),
    (&[("test_cart.py", "\ndef test_a():\n    assert True\n")], "python3 -m pytest -q"),
    (&[("cart_test.py", UNITTEST)], "python3 -m unittest discover -p \"*_test.py\""),
    (&[("tests/cart_test.py", UNITTEST)], "python3 -m unittest discover -s tests -p \"*_test.py\""),
    (&[("manage.py", "import django\n"), ("shop/tests.py", "")], "python3 manage.py test"),
    (&[("go.mod", "module x\n")], "go test ./..."),
    (&[("go.work", "go 1.21\nuse ./a\n"), ("a/go.mod", "module x/a\n")], "go test ./a/..."),
    (&[("pom.xml", "<project/>")], "mvn test -B"),
    (&[("pom.xml", "<project/>"), ("mvnw", "")], "./mvnw test -B"),
    (&[("pom.xml", "<project/>"), ("build.gradle", "")], "mvn test -B"),
    (&[("build.gradle.kts", ""), ("gradlew", "")], "./gradlew test"),
    (&[("build.gradle", "")], "gradle test"),
    (
        &[("CMakeLists.txt", "project(x)\nENABLE_TESTING()\n")],
        "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    ),
    (
        &[("CMakeLists.txt", "project(x)\nadd_custom_target(test_x ALL DEPENDS x COMMAND x)\n")],
        "cmake -B build && cmake --build build",
    ),
    (
        &[("meson.build", "project('x', 'c')\ntest('a', executable('a', 'a.c'))\n")],
        "meson setup build && meson test -C build --print-errorlogs",
    ),
    (&[("Shop.sln", "")], "dotnet test"),
    (&[("Shop.slnx", "")], "dotnet test"),
    (&[("Shop.csproj", "")], "dotnet test"),
    (&[("Rakefile", "Rake::TestTask.new\n"), ("Gemfile", "")], "bundle exec rake test"),
    (&[("Rakefile", "task :test do\nend\n")], "rake test"),
    (&[("Gemfile", ""), ("spec/cart_spec.rb", "")], "bundle exec rspec"),
    (&[(".rspec", "--color\n")], "rspec"),
    (&[("bin/rails", ""), ("Gemfile", ""), ("test/test_helper.rb", "")], "bin/rails test"),
    (&[("composer.json", r#"{"scripts":{"test":["@lint","phpunit"]}}"#)], "composer test"),
    (&[("composer.json", "{}"), ("phpunit.xml.dist", "")], "vendor/bin/phpunit"),
    (&[("composer.json", "{}"), ("tests/Pest.php", "")], "vendor/bin/pest"),
    (&[("phpunit.xml", "")], "phpunit"),
    (&[("mix.exs", "")], "mix test"),
    (&[("Package.swift", ""), ("Tests/XTests/X.swift", "")], "swift test"),
    (&[("build.sbt", "")], "sbt test"),
    (&[("build.zig", "const t = b.step(\"test\", \"Run\");")], "zig build test"),
    (&[("x.cabal", "test-suite spec\n")], "cabal test all"),
    (&[("stack.yaml", ""), ("x.cabal", "test-suite spec\n")], "stack test"),
    (&[(".busted", "")], "busted"),
    (&[("x-1.rockspec", ""), ("spec/x_spec.lua", "")], "busted"),
    (&[("test/x.bats", "")], "bats test"),
    (&[("deno.json", r#"{"tasks":{"test":"deno test -A"}}"#)], "deno task test"),
    (&[("deno.jsonc", "{ /* none */ }"), ("src/a_test.ts", "")], "deno test"),
    (&[("dune-project", "")], "dune test"),
    (&[("Makefile", "test:\n\t./run\n")], "make test"),
];

#[test]
fn every_kind_of_project_has_its_command_which_the_policy_lists() {
    for (files, command) in KINDS {
        assert_eq!(derived(files), [*command], "{files:?}");
        assert_eq!(verdict(command, Approval::Suggest), Verdict::Allow, "{command}");
    }
    let tested: BTreeSet<&str> = KINDS.iter().filter_map(|(_, it)| kind_of_derived(it)).collect();
    for name in settings().projects.keys() {
        assert!(tested.contains(name.as_str()), "no project of the kind {name}");
    }
}

fn kind_of_derived(command: &str) -> Option<&'static str> {
    let last = command.rsplit(" && ").next().unwrap();
    kind_of(last, &settings().projects).map(|name| &*name.to_owned().leak())
}

#[test]
fn a_project_in_which_nothing_can_fail_has_no_command() {
    for files in [
        &[("CMakeLists.txt", "project(x)\n")][..],
        &[("meson.build", "project('x', 'c')\n")],
        &[("build.zig", "")],
        &[("x.cabal", "executable x\n")],
        &[("Package.swift", "")],
        &[("Gemfile", ""), ("Rakefile", "task :build\n")],
        &[("composer.json", r#"{"scripts":{"test":"echo none"}}"#)],
        &[("deno.json", "{}")],
        &[("go.work", "go 1.21\n")],
        &[("package.json", "not json")],
    ] {
        assert_eq!(derived(files), [""; 0], "{files:?}");
    }
}

#[test]
fn directories_below_are_tested_if_nothing_in_the_root_can_be() {
    let script = r#"{"scripts":{"test":"jest"}}"#;
    for (files, commands) in [
        (
            &[("api/Cargo.toml", ""), ("web/package.json", script), ("web/yarn.lock", "")][..],
            &["cargo test --manifest-path api/Cargo.toml", "yarn --cwd web test"][..],
        ),
        (&[("web/package.json", script), ("README.md", "Hello")], &["npm --prefix web test"]),
        (
            &[
                ("package.json", r#"{"workspaces":["packages/*"]}"#),
                ("packages/a/package.json", script),
                ("pnpm-lock.yaml", ""),
            ],
            &["pnpm --dir packages/a test"],
        ),
        (&[("lib/Makefile", "test:\n\t./run\n")], &["make -C lib test"]),
        (&[("core/go.mod", "")], &["go test -C core ./..."]),
        (&[("core/test_a.py", UNITTEST)], &["python3 -m unittest discover -s core"]),
        (&[("core/tests/test_a.py", UNITTEST)], &["python3 -m unittest discover -s core/tests"]),
        (&[("app/build.gradle", "")], &["gradle -p app test"]),
        (&[("src/App.csproj", "")], &["dotnet test src"]),
        (
            &[("core/CMakeLists.txt", "enable_testing()")],
            &[
                "cmake -S core -B core/build && cmake --build core/build && ctest --test-dir core/build --output-on-failure",
            ],
        ),
        (
            &[("kit/Package.swift", ""), ("kit/Tests/x.swift", "")],
            &["swift test --package-path kit"],
        ),
        (&[("kit/pom.xml", "")], &[]),
        (&[(".hidden/Cargo.toml", "")], &[]),
        (&[("Cargo.toml", ""), ("web/package.json", script)], &["cargo test"]),
    ] {
        assert_eq!(derived(files), commands, "{files:?}");
        // An option that names another directory needs approval where that is asked for.
        for command in commands {
            assert_eq!(verdict(command, Approval::Auto), Verdict::Allow, "{command}");
        }
    }
    let many: Vec<String> = (10..40).map(|at| format!("c{at}/Cargo.toml")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "")).collect();
    assert_eq!(derived(&many).len(), MOST_BELOW);
}

const UNITTEST: &str = "import unittest\n\nclass T(unittest.TestCase):\n    pass\n";

#[test]
fn every_kind_of_project_that_is_found_is_checked() {
    let files = [
        ("Cargo.toml", ""),
        ("package.json", r#"{"scripts":{"test":"jest"}}"#),
        ("yarn.lock", ""),
        ("pyproject.toml", "[tool.pytest]"),
        ("go.mod", ""),
        ("Makefile", "test:\n\t./run-it-all\n"),
    ];
    let all = ["make test", "cargo test", "go test ./...", "yarn test", "python3 -m pytest -q"];
    assert_eq!(derived(&files), all);
    assert!(derived(&[("package.json", "{}"), ("README.md", "Hello")]).is_empty());
}

#[test]
fn unittest_discovery_is_started_where_it_finds_the_tests() {
    let below = ("tests/test_cart.py", UNITTEST);
    let root = ("test_cart.py", "from unittest import TestCase\n");
    for (files, command) in [
        (vec![below], "python3 -m unittest discover -s tests"),
        (vec![below, ("tests/__init__.py", "")], "python3 -m unittest discover"),
        (vec![root, ("cart.py", "")], "python3 -m unittest discover"),
        (vec![("setup.py", ""), below], "python3 -m unittest discover -s tests"),
        (vec![("tests/test_a.py", "import pytest\n")], "python3 -m pytest -q"),
        (
            vec![("tests/test_a.py", UNITTEST), ("tests/test_b.py", "import pytest\n")],
            "python3 -m pytest -q",
        ),
    ] {
        assert_eq!(derived(&files), [command], "{files:?}");
    }
    assert!(derived(&[("tests/test_cart.py", "print('no tests')\n")]).is_empty());
    assert!(derived(&[("setup.py", ""), ("tests/data.json", "{}")]).is_empty());
}

#[test]
fn a_command_that_cannot_fail_is_not_derived() {
    let package = |script: &str| format!(r#"{{"scripts":{{"test":"{script}"}}}}"#);
    for script in ["echo no test specified && exit 1", "echo ok", "exit 0", "jest || true", "true"]
    {
        assert!(derived(&[("package.json", &package(script))]).is_empty(), "{script}");
    }
    for makefile in
        ["test:\n\t@echo none\n", "test:\n", "test:\n\t-./run\n", "test := x\n", "# test:\n"]
    {
        assert!(derived(&[("Makefile", makefile)]).is_empty(), "{makefile}");
    }
    for makefile in
        ["all:\n\ntest:\n\t@./run\n", "test: unit\n\nunit:\n\t./run\n", "check test: ; ./run\n"]
    {
        assert_eq!(derived(&[("Makefile", makefile)]), ["make test"], "{makefile}");
    }
    assert_eq!(derived(&[("makefile", "check:\n\t./run\n")]), ["make check"]);
}

#[test]
fn a_makefile_target_that_only_wraps_another_check_adds_nothing() {
    let wraps = [("Cargo.toml", ""), ("Makefile", "test: build\n\tcargo test --all\n")];
    assert_eq!(derived(&wraps), ["cargo test"]);
    let more = [("Cargo.toml", ""), ("Makefile", "test:\n\t./end-to-end\n")];
    assert_eq!(derived(&more), ["make test", "cargo test"]);
    let own = [("go.mod", ""), ("Makefile", "test:\n\tgo test -tags all ./pkg/...\n")];
    assert_eq!(derived(&own), ["make test"], "the project's own way of running the same tests");
}

#[test]
fn the_readme_is_used_when_nothing_else_names_the_tests() {
    for (readme, command) in [
        ("Tests: `python -m unittest`", "python -m unittest"),
        ("To test:\n\n```sh\n$ go test ./pkg/...\n```\n", "go test ./pkg/..."),
        ("Run\n\n    make check\n", "make check"),
        ("Build with `mvn clean test`.", "mvn clean test"),
        ("```\n./gradlew check\n```", "./gradlew check"),
        ("`bundle exec rake spec`", "bundle exec rake spec"),
    ] {
        assert_eq!(derived(&[("README.md", readme)]), [command], "{readme}");
    }
    for readme in [
        "Run the tests with pytest.",
        "`pytest <path>` and `cargo testament` and `pytest | tail`",
        "`make install`",
        "`cmake --build build`",
        "`mvn -DskipTests package`",
        "`cd web && npm test`",
    ] {
        assert!(derived(&[("README.md", readme)]).is_empty(), "{readme}");
    }
    let both = [("Cargo.toml", ""), ("README.md", "`cargo test --workspace`")];
    assert_eq!(derived(&both), ["cargo test"]);
}

#[test]
fn what_is_installed_is_derived_rather_than_what_is_not() {
    let gem = [("Gemfile", ""), ("Rakefile", "task :test"), ("Makefile", "test:\n\t./all\n")];
    assert_eq!(derived_with(&gem, &|_| true), ["make test", "bundle exec rake test"]);
    assert_eq!(derived_with(&gem, &|name| name != "bundle"), ["make test", "rake test"]);
    // If nothing is, the user is told what to install.
    assert_eq!(derived_with(&gem, &|_| false), ["make test", "bundle exec rake test"]);
}
