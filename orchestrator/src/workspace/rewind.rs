//! Undoes our changes in files that others may have changed since. Pure.

use std::collections::BTreeSet;

use config::ApplyStrategy;
use patch::merge;
use tree::{FileMode, FileState};

/// A change of ours to a path; `None` means no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnChange {
    /// The file before.
    pub(crate) before: Option<FileState>,
    /// The file after.
    pub(crate) after: Option<FileState>,
}

/// Why a path cannot be restored without losing someone else's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The lines we changed were changed again.
    #[error("the same lines were changed since")]
    Changed,
    /// The file was deleted.
    #[error("it was deleted since")]
    Deleted,
    /// We deleted the file, and there is another now.
    #[error("it was created again since")]
    Recreated,
    /// We created the file, and it was changed since.
    #[error("it was changed since, and undoing would delete it")]
    Grown,
    /// Something other than a file is there, or in the way.
    #[error("something other than a file is in its place")]
    NotAFile,
    /// The earlier content is no longer stored.
    #[error("its earlier content is no longer stored")]
    Lost,
}

/// Returns the file without our changes, given newest first, but with everyone else's.
pub(crate) fn undo_changes(
    current: Option<FileState>,
    made: impl IntoIterator<Item = OwnChange>,
) -> Result<Option<FileState>, Conflict> {
    made.into_iter().try_fold(current, undo_one)
}

fn undo_one(current: Option<FileState>, made: OwnChange) -> Result<Option<FileState>, Conflict> {
    if current == made.after {
        return Ok(made.before);
    }
    // The change was never made, or is already undone.
    if current == made.before {
        return Ok(current);
    }
    match (current, made.before, made.after) {
        (None, ..) => Err(Conflict::Deleted),
        (Some(_), _, None) => Err(Conflict::Recreated),
        (Some(_), None, Some(_)) => Err(Conflict::Grown),
        (Some(current), Some(before), Some(after)) => {
            merged(&current, &before, &after).map(Some).ok_or(Conflict::Changed)
        }
    }
}

/// How much of a change is in a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// Nothing.
    Absent,
    /// A part, or the same lines were changed again.
    Partly,
    /// All of it.
    Whole,
}

/// Returns how much of the change from `before` to `after` is in a state of a file, whatever else was changed there.
pub fn presence(
    state: Option<&FileState>,
    before: Option<&FileState>,
    after: Option<&FileState>,
) -> Presence {
    if state == after {
        return Presence::Whole;
    }
    match (state, before, after) {
        // It was created, and changed since; or another file is there.
        (Some(state), None, Some(after)) if shares_lines(&state.bytes, &after.bytes) => {
            Presence::Whole
        }
        (Some(state), Some(before), Some(after)) if state != before => {
            if merged(state, after, before).as_ref() == Some(state) {
                Presence::Whole
            } else if merged(state, before, after).as_ref() == Some(state) {
                Presence::Absent
            } else {
                presence_of_lines(&state.bytes, &before.bytes, &after.bytes)
            }
        }
        _ => Presence::Absent,
    }
}

/// Returns how much of a change is in a text that was changed next to it, by the lines that it adds and removes.
fn presence_of_lines(state: &[u8], before: &[u8], after: &[u8]) -> Presence {
    let [state, before, after] = [state, before, after].map(lines);
    let (mut added, mut removed) = (after.difference(&before), before.difference(&after));
    let has_added = after.difference(&before).any(|line| state.contains(line));
    if added.all(|line| state.contains(line)) && !removed.any(|line| state.contains(line)) {
        Presence::Whole
    } else if has_added {
        Presence::Partly
    } else {
        Presence::Absent
    }
}

/// Returns true if two texts have a line in common.
fn shares_lines(one: &[u8], other: &[u8]) -> bool {
    !lines(one).is_disjoint(&lines(other))
}

/// Returns the lines of a text that are not blank.
fn lines(text: &[u8]) -> BTreeSet<&[u8]> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).collect()
}

