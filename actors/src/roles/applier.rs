//! The Applier turns a diff into a validated change and hands it to the owner of the tree. It writes nothing itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::{Approval, Mode};
use facts::delivery::StagedFor;
use facts::lane_id::LaneId;
use facts::signal::Acceptance;
use facts::write_failure::WriteFailure;
use patch::operations::{self, FileOperation};
use patch::{
    ApplyPlan, BaseState, PatchLimits, PatchMismatch, PatchScope, Reason, Refusal, Repair,
    Tolerance, Tolerances,
};
use ractor::{ActorCell, SpawnErr};
use thiserror::Error;
use tools::encoding::decode_lossy;
use tools::long_lines::restored;
use tools::redact::{Redactor, unmask};
use tree::{Change, Op, RepoPath};

use crate::Unanswered;
use crate::roles::role_host::{RoleHost, RoleWork};
use crate::run::Run;
use crate::run::file_reader::{FileLook, FileReader};
use crate::run::workspace::{CommitRefused, Denied, Extent, LeftOut, Staged, Workspace};

/// A diff to be applied.
pub struct ApplyAsk {
    /// A title for people.
    pub title: String,
    /// What the plan has done to files before the diff.
    pub operations: Vec<FileOperation>,
    /// The diff, as the model wrote it; empty if the operations are all.
    pub diff: String,
    /// What the diff may touch, and what the Editor saw.
    pub scope: PatchScope,
    /// True if a check fails without the change, and so shows whether it is right.
    pub shown_by_check: bool,
}

/// Why a diff was not applied. None of it is in the tree.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// It does not apply; the model can fix that.
    #[error("the diff does not apply")]
    Mismatch(Box<Refusal>),
    /// Policy or the user denied it.
    #[error(transparent)]
    Denied(Denied),
    /// A file changed in the meantime, or the system refused the write.
    #[error(transparent)]
    NotApplied(WriteFailure),
    /// The actor gave no answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// What a diff changed.
#[derive(Debug)]
pub struct Applied {
    /// The changes that were made; empty if the tree already had this content.
    pub changes: Arc<[Change]>,
    /// The files that the user left out, if any.
    pub left_out: Option<LeftOut>,
}

/// The result of applying a diff.
pub type ApplyReply = Result<Applied, ApplyError>;

/// A handle to a running Applier.
#[derive(Clone)]
pub struct Applier(RoleHost<ApplierSetup>);

/// What an Applier works with.
#[derive(Clone)]
pub struct ApplierSetup {
    /// The owner of the tree.
    pub workspace: Arc<dyn Workspace>,
    /// Reads the files of the tree, through the journal.
    pub file_reader: FileReader,
    /// The run it is part of.
    pub run: Run,
    /// Whether an answer was sent back for the text outside of its diff. Once is enough: its author has been asked.
    has_asked: Arc<AtomicBool>,
}

impl Applier {
    /// Starts an Applier under `supervisor`.
    pub async fn spawn(setup: ApplierSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let timeout = setup.timeout();
        Ok(Self(RoleHost::spawn(setup, timeout, supervisor).await?))
    }

    /// Returns the actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.cell()
    }

    /// Applies a diff: all of it except what the user leaves out, or nothing.
    pub async fn apply(&self, ask: ApplyAsk) -> ApplyReply {
        self.0.ask(ask).await?
    }
}

impl RoleWork for ApplierSetup {
    const NAME: &'static str = "applier";
    type Question = ApplyAsk;
    type Answer = ApplyReply;

    fn run(&self) -> &Run {
        &self.run
    }

    async fn answer(&self, ask: ApplyAsk) -> ApplyReply {
        self.apply(ask).await
    }
}

impl ApplierSetup {
    /// Creates the setup of an Applier for `workspace`.
    pub fn new(workspace: Arc<dyn Workspace>, file_reader: FileReader, run: Run) -> ApplierSetup {
        ApplierSetup { workspace, file_reader, run, has_asked: Arc::default() }
    }

    /// Returns the time limit of an answer, including time for an approval.
    fn timeout(&self) -> Duration {
        let limits = &self.run.config().limits;
        self.run.role_timeout() + Duration::from_secs(limits.approval_timeout_seconds)
    }

