//! Finds text below a hunk of a text file that may belong to the file: lines that lost their `+` look like prose there.
//! Pure.

use super::body::{self, Kind};
use super::file_style::FileStyle;
use super::line_use::Use;
use super::refuse::{PatchMismatch, Reason};
use super::resolve::Target;
use super::section::Hunk;
use super::wrapping;

/// Text below added lines of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// The line, from 0, is in the fence of the hunk, or directly below the hunk.
    Line(usize),
    /// These lines, from 0, may be about the diff.
    Text([usize; 2]),
}

/// Finds the text below each hunk of a text file that ends in an added line.
pub(super) fn below_added_lines(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &[Target<'_, '_>],
) -> Vec<Lost> {
    let texts = targets.iter().filter(|it| FileStyle::of(b"", it.path.as_str()).is_prose());
    let hunks = texts.flat_map(|target| target.hunks.iter());
    hunks.filter_map(|hunk| below(lines, uses, hunk)).collect()
}

/// Refuses a diff for a line that lost its `+`.
pub(super) fn refuse(lines: &[&[u8]], at: usize) -> PatchMismatch {
    let mismatch = PatchMismatch::line(Reason::StrayLine, lines, at);
    let note = mismatch.note.clone().unwrap_or_default();
    mismatch.note(format!(
        "{note} Below added lines of a text file, it may be one of them: begin it with `+`, or put it after the fence."
    ))
}

fn below(lines: &[&[u8]], uses: &[Use], hunk: &Hunk<'_>) -> Option<Lost> {
    let last = hunk.readings.first()?.body.last().filter(|line| line.kind == Kind::Added)?;
    let is_use = |at: usize, what: Use| uses.get(at) == Some(&what);
    // The marker for a missing newline is no line of its own.
    let end = (last.at..uses.len()).find(|at| !is_use(*at, Use::Body))?;
    let past_blank = |from: usize| (from..uses.len()).find(|at| !is_use(*at, Use::Blank));
    let at = past_blank(end)?;
    let line = lines.get(at)?;
    if is_use(at, Use::Closes) {
        // The fence may have been one of the file's own.
        let below = past_blank(at + 1).filter(|at| is_use(*at, Use::Prose))?;
        let is_heading = lines.get(below).is_some_and(|line| line.starts_with(b"#"));
        return is_heading.then(|| Lost::Text([below, end_of(uses, below)]));
    }
    if !is_use(at, Use::Prose) || is_wrapping(line) || ends_a_wrapping(lines, uses, at) {
        return None;
    }
    let is_in_fence = || {
        let fences = uses.get(..at).unwrap_or_default();
        let last = fences.iter().rev().find(|what| matches!(what, Use::Opens | Use::Closes));
        last == Some(&Use::Opens)
    };
    let is_lost = at == end || is_in_fence();
    Some(if is_lost { Lost::Line(at) } else { Lost::Text([at, end_of(uses, at)]) })
}

/// Returns the last line of the text that begins at `start`.
fn end_of(uses: &[Use], start: usize) -> usize {
    let text = (start..uses.len())
        .take_while(|at| matches!(uses.get(*at), Some(Use::Prose | Use::Blank)))
        .filter(|at| uses.get(*at) == Some(&Use::Prose));
    text.last().unwrap_or(start)
}

/// Returns true if a line of the answer, from 0, closes what a line of prose above the diff opens.
fn ends_a_wrapping(lines: &[&[u8]], uses: &[Use], at: usize) -> bool {
    let end = lines.get(at).copied().unwrap_or_default().trim_ascii_end();
    let above = lines.iter().zip(uses).take_while(|(_, what)| **what != Use::Body);
    let mut above = above.filter(|(_, what)| **what == Use::Prose);
    above.any(|(line, _)| wrapping::closing(line).is_some_and(|it| it.as_bytes() == end))
}

/// Returns true if a line ends what surrounds the diff, or is printed between two files.
fn is_wrapping(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 10] = [
        b"</",
        b"<|",
        b"Index: ",
        b"====",
        b"diff ",
        b"# HG ",
        b"***",
        b"---",
        b"Only in ",
        b"\"\"\"",
    ];
    body::is_terminator(line, &[]) || MARKS.iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, plan_of};
    use super::*;

    /// Returns the texts of the notes for an answer about `name`, or the reason for refusing it.
    fn notes(name: &str, answer: &str) -> Result<Vec<String>, Reason> {
        let files = Files::default().file(name, "Title\n\nText.\n\nMore.\n");
        let answer = answer.replace("NAMES", &format!("--- a/{name}\n+++ b/{name}"));
        let plan =
            plan_of(&files, &[name], &answer).map_err(|refusal| refusal.mismatches[0].reason)?;
        Ok(plan.repairs.into_iter().filter_map(|repair| repair.text).collect())
    }

    const ADDED: &str = "NAMES\n@@ -1,3 +1,4 @@\n Title\n \n Text.\n+A new sentence.\n";
    const KEPT: &str = "NAMES\n@@ -1,3 +1,4 @@\n Title\n+A new sentence.\n \n Text.\n";

    #[test]
    fn a_line_that_lost_its_marker_is_refused() {
        for answer in [
            format!("```diff\n{ADDED}The second one.\n```\n"),
            format!("```diff\n{ADDED}\nThe second one.\n```\n"),
            format!("```diff\n{ADDED}The second one.\n@@ -5 +6 @@\n-More.\n+Less.\n```\n"),
            format!("{ADDED}The second one.\n"),
            "```diff\n--- /dev/null\n+++ b/n.md\n@@ -0,0 +1 @@\n+# New\n\nText.\n```\n".to_owned(),
        ] {
            for name in ["a.md", "a.txt", "docs/a.rst"] {
                let files = Files::default().file(name, "Title\n\nText.\n\nMore.\n");
                let answer = answer.replace("NAMES", &format!("--- a/{name}\n+++ b/{name}"));
                let refusal = plan_of(&files, &[name, "n.md"], &answer).unwrap_err();
                assert_eq!(refusal.mismatches[0].reason, Reason::StrayLine, "{answer}");
            }
        }
    }

    #[test]
    fn text_that_may_be_about_the_diff_is_noted() {
        let after = format!("{ADDED}\nThis adds a sentence.\n\nIt is short.\n");
        assert_eq!(notes("a.md", &after).unwrap(), ["This adds a sentence."]);
        let section = format!("```diff\n{ADDED}```\n\n## Section\n\nText.\n");
        assert_eq!(notes("a.md", &section).unwrap(), ["## Section"]);
    }

    #[test]
    fn other_text_is_prose() {
        for answer in [
            format!("```diff\n{ADDED}```\n\nThis adds a sentence.\n"),
            format!("{KEPT}\nThis adds a sentence.\n"),
            format!("<diff>\n{ADDED}</diff>\n"),
            format!("[code]\n{ADDED}[/code]\n"),
            format!("```diff\n{ADDED}\n\n```\n"),
        ] {
            assert_eq!(notes("a.md", &answer), Ok(Vec::new()), "{answer}");
        }
        let in_code = format!("```diff\n{ADDED}\nThis adds a sentence.\n```\n");
        assert_eq!(notes("a.conf", &in_code).unwrap(), ["This adds a sentence."]);
        let after_code = format!("{ADDED}\nThis adds a sentence.\n");
        assert_eq!(notes("a.conf", &after_code), Ok(Vec::new()));
    }
}
