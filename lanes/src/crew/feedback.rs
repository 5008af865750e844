//! Builds the feedback to roles about what went wrong: short, concrete, data only. Pure.

use actors::run::workspace::LeftOut;
use actors::talk::dialogue::fenced;
use actors::talk::prompts::{Prompt, Prompts};
use checks::error_lines::first_failure;
use checks::failure_class::FailureClass;
use checks::outcome::{Check, CheckOutcome, Report, WrittenByCheck};
use checks::wording::Wording;
use tools::count::counted;
use tools::plain::plain_output;
use tree::{Change, RepoPath};

use crate::crew::cycle::DraftReason;

/// Returns the feedback for the Editor's next draft; `None` if there is nothing to report.
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
        DraftReason::LeftOut => prompts.render(Prompt::FeedbackLeftOut, &[("details", &details)]),
        DraftReason::OldFailures => {
            prompts.render(Prompt::FeedbackOldFailures, &[("details", &details)])
        }
    })
}

/// Returns what the user left out of a diff, with the reason if one was given.
pub(crate) fn left_out(prompts: &Prompts, applied: &[Change], left_out: &LeftOut) -> String {
    let names = |paths: &mut dyn Iterator<Item = &RepoPath>| {
        paths.map(RepoPath::as_str).collect::<Vec<_>>().join(", ")
    };
    let applied = names(&mut applied.iter().map(|change| &change.path));
    let what = names(&mut left_out.paths.iter());
    let text = prompts.render(Prompt::LeftOut, &[("applied", &applied), ("left_out", &what)]);
    match &left_out.said {
        None => text,
        Some(words) => {
            text + "\n" + &prompts.render(Prompt::Objected, &[("what", &what), ("words", words)])
        }
    }
}

/// Returns the feedback for the Architect's next plan.
pub(crate) fn for_architect(prompts: &Prompts, diff: Option<&str>, details: &str) -> String {
    let diff = diff.map(|diff| last_diff(prompts, diff)).unwrap_or_default();
    prompts.render(Prompt::PlanReport, &[("diff", &diff), ("details", &details)])
}

/// A part of a change that is made.
pub(crate) struct PartMade<'p> {
    /// Its number.
    pub(crate) part: u32,
    /// How many parts may follow the next one.
    pub(crate) left: u32,
    /// The files that differ from those that the change began with.
    pub(crate) changed: Vec<&'p RepoPath>,
    /// What its checks found, in words; empty if nothing fails.
    pub(crate) failures: &'p str,
    /// What remains, as its plan says.
    pub(crate) remains: &'p str,
}

/// Returns what the Architect is told of a part that is made.
pub(crate) fn part_made(prompts: &Prompts, made: &PartMade<'_>) -> String {
    let PartMade { part, left, changed, failures, remains } = made;
    let changed: Vec<&str> = changed.iter().map(|path| path.as_str()).collect();
    let failures = if failures.is_empty() {
        String::new()
    } else {
        format!("\n{}", prompts.render(Prompt::PartFails, &[("failures", failures)]))
    };
    prompts.render(
        Prompt::PlanNextPart,
        &[
            ("part", part),
            ("left", left),
            ("changed", &changed.join(", ")),
            ("failures", &failures),
            ("remains", remains),
        ],
    )
}

/// Returns why a diff that came with the plan is not used.
pub(crate) fn passed_over(prompts: &Prompts, why: &Wording) -> String {
    prompts.render(Prompt::DraftPassedOver, &[("why", why)])
}

/// Returns feedback about a diff, after the diff itself if the reader has not seen it.
pub(crate) fn about_diff(prompts: &Prompts, unseen: Option<&str>, feedback: &str) -> String {
    unseen.map(|diff| last_diff(prompts, diff)).unwrap_or_default() + feedback
}

fn last_diff(prompts: &Prompts, diff: &str) -> String {
    let shown = fenced(prompts, "diff", shortened(diff, 12_000));
    prompts.render(Prompt::LastDiff, &[("diff", &shown)]) + "\n\n"
}

/// Returns the results of the checks before any change.
pub(crate) fn baseline(prompts: &Prompts, report: &Report) -> String {
    let check = |check: &Check| {
        let Check { command, exit, .. } = check;
        if check.outcome == CheckOutcome::Passed {
            return prompts.render(Prompt::BaselinePassed, &[("command", command)]);
        }
        let output = shown_output(of_failing_part(command, &check.excerpt), 1_500);
        let output = fenced(prompts, "output", &output);
        prompts.render(
            Prompt::BaselineFailed,
            &[("command", command), ("exit", exit), ("output", &output)],
        )
    };
    let checks: Vec<String> = report.checks.iter().map(check).collect();
    prompts.render(Prompt::Baseline, &[("checks", &checks.join("\n"))])
}

/// Lists the checks that cannot run on the unchanged tree, each with the reason.
pub(crate) fn cannot_run(prompts: &Prompts, report: &Report) -> String {
    let check = |Check { command, exit, missing, .. }: &Check| {
        let why = missing.as_ref().map_or_else(|| exit.clone(), ToString::to_string);
        prompts.render(Prompt::BarredCheck, &[("command", command), ("why", &why)])
    };
    report.checks.iter().map(check).collect::<Vec<_>>().join("\n")
}

/// Returns an answer that the Editor gave again and again, shortened.
pub(crate) fn repeated(prompts: &Prompts, answer: &str) -> String {
    let answer = fenced(prompts, "answer", shortened(answer, 2_000));
    prompts.render(Prompt::Repeated, &[("answer", &answer)])
}

