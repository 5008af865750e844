//! Which commits are cases, by the rules of a careful person, and what is asked in them. Pure.

use std::collections::BTreeMap;

use checks::proof::is_test_path;
use index::FileKind;
use tree::RepoPath;

use crate::drawn::commits::{Changed, Commit};

/// The fewest words of a message that say what is wanted.
const FEWEST_WORDS: usize = 3;
/// The first characters of a commit's id by which a case is called.
const ID_LENGTH: usize = 10;

/// How cases are drawn from a history.
#[derive(Debug, Clone)]
pub struct DrawOptions {
    /// The commits to draw from, in the syntax of `git log`.
    pub range: String,
    /// The number of cases.
    pub count: usize,
    /// The seed of the order in which commits are looked at.
    pub seed: u64,
    /// Only commits that change one of these files, or a file in one of these directories; empty for all.
    pub paths: Vec<String>,
    /// Only commits whose message contains this text, whatever its case.
    pub grep: Option<String>,
    /// Commits that change more files are left out.
    pub max_files: usize,
    /// What is asked instead of the message, by the start of a commit's id, or by `#NUMBER` in its message.
    pub issues: BTreeMap<String, String>,
}

impl DrawOptions {
    /// Returns what is asked in a commit: the text of its issue, or its message without trailers.
    pub(crate) fn request(&self, commit: &Commit) -> String {
        let is_meant = |key: &str| {
            if key.starts_with('#') {
                let rest = commit.message.match_indices(key).map(|(at, _)| at + key.len());
                let rest = rest.filter_map(|end| commit.message.get(end..));
                rest.into_iter().any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
            } else {
                key.len() >= 4 && commit.id.starts_with(key)
            }
        };
        let issue = self.issues.iter().find(|(key, _)| is_meant(key));
        issue.map_or_else(|| without_trailers(&commit.message), |(_, text)| text.trim().to_owned())
    }

