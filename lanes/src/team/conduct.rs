//! The steps of a team from plan to delivery: lanes work, are merged, are verified together, and are written as one
//! change.
//!
//! Results that depend on the outside world are looked up in the recording first, so that a run can be replayed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::crew::call_failed;
use crate::team::split::planner::{self, TeamPlanned};
use crate::team::split::team_plan::{LanePlan, TeamPlan};
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::publisher::Publisher;
use actors::run::workspace::{CommitRefused, Extent, LeftOut, Staged};
use actors::talk::AnswerError;
use facts::amounts::Allowance;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork, StagedFor};
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::signal::Acceptance;
use facts::team::Other;
use facts::write_failure::WriteFailure;
use tools::blocking::on_a_thread;
use tools::count::counted;
use tools::ids::short_id;
use tree::{Change, RepoPath, SnapshotError, TreeId};

use super::bisect::{self, Bisect, BisectQuestion};
use super::integration::{Integration, Merge, MergeVerdict};
use super::merged::{LaneWorkDone, MergedLanes, merge_lanes};
use super::result::{TeamStanding, delivery};
use super::setup::{Division, TeamSetup};
use super::team_lanes::{Began, TeamLanes, share_budget};
use super::{Team, TeamReport};

/// How often the user may change the files that lanes changed, during verification, before the team gives up.
const MOST_ROUNDS: usize = 4;

/// Minimum number of calls for a lane: a plan and a diff.
const LEAST_CALLS: u64 = 2;

/// Works on a task until its delivery.
pub(super) async fn conduct(setup: TeamSetup, team: Team) -> TeamReport {
    let ended = |delivery| TeamReport::Done { delivery, lanes: Vec::new(), kept: Vec::new() };
    match Conductor::new(setup, team).conduct().await {
        Ok(report) => report,
        Err(delivery) => ended(delivery),
    }
}

struct Conductor {
    setup: Arc<TeamSetup>,
    team: Team,
}

impl Conductor {
    fn new(setup: TeamSetup, team: Team) -> Self {
        Self { setup: Arc::new(setup), team }
    }

    fn publisher(&self) -> &Publisher {
        &self.setup.run.publisher
    }

    async fn conduct(self) -> Result<TeamReport, Delivery> {
        let Some(plan) = self.plan().await? else { return Ok(TeamReport::Declined) };
        let ids: Vec<LaneId> = plan.lanes.iter().map(|lane| lane.id).collect();
        let in_parts = self.setup.in_parts().is_some();
        // One share is left for the work after the lanes. A change in parts is all the work.
        let shares = ids.len() as u64 + u64::from(!in_parts);
        let budget = share_budget(&self.setup.run, &ids, shares).await?;
        if !in_parts && budget.calls.is_some_and(|calls| calls < LEAST_CALLS) {
            for lane in ids {
                self.setup.run.for_lane(lane).give_back();
            }
            let why = format!("too few calls are left for {}", counted(plan.lanes.len(), "lane"));
            self.publisher().publish(Event::LanesDeclined { why: why.into() }).await?;
            return Ok(TeamReport::Declined);
        }
        let base = self.base(budget).await?;
        let mut lanes = TeamLanes::new(&self.setup, &self.team, plan, base, budget);
        lanes.work().await?;
        let mut standing = TeamStanding::new(&lanes.plan, &lanes.reports);
        self.merge(&lanes, &mut standing).await?;
        lanes.settle_shares();
        let mut end = self.deliver(&lanes, &mut standing).await?;
        if in_parts && let Some(unwritten) = self.stage_parts(&lanes, &standing).await? {
            end = Some(unwritten);
        }
        let ended = standing.ended(&lanes.spent().await);
        let finished = Event::LanesFinished { lanes: ended.clone() };
        self.publisher().record(finished).await?;
        let kept = lanes.tidy_up(standing.kept.clone()).await;
        Ok(TeamReport::Done { delivery: delivery(&ended, end), lanes: ended, kept })
    }

