//! What the researcher is asked, and the grammars of its answers.

use actors::talk::Grammar;
use actors::talk::prompts::{Prompt, Prompts};
use actors::talk::refused_plan;
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::{Contract, ContractError, text_of_line};

use crate::card::plan::{MissionPlan, PlanBounds};
use crate::program;
use crate::research::finding::{ClaimVerdict, Observation, verdicts};
use crate::research::passage::Passage;

const CONTRACT: Contract = Contract { header: "HYPOTHESES_V1", footer: "HYPOTHESES_END" };
const HYPOTHESIS: &str = "HYPOTHESIS|<path>:<first line>-<last line>|<question>";

/// A hypothesis, and the passage that would show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hypothesis {
    pub(crate) passage: Passage,
    pub(crate) question: String,
}

/// The grammar of hypotheses: about existing files, and at most `most` of them.
pub(crate) struct Hypotheses<'a> {
    pub(crate) most: usize,
    /// Returns false if the passage is known not to exist; true for files that have not been read yet.
    pub(crate) is_there: &'a (dyn Fn(&Passage) -> bool + Sync),
}

impl Hypotheses<'_> {
    fn parse(&self, answer: &str) -> Result<Vec<Hypothesis>, ContractError> {
        let mut told = Vec::new();
        CONTRACT.read(answer, |_, line| {
            if line.starts_with("NONE|") || line == "NONE" {
                return Ok(());
            }
            let rest = line.strip_prefix("HYPOTHESIS|");
            let rest = rest.ok_or(format!("each line must read {HYPOTHESIS}"))?;
            let (place, question) = rest.split_once('|').unwrap_or((rest, ""));
            let question = text_of_line(question.trim(), HYPOTHESIS)?;
            let passage = Passage::read(place).ok_or(format!("the line must read {HYPOTHESIS}"))?;
            if !(self.is_there)(&passage) {
                return Err(format!("{passage} is not there, or may not be read"));
            }
            if told.len() < self.most {
                told.push(Hypothesis { passage, question });
            }
            Ok(())
        })?;
        Ok(told)
    }
}

impl Grammar for Hypotheses<'_> {
    type Answer = Vec<Hypothesis>;

    fn is_formed(&self, answer: &str) -> bool {
        CONTRACT.is_begun(answer)
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<Vec<Hypothesis>, ContractError>, JournalClosed> {
        Ok(self.parse(answer))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

/// The grammar of a program; `None` if the researcher finds none worth its cost.
pub(crate) struct Program;

impl Grammar for Program {
    type Answer = Option<String>;

    fn is_formed(&self, answer: &str) -> bool {
        program::is_begun(answer)
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<Option<String>, ContractError>, JournalClosed> {
        Ok(program::program(answer))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

/// The grammar of verdicts.
pub(crate) struct Verdicts;

impl Grammar for Verdicts {
    type Answer = Vec<ClaimVerdict>;

    fn is_formed(&self, answer: &str) -> bool {
        verdicts(answer).is_ok()
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<Self::Answer, ContractError>, JournalClosed> {
        Ok(verdicts(answer))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

impl Grammar for PlanBounds {
    type Answer = MissionPlan;

    fn is_formed(&self, answer: &str) -> bool {
        MissionPlan::is_formed(answer)
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<MissionPlan, ContractError>, JournalClosed> {
        Ok(MissionPlan::parse(answer, *self))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::PlanRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

/// Summarises the checks of a finding.
pub(crate) fn checks(finding: &Observation) -> String {
    let Observation { mechanical, flash, pro, doubt, .. } = finding;
    let lines = mechanical.map(|same| {
        if same { "its lines are unchanged" } else { "its lines have changed" }.to_owned()
    });
    let flash = flash.map(|it| format!("small model: {}", it.name()));
    let pro = pro.map(|it| format!("you: {}", it.name()));
    let said = [lines, flash, pro, doubt.clone()].into_iter().flatten().collect::<Vec<_>>();
    if said.is_empty() { "not checked yet".to_owned() } else { said.join("; ") }
}

/// Renders the findings for the researcher.
pub(crate) fn findings_text(prompts: &Prompts, findings: &[Observation]) -> String {
    let line = |finding: &Observation| {
        prompts.render(
            Prompt::MissionFinding,
            &[
                ("number", &finding.id),
                ("claim", &finding.claim),
                ("passage", &finding.evidence),
                ("novelty", &finding.novelty),
                ("weight", &finding.weight),
                ("checks", &checks(finding)),
            ],
        )
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypotheses_are_about_existing_lines() {
        let is_there = |passage: &Passage| passage.path.as_str() == "a.rs";
        let grammar = Hypotheses { most: 1, is_there: &is_there };
        let answer = "HYPOTHESES_V1\nHYPOTHESIS|a.rs:1-9|Is it locked?\nHYPOTHESIS|a.rs:20|And here?\nHYPOTHESES_END";
        let told = grammar.parse(answer).unwrap();
        assert_eq!(told.len(), 1, "no more than the limit");
        assert_eq!(told[0].question, "Is it locked?");
        assert!(
            grammar
                .parse("HYPOTHESES_V1\nNONE|nothing is worth it\nHYPOTHESES_END")
                .unwrap()
                .is_empty()
        );
        for broken in ["HYPOTHESIS|b.rs:1-9|x", "HYPOTHESIS|a.rs|x", "HYPOTHESIS|a.rs:1-2|", "x"] {
            let answer = format!("HYPOTHESES_V1\n{broken}\nHYPOTHESES_END");
            assert!(grammar.parse(&answer).is_err(), "{broken}");
        }
    }
}
