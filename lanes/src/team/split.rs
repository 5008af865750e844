//! How a task is split into lanes: whether it is worth it, what a model is asked, and the plan that follows. No lane is started
//! here.

pub mod path_pattern;
pub mod planner;
pub mod team_plan;
pub mod worth_splitting;
