//! Properties that must hold for every input: one `check` per module, run by the fuzz targets and, on every seed, by
//! the tests.

pub mod answer;
mod damage;
pub mod locate;
pub mod parse;
pub mod path;
mod tree;
