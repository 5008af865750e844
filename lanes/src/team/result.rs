//! Decides the result of each lane, and with it the result of the run. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::lane::FailedAttempt;
use crate::team::split::team_plan::TeamPlan;
use facts::amounts::Amount;
use facts::delivery::{Delivery, NeedsWork, Verified};
use facts::lane_id::LaneId;
use facts::team::{EndedLane, LaneEnd, Other};
use tree::{RepoPath, TreeId};

use super::merged::LaneWorkDone;

/// The state of the lanes.
#[derive(Debug, Clone)]
pub(super) struct TeamStanding {
    plan: TeamPlan,
    made: BTreeMap<LaneId, LaneWorkDone>,
    /// Lanes that are left out of the result.
    out: BTreeMap<LaneId, LaneEnd>,
    /// Lanes that each lane needs in addition to its plan, because it was redone on top of them.
    on_top_of: BTreeMap<LaneId, BTreeSet<LaneId>>,
    /// Names of worktrees that are kept.
    pub(super) kept: Vec<String>,
    /// True once the result is in the workspace.
    pub(super) written: bool,
    /// Files of the result that the user left out.
    pub(super) left_out: Vec<RepoPath>,
}

impl TeamStanding {
    /// Returns the state after all lanes have ended.
    pub(super) fn new(
        plan: &TeamPlan,
        reports: &BTreeMap<LaneId, Result<LaneWorkDone, FailedAttempt>>,
    ) -> Self {
        let mut standing = Self {
            plan: plan.clone(),
            made: BTreeMap::new(),
            out: BTreeMap::new(),
            on_top_of: BTreeMap::new(),
            kept: Vec::new(),
            written: false,
            left_out: Vec::new(),
        };
        for (lane, report) in reports {
            match report {
                Ok(made) => drop(standing.made.insert(*lane, made.clone())),
                Err(undone) => {
                    standing.keep(undone);
                    standing.leave_out(*lane, LaneEnd::Failed { why: undone.why.clone() });
                }
            }
        }
        standing
    }

    /// Keeps the worktree of a failed attempt.
    pub(super) fn keep(&mut self, undone: &FailedAttempt) {
        self.kept.extend(undone.worktree.clone());
    }

    /// Returns a lane's work, if it is part of the result.
    pub(super) fn made(&self, lane: LaneId) -> Option<LaneWorkDone> {
        self.made.get(&lane).filter(|made| self.is_in(made)).cloned()
    }

    fn is_in(&self, made: &LaneWorkDone) -> bool {
        !made.files.is_empty() && !self.out.contains_key(&made.lane)
    }

    /// Returns a lane that is not part of the result, and why.
    pub(super) fn not_in_result(&self) -> Option<(LaneId, Delivery)> {
        let (lane, end) = self.out.first_key_value()?;
        let why = match end {
            LaneEnd::Failed { why } => why.clone(),
            LaneEnd::Conflicted { paths, with } => lanes_failed(conflict(paths, *with)),
            LaneEnd::Merged | LaneEnd::Staged | LaneEnd::Empty => return None,
        };
        Some((*lane, why))
    }

    /// Returns the lanes that are part of the result, in merge order.
    pub(super) fn order(&self) -> Vec<LaneId> {
        let lanes = self.plan.merge_order().into_iter().chain([LaneId::TOGETHER]);
        lanes.filter(|lane| self.made(*lane).is_some()).collect()
    }

    /// Returns the lanes that each of them depends on.
    pub(super) fn needs(&self) -> BTreeMap<LaneId, BTreeSet<LaneId>> {
        let order = self.order();
        let needs = |lane: &LaneId| {
            let all = self.needed_by(*lane).into_iter().filter(|it| order.contains(it));
            (*lane, all.collect())
        };
        order.iter().map(needs).collect()
    }

    fn needed_by(&self, lane: LaneId) -> BTreeSet<LaneId> {
        let mut all = self.plan.needs(lane);
        all.extend(self.on_top_of.get(&lane).into_iter().flatten());
        all
    }

