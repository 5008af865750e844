//! Intents of commits, recorded before anything is changed, so that the next start can settle a commit that a crash
//! interrupted.
//!
//! Each commit in progress has one small file in a directory outside the tree, which is removed when the commit is
//! over. Reading or writing the intents of a tree requires the lock of that tree.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{FileHash, FileMode, FileState, RepoPath};
use tools::regular::{self, MAX_STATE_BYTES};

/// The directory in which intents are stored.
#[derive(Debug, Clone)]
pub struct CommitLog {
    dir: Option<PathBuf>,
    patience: Duration,
}

/// The changes a commit is about to make to a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitIntent {
    /// Unique id, part of the names of the temporary files.
    pub(super) id: String,
    /// Hash of the tree's path.
    pub(super) root: FileHash,
    /// The caller's label for the commit.
    pub(super) label: String,
    /// The change of each path.
    pub(super) targets: Vec<Intended>,
    /// Missing directories that the commit creates.
    pub(super) made: BTreeSet<RepoPath>,
    /// True if a file is written to rather than replaced, or is likely to be.
    #[serde(default)]
    pub(super) is_one_rewritten: bool,
}

/// One path of an intent. `None` stands for no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intended {
    pub(super) path: RepoPath,
    pub(super) before: Option<FileHash>,
    /// Missing in intents of versions that supported regular files only.
    #[serde(default)]
    pub(super) before_mode: Option<FileMode>,
    pub(super) after: Option<FileHash>,
    #[serde(default)]
    pub(super) after_mode: Option<FileMode>,
}

/// The state of a path before or after the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitSide {
    Before,
    After,
}

impl Intended {
    /// Returns true if `found` is the file of this side. The executable bit counts only if nothing else changes;
    /// otherwise the user may have changed it, and it stays.
    pub(super) fn is(&self, side: CommitSide, found: &FileState) -> bool {
        let (hash, mode) = match side {
            CommitSide::Before => (self.before, self.before_mode),
            CommitSide::After => (self.after, self.after_mode),
        };
        let is_link = |mode: FileMode| mode == FileMode::Symlink;
        hash == Some(found.hash())
            && match mode {
                None => !is_link(found.mode),
                Some(mode) if self.before == self.after => mode == found.mode,
                Some(mode) => is_link(mode) == is_link(found.mode),
            }
    }
}

/// How many swaps a commit consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swaps {
    /// The swap is made or not, whatever else is lost.
    One,
    /// A power cut may leave only some of them made, so everything needed to settle the commit must be durable before
    /// the first one.
    Several,
}

impl Swaps {
    /// Returns the swaps of a commit that changes `paths` paths and creates `made` directories. A directory counts
    /// because it may exist without its file, and rewriting a file because it may be half done.
    pub(super) const fn of(paths: usize, made: usize, is_one_rewritten: bool) -> Swaps {
        if paths == 1 && made == 0 && !is_one_rewritten { Swaps::One } else { Swaps::Several }
    }
}

impl CommitIntent {
    pub(super) fn swaps(&self) -> Swaps {
        Swaps::of(self.targets.len(), self.made.len(), self.is_one_rewritten)
    }
}

/// How far the commit of an intent is known to have progressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStage {
    /// Some of its changes may have been made.
    Begun,
    /// All changes are made and durable. Only temporary files may be left.
    Done,
}

/// A recorded intent.
#[derive(Debug)]
pub(super) struct WrittenTarget {
    file: Option<PathBuf>,
}

/// File extension of an intent whose commit is done.
const DONE: &str = "done";

impl CommitLog {
    /// Stores intents in `dir`, which is created. A commit waits at most `patience` for another process that is writing
    /// to the same tree.
    pub fn at(dir: PathBuf, patience: Duration) -> io::Result<Self> {
        regular::create_dir(&dir)?;
        Ok(Self { dir: Some(dir), patience })
    }

    /// Stores no intents: an interrupted commit cannot be settled.
    pub const fn none(patience: Duration) -> Self {
        Self { dir: None, patience }
    }

    /// Returns how long a commit waits for another process that is writing to the same tree.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    /// Records an intent. It is durable on return if there are several swaps. With a single swap a power cut can leave
    /// at most temporary files behind, so the intent only has to survive the death of the process.
    pub(super) fn write(&self, intent: &CommitIntent) -> io::Result<WrittenTarget> {
        let Some(dir) = &self.dir else { return Ok(WrittenTarget { file: None }) };
        let bytes = serde_json::to_vec(intent)?;
        let path = dir.join(format!("{}-{}", key(intent.root), intent.id));
        let mut file = regular::create_new(&path)?;
        let written = WrittenTarget { file: Some(path) };
        let durable =
            file.write_all(&bytes).and_then(|()| tools::fault::point()).and_then(|()| match intent
                .swaps()
            {
                Swaps::One => Ok(()),
                Swaps::Several => file.sync_all().and_then(|()| File::open(dir)?.sync_all()),
            });
        match durable {
            Ok(()) => Ok(written),
            Err(error) => {
                written.forget();
                Err(error)
            }
        }
    }

    /// Returns the open intents of the tree whose path has the hash `root`.
    pub(super) fn open_intents(
        &self,
        root: FileHash,
    ) -> io::Result<Vec<(CommitIntent, CommitStage, WrittenTarget)>> {
        let entries = match self.dir.as_ref().map(fs::read_dir) {
            None => return Ok(Vec::new()),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Some(Err(error)) => return Err(error),
            Some(Ok(entries)) => entries,
        };
        let key = key(root);
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(&key) {
                continue;
            }
            let written = WrittenTarget { file: Some(entry.path()) };
            let is_done = entry.path().extension().is_some_and(|end| end == DONE);
            let stage = if is_done { CommitStage::Done } else { CommitStage::Begun };
            match serde_json::from_slice::<CommitIntent>(&regular::read_regular_file(
                &entry.path(),
                MAX_STATE_BYTES,
            )?) {
                Ok(intent) if intent.root == root => found.push((intent, stage, written)),
                Ok(_) => {}
                // It is torn, so it was never durable, and nothing was done on its behalf.
                Err(_) => written.forget(),
            }
        }
        Ok(found)
    }
}

/// Returns the prefix of the file names of a tree's intents.
fn key(root: FileHash) -> String {
    root.to_string().chars().take(16).collect()
}

impl WrittenTarget {
    /// Marks the commit as done: from now on settling it only removes temporary files. Durable on return.
    pub(super) fn done(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let done = file.with_extension(DONE);
        tools::fault::point()?;
        fs::rename(file, &done)?;
        self.file = Some(done.clone());
        done.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }

    /// Removes the intent, because the commit is over.
    pub(super) fn forget(self) {
        if let Some(file) = self.file {
            tools::fault::point().unwrap_or_default();
            fs::remove_file(file).unwrap_or_default();
        }
    }
}
