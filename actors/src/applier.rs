//! The Applier turns a diff into a validated change and hands it to the owner of the tree. It writes nothing itself.

use std::sync::Arc;
use std::time::Duration;

use patch::{
    ApplyPlan, BaseState, PatchLimits, PatchMismatch, PatchScope, Reason, Refusal, Repair,
};
use ractor::{ActorCell, SpawnErr};
use thiserror::Error;
use tools::redact::{Redactor, unmask};
use tree::{Change, RepoPath};

use crate::Unanswered;
use crate::delivery::StagedFor;
use crate::lane_id::LaneId;
use crate::role::{RoleHost, Work};
use crate::run::Run;
use crate::sight::Sight;
use crate::workspace::{
    CommitRefused, Denied, Extent, LeftOut, NotApplied, Staged, Taken, Workspace,
};

/// A diff to be applied.
pub struct ApplyAsk {
    /// What it is, for people.
    pub title: String,
    /// The diff, as the model wrote it.
    pub diff: String,
    /// What it may touch, and what the Editor saw.
    pub scope: PatchScope,
}

/// Why a diff is not in the tree. Nothing of it is.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// It does not apply; the model can do something about it.
    #[error("the diff does not apply")]
    Mismatch(Box<Refusal>),
    /// Policy or the user said no.
    #[error(transparent)]
    Denied(Denied),
    /// A file changed under it, or the system refused.
    #[error(transparent)]
    NotApplied(NotApplied),
    /// The actor gave no answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// What a diff changed.
#[derive(Debug)]
pub struct Applied {
    /// Its changes that are in the tree; none when the tree was already so.
    pub changes: Vec<Change>,
    /// What the user left out of it.
    pub left_out: Option<LeftOut>,
}

/// What came of a diff.
pub type ApplyReply = Result<Applied, ApplyError>;

/// A handle to a running Applier.
#[derive(Clone)]
pub struct Applier(RoleHost<ApplierSetup>);

/// What an Applier works with.
#[derive(Clone)]
pub struct ApplierSetup {
    /// The owner of the tree.
    pub workspace: Arc<dyn Workspace>,
    /// How it sees the files.
    pub sight: Sight,
    /// The run it is part of.
    pub run: Run,
}

impl Applier {
    /// Starts an Applier under `supervisor`.
    pub async fn spawn(setup: ApplierSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Applies a diff: all that the user does not leave out of it, or nothing.
    pub async fn apply(&self, ask: ApplyAsk) -> ApplyReply {
        self.0.ask(ask).await?
    }
}

impl Work for ApplierSetup {
    type Question = ApplyAsk;
    type Answer = ApplyReply;

    async fn answer(&self, ask: ApplyAsk) -> ApplyReply {
        self.apply(ask).await
    }
}

impl ApplierSetup {
    /// How long an answer may take: an approval may take its time on top.
    fn timeout(&self) -> Duration {
        let limits = &self.run.config().limits;
        self.run.role_timeout() + Duration::from_secs(limits.approval_timeout_seconds)
    }

