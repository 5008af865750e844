//! Which runs still have a part in the state of a file. Pure.

/// What a run did to a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileChange<'r, S> {
    pub(super) run: &'r str,
    pub(super) before: S,
    pub(super) after: S,
}

/// Returns the runs whose changes to a file still stand, oldest first: a run that brings back an earlier state, such as
/// a rewind, voids itself and all runs since then.
pub(super) fn standing<'r, S: PartialEq>(changes: &[FileChange<'r, S>]) -> Vec<&'r str> {
    let mut stand: Vec<(&str, &S)> = Vec::new();
    for FileChange { run, before, after } in changes {
        stand.push((run, before));
        if let Some(back) = stand.iter().position(|(_, before)| *before == after) {
            stand.truncate(back);
        }
    }
    stand.into_iter().map(|(run, _)| run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_undone_do_not_stand() {
        let of = |changes: &[(&'static str, u8, u8)]| {
            let changes =
                changes.iter().map(|&(run, before, after)| FileChange { run, before, after });
            standing(&changes.collect::<Vec<_>>())
        };
        assert_eq!(of(&[("a", 0, 1), ("b", 1, 2)]), ["a", "b"]);
        assert_eq!(of(&[("a", 0, 1), ("undo", 1, 0), ("b", 0, 1)]), ["b"]);
        assert_eq!(of(&[("a", 0, 1), ("b", 1, 2), ("undo", 2, 1)]), ["a"]);
        assert_eq!(of(&[("a", 0, 1), ("b", 1, 2), ("undo", 2, 0)]), [""; 0]);
        let redone = of(&[("a", 0, 1), ("undo", 1, 0), ("redo", 0, 1)]);
        assert_eq!(redone, ["redo"], "what brings a change back stands for it");
        assert_eq!(of(&[("a", 0, 1), ("b", 5, 6)]), ["a", "b"], "the user edited in between");
    }
}
