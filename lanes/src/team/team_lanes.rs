//! Runs the lanes of a team: each starts when those it waits for have ended, a limited number at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::crew::PlanInParts;
use crate::lane::lane_tree::{Territories, Territory};
use crate::lane::{FailedAttempt, LaneAttempt, LaneReport, LaneSetup};
use crate::team::split::team_plan::TeamPlan;
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::publisher::Publisher;
use actors::talk::prompts::Prompts;
use facts::amounts::{Allowance, Amount};
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork};
use facts::event::Event;
use facts::lane_id::LaneId;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tools::blocking::on_a_thread;
use tools::count::counted;
use tree::{RepoPath, TreeId};

use super::merged::{LaneWorkDone, MergedLanes, Red, merge_lanes};
use super::setup::TeamSetup;
use super::{LaneDied, Team, brief};
use crate::lane::worktrees::tidy;

/// The tree that the lanes start from.
pub(super) struct Began {
    pub(super) tree: TreeId,
    pub(super) left_out: Vec<RepoPath>,
}

/// The result of a lane, or the delivery that ends the whole team.
type Ended = Result<Result<LaneWorkDone, FailedAttempt>, Delivery>;

/// The lanes of a team.
pub(super) struct TeamLanes {
    setup: Arc<TeamSetup>,
    team: Team,
    pub(super) plan: TeamPlan,
    pub(super) base: Began,
    /// The results so far.
    pub(super) reports: BTreeMap<LaneId, Result<LaneWorkDone, FailedAttempt>>,
    /// What each lane may spend.
    budget: Allowance,
}

impl TeamLanes {
    pub(super) fn new(
        setup: &Arc<TeamSetup>,
        team: &Team,
        plan: TeamPlan,
        base: Began,
        budget: Allowance,
    ) -> Self {
        let (setup, team) = (Arc::clone(setup), team.clone());
        Self { setup, team, plan, base, reports: BTreeMap::new(), budget }
    }

    fn prompts(&self) -> &Prompts {
        self.setup.run.prompts()
    }

    /// Runs every lane to its end.
    pub(super) async fn work(&mut self) -> Result<(), Delivery> {
        let width =
            usize::try_from(self.setup.run.config().lanes.max_subagents).unwrap_or(usize::MAX);
        let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut running = FuturesUnordered::new();
        loop {
            let ready = self.plan.ready(&ended, &begun);
            let free = width.saturating_sub(running.len());
            for lane in ready.iter().take(free) {
                begun.insert(*lane);
                running.push(self.first(*lane)?);
            }
            for (place, lane) in ready.iter().skip(free).enumerate() {
                let why = format!(
                    "number {} in the queue: no more than {} at once",
                    place + 1,
                    counted(width, "lane")
                );
                self.setup.run.for_lane(*lane).publisher.show_wait(why);
            }
            let Some((lane, report)) = running.next().await else { return Ok(()) };
            ended.insert(lane);
            self.reports.insert(lane, report?);
        }
    }

    /// Returns the first attempt of a lane as a future.
    fn first(
        &self,
        lane: LaneId,
    ) -> Result<impl Future<Output = (LaneId, Ended)> + use<>, Delivery> {
        let plan = self.plan.lane(lane).ok_or(JournalClosed)?.clone();
        let needs = self.plan.needs(lane);
        let in_order = self.plan.merge_order().into_iter().filter(|it| needs.contains(it));
        let missing = needs.iter().find(|it| !matches!(self.reports.get(it), Some(Ok(_))));
        let missing = missing.copied();
        let before: Vec<LaneWorkDone> =
            in_order.filter_map(|it| self.reports.get(&it)?.as_ref().ok().cloned()).collect();
        let done: Vec<LaneId> = before.iter().map(|made| made.lane).collect();
        let (prompts, request) = (self.prompts(), &self.setup.brief.request);
        let begun = self.setup.in_parts().cloned().map(Box::new);
        let text = match &begun {
            Some(_) => request.clone(),
            None => brief::lane_instructions(prompts, request, &self.plan, &plan, &done),
        };
        let work = self.at_work(lane, plan.title, self.budget);
        let base = self.base.tree;
        Ok(async move {
            let worked = async {
                if let Some(missing) = missing {
                    return work.give_up(missing).await;
                }
                match work.base(base, before).await? {
                    Ok(base) => work.attempt(1, (text, begun), base).await,
                    Err(why) => work.fail(0, why).await,
                }
            };
            (lane, worked.await)
        })
    }

