//! Diff headers, one line at a time: hunk numbers and file names. Their meaning is decided elsewhere.

/// The numbers of `@@ -old,old_count +new,new_count @@`; a missing count is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) old: usize,
    pub(crate) old_count: usize,
    pub(crate) new: usize,
    pub(crate) new_count: usize,
}

/// Returns true for the lines that every diff needs; their line ends and indentation are taken as those of the whole
/// answer.
pub(crate) fn is_structural(line: &[u8]) -> bool {
    line.starts_with(b"diff --git ")
        || line.starts_with(b"@@")
        || (line.starts_with(b"--- ") || line.starts_with(b"+++ ")) && line.len() > 4
}

/// Reads the numbers of a hunk header; `None` if they are missing or garbled.
pub(crate) fn numbers(header: &[u8]) -> Option<Numbers> {
    let text = std::str::from_utf8(header.strip_prefix(b"@@")?.split(|byte| *byte == b'@').next()?)
        .ok()?;
    let (old, new) = text.trim().strip_prefix('-')?.split_once('+')?;
    let (old, old_count) = range(old.trim_end())?;
    let (new, new_count) = range(new.split_whitespace().next()?)?;
    Some(Numbers { old, old_count, new, new_count })
}

/// Reads a hunk header that has only the number of its first line, as in `@@ -12 @@`.
pub(crate) fn first_line(header: &[u8]) -> Option<usize> {
    let (text, _) = std::str::from_utf8(header.strip_prefix(b"@@")?).ok()?.split_once("@@")?;
    let text = text.trim();
    number(text.strip_prefix('-').unwrap_or(text))
}

/// Returns the text of a hunk header besides the numbers: the line of the file that git puts there, such as a function.
pub(crate) fn heading(header: &[u8]) -> Option<&[u8]> {
    let rest = header.strip_prefix(b"@@")?;
    let is_numbered = numbers(header).is_some() || first_line(header).is_some();
    let text = match (is_numbered, memchr::memmem::find(rest, b"@@")) {
        (true, Some(at)) => rest.get(at + 2..)?,
        (false, Some(at)) => rest.get(..at)?,
        (true, None) => return None,
        (false, None) => rest,
    };
    let text = text.trim_ascii();
    let is_text = text.iter().any(u8::is_ascii_alphabetic) && !text.starts_with(b"-");
    is_text.then_some(text)
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((number(start)?, number(count)?))
}

/// Parses digits only, and saturates: no file has that many lines.
fn number(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(usize::MAX))
}

/// A file name in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// `/dev/null`.
    Null,
    /// An unquoted name with its prefix, and with any trailing spaces, which may or may not belong to it.
    Path(Vec<u8>),
    /// A name that is quoted incorrectly.
    Bad,
}

/// Reads the name after `--- `, `+++ `, `rename from ` or similar.
pub(crate) fn name(rest: &[u8]) -> Name {
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    if rest.starts_with(b"\"") {
        return match unquote(rest) {
            Some((path, after)) if after.is_empty() || after.starts_with(b"\t") => Name::Path(path),
            Some(_) | None => Name::Bad,
        };
    }
    let name = rest.split(|byte| *byte == b'\t').next().unwrap_or_default();
    let name = name.trim_ascii_start();
    let bare = undecorated(without_date(name.trim_ascii_end()));
    match bare {
        b"/dev/null" => Name::Null,
        _ if bare == name.trim_ascii_end() => Name::Path(name.to_vec()),
        _ => Name::Path(bare.to_vec()),
    }
}

/// Returns the name without the decoration that Markdown and shells put around names.
fn undecorated(name: &[u8]) -> &[u8] {
    let marks = [&b"**"[..], b"`", b"'"];
    let bare = |mark: &[u8]| name.strip_prefix(mark)?.strip_suffix(mark);
    marks.into_iter().find_map(bare).filter(|name| !name.is_empty()).unwrap_or(name)
}

/// Cuts off ` 2024-03-01 12:34:56…`.
fn without_date(name: &[u8]) -> &[u8] {
    const SHAPE: &[u8] = b" 0000-00-00 00:00:00";
    let is_date = |window: &[u8]| {
        window
            .iter()
            .zip(SHAPE)
            .all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape })
    };
    match name.windows(SHAPE.len()).position(is_date) {
        Some(end) => name.get(..end).unwrap_or(name),
        None => name,
    }
}

/// Reads a C-style quoted string, as git quotes names; returns it and the rest of the text.
pub fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut bytes = text.strip_prefix(b"\"")?.iter();
    let mut path = Vec::new();
    loop {
        match bytes.next()? {
            b'"' => return Some((path, bytes.as_slice())),
            b'\\' => path.push(match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                byte @ (b'"' | b'\\') => *byte,
                high @ b'0'..=b'3' => {
                    let (middle, low) = (octal(*bytes.next()?)?, octal(*bytes.next()?)?);
                    (high - b'0') << 6 | middle << 3 | low
                }
                _ => return None,
            }),
            byte => path.push(*byte),
        }
    }
}

