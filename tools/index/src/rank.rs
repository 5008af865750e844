//! Which files a request is about, and which lines of them: several rankings, made one by their ranks. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::bm25;
use crate::kind::FileKind;
use crate::mentions::Credits;
use crate::postings::Postings;

/// Lines of a window, and how far apart windows begin: each line is in two of them.
pub const WINDOW: u32 = 40;
const STRIDE: u32 = WINDOW / 2;
/// Files of which single lines are weighed.
const WITH_LINES: usize = 32;
/// Added to each rank, so that the first places do not decide alone.
const RANK_OFFSET: f64 = 20.0;
/// What the second window of a file adds to its first.
const SECOND_WINDOW: f64 = 0.5;
/// What each ranking counts: words, windows, names, paths, messages, changes.
const WEIGHTS: [f64; 6] = [1.0, 1.0, 0.7, 0.8, 1.0, 0.1];

/// A file of the tree.
#[derive(Debug, Clone)]
pub(crate) struct FileFacts {
    /// What it is for.
    pub(crate) kind: FileKind,
    /// How many words it has.
    pub(crate) words: u32,
    /// How much the words of its name say, if all of them are in the request.
    pub(crate) name: f64,
    /// How much those words of its path say that are in the request.
    pub(crate) path: f64,
}

/// A file with something to do with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    /// Its number.
    pub(crate) file: u32,
    /// Windows in which words of the request stand, best first.
    pub(crate) windows: Vec<Window>,
    /// Lines with such words, and how much they say; only of the first files.
    pub(crate) lines: Vec<(u32, f64)>,
}

/// Some lines of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The first line, from 1. There are [`WINDOW`] of them, or as many as the file has.
    pub first: u32,
    /// How much they have to do with the request.
    pub score: f64,
}

/// Orders the files, of which so many are `texts`, best first. `postings` are those of each word of the request.
pub(crate) fn rank(
    files: &[FileFacts],
    texts: usize,
    postings: &[Postings],
    credits: &Credits,
) -> Vec<Ranked> {
    let mut windows = windows(texts, postings);
    let by_window: HashMap<u32, f64> = windows
        .iter()
        .map(|(file, windows)| {
            let mut scores = windows.iter().map(|window| window.score);
            let best = scores.next().unwrap_or_default();
            (*file, best + SECOND_WINDOW * scores.next().unwrap_or_default())
        })
        .collect();
    let weighted = |scores: HashMap<u32, f64>| -> HashMap<u32, f64> {
        let weight = |file: u32| files.get(file as usize).map_or(0.0, |file| file.kind.weight());
        scores.into_iter().map(|(file, score)| (file, score * weight(file))).collect()
    };
    let by = |score: fn(&FileFacts) -> f64| weighted((0..).zip(files.iter().map(score)).collect());
    let rankings = [
        weighted(by_words(files, texts, postings)),
        weighted(by_window),
        by(|file| file.name),
        by(|file| file.path),
        weighted(credits.messages.clone()),
        weighted(credits.changes.clone()),
    ];
    let mut fused: HashMap<u32, f64> = HashMap::new();
    for (scores, weight) in rankings.iter().zip(WEIGHTS) {
        for (file, rank) in in_order(scores).into_iter().zip(1..) {
            *fused.entry(file).or_default() += weight / (RANK_OFFSET + f64::from(rank));
        }
    }
    let order = in_order(&fused);
    let mut lines = lines(order.get(..WITH_LINES).unwrap_or(&order), texts, postings);
    let ranked = order.into_iter().map(|file| Ranked {
        file,
        windows: windows.remove(&file).unwrap_or_default(),
        lines: lines.remove(&file).unwrap_or_default(),
    });
    ranked.collect()
}

/// What each line of these files says about the request.
fn lines(files: &[u32], texts: usize, postings: &[Postings]) -> HashMap<u32, Vec<(u32, f64)>> {
    let mut weights: HashMap<u32, BTreeMap<u32, f64>> =
        files.iter().map(|file| (*file, BTreeMap::new())).collect();
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let Some(weights) = weights.get_mut(&file) else { continue };
            for line in lines.chunk_by(|a, b| a == b).filter_map(|same| same.first()) {
                if *line > 0 {
                    *weights.entry(*line).or_default() += idf;
                }
            }
        }
    }
    weights.into_iter().map(|(file, weights)| (file, weights.into_iter().collect())).collect()
}

/// Files with a score, best first, then by number.
fn in_order(scores: &HashMap<u32, f64>) -> Vec<u32> {
    let mut order: Vec<(u32, f64)> = scores
        .iter()
        .map(|(file, score)| (*file, *score))
        .filter(|(_, score)| *score > 0.0)
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().map(|(file, _)| file).collect()
}

fn by_words(files: &[FileFacts], texts: usize, postings: &[Postings]) -> HashMap<u32, f64> {
    let sum: usize = files.iter().map(|file| file.words as usize).sum();
    let average = bm25::average(sum, texts);
    let mut scores: HashMap<u32, f64> = HashMap::new();
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let length = files.get(file as usize).map_or(0, |file| file.words as usize);
            *scores.entry(file).or_default() += bm25::score(idf, lines.len(), length, average);
        }
    }
    scores
}

