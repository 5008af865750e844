//! The lanes of a team at work: begun when those they wait for have ended, so many at a time, each for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::lane::{Attempt, LaneReport, LaneSetup, Undone};
use crate::lane_tree::{Territories, Territory};
use crate::team_plan::TeamPlan;
use actors::closed::JournalClosed;
use actors::delivery::{Delivery, FailureKind, NeedsWork, Verified};
use actors::effect::{Effect, Position, Trace};
use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::ledger::{Allowance, Amount};
use actors::prompts::Prompts;
use actors::publisher::Publisher;
use actors::run::Run;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tools::blocking::on_a_thread;
use tree::{RepoPath, TreeId};

use super::together::{MergedLanes, Red, add};
use super::{LaneDied, Team, TeamSetup, brief};
use crate::worktrees::tidy;

/// What the lanes begin from.
pub(super) struct Began {
    pub(super) tree: TreeId,
    pub(super) left_out: Vec<RepoPath>,
}

/// What a lane made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) lane: LaneId,
    /// The tree it began from.
    pub(super) base: TreeId,
    /// The tree it ended with.
    pub(super) tree: TreeId,
    /// What it changed.
    pub(super) files: Vec<StagedFile>,
    /// What checked it.
    pub(super) commands: Vec<String>,
    /// Whether that passed.
    pub(super) verified: Verified,
}

/// What came of a lane, unless the whole team stops.
type Ended = Result<Result<Made, Undone>, Delivery>;

/// The lanes of a team.
pub(super) struct Lanes {
    setup: Arc<TeamSetup>,
    team: Team,
    pub(super) plan: TeamPlan,
    pub(super) base: Began,
    /// What came of each.
    pub(super) reports: BTreeMap<LaneId, Result<Made, Undone>>,
    /// What each may spend.
    budget: Allowance,
}

impl Lanes {
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

    /// Has every lane work to its end.
    pub(super) async fn work(&mut self) -> Result<(), Delivery> {
        let width =
            usize::try_from(self.setup.run.config().lanes.max_subagents).unwrap_or(usize::MAX);
        let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut running = FuturesUnordered::new();
        loop {
            let ready = self.plan.ready(&ended, &begun);
            let room = width.saturating_sub(running.len());
            for lane in ready.iter().take(room) {
                begun.insert(*lane);
                running.push(self.first(*lane)?);
            }
            for (place, lane) in ready.iter().skip(room).enumerate() {
                let why = format!("queued {}.: {width} lanes are at work", place + 1);
                self.setup.run.for_lane(*lane).publisher.show_wait(why);
            }
            let Some((lane, report)) = running.next().await else { return Ok(()) };
            ended.insert(lane);
            self.reports.insert(lane, report?);
        }
    }

    /// The first attempt of a lane, as work to be waited for.
    fn first(
        &self,
        lane: LaneId,
    ) -> Result<impl Future<Output = (LaneId, Ended)> + use<>, Delivery> {
        let plan = self.plan.lane(lane).ok_or(JournalClosed)?.clone();
        let needs = self.plan.needs(lane);
        let in_order = self.plan.merge_order().into_iter().filter(|it| needs.contains(it));
        let missing = needs.iter().find(|it| !matches!(self.reports.get(it), Some(Ok(_))));
        let missing = missing.copied();
        let before: Vec<Made> =
            in_order.filter_map(|it| self.reports.get(&it)?.as_ref().ok().cloned()).collect();
        let done: Vec<LaneId> = before.iter().map(|made| made.lane).collect();
        let text = brief::part(self.prompts(), &self.setup.brief.request, &self.plan, &plan, &done);
        let work = self.at_work(lane, plan.title, self.budget);
        let base = self.base.tree;
        Ok(async move {
            let worked = async {
                if let Some(missing) = missing {
                    return work.give_up(missing).await;
                }
                match work.base(base, before).await? {
                    Ok(base) => work.attempt(1, text, base).await,
                    Err(why) => work.fail(0, why).await,
                }
            };
            (lane, worked.await)
        })
    }

    /// Has a lane do its part again, on what there is by now.
    pub(super) async fn replan(
        &self,
        lane: LaneId,
        attempt: u32,
        so_far: TreeId,
        paths: &[RepoPath],
    ) -> Ended {
        let plan = self.plan.lane(lane).ok_or(JournalClosed)?;
        let part = brief::part(self.prompts(), &self.setup.brief.request, &self.plan, plan, &[]);
        let text = brief::again(self.prompts(), &part, paths);
        self.at_work(lane, plan.title.clone(), self.budget).attempt(attempt, text, so_far).await
    }

    /// Has the core loop mend what fails only when lanes come together.
    pub(super) async fn mend(
        &self,
        merged: &MergedLanes,
        found: &BTreeSet<LaneId>,
        red: &Red,
    ) -> Ended {
        let lanes = found.iter().filter_map(|lane| self.plan.lane(*lane));
        let Red { class, details } = red;
        let text = brief::mend(self.prompts(), &self.setup.brief.request, lanes, *class, details);
        let budget = share(&self.setup.run, &[LaneId::TOGETHER], 1).await?;
        let title = "bring the lanes together".to_owned();
        self.at_work(LaneId::TOGETHER, title, budget).attempt(1, text, merged.tree).await
    }

