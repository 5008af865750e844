//! What an answer in another form says, as a unified diff: escaped for JSON or HTML, a column further in, named by the text around it,
//! or in a format of other agents. It reads no file: a reading counts only where the answer itself is refused and the files fit.

use serde_json::Value;

use super::fence::Fence;
use super::foreign;
use super::formats::{apply_patch, search_and_replace};

/// Every way to read `answer` otherwise, each of which takes it as a whole.
pub(super) fn readings(answer: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let Ok(text) = std::str::from_utf8(answer) else { return Vec::new().into_iter() };
    let readings = [
        from_json(text),
        from_entities(text),
        apply_patch(text),
        search_and_replace(text),
        named(text),
        further_out(text, &[' ', '+', '-']),
        further_out(text, &['+', '-']),
    ];
    let readings: Vec<Vec<u8>> = readings.into_iter().flatten().map(String::into_bytes).collect();
    readings.into_iter()
}

/// Whether a line can be a part of a change in any format.
pub(super) fn is_of_a_change(line: &str) -> bool {
    let marks = ["--- ", "+++ ", "@@", "diff ", "rename ", "*** "];
    marks.iter().any(|mark| line.starts_with(mark)) || foreign::is_foreign(line.as_bytes())
}

/// The name that a line of text consists of, whatever is put around it.
pub(super) fn path_in(line: &str) -> Option<&str> {
    let around = |c: char| c.is_whitespace() || "#*`'\":".contains(c);
    let name = line.trim_matches(around);
    let name = name.strip_prefix("File:").map_or(name, |rest| rest.trim_matches(around));
    let is_one = !name.is_empty() && !name.contains(char::is_whitespace);
    (is_one && !name.ends_with(['.', ')', '}', ']', '>'])).then_some(name)
}

/// The diff that is the only text of several lines in a value of JSON, or whose lines are the value.
fn from_json(answer: &str) -> Option<String> {
    let value = value_in(answer)?;
    let lines = value.as_array().filter(|lines| lines.iter().all(Value::is_string));
    let mut texts = Vec::new();
    texts_of(&value, &mut texts);
    if lines.is_some() {
        texts = vec![texts.join("\n")];
    }
    let mut long = texts.into_iter().filter(|text| text.contains('\n'));
    let diff = long.next().filter(|diff| diff.lines().any(|line| line.starts_with("@@")))?;
    long.next().is_none().then_some(diff)
}

/// The value that an answer is, or that it has between lines of prose.
fn value_in(answer: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(answer) {
        return Some(value);
    }
    let (before, rest) = answer.split_at(answer.find(['{', '['])?);
    let (json, after) = rest.split_at(rest.rfind(['}', ']'])? + 1);
    let is_prose = !before.lines().chain(after.lines()).any(is_of_a_change);
    serde_json::from_str(json).ok().filter(|_| is_prose)
}

fn texts_of(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| texts_of(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The characters that are escaped for HTML, and how.
const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&amp;", "&"),
];

/// The answer with the characters that HTML escapes, if old lines have any, which the files have to bear out, and no new line has
/// them in both ways.
fn from_entities(answer: &str) -> Option<String> {
    let plain = |line: &str| {
        ENTITIES.iter().fold(line.to_owned(), |line, (entity, plain)| line.replace(entity, plain))
    };
    let is_escaped = |line: &str| ENTITIES.iter().any(|(entity, _)| line.contains(entity));
    let is_raw = |line: &str| {
        let rest =
            ENTITIES.iter().fold(line.to_owned(), |line, (entity, _)| line.replace(entity, ""));
        rest.contains(['<', '>', '&'])
    };
    let old = |line: &&str| line.starts_with([' ', '-']);
    let new = |line: &&str| line.starts_with('+') && !line.starts_with("+++ ");
    let shown = answer.lines().filter(old).any(is_escaped);
    let escaped = answer.lines().filter(new).any(is_escaped);
    let raw = answer.lines().filter(new).any(is_raw);
    (shown && !(escaped && raw)).then(|| plain(answer))
}

/// The answer without the space behind these markers, if each of them has one behind it, and each hunk has old lines that have.
fn further_out(answer: &str, markers: &[char]) -> Option<String> {
    let mut text = String::with_capacity(answer.len());
    let (mut inside, mut shown) = (false, true);
    let mut lines = answer.lines().peekable();
    while let Some(line) = lines.next() {
        let names =
            line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if line.starts_with("@@") || names || line.starts_with("diff ") {
            if inside && !shown {
                return None;
            }
            inside = line.starts_with("@@");
            shown = false;
        }
        let marked = line.strip_prefix(markers).filter(|_| inside && !line.starts_with("@@"));
        match marked {
            Some(rest) if !rest.is_empty() => {
                let (marker, rest) = (line.chars().next()?, rest.strip_prefix(' ')?);
                shown |= marker != '+' && (marker == '-' || !rest.trim().is_empty());
                text.extend([marker]);
                text.push_str(rest);
            }
            Some(_) | None => text.push_str(line),
        }
        text.push('\n');
    }
    (shown && text.len() < answer.len()).then_some(text)
}

/// The answer with the names that its fences have, or that stand above them, if nothing else in it names a file.
fn named(answer: &str) -> Option<String> {
    let names = ["--- ", "+++ ", "diff "];
    if answer.lines().any(|line| names.iter().any(|name| line.starts_with(name))) {
        return None;
    }
    let mut text = String::with_capacity(answer.len());
    let (mut above, mut found) = (None, false);
    let mut lines = answer.lines().peekable();
    while let Some(line) = lines.next() {
        text.extend([line, "\n"]);
        let begins = Fence::opening(line.as_bytes()).is_some()
            && lines.peek().is_some_and(|next| next.starts_with("@@"));
        if begins {
            let info = line.trim_start_matches(['`', '~', ' ']);
            let info =
                info.split_once([' ', ':']).map(|(_, rest)| rest.trim_start_matches("title="));
            let path = info.and_then(path_in).or(above)?;
            text.push_str(&names_of(path));
            found = true;
        }
        if !line.trim().is_empty() {
            above = path_in(line);
        }
    }
    found.then_some(text)
}

/// The header of a file that is changed.
pub(super) fn names_of(path: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n")
}