    async fn apply(&self, ask: ApplyAsk) -> ApplyReply {
        let tree = self.workspace.reader();
        // A recorded patch was applied to a tree that may not exist any more.
        if !self.run.publisher.follows() && !tree.is_in_place() {
            return Err(not_written(tree.gone()));
        }
        let look = self.file_reader.look().await.map_err(|_| Unanswered::Stopped)?;
        let bounds = &self.run.config().agent_loop;
        let strategy = bounds.apply_strategy;
        let declared = ask.scope.declared.as_ref().map_or(0, BTreeSet::len);
        let limits = PatchLimits {
            max_diff_bytes: Some(bounds.max_diff_bytes),
            max_file_bytes: Some(bounds.max_file_bytes),
            // A plan may name more if it names their places.
            max_files: Some(bounds.max_files_per_iteration.max(declared)),
        };
        // Where nobody looks at the patch before it is written and no check shows what it is worth, nobody heeds what its
        // author says about it.
        let policy = &self.run.config().policy;
        let is_looked_at = policy.mode == Mode::Agent && policy.approval == Approval::Suggest;
        let may_remark =
            is_looked_at || ask.shown_by_check || self.has_asked.load(Ordering::Relaxed);
        let allowed =
            if may_remark { Tolerances::ALL } else { Tolerances::ALL.without(Tolerance::Remark) };
        let most = limits.max_file_bytes.unwrap_or(u64::MAX);
        let redactor = self.run.redactor.clone();
        let ApplyAsk { title, operations, diff, scope, .. } = ask;
        let prepared = tokio::task::spawn_blocking(move || {
            let entry = |path: &RepoPath| look.entry(path, most);
            let operated = look.carried_out(&operations, most).map_err(|refused| {
                let path = refused.operation.source().as_str();
                let mismatch = PatchMismatch::file(Reason::OperationRefused, path);
                Refusal::from(mismatch.note(format!("{refused}.")))
            });
            let prepared = operated.and_then(|operated| {
                let current = operations::after(&operated, &entry);
                let mut plan = if operations.is_empty() || !diff.trim().is_empty() {
                    let diff = translated(&diff, &scope, &redactor)?;
                    let diff = diff.as_bytes();
                    patch::prepare_with(diff, &scope, strategy, &limits, &current, allowed)?
                } else {
                    ApplyPlan::default()
                };
                plan.changes = operations::together(&operated, &plan.changes);
                Ok(plan)
            });
            let prepared = prepared.and_then(|plan| {
                let twins: Vec<PatchMismatch> =
                    plan.changes.iter().filter_map(|change| twin(change, &plan, &look)).collect();
                if twins.is_empty() { Ok(plan) } else { Err(Refusal { mismatches: twins }) }
            });
            (look, prepared)
        });
        let (look, prepared) = prepared.await.map_err(|panic| not_written(panic.to_string()))?;
        look.done().await.map_err(|_| Unanswered::Stopped)?;
        if let Err(refusal) = &prepared
            && refusal.mismatches.iter().any(|it| it.reason == Reason::RemarkOutside)
        {
            self.has_asked.store(true, Ordering::Relaxed);
        }
        let plan = prepared
            .and_then(|plan| self.keeps_to_its_own(plan))
            .map_err(|refusal| ApplyError::Mismatch(Box::new(self.naming_owners(refusal))))?;
        if plan.changes.is_empty() {
            return Ok(Applied { changes: Arc::default(), left_out: None });
        }
        let changes: Arc<[Change]> = plan.changes.into();
        let staged = Staged {
            id: None,
            purpose: StagedFor::Change,
            title: title.into(),
            changes: Arc::clone(&changes),
            repairs: plan
                .repairs
                .iter()
                .map(described)
                .chain(
                    plan.remark.as_deref().map(|remark| format!("the answer also says:\n{remark}")),
                )
                .map(Into::into)
                .collect(),
            put_aside: plan.put_aside,
            taken: Acceptance::ByFile,
        };
        match self.workspace.commit_patch_set(staged).await {
            Ok(committed) => {
                let (changes, left_out) = match committed {
                    Extent::Whole => (changes, None),
                    Extent::Part(left_out) => (left_out.rest(&changes), Some(left_out)),
                };
                self.file_reader.know(&changes);
                Ok(Applied { changes, left_out })
            }
            Err(CommitRefused::Denied(denied)) => Err(ApplyError::Denied(denied)),
            Err(CommitRefused::NotApplied(why)) => Err(ApplyError::NotApplied(why)),
            Err(CommitRefused::Gone) => Err(ApplyError::Unanswered(Unanswered::Stopped)),
        }
    }
}

impl ApplierSetup {
    /// Returns the plan if it touches neither a file of another lane nor this program's own directory.
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

    /// Replaces "undeclared file" by "not owned" for files of another lane: that is why they are undeclared.
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

/// Translates a diff whose author saw masked secrets and shortened lines into one for the actual files.
fn translated(diff: &str, scope: &PatchScope, redactor: &Redactor) -> Result<String, Refusal> {
    let text = |base: &BaseState| match base {
        BaseState::File { bytes: Some(bytes), .. } => Some(decode_lossy(bytes).into_owned()),
        BaseState::File { bytes: None, .. } | BaseState::Missing => None,
    };
    let texts: Vec<String> = scope.bases.values().filter_map(text).collect();
    let masked = || texts.iter().map(|text| redactor.redact(text).into_owned()).collect();
    let diff = restored(diff, masked).map_err(PatchMismatch::shortened)?;
    let diff = unmask(&diff, &texts, redactor);
    let mut diff = diff.map_err(|mask| PatchMismatch::masked(mask.to_owned()))?;
    // An answer whose stream was cut does not get here, so its last line is whole.
    if !diff.ends_with('\n') {
        diff.push('\n');
    }
    Ok(diff)
}

/// Refuses a new file that would look like another one.
fn twin(change: &Change, plan: &ApplyPlan, look: &FileLook) -> Option<PatchMismatch> {
    if !matches!(change.op, Op::Create | Op::Rename { .. }) {
        return None;
    }
    let mut alike = look.alike(&change.path).into_iter().filter(|alike| *alike != change.path);
    let alike = alike.next()?;
    // In a replay, only what was read is known.
    look.entry(&alike, 0).ok()?;
    let leaves = |other: &Change| {
        other.sides().iter().any(|(path, _, after)| **path == alike && after.is_none())
    };
    if plan.changes.iter().any(leaves) {
        return None;
    }
    let mismatch = PatchMismatch::file(Reason::FileExists, change.path.as_str());
    Some(mismatch.note("Its name looks the same, but encodes its accents or blanks differently."))
}

fn not_owned(path: &RepoPath, owner: LaneId) -> PatchMismatch {
    PatchMismatch::file(Reason::NotOwned, path.as_str()).note(format!("Its owner is lane {owner}."))
}

fn not_written(message: String) -> ApplyError {
    ApplyError::NotApplied(WriteFailure::NotWritten { message: message.into() })
}

/// Describes a repair; those that chose between places name the place.
fn described(repair: &Repair) -> String {
    if repair.tolerance.is_a_choice() {
        return repair.to_string();
    }
    let place = repair.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
    format!("{place}{}", repair.tolerance.describe())
}
