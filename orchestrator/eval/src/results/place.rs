//! The directory of an evaluation in the state directory of the program, and its layout. Nothing of it is in the workspace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tools::ids::ids_called;
use tree::remove_tree;

use crate::results::compare::EvalReport;
use crate::results::log::read_records;

/// The directory of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalPlace {
    dir: PathBuf,
    id: String,
}

impl EvalPlace {
    /// Returns the place of an evaluation with this id, below the program's state directory.
    pub fn new(state: &Path, id: &str) -> Self {
        Self { dir: state.join("evals").join(id), id: id.to_owned() }
    }

    /// Finds the evaluation that a word calls: its id, the start or end of it, or `latest`. Returns those that it may mean,
    /// oldest first.
    pub fn called(state: &Path, word: &str) -> Vec<Self> {
        let ids = ids(state);
        let meant: Vec<&str> = if word == "latest" {
            ids.last().map(String::as_str).into_iter().collect()
        } else {
            ids_called(ids.iter().map(String::as_str), word)
        };
        meant.into_iter().map(|id| Self::new(state, id)).collect()
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads its report; `None` if no cases have been drawn. Blocks.
    pub fn report(&self) -> io::Result<Option<EvalReport>> {
        Ok(EvalReport::of(&self.id, &read_records(&self.records())?))
    }

    /// Removes it. Blocks.
    pub fn remove(&self) -> io::Result<()> {
        remove_tree(&self.dir)
    }

    /// Returns the diff of an attempt. Blocks.
    pub fn diff(&self, case: &str, variant: &str, attempt: u32) -> String {
        let file = self.attempt_file(case, variant, attempt, "diff");
        lossy(&file)
    }

    /// Returns what the hidden tests printed after an attempt. Blocks.
    pub fn tests(&self, case: &str, variant: &str, attempt: u32) -> String {
        let file = self.attempt_file(case, variant, attempt, "txt");
        lossy(&file)
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.dir.join("records.jsonl")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(crate) fn builds(&self) -> PathBuf {
        self.dir.join("builds")
    }

    /// Returns the directory in which a case is checked.
    pub(crate) fn check(&self, case: &str) -> PathBuf {
        below(self.dir.join("checks"), case)
    }

    /// Returns the directory of a variant's work on a case.
    pub(crate) fn run(&self, case: &str, variant: &str) -> PathBuf {
        below(self.dir.join("runs"), case).join(file_name(variant))
    }

    pub(crate) fn attempt_file(
        &self,
        case: &str,
        variant: &str,
        attempt: u32,
        ending: &str,
    ) -> PathBuf {
        self.run(case, variant).join(format!("attempt-{attempt}.{ending}"))
    }
}

/// Returns the evaluations, oldest first. Blocks.
pub fn list_evaluations(state: &Path) -> Vec<EvalPlace> {
    ids(state).iter().map(|id| EvalPlace::new(state, id)).collect()
}

/// Returns the ids of evaluations with a record, oldest first.
fn ids(state: &Path) -> Vec<String> {
    let entries = fs::read_dir(state.join("evals")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let has_cases = |name: &String| {
        let place = EvalPlace::new(state, name);
        fs::metadata(place.records()).is_ok_and(|data| data.len() > 0)
    };
    let mut names: Vec<String> = names.filter(has_cases).collect();
    names.sort();
    names
}

/// Returns the directory of a case below another one.
pub(crate) fn below(mut dir: PathBuf, case: &str) -> PathBuf {
    dir.extend(case.split('/').map(file_name));
    dir
}

/// Returns the name of a file for a part of an id or the name of a variant, a different one for each. Build tools stumble
/// over some characters, such as `%`.
pub(crate) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let encoded =
        |c: char| if is_plain(c) { c.to_string() } else { format!("+{:x}", u32::from(c)) };
    let name: String = name.chars().map(encoded).collect();
    if name.starts_with('.') { format!("+{name}") } else { name }
}

fn lossy(file: &Path) -> String {
    fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
