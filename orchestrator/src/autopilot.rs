//! A long piece of work, a step at a time: what its steering model says, what became of each step, and when it ends. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use actors::contract::{Contract, ContractError, filled};
use actors::failure::{Numbers, diagnostics};
use actors::ledger::Amount;
use actors::prompts::{Prompt, Prompts};
use model::price::Usd;
use serde::{Deserialize, Serialize};
use tree::FileHash;

const CONTRACT: Contract = Contract { header: "AUTOPILOT_V1", footer: "AUTOPILOT_END" };
const FORM: &str =
    "NEXT|<step> and LATER|<step> lines, or the one line DONE|<what shows it> or STUCK|<why>";

/// Steps in a row without any progress, after which it ends.
pub const MOST_IDLE: usize = 3;
/// Steps in a row that stay, without a change to what the command prints and without fewer of them to come, after which it ends.
pub const MOST_ALIKE: usize = 8;
/// Diagnostics of the command that are compared.
const COMPARED: usize = 2000;
/// Steps that are told to the steering model.
const TOLD: usize = 12;

/// What the steering model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steer {
    /// This step comes next, and these after it.
    Next {
        /// The step.
        step: String,
        /// What comes after it.
        later: Vec<String>,
    },
    /// Nothing is left to do.
    Done(String),
    /// No step can bring it further.
    Stuck(String),
}

impl Steer {
    /// Reads an answer. Where a command says that the task is reached, no model does.
    pub fn read(answer: &str, until: Option<&str>) -> Result<Self, ContractError> {
        let (mut next, mut later, mut end) = (None, Vec::new(), None);
        let block = CONTRACT.read(answer, |_, line| {
            let (key, text) = line.split_once('|').unwrap_or((line, ""));
            let text = filled(text.trim(), FORM)?;
            match key {
                "NEXT" if next.is_none() => next = Some(text),
                "LATER" => later.push(text),
                "DONE" => end = Some(Self::Done(text)),
                "STUCK" => end = Some(Self::Stuck(text)),
                _ => return Err(format!("between the two lines stand {FORM}")),
            }
            Ok(())
        })?;
        match (next, end) {
            (Some(step), None) => Ok(Self::Next { step, later }),
            (None, Some(Self::Done(_))) if let Some(command) = until => {
                Err(block.error_at_end(format!("`{command}` does not pass yet: NEXT or STUCK")))
            }
            (None, Some(end)) if later.is_empty() => Ok(end),
            (None | Some(_), _) => {
                Err(block.error_at_end(format!("between the two lines stand {FORM}")))
            }
        }
    }
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenStep {
    /// The step.
    pub step: String,
    /// How it ended, for people.
    pub end: String,
    /// Whether it stays: it was delivered, and changed something.
    pub stays: bool,
    /// The files that it changed, if it stays.
    pub files: Vec<String>,
    /// What became of each of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub turned: Vec<TurnedFile>,
    /// What it took, the question for it included.
    pub spent: Amount,
    /// Steps that were to come after it, as the steering model said.
    #[serde(default)]
    pub to_come: usize,
    /// What the command said after it that says when the task is reached; nothing if it was silent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FileHash>,
}

/// A file that a step changed: what it held before and after; nothing where it was not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedFile {
    /// Its path.
    pub path: String,
    /// Before the step.
    pub before: Option<FileHash>,
    /// After it.
    pub after: Option<FileHash>,
}

/// What it may not pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBounds {
    /// Steps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iterations: Option<usize>,
    /// Time at work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Duration>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usd: Option<Usd>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
}

/// Why it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum End {
    /// The command that says so passes.
    Reached,
    /// The steering model says that nothing is left to do.
    Done {
        /// What shows it.
        shown_by: String,
    },
    /// The steering model says that no step can bring it further, or gave no usable answer.
    Stuck {
        /// Why.
        reason: String,
    },
    /// The last steps brought nothing.
    NoProgress,
    /// The command prints the same after the last steps as before them.
    SameFailure,
    /// As many steps as may be.
    Iterations,
    /// As long as may be.
    Time,
    /// The budget is used up.
    Budget,
    /// Something was not allowed.
    Denied {
        /// What, and the flag that would allow it.
        hint: String,
    },
    /// The user stopped it.
    Stopped,
}

/// A long piece of work, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// What is wanted.
    pub task: String,
    /// The command that passes when it is reached.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
    /// What it may not pass.
    pub bounds: WorkBounds,
    /// The steps so far.
    pub rounds: Vec<TakenStep>,
    /// What is still to do, as the steering model said last.
    pub later: Vec<String>,
    /// What choosing the next step took; it is booked to that.
    #[serde(default)]
    pub choosing: Amount,
    /// Time at work so far.
    pub worked: Duration,
    /// Why it is over, once it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<End>,
}

