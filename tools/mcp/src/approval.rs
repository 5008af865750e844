//! What the user approved of servers, in one file of the user. Reads and writes that file.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tools::regular;

use crate::definition::ToolDefinition;
use crate::digest::EntryDigest;

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Approvals that are kept of servers with one name: workspaces may have different servers with the same name.
const MAX_OF_A_NAME: usize = 50;

/// The approval of a server: its entry, and its tools as they were shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerApproval {
    /// The name of the server.
    pub server: String,
    /// What it holds for.
    pub digest: EntryDigest,
    /// When it was given.
    pub at: String,
    /// Whether the program may reach the network.
    pub network: bool,
    /// The tools.
    pub tools: Vec<Pin>,
}

impl ServerApproval {
    /// Returns true if it is of this server with this entry.
    pub(crate) fn holds_for(&self, server: &str, digest: &EntryDigest) -> bool {
        self.server == server && self.digest.hash == digest.hash
    }
}

/// A tool as it was approved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// Its definition.
    pub definition: ToolDefinition,
    /// Whether the user says that it only reads.
    pub reads: bool,
    /// Whether the user wants models to know of it first.
    #[serde(default)]
    pub first: bool,
}

/// The file of approvals.
#[derive(Debug, Clone)]
pub struct Approvals {
    path: PathBuf,
}

/// Why approvals cannot be read or written.
#[derive(Debug, Error)]
pub enum ApprovalError {
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// The file is damaged.
    #[error("{path} is damaged: {error}; remove it to approve servers anew")]
    Form {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

impl Approvals {
    /// Returns the approvals in a directory of the user.
    pub fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join("mcp-approvals.json") }
    }

    /// Returns all approvals; none if there is no file yet.
    pub fn read(&self) -> Result<Vec<ServerApproval>, ApprovalError> {
        let text = match regular::read_text(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ApprovalError::Io { path: self.name(), error }),
        };
        let form = |error| ApprovalError::Form { path: self.name(), error };
        serde_json::from_str(&text).map_err(form)
    }

    /// Records an approval. It takes the place of an earlier one of the same entry.
    pub fn add(&self, approval: ServerApproval) -> Result<(), ApprovalError> {
        let mut all = self.read()?;
        all.retain(|it| !it.holds_for(&approval.server, &approval.digest));
        let of_name = all.iter().filter(|it| it.server == approval.server).count();
        let mut too_many = (of_name + 1).saturating_sub(MAX_OF_A_NAME);
        all.retain(|it| {
            let is_old = it.server == approval.server && too_many > 0;
            too_many -= usize::from(is_old);
            !is_old
        });
        all.push(approval);
        self.write(&all)
    }

    /// Removes the approvals of a server. Returns true if there were some.
    pub fn remove(&self, server: &str) -> Result<bool, ApprovalError> {
        let mut all = self.read()?;
        let before = all.len();
        all.retain(|it| it.server != server);
        let removed = all.len() < before;
        if removed {
            self.write(&all)?;
        }
        Ok(removed)
    }

    /// Writes the file beside its place and moves it there, so that it is never half written.
    fn write(&self, all: &[ServerApproval]) -> Result<(), ApprovalError> {
        let written = || {
            let text = serde_json::to_vec_pretty(all)?;
            regular::create_dir(self.path.parent().unwrap_or(Path::new("")))?;
            let beside = self.path.with_extension("new");
            regular::write_regular_file(&beside, &text)?;
            std::fs::rename(&beside, &self.path)
        };
        written().map_err(|error: io::Error| ApprovalError::Io { path: self.name(), error })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(server: &str, hash: &str) -> ServerApproval {
        let digest = EntryDigest { hash: hash.into(), files: Vec::new() };
        let (at, tools) = (String::new(), Vec::new());
        ServerApproval { server: server.into(), digest, at, network: false, tools }
    }

    #[test]
    fn an_approval_holds_for_one_entry() {
        let home = tempfile::tempdir().unwrap();
        let approvals = Approvals::in_dir(&home.path().join("state"));
        let find = |server: &str, hash: &str| {
            let digest = EntryDigest { hash: hash.into(), files: Vec::new() };
            approvals.read().unwrap().into_iter().find(|it| it.holds_for(server, &digest))
        };
        assert!(find("a", "1").is_none());
        approvals.add(approval("a", "1")).unwrap();
        approvals.add(approval("a", "2")).unwrap();
        approvals.add(approval("b", "1")).unwrap();
        approvals.add(ServerApproval { network: true, ..approval("a", "1") }).unwrap();
        assert!(find("a", "1").unwrap().network);
        assert!(!find("a", "2").unwrap().network);
        assert!(find("a", "3").is_none());
        assert!(approvals.remove("a").unwrap() && find("a", "2").is_none());
        assert!(find("b", "1").is_some());
    }

    #[test]
    fn old_ones_of_a_name_are_dropped_and_a_damaged_file_is_named() {
        let home = tempfile::tempdir().unwrap();
        let approvals = Approvals::in_dir(home.path());
        for number in 0..MAX_OF_A_NAME + 5 {
            approvals.add(approval("a", &number.to_string())).unwrap();
        }
        assert_eq!(approvals.read().unwrap().len(), MAX_OF_A_NAME);
        assert_eq!(approvals.read().unwrap()[0].digest.hash, "5");
        std::fs::write(home.path().join("mcp-approvals.json"), "{").unwrap();
        let error = approvals.read().unwrap_err().to_string();
        assert!(error.contains("mcp-approvals.json is damaged"), "{error}");
    }
}
