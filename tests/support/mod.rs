//! Test support: a project, a fake provider, the program under test, and its output.
//! What the tests of one subject share is with them.

mod answers;
pub(crate) mod journal;
mod program;
mod project;
mod provider;
mod run;
mod screen;
mod terminal;
mod world;

pub(crate) use answers::{
    architect, diff, editor, endless_looks, greeting_fix, greeting_fix_checked_by,
    greeting_fix_insisting_on, plan, plan_verified_by, replaced,
};
pub(crate) use program::{Program, Running, processes_in, processes_left_in, shell, wait_until};
pub(crate) use project::{Project, hashes_in};
pub(crate) use provider::Provider;
pub(crate) use run::Run;
pub(crate) use screen::Screen;
pub(crate) use terminal::Terminal;
pub(crate) use world::{KEY, World};

/// Returns `long` if `DEEPSEEK_LONG_TESTS` is set, and `short` otherwise.
pub(crate) fn short_or_long<T>(short: T, long: T) -> T {
    if std::env::var_os("DEEPSEEK_LONG_TESTS").is_some() { long } else { short }
}
