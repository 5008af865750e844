//! What roles are told about what went wrong: short, concrete, data only. Pure.

use std::fmt::Write as _;

use actors::checks::{CheckOutcome, Report};
use actors::dialogue::shown_file;
use actors::failure::FailureClass;

use crate::cycle::DraftReason;

/// What the Editor is told before it drafts again.
pub(crate) fn for_editor(
    reason: DraftReason,
    class: Option<FailureClass>,
    details: &str,
) -> Option<String> {
    let class = class.map_or("", FailureClass::name);
    match reason {
        DraftReason::NewPlan if details.is_empty() => None,
        DraftReason::NewPlan => {
            Some(format!("The plan was changed, because the last one failed.\n{details}"))
        }
        DraftReason::Unreadable => {
            Some(format!("classification: {class}\nThe last answer was no usable diff: {details}"))
        }
        DraftReason::Refused => Some(format!(
            "classification: {class}\nYour last diff was refused. Nothing was written; send all of it again, mended.\n{details}"
        )),
        DraftReason::ChecksFail => Some(format!(
            "classification: {class}\nYour last diff is applied, but the checks fail:\n{details}"
        )),
        DraftReason::OldFailures => Some(format!(
            "Your last diff is applied. What still fails failed before your change, too. If mending it is part of the task, do it now; otherwise answer with what the task still needs:\n{details}"
        )),
    }
}

/// What the Architect is told before it plans again.
pub(crate) fn for_architect(plan: &str, diff: Option<&str>, details: &str) -> String {
    let mut text = format!("The plan was:\n{plan}\n");
    if let Some(diff) = diff {
        text.push_str("\nThe Editor's last diff:\n");
        text.push_str(&shown_file("diff", None, shortened(diff, 12_000)));
    }
    write!(text, "\nWhat went wrong:\n{details}").ok();
    text
}

/// The commands that failed with the end of what they printed.
pub fn failures(report: &Report) -> String {
    let mut text = String::new();
    for check in report.failing() {
        let old = if check.outcome == CheckOutcome::PreExisting {
            " (failed before the change, too)"
        } else {
            ""
        };
        writeln!(text, "`{}` failed{old}: {}", check.command, check.exit).ok();
        text.push_str(&shown_file("output", None, tail(&check.excerpt, 6_000)));
    }
    text
}

/// At most `most` bytes from the start, cut between lines.
fn shortened(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.match_indices('\n').map(|(at, _)| at + 1).take_while(|end| *end <= most).last();
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// At most `most` bytes from the end, cut between lines.
fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    if from == 0 {
        return text;
    }
    let start = text.match_indices('\n').map(|(at, _)| at + 1).find(|start| *start >= from);
    start.and_then(|start| text.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_keep_whole_lines() {
        assert_eq!(shortened("ab\ncd\nef\n", 7), "ab\ncd\n");
        assert_eq!(tail("ab\ncd\nef\n", 7), "cd\nef\n");
        assert_eq!(tail("éé\n", 4), "");
        assert_eq!(tail("ab", 2), "ab");
    }
}
