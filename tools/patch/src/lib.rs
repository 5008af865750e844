//! Model-written diffs: parsed, checked, located and applied to text, without touching a disk.
//!
//! ```text
//! answer → envelope → parse → resolve → locate → edit → merge → ApplyPlan
//! ```
//! Any doubt on the way is a [`Refusal`]; a plan is complete or it is not made.

mod added;
mod advice;
mod already_applied;
mod blocks;
mod body;
mod compare;
mod copied_numbers;
mod difference;
mod edit;
mod envelope;
mod feedback;
mod fence;
mod file;
mod foreign;
mod formats;
mod gutter;
mod header;
mod leak;
mod line_use;
mod lines;
mod locate;
mod merge;
mod old_whitespace;
mod parse;
mod parser;
mod plan;
mod planner;
mod put_aside;
mod refuse;
mod resolve;
mod section;
mod shown_diff;
mod texts;
mod tolerance;
mod translate;
mod witnesses;

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
