//! Undoing a change of ours in a file that may have been changed by others since. Pure.

use config::ApplyStrategy;
use patch::merge;
use tree::{FileMode, FileState};

/// What a change of ours made of a path; none stands for no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// The file before.
    pub(crate) before: Option<FileState>,
    /// The file after.
    pub(crate) after: Option<FileState>,
}

/// Why a path cannot be brought back without losing what somebody else did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The lines we changed were changed again.
    #[error("the same lines were changed since")]
    Changed,
    /// The file was deleted.
    #[error("it was deleted since")]
    Deleted,
    /// We deleted the file, and there is another now.
    #[error("it was made anew since")]
    Recreated,
    /// We made the file, and it was changed since.
    #[error("it was changed since, and would be gone")]
    Grown,
    /// Something that is no file is there, or in the way.
    #[error("something else is in its place")]
    NotAFile,
    /// What it was is not kept any more.
    #[error("what it was is not kept any more")]
    Lost,
}

/// The file without our changes, given newest first, and with everybody else's.
pub(crate) fn undo(
    current: Option<FileState>,
    made: impl IntoIterator<Item = Made>,
) -> Result<Option<FileState>, Conflict> {
    made.into_iter().try_fold(current, undo_one)
}

fn undo_one(current: Option<FileState>, made: Made) -> Result<Option<FileState>, Conflict> {
    if current == made.after {
        return Ok(made.before);
    }
    // The change was never made, or is undone already.
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

/// What is different between `after` and `before`, done to `current`.
fn merged(current: &FileState, before: &FileState, after: &FileState) -> Option<FileState> {
    let states = [current, before, after];
    // Nothing lies between two places that a symlink leads to.
    let is_whole = |state: &&FileState| state.mode == FileMode::Symlink || state.bytes.contains(&0);
    if states.iter().any(is_whole) {
        return None;
    }
    let bytes = merge(&after.bytes, &current.bytes, &before.bytes, ApplyStrategy::ThreeWay).ok()?;
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

    fn made(before: Option<FileState>, after: Option<FileState>) -> Made {
        Made { before, after }
    }

    #[test]
    fn what_only_we_touched_is_as_it_was() {
        let ours = || made(file("1\n"), file("2\n"));
        assert_eq!(undo(file("2\n"), [ours()]), Ok(file("1\n")));
        assert_eq!(undo(file("1\n"), [ours()]), Ok(file("1\n")), "never made");
        assert_eq!(undo(file("3\n"), [made(file("2\n"), file("3\n")), ours()]), Ok(file("1\n")));
        assert_eq!(undo(file("x"), [made(None, file("x"))]), Ok(None));
        assert_eq!(undo(None, [made(file("x"), None)]), Ok(file("x")));
    }

    #[test]
    fn what_the_user_did_beside_it_stays() {
        let ours = made(file("1\n2\n3\n4\n"), file("1\n2\n3\nfour\n"));
        assert_eq!(undo(file("one\n2\n3\nfour\n"), [ours.clone()]), Ok(file("one\n2\n3\n4\n")));
        let script = |text| Some(FileState { mode: FileMode::Executable, ..state(text) });
        assert_eq!(undo(script("1\n2\n3\nfour\n"), [ours]), Ok(script("1\n2\n3\n4\n")));
    }

    #[test]
    fn symlinks_are_undone_as_a_whole() {
        let link = |text| Some(FileState { mode: FileMode::Symlink, ..state(text) });
        let made_link = || made(None, link("a"));
        assert_eq!(undo(link("a"), [made_link()]), Ok(None));
        assert_eq!(undo(link("b"), [made_link()]), Err(Conflict::Grown));
        assert_eq!(undo(file("a"), [made_link()]), Err(Conflict::Grown), "a file now");
        assert_eq!(undo(link("a"), [made(file("a"), link("a"))]), Ok(file("a")));
        let led_elsewhere = made(link("a\nb\nc"), link("a\nb\nC"));
        assert_eq!(undo(link("A\nb\nC"), [led_elsewhere]), Err(Conflict::Changed));
    }

    #[test]
    fn what_can_not_be_told_apart_is_a_conflict() {
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
            assert_eq!(undo(current, [ours]), Err(expected));
        }
    }

    proptest! {
        /// Edits of ours at the top of a file and of the user's at its end, in any order: ours go, theirs stay.
        #[test]
        fn ours_go_and_theirs_stay(turns in proptest::collection::vec(any::<bool>(), 1..12)) {
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
            prop_assert_eq!(undo(text(ours, theirs), all), Ok(text(0, theirs)));
        }
    }
}