    /// Returns the commands that checked them, each once.
    pub(super) fn commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        for made in self.order().iter().filter_map(|lane| self.made.get(lane)) {
            for command in &made.commands {
                if !commands.contains(command) {
                    commands.push(command.clone());
                }
            }
        }
        commands
    }

    /// Returns the checks that passed in the worktree of one of these lanes.
    pub(super) fn passed(&self, lanes: &[LaneId]) -> BTreeSet<String> {
        let made = lanes.iter().filter_map(|lane| self.made.get(lane));
        let passed =
            made.filter(|made| matches!(made.verified, Verified::Passed | Verified::Proven));
        passed.flat_map(|made| made.commands.iter().cloned()).collect()
    }

    /// Returns true if the checks of a lane that ended with exactly this tree had failed before.
    pub(super) fn has_proven(&self, tree: TreeId) -> bool {
        let mut made = self.made.values();
        made.any(|made| made.tree == tree && made.verified == Verified::Proven)
    }

    /// Returns a short title for the result.
    pub(super) fn title(&self) -> String {
        let order = self.order();
        let lanes: Vec<String> = order.iter().map(LaneId::to_string).collect();
        format!("lane{} {}", if lanes.len() == 1 { "" } else { "s" }, lanes.join(", "))
    }

    /// Records that a lane was redone on top of those merged before it.
    pub(super) fn remade(&mut self, made: LaneWorkDone) {
        let before = self.order().into_iter().take_while(|lane| *lane != made.lane).collect();
        self.on_top_of.insert(made.lane, before);
        self.made.insert(made.lane, made);
    }

    /// Records a fix for the lanes that fail together.
    pub(super) fn fixed(&mut self, made: LaneWorkDone, found: BTreeSet<LaneId>) {
        self.on_top_of.insert(LaneId::TOGETHER, found);
        self.made.insert(LaneId::TOGETHER, made);
    }

    /// Records that a lane failed.
    pub(super) fn failed(&mut self, lane: LaneId, why: Delivery) {
        self.leave_out(lane, LaneEnd::Failed { why });
    }

    /// Records that a lane conflicts.
    pub(super) fn conflicted(&mut self, lane: LaneId, paths: Vec<RepoPath>, with: Other) {
        self.leave_out(lane, LaneEnd::Conflicted { paths, with });
    }

    /// Leaves out lanes that fail together and could not be fixed, and the lanes that an earlier fix was for.
    pub(super) fn fail_together(&mut self, found: &BTreeSet<LaneId>) {
        let fixed = self.on_top_of.get(&LaneId::TOGETHER).cloned().unwrap_or_default();
        let with_fixed = found.contains(&LaneId::TOGETHER).then_some(fixed);
        let all: BTreeSet<LaneId> =
            found.iter().copied().chain(with_fixed.unwrap_or_default()).collect();
        for lane in &all {
            let others: Vec<String> = all
                .iter()
                .filter(|it| *it != lane && **it != LaneId::TOGETHER)
                .map(LaneId::to_string)
                .collect();
            let detail = if others.is_empty() {
                "it passes alone, but the checks of the merged result fail".to_owned()
            } else {
                format!("the checks fail when it is merged with {}", others.join(", "))
            };
            self.failed(*lane, lanes_failed(detail));
        }
    }

    /// Leaves out a lane and those that depend on it.
    fn leave_out(&mut self, lane: LaneId, end: LaneEnd) {
        self.out.entry(lane).or_insert(end);
        let dependents: Vec<LaneId> = self
            .made
            .keys()
            .copied()
            .filter(|it| !self.out.contains_key(it) && self.needed_by(*it).contains(&lane))
            .collect();
        for dependent in dependents {
            let detail = format!("it builds on lane {lane}, which is not in the result");
            let why = lanes_failed(detail);
            self.leave_out(dependent, LaneEnd::Failed { why });
        }
    }

    /// Returns the result of each lane, by number.
    pub(super) fn ended(&self, spent: &BTreeMap<LaneId, Amount>) -> Vec<EndedLane> {
        let ended = |lane: &crate::team::split::team_plan::LanePlan| {
            let made = self.made.get(&lane.id).map_or(&[][..], |made| &made.files);
            let is_written =
                self.written && made.iter().any(|file| !self.left_out.contains(&file.path));
            let end = match self.out.get(&lane.id) {
                Some(end) => end.clone(),
                None if made.is_empty() => LaneEnd::Empty,
                None if is_written => LaneEnd::Merged,
                None => LaneEnd::Staged,
            };
            let spent = spent.get(&lane.id).copied().unwrap_or_default();
            EndedLane { lane: lane.id, title: lane.title.clone(), end, spent }
        };
        self.plan.lanes.iter().map(ended).collect()
    }
}

