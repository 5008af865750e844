//! What the choices of models led to. Pure.

use facts::delivery::Delivery;
use facts::event::Event;
use facts::model_choice::ModelChoice;

use super::entry::KeptEntries;
use super::usage::{RecordedCall, calls};

/// How the model of a question was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecidedBy {
    /// By the score: the role's own model.
    Own,
    /// By the score: the model that thinks longest.
    MaxThink,
    /// By a small model, which said that no long thinking is needed.
    QuestionOwn,
    /// By a small model, which said that long thinking is needed.
    QuestionMaxThink,
    /// The role's own model gave no usable answer, and the one that thinks longest was asked.
    Escalated,
}

impl DecidedBy {
    /// Returns it as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::MaxThink => "max_think",
            Self::QuestionOwn => "question_own",
            Self::QuestionMaxThink => "question_max_think",
            Self::Escalated => "escalated",
        }
    }
}

/// A question whose model was chosen, and what that led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedQuestion {
    /// How it was chosen.
    pub by: DecidedBy,
    /// When it was first chosen.
    pub at: String,
    /// Whether the request was delivered; `None` if it has not ended.
    pub delivered: Option<bool>,
    /// The calls since then, with that of the small model.
    pub calls: Vec<RecordedCall>,
}

/// Returns the questions of a session whose models were chosen. A request has one of them at most.
pub(super) fn decisions(kept: &KeptEntries) -> Vec<DecidedQuestion> {
    let mut decided: Vec<(u64, &str, DecidedQuestion)> = Vec::new();
    for entry in &kept.entries {
        let (Some(run), Some(event)) = (entry.run.as_deref(), &entry.event) else { continue };
        let open = decided.iter_mut().rev().find(|(_, it, _)| *it == run);
        match (chosen(event), open) {
            (Some(by), Some((.., question))) => question.by = by,
            (Some(by), None) => {
                let at = entry.at.clone();
                let question = DecidedQuestion { by, at, delivered: None, calls: Vec::new() };
                decided.push((entry.seq, run, question));
            }
            (None, Some((.., question))) => {
                question.delivered = ended(event).or(question.delivered);
            }
            (None, None) => {}
        }
    }
    for call in calls(kept) {
        let of = decided
            .iter_mut()
            .find(|(seq, run, _)| call.run.as_deref() == Some(*run) && call.seq > *seq);
        if let Some((.., question)) = of {
            question.calls.push(call);
        }
    }
    decided.into_iter().map(|(.., question)| question).collect()
}

fn chosen(event: &Event) -> Option<DecidedBy> {
    if matches!(event, Event::RouterEscalation { .. }) {
        return Some(DecidedBy::Escalated);
    }
    let Event::RouterDecision { decision_id, assessment, .. } = event else { return None };
    Some(match (decision_id, assessment.choice) {
        (1, ModelChoice::MaxThink) => DecidedBy::MaxThink,
        (1, ModelChoice::Own | ModelChoice::Uncertain) => DecidedBy::Own,
        (_, ModelChoice::MaxThink) => DecidedBy::QuestionMaxThink,
        (_, ModelChoice::Own | ModelChoice::Uncertain) => DecidedBy::QuestionOwn,
    })
}

fn ended(event: &Event) -> Option<bool> {
    let Event::RunFinished { delivery, .. } = event else { return None };
    Some(matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. }))
}
