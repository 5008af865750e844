//! The size of folders and files, and what the first lines of a file say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::offenders::assert_unbroken;
use super::sources::{ROOT, collect, crate_dirs, sources};

/// The maximum number of files in a folder.
const MAX_FILES: usize = 20;
/// The maximum number of lines in a file.
const MAX_LINES: usize = 600;

/// Folders that may have any number of files: one for each command is the best index.
const ANY_NUMBER: [&str; 1] = ["cli/src/commands"];

/// Files that may have any number of lines: the kinds of events are one list.
const ANY_LENGTH: [&str; 1] = ["/event.rs"];

#[test]
fn folders_have_few_files() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in all_files() {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *files.entry(folder.to_owned()).or_default() += 1;
    }
    files.retain(|folder, files| *files > MAX_FILES && !ANY_NUMBER.contains(&folder.as_str()));
    let full = files.into_iter().map(|(folder, files)| (folder, format!("{files} files")));
    assert_unbroken("A folder has at most 20 files", &full.collect());
}

#[test]
fn files_are_short() {
    let mut long = BTreeMap::new();
    for (path, text) in all_files() {
        let lines = text.lines().count();
        if lines > MAX_LINES && !ANY_LENGTH.iter().any(|end| path.ends_with(end)) {
            long.insert(path, format!("{lines} lines"));
        }
    }
    assert_unbroken("A file has at most 600 lines", &long);
}

#[test]
fn every_file_starts_with_a_description() {
    for (path, code) in sources() {
        assert!(code.starts_with("//! "), "{path} does not start with a //! comment");
    }
}

/// The file of a folder says in one sentence what belongs in the folder, and in another one what does not.
#[test]
fn every_folder_is_described_in_two_sentences() {
    let files = all_files();
    let folders: BTreeSet<&str> =
        files.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0)).collect();
    let is_of_a_folder = |path: &str| {
        path.ends_with("/mod.rs") || path.strip_suffix(".rs").is_some_and(|it| folders.contains(it))
    };
    let mut short = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| is_of_a_folder(path)) {
        let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let description = lines.collect::<Vec<_>>().join(" ");
        if !description.contains(". ") {
            short.insert(path.clone(), description);
        }
    }
    assert_unbroken("Two sentences describe a folder", &short);
}

#[test]
fn every_test_file_is_listed() {
    let files = all_files();
    for (path, _) in &files {
        let Some((folder, name)) = path.trim_end_matches(".rs").rsplit_once('/') else { continue };
        let is_test = folder.starts_with("tests") && !folder.starts_with("tests/testkit");
        if is_test && !["main", "mod"].contains(&name) {
            let above = ["/main.rs", "/mod.rs", ".rs"].map(|end| format!("{folder}{end}"));
            let listed = files.iter().filter(|(path, _)| above.contains(path));
            let mut lines = listed.flat_map(|(_, text)| text.lines());
            let module = format!("mod {name};");
            assert!(lines.any(|line| line.ends_with(&module)), "{above:?} do not list {name}");
        }
    }
}

/// Returns every file of every crate, tests and benchmarks included, as path from the root and text.
fn all_files() -> Vec<(String, String)> {
    let root = Path::new(ROOT);
    let mut files = Vec::new();
    for krate in crate_dirs() {
        for folder in ["src", "tests", "benches"].map(|folder| root.join(&krate).join(folder)) {
            if folder.is_dir() {
                collect(&folder, &mut files);
            }
        }
    }
    collect(&root.join("tests"), &mut files);
    // The projects that builds are judged on.
    files.retain(|path| !path.starts_with(root.join("tests/guard")));
    let texts = files.into_iter().map(|path| {
        let name = path.strip_prefix(root).expect("it is below the root");
        (name.to_string_lossy().into_owned(), fs::read_to_string(&path).expect("source is text"))
    });
    texts.collect()
}
