//! The interactive conversation at a terminal. Finished text is printed once, into the terminal's own scrollback; below it are a
//! few live rows, the only ones that are ever repainted. Like all front ends, it is built on [`front::run_view::RunView`].

mod commands;
mod completion;
mod composer;
mod conversation;
mod converse;
mod history;
mod host;
mod keys;
mod markdown;
mod nearest;
mod paint;
mod picker;
mod screen;
mod single_prompts;
mod styled;
mod terminal;
mod visit;

pub use commands::{PlainLine, also_sets, as_slash_commands, open_elsewhere, read_plain_line};
pub use completion::{Completion, Named};
pub use conversation::{AlternateScreen, ConversationSetting, Facts, UserCall};
pub use converse::{ConversationEnd, Opening, converse};
pub use host::{Host, OnOutput, Shell};
pub use picker::KeptSession;
pub use single_prompts::{QuestionOptions, QuestionResult, ask_by_keys, pick, review};
pub use terminal::restore_echo;
