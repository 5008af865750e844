//! Integrates the work of lanes: merges it with the workspace, and verifies the result in its own worktree before
//! anything is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::crew::feedback;
use actors::Unanswered;
use actors::roles::verifier::{Subject, Verifier, VerifierSetup, run_event};
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::publisher::Publisher;
use actors::run::workspace::{
    CommitRefused, Denied, Extent, Purpose, Staged, Unapproved, Workspace,
};
use checks::failure_class::FailureHistory;
use checks::outcome::{CheckOutcome, Report};
use checks::proof::{self, OldTree, ToProve};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork, Unverified, Verified};
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::team::Other;
use futures_util::future::BoxFuture;
use ractor::ActorCell;
use shell::CommandLine;
use tools::blocking::on_a_thread;
use tools::regular;
use tree::{Change, Entries, ReadTree, RepoPath, SnapshotError, TreeId, Worktree};

use super::merged::{LaneWorkDone, MergedLanes, Red, merge_lanes};
use super::result::TeamStanding;
use super::setup::TeamSetup;

/// The result of a merge.
pub(super) enum Merge {
    Done(MergedLanes),
    /// This lane conflicts with the workspace or the others at these paths.
    Conflict(LaneId, Vec<RepoPath>),
}

/// The result of the checks on merged lanes.
pub(super) enum MergeVerdict {
    /// The change may be written; the run would end with this delivery.
    Green(Delivery),
    /// The checks fail.
    Red(Red),
    /// The checks cannot tell.
    Open(Delivery),
}

/// Merges and verifies lanes.
pub(super) struct Integration {
    setup: Arc<TeamSetup>,
    /// The actor that supervises its Verifiers.
    supervisor: ActorCell,
    /// Files that are not in any snapshot, but that builds may need.
    left_out: Vec<RepoPath>,
    /// The worktree and the tree in it; created when needed.
    worktree: Option<(Worktree, Entries)>,
    /// What fails on the unchanged workspace, once known.
    baseline: Option<Report>,
    verifications: u32,
}

impl Integration {
    pub(super) fn new(
        setup: &Arc<TeamSetup>,
        supervisor: ActorCell,
        left_out: &[RepoPath],
    ) -> Self {
        let (setup, left_out) = (Arc::clone(setup), left_out.to_vec());
        Self { setup, supervisor, left_out, worktree: None, baseline: None, verifications: 0 }
    }

    fn publisher(&self) -> &Publisher {
        &self.setup.run.publisher
    }

    /// Merges the results of these lanes with the workspace: as it is now, or as recorded in `onto`.
    pub(super) async fn merge(
        &mut self,
        standing: &TeamStanding,
        lanes: &[LaneId],
        onto: Option<TreeId>,
    ) -> Result<Merge, Delivery> {
        if onto.is_none() {
            // Other checks may fail if the workspace has changed.
            self.baseline = None;
        }
        let made: Vec<LaneWorkDone> =
            lanes.iter().filter_map(|lane| standing.made(*lane)).collect();
        let (setup, lanes) = (Arc::clone(&self.setup), lanes.to_vec());
        self.setup.run.perform(&mut Merging { setup, lanes, made, onto }).await
    }

    /// Runs the checks of all lanes, and those of the project, on the merged tree. Failures that the workspace had
    /// before do not count, unless a lane had made the check pass.
    pub(super) async fn verify(
        &mut self,
        merged: &MergedLanes,
        standing: &TeamStanding,
    ) -> Result<MergeVerdict, Delivery> {
        self.verifications += 1;
        let iteration = self.verifications;
        let place = self.place(merged.tree).await?;
        let of_lanes = standing.commands();
        let commands = self.with_derived(&place, &of_lanes).await?;
        let started =
            Event::VerifyStarted { iteration, commands: commands.clone(), derived: false };
        self.publisher().record(started).await?;
        let verifier = self.verifier(place).await?;
        let changes = merged.changes();
        let checked = ask(verifier.verify(commands, Subject::Changed(changes.clone())).await)?;
        let failing: Vec<String> =
            checked.report.failing().map(|check| check.command.clone()).collect();
        if self.baseline.is_none() && !failing.is_empty() {
            self.baseline = Some(self.check_baseline(merged.onto, failing).await?);
        }
        let mut baseline = self.baseline.clone().unwrap_or_default();
        let passed = standing.passed(&merged.lanes);
        baseline.checks.retain(|check| !passed.contains(&check.command));
        let report = checked.report.clone().against(&baseline);
        let outcome = report.outcome();
        let passed = proof::passed(&report);
        let to_prove = ToProve { changes, ..ToProve::default() };
        let old_tree = ask(verifier.try_before(passed, to_prove).await)?;
        verifier.cell().stop(None);
        self.publisher().publish(Event::VerifyCompleted { iteration, outcome }).await?;
        // The only lane of a change in parts has verified the whole.
        let by_lane = self.setup.in_parts().is_some() && standing.has_proven(merged.tree);
        let is_proven = old_tree == OldTree::Fails || by_lane;
        let mut failing = report.failing();
        let lanes_pass = failing.all(|check| !of_lanes.contains(&check.command));
        Ok(self.judge(&report, checked.denied, Known { is_proven, lanes_pass }))
    }