    async fn apply(&self, ask: ApplyAsk) -> ApplyReply {
        let tree = self.workspace.reader();
        // What is recorded was applied where it was then.
        if !self.run.publisher.follows() && !tree.is_in_place() {
            return Err(not_written(tree.gone()));
        }
        let look = self.sight.look().await.map_err(|_| Unanswered::Stopped)?;
        let bounds = &self.run.config().agent_loop;
        let strategy = bounds.apply_strategy;
        let limits = PatchLimits {
            max_diff_bytes: Some(bounds.max_diff_bytes),
            max_file_bytes: Some(bounds.max_file_bytes),
            max_files: Some(bounds.max_files_per_iteration),
        };
        let most = limits.max_file_bytes.unwrap_or(u64::MAX);
        let redactor = self.run.redactor.clone();
        let ApplyAsk { title, diff, scope } = ask;
        let prepared = tokio::task::spawn_blocking(move || {
            let current = |path: &RepoPath| look.entry(path, most);
            let prepared = unmasked(&diff, &scope, &redactor).and_then(|diff| {
                patch::prepare(diff.as_bytes(), &scope, strategy, &limits, &current)
            });
            (look, prepared)
        });
        let (look, prepared) = prepared.await.map_err(|panic| not_written(panic.to_string()))?;
        look.done().await.map_err(|_| Unanswered::Stopped)?;
        let plan = prepared
            .and_then(|plan| self.keeps_to_its_own(plan))
            .map_err(|refusal| ApplyError::Mismatch(Box::new(self.naming_owners(refusal))))?;
        if plan.changes.is_empty() {
            return Ok(Applied { changes: Vec::new(), left_out: None });
        }
        let staged = Staged {
            id: None,
            purpose: StagedFor::Change,
            title: title.into(),
            changes: plan.changes.clone(),
            repairs: plan.repairs.iter().map(|repair| described(repair).into()).collect(),
            put_aside: plan.put_aside,
            taken: Taken::ByFile,
        };
        match self.workspace.commit(staged).await {
            Ok(committed) => {
                let mut changes = plan.changes;
                let left_out = match committed {
                    Extent::Whole => None,
                    Extent::Part(left_out) => Some(left_out),
                };
                if let Some(LeftOut { paths, .. }) = &left_out {
                    changes.retain(|change| !paths.contains(&change.path));
                }
                self.sight.know(&changes);
                Ok(Applied { changes, left_out })
            }
            Err(CommitRefused::Denied(denied)) => Err(ApplyError::Denied(denied)),
            Err(CommitRefused::NotApplied(why)) => Err(ApplyError::NotApplied(why)),
            Err(CommitRefused::Gone) => Err(ApplyError::Unanswered(Unanswered::Stopped)),
        }
    }
}

impl ApplierSetup {
    /// The plan, if it touches no file of another lane, and none of this program's own.
    fn keeps_to_its_own(&self, plan: ApplyPlan) -> Result<ApplyPlan, Refusal> {
        let touched = plan.changes.iter().flat_map(Change::paths);
        let forbidden = touched.filter_map(|path| {
            if path.is_in_our_directory() {
                return Some(PatchMismatch::file(Reason::ProtectedPath, path.as_str()));
            }
            Some(not_owned(path, self.workspace.owner(path)?))
        });
        let mismatches: Vec<PatchMismatch> = forbidden.collect();
        if mismatches.is_empty() { Ok(plan) } else { Err(Refusal { mismatches }) }
    }

    /// A file of another lane was not declared because it is one.
    fn naming_owners(&self, mut refusal: Refusal) -> Refusal {
        for mismatch in &mut refusal.mismatches {
            let path = mismatch.file.as_deref().and_then(|file| RepoPath::parse(file).ok());
            if mismatch.reason == Reason::UndeclaredFile
                && let Some(path) = path
                && let Some(owner) = self.workspace.owner(&path)
            {
                *mismatch = not_owned(&path, owner);
            }
        }
        refusal
    }
}

/// The diff as one of the files as they are, where its author saw them masked.
fn unmasked(diff: &str, scope: &PatchScope, redactor: &Redactor) -> Result<String, Refusal> {
    let text = |base: &BaseState| match base {
        BaseState::File { bytes: Some(bytes), .. } => String::from_utf8(bytes.to_vec()).ok(),
        BaseState::File { bytes: None, .. } | BaseState::Missing => None,
    };
    let texts: Vec<String> = scope.bases.values().filter_map(text).collect();
    unmask(diff, &texts, redactor).map_err(|mask| PatchMismatch::masked(mask.to_owned()).into())
}

fn not_owned(path: &RepoPath, owner: LaneId) -> PatchMismatch {
    PatchMismatch::file(Reason::NotOwned, path.as_str()).note(format!("Its owner is lane {owner}."))
}

fn not_written(message: String) -> ApplyError {
    ApplyError::NotApplied(NotApplied::NotWritten { message: message.into() })
}

/// A repair in words, with its place where it was chosen.
fn described(repair: &Repair) -> String {
    if repair.tolerance.is_a_choice() {
        return repair.to_string();
    }
    let place = repair.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
    format!("{place}{}", repair.tolerance.describe())
}
