//! Earlier turns of a conversation, as the next turn is told about them: requests, plans, changes and answers. Pure.
//!
//! Turns are rendered in full until they exceed a limit together. Then the oldest become a summary, many at once so that it
//! happens seldom: in between, the text only grows at its end.

pub(crate) mod fates;
pub(crate) mod summary;

use actors::run::UserWord;
use actors::talk::brief::images_unseen;
use actors::talk::prompts::Prompt;
use actors::talk::prompts::Prompts;
use checks::outcome::Check;
use facts::delivery::Delivery;
use facts::delivery::OpenCard;
use facts::fate::ChangeFate;
use facts::grammar::plan::Plan;
use lanes::crew::feedback;
use similar::TextDiff;
use tools::encoding::decode_lossy;
use tools::long_lines::shortened;
use tree::Change;

/// Most bytes shown of a check's output.
const OUTPUT_BYTES: usize = 1_500;
/// Most bytes shown of a diff; below, most characters of a request shortened to a line.
const DIFF_BYTES: usize = 8_000;
const LINE_CHARS: usize = 300;

/// A finished turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishedTurn {
    /// Id of its run.
    pub(crate) run: String,
    /// The user's message.
    pub(crate) request: String,
    /// The images that it names.
    pub(crate) images: Vec<String>,
    /// How it ended.
    pub(crate) delivery: Delivery,
    /// The last plan.
    pub(crate) plan: Option<Plan>,
    /// What the user said while it was worked on.
    pub(crate) said: Vec<UserWord>,
    /// The answer, if it was a question.
    pub(crate) answer: Option<String>,
    /// Its changes in the workspace.
    pub(crate) changes: Vec<Change>,
    /// The checks that failed when last run.
    pub(crate) failing: Vec<FailedCheck>,
}

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedCheck {
    /// The command, as written.
    pub(crate) command: String,
    /// How it ended.
    pub(crate) exit: String,
    /// Its output, shortened.
    pub(crate) output: String,
}

impl From<Check> for FailedCheck {
    fn from(check: Check) -> Self {
        Self { command: check.command, exit: check.exit, output: check.excerpt }
    }
}

impl FinishedTurn {
    /// Returns true if it succeeded.
    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. })
    }

    /// Summarises how it ended. An answered question does not count as delivered.
    fn outcome(&self) -> String {
        match &self.delivery {
            Delivery::Delivered { .. } if self.answer.is_some() => "answered".to_owned(),
            Delivery::Delivered { .. } if self.changes.is_empty() => "planned only".to_owned(),
            Delivery::Delivered { .. } => "delivered".to_owned(),
            Delivery::NoEditNeeded { reason } => format!("no edit was needed: {reason}"),
            Delivery::NeedsWork { detail, .. } => format!("not delivered: {detail}"),
            Delivery::Denied { what, card: None, .. } => format!("denied: {what}"),
            Delivery::Denied { card: Some(OpenCard::Waits), .. } => {
                "a mission card that waited for the user's approval".to_owned()
            }
            Delivery::Denied { what, card: Some(_), .. } => format!("not carried out: {what}"),
            Delivery::Cancelled => "cancelled".to_owned(),
            Delivery::Paused { .. } => "paused, to be resumed".to_owned(),
            Delivery::BudgetExhausted { .. } => "the budget was exhausted".to_owned(),
            Delivery::Failed { class, .. } => format!("failed: {}", class.name()),
        }
    }

    /// Renders it in full.
    fn whole(&self, prompts: &Prompts, number: usize) -> String {
        let part = |text: Option<String>| text.map(|text| format!("\n{text}")).unwrap_or_default();
        let plan = part(
            self.plan.as_ref().map(|plan| prompts.render(Prompt::TurnPlan, &[("plan", plan)])),
        );
        let answer = part(
            self.answer
                .as_ref()
                .map(|answer| prompts.render(Prompt::TurnAnswer, &[("answer", answer)])),
        );
        let diff = part(
            (!self.changes.is_empty())
                .then(|| prompts.render(Prompt::TurnDiff, &[("diff", &diff(&self.changes))])),
        );
        let checks = part(self.checks(prompts));
        let said = decisions(prompts, &self.said);
        let said = part(
            (!said.is_empty())
                .then(|| prompts.render(Prompt::TurnSaid, &[("said", &said.join("\n"))])),
        );
        let images: Vec<&str> = self.images.iter().map(String::as_str).collect();
        let images = part((!images.is_empty()).then(|| images_unseen(prompts, &images)));
        let rest = format!("{images}{plan}{said}{diff}{checks}{answer}");
        prompts.render(
            Prompt::Turn,
            &[
                ("number", &number),
                ("request", &self.request),
                ("outcome", &self.outcome()),
                ("rest", &rest),
            ],
        )
    }

    /// Renders the checks that failed last, if they are why it was not delivered.
    fn checks(&self, prompts: &Prompts) -> Option<String> {
        let Delivery::NeedsWork { .. } = self.delivery else { return None };
        let failed = |check: &FailedCheck| {
            let FailedCheck { command, exit, output } = check;
            feedback::failed_command(prompts, command, exit, output, OUTPUT_BYTES)
        };
        let checks: Vec<String> = self.failing.iter().map(failed).collect();
        let told = || prompts.render(Prompt::TurnChecks, &[("checks", &checks.join("\n"))]);
        (!checks.is_empty()).then(told)
    }

    /// Renders it in one line.
    fn line(&self, prompts: &Prompts, number: usize) -> String {
        let mut request: String = self.request.chars().take(LINE_CHARS).collect();
        if request.len() < self.request.len() {
            request.push('…');
        }
        let files: Vec<&str> = self.changes.iter().map(|change| change.path.as_str()).collect();
        let files =
            if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        prompts.render(
            Prompt::TurnLine,
            &[
                ("number", &number),
                ("request", &request.replace('\n', " ")),
                ("outcome", &self.outcome()),
                ("files", &files),
            ],
        )
    }
}

