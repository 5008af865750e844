//! Reads the commits of the user's repository, with the paths that each changed.

use std::path::Path;

use shell::Git;

use crate::eval_error::EvalError;

/// Variables that would lead git to another repository.
pub(crate) const MISLEADING: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
];

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) id: String,
    pub(crate) parents: Vec<String>,
    /// The whole message.
    pub(crate) message: String,
    pub(crate) changes: Vec<Changed>,
}

/// A path that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: String,
    /// The path before, if it was renamed or copied.
    pub(crate) from: Option<String>,
    /// True if it exists after the commit.
    pub(crate) is_there: bool,
    /// True for a submodule, before or after.
    pub(crate) is_submodule: bool,
}

impl Commit {
    pub(crate) fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default().trim()
    }
}

/// Runs git in a directory and returns what it prints.
pub(crate) fn git(dir: &Path, words: &[&str]) -> Result<Vec<u8>, EvalError> {
    let failed = |why: String| EvalError::Git { words: words.join(" "), why };
    let ended = Git { dir, hidden: &MISLEADING }
        .output(words)
        .map_err(|error| failed(error.to_string()))?;
    if ended.status.success() {
        return Ok(ended.stdout);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(failed(said.trim().trim_start_matches("fatal: ").to_owned()))
}

/// Reads the commits of a range, newest first. Blocks.
pub(crate) fn commits(dir: &Path, range: &str) -> Result<Vec<Commit>, EvalError> {
    let format = "--format=%x01%H%x02%P%x02%B%x02";
    let text = git(
        dir,
        &["log", format, "--raw", "--no-abbrev", "-z", "-M", "--end-of-options", range, "--"],
    )?;
    Ok(parsed(&String::from_utf8_lossy(&text)))
}

/// Parses what git prints for [`commits`].
fn parsed(text: &str) -> Vec<Commit> {
    let one = |text: &str| {
        let mut parts = text.splitn(4, '\u{2}');
        let (id, parents, message) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Commit {
            id: id.to_owned(),
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            message: message.trim().to_owned(),
            changes: changes(parts.next().unwrap_or_default()),
        })
    };
    text.split('\u{1}').filter_map(one).collect()
}

/// Parses the entries of `git log --raw -z`: `:MODE MODE ID ID STATUS`, then one path, or two after a rename.
fn changes(text: &str) -> Vec<Changed> {
    const SUBMODULE: &str = "160000";
    let mut fields = text.split('\0').map(str::trim_start).filter(|field| !field.is_empty());
    let mut all = Vec::new();
    while let Some(head) = fields.next() {
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [before, after, _, _, status] = words.as_slice() else { continue };
        let Some(first) = fields.next() else { break };
        let second = if status.starts_with(['R', 'C']) { fields.next() } else { None };
        all.push(Changed {
            path: second.unwrap_or(first).to_owned(),
            from: second.map(|_| first.to_owned()),
            is_there: *status != "D",
            is_submodule: *before == SUBMODULE || *after == SUBMODULE,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_with_renames_deletions_and_submodules() {
        let text = "\u{1}aa\u{2}bb cc\u{2}Merge it\n\u{2}\0\u{1}bb\u{2}dd\u{2}Fix: the\n\nbody\n\u{2}\0\n:100644 100644 1 2 M\0src/a b.rs\0:100644 100644 1 2 R090\0old.rs\0new.rs\0:100644 000000 1 0 D\0gone.rs\0:160000 160000 1 2 M\0sub\0\u{1}dd\u{2}\u{2}first\u{2}\0\n:000000 100644 0 1 A\0x\0";
        let all = parsed(text);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].parents.len(), 2);
        assert!(all[0].changes.is_empty() && all[2].parents.is_empty());
        assert_eq!(all[1].title(), "Fix: the");
        let changed = |path: &str, from: Option<&str>, is_there, is_submodule| Changed {
            path: path.to_owned(),
            from: from.map(str::to_owned),
            is_there,
            is_submodule,
        };
        assert_eq!(
            all[1].changes,
            [
                changed("src/a b.rs", None, true, false),
                changed("new.rs", Some("old.rs"), true, false),
                changed("gone.rs", None, false, false),
                changed("sub", None, true, true),
            ]
        );
    }
}