/// Applies the difference from `after` to `before` to `current`.
fn merged(current: &FileState, before: &FileState, after: &FileState) -> Option<FileState> {
    let states = [current, before, after];
    // Symlink targets and binary files cannot be merged.
    let is_whole = |state: &&FileState| state.mode == FileMode::Symlink || state.bytes.contains(&0);
    if states.iter().any(is_whole) {
        return None;
    }
    let bytes = merge(&after.bytes, &current.bytes, &before.bytes, ApplyStrategy::Auto).ok()?;
    let theirs = current.mode != after.mode;
    let mode = if theirs { current.mode } else { before.mode };
    Some(FileState { bytes: bytes.into(), mode })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state(text: &str) -> FileState {
        FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }
    }

    fn file(text: &str) -> Option<FileState> {
        state(text).into()
    }

    fn made(before: Option<FileState>, after: Option<FileState>) -> OwnChange {
        OwnChange { before, after }
    }

    #[test]
    fn files_only_we_changed_are_restored() {
        let ours = || made(file("1\n"), file("2\n"));
        assert_eq!(undo_changes(file("2\n"), [ours()]), Ok(file("1\n")));
        assert_eq!(undo_changes(file("1\n"), [ours()]), Ok(file("1\n")), "never made");
        assert_eq!(
            undo_changes(file("3\n"), [made(file("2\n"), file("3\n")), ours()]),
            Ok(file("1\n"))
        );
        assert_eq!(undo_changes(file("x"), [made(None, file("x"))]), Ok(None));
        assert_eq!(undo_changes(None, [made(file("x"), None)]), Ok(file("x")));
    }

    #[test]
    fn changes_of_the_user_are_kept() {
        let ours = made(file("1\n2\n3\n4\n"), file("1\n2\n3\nfour\n"));
        assert_eq!(
            undo_changes(file("one\n2\n3\nfour\n"), [ours.clone()]),
            Ok(file("one\n2\n3\n4\n"))
        );
        let script = |text| Some(FileState { mode: FileMode::Executable, ..state(text) });
        assert_eq!(undo_changes(script("1\n2\n3\nfour\n"), [ours]), Ok(script("1\n2\n3\n4\n")));
    }

    #[test]
    fn a_change_is_found_in_a_state_whatever_else_changed() {
        let (before, after) = ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix\n");
        let of = |state: Option<&str>, before: Option<&str>, after: Option<&str>| {
            let [state, before, after] = [state, before, after].map(|text| text.and_then(file));
            presence(state.as_ref(), before.as_ref(), after.as_ref())
        };
        for (state, expected) in [
            (after, Presence::Whole),
            ("one\n2\n3\n4\n5\nsix\n", Presence::Whole),
            (before, Presence::Absent),
            ("one\n2\n3\n4\n5\n6\n", Presence::Absent),
            ("1\n2\n3\n4\n5\nsix\nand more\n", Presence::Whole),
            ("1\n2\n3\n4\n5\n7\n", Presence::Absent),
        ] {
            assert_eq!(of(Some(state), Some(before), Some(after)), expected, "{state}");
        }
        let (both, first) = ("1!\n2\n3\n4\n5\nsix\n", "1!\n2\n3\n4\n5\n6\n");
        assert_eq!(of(Some(first), Some(before), Some(both)), Presence::Partly, "one of two");
        assert_eq!(of(Some("x\ny\n"), None, Some("x\n")), Presence::Whole, "created, then grown");
        assert_eq!(of(Some("y\n"), None, Some("x\n")), Presence::Absent, "another file");
        assert_eq!(of(None, None, Some("x\n")), Presence::Absent, "not created");
        assert_eq!(of(None, Some("x\n"), None), Presence::Whole, "deleted");
        assert_eq!(of(Some("y\n"), Some("x\n"), None), Presence::Absent, "there again");
    }

    #[test]
    fn symlinks_are_not_merged() {
        let link = |text| Some(FileState { mode: FileMode::Symlink, ..state(text) });
        let made_link = || made(None, link("a"));
        assert_eq!(undo_changes(link("a"), [made_link()]), Ok(None));
        assert_eq!(undo_changes(link("b"), [made_link()]), Err(Conflict::Grown));
        assert_eq!(undo_changes(file("a"), [made_link()]), Err(Conflict::Grown), "a file now");
        assert_eq!(undo_changes(link("a"), [made(file("a"), link("a"))]), Ok(file("a")));
        let led_elsewhere = made(link("a\nb\nc"), link("a\nb\nC"));
        assert_eq!(undo_changes(link("A\nb\nC"), [led_elsewhere]), Err(Conflict::Changed));
    }

    #[test]
    fn inseparable_changes_are_a_conflict() {
        let cases = [
            (file("1 2\n"), made(file("0\n"), file("1\n")), Conflict::Changed),
            (file("mine too\n"), made(None, file("x\n")), Conflict::Grown),
            (None, made(file("1\n"), file("2\n")), Conflict::Deleted),
            (file("other\n"), made(file("1\n"), None), Conflict::Recreated),
            (
                file("a\0\n1\n2\n3\n"),
                made(file("a\0\n1\n2\n4\n"), file("b\0\n1\n2\n4\n")),
                Conflict::Changed,
            ),
        ];
        for (current, ours, expected) in cases {
            assert_eq!(undo_changes(current, [ours]), Err(expected));
        }
    }

    proptest! {
        /// Our edits at the top of a file and the user's at its end, in any order: ours are undone, theirs are kept.
        #[test]
        fn ours_are_undone_and_theirs_kept(turns in proptest::collection::vec(any::<bool>(), 1..12)) {
            let text = |ours: usize, theirs: usize| {
                file(&format!("ours {ours}\n\nbetween\n\ntheirs {theirs}\n"))
            };
            let (mut ours, mut theirs, mut all) = (0, 0, Vec::new());
            for is_ours in turns {
                if is_ours {
                    all.push(made(text(ours, theirs), text(ours + 1, theirs)));
                    ours += 1;
                } else {
                    theirs += 1;
                }
            }
            all.reverse();
            prop_assert_eq!(undo_changes(text(ours, theirs), all), Ok(text(0, theirs)));
        }
    }
}
