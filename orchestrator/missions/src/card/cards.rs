//! The cards of a session and the state of each, derived from events. Pure.

use facts::delivery::Delivery;
use facts::event::{Blob, Event};
use facts::words::CardAnswer;
use tree::FileHash;

/// The state of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardState {
    /// Not answered yet.
    Waits,
    /// Approved, but not carried out yet.
    Approved,
    /// Approved, but could not be carried out.
    CameToNothing,
    /// Carried out.
    CarriedOut,
    /// Rejected.
    Rejected,
    /// Replaced by another card.
    Replaced,
}

impl CardState {
    /// Returns the state in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waits => "waiting for approval",
            Self::Approved => "approved",
            Self::CameToNothing => "not carried out",
            Self::CarriedOut => "carried out",
            Self::Rejected => "rejected",
            Self::Replaced => "replaced",
        }
    }

    /// Returns true if the card can be answered; one that could not be carried out may be approved again.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waits | Self::CameToNothing)
    }
}

/// A card that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCard {
    /// The hash that approval names.
    pub hash: FileHash,
    /// The card, as JSON.
    pub card: Blob,
    /// Its state.
    pub state: CardState,
}

/// The cards of a session, in the order they were made.
#[derive(Debug, Clone, Default)]
pub struct Cards {
    made: Vec<MadeCard>,
    /// The approved card whose run has not ended.
    in_hand: Option<FileHash>,
}

impl Cards {
    /// Kinds of the events that concern cards.
    pub const EVENTS: [&'static str; 3] = ["CardMade", "CardAnswered", "RunFinished"];

    /// Updates the cards with an event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not about cards")]
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::CardMade { hash, card, .. } => {
                let (hash, card, state) = (*hash, card.clone(), CardState::Waits);
                self.made.push(MadeCard { hash, card, state });
            }
            Event::CardAnswered { hash, answer } => {
                let state = match answer {
                    CardAnswer::Approved => {
                        self.in_hand = Some(*hash);
                        CardState::Approved
                    }
                    CardAnswer::Rejected => CardState::Rejected,
                    CardAnswer::Modify(_) => CardState::Replaced,
                    CardAnswer::NoOne => return,
                };
                self.mark(*hash, state);
            }
            Event::RunFinished { delivery, .. } => {
                if let Some(hash) = self.in_hand.take() {
                    self.mark(hash, after(delivery));
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, hash: FileHash, state: CardState) {
        if let Some(made) = self.made.iter_mut().rev().find(|made| made.hash == hash) {
            made.state = state;
        }
    }

    /// Returns all cards.
    pub fn into_made(self) -> Vec<MadeCard> {
        self.made
    }
}

/// Returns the state of an approved card after its run ended with `delivery`.
const fn after(delivery: &Delivery) -> CardState {
    if matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. }) {
        CardState::CarriedOut
    } else {
        CardState::CameToNothing
    }
}

#[cfg(test)]
mod tests {
    use facts::delivery::Verified;

    use super::*;

    fn states(events: &[Event]) -> Vec<&'static str> {
        let mut cards = Cards::default();
        for event in events {
            cards.event(event);
        }
        cards.into_made().iter().map(|made| made.state.name()).collect()
    }

    fn hash(of: &str) -> FileHash {
        FileHash::of(of.as_bytes())
    }

    fn made(of: &str) -> Event {
        Event::CardMade { version: 1, hash: hash(of), card: Blob::new(of.to_owned()) }
    }

    fn said(of: &str, answer: CardAnswer) -> Event {
        Event::CardAnswered { hash: hash(of), answer }
    }

    fn finished(delivery: Delivery) -> Event {
        let spent = facts::amounts::Amount::default();
        Event::RunFinished {
            delivery,
            spent,
            spent_unknown: facts::amounts::Amount::default(),
            rollbacks: Vec::new(),
        }
    }

    #[test]
    fn the_state_of_a_card_follows_its_answers_and_runs() {
        let delivered = || finished(Delivery::Delivered { verified: Verified::NotNeeded });
        let waits = made("a");
        assert_eq!(states(std::slice::from_ref(&waits)), ["waiting for approval"]);
        assert_eq!(
            states(&[waits.clone(), said("a", CardAnswer::NoOne), finished(Delivery::Cancelled)]),
            ["waiting for approval"]
        );
        let approved = [waits.clone(), said("a", CardAnswer::Approved)];
        assert_eq!(states(&approved), ["approved"]);
        let [one, two] = approved;
        assert_eq!(states(&[one.clone(), two.clone(), delivered()]), ["carried out"]);
        let failed = [one, two.clone(), finished(Delivery::Cancelled)];
        assert_eq!(states(&failed), ["not carried out"]);
        let again: Vec<Event> = failed.into_iter().chain([two, delivered()]).collect();
        assert_eq!(states(&again), ["carried out"]);
        let changed = [waits, said("a", CardAnswer::Modify("less".to_owned())), made("b")];
        assert_eq!(states(&changed), ["replaced", "waiting for approval"]);
    }
}
