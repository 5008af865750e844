//! The workspace's own tools: executable files in its `tools` directory with a line that describes them. Running them
//! is not decided here.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::{Entry, FileMode, ReadTree, RepoPath};

use crate::schema::check_schema;

/// The directory with the tools.
const DIR: &str = "tools";
/// The prefix of the tools' names.
const PREFIX: &str = "tools";
/// What announces the description in a tool's file, what precedes its JSON, and how many lines are searched for it.
const NAME: &str = "TOOL_META";
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
    parameters: Option<Value>,
}

impl OwnTool {
    /// Parses the description in the file at `path`; `None` if it has none, or an error if the file cannot be a tool.
    fn read(path: RepoPath, mode: FileMode, text: &str) -> Option<Result<Self, String>> {
        let mut head = text.lines().take(HEAD_LINES).filter(|line| line.contains(NAME)).peekable();
        head.peek()?;
        Some(head.find_map(|line| line.split_once(MARK)).map_or_else(
            || Err(format!("its {NAME} is not a comment `{MARK} {{\"description\": …, \"parameters\": …}}`; the file is run with the arguments as JSON, its functions are not called")),
            |(_, said)| Self::described(path, mode, said),
        ))
    }

    fn described(path: RepoPath, mode: FileMode, said: &str) -> Result<Self, String> {
        if mode != FileMode::Executable {
            return Err(format!("it is not executable; `chmod +x {path}` makes it a tool"));
        }
        let meta: Meta =
            serde_json::from_str(said.trim()).map_err(|error| format!("{MARK} {error}"))?;
        if meta.description.trim().is_empty() {
            return Err(format!("{MARK} the description is empty"));
        }
        let none = || json!({ "type": "object", "properties": {} });
        let parameters = meta.parameters.unwrap_or_else(none);
        check_schema(&parameters).map_err(|why| format!("{MARK} {why}"))?;
        Ok(Self { path, description: meta.description, parameters })
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
pub fn is_own(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(['.', '_']))
}

/// Finds the tools of a tree, ordered by path, and the files that cannot be offered, with the reason. Blocks.
pub fn own_tools(tree: &ReadTree) -> (Vec<OwnTool>, Vec<(RepoPath, String)>) {
    let (mut tools, mut wrong): (Vec<OwnTool>, Vec<_>) = (Vec::new(), Vec::new());
    let Ok(dir) = RepoPath::parse(DIR) else { return (tools, wrong) };
    for name in tree.names(Some(&dir), MOST_FILES) {
        let Ok(path) = RepoPath::parse(&format!("{DIR}/{name}")) else { continue };
        let Ok(Entry::File(file)) = tree.entry(&path, MAX_FILE_BYTES) else { continue };
        let text = String::from_utf8_lossy(&file.bytes);
        match OwnTool::read(path.clone(), file.mode, &text) {
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
        file("odd.sh", &meta(r#"{"description":"x","parameters":{"type":"banana"}}"#), 0o755);
        file("seed.py", "TOOL_META = {'description': 'x'}\ndef run(args):\n  pass\n", 0o755);
        let (tools, wrong) = own_tools(&ReadTree::open(home.path()).unwrap());
        let names: Vec<_> = tools.iter().map(|it| (it.name(), it.wire_name())).collect();
        let named = |name: &str| (format!("tools.{name}"), format!("tools_{name}"));
        assert_eq!(names, [named("count"), named("lint")]);
        assert_eq!(tools[0].parameters, json!({"type": "object", "properties": {}}));
        let wrong: Vec<String> = wrong.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        assert!(wrong[0].starts_with("tools/broken.sh: TOOL_META: EOF"), "{wrong:?}");
        assert_eq!(wrong[1], "tools/lint.v2.sh: tools/lint already has this name");
        let bare = "TOOL_META: `parameters` must be a JSON Schema";
        assert!(wrong[2].starts_with(&format!("tools/odd.sh: {bare}")), "{wrong:?}");
        assert!(wrong[3].starts_with("tools/seed.py: its TOOL_META is not a comment"), "{wrong:?}");
        assert_eq!(wrong[4], "tools/silent.sh: TOOL_META: the description is empty");
        let asleep = "it is not executable; `chmod +x tools/sleeping.sh` makes it a tool";
        assert_eq!(wrong[5], format!("tools/sleeping.sh: {asleep}"));
        assert!(is_own("tools.lint") && is_own("tools_lint") && !is_own("toolsmith"));
    }
}
