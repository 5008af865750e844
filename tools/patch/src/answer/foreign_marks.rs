//! Recognizes change formats other than unified diffs by lines that only those have. Pure.

/// Returns true if `line` belongs to a change in another format and cannot be prose.
pub(crate) fn is_foreign(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 6] =
        [b"diff --cc ", b"diff --combined ", b"@@@ ", b"***************", b"<old_str", b"<new_str"];
    const LINES: [&[u8]; 5] =
        [b"<search>", b"<replace>", b"<original>", b"<updated>", b"<old_string>"];
    is_block_mark(line)
        || MARKS.iter().any(|mark| line.starts_with(mark))
        || LINES.contains(&line.trim_ascii().to_ascii_lowercase().as_slice())
        || is_command(line)
}

/// Returns true if `line` opens or closes a block of another format, and is not a line of a hunk.
pub(crate) fn is_block_mark(line: &[u8]) -> bool {
    const PATCH: [&[u8]; 5] = [
        b"*** Begin Patch",
        b"*** Update File:",
        b"*** Add File:",
        b"*** Delete File:",
        b"*** Move to:",
    ];
    let run = line.first().map_or(0, |first| line.iter().take_while(|byte| *byte == first).count());
    let word = line.get(run..).unwrap_or_default().trim_ascii();
    let opens = word.eq_ignore_ascii_case(b"SEARCH") || word.eq_ignore_ascii_case(b"ORIGINAL");
    let closes = word.eq_ignore_ascii_case(b"REPLACE") || word.eq_ignore_ascii_case(b"UPDATED");
    let is_mark = match line.first() {
        Some(b'<') => run >= 4 && opens || run >= 7 && line.get(run) == Some(&b' '),
        Some(b'-') => run >= 5 && opens,
        Some(b'>' | b'+') => run >= 4 && closes,
        _ => false,
    };
    is_mark || PATCH.iter().any(|mark| line.starts_with(mark))
}

/// Returns true if `line` is a command of a diff without context: `3c3`, `12,14d11`, `5a6,9`.
fn is_command(line: &[u8]) -> bool {
    let is_range = |text: &[u8]| {
        let mut numbers = text.split(|byte| *byte == b',');
        let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        numbers.clone().count() <= 2 && numbers.all(is_number)
    };
    let line = line.trim_ascii_end();
    let Some(at) = line.iter().position(|byte| b"acd".contains(byte)) else { return false };
    let (old, new) = (line.get(..at), line.get(at + 1..));
    old.is_some_and(is_range) && new.is_some_and(is_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_recognized() {
        for line in [
            "<<<<<<< SEARCH",
            "<<<<<<<SEARCH",
            "<<<<<<< HEAD",
            ">>>>>>> REPLACE",
            "------- SEARCH",
            "+++++++ REPLACE",
            "*** Begin Patch",
            "@@@ -1,2 -1,2 +1,3 @@@",
            "<search>",
            "3c3",
            "12,14d11",
        ] {
            assert!(is_foreign(line.as_bytes()), "{line}");
        }
        for line in
            ["-------", "=======", "- search", "add", "3", "a3", "<div>", "ORIGINAL", "3cows"]
        {
            assert!(!is_foreign(line.as_bytes()), "{line}");
        }
    }
}
