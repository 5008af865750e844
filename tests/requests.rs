//! Whole requests, start to finish, and what holds for each of them.
//! What is said to models is in `model`, and what checks conclude in `checking`.

mod autopilot;
mod cut_answers;
mod draft_with_plan;
mod images;
mod instructions;
pub(crate) mod invariants;
mod memory;
mod operations;
mod parts;
mod real_crate;
mod review;
mod scenarios;
mod steering;
mod turns;
mod twins;
