//! An inverted index over earlier commits: which have a word in their message, and which changed a file. Stored as
//! sorted text, so that a lookup reads only the lines it needs. Pure.

use std::collections::BTreeMap;

use tree::ListedFile;

use crate::ranked::bm25;
use crate::ranked::history::{GitHistory, PastCommit};

/// How many of the newest commits count for the change frequency of a file.
const RECENT: usize = 1000;
const HEAD: &str = "deepseek mentions 1";

/// What the history says about each file, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Credits {
    /// How relevant earlier commits to the file are to the request.
    pub(crate) messages: Vec<f64>,
    /// How often the file changes.
    pub(crate) changes: Vec<f64>,
}

/// Commits, newest first, indexed by the words of their messages and by the files they changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// The commit that was checked out.
    pub(crate) tip: String,
    text: String,
    /// For each commit, the number of words in its message and the number of files it changed.
    sizes: Vec<(u32, u32)>,
    /// The start and end of each line about a word, sorted by word: `WORD COMMIT:TIMES …`.
    words: Vec<(u32, u32)>,
    /// The start and end of each line about a file, sorted by path: `COMMIT,COMMIT,… PATH`.
    paths: Vec<(u32, u32)>,
}

impl Mentions {
    /// Writes the index of `history` as text.
    pub(crate) fn write(history: &GitHistory) -> String {
        let mut words: BTreeMap<&str, Vec<(usize, u32)>> = BTreeMap::new();
        let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut sizes = Vec::new();
        for (PastCommit { words: message, paths: changed, .. }, number) in
            history.commits.iter().zip(0..)
        {
            let mut length = 0;
            for word in message.split_ascii_whitespace() {
                length += 1;
                let commits = words.entry(word).or_default();
                match commits.last_mut().filter(|(last, _)| *last == number) {
                    Some((_, times)) => *times += 1,
                    None => commits.push((number, 1)),
                }
            }
            for path in changed {
                paths.entry(path).or_default().push(number.to_string());
            }
            sizes.push(format!("{length}:{}", changed.len()));
        }
        let (sizes, words_count) = (sizes.join(" "), words.len());
        let mut text = format!("{HEAD}\n{}\n{sizes}\n{words_count}\n", history.tip);
        for (word, commits) in words {
            text.push_str(word);
            for (commit, times) in commits {
                text.push_str(&format!(" {commit}:{times}"));
            }
            text.push('\n');
        }
        for (path, commits) in paths {
            text.push_str(&format!("{} {path}\n", commits.join(",")));
        }
        text.push_str("end\n");
        text
    }

    /// Parses the output of [`Mentions::write`]; `None` for anything else.
    pub(crate) fn read(text: String) -> Option<Mentions> {
        let body = text.strip_suffix("end\n").filter(|body| body.ends_with('\n'))?;
        let mut begin = 0;
        let mut lines = body.split_terminator('\n').map(|line| {
            let at = (begin, begin + line.len());
            begin = at.1 + 1;
            (u32::try_from(at.0).unwrap_or(u32::MAX), u32::try_from(at.1).unwrap_or(u32::MAX), line)
        });
        let mut next = || lines.next().map(|(_, _, line)| line);
        if next()? != HEAD {
            return None;
        }
        let tip = next()?.to_owned();
        let sizes: Option<Vec<(u32, u32)>> = next()?.split_ascii_whitespace().map(pair).collect();
        let count: usize = next()?.parse().ok()?;
        let (sizes, mut words) = (sizes?, Vec::with_capacity(count));
        words.extend(lines.by_ref().take(count).map(|(first, last, _)| (first, last)));
        let paths = lines.map(|(first, last, _)| (first, last)).collect();
        (words.len() == count).then_some(Mentions { tip, text, sizes, words, paths })
    }

    /// Returns the number of commits.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Computes the credits of `files`, sorted by path, for a request with these words. Files without words get none.
    pub(crate) fn credits(
        &self,
        sought: &[String],
        files: &[ListedFile],
        lengths: &[u32],
    ) -> Credits {
        let scores = self.scores(sought);
        let mut credits = Credits::default();
        let mut changed =
            self.paths.iter().filter_map(|line| self.line(*line).split_once(' ')).peekable();
        for (file, length) in files.iter().zip(lengths) {
            let path = file.path.as_str();
            while changed.next_if(|(_, known)| *known < path).is_some() {}
            let commits = changed.next_if(|(_, known)| *known == path && *length > 0);
            let commits = commits.map(|(commits, _)| commits).unwrap_or_default();
            let (mut messages, mut changes) = (0.0, 0.0);
            for commit in commits.split(',').filter_map(|commit| commit.parse::<usize>().ok()) {
                messages += scores.get(commit).copied().unwrap_or_default();
                changes += if commit < RECENT { 1.0 } else { 0.0 };
            }
            credits.messages.push(messages);
            credits.changes.push(changes);
        }
        credits
    }

