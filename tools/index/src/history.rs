//! What earlier commits said, and which files they changed. It is read and written as text; git is read elsewhere. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::{bm25, words};

/// Commits that are remembered.
pub(crate) const COMMITS: usize = 1500;
/// The newest of them count for how often a file changes.
const RECENT: usize = 1000;
/// A commit of more files says nothing about any of them.
pub(crate) const MAX_PATHS: usize = 200;
/// Bytes of a message that are read.
const MAX_MESSAGE_BYTES: usize = 4000;
const HEAD: &str = "deepseek history 1";

/// A commit with one parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) id: String,
    /// Stems of its message, with spaces between them.
    words: String,
    /// Files below the workspace that it changed.
    paths: Vec<String>,
}

/// Commits, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// The commit that was checked out.
    pub(crate) tip: String,
    pub(crate) commits: Vec<Commit>,
}

/// What the history says of each file, by its number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Credits {
    /// How much earlier commits to the file have to do with the request.
    pub(crate) messages: HashMap<u32, f64>,
    /// How often it changes.
    pub(crate) changes: HashMap<u32, f64>,
}

impl Commit {
    /// A commit with this message that changed `paths`.
    pub(crate) fn new(id: String, message: &str, mut paths: Vec<String>) -> Commit {
        let message = message.get(..message.floor_char_boundary(MAX_MESSAGE_BYTES));
        let mut all = String::new();
        for line in message.unwrap_or_default().lines().filter(|line| !is_trailer(line)) {
            words::each(line, |word| {
                all.push_str(word);
                all.push(' ');
            });
        }
        paths.retain(|path| !path.contains('\n'));
        Commit { id, words: all, paths }
    }
}

/// The first two bytes of a word, as a number.
fn beginning(word: &str) -> Option<usize> {
    word.as_bytes().first_chunk().map(|pair| usize::from(u16::from_be_bytes(*pair)))
}

/// `Signed-off-by: A U Thor` and its like name people.
fn is_trailer(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(key, _)| key.to_ascii_lowercase().ends_with("-by") && !key.contains(' '))
}

impl History {
    /// What it says about a request for these words; `file_of` says the number of each file.
    pub(crate) fn credits(&self, sought: &[String], file_of: &HashMap<&str, u32>) -> Credits {
        let number: HashMap<&str, usize> =
            sought.iter().zip(0..).map(|(word, at)| (word.as_str(), at)).collect();
        // Most words of messages are not sought, and most of those do not even begin like one that is.
        let mut likely = vec![false; 1 << 16];
        for pair in sought.iter().filter_map(|word| beginning(word)) {
            likely.iter_mut().skip(pair).take(1).for_each(|likely| *likely = true);
        }
        let may_be = |word: &str| beginning(word).and_then(|pair| likely.get(pair)) != Some(&false);
        let mut having = vec![0_usize; sought.len()];
        let mut counted = Vec::with_capacity(self.commits.len());
        let mut sum = 0;
        for commit in &self.commits {
            let (mut length, mut times) = (0, BTreeMap::<usize, usize>::new());
            for word in commit.words.split_ascii_whitespace() {
                length += 1;
                if let Some(at) = may_be(word).then(|| number.get(word)).flatten() {
                    *times.entry(*at).or_default() += 1;
                }
            }
            for at in times.keys() {
                having.iter_mut().skip(*at).take(1).for_each(|commits| *commits += 1);
            }
            sum += length;
            counted.push((length, times));
        }
        let all = self.commits.len();
        let average = bm25::average(sum, all);
        let idfs: Vec<f64> = having.iter().map(|having| bm25::idf(all, *having)).collect();
        let mut credits = Credits::default();
        for ((commit, (length, times)), age) in self.commits.iter().zip(counted).zip(0..) {
            let scores = times.iter().map(|(at, times)| {
                bm25::score(idfs.get(*at).copied().unwrap_or_default(), *times, length, average)
            });
            let score: f64 = scores.sum();
            let share = score / bm25::count(commit.paths.len()).sqrt();
            for file in commit.paths.iter().filter_map(|path| file_of.get(path.as_str())) {
                if score > 0.0 {
                    *credits.messages.entry(*file).or_default() += share;
                }
                if age < RECENT {
                    *credits.changes.entry(*file).or_default() += 1.0;
                }
            }
        }
        credits
    }

    /// The text that [`History::read`] reads.
    pub(crate) fn write(&self) -> String {
        let mut text = format!("{HEAD}\ntip {}\n", self.tip);
        for Commit { id, words, paths } in &self.commits {
            text.push_str(&format!("commit {id}\nwords {words}\n"));
            for path in paths {
                text.push_str(&format!("path {path}\n"));
            }
        }
        text.push_str("end\n");
        text
    }

    /// Reads what [`History::write`] wrote; nothing else is a history.
    pub(crate) fn read(text: &str) -> Option<History> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let tip = lines.next()?.strip_prefix("tip ")?.to_owned();
        let mut commits: Vec<Commit> = Vec::new();
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match key {
                "commit" => commits.push(Commit {
                    id: value.to_owned(),
                    words: String::new(),
                    paths: Vec::new(),
                }),
                "words" => value.clone_into(&mut commits.last_mut()?.words),
                "path" => commits.last_mut()?.paths.push(value.to_owned()),
                _ => return None,
            }
        }
        Some(History { tip, commits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let commit = |id: &str, message: &str, paths: &[&str]| {
            Commit::new(id.to_owned(), message, paths.iter().map(ToString::to_string).collect())
        };
        let commits = vec![
            commit("c", "Fix the pager\n\nSigned-off-by: Pager Person", &["a.rs"]),
            commit("b", "Paged reading", &["a.rs", "b.rs", "c.rs", "gone.rs"]),
            commit("a", "Other things", &["b.rs"]),
        ];
        History { tip: "c".to_owned(), commits }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let text = history().write();
        assert_eq!(History::read(&text), Some(history()));
        assert!(!text.contains("person"));
        for (at, _) in text.char_indices() {
            assert_eq!(History::read(text.get(..at).unwrap()), None);
        }
    }

    #[test]
    fn files_get_credit_for_the_messages_of_their_commits() {
        let file_of = [("a.rs", 0), ("b.rs", 1), ("c.rs", 2)].into_iter().collect();
        let credits = history().credits(&["read".to_owned(), "pager".to_owned()], &file_of);
        let of = |file| credits.messages.get(&file).copied().unwrap_or_default();
        assert!(of(0) > of(1) && of(1) > 0.0 && (of(1) - of(2)).abs() < 1e-12);
        assert_eq!(credits.changes, [(0, 2.0), (1, 2.0), (2, 1.0)].into_iter().collect());
    }
}