    /// Has a lane do its part again on the current tree, because of conflicts at `paths`.
    pub(super) async fn replan(
        &self,
        lane: LaneId,
        attempt: u32,
        so_far: TreeId,
        paths: &[RepoPath],
    ) -> Ended {
        let plan = self.plan.lane(lane).ok_or(JournalClosed)?;
        let part = brief::lane_instructions(
            self.prompts(),
            &self.setup.brief.request,
            &self.plan,
            plan,
            &[],
        );
        let text = brief::replanned(self.prompts(), &part, paths);
        let work = self.at_work(lane, plan.title.clone(), self.budget);
        work.attempt(attempt, (text, None), so_far).await
    }

    /// Has a crew fix what fails only when lanes are merged.
    pub(super) async fn fix(
        &self,
        merged: &MergedLanes,
        found: &BTreeSet<LaneId>,
        red: &Red,
    ) -> Ended {
        let lanes = found.iter().filter_map(|lane| self.plan.lane(*lane));
        let Red { class, details } = red;
        let text = brief::fix(self.prompts(), &self.setup.brief.request, lanes, *class, details);
        let budget = share_budget(&self.setup.run, &[LaneId::TOGETHER], 1).await?;
        let title = "bring the lanes together".to_owned();
        self.at_work(LaneId::TOGETHER, title, budget).attempt(1, (text, None), merged.tree).await
    }

    /// Returns the unused budget of the lanes, which have all ended.
    pub(super) fn settle_shares(&self) {
        for lane in &self.plan.lanes {
            self.setup.run.for_lane(lane.id).give_back();
        }
    }

    /// Returns a lane with everything it needs to work.
    fn at_work(&self, lane: LaneId, title: String, budget: Allowance) -> AtWork {
        let Self { setup, team, plan, base, .. } = self;
        let owned = plan.clone();
        let territories: Territories = Arc::new(move |path| match owned.owner_of(path) {
            _ if lane == LaneId::TOGETHER => Territory::Own,
            Some(owner) if owner == lane => Territory::Own,
            Some(owner) => Territory::Of(owner),
            None => Territory::Common,
        });
        let setup = LaneSetup {
            id: lane,
            title,
            budget,
            brief: setup.brief.clone(),
            run: setup.run.for_lane(lane),
            above: setup.workspaces.of(setup.run.for_lane(lane).scope()),
            territories,
            snapshots: setup.snapshots.clone(),
            worktrees: setup.worktrees.clone(),
            origin: setup.origin(&base.left_out),
        };
        AtWork { setup, team: team.clone() }
    }

    /// Removes all worktrees except those of failed lanes, whose paths are returned, and releases the stored trees.
    pub(super) async fn tidy_up(&self, kept: Vec<String>) -> Vec<PathBuf> {
        let setup = Arc::clone(&self.setup);
        on_a_thread(move || {
            if let Err(error) = setup.snapshots.release(setup.run.id()) {
                tracing::warn!(%error, "could not release the trees of lanes; a later start will retry");
            }
            tidy(&setup.snapshots, &setup.worktrees, &kept)
        })
        .await
    }

    /// Returns what each lane spent, as far as it is known.
    pub(super) async fn spent(&self) -> BTreeMap<LaneId, Amount> {
        let mut spent = BTreeMap::new();
        for lane in &self.plan.lanes {
            let admission = self.setup.run.for_lane(lane.id).admission;
            spent.insert(lane.id, admission.spent().await.unwrap_or_default().known);
        }
        spent
    }
}

/// A lane with everything it needs to work.
struct AtWork {
    setup: LaneSetup,
    team: Team,
}

impl AtWork {
    fn publisher(&self) -> &Publisher {
        &self.setup.run.publisher
    }