/// Returns the failed commands, each with the end of its output.
pub fn failures(prompts: &Prompts, report: &Report) -> String {
    let failures: Vec<String> = report.failing().map(|check| failure(prompts, check)).collect();
    failures.join("\n")
}

fn failure(prompts: &Prompts, check: &Check) -> String {
    const MOST: usize = 6_000;
    let Check { command, exit, .. } = check;
    if check.outcome == CheckOutcome::PreExisting {
        let output = shown_output(of_failing_part(command, &check.excerpt), MOST);
        let output = fenced(prompts, "output", &output);
        return prompts.render(
            Prompt::CheckFailedBefore,
            &[("command", command), ("exit", exit), ("output", &output)],
        );
    }
    let failed = failed_command(prompts, command, exit, &check.excerpt, MOST);
    let Some(WrittenByCheck { path, command: other }) = &check.needs else { return failed };
    let needs = prompts
        .render(Prompt::CheckNeeds, &[("command", command), ("other", other), ("path", path)]);
    format!("{failed}\n{needs}")
}

/// Returns a failed command with at most `most` bytes of its output.
pub fn failed_command(
    prompts: &Prompts,
    command: &str,
    exit: &str,
    output: &str,
    most: usize,
) -> String {
    let output = fenced(prompts, "output", &shown_output(of_failing_part(command, output), most));
    prompts
        .render(Prompt::CheckFailed, &[("command", &command), ("exit", &exit), ("output", &output)])
}

/// Returns the output of the command that failed among several joined by `&&`, as far as that can be told: those before it
/// passed, so they reported no failure.
fn of_failing_part<'o>(command: &str, output: &'o str) -> &'o str {
    /// Lines before a failure that may introduce it.
    const BEFORE: usize = 3;
    let first = if command.contains(" && ") { first_failure(output) } else { None };
    let ends = output.match_indices('\n').map(|(at, _)| at + 1);
    let skipped = first.and_then(|first| first.checked_sub(BEFORE + 1));
    let start = skipped.and_then(|skipped| ends.clone().nth(skipped)).unwrap_or(0);
    output.get(start..).unwrap_or(output)
}

/// Returns the part of an output to show, as plain text without repetitions: its end, or its errors if a compiler marks
/// errors and warnings. What is left out is said.
fn shown_output(output: &str, most: usize) -> String {
    let output = &plain_output(output);
    let is_head = |line: &str, word: &str| {
        line.strip_prefix(word).is_some_and(|rest| rest.starts_with([':', '[']))
    };
    let (mut errors, mut rest) = (String::new(), String::new());
    let mut in_error = false;
    for line in output.split_inclusive('\n') {
        if is_head(line, "error") || is_head(line, "warning") {
            in_error = is_head(line, "error");
        }
        if in_error { errors.push_str(line) } else { rest.push_str(line) }
    }
    if errors.is_empty() {
        let shown = tail(output, most);
        return gap(output.len() - shown.len()) + shown;
    }
    let of_errors = shortened(&errors, most);
    let before = tail(&rest, most.saturating_sub(of_errors.len()).min(most / 4));
    let cut = errors.len() - of_errors.len();
    gap(rest.len() - before.len()) + before + of_errors + &gap(cut)
}

/// Returns a line that says how much is left out in its place.
fn gap(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!("… {} left out …\n", counted(bytes, "byte")),
    }
}

/// Returns at most `most` bytes from the start, cut between lines.
fn shortened(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.match_indices('\n').map(|(at, _)| at + 1).take_while(|end| *end <= most).last();
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns at most `most` bytes from the end, cut between lines.
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
    fn errors_are_kept_in_preference_to_warnings() {
        let warning = "warning: unused\n  --> a.rs:1\n\n";
        let error = "error[E0308]: mismatched types\n  --> b.rs:2\n\n";
        let output = format!("{warning}{error}{warning}");
        let shown = shown_output(&output, 60);
        assert_eq!(shown, format!("… 46 bytes left out …\n  --> a.rs:1\n\n{error}"));
        assert_eq!(shown_output("a\nb\n", 2), "… 2 bytes left out …\nb\n");
        let first = shown_output(&error.replace("types", &"x".repeat(90)), 60);
        assert!(first.ends_with("left out …\n"), "{first}");
    }

    #[test]
    fn of_commands_joined_by_and_the_failing_one_is_shown() {
        let built = "[1/1] Building a.o\n".repeat(40);
        let tested = "1/1 Test #1: adds ....***Failed    0.00 sec\n0% tests passed\n";
        let output = format!("{built}{tested}");
        let shown = of_failing_part("cmake --build b && ctest --test-dir b", &output);
        assert_eq!(shown.lines().count(), 5, "{shown}");
        assert!(shown.ends_with(tested));
        assert_eq!(of_failing_part("ctest --test-dir b", &output), output);
        assert_eq!(of_failing_part("make && ./t", &built), built);
        assert_eq!(of_failing_part("make && ./t", tested), tested);
    }

    #[test]
    fn models_are_shown_plain_text_once() {
        let trace = "Traceback:\n  at a\n  at b\n  at c\n";
        let output = format!("\u{1b}[1;31mno\u{1b}[m\n10%\r90%\rdone\n{trace}{trace}");
        let shown = format!("no\ndone\n{trace}Traceback:\n… the same 3 lines again …\n");
        assert_eq!(shown_output(&output, 1_000), shown);
    }

    #[test]
    fn cuts_keep_whole_lines() {
        assert_eq!(shortened("ab\ncd\nef\n", 7), "ab\ncd\n");
        assert_eq!(tail("ab\ncd\nef\n", 7), "cd\nef\n");
        assert_eq!(tail("éé\n", 4), "");
        assert_eq!(tail("ab", 2), "ab");
    }
}
