//! Text that serving leaks into answers: terminal escape codes, and tokens of the model's template. Pure.

/// The first byte of an escape code.
pub(crate) const ESCAPE: u8 = 0x1b;

/// Returns `text` without the escape codes that set colours.
pub(crate) fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut parts = text.split(|byte| *byte == ESCAPE);
    plain.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.iter().position(|byte| !b"[0123456789;".contains(byte));
        let rest = match end.filter(|_| part.starts_with(b"[")) {
            Some(end) if matches!(part.get(end), Some(b'm' | b'K')) => part.get(end + 1..),
            _ => {
                plain.push(ESCAPE);
                Some(part)
            }
        };
        plain.extend_from_slice(rest.unwrap_or_default());
    }
    plain
}

/// Returns a line without the zero-width characters that it begins with.
pub(crate) fn without_zero_width(line: &[u8]) -> &[u8] {
    const CHARACTERS: [char; 4] = ['\u{200b}', '\u{200c}', '\u{2060}', '\u{feff}'];
    let is_none = |c: char, line: &[u8]| line.starts_with(c.encode_utf8(&mut [0; 4]).as_bytes());
    let mut rest = line;
    while let Some(c) = CHARACTERS.into_iter().find(|c| is_none(*c, rest)) {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    rest
}

/// Splits off a template token at the end of a text, as a server leaves it there: a name between bars, `<|im_end|>`,
/// `<｜end▁of▁sentence｜>`, `</s>` aside no other. Returns the text before it, and the token.
///
/// The token must occur only once: a text about such tokens also has them elsewhere.
pub(crate) fn at_end(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let (before, token) = text.split_at_checked(memchr::memrchr(b'<', text)?)?;
    let is_only = memchr::memmem::find(before, token).is_none();
    ((token == b"</s>" || is_template_token(token)) && is_only).then_some((before, token))
}

/// Returns true if `token` is a name between bars.
fn is_template_token(token: &[u8]) -> bool {
    let text = std::str::from_utf8(token).unwrap_or_default();
    let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    let name = inner.map(|inner| inner.trim_start_matches('/')).unwrap_or_default();
    let between = name.strip_prefix('|').and_then(|name| name.strip_suffix('|'));
    let is_name = between.is_some_and(|name| name.len() > 2) || name.contains('\u{ff5c}');
    is_name && !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_codes_are_removed_and_others_stay() {
        assert_eq!(without_escapes(b"\x1b[1;32m+a\x1b[0m\x1b[K\n"), b"+a\n");
        assert_eq!(without_escapes(b"a\x1b]0;x\x1b"), b"a\x1b]0;x\x1b");
    }

    #[test]
    fn a_template_token_is_removed_only_at_the_very_end() {
        let cut = |text: &'static str| at_end(text.as_bytes()).map(|(before, _)| before);
        assert_eq!(cut("+c<|im_end|>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>"), Some(&b"+c"[..]));
        assert_eq!(cut("```\n<|im_end|>\n"), Some(&b"```\n"[..]));
        assert_eq!(cut("+c<\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c\n</\u{ff5c}DSML\u{ff5c}function_calls>"), Some(&b"+c\n"[..]));
        assert_eq!(cut("+c</s>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c<|END_OF_TURN_TOKEN|>"), Some(&b"+c"[..]));
        for text in ["<|im_end|>\n+<|im_end|>", "+c<|x|>", "+a|>", "+c[EOS]"] {
            assert_eq!(cut(text), None, "{text}");
        }
    }
}
