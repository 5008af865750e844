//! Derives commands that run the tests in some files only. Pure.

use config::OnlyTests;

use super::{Derived, Kinds, Project, all_derived};

/// Returns the commands that run the tests in these files, with others only where the tool cannot leave them out. Without
/// a command that is known to run one of them, those that [`super::derive`] returns.
pub fn derive_for_tests(project: &Project<'_>, kinds: &Kinds, files: &[String]) -> Vec<String> {
    let derived = all_derived(project, kinds);
    let has = |it: &Derived| {
        let only = it.only.as_ref();
        only.is_some_and(|only| files.iter().any(|file| file.ends_with(&only.ending)))
    };
    let is_one_known = derived.iter().any(has);
    let mut commands: Vec<String> = Vec::new();
    for it in derived.iter().filter(|it| !is_one_known || has(it)) {
        let selected = it.only.as_ref().and_then(|only| selected(&it.command, only, files));
        let command = selected.unwrap_or_else(|| it.command.clone());
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// Returns the command that runs the files with its tests; `None` if it has none, or one that cannot be named.
fn selected(command: &str, only: &OnlyTests, files: &[String]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(&only.ending)) {
        let (dir, name) = file.rsplit_once('/').unwrap_or(("", file));
        let last = dir.rsplit('/').next().unwrap_or_default();
        if only.dir.as_ref().is_some_and(|wanted| wanted != last) || has_blanks(file) {
            return None;
        }
        let stem = name.strip_suffix(&only.ending).unwrap_or(name);
        let named = only.each.replace("{stem}", stem).replace("{dir}", dir).replace("{}", file);
        if !names.contains(&named) {
            names.push(named);
        }
    }
    let run = only.run.replace("{run}", command);
    (!names.is_empty()).then(|| run.replace("{}", &names.join(" ")))
}

/// Returns true if a path would have to be quoted.
fn has_blanks(path: &str) -> bool {
    !path.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(project: &[(&str, &str)], files: &[&str]) -> Vec<String> {
        let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let read = |name: &str| {
            project.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
        };
        let exists = |name: &str| project.iter().any(|(file, _)| *file == name);
        let names = |dir: &str| {
            let names = project.iter().map(|(file, _)| (*file).to_owned());
            if dir.is_empty() { names.collect() } else { Vec::new() }
        };
        let site = Project { read: &read, exists: &exists, names: &names, has_program: &|_| true };
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        derive_for_tests(&site, &config.projects, &files)
    }

    #[test]
    fn tools_that_can_run_only_the_files_given() {
        let rust = &[("Cargo.toml", "")][..];
        let python = &[("pytest.ini", ""), ("pyproject.toml", "")][..];
        let both = &[("Cargo.toml", ""), ("pytest.ini", ""), ("pyproject.toml", "")][..];
        let make = &[("Makefile", "test:\n\t./run-it-all\n")][..];
        for (project, files, expected) in [
            (
                rust,
                &["tests/a.rs", "tests/data/x.txt", "b/tests/c.rs"][..],
                "cargo test --test a --test c",
            ),
            (rust, &["tests/a.rs", "src/lib.rs"], "cargo test"),
            (rust, &["tests/util/mod.rs"], "cargo test"),
            (
                python,
                &["tests/test_a.py", "tests/conftest.py"],
                "python3 -m pytest -q tests/test_a.py tests/conftest.py",
            ),
            (python, &["tests/with blank.py"], "python3 -m pytest -q"),
            (both, &["tests/test_a.py"], "python3 -m pytest -q tests/test_a.py"),
            (&[("go.mod", "")], &["a/b_test.go", "a/c_test.go", "d_test.go"], "go test ./a ./"),
            (make, &["tests/a.c"], "make test"),
        ] {
            assert_eq!(commands(project, files), [expected], "{files:?}");
        }
    }
}
