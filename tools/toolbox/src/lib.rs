//! The tools that models can call: their names, their schemas, and how their arguments are parsed. Pure: the tools are
//! carried out elsewhere. Only the workspace's own tools are looked up here; those of servers are found elsewhere.

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
mod server_tool;
mod symbol_find;
mod tool;
mod tool_call;
mod tool_find;
mod user_ask;

pub use self::look::{Look, ranged};
pub use self::own::{OwnTool, is_own, own_tools};
pub use self::registry::{
    finding_tools, look_of, offers, reading_tools, schema_hash, tool_named, tools,
};
pub use self::schema::{check_arguments, check_schema};
pub use self::server_tool::{ServerTool, is_server_tool, wire_name};
pub use self::tool::{BadCall, Tool};