    /// Returns why a commit is no case; `None` if that cannot be seen from its message and its paths.
    pub(crate) fn why_not(&self, commit: &Commit) -> Option<String> {
        let is_code = |changed: &&Changed| {
            let path = RepoPath::parse(&changed.path);
            path.is_ok_and(|path| !is_test_path(&path) && FileKind::of(&path) == FileKind::Source)
        };
        let is_test = |changed: &Changed| {
            RepoPath::parse(&changed.path).is_ok_and(|path| is_test_path(&path)) && changed.is_there
        };
        let is_below = |path: &str, dir: &str| {
            let rest = path.strip_prefix(dir.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let code: Vec<&Changed> = commit.changes.iter().filter(is_code).collect();
        let title = commit.title();
        let message = commit.message.to_lowercase();
        let why = match commit.parents.len() {
            0 => "it is the first commit",
            1 if title.to_lowercase().starts_with("revert")
                || message.contains("this reverts commit") =>
            {
                "it is a revert"
            }
            1 if commit.changes.iter().any(|it| it.is_submodule) => "it changes a submodule",
            1 if code.is_empty() => "it changes no code",
            1 if !commit.changes.iter().any(is_test) && !code.iter().any(|it| has_inner(it)) => {
                "it changes no tests"
            }
            1 if commit.changes.len() > self.max_files => {
                let (files, most) = (commit.changes.len(), self.max_files);
                return Some(format!("it changes {files} files, more than {most}"));
            }
            1 => {
                let of_path =
                    |dir: &String| code.iter().any(|changed| is_below(&changed.path, dir));
                if !self.paths.is_empty() && !self.paths.iter().any(of_path) {
                    "it changes no code in the paths given"
                } else if self.grep.as_ref().is_some_and(|it| !message.contains(&it.to_lowercase()))
                {
                    "its message does not contain the text given"
                } else if self.request(commit).split_whitespace().count() < FEWEST_WORDS {
                    "its message does not say what is wanted"
                } else {
                    return None;
                }
            }
            _ => "it is a merge",
        };
        Some(why.to_owned())
    }
}

/// Returns true if a file may have tests at its end.
fn has_inner(changed: &Changed) -> bool {
    let ending = changed.path.rsplit_once('.').map(|(_, ending)| ending);
    ending == Some("rs") && changed.is_there && changed.from.is_none()
}

/// Returns the id of the case of a commit.
pub(crate) fn case_id(commit: &str) -> String {
    commit.get(..ID_LENGTH).unwrap_or(commit).to_owned()
}

/// Returns a message without the lines at its end that name people, reviews and other commits.
fn without_trailers(message: &str) -> String {
    let is_trailer = |line: &str| {
        let token = line.split_once(": ").map(|(token, _)| token);
        let is_token = |token: &str| {
            token.contains('-') && token.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        token.is_some_and(is_token)
            || line.starts_with("(cherry picked from commit")
            || line.trim().is_empty()
    };
    let lines: Vec<&str> = message.lines().collect();
    let kept = lines.iter().rposition(|line| !is_trailer(line)).map_or(0, |last| last + 1);
    // The subject stays, whatever it looks like.
    let kept = kept.max(usize::from(!lines.is_empty()));
    lines.get(..kept).unwrap_or_default().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> DrawOptions {
        DrawOptions {
            range: "HEAD".to_owned(),
            count: 10,
            seed: 1,
            paths: Vec::new(),
            grep: None,
            max_files: 5,
            issues: BTreeMap::new(),
        }
    }

    fn commit(message: &str, paths: &[&str]) -> Commit {
        let changed = |path: &&str| Changed {
            path: (*path).to_owned(),
            from: None,
            is_there: true,
            is_submodule: false,
        };
        Commit {
            id: "0123456789abcdef".to_owned(),
            parents: vec!["p".to_owned()],
            message: message.to_owned(),
            changes: paths.iter().map(changed).collect(),
        }
    }

    #[test]
    fn a_commit_with_code_and_tests_is_a_case() {
        let fix = "Fix the panic on empty input";
        for paths in [&["src/a.py", "tests/test_a.py"][..], &["src/a.rs"], &["a.go", "a_test.go"]] {
            assert_eq!(options().why_not(&commit(fix, paths)), None, "{paths:?}");
        }
    }

    #[test]
    fn others_are_left_out_with_a_reason() {
        let both = &["src/a.py", "tests/test_a.py"][..];
        let many = &["a.py", "b.py", "c.py", "d.py", "e.py", "test_a.py"][..];
        for (message, paths, why) in [
            ("Revert \"Fix it all\"", both, "a revert"),
            ("Undo\n\nThis reverts commit 123.", both, "a revert"),
            ("Fix the thing here", &["src/a.py"][..], "no tests"),
            ("Test the thing here", &["tests/test_a.py"], "no code"),
            ("Bump the version to 2", &["Cargo.toml", "Cargo.lock"], "no code"),
            ("Change all of it", many, "6 files, more than 5"),
            ("wip", both, "does not say"),
        ] {
            let found = options().why_not(&commit(message, paths)).unwrap();
            assert!(found.contains(why), "{message}: {found}");
        }
        let mut merge = commit("Merge branch 'x' into y", both);
        merge.parents.push("q".to_owned());
        assert_eq!(options().why_not(&merge).unwrap(), "it is a merge");
        let mut sub = commit("Fix the thing here", both);
        sub.changes[0].is_submodule = true;
        assert_eq!(options().why_not(&sub).unwrap(), "it changes a submodule");
        let only = DrawOptions { paths: vec!["lib/".to_owned()], ..options() };
        assert!(only.why_not(&commit("Fix the thing here", both)).is_some());
        assert_eq!(only.why_not(&commit("Fix the thing here", &["lib/a.py", "test/a.py"])), None);
        let grep = DrawOptions { grep: Some("PANIC".to_owned()), ..options() };
        assert!(grep.why_not(&commit("Fix the thing here", both)).is_some());
        assert_eq!(grep.why_not(&commit("Fix the panic here", both)), None);
    }

    #[test]
    fn the_request_is_the_message_without_trailers_or_the_text_of_the_issue() {
        let message = "Fix: x\n\nBecause of y.\nNote: this stays\n\nSigned-off-by: A <a@b>\nCo-authored-by: B\n";
        assert_eq!(
            options().request(&commit(message, &[])),
            "Fix: x\n\nBecause of y.\nNote: this stays"
        );
        assert_eq!(options().request(&commit("Co-op: x", &[])), "Co-op: x");
        let issues = |key: &str| DrawOptions {
            issues: [(key.to_owned(), " It panics. ".to_owned())].into(),
            ..options()
        };
        assert_eq!(issues("01234567").request(&commit("Fix x", &[])), "It panics.");
        assert_eq!(issues("#12").request(&commit("Fix x (#12)", &[])), "It panics.");
        assert_eq!(issues("#12").request(&commit("Fix x (#123)", &[])), "Fix x (#123)");
    }
}
