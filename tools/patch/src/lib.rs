//! Model-written diffs: parsed, checked, located and applied to text, without touching a disk.
//!
//! ```text
//! answer → envelope → parse → resolve → locate → edit → merge → ApplyPlan
//! ```
//! Any doubt on the way is a [`Refusal`]; a plan is complete or it is not made.

mod added;
mod answer;
mod diff;
mod names;
pub mod operations;
mod place;
mod plan;
mod refusal;
#[cfg(test)]
mod tests;

pub use diff::gutter::numbered;
pub use diff::headers::unquote;
pub use names::put_aside::PutAside;
pub use plan::merge::merge;
pub use plan::prepare::{
    ApplyPlan, BaseState, Current, PatchLimits, PatchScope, PlanSummary, prepare, prepare_with,
};
pub use plan::tolerance::{Repair, Tolerance, Tolerances};
pub use refusal::difference::LineDifference;
pub use refusal::reasons::{Candidate, HunkRef, Nearest, PatchMismatch, Reason, Refusal};
