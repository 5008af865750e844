//! The effects around a card: looking up an earlier card, and asking the user. Only the user approves a card, by
//! answering or by naming its hash; no mode and no approval setting does.

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::signal::{ApprovalAnswer, Attendance, Proposal};
use facts::words::CardAnswer;
use missions::card::SealedCard;
use tree::FileHash;

/// The effect of looking up an earlier card.
pub(super) struct Taking {
    pub(super) hash: FileHash,
    /// The card, if this session knows it.
    pub(super) known: Option<SealedCard>,
}

impl Effect for Taking {
    type Outcome = Option<SealedCard>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let Event::CardTaken { card, .. } = event else { return Trace::Absent };
        Trace::Done(card.as_ref().and_then(|card| SealedCard::read(card.content.to_vec())))
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let card = self.known.as_ref().map(|card| Blob::new(card.json().to_vec()));
        run.record(Event::CardTaken { hash: self.hash, card }).await?;
        Ok(self.known.take())
    }
}

/// Looks up the card that a recorded run made at this point; nothing is recorded for it.
pub(super) struct RecordedCard;

impl Effect for RecordedCard {
    type Outcome = Option<SealedCard>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let Event::CardMade { card, .. } = event else { return Trace::Foretold(None) };
        Trace::Foretold(SealedCard::read(card.content.to_vec()))
    }

    async fn act(&mut self, _: &Run) -> Result<Self::Outcome, JournalClosed> {
        Ok(None)
    }
}

/// The effect of asking the user whether to carry out a card.
pub(super) struct Answering {
    pub(super) hash: FileHash,
    /// What the user is shown.
    pub(super) shown: String,
}

impl Effect for Answering {
    type Outcome = CardAnswer;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<CardAnswer> {
        let Event::CardAnswered { answer, .. } = event else { return Trace::Absent };
        Trace::Done(answer.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<CardAnswer, JournalClosed> {
        let asked = match run.attendance {
            Attendance::Attended => {
                let what = Proposal::Mission(self.shown.clone());
                run.publisher
                    .ask(what, "a mission starts only after its card is approved".to_owned())
                    .await
            }
            Attendance::Unattended => None,
        };
        let answer = match asked {
            // "Always" can mean nothing more here: the next card is a different one.
            Some(ApprovalAnswer::Yes | ApprovalAnswer::Always) => CardAnswer::Approved,
            // A card has no files to take individually.
            Some(ApprovalAnswer::No | ApprovalAnswer::Only { .. }) => CardAnswer::Rejected,
            Some(ApprovalAnswer::Because(words)) => {
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
    use facts::delivery::{Delivery, OpenCard};
    use missions::card::SealedCard;
    use tools::count::counted;
    use tree::{FileHash, RepoPath};

    use crate::root::ending::Ending;

    fn ending(state: OpenCard, card: Option<SealedCard>, what: String, hint: String) -> Ending {
        let delivery = Delivery::Denied { what: what.into(), hint: hint.into(), card: Some(state) };
        let answer = card.as_ref().map(ToString::to_string);
        Ending { answer, card: card.map(Box::new), ..delivery.into() }
    }

    /// The card is not approved yet.
    pub(crate) fn waits(card: SealedCard) -> Ending {
        let hash = card.hash();
        let hint = format!(
            "carry it out with `deepseek mission approve {hash}`, or revise it with `deepseek mission modify {hash} \"…\"`"
        );
        let what = "the mission card awaits approval".to_owned();
        ending(OpenCard::Waits, Some(card), what, hint)
    }

    /// The user rejected the card.
    pub(crate) fn rejected(card: SealedCard) -> Ending {
        let hint = "say what should change, or start another mission".to_owned();
        let what = "the mission card was rejected".to_owned();
        ending(OpenCard::Rejected, Some(card), what, hint)
    }

    /// Files that the card rests on have changed.
    pub(crate) fn outdated(card: SealedCard, changed: &[RepoPath]) -> Ending {
        let hash = card.hash();
        let hint = format!(
            "make a card for the files as they are with `deepseek mission modify {hash} \"look again\"`, or undo the changes"
        );
        let what = format!("{} changed since the card was made", names(changed));
        ending(OpenCard::Outdated, Some(card), what, hint)
    }

    /// Lists files.
    pub(crate) fn names(files: &[RepoPath]) -> String {
        files.iter().map(RepoPath::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The card was revised too often.
    pub(crate) fn too_many(card: SealedCard, most: u32) -> Ending {
        let what = format!("the card was changed {}", counted(most, "time"));
        let hint = "state more precisely in the goal what you want, or raise missions.max_versions"
            .to_owned();
        ending(OpenCard::RevisedTooOften, Some(card), what, hint)
    }

    /// There is no such card.
    pub(crate) fn unknown(hash: FileHash) -> Ending {
        let hint = "`deepseek mission list` shows the cards of this workspace".to_owned();
        let what = format!("no card {hash} awaits approval in this session");
        ending(OpenCard::Unknown, None, what, hint)
    }
}

#[cfg(test)]
mod tests {
    use facts::delivery::Delivery;
    use tree::FileHash;

    use super::not_carried_out::unknown;

    #[test]
    fn whoever_answers_an_unknown_card_is_told_where_the_known_ones_are() {
        let Delivery::Denied { what, hint, .. } = unknown(FileHash::of(b"card")).delivery else {
            panic!("it is not denied");
        };
        assert!(what.to_string().starts_with("no card "), "{what}");
        assert_eq!(hint.to_string(), "`deepseek mission list` shows the cards of this workspace");
    }
}
