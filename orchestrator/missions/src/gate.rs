//! The gate of a mission: which phase follows which, and the only place where a card becomes one that is approved. Pure.

use actors::words::MissionPhase;
use thiserror::Error;
use tree::FileHash;

use crate::card::Card;

/// What happens to a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissionStep {
    /// Its research begins.
    Research,
    /// There is a card.
    Show,
    /// The card is to be another.
    Revise,
    /// It is carried out.
    Execute,
    /// It is over.
    End,
}

/// Why a mission does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// This does not follow.
    #[error("a mission that is {phase} cannot {step:?}")]
    Step {
        /// The phase it is in.
        phase: MissionPhase,
        /// What was to happen.
        step: MissionStep,
    },
    /// What was approved is not what there is.
    #[error("the card that was approved is {approved}, and this one is {card}")]
    Hash {
        /// What was approved.
        approved: FileHash,
        /// What there is.
        card: FileHash,
    },
}

/// The phase that follows.
pub const fn after(phase: MissionPhase, step: MissionStep) -> Result<MissionPhase, Refused> {
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

/// A card whose hash the user named. There is no other way to have one.
#[derive(Debug, Clone)]
pub struct Approved {
    card: Card,
    hash: FileHash,
}

impl Approved {
    /// The card, if it is the one that was approved, in a mission that waits for that.
    pub fn new(phase: MissionPhase, card: Card, approved: FileHash) -> Result<Self, Refused> {
        after(phase, MissionStep::Execute)?;
        let hash = card.hash();
        if hash != approved {
            return Err(Refused::Hash { approved, card: hash });
        }
        Ok(Self { card, hash })
    }

    /// The card.
    pub const fn card(&self) -> &Card {
        &self.card
    }

    /// Its hash.
    pub const fn hash(&self) -> FileHash {
        self.hash
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
    fn only_what_awaits_approval_is_carried_out() {
        let table: Vec<String> = PHASES
            .into_iter()
            .flat_map(|phase| {
                STEPS.into_iter().filter_map(move |step| {
                    let next = after(phase, step).ok()?;
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
