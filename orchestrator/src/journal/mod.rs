//! The truth of a session: an append-only log of events with the content they name.
//!
//! [`log`] writes it, from one thread; [`read`] reads it back, checked. Nothing is ever changed in place.

pub mod log;
pub mod read;

use std::path::{Path, PathBuf};

use tools::tree::FileHash;

/// Name of the log in a session's directory.
const EVENTS: &str = "events.jsonl";

/// Hexadecimal digits of a checksum: 64 bits of SHA-256.
const SUM_DIGITS: usize = 16;

/// Checksum of a line up to its own `sum`.
fn checksum(line: &[u8]) -> String {
    FileHash::of(line).to_string().chars().take(SUM_DIGITS).collect()
}

/// Where the content with this hash is kept.
fn blob_path(session: &Path, hash: &FileHash) -> PathBuf {
    session.join("blobs").join(format!("{hash}.zst"))
}