/// A part of the text about earlier turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) of: PartOf,
    pub(crate) text: String,
}

/// What a part of the text about earlier turns is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartOf {
    /// The summary of this many turns.
    Summary(usize),
    /// The turn with this number.
    Turn(usize),
    /// What became of the changes.
    Fates,
}

/// Renders the earlier `turns`, oldest first, the first `compacted` as a summary for a limit of `most` tokens, and what
/// became of their changes.
pub(crate) fn turn_parts(
    prompts: &Prompts,
    turns: &[FinishedTurn],
    compacted: usize,
    fates: &[ChangeFate],
    most: usize,
) -> Vec<Part> {
    let summary = summary::summary(prompts, turns, compacted, most);
    let summary = summary.map(|text| Part { of: PartOf::Summary(compacted), text });
    let whole = (1..).zip(turns).skip(compacted);
    let whole = whole.map(|(n, turn)| Part { of: PartOf::Turn(n), text: turn.whole(prompts, n) });
    // At the end, so that the text before it only grows.
    let fates = fates::tell_fates(prompts, fates).map(|text| Part { of: PartOf::Fates, text });
    summary.into_iter().chain(whole).chain(fates).collect()
}

/// Renders the [`parts`] as one text; empty if there are none.
pub(crate) fn conversation(
    prompts: &Prompts,
    turns: &[FinishedTurn],
    compacted: usize,
    fates: &[ChangeFate],
    most: usize,
) -> String {
    let parts = turn_parts(prompts, turns, compacted, fates, most);
    if parts.is_empty() {
        return String::new();
    }
    let turns: Vec<String> = parts.into_iter().map(|part| part.text).collect();
    prompts.render(Prompt::Conversation, &[("turns", &turns.join("\n"))])
}

/// Renders what the user said while a request was worked on.
pub(crate) fn decisions(prompts: &Prompts, said: &[UserWord]) -> Vec<String> {
    let line = |word: &UserWord| match word {
        UserWord::Answer { answer: None, .. } => None,
        UserWord::Answer { question, answer: Some(answer) } => {
            Some(prompts.render(Prompt::MemoAnswer, &[("question", question), ("answer", answer)]))
        }
        UserWord::Objection { to, words } => {
            Some(prompts.render(Prompt::MemoObjection, &[("what", to), ("words", words)]))
        }
        UserWord::Said { words } => Some(prompts.render(Prompt::TurnWord, &[("words", words)])),
    };
    said.iter().filter_map(line).collect()
}

