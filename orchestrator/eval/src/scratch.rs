//! Scratch repositories: how they are made without a future, and how hidden tests and builds of the program run in them. What a
//! result means for a comparison is not decided here.

pub(crate) mod ground;
pub(crate) mod hidden;
pub(crate) mod later;
pub(crate) mod process;
pub(crate) mod repository;
pub(crate) mod trial;
pub(crate) mod workshop;