impl Work {
    /// What was used so far.
    pub fn spent(&self) -> Amount {
        self.rounds.iter().fold(self.choosing, |sum, round| sum.plus(round.spent))
    }

    /// Why no step may follow, if that is so.
    pub fn is_over(&self) -> Option<End> {
        let WorkBounds { iterations, time, usd, tokens } = self.bounds;
        let spent = self.spent();
        let idle = (0..self.rounds.len()).rev().take_while(|at| !self.is_progress(*at)).count();
        if idle >= MOST_IDLE {
            return Some(End::NoProgress);
        }
        if self.alike() >= MOST_ALIKE {
            return Some(End::SameFailure);
        }
        if iterations.is_some_and(|most| self.rounds.len() >= most) {
            return Some(End::Iterations);
        }
        if time.is_some_and(|most| self.worked >= most) {
            return Some(End::Time);
        }
        let is_used_up = usd.is_some_and(|most| spent.nano_usd >= most)
            || tokens.is_some_and(|most| spent.tokens >= most);
        is_used_up.then_some(End::Budget)
    }

    /// Whether a step brought something: it stays, and its files are not as they were before some step.
    fn is_progress(&self, at: usize) -> bool {
        let until = self.rounds.get(..=at).unwrap_or_default();
        let Some(TakenStep { stays: true, turned, .. }) = until.last() else { return false };
        if turned.is_empty() {
            return true;
        }
        // From the last step back: what a file holds after it, and what it held before each.
        let mut since: BTreeMap<&str, (Option<FileHash>, Option<FileHash>)> = BTreeMap::new();
        for round in until.iter().rev() {
            for TurnedFile { path, before, after } in &round.turned {
                since.entry(path).or_insert((*before, *after)).0 = *before;
            }
            if since.values().all(|(before, after)| before == after) {
                return false;
            }
        }
        true
    }

    /// Takes in what the command printed after the last step.
    pub fn failed_with(&mut self, output: &str) {
        let errors = diagnostics(output, COMPARED, Numbers::Kept);
        if let Some(last) = self.rounds.last_mut().filter(|_| !errors.is_empty()) {
            let text = errors.iter().map(|it| format!("{}|{}|{}\n", it.code, it.file, it.message));
            last.failure = Some(FileHash::of(text.collect::<String>().as_bytes()));
        }
    }

    /// The last steps after which the command failed as it did before them, while no fewer steps were to come.
    fn alike(&self) -> usize {
        let is_alike = |pair: &&[TakenStep]| {
            let [before, after] = pair else { return false };
            after.failure.is_some()
                && after.failure == before.failure
                && after.to_come >= before.to_come
        };
        self.rounds.windows(2).rev().take_while(is_alike).count()
    }

