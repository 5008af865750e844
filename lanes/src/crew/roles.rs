//! The four roles of a crew as they live now: hired together, let go together.

use std::sync::Arc;
use std::time::Duration;

use actors::applier::{Applier, ApplierSetup};
use actors::architect::{Architect, ArchitectSetup};
use actors::call::Caller;
use actors::editor::{Editor, EditorSetup};
use actors::sight::Sight;
use actors::verifier::{Verifier, VerifierSetup};
use actors::words::Role;
use ractor::ActorCell;
use tools::model::AgentRole;
use tools::patch::PatchLimits;

use super::CrewSetup;

/// The four roles as they live now.
pub(super) struct Roles {
    pub(super) architect: Architect,
    pub(super) editor: Editor,
    pub(super) applier: Applier,
    pub(super) verifier: Verifier,
}

impl Roles {
    pub(super) async fn spawn(
        setup: &CrewSetup,
        sight: &Sight,
        crew: &ActorCell,
    ) -> Result<Self, ractor::SpawnErr> {
        let config = &setup.config;
        let bounds = config.agent_loop.clone();
        let timeout = Duration::from_secs(config.limits.role_timeout_seconds);
        let tree = setup.workspace.reader().clone();
        let caller = |role, hire: &config::ModelRole| Caller {
            role,
            hire: hire.clone(),
            ..setup.caller.clone()
        };
        let architect = ArchitectSetup {
            caller: caller(AgentRole::Architect, &config.llm.max_think_model),
            bounds: bounds.clone(),
            sight: sight.clone(),
            workspace: Arc::clone(&setup.workspace),
            rules: Arc::clone(&setup.rules),
            timeout,
        };
        let editor = EditorSetup {
            caller: caller(AgentRole::Editor, &config.llm.base_model),
            bounds: bounds.clone(),
            tree,
            rules: Arc::clone(&setup.rules),
            timeout,
        };
        let applier = ApplierSetup {
            workspace: Arc::clone(&setup.workspace),
            sight: sight.clone(),
            limits: PatchLimits {
                max_diff_bytes: Some(bounds.max_diff_bytes),
                max_file_bytes: Some(bounds.max_file_bytes),
                max_files: Some(bounds.max_files_per_iteration),
            },
            strategy: bounds.apply_strategy,
            // An approval may take its time on top.
            timeout: timeout + Duration::from_secs(config.limits.approval_timeout_seconds),
        };
        let verifier = VerifierSetup {
            workspace: Arc::clone(&setup.workspace),
            publisher: setup.caller.publisher.clone(),
            bounds,
            commands: config.commands.clone(),
            cache: setup.cache.clone(),
            env: setup.env.clone(),
            max_files: config.limits.max_workspace_files,
            timeout,
        };
        Ok(Self {
            architect: Architect::spawn(architect, crew.clone()).await?,
            editor: Editor::spawn(editor, crew.clone()).await?,
            applier: Applier::spawn(applier, crew.clone()).await?,
            verifier: Verifier::spawn(verifier, crew.clone()).await?,
        })
    }

    pub(super) fn cells(&self) -> [(Role, ActorCell); 4] {
        [
            (Role::Architect, self.architect.cell()),
            (Role::Editor, self.editor.cell()),
            (Role::Applier, self.applier.cell()),
            (Role::Verifier, self.verifier.cell()),
        ]
    }

    pub(super) fn role_of(&self, who: &ActorCell) -> Option<Role> {
        self.cells().iter().find(|(_, cell)| cell.get_id() == who.get_id()).map(|(role, _)| *role)
    }

    /// Kills one of them.
    pub(super) fn kill_one(&self, role: Role) {
        for (_, cell) in self.cells().into_iter().filter(|(it, _)| *it == role) {
            cell.kill();
        }
    }

    pub(super) fn kill(&self) {
        for (_, cell) in self.cells() {
            cell.kill();
        }
    }
}
