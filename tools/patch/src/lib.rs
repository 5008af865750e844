//! Model-written diffs: parsed, checked, located and applied to text, without touching a disk.
//!
//! ```text
//! answer → envelope → parse → resolve → locate → edit → merge → ApplyPlan
//! ```
//! Any doubt on the way is a [`Refusal`]; a plan is complete or it is not made.

mod added_whitespace;
mod advice;
mod already_applied;
mod blocks;
mod body;
mod caption;
mod change_marks;
mod commands;
mod compare;
mod copied_numbers;
mod correction;
mod damage;
mod damaged_line;
mod difference;
mod edit;
mod elision;
mod envelope;
mod escapes;
mod feedback;
mod fence;
mod file;
mod file_style;
mod foreign;
mod foreign_bytes;
mod formats;
mod glued_closers;
mod gutter;
mod header;
mod indentation;
mod joined_lines;
mod leak;
mod leaked_marks;
mod line_use;
mod lines;
mod locate;
mod lost_minus;
mod lost_text;
mod mentions;
mod merge;
mod old_whitespace;
mod parse;
mod parser;
mod plan;
mod planner;
mod put_aside;
mod refuse;
mod resolve;
mod respelled;
mod said;
mod same_file;
mod section;
mod shortened;
mod shown_diff;
mod sides;
mod single_marks;
mod surrounding_text;
mod texts;
mod tolerance;
mod translate;
mod unfinished;
mod witnesses;
mod wrapping;

pub use difference::LineDifference;
pub use gutter::numbered;
pub use header::unquote;
pub use merge::merge;
pub use plan::{
    ApplyPlan, BaseState, Current, PatchLimits, PatchScope, PlanSummary, prepare, prepare_with,
};
pub use put_aside::PutAside;
pub use refuse::{Candidate, HunkRef, Nearest, PatchMismatch, Reason, Refusal};
pub use tolerance::{Repair, Tolerance, Tolerances};

#[cfg(test)]
mod all_or_nothing_tests;
#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod choice_tests;
#[cfg(test)]
mod encoding_tests;
#[cfg(test)]
mod loose_match_tests;
#[cfg(test)]
mod more_shape_tests;
#[cfg(test)]
mod reason_tests;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod testing;
