//! Model-written diffs: parsed, checked, located and applied to text, without touching a disk.
//!
//! ```text
//! answer → envelope → parse → resolve → locate → edit → merge → ApplyPlan
//! ```
//! Any doubt on the way is a [`Refusal`]; a plan is complete or it is not made.

mod account;
mod advice;
mod around;
mod aside;
mod balance;
mod blocks;
mod body;
mod damage;
mod difference;
mod done;
mod edit;
mod elision;
mod envelope;
mod example;
mod feedback;
mod fence;
mod file;
mod fold;
mod foreign;
mod formats;
mod glue;
mod gutter;
mod header;
mod leak;
mod lines;
mod locate;
mod look;
mod markdown;
mod marks;
mod merge;
mod numbered;
mod parse;
mod parser;
mod plan;
mod planner;
mod refuse;
mod resolve;
mod section;
mod space;
mod tolerance;
mod translate;
mod whitespace;

pub use aside::PutAside;
pub use difference::LineDifference;
pub use gutter::numbered;
pub use merge::merge;
pub use plan::{
    ApplyPlan, BaseState, Current, PatchLimits, PatchScope, PlanSummary, prepare, prepare_with,
};
pub use refuse::{Candidate, HunkRef, Nearest, PatchMismatch, Reason, Refusal};
pub use tolerance::{Repair, Tolerance, Tolerances};

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod choice_tests;
#[cfg(test)]
mod loose_tests;
#[cfg(test)]
mod reason_tests;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod whole_tests;
#[cfg(test)]
mod wild_tests;
