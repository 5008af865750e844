//! Rewrites text that names one directory by its absolute path to name another.

/// Returns `text` with `from` replaced by `to` wherever it names `from` or a path below it; `None` if there is no such
/// place.
///
/// A match must begin and end like a path: `/mnt/app` and `/app-2` do not name `/app`.
pub fn relocate(text: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let (from, to) = (without_end(from), without_end(to));
    if from.is_empty() {
        // Everything is below the root.
        return None;
    }
    let mut moved = Vec::with_capacity(text.len());
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(text.get(at..)?, from) {
        let (start, end) = (at + found, at + found + from.len());
        if is_begin(text.get(..start)?) && text.get(end).is_none_or(|byte| !is_of_name(*byte)) {
            moved.extend_from_slice(text.get(done..start)?);
            moved.extend_from_slice(to);
            done = end;
        }
        at = end;
    }
    moved.extend_from_slice(text.get(done..)?);
    (done > 0).then_some(moved)
}

fn without_end(mut path: &[u8]) -> &[u8] {
    while let [above @ .., b'/'] = path {
        path = above;
    }
    path
}

/// Returns whether an absolute path may begin after `before`; a one-letter option or the scheme of a URL may precede it.
fn is_begin(before: &[u8]) -> bool {
    match before {
        [] | [.., b':', b'/', b'/'] => true,
        [b'-', letter] => letter.is_ascii_alphabetic(),
        [.., space, b'-', letter] if letter.is_ascii_alphabetic() => {
            !is_of_name(*space) && *space != b'/'
        }
        [.., last] => !is_of_name(*last) && *last != b'/',
    }
}

/// Returns whether a byte can be part of a file name. A byte that could be, but more often separates paths, counts as a
/// separator.
const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'-' | b'~' | b'+' | b'@' | b'%')
        || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(text: &str) -> Option<String> {
        let moved = relocate(text.as_bytes(), b"/home/u/app", b"/lanes/01")?;
        Some(String::from_utf8(moved).unwrap())
    }

    #[test]
    fn a_directory_is_renamed_wherever_it_is_named() {
        for (text, is) in [
            ("/home/u/app", "/lanes/01"),
            ("#!/home/u/app/.venv/bin/python\n", "#!/lanes/01/.venv/bin/python\n"),
            ("/bin:/home/u/app/bin:/home/u/app/x", "/bin:/lanes/01/bin:/lanes/01/x"),
            (r#"{"url": "file:///home/u/app"}"#, r#"{"url": "file:///lanes/01"}"#),
            ("-I/home/u/app -L/home/u/app", "-I/lanes/01 -L/lanes/01"),
        ] {
            assert_eq!(moved(text).as_deref(), Some(is), "{text}");
        }
    }

    #[test]
    fn similar_paths_are_left_alone() {
        for text in ["", "/home/u/app-2", "/home/u/apple/x", "/mnt/home/u/app", "x/-I/home/u/app"] {
            assert_eq!(moved(text), None, "{text}");
        }
        assert_eq!(relocate(b"/a:/b", b"/", b"/c"), None);
        assert_eq!(relocate(b"/a/b", b"/a/", b"/c/").unwrap(), b"/c/b");
    }
}
