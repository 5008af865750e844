//! What the Editor has drafted, and which files its dialogue shows. Pure.
//!
//! A diff is kept together with the files that it was written for.

use std::collections::BTreeMap;

use actors::looks::shown_lines::Hints;
use actors::roles::editor::FileNow;
use patch::BaseState;
use tools::encoding::{decode, decode_lossy};
use tree::RepoPath;

/// Files with their content at some time.
pub(super) type Bases = BTreeMap<RepoPath, BaseState>;

/// A diff, with the declared files as they were when it was requested.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) diff: String,
    pub(super) bases: Bases,
}

/// The last diff, and the Editor's view of the tree.
#[derive(Debug, Default)]
pub(super) struct DraftState {
    draft: Option<Draft>,
    /// Files as the Editor's dialogue shows them.
    shown: Bases,
    /// The first message of the Editor's dialogue since it has had something new to work on.
    news_at: usize,
    applier_died: bool,
}

impl DraftState {
    /// Notes what the Editor's dialogue shows now.
    pub(super) fn show(&mut self, bases: &Bases) {
        self.shown.extend(bases.clone());
    }

    /// Keeps a diff to apply.
    pub(super) fn keep(&mut self, draft: Draft) {
        self.draft = Some(draft);
    }

    /// Returns the last diff.
    pub(super) fn diff(&self) -> Option<&str> {
        self.draft.as_ref().map(|draft| draft.diff.as_str())
    }

    /// Returns the last diff with its files; an empty one if there is none.
    pub(super) fn to_apply(&self) -> Draft {
        self.draft.clone().unwrap_or_default()
    }

    /// Notes that a role has died. If it is the Applier, the diff may already be committed.
    pub(super) const fn role_died(&mut self, is_applier: bool) {
        self.applier_died = is_applier;
    }

    /// Returns true, once, if the files have to be read again since the Applier died.
    pub(super) const fn take_reread(&mut self) -> bool {
        std::mem::replace(&mut self.applier_died, false)
    }

    /// Notes that the Editor has something new to work on, when its dialogue has this many messages.
    pub(super) const fn has_news(&mut self, messages: usize) {
        self.news_at = messages;
    }

    /// Returns the first message of the Editor's dialogue since then.
    pub(super) const fn news_at(&self) -> usize {
        self.news_at
    }

    /// Returns the files as the Editor's dialogue shows them.
    pub(super) const fn shown(&self) -> &Bases {
        &self.shown
    }
}

/// Returns the files whose current content the Editor has not seen.
pub(super) fn unseen(
    bases: &Bases,
    shown: &Bases,
    mut hints: BTreeMap<RepoPath, Hints>,
) -> Vec<FileNow> {
    let bytes = |base: &BaseState| match base {
        BaseState::File { bytes, .. } => bytes.clone(),
        BaseState::Missing => None,
    };
    let text = |base: &BaseState| Some(decode_lossy(&bytes(base)?).into_owned());
    let encoding = |base: &BaseState| decode(&bytes(base)?)?.encoding.unusual();
    let changed = bases.iter().filter(|(path, base)| shown.get(*path) != Some(*base));
    let file = |(path, base): (&RepoPath, &BaseState)| FileNow {
        path: path.clone(),
        now: text(base),
        encoding: encoding(base),
        seen: shown.get(path).and_then(text),
        hints: hints.remove(path).unwrap_or_default(),
    };
    changed.map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_changed_are_shown_again() {
        let path = |name: &str| RepoPath::parse(name).unwrap();
        let file = |text: &'static str| BaseState::of(text.as_bytes().into());
        let mut state = DraftState::default();
        state.show(&Bases::from([(path("a"), file("1")), (path("b"), file("2"))]));
        let now = Bases::from([
            (path("a"), file("1")),
            (path("b"), file("3")),
            (path("c"), BaseState::Missing),
        ]);
        let files = unseen(&now, state.shown(), BTreeMap::new());
        let files: Vec<_> = files
            .iter()
            .map(|it| (it.path.as_str(), it.now.as_deref(), it.seen.as_deref()))
            .collect();
        assert_eq!(files, [("b", Some("3"), Some("2")), ("c", None, None)]);
    }

    #[test]
    fn files_are_read_again_once_after_the_death_of_the_applier() {
        let mut state = DraftState::default();
        state.role_died(false);
        assert!(!state.take_reread());
        state.role_died(true);
        assert!(state.take_reread());
        assert!(!state.take_reread());
    }
}