    /// Returns the tree to start from: `base` with the work of the lanes in `before`, if it can be merged.
    async fn base(
        &self,
        base: TreeId,
        before: Vec<LaneWorkDone>,
    ) -> Result<Result<TreeId, Delivery>, Delivery> {
        self.setup.run.perform(&mut OnTopOf { lane: &self.setup, base, before }).await
    }

    /// Works through an attempt. If the lane dies, the others continue.
    async fn attempt(
        &self,
        number: u32,
        (request, begun): (String, Option<Box<PlanInParts>>),
        base: TreeId,
    ) -> Ended {
        let ended = Arc::default();
        let attempt = LaneAttempt { number, request, begun, base, ended: Arc::clone(&ended) };
        let end = self.team.attempt(self.setup.clone(), attempt).await;
        // A lane that died after its end was recorded has ended that way.
        let end = match (end, ended.get()) {
            (Err(LaneDied), Some(report)) => Ok(Ok(report.clone())),
            (end, _) => end,
        };
        match end {
            Ok(Ok(LaneReport::Completed { tree, files, commands, verified })) => {
                Ok(Ok(LaneWorkDone { lane: self.setup.id, base, tree, files, commands, verified }))
            }
            Ok(Ok(LaneReport::Failed(failed))) => Ok(Err(failed)),
            Ok(Err(closed)) => Err(closed.into()),
            Err(LaneDied) => self.fail(number, lane_died()).await,
        }
    }

    /// Ends a lane that cannot start, because a lane that it waits for failed.
    async fn give_up(&self, missing: LaneId) -> Ended {
        let detail = format!("lane {missing}, which it waits for, did not get done");
        self.fail(0, Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail: detail.into() })
            .await
    }

    /// Records that a lane failed.
    async fn fail(&self, attempt: u32, why: Delivery) -> Ended {
        let name = format!("{}-{attempt}", self.setup.id);
        let worktree = self.setup.worktrees.join(&name).exists().then_some(name);
        let spent = self.setup.run.admission.spent().await.unwrap_or_default().known;
        let files = Vec::new();
        let result = FailedAttempt { worktree: worktree.clone(), ..why.clone().into() };
        let failed = Event::LaneFailed { attempt, why, files, worktree, spent };
        self.publisher().record(failed).await?;
        Ok(Err(result))
    }
}

/// The effect of making the tree that a lane starts from: `base` with the work of the lanes before it.
struct OnTopOf<'l> {
    lane: &'l LaneSetup,
    base: TreeId,
    before: Vec<LaneWorkDone>,
}

impl Effect for OnTopOf<'_> {
    type Outcome = Result<TreeId, Delivery>;
    type Stop = Delivery;
    // The lane's first event contains the result.
    const POSITION: Position = Position::Ahead;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        if let Event::LaneSpawned { base, .. } = event {
            Trace::Foretold(Ok(*base))
        } else if let Event::LaneFailed { why, .. } = event {
            Trace::Foretold(Err(why.clone()))
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, Delivery> {
        if self.before.is_empty() {
            return Ok(Ok(self.base));
        }
        let hold = format!("{}/before-{}", run.id(), self.lane.id);
        let (snapshots, base) = (self.lane.snapshots.clone(), self.base);
        let before = self.before.clone();
        let added = on_a_thread(move || merge_lanes(&snapshots, base, &before, &hold)).await?;
        Ok(added.map_err(|(lane, paths)| {
            let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
            let detail =
                format!("the lanes it waits for conflict: lane {lane} in {}", paths.join(", "));
            Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail: detail.into() }
        }))
    }
}

fn lane_died() -> Delivery {
    Delivery::failed(FailureKind::Internal, "the lane died")
}

/// Gives each of these lanes one of `parts` of the remaining budget.
pub(super) async fn share_budget(
    run: &Run,
    lanes: &[LaneId],
    parts: u64,
) -> Result<Allowance, Delivery> {
    let gone = || Delivery::failed(FailureKind::Admission, "admission is gone");
    let accounts = lanes.iter().map(|lane| run.for_lane(*lane).scope().clone()).collect();
    run.admission.share(accounts, parts).await.ok_or_else(gone)
}
