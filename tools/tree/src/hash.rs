//! SHA-256 hashes of file contents, written in hexadecimal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FileHash([u8; 32]);

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sha256 is 64 hexadecimal digits, not `{0}`")]
pub struct ParseHashError(String);

impl FileHash {
    /// Returns the hash of `bytes`.
    pub fn of(bytes: &[u8]) -> FileHash {
        FileHash(Sha256::digest(bytes).into())
    }

    /// Creates a hash from a SHA-256 that was computed incrementally.
    pub const fn from_digest(digest: [u8; 32]) -> FileHash {
        FileHash(digest)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileHash({self})")
    }
}

impl FromStr for FileHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<FileHash, ParseHashError> {
        let refuse = || ParseHashError(text.to_owned());
        let digits: Vec<u8> = text
            .chars()
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or_else(refuse)?;
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(refuse());
        }
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        Ok(FileHash(bytes.try_into().map_err(|_| refuse())?))
    }
}

impl From<FileHash> for String {
    fn from(hash: FileHash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for FileHash {
    type Error = ParseHashError;

    fn try_from(text: String) -> Result<FileHash, ParseHashError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_hash_printed_by_other_tools() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(FileHash::of(b"").to_string(), empty);
        assert_eq!(empty.parse::<FileHash>().unwrap(), FileHash::of(b""));
        assert_eq!(serde_json::to_string(&FileHash::of(b"")).unwrap(), format!("\"{empty}\""));
    }

    #[test]
    fn refuses_what_is_not_64_digits() {
        for text in
            ["", "e3", "zz", &"a".repeat(63), &"a".repeat(65), &"g".repeat(64), &"é".repeat(64)]
        {
            assert!(text.parse::<FileHash>().is_err(), "{text}");
        }
    }
}
