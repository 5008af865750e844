//! The workspace's own tools: executable files in its `tools` directory with a line that describes them. Running them
//! is not decided here.

use schemars::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::{Entry, FileMode, ReadTree, RepoPath};

/// The directory with the tools.
const DIR: &str = "tools";
/// The prefix of the tools' names.
const PREFIX: &str = "tools";
/// What precedes the JSON description in a tool's file, and how many of its first lines are searched for it.
const MARK: &str = "TOOL_META:";
const HEAD_LINES: usize = 40;
/// Maximum numbers of files examined and tools offered.
const MOST_FILES: usize = 1000;
const MOST_TOOLS: usize = 20;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A tool of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTool {
    /// The executable file.
    pub path: RepoPath,
    /// The purpose of the tool, for models.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
}

/// The description in a tool's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    description: String,
    #[serde(default)]
    parameters: Option<Schema>,
}

impl OwnTool {
    /// Parses the description in the file at `path`; `None` if it has none, or an error if it is invalid.
    fn read(path: RepoPath, text: &str) -> Option<Result<Self, String>> {
        let said = text.lines().take(HEAD_LINES).find_map(|line| line.split_once(MARK))?.1;
        let meta: Meta = match serde_json::from_str(said.trim()) {
            Ok(meta) => meta,
            Err(error) => return Some(Err(format!("{MARK} {error}"))),
        };
        if meta.description.trim().is_empty() {
            return Some(Err(format!("{MARK} the description is empty")));
        }
        let none = || json!({ "type": "object", "properties": {} });
        let parameters = meta.parameters.map_or_else(none, Schema::to_value);
        Some(Ok(Self { path, description: meta.description, parameters }))
    }

    /// Returns the name for people: `tools.lint` for `tools/lint.sh`.
    pub fn name(&self) -> String {
        format!("{PREFIX}.{}", self.stem())
    }

    /// Returns the name on the wire.
    pub fn wire_name(&self) -> String {
        format!("{PREFIX}_{}", self.stem())
    }

    fn stem(&self) -> String {
        let name = self.path.name();
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        stem.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
    }
}

/// Returns whether `name` has the form of a workspace tool's name; the tool may not exist.
pub(crate) fn is_own(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(['.', '_']))
}

/// Finds the tools of a tree, ordered by path, and the files that cannot be offered, with the reason. Blocks.
pub fn own_tools(tree: &ReadTree) -> (Vec<OwnTool>, Vec<(RepoPath, String)>) {
    let (mut tools, mut wrong): (Vec<OwnTool>, Vec<_>) = (Vec::new(), Vec::new());
    let Ok(dir) = RepoPath::parse(DIR) else { return (tools, wrong) };
    for name in tree.names(Some(&dir), MOST_FILES) {
        let Ok(path) = RepoPath::parse(&format!("{DIR}/{name}")) else { continue };
        let Ok(Entry::File(file)) = tree.entry(&path, MAX_FILE_BYTES) else { continue };
        if file.mode != FileMode::Executable {
            continue;
        }
        let text = String::from_utf8_lossy(&file.bytes);
        match OwnTool::read(path.clone(), &text) {
            None => {}
            Some(Err(why)) => wrong.push((path, why)),
            Some(Ok(_)) if tools.len() == MOST_TOOLS => {
                wrong.push((path, format!("only the first {MOST_TOOLS} tools are offered")));
            }
            Some(Ok(tool)) => match tools.iter().find(|it| it.name() == tool.name()) {
                Some(other) => wrong.push((path, format!("{} already has this name", other.path))),
                None => tools.push(tool),
            },
        }
    }
    (tools, wrong)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn executable_files_with_a_description_are_tools() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(DIR)).unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let path = home.path().join(DIR).join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let meta = |text: &str| format!("#!/bin/sh\n# TOOL_META: {text}\n");
        let lint = r#"{"description":"Lint a file.","parameters":{"type":"object","properties":{"file":{"type":"string"}}}}"#;
        file("lint.v2.sh", &meta(lint), 0o755);
        file("count", &meta(r#"{"description":"Count."}"#), 0o755);
        file("plain.sh", "#!/bin/sh\n", 0o755);
        file("sleeping.sh", &meta(lint), 0o644);
        file("lint", &meta(lint), 0o755);
        file("broken.sh", &meta("{"), 0o755);
        file("silent.sh", &meta(r#"{"description":" "}"#), 0o755);
        file("odd.sh", &meta(r#"{"description":"x","parameters":7}"#), 0o755);
        let (tools, wrong) = own_tools(&ReadTree::open(home.path()).unwrap());
        let names: Vec<_> = tools.iter().map(|it| (it.name(), it.wire_name())).collect();
        let named = |name: &str| (format!("tools.{name}"), format!("tools_{name}"));
        assert_eq!(names, [named("count"), named("lint")]);
        assert_eq!(tools[0].parameters, json!({"type": "object", "properties": {}}));
        let wrong: Vec<String> = wrong.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        assert!(wrong[0].starts_with("tools/broken.sh: TOOL_META: EOF"), "{wrong:?}");
        assert_eq!(wrong[1], "tools/lint.v2.sh: tools/lint already has this name");
        assert!(wrong[2].starts_with("tools/odd.sh: TOOL_META: "), "{wrong:?}");
        assert_eq!(wrong[3], "tools/silent.sh: TOOL_META: the description is empty");
        assert!(is_own("tools.lint") && is_own("tools_lint") && !is_own("toolsmith"));
    }
}
