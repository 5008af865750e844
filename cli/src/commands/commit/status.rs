//! Parser for `git status --porcelain=v1 -z --no-renames`. Pure.

/// A file that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dirty {
    /// Relative to the workspace.
    pub(super) path: String,
    pub(super) state: State,
}

/// How a file differs from the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Untracked.
    New,
    Changed,
    /// Made as a new file, where the last commit has another that was not on the disk.
    Replaced,
    Deleted,
    /// Untracked and ignored.
    Ignored,
}

/// Parses git's output. `prefix` is the path of the workspace within the repository, with a trailing slash.
pub(super) fn read(said: &str, prefix: &str) -> Vec<Dirty> {
    let line = |line: &str| {
        let (marks, path) = line.split_at_checked(3)?;
        let state = match marks.get(..2)? {
            "??" => State::New,
            "!!" => State::Ignored,
            marks if marks.ends_with('D') || marks == "D " => State::Deleted,
            _ => State::Changed,
        };
        Some(Dirty { path: path.strip_prefix(prefix)?.to_owned(), state })
    };
    said.split('\0').filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_and_paths_are_those_of_the_workspace() {
        let said = " M sub/a.txt\0?? sub/new file.txt\0 D sub/gone\0MM sub/both\0A  sub/staged\0";
        let read: Vec<(String, State)> =
            read(said, "sub/").into_iter().map(|file| (file.path, file.state)).collect();
        let expected = [
            ("a.txt", State::Changed),
            ("new file.txt", State::New),
            ("gone", State::Deleted),
            ("both", State::Changed),
            ("staged", State::Changed),
        ];
        assert_eq!(read, expected.map(|(path, state)| (path.to_owned(), state)));
    }
}
