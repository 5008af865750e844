//! The files of the workspace as these tests read them: which there are, and their code without tests or comments.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the code without `#[cfg(test)]` items. In rustfmt's layout, an item ends with a `;` or with the first `}` at its own
/// indentation.
pub(super) fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", &line[..indent]);
        let mut rest = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
        let first = rest.next().unwrap_or_default();
        if !first.ends_with(';') && !first.ends_with('}') {
            rest.find(|line| *line == end);
        }
    }
    kept
}

pub(crate) fn without_comments(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// Returns the folder of every crate, except those in `tests/`.
pub(crate) fn crate_dirs() -> Vec<String> {
    let manifest =
        fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("Cargo.toml is readable");
    let manifest: toml::Table = manifest.parse().expect("Cargo.toml is valid TOML");
    let members = manifest["workspace"]["members"].as_array().expect("there are members");
    let crate_dirs = members.iter().filter_map(|krate| krate.as_str().map(String::from));
    crate_dirs.filter(|krate| !krate.starts_with("tests/")).collect()
}

/// Returns every source file without its tests, as path from the root and code.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for krate in crate_dirs() {
        collect(&Path::new(ROOT).join(krate).join("src"), &mut files);
    }
    let named = files.into_iter().map(|path| {
        let code = fs::read_to_string(&path).expect("a source file is text");
        let code = without_tests(&code);
        let name = path.strip_prefix(ROOT).expect("it is below the root");
        (name.to_string_lossy().into_owned(), code)
    });
    let tests = ["tests.rs", "testing.rs"];
    named.filter(|(name, _)| !tests.iter().any(|end| name.ends_with(end))).collect()
}

/// Adds the source files below a directory.
pub(crate) fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a source folder is readable") {
        let path = entry.expect("an entry is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
