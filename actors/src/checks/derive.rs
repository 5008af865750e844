//! The commands that check a project, told from what is in it: those of every kind of project that is found. Pure.

/// The commands that check the kinds of project found here. `read` gives a file's text, if there is one.
pub fn derive(read: &dyn Fn(&str) -> Option<String>, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut commands = Vec::new();
    if exists("Cargo.toml") {
        commands.push("cargo test".to_owned());
    }
    if let Some(package) = read("package.json") {
        let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
        let script = package.pointer("/scripts/test").and_then(serde_json::Value::as_str);
        if script.is_some_and(|script| !script.contains("no test specified")) {
            let manager = match (exists("pnpm-lock.yaml"), exists("yarn.lock")) {
                (true, _) => "pnpm",
                (false, true) => "yarn",
                (false, false) => "npm",
            };
            commands.push(format!("{manager} test"));
        }
    }
    let pytest_is_named =
        ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "tox.ini"]
            .iter()
            .any(|file| read(file).is_some_and(|text| text.contains("pytest")));
    if pytest_is_named
        || exists("pytest.ini")
        || exists("conftest.py")
        || exists("tests/conftest.py")
    {
        commands.push("python3 -m pytest -q".to_owned());
    } else if ["pyproject.toml", "setup.py"].iter().any(|file| exists(file)) && exists("tests") {
        commands.push("python3 -m unittest discover".to_owned());
    }
    if exists("go.mod") {
        commands.push("go test ./...".to_owned());
    }
    let makefile = ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|file| read(file));
    let tests = |text: &str| {
        text.lines().any(|line| line.starts_with("test:") || line.starts_with("test :"))
    };
    // A Makefile beside another project file usually wraps the same commands.
    if commands.is_empty() && makefile.is_some_and(|text| tests(&text)) {
        commands.push("make test".to_owned());
    }
    commands
}
