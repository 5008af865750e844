//! One task in one tree: the crew and its loop.
//!
//! The loop is a pure table in [`cycle`]; the crew is the actor that carries out what it says.

pub mod crew;
pub mod cycle;
mod feedback;
pub mod pattern;
pub mod team_plan;
pub mod trail;
pub mod worth;
