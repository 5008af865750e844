//! Plain BM25 over whole files as a baseline: no stems, no kinds of files, no history. Its results are shown in the
//! same space, the best lines of each file in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use index::WINDOW;
use tree::{ListedFile, RepoPath};

use crate::{Answer, BUDGETS, Shown};

const K1: f64 = 1.2;
const B: f64 = 0.75;
const BYTES_PER_TOKEN: usize = 4;
const MAX_BYTES: u64 = 2_000_000;

/// The texts of a tree.
pub(crate) struct Plain {
    files: Vec<File>,
    /// The number of files with each word.
    having: BTreeMap<String, f64>,
}

struct File {
    path: RepoPath,
    text: String,
    counts: BTreeMap<String, f64>,
    length: f64,
}

impl Plain {
    /// Reads `files` below `root`.
    pub(crate) fn of(root: &Path, files: &[ListedFile]) -> Plain {
        let mut plain = Plain { files: Vec::new(), having: BTreeMap::new() };
        for listed in files.iter().filter(|file| file.bytes <= MAX_BYTES) {
            let Ok(text) = std::fs::read_to_string(root.join(listed.path.as_str())) else {
                continue;
            };
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            words(&text).for_each(|word| *counts.entry(word).or_default() += 1.0);
            for word in counts.keys() {
                *plain.having.entry(word.clone()).or_default() += 1.0;
            }
            let length = counts.values().sum();
            plain.files.push(File { path: listed.path.clone(), text, counts, length });
        }
        plain
    }

    /// Returns the answer to a request.
    pub(crate) fn answer(&self, request: &str) -> Answer {
        let sought: BTreeSet<String> = words(request).collect();
        let count = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
        let all = count(self.files.len()).max(1.0);
        let average = self.files.iter().map(|file| file.length).sum::<f64>() / all;
        let idf = |having: &f64| (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
        let sought: BTreeMap<String, f64> = sought
            .into_iter()
            .filter_map(|word| Some((self.having.get(&word).map(idf)?, word)))
            .map(|(idf, word)| (word, idf))
            .collect();
        let score = |file: &File| -> f64 {
            let norm = K1 * (1.0 - B + B * file.length / average.max(1.0));
            let of = |(word, idf): (&String, &f64)| {
                let times = file.counts.get(word)?;
                Some(idf * times * (K1 + 1.0) / (times + norm))
            };
            sought.iter().filter_map(of).sum()
        };
        let mut order: Vec<(f64, &File)> =
            self.files.iter().map(|file| (score(file), file)).collect();
        order.retain(|(score, _)| *score > 0.0);
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        let shown = BUDGETS.map(|tokens| {
            let mut left = tokens * BYTES_PER_TOKEN;
            let mut shown = Vec::new();
            for (_, file) in &order {
                let (window, bytes) = file.best(&sought);
                if bytes > left {
                    break;
                }
                left -= bytes;
                shown.push(window);
            }
            (shown, Vec::new(), tokens - left / BYTES_PER_TOKEN)
        });
        let order = order.iter().map(|(_, file)| file.path.clone()).collect();
        Answer { order, shown }
    }
}

impl File {
    /// Returns the window of lines with the most significant words, and its size in bytes.
    fn best(&self, sought: &BTreeMap<String, f64>) -> (Shown, usize) {
        let lines: Vec<&str> = self.text.lines().collect();
        let wide = WINDOW as usize;
        let starts = (0..lines.len()).step_by(wide / 2).rev();
        let window = |start: &usize| lines.iter().skip(*start).take(wide);
        let score = |start: &usize| -> f64 {
            let all: BTreeSet<String> = window(start).flat_map(|line| words(line)).collect();
            all.iter().filter_map(|word| sought.get(word)).sum()
        };
        let start = starts.max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or_default();
        let bytes = window(&start).map(|line| line.len() + 1).sum();
        let last = lines.len().min(start + wide);
        (Shown { path: self.path.clone(), first: start + 1, last }, bytes)
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