    /// Returns the plan of lanes; `None` if the task is left to a single crew.
    async fn plan(&self) -> Result<Option<TeamPlan>, Delivery> {
        let TeamSetup { run, brief, division, .. } = &*self.setup;
        let decided = match division {
            Division::ToPlan => None,
            Division::Lanes(plan) => Some(plan.clone()),
            Division::Parts(begun) => {
                TeamPlan::of_parts(begun.plan.more.as_deref().unwrap_or_default())
            }
        };
        if let Some(plan) = decided {
            let lanes = plan.lanes.iter().map(LanePlan::planned).collect();
            let tolerances = Vec::new();
            self.publisher().publish(Event::LanesPlanned { lanes, tolerances }).await?;
            return Ok(Some(plan));
        }
        let commands = CommandRunner { workspace: self.setup.workspace(), run: run.clone() };
        let planned = planner::plan_split(&commands, brief).await;
        let declined = match planned {
            Ok(TeamPlanned { plan, tolerances }) if plan.lanes.len() > 1 => {
                let lanes = plan.lanes.iter().map(LanePlan::planned).collect();
                self.publisher().publish(Event::LanesPlanned { lanes, tolerances }).await?;
                return Ok(Some(plan));
            }
            Ok(_) => "the task does not split into independent parts".to_owned(),
            Err(AnswerError::Unreadable(error)) => {
                format!("the model did not answer in the format of a plan for lanes: {error}")
            }
            Err(end @ (AnswerError::Repeated { .. } | AnswerError::CutAgain { .. })) => {
                end.to_string()
            }
            Err(AnswerError::Call(error)) => {
                return Err(call_failed(&error));
            }
        };
        self.publisher().publish(Event::LanesDeclined { why: declined.into() }).await?;
        Ok(None)
    }

    /// Stores the current workspace as the tree that lanes start from.
    async fn base(&self, budget: Allowance) -> Result<Began, Delivery> {
        let setup = Arc::clone(&self.setup);
        self.setup.run.perform(&mut Base { setup, budget }).await
    }

