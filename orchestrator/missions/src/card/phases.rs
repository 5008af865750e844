//! The gate of a mission: the order of its phases, and the only place where a card becomes approved. Pure.

use facts::words::MissionPhase;
use thiserror::Error;
use tree::FileHash;

use crate::card::{Card, SealedCard};

/// A step of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissionStep {
    /// Start the research.
    Research,
    /// Show the card.
    Show,
    /// Revise the card.
    Revise,
    /// Carry the card out.
    Execute,
    /// End the mission.
    End,
}

/// Why a mission cannot take a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The step is not allowed in this phase.
    #[error("a mission that is {phase} cannot {step:?}")]
    Step {
        /// The current phase.
        phase: MissionPhase,
        /// The refused step.
        step: MissionStep,
    },
    /// The approved card is a different one.
    #[error("the card that was approved is {approved}, and this one is {card}")]
    Hash {
        /// The approved hash.
        approved: FileHash,
        /// The hash of the actual card.
        card: FileHash,
    },
}

/// Returns the phase after a step.
pub const fn phase_after(phase: MissionPhase, step: MissionStep) -> Result<MissionPhase, Refused> {
    use MissionPhase::{AwaitingApproval, Done, Drafting, Executing, Researching};
    Ok(match (phase, step) {
        (Drafting, MissionStep::Research) | (AwaitingApproval, MissionStep::Revise) => Researching,
        (Researching, MissionStep::Show) => AwaitingApproval,
        (AwaitingApproval, MissionStep::Execute) => Executing,
        (Drafting | Researching | AwaitingApproval | Executing, MissionStep::End) => Done,
        (
            Drafting | Researching | AwaitingApproval | Executing | Done,
            MissionStep::Research
            | MissionStep::Show
            | MissionStep::Revise
            | MissionStep::Execute
            | MissionStep::End,
        ) => return Err(Refused::Step { phase, step }),
    })
}

/// A card whose hash the user approved. [`Approved::new`] is the only way to obtain one.
#[derive(Debug, Clone)]
pub struct Approved(SealedCard);

impl Approved {
    /// Approves the card if its hash is the approved one and the mission is waiting for approval.
    pub fn new(phase: MissionPhase, card: SealedCard, approved: FileHash) -> Result<Self, Refused> {
        phase_after(phase, MissionStep::Execute)?;
        let hash = card.hash();
        if hash != approved {
            return Err(Refused::Hash { approved, card: hash });
        }
        Ok(Self(card))
    }

    /// Returns the card.
    pub const fn card(&self) -> &Card {
        self.0.card()
    }

    /// Returns the card as it was approved.
    pub const fn sealed(&self) -> &SealedCard {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: [MissionPhase; 5] = [
        MissionPhase::Drafting,
        MissionPhase::Researching,
        MissionPhase::AwaitingApproval,
        MissionPhase::Executing,
        MissionPhase::Done,
    ];
    const STEPS: [MissionStep; 5] = [
        MissionStep::Research,
        MissionStep::Show,
        MissionStep::Revise,
        MissionStep::Execute,
        MissionStep::End,
    ];

    #[test]
    fn only_a_card_that_awaits_approval_can_be_carried_out() {
        let table: Vec<String> = PHASES
            .into_iter()
            .flat_map(|phase| {
                STEPS.into_iter().filter_map(move |step| {
                    let next = phase_after(phase, step).ok()?;
                    Some(format!("{phase} -> {step:?} -> {next}"))
                })
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        drafting -> Research -> researching
        drafting -> End -> done
        researching -> Show -> awaiting approval
        researching -> End -> done
        awaiting approval -> Revise -> researching
        awaiting approval -> Execute -> executing
        awaiting approval -> End -> done
        executing -> End -> done
        ");
    }
}
