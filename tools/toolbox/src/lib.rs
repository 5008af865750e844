//! What models may look at by calling tools: their names, their schemas, and how their arguments are read. Pure: looking itself
//! is done where the files, commands and people are; only the tools that a workspace brings are found here.

mod fs_list;
mod fs_read;
mod fs_search_rg;
mod git_diff;
mod git_show;
mod git_status;
mod index_query;
mod look;
mod own;
mod registry;
mod rlm_run;
mod symbol_find;
mod tool;
mod user_ask;

pub use self::look::{Look, ranged};
pub use self::own::{OwnTool, own_tools};
pub use self::registry::{look_of, offers, schema_hash, tool_named, tools};
pub use self::tool::{BadCall, Tool};
