//! What every action of `deepseek mcp` needs: the servers, and how one is started outside a session.

use std::path::PathBuf;
use std::time::Duration;

use config::Settings;
use front::error::{CliError, CliErrorKind};
use mcp::{McpServerError, ServerEntry, ServerPlace, Servers};
use sandbox::TreeWrites;
use shell::{CommandConfinement, ServiceOptions};

use crate::commands::sandbox::fence;
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// What every action needs.
pub(super) struct McpDesk<'d> {
    pub(super) around: &'d Surroundings,
    pub(super) global: &'d Global,
    pub(super) settings: Settings,
    pub(super) workspace: PathBuf,
    pub(super) servers: Servers,
}

impl<'d> McpDesk<'d> {
    pub(super) fn new(around: &'d Surroundings, global: &'d Global) -> Result<Self, CliError> {
        let workspace = around.workspace(global)?;
        let settings = around.settings(global, &workspace)?;
        let servers = around.servers(&workspace, &settings.config)?;
        Ok(Self { around, global, settings, workspace, servers })
    }

    /// Returns an entry by its name.
    pub(super) fn entry(&self, name: &str) -> Result<ServerEntry, CliError> {
        self.servers.entry(name).map_err(|error| failed(&error))
    }

    /// Returns all entries.
    pub(super) fn entries(&self) -> Result<Vec<ServerEntry>, CliError> {
        self.servers.entries().map_err(|error| failed(&error.into()))
    }

    /// Returns the directory in which a confined program keeps what it writes to its home directory.
    pub(super) fn kept_home(&self, server: &str) -> Option<PathBuf> {
        self.around.sandbox(&self.settings, &self.workspace).ok()?.kept_home(server)
    }

    /// Returns where and how a server is started outside a session.
    pub(super) fn place(&self) -> Result<ServerPlace, CliError> {
        let config = &self.settings.config;
        let fence = fence(self.around, &self.settings, &self.workspace)?;
        let options = ServiceOptions {
            cwd: self.workspace.clone(),
            env: self.around.seen_by_commands(config),
            fence: Some(CommandConfinement { writes: TreeWrites::Discarded, ..fence }),
            notes: None,
            kill_grace: Duration::from_millis(config.commands.kill_grace_ms),
            keep_stderr_bytes: config.commands.output_journal_bytes,
        };
        Ok(ServerPlace::new(options))
    }
}

/// Returns the failure to use a server.
pub(super) fn failed(error: &McpServerError) -> CliError {
    let kind = match error {
        McpServerError::NotApproved(..) => CliErrorKind::Denied,
        McpServerError::Connect(..) => CliErrorKind::NotDelivered,
        McpServerError::NoServer(..)
        | McpServerError::Approvals(_)
        | McpServerError::McpJson(_)
        | McpServerError::Entry(..) => CliErrorKind::Usage,
    };
    CliError::caused(kind, error)
}