    /// Takes back what lanes did not use: they have ended.
    pub(super) fn settle_shares(&self) {
        for lane in &self.plan.lanes {
            self.setup.run.for_lane(lane.id).give_back();
        }
    }

    /// A lane as it goes to work.
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

    /// Removes every worktree but those of lanes that failed, and lets go of the trees. Tells where the others are.
    pub(super) async fn tidy_up(&self, kept: Vec<String>) -> Vec<PathBuf> {
        let setup = Arc::clone(&self.setup);
        on_a_thread(move || {
            if let Err(error) = setup.snapshots.release(setup.run.id()) {
                tracing::warn!(%error, "trees of lanes stay until a later start");
            }
            tidy(&setup.snapshots, &setup.worktrees, &kept)
        })
        .await
    }

    /// What each lane used.
    pub(super) async fn spent(&self) -> BTreeMap<LaneId, Amount> {
        let mut spent = BTreeMap::new();
        for lane in &self.plan.lanes {
            let admission = self.setup.run.for_lane(lane.id).admission;
            spent.insert(lane.id, admission.spent().await.unwrap_or_default());
        }
        spent
    }
}

/// A lane with all it needs to work.
struct AtWork {
    setup: LaneSetup,
    team: Team,
}

impl AtWork {
    fn publisher(&self) -> &Publisher {
        &self.setup.run.publisher
    }

    /// The tree to begin from: with what those before it did, if that fits together.
    async fn base(
        &self,
        base: TreeId,
        before: Vec<Made>,
    ) -> Result<Result<TreeId, Delivery>, Delivery> {
        self.setup.run.perform(&mut OnTopOf { lane: &self.setup, base, before }).await
    }

    /// Works through an attempt. Whatever the lane dies of, the others go on.
    async fn attempt(&self, number: u32, request: String, base: TreeId) -> Ended {
        let ended = Arc::default();
        let attempt = Attempt { number, request, base, ended: Arc::clone(&ended) };
        let told = self.team.attempt(self.setup.clone(), attempt).await;
        // One that died after its end was written down has come to that end.
        let told = match (told, ended.get()) {
            (Err(LaneDied), Some(report)) => Ok(Ok(report.clone())),
            (told, _) => told,
        };
        match told {
            Ok(Ok(LaneReport::Completed { tree, files, commands, verified })) => {
                Ok(Ok(Made { lane: self.setup.id, base, tree, files, commands, verified }))
            }
            Ok(Ok(LaneReport::Failed(undone))) => Ok(Err(undone)),
            Ok(Err(closed)) => Err(closed.into()),
            Err(LaneDied) => self.fail(number, lane_died()).await,
        }
    }

    /// Never begins, since a lane that it waits for did not get done.
    async fn give_up(&self, missing: LaneId) -> Ended {
        let detail = format!("lane {missing}, which it waits for, did not get done");
        self.fail(0, Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail: detail.into() })
            .await
    }

    /// Writes down for a lane that it failed.
    async fn fail(&self, attempt: u32, why: Delivery) -> Ended {
        let name = format!("{}-{attempt}", self.setup.id);
        let worktree = self.setup.worktrees.join(&name).exists().then_some(name);
        let spent = self.setup.run.admission.spent().await.unwrap_or_default();
        let files = Vec::new();
        let undone = Undone { why: why.clone(), worktree: worktree.clone() };
        let failed = Event::LaneFailed { attempt, why, files, worktree, spent };
        self.publisher().record(failed).await?;
        Ok(Err(undone))
    }
}

/// The effect of putting together the tree that a lane begins from: with what those before it did, if that fits together.
struct OnTopOf<'l> {
    lane: &'l LaneSetup,
    base: TreeId,
    before: Vec<Made>,
}

impl Effect for OnTopOf<'_> {
    type Outcome = Result<TreeId, Delivery>;
    type Stop = Delivery;
    // It is told by the first event of the lane.
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
        let added = on_a_thread(move || add(&snapshots, base, &before, &hold)).await?;
        Ok(added.map_err(|(lane, paths)| {
            let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
            let detail = format!(
                "what it waits for does not fit together: lane {lane} in {}",
                paths.join(", ")
            );
            Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail: detail.into() }
        }))
    }
}

fn lane_died() -> Delivery {
    Delivery::failed(FailureKind::Internal, "the lane died")
}

/// Gives each of these lanes one of `parts` of what is left to spend.
pub(super) async fn share(run: &Run, lanes: &[LaneId], parts: u64) -> Result<Allowance, Delivery> {
    let gone = || Delivery::failed(FailureKind::Admission, "it is gone");
    let accounts = lanes.iter().map(|lane| run.for_lane(*lane).scope().clone()).collect();
    run.admission.share(accounts, parts).await.ok_or_else(gone)
}
