//! The manifest of an index: every file with its hash and modification time, with a text format for storage. Pure:
//! callers do the I/O.

use std::collections::BTreeMap;

use thiserror::Error;
use tree::{FileHash, ListedFile, RepoPath};

/// The format version. Raise it whenever the meaning of stored data changes, including words and stems; an index of
/// another version is rebuilt.
pub(crate) const VERSION: u32 = 2;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestEntry {
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The modification time, in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// The hash of the content.
    pub(crate) hash: FileHash,
    /// The id of the document for this file and content.
    pub(crate) id: u64,
    /// Number of words in the document; 0 for a file that is not text, which has no document.
    pub(crate) words: u32,
}

/// The files in an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The files by path.
    pub(crate) entries: BTreeMap<RepoPath, ManifestEntry>,
    /// The commit that was checked out.
    pub(crate) baseline: Option<String>,
    /// When reading the files began, in nanoseconds since 1970.
    pub(crate) started: i64,
}

/// A file modified within this time before it was read, in nanoseconds, may have changed again without a newer timestamp.
const SAME_TIME: i64 = 20_000_000;

/// Why a manifest is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// It was written by another version of the program.
    #[error("it was written by another version of deepseek")]
    OtherVersion,
    /// It differs from what was written.
    #[error("it is damaged")]
    Damaged,
}

impl Manifest {
    /// Returns the entry of a file if the file is unchanged: same size and modification time, and not modified just
    /// before it was read.
    pub(crate) fn unchanged(
        &self,
        path: &RepoPath,
        bytes: u64,
        modified: i64,
    ) -> Option<&ManifestEntry> {
        self.entries.get(path).filter(|entry| self.is_as_it_was(entry, bytes, modified))
    }

    /// Like [`Manifest::unchanged`], for each of `files`, which must be sorted by path.
    pub(crate) fn unchanged_among(&self, files: &[ListedFile]) -> Vec<Option<&ManifestEntry>> {
        let mut entries = self.entries.iter().peekable();
        let known = files.iter().map(|file| {
            while entries.next_if(|(path, _)| **path < file.path).is_some() {}
            let (_, entry) = entries.next_if(|(path, _)| **path == file.path)?;
            self.is_as_it_was(entry, file.bytes, file.modified).then_some(entry)
        });
        known.collect()
    }

    fn is_as_it_was(&self, entry: &ManifestEntry, bytes: u64, modified: i64) -> bool {
        let is_settled = modified.saturating_add(SAME_TIME) < self.started;
        is_settled && entry.bytes == bytes && entry.modified == modified
    }

    /// Returns one hash over the paths and contents of all files.
    pub(crate) fn root(&self) -> FileHash {
        let lines = self.entries.iter().map(|(path, entry)| format!("{path}\0{}\n", entry.hash));
        FileHash::of(lines.collect::<String>().as_bytes())
    }

    /// Writes the manifest as text for [`Manifest::read`].
    pub(crate) fn write(&self) -> String {
        let baseline = self.baseline.as_deref().unwrap_or("-");
        let (root, started) = (self.root(), self.started);
        let mut text = format!(
            "deepseek index {VERSION}\nbaseline {baseline}\nstarted {started}\nroot {root}\n"
        );
        for (path, ManifestEntry { bytes, modified, hash, id, words }) in &self.entries {
            text.push_str(&format!("{bytes} {modified} {words} {id:x} {hash} {path}\n"));
        }
        let sum = FileHash::of(text.as_bytes());
        text.push_str(&format!("sum {sum}\n"));
        text
    }

    /// Parses the output of [`Manifest::write`].
    pub(crate) fn read(text: &str) -> Result<Manifest, ManifestError> {
        if text.lines().next() != Some(&format!("deepseek index {VERSION}")) {
            return Err(ManifestError::OtherVersion);
        }
        Self::body(text).ok_or(ManifestError::Damaged)
    }