    /// What the steering model is asked. `said` is what the command printed last that says when the task is reached.
    pub fn question(&self, prompts: &Prompts, said: &str) -> String {
        let told = |(at, round): (usize, &TakenStep)| {
            let stays = if round.stays { "stays" } else { "taken back" };
            format!("{}. {} — {}, {stays}", at + 1, round.step, round.end)
        };
        let first = self.rounds.len().saturating_sub(TOLD);
        let rounds: Vec<String> = self.rounds.iter().enumerate().skip(first).map(told).collect();
        let listed =
            |lines: &[String]| if lines.is_empty() { "-".to_owned() } else { lines.join("\n") };
        let until = self.until.as_ref().map(|command| {
            let mut told =
                prompts.render(Prompt::AutopilotUntil, &[("command", command), ("said", &said)]);
            let alike = self.alike();
            if alike > 1 {
                told.push('\n');
                told.push_str(&prompts.render(Prompt::AutopilotAlike, &[("steps", &alike)]));
            }
            format!("\n{told}\n")
        });
        prompts.render(
            Prompt::Autopilot,
            &[
                ("task", &self.task),
                ("until", &until.unwrap_or_default()),
                ("rounds", &listed(&rounds)),
                ("later", &listed(&self.later)),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(stays: bool) -> TakenStep {
        let spent = Amount { tokens: 100, calls: 2, nano_usd: Usd::ZERO };
        let (step, end) = ("s".to_owned(), "e".to_owned());
        TakenStep {
            step,
            end,
            stays,
            files: Vec::new(),
            turned: Vec::new(),
            spent,
            to_come: 0,
            failure: None,
        }
    }

    fn work(rounds: Vec<TakenStep>, bounds: WorkBounds) -> Work {
        let (task, until) = ("t".to_owned(), None);
        Work {
            task,
            until,
            bounds,
            rounds,
            later: Vec::new(),
            choosing: Amount::default(),
            worked: Duration::from_mins(1),
            end: None,
        }
    }

    #[test]
    fn what_the_steering_model_says_is_read() {
        let read =
            |lines: &str| Steer::read(&format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END"), None);
        let next = Steer::Next { step: "a".to_owned(), later: vec!["b".to_owned()] };
        assert_eq!(read("NEXT|a\nLATER|b").unwrap(), next);
        assert_eq!(read("DONE|all passes").unwrap(), Steer::Done("all passes".to_owned()));
        for broken in ["NEXT|a\nNEXT|b", "LATER|b", "NEXT|a\nDONE|x", "NEXT|", "hello", ""] {
            assert!(read(broken).is_err(), "{broken}");
        }
        let done = "AUTOPILOT_V1\nDONE|it works\nAUTOPILOT_END";
        let refused = Steer::read(done, Some("make test")).unwrap_err();
        assert_eq!(refused.rule, "`make test` does not pass yet: NEXT or STUCK");
    }

    #[test]
    fn going_to_and_fro_is_no_progress() {
        let hash = |text: &str| (!text.is_empty()).then(|| FileHash::of(text.as_bytes()));
        let turns = |files: &[(&str, &str, &str)]| {
            let file = |(path, before, after): &(&str, &str, &str)| TurnedFile {
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
            "it may still turn out well"
        );
        assert_eq!(work(vec![to(), fro(), to(), fro()], none).is_over(), Some(End::NoProgress));
        // The same file over and over, but never as it was; and as it was, beside another that is not.
        let on = vec![to(), turns(&[("a", "2", "3")]), turns(&[("a", "3", "4")])];
        assert!((0..3).all(|at| work(on.clone(), none).is_progress(at)));
        let beside = turns(&[("a", "2", "1"), ("b", "", "1")]);
        assert!(work(vec![to(), beside.clone()], none).is_progress(1));
        let back = turns(&[("b", "1", "")]);
        assert!(!work(vec![to(), beside, back], none).is_progress(2), "as before the first step");
    }

    #[test]
    fn a_command_that_says_the_same_after_many_steps_ends_it() {
        let said = |outputs: &[&str], to_come: fn(usize) -> usize| {
            let mut work = work(Vec::new(), WorkBounds::default());
            for (at, output) in outputs.iter().enumerate() {
                work.rounds.push(TakenStep { to_come: to_come(at), ..round(true) });
                work.failed_with(output);
            }
            work
        };
        let same = ["FAILED a.py::t - assert 3 == 4\n1 failed in 0.03s"; MOST_ALIKE + 1];
        assert_eq!(said(&same, |_| 0).is_over(), Some(End::SameFailure));
        assert_eq!(said(&same[1..], |_| 0).is_over(), None);
        assert_eq!(said(&same, |at| 20 - at).is_over(), None, "fewer steps are to come each time");
        assert_eq!(said(&[""; 20], |_| 0).is_over(), None, "silence tells nothing");
        let mut other = same;
        other[4] = "FAILED a.py::t - assert 2 == 4\n1 failed in 0.03s";
        assert_eq!(said(&other, |_| 0).is_over(), None);
        let question = Work { until: Some("pytest".to_owned()), ..said(&same[..4], |_| 0) }
            .question(&Prompts::default(), "1 failed");
        assert!(question.contains("The last 3 steps did not"), "{question}");
    }

    #[test]
    fn it_ends_at_its_bounds_and_where_nothing_moves() {
        let none = WorkBounds::default();
        assert_eq!(work(vec![round(false), round(false)], none).is_over(), None);
        let idle = vec![round(true), round(false), round(false), round(false)];
        assert_eq!(work(idle, none).is_over(), Some(End::NoProgress));
        let moves = || vec![round(false), round(false), round(true)];
        assert_eq!(work(moves(), none).is_over(), None);
        let bounds = |bounds: WorkBounds| work(moves(), bounds).is_over();
        assert_eq!(bounds(WorkBounds { iterations: Some(3), ..none }), Some(End::Iterations));
        assert_eq!(bounds(WorkBounds { tokens: Some(300), ..none }), Some(End::Budget));
        assert_eq!(bounds(WorkBounds { tokens: Some(301), ..none }), None);
        assert_eq!(
            bounds(WorkBounds { time: Some(Duration::from_mins(1)), ..none }),
            Some(End::Time)
        );
    }

    #[test]
    fn the_steering_model_is_told_what_became_of_each_step() {
        let work = Work {
            later: vec!["write the notes".to_owned()],
            ..work(vec![round(true), round(false)], WorkBounds::default())
        };
        let question = work.question(&Prompts::default(), "");
        assert!(question.contains("1. s — e, stays\n2. s — e, taken back"), "{question}");
        assert!(
            question.contains("write the notes") && !question.contains("is reached"),
            "{question}"
        );
        let until = Work { until: Some("make test".to_owned()), ..work };
        let question = until.question(&Prompts::default(), "1 failed");
        assert!(
            question.contains("`make test` passes. It does not yet:\n\n1 failed"),
            "{question}"
        );
    }
}
