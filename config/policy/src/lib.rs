//! Decides whether an effect may happen: rules classify the action, and one table decides by its kind. Pure.
//!
//! Nothing here parses shell syntax, opens a file or knows an actor: commands come as words, files as paths.

mod command;
mod decide;
mod listed;
mod patch_total;
mod rules;
mod spelling;
mod table;
mod words;

pub use command::{Assignment, Join, Opaque, PolicyCommand, SimpleCommand, Unread, hands_on};
pub use decide::{
    Action, CommandKind, Confinement, Gaps, Patch, Secrecy, Stage, ToolKind, Verdict,
    VerdictReason, decide,
};
pub use listed::quoted_word;
pub use patch_total::{ChangeSize, PatchTotal, SizeCount, Touch, Touched};
pub use rules::{Act, Author, PolicyError, PolicyRules};
pub use spelling::{is_ignorable, spells};
pub use table::{Case, TableLine, cases, table_lines};

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod table_tests;