    fn body(text: &str) -> Option<Manifest> {
        let at = text.rfind("sum ")?;
        let sum = FileHash::of(text.get(..at)?.as_bytes());
        if text.get(at..)? != format!("sum {sum}\n") {
            return None;
        }
        let mut lines = text.get(..at)?.lines().skip(1);
        let baseline = lines.next()?.strip_prefix("baseline ")?;
        let started = lines.next()?.strip_prefix("started ")?.parse().ok()?;
        lines.next()?;
        Some(Manifest {
            started,
            entries: lines.map(entry).collect::<Option<_>>()?,
            baseline: (baseline != "-").then(|| baseline.to_owned()),
        })
    }
}

fn entry(line: &str) -> Option<(RepoPath, ManifestEntry)> {
    let mut fields = line.splitn(6, ' ');
    let mut next = || fields.next();
    let (bytes, modified, words) = (next()?, next()?, next()?);
    let (id, hash, path) = (next()?, next()?, next()?);
    let entry = ManifestEntry {
        bytes: bytes.parse().ok()?,
        modified: modified.parse().ok()?,
        words: words.parse().ok()?,
        id: u64::from_str_radix(id, 16).ok()?,
        hash: hash.parse().ok()?,
    };
    Some((RepoPath::parse(path).ok()?, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry = |path: &str, words| {
            let hash = FileHash::of(path.as_bytes());
            let path = RepoPath::parse(path).unwrap();
            (path, ManifestEntry { bytes: 3, modified: -1, hash, id: u64::MAX, words })
        };
        let entries = [entry("a b.rs", 7), entry("文/sum x", 0)].into_iter().collect();
        Manifest { entries, baseline: Some("abc".to_owned()), started: 7 }
    }

    #[test]
    fn a_manifest_round_trips() {
        for manifest in [manifest(), Manifest::default()] {
            assert_eq!(Manifest::read(&manifest.write()), Ok(manifest));
        }
    }

    #[test]
    fn damage_and_other_versions_are_detected() {
        let text = manifest().write();
        for (at, _) in text.char_indices() {
            assert!(Manifest::read(text.get(..at).unwrap()).is_err(), "{at}");
        }
        assert_eq!(Manifest::read(&text.replacen('3', "4", 1)), Err(ManifestError::Damaged));
        let other = text.replacen(&format!("index {VERSION}"), "index 0", 1);
        assert_eq!(Manifest::read(&other), Err(ManifestError::OtherVersion));
    }

    #[test]
    fn a_file_with_the_same_size_and_time_is_unchanged_unless_just_modified() {
        let (mut manifest, path) = (manifest(), RepoPath::parse("a b.rs").unwrap());
        manifest.started = SAME_TIME;
        assert!(manifest.unchanged(&path, 3, -1).is_some());
        assert!(manifest.unchanged(&path, 4, -1).is_none());
        assert!(manifest.unchanged(&path, 3, 0).is_none());
        let among = |manifest: &Manifest, names: &[(&str, i64)]| -> Vec<bool> {
            let listed = names.iter().map(|(name, modified)| {
                let path = RepoPath::parse(name).unwrap();
                ListedFile { path, bytes: 3, modified: *modified }
            });
            let listed: Vec<ListedFile> = listed.collect();
            manifest.unchanged_among(&listed).iter().map(Option::is_some).collect()
        };
        let names = [("a", -1), ("a b.rs", -1), ("b", -1), ("文/sum x", 0)];
        assert_eq!(among(&manifest, &names), [false, true, false, false]);
        assert_eq!(among(&manifest, &[("文/sum x", -1), ("文/z", -1)]), [true, false]);
        manifest.started = SAME_TIME - 1;
        assert!(manifest.unchanged(&path, 3, -1).is_none());
        assert_eq!(among(&manifest, &names), [false; 4]);
    }

    #[test]
    fn the_root_depends_on_paths_and_contents_only() {
        let (mut other, root) = (manifest(), manifest().root());
        other.baseline = None;
        for entry in other.entries.values_mut() {
            entry.modified = 5;
        }
        assert_eq!(other.root(), root);
        other.entries.values_mut().next().unwrap().hash = FileHash::of(b"");
        assert_ne!(other.root(), root);
    }
}
