//! What commits are about to do, written down before they do it, so that the next start can settle what a crash left open.
//!
//! One small file for each commit that is under way, in a directory outside the tree; it is gone when the commit is over.
//! Whoever reads or writes the intents of a tree holds the lock of that tree.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{FileHash, FileMode, FileState, RepoPath};
use tools::regular::{self, MAX_STATE_BYTES};

/// Where the intents of commits are kept.
#[derive(Debug, Clone)]
pub struct CommitLog {
    dir: Option<PathBuf>,
    patience: Duration,
}

/// What a commit is about to do to a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Its own, part of the names of its temporary files.
    pub(super) id: String,
    /// Hash of the tree's path.
    pub(super) root: FileHash,
    /// What it is to whoever asked for it.
    pub(super) label: String,
    /// What becomes of each path.
    pub(super) targets: Vec<Intended>,
    /// Directories that are missing and are made for it, outermost first.
    pub(super) made: BTreeSet<RepoPath>,
}

/// One path of an intent: none stands for no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intended {
    pub(super) path: RepoPath,
    pub(super) before: Option<FileHash>,
    /// Not there in intents of versions that knew regular files only.
    #[serde(default)]
    pub(super) before_mode: Option<FileMode>,
    pub(super) after: Option<FileHash>,
    #[serde(default)]
    pub(super) after_mode: Option<FileMode>,
}

/// A side of a path: before, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Intended {
    /// Whether `found` is the file of this side. That a file is executable counts only where nothing else changes: elsewhere
    /// somebody may have changed it, and it stays so.
    pub(super) fn is(&self, side: Side, found: &FileState) -> bool {
        let (hash, mode) = match side {
            Side::Before => (self.before, self.before_mode),
            Side::After => (self.after, self.after_mode),
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

/// How many swaps a commit is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swaps {
    /// It is made, or it is not, whatever else is lost.
    One,
    /// A power cut may leave some of them made, so that all that is needed to settle it has to be durable before the first.
    Several,
}

impl Swaps {
    /// Of a commit to so many paths, for which so many directories are made: one of them may be there without its file.
    pub(super) const fn of(paths: usize, made: usize) -> Swaps {
        if paths == 1 && made == 0 { Swaps::One } else { Swaps::Several }
    }
}

impl Intent {
    pub(super) fn swaps(&self) -> Swaps {
        Swaps::of(self.targets.len(), self.made.len())
    }
}

/// How far the commit of an intent is known to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Some of its changes may be made.
    Begun,
    /// All of them are made and durable; what is left are temporary files.
    Done,
}

/// An intent that is written down.
#[derive(Debug)]
pub(super) struct Written {
    file: Option<PathBuf>,
}

/// What the name of an intent ends with when its commit is done.
const DONE: &str = "done";

impl CommitLog {
    /// Intents are kept in `dir`, which is made. Whoever else writes to the same tree is waited for at most `patience`.
    pub fn at(dir: PathBuf, patience: Duration) -> io::Result<Self> {
        regular::create_dir(&dir)?;
        Ok(Self { dir: Some(dir), patience })
    }

    /// Nothing is kept: a commit that is killed cannot be settled.
    pub const fn none(patience: Duration) -> Self {
        Self { dir: None, patience }
    }

    /// How long whoever else writes to the same tree is waited for.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    /// Writes an intent down. That of several swaps is durable on return; of a single one a power cut may leave files under
    /// temporary names at most, so that only a process that is killed has to find it.
    pub(super) fn write(&self, intent: &Intent) -> io::Result<Written> {
        let Some(dir) = &self.dir else { return Ok(Written { file: None }) };
        let bytes = serde_json::to_vec(intent)?;
        let path = dir.join(format!("{}-{}", key(intent.root), intent.id));
        let mut file = regular::create_new(&path)?;
        let written = Written { file: Some(path) };
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

    /// The intents that are open for the tree whose path has the hash `root`.
    pub(super) fn open_intents(&self, root: FileHash) -> io::Result<Vec<(Intent, Stage, Written)>> {
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
            let written = Written { file: Some(entry.path()) };
            let is_done = entry.path().extension().is_some_and(|end| end == DONE);
            let stage = if is_done { Stage::Done } else { Stage::Begun };
            match serde_json::from_slice::<Intent>(&regular::read(&entry.path(), MAX_STATE_BYTES)?)
            {
                Ok(intent) if intent.root == root => found.push((intent, stage, written)),
                Ok(_) => {}
                // It is torn, so it was never durable, and nothing was done for it.
                Err(_) => written.forget(),
            }
        }
        Ok(found)
    }
}

/// What the names of a tree's intents begin with.
fn key(root: FileHash) -> String {
    root.to_string().chars().take(16).collect()
}

impl Written {
    /// The changes are made: from now on only temporary files are removed on its account. Durable on return.
    pub(super) fn done(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let done = file.with_extension(DONE);
        tools::fault::point()?;
        fs::rename(file, &done)?;
        self.file = Some(done.clone());
        done.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }

    /// The commit is over, one way or the other.
    pub(super) fn forget(self) {
        if let Some(file) = self.file {
            tools::fault::point().unwrap_or_default();
            fs::remove_file(file).unwrap_or_default();
        }
    }
}
