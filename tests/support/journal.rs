//! Rewrites journal files: lines are changed and the hash chain is sealed again, so that the journal stays valid.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree::FileHash;

/// Applies `change` to every line of a session's journal, and seals the chain again.
pub(crate) fn rewrite(session: &Path, mut change: impl FnMut(&mut Value)) {
    let path = session.join("events.jsonl");
    let mut prev = "0".repeat(16);
    let mut text = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        change(&mut event);
        event["prev"] = json!(prev);
        event.as_object_mut().unwrap().shift_remove("sum");
        let mut line = event.to_string();
        line.pop();
        FileHash::of(line.as_bytes()).to_string()[..16].clone_into(&mut prev);
        text.push_str(&format!("{line},\"sum\":\"{prev}\"}}\n"));
    }
    fs::write(path, text).unwrap();
}

fn path(session: &Path, blob: &Value) -> PathBuf {
    session.join("blobs").join(format!("{}.zst", blob["blob"].as_str().unwrap()))
}

/// Returns the content of a blob. The program's own reader is used, because a blob may be stored as a difference to another.
pub(crate) fn kept(session: &Path, blob: &Value) -> String {
    let blob: facts::event::Blob = serde_json::from_value(blob.clone()).unwrap();
    String::from_utf8(journal::read::content(session, &blob).unwrap()).unwrap()
}

/// Stores `text` as a blob, and returns the reference to it that events use.
pub(crate) fn keep(session: &Path, text: &str) -> Value {
    let blob = json!({ "blob": FileHash::of(text.as_bytes()).to_string(), "bytes": text.len() });
    fs::write(path(session, &blob), zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    blob
}
