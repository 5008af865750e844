//! Advice on names that cannot be meant as they are written. Texts only: nothing is decided here.

use std::collections::BTreeSet;

use super::header::Name;
use super::resolve::{Known, candidates};
use super::section::Section;
use tree::RepoPath;

/// Explains how to write two different names: as the only file that they can mean, or as a rename of the old one.
pub(super) fn on_two_names(section: &Section<'_>, known: &Known<'_>) -> Option<String> {
    let [old, new] = [section.old.as_ref()?, section.new.as_ref()?];
    let [old, new] = [candidates(old).ok()?, candidates(new).ok()?];
    let meant = old.iter().chain(&new).flat_map(|path| [without_first(path), Some(path.clone())]);
    let meant: BTreeSet<RepoPath> = meant.flatten().filter(|path| known.has(path)).collect();
    let same = meant
        .first()
        .filter(|_| meant.len() == 1)
        .map(|path| format!("To change `{path}`, write `--- a/{path}` and `+++ b/{path}`."));
    let from = old.iter().find(|path| known.has(path));
    let to = new.first().filter(|path| known.may_change(path) && !new.iter().any(known.exists));
    let moved = from.zip(to).map(|(from, to)| {
        format!("To rename the file, write `diff --git a/{from} b/{to}`, `rename from {from}`, `rename to {to}`, and then the names and hunks.")
    });
    let told: Vec<String> = same.into_iter().chain(moved).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Explains how to write names with extra text around them: the only declared file that both contain is meant.
pub(super) fn on_odd_names(section: &Section<'_>, known: &Known<'_>) -> Option<String> {
    let text = |name: &Option<Name>| match name {
        Some(Name::Path(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    let names = [text(&section.old)?, text(&section.new)?];
    let has = |name: &str, path: &str| {
        let before = name.split(path).next().filter(|before| before.len() < name.len());
        before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let mut meant =
        known.declared?.iter().filter(|path| names.iter().all(|name| has(name, path.as_str())));
    let path = meant.next().filter(|_| meant.next().is_none())?;
    Some(format!(
        "A file header has nothing but the path: write `--- a/{path}` and `+++ b/{path}`."
    ))
}

/// Explains how to write a name that is followed by a line number.
pub(super) fn on_a_line_number(path: &RepoPath) -> String {
    format!("A line number is not part of a file name: write `--- a/{path}` and `+++ b/{path}`.")
}

/// Returns the path without its first directory.
fn without_first(path: &RepoPath) -> Option<RepoPath> {
    RepoPath::parse(path.as_str().split_once('/')?.1).ok()
}
