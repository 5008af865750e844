//! What the documents and the source promise about themselves. What a request does is in `requests`.

mod actors;
mod circles;
pub(crate) mod docs;
mod hints;
mod schema;
mod tidy;
mod way;