    /// Merges the work of the lanes in a fixed order, regardless of which finished first. A lane that conflicts is
    /// planned again on top of the current tree.
    async fn merge(&self, lanes: &TeamLanes, standing: &mut TeamStanding) -> Result<(), Delivery> {
        let mut so_far = lanes.base.tree;
        for lane in lanes.plan.merge_order() {
            let mut attempt = 1;
            while let Some(made) = standing.made(lane) {
                let paths = match self.merge_lane(lane, so_far, &made).await? {
                    Ok(tree) => {
                        so_far = tree;
                        break;
                    }
                    Err(paths) => paths,
                };
                if attempt > self.setup.run.config().lanes.max_replans {
                    standing.conflicted(lane, paths, Other::Lanes);
                    break;
                }
                attempt += 1;
                match lanes.replan(lane, attempt, so_far, &paths).await? {
                    Ok(made) => standing.remade(made),
                    // The conflicting work of the first attempt stands.
                    Err(failed) => {
                        standing.keep(&failed);
                        standing.conflicted(lane, paths, Other::Lanes);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds one lane to the merged tree. Returns the new tree, or the conflicting paths.
    async fn merge_lane(
        &self,
        lane: LaneId,
        so_far: TreeId,
        made: &LaneWorkDone,
    ) -> Result<Result<TreeId, Vec<RepoPath>>, Delivery> {
        let setup = Arc::clone(&self.setup);
        let mut adding = Adding { setup, lane, so_far, made: made.clone() };
        self.setup.run.perform(&mut adding).await
    }

    /// Verifies the merged lanes, fixes or leaves out what fails, and has the rest written. Returns `None` if there is
    /// nothing to write.
    async fn deliver(
        &self,
        lanes: &TeamLanes,
        standing: &mut TeamStanding,
    ) -> Result<Option<Delivery>, Delivery> {
        let mut integration = Integration::new(&self.setup, self.team.cell(), &lanes.base.left_out);
        let (mut may_fix, mut rounds) = (true, 0);
        let mut refused: Option<(TreeId, String)> = None;
        loop {
            let all = standing.order();
            let merged = match integration.merge(standing, &all, None).await? {
                Merge::Done(merged) if merged.files.is_empty() => {
                    standing.written = true;
                    return Ok(None);
                }
                Merge::Done(merged) => merged,
                Merge::Conflict(lane, paths) => {
                    standing.conflicted(lane, paths, Other::User);
                    continue;
                }
            };
            if let Some((onto, path)) = refused.take()
                && onto == merged.onto
            {
                // The workspace has not changed since, so writing would be refused again.
                return self.stage(&merged, standing, in_the_way(&path)).await;
            }
            let red = match integration.verify(&merged, standing).await? {
                MergeVerdict::Open(delivery) => {
                    return self.stage(&merged, standing, delivery).await;
                }
                MergeVerdict::Green(delivery) => match self.write(&merged, standing).await? {
                    Written::Yes => {
                        standing.written = true;
                        return Ok(Some(delivery));
                    }
                    Written::Part(left_out) => {
                        (standing.written, standing.left_out) = (true, left_out);
                        return self.part(&mut integration, standing, merged).await.map(Some);
                    }
                    Written::No(delivery) => return Ok(Some(delivery)),
                    Written::Stale(_) if rounds == MOST_ROUNDS => {
                        return self.stage(&merged, standing, kept_changing()).await;
                    }
                    Written::Stale(path) => {
                        rounds += 1;
                        refused = Some((merged.onto, path));
                        continue;
                    }
                },
                MergeVerdict::Red(red) => red,
            };
            let found = self.bisect(&mut integration, standing, &merged).await?;
            let (culprits, class) = (found.iter().copied().collect(), red.class);
            self.publisher().publish(Event::LanesBisected { lanes: culprits, class }).await?;
            if !std::mem::take(&mut may_fix) {
                standing.fail_together(&found);
                continue;
            }
            match lanes.fix(&merged, &found, &red).await? {
                Ok(made) => standing.fixed(made, found),
                Err(failed) => {
                    standing.keep(&failed);
                    standing.fail_together(&found);
                }
            }
        }
    }

    /// Returns the smallest set of lanes that fails.
    async fn bisect(
        &self,
        integration: &mut Integration,
        standing: &TeamStanding,
        merged: &MergedLanes,
    ) -> Result<BTreeSet<LaneId>, Delivery> {
        let mut bisect = Bisect::new(standing.order(), standing.needs());
        loop {
            let some: Vec<LaneId> = match bisect.next() {
                BisectQuestion::Found(lanes) => return Ok(lanes.clone()),
                BisectQuestion::Check(lanes) => {
                    standing.order().into_iter().filter(|lane| lanes.contains(lane)).collect()
                }
            };
            let verdict = match integration.merge(standing, &some, Some(merged.onto)).await? {
                Merge::Done(some) => integration.verify(&some, standing).await?,
                // Lanes that conflict without the others say nothing about the checks.
                Merge::Conflict(..) => MergeVerdict::Open(kept_changing()),
            };
            let is_red = matches!(verdict, MergeVerdict::Red(_));
            bisect.answer(if is_red {
                bisect::BisectVerdict::Red
            } else {
                bisect::BisectVerdict::Green
            });
        }
    }

    /// Has the combined change written to the workspace.
    async fn write(
        &self,
        merged: &MergedLanes,
        standing: &TeamStanding,
    ) -> Result<Written, Delivery> {
        let staged = Self::staged(merged.changes(), &self.title(standing));
        Ok(match self.setup.workspace().commit_patch_set(staged).await {
            Ok(Extent::Whole) => Written::Yes,
            Ok(Extent::Part(LeftOut { paths, .. })) => Written::Part(paths),
            Err(CommitRefused::Denied(denied)) => Written::No(denied.delivery()),
            Err(CommitRefused::NotApplied(WriteFailure::Stale { path })) => Written::Stale(path),
            Err(CommitRefused::NotApplied(error @ WriteFailure::NotWritten { .. })) => {
                Written::No(Delivery::failed(FailureKind::Write, &error))
            }
            Err(CommitRefused::Gone) => return Err(JournalClosed.into()),
        })
    }

    /// Verifies the part of a verified change that the user accepted.
    async fn part(
        &self,
        integration: &mut Integration,
        standing: &TeamStanding,
        whole: MergedLanes,
    ) -> Result<Delivery, Delivery> {
        let setup = Arc::clone(&self.setup);
        let (onto, tree, left_out) = (whole.onto, whole.tree, standing.left_out.clone());
        let mut parting = Parting { setup, onto, tree, left_out };
        let Some(tree) = self.setup.run.perform(&mut parting).await? else {
            return Ok(kept_changing());
        };
        let mut part = MergedLanes { tree, ..whole };
        part.files.retain(|file| !standing.left_out.contains(&file.path));
        Ok(match integration.verify(&part, standing).await? {
            MergeVerdict::Green(delivery) | MergeVerdict::Open(delivery) => delivery,
            MergeVerdict::Red(_) => Delivery::NeedsWork {
                why: NeedsWork::LanesFailed,
                detail:
                    "the files that you accepted fail the checks without the others, which are staged"
                        .into(),
            },
        })
    }

    fn staged(changes: Vec<Change>, title: &str) -> Staged {
        let (id, repairs, put_aside) = (None, Vec::new(), Vec::new());
        let (purpose, changes, taken) = (StagedFor::Change, changes.into(), Acceptance::RestStays);
        Staged { id, purpose, title: title.into(), changes, repairs, put_aside, taken }
    }

    /// Returns a short title for the whole change.
    fn title(&self, standing: &TeamStanding) -> String {
        let in_parts = self.setup.in_parts().map(|_| "the change in parts".to_owned());
        in_parts.unwrap_or_else(|| standing.title())
    }

    /// Stages the parts of a change that were made, if the change is not part of the result.
    async fn stage_parts(
        &self,
        lanes: &TeamLanes,
        standing: &TeamStanding,
    ) -> Result<Option<Delivery>, Delivery> {
        let Some((lane, why)) = standing.not_in_result() else { return Ok(None) };
        let files = match lanes.reports.get(&lane) {
            Some(Ok(made)) => &made.files,
            Some(Err(failed)) => &failed.files,
            None => return Ok(None),
        };
        if files.is_empty() {
            return Ok(None);
        }
        let patch = self.setup.run.fresh_id();
        let changes = files.iter().map(StagedFile::change).collect();
        let staged = Self::staged(changes, "the parts that were made, not verified");
        self.publisher().publish(staged.event(&patch, None)).await?;
        Ok(Some(staged_as(short_id(&patch), why)))
    }

    /// Stages a change that is not written, for the user to look at and apply.
    async fn stage(
        &self,
        merged: &MergedLanes,
        standing: &TeamStanding,
        delivery: Delivery,
    ) -> Result<Option<Delivery>, Delivery> {
        let patch = self.setup.run.fresh_id();
        let staged =
            Self::staged(merged.changes(), &format!("{}, not verified", self.title(standing)));
        self.publisher().publish(staged.event(&patch, None)).await?;
        Ok(Some(staged_as(short_id(&patch), delivery)))
    }
}

/// Returns how a team ends whose change was staged instead of being written.
fn staged_as(id: &str, delivery: Delivery) -> Delivery {
    match delivery {
        Delivery::NeedsWork { detail, .. } => {
            let detail = format!("{detail}; the change is staged as {id}, not applied").into();
            Delivery::NeedsWork { why: NeedsWork::Staged, detail }
        }
        Delivery::Denied { what, hint, card } => {
            let hint = format!("{hint}; the change is staged: `deepseek diff {id}`").into();
            Delivery::Denied { what, hint, card }
        }
        Delivery::BudgetExhausted { limit, detail } => {
            let detail = format!("{detail}; what was done is staged as {id}, not applied").into();
            Delivery::BudgetExhausted { limit, detail }
        }
        Delivery::Failed { class, message } => {
            let message = format!("{message}; what was done is staged as {id}, not applied").into();
            Delivery::Failed { class, message }
        }
        ended @ (Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::Cancelled
        | Delivery::Paused { .. }) => ended,
    }
}

/// The effect of storing the current workspace.
struct Base {
    setup: Arc<TeamSetup>,
    /// What each lane may spend.
    budget: Allowance,
}

impl Effect for Base {
    type Outcome = Began;
    type Stop = Delivery;

    fn look(&mut self, event: &Event) -> Trace<Began> {
        let Event::LanesBegun { tree, left_out, .. } = event else { return Trace::Absent };
        Trace::Done(Began { tree: *tree, left_out: left_out.clone() })
    }

    async fn act(&mut self, run: &Run) -> Result<Began, Delivery> {
        let setup = Arc::clone(&self.setup);
        let taken = on_a_thread(move || {
            let snapshot =
                setup.snapshots.take(setup.workspace().reader(), &[], setup.run.clock.now())?;
            let tree = setup.snapshots.keep_tree(&snapshot.entries)?;
            setup.snapshots.hold(&format!("{}/base", setup.run.id()), tree)?;
            Ok::<_, SnapshotError>((tree, snapshot.entries.len(), snapshot.left_out))
        });
        let (tree, files, left_out) = taken.await?;
        let begun =
            Event::LanesBegun { tree, files, left_out: left_out.clone(), budget: self.budget };
        run.record(begun).await?;
        Ok(Began { tree, left_out })
    }
}

/// The effect of merging one more lane.
struct Adding {
    setup: Arc<TeamSetup>,
    lane: LaneId,
    so_far: TreeId,
    made: LaneWorkDone,
}

impl Effect for Adding {
    type Outcome = Result<TreeId, Vec<RepoPath>>;
    type Stop = Delivery;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        if let Event::LaneMerged { tree, .. } = event {
            Trace::Done(Ok(*tree))
        } else if let Event::LaneConflicted { paths, .. } = event {
            Trace::Done(Err(paths.clone()))
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, Delivery> {
        let (setup, so_far, made) = (Arc::clone(&self.setup), self.so_far, self.made.clone());
        let (lane, hold) = (self.lane, format!("{}/merged-{}", run.id(), self.lane));
        let added =
            on_a_thread(move || merge_lanes(&setup.snapshots, so_far, &[made], &hold)).await?;
        let added = added.map_err(|(_, paths)| paths);
        run.record(match added.clone() {
            Ok(tree) => Event::LaneMerged { lane, tree },
            Err(paths) => Event::LaneConflicted { lane, paths, with: Other::Lanes },
        })
        .await?;
        Ok(added)
    }
}

/// The effect of storing the part of a merged tree that the user accepted; `None` if earlier versions took it for a conflict.
struct Parting {
    setup: Arc<TeamSetup>,
    /// The workspace that the lanes were merged onto.
    onto: TreeId,
    /// The merged tree.
    tree: TreeId,
    /// The files that stay as they are in the workspace.
    left_out: Vec<RepoPath>,
}

impl Effect for Parting {
    type Outcome = Option<TreeId>;
    type Stop = Delivery;
    // It is recorded by earlier versions only, which merged the lanes again.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        if let Event::LanesMerged { onto, .. } = event {
            Trace::Done(Some(*onto))
        } else if matches!(event, Event::LaneConflicted { .. }) {
            Trace::Done(None)
        } else {
            Trace::Foretold(Some(self.tree))
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, Delivery> {
        let (setup, onto, tree) = (Arc::clone(&self.setup), self.onto, self.tree);
        let (left_out, hold) = (self.left_out.clone(), format!("{}/part", run.id()));
        let parted = on_a_thread(move || {
            let (before, mut part) = (setup.snapshots.tree(onto)?, setup.snapshots.tree(tree)?);
            for path in left_out {
                match before.get(&path) {
                    Some(kept) => drop(part.insert(path, *kept)),
                    None => drop(part.remove(&path)),
                }
            }
            let part = setup.snapshots.keep_tree(&part)?;
            setup.snapshots.hold(&hold, part)?;
            Ok::<_, SnapshotError>(part)
        });
        Ok(Some(parted.await?))
    }
}

/// The result of writing.
enum Written {
    /// The change is in the workspace.
    Yes,
    /// The change is in the workspace, except for these files, which the user left out.
    Part(Vec<RepoPath>),
    /// The change will not be written.
    No(Delivery),
    /// At this path, the workspace differs from the one the change was made for.
    Stale(String),
}

fn kept_changing() -> Delivery {
    let detail = "the workspace kept changing while lanes were verified".into();
    Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail }
}

fn in_the_way(path: &str) -> Delivery {
    let detail = format!("something else is at {path} than what was verified").into();
    Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_change_of_a_team_is_staged_and_can_be_seen() {
        let denied =
            Delivery::Denied { what: "a command".into(), hint: "allow it".into(), card: None };
        let hint = "allow it; the change is staged: `deepseek diff 01`".into();
        assert_eq!(
            staged_as("01", denied),
            Delivery::Denied { what: "a command".into(), hint, card: None }
        );
    }
}