/// The windows of each file, best first.
fn windows(texts: usize, postings: &[Postings]) -> HashMap<u32, Vec<Window>> {
    // Of each file the score of each window.
    let mut scores: HashMap<u32, Vec<f64>> = HashMap::new();
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let in_path = lines.partition_point(|line| *line == 0);
            let lines = lines.get(in_path..).unwrap_or_default();
            add_word(lines, idf, scores.entry(file).or_default());
        }
    }
    let sorted = |scores: Vec<f64>| {
        let firsts = (0..).map(|number| 1 + number * STRIDE);
        let mut windows: Vec<Window> =
            firsts.zip(scores).map(|(first, score)| Window { first, score }).collect();
        windows.retain(|window| window.score > 0.0);
        windows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.first.cmp(&b.first)));
        windows
    };
    scores.into_iter().map(|(file, scores)| (file, sorted(scores))).collect()
}

/// Adds a word that stands on `lines`. Half a window is the second half of the window before it.
fn add_word(lines: &[u32], idf: f64, scores: &mut Vec<f64>) {
    let half = |line: u32| (line - 1) / STRIDE;
    let mut halves = lines
        .chunk_by(|a, b| half(*a) == half(*b))
        .filter_map(|lines| Some((half(*lines.first()?), lines.len())))
        .peekable();
    let mut before = None;
    while let Some((number, times)) = halves.next() {
        if let Some(window) = number.checked_sub(1) {
            let more = before.filter(|(before, _)| *before == window).map_or(0, |(_, times)| times);
            add(scores, window, bm25::score_of_equals(idf, times + more));
        }
        if halves.peek().is_none_or(|(next, _)| *next != number + 1) {
            add(scores, number, bm25::score_of_equals(idf, times));
        }
        before = Some((number, times));
    }
}

fn add(scores: &mut Vec<f64>, window: u32, score: f64) {
    let window = window as usize;
    if scores.len() <= window {
        scores.resize(window + 1, 0.0);
    }
    if let Some(sum) = scores.get_mut(window) {
        *sum += score;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postings(places: &[(u32, &[u32])]) -> Postings {
        let mut postings = Postings::default();
        for (file, lines) in places {
            postings.add(*file, |all| all.extend_from_slice(lines));
        }
        postings
    }

    fn source(words: u32) -> FileFacts {
        FileFacts { kind: FileKind::Source, words, name: 0.0, path: 0.0 }
    }

    #[test]
    fn windows_overlap_by_half() {
        let found = windows(9, &[postings(&[(0, &[0, 1, 21, 21, 100])])]);
        let mut firsts: Vec<u32> =
            found.get(&0).unwrap().iter().map(|window| window.first).collect();
        assert_eq!(firsts.first(), Some(&1));
        firsts.sort_unstable();
        assert_eq!(firsts, [1, 21, 61, 81]);
    }

    #[test]
    fn a_word_of_the_path_alone_opens_no_window() {
        assert!(windows(9, &[postings(&[(0, &[0, 0])])]).get(&0).unwrap().is_empty());
    }

    #[test]
    fn rankings_are_fused_and_ties_are_broken_by_path() {
        let files = [source(10), source(10), source(10), source(10)];
        let words = [postings(&[(1, &[3]), (2, &[3])]), postings(&[(2, &[4]), (3, &[4])])];
        let order = |credits: &Credits| -> Vec<u32> {
            rank(&files, files.len(), &words, credits).iter().map(|ranked| ranked.file).collect()
        };
        assert_eq!(order(&Credits::default()), [2, 1, 3]);
        let messages = [(0, 2.0), (3, 9.0)].into_iter().collect();
        let credits = Credits { messages, ..Credits::default() };
        assert_eq!(order(&credits), [3, 2, 1, 0]);
    }

    #[test]
    fn a_path_that_has_words_of_the_request_counts() {
        let files = [0.0, 0.0, 2.0].map(|path| FileFacts { path, ..source(10) });
        let words = [postings(&[(0, &[1]), (1, &[1]), (2, &[1])])];
        let ranked = rank(&files, files.len(), &words, &Credits::default());
        assert_eq!(ranked.iter().map(|ranked| ranked.file).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn tests_come_after_source_and_what_is_aside_not_at_all() {
        let kinds = [FileKind::Aside, FileKind::Test, FileKind::Source];
        let files = kinds.map(|kind| FileFacts { kind, words: 10, name: 0.0, path: 0.0 });
        let words = [postings(&[(0, &[1]), (1, &[1]), (2, &[1])])];
        let ranked = rank(&files, files.len(), &words, &Credits::default());
        assert_eq!(ranked.iter().map(|ranked| ranked.file).collect::<Vec<_>>(), [2, 1]);
    }

    proptest::proptest! {
        #[test]
        fn windows_count_each_line_in_both(lines in proptest::collection::btree_set(1u32..400, 1..20)) {
            let lines: Vec<u32> = lines.into_iter().collect();
            let found = windows(9, &[postings(&[(0, &lines)])]);
            let idf = bm25::idf(9, 1);
            for first in (0..25).map(|number| 1 + number * STRIDE) {
                let times = lines.iter().filter(|line| (first..first + WINDOW).contains(line)).count();
                let score = found.get(&0).unwrap().iter().find(|window| window.first == first);
                let expected = if times == 0 { 0.0 } else { bm25::score_of_equals(idf, times) };
                let score = score.map_or(0.0, |window| window.score);
                proptest::prop_assert!((score - expected).abs() < 1e-9, "{first}: {score} {expected}");
            }
        }
    }
}
