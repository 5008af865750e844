//! The text functions behind the helpers. Their time is linear in the size of their input. Pure.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;
use similar::{Algorithm, TextDiff};

use crate::pieces::{Piece, PieceLines, SourceLines};

/// Links.
pub(crate) const URL: &str = r#"https?://[^\s<>"'`)\]]+"#;
/// File paths: with a separator, or with a short extension.
pub(crate) const PATH: &str = r"(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.[A-Za-z]{1,5}\b";
/// Dates, with the time if it follows.
pub(crate) const DATE: &str = r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b";
/// Maximum number of lines of each text in a comparison, whose time may grow faster than linearly.
pub(crate) const MAX_COMPARED_LINES: usize = 5000;

/// Splits a text into pieces of at most `most` lines.
pub(crate) fn chunk(lines: &PieceLines<'_>, most: usize) -> Vec<Piece> {
    let most = most.max(1);
    (0..lines.all.len()).step_by(most).filter_map(|at| lines.part(at, at + most)).collect()
}

/// Returns the ranges from each line that matches `start` to the next that matches `end`, both included.
pub(crate) fn between(lines: &PieceLines<'_>, start: &Regex, end: &Regex) -> Vec<Piece> {
    let (mut found, mut open) = (Vec::new(), None);
    for (at, line) in lines.all.iter().enumerate() {
        match open {
            None if start.is_match(line) => open = Some(at),
            Some(from) if end.is_match(line) => {
                found.extend(lines.part(from, at + 1));
                open = None;
            }
            None | Some(_) => {}
        }
    }
    found
}

/// Returns the lines before the first match.
pub(crate) fn before(lines: &PieceLines<'_>, pattern: &Regex) -> Option<Piece> {
    lines.part(0, first_line(lines, pattern)?)
}

/// Returns the lines after the first match.
pub(crate) fn lines_after(lines: &PieceLines<'_>, pattern: &Regex) -> Option<Piece> {
    lines.part(first_line(lines, pattern)? + 1, lines.all.len())
}

fn first_line(lines: &PieceLines<'_>, pattern: &Regex) -> Option<usize> {
    lines.all.iter().position(|line| pattern.is_match(line))
}

/// Returns the lines that match, or that do not, with `around` lines of context. Overlapping ranges are merged; without
/// context, each line is a separate piece.
pub(crate) fn grep(
    lines: &PieceLines<'_>,
    pattern: &Regex,
    wanted: bool,
    around: usize,
) -> Vec<Piece> {
    let (mut found, mut open): (Vec<Piece>, Option<(usize, usize)>) = (Vec::new(), None);
    for (at, line) in lines.all.iter().enumerate() {
        if pattern.is_match(line) != wanted {
            continue;
        }
        let (from, to) = (at.saturating_sub(around), at + around + 1);
        open = match open {
            Some((first, last)) if around > 0 && from <= last => Some((first, to)),
            Some((first, last)) => {
                found.extend(lines.part(first, last));
                Some((from, to))
            }
            None => Some((from, to)),
        };
    }
    found.extend(open.and_then(|(first, last)| lines.part(first, last)));
    found
}

/// Splits a text before each line that matches.
pub(crate) fn split_by(lines: &PieceLines<'_>, pattern: &Regex) -> Vec<Piece> {
    let matching = lines.all.iter().enumerate().filter(|(_, line)| pattern.is_match(line));
    let mut edges: Vec<usize> = matching.map(|(at, _)| at).collect();
    if edges.first() != Some(&0) {
        edges.insert(0, 0);
    }
    edges.push(lines.all.len());
    edges.windows(2).filter_map(|edge| lines.part(*edge.first()?, *edge.last()?)).collect()
}

/// Counts the matches.
pub(crate) fn count_matches(lines: &PieceLines<'_>, pattern: &Regex) -> usize {
    lines.all.iter().map(|line| pattern.find_iter(line).count()).sum()
}

/// Returns all matches, or their first group, each with its line if the text is from a file.
pub(crate) fn find_all(
    lines: &PieceLines<'_>,
    pattern: &Regex,
) -> Vec<(String, Option<SourceLines>)> {
    let on = |(at, line): (usize, &&str)| {
        let texts = pattern.captures_iter(line).filter_map(|found| {
            found.get(1).or_else(|| found.get(0)).map(|it| it.as_str().to_owned())
        });
        texts.map(|text| (text, lines.span(at, at + 1))).collect::<Vec<_>>()
    };
    lines.all.iter().enumerate().flat_map(on).collect()
}

/// Returns the outermost JSON objects in a text.
pub(crate) fn json_objects(text: &str) -> Vec<Value> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text.get(at..).and_then(|rest| rest.find('{')).map(|ahead| at + ahead) {
        let rest = text.get(start..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        at = match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                start + values.byte_offset()
            }
            Some(Err(_)) | None => start + 1,
        };
    }
    found
}

/// Counts the words of a text, in lower case.
fn words(text: &str) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    for word in words.filter(|word| !word.is_empty()) {
        *counted.entry(word.to_lowercase()).or_default() += 1;
    }
    counted
}

/// Returns the indices of texts, ordered by how well they match a query; rare words count more.
pub(crate) fn ranked(texts: &[String], query: &str) -> Vec<usize> {
    let counted: Vec<BTreeMap<String, usize>> = texts.iter().map(|text| words(text)).collect();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let rarity: Vec<(String, f64)> = words(query)
        .into_keys()
        .map(|word| {
            let with = counted.iter().filter(|words| words.contains_key(&word)).count();
            (word, (1.0 + texts.len() as f64 / (with as f64 + 0.5)).ln())
        })
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let score = |words: &BTreeMap<String, usize>| -> f64 {
        let times = |word: &str| words.get(word).copied().unwrap_or_default() as f64;
        rarity.iter().map(|(word, rarity)| rarity * times(word) / (times(word) + 1.5)).sum()
    };
    let mut scored: Vec<(usize, f64)> = counted.iter().map(score).enumerate().collect();
    scored.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then(a.cmp(b)));
    scored.into_iter().map(|(at, _)| at).collect()
}

/// Counts equal texts, the most frequent first.
pub(crate) fn frequency(texts: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counted.entry(text).or_default() += 1;
    }
    let mut counted: Vec<(String, usize)> = counted.into_iter().collect();
    counted.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
    counted
}

/// Returns the first match in a text, or its first group; empty without a match.
pub(crate) fn first_match(pattern: &Regex, text: &str) -> String {
    let found = pattern.captures(text);
    let group = found.and_then(|it| it.get(1).or_else(|| it.get(0)));
    group.map_or_else(String::new, |it| it.as_str().to_owned())
}

/// Returns the share of their words that two texts have in common.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    let (one, other): (BTreeSet<String>, BTreeSet<String>) =
        (words(one).into_keys().collect(), words(other).into_keys().collect());
    let all = one.union(&other).count();
    if all == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = one.intersection(&other).count() as f64 / all as f64;
    share
}

/// Returns a unified diff of two texts.
pub(crate) fn diff(one: &str, other: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Histogram).diff_lines(one, other);
    diff.unified_diff().context_radius(3).to_string()
}
