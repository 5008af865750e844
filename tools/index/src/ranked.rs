//! Which files and lines a request is about, by their words and by earlier commits. Nothing is
//! written here.

pub(crate) mod bm25;
pub(crate) mod git;
pub(crate) mod history;
pub(crate) mod mentions;
pub(crate) mod rank;
pub(crate) mod ranking;
pub(crate) mod stem;
pub(crate) mod stems;