    fn judge(&self, report: &Report, denied: Option<Denied>, known: Known) -> MergeVerdict {
        let needs_work = |why, detail: &str| Delivery::NeedsWork { why, detail: detail.into() };
        let unverifiable = |detail| MergeVerdict::Open(needs_work(NeedsWork::Unverifiable, detail));
        match report.outcome() {
            CheckOutcome::Passed | CheckOutcome::Flaky => {
                let verified = if known.is_proven { Verified::Proven } else { Verified::Passed };
                MergeVerdict::Green(Delivery::Delivered { verified })
            }
            CheckOutcome::Unverified => {
                let verified = Verified::Unverified(Unverified::NothingCouldFail);
                MergeVerdict::Green(Delivery::Delivered { verified })
            }
            CheckOutcome::Environment => {
                let why = report.hindrance().unwrap_or(Unverified::NothingCouldFail);
                let verified = Verified::Unverified(why);
                MergeVerdict::Green(Delivery::Delivered { verified })
            }
            CheckOutcome::PreExisting if known.lanes_pass => {
                let verified = Verified::Unverified(Unverified::OldFailures { reason: None });
                MergeVerdict::Green(Delivery::Delivered { verified })
            }
            CheckOutcome::PreExisting => MergeVerdict::Green(needs_work(
                NeedsWork::PreExisting,
                "the failing checks failed before the change as well, in a copy of the workspace that has no ignored files except those of lanes.share",
            )),
            CheckOutcome::CodeFailure => {
                let classifier = &self.setup.run.config().agent_loop.failure_classifier;
                let class = FailureHistory::default().classify(&report.errors(), classifier);
                MergeVerdict::Red(Red {
                    class,
                    details: feedback::failures(self.setup.run.prompts(), report),
                })
            }
            CheckOutcome::PolicyDenied => MergeVerdict::Open(denied.map_or_else(
                || Delivery::denied(Wording::default(), Wording::default()),
                |denied| denied.delivery(),
            )),
            CheckOutcome::CommandMissing => unverifiable("a verification command is not installed"),
            CheckOutcome::TimedOut => unverifiable("a verification command timed out"),
            CheckOutcome::Infrastructure => unverifiable("the machine failed while verifying"),
        }
    }

    /// Returns the commands of the lanes, and the checks derived from the project.
    async fn with_derived(
        &self,
        place: &ReadTree,
        commands: &[String],
    ) -> Result<Vec<String>, Delivery> {
        let file_reader =
            actors::run::file_reader::FileReader::new(place.clone(), self.setup.run.clone());
        let derived = file_reader.startable_checks().await?;
        let above = self.setup.workspace();
        let missing = derived.into_iter().filter(|command| {
            // Commands that the user has not approved beforehand are skipped rather than asked about at the end.
            let is_approved = above.beyond(&[], std::slice::from_ref(command)).is_none();
            is_approved && !commands.contains(command)
        });
        Ok(commands.iter().cloned().chain(missing).collect())
    }

    /// Runs the checks on the workspace without the lanes' changes.
    async fn check_baseline(
        &mut self,
        onto: TreeId,
        commands: Vec<String>,
    ) -> Result<Report, Delivery> {
        let place = self.place(onto).await?;
        let verifier = self.verifier(place).await?;
        let report = ask(verifier.verify(commands, Subject::Untouched).await)?.report;
        verifier.cell().stop(None);
        for check in &report.checks {
            let run = run_event(check, true, 0, check.excerpt.clone());
            self.publisher().publish(run).await?;
        }
        Ok(report)
    }

