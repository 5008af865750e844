//! What roles are told about what went wrong: short, concrete, data only. Pure.

use actors::checks::{Check, CheckOutcome, Report};
use actors::dialogue::shown_file;
use actors::failure::FailureClass;
use actors::prompts::{Prompt, Prompts};

use crate::cycle::DraftReason;

/// What the Editor is told before it drafts again.
pub(crate) fn for_editor(
    prompts: &Prompts,
    reason: DraftReason,
    class: Option<FailureClass>,
    details: &str,
) -> Option<String> {
    let class = class.map_or("", FailureClass::name);
    Some(match reason {
        DraftReason::NewPlan if details.is_empty() => return None,
        DraftReason::NewPlan => prompts.render(Prompt::FeedbackNewPlan, &[("details", &details)]),
        DraftReason::Unreadable => {
            prompts.render(Prompt::FeedbackNoDiff, &[("class", &class), ("details", &details)])
        }
        DraftReason::Refused => {
            prompts.render(Prompt::FeedbackNotApplied, &[("class", &class), ("details", &details)])
        }
        DraftReason::ChecksFail => {
            prompts.render(Prompt::FeedbackChecksFail, &[("class", &class), ("details", &details)])
        }
        DraftReason::OldFailures => {
            prompts.render(Prompt::FeedbackOldFailures, &[("details", &details)])
        }
    })
}

/// What the Architect is told before it plans again.
pub(crate) fn for_architect(
    prompts: &Prompts,
    plan: &str,
    diff: Option<&str>,
    details: &str,
) -> String {
    let diff = diff.map(|diff| {
        let shown = shown_file(prompts, "diff", None, shortened(diff, 12_000));
        format!("\n{}\n", prompts.render(Prompt::LastDiff, &[("diff", &shown)]))
    });
    let diff = diff.unwrap_or_default();
    prompts.render(Prompt::PlanReport, &[("plan", &plan), ("diff", &diff), ("details", &details)])
}

/// The commands that failed with the end of what they printed.
pub fn failures(prompts: &Prompts, report: &Report) -> String {
    let failures: Vec<String> = report.failing().map(|check| failure(prompts, check)).collect();
    failures.join("\n")
}

fn failure(prompts: &Prompts, check: &Check) -> String {
    let Check { command, exit, .. } = check;
    let output = shown_file(prompts, "output", None, tail(&check.excerpt, 6_000));
    if check.outcome == CheckOutcome::PreExisting {
        return prompts.render(
            Prompt::CheckFailedBefore,
            &[("command", command), ("exit", exit), ("output", &output)],
        );
    }
    prompts
        .render(Prompt::CheckFailed, &[("command", command), ("exit", exit), ("output", &output)])
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
