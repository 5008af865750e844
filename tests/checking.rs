//! Checks: which one is derived, what its result means, and what a delivery is worth.
//! What a check may reach is in `confinement`.

mod builds;
mod checks;
mod derived;
mod ends;
mod projects;
mod verdicts;
mod verification;
mod verified;
