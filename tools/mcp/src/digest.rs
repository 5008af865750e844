//! The digest of an entry: of what is written, and of the files that it names by a path. Reads these files.

use std::path::Path;

use config::McpServer;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tools::regular;
use tree::FileHash;

use crate::entry::ServerEntry;

/// Maximum size of a named file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// What an approval holds for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDigest {
    /// The hash of everything.
    pub hash: String,
    /// The files that the entry names.
    pub files: Vec<PinnedFile>,
}

/// A file that an entry names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// The path, as it is written.
    pub path: String,
    /// The hash of its content; empty if it cannot be read.
    pub hash: String,
}

impl EntryDigest {
    /// Reads the files that an entry names, relative to the workspace.
    pub fn of(entry: &ServerEntry, workspace: &Path) -> Self {
        let McpServer { command, args, cwd, .. } = &entry.server;
        let base = workspace.join(cwd);
        let words = [command].into_iter().chain(args);
        let files: Vec<PinnedFile> = words.filter_map(|word| pinned(word, &base)).collect();
        let hashed = json!({ "server": what_is_started(&entry.server), "files": files });
        Self { hash: FileHash::of(hashed.to_string().as_bytes()).to_string(), files }
    }
}

/// Returns an entry without what changes only when and how long it is used.
fn what_is_started(server: &McpServer) -> McpServer {
    McpServer {
        disabled: false,
        required: false,
        start_timeout_seconds: None,
        call_timeout_seconds: None,
        max_call_seconds: None,
        ..server.clone()
    }
}

/// Returns the file that a word names by a path, if it does. A name without a slash is one only if there is such a file.
fn pinned(word: &str, base: &Path) -> Option<PinnedFile> {
    // A path may be the value of an option.
    let value = word.split_once('=').filter(|_| word.starts_with('-')).map(|(_, value)| value);
    let path = value.unwrap_or(word);
    let at = base.join(path);
    if path.is_empty() || !at.is_file() {
        return None;
    }
    let content = regular::read_regular_file(&at.canonicalize().ok()?, MAX_BYTES);
    let hash = content.map(|content| FileHash::of(&content).to_string()).unwrap_or_default();
    Some(PinnedFile { path: path.to_owned(), hash })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::entry::EntryOrigin;

    fn entry(command: &str, args: &[&str]) -> ServerEntry {
        let args = args.iter().map(|&word| word.to_owned()).collect();
        let server = McpServer { command: command.into(), args, ..McpServer::default() };
        ServerEntry { name: "a".into(), origin: EntryOrigin::Project, server, fault: None }
    }

    #[test]
    fn whatever_would_start_something_else_changes_the_digest() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("tools")).unwrap();
        fs::write(home.path().join("tools/server.py"), "one").unwrap();
        let digest = |entry: &ServerEntry| EntryDigest::of(entry, home.path()).hash;
        let plain = entry("python3", &["tools/server.py", "a"]);
        let before = digest(&plain);
        assert_eq!(digest(&plain), before);
        let mut seen = vec![before.clone()];
        let mut changed = plain.clone();
        changed.server.env = [("A".to_owned(), "b".to_owned())].into();
        seen.push(digest(&changed));
        changed.server.env = [("A".to_owned(), "c".to_owned())].into();
        seen.push(digest(&changed));
        seen.push(digest(&ServerEntry {
            server: McpServer { network: true, ..plain.server.clone() },
            ..plain.clone()
        }));
        let waits =
            McpServer { call_timeout_seconds: Some(1), required: true, ..plain.server.clone() };
        assert_eq!(digest(&ServerEntry { server: waits, ..plain.clone() }), before);
        seen.push(digest(&entry("python3", &["tools/server.pya"])));
        seen.push(digest(&entry("python3", &["tools/server.py", "", "a"])));
        fs::write(home.path().join("tools/server.py"), "two").unwrap();
        seen.push(digest(&plain));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
        fs::write(home.path().join("tools/server.py"), "one").unwrap();
        assert_eq!(digest(&plain), before);
    }

    #[test]
    fn files_are_found_in_options_too_and_names_of_programs_are_none() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.json"), "{}").unwrap();
        let names = |entry: &ServerEntry| {
            let files = EntryDigest::of(entry, home.path()).files;
            files.into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(names(&entry("node", &["--config=config.json", "config.json"])).len(), 2);
        assert!(names(&entry("npx", &["-y", "@scope/server", "."])).is_empty());
    }
}
