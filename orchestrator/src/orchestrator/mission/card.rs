//! The effects around a card: it is taken up where it was made before, and the user is asked. Nothing but the user's word, or
//! the hash that the user names, approves it: no mode, and no way of approving, answers for a mission.

use actors::closed::JournalClosed;
use actors::effect::{Effect, Trace};
use actors::event::{Blob, Event};
use actors::publisher::{Answer, Attendance, Proposal};
use actors::run::Run;
use actors::words::CardAnswer;
use missions::card::Card;
use tree::FileHash;

/// The effect of taking up a card that was made before.
pub(super) struct Taking {
    pub(super) hash: FileHash,
    /// The card, as far as it is known here.
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

/// The effect of asking the user whether a card is to be carried out.
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
                    .ask(what, "a mission begins only when its card is approved".to_owned())
                    .await
            }
            Attendance::Unattended => None,
        };
        let answer = match asked {
            // There is nothing else that "always" could mean here: the next card is another one.
            Some(Answer::Yes | Answer::Always) => CardAnswer::Approved,
            // A card has no files to take one by one.
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
pub(super) mod taken_up {
    use actors::delivery::Delivery;
    use missions::card::Card;
    use tree::FileHash;

    use super::super::super::end::Ending;

    fn denied(card: Option<Card>, what: String, hint: String) -> Ending {
        let delivery = Delivery::Denied { what: what.into(), hint: hint.into() };
        let answer = card.as_ref().map(ToString::to_string);
        Ending { answer, card: card.map(Box::new), ..delivery.into() }
    }

    /// Nobody approved it yet.
    pub(in super::super) fn waits(card: Card) -> Ending {
        let hash = card.hash();
        let hint = format!(
            "carry it out with `deepseek mission approve {hash}`, or have it changed with `deepseek mission modify {hash} \"…\"`"
        );
        denied(Some(card), "the mission waits for its card to be approved".to_owned(), hint)
    }

    /// The user does not want it.
    pub(in super::super) fn rejected(card: Card) -> Ending {
        let hint = "say what is to be different, or ask for another mission".to_owned();
        denied(Some(card), "the mission was rejected".to_owned(), hint)
    }

    /// It was changed too often.
    pub(in super::super) fn too_many(card: Card, most: u32) -> Ending {
        let what = format!("the card was changed {most} times");
        let hint = "say in the goal what is wanted, or raise missions.max_versions".to_owned();
        denied(Some(card), what, hint)
    }

    /// There is no such card.
    pub(in super::super) fn unknown(hash: FileHash) -> Ending {
        let hint = "`deepseek mission list` shows the cards of this workspace".to_owned();
        denied(None, format!("no card {hash} waits for approval in this session"), hint)
    }
}