fn octal(byte: u8) -> Option<u8> {
    matches!(byte, b'0'..=b'7').then(|| byte - b'0')
}

/// The maximum number of spaces in two names.
const MAX_SPACES: usize = 64;

/// Returns every way to read `diff --git OLD NEW` as two names, since names with spaces are not delimited. If there is
/// only one name, the other is [`Name::Null`].
pub(crate) fn git_names(rest: &[u8]) -> Vec<(Name, Name)> {
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest).trim_ascii_end();
    if rest.starts_with(b"\"") {
        let Some((old, after)) = unquote(rest) else { return vec![(Name::Bad, Name::Bad)] };
        let new =
            if after.is_empty() { Some(Name::Null) } else { after.strip_prefix(b" ").map(name) };
        return new.map(|new| (Name::Path(old), new)).into_iter().collect();
    }
    if !rest.contains(&b' ') {
        return vec![(Name::Path(rest.to_vec()), Name::Null)];
    }
    if rest.split(|byte| *byte == b' ').count() > MAX_SPACES + 1 {
        return vec![(Name::Bad, Name::Bad)];
    }
    rest.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b' ')
        .filter_map(|(at, _)| Some((rest.get(..at)?, rest.get(at + 1..)?)))
        .map(|(old, new)| (Name::Path(old.to_vec()), name(new)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_the_text_besides_the_numbers() {
        for (header, text) in [
            ("@@ -1,2 +1,2 @@ fn a()", Some("fn a()")),
            ("@@ fn a() @@", Some("fn a()")),
            ("@@ class A:", Some("class A:")),
            ("@@ -1,2 +1,2 @@", None),
            ("@@ -12 @@ fn a()", Some("fn a()")),
            ("@@ 12 @@", None),
            ("@@ -1,2 +1,2", None),
            ("@@ -x,2 +y @@", None),
            ("@@ ... @@", None),
            ("@@", None),
        ] {
            assert_eq!(heading(header.as_bytes()), text.map(str::as_bytes), "{header}");
        }
    }

    #[test]
    fn hunk_numbers() {
        let read =
            |text: &str| numbers(text.as_bytes()).map(|n| (n.old, n.old_count, n.new, n.new_count));
        assert_eq!(read("@@ -1,3 +2,4 @@ fn x"), Some((1, 3, 2, 4)));
        assert_eq!(read("@@ -1 +2 @@"), Some((1, 1, 2, 1)));
        assert_eq!(read("@@-1,3 +1,4@@"), Some((1, 3, 1, 4)));
        assert_eq!(read("@@ -1,99999999999999999999999 +1 @@"), Some((1, usize::MAX, 1, 1)));
        for bad in [
            "@@",
            "@@ @@",
            "@@ ... @@",
            "@@ -X,3 +X,3 @@",
            "@@ --1 +1 @@",
            "@@ +1 -1 @@",
            "@@ -1,-4 +1 @@",
            "@@ fn x",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn names() {
        let path = |text: &str| Name::Path(text.as_bytes().to_vec());
        assert_eq!(name(b"a/x"), path("a/x"));
        assert_eq!(name(b"a/x y\t2024-03-01"), path("a/x y"));
        assert_eq!(name(b"a/x 2024-03-01 12:34:56.0 +0000"), path("a/x"));
        for decorated in ["`a/x`", "**a/x**", "'a/x'", "`a/x`\t2024"] {
            assert_eq!(name(decorated.as_bytes()), path("a/x"), "{decorated}");
        }
        assert_eq!(name(b"`a/x"), path("`a/x"));
        assert_eq!(name(b" `a/x` "), path("a/x"));
        assert_eq!(name(b"a/x "), path("a/x "));
        assert_eq!(name(b"/dev/null "), Name::Null);
        assert_eq!(name(b"/dev/null\t1970-01-01 00:00:00"), Name::Null);
        assert_eq!(name(br#""a/t\tb \303\274""#), path("a/t\tb ü"));
        for bad in [r#""a/\999""#, r#""a/\8""#, r#""a/\x41""#, r#""a"#, r#""a" b"#, r#""\40"#] {
            assert_eq!(name(bad.as_bytes()), Name::Bad, "{bad}");
        }
    }

    #[test]
    fn git_names_with_spaces_are_read_in_every_possible_way() {
        assert_eq!(git_names(b"a/x b/x").len(), 1);
        assert_eq!(git_names(b"a/x y b/x y").len(), 3);
        assert_eq!(
            git_names(br#""a/x" "b/x""#),
            [(Name::Path(b"a/x".into()), Name::Path(b"b/x".into()))]
        );
        assert_eq!(git_names(br#""a/\8" b"#), [(Name::Bad, Name::Bad)]);
    }
}
