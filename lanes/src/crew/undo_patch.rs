//! The changes a run has made so far, and how to undo them. Pure.

use std::collections::BTreeMap;

use tree::{Change, FileState, Op, RepoPath};

/// Content of the touched paths; `None` if nothing is at the path.
type Contents = BTreeMap<RepoPath, Option<FileState>>;

/// The touched paths at the start, now, and when the fewest checks failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    start: Contents,
    now: Contents,
    best: Option<Contents>,
}

impl Trail {
    /// Records changes that were committed.
    pub fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            let old = match &change.op {
                Op::Rename { from } => from,
                Op::Create | Op::Modify | Op::Delete => &change.path,
            };
            self.start.entry(old.clone()).or_insert_with(|| change.before.clone());
            self.now.insert(old.clone(), None);
            self.start.entry(change.path.clone()).or_insert(None);
            self.now.insert(change.path.clone(), change.after.clone());
        }
    }

    /// Marks the current tree as the best so far.
    pub fn mark_best(&mut self) {
        self.best = Some(self.now.clone());
    }

    /// Returns true if nothing differs from the start.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// Returns the difference between the start and now.
    pub fn changes(&self) -> Vec<Change> {
        between(&self.start, &self.now)
    }

    /// Returns the changes that restore the start; empty if nothing differs.
    pub fn to_start(&self) -> Vec<Change> {
        between(&self.now, &self.start)
    }

    /// Returns the changes that restore the best tree; empty if this is it.
    pub fn to_best(&self) -> Vec<Change> {
        let Some(best) = &self.best else { return Vec::new() };
        // A path first touched after the best tree was marked still had its original content then.
        let mut target = self.start.clone();
        target.extend(best.iter().map(|(path, content)| (path.clone(), content.clone())));
        between(&self.now, &target)
    }
}

fn between(from: &Contents, to: &Contents) -> Vec<Change> {
    let change = |(path, before): (&RepoPath, &Option<FileState>)| {
        let after = to.get(path).cloned().flatten();
        let op = match (before, &after) {
            (None, None) => return None,
            (Some(before), Some(after)) if before == after => return None,
            (None, Some(_)) => Op::Create,
            (Some(_), Some(_)) => Op::Modify,
            (Some(_), None) => Op::Delete,
        };
        Some(Change { path: path.clone(), op, before: before.clone(), after })
    };
    from.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use tree::FileMode;

    use super::*;

    fn file(text: &'static str) -> FileState {
        FileState { bytes: text.as_bytes().into(), mode: FileMode::Regular }
    }

    fn change(path: &str, op: Op, before: Option<FileState>, after: Option<FileState>) -> Change {
        Change { path: RepoPath::parse(path).unwrap(), op, before, after }
    }

    fn shown(changes: &[Change]) -> Vec<String> {
        let text = |state: &Option<FileState>| {
            state
                .as_ref()
                .map_or("-".to_owned(), |s| String::from_utf8_lossy(&s.bytes).into_owned())
        };
        changes
            .iter()
            .map(|c| format!("{} {}>{}", c.path, text(&c.before), text(&c.after)))
            .collect()
    }

    #[test]
    fn the_start_and_the_best_tree_can_be_restored() {
        let mut trail = Trail::default();
        trail.follow(&[
            change("a", Op::Modify, Some(file("1")), Some(file("2"))),
            change("n", Op::Create, None, Some(file("x"))),
        ]);
        trail.mark_best();
        let from = RepoPath::parse("a").unwrap();
        trail.follow(&[
            change("b", Op::Rename { from }, Some(file("2")), Some(file("3"))),
            change("n", Op::Delete, Some(file("x")), None),
        ]);
        assert_eq!(shown(&trail.changes()), ["a 1>-", "b ->3"]);
        assert_eq!(shown(&trail.to_start()), ["a ->1", "b 3>-"]);
        assert_eq!(shown(&trail.to_best()), ["a ->2", "b 3>-", "n ->x"]);
    }

    #[test]
    fn a_change_and_its_reversal_cancel_out() {
        let mut trail = Trail::default();
        trail.follow(&[change("a", Op::Modify, Some(file("1")), Some(file("2")))]);
        trail.follow(&[change("a", Op::Modify, Some(file("2")), Some(file("1")))]);
        assert!(trail.is_empty());
        assert!(trail.to_best().is_empty());
    }
}
