//! The hints that the sources can print, found by form: arguments of `.hint(…)`, values named `hint`, and text after `hint: `.

use std::collections::BTreeSet;
use std::ops::Range;

use super::tokens::{Token, close, split_at_commas};

/// A hint in the sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    /// The text, with `{…}` where something is filled in.
    pub(crate) template: String,
    /// The path of its file from the root, and the line.
    pub(crate) place: (String, usize),
}

impl Site {
    /// Returns the literal parts of the text, without what surrounds them.
    pub(crate) fn pieces(&self) -> Vec<&str> {
        let pieces = self.template.split('{').map(|part| part.rsplit('}').next().unwrap_or(part));
        pieces.map(str::trim).filter(|piece| !piece.is_empty()).collect()
    }

    /// Returns true if a printed hint has all the literal parts in this order.
    pub(crate) fn is_in(&self, printed: &str) -> bool {
        let pieces = self.pieces();
        let found = pieces
            .iter()
            .try_fold(printed, |rest, piece| rest.split_once(piece).map(|(_, rest)| rest));
        found.is_some()
    }
}

/// A source file.
pub(crate) struct Source {
    /// The path from the root.
    pub(crate) path: String,
    /// The code, without tests.
    pub(crate) tokens: Vec<Token>,
}

/// Returns the hints of these sources, in order.
pub(crate) fn sites(sources: &[Source]) -> Vec<Site> {
    let mut found = BTreeSet::new();
    for file in 0..sources.len() {
        let mut search = Search { sources, found: &mut found, seen: BTreeSet::new() };
        for range in set_in(&sources[file].tokens) {
            search.resolve(file, range);
        }
        for (name, argument) in takes_a_hint(&sources[file].tokens) {
            for range in calls(&sources[file].tokens, &name, argument) {
                search.resolve(file, range);
            }
        }
        search.printed_in(file);
    }
    found.into_iter().collect()
}

/// Returns the expressions that are set as a hint: `.hint(EXPR)`, `let hint = EXPR;` and `hint: EXPR`.
fn set_in(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let is = |offset: usize, sign| tokens.get(at + offset).is_some_and(|it| it.is(sign));
        let before = |sign: &char| at > 0 && tokens[at - 1].is(*sign);
        if tokens[at].is_word("hint") && is(1, '(') && before(&'.') {
            found.push(at + 2..close(tokens, at + 1));
        } else if tokens[at].is_word("hint") && is(1, ':') && [',', '{'].iter().any(before) {
            found.push(at + 2..end(tokens, at + 2, ','));
        } else if let Some((pattern, value)) = bound(tokens, at)
            && tokens[pattern].iter().any(|it| it.is_word("hint"))
        {
            found.push(value);
        }
    }
    found
}

/// Returns the pattern and the value of the `let` at this place. In a condition it only takes a value apart.
fn bound(tokens: &[Token], at: usize) -> Option<(Range<usize>, Range<usize>)> {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let tests = before.is_some_and(|it| it.is_word("if") || it.is_word("while") || it.is('&'));
    if !tokens[at].is_word("let") || tests {
        return None;
    }
    let equals = end(tokens, at + 1, '=');
    tokens.get(equals)?.is('=').then(|| (at + 1..equals, equals + 1..end(tokens, equals + 1, ';')))
}

/// Returns where an expression ends: at this sign, or at the bracket around it.
fn end(tokens: &[Token], from: usize, sign: char) -> usize {
    let mut at = from;
    while let Some(token) = tokens.get(at).filter(|it| !it.is(sign)) {
        if token.closes() {
            return at;
        }
        at = if token.opens() { close(tokens, at) + 1 } else { at + 1 };
    }
    at.min(tokens.len())
}

/// Returns the functions and closures with a parameter `hint`, and its position. Methods are not among them.
fn takes_a_hint(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for at in 2..tokens.len() {
        let (name, parameters) = if tokens[at - 1].is_word("fn") {
            let open = end(tokens, at, '(');
            (at, open + 1..close(tokens, open))
        } else if tokens[at].is('|') && tokens[at - 1].is('=') {
            (at - 2, at + 1..end(tokens, at + 1, '|'))
        } else {
            continue;
        };
        let parts = split_at_commas(tokens, parameters);
        let position = parts.into_iter().position(|part| tokens[part.start].is_word("hint"));
        found.extend(tokens[name].word().zip(position).map(|(name, at)| (name.to_owned(), at)));
    }
    found.retain(|(name, _)| name != "hint");
    found
}

