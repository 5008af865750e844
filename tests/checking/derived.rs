//! The check derived for a kind of project is run in the sandbox: it fails by the name of the broken test, and passes
//! when the code is mended. Tools that are not installed are skipped.

use std::time::Duration;

use serde_json::Value;

use crate::checking::projects::is_here;
use crate::confinement::sandbox::skipped;
use crate::support::{Project, Provider, World, architect, editor, replaced};

/// A project with a bug that one of its tests finds.
struct Broken {
    /// A command that succeeds if the tools are installed and work.
    needs: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The file with the bug, the wrong line and the right one.
    bug: (&'static str, &'static str, &'static str),
    /// The command that is derived.
    check: &'static str,
    /// The name of the test that fails.
    fails: &'static str,
    /// Number of tests that are skipped.
    skipped: u64,
}

const BROKEN: [Broken; 16] = [
    Broken {
        needs: "cargo --version",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n"),
            (
                "src/lib.rs",
                "pub fn two() -> u32 {\n    1\n}\n#[test]\nfn it_adds() {\n    assert_eq!(two(), 2);\n}\n#[test]\n#[ignore]\nfn later() {}\n",
            ),
            (".gitignore", "/target\n"),
        ],
        bug: ("src/lib.rs", "    1", "    2"),
        check: "cargo test",
        fails: "it_adds",
        skipped: 1,
    },
    Broken {
        needs: "npm --version && node --version",
        files: &[
            ("package.json", "{\"scripts\":{\"test\":\"node --test\"}}"),
            ("two.js", "module.exports =\n  1;\n"),
            (
                "two.test.js",
                "const { test } = require('node:test');\ntest('it adds', () => require('assert').equal(require('./two.js'), 2));\ntest('later', { skip: true }, () => {});\n",
            ),
        ],
        bug: ("two.js", "  1;", "  2;"),
        check: "npm test",
        fails: "it adds",
        skipped: 1,
    },
    Broken {
        needs: "python3 --version",
        files: &[
            ("two.py", "TWO = 1\n"),
            (
                "two_test.py",
                "import unittest\nfrom two import TWO\nclass T(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(TWO, 2)\n    @unittest.skip('later')\n    def test_later(self):\n        pass\n",
            ),
        ],
        bug: ("two.py", "TWO = 1", "TWO = 2"),
        check: "python3 -m unittest discover -p \"*_test.py\"",
        fails: "test_adds",
        skipped: 1,
    },
    Broken {
        needs: "go version",
        files: &[
            ("go.mod", "module sample\n\ngo 1.18\n"),
            ("two.go", "package sample\n\nconst Two = 1\n"),
            (
                "two_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {\n\tif Two != 2 {\n\t\tt.Fatal(Two)\n\t}\n}\n",
            ),
        ],
        bug: ("two.go", "const Two = 1", "const Two = 2"),
        check: "go test ./...",
        fails: "TestAdds",
        skipped: 0,
    },
    Broken {
        needs: "make --version",
        files: &[
            ("Makefile", "test:\n\tsh two.sh\n"),
            (
                "two.sh",
                "two=1\ntest $two = 2 || { echo 'not ok 1 - it adds'; exit 1; }\necho 'ok 1 - it adds'\n",
            ),
        ],
        bug: ("two.sh", "two=1", "two=2"),
        check: "make test",
        fails: "it adds",
        skipped: 0,
    },
    Broken {
        needs: "cmake --version && ctest --version && cc --version",
        files: &[
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.20)\nproject(sample C)\nenable_testing()\nadd_executable(two two.c)\nadd_test(NAME it_adds COMMAND two)\n",
            ),
            ("two.c", "int main(void) {\n  return 1;\n}\n"),
            (".gitignore", "build\n"),
        ],
        bug: ("two.c", "  return 1;", "  return 0;"),
        check: "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        fails: "it_adds",
        skipped: 0,
    },
    Broken {
        needs: "meson --version && ninja --version && cc --version",
        files: &[
            (
                "meson.build",
                "project('sample', 'c')\ntest('it adds', executable('two', 'two.c'))\n",
            ),
            ("two.c", "int main(void) {\n  return 1;\n}\n"),
            (".gitignore", "build\n"),
        ],
        bug: ("two.c", "  return 1;", "  return 0;"),
        check: "meson setup build && meson test -C build --print-errorlogs",
        fails: "it adds",
        skipped: 0,
    },
    Broken {
        needs: "bats --version",
        files: &[
            ("two.sh", "two=1\n"),
            (
                "test/two.bats",
                "@test \"it adds\" { . ./two.sh; [ $two = 2 ]; }\n@test \"later\" { skip; }\n",
            ),
        ],
        bug: ("two.sh", "two=1", "two=2"),
        check: "bats test",
        fails: "it adds",
        skipped: 1,
    },
    Broken {
        needs: "busted --version",
        files: &[
            ("two.lua", "return 1\n"),
            (
                "spec/two_spec.lua",
                "describe('two', function()\n  it('adds', function() assert.equal(2, dofile('two.lua')) end)\n  pending('later')\nend)\n",
            ),
        ],
        bug: ("two.lua", "return 1", "return 2"),
        check: "busted",
        fails: "two adds",
        skipped: 1,
    },
    Broken {
        needs: "rspec --version",
        files: &[
            ("two.rb", "TWO = 1\n"),
            (
                "spec/two_spec.rb",
                "require './two'\nRSpec.describe 'Two' do\n  it('adds') { expect(TWO).to eq 2 }\n  xit('later') {}\nend\n",
            ),
        ],
        bug: ("two.rb", "TWO = 1", "TWO = 2"),
        check: "rspec",
        fails: "Two adds",
        skipped: 1,
    },
    Broken {
        needs: "rake --version && ruby -e 'require \"minitest\"'",
        files: &[
            ("two.rb", "TWO = 1\n"),
            (
                "Rakefile",
                "require 'rake/testtask'\nRake::TestTask.new { |t| t.pattern = 'test/*_test.rb' }\n",
            ),
            (
                "test/two_test.rb",
                "require 'minitest/autorun'\nrequire './two'\nclass TwoTest < Minitest::Test\n  def test_adds = assert_equal(2, TWO)\n  def test_later = skip\nend\n",
            ),
        ],
        bug: ("two.rb", "TWO = 1", "TWO = 2"),
        check: "rake test",
        fails: "TwoTest#test_adds",
        skipped: 1,
    },
    Broken {
        needs: "phpunit --version",
        files: &[
            (
                "phpunit.xml",
                "<phpunit><testsuites><testsuite name=\"all\"><directory>tests</directory></testsuite></testsuites></phpunit>\n",
            ),
            ("two.php", "<?php\nconst TWO = 1;\n"),
            (
                "tests/TwoTest.php",
                "<?php\nrequire_once 'two.php';\nfinal class TwoTest extends PHPUnit\\Framework\\TestCase {\n    public function testAdds(): void { $this->assertSame(2, TWO); }\n    public function testLater(): void { $this->markTestSkipped(); }\n}\n",
            ),
        ],
        bug: ("two.php", "const TWO = 1;", "const TWO = 2;"),
        check: "phpunit",
        fails: "TwoTest::testAdds",
        skipped: 1,
    },
    Broken {
        needs: "HOME=/ mix --version",
        files: &[
            (
                "mix.exs",
                "defmodule Sample.MixProject do\n  use Mix.Project\n  def project, do: [app: :sample, version: \"0.1.0\"]\nend\n",
            ),
            ("two.exs", "defmodule Two do\n  def two, do: 1\nend\n"),
            ("test/test_helper.exs", "Code.require_file(\"two.exs\")\nExUnit.start()\n"),
            (
                "test/two_test.exs",
                "defmodule TwoTest do\n  use ExUnit.Case\n  test \"adds\" do\n    assert Two.two() == 2\n  end\n  @tag :skip\n  test \"later\" do\n  end\nend\n",
            ),
            (".gitignore", "_build\n"),
        ],
        bug: ("two.exs", "  def two, do: 1", "  def two, do: 2"),
        check: "mix test",
        fails: "test adds (TwoTest)",
        skipped: 1,
    },
    Broken {
        needs: "HOME=/tmp deno --version",
        files: &[
            ("deno.json", "{}\n"),
            ("two.ts", "export const two: number =\n  1;\n"),
            (
                "two_test.ts",
                "import { two } from './two.ts';\nDeno.test('it adds', () => { if (two !== 2) throw new Error('no'); });\nDeno.test.ignore('later', () => {});\n",
            ),
        ],
        bug: ("two.ts", "  1;", "  2;"),
        check: "deno test",
        fails: "it adds",
        skipped: 1,
    },
    Broken {
        needs: "HOME=/ gradle --version && test -e /usr/share/java/junit4.jar",
        files: &[
            (
                "build.gradle",
                "apply plugin: 'java'\ndependencies {\n  testCompile files('/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar')\n}\n",
            ),
            ("src/main/java/Two.java", "class Two {\n  static int two() { return 1; }\n}\n"),
            (
                "src/test/java/TwoTest.java",
                "import org.junit.*;\npublic class TwoTest {\n  @Test public void adds() { Assert.assertEquals(2, Two.two()); }\n  @Ignore @Test public void later() {}\n}\n",
            ),
            (".gitignore", "build\n.gradle\n"),
        ],
        bug: (
            "src/main/java/Two.java",
            "  static int two() { return 1; }",
            "  static int two() { return 2; }",
        ),
        check: "gradle test",
        fails: "TwoTest > adds",
        skipped: 1,
    },
    Broken {
        needs: "mvn --version && test -e /usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin -a -e /etc/maven/settings-debian.xml",
        files: &[
            (
                ".mvn/maven.config",
                "-o\n-Dmaven.repo.local=/usr/share/maven-repo\n-s/etc/maven/settings-debian.xml\n",
            ),
            (
                "pom.xml",
                "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>sample</groupId><artifactId>sample</artifactId><version>1</version>\n  <properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>\n  <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies>\n</project>\n",
            ),
            ("src/main/java/Two.java", "class Two {\n  static int two() { return 1; }\n}\n"),
            (
                "src/test/java/TwoTest.java",
                "import org.junit.*;\npublic class TwoTest {\n  @Test public void adds() { Assert.assertEquals(2, Two.two()); }\n  @Ignore @Test public void later() {}\n}\n",
            ),
            (".gitignore", "target\n"),
        ],
        bug: (
            "src/main/java/Two.java",
            "  static int two() { return 1; }",
            "  static int two() { return 2; }",
        ),
        check: "mvn test -B",
        fails: "adds(TwoTest)",
        skipped: 1,
    },
];

