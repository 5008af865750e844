//! The effects around a card: looking up an earlier card, and asking the user. Only the user approves a card, by
//! answering or by naming its hash; no mode and no approval setting does.

use actors::closed::JournalClosed;
use actors::effect::{Effect, Trace};
use actors::event::{Blob, Event};
use actors::publisher::{Answer, Attendance, Proposal};
use actors::run::Run;
use actors::words::CardAnswer;
use missions::card::Card;
use tree::FileHash;

/// The effect of looking up an earlier card.
pub(super) struct Taking {
    pub(super) hash: FileHash,
    /// The card as JSON, if this session knows it.
    pub(super) known: Option<Vec<u8>>,
}

impl Effect for Taking {
    type Outcome = Option<Card>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Option<Card>> {
        let Event::CardTaken { card, .. } = event else { return Trace::Absent };
        Trace::Done(card.as_ref().and_then(|card| Card::from_json(&card.content)))
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Card>, JournalClosed> {
        let card = self.known.take();
        let read = card.as_deref().and_then(Card::from_json);
        let taken = Event::CardTaken { hash: self.hash, card: card.map(Blob::new) };
        run.record(taken).await?;
        Ok(read)
    }
}

/// The effect of asking the user whether to carry out a card.
pub(super) struct Answering<'c> {
    pub(super) card: &'c Card,
    pub(super) hash: FileHash,
}

impl Effect for Answering<'_> {
    type Outcome = CardAnswer;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<CardAnswer> {
        let Event::CardAnswered { answer, .. } = event else { return Trace::Absent };
        Trace::Done(answer.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<CardAnswer, JournalClosed> {
        let asked = match run.attendance {
            Attendance::Attended => {
                let what = Proposal::Mission(self.card.to_string());
                run.publisher
                    .ask(what, "a mission starts only after its card is approved".to_owned())
                    .await
            }
            Attendance::Unattended => None,
        };
        let answer = match asked {
            // "Always" can mean nothing more here: the next card is a different one.
            Some(Answer::Yes | Answer::Always) => CardAnswer::Approved,
            // A card has no files to take individually.
            Some(Answer::No | Answer::Only { .. }) => CardAnswer::Rejected,
            Some(Answer::Because(words)) => {
                CardAnswer::Modify(run.redactor.redact(&words).into_owned())
            }
            None => CardAnswer::NoOne,
        };
        let (hash, told) = (self.hash, answer.clone());
        run.record(Event::CardAnswered { hash, answer: told }).await?;
        Ok(answer)
    }
}

/// How a mission ends that is not carried out.
pub(super) mod not_carried_out {
    use actors::delivery::Delivery;
    use missions::card::Card;
    use tools::count::counted;
    use tree::FileHash;

    use super::super::super::end::Ending;

    fn denied(card: Option<Card>, what: String, hint: String) -> Ending {
        let delivery = Delivery::Denied { what: what.into(), hint: hint.into() };
        let answer = card.as_ref().map(ToString::to_string);
        Ending { answer, card: card.map(Box::new), ..delivery.into() }
    }

    /// The card is not approved yet.
    pub(in super::super) fn waits(card: Card) -> Ending {
        let hash = card.hash();
        let hint = format!(
            "carry it out with `deepseek mission approve {hash}`, or revise it with `deepseek mission modify {hash} \"…\"`"
        );
        denied(Some(card), "the mission card awaits approval".to_owned(), hint)
    }

    /// The user rejected the card.
    pub(in super::super) fn rejected(card: Card) -> Ending {
        let hint = "say what should change, or start another mission".to_owned();
        denied(Some(card), "the mission was rejected".to_owned(), hint)
    }

    /// The card was revised too often.
    pub(in super::super) fn too_many(card: Card, most: u32) -> Ending {
        let what = format!("the card was changed {}", counted(most, "time"));
        let hint = "state more precisely in the goal what you want, or raise missions.max_versions"
            .to_owned();
        denied(Some(card), what, hint)
    }

    /// There is no such card.
    pub(in super::super) fn unknown(hash: FileHash) -> Ending {
        let hint = "`deepseek mission list` shows the cards of this workspace".to_owned();
        denied(None, format!("no card {hash} awaits approval in this session"), hint)
    }
}

#[cfg(test)]
mod tests {
    use actors::delivery::Delivery;
    use tree::FileHash;

    use super::not_carried_out::unknown;

    #[test]
    fn whoever_answers_an_unknown_card_is_told_where_the_known_ones_are() {
        let Delivery::Denied { what, hint } = unknown(FileHash::of(b"card")).delivery else {
            panic!("it is not denied");
        };
        assert!(what.to_string().starts_with("no card "), "{what}");
        assert_eq!(hint.to_string(), "`deepseek mission list` shows the cards of this workspace");
    }
}
