//! What git says of files: `git status --porcelain=v1 -z`, without renames, read into values. Pure.

/// A file that is not as it was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dirty {
    /// From the workspace.
    pub(super) path: String,
    pub(super) state: State,
}

/// In what it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Git does not know it.
    New,
    Changed,
    Deleted,
}

/// Reads what git said. `prefix` is the way from the root of the repository to the workspace, with a slash at its end.
pub(super) fn read(said: &str, prefix: &str) -> Vec<Dirty> {
    let line = |line: &str| {
        let (marks, path) = line.split_at_checked(3)?;
        let state = match marks.get(..2)? {
            "??" => State::New,
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
