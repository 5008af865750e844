//! What became of the changes of earlier turns, derived from the files as they are and were; and how a model is told.
//! Pure.

use std::collections::BTreeMap;

use actors::talk::prompts::{Prompt, Prompts};
use facts::fate::{ChangeFate, Fate};
use tools::count::counted;
use tree::{Change, FileState, RepoPath};

use crate::workspace::checkpoints::LaterChange;
use crate::workspace::rewind::{Presence, presence};

/// Most files that are named for one fate of a turn.
const NAMED: usize = 20;

/// A change of an earlier turn.
#[derive(Debug, Clone)]
pub(crate) struct EarlierChange {
    /// Number of the turn, from one.
    pub(crate) turn: usize,
    /// The change of one file.
    pub(crate) change: Change,
    /// What its turn made of it.
    pub(crate) was: ChangeAtTurnEnd,
}

/// What a turn made of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeAtTurnEnd {
    /// It was applied.
    Applied,
    /// It was staged only.
    Staged,
    /// The user left it out, for this reason if one was given.
    LeftOut(Option<String>),
}

/// A file as the last commit has it; `None` if it has no such file.
#[derive(Debug, Clone)]
pub(crate) struct InCommit(pub(crate) Option<FileState>);

/// Returns what became of a change; `None` if it just stands. `now` is the file as it is, `committed` as in the last commit,
/// if there is one.
pub(crate) fn fate(
    it: EarlierChange,
    now: Option<&FileState>,
    committed: Option<&InCommit>,
    later: &[LaterChange],
) -> Option<ChangeFate> {
    let EarlierChange { turn, change: Change { path, before, after, .. }, was } = it;
    let left = |state| presence(state, before.as_ref(), after.as_ref());
    let committed = committed.is_some_and(|it| left(it.0.as_ref()) == Presence::Whole);
    let (is_there, fate) = match (&was, left(now)) {
        (ChangeAtTurnEnd::Applied, Presence::Whole) if !committed => return None,
        (ChangeAtTurnEnd::Applied, Presence::Whole) => (Presence::Whole, Fate::Stands),
        (ChangeAtTurnEnd::Applied, found) => (found, taken_by(left, now, later)),
        (ChangeAtTurnEnd::Staged, Presence::Absent) => (Presence::Absent, Fate::Staged),
        (ChangeAtTurnEnd::LeftOut(_), Presence::Absent) => (Presence::Absent, Fate::LeftOut),
        (ChangeAtTurnEnd::Staged | ChangeAtTurnEnd::LeftOut(_), found) => (found, Fate::Applied),
    };
    let said = if let ChangeAtTurnEnd::LeftOut(said) = was { said } else { None };
    Some(ChangeFate { turn, path, fate, partly: is_there == Presence::Partly, committed, said })
}

/// Returns what took a change out of a file: the last of the steps since then after which less of it was there.
fn taken_by<'s>(
    left: impl Fn(Option<&'s FileState>) -> Presence,
    now: Option<&'s FileState>,
    later: &'s [LaterChange],
) -> Fate {
    let (mut had, mut fate) = (Presence::Whole, Fate::Removed);
    for LaterChange { before, after, undoes } in later {
        let [found, kept] = [before, after].map(|state| left(state.as_ref()));
        if found < had {
            fate = Fate::Removed;
        }
        if kept < found {
            fate = if *undoes { Fate::Undone } else { Fate::Replaced };
        }
        had = kept;
    }
    if left(now) < had { Fate::Removed } else { fate }
}

/// Tells a model what became of changes; `None` if there is nothing to tell.
pub(crate) fn tell_fates(prompts: &Prompts, fates: &[ChangeFate]) -> Option<String> {
    let lines: Vec<String> =
        fate_lines(fates).iter().map(|(turn, line)| format!("[{turn}] {line}")).collect();
    let told = || prompts.render(Prompt::TurnsSince, &[("fates", &lines.join("\n"))]);
    (!lines.is_empty()).then(told)
}

/// Returns a line for each fate of each turn, naming the files; with the number of the turn.
pub(crate) fn fate_lines(fates: &[ChangeFate]) -> Vec<(usize, String)> {
    let mut files: BTreeMap<(usize, String), Vec<&RepoPath>> = BTreeMap::new();
    for it in fates {
        files.entry((it.turn, words(it))).or_default().push(&it.path);
    }
    let line = |((turn, words), files): ((usize, String), Vec<&RepoPath>)| {
        let mut named: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
        if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
            named.push(format!("and {}", counted(more, "more file")));
        }
        (turn, format!("{words}: {}", named.join(", ")))
    };
    files.into_iter().map(line).collect()
}

