//! The tokens of Rust sources, as far as finding texts in them needs it. Comments and lifetimes are left out.

use std::ops::Range;

/// A token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    kind: Kind,
    /// The line, counted from one.
    pub(crate) line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Word(String),
    /// A string literal, as it is at run time.
    Text(String),
    Sign(char),
    /// A character or a byte.
    Character,
}

impl Token {
    pub(crate) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub(crate) fn is_word(&self, name: &str) -> bool {
        self.word() == Some(name)
    }

    pub(crate) fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub(crate) fn opens(&self) -> bool {
        ['(', '[', '{'].iter().any(|sign| self.is(*sign))
    }

    pub(crate) fn closes(&self) -> bool {
        [')', ']', '}'].iter().any(|sign| self.is(*sign))
    }
}

/// Returns the place of the bracket that closes the one at `open`.
pub(crate) fn close(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth += usize::from(token.opens());
        depth = depth.saturating_sub(usize::from(token.closes()));
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Splits a range at its commas outside of brackets. Empty parts are left out.
pub(crate) fn split_at_commas(tokens: &[Token], range: Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut at) = (Vec::new(), range.start, range.start);
    while at < range.end {
        if tokens[at].is(',') {
            parts.push(start..at);
            start = at + 1;
        }
        at = if tokens[at].opens() { close(tokens, at) + 1 } else { at + 1 };
    }
    parts.push(start..range.end.max(start));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the tokens of a file, and apart from them those of its `#[cfg(test)]` items.
pub(crate) fn read_tokens(code: &str) -> (Vec<Token>, Vec<Token>) {
    let all = tokens_of(code);
    let (mut kept, mut tests, mut at) = (Vec::new(), Vec::new(), 0);
    while at < all.len() {
        let attribute = all[at..].iter().take(7).collect::<Vec<_>>();
        let is_test = attribute.len() == 7
            && attribute[0].is('#')
            && attribute[2].is_word("cfg")
            && attribute[4].is_word("test")
            && attribute[5].is(')');
        if !is_test {
            kept.push(all[at].clone());
            at += 1;
            continue;
        }
        let begun = at;
        at += 7;
        while at < all.len() && !all[at].is(';') && !all[at].is('{') {
            at = if all[at].opens() { close(&all, at) + 1 } else { at + 1 };
        }
        if at < all.len() && all[at].is('{') {
            at = close(&all, at);
        }
        at = (at + 1).min(all.len());
        tests.extend_from_slice(&all[begun..at]);
    }
    (kept, tests)
}

/// Reads all tokens.
fn tokens_of(code: &str) -> Vec<Token> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), code, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first);
        tokens.extend(kind.map(|kind| Token { kind, line }));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// Returns the token that a text begins with, and its length. There is none in blanks and comments.
fn next(rest: &str, first: char) -> (Option<Kind>, usize) {
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(hashes) =
        raw.strip_prefix('r').map(|it| it.len() - it.trim_start_matches('#').len())
        && raw[1 + hashes..].starts_with('"')
    {
        let begins = rest.len() - raw.len() + hashes + 2;
        let ends = format!("\"{}", "#".repeat(hashes));
        let length = rest[begins..].find(&ends).unwrap_or(rest.len() - begins);
        let text = rest[begins..begins + length].to_owned();
        return (Some(Kind::Text(text)), begins + length + ends.len());
    }
    if first == '"' {
        let (text, length) = string(&rest[1..]);
        return (Some(Kind::Text(text)), 1 + length);
    }
    if first == '\'' {
        let inside: Vec<char> = rest.chars().skip(1).take(2).collect();
        return match inside.as_slice() {
            ['\\', escaped] => {
                let begins = 2 + escaped.len_utf8();
                let end = rest[begins..].find('\'').map_or(rest.len(), |end| begins + end + 1);
                (Some(Kind::Character), end)
            }
            [character, '\''] => (Some(Kind::Character), 2 + character.len_utf8()),
            _ => (None, 1),
        };
    }
    let word =
        rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    if word > 0 {
        return (Some(Kind::Word(rest[..word].to_owned())), word);
    }
    (Some(Kind::Sign(first)).filter(|_| !first.is_whitespace()), first.len_utf8())
}

/// Reads the rest of a string literal. Returns its value and the length with the closing quote.
fn string(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => text.push('\n'),
                Some('\n') => while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some(escaped) => text.push(escaped),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, rest.len())
}
