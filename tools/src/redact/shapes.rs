//! Finds text that looks like a secret: the shapes in the table, and key blocks of several lines. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::Regex;

use super::table::{KEYS, KeyCharacters, MatchSecrecy, MatchStart, PATTERNS};
use super::values::{is_ordinary, is_placeholder, is_secret_name};

/// Bytes that a pattern is matched against. A longer secret is cut there, and then extended to the end of its last word.
const WINDOW: usize = 1024;
/// Longer words are not names.
const LONGEST_NAME: usize = 64;

/// How the header lines of key blocks end.
const BLOCKS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
/// How these headers begin, and at most how many bytes before the end.
const HEADER: (&str, usize) = ("-----BEGIN ", 40);
/// How the line after a block begins.
const FOOTER: &str = "-----END ";
/// The header of a block that states its number of lines.
const COUNTED_BLOCK: &str = "Private-Lines: ";

/// What the text at a match may turn out to be.
#[derive(Clone, Copy)]
enum Shape {
    Key(KeyCharacters, usize),
    Pattern(usize),
    Block,
    CountedBlock,
}

struct Shapes {
    finder: AhoCorasick,
    of: Vec<Shape>,
    patterns: Vec<Regex>,
}

static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let (mut beginnings, mut of) = (Vec::new(), Vec::new());
    let mut add = |beginning, shape| {
        beginnings.push(beginning);
        of.push(shape);
    };
    for (beginning, made, least) in KEYS {
        add(beginning, Shape::Key(made, least));
    }
    for (index, (parts, ..)) in PATTERNS.iter().enumerate() {
        for part in *parts {
            add(part, Shape::Pattern(index));
        }
    }
    for header in BLOCKS {
        add(header, Shape::Block);
    }
    add(COUNTED_BLOCK, Shape::CountedBlock);
    let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(beginnings).ok()?;
    let patterns =
        PATTERNS.iter().map(|(.., pattern)| Regex::new(&format!(r"(?-u)\A(?:{pattern})")));
    Some(Shapes { finder, of, patterns: patterns.collect::<Result<_, _>>().ok()? })
});

/// Finds everything that looks like a secret. No span crosses a line.
pub(super) fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let Some(shapes) = SHAPES.as_ref() else { return spans };
    // Text that is secret or was already examined is not examined again, so that the time stays linear in the length of
    // the text.
    let mut done = 0;
    let mut looked_at = vec![0; shapes.of.len()];
    for found in shapes.finder.find_overlapping_iter(text) {
        let Some(looked_at) = looked_at.get_mut(found.pattern().as_usize()) else { continue };
        if found.start() < done.max(*looked_at) {
            continue;
        }
        let looks_so = match shapes.of.get(found.pattern().as_usize()) {
            Some(Shape::Key(made, least)) => key(text, found.range(), *made, *least),
            Some(Shape::Pattern(index)) => shapes.pattern(*index, text, found.start()),
            Some(Shape::Block) => {
                done = done.max(block(text, found.range(), &mut spans));
                None
            }
            Some(Shape::CountedBlock) => {
                done = done.max(counted_block(text, found.end(), &mut spans));
                None
            }
            None => None,
        };
        match looks_so {
            Some(Looks::Secret(span)) => {
                done = done.max(span.end);
                spans.push(span);
            }
            Some(Looks::Ordinary { until }) => *looked_at = until,
            None => {}
        }
    }
    spans
}

/// The verdict on text that has the form of a secret.
enum Looks {
    Secret(Range<usize>),
    /// Words, names, places.
    Ordinary {
        until: usize,
    },
}

/// Examines a key whose prefix is at `beginning`.
fn key(text: &str, beginning: Range<usize>, made: KeyCharacters, least: usize) -> Option<Looks> {
    let before = text.as_bytes().get(..beginning.start)?.last();
    if before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rest = text.as_bytes().get(beginning.end..)?;
    let until = beginning.end + rest.iter().take_while(|byte| made.of(**byte)).count();
    let whole = text.get(beginning.end..until)?;
    // Names made of words, like `sk-learn-contrib-example`, are not keys.
    let is_words =
        matches!(made, KeyCharacters::Words | KeyCharacters::Dotted) && is_ordinary(whole);
    let is_key = whole.len() >= least && !is_words;
    Some(if is_key { Looks::Secret(beginning.start..until) } else { Looks::Ordinary { until } })
}

