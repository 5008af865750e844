//! Detects characters of code that were respelled on the way: curly quotes, full-width punctuation, backslashes, question
//! marks for letters. The line that is replaced has the character itself in the same place. Pure.

use super::body::{HunkLine, Kind};
use super::file_style::FileStyle;
use super::single_marks::{replaced, same_start};

/// Languages in which a backslash occurs only in strings, or begins no expression.
const ESCAPED: [&str; 16] = [
    "rs", "c", "h", "cc", "cpp", "hpp", "cxx", "java", "go", "kt", "cs", "swift", "css", "tsx",
    "jsx", "sql",
];
/// Others in which no quote outside of a string has one.
const QUOTED: [&str; 7] = ["py", "js", "ts", "json", "toml", "yaml", "yml"];
/// Languages whose blocks are in braces, and that have few strings over several lines.
const BRACED: [&str; 11] = ["rs", "c", "h", "cc", "cpp", "hpp", "cxx", "java", "go", "cs", "swift"];
/// Those and others in which statements or fields end in semicolons.
const WITH_SEMICOLONS: [&str; 7] = ["css", "tsx", "jsx", "ts", "js", "sql", "php"];
/// Formats with text outside of quotes, after a key.
const KEYED: [&str; 5] = ["yaml", "yml", "properties", "ini", "conf"];
/// The minimum number of question marks that letters were lost to.
const LOST: usize = 3;

/// Returns an added line with respelled characters, and their description.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    let mut added = body.iter().enumerate().filter(|(_, line)| line.kind == Kind::Added);
    added.find_map(|(at, line)| {
        let any = |is_respelled: &dyn Fn(&[u8]) -> bool| {
            replaced(body, at).any(|old| is_respelled(old.text))
        };
        let text = line.text;
        let has = if text.is_ascii() {
            if memchr::memchr(b'\\', text).is_some()
                && !is_comment(text)
                && (any(&|old| is_escaped(style, text, old)) || has_escaped_brace(style, text))
            {
                "has characters after a backslash that code has without one"
            } else if memchr::memchr(b'?', text).is_some()
                && memchr::memmem::find(text, b"???").is_some()
                && any(&|old| has_lost_letters(text, old))
            {
                "has question marks in place of letters"
            } else {
                return None;
            }
        } else if style.is_code()
            && !is_comment(text)
            && (any(&|old| is_typeset(style, text, old)) || ends_in_wide_semicolon(style, text))
        {
            "has typographic quotes or full-width signs instead of those of code"
        } else {
            return None;
        };
        Some((line, has))
    })
}

/// Returns true if a line is a comment.
fn is_comment(text: &[u8]) -> bool {
    let marks: [&[u8]; 6] = [b"//", b"# ", b"*", b"/*", b"-- ", b";"];
    marks.iter().any(|mark| text.trim_ascii_start().starts_with(mark))
}

/// Returns true if a text ends in code: no quote, comment or slash precedes.
fn is_plain_code(before: &[u8]) -> bool {
    !before.iter().any(|byte| b"\"'`/#".contains(byte))
}

/// Returns true if `old` has the first escaped character of `new` in the same place without a backslash.
fn is_escaped(style: &FileStyle<'_>, new: &[u8], old: &[u8]) -> bool {
    let signs: &[u8] = if style.is_of(&ESCAPED) {
        b"\"{}$&#_<>*"
    } else if style.is_of(&QUOTED) {
        b"\""
    } else {
        return false;
    };
    let Some(at) = memchr::memchr(b'\\', new) else { return false };
    let (before, rest) = new.split_at_checked(at).unwrap_or_default();
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let sign = rest.get(slashes).filter(|sign| signs.contains(sign));
    sign.is_some() && is_plain_code(before) && old.starts_with(before) && old.get(at) == sign
}

/// Returns true if a line of code ends in `\{`, or is `\}`.
fn has_escaped_brace(style: &FileStyle<'_>, text: &[u8]) -> bool {
    let end = text.trim_ascii();
    style.is_of(&BRACED)
        && (end.ends_with(b" \\{") || end == b"\\}")
        && is_plain_code(end)
        && !style.has(b"\\{")
}

/// Returns the sign of ASCII that a quote or a full-width sign stands for.
fn plain(c: char) -> Option<char> {
    match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' => Some('"'),
        '\u{2018}' | '\u{2019}' => Some('\''),
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).filter(char::is_ascii_punctuation)
        }
        _ => None,
    }
}

/// Returns true if `old` has the first typographic sign of `new` in the same place in ASCII, outside of quotes.
fn is_typeset(style: &FileStyle<'_>, new: &[u8], old: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(new) else { return false };
    let Some((at, c)) = text.char_indices().find(|(_, c)| !c.is_ascii()) else { return false };
    let Some(sign) = plain(c) else { return false };
    let before = text.get(..at).unwrap_or_default();
    let code = before.trim();
    let may_be_text = if "\"'".contains(sign) {
        !code.is_empty() && !code.ends_with(|c| "=(,[{:|".contains(c))
    } else if style.is_of(&KEYED) {
        code.contains(char::is_whitespace)
    } else {
        style.is_markup() && !text.trim_end().ends_with('\u{ff1b}')
    };
    !may_be_text
        && is_plain_code(before.as_bytes())
        && old.starts_with(before.as_bytes())
        && old.get(at).copied().map(char::from) == Some(sign)
}

