//! Text that serving leaks into answers: terminal escape codes, and tokens of the model's template. Pure.

/// The first byte of an escape code.
pub(super) const ESCAPE: u8 = 0x1b;

/// Returns `text` without the escape codes that set colours.
pub(super) fn without_escapes(text: &[u8]) -> Vec<u8> {
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
pub(super) fn without_zero_width(line: &[u8]) -> &[u8] {
    const CHARACTERS: [char; 4] = ['\u{200b}', '\u{200c}', '\u{2060}', '\u{feff}'];
    let is_none = |c: char, line: &[u8]| line.starts_with(c.encode_utf8(&mut [0; 4]).as_bytes());
    let mut rest = line;
    while let Some(c) = CHARACTERS.into_iter().find(|c| is_none(*c, rest)) {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    rest
}

/// Splits off a template token at the end of a text, as a server leaves it there: `<|im_end|>`, `<｜end▁of▁sentence｜>`,
/// `</s>`. Returns the text before it, and the token, or of `[EOS]` the name, which could also be that of an index.
///
/// The token must occur only once: a text about such tokens also has them elsewhere. No other text has tokens with wide
/// bars.
pub(super) fn at_end(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const WHOLE: [&str; 3] = ["</s>", "<end_of_turn>", "<eos>"];
    let text = text.trim_ascii_end();
    if let Some(bracket) = memchr::memrchr(b'[', text)
        && let Some((before, token)) = text.split_at_checked(bracket)
        && (token == b"[/INST]"
            || token.starts_with(b"[|") && token.ends_with(b"|]") && token.len() > 6)
        && memchr::memmem::find(before, token).is_none()
    {
        return Some((before, token));
    }
    if let Some(before) = text.strip_suffix(b"[EOS]").filter(|before| is_after_an_addition(before))
        && memchr::memmem::find(before, b"EOS").is_none()
    {
        return Some((before, b"EOS"));
    }
    let roles = [&b"user"[..], b"assistant", b"system"];
    let role =
        roles.iter().find_map(|role| text.strip_suffix(*role).filter(|it| it.ends_with(b"|>")));
    let inner = role.unwrap_or(text);
    let (before, token) = inner.split_at_checked(memchr::memrchr(b'<', inner)?)?;
    let is_whole = WHOLE.iter().any(|whole| whole.as_bytes() == token);
    let is_only = memchr::memmem::find(before, token).is_none();
    ((is_whole || is_template_token(token)) && is_only).then_some((before, token))
}

/// Returns true if `token` is one of a template, between bars: `<|im_end|>`, `<｜end▁of▁sentence｜>`.
pub(super) fn is_template_token(token: &[u8]) -> bool {
    const BAR: char = '\u{ff5c}';
    const NAMES: [&str; 10] = [
        "im_end",
        "im_start",
        "endoftext",
        "eot_id",
        "end_of_text",
        "end",
        "eom_id",
        "return",
        "EOT",
        "User",
    ];
    let text = std::str::from_utf8(token).unwrap_or_default();
    let name = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    name.is_some_and(|name| match name.strip_prefix('|').and_then(|it| it.strip_suffix('|')) {
        Some(name) => NAMES.contains(&name) || is_token(name),
        None => name.contains(BAR) && !name.contains(char::is_whitespace),
    })
}

/// Returns true if the last line of a text is an added one that is not empty: in context, `[EOS]` is what the file has.
fn is_after_an_addition(text: &[u8]) -> bool {
    let line = memchr::memrchr(b'\n', text).map_or(0, |newline| newline + 1);
    matches!(text.get(line..), Some([b'+', _, ..]))
}

/// Returns true if a name between bars is a template token: two or more words, or a role.
fn is_token(name: &str) -> bool {
    const ROLES: [&str; 5] = ["assistant", "user", "system", "call", "eos"];
    let is_name = name.len() > 5 && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    is_name && name.trim_matches('_').contains('_') || ROLES.contains(&name)
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
        assert_eq!(cut("+c[/INST]"), Some(&b"+c"[..]));
        assert_eq!(cut("+c[|endofturn|]"), Some(&b"+c"[..]));
        assert_eq!(cut("+c[EOS]"), Some(&b"+c"[..]));
        assert_eq!(cut("+c<|file_sep|>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c<|END_OF_TURN_TOKEN|>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c<|assistant|>"), Some(&b"+c"[..]));
        assert_eq!(cut("+c\n<|im_start|>user\n"), Some(&b"+c\n"[..]));
        for text in
            ["<|im_end|>\n+<|im_end|>", "+c<|x|>", "+a|>", " c[EOS]", "+[EOS]", " EOS\n+c[EOS]"]
        {
            assert_eq!(cut(text), None, "{text}");
        }
    }
}
