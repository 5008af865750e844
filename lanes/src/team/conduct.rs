//! The way of a team from its plan to its delivery: lanes work, come together, are verified together, and are written as one
//! change.
//!
//! Whatever depends on the world is looked up in what is recorded first, so that a run can be driven again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::crew::call_failed;
use crate::planner::{self, TeamPlanned};
use crate::team_plan::{LanePlan, TeamPlan};
use actors::closed::JournalClosed;
use actors::commands::Runner;
use actors::delivery::{Delivery, FailureKind, NeedsWork, StagedFor};
use actors::effect::{Effect, Trace};
use actors::event::Event;
use actors::lane_id::LaneId;
use actors::ledger::Allowance;
use actors::publisher::Publisher;
use actors::run::Run;
use actors::talk::Unheard;
use actors::team::Other;
use actors::workspace::{CommitRefused, Extent, LeftOut, NotApplied, Staged, Taken};
use tools::blocking::on_a_thread;
use tree::{RepoPath, SnapshotError, TreeId};

use super::bisect::{self, Bisect, Question};
use super::hired::{Began, Lanes, Made, share};
use super::result::{Standing, delivery};
use super::together::{Merge, MergedLanes, Together, Verdict, add};
use super::{Team, TeamReport, TeamSetup};

/// How often the user may change what lanes changed, while that is verified, before the team gives up.
const MOST_ROUNDS: usize = 4;

/// Fewer calls than a plan and a diff need are of no use to a lane.
const LEAST_CALLS: u64 = 2;

