//! A path inside the workspace that is safe by construction. It says nothing about what exists there.

use std::fmt;
use std::str::FromStr;

use policy::{is_ignorable, spells};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

/// Longest component that common file systems allow, in bytes.
const MAX_COMPONENT_BYTES: usize = 255;
/// Longest path that a system call accepts, in bytes, minus a reserve for the root.
const MAX_PATH_BYTES: usize = 3072;

/// A workspace-relative path: `/`-separated, without `.`, `..`, empty or repository (`.git`) components.
///
/// ```text
/// src/lib.rs      accepted
/// ./src/lib.rs    accepted as src/lib.rs
/// ../x  /x  C:/x  a\b  .GIT/x  git~1/x  src//x      refused
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RepoPath(String);

/// Why a text is not a path inside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is empty after removing `.` components.
    #[error("the path is empty; name a file or directory")]
    Empty,
    /// Begins with `/`, a drive or `~`.
    #[error("the path is absolute; write it relative to the workspace")]
    Absolute,
    /// A `..` component.
    #[error("the path leads out of the workspace; write it without `..`")]
    Escape,
    /// Two slashes in a row, or one at the end.
    #[error("the path has a `//`, or a `/` at the end; remove the extra slash")]
    EmptyComponent,
    /// `.git`, in any spelling that some file system treats as equal.
    #[error("the path is in `.git`, which is off limits; name a file outside it")]
    GitDir,
    /// A control character.
    #[error("the path has a control character, such as a line break; remove it")]
    ControlCharacter,
    /// A backslash, which is a separator on other systems.
    #[error("the path has a backslash; separate directories with `/`")]
    Backslash,
    /// A component or the whole path is longer than file systems allow.
    #[error("the path is longer than file systems allow; shorten it")]
    TooLong,
    /// Not UTF-8.
    #[error("the path is not valid UTF-8; rename the file")]
    NotUtf8,
}

impl RepoPath {
    /// Parses `text` and drops `.` components.
    pub fn parse(text: &str) -> Result<RepoPath, PathError> {
        if text.chars().any(char::is_control) {
            return Err(PathError::ControlCharacter);
        }
        if is_absolute(text) {
            return Err(PathError::Absolute);
        }
        if text.contains('\\') {
            return Err(if text.split(['/', '\\']).any(|part| part == "..") {
                PathError::Escape
            } else {
                PathError::Backslash
            });
        }
        for part in text.split('/') {
            match part {
                "." => {}
                "" if text.is_empty() => return Err(PathError::Empty),
                "" => return Err(PathError::EmptyComponent),
                ".." => return Err(PathError::Escape),
                _ if spells(part, &[".git", "git~1"]) => return Err(PathError::GitDir),
                _ if part.len() > MAX_COMPONENT_BYTES => return Err(PathError::TooLong),
                _ => {}
            }
        }
        let path = without_dots(text);
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        // Dropping `./` must not uncover a drive.
        if is_absolute(&path) { Err(PathError::Absolute) } else { Ok(RepoPath(path)) }
    }

