//! Content stored next to the log and named by its hash, either complete or as a delta against earlier content.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use facts::event::Blob;
use serde::{Deserialize, Serialize};
use tools::regular::{self, MAX_STATE_BYTES};
use tree::FileHash;

use super::delta::TextDelta;
use super::read::ReadError;

/// Zstandard level. A fast one: the content is small, and a caller is waiting.
const LEVEL: i32 = 1;

/// Longest chain of deltas; reading one reads every delta below it.
const MAX_DEPTH: u32 = 64;

/// The content that the next blob of the same kind is stored as a delta against.
#[derive(Debug, Clone)]
pub(super) struct Base {
    blob: Blob,
    depth: u32,
}

/// The head of a delta; the inserted bytes follow it.
#[derive(Serialize, Deserialize)]
struct Head {
    base: FileHash,
    base_bytes: u64,
    #[serde(flatten)]
    delta: TextDelta,
}

fn whole_path(session: &Path, hash: &FileHash) -> PathBuf {
    session.join("blobs").join(format!("{hash}.zst"))
}

fn delta_path(session: &Path, hash: &FileHash) -> PathBuf {
    session.join("blobs").join(format!("{hash}.delta.zst"))
}

/// Stores content unless it is already stored; returns true if it is new.
pub(super) fn keep_blob(session: &Path, blob: &Blob) -> io::Result<bool> {
    if is_kept(session, &blob.blob) {
        return Ok(false);
    }
    write(&whole_path(session, &blob.blob), &blob.content)?;
    Ok(true)
}

/// Stores content that may repeat `base` and makes it the next base; returns true if it is new.
pub(super) fn keep_like(session: &Path, blob: &Blob, base: &mut Option<Base>) -> io::Result<bool> {
    if base.as_ref().is_some_and(|base| base.blob.blob == blob.blob) {
        return Ok(false);
    }
    let mut depth = 0;
    let is_new = match base.as_ref().filter(|base| base.depth < MAX_DEPTH) {
        // Its depth is not known, so the next one is stored complete.
        _ if is_kept(session, &blob.blob) => {
            depth = MAX_DEPTH;
            false
        }
        None => keep_blob(session, blob)?,
        Some(base) => {
            let delta = TextDelta::between(&base.blob.content, &blob.content);
            if delta.fresh().len() * 2 > blob.content.len() {
                keep_blob(session, blob)?
            } else {
                depth = base.depth + 1;
                write_delta(session, blob, base, delta)?;
                true
            }
        }
    };
    *base = Some(Base { blob: blob.clone(), depth });
    Ok(is_new)
}

fn write_delta(session: &Path, blob: &Blob, base: &Base, delta: TextDelta) -> io::Result<()> {
    let fresh = delta.fresh().to_vec();
    let head = Head { base: base.blob.blob, base_bytes: base.blob.bytes, delta };
    let mut text = serde_json::to_vec(&head)?;
    text.push(b'\n');
    text.extend_from_slice(&fresh);
    write(&delta_path(session, &blob.blob), &text)
}

fn is_kept(session: &Path, hash: &FileHash) -> bool {
    whole_path(session, hash).exists() || delta_path(session, hash).exists()
}

/// Writes a file atomically. Its name is durable once its directory is synced.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&zstd::bulk::compress(content, LEVEL)?)?;
    tools::fault::point()?;
    file.sync_data()?;
    fs::rename(temporary, path)
}

/// Reads content that an event names.
pub fn content(session: &Path, blob: &Blob) -> Result<Vec<u8>, ReadError> {
    let damaged = || ReadError::Content { hash: blob.blob };
    let mut deltas = Vec::new();
    let (mut hash, mut bytes) = (blob.blob, blob.bytes);
    let mut text = loop {
        if let Ok(packed) = regular::read_regular_file(&whole_path(session, &hash), MAX_STATE_BYTES)
        {
            let size = usize::try_from(bytes).map_err(|_| damaged())?;
            break zstd::bulk::decompress(&packed, size).map_err(|_| damaged())?;
        }
        let delta = read_delta(&delta_path(session, &hash)).ok_or_else(damaged)?;
        (hash, bytes) = (delta.base, delta.base_bytes);
        deltas.push(delta.delta);
        if deltas.len() > MAX_DEPTH as usize {
            return Err(damaged());
        }
    };
    while let Some(delta) = deltas.pop() {
        text = delta.apply(&text).ok_or_else(damaged)?;
    }
    if FileHash::of(&text) == blob.blob { Ok(text) } else { Err(damaged()) }
}

fn read_delta(path: &Path) -> Option<Head> {
    let text = zstd::stream::decode_all(regular::open_to_read(path).ok()?).ok()?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (head, fresh) = text.split_at_checked(end)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let delta = head.delta.with_fresh(fresh.get(1..)?.to_vec());
    Some(Head { delta, ..head })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("blobs")).unwrap();
        dir
    }

    /// Returns prompts that each repeat the previous one and add a little.
    fn prompts(count: usize) -> Vec<Blob> {
        let text = |n: usize| (0..=n).map(|n| format!("message {n}: {}\n", "text ".repeat(40)));
        (0..count).map(|n| Blob::new(text(n).collect::<String>())).collect()
    }

    #[test]
    fn growing_prompts_are_stored_once_and_read_back_complete() {
        let dir = session();
        let mut base = None;
        let prompts = prompts(200);
        for prompt in &prompts {
            assert!(keep_like(dir.path(), prompt, &mut base).unwrap());
            assert!(!keep_like(dir.path(), prompt, &mut base).unwrap(), "already stored");
        }
        for prompt in &prompts {
            assert_eq!(content(dir.path(), prompt).unwrap(), prompt.content);
        }
        let whole = fs::read_dir(dir.path().join("blobs")).unwrap();
        let whole = whole
            .filter(|file| !file.as_ref().unwrap().file_name().to_string_lossy().contains("delta"));
        assert!((2..10).contains(&whole.count()), "chains of deltas are bounded");
    }

    #[test]
    fn dissimilar_content_is_stored_complete() {
        let dir = session();
        let mut base = None;
        for text in ["one thing ".repeat(100), "another ".repeat(100)] {
            let blob = Blob::new(text);
            keep_like(dir.path(), &blob, &mut base).unwrap();
            assert!(whole_path(dir.path(), &blob.blob).exists());
        }
    }

    #[test]
    fn a_missing_or_damaged_base_is_an_error() {
        let dir = session();
        let mut base = None;
        let prompts = prompts(3);
        for prompt in &prompts {
            keep_like(dir.path(), prompt, &mut base).unwrap();
        }
        let first = whole_path(dir.path(), &prompts[0].blob);
        let other = zstd::bulk::compress(&vec![b'x'; prompts[0].content.len()], 1).unwrap();
        fs::write(&first, other).unwrap();
        assert!(content(dir.path(), &prompts[2]).is_err());
        fs::remove_file(first).unwrap();
        let error = content(dir.path(), &prompts[2]).unwrap_err();
        assert!(error.to_string().contains(&prompts[2].blob.to_string()));
    }
}