/// Says what became of a change.
fn words(ChangeFate { fate, partly, committed, said, .. }: &ChangeFate) -> String {
    let part = if *partly { " in part" } else { "" };
    let fate = match fate {
        Fate::Stands => return "committed".to_owned(),
        Fate::Applied => format!("not applied then, but applied{part} since"),
        Fate::Staged => "not applied, only staged".to_owned(),
        Fate::LeftOut => {
            let said = said.as_ref().map(|said| format!(" (\"{said}\")")).unwrap_or_default();
            format!("left out by the user{said}")
        }
        Fate::Undone => format!("undone{part} by the user"),
        Fate::Replaced => format!("replaced{part} by a later change of yours"),
        Fate::Removed => format!("removed{part} by the user or another program"),
    };
    let committed = if *committed { "; the last commit has it" } else { "" };
    fate + committed
}

#[cfg(test)]
mod tests {
    use tree::{FileMode, Op};

    use super::*;

    fn file(text: &str) -> FileState {
        FileState { bytes: text.as_bytes().to_vec().into(), mode: FileMode::Regular }
    }

    fn later(before: &str, after: &str, undoes: bool) -> LaterChange {
        LaterChange { before: Some(file(before)), after: Some(file(after)), undoes }
    }

    fn of(
        was: ChangeAtTurnEnd,
        now: &str,
        committed: Option<&str>,
        later: &[LaterChange],
    ) -> String {
        let path = RepoPath::parse("a.txt").unwrap();
        let (before, after) = (Some(file("one\n")), Some(file("two\n")));
        let change = Change { path, op: Op::Modify, before, after };
        let earlier = EarlierChange { turn: 1, change, was };
        let committed = committed.map(|text| InCommit(Some(file(text))));
        fate(earlier, Some(&file(now)), committed.as_ref(), later)
            .map_or_else(|| "stands".to_owned(), |it| words(&it))
    }

    #[test]
    fn the_last_step_that_took_a_change_out_is_told() {
        let undo = || later("two\n", "one\n", true);
        for (was, now, committed, steps, expected) in [
            (ChangeAtTurnEnd::Applied, "two\n", None, vec![], "stands"),
            (ChangeAtTurnEnd::Applied, "two\n", Some("one\n"), vec![], "stands"),
            (ChangeAtTurnEnd::Applied, "two\n", Some("two\n"), vec![], "committed"),
            (ChangeAtTurnEnd::Applied, "one\n", None, vec![undo()], "undone by the user"),
            (
                ChangeAtTurnEnd::Applied,
                "one\n",
                Some("two\n"),
                vec![undo()],
                "undone by the user; the last commit has it",
            ),
            (
                ChangeAtTurnEnd::Applied,
                "two\n",
                None,
                vec![undo(), later("one\n", "two\n", true)],
                "stands",
            ),
            (
                ChangeAtTurnEnd::Applied,
                "three\n",
                None,
                vec![later("two\n", "three\n", false)],
                "replaced by a later change of yours",
            ),
            (
                ChangeAtTurnEnd::Applied,
                "one\n",
                None,
                vec![],
                "removed by the user or another program",
            ),
            (
                // Undone, made again, and then changed by hand.
                ChangeAtTurnEnd::Applied,
                "mine\n",
                None,
                vec![undo(), later("one\n", "two\n", true)],
                "removed by the user or another program",
            ),
            (
                // Removed by hand before a later change.
                ChangeAtTurnEnd::Applied,
                "more\n",
                None,
                vec![later("mine\n", "more\n", false)],
                "removed by the user or another program",
            ),
            (ChangeAtTurnEnd::Staged, "one\n", None, vec![], "not applied, only staged"),
            (ChangeAtTurnEnd::Staged, "two\n", None, vec![], "not applied then, but applied since"),
            (
                ChangeAtTurnEnd::LeftOut(Some("not now".into())),
                "one\n",
                None,
                vec![],
                "left out by the user (\"not now\")",
            ),
        ] {
            assert_eq!(of(was, now, committed, &steps), expected, "{now} {committed:?}");
        }
    }

    #[test]
    fn files_are_named_by_turn_and_fate_up_to_a_limit() {
        let many = (0..NAMED + 2).map(|at| ChangeFate {
            turn: 2,
            path: RepoPath::parse(&format!("f{at:02}")).unwrap(),
            fate: Fate::Undone,
            partly: false,
            committed: false,
            said: None,
        });
        let told = tell_fates(&Prompts::default(), &many.collect::<Vec<_>>()).unwrap();
        assert!(told.contains("[2] undone by the user: f00, f01"), "{told}");
        assert!(told.ends_with("f19, and 2 more files"), "{told}");
    }
}
