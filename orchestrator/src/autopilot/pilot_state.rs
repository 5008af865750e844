//! The state of a long task: the steps taken, what they cost, and when it is over without a word of the steering model. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use checks::error_lines::{NumberFolding, diagnostics};
use facts::amounts::{Amount, Spending};
use facts::autopilot::{AutopilotEnd, ChangedFile, WorkBounds};
use serde::{Deserialize, Serialize};
use tree::FileHash;

/// Ends after this many steps in a row without progress.
pub const MOST_IDLE: usize = 3;
/// Ends after this many steps in a row that leave the command's output unchanged while no fewer steps are to come.
pub const MOST_ALIKE: usize = 8;
/// Most diagnostics of the command that are compared.
const COMPARED: usize = 2000;

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenStep {
    /// The step.
    pub step: String,
    /// How it ended, for people.
    pub end: String,
    /// True if the step was kept: it was delivered and changed something.
    pub stays: bool,
    /// The files that it changed, if it was kept.
    pub files: Vec<String>,
    /// The content of each of them before and after.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub turned: Vec<ChangedFile>,
    /// The cost, including the question that chose the step, of the calls whose cost is known.
    pub spent: Amount,
    /// The most that the other calls can have cost.
    #[serde(skip_serializing_if = "Amount::is_zero", default)]
    pub spent_unknown: Amount,
    /// Number of steps planned after it.
    #[serde(default)]
    pub to_come: usize,
    /// Hash of the command's diagnostics after the step; `None` if it printed none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FileHash>,
}

/// The state of a long task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PilotState {
    /// The user's task.
    pub task: String,
    /// The command that passes once the task is done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
    /// The limits.
    pub bounds: WorkBounds,
    /// The steps so far.
    pub rounds: Vec<TakenStep>,
    /// The steps still to do, as last planned by the steering model.
    pub later: Vec<String>,
    /// Cost of choosing the next step, until it is added to that step.
    #[serde(default)]
    pub choosing: Amount,
    /// The most that calls of unknown cost can have cost, likewise.
    #[serde(skip_serializing_if = "Amount::is_zero", default)]
    pub choosing_unknown: Amount,
    /// Working time so far.
    pub worked: Duration,
    /// Why it ended; `None` while it has not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<AutopilotEnd>,
}

impl PilotState {
    /// A task on which no work has been done.
    pub fn new(task: String, until: Option<String>, bounds: WorkBounds) -> Self {
        Self {
            task,
            until,
            bounds,
            rounds: Vec::new(),
            later: Vec::new(),
            choosing: Amount::default(),
            choosing_unknown: Amount::default(),
            worked: Duration::ZERO,
            end: None,
        }
    }

    /// Returns the cost so far.
    pub fn spent(&self) -> Spending {
        let choosing = Spending { known: self.choosing, unknown: self.choosing_unknown };
        let of = |round: &TakenStep| Spending { known: round.spent, unknown: round.spent_unknown };
        self.rounds.iter().map(of).fold(choosing, Spending::plus)
    }

    /// Adds the cost of choosing a step; it is charged to the next step that is recorded.
    pub fn chose(&mut self, spent: Spending) {
        self.choosing = self.choosing.plus(spent.known);
        self.choosing_unknown = self.choosing_unknown.plus(spent.unknown);
    }

    /// Returns what a step has cost together with the choice of it.
    pub fn charged_to_step(&mut self, spent: Spending) -> Spending {
        let known = std::mem::take(&mut self.choosing);
        let unknown = std::mem::take(&mut self.choosing_unknown);
        spent.plus(Spending { known, unknown })
    }

    /// Returns why no further step may follow, if so.
    pub fn is_over(&self) -> Option<AutopilotEnd> {
        let WorkBounds { iterations, time, usd, tokens } = self.bounds;
        let spent = self.spent().at_most();
        let idle = (0..self.rounds.len()).rev().take_while(|at| !self.is_progress(*at)).count();
        if idle >= MOST_IDLE {
            return Some(AutopilotEnd::NoProgress);
        }
        if self.alike() >= MOST_ALIKE {
            return Some(AutopilotEnd::SameFailure);
        }
        if iterations.is_some_and(|most| self.rounds.len() >= most) {
            return Some(AutopilotEnd::Iterations);
        }
        if time.is_some_and(|most| self.worked >= most) {
            return Some(AutopilotEnd::Time);
        }
        let is_used_up = usd.is_some_and(|most| spent.nano_usd >= most)
            || tokens.is_some_and(|most| spent.tokens >= most);
        is_used_up.then_some(AutopilotEnd::Budget)
    }

    /// Returns true if a step made progress: it was kept, and its files did not return to their state before an earlier
    /// step.
    fn is_progress(&self, at: usize) -> bool {
        let until = self.rounds.get(..=at).unwrap_or_default();
        let Some(TakenStep { stays: true, turned, .. }) = until.last() else { return false };
        if turned.is_empty() {
            return true;
        }
        // From this step back: each file's content after it, and before each earlier step.
        let mut since: BTreeMap<&str, (Option<FileHash>, Option<FileHash>)> = BTreeMap::new();
        for round in until.iter().rev() {
            for ChangedFile { path, before, after } in &round.turned {
                since.entry(path).or_insert((*before, *after)).0 = *before;
            }
            if since.values().all(|(before, after)| before == after) {
                return false;
            }
        }
        true
    }

