//! A tool: a name, what it is for, and arguments that make a look of it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use thiserror::Error;
use tree::RepoPath;

use crate::look::{Look, ranged};

/// What a model may call.
#[derive(Debug)]
pub struct Tool {
    /// Its name, as people read it: `fs.read`.
    pub name: &'static str,
    /// What it is for, in words for a model.
    pub description: &'static str,
    schema: fn() -> Value,
    read: fn(&str) -> Result<Look, BadCall>,
}

/// Why a call is not carried out. It is told to the model, which may call again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadCall {
    /// There is no such tool.
    #[error("there is no tool `{name}`; there are {known}")]
    NoTool {
        /// What was called.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The arguments are no JSON, or not those of the tool.
    #[error("the arguments of {tool} are wrong: {why}; it takes {takes}")]
    Arguments {
        /// The tool.
        tool: &'static str,
        /// What is wrong with them.
        why: String,
        /// What it takes.
        takes: String,
    },
}

/// The arguments of a tool.
pub(crate) trait Arguments: DeserializeOwned + JsonSchema {
    /// What they ask for, or the rule that they break.
    fn look(self) -> Result<Look, String>;
}

impl Tool {
    /// A tool with the arguments `A`.
    pub(crate) const fn new<A: Arguments>(name: &'static str, description: &'static str) -> Self {
        Self { name, description, schema: schema_of::<A>, read: read::<A> }
    }

    /// The JSON Schema of its arguments.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// What a call with these arguments asks for. A tool whose arguments may all be left out is called with none.
    pub fn read(&self, arguments: &str) -> Result<Look, BadCall> {
        (self.read)(arguments).map_err(|error| match error {
            BadCall::Arguments { why, .. } => {
                BadCall::Arguments { tool: self.name, why, takes: self.takes() }
            }
            BadCall::NoTool { .. } => error,
        })
    }

    /// Its name on the wire, where dots are not allowed.
    pub fn wire_name(&self) -> String {
        self.name.replace('.', "_")
    }

    /// Its parameters in a line; those in brackets may be left out.
    pub fn takes(&self) -> String {
        let schema = self.schema();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let named: Vec<String> = names
            .map(|(name, _)| if is_required(name) { name.clone() } else { format!("[{name}]") })
            .collect();
        if named.is_empty() { "no arguments".to_owned() } else { named.join(" ") }
    }
}

fn read<A: Arguments>(arguments: &str) -> Result<Look, BadCall> {
    let wrong = |why| BadCall::Arguments { tool: "", why, takes: String::new() };
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let read: A = serde_json::from_str(arguments).map_err(|error| wrong(error.to_string()))?;
    read.look().map_err(wrong)
}

/// The schema, without what only says where it is from, and what only says that something may be left out: every question pays
/// for it.
fn schema_of<A: Arguments>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.meta_schema = None);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    // A tool without parameters has an empty object of them all the same.
    if let Some(object) = schema.as_object_mut() {
        let properties = object.entry("properties").or_insert_with(|| Map::new().into());
        for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
            property.as_object_mut().into_iter().for_each(shorten);
        }
    }
    schema
}

/// Takes from the schema of an argument that it may be null, which one that is left out says as well, and how it is stored.
fn shorten(property: &mut Map<String, Value>) {
    property.remove("default");
    property.remove("format");
    property.remove("minimum");
    let kinds = property.get("type").and_then(Value::as_array);
    let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).cloned();
    if let Some(kind) = kind {
        property.insert("type".to_owned(), kind);
    }
}

/// A path in the workspace.
pub(crate) fn path(text: &str) -> Result<RepoPath, String> {
    let bare = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    RepoPath::parse(bare)
        .map_err(|error| format!("paths are relative to the workspace and inside it: {error}"))
}

/// Lines of a file, both included.
pub(crate) type Range = (usize, usize);

/// A file, and those of its lines that are named beside it, or behind its path: `a.rs:3-9`.
pub(crate) fn part(
    text: &str,
    named: (Option<usize>, Option<usize>),
) -> Result<(RepoPath, Option<Range>), String> {
    let (bare, ranges) = ranged(text.trim());
    let lines = match (named, ranges.as_slice()) {
        ((None, None), []) => None,
        ((None, None), [range]) => Some(*range),
        ((None, None), _) => return Err("one range in a call; call once for each".to_owned()),
        ((first, last), _) => Some((first.unwrap_or(1), last.unwrap_or(usize::MAX))),
    };
    if lines.is_some_and(|(first, last)| first == 0 || last < first) {
        return Err("lines count from one, and the last is not before the first".to_owned());
    }
    Ok((path(bare)?, lines))
}

/// A number, also where it is written as a text: `"10"`.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "invalid value: a line is a number, such as 10")]
    enum Written {
        Number(usize),
        Text(String),
    }
    let text = match Option::<Written>::deserialize(from)? {
        None => return Ok(None),
        Some(Written::Number(number)) => return Ok(Some(number)),
        Some(Written::Text(text)) => text,
    };
    let bad = || serde::de::Error::custom(format!("`{text}` is no number of a line"));
    if text.trim().is_empty() { Ok(None) } else { text.trim().parse().map(Some).map_err(|_| bad()) }
}

/// A directory in the workspace; the workspace itself is none of them.
pub(crate) fn directory(text: Option<&str>) -> Result<Option<RepoPath>, String> {
    match text.map(str::trim) {
        None | Some("" | "." | "./") => Ok(None),
        Some(text) => path(text).map(Some),
    }
}

/// A text that says something.
pub(crate) fn said(name: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("`{name}` is empty")) } else { Ok(text) }
}

/// A revision, which git must not take for an option.
pub(crate) fn revision(text: String) -> Result<String, String> {
    if text.trim().is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
        return Err("a revision is a commit, a branch, a tag, or two with `..` between them".into());
    }
    Ok(text)
}
