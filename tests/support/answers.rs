//! Scripted model answers: plans and diffs that keep to the contracts.

use mock::ScriptedReply;
pub(crate) use testkit::answers::{diff, plan as plan_verified_by};

/// Returns a plan for `files`, verified by the project's own check.
pub(crate) fn plan(files: &[&str]) -> String {
    plan_verified_by(files, &["sh check.sh"])
}

/// Returns a diff that replaces one line of `text`, with three lines of context.
pub(crate) fn replaced(path: &str, text: &str, old: &str, new: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == old).unwrap();
    let (from, to) = (at.saturating_sub(3), (at + 4).min(lines.len()));
    let shown = |part: &[&str]| part.iter().flat_map(|line| [" ", line, "\n"]).collect::<String>();
    let (before, behind) = (shown(&lines[from..at]), shown(&lines[at + 1..to]));
    let place = format!("{},{count}", from + 1, count = to - from);
    format!("--- a/{path}\n+++ b/{path}\n@@ -{place} +{place} @@\n{before}-{old}\n+{new}\n{behind}")
}

/// Returns the answers that fix the greeting.
pub(crate) fn greeting_fix() -> Vec<ScriptedReply> {
    greeting_fix_checked_by(&["sh check.sh"])
}

/// Returns the answers that fix the greeting, verified by these commands.
pub(crate) fn greeting_fix_checked_by(commands: &[&str]) -> Vec<ScriptedReply> {
    let plan = plan_verified_by(&["greet.txt"], commands);
    vec![architect(plan), editor(diff("greet.txt", "hello", "hello world"))]
}

/// Returns the answers of an Architect that insists on a check, and of an Editor that fixes the greeting on every request.
pub(crate) fn greeting_fix_insisting_on(command: &str) -> Vec<ScriptedReply> {
    let insists = architect(plan_verified_by(&["greet.txt"], &[command])).forever();
    vec![insists, editor(diff("greet.txt", "hello", "hello world")).forever()]
}

/// Returns answers of an Editor that looks again and again, each time for something else.
pub(crate) fn endless_looks() -> Vec<ScriptedReply> {
    (0..200).map(|number| editor(format!("NEED_SEARCH|word{number}"))).collect()
}

/// Returns an answer for the Architect.
pub(crate) fn architect(text: impl Into<String>) -> ScriptedReply {
    ScriptedReply::text(text).to("architect")
}

/// Returns an answer for the Editor.
pub(crate) fn editor(text: impl Into<String>) -> ScriptedReply {
    ScriptedReply::text(text).to("editor")
}