    /// Like [`RepoPath::parse`], from bytes of unknown encoding.
    pub fn from_bytes(bytes: &[u8]) -> Result<RepoPath, PathError> {
        RepoPath::parse(std::str::from_utf8(bytes).map_err(|_| PathError::NotUtf8)?)
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the components, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last component.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the parent directory, or `None` for a path at the root.
    pub fn parent(&self) -> Option<RepoPath> {
        self.0.rsplit_once('/').map(|(parent, _)| RepoPath(parent.to_owned()))
    }

    /// Returns true if the path is `other` or below it.
    pub fn is_at_or_below(&self, other: &RepoPath) -> bool {
        let rest = self.0.strip_prefix(other.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns true if both paths look the same: they differ at most in how accents are encoded and in blanks.
    pub fn looks_like(&self, other: &RepoPath) -> bool {
        self == other || spelling(self.as_str()) == spelling(other.as_str())
    }

    /// Returns the existing paths that look like this one. `names` lists a directory, or the root.
    pub fn alike(&self, names: &dyn Fn(Option<&RepoPath>) -> Vec<String>) -> Vec<RepoPath> {
        let mut found: Vec<Option<RepoPath>> = vec![None];
        for part in self.components() {
            let wanted = spelling(part);
            let below = |dir: &Option<RepoPath>| -> Vec<Option<RepoPath>> {
                let names = names(dir.as_ref()).into_iter();
                let alike = names.filter(|name| spelling(name) == wanted);
                let paths = alike.filter_map(|name| match dir {
                    Some(dir) => RepoPath::parse(&format!("{dir}/{name}")).ok(),
                    None => RepoPath::parse(&name).ok(),
                });
                paths.map(Some).collect()
            };
            found = found.iter().flat_map(below).collect();
        }
        found.into_iter().flatten().collect()
    }

    /// Returns true if the path leads into this program's own directory, `.deepseek`, in any spelling that some file
    /// system treats as equal.
    pub fn is_in_our_directory(&self) -> bool {
        self.components().any(|part| spells(part, &[".deepseek", "deepse~1"]))
    }

    /// Returns true if every common system allows such a name and it has no invisible characters.
    ///
    /// Applies to new names only; existing files may have any name.
    pub fn is_portable(&self) -> bool {
        self.components().all(is_portable_name)
    }
}

/// Returns the form that texts which look the same have in common: accents composed, blanks alike and only between words.
pub fn spelling(text: &str) -> String {
    let part = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    text.nfc().collect::<String>().split('/').map(part).collect::<Vec<_>>().join("/")
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RepoPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<RepoPath, PathError> {
        RepoPath::parse(text)
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.0
    }
}

impl TryFrom<String> for RepoPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<RepoPath, PathError> {
        RepoPath::parse(&text)
    }
}

impl AsRef<str> for RepoPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Returns `text` without its `.` components.
fn without_dots(text: &str) -> String {
    let is_named = |part: &&str| *part != ".";
    if text.split('/').all(|part| is_named(&part)) {
        return text.to_owned();
    }
    text.split('/').filter(is_named).collect::<Vec<_>>().join("/")
}

fn is_absolute(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        Some('/' | '\\') => true,
        Some('~') => matches!(chars.next(), None | Some('/')),
        Some(c) if c.is_ascii_alphabetic() => chars.next() == Some(':'),
        Some(_) | None => false,
    }
}

fn is_portable_name(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    !part.ends_with(['.', ' '])
        && !part.contains(['<', '>', ':', '"', '|', '?', '*'])
        && !part.chars().any(is_ignorable)
        && !is_device(stem)
}

/// Returns true for names that Windows reserves for devices, whatever the directory and the extension.
fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || matches!(
            numbered,
            Some("1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_names_found_in_workspaces() {
        for text in [
            "a",
            "src/lib.rs",
            ".gitignore",
            ".github/x.yml",
            "a b/c d.txt",
            "-dash",
            "[x]*.txt",
            "ünïcode-名前.md",
            "quo\"te.py",
            " lead.txt",
            "trail .txt",
            "git",
            ".gitx/config",
            "x.git/config",
            "..x",
            "x..",
            "~x",
            "…",
        ] {
            assert_eq!(RepoPath::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(RepoPath::parse("././src/./a").unwrap().as_str(), "src/a");
    }

    #[test]
    fn refuses_every_way_out() {
        use PathError::{
            Absolute, Backslash, ControlCharacter, Empty, EmptyComponent, Escape, GitDir, TooLong,
        };
        for (text, why) in [
            ("", Empty),
            (".", Empty),
            ("./.", Empty),
            ("/etc/passwd", Absolute),
            ("C:/x", Absolute),
            ("c:x", Absolute),
            ("\\\\host\\x", Absolute),
            ("~/x", Absolute),
            ("~", Absolute),
            ("./c:", Absolute),
            ("..", Escape),
            ("a/../b", Escape),
            ("a/..", Escape),
            ("a\\..\\b", Escape),
            ("a\\b", Backslash),
            ("a//b", EmptyComponent),
            ("a/", EmptyComponent),
            (".git", GitDir),
            (".GIT/config", GitDir),
            ("a/.Git/x", GitDir),
            (".git./x", GitDir),
            (".git . ./x", GitDir),
            ("git~1/x", GitDir),
            ("GIT~1", GitDir),
            (".git:stream", GitDir),
            (".git::$INDEX_ALLOCATION/x", GitDir),
            (".g\u{200c}it/x", GitDir),
            ("\u{feff}.git/x", GitDir),
            (".gi\u{206f}t", GitDir),
            (".g\u{fe0f}it/config", GitDir),
            (".git\u{e0100}", GitDir),
            ("a\nb", ControlCharacter),
            ("a\0b", ControlCharacter),
            ("a\u{7f}", ControlCharacter),
            ("a\u{85}", ControlCharacter),
        ] {
            assert_eq!(RepoPath::parse(text), Err(why), "{text:?}");
        }
        assert_eq!(RepoPath::parse(&"x".repeat(256)), Err(TooLong));
        assert_eq!(RepoPath::parse("xxxxxxxxx/".repeat(400).trim_end_matches('/')), Err(TooLong));
        assert_eq!(RepoPath::from_bytes(b"a\xff"), Err(PathError::NotUtf8));
    }

    #[test]
    fn paths_that_look_alike_are_found() {
        let tree = [("", "cafe\u{301}"), ("", "caf\u{e9}"), ("caf\u{e9}", "r\u{e9}sum\u{e9}.py")];
        let more = [("cafe\u{301}", "a\u{a0}b .txt"), ("cafe\u{301}", "two"), ("caf\u{e9}", "two")];
        let names = |dir: Option<&RepoPath>| {
            let dir = dir.map_or("", RepoPath::as_str);
            let inside = tree.iter().chain(&more).filter(|(above, _)| *above == dir);
            inside.map(|(_, name)| (*name).to_owned()).collect::<Vec<_>>()
        };
        let alike = |text: &str| {
            let path = RepoPath::parse(text).unwrap();
            let found = path.alike(&names);
            assert!(found.iter().all(|found| found.looks_like(&path) && path.looks_like(found)));
            let [only] = found.as_slice() else { return Err(found.len()) };
            Ok(only.to_string())
        };
        let resume = "caf\u{e9}/r\u{e9}sum\u{e9}.py";
        assert_eq!(alike("cafe\u{301}/re\u{301}sume\u{301}.py").as_deref(), Ok(resume));
        assert_eq!(alike("caf\u{e9}/a  b .txt").as_deref(), Ok("cafe\u{301}/a\u{a0}b .txt"));
        assert_eq!(alike("caf\u{e9}/two"), Err(2), "two of them look alike");
        assert_eq!(alike("cafe/two"), Err(0));
        assert_eq!(alike("caf\u{e9}/A b .txt"), Err(0));
    }

    #[test]
    fn new_names_must_be_portable() {
        for text in [
            "CON",
            "aux.rs",
            "src/nul.txt",
            "com1",
            "lpt9.x",
            "a?",
            "ab:c",
            "x.",
            "x ",
            "x/ y /z",
            "a\u{200b}b",
            "conin$",
        ] {
            assert!(!RepoPath::parse(text).unwrap().is_portable(), "{text}");
        }
        for text in ["console.rs", "com10", "src/lib.rs", "名前.md", "a b.txt"] {
            assert!(RepoPath::parse(text).unwrap().is_portable(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_below_the_root(text in r"[./a\\:~g\u{200c}it]{0,12}") {
            if let Ok(path) = RepoPath::parse(&text) {
                prop_assert!(path.components().all(|part| !part.is_empty() && part != "." && part != ".."));
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert_eq!(RepoPath::parse(path.as_str()).unwrap(), path);
            }
        }
    }
}