    /// Records the command's output after the last step.
    pub fn failed_with(&mut self, output: &str) {
        let errors = diagnostics(output, COMPARED, NumberFolding::Kept);
        if let Some(last) = self.rounds.last_mut().filter(|_| !errors.is_empty()) {
            let text = errors.iter().map(|it| format!("{}|{}|{}\n", it.code, it.file, it.message));
            last.failure = Some(FileHash::of(text.collect::<String>().as_bytes()));
        }
    }

    /// Counts the last steps after which the command failed as before while no fewer steps were to come.
    pub(crate) fn alike(&self) -> usize {
        let is_alike = |pair: &&[TakenStep]| {
            let [before, after] = pair else { return false };
            after.failure.is_some()
                && after.failure == before.failure
                && after.to_come >= before.to_come
        };
        self.rounds.windows(2).rev().take_while(is_alike).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(stays: bool) -> TakenStep {
        let spent = Amount { tokens: 100, calls: 2, ..Amount::default() };
        let (step, end) = ("s".to_owned(), "e".to_owned());
        TakenStep {
            step,
            end,
            stays,
            files: Vec::new(),
            turned: Vec::new(),
            spent,
            spent_unknown: Amount::default(),
            to_come: 0,
            failure: None,
        }
    }

    fn work(rounds: Vec<TakenStep>, bounds: WorkBounds) -> PilotState {
        let worked = Duration::from_mins(1);
        PilotState { rounds, worked, ..PilotState::new("t".to_owned(), None, bounds) }
    }

    #[test]
    fn undoing_and_redoing_a_change_is_not_progress() {
        let hash = |text: &str| (!text.is_empty()).then(|| FileHash::of(text.as_bytes()));
        let turns = |files: &[(&str, &str, &str)]| {
            let file = |(path, before, after): &(&str, &str, &str)| ChangedFile {
                path: (*path).to_owned(),
                before: hash(before),
                after: hash(after),
            };
            TakenStep { turned: files.iter().map(file).collect(), ..round(true) }
        };
        let none = WorkBounds::default();
        let to = || turns(&[("a", "1", "2")]);
        let fro = || turns(&[("a", "2", "1")]);
        assert_eq!(
            work(vec![to(), fro(), to()], none).is_over(),
            None,
            "the last change may still lead on"
        );
        assert_eq!(
            work(vec![to(), fro(), to(), fro()], none).is_over(),
            Some(AutopilotEnd::NoProgress)
        );
        // A file changed repeatedly but never back; and one changed back together with a new one.
        let on = vec![to(), turns(&[("a", "2", "3")]), turns(&[("a", "3", "4")])];
        assert!((0..3).all(|at| work(on.clone(), none).is_progress(at)));
        let beside = turns(&[("a", "2", "1"), ("b", "", "1")]);
        assert!(work(vec![to(), beside.clone()], none).is_progress(1));
        let back = turns(&[("b", "1", "")]);
        assert!(!work(vec![to(), beside, back], none).is_progress(2), "as before the first step");
    }

    #[test]
    fn unchanged_output_after_many_steps_ends_the_task() {
        let said = |outputs: &[&str], to_come: fn(usize) -> usize| {
            let mut work = work(Vec::new(), WorkBounds::default());
            for (at, output) in outputs.iter().enumerate() {
                work.rounds.push(TakenStep { to_come: to_come(at), ..round(true) });
                work.failed_with(output);
            }
            work
        };
        let same = ["FAILED a.py::t - assert 3 == 4\n1 failed in 0.03s"; MOST_ALIKE + 1];
        assert_eq!(said(&same, |_| 0).is_over(), Some(AutopilotEnd::SameFailure));
        assert_eq!(said(&same[1..], |_| 0).is_over(), None);
        assert_eq!(said(&same, |at| 20 - at).is_over(), None, "fewer steps are to come each time");
        assert_eq!(said(&[""; 20], |_| 0).is_over(), None, "empty output is not compared");
        let mut other = same;
        other[4] = "FAILED a.py::t - assert 2 == 4\n1 failed in 0.03s";
        assert_eq!(said(&other, |_| 0).is_over(), None);
        assert_eq!(said(&same[..4], |_| 0).alike(), 3);
    }

    #[test]
    fn the_task_ends_at_its_limits_and_without_progress() {
        let none = WorkBounds::default();
        assert_eq!(work(vec![round(false), round(false)], none).is_over(), None);
        let idle = vec![round(true), round(false), round(false), round(false)];
        assert_eq!(work(idle, none).is_over(), Some(AutopilotEnd::NoProgress));
        let moves = || vec![round(false), round(false), round(true)];
        assert_eq!(work(moves(), none).is_over(), None);
        let bounds = |bounds: WorkBounds| work(moves(), bounds).is_over();
        assert_eq!(
            bounds(WorkBounds { iterations: Some(3), ..none }),
            Some(AutopilotEnd::Iterations)
        );
        assert_eq!(bounds(WorkBounds { tokens: Some(300), ..none }), Some(AutopilotEnd::Budget));
        assert_eq!(bounds(WorkBounds { tokens: Some(301), ..none }), None);
        assert_eq!(
            bounds(WorkBounds { time: Some(Duration::from_mins(1)), ..none }),
            Some(AutopilotEnd::Time)
        );
    }
}
