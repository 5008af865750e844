//! What a run has changed so far, and the ways back. Pure.

use std::collections::BTreeMap;

use tree::{Change, FileState, Op, RepoPath};

/// Content of the touched paths; `None` is a path where nothing is.
type Contents = BTreeMap<RepoPath, Option<FileState>>;

/// The touched paths at the start, now, and when the fewest checks failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    start: Contents,
    now: Contents,
    best: Option<Contents>,
}

impl Trail {
    /// Follows changes that were committed.
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

    /// The tree as it is now is the best so far.
    pub fn mark_best(&mut self) {
        self.best = Some(self.now.clone());
    }

    /// Whether anything was changed at all.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// What differs now from the start.
    pub fn changes(&self) -> Vec<Change> {
        between(&self.start, &self.now)
    }

    /// The way back to the start; empty when nothing differs.
    pub fn to_start(&self) -> Vec<Change> {
        between(&self.now, &self.start)
    }

    /// The way back to the best tree seen; empty when this is it.
    pub fn to_best(&self) -> Vec<Change> {
        let Some(best) = &self.best else { return Vec::new() };
        // Paths first touched after the best tree was seen were then as at the start.
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
    fn back_to_the_start_and_to_the_best() {
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
    fn a_change_and_its_undoing_are_nothing() {
        let mut trail = Trail::default();
        trail.follow(&[change("a", Op::Modify, Some(file("1")), Some(file("2")))]);
        trail.follow(&[change("a", Op::Modify, Some(file("2")), Some(file("1")))]);
        assert!(trail.is_empty());
        assert!(trail.to_best().is_empty());
    }
}
