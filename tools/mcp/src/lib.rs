//! Tools of others: servers of the Model Context Protocol, what of them the user approved, and calls of their tools.
//!
//! Whether a call may happen is decided elsewhere. A server is started or called only under an approval, which holds for
//! exactly its entry, the files that the entry names, and the tools as they were shown.

mod address;
mod approval;
mod catalogue;
mod connection;
mod content;
mod definition;
mod digest;
mod entry;
mod expand;
mod failure;
#[cfg(test)]
mod fake_http;
mod mcp_json;
mod oauth;
mod program;
mod question;
mod reach;
mod servers;

pub use approval::{ApprovalError, Approvals, Pin, ServerApproval};
pub use catalogue::{catalogue, find_tools};
pub use connection::{CallListener, CallOutcome, ConnectError};
pub use definition::{ToolDefinition, ToolDrift, ToolHints, drift};
pub use digest::{EntryDigest, PinnedFile};
pub use entry::{Endpoint, EntryError, EntryOrigin, ServerEntry};
pub use expand::{ExpandError, expand};
pub use mcp_json::{McpJsonError, McpJsonUnchanged, change_mcp_json};
pub use oauth::{
    AskedOfDevice, AskedOfUser, Login, LoginError, NoTokens, RedirectListener, TokenStore,
};
pub use program::ServerPlace;
pub use servers::{McpServerError, ServerCall, Servers, UnusableServer, UsableTools};
