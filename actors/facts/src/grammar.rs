//! What a model's answer has to look like, and what it says: one grammar per kind of answer.
//!
//! What is said to a model, and what becomes of its answer, does not belong here.

pub mod contract;
pub mod cut_diff;
pub mod draft;
pub mod look;
pub mod operation;
pub mod plan;
pub mod review;
