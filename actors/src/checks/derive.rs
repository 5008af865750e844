//! Derives the commands that check a project from its files, one for each kind of project found. Pure.
//!
//! A command that could not fail is never derived: passing would prove nothing.

use crate::vacuous::proves_nothing;

/// Number of Python test files read to find out which framework runs them.
const MAX_LOOKED_INTO: usize = 8;

/// What derivation reads of a project.
pub struct Project<'p> {
    /// Returns the text of a file, if it exists.
    pub read: &'p dyn Fn(&str) -> Option<String>,
    /// Returns true if the path exists.
    pub exists: &'p dyn Fn(&str) -> bool,
    /// Returns the sorted names in a directory; `""` is the root.
    pub names: &'p dyn Fn(&str) -> Vec<String>,
}

/// Returns the commands for the kinds of project found, one per kind, then those that the Makefile and the README name.
pub fn derive(project: &Project<'_>) -> Vec<String> {
    let kinds = [cargo, node, python, go];
    let mut commands: Vec<String> = kinds.iter().filter_map(|kind| kind(project)).collect();
    commands.extend(make(project, &commands));
    commands.extend(readme(project, &commands));
    commands
}

fn cargo(project: &Project<'_>) -> Option<String> {
    (project.exists)("Cargo.toml").then(|| "cargo test".to_owned())
}

fn go(project: &Project<'_>) -> Option<String> {
    (project.exists)("go.mod").then(|| "go test ./...".to_owned())
}

/// Uses the package's own test script, unless it is npm's placeholder or cannot fail.
fn node(project: &Project<'_>) -> Option<String> {
    let package = (project.read)("package.json")?;
    let package: serde_json::Value = serde_json::from_str(&package).ok()?;
    let script = package.pointer("/scripts/test")?.as_str()?;
    if script.contains("no test specified") || proves_nothing(script).is_some() {
        return None;
    }
    let manager = match ((project.exists)("pnpm-lock.yaml"), (project.exists)("yarn.lock")) {
        (true, _) => "pnpm",
        (false, true) => "yarn",
        (false, false) => "npm",
    };
    Some(format!("{manager} test"))
}

/// Uses pytest if a file mentions it or a test imports it, else unittest if a test imports that.
fn python(project: &Project<'_>) -> Option<String> {
    let names =
        ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "tox.ini"];
    let is_named =
        names.iter().any(|file| (project.read)(file).is_some_and(|text| text.contains("pytest")));
    let has_own_file = ["pytest.ini", "conftest.py", "tests/conftest.py"]
        .iter()
        .any(|file| (project.exists)(file));
    if is_named || has_own_file {
        return Some("python3 -m pytest -q".to_owned());
    }
    ["", "tests", "test"].into_iter().find_map(|dir| match framework(project, dir)? {
        Framework::Pytest => Some("python3 -m pytest -q".to_owned()),
        Framework::Unittest => Some(discovery(project, dir)),
    })
}

/// A Python test framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framework {
    Pytest,
    Unittest,
}

/// Returns the framework of the tests in a directory, judging by their imports.
fn framework(project: &Project<'_>, dir: &str) -> Option<Framework> {
    let is_test = |name: &&String| {
        name.starts_with("test_") && name.rsplit_once('.').is_some_and(|(_, ending)| ending == "py")
    };
    let names = (project.names)(dir);
    let texts = names.iter().filter(is_test).take(MAX_LOOKED_INTO).filter_map(|name| {
        let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
        (project.read)(&path)
    });
    let mut found = None;
    for text in texts {
        let imports = |module: &str| {
            text.lines().map(str::trim_start).any(|line| {
                let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "));
                rest.is_some_and(|rest| rest.split([' ', ',', '.']).any(|word| word == module))
            })
        };
        if imports("pytest") {
            return Some(Framework::Pytest);
        }
        if imports("unittest") {
            found = Some(Framework::Unittest);
        }
    }
    found
}

/// Returns the discovery command for the tests in a directory: a package is found from the root, other directories are
/// named.
fn discovery(project: &Project<'_>, dir: &str) -> String {
    let is_package = (project.exists)(&format!("{dir}/__init__.py"));
    if dir.is_empty() || is_package {
        "python3 -m unittest discover".to_owned()
    } else {
        format!("python3 -m unittest discover -s {dir}")
    }
}

/// Uses the Makefile's test target, unless it repeats one of `others` or cannot fail.
fn make(project: &Project<'_>, others: &[String]) -> Option<String> {
    let makefile =
        ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|file| (project.read)(file))?;
    let target =
        ["test", "check"].into_iter().find_map(|target| Some((target, rule(&makefile, target)?)));
    let (target, Rule { needs, recipe }) = target?;
    let is_other = |line: &String| others.iter().any(|other| line.contains(other.as_str()));
    let fails = |line: &String| !line.starts_with('-') && proves_nothing(line).is_none();
    let shows = needs || recipe.iter().any(fails);
    (shows && !recipe.iter().any(is_other)).then(|| format!("make {target}"))
}

