//! The conversation at a terminal: finished text is printed once, into the terminal's own history, and below it stand a few
//! live rows, the only ones that are ever repainted. Over [`front::run_view::RunView`], as every other front.

mod alone;
mod commands;
mod completion;
mod composer;
mod conversation;
mod converse;
mod history;
mod keys;
mod markdown;
mod paint;
mod picker;
mod screen;
mod styled;
mod terminal;
mod visit;

pub use alone::{Asks, ask, pick, review};
pub use commands::{Line, as_given_here, line, open_elsewhere};
pub use conversation::{Calls, Facts, Setting, Visits};
pub use converse::{Hears, Host, Left, Opening, Shell, converse};
pub use picker::KeptSession;
