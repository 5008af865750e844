//! Three-way merge of trees: a common base, ours, and theirs. Pure, except for reading stored files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use config::ApplyStrategy;
use patch::merge as merge_text;
use tree::{Entries, FileState, KeptFile, RepoPath, SnapshotError, SnapshotReader};

/// The result of merging three trees.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Files taken unchanged from one of the trees.
    pub(crate) entries: Entries,
    /// Files whose lines come from several trees.
    pub(crate) mixed: BTreeMap<RepoPath, FileState>,
    /// Paths with conflicting changes; if there are any, the rest must not be used.
    pub(crate) conflicts: Vec<RepoPath>,
}

/// Applies to `ours` the changes between `base` and `theirs`.
pub(crate) fn merge_trees(
    base: &Entries,
    ours: &Entries,
    theirs: &Entries,
    read: &impl Read,
) -> Result<Merged, SnapshotError> {
    let mut merged = Merged { entries: ours.clone(), ..Merged::default() };
    let paths: BTreeSet<&RepoPath> = base.keys().chain(theirs.keys()).collect();
    let changed = paths.into_iter().filter(|path| base.get(*path) != theirs.get(*path));
    let mut arrived = Vec::new();
    for path in changed {
        let versions =
            [base.get(path), ours.get(path), theirs.get(path)].map(Option::<&KeptFile>::copied);
        match merge_path(path, versions, read)? {
            Became::Kept(kept) => {
                merged.entries.insert(path.clone(), kept);
                arrived.push(path);
            }
            Became::Mixed(state) => drop(merged.mixed.insert(path.clone(), state)),
            Became::Gone => drop(merged.entries.remove(path)),
            Became::Conflict => merged.conflicts.push(path.clone()),
        }
    }
    let in_the_way = |path: &&RepoPath| is_in_the_way(path, &merged.entries);
    merged.conflicts.extend(arrived.into_iter().filter(in_the_way).cloned());
    merged.conflicts.sort();
    Ok(merged)
}

