//! The conversation at a terminal: finished text is printed once, into the terminal's own history, and below it stand a few
//! live rows, the only ones that are ever repainted. Over [`front::run_view::RunView`], as every other front.

mod commands;
mod completion;
mod composer;
mod conversation;
mod converse;
mod history;
mod keys;
mod markdown;
mod paint;
mod pick;
mod picker;
mod screen;
mod styled;
mod terminal;
mod visit;

pub use conversation::{Calls, Facts, Setting, Visits};
pub use converse::{Host, Left, Opening, converse};
pub use pick::pick;
pub use picker::KeptSession;
