//! Parses one word of a command line as a shell would pass it: quotes removed, nothing expanded. Pure.

use std::borrow::Cow;

use policy::Opaque;

/// A parsed word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The word as the shell passes it.
    pub(super) value: String,
    /// True if the word has an unquoted wildcard or `~`.
    pub(super) expands: bool,
    /// True if any part is quoted, so that a shell does not look for keywords or assignments in it.
    pub(super) quoted: bool,
}

/// Parses the source of one word. Characters that would end a word or start other syntax are errors.
pub(super) fn read_word(source: &str) -> Result<Word, Opaque> {
    let mut word = Word { value: String::new(), expands: false, quoted: false };
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '\'' => single_quoted(after, &mut word)?,
            '"' => double_quoted(after, &mut word)?,
            '\\' => escaped(after, &mut word)?,
            '$' | '`' => return Err(Opaque::Substitution),
            '{' | '}' => return Err(Opaque::Braces),
            // Not part of a word: the caller's tokenizer disagrees with this one.
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                return Err(Opaque::Unreadable);
            }
            '#' if word.value.is_empty() && !word.quoted => return Err(Opaque::Unreadable),
            other => {
                word.expands |= matches!(other, '*' | '?' | '[' | '~');
                word.value.push(other);
                after
            }
        };
    }
    Ok(word)
}

fn single_quoted<'a>(rest: &'a str, word: &mut Word) -> Result<&'a str, Opaque> {
    word.quoted = true;
    let (inner, after) = rest.split_once('\'').ok_or(Opaque::Unreadable)?;
    word.value.push_str(inner);
    Ok(after)
}

fn double_quoted<'a>(rest: &'a str, word: &mut Word) -> Result<&'a str, Opaque> {
    word.quoted = true;
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(rest.get(at + 1..).unwrap_or_default()),
            '$' | '`' => return Err(Opaque::Substitution),
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => word.value.push(escaped),
                Some((_, '\n')) => {}
                Some((_, other)) => word.value.extend(['\\', other]),
                None => return Err(Opaque::Unreadable),
            },
            other => word.value.push(other),
        }
    }
    Err(Opaque::Unreadable)
}

fn escaped<'a>(rest: &'a str, word: &mut Word) -> Result<&'a str, Opaque> {
    word.quoted = true;
    match rest.chars().next() {
        // A line continuation.
        Some('\n') | None => Err(Opaque::Unreadable),
        Some(c) => {
            word.value.push(c);
            Ok(rest.get(c.len_utf8()..).unwrap_or_default())
        }
    }
}

/// Returns whether it is easy to tell where quotes begin and end in a line.
fn has_simple_quotes(line: &str) -> bool {
    !line.contains(['#', '$']) && !line.contains("<<")
}

/// Counts the pipes in a line. Pipes in quotes are left out if the quotes are simple.
pub(super) fn pipes(line: &str) -> usize {
    let is_simple = has_simple_quotes(line) && !ends_in_quotes(line);
    let (mut quote, mut run, mut pipes) = (None, 0, 0);
    let mut chars = line.chars().chain([' ']);
    while let Some(c) = chars.next() {
        if c == '|' && (quote.is_none() || !is_simple) {
            run += 1;
            continue;
        }
        // `||` is not a pipe.
        pipes += std::mem::take(&mut run) % 2;
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (Some(open), c) if open == c => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    pipes
}

/// Returns whether the text ends inside quotes, assuming simple quotes.
pub(super) fn ends_in_quotes(text: &str) -> bool {
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (Some(open), c) if open == c => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    quote.is_some()
}

/// Replaces backquotes with the equivalent `$(…)`. To the grammar each backquote may open or close, and it compares all
/// ways to parse them, which with many operators never finishes. Returns `None` if the backquotes do not pair up, or
/// are quoted in a way that is not simple.
pub(super) fn with_brackets(line: &str) -> Option<Cow<'_, str>> {
    if !line.contains('`') {
        return Some(line.into());
    }
    let is_simple = has_simple_quotes(line);
    let (mut plain, mut quote, mut inside) = (String::with_capacity(line.len()), None, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            // Inside backquotes, the next one closes them, whatever else is open.
            (_, '`') if let Some(outer) = inside.take() => {
                quote = outer;
                plain.push(')');
            }
            (None | Some('"'), '`') => {
                inside = Some(quote.take());
                plain.push_str("$(");
            }
            (Some(_), '`') if !is_simple => return None,
            (None | Some('"'), '\\') => {
                let next = chars.next();
                // Nested backquotes.
                if next == Some('`') && (inside.is_some() || !is_simple) {
                    return None;
                }
                plain.push('\\');
                plain.extend(next);
            }
            (open, c) => {
                match open {
                    None if matches!(c, '\'' | '"') => quote = Some(c),
                    Some(open) if open == c => quote = None,
                    None | Some(_) => {}
                }
                plain.push(c);
            }
        }
    }
    inside.is_none().then(|| plain.into())
}
