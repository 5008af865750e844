//! The user's own builds: after a run whose baseline, failed checks and proof have built the project in other states, and after
//! undoing it, what the user builds equals a build from nothing.

use std::fs;

use crate::confinement::environment::has;
use crate::confinement::sandbox::skipped;
use crate::support::{
    Program, Project, Provider, World, architect, editor, plan_verified_by, short_or_long,
};

/// A kind of project: its files, how it is built, how the built program is run.
struct Kind {
    files: Vec<(&'static str, &'static str)>,
    /// The source with the value 1, and the same line with other values.
    source: &'static str,
    line: fn(u32) -> String,
    /// A new test of the value 3, as a file and its text.
    test: (&'static str, &'static str),
    check: &'static str,
    build: &'static str,
    run: &'static str,
}

impl Kind {
    fn text(&self, value: u32) -> String {
        let (_, text) = self.files.iter().find(|(path, _)| *path == self.source).unwrap();
        text.replace(&(self.line)(1), &(self.line)(value))
    }

    fn program(project: &Project, script: &str) -> Program {
        let mut program = Program::new("sh", project.root());
        program.with_cargo().args(["-c", script]);
        program
    }

    /// Builds the project as the user would, and returns what the program prints.
    fn built(&self, project: &Project) -> String {
        let built = Self::program(project, self.build).run();
        assert_eq!(built.code, Some(0), "{}\n{}", built.stdout, built.stderr);
        let run = Self::program(project, self.run).run();
        assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Plays a request that first breaks the value, then mends it and adds a test, and undoes it. After each, the user's
    /// build is compared with the source.
    fn play(&self) {
        let diff = |from: u32, to: u32| {
            let (old, new) = ((self.line)(from), (self.line)(to));
            let text = self.text(from);
            let at = text.lines().position(|line| line == old).unwrap() + 1;
            let path = self.source;
            format!("--- a/{path}\n+++ b/{path}\n@@ -{at} +{at} @@\n-{old}\n+{new}\n")
        };
        let (test, text) = self.test;
        let lines = text.lines().count();
        let added: String = text.lines().flat_map(|line| ["+", line, "\n"]).collect();
        let with_test = format!("--- /dev/null\n+++ b/{test}\n@@ -0,0 +1,{lines} @@\n{added}");
        let replies = vec![
            architect(plan_verified_by(&[self.source, test], &[self.check])).forever(),
            editor(diff(1, 2) + &with_test),
            editor(diff(2, 3)),
        ];
        let world = World::of(Project::new(&self.files), Provider::new(replies));
        assert_eq!(self.built(&world.project), "1\n");
        let mut program = world.request("Make it three");
        program.args(["--yolo"]).with_cargo().env("HOME", world.home());
        if let Some(home) = std::env::var_os("HOME") {
            // Where cargo keeps its files unless a variable says so.
            let dir = |below: &str| std::path::Path::new(&home).join(below);
            for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                program.env(name, std::env::var_os(name).unwrap_or(dir(below).into()));
            }
        }
        let run = program.run();
        assert_eq!(run.ending(), "0 delivered/proven", "{}\n{}", run.stderr, run.stdout);
        assert_eq!(run.all("VerifyCompleted").len(), 2, "{}", run.stderr);
        assert_eq!(self.built(&world.project), "3\n");
        let undone = world.deepseek(["rewind", "1"]).run();
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert_eq!(self.built(&world.project), "1\n");
        assert!(world.project.changed().is_empty(), "{:?}", world.project.changed());
    }
}

#[test]
fn make_builds_what_the_sources_say() {
    if !has("make") || !has("cc") {
        return;
    }
    let makefile = "OBJS = value.o main.o\nprog: $(OBJS)\n\tcc -o $@ $(OBJS)\n%.o: %.c\n\tcc -c -o $@ $<\ncheck: prog\n\t@for t in tests/*.sh; do sh $$t || { echo FAILED $$t::it - no; exit 1; }; done\n";
    Kind {
        files: vec![
            ("Makefile", makefile),
            (".gitignore", "*.o\nprog\n"),
            ("value.c", "int value(void) {\n    return 1;\n}\n"),
            ("main.c", "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"%d\\n\", value()); return 0; }\n"),
            ("tests/test_runs.sh", "./prog > /dev/null\n"),
        ],
        source: "value.c",
        line: |value| format!("    return {value};"),
        test: ("tests/test_value.sh", "test \"$(./prog)\" = 3"),
        check: "make check",
        build: "make -s",
        run: "./prog",
    }
    .play();
}

