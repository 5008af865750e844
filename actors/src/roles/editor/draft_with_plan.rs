//! A diff that the Architect wrote with its plan, in place of the Editor. It is used only if every line that it touches was
//! shown in the dialogue in which it was written, as the line is now. Pure.

use std::collections::{BTreeMap, HashSet};

use config::AgentLoop;
use facts::grammar::draft::{EditorAnswer, MayEnd, parse_draft};
use index::definitions_of_file;
use model::ChatMessage;
use patch::{ApplyPlan, BaseState, PatchLimits, PatchScope, numbered};
use similar::{DiffOp, TextDiff};
use thiserror::Error;
use tools::encoding::decode_lossy;
use tree::{Change, Entry, FileMode, FileState, RepoPath};

use crate::looks::shown_lines::{FirstSight, ShownRange, first_sight};
use crate::roles::editor::FileNow;
use crate::talk::dialogue::Dialogue;

/// A diff that came with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftWithPlan {
    /// Number of the call whose answer has it.
    pub call: u64,
    /// The text after the plan.
    pub text: String,
}

/// Why such a diff is not used.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum Unusable {
    /// The text is something else.
    #[error("it is not a unified diff alone")]
    NoDiff,
    /// It does not fit the files as they are.
    #[error("it does not apply: {0}")]
    DoesNotApply(String),
    /// It is for the Editor to write.
    #[error("it changes {changed} lines, more than the {most} that a plan may bring")]
    TooLong {
        /// Lines that it adds and removes.
        changed: usize,
        /// Maximum number of them.
        most: usize,
    },
    /// Its author has not seen what it changes.
    #[error("{path}:{line} was not shown to its author as it is now")]
    Unseen {
        /// The file.
        path: RepoPath,
        /// A line that it touches.
        line: usize,
    },
    /// It goes beyond the plan.
    #[error("{path}:{line} is in no place that the plan names")]
    Elsewhere {
        /// The file.
        path: RepoPath,
        /// A line that it touches.
        line: usize,
    },
}

impl DraftWithPlan {
    /// Returns the diff if it can be used. `files` are the files that the plan declares, as they are now; `dialogue` is the
    /// one in which it was written.
    pub fn usable(
        &self,
        files: &[FileNow],
        dialogue: &Dialogue,
        bounds: &AgentLoop,
    ) -> Result<&str, Unusable> {
        let Ok(EditorAnswer::Diff(_)) = parse_draft(&self.text, MayEnd::NothingApplied) else {
            return Err(Unusable::NoDiff);
        };
        let ApplyPlan { changes, put_aside, remark, .. } = self.applied(files, bounds)?;
        if !put_aside.is_empty() || remark.is_some() {
            return Err(Unusable::NoDiff);
        }
        let changed =
            changes.iter().map(Change::line_counts).map(|(added, removed)| added + removed);
        let (changed, most) = (changed.sum(), bounds.draft_lines);
        if changed > most {
            return Err(Unusable::TooLong { changed, most });
        }
        for (path, before, after) in changes.iter().flat_map(Change::sides) {
            let text = |file: Option<&FileState>| {
                file.map(|file| decode_lossy(&file.bytes).into_owned()).unwrap_or_default()
            };
            let (old, new) = (text(before), text(after));
            let shown = shown_of(dialogue, path);
            let named = files.iter().find(|file| file.path == *path);
            let places = named.and_then(|file| places(file, &old, bounds.max_place_lines));
            let lines: Vec<&str> = old.lines().collect();
            let is_shown = |line: &usize| {
                let text = lines.get(line - 1).copied().unwrap_or_default();
                shown.contains(numbered(text, *line).trim_end_matches('\n'))
            };
            let is_in_place = |line: &usize| {
                let around = |(first, last): &ShownRange| (*first..=*last).contains(line);
                places.as_ref().is_none_or(|places| places.iter().any(around))
            };
            for spot in touched(&old, &new) {
                let Some(&line) = spot.first() else { continue };
                let path = path.clone();
                if !spot.iter().any(is_shown) {
                    return Err(Unusable::Unseen { path, line });
                }
                if !spot.iter().any(is_in_place) {
                    return Err(Unusable::Elsewhere { path, line });
                }
            }
        }
        Ok(&self.text)
    }