/// Returns an argument of every call of a function.
fn calls(tokens: &[Token], name: &str, argument: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for at in 1..tokens.len().saturating_sub(1) {
        let is_call = tokens[at].is_word(name) && tokens[at + 1].is('(');
        if is_call && !tokens[at - 1].is_word("fn") {
            let arguments = split_at_commas(tokens, at + 2..close(tokens, at + 1));
            found.extend(arguments.into_iter().nth(argument));
        }
    }
    found
}

/// Collects the texts that an expression can have.
struct Search<'s> {
    sources: &'s [Source],
    found: &'s mut BTreeSet<Site>,
    /// The definitions that were followed.
    seen: BTreeSet<(usize, usize)>,
}

impl Search<'_> {
    /// Adds the literals of an expression, and of the constants and functions of the same file that it names. An expression
    /// without literals may also be a variable, or a call of a function of another file.
    fn resolve(&mut self, file: usize, range: Range<usize>) {
        let tokens = &self.sources[file].tokens;
        let has_literal = tokens[range.clone()].iter().any(|it| it.text().is_some());
        let mut at = range.start;
        while at < range.end {
            // A constant inside of a function counts where it is named.
            at = if tokens[at].is_word("const") { end(tokens, at, ';') } else { at };
            if let Some(text) = tokens[at].text() {
                self.add(file, tokens[at].line, text);
            } else if let Some(name) = tokens[at].word() {
                let is_method = tokens[at - 1].is('.') && !tokens[at - 2].is_word("self");
                let is_call = tokens.get(at + 1).is_some_and(|it| it.is('('));
                let is_elsewhere = is_call && tokens[at - 1].is(':') && !has_literal;
                let kind = if is_call { "fn" } else { "const" };
                if is_elsewhere {
                    (0..self.sources.len()).for_each(|file| self.follow(file, kind, name));
                } else if !is_method {
                    self.follow(file, kind, name);
                }
            }
            at += 1;
        }
        if !has_literal && !range.is_empty() {
            let name = tokens[range.start].word().unwrap_or_default();
            let of_name = |(pattern, value): (Range<usize>, Range<usize>)| {
                (tokens[pattern.start].is_word(name) && value.end < range.start).then_some(value)
            };
            let value = (0..range.start).rev().filter_map(|at| bound(tokens, at)).find_map(of_name);
            if let Some(value) = value.filter(|value| self.seen.insert((file, value.start))) {
                self.resolve(file, value);
            }
        }
    }

    /// Adds the texts of a constant, or of a function that returns a text, if this file defines it.
    fn follow(&mut self, file: usize, kind: &str, name: &str) {
        let tokens = &self.sources[file].tokens;
        let defines = |at: &usize| tokens[*at].is_word(name) && tokens[at - 1].is_word(kind);
        let Some(at) = (1..tokens.len()).find(defines) else { return };
        let (kind, value) = if kind == "const" {
            let equals = end(tokens, at, '=');
            (at + 1..equals, equals..end(tokens, equals, ';'))
        } else {
            let open = end(tokens, at, '{');
            (close(tokens, end(tokens, at, '('))..open, open + 1..close(tokens, open))
        };
        // A table of texts is no text.
        let is_text = |it: &Token| ["str", "String", "Wording"].iter().any(|name| it.is_word(name));
        let kind = &tokens[kind];
        let is_followed = kind.iter().any(is_text) && !kind.iter().any(|it| it.is('['));
        if is_followed && self.seen.insert((file, at)) {
            self.resolve(file, value);
        }
    }

    /// Adds what is printed after `hint: ` without an error.
    fn printed_in(&mut self, file: usize) {
        for token in &self.sources[file].tokens {
            if let Some((_, hint)) = token.text().and_then(|text| text.split_once("hint: ")) {
                self.add(file, token.line, hint);
            }
        }
    }

    /// Adds a text of at least two words. Shorter ones are separators and names.
    fn add(&mut self, file: usize, line: usize, text: &str) {
        let place = (self.sources[file].path.clone(), line);
        let site = Site { template: text.to_owned(), place };
        let has_letter = |word: &&str| word.contains(char::is_alphabetic);
        let words = text.split_whitespace().filter(has_letter).count();
        if words >= 2 && site.pieces().iter().any(|piece| piece.contains(char::is_alphabetic)) {
            self.found.insert(site);
        }
    }
}
