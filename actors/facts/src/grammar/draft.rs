//! The Editor's contract: only a unified diff, only `NEED_FILE|path|why` lines, or `DONE|reason`. Pure.
//!
//! This module distinguishes a diff from other answers; the patch engine decides whether it applies. What the Editor
//! wants to see first is parsed by [`crate::grammar::look`].

use serde::{Deserialize, Serialize};
use tree::RepoPath;

use crate::grammar::contract::{ContractError, text_of_line};

/// Prefix of a line that asks for a file to be added to the plan.
const NEED_FILE: &str = "NEED_FILE|";
const ALONE: &str = "NEED_FILE lines stand alone, without a diff or other text";

/// An answer of the Editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAnswer {
    /// A diff, as the model wrote it.
    Diff(String),
    /// Files that must be changed and are not in the plan.
    NeedFiles(Vec<NeededFile>),
    /// The applied changes suffice.
    Done {
        /// The Editor's reason.
        reason: String,
    },
}

/// A file that the plan lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeededFile {
    /// The file; it need not exist yet.
    pub path: RepoPath,
    /// Why it has to be changed.
    pub why: String,
}

/// Whether the Editor may answer `DONE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayEnd {
    /// Yes: one of its diffs is applied.
    Applied,
    /// No: nothing is applied.
    NothingApplied,
}

/// Parses an answer of the Editor.
pub fn parse_draft(answer: &str, may_end: MayEnd) -> Result<EditorAnswer, ContractError> {
    if looks_like_a_diff(answer) {
        // Every line of a diff starts with a marker, so this line is outside it and would be ignored.
        let mut lines = (1..).zip(answer.lines());
        return match lines.find(|(_, line)| line.starts_with(NEED_FILE)) {
            None => Ok(EditorAnswer::Diff(answer.to_owned())),
            Some((number, line)) => Err(ContractError::at(number, line, ALONE.to_owned())),
        };
    }
    let said = || {
        let lines = (1..).zip(answer.lines().map(str::trim));
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("```"))
    };
    let needs = |line: &str| line.starts_with(NEED_FILE);
    if said().any(|(_, line)| needs(line)) {
        let one = |(number, line): (usize, &str)| {
            needed(line).map_err(|rule| ContractError::at(number, line, rule))
        };
        // Its looks can wait: the plan has to change first.
        let is_look = |line: &str| line.starts_with("NEED_") && !needs(line);
        let lines = said().filter(|(_, line)| !is_look(line));
        return lines.map(one).collect::<Result<_, _>>().map(EditorAnswer::NeedFiles);
    }
    if let Some((number, line)) = said().last()
        && let Some(reason) = line.strip_prefix("DONE|")
    {
        let rule = match may_end {
            MayEnd::Applied if said().any(|(_, line)| line.starts_with("NEED_")) => {
                "DONE stands without NEED_ lines: ask first, or end".to_owned()
            }
            MayEnd::Applied => match text_of_line(reason.trim(), "DONE|<reason>") {
                Ok(reason) => return Ok(EditorAnswer::Done { reason }),
                Err(rule) => rule,
            },
            MayEnd::NothingApplied => "DONE is an answer only when a diff of yours is applied: \
                 answer with a unified diff, or ask with NEED_ lines"
                .to_owned(),
        };
        return Err(ContractError::at(number, line, rule));
    }
    let forms = match may_end {
        MayEnd::Applied => {
            "the answer must be a unified diff only, NEED_ lines only, or DONE|<reason> if nothing more is needed"
        }
        MayEnd::NothingApplied => "the answer must be a unified diff only, or NEED_ lines only",
    };
    let (number, line) = said().next().unwrap_or((1, ""));
    Err(ContractError::at(number, line, forms.to_owned()))
}

/// Returns true if an answer has one of the forms, so that lines that look like looks are part of its content.
pub fn is_formed(answer: &str) -> bool {
    let is_form = |line: &str| line.starts_with(NEED_FILE) || line.starts_with("DONE|");
    looks_like_a_diff(answer) || answer.lines().any(|line| is_form(line.trim()))
}

/// Returns true if any line can only come from a diff.
fn looks_like_a_diff(answer: &str) -> bool {
    let starts = ["@@", "diff --git ", "+++ ", "rename from "];
    answer.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

fn needed(line: &str) -> Result<NeededFile, String> {
    let form = "NEED_FILE|<path>|<why>";
    let rest = line.strip_prefix(NEED_FILE).ok_or(ALONE)?;
    let (path, why) = rest.split_once('|').unwrap_or((rest, ""));
    let path =
        RepoPath::parse(path.trim().trim_start_matches("./")).map_err(|error| error.to_string())?;
    Ok(NeededFile { path, why: text_of_line(why.trim(), form)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Result<EditorAnswer, ContractError> {
        parse_draft(answer, MayEnd::NothingApplied)
    }

    #[test]
    fn a_diff_is_handed_on_as_written() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-NEED_FILE|y|z\n+DONE|z\n";
        assert_eq!(read(diff).unwrap(), EditorAnswer::Diff(diff.to_owned()));
    }

    #[test]
    fn a_needed_file_next_to_a_diff_is_refused() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-y\n+z\n";
        for answer in
            [format!("{diff}\nNEED_FILE|y|it is read there\n"), format!("NEED_FILE|y|z\n{diff}")]
        {
            let refused = read(&answer).unwrap_err();
            assert!(refused.text.starts_with("NEED_FILE|y|"), "{refused}");
            assert!(refused.rule.contains("without a diff"), "{refused}");
        }
    }

    #[test]
    fn needed_files_are_parsed() {
        let answer = "```\nNEED_FILE|./src/base.rs|the flag is read there | twice\n```";
        let base = NeededFile {
            path: RepoPath::parse("src/base.rs").unwrap(),
            why: "the flag is read there | twice".to_owned(),
        };
        let needed = EditorAnswer::NeedFiles(vec![base]);
        assert_eq!(read(answer).unwrap(), needed);
        assert_eq!(read(&format!("NEED_CONTEXT|a\n{answer}")).unwrap(), needed);
        assert!(read("NEED_FILE|a").unwrap_err().rule.contains("NEED_FILE|<path>|<why>"));
        assert!(read("NEED_FILE|../a|b").unwrap_err().rule.contains("out of the workspace"));
        let mixed = read("NEED_FILE|a|b\nand c").unwrap_err().to_string();
        assert!(mixed.starts_with("line 2: `and c`: NEED_FILE lines stand alone"), "{mixed}");
    }

    #[test]
    fn done_is_an_answer_once_something_is_applied() {
        let done = |answer| parse_draft(answer, MayEnd::Applied);
        let reason = "the package is missing here".to_owned();
        let answer = "DONE|the package is missing here";
        assert_eq!(done(answer).unwrap(), EditorAnswer::Done { reason: reason.clone() });
        let wordy = "No further change is needed.\nDONE|the package is missing here";
        assert_eq!(done(wordy).unwrap(), EditorAnswer::Done { reason });
        let mixed = done("NEED_CONTEXT|a\nDONE|it works").unwrap_err();
        assert!(mixed.rule.contains("ask first, or end"), "{mixed}");
        assert!(done("DONE|").unwrap_err().rule.contains("DONE|<reason>"));
        assert!(done("Nothing to do.").unwrap_err().rule.contains("DONE|<reason>"));
        assert!(read(answer).unwrap_err().rule.contains("only when a diff"));
    }

    #[test]
    fn prose_is_not_an_answer() {
        let error = read("I cannot do that.").unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (1, "I cannot do that."));
        assert!(error.rule.contains("unified diff only"));
        assert!(read("").is_err());
    }
}