    /// Returns a directory that contains `tree`: the worktree, if something is going to run there.
    async fn place(&mut self, tree: TreeId) -> Result<ReadTree, Delivery> {
        let (setup, own) = (Arc::clone(&self.setup), self.worktree.take());
        let left_out = self.left_out.clone();
        let mut placing = Placing { setup, own, left_out, tree };
        let placed = self.setup.run.perform(&mut placing).await;
        self.worktree = placing.own;
        match placed? {
            Some(reader) => Ok(reader),
            None => Ok(nowhere(&self.setup)?),
        }
    }

    /// Starts a Verifier for a tree.
    async fn verifier(&self, place: ReadTree) -> Result<Verifier, Delivery> {
        let workspace = Arc::new(MergedTree { place, above: self.setup.workspace() });
        let setup =
            VerifierSetup { commands: CommandRunner { workspace, run: self.setup.run.clone() } };
        Verifier::spawn(setup, self.supervisor.clone()).await.map_err(|_| died())
    }
}

/// What else is known about a change whose checks have run.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// True if a check fails without the change.
    is_proven: bool,
    /// True if none of the lanes' own checks fails.
    lanes_pass: bool,
}

/// Returns the Verifier's answer.
fn ask<T>(answer: Result<Result<T, JournalClosed>, Unanswered>) -> Result<T, Delivery> {
    Ok(answer.map_err(|_| died())??)
}

fn died() -> Delivery {
    Delivery::failed(FailureKind::Internal, "the verifier died")
}

/// The effect of merging the results of lanes with the workspace.
struct Merging {
    setup: Arc<TeamSetup>,
    lanes: Vec<LaneId>,
    made: Vec<LaneWorkDone>,
    onto: Option<TreeId>,
}

impl Effect for Merging {
    type Outcome = Merge;
    type Stop = Delivery;

