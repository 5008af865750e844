//! One task in one tree: the crew and its loop. Also tasks that are split, with a tree for each part.
//!
//! The loop is a pure table in [`crew::cycle`]; the crew is the actor that carries it out.

pub mod crew;
pub mod lane;
pub mod team;