/// Reads files of trees.
pub(crate) trait Read {
    /// Returns the stored file or symlink.
    fn file(&self, path: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError>;
}

impl Read for SnapshotReader {
    fn file(&self, path: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError> {
        Self::file(self, path, kept)
    }
}

/// The result for one path.
enum Became {
    Kept(KeptFile),
    Mixed(FileState),
    Gone,
    Conflict,
}

impl From<Option<KeptFile>> for Became {
    fn from(kept: Option<KeptFile>) -> Self {
        kept.map_or(Self::Gone, Self::Kept)
    }
}

fn merge_path(
    path: &RepoPath,
    [base, ours, theirs]: [Option<KeptFile>; 3],
    read: &impl Read,
) -> Result<Became, SnapshotError> {
    if ours == base || ours == theirs {
        return Ok(theirs.into());
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
        return Ok(Became::Conflict);
    };
    if [base, ours, theirs].iter().any(|kept| kept.is_symlink()) {
        return Ok(Became::Conflict);
    }
    let [base, ours, theirs] =
        [read.file(path, base)?, read.file(path, ours)?, read.file(path, theirs)?];
    Ok(mixed(&base, &ours, &theirs).map_or(Became::Conflict, Became::Mixed))
}

/// Merges three versions of a file; `None` if changed lines overlap or touch, or if a version is binary.
fn mixed(base: &FileState, ours: &FileState, theirs: &FileState) -> Option<FileState> {
    let mode = if theirs.mode == base.mode { ours.mode } else { theirs.mode };
    let bytes = if base.bytes == theirs.bytes {
        ours.bytes.clone()
    } else if base.bytes == ours.bytes || ours.bytes == theirs.bytes {
        theirs.bytes.clone()
    } else if [base, ours, theirs].iter().any(|state| state.bytes.contains(&0)) {
        return None;
    } else {
        let (base, ours, theirs) = (&base.bytes, &ours.bytes, &theirs.bytes);
        merge_text(base, ours, theirs, ApplyStrategy::Auto).ok()?.into()
    };
    Some(FileState { bytes, mode })
}

/// Returns true if there is a file where a directory has to be, or the reverse.
fn is_in_the_way(path: &RepoPath, entries: &Entries) -> bool {
    let mut above = std::iter::successors(path.parent(), RepoPath::parent);
    let below = entries.range((Bound::Excluded(path), Bound::Unbounded));
    let is_below = |other: &RepoPath| {
        std::iter::successors(other.parent(), RepoPath::parent).any(|dir| dir == *path)
    };
    // Everything sorted between a directory and its content begins with its name.
    let starts = |other: &&RepoPath| other.as_str().starts_with(path.as_str());
    above.any(|dir| entries.contains_key(&dir))
        || below.map(|(other, _)| other).take_while(starts).any(is_below)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;
    use tree::{FileHash, FileMode};

    use super::*;

    /// File contents by the ids they were stored under.
    #[derive(Default)]
    struct Store(RefCell<BTreeMap<KeptFile, FileState>>);

    impl Store {
        /// Stores a file: `x ` before its text makes it executable, `l ` a symlink.
        fn keep(&self, text: &str) -> KeptFile {
            let (mode, letter, bytes) = match text.split_at_checked(2) {
                Some(("x ", rest)) => (FileMode::Executable, 'x', rest),
                Some(("l ", rest)) => (FileMode::Symlink, 'l', rest),
                _ => (FileMode::Regular, 'f', text),
            };
            let name: String =
                FileHash::of(bytes.as_bytes()).to_string().chars().take(40).collect();
            let kept = KeptFile::try_from(format!("{letter} {name}")).unwrap();
            let bytes = bytes.to_owned().into();
            self.0.borrow_mut().insert(kept, FileState { bytes, mode });
            kept
        }

        fn tree(&self, files: &[(&str, &str)]) -> Entries {
            let entry =
                |(path, text): &(&str, &str)| (RepoPath::parse(path).unwrap(), self.keep(text));
            files.iter().map(entry).collect()
        }

        fn files(&self, merged: &Merged) -> Vec<(String, String)> {
            let text = |state: &FileState| {
                let letter = match state.mode {
                    FileMode::Regular => "",
                    FileMode::Executable => "x ",
                    FileMode::Symlink => "l ",
                };
                format!("{letter}{}", String::from_utf8_lossy(&state.bytes))
            };
            let mut all: BTreeMap<String, String> = merged
                .entries
                .iter()
                .map(|(path, kept)| (path.to_string(), text(&self.0.borrow()[kept])))
                .collect();
            all.extend(merged.mixed.iter().map(|(path, state)| (path.to_string(), text(state))));
            all.into_iter().collect()
        }
    }

    impl Read for Store {
        fn file(&self, _: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError> {
            Ok(self.0.borrow()[&kept].clone())
        }
    }

    /// Returns the merged content of the file `f`, `None` if it does not exist.
    fn one(
        base: Option<&str>,
        ours: Option<&str>,
        theirs: Option<&str>,
    ) -> Result<Option<String>, ()> {
        let store = Store::default();
        let tree =
            |text: Option<&str>| text.map(|text| store.tree(&[("f", text)])).unwrap_or_default();
        let merged = merge_trees(&tree(base), &tree(ours), &tree(theirs), &store).unwrap();
        if !merged.conflicts.is_empty() {
            return Err(());
        }
        Ok(store.files(&merged).into_iter().map(|(_, text)| text).next())
    }

    #[test]
    fn changes_of_one_side_are_kept() {
        let some = |text: &str| Ok(Some(text.to_owned()));
        let (b, o, t) = (Some("a\nb\nc\n"), Some("A\nb\nc\n"), Some("a\nb\nC\n"));
        assert_eq!(one(b, o, t), some("A\nb\nC\n"));
        assert_eq!(one(b, b, t), some("a\nb\nC\n"));
        assert_eq!(one(b, o, b), some("A\nb\nc\n"));
        assert_eq!(one(b, o, o), some("A\nb\nc\n"), "both made the same change");
        assert_eq!(one(b, b, None), Ok(None));
        assert_eq!(one(b, None, b), Ok(None));
        assert_eq!(one(b, None, None), Ok(None));
        assert_eq!(one(None, None, t), some("a\nb\nC\n"));
        assert_eq!(one(None, t, t), some("a\nb\nC\n"));
        assert_eq!(
            one(b, o, Some("x a\nb\nc\n")),
            some("x A\nb\nc\n"),
            "one changed the mode, the other lines"
        );
        assert_eq!(one(Some("l x"), Some("l x"), Some("l y")), some("l y"));
        assert_eq!(one(Some("\0a"), Some("\0a"), Some("\0b")), some("\0b"));
        assert_eq!(one(Some(""), Some(""), Some("a")), some("a"));
    }

    #[test]
    fn contradicting_changes_are_a_conflict() {
        let (b, o, t) = (Some("a\nb\n"), Some("A\nb\n"), Some("x\nb\n"));
        for (base, ours, theirs) in [
            (b, o, t),
            (b, None, t),
            (b, o, None),
            (None, o, t),
            (Some("l x"), Some("l y"), Some("l z")),
            (b, Some("l y"), t),
            (Some("\0a"), Some("\0b"), Some("\0c")),
        ] {
            assert_eq!(one(base, ours, theirs), Err(()), "{base:?} {ours:?} {theirs:?}");
        }
    }

    #[test]
    fn a_file_in_place_of_a_directory_is_a_conflict() {
        let store = Store::default();
        for (ours, theirs, at) in [("a", "a/b", "a/b"), ("a/b", "a", "a"), ("a/b/c", "a", "a")] {
            let (ours, theirs) =
                (store.tree(&[(ours, "1"), ("a-b", "2")]), store.tree(&[(theirs, "3")]));
            let merged = merge_trees(&Entries::new(), &ours, &theirs, &store).unwrap();
            assert_eq!(merged.conflicts, [RepoPath::parse(at).unwrap()]);
        }
        let siblings = store.tree(&[("a-b", "1"), ("a.b", "2")]);
        let merged =
            merge_trees(&Entries::new(), &siblings, &store.tree(&[("a", "3")]), &store).unwrap();
        assert_eq!(merged.conflicts, []);
        // A file gives way to a directory that replaces it.
        let (file, below) = (store.tree(&[("a", "1")]), store.tree(&[("a/b", "2")]));
        let merged = merge_trees(&file, &file, &below, &store).unwrap();
        assert_eq!((merged.conflicts.len(), store.files(&merged).len()), (0, 1));
    }

    proptest! {
        /// Changes to different files can be merged in either order.
        #[test]
        fn changes_to_different_files_merge_in_any_order(
            base in proptest::collection::btree_map("[a-d]", "[xy]{1,3}\n", 0..4),
            ours in proptest::collection::btree_map("[a-b]", proptest::option::of("[xy]{1,3}\n"), 0..3),
            theirs in proptest::collection::btree_map("[c-d]", proptest::option::of("[xy]{1,3}\n"), 0..3),
        ) {
            let store = Store::default();
            let with = |changes: &BTreeMap<String, Option<String>>| {
                let mut files = base.clone();
                for (path, text) in changes {
                    match text {
                        Some(text) => drop(files.insert(path.clone(), text.clone())),
                        None => drop(files.remove(path)),
                    }
                }
                let files: Vec<(&str, &str)> =
                    files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                store.tree(&files)
            };
            let (base, ours, theirs) = (with(&BTreeMap::new()), with(&ours), with(&theirs));
            let one = merge_trees(&base, &ours, &theirs, &store).unwrap();
            let other = merge_trees(&base, &theirs, &ours, &store).unwrap();
            prop_assert!(one.conflicts.is_empty());
            prop_assert_eq!(store.files(&one), store.files(&other));
        }
    }
}
