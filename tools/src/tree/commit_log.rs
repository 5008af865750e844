//! What commits are about to do, written down before they do it, so that the next start can settle what a crash left open.
//!
//! One small file for each commit that is under way, in a directory outside the tree; it is gone when the commit is over.
//! Whoever reads or writes the intents of a tree holds the lock of that tree.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FileHash, RepoPath};

/// Where the intents of commits are kept.
#[derive(Debug, Clone)]
pub struct CommitLog {
    dir: Option<PathBuf>,
}

/// What a commit is about to do to a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Its own, part of the names of its temporary files.
    pub(super) id: String,
    /// The tree, absolute.
    pub(super) root: PathBuf,
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
    pub(super) after: Option<FileHash>,
}

/// An intent that is written down.
#[derive(Debug)]
pub(super) struct Written {
    file: Option<PathBuf>,
}

impl CommitLog {
    /// Intents are kept in `dir`, which is made when the first is written.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir: Some(dir) }
    }

    /// Nothing is kept: a commit that is killed can not be settled.
    pub const fn none() -> Self {
        Self { dir: None }
    }

    /// Writes an intent down. It is durable on return.
    pub(super) fn write(&self, intent: &Intent) -> io::Result<Written> {
        let Some(dir) = &self.dir else { return Ok(Written { file: None }) };
        let bytes = serde_json::to_vec(intent)?;
        fs::create_dir_all(dir)?;
        let path = dir.join(format!("{}-{}.json", key(&intent.root), intent.id));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let written = Written { file: Some(path) };
        let durable = file
            .write_all(&bytes)
            .and_then(|()| crate::fault::point())
            .and_then(|()| file.sync_all())
            .and_then(|()| File::open(dir)?.sync_all());
        match durable {
            Ok(()) => Ok(written),
            Err(error) => {
                written.forget();
                Err(error)
            }
        }
    }

    /// The intents that are open for the tree at `root`.
    pub(super) fn open_intents(&self, root: &Path) -> io::Result<Vec<(Intent, Written)>> {
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
            match serde_json::from_slice::<Intent>(&fs::read(entry.path())?) {
                Ok(intent) if intent.root == root => found.push((intent, written)),
                Ok(_) => {}
                // It is torn, so it was never durable, and nothing was done for it.
                Err(_) => written.forget(),
            }
        }
        Ok(found)
    }
}

/// What the names of a tree's intents begin with.
fn key(root: &Path) -> String {
    FileHash::of(root.as_os_str().as_encoded_bytes()).to_string().chars().take(16).collect()
}

impl Written {
    /// The commit is over, one way or the other.
    pub(super) fn forget(self) {
        if let Some(file) = self.file {
            fs::remove_file(file).unwrap_or_default();
        }
    }
}
