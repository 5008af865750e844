//! The properties that must hold for every input: one `check` per module, run by the fuzz targets and by the tests on
//! every seed.

mod answer;
pub mod plan;
pub mod sse;
pub mod team_plan;
