//! What models may look at by calling tools: their names, their schemas, and how their arguments are read. Pure: looking itself
//! is done where the files, commands and people are.

mod fs_list;
mod fs_read;
mod fs_search_rg;
mod git_diff;
mod git_show;
mod git_status;
mod index_query;
mod look;
mod registry;
mod symbol_find;
mod tool;
mod user_ask;

pub use self::look::{Look, ranged};
pub use self::registry::{offers, schema_hash, tool_named, tools};
pub use self::tool::{BadCall, Tool};
