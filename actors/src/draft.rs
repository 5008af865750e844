//! The Editor's contract: a unified diff only, or `NEED_CONTEXT|path[:start-end]` lines only. Pure.
//!
//! Whether the diff applies is the patch engine's business; here it is only told from everything else.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tree::RepoPath;

/// What the Editor answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAnswer {
    /// A diff, as the model wrote it.
    Diff(String),
    /// Files it wants to see first.
    NeedContext(Vec<ContextRequest>),
}

/// A file, or lines of one, that the Editor wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextRequest {
    /// The file.
    pub path: RepoPath,
    /// One-based lines, both included; the whole file when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<(usize, usize)>,
}

impl fmt::Display for ContextRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines {
            Some((first, last)) => write!(f, "{}:{first}-{last}", self.path),
            None => write!(f, "{}", self.path),
        }
    }
}

/// Why an answer is neither.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("line {line}: `{text}`: {rule}")]
pub struct DraftError {
    /// One-based line of the answer.
    pub line: usize,
    /// The line, shortened.
    pub text: String,
    /// The rule it breaks.
    pub rule: String,
}

const PREFIX: &str = "NEED_CONTEXT|";

/// Tells what the Editor answered.
pub fn parse(answer: &str, max_range_lines: usize) -> Result<EditorAnswer, DraftError> {
    let lines: Vec<&str> = answer.lines().collect();
    let speaking = || {
        lines.iter().enumerate().filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("```")
        })
    };
    let asks = speaking().filter(|(_, line)| line.trim_start().starts_with(PREFIX)).count();
    if asks > 0 {
        if let Some((at, line)) =
            speaking().find(|(_, line)| !line.trim_start().starts_with(PREFIX))
        {
            // Inside a diff the words are content; beside one they are a mixture.
            if !looks_like_a_diff(&lines) {
                return Err(error(
                    at,
                    line,
                    "NEED_CONTEXT lines stand alone, without a diff or other text",
                ));
            }
        } else {
            let requests: Result<Vec<_>, _> = speaking()
                .map(|(at, line)| {
                    request(line.trim(), max_range_lines).map_err(|rule| error(at, line, &rule))
                })
                .collect();
            return requests.map(EditorAnswer::NeedContext);
        }
    }
    if looks_like_a_diff(&lines) {
        return Ok(EditorAnswer::Diff(answer.to_owned()));
    }
    let (at, line) = speaking().next().map_or((0, ""), |(at, line)| (at, *line));
    Err(error(
        at,
        line,
        "the answer must be a unified diff only, or NEED_CONTEXT|path[:start-end] lines only",
    ))
}

/// Whether any line can only come from a diff.
fn looks_like_a_diff(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        line.starts_with("@@")
            || line.starts_with("diff --git ")
            || line.starts_with("+++ ")
            || line.starts_with("rename from ")
    })
}

/// Reads one request. A name may contain colons: only `:number-number` at the end is a range.
fn request(line: &str, max_lines: usize) -> Result<ContextRequest, String> {
    let target = line.strip_prefix(PREFIX).unwrap_or_default().trim();
    let range = target.rsplit_once(':').and_then(|(path, range)| {
        let (first, last) = range.split_once('-')?;
        Some((path, (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?)))
    });
    let (path, lines) = range.map_or((target, None), |(path, lines)| (path, Some(lines)));
    if let Some((first, last)) = lines {
        if first == 0 || last < first {
            return Err("a range is one-based and reads first-last".to_owned());
        }
        if last - first >= max_lines {
            return Err(format!("a range has at most {max_lines} lines"));
        }
    }
    let path = RepoPath::parse(path.trim_start_matches("./"))
        .map_err(|error| format!("paths are relative to the workspace and inside it: {error}"))?;
    Ok(ContextRequest { path, lines })
}

fn error(at: usize, line: &str, rule: &str) -> DraftError {
    DraftError { line: at + 1, text: line.chars().take(200).collect(), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Result<EditorAnswer, DraftError> {
        parse(answer, 400)
    }

    fn asked(answer: &str) -> Vec<String> {
        match read(answer).unwrap() {
            EditorAnswer::NeedContext(requests) => {
                requests.iter().map(ToString::to_string).collect()
            }
            EditorAnswer::Diff(diff) => panic!("a diff: {diff}"),
        }
    }

    #[test]
    fn requests_with_and_without_ranges() {
        let answer = "NEED_CONTEXT|src/a.rs\n\nNEED_CONTEXT|./b.rs:3-400\nNEED_CONTEXT|odd:name\n";
        assert_eq!(asked(answer), ["src/a.rs", "b.rs:3-400", "odd:name"]);
        assert_eq!(asked("```\nNEED_CONTEXT|a\n```"), ["a"]);
    }

    #[test]
    fn ranges_are_checked() {
        let rule = |answer: &str| read(answer).unwrap_err().to_string();
        assert_eq!(
            rule("NEED_CONTEXT|a:1-401"),
            "line 1: `NEED_CONTEXT|a:1-401`: a range has at most 400 lines"
        );
        assert!(rule("NEED_CONTEXT|a:0-3").contains("one-based"));
        assert!(rule("NEED_CONTEXT|a:9-3").contains("one-based"));
        assert!(rule("NEED_CONTEXT|../a").contains("inside it"));
        assert!(rule("NEED_CONTEXT|a\nand b please").contains("line 2: `and b please`"));
    }

    #[test]
    fn a_diff_is_handed_on_as_written() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-NEED_CONTEXT|y\n+z\n";
        assert_eq!(read(diff).unwrap(), EditorAnswer::Diff(diff.to_owned()));
    }

    #[test]
    fn prose_is_neither() {
        assert!(read("I cannot do that.").unwrap_err().rule.contains("unified diff only"));
        assert!(read("").is_err());
    }
}
