//! Sections for undeclared files: decides whether the rest of a diff works without them. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tree::{Change, RepoPath};

use crate::added::FileHabits;
use crate::diff::hunk_lines::Kind;
use crate::names::resolve::{Intent, Target};

/// A section of a diff that was not applied because its file is not declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutAside {
    /// The undeclared file.
    pub path: RepoPath,
    /// The section, exactly as in the answer.
    pub text: String,
}

/// Returns true if `rest`, which makes `changes`, does not need the `strays`.
///
/// A name that a stray introduces must not appear in lines that the rest adds. A name that a stray removes must not
/// appear in lines that the rest adds or removes. A file that a stray creates must not be mentioned, and nothing may
/// move between the two.
pub(crate) fn stands_alone(
    strays: &[Target<'_, '_>],
    rest: &[Target<'_, '_>],
    changes: &[Change],
) -> bool {
    let moves = |a: &[Target<'_, '_>], b: &[Target<'_, '_>]| {
        a.iter().any(|target| target.intent == Intent::Delete)
            && b.iter().any(|target| matches!(target.intent, Intent::Create { .. }))
    };
    if changes.is_empty() || moves(strays, rest) || moves(rest, strays) {
        return false;
    }
    let added = lines_of(rest, Kind::Added).collect::<Vec<_>>().join(&b'\n');
    let (gained, lost) = gained_and_lost(changes);
    strays.iter().all(|stray| !is_mentioned(stray, &added) && !is_entangled(stray, &gained, &lost))
}

/// Identifiers, as in program text.
type Names<'a> = BTreeSet<&'a [u8]>;

/// Returns true if a name that the stray introduces or removes is also new or gone in the rest.
fn is_entangled(stray: &Target<'_, '_>, gained: &Names<'_>, lost: &Names<'_>) -> bool {
    // A text for people introduces no identifiers.
    if FileHabits::of(b"", stray.path.as_str()).is_prose() {
        return false;
    }
    let stray = std::slice::from_ref(stray);
    let names = |kind| lines_of(stray, kind).flat_map(names).collect::<Names<'_>>();
    let [added, removed, context] = [Kind::Added, Kind::Removed, Kind::Context].map(names);
    let mut brought =
        added.iter().filter(|name| !removed.contains(*name) && !context.contains(*name));
    let mut taken =
        removed.iter().filter(|name| !added.contains(*name) && !context.contains(*name));
    brought.any(|name| gained.contains(name))
        || taken.any(|name| gained.contains(name) || lost.contains(name))
}

/// Returns the names that only the files after the changes have, and those that only the files before have.
fn gained_and_lost(changes: &[Change]) -> (Names<'_>, Names<'_>) {
    let (mut gained, mut lost) = (Names::new(), Names::new());
    for Change { before, after, .. } in changes {
        let [before, after] = [before, after]
            .map(|state| state.iter().flat_map(|state| names(&state.bytes)).collect::<Names<'_>>());
        gained.extend(after.difference(&before));
        lost.extend(before.difference(&after));
    }
    (gained, lost)
}

/// Returns true if `text` names the stray's file: its full name or, for a new file, the name without extension.
fn is_mentioned(stray: &Target<'_, '_>, text: &[u8]) -> bool {
    let name = stray.path.name();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    // Such a file is referred to by its directory.
    let module = match stem {
        "mod" | "index" | "__init__" | "lib" | "main" => {
            stray.path.parent().map(|parent| parent.name().to_owned())
        }
        "" => None,
        stem => Some(stem.to_owned()),
    };
    let created = module.filter(|_| matches!(stray.intent, Intent::Create { .. }));
    created.iter().map(String::as_str).chain([name]).any(|name| is_named(name.as_bytes(), text))
}

/// Returns true if `name` occurs in `text` other than as part of a longer name.
fn is_named(name: &[u8], text: &[u8]) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| !is_of_name(*byte));
    memchr::memmem::find_iter(text, name).any(|at| {
        is_end(at.checked_sub(1).and_then(|before| text.get(before)))
            && is_end(text.get(at + name.len()))
    })
}

/// Yields the text of all lines of a kind.
fn lines_of<'t>(targets: &'t [Target<'_, '_>], kind: Kind) -> impl Iterator<Item = &'t [u8]> {
    let hunks = targets.iter().flat_map(|target| target.hunks);
    let bodies = hunks.filter_map(|hunk| hunk.readings.first()).flat_map(|reading| &reading.body);
    bodies.filter(move |line| line.kind == kind).map(|line| line.text)
}

fn is_of_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Yields the names in a text.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| !is_of_name(*byte));
    words.filter(|word| word.first().is_some_and(|byte| !byte.is_ascii_digit()))
}