#[test]
fn cargo_builds_what_the_sources_say() {
    Kind {
        files: vec![
            ("Cargo.toml", "[package]\nname = \"prog\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            (".gitignore", "/target\nCargo.lock\n"),
            ("src/lib.rs", "pub fn value() -> u32 {\n    1\n}\n"),
            ("src/main.rs", "fn main() {\n    println!(\"{}\", prog::value());\n}\n"),
        ],
        source: "src/lib.rs",
        line: |value| format!("    {value}"),
        test: (
            "tests/value.rs",
            "#[test]\nfn the_value_is_three() {\n    assert_eq!(prog::value(), 3);\n}\n",
        ),
        check: "cargo test --offline",
        build: "cargo build --offline -q",
        run: "./target/debug/prog",
    }
    .play();
}

#[test]
fn cmake_builds_what_the_sources_say() {
    if !has("cmake") || !has("ctest") || !has("cc") {
        return;
    }
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nenable_testing()\nadd_executable(prog main.c value.c)\nfile(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*.sh)\nforeach(t ${tests})\nadd_test(NAME ${t} COMMAND sh ${t})\nendforeach()\n";
    Kind {
        files: vec![
            ("CMakeLists.txt", lists),
            (".gitignore", "/build\n"),
            ("value.c", "int value(void) {\n    return 1;\n}\n"),
            ("main.c", "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"%d\\n\", value()); return 0; }\n"),
            ("tests/test_runs.sh", "./prog > /dev/null\n"),
        ],
        source: "value.c",
        line: |value| format!("    return {value};"),
        test: ("tests/test_value.sh", "test \"$(./prog)\" = 3"),
        check: "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        build: "cmake -S . -B build > /dev/null && cmake --build build",
        run: "./build/prog",
    }
    .play();
}

#[test]
fn tsc_builds_what_the_sources_say() {
    if !has("tsc") || !has("node") {
        return;
    }
    let config = r#"{"compilerOptions": {"incremental": true, "outDir": "dist", "rootDir": "src", "module": "commonjs", "types": [], "tsBuildInfoFile": "dist/info"}, "include": ["src"]}"#;
    Kind {
        files: vec![
            ("package.json", "{}"),
            ("tsconfig.json", config),
            (".gitignore", "dist\n"),
            ("src/value.ts", "export function value(): number {\n    return 1;\n}\n"),
            ("src/main.ts", "import { value } from \"./value\";\nconsole.log(value());\n"),
            ("tests/test_runs.sh", "node dist/main.js > /dev/null\n"),
        ],
        source: "src/value.ts",
        line: |value| format!("    return {value};"),
        test: ("tests/test_value.sh", "test \"$(node dist/main.js)\" = 3"),
        check: "tsc -p . && for t in tests/*.sh; do sh $t || exit 1; done",
        build: "tsc -p . --ignoreDeprecations 6.0 || tsc -p .",
        run: "node dist/main.js",
    }
    .play();
}

/// A build script keeps the old tree from being built in time.
#[test]
fn a_rust_project_whose_old_tree_builds_slowly_is_not_proven() {
    if short_or_long(true, false) {
        skipped("it takes 20 s, so it is one of the long tests");
        return;
    }
    let script = "fn main() {\n    while std::fs::read_to_string(\"src/lib.rs\").unwrap().contains(\"    1\") {\n        std::thread::sleep(std::time::Duration::from_secs(1));\n    }\n}\n";
    let files = [
        ("Cargo.toml", "[package]\nname = \"prog\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        (".gitignore", "/target\nCargo.lock\n"),
        ("build.rs", script),
        ("src/lib.rs", "pub fn value() -> u32 {\n    1\n}\n"),
    ];
    let test = "#[test]\nfn the_value_is_three() {\n    assert_eq!(prog::value(), 3);\n}\n";
    let added: String = test.lines().flat_map(|line| ["+", line, "\n"]).collect();
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -2 +2 @@\n-    1\n+    3\n".to_owned();
    let replies = vec![
        architect(plan_verified_by(&["src/lib.rs", "tests/value.rs"], &["cargo test --offline"])),
        editor(diff + &format!("--- /dev/null\n+++ b/tests/value.rs\n@@ -0,0 +1,4 @@\n{added}")),
    ];
    let world = World::of(Project::new(&files), Provider::new(replies));
    let mut program = world.request("Make it three");
    program.args(["--yolo", "--set", "agent_loop.baseline=\"off\""]).with_cargo();
    let run = program.run();
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(run.one("OldTreeTested")["outcome"], "timed_out", "{}", run.stderr);
    assert!(fs::read_dir(world.project.path("target")).is_ok());
}
