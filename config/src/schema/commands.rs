//! How commands run, and which of them test a project. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How commands run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Bytes of a command's output kept from its start and from its end, each.
    pub output_keep_bytes: usize,
    /// Bytes of output kept in the journal in total.
    pub output_journal_bytes: usize,
    /// Milliseconds between the polite signal and the final one.
    pub kill_grace_ms: u64,
    /// Variables that commands see: names, or prefixes followed by `*`; prefixes do not match names that look secret.
    pub env: Vec<String>,
    /// Lock files that commands update, by the manifest that they are made from.
    pub locks: BTreeMap<String, Vec<String>>,
    /// Messages of tools that could not do their work, by tool.
    pub complaints: BTreeMap<String, Complaints>,
}

/// Messages of a tool that could not do its work: text within a line, in which `{}` stands for a name. A tool that says
/// nothing of a kind has no list for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Complaints {
    /// A package is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub package: Vec<String>,
    /// A program is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<String>,
    /// A service does not respond.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<String>,
    /// The network is unreachable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// There is no display.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<String>,
    /// The sandbox does not allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confined: Vec<String>,
    /// The command itself names something that does not exist, such as a script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The machine failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    /// Tests could not be built or collected, so they did not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unbuilt: Vec<String>,
    /// The command that installs a missing package, in which `{}` stands for its name and `{fetch}` for the command
    /// that loads the packages of the project; empty if none does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cure: String,
}

/// A kind of project, known by its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectKind {
    /// Files that show such a project; `*` stands for any text.
    pub manifests: Vec<String>,
    /// Whether a directory with such a file is the project that its subdirectories belong to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_root: bool,
    /// Commands that run its tests, best first.
    pub tests: Vec<TestCommand>,
    /// Other commands that run them, as documents write them, without options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Commands that load packages with the network, each for the checks that begin with its program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetch: Vec<String>,
    /// The directory in the project that has the programs of its packages, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<String>,
}

/// A command that runs the tests of a project, and the conditions under which it can. Conditions on files are
/// `[!]PATH[: TEXT[|TEXT]…]`, with `*` in the last part of the path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TestCommand {
    /// The command for the root of the workspace; none if there is only one for directories below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The command for a directory below the root, which `{}` stands for; none if the tool has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Scripts of the manifest, of which the first that is there stands for `{script}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
    /// A target of the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Conditions that must all hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// Conditions of which one must hold; if there are none, that a manifest is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// How only some files with tests are run; none if the tool always runs all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<OnlyTests>,
    /// Whether it builds, and the tests run as a part of that: a document that names it need not mean tests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_build: bool,
}

/// How a test command runs the tests in some files only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OnlyTests {
    /// The end of the names of files with its tests.
    pub ending: String,
    /// The directory that such a file has to be in, directly; none for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// How one is named: `{}` stands for its path, `{stem}` for its name without the ending, `{dir}` for its directory.
    pub each: String,
    /// The command, in which `{run}` stands for the one that runs all, and `{}` for the names.
    pub run: String,
}
