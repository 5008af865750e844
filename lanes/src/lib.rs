//! One task in one tree: the crew and its loop.
//!
//! The loop is a pure table in [`cycle`]; the crew is the actor that carries out what it says.

pub mod crew;
pub mod cycle;
pub mod feedback;
pub mod lane;
pub mod lane_tree;
pub mod pattern;
pub mod planner;
pub mod post;
pub mod team_plan;
pub mod trail;
pub mod worth;
