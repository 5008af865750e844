//! Tests of the whole engine, on files in memory. Tests of one rule stand beside it.

mod all_or_nothing_tests;
mod answer_tests;
mod apply_tests;
mod choice_tests;
mod encoding_tests;
mod loose_match_tests;
mod more_shape_tests;
mod placement_tests;
mod reason_tests;
mod remark_tests;
mod shape_tests;
pub(crate) mod testing;
