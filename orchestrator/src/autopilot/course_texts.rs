//! What models are told of a long task: the steering model in its own dialogue, and the models of a step in place of the
//! conversation. Pure.

use actors::talk::dialogue::fenced;
use actors::talk::prompts::{Prompt, Prompts};
use tools::count::counted;

use super::pilot_state::{PilotState, TakenStep};

/// Most bytes of the command's output that the steering model sees: its last lines.
const OUTPUT_BYTES: usize = 1_500;
/// Most steps listed where a dialogue opens.
const LISTED: usize = 12;
/// Most earlier steps that the models of a step are told of.
const TOLD: usize = 5;
/// Most characters of each.
const STEP_CHARS: usize = 120;

impl PilotState {
    /// Renders the question that opens a dialogue with the steering model; `output` is what the command printed.
    pub(super) fn opening(&self, prompts: &Prompts, output: &str) -> String {
        let first = self.rounds.len().saturating_sub(LISTED);
        prompts.render(
            Prompt::Autopilot,
            &[
                ("task", &self.task),
                ("until", &self.goal(prompts, output)),
                ("rounds", &self.steps_from(first)),
                ("later", &or_dash(self.later.join("\n"))),
            ],
        )
    }

    /// Renders the next question of a dialogue that knows of the first `known` steps.
    pub(super) fn next_question(&self, prompts: &Prompts, known: usize, output: &str) -> String {
        prompts.render(
            Prompt::AutopilotNext,
            &[("rounds", &self.steps_from(known)), ("until", &self.goal(prompts, output))],
        )
    }

    /// Renders what the models of the next step are told of the task.
    pub(super) fn course(&self, prompts: &Prompts) -> String {
        let kept: Vec<&TakenStep> = self.rounds.iter().filter(|round| round.stays).collect();
        let earlier = kept.len().saturating_sub(TOLD);
        let before = (earlier > 0).then(|| format!("({} before these)", counted(earlier, "step")));
        let line = |round: &&TakenStep| {
            let step: String = round.step.chars().take(STEP_CHARS).collect();
            let cut = if step.len() < round.step.len() { "…" } else { "" };
            format!("- {step}{cut} ({})", round.files.join(", "))
        };
        let lines: Vec<String> =
            before.into_iter().chain(kept.iter().skip(earlier).map(line)).collect();
        let rounds = or_dash(lines.join("\n"));
        prompts.render(Prompt::AutopilotCourse, &[("task", &self.task), ("rounds", &rounds)])
    }

    /// Lists the steps after the first `known`.
    fn steps_from(&self, known: usize) -> String {
        let told = |(at, round): (usize, &TakenStep)| {
            let stays = if round.stays { "kept" } else { "undone" };
            format!("{}. {} — {}, {stays}", at + 1, round.step, round.end)
        };
        let lines: Vec<String> = self.rounds.iter().enumerate().skip(known).map(told).collect();
        or_dash(lines.join("\n"))
    }

    /// Renders the command that decides, and what it printed last; empty if there is none.
    fn goal(&self, prompts: &Prompts, output: &str) -> String {
        let Some(command) = &self.until else { return String::new() };
        let said = fenced(prompts, "output", last_lines(output));
        let mut told =
            prompts.render(Prompt::AutopilotUntil, &[("command", command), ("said", &said)]);
        let alike = self.alike();
        if alike > 1 {
            told.push('\n');
            told.push_str(&prompts.render(Prompt::AutopilotAlike, &[("steps", &alike)]));
        }
        format!("\n{told}\n")
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// Returns the last whole lines of an output that fit; of a single long line, its end.
fn last_lines(output: &str) -> &str {
    let output = output.trim_end();
    let from = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES));
    let end = output.get(from..).unwrap_or_default();
    let cut = from > 0 && !output.get(..from).is_some_and(|before| before.ends_with('\n'));
    let whole = end.split_once('\n').map_or(end, |(_, whole)| whole);
    if cut { whole } else { end }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use facts::amounts::Amount;
    use facts::autopilot::WorkBounds;

    use super::*;

    fn step(step: &str, stays: bool) -> TakenStep {
        TakenStep {
            step: step.to_owned(),
            end: "e".to_owned(),
            stays,
            files: vec!["a.py".to_owned()],
            turned: Vec::new(),
            spent: Amount::default(),
            spent_unknown: Amount::default(),
            to_come: 0,
            failure: None,
        }
    }

    fn work(rounds: Vec<TakenStep>, until: Option<&str>) -> PilotState {
        let (until, later) = (until.map(str::to_owned), vec!["write the notes".to_owned()]);
        let worked = Duration::ZERO;
        let bounds = WorkBounds::default();
        PilotState { rounds, later, worked, ..PilotState::new("t".to_owned(), until, bounds) }
    }

    #[test]
    fn the_steering_model_is_told_the_result_of_each_step_once() {
        let prompts = Prompts::default();
        let steps = || vec![step("s", true), step("s", false)];
        let question = work(steps(), None).opening(&prompts, "");
        assert!(question.contains("1. s — e, kept\n2. s — e, undone"), "{question}");
        assert!(question.contains("write the notes"), "{question}");
        assert!(!question.contains("is done when"), "{question}");
        let until = work(steps(), Some("make test"));
        let question = until.opening(&prompts, "1 failed");
        assert!(question.contains("`make test` passes. It does not yet:\n\n"), "{question}");
        assert!(question.contains("1 failed"), "{question}");
        let next = until.next_question(&prompts, 1, "1 failed");
        assert!(next.contains("2. s — e, undone") && !next.contains("1. s"), "{next}");
        assert!(next.contains("1 failed"), "{next}");
    }

    #[test]
    fn of_the_output_the_last_lines_are_told() {
        let long: Vec<String> = (0..10_000).map(|at| format!("line {at}\n")).collect();
        let long = long.concat();
        let last = last_lines(&long);
        assert!(last.starts_with("line 9") && last.ends_with("line 9999"), "{last}");
        assert!(last.len() <= OUTPUT_BYTES && last.len() > OUTPUT_BYTES - 20, "{}", last.len());
        assert_eq!(last_lines("one\ntwo\n"), "one\ntwo");
        assert_eq!(last_lines(&"é".repeat(2 * OUTPUT_BYTES)).len(), OUTPUT_BYTES);
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn a_step_is_told_of_few_earlier_ones() {
        let prompts = Prompts::default();
        let steps =
            |count| (1..=count).map(|at| step(&format!("step {at}"), at % 2 == 1)).collect();
        let told = work(steps(3), None).course(&prompts);
        assert!(told.contains("- step 1 (a.py)\n- step 3 (a.py)"), "{told}");
        let long = work(steps(101), None).course(&prompts);
        assert!(long.contains("(46 steps before these)\n- step 93 "), "{long}");
        assert!(long.len() < told.len() + 120, "{long}");
        let said = work(vec![step(&"x".repeat(5_000), true)], None).course(&prompts);
        assert!(said.len() < told.len() + 200, "{said}");
        assert!(work(Vec::new(), None).course(&prompts).ends_with(":\n-"), "nothing yet");
    }
}