/// Returns true if a line of code ends in a full-width semicolon and has no letters that are not ASCII.
fn ends_in_wide_semicolon(style: &FileStyle<'_>, text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default().trim_end();
    let is_of_code = |c: char| c.is_ascii() || plain(c).is_some();
    text.ends_with('\u{ff1b}')
        && (style.is_of(&BRACED) || style.is_of(&WITH_SEMICOLONS))
        && text.chars().all(is_of_code)
        && is_plain_code(text.as_bytes())
        && !style.has_char('\u{ff1b}')
}

/// Returns true if several question marks follow what both lines begin with, and `old` has letters there that are not
/// ASCII.
fn has_lost_letters(new: &[u8], old: &[u8]) -> bool {
    let start = same_start(new, old);
    let lost = new.get(start..).unwrap_or_default();
    let lost = lost.iter().take_while(|byte| **byte == b'?').count();
    let letter = old.get(start..).and_then(|rest| str_at(rest)?.chars().next());
    lost >= LOST
        && letter.is_some_and(|c| !c.is_ascii() && c.is_alphabetic())
        && memchr::memmem::find(old, b"??").is_none()
}

/// Returns the valid start of a text.
fn str_at(text: &[u8]) -> Option<&str> {
    text.utf8_chunks().next().map(|chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_respelled(name: &str, hunk: &str) -> bool {
        let lines: Vec<&[u8]> = hunk.lines().map(str::as_bytes).collect();
        found(&FileStyle::of(b"x\n", name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn signs_of_code_that_were_respelled_are_found() {
        for (name, hunk) in [
            ("a.tsx", "-  kind?: \"a\";\n+  kind?: \u{201c}b\u{201d};"),
            ("a.yaml", "-  tag: \"1\"\n+  tag: \u{201c}2\u{201d}"),
            ("a.json", "-  \"a\": \"b\"\n+  \u{201c}a\u{201d}: \u{201c}c\u{201d}"),
            ("a.toml", "-a = 'b'\n+a = \u{2018}c\u{2019}"),
            ("a.css", "-  --bg: #fff;\n+  --bg\u{ff1a} #000\u{ff1b}"),
            ("a.tsx", "-  kind?: \"a\";\n+  kind?\u{ff1a} \"b\"\u{ff1b}"),
            ("a.yml", "-key: a\n+key\u{ff1a} b"),
            ("a.c", "+        free\u{ff08}r\u{ff09}\u{ff1b}"),
            ("a.c", "+        return NULL\u{ff1b}"),
            ("a.tsx", "-  kind?: \"a\";\n+  kind?: \\\"b\\\";"),
            ("a.yaml", "-  tag: \"1\"\n+  tag: \\\\\"2\\\\\""),
            ("a.json", "-  \"a\": \"b\"\n+  \\\"a\\\": \\\"c\\\""),
            ("a.tsx", "-      {busy}\n+      \\{busy \\&\\& x\\}"),
            ("a.c", "+    if (!r) \\{"),
            ("a.c", "+    \\}"),
            ("a.py", "-T = {\"zh\": \"\u{6b22}\u{8fce}\"}\n+T = {\"zh\": \"????!\"}"),
            ("a.txt", "-\u{6b22}\u{8fce}\n+????"),
        ] {
            assert!(is_respelled(name, hunk), "{hunk}");
        }
    }

    #[test]
    fn spellings_that_may_be_meant_are_left() {
        for (name, hunk) in [
            ("a.py", "-x = \"Say 'hi'\"\n+x = \"Say \u{2018}hi\u{2019}\""),
            ("a.py", "-    Say \"hi\".\n+    Say \u{201c}hi\u{201d}."),
            ("a.py", "-x = \"Name:\"\n+x = \"Name\u{ff1a}\""),
            ("a.tsx", "-  Name: {x}\n+  Name\u{ff1a}{x}"),
            ("a.yml", "-text: A note: x\n+text: A note\u{ff1a}x"),
            ("a.md", "-A note: \"x\"\n+A note: \u{201c}x\u{201d}"),
            ("a.c", "-// A note: x\n+// A note\u{ff1a}x\u{ff1b}"),
            ("a.java", "+        \u{8fd4}\u{56de}\u{ff1b}"),
            ("a.js", "-x = /a{/\n+x = /a\\{/"),
            ("a.js", "-echo \"hi\"\n+bash -c \"echo \\\"hi\\\"\""),
            ("a.py", "-    a{2}\n+    a\\{2}"),
            ("a.sh", "-sed s{a{b{\n+sed s\\{a\\{b\\{"),
            ("a.c", "-#define X(a) {a}\n+#define X(a) \\\n+    {a}"),
            ("a.tex", "-a_b\n+a\\_b"),
            ("a.py", "-x = \"\u{6b22}\"\n+x = \"What?\""),
            ("a.py", "-x = \"caf\u{e9}\"\n+x = \"cafe\""),
        ] {
            assert!(!is_respelled(name, hunk), "{hunk}");
        }
    }
}
