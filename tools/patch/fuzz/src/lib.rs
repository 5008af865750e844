//! What must hold for every input: one `check` a module, run by the fuzz targets, and on every seed by the tests.

mod damage;
pub mod locate;
pub mod parse;
pub mod path;
mod tree;
