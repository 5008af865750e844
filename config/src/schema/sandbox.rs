//! How commands are confined. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How commands are confined. In paths, `~` is the home directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// How far commands are confined.
    pub mode: SandboxMode,
    /// What happens on a machine that can confine commands only in part.
    pub floor: Floor,
    /// The network that commands have.
    pub network: NetworkReach,
    /// Variables for commands with an isolated network.
    pub offline: BTreeMap<String, String>,
    /// Milliseconds that testing the sandbox may take.
    pub probe_timeout_ms: u64,
    /// Concurrent processes of a command.
    pub max_processes: u64,
    /// Size in bytes of any one file that a command writes.
    pub max_file_bytes: u64,
    /// Bytes of discarded files that a command may write.
    pub scratch_bytes: u64,
    /// Bytes of a tree that is copied to run commands which are confined only in part.
    pub copy_bytes: u64,
    /// Paths outside the tree that commands may read.
    pub read: Vec<String>,
    /// Paths that commands may not read, although they are below one of `read`.
    pub hidden: Vec<String>,
    /// Settings of the user's git that hold for commands.
    pub git: Vec<String>,
    /// Tools that keep files in a directory of the user.
    pub tools: BTreeMap<String, UserTool>,
    /// Directories that builds keep for later builds, by the file next to which they are.
    pub caches: BTreeMap<String, Vec<String>>,
    /// Directories that builds make anew, by the file next to which they are; `?` after a name means that it may also be
    /// that of sources.
    pub outputs: BTreeMap<String, Vec<String>>,
}

/// The mark after the name of an output that may also be the name of sources.
pub const OR_SOURCES: char = '?';

/// Returns true if a file has a name from a table of directories that builds write to. `*` at the start stands for
/// anything.
pub fn is_manifest(pattern: &str, name: &str) -> bool {
    pattern.strip_prefix('*').map_or(pattern == name, |ending| name.ends_with(ending))
}

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// As far as this machine can.
    Auto,
    /// With only Landlock and seccomp.
    Floor,
    /// Not at all.
    Off,
}

/// What happens to commands that are confined only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Floor {
    /// The user is asked once per workspace.
    Ask,
    /// They run.
    Accept,
}

/// The network that commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkReach {
    /// An isolated one: a command reaches only itself.
    Own,
    /// The user's network.
    Host,
}

/// A tool that keeps files in a directory of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTool {
    /// Variable that names the directory; empty if there is none.
    pub variable: String,
    /// The directory if the variable is not set.
    pub home: String,
    /// Paths in it that commands may read.
    pub read: Vec<String>,
    /// Paths in it that commands may write to; the changes are discarded.
    pub layered: Vec<String>,
}
