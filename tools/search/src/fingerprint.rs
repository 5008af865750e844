//! Hashes every file of a tree that is not ignored: everything that the result of a command on the tree may depend on.

use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use tools::regular;
use tree::{FileHash, list_files};

/// Maximum size of a tree that is worth reading to save running a command, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// Returns the hash of every path with its content. `None` if the tree has more than `max_files` files, is too large,
/// or cannot be read.
pub fn tree_hash(root: &Path, max_files: usize) -> Option<FileHash> {
    let listing = list_files(root, max_files);
    let bytes = listing.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if listing.truncated || bytes > MAX_BYTES {
        return None;
    }
    let mut text = String::new();
    for file in &listing.files {
        let hash = file_hash(&root.join(file.path.as_str())).ok()?;
        text.push_str(&format!("{}\0{hash}\n", file.path));
    }
    Some(FileHash::of(text.as_bytes()))
}

/// Reads the file in pieces, because it may be larger than memory.
fn file_hash(path: &Path) -> io::Result<String> {
    let mut hasher = Hasher(Sha256::new());
    io::copy(&mut regular::open_to_read(path)?, &mut hasher)?;
    Ok(FileHash::from_digest(hasher.0.finalize().into()).to_string())
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_names_and_contents_but_not_on_ignored_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        std::fs::write(dir.path().join("a"), "1").unwrap();
        let hash = || tree_hash(dir.path(), 100).unwrap();
        let first = hash();
        std::fs::create_dir(dir.path().join("target")).unwrap();
        std::fs::write(dir.path().join("target/x"), "1").unwrap();
        assert_eq!(hash(), first);
        std::fs::write(dir.path().join("a"), "2").unwrap();
        assert_ne!(hash(), first);
        std::fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        std::fs::write(dir.path().join("b"), "1").unwrap();
        assert_ne!(hash(), first);
        assert_eq!(tree_hash(dir.path(), 1), None);
    }
}
