//! An in-memory tree to test the engine on, and helpers that apply a diff to one file.

use std::collections::BTreeMap;

use config::ApplyStrategy;
use tree::{Entry, FileMode, FileState, RepoPath, TreeError};

use crate::diff::hunk_lines::{HunkLine, read_all};
use crate::{ApplyPlan, PatchLimits, PatchScope, Reason, Refusal, Tolerance, prepare};

/// Entries by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files(BTreeMap<RepoPath, Entry>);

impl Files {
    pub(crate) fn file(self, at: &str, text: &str) -> Files {
        self.entry(
            at,
            Entry::File(FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }),
        )
    }

    pub(crate) fn entry(mut self, at: &str, entry: Entry) -> Files {
        self.0.insert(path(at), entry);
        self
    }

    #[expect(clippy::unnecessary_wraps, reason = "the engine asks for a result")]
    pub(crate) fn read(&self, path: &RepoPath) -> Result<Entry, TreeError> {
        Ok(self.0.get(path).cloned().unwrap_or(Entry::Missing))
    }
}

pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

/// Plans `answer` for files of which only `declared` may change.
pub(crate) fn plan_of(
    files: &Files,
    declared: &[&str],
    answer: &str,
) -> Result<ApplyPlan, Refusal> {
    let declared = Some(declared.iter().map(|text| path(text)).collect());
    let scope = PatchScope { declared, ..PatchScope::default() };
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    prepare(answer.as_bytes(), &scope, auto, &limits, &|path| files.read(path))
}

/// Plans `answer` for files all of which may change.
pub(crate) fn open_plan_of(files: &Files, answer: &str) -> Result<ApplyPlan, Refusal> {
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    prepare(answer.as_bytes(), &PatchScope::default(), auto, &limits, &|path| files.read(path))
}

/// The names of the file `f`.
pub(crate) const NAMES: &str = "--- a/f\n+++ b/f\n";
/// A file of three lines, the last of which is apart.
pub(crate) const ABC: &str = "a\nb\n\nc\n";

/// Applies `answer` to the file `f`; returns the new text or the first reason for refusing it.
#[track_caller]
pub(crate) fn after(before: &str, answer: &str) -> Result<String, Reason> {
    let files =
        if before.is_empty() { Files::default() } else { Files::default().file("f", before) };
    let reason = |refusal: Refusal| refusal.mismatches[0].reason;
    let plan = plan_of(&files, &["f", "g.py"], answer).map_err(reason)?;
    let change = plan.changes.iter().find(|change| change.path == path("f"));
    let state = change.and_then(|change| change.after.as_ref());
    Ok(state.map_or(before.to_owned(), |state| String::from_utf8(state.bytes.to_vec()).unwrap()))
}

/// A tolerance that was used, and the line.
pub(crate) type Tolerated = (Tolerance, Option<usize>);

/// Applies `hunks` to the file `f`; returns the new text and the tolerances used.
pub(crate) fn applied(before: &str, hunks: &str) -> Result<(String, Vec<Tolerated>), Reason> {
    let files = Files::default().file("f", before);
    let plan = plan_of(&files, &["f"], &format!("--- a/f\n+++ b/f\n{hunks}"));
    let plan = plan.map_err(|refusal| refusal.mismatches[0].reason)?;
    let after = plan.changes.first().and_then(|change| change.after.as_ref());
    let after = after.map_or(before.as_bytes(), |state| &state.bytes);
    let repairs = plan.repairs.iter().map(|repair| (repair.tolerance, repair.line)).collect();
    Ok((String::from_utf8(after.to_vec()).unwrap(), repairs))
}

/// Reads the lines of a hunk, given without its header.
pub(crate) fn hunk_of<'a>(lines: &[&'a str]) -> Vec<HunkLine<'a>> {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    read_all(&lines, 1)
}
