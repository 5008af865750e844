//! The truth of a session: an append-only log of events with the content they name.
//!
//! [`log`] writes it, from one thread; [`read`] reads it back, checked; [`repair`] cuts off what is damaged. Nothing else is
//! ever changed in place. What is asked of many journals at once is answered from a [`projection`] of them.

mod blobs;
pub mod causes;
mod delta;
pub mod log;
pub mod projection;
pub mod read;
pub mod repair;

use tools::tree::FileHash;

/// Name of the log in a session's directory.
const EVENTS: &str = "events.jsonl";

/// Hexadecimal digits of a checksum: 64 bits of SHA-256.
const SUM_DIGITS: usize = 16;

/// Checksum of a line up to its own `sum`.
fn checksum(line: &[u8]) -> String {
    FileHash::of(line).to_string().chars().take(SUM_DIGITS).collect()
}