    /// Scores each commit for these words, divided among the files that it changed.
    fn scores(&self, sought: &[String]) -> Vec<f64> {
        let sum = self.sizes.iter().map(|(length, _)| *length as usize).sum();
        let average = bm25::average(sum, self.len());
        let mut scores = vec![0.0; self.len()];
        for word in sought {
            let Some(line) = self.of_word(word) else { continue };
            let having: Vec<(u32, u32)> =
                line.split_ascii_whitespace().skip(1).filter_map(pair).collect();
            let idf = bm25::idf(self.len(), having.len());
            for (commit, times) in having {
                let commit = commit as usize;
                let length = self.sizes.get(commit).map_or(0, |(length, _)| *length as usize);
                if let Some(score) = scores.get_mut(commit) {
                    *score += bm25::score(idf, times as usize, length, average);
                }
            }
        }
        for (score, (_, files)) in scores.iter_mut().zip(&self.sizes) {
            *score /= bm25::count(*files as usize).sqrt();
        }
        scores
    }

    fn of_word(&self, word: &str) -> Option<&str> {
        let key = |line: &(u32, u32)| {
            let line = self.line(*line);
            line.split_once(' ').map_or(line, |(word, _)| word)
        };
        let at = self.words.binary_search_by(|line| key(line).cmp(word)).ok()?;
        self.words.get(at).map(|line| self.line(*line))
    }

    fn line(&self, (first, last): (u32, u32)) -> &str {
        self.text.get(first as usize..last as usize).unwrap_or_default()
    }
}

/// Parses `A:B`.
fn pair(text: &str) -> Option<(u32, u32)> {
    let (one, other) = text.split_once(':')?;
    Some((one.parse().ok()?, other.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use tree::RepoPath;

    use super::*;

    fn mentions() -> (String, Mentions) {
        let commit = |id: &str, message: &str, paths: &[&str]| {
            PastCommit::new(id.to_owned(), message, paths.iter().map(ToString::to_string).collect())
        };
        let commits = vec![
            commit("c", "Fix the pager", &["a.rs"]),
            commit("b", "Paged reading", &["a.rs", "b.rs", "c d.rs", "gone.rs"]),
            commit("a", "Other things, other files", &["b.rs"]),
        ];
        let text = Mentions::write(&GitHistory { tip: "c".to_owned(), commits });
        let read = Mentions::read(text.clone()).unwrap();
        (text, read)
    }

    fn files() -> Vec<ListedFile> {
        let listed =
            |path| ListedFile { path: RepoPath::parse(path).unwrap(), bytes: 1, modified: 0 };
        ["a.rs", "b.rs", "c d.rs", "new.rs"].map(listed).into()
    }

    #[test]
    fn damaged_text_is_refused() {
        let (text, read) = mentions();
        assert_eq!((read.len(), read.tip.as_str()), (3, "c"));
        for (at, _) in text.char_indices() {
            assert_eq!(Mentions::read(text.get(..at).unwrap().to_owned()), None, "{at}");
        }
        let empty = GitHistory::default();
        assert_eq!(Mentions::read(Mentions::write(&empty)).unwrap().len(), 0);
    }

    #[test]
    fn files_get_credit_for_the_messages_of_their_commits() {
        let (_, mentions) = mentions();
        let sought = ["read".to_owned(), "pager".to_owned()];
        let credits = mentions.credits(&sought, &files(), &[1; 4]);
        let [a, b, c, new] = credits.messages[..] else { panic!("{credits:?}") };
        assert!(a > b && b > 0.0 && (b - c).abs() < 1e-12 && new == 0.0);
        assert_eq!(credits.changes, [2.0, 2.0, 1.0, 0.0]);
        let some = mentions.credits(&sought, &files(), &[0, 1, 1, 1]);
        assert!(some.messages[0] == 0.0 && some.messages[1] > 0.0);
    }

    #[test]
    fn only_whole_words_are_found() {
        let (_, mentions) = mentions();
        let of = |word: &str| mentions.of_word(word);
        assert_eq!(of("other"), Some("other 2:2"));
        assert!(of("oth").is_none() && of("others").is_none() && of("zzz").is_none());
    }
}
