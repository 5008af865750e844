//! Ranks files and their lines for a request, by fusing several rankings. Pure.

use std::collections::HashMap;

use crate::defined::kind::FileKind;
use crate::ranked::bm25;
use crate::ranked::mentions::Credits;
use crate::stored::postings::Postings;

/// Lines in a window. Windows begin half a window apart, so each line is in two of them.
pub const WINDOW: u32 = 40;
const STRIDE: u32 = WINDOW / 2;
/// How many of the first files get windows and line scores.
const WITH_LINES: usize = 40;
/// Added to each rank, so that the first places do not dominate.
const RANK_OFFSET: f64 = 20.0;
/// Weight of a file's second-best window relative to its best.
const SECOND_WINDOW: f64 = 0.5;
/// Weights of the rankings: words, windows, names, paths, messages, changes.
const WEIGHTS: [f64; 6] = [1.0, 1.0, 0.7, 0.8, 1.0, 0.1];

/// What the ranking needs to know about a file.
#[derive(Debug, Clone)]
pub(crate) struct FileFacts {
    /// The purpose of the file.
    pub(crate) kind: FileKind,
    /// Number of words in the file.
    pub(crate) words: u32,
    /// The weight of the words in its name; zero unless the request contains all of them.
    pub(crate) name: f64,
    /// The weight of the words in its path that the request contains.
    pub(crate) path: f64,
}

/// A file that is relevant to a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    /// The number of the file.
    pub(crate) file: u32,
    /// Windows that contain words of the request, best first; only for the first files.
    pub(crate) windows: Vec<Window>,
    /// Lines that contain words of the request, with their weights; only for the first files.
    pub(crate) lines: Vec<(u32, f64)>,
}

/// A range of lines in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The first line, from 1. A window has [`WINDOW`] lines, or fewer at the end of a file.
    pub first: u32,
    /// How relevant the lines are to the request.
    pub score: f64,
}

/// Orders the files, best first. `texts` is the number of text files among them; `postings` has one entry per word of
/// the request.
pub(crate) fn rank_files(
    files: &[FileFacts],
    texts: usize,
    postings: &[Postings],
    credits: &Credits,
) -> Vec<Ranked> {
    let windows = windows(files.len(), texts, postings);
    let weighted = |score: &dyn Fn(usize, &FileFacts) -> f64| -> Vec<f64> {
        files.iter().enumerate().map(|(n, file)| score(n, file) * file.kind.weight()).collect()
    };
    let listed = |scores: &[f64]| weighted(&|n, _| scores.get(n).copied().unwrap_or_default());
    let rankings = [
        listed(&by_words(files, texts, postings)),
        weighted(&|n, _| windows.get(n).map_or(0.0, |windows| best_two(windows))),
        weighted(&|_, file| file.name),
        weighted(&|_, file| file.path),
        listed(&credits.messages),
        listed(&credits.changes),
    ];
    let mut fused = vec![0.0; files.len()];
    for (scores, weight) in rankings.iter().zip(WEIGHTS) {
        for (file, rank) in in_order(scores).into_iter().zip(1..) {
            add(&mut fused, file, weight / (RANK_OFFSET + f64::from(rank)));
        }
    }
    let order = in_order(&fused);
    let mut lines = lines(order.get(..WITH_LINES).unwrap_or(&order), texts, postings);
    let ranked = order.into_iter().map(|file| {
        let lines = lines.remove(&file);
        let scores = lines.as_ref().and_then(|_| windows.get(file as usize));
        Ranked {
            file,
            windows: scores.map(|scores| sorted(scores)).unwrap_or_default(),
            lines: lines.unwrap_or_default(),
        }
    });
    ranked.collect()
}

/// Returns the score of a file's best window plus a part of that of its second.
fn best_two(scores: &[f64]) -> f64 {
    let (best, second) = scores.iter().fold((0.0_f64, 0.0_f64), |(best, second), score| {
        (best.max(*score), second.max(score.min(best)))
    });
    best + SECOND_WINDOW * second
}

/// Returns the weight of each line of these files for the request.
fn lines(files: &[u32], texts: usize, postings: &[Postings]) -> HashMap<u32, Vec<(u32, f64)>> {
    let mut weights: HashMap<u32, Vec<(u32, f64)>> =
        files.iter().map(|file| (*file, Vec::new())).collect();
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let Some(weights) = weights.get_mut(&file) else { continue };
            let different = lines.chunk_by(|a, b| a == b).filter_map(|same| same.first());
            weights.extend(different.filter(|line| **line > 0).map(|line| (*line, idf)));
        }
    }
    for weights in weights.values_mut() {
        weights.sort_by_key(|(line, _)| *line);
        weights.dedup_by(|(line, more), (before, weight)| {
            let same = line == before;
            *weight += if same { *more } else { 0.0 };
            same
        });
    }
    weights
}

/// Returns the files with a score, best first, then by number.
fn in_order(scores: &[f64]) -> Vec<u32> {
    let scored = (0..).zip(scores).filter(|(_, score)| **score > 0.0);
    let mut order: Vec<(u32, f64)> = scored.map(|(file, score)| (file, *score)).collect();
    order.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().map(|(file, _)| file).collect()
}

