//! What must hold for every input: one `check` a module, run by the fuzz targets, and on every seed by the tests.

mod answer;
pub mod plan;
pub mod sse;
pub mod team_plan;