    /// Applies it to the files, without writing anything.
    fn applied(&self, files: &[FileNow], bounds: &AgentLoop) -> Result<ApplyPlan, Unusable> {
        let state = |text: &String| FileState {
            bytes: text.clone().into_bytes().into(),
            mode: FileMode::Regular,
        };
        let entries: BTreeMap<&RepoPath, Entry> = files
            .iter()
            .map(|file| {
                (&file.path, file.now.as_ref().map_or(Entry::Missing, |it| Entry::File(state(it))))
            })
            .collect();
        let base = |file: &FileNow| {
            let text = file.now.as_ref().map(state);
            (file.path.clone(), text.map_or(BaseState::Missing, |file| BaseState::of(file.bytes)))
        };
        let scope = PatchScope {
            declared: Some(files.iter().map(|file| file.path.clone()).collect()),
            bases: files.iter().map(base).collect(),
        };
        let limits = PatchLimits {
            max_diff_bytes: Some(bounds.max_diff_bytes),
            max_file_bytes: Some(bounds.max_file_bytes),
            max_files: None,
        };
        let current = |path: &RepoPath| Ok(entries.get(path).cloned().unwrap_or(Entry::Missing));
        let diff = format!("{}\n", self.text.trim_end_matches('\n'));
        patch::prepare(diff.as_bytes(), &scope, bounds.apply_strategy, &limits, &current)
            .map_err(|refusal| Unusable::DoesNotApply(refusal.to_string()))
    }
}

/// Returns the places of a file that its author may change: those that the plan names, as the Editor would be shown them;
/// `None` if the plan names none.
fn places(file: &FileNow, now: &str, most: usize) -> Option<Vec<ShownRange>> {
    if file.hints.named.is_empty() {
        return None;
    }
    let definitions = definitions_of_file(&file.path, now);
    let blocks: Vec<ShownRange> =
        definitions.iter().map(|it| (it.first as usize, it.last as usize)).collect();
    match first_sight(now, &blocks, &file.hints, most) {
        FirstSight::Whole => None,
        FirstSight::Parts { shown, unshown } => Some([shown, unshown].concat()),
    }
}

/// Returns the old lines that a change touches: each removed line by itself, and the lines on both sides of an insertion, one
/// of which is enough. Blank lines say nothing: they need not be shown, and what is beside an insertion is the next line that
/// is not blank.
fn touched(old: &str, new: &str) -> Vec<Vec<usize>> {
    let lines: Vec<&str> = old.lines().collect();
    let has_text = |line: &usize| lines.get(line - 1).is_some_and(|text| !text.trim().is_empty());
    let mut spots = Vec::new();
    for op in TextDiff::from_lines(old, new).ops() {
        match *op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_index, old_len, .. }
            | DiffOp::Replace { old_index, old_len, .. } => {
                let removed = (old_index + 1..=old_index + old_len).filter(has_text);
                spots.extend(removed.map(|line| vec![line]));
            }
            DiffOp::Insert { old_index, .. } => {
                let above = (1..=old_index).rev().find(has_text);
                let below = (old_index + 1..=lines.len()).find(has_text);
                spots.push(above.into_iter().chain(below).collect());
            }
        }
    }
    spots
}

/// Returns the numbered lines of a file that a dialogue shows.
fn shown_of<'d>(dialogue: &'d Dialogue, path: &RepoPath) -> HashSet<&'d str> {
    let mut shown = HashSet::new();
    for message in dialogue.messages() {
        let (ChatMessage::User { content, .. } | ChatMessage::Tool { content, .. }) = message
        else {
            continue;
        };
        let (mut is_headed, mut fence) = (false, None);
        for line in content.lines() {
            match fence {
                Some(end) if line == end => fence = None,
                Some(_) => {
                    shown.insert(line);
                }
                None if is_headed && line.starts_with("```") => {
                    (is_headed, fence) = (false, Some(line));
                }
                None => is_headed = heads(line, path),
            }
        }
    }
    shown
}

/// Returns true if a line is the heading above lines of a file. What was looked at is numbered.
fn heads(line: &str, path: &RepoPath) -> bool {
    let name = line.split_once("### ").map(|(_, name)| name);
    let rest = name.and_then(|name| name.strip_prefix(path.as_str()));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':') || rest.starts_with(" lines "))
}

#[cfg(test)]
mod tests {
    use config::{Inputs, resolve_layers};
    use tools::redact::Redactor;

    use super::*;
    use crate::looks::shown_lines::Hints;
    use crate::talk::dialogue::{shown_file, shown_lines};
    use crate::talk::prompts::Prompts;

    const OLD: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";
    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 @@\n a\n-b\n+B\n c\n";

    fn file(path: &str, now: Option<&str>, named: &[ShownRange]) -> FileNow {
        FileNow {
            path: RepoPath::parse(path).unwrap(),
            now: now.map(str::to_owned),
            encoding: None,
            seen: None,
            hints: Hints { named: named.to_vec(), ..Hints::default() },
        }
    }