/// Scores each file by its words.
fn by_words(files: &[FileFacts], texts: usize, postings: &[Postings]) -> Vec<f64> {
    let sum: usize = files.iter().map(|file| file.words as usize).sum();
    let average = bm25::average(sum, texts);
    let mut scores = vec![0.0; files.len()];
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let length = files.get(file as usize).map_or(0, |file| file.words as usize);
            add(&mut scores, file, bm25::score(idf, lines.len(), length, average));
        }
    }
    scores
}

/// Scores each window of each file.
fn windows(files: usize, texts: usize, postings: &[Postings]) -> Vec<Vec<f64>> {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); files];
    for postings in postings {
        let idf = bm25::idf(texts, postings.len());
        for (file, lines) in postings.iter() {
            let in_path = lines.partition_point(|line| *line == 0);
            let lines = lines.get(in_path..).unwrap_or_default();
            if let Some(scores) = scores.get_mut(file as usize) {
                add_word(lines, idf, scores);
            }
        }
    }
    scores
}

/// Returns the windows with a positive score, best first.
fn sorted(scores: &[f64]) -> Vec<Window> {
    let firsts = (0..).map(|number| 1 + number * STRIDE);
    let windows = firsts.zip(scores).map(|(first, score)| Window { first, score: *score });
    let mut windows: Vec<Window> = windows.filter(|window| window.score > 0.0).collect();
    windows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.first.cmp(&b.first)));
    windows
}

/// Adds a word that occurs on `lines`. A half window is also the second half of the window before it.
fn add_word(lines: &[u32], idf: f64, scores: &mut Vec<f64>) {
    let half = |line: u32| (line - 1) / STRIDE;
    let mut halves = lines
        .chunk_by(|a, b| half(*a) == half(*b))
        .filter_map(|lines| Some((half(*lines.first()?), lines.len())))
        .peekable();
    let mut before = None;
    while let Some((number, times)) = halves.next() {
        let needed = number as usize + 1;
        if scores.len() < needed {
            scores.resize(needed, 0.0);
        }
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

fn add(scores: &mut [f64], number: u32, more: f64) {
    if let Some(score) = scores.get_mut(number as usize) {
        *score += more;
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
        let found = windows(1, 9, &[postings(&[(0, &[0, 1, 21, 21, 100])])]);
        let mut firsts: Vec<u32> = sorted(&found[0]).iter().map(|window| window.first).collect();
        assert_eq!(firsts.first(), Some(&1));
        firsts.sort_unstable();
        assert_eq!(firsts, [1, 21, 61, 81]);
    }

    #[test]
    fn words_of_the_path_alone_do_not_make_a_window() {
        assert!(sorted(&windows(1, 9, &[postings(&[(0, &[0, 0])])])[0]).is_empty());
    }

    #[test]
    fn rankings_are_fused_and_ties_are_broken_by_path() {
        let files = [source(10), source(10), source(10), source(10)];
        let words = [postings(&[(1, &[3]), (2, &[3])]), postings(&[(2, &[4]), (3, &[4])])];
        let order = |credits: &Credits| -> Vec<u32> {
            rank_files(&files, files.len(), &words, credits)
                .iter()
                .map(|ranked| ranked.file)
                .collect()
        };
        assert_eq!(order(&Credits::default()), [2, 1, 3]);
        let messages = vec![2.0, 0.0, 0.0, 9.0];
        let credits = Credits { messages, ..Credits::default() };
        assert_eq!(order(&credits), [3, 2, 1, 0]);
    }

    #[test]
    fn words_of_the_request_in_a_path_count() {
        let files = [0.0, 0.0, 2.0].map(|path| FileFacts { path, ..source(10) });
        let words = [postings(&[(0, &[1]), (1, &[1]), (2, &[1])])];
        let ranked = rank_files(&files, files.len(), &words, &Credits::default());
        assert_eq!(ranked.iter().map(|ranked| ranked.file).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn tests_rank_after_source_and_aside_files_are_left_out() {
        let kinds = [FileKind::Aside, FileKind::Test, FileKind::Source];
        let files = kinds.map(|kind| FileFacts { kind, words: 10, name: 0.0, path: 0.0 });
        let words = [postings(&[(0, &[1]), (1, &[1]), (2, &[1])])];
        let ranked = rank_files(&files, files.len(), &words, &Credits::default());
        assert_eq!(ranked.iter().map(|ranked| ranked.file).collect::<Vec<_>>(), [2, 1]);
    }

    proptest::proptest! {
        #[test]
        fn each_line_counts_in_both_of_its_windows(lines in proptest::collection::btree_set(1u32..400, 1..20)) {
            let lines: Vec<u32> = lines.into_iter().collect();
            let found = sorted(&windows(1, 9, &[postings(&[(0, &lines)])])[0]);
            let idf = bm25::idf(9, 1);
            for first in (0..25).map(|number| 1 + number * STRIDE) {
                let times = lines.iter().filter(|line| (first..first + WINDOW).contains(line)).count();
                let score = found.iter().find(|window| window.first == first);
                let expected = if times == 0 { 0.0 } else { bm25::score_of_equals(idf, times) };
                let score = score.map_or(0.0, |window| window.score);
                proptest::prop_assert!((score - expected).abs() < 1e-9, "{first}: {score} {expected}");
            }
        }
    }
}
