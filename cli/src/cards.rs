//! The mission cards of a workspace, read from its journals.

use facts::event::Event;
use front::error::CliError;
use journal::Reach;
use missions::card::SealedCard;
use missions::card::cards::{CardState, Cards, MadeCard};
use tree::FileHash;

use crate::past::Past;

/// The number of characters shown of a card's hash.
pub(crate) const HASH_SHOWN: usize = 12;

/// A card of an earlier mission.
pub(crate) struct KnownCard {
    pub(crate) session: String,
    pub(crate) run: Option<String>,
    pub(crate) hash: FileHash,
    pub(crate) at: String,
    pub(crate) card: SealedCard,
    pub(crate) state: CardState,
}

/// Lists all cards of this workspace, oldest first.
pub(crate) fn cards(past: &Past) -> Result<Vec<KnownCard>, CliError> {
    let mut known: Vec<KnownCard> = Vec::new();
    let sessions = past.sessions(Reach::Here)?;
    for summary in sessions.iter().rev() {
        let story = past.story(&summary.id)?;
        let events = || story.entries.iter().filter_map(|it| Some((it, it.event.as_ref()?)));
        let mut cards = Cards::default();
        events().for_each(|(_, event)| cards.event(event));
        let entries = events().filter(|(_, event)| matches!(event, Event::CardMade { .. }));
        for ((entry, _), MadeCard { hash, card, state }) in entries.zip(cards.into_made()) {
            let content = journal::read::content(&past.dir(&summary.id), &card);
            let Some(card) = content.ok().and_then(SealedCard::read) else { continue };
            let (session, run) = (summary.id.clone(), entry.run.clone());
            known.push(KnownCard { session, run, hash, at: entry.at.clone(), card, state });
        }
    }
    Ok(known)
}