    /// Judges a diff of which its author saw `told`.
    fn judged(text: &str, files: &[FileNow], told: &str) -> Result<(), String> {
        let mut dialogue = Dialogue::new("s".into(), &Redactor::default());
        dialogue.say(told);
        let bounds = resolve_layers(&Inputs::default()).unwrap().config.agent_loop.clone();
        let draft = DraftWithPlan { call: 1, text: text.to_owned() };
        draft.usable(files, &dialogue, &bounds).map(|_| ()).map_err(|why| why.to_string())
    }

    fn whole(path: &str, text: &str) -> String {
        shown_file(&Prompts::default(), path, text)
    }

    #[test]
    fn a_diff_of_shown_lines_is_used() {
        let files = [file("x", Some(OLD), &[(2, 2)])];
        let part = shown_lines(&Prompts::default(), "x", (2, 3, 8), "b\nc\n");
        let found = "### x:1-3 of 8 01234567\n```\n   1| a\n   2| b\n   3| c\n```\n";
        for told in [&whole("x", OLD), &part, found] {
            assert_eq!(judged(DIFF, &files, told), Ok(()), "{told}");
        }
        let fenced = format!("```diff\n{DIFF}```\n");
        assert_eq!(judged(&fenced, &files, &whole("x", OLD)), Ok(()));
        let new = "--- /dev/null\n+++ b/y\n@@ -0 @@\n+y\n";
        assert_eq!(judged(new, &[file("y", None, &[])], ""), Ok(()));
        let end = "--- a/x\n+++ b/x\n@@ -8 @@\n h\n+i\n";
        let last = shown_lines(&Prompts::default(), "x", (8, 8, 8), "h\n");
        assert_eq!(judged(end, &[file("x", Some(OLD), &[])], &last), Ok(()));
    }

    #[test]
    fn a_diff_of_lines_that_were_not_shown_as_they_are_is_not_used() {
        let files = [file("x", Some(OLD), &[])];
        let unseen = Err("x:2 was not shown to its author as it is now".to_owned());
        let moved = whole("x", &format!("new\n{OLD}"));
        let other = whole("x", &OLD.replace('b', "B"));
        let part = shown_lines(&Prompts::default(), "x", (3, 8, 8), "c\nd\ne\nf\ng\nh\n");
        for told in [&whole("y", OLD), &whole("x.md", OLD), &moved, &other, &part, OLD] {
            assert_eq!(judged(DIFF, &files, told), unseen, "{told}");
        }
    }

    #[test]
    fn blank_lines_need_not_be_shown() {
        let old = "def a():\n    pass\n\n\ndef b():\n    pass\n";
        let diff =
            "--- a/x\n+++ b/x\n@@ -1 @@\n def a():\n     pass\n \n \n+def c():\n+    pass\n+\n+\n";
        let part = |range, text| shown_lines(&Prompts::default(), "x", range, text);
        let files = [file("x", Some(old), &[])];
        assert_eq!(judged(diff, &files, &part((1, 2, 6), "def a():\n    pass\n")), Ok(()));
        let unseen = Err("x:2 was not shown to its author as it is now".to_owned());
        assert_eq!(judged(diff, &files, &part((1, 1, 6), "def a():\n")), unseen);
    }

    #[test]
    fn a_diff_beyond_the_plan_is_not_used() {
        let far = format!("{OLD}{}", "z\n".repeat(90));
        let told = whole("x", &far);
        let elsewhere = judged(DIFF, &[file("x", Some(&far), &[(60, 61)])], &told);
        assert_eq!(elsewhere, Err("x:2 is in no place that the plan names".to_owned()));
        let undeclared = judged(DIFF, &[file("y", Some(OLD), &[])], &told).unwrap_err();
        assert!(undeclared.starts_with("it does not apply"), "{undeclared}");
        let long = format!("--- a/x\n+++ b/x\n@@ -1 @@\n a\n{}", "+new\n".repeat(81));
        let long = judged(&long, &[file("x", Some(&far), &[])], &told).unwrap_err();
        assert_eq!(long, "it changes 81 lines, more than the 80 that a plan may bring");
        for text in ["", "NEED_FILE|y|why\n", "Done.\n"] {
            let error = judged(text, &[file("x", Some(OLD), &[])], &told).unwrap_err();
            assert_eq!(error, "it is not a unified diff alone");
        }
        let wrong = DIFF.replace("-b", "-q");
        let wrong = judged(&wrong, &[file("x", Some(OLD), &[])], &told).unwrap_err();
        assert!(wrong.starts_with("it does not apply"), "{wrong}");
    }
}
