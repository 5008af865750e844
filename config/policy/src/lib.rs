//! Whether an effect may happen: rules tell what kind of action it is, and one table decides over the kinds. Pure.
//!
//! Nothing here reads a shell, opens a file or knows an actor: commands come as plain words, files as paths.

mod command;
mod decide;
mod listed;
mod rules;
mod spelling;
mod table;
mod tally;
mod words;

pub use command::{Assignment, Command, Join, Opaque, Segment, Unread, hands_on};
pub use decide::{
    Action, Confinement, Listing, Missing, Patch, Source, Stage, Verdict, Why, decide,
};
pub use listed::quoted;
pub use rules::{Act, Author, PolicyError, Rules};
pub use spelling::{is_ignorable, spells};
pub use table::{Case, Line, cases, lines};
pub use tally::{Counted, Size, Tally};

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod table_tests;