/// A project of each kind by its files, and the check that `init` finds in it.
const KINDS: [(&[(&str, &str)], &str); 24] = [
    (&[("tests/a.bats", "")], "bats tests"),
    (&[("a.cabal", "test-suite all\n")], "cabal test all"),
    (&[("Cargo.toml", "")], "cargo test"),
    (
        &[("CMakeLists.txt", "enable_testing()\n")],
        "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    ),
    (&[("deno.json", "{\"tasks\":{\"test\":\"deno test\"}}")], "deno task test"),
    (&[("A.sln", "")], "dotnet test"),
    (&[("dune-project", "")], "dune test"),
    (&[("go.mod", "module a\n")], "go test ./..."),
    (&[("build.gradle.kts", ""), ("gradlew", "")], "./gradlew test"),
    (&[(".busted", "")], "busted"),
    (&[("Makefile", "check:\n\t./check\n")], "make check"),
    (&[("pom.xml", "")], "mvn test -B"),
    (
        &[("meson.build", "test('a', a)\n")],
        "meson setup build && meson test -C build --print-errorlogs",
    ),
    (&[("mix.exs", "")], "mix test"),
    (&[("package.json", "{\"scripts\":{\"test\":\"jest\"}}"), ("yarn.lock", "")], "yarn test"),
    (&[("web/package.json", "{\"scripts\":{\"test\":\"jest\"}}")], "npm --prefix web test"),
    (&[("composer.json", "{}"), ("phpunit.xml", "")], "vendor/bin/phpunit"),
    (&[("conftest.py", "")], "python3 -m pytest -q"),
    (&[("Gemfile", ""), ("spec/a_spec.rb", "")], "bundle exec rspec"),
    (&[("build.sbt", "")], "sbt test"),
    (&[("stack.yaml", "")], "stack test"),
    (&[("Package.swift", ""), ("Tests/a.swift", "")], "swift test"),
    (&[("build.zig", "b.step(\"test\", \"\");\n")], "zig build test"),
    (&[("README.md", "Run `mvn clean test`.\n")], "mvn clean test"),
];

#[test]
fn init_finds_the_check_of_every_kind_of_project() {
    for (files, check) in KINDS {
        let world = World::of(Project::new(files), Provider::new(Vec::new()));
        let run = world.deepseek(["init", "--output", "json"]).run();
        let said: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(said["checks"], serde_json::json!([check]), "{files:?}");
        assert!(world.project.read("AGENTS.md").contains(check), "{files:?}");
    }
}

/// Returns a plan to change a file that leaves it to the program how to check that.
fn plan_without_checks(path: &str) -> String {
    format!(
        "ARCHITECT_PLAN_V1\nPLAN|Mend it\nFILE|{path}|Return two\nACCEPT|It adds\nARCHITECT_PLAN_END\n"
    )
}

/// Returns whether commands are fully confined here; says it if they are not.
fn is_confined(world: &World) -> bool {
    let level = world.deepseek(["policy", "show", "--output", "json"]).run();
    let level: Value = serde_json::from_str(&level.stdout).unwrap();
    let is_full = level["confinement"] == "full";
    if !is_full {
        skipped(&format!("commands are confined so far here: {}", level["confinement"]));
    }
    is_full
}

#[test]
fn what_a_derived_check_lacks_is_named_with_what_brings_it() {
    let cargo = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nno-such-crate-of-ours = \"1\"\n";
    for (needs, manifest, text, missing, next) in [
        (
            "npm --version && ! command -v jest",
            "package.json",
            "{\"scripts\":{\"test\":\"jest\"}}",
            "program `jest` is missing",
            "next: run `npm install` and run the checks",
        ),
        (
            "cargo --version",
            "Cargo.toml",
            cargo,
            "the network is out of reach",
            "next: run `cargo fetch` once, or allow commands to use the network: --network",
        ),
        (
            "python3 --version && ! python3 -m pytest --version",
            "pytest.ini",
            "[pytest]\n",
            "package `pytest` is missing",
            "next: run `python3 -m pip install pytest` and run the checks",
        ),
    ] {
        if !is_here(needs) {
            skipped(&format!("`{needs}` does not work here"));
            continue;
        }
        let project = Project::new(&[(manifest, text), ("two.txt", "1\n"), ("src/lib.rs", "")]);
        let diff = replaced("two.txt", "1\n", "1", "2");
        let no_other = architect("DONE|nothing else can check it");
        let replies = vec![architect(plan_without_checks("two.txt")), editor(diff), no_other];
        let world = World::of(project, Provider::new(replies)).with_default_commands();
        if !is_confined(&world) {
            return;
        }
        let args = ["-p", "Two is one", "--force-execute", "--approval", "auto"];
        let run = world.deepseek(args).with_toolchains().run();
        assert_eq!(run.code, Some(0), "{needs}: {}", run.stderr);
        for part in [missing, next] {
            assert!(run.stderr.contains(part), "{needs}: {part}: {}", run.stderr);
        }
        assert!(run.elapsed < Duration::from_secs(8), "{needs} took {:?}", run.elapsed);
    }
}

#[test]
fn derived_checks_fail_by_the_name_of_the_broken_test_and_pass_when_it_is_mended() {
    for broken in BROKEN {
        if !is_here(broken.needs) {
            skipped(&format!("`{}` does not work here", broken.needs));
            continue;
        }
        let (path, wrong, right) = broken.bug;
        let project = Project::new(broken.files);
        let diff = replaced(path, &project.read(path), wrong, right);
        let replies = vec![architect(plan_without_checks(path)), editor(diff)];
        let world = World::of(project, Provider::new(replies));
        let world = world.with_default_commands();
        if !is_confined(&world) {
            return;
        }
        let mut request = world.request("Two is one");
        // Java takes the home directory from the list of users.
        let gradle = world.home().join(".gradle");
        let run = request.with_toolchains().env("GRADLE_USER_HOME", gradle).run();
        let checks = run.all("VerificationRun");
        let said = format!("{}: {checks:#?}\n{}", broken.check, run.stderr);
        assert_eq!(run.ending(), "0 delivered/proven", "{said}");
        assert_eq!(checks.len(), 2, "{said}");
        for (check, outcome) in checks.iter().zip(["code_failure", "passed"]) {
            assert_eq!(check["command"], broken.check, "{said}");
            assert_eq!(check["outcome"], outcome, "{said}");
            // Gradle does not say how many tests passed.
            let skipped = check["findings"]["tests"]["skipped"].as_u64();
            assert!(skipped.is_none_or(|skipped| skipped == broken.skipped), "{said}");
        }
        let skipped = &checks[0]["findings"]["tests"]["skipped"];
        assert!(broken.skipped == 0 || *skipped == broken.skipped, "{said}");
        let errors = checks[0]["findings"]["errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["code"] == broken.fails), "{said}");
    }
}