/// A target's rule in a Makefile.
struct Rule {
    /// True if it depends on other targets.
    needs: bool,
    /// The commands, without a leading `@`.
    recipe: Vec<String>,
}

fn rule(makefile: &str, target: &str) -> Option<Rule> {
    let mut lines = makefile.lines().skip_while(|line| needs_of(line, target).is_none());
    let needs = lines.next().and_then(|line| needs_of(line, target))?;
    let (needs, first) = needs.split_once(';').unwrap_or((needs, ""));
    let indented = lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty());
    let recipe = std::iter::once(first)
        .chain(indented)
        .map(|line| line.trim().trim_start_matches('@').trim().to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Some(Rule { needs: !needs.trim().is_empty(), recipe: recipe.collect() })
}

/// Returns what follows the colon, if a line is the rule of `target`.
fn needs_of<'l>(line: &'l str, target: &str) -> Option<&'l str> {
    let (names, needs) = line.split_once(':')?;
    let is_rule = !line.starts_with([' ', '\t', '#']) && !needs.starts_with('=');
    (is_rule && names.split_whitespace().any(|name| name == target)).then_some(needs)
}

/// Uses the test command that the README names, unless one of its kind was already found.
fn readme(project: &Project<'_>, others: &[String]) -> Option<String> {
    let text = ["README.md", "README.rst", "README.txt", "README", "CONTRIBUTING.md"];
    let mut texts = text.iter().filter_map(|file| (project.read)(file));
    texts.find_map(|text| {
        let said = code(&text).find_map(|code| kind(code).map(|kind| (code.to_owned(), kind)))?;
        let (command, said_kind) = said;
        let is_there = others.iter().any(|other| kind(other) == Some(said_kind));
        (!is_there && proves_nothing(&command).is_none()).then_some(command)
    })
}

/// Returns the code in a Markdown text: inline code, and the lines of code blocks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut is_block = false;
    text.lines().flat_map(move |line| {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            return Vec::new();
        }
        let indented = line.strip_prefix("    ").or_else(|| line.strip_prefix('\t'));
        if let Some(line) = indented.or(is_block.then_some(line)) {
            return vec![line.trim().trim_start_matches("$ ").trim_end_matches('\\')];
        }
        line.split('`').skip(1).step_by(2).map(str::trim).collect()
    })
}

/// Returns the kind of tests that a command runs, if it is a known test command.
fn kind(command: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 17] = [
        ("cargo test", "rust"),
        ("cargo nextest run", "rust"),
        ("npm test", "node"),
        ("npm run test", "node"),
        ("pnpm test", "node"),
        ("pnpm run test", "node"),
        ("yarn test", "node"),
        ("yarn run test", "node"),
        ("node --test", "node"),
        ("pytest", "python"),
        ("python -m pytest", "python"),
        ("python3 -m pytest", "python"),
        ("python -m unittest", "python"),
        ("python3 -m unittest", "python"),
        ("go test", "go"),
        ("make test", "make"),
        ("make check", "make"),
    ];
    let is = |known: &str| {
        command.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    // A command with placeholders or shell syntax cannot be used unchanged.
    let is_whole =
        !command.contains(['<', '[', '…', '{', '|', ';', '>']) && !command.contains("...  ");
    KINDS.iter().find(|(known, _)| is_whole && is(known)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn derived(files: &[(&str, &str)]) -> Vec<String> {
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
        derive(&Project { read: &read, exists: &exists, names: &names })
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
        let all = ["cargo test", "yarn test", "python3 -m pytest -q", "go test ./...", "make test"];
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
        for script in
            ["echo no test specified && exit 1", "echo ok", "exit 0", "jest || true", "true"]
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
        assert_eq!(derived(&more), ["cargo test", "make test"]);
    }

    #[test]
    fn the_readme_is_used_when_nothing_else_names_the_tests() {
        for (readme, command) in [
            ("Tests: `python -m unittest`", "python -m unittest"),
            ("To test:\n\n```sh\n$ go test ./pkg/...\n```\n", "go test ./pkg/..."),
            ("Run\n\n    make check\n", "make check"),
        ] {
            assert_eq!(derived(&[("README.md", readme)]), [command], "{readme}");
        }
        for readme in [
            "Run the tests with pytest.",
            "`pytest <path>` and `cargo testament` and `pytest | tail`",
            "`make install`",
        ] {
            assert!(derived(&[("README.md", readme)]).is_empty(), "{readme}");
        }
        let both = [("Cargo.toml", ""), ("README.md", "`cargo test --workspace`")];
        assert_eq!(derived(&both), ["cargo test"]);
    }
}