impl Shapes {
    fn pattern(&self, index: usize, text: &str, start: usize) -> Option<Looks> {
        let (_, begins, found, _) = PATTERNS.get(index)?;
        let digits = || {
            let before = text.as_bytes().get(..start).unwrap_or_default();
            before.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count()
        };
        let from = match begins {
            MatchStart::NotWithin if is_within(text, start) => return None,
            MatchStart::NotWithin | MatchStart::Anywhere => start,
            MatchStart::BehindDigits => match digits() {
                count @ 8..=10 => start - count,
                _ => return None,
            },
        };
        let bytes = text.as_bytes();
        let window = bytes.get(start..bytes.len().min(start + WINDOW))?;
        let is_of_a_name = |byte: &&u8| byte.is_ascii_alphabetic() || b"-_".contains(byte);
        let word = window.iter().take_while(is_of_a_name).count();
        if word > LONGEST_NAME {
            return Some(Looks::Ordinary { until: start + word });
        }
        let groups = self.patterns.get(index)?.captures(window)?;
        let name = groups.name("name").and_then(|name| str::from_utf8(name.as_bytes()).ok());
        if name.is_some_and(|name| !names_a_secret(name)) {
            return None;
        }
        let group = groups.get(groups.len() - 1)?.range();
        let first = if *begins == MatchStart::BehindDigits { from } else { start + group.start };
        let mut until = start + group.end;
        if group.end == window.len() {
            let goes_on = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.+/=".contains(byte);
            until += bytes.get(until..)?.iter().take_while(goes_on).count();
        }
        while !text.is_char_boundary(until) {
            until += 1;
        }
        let value = text.get(first..until)?;
        let is_secret = match found {
            MatchSecrecy::IsSecret => true,
            MatchSecrecy::UnlessPlaceholder => !is_placeholder(value),
            MatchSecrecy::UnlessOrdinary => !is_ordinary(value),
        };
        Some(if is_secret { Looks::Secret(first..until) } else { Looks::Ordinary { until } })
    }
}

/// Returns whether a name is that of a secret, even if its first letter is cut off.
fn names_a_secret(name: &str) -> bool {
    const CUT: [&str; 10] = [
        "assword",
        "asswd",
        "assphrase",
        "ecret",
        "oken",
        "pikey",
        "ccesskey",
        "ccountkey",
        "rivatekey",
        "pass",
    ];
    let flat: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    is_secret_name(name) || CUT.contains(&flat.to_lowercase().as_str())
}

/// Returns whether `at` is in the middle of a word or a key.
fn is_within(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default().last();
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Marks the lines of the block with this header, as far as they look like key material. Returns where they end.
fn block(text: &str, header: Range<usize>, spans: &mut Vec<Range<usize>>) -> usize {
    let before = text.as_bytes().get(header.start.saturating_sub(HEADER.1)..header.start);
    let begins = |bytes: &[u8]| memchr::memmem::find(bytes, HEADER.0.as_bytes()).is_some();
    if !before.is_some_and(begins) {
        return header.end;
    }
    let rest = text.get(header.end..).unwrap_or_default();
    let mut length = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        if let Some(at) = line.find(FOOTER) {
            length += at;
            break;
        }
        if index > 0 && !is_of_a_block(line) {
            break;
        }
        length += line.len();
    }
    lines(text, header.end..header.end + length, spans);
    header.end + length
}

/// Returns whether a line can belong to a block: base64 digits or a header, possibly quoted, numbered or part of a diff.
fn is_of_a_block(line: &str) -> bool {
    let may_stand =
        |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\\"',|- \t\r\n:.[]".contains(&byte);
    let words = line.split_whitespace().filter(|word| word.len() > 1).count();
    line.bytes().all(may_stand) && (words <= 2 || line.contains(": "))
}

/// Marks as many of the following lines as the header states.
fn counted_block(text: &str, from: usize, spans: &mut Vec<Range<usize>>) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let mut all = rest.split_inclusive('\n');
    let first = all.next().unwrap_or_default();
    let count: usize = first.trim().parse().unwrap_or_default();
    let length: usize = all.take(count).map(str::len).sum();
    let begin = from + first.len();
    lines(text, begin..begin + length, spans);
    begin + length
}

/// Marks the lines of a part of a text, without the line numbers or diff signs in front of them.
fn lines(text: &str, part: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let mut at = part.start;
    for line in text.get(part).unwrap_or_default().split_inclusive('\n') {
        let gutter = line.find('|').filter(|bar| {
            line.get(..*bar).is_some_and(|number| {
                number.bytes().all(|byte| byte == b' ' || byte.is_ascii_digit())
            })
        });
        let shown = line.get(gutter.map_or(0, |bar| bar + 1)..).unwrap_or_default();
        let prefix = line.len() - shown.trim_start_matches([' ', '\t', '-', '+']).len();
        let content = line.get(prefix..).unwrap_or_default().trim_end();
        // Text that is already masked is not masked again.
        if !content.is_empty() && !content.starts_with(super::OPENING) {
            spans.push(at + prefix..at + prefix + content.len());
        }
        at += line.len();
    }
}
