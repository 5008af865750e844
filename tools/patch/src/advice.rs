//! What the author of a diff is told about names that cannot be meant as they are written.

use std::collections::BTreeSet;

use super::header::Name;
use super::resolve::{Known, candidates};
use super::section::Section;
use tree::RepoPath;

/// How to write two names that differ: as those of the only file that they can mean, or as a rename of the old one.
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
        format!("A rename is written `diff --git a/{from} b/{to}`, `rename from {from}`, `rename to {to}`, and then the names and hunks.")
    });
    let told: Vec<String> = same.into_iter().chain(moved).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// That a name of no file is that of one with the number of a line behind it.
pub(super) fn on_a_line_number(section: &Section<'_>, known: &Known<'_>) -> Option<String> {
    let mut names = [&section.old, &section.new].into_iter().flatten();
    let path = names.find_map(|name| {
        let Name::Path(raw) = name else { return None };
        let raw = raw.trim_ascii_end();
        let bare = raw.get(..raw.iter().rposition(|byte| *byte == b':')?)?;
        let number = raw.get(bare.len() + 1..).filter(|number| !number.is_empty())?;
        let is_there = candidates(name).is_ok_and(|paths| paths.iter().any(known.exists));
        if is_there || !number.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let paths = candidates(&Name::Path(bare.to_vec())).ok()?;
        paths.into_iter().find(|path| known.has(path))
    })?;
    Some(format!("A line number is no part of a name: write `--- a/{path}` and `+++ b/{path}`."))
}

/// The path below the first directory.
fn without_first(path: &RepoPath) -> Option<RepoPath> {
    RepoPath::parse(path.as_str().split_once('/')?.1).ok()
}
