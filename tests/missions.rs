//! Missions: research, programs, cards and carrying them out. Tasks that are split without a card are in `lanes`.

mod cards;
pub(crate) mod mission;
mod programs;
mod research;
