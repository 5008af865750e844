//! Sessions and their journals: interrupted, resumed, replayed, forked, and looked at later.
//! What a request does while it runs is in `requests`.

mod crashes;
mod fork;
mod interruptions;
mod moved;
pub(crate) mod projections;
pub(crate) mod replay;
pub(crate) mod resume;
mod stuck;
mod wording;
