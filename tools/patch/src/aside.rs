//! Sections for files that are not declared: whether the rest of a diff can do without them. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tree::{Change, RepoPath};

use super::body::Kind;
use super::resolve::{Intent, Target};

/// A section of a diff that was not applied, since its file is not among the declared ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutAside {
    /// The file.
    pub path: RepoPath,
    /// The section, as the answer has it.
    pub text: String,
}

/// Whether nothing of `rest`, which makes `changes`, needs what `strays` would do.
///
/// A name that a stray brings in must not appear in what the rest adds, nor one that it takes away in what the rest adds
/// or takes away, too; a file that it creates must not be mentioned; and nothing may move between the two.
pub(super) fn stands_alone(
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

/// Names, as programs write them.
type Names<'a> = BTreeSet<&'a [u8]>;

/// Whether a name that the stray brings in or takes away is new or gone in the rest, too.
fn is_entangled(stray: &Target<'_, '_>, gained: &Names<'_>, lost: &Names<'_>) -> bool {
    if is_prose(&stray.path) {
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

/// Names that files have after the changes and not before, and the other way round.
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

/// Whether `text` names the file of a stray: its name, or without its ending if it is a new one.
fn is_mentioned(stray: &Target<'_, '_>, text: &[u8]) -> bool {
    let name = stray.path.name();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    // What such a file is called by is its directory.
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

/// Whether `name` stands in `text`, not as a part of a longer name.
fn is_named(name: &[u8], text: &[u8]) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| !is_of_name(*byte));
    memchr::memmem::find_iter(text, name).any(|at| {
        is_end(at.checked_sub(1).and_then(|before| text.get(before)))
            && is_end(text.get(at + name.len()))
    })
}

/// The text of all lines of a kind.
fn lines_of<'t>(targets: &'t [Target<'_, '_>], kind: Kind) -> impl Iterator<Item = &'t [u8]> {
    let hunks = targets.iter().flat_map(|target| target.hunks);
    let bodies = hunks.filter_map(|hunk| hunk.readings.first()).flat_map(|reading| &reading.body);
    bodies.filter(move |line| line.kind == kind).map(|line| line.text)
}

fn is_of_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// The names in a text.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| !is_of_name(*byte));
    words.filter(|word| word.first().is_some_and(|byte| !byte.is_ascii_digit()))
}

/// Whether a file is text for people: what programs call things does not come from there.
fn is_prose(path: &RepoPath) -> bool {
    let name = path.name().to_ascii_lowercase();
    match name.rsplit_once('.') {
        Some((_, ending)) => matches!(ending, "md" | "markdown" | "rst" | "adoc" | "org"),
        None => matches!(
            name.as_str(),
            "changelog" | "changes" | "history" | "news" | "readme" | "authors" | "contributors"
        ),
    }
}
