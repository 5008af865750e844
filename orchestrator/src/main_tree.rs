//! The main tree: the only thing in the program that can write to the user's workspace.
//!
//! There is one of it, it can not be cloned, and whoever commits takes it along: two commits at once can not be written down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use actors::workspace::CommitRefused;
use tools::tree::{Change, CommitError, ReadTree, TreeError, WriteTree};

/// The user's workspace, writable.
pub(crate) struct MainTree {
    tree: WriteTree,
}

impl MainTree {
    /// Opens the workspace. Called once, by the orchestrator.
    pub(crate) fn open(root: &Path) -> Result<Self, TreeError> {
        Ok(Self { tree: WriteTree::open(root)? })
    }

    /// The same tree for everybody else.
    pub(crate) fn reader(&self) -> ReadTree {
        self.tree.reader()
    }

    /// Makes all changes or none, and gives the tree back for the next. Blocks.
    pub(crate) fn commit(self, changes: &[Change]) -> (Self, Result<(), CommitRefused>) {
        // A panic in the writer is a bug, but no reason to lose the tree: what it left is told apart by hashes.
        let result = match catch_unwind(AssertUnwindSafe(|| self.tree.commit(changes))) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(CommitError::Stale { path, .. })) => {
                Err(CommitRefused::Stale { path: path.to_string() })
            }
            Ok(Err(error)) => Err(CommitRefused::NotWritten { message: chain(&error) }),
            Err(_) => Err(CommitRefused::NotWritten { message: "the writer died".to_owned() }),
        };
        (self, result)
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
