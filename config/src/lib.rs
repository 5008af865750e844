//! What the program can be told: the schema, its layers and its defaults.
//!
//! This floor decides values and remembers where each came from. It does not act on any of them.

mod schema;

pub use schema::*;
