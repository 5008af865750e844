//! Converts an answer in another form to a unified diff: one that is escaped for JSON or HTML, named by the text around
//! it, or in a format of other agents. Each form is a grammar of the whole answer: apart from prose before and after,
//! every line has its place in it. No file is read here: a translation counts only if the
//! answer itself is refused and the files match. Pure.

use serde::Deserialize;

use crate::answer::other_forms::{apply_patch, between_prose, named, search_and_replace};
use crate::answer::regions::Use;

/// A translation of an answer.
#[derive(Debug)]
pub(crate) struct Translation {
    /// The unified diff.
    pub(crate) diff: Vec<u8>,
    /// True if HTML entities were decoded; the files must not have any of their own.
    pub(crate) of_entities: bool,
}

/// Yields every translation of `answer`, each of which covers the whole answer.
pub(crate) fn readings(answer: &[u8]) -> impl Iterator<Item = Translation> {
    let text = std::str::from_utf8(answer).unwrap_or_default();
    let readings = [
        from_json(text).map(|diff| (diff, false)),
        from_entities(text).map(|diff| (diff, true)),
        apply_patch(text).map(|diff| (diff, false)),
        search_and_replace(text).map(|diff| (diff, false)),
        named(text).map(|diff| (diff, false)),
    ];
    let read = |(diff, of_entities): (String, bool)| Translation { diff: diff.into(), of_entities };
    readings.into_iter().flatten().map(read)
}

/// Returns the lines of a translated answer, and which of them are prose before and after the change.
pub(crate) fn prose(answer: &[u8]) -> (Vec<&[u8]>, Vec<Use>) {
    let text = std::str::from_utf8(answer).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let change = between_prose(text, &lines).unwrap_or(0..lines.len());
    let of = |(at, line): (usize, &&str)| match line.trim().is_empty() {
        true => Use::Blank,
        false if change.contains(&at) => Use::Body,
        false => Use::Prose,
    };
    let uses = lines.iter().enumerate().map(of).collect();
    (lines.iter().map(|line| line.as_bytes()).collect(), uses)
}

/// The JSON values that can be an answer. Values with an additional or repeated key are rejected.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Fields(Fields),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(alias = "patch")]
    diff: String,
    /// The only file that the diff changes.
    path: Option<String>,
    #[serde(rename = "note", alias = "explanation", alias = "summary")]
    _note: Option<String>,
}

/// Returns the diff in an answer that is only a JSON value, possibly inside a fence.
fn from_json(answer: &str) -> Option<String> {
    let text = answer.trim();
    let text = match text.strip_prefix("```json\n") {
        Some(inside) => inside.strip_suffix("```")?,
        None => text,
    };
    let Fields { diff, path, .. } = match serde_json::from_str(text).ok()? {
        Value::Text(diff) => Fields { diff, path: None, _note: None },
        Value::Fields(fields) => fields,
    };
    let mut names = diff.lines().filter_map(|line| line.strip_prefix("+++ "));
    let is_about =
        path.is_none_or(|path| names.all(|name| name.strip_prefix("b/").unwrap_or(name) == path));
    is_about.then_some(diff)
}

/// The characters that are escaped for HTML, with their entities.
const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&amp;", "&"),
];

/// Returns true if a file has HTML entities.
pub(crate) fn has_entities(bytes: &[u8]) -> bool {
    ENTITIES.iter().any(|(entity, _)| memchr::memmem::find(bytes, entity.as_bytes()).is_some())
}

/// Decodes the HTML entities of an answer, if all such characters are escaped, also in old lines, and none is in a
/// name.
fn from_entities(answer: &str) -> Option<String> {
    let is_escaped = |line: &str| ENTITIES.iter().any(|(entity, _)| line.contains(entity));
    let replaced = |text: &str, with: fn(&'static str) -> &'static str| {
        ENTITIES
            .iter()
            .fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, with(plain)))
    };
    let is_name =
        |line: &&str| ["--- ", "+++ ", "diff ", "rename "].iter().any(|it| line.starts_with(it));
    let is_old = |line: &&str| line.starts_with([' ', '-']) && !is_name(line);
    let shown = answer.lines().filter(is_old).any(is_escaped);
    let is_raw = replaced(answer, |_| "").contains(['<', '>', '&']);
    let is_in_name = answer.lines().filter(is_name).any(is_escaped);
    (shown && !is_raw && !is_in_name).then(|| replaced(answer, |plain| plain))
}
