//! What the gate knows of a run: what was answered about its commands, and how much it has written. Values only.

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::run::workspace::{Denied, Purpose};
use facts::scope::Scope;
use facts::words::DeniedBy;
use policy::{PatchTotal, PolicyCommand};
use ractor::RpcReplyPort;
use sandbox::{Degree, Network};
use tokio::sync::Mutex;
use tree::Change;

use super::touched;

/// A command, the scope that requests it, its purpose, and how far it would be confined, if that is known.
pub(crate) type Wanted = (Scope, PolicyCommand, Purpose, Option<Degree>);

/// The user's answers about commands, so that lanes do not ask again; lanes also queue on its lock to ask.
pub(crate) type Said = Arc<Mutex<BTreeMap<(PolicyCommand, Network, Degree), SaidTo>>>;

/// The answer about a command, and the question it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct SaidTo {
    pub(crate) ask: String,
    /// Who denied it, if it was denied.
    pub(crate) by: DeniedBy,
    pub(crate) result: Result<(), Denied>,
}

/// The state of a command's permission.
pub(crate) enum Permission {
    /// The answer, for the rest of the run.
    Known(Result<(), Denied>),
    /// The requests that wait for the answer.
    Asking(Vec<RpcReplyPort<Result<(), Denied>>>),
}

impl Default for Permission {
    fn default() -> Self {
        Self::Asking(Vec::new())
    }
}

/// What the gate knows of a run.
#[derive(Default)]
pub(crate) struct GateMemory {
    pub(crate) permits: BTreeMap<Wanted, Permission>,
    pub(crate) said: Said,
    /// Total changes by the patches of the run and of each of its parts.
    written: BTreeMap<Scope, PatchTotal>,
}

impl GateMemory {
    /// Adds a patch to the total of a scope.
    pub(crate) fn count(&mut self, scope: &Scope, changes: &[Change]) {
        self.written.entry(scope.clone()).or_default().add(&touched(changes));
    }

    /// Returns the total of a scope.
    pub(crate) fn written(&self, scope: &Scope) -> PatchTotal {
        self.written.get(scope).cloned().unwrap_or_default()
    }

    /// Returns true if a command was allowed as a trial.
    pub(crate) fn was_tried(&self, (scope, command, _, confined): &Wanted) -> bool {
        let tried = (scope.clone(), command.clone(), Purpose::Trial, *confined);
        matches!(self.permits.get(&tried), Some(Permission::Known(Ok(()))))
    }
}
