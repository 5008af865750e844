//! The four roles of a crew, started and stopped together.

use std::sync::Arc;

use actors::calls::model_call::Caller;
use actors::roles::applier::{Applier, ApplierSetup};
use actors::roles::architect::{Architect, ArchitectSetup};
use actors::roles::editor::{Editor, EditorSetup};
use actors::roles::verifier::{Verifier, VerifierSetup};
use actors::run::command_runner::CommandRunner;
use actors::run::file_reader::FileReader;
use facts::words::Role;
use model::AgentRole;
use ractor::ActorCell;

use super::CrewSetup;

/// The four running roles.
pub(super) struct Roles {
    pub(super) architect: Architect,
    pub(super) editor: Editor,
    pub(super) applier: Applier,
    pub(super) verifier: Verifier,
}

impl Roles {
    pub(super) async fn spawn(
        setup: &CrewSetup,
        file_reader: &FileReader,
        crew: &ActorCell,
    ) -> Result<Self, ractor::SpawnErr> {
        let (workspace, run) = (Arc::clone(&setup.workspace), setup.run.clone());
        let commands = CommandRunner { workspace: Arc::clone(&workspace), run: run.clone() };
        let brief = Arc::new(setup.brief.clone());
        let architect = ArchitectSetup {
            caller: Caller::of(&run, AgentRole::Architect),
            file_reader: file_reader.clone(),
            commands: commands.clone(),
            brief: Arc::clone(&brief),
            may_draft: setup.may_draft(),
        };
        let editor = EditorSetup {
            caller: Caller::of(&run, AgentRole::Editor),
            commands: commands.clone(),
            brief,
        };
        let applier = ApplierSetup::new(workspace, file_reader.clone(), run);
        let verifier = VerifierSetup { commands };
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

    /// Kills one role.
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