    fn look(&mut self, event: &Event) -> Trace<Merge> {
        if let Event::LanesMerged { lanes, onto, tree, files } = event {
            let (lanes, files) = (lanes.clone(), files.clone());
            Trace::Done(Merge::Done(MergedLanes { lanes, onto: *onto, tree: *tree, files }))
        } else if let Event::LaneConflicted { lane, paths, .. } = event {
            Trace::Done(Merge::Conflict(*lane, paths.clone()))
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Merge, Delivery> {
        let (setup, lanes) = (Arc::clone(&self.setup), self.lanes.clone());
        let (made, onto) = (self.made.clone(), self.onto);
        let merge = on_a_thread(move || merged(&setup, lanes, &made, onto)).await?;
        run.record(match &merge {
            Merge::Done(MergedLanes { lanes, onto, tree, files }) => {
                let (lanes, files) = (lanes.clone(), files.clone());
                Event::LanesMerged { lanes, onto: *onto, tree: *tree, files }
            }
            Merge::Conflict(lane, paths) => {
                let (lane, paths) = (*lane, paths.clone());
                Event::LaneConflicted { lane, paths, with: Other::User }
            }
        })
        .await?;
        Ok(merge)
    }
}

/// The effect of making the worktree contain a tree; `None` if everything that would run in it is recorded.
struct Placing {
    setup: Arc<TeamSetup>,
    /// The worktree and the tree in it, if there is one.
    own: Option<(Worktree, Entries)>,
    left_out: Vec<RepoPath>,
    tree: TreeId,
}

impl Effect for Placing {
    type Outcome = Option<ReadTree>;
    type Stop = Delivery;
    // The checks read there while the rest of the recording is followed.
    const POSITION: Position = Position::AheadIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let is_over = matches!(event, Event::VerifyCompleted { .. });
        if is_over { Trace::Foretold(None) } else { Trace::Absent }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, Delivery> {
        if run.only_compares() {
            return Ok(None);
        }
        let (setup, own) = (Arc::clone(&self.setup), self.own.take());
        let (left_out, tree) = (self.left_out.clone(), self.tree);
        let placed = on_a_thread(move || {
            let wanted = setup.snapshots.tree(tree)?;
            let worktree = match own {
                Some((mut worktree, holds)) => {
                    // Changes made by earlier commands are undone, so that verifications do not affect each other.
                    let found = worktree.entries(&setup.snapshots, &holds, &BTreeSet::new())?;
                    let mut is = found.entries;
                    is.retain(|path, _| !found.left_out.contains(path));
                    worktree.switch(&setup.snapshots, &is, &wanted)?;
                    worktree
                }
                None => fresh(&setup, &wanted, &left_out)?,
            };
            let reader = ReadTree::open(worktree.root())?;
            Ok::<_, SnapshotError>((reader, (worktree, wanted)))
        });
        let (reader, own) = placed.await?;
        self.own = Some(own);
        Ok(Some(reader))
    }
}

/// Creates the worktree for merged lanes, replacing one left by another process.
fn fresh(
    setup: &TeamSetup,
    entries: &Entries,
    left_out: &[RepoPath],
) -> Result<Worktree, SnapshotError> {
    let dir: PathBuf = setup.worktrees.join(TOGETHER);
    let failed = |source| SnapshotError::Io { path: dir.clone(), source };
    Worktree::remove(&setup.snapshots, &dir).map_err(failed)?;
    let origin = setup.origin(left_out);
    Worktree::create(&setup.snapshots, entries, &dir, &origin.now())
}

/// The name of the worktree for merged lanes.
const TOGETHER: &str = "together";

/// Returns an empty directory, for a run whose results are all recorded.
fn nowhere(setup: &TeamSetup) -> Result<ReadTree, SnapshotError> {
    let dir = setup.worktrees.join("nowhere");
    let made = regular::create_dir(&dir);
    made.map_err(|source| SnapshotError::Io { path: dir.clone(), source })?;
    Ok(ReadTree::open(&dir)?)
}

/// The workspace that merged lanes are verified in. It changes only by switching trees.
struct MergedTree {
    place: ReadTree,
    above: Arc<dyn Workspace>,
}

impl Workspace for MergedTree {
    fn reader(&self) -> &ReadTree {
        &self.place
    }

    fn in_place_of(&self) -> Option<&Path> {
        Some(self.above.reader().root())
    }

    fn is_approved(&self) -> bool {
        self.above.is_approved()
    }

    fn beyond(&self, files: &[RepoPath], commands: &[String]) -> Option<Unapproved> {
        self.above.beyond(files, commands)
    }

    fn commit_patch_set(&self, _: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>> {
        Box::pin(std::future::ready(Err(CommitRefused::Gone)))
    }

    fn approve<'a>(
        &'a self,
        patch: &'a str,
        changes: &'a [Change],
    ) -> BoxFuture<'a, Result<(), Denied>> {
        self.above.approve(patch, changes)
    }

    fn permit<'a>(
        &'a self,
        command: &'a CommandLine,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<(), Denied>> {
        self.above.permit(command, purpose)
    }
}

/// Merges the results of lanes with the workspace. Blocks.
fn merged(
    setup: &TeamSetup,
    lanes: Vec<LaneId>,
    made: &[LaneWorkDone],
    onto: Option<TreeId>,
) -> Result<Merge, SnapshotError> {
    let snapshots = &setup.snapshots;
    let onto = onto.map_or_else(|| workspace_now(setup, made), Ok)?;
    match merge_lanes(snapshots, onto, made, &format!("{}/result", setup.run.id()))? {
        Ok(tree) => {
            let changes = crate::lane::lane_tree::changes_between(
                snapshots,
                &snapshots.tree(onto)?,
                &snapshots.tree(tree)?,
            )?;
            let files = changes.iter().map(StagedFile::from).collect();
            Ok(Merge::Done(MergedLanes { lanes, onto, tree, files }))
        }
        Err((lane, paths)) => Ok(Merge::Conflict(lane, paths)),
    }
}

/// Stores the current workspace, including whatever is at the paths that lanes change, even if ignored. Blocks.
fn workspace_now(setup: &TeamSetup, made: &[LaneWorkDone]) -> Result<TreeId, SnapshotError> {
    let snapshots = &setup.snapshots;
    let paths: BTreeSet<&RepoPath> =
        made.iter().flat_map(|made| &made.files).map(|file| &file.path).collect();
    let also: Vec<&RepoPath> = paths.into_iter().collect();
    let snapshot = snapshots.take(setup.workspace().reader(), &also, setup.run.clock.now())?;
    let onto = snapshots.keep_tree(&snapshot.entries)?;
    snapshots.hold(&format!("{}/onto", setup.run.id()), onto)?;
    Ok(onto)
}