/// Takes a task to its delivery.
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
        // One part is left for what comes after them.
        let parts = ids.len() as u64 + 1;
        let budget = share(&self.setup.run, &ids, parts).await?;
        if budget.calls.is_some_and(|calls| calls < LEAST_CALLS) {
            for lane in ids {
                self.setup.run.for_lane(lane).give_back();
            }
            let why = format!("too few calls are left for {} lanes", plan.lanes.len());
            self.publisher().publish(Event::LanesDeclined { why: why.into() }).await?;
            return Ok(TeamReport::Declined);
        }
        let base = self.base(budget).await?;
        let mut lanes = Lanes::new(&self.setup, &self.team, plan, base, budget);
        lanes.work().await?;
        let mut standing = Standing::new(&lanes.plan, &lanes.reports);
        self.merge(&lanes, &mut standing).await?;
        lanes.settle_shares();
        let end = self.deliver(&lanes, &mut standing).await?;
        let ended = standing.ended(&lanes.spent().await);
        let finished = Event::LanesFinished { lanes: ended.clone() };
        self.publisher().record(finished).await?;
        let kept = lanes.tidy_up(standing.kept.clone()).await;
        Ok(TeamReport::Done { delivery: delivery(&ended, end), lanes: ended, kept })
    }

    /// The lanes of the task; none if it is one for a single crew.
    async fn plan(&self) -> Result<Option<TeamPlan>, Delivery> {
        let TeamSetup { run, brief, plan, .. } = &*self.setup;
        if let Some(plan) = plan {
            let lanes = plan.lanes.iter().map(LanePlan::planned).collect();
            let tolerances = Vec::new();
            self.publisher().publish(Event::LanesPlanned { lanes, tolerances }).await?;
            return Ok(Some(plan.clone()));
        }
        let commands = Runner { workspace: self.setup.workspace(), run: run.clone() };
        let planned = planner::plan(&commands, brief).await;
        let declined = match planned {
            Ok(TeamPlanned { plan, tolerances }) if plan.lanes.len() > 1 => {
                let lanes = plan.lanes.iter().map(LanePlan::planned).collect();
                self.publisher().publish(Event::LanesPlanned { lanes, tolerances }).await?;
                return Ok(Some(plan));
            }
            Ok(_) => "it does not split into parts that are independent".to_owned(),
            Err(Unheard::Unreadable(error)) => {
                format!("the lane planner gave no usable plan: {error}")
            }
            Err(Unheard::Call(error)) => {
                return Err(call_failed(&error));
            }
        };
        self.publisher().publish(Event::LanesDeclined { why: declined.into() }).await?;
        Ok(None)
    }

    /// Keeps the workspace as it is, for lanes to begin from.
    async fn base(&self, budget: Allowance) -> Result<Began, Delivery> {
        let setup = Arc::clone(&self.setup);
        self.setup.run.perform(&mut Base { setup, budget }).await
    }

    /// Brings the work of the lanes together, one after the other, whoever was first. A lane that does not fit in is planned
    /// again on what there is.
    async fn merge(&self, lanes: &Lanes, standing: &mut Standing) -> Result<(), Delivery> {
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
                    // What it did first is still what does not fit in.
                    Err(undone) => {
                        standing.keep(&undone);
                        standing.conflicted(lane, paths, Other::Lanes);
                    }
                }
            }
        }
        Ok(())
    }

    /// What there is with the work of one more lane; the paths where the two exclude each other.
    async fn merge_lane(
        &self,
        lane: LaneId,
        so_far: TreeId,
        made: &Made,
    ) -> Result<Result<TreeId, Vec<RepoPath>>, Delivery> {
        let setup = Arc::clone(&self.setup);
        let mut adding = Adding { setup, lane, so_far, made: made.clone() };
        self.setup.run.perform(&mut adding).await
    }

    /// Verifies what the lanes come to, mends or leaves out what does not work, and has the rest written. None if there is
    /// nothing to write.
    async fn deliver(
        &self,
        lanes: &Lanes,
        standing: &mut Standing,
    ) -> Result<Option<Delivery>, Delivery> {
        let mut together = Together::new(&self.setup, &self.team, &lanes.base.left_out);
        let (mut may_mend, mut rounds) = (true, 0);
        let mut refused: Option<(TreeId, String)> = None;
        loop {
            let all = standing.order();
            let merged = match together.merge(standing, &all, None).await? {
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
                // It is as it was, and what is there does not make way.
                return self.stage(&merged, standing, in_the_way(&path)).await;
            }
            let red = match together.verify(&merged, standing).await? {
                Verdict::Open(delivery) => return self.stage(&merged, standing, delivery).await,
                Verdict::Green(delivery) => match self.write(&merged, standing).await? {
                    Written::Yes => {
                        standing.written = true;
                        return Ok(Some(delivery));
                    }
                    Written::Part(left_out) => {
                        (standing.written, standing.left_out) = (true, left_out);
                        return self.part(&mut together, standing, merged).await.map(Some);
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
                Verdict::Red(red) => red,
            };
            let found = self.bisect(&mut together, standing, &merged).await?;
            let (culprits, class) = (found.iter().copied().collect(), red.class);
            self.publisher().publish(Event::LanesBisected { lanes: culprits, class }).await?;
            if !std::mem::take(&mut may_mend) {
                standing.fail_together(&found);
                continue;
            }
            match lanes.mend(&merged, &found, &red).await? {
                Ok(made) => standing.mended(made, found),
                Err(undone) => {
                    standing.keep(&undone);
                    standing.fail_together(&found);
                }
            }
        }
    }

    /// The smallest set of lanes that fails.
    async fn bisect(
        &self,
        together: &mut Together,
        standing: &Standing,
        merged: &MergedLanes,
    ) -> Result<BTreeSet<LaneId>, Delivery> {
        let mut bisect = Bisect::new(standing.order(), standing.needs());
        loop {
            let some: Vec<LaneId> = match bisect.next() {
                Question::Found(lanes) => return Ok(lanes.clone()),
                Question::Check(lanes) => {
                    standing.order().into_iter().filter(|lane| lanes.contains(lane)).collect()
                }
            };
            let verdict = match together.merge(standing, &some, Some(merged.onto)).await? {
                Merge::Done(some) => together.verify(&some, standing).await?,
                // What does not even fit together without the others tells nothing about them.
                Merge::Conflict(..) => Verdict::Open(kept_changing()),
            };
            let is_red = matches!(verdict, Verdict::Red(_));
            bisect.told(if is_red { bisect::Verdict::Red } else { bisect::Verdict::Green });
        }
    }

    /// Has the one change written to the workspace.
    async fn write(&self, merged: &MergedLanes, standing: &Standing) -> Result<Written, Delivery> {
        let staged = Self::staged(merged, &standing.title());
        Ok(match self.setup.workspace().commit(staged).await {
            Ok(Extent::Whole) => Written::Yes,
            Ok(Extent::Part(LeftOut { paths, .. })) => Written::Part(paths),
            Err(CommitRefused::Denied(denied)) => Written::No(denied.delivery()),
            Err(CommitRefused::NotApplied(NotApplied::Stale { path })) => Written::Stale(path),
            Err(CommitRefused::NotApplied(error @ NotApplied::NotWritten { .. })) => {
                Written::No(Delivery::failed(FailureKind::Write, &error))
            }
            Err(CommitRefused::Gone) => return Err(JournalClosed.into()),
        })
    }

    /// Verifies what the user took of what was verified as a whole.
    async fn part(
        &self,
        together: &mut Together,
        standing: &Standing,
        whole: MergedLanes,
    ) -> Result<Delivery, Delivery> {
        // The tree as it is now is what the rest would be merged with.
        let tree = match together.merge(standing, &standing.order(), None).await? {
            Merge::Done(rest) => rest.onto,
            Merge::Conflict(..) => return Ok(kept_changing()),
        };
        let mut part = MergedLanes { tree, ..whole };
        part.files.retain(|file| !standing.left_out.contains(&file.path));
        Ok(match together.verify(&part, standing).await? {
            Verdict::Green(delivery) | Verdict::Open(delivery) => delivery,
            Verdict::Red(_) => Delivery::NeedsWork {
                why: NeedsWork::LanesFailed,
                detail:
                    "the files that you took fail the checks without the others, which are staged"
                        .into(),
            },
        })
    }

    fn staged(merged: &MergedLanes, title: &str) -> Staged {
        let (id, repairs, put_aside) = (None, Vec::new(), Vec::new());
        let (purpose, changes, taken) = (StagedFor::Change, merged.changes(), Taken::RestStays);
        Staged { id, purpose, title: title.into(), changes, repairs, put_aside, taken }
    }

    /// Keeps what is not written for the user to look at, and to apply.
    async fn stage(
        &self,
        merged: &MergedLanes,
        standing: &Standing,
        delivery: Delivery,
    ) -> Result<Option<Delivery>, Delivery> {
        let patch = self.setup.run.fresh_id();
        let staged = Self::staged(merged, &format!("{}, not verified", standing.title()));
        self.publisher().publish(Event::staged(&patch, &staged)).await?;
        Ok(Some(match delivery {
            Delivery::NeedsWork { detail, .. } => {
                let detail =
                    format!("{detail}; what was made is staged as {patch}, and not written").into();
                Delivery::NeedsWork { why: NeedsWork::Staged, detail }
            }
            Delivery::Denied { what, hint } => {
                let hint =
                    format!("{hint}; what was made is staged: `deepseek diff {patch}`").into();
                Delivery::Denied { what, hint }
            }
            ended @ (Delivery::Delivered { .. }
            | Delivery::NoEditNeeded { .. }
            | Delivery::Cancelled
            | Delivery::BudgetExhausted { .. }
            | Delivery::Failed { .. }) => ended,
        }))
    }
}

/// The effect of keeping the workspace as it is.
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

/// The effect of adding the work of one more lane to what there is.
struct Adding {
    setup: Arc<TeamSetup>,
    lane: LaneId,
    so_far: TreeId,
    made: Made,
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
        let added = on_a_thread(move || add(&setup.snapshots, so_far, &[made], &hold)).await?;
        let added = added.map_err(|(_, paths)| paths);
        run.record(match added.clone() {
            Ok(tree) => Event::LaneMerged { lane, tree },
            Err(paths) => Event::LaneConflicted { lane, paths, with: Other::Lanes },
        })
        .await?;
        Ok(added)
    }
}

/// What came of writing.
enum Written {
    /// It is in the workspace.
    Yes,
    /// It is, but for these files, which the user left out.
    Part(Vec<RepoPath>),
    /// It will not be.
    No(Delivery),
    /// At this path, the workspace is another than the one it was made for.
    Stale(String),
}

fn kept_changing() -> Delivery {
    let detail = "the workspace was changed again and again while lanes were verified".into();
    Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail }
}

fn in_the_way(path: &str) -> Delivery {
    let detail = format!("something else is at {path} than what was verified to be there").into();
    Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail }
}
