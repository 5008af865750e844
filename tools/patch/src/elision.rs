//! Comments that stand for code the author did not write out. It looks at single lines only.

/// Whether `line` is a comment such as `// ... existing code ...`.
pub(super) fn is_placeholder(line: &[u8]) -> bool {
    const WORDS: [&str; 9] = [
        "existing",
        "rest of",
        "rest unchanged",
        "unchanged",
        "remain",
        "omitted",
        "same as before",
        "previous code",
        "other code",
    ];
    // Most lines are told by their first character.
    let first = line.trim_ascii_start().first();
    if first.is_some_and(|first| first.is_ascii_graphic() && !b"/#*<-;%".contains(first)) {
        return false;
    }
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let Some(comment) = comment(line.trim()) else { return false };
    let comment = comment.trim_start();
    let Some(rest) = comment.strip_prefix("...").or_else(|| comment.strip_prefix('…')) else {
        return false;
    };
    let rest = rest.to_lowercase();
    WORDS.iter().any(|word| rest.contains(word))
}

/// The text of a line that is nothing but a comment.
fn comment(line: &str) -> Option<&str> {
    ["//", "#", "/*", "<!--", "--", ";", "%", "*"].iter().find_map(|mark| line.strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_comments() {
        for line in [
            "// ... existing code ...",
            "    # ... rest of the code remains unchanged ...",
            "/* ... rest unchanged ... */",
            "# ... (unchanged) ...",
            "<!-- … rest of the page -->",
        ] {
            assert!(is_placeholder(line.as_bytes()), "{line}");
        }
        for line in [
            "// existing code",
            "...",
            "# ...",
            "foo(...); // rest",
            "// ... and so on",
            "let x = ..existing;",
        ] {
            assert!(!is_placeholder(line.as_bytes()), "{line}");
        }
    }
}
