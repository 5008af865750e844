//! A paid model call, from admission to settlement.
//!
//! What is said in it does not belong here.

pub mod admission;
pub mod call_order;
mod call_width;
pub mod kept_answers;
pub mod ledger;
pub mod model_call;
pub mod steering;