/// Returns how the run ends; `end` is the delivery of the merged result, if there was one.
pub(super) fn delivery(lanes: &[EndedLane], end: Option<Delivery>) -> Delivery {
    let undone: Vec<&EndedLane> = lanes
        .iter()
        .filter(|lane| !matches!(lane.end, LaneEnd::Merged | LaneEnd::Staged | LaneEnd::Empty))
        .collect();
    let is_done = matches!(end, Some(Delivery::Delivered { .. }) | None);
    let Some(first) = undone.first().filter(|_| is_done) else {
        let reason = "no lane had anything to change".to_owned();
        return end.unwrap_or(Delivery::NoEditNeeded { reason: reason.into() });
    };
    // An exhausted budget ends the run, whichever lane hit it.
    let spent = undone.iter().find_map(|lane| {
        let LaneEnd::Failed { why: Delivery::BudgetExhausted { limit, detail } } = &lane.end else {
            return None;
        };
        let detail = format!("lane {} used up its share: {detail}", lane.lane).into();
        Some(Delivery::BudgetExhausted { limit: *limit, detail })
    });
    match (spent, &first.end, &end) {
        (Some(spent), ..) => spent,
        (None, LaneEnd::Failed { why }, None) if undone.len() == lanes.len() => why.clone(),
        (None, ..) => {
            let each: Vec<String> = undone.iter().map(|lane| describe(lane)).collect();
            let rest = if end.is_some() { "; the rest is in the workspace" } else { "" };
            let detail = format!("{}{rest}", each.join("; "));
            lanes_failed(detail)
        }
    }
}

fn lanes_failed(detail: String) -> Delivery {
    Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail: detail.into() }
}

/// Describes why a lane is not in the result.
fn describe(lane: &EndedLane) -> String {
    let EndedLane { lane: id, title, end, .. } = lane;
    let why = match end {
        LaneEnd::Merged | LaneEnd::Staged | LaneEnd::Empty => String::new(),
        LaneEnd::Failed { why } => reason(why),
        LaneEnd::Conflicted { paths, with } => conflict(paths, *with),
    };
    format!("lane {id} ({title}): {why}")
}

fn conflict(paths: &[RepoPath], with: Other) -> String {
    let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    let with = match with {
        Other::Lanes => "other lanes",
        Other::User => "your own changes",
    };
    format!("it conflicts with {with} in {}", paths.join(", "))
}

/// Describes why something was not done.
fn reason(why: &Delivery) -> String {
    match why {
        Delivery::Delivered { .. } => String::new(),
        Delivery::NoEditNeeded { reason } => reason.to_string(),
        Delivery::NeedsWork { detail, .. } | Delivery::BudgetExhausted { detail, .. } => {
            detail.to_string()
        }
        Delivery::Denied { what, hint, .. } => format!("denied: {what} ({hint})"),
        Delivery::Cancelled => "stopped".to_owned(),
        Delivery::Paused { why } => format!("paused: {why}"),
        Delivery::Failed { message, .. } => message.to_string(),
    }
}
