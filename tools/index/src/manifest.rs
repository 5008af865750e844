//! What an index holds: every file with its hash, and when it was last looked at. It is read and written as text; where it
//! lies is not its business. Pure.

use std::collections::BTreeMap;

use thiserror::Error;
use tree::{FileHash, Listed, RepoPath};

/// Raised whenever what is written changes its meaning, words and stems included: an index of another version is built anew.
pub(crate) const VERSION: u32 = 1;

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its size.
    pub(crate) bytes: u64,
    /// When it was modified, in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// Of its content.
    pub(crate) hash: FileHash,
    /// Names the document of this file with this content.
    pub(crate) id: u64,
    /// How many words the document has; none has what is not text, and that has no document.
    pub(crate) words: u32,
}

/// The files of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// By path.
    pub(crate) entries: BTreeMap<RepoPath, Entry>,
    /// The commit that was checked out.
    pub(crate) baseline: Option<String>,
    /// When it was begun to look at the files, in nanoseconds since 1970.
    pub(crate) started: i64,
}

/// A file that was modified so shortly before it was looked at may have been modified again without a later time.
const SAME_TIME: i64 = 20_000_000;

/// Why a manifest is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// Another version of the program wrote it.
    #[error("another version of the program wrote it")]
    OtherVersion,
    /// It is not what was written.
    #[error("it is damaged")]
    Damaged,
}

impl Manifest {
    /// What is known of the file if it is as it was: of this size, modified at this time and not at the last moment.
    pub(crate) fn unchanged(&self, path: &RepoPath, bytes: u64, modified: i64) -> Option<&Entry> {
        self.entries.get(path).filter(|entry| self.is_as_it_was(entry, bytes, modified))
    }

    /// The same for each of `files`, which are sorted by path.
    pub(crate) fn unchanged_among(&self, files: &[Listed]) -> Vec<Option<&Entry>> {
        let mut entries = self.entries.iter().peekable();
        let known = files.iter().map(|file| {
            while entries.next_if(|(path, _)| **path < file.path).is_some() {}
            let (_, entry) = entries.next_if(|(path, _)| **path == file.path)?;
            self.is_as_it_was(entry, file.bytes, file.modified).then_some(entry)
        });
        known.collect()
    }

    fn is_as_it_was(&self, entry: &Entry, bytes: u64, modified: i64) -> bool {
        let is_settled = modified.saturating_add(SAME_TIME) < self.started;
        is_settled && entry.bytes == bytes && entry.modified == modified
    }

    /// One hash over the paths and contents of all files.
    pub(crate) fn root(&self) -> FileHash {
        let lines = self.entries.iter().map(|(path, entry)| format!("{path}\0{}\n", entry.hash));
        FileHash::of(lines.collect::<String>().as_bytes())
    }

    /// The text that [`Manifest::read`] reads.
    pub(crate) fn write(&self) -> String {
        let baseline = self.baseline.as_deref().unwrap_or("-");
        let (root, started) = (self.root(), self.started);
        let mut text = format!(
            "deepseek index {VERSION}\nbaseline {baseline}\nstarted {started}\nroot {root}\n"
        );
        for (path, Entry { bytes, modified, hash, id, words }) in &self.entries {
            text.push_str(&format!("{bytes} {modified} {words} {id:x} {hash} {path}\n"));
        }
        let sum = FileHash::of(text.as_bytes());
        text.push_str(&format!("sum {sum}\n"));
        text
    }

    /// Reads what [`Manifest::write`] wrote.
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

fn entry(line: &str) -> Option<(RepoPath, Entry)> {
    let mut fields = line.splitn(6, ' ');
    let mut next = || fields.next();
    let (bytes, modified, words) = (next()?, next()?, next()?);
    let (id, hash, path) = (next()?, next()?, next()?);
    let entry = Entry {
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
            (path, Entry { bytes: 3, modified: -1, hash, id: u64::MAX, words })
        };
        let entries = [entry("a b.rs", 7), entry("文/sum x", 0)].into_iter().collect();
        Manifest { entries, baseline: Some("abc".to_owned()), started: 7 }
    }

    #[test]
    fn what_is_written_is_read() {
        for manifest in [manifest(), Manifest::default()] {
            assert_eq!(Manifest::read(&manifest.write()), Ok(manifest));
        }
    }

    #[test]
    fn damage_and_other_versions_are_seen() {
        let text = manifest().write();
        for (at, _) in text.char_indices() {
            assert!(Manifest::read(text.get(..at).unwrap()).is_err(), "{at}");
        }
        assert_eq!(Manifest::read(&text.replacen('3', "4", 1)), Err(ManifestError::Damaged));
        let other = text.replacen("index 1", "index 0", 1);
        assert_eq!(Manifest::read(&other), Err(ManifestError::OtherVersion));
    }

    #[test]
    fn a_file_is_unchanged_by_its_size_and_time_unless_it_was_just_modified() {
        let (mut manifest, path) = (manifest(), RepoPath::parse("a b.rs").unwrap());
        manifest.started = SAME_TIME;
        assert!(manifest.unchanged(&path, 3, -1).is_some());
        assert!(manifest.unchanged(&path, 4, -1).is_none());
        assert!(manifest.unchanged(&path, 3, 0).is_none());
        let among = |manifest: &Manifest, names: &[(&str, i64)]| -> Vec<bool> {
            let listed = names.iter().map(|(name, modified)| {
                let path = RepoPath::parse(name).unwrap();
                Listed { path, bytes: 3, modified: *modified }
            });
            let listed: Vec<Listed> = listed.collect();
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
    fn the_root_follows_paths_and_contents_only() {
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
