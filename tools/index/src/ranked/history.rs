//! The messages of earlier commits, and the files they changed, with a text format for storage. Pure: `git` reads the
//! repository.

use crate::ranked::stems;

/// Number of commits that are remembered.
pub(crate) const COMMITS: usize = 1500;
/// Maximum number of files in a useful commit; a larger one says nothing about any of its files.
pub(crate) const MAX_PATHS: usize = 200;
/// How much of a message is read, in bytes.
const MAX_MESSAGE_BYTES: usize = 4000;
const HEAD: &str = "deepseek history 1";

/// A commit with one parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastCommit {
    pub(crate) id: String,
    /// The stems of the message's words, separated by spaces.
    pub(crate) words: String,
    /// The changed files, relative to the workspace.
    pub(crate) paths: Vec<String>,
}

/// A list of commits, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitHistory {
    /// The commit that was checked out.
    pub(crate) tip: String,
    pub(crate) commits: Vec<PastCommit>,
}

impl PastCommit {
    /// Creates a commit with this message that changed `paths`.
    pub(crate) fn new(id: String, message: &str, mut paths: Vec<String>) -> PastCommit {
        let message = message.get(..message.floor_char_boundary(MAX_MESSAGE_BYTES));
        let mut all = String::new();
        for line in message.unwrap_or_default().lines().filter(|line| !is_trailer(line)) {
            stems::each(line, |word| {
                all.push_str(word);
                all.push(' ');
            });
        }
        paths.retain(|path| !path.contains('\n'));
        PastCommit { id, words: all, paths }
    }
}

/// Returns whether a line is a trailer that names a person, such as `Signed-off-by: A U Thor`.
fn is_trailer(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(key, _)| key.to_ascii_lowercase().ends_with("-by") && !key.contains(' '))
}

impl GitHistory {
    /// Writes the history as text for [`History::read`].
    pub(crate) fn write(&self) -> String {
        let mut text = format!("{HEAD}\ntip {}\n", self.tip);
        for PastCommit { id, words, paths } in &self.commits {
            text.push_str(&format!("commit {id}\nwords {words}\n"));
            for path in paths {
                text.push_str(&format!("path {path}\n"));
            }
        }
        text.push_str("end\n");
        text
    }

    /// Parses the output of [`History::write`]; `None` for anything else.
    pub(crate) fn read(text: &str) -> Option<GitHistory> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let tip = lines.next()?.strip_prefix("tip ")?.to_owned();
        let mut commits: Vec<PastCommit> = Vec::new();
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match key {
                "commit" => commits.push(PastCommit {
                    id: value.to_owned(),
                    words: String::new(),
                    paths: Vec::new(),
                }),
                "words" => value.clone_into(&mut commits.last_mut()?.words),
                "path" => commits.last_mut()?.paths.push(value.to_owned()),
                _ => return None,
            }
        }
        Some(GitHistory { tip, commits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> GitHistory {
        let commit = |id: &str, message: &str, paths: &[&str]| {
            PastCommit::new(id.to_owned(), message, paths.iter().map(ToString::to_string).collect())
        };
        let commits = vec![
            commit("c", "Fix the pager\n\nSigned-off-by: Pager Person", &["a.rs"]),
            commit("b", "Paged reading", &["a.rs", "b.rs", "c.rs", "gone.rs"]),
            commit("a", "Other things", &["b.rs"]),
        ];
        GitHistory { tip: "c".to_owned(), commits }
    }

    #[test]
    fn a_history_round_trips_and_damage_is_detected() {
        let text = history().write();
        assert_eq!(GitHistory::read(&text), Some(history()));
        assert!(!text.contains("person"));
        for (at, _) in text.char_indices() {
            assert_eq!(GitHistory::read(text.get(..at).unwrap()), None);
        }
    }
}
