//! The tools that models can call: their names, their schemas, and how their arguments are parsed. Pure: the tools are
//! carried out elsewhere. Only the workspace's own tools are looked up here.

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
mod schema;
mod symbol_find;
mod tool;
mod user_ask;

pub use self::look::{Look, ranged};
pub use self::own::{OwnTool, is_own, own_tools};
pub use self::registry::{look_of, offers, reading_tools, schema_hash, tool_named, tools};
pub use self::schema::{check_arguments, check_schema};
pub use self::tool::{BadCall, Tool};