/// Summarises the last of `turns`, with what became of its changes and the start of its answer.
pub(crate) fn last(
    prompts: &Prompts,
    turns: &[FinishedTurn],
    fates: &[ChangeFate],
) -> Option<String> {
    let turn = turns.last()?;
    let since = fates::fate_lines(fates).into_iter().filter(|(turn, _)| *turn == turns.len());
    let line = since.fold(turn.line(prompts, turns.len()), |line, (_, since)| {
        format!("{line}\nSince then: {since}")
    });
    let answer: Option<String> =
        turn.answer.as_ref().map(|it| it.chars().take(LINE_CHARS).collect());
    Some(answer.map_or(line.clone(), |answer| format!("{line}\n{answer}")))
}

/// Formats a change as a unified diff.
fn diff_of(change: &Change) -> String {
    let text = |state: &Option<tree::FileState>| {
        state
            .as_ref()
            .map(|it| shortened(&decode_lossy(&it.bytes)).into_owned())
            .unwrap_or_default()
    };
    let header = |side: &str, state: &Option<tree::FileState>| match state {
        Some(_) => format!("{side}/{}", change.path),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let lines = TextDiff::from_lines(&before, &after);
    let headers = (header("a", &change.before), header("b", &change.after));
    lines.unified_diff().header(&headers.0, &headers.1).to_string()
}

/// Formats the changes as one diff, with git's file headers.
pub(crate) fn git_diff(changes: &[Change]) -> String {
    let section = |change: &Change| {
        let path = &change.path;
        format!("diff --git a/{path} b/{path}\n{}", diff_of(change))
    };
    changes.iter().map(section).collect()
}

/// Formats the changes as one unified diff, cut between lines.
fn diff(changes: &[Change]) -> String {
    let mut diff: String = changes.iter().map(diff_of).collect();
    if diff.len() > DIFF_BYTES {
        let cut = diff.get(..diff.floor_char_boundary(DIFF_BYTES)).unwrap_or_default();
        let end = cut.rfind('\n').map_or(0, |at| at + 1);
        diff.truncate(end);
        diff.push_str("...\n");
    }
    diff.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use facts::delivery::Verified;
    use tree::{FileMode, FileState, Op, RepoPath};

    use super::*;

    pub(super) fn turn(request: &str) -> FinishedTurn {
        let delivery = Delivery::Delivered { verified: Verified::Passed };
        let (changes, failing) = (Vec::new(), Vec::new());
        let (run, request, said, images) = (String::new(), request.into(), Vec::new(), Vec::new());
        let (plan, answer) = (None, None);
        FinishedTurn { run, request, images, delivery, plan, said, answer, changes, failing }
    }

    fn change(path: &str, before: &str, after: &str) -> Change {
        let state = |text: &str| FileState {
            bytes: text.as_bytes().to_vec().into(),
            mode: FileMode::Regular,
        };
        Change {
            path: RepoPath::parse(path).unwrap(),
            op: Op::Modify,
            before: Some(state(before)),
            after: Some(state(after)),
        }
    }

    fn told(turns: &[FinishedTurn], most: usize) -> String {
        conversation(&Prompts::default(), turns, 0, &[], most)
    }

    #[test]
    fn requests_changes_and_answers_are_rendered() {
        let edited =
            FinishedTurn { changes: vec![change("a.py", "x\n", "y\n")], ..turn("make it y") };
        let asked = FinishedTurn { answer: Some("Because.".into()), ..turn("why?") };
        let text = told(&[edited, asked], 1_000);
        assert!(
            text.contains("make it y") && text.contains("+y") && text.contains("a/a.py"),
            "{text}"
        );
        assert!(text.contains("delivered") && text.contains("Because."), "{text}");
        assert!(text.find("make it y") < text.find("why?"), "{text}");
        assert_eq!(
            text.matches("delivered").count(),
            1,
            "an answered question is not delivered: {text}"
        );
        assert_eq!(told(&[], 1_000), "");
    }

    #[test]
    fn a_long_diff_is_cut_between_lines() {
        let long = "one of many lines\n".repeat(1_000);
        let text = diff(&[change("a", "", &long)]);
        assert!(text.len() < DIFF_BYTES + 10 && text.ends_with("\n..."), "{}", text.len());
    }
}
