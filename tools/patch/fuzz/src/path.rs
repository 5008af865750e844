//! The path type: every accepted path stays below the root, and leads into no repository directory on any system.
//!
//! The oracle checks one system at a time, as simply as its documentation describes it, and shares no code with the
//! type.

use std::path::{Component, Path};

use tree::{PathError, RepoPath};

/// Code points that file systems with case folding drop from names, as Unicode lists them (`Default_Ignorable`).
const IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Reads `input` as a path.
pub fn check(input: &[u8]) {
    let parsed = RepoPath::from_bytes(input);
    let Ok(text) = std::str::from_utf8(input) else {
        assert_eq!(parsed, Err(PathError::NotUtf8));
        return;
    };
    assert_eq!(parsed, RepoPath::parse(text));
    match parsed {
        Ok(path) => accepted(&path, text),
        Err(why) => assert!(!is_plain(text), "{text:?} is refused as {why}"),
    }
}

fn accepted(path: &RepoPath, text: &str) {
    assert_eq!(RepoPath::parse(path.as_str()).as_ref(), Ok(path), "does not parse to itself");
    let kept: Vec<&str> = text.split('/').filter(|part| *part != ".").collect();
    assert_eq!(path.as_str(), kept.join("/"), "more than `.` was dropped");
    assert!(!path.as_str().contains(|c: char| c.is_control() || c == '\\'), "{path:?}");

    let root = Path::new("/some/root");
    let joined = root.join(path.as_str());
    let below = joined.strip_prefix(root).expect("the path stays below the root");
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    assert!(plain && below.components().count() == kept.len(), "{path:?}");
    assert!(path.components().eq(kept.iter().copied()) && kept.last() == Some(&path.name()));
    let is_drive =
        matches!(path.as_str().as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    assert!(!is_drive && kept.first() != Some(&"~"), "{path:?} is absolute on some system");
    assert!(path.parent().is_none_or(|above| RepoPath::parse(above.as_str()) == Ok(above)));

    for part in path.components() {
        assert!(!part.is_empty() && part != "." && part != "..", "{path:?}");
        assert!(!is_git(&on_ntfs(part)) && on_ntfs(part) != "git~1", "{path:?} on NTFS");
        assert!(!is_git(&folded(part)), "{path:?} where case is folded");
    }
    if path.is_portable() {
        let odd = |part: &str| {
            part.ends_with([' ', '.']) || part.contains(['<', '>', ':', '"', '|', '?', '*'])
        };
        assert!(
            !path.components().any(|part| odd(part) || folded(part) != part.to_lowercase()),
            "{path:?}"
        );
    }
}

fn is_git(name: &str) -> bool {
    name == ".git"
}

/// The file that NTFS opens: without stream, trailing dots and spaces, in lower case.
fn on_ntfs(part: &str) -> String {
    let (file, _stream) = part.split_once(':').unwrap_or((part, ""));
    file.trim_end_matches(['.', ' ']).to_ascii_lowercase()
}

/// The file that HFS+, APFS or ext4 with case folding opens: lower case, without invisible characters.
fn folded(part: &str) -> String {
    let is_ignorable =
        |c: char| IGNORABLE.iter().any(|(first, last)| (*first..=*last).contains(&c));
    part.chars().filter(|c| !is_ignorable(*c)).collect::<String>().to_lowercase()
}

/// Returns true if `text` has nothing that could be refused: short names of letters and digits.
fn is_plain(text: &str) -> bool {
    let is_word = |part: &str| {
        (1..200).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    text.len() < 3_000 && text.split('/').all(is_word)
}
