//! The index of a clone. What is asked of it is in the benchmarks.

use std::sync::Arc;
use std::time::Duration;

use index::{Index, IndexOptions};
use tree::ReadTree;

use crate::clones::{Clone, Outcome};

/// Opens the index next to the clone, as a new process does.
pub(crate) fn index(clone: &Clone) -> Outcome<Index> {
    let options = IndexOptions {
        dir: clone.tree.with_file_name("index"),
        max_files: 200_000,
        max_file_bytes: 2_000_000,
        wait: Duration::ZERO,
        may_read: Arc::new(|_| true),
    };
    Ok(Index::new(ReadTree::open(&clone.tree)?, options))
}
