//! A tool: a name, a description, and arguments that are parsed into a look.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use thiserror::Error;
use tree::RepoPath;

use crate::look::{Look, ranged};

/// A tool that a model can call.
#[derive(Debug)]
pub struct Tool {
    /// The name for people: `fs.read`.
    pub name: &'static str,
    /// The purpose of the tool, for models.
    pub description: &'static str,
    schema: fn() -> Value,
    read: fn(&str) -> Result<Look, BadCall>,
}

/// Why a call is refused. The model gets this message and may call again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadCall {
    /// There is no such tool.
    #[error("there is no tool `{name}`; the tools are {known}")]
    NoTool {
        /// The name in the call.
        name: String,
        /// The names of the existing tools.
        known: String,
    },
    /// The arguments are not valid JSON, or not those of the tool.
    #[error("the arguments of {tool} are wrong: {why}; it takes {takes}")]
    Arguments {
        /// The name of the tool.
        tool: &'static str,
        /// The error.
        why: String,
        /// The parameters of the tool.
        takes: String,
    },
}

/// The arguments of a tool.
pub(crate) trait Arguments: DeserializeOwned + JsonSchema {
    /// Converts the arguments to a look, or returns the rule that they break.
    fn look(self) -> Result<Look, String>;
}

impl Tool {
    /// Creates a tool with the arguments `A`.
    pub(crate) const fn new<A: Arguments>(name: &'static str, description: &'static str) -> Self {
        Self { name, description, schema: schema_of::<A>, read: read::<A> }
    }

    /// Returns the JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// Parses the arguments of a call. Empty arguments are accepted if all parameters are optional.
    pub fn read(&self, arguments: &str) -> Result<Look, BadCall> {
        (self.read)(arguments).map_err(|error| match error {
            BadCall::Arguments { why, .. } => {
                BadCall::Arguments { tool: self.name, why, takes: self.takes() }
            }
            BadCall::NoTool { .. } => error,
        })
    }

    /// Returns the name on the wire, where dots are not allowed.
    pub fn wire_name(&self) -> String {
        self.name.replace('.', "_")
    }

    /// Lists the parameters on one line; optional ones are in brackets.
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

/// Generates the schema, without metadata and redundant markers of optional fields, because every request pays for its
/// tokens.
fn schema_of<A: Arguments>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.meta_schema = None);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    // A tool without parameters still needs an empty `properties` object.
    if let Some(object) = schema.as_object_mut() {
        let properties = object.entry("properties").or_insert_with(|| Map::new().into());
        for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
            property.as_object_mut().into_iter().for_each(shorten);
        }
    }
    schema
}

/// Removes from the schema of an argument that it may be null, which its optionality implies, and how it is stored.
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

/// Parses a path in the workspace.
pub(crate) fn path(text: &str) -> Result<RepoPath, String> {
    let bare = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    RepoPath::parse(bare).map_err(|error| error.to_string())
}

/// The first and last line of a range in a file.
pub(crate) type NumberRange = (usize, usize);

/// Parses a file and its lines, which are given separately or after the path, as in `a.rs:3-9`.
pub(crate) fn parse_file_part(
    text: &str,
    named: (Option<usize>, Option<usize>),
) -> Result<(RepoPath, Option<NumberRange>), String> {
    let (bare, ranges) = ranged(text.trim());
    let lines = match (named, ranges.as_slice()) {
        ((None, None), []) => None,
        ((None, None), [range]) => Some(*range),
        ((None, None), _) => {
            return Err("only one range per call; make a separate call for each".to_owned());
        }
        ((first, last), _) => Some((first.unwrap_or(1), last.unwrap_or(usize::MAX))),
    };
    if lines.is_some_and(|(first, last)| first == 0 || last < first) {
        return Err(
            "lines count from one, and the last line must not be before the first".to_owned()
        );
    }
    Ok((path(bare)?, lines))
}

/// Parses a number, which may be written as a string: `"10"`.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "invalid value: a line must be a number, such as 10")]
    enum Written {
        Number(usize),
        Text(String),
    }
    let text = match Option::<Written>::deserialize(from)? {
        None => return Ok(None),
        Some(Written::Number(number)) => return Ok(Some(number)),
        Some(Written::Text(text)) => text,
    };
    let bad = || serde::de::Error::custom(format!("`{text}` is not a line number"));
    if text.trim().is_empty() { Ok(None) } else { text.trim().parse().map(Some).map_err(|_| bad()) }
}

/// Parses a directory in the workspace; `None` stands for the workspace itself.
pub(crate) fn directory(text: Option<&str>) -> Result<Option<RepoPath>, String> {
    match text.map(str::trim) {
        None | Some("" | "." | "./") => Ok(None),
        Some(text) => path(text).map(Some),
    }
}

/// Checks that a text is not empty.
pub(crate) fn said(name: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("`{name}` is empty")) } else { Ok(text) }
}

/// Checks a revision; git must not take it for an option.
pub(crate) fn revision(text: String) -> Result<String, String> {
    if text.trim().is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
        return Err("a revision is a commit, a branch, a tag, or two with `..` between them".into());
    }
    Ok(text)
}
