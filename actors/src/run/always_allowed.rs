//! Commands that the user always allows in a workspace. An entry matches the exact command text, under the confinement
//! it was allowed with, as long as the files that it runs are unchanged.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use policy::PolicyCommand;
use sandbox::Degree;
use serde::{Deserialize, Serialize};
use shell::CommandLine;
use tools::regular;
use tree::FileHash;

/// Maximum size in bytes of the list, and of each file that a command runs.
const MAX_BYTES: u64 = 4 << 20;

/// Files that programs read without being named on the command line.
const READ_UNTOLD: [(&str, &[&str]); 6] = [
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("just", &["justfile", "Justfile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
];

/// A command that the user always allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// The command, as written.
    pub command: String,
    /// The confinement under which it was allowed.
    pub confined: Degree,
    /// The files that it runs, with their hashes, by path relative to the workspace.
    pub files: BTreeMap<String, FileHash>,
}

/// The list of always-allowed commands of a workspace.
#[derive(Debug, Clone)]
pub struct Always {
    root: PathBuf,
    list: PathBuf,
}

impl Always {
    /// Returns the list for the workspace at `root`; it is stored in `cache`, next to cached check results.
    pub fn of(root: &Path, cache: &Path) -> Self {
        Self { root: root.to_owned(), list: cache.join("always.json") }
    }

    /// Returns all entries. A list that cannot be read counts as empty, so the user is asked.
    pub fn all(&self) -> Vec<Allowed> {
        let text = regular::read_text(&self.list, MAX_BYTES).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Returns true if a command is always allowed under this confinement.
    pub fn allows(&self, line: &CommandLine, confined: Degree) -> bool {
        let known = |it: &Allowed| it.command == line.text() && it.confined == confined;
        self.all().into_iter().find(known).is_some_and(|it| Some(it.files) == self.files_of(line))
    }

    /// Adds a command to the list. Returns false if a file that it runs is too large to be hashed.
    pub fn allow(&self, line: &CommandLine, confined: Degree) -> io::Result<bool> {
        let Some(files) = self.files_of(line) else { return Ok(false) };
        let command = line.text().to_owned();
        let mut all = self.all();
        all.retain(|it| it.command != command);
        all.push(Allowed { command, confined, files });
        self.write(&all)?;
        Ok(true)
    }

    /// Removes a command from the list. Returns true if it was there.
    pub fn forget(&self, command: &str) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.len();
        all.retain(|it| it.command != command);
        self.write(&all)?;
        Ok(all.len() < before)
    }

    fn write(&self, all: &[Allowed]) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Some(dir) = self.list.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        regular::write_regular_file(&self.list, &serde_json::to_vec(all)?)
    }

    /// Returns the files in the workspace that a command names or is known to read, with their hashes; `None` if one is
    /// too large.
    fn files_of(&self, line: &CommandLine) -> Option<BTreeMap<String, FileHash>> {
        let command: &PolicyCommand = line.command();
        let all = command.segments.iter().chain(&command.inner);
        let words = all.flat_map(|segment| &segment.words);
        let mut names: Vec<&str> = words.map(String::as_str).collect();
        for (program, files) in READ_UNTOLD {
            if names.contains(&program) {
                names.extend(files);
            }
        }
        let mut found = BTreeMap::new();
        for name in names {
            let path = self.root.join(name);
            if path.is_file() {
                let content = regular::read_regular_file(&path, MAX_BYTES).ok()?;
                found.insert(name.to_owned(), FileHash::of(&content));
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_command_must_match_exactly_with_the_same_confinement_and_files() {
        let (tree, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |name: &str, text: &str| std::fs::write(tree.path().join(name), text).unwrap();
        put("build.sh", "true\n");
        put("Makefile", "all:\n");
        let always = Always::of(tree.path(), cache.path());
        let line = |text: &str| CommandLine::parse(text).unwrap();
        for text in ["sh build.sh --all", "make all"] {
            assert!(!always.allows(&line(text), Degree::Full));
            assert!(always.allow(&line(text), Degree::Full).unwrap());
            assert!(always.allows(&line(text), Degree::Full));
            assert!(!always.allows(&line(text), Degree::None));
        }
        assert!(!always.allows(&line("sh build.sh --all x"), Degree::Full));
        put("other", "x");
        assert!(always.allows(&line("make all"), Degree::Full));
        put("Makefile", "all:\n\tfalse\n");
        assert!(!always.allows(&line("make all"), Degree::Full));
        assert!(always.allows(&line("sh build.sh --all"), Degree::Full));
        put("build.sh", "false\n");
        assert!(!always.allows(&line("sh build.sh --all"), Degree::Full));
        assert!(always.forget("make all").unwrap() && !always.forget("make all").unwrap());
        assert_eq!(always.all().len(), 1);
    }
}
