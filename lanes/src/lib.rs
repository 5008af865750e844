//! One task in one tree: the crew and its loop. Also tasks that are split, with a tree for each part.
//!
//! The loop is a pure table in [`cycle`]; the crew is the actor that carries it out.

pub mod crew;
pub mod cycle;
pub mod feedback;
pub mod lane;
pub mod lane_tree;
pub mod pattern;
pub mod planner;
pub mod team;
pub mod team_plan;
pub mod trail;
pub mod worktrees;
pub mod worth;
