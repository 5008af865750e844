//! Tools of servers that a request has found, and which role may call which. How they are found and called is elsewhere.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use mcp::Servers;
use model::AgentRole;
use policy::ToolKind;
use toolbox::ServerTool;

/// The servers of a session, and the tools that a request has found. Cheap to clone.
#[derive(Clone)]
pub struct ServerTools {
    servers: Servers,
    found: Arc<OnceLock<Vec<ServerTool>>>,
}

impl ServerTools {
    /// Wraps the servers of a session.
    pub fn new(servers: Servers) -> Self {
        Self { servers, found: Arc::default() }
    }

    /// Returns the same servers for another request.
    #[must_use]
    pub fn for_request(&self) -> Self {
        Self::new(self.servers.clone())
    }

    /// Returns the servers.
    pub(crate) const fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Sets what this request has found; it looks once.
    pub(crate) fn set(&self, found: Vec<ServerTool>) {
        self.found.set(found).ok();
    }

    /// Ends the servers of one tree.
    pub async fn end_in(&self, tree: &Path) {
        self.servers.end_in(tree).await;
    }

    /// Ends the servers.
    pub async fn end(&self) {
        self.servers.end().await;
    }

    /// Returns the tools that a role may call.
    pub(crate) fn of(&self, role: AgentRole) -> Vec<ServerTool> {
        let found = self.found.get().map(Vec::as_slice).unwrap_or_default();
        found.iter().filter(|tool| may_call(role, tool)).cloned().collect()
    }
}

/// Returns what a tool is for the rules. That it only reads is the word of the user, that it destroys that of its server.
pub(crate) const fn kind_of(tool: &ServerTool) -> ToolKind {
    match (tool.reads, tool.destroys) {
        (true, _) => ToolKind::Reading,
        (false, false) => ToolKind::Changing,
        (false, true) => ToolKind::Destroying,
    }
}

/// Returns true if a role may call a tool at all: a question may lead to any, work on a change only to what reads, and the
/// small questions of research to none.
const fn may_call(role: AgentRole, tool: &ServerTool) -> bool {
    match role {
        AgentRole::Analysis => true,
        AgentRole::Architect
        | AgentRole::LanePlanner
        | AgentRole::Editor
        | AgentRole::Researcher => tool.reads,
        AgentRole::Intent | AgentRole::Child => false,
    }
}
