//! Reads the text files of a tree, each once and only if it may be shown.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use thiserror::Error;
use tools::encoding::decode;
use tools::long_lines::shortened;
use tree::{Entry, FileHash, KeptOff, ReadTree, RepoPath, TreeError};

use super::excerpt::{ExcerptLines, fence_around};

/// Why a file is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Unshown {
    #[error("the policy does not let it be read")]
    Refused,
    #[error("`.deepseekignore` hides it from models")]
    Hidden,
    #[error("no such file")]
    Missing,
    #[error("{bytes} bytes are more than {max_bytes}, the largest file shown")]
    TooLarge { bytes: u64, max_bytes: u64 },
    #[error("not text")]
    NotText,
    #[error("a symbolic link, which is not followed")]
    Symlink,
    #[error("not a regular file")]
    NotAFile,
    #[error("{0}")]
    KeptOff(KeptOff),
    #[error("cannot be read")]
    Unreadable,
}

/// A file that may be shown.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) lines: ExcerptLines,
    /// Computed on demand, because most texts are examined but not shown.
    hash: OnceCell<FileHash>,
    /// A code fence that is safe for any of its lines.
    pub(super) fence: String,
    /// The encoding of the file, unless it is UTF-8.
    pub(super) encoding: Option<&'static str>,
}

impl Text {
    pub(super) fn new(text: &str) -> Text {
        Text {
            lines: ExcerptLines::of(text),
            hash: OnceCell::new(),
            fence: fence_around(text),
            encoding: None,
        }
    }

    /// Returns the text of a file as models see it; `None` if it is not text.
    fn of(bytes: &[u8]) -> Option<Text> {
        let decoded = decode(bytes)?;
        let shown = shortened(&decoded.text);
        let text = Text { encoding: decoded.encoding.unusual(), ..Text::new(&shown) };
        if shown.as_bytes() != bytes {
            text.knows(Some(FileHash::of(bytes)));
        }
        Some(text)
    }

    /// Sets the hash if it is already known.
    pub(super) fn knows(&self, hash: Option<FileHash>) {
        if let Some(hash) = hash {
            self.hash.get_or_init(|| hash);
        }
    }

    /// Returns the hash of the whole file.
    pub(super) fn hash(&self) -> FileHash {
        *self.hash.get_or_init(|| FileHash::of(self.lines.text().as_bytes()))
    }
}

/// Reads files and caches them.
pub(super) struct CachingReader<'a> {
    tree: &'a ReadTree,
    max_bytes: u64,
    may_show: &'a dyn Fn(&RepoPath) -> Result<(), Unshown>,
    read: BTreeMap<RepoPath, Result<Rc<Text>, Unshown>>,
}

impl<'a> CachingReader<'a> {
    pub(super) fn new(
        tree: &'a ReadTree,
        max_bytes: u64,
        may_show: &'a dyn Fn(&RepoPath) -> Result<(), Unshown>,
    ) -> CachingReader<'a> {
        CachingReader { tree, max_bytes, may_show, read: BTreeMap::new() }
    }

    /// Returns the text of a file, or why it is not shown.
    pub(super) fn text(&mut self, path: &RepoPath) -> Result<Rc<Text>, Unshown> {
        if let Some(known) = self.read.get(path) {
            return known.clone();
        }
        let text = self.read(path).map(Rc::new);
        self.read.insert(path.clone(), text.clone());
        text
    }

    /// Returns true if something is at a path that is not behind a symbolic link, whether it may be shown or not.
    pub(super) fn is_there(&self, path: &RepoPath) -> bool {
        !matches!(self.tree.entry(path, 0), Ok(Entry::Missing) | Err(_))
    }

    /// Returns the target of a symbolic link, if it is text.
    pub(super) fn link(&self, path: &RepoPath) -> Option<String> {
        String::from_utf8(self.tree.link(path).ok()?).ok()
    }

    fn read(&self, path: &RepoPath) -> Result<Text, Unshown> {
        (self.may_show)(path)?;
        let max_bytes = self.max_bytes;
        match self.tree.entry(path, max_bytes) {
            Ok(Entry::File(state)) => Text::of(&state.bytes).ok_or(Unshown::NotText),
            Ok(Entry::TooLarge { bytes }) => Err(Unshown::TooLarge { bytes, max_bytes }),
            Ok(Entry::Missing) | Err(TreeError::ParentNotDirectory { .. }) => Err(Unshown::Missing),
            Ok(Entry::Symlink) | Err(TreeError::ThroughSymlink { .. }) => Err(Unshown::Symlink),
            Ok(Entry::Directory | Entry::Other) => Err(Unshown::NotAFile),
            Err(TreeError::KeptOff { why, .. }) => Err(Unshown::KeptOff(why)),
            Err(TreeError::Root { .. } | TreeError::Io { .. }) => Err(Unshown::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn text_files_are_cached_and_others_have_a_reason() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a"), "text 修\n").unwrap();
        fs::write(home.path().join("binary"), b"a\0b").unwrap();
        fs::write(home.path().join("latin"), b"caf\xe9").unwrap();
        fs::write(home.path().join("long"), "y".repeat(20_000)).unwrap();
        fs::write(home.path().join("large"), "x".repeat(65)).unwrap();
        fs::write(home.path().join(".env"), "KEY=1").unwrap();
        symlink("a", home.path().join("link")).unwrap();
        let tree = ReadTree::open(home.path()).unwrap();
        let may_show = |path: &RepoPath| match path.as_str() {
            ".env" => Err(Unshown::Refused),
            _ => Ok(()),
        };
        let mut long = CachingReader::new(&tree, 30_000, &may_show);
        let mut reader = CachingReader::new(&tree, 64, &may_show);
        let mut text = |path: &str| reader.text(&RepoPath::parse(path).unwrap());

        let a = text("a").unwrap();
        assert_eq!((a.lines.text(), a.hash()), ("text 修\n", FileHash::of("text 修\n".as_bytes())));
        let latin = text("latin").unwrap();
        assert_eq!((latin.lines.text(), latin.encoding), ("café", Some("windows-1252")));
        assert_eq!(latin.hash(), FileHash::of(b"caf\xe9"));
        let long = long.text(&RepoPath::parse("long").unwrap()).unwrap();
        assert!(long.lines.text().len() < 500);
        assert_eq!(long.hash(), FileHash::of("y".repeat(20_000).as_bytes()));
        fs::write(home.path().join("a"), "changed").unwrap();
        assert_eq!(text("a").unwrap().lines.text(), "text 修\n");
        for (path, why) in [
            ("binary", Unshown::NotText),
            ("large", Unshown::TooLarge { bytes: 65, max_bytes: 64 }),
            (".env", Unshown::Refused),
            ("link", Unshown::Symlink),
            ("link/x", Unshown::Symlink),
            ("none", Unshown::Missing),
        ] {
            assert_eq!(text(path).unwrap_err(), why, "{path}");
        }
    }
}
