//! Three trees into one: what was common, what is there, and what somebody made of what was common. Pure, but for reading
//! files that are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use config::ApplyStrategy;
use tools::patch::merge as merge_text;
use tools::tree::{Entries, FileState, Kept, RepoPath, SnapshotError, SnapshotReader};

/// What three trees come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Files as one of the trees has them.
    pub(crate) entries: Entries,
    /// Files whose lines come from several trees.
    pub(crate) mixed: BTreeMap<RepoPath, FileState>,
    /// Where two changes exclude each other; if there are any, the rest is of no use.
    pub(crate) conflicts: Vec<RepoPath>,
}

/// Does to `ours` what was done to `base` when it became `theirs`.
pub(crate) fn merge(
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
        let versions = [base.get(path), ours.get(path), theirs.get(path)].map(|kept| kept.copied());
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
    /// The file, or symlink, that was kept.
    fn file(&self, path: &RepoPath, kept: Kept) -> Result<FileState, SnapshotError>;
}

impl Read for SnapshotReader {
    fn file(&self, path: &RepoPath, kept: Kept) -> Result<FileState, SnapshotError> {
        Self::file(self, path, kept)
    }
}

/// What becomes of a path.
enum Became {
    Kept(Kept),
    Mixed(FileState),
    Gone,
    Conflict,
}

impl From<Option<Kept>> for Became {
    fn from(kept: Option<Kept>) -> Self {
        kept.map_or(Self::Gone, Self::Kept)
    }
}

fn merge_path(
    path: &RepoPath,
    [base, ours, theirs]: [Option<Kept>; 3],
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

/// Three versions of a file in one, if no line of one change touches the other. What is no text is not cut into lines.
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
        merge_text(base, ours, theirs, ApplyStrategy::ThreeWay).ok()?.into()
    };
    Some(FileState { bytes, mode })
}

/// Whether there is a file where a directory has to be, or the other way round.
fn is_in_the_way(path: &RepoPath, entries: &Entries) -> bool {
    let mut above = std::iter::successors(path.parent(), RepoPath::parent);
    let below = entries.range((Bound::Excluded(path), Bound::Unbounded));
    let is_below = |other: &RepoPath| {
        std::iter::successors(other.parent(), RepoPath::parent).any(|dir| dir == *path)
    };
    // What sorts between a directory and what is below it begins with its name.
    let starts = |other: &&RepoPath| other.as_str().starts_with(path.as_str());
    above.any(|dir| entries.contains_key(&dir))
        || below.map(|(other, _)| other).take_while(starts).any(is_below)
}
