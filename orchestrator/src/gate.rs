//! The gate to the main tree: every change and every command is checked against policy, needs approval where policy says
//! so, and is recorded before it happens. One change at a time.
//! How the files are written belongs to [`crate::workspace`].

mod approval;
mod commit;
mod decision;
pub(crate) mod memory;
mod question;
pub(crate) mod writer;

use std::sync::Arc;

use actors::run::Run;
use actors::run::always_allowed::Always;
use actors::run::workspace::Staged;
use facts::delivery::StagedFor;
use facts::words::DeniedBy;
use missions::card::grant::Grant;
use policy::{Act, Confinement, PatchTotal, PolicyRules, Stage, Touch, Touched, Verdict};
use tree::{Change, CheckpointNote, FileState, Op};

use self::memory::Said;

/// Returns the files that a patch touches.
fn touched(changes: &[Change]) -> Vec<Touched<'_>> {
    changes.iter().map(touch).collect()
}

fn touch(change: &Change) -> Touched<'_> {
    let mode = |state: &Option<FileState>| state.as_ref().map(|it| it.mode);
    let (added, removed) = change.line_counts();
    let is_edited = matches!(change.op, Op::Modify) && mode(&change.before) == mode(&change.after);
    let how = if is_edited { Touch::Edited } else { Touch::Reshaped };
    Touched { path: change.path.as_str(), lines: added + removed, how }
}

/// Everything needed to decide about an effect.
pub(crate) struct Gate {
    /// The run, in the scope that requests the effect.
    pub(crate) run: Run,
    /// The current rules, for a resumed run: what they deny must not be done any more.
    pub(crate) current_rules: Option<Arc<PolicyRules>>,
    /// The user's answers about commands of this run.
    pub(crate) said: Said,
    /// Total changes by earlier patches of this scope.
    pub(crate) written: PatchTotal,
    pub(crate) session: String,
    /// The user's request, in one line.
    pub(crate) request: Option<String>,
    /// What the user always allows.
    pub(crate) always: Always,
    /// The permissions of a mission's approved card.
    pub(crate) grant: Option<Arc<Grant>>,
    /// The id of the question asked, and who denied it, if it was denied.
    pub(crate) asked: Option<(String, DeniedBy)>,
}

impl Gate {
    /// Returns the denial of an effect that was forbidden after the run began. Recorded effects were done before that.
    pub(crate) fn denied_since(&self, stage: Stage, act: Act<'_>) -> Option<Verdict> {
        let current_rules =
            self.current_rules.as_ref().filter(|_| !self.run.publisher.follows())?;
        // Confinement affects what needs approval, not what is forbidden.
        let verdict = current_rules.decide(stage, act, Confinement::Full);
        matches!(verdict, Verdict::Stage { .. } | Verdict::Deny { .. }).then_some(verdict)
    }

    /// Returns the note of a change's checkpoint.
    fn note(&self, patch: &str, staged: &Staged) -> CheckpointNote {
        let title = &staged.title;
        let title = match &self.request {
            Some(request) => format!("{request} · {title}"),
            None => title.to_string(),
        };
        let run = Some(self.run.id().to_owned()).filter(|run| !run.is_empty());
        let is_way_back = staged.purpose == StagedFor::WayBack;
        CheckpointNote {
            title,
            patch: patch.to_owned(),
            session: self.session.clone(),
            run,
            is_way_back,
        }
    }
}
