//! The table of a run's lanes, built from events and signals. Pure: times are passed in, rows are text of a given width.

mod ending;
pub(crate) mod lines;
pub(crate) mod rows;

use std::collections::BTreeMap;
use std::time::Duration;

use facts::amounts::{Charge, Spending};
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::team::{EndedLane, LaneEnd};

/// The stage of a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Stage {
    /// It has not started.
    #[default]
    Waiting,
    /// Its worktree is being created.
    Opening,
    Planning,
    Editing(u32),
    Applying,
    /// Checks are running; these commands have not ended yet.
    Checking(Vec<String>),
    /// Its work is done but not merged.
    Done,
    Merged,
    Empty,
    Failed,
    Conflicted,
}

impl Stage {
    /// Returns true while a crew works on the lane.
    const fn is_running(&self) -> bool {
        match self {
            Self::Opening
            | Self::Planning
            | Self::Editing(_)
            | Self::Applying
            | Self::Checking(_) => true,
            Self::Waiting
            | Self::Done
            | Self::Merged
            | Self::Empty
            | Self::Failed
            | Self::Conflicted => false,
        }
    }
}

/// A lane, as far as events have shown it.
#[derive(Debug, Clone, Default)]
struct Lane {
    title: String,
    after: Vec<LaneId>,
    stage: Stage,
    attempt: u32,
    /// Why it waits, if it does.
    waiting: Option<String>,
    /// When its attempt started; `None` while it is idle.
    since: Option<Duration>,
    /// Total time of the attempts that have ended.
    took: Duration,
    spent: Spending,
    cost_unknown: bool,
    /// Prompt tokens of which the provider says whether they were in its cache.
    prompt: u64,
    hit: u64,
    /// Bytes received of the current answer.
    received: usize,
    /// The files changed by the last attempt that changed any.
    files: Vec<StagedFile>,
    /// The files of the patch set that was staged last.
    staged: Vec<StagedFile>,
}

impl Lane {
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.waiting = None;
        self.received = 0;
    }

    /// Ends the current attempt.
    fn end(&mut self, stage: Stage, at: Duration) {
        self.enter(stage);
        if let Some(since) = self.since.take() {
            self.took += at.saturating_sub(since);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest changes no row")]
    fn event(&mut self, event: &Event, at: Duration) {
        match event {
            Event::LaneSpawned { attempt, title, .. } => {
                title.clone_into(&mut self.title);
                self.attempt = *attempt;
                self.since = Some(at);
                self.enter(Stage::Opening);
            }
            Event::ArchitectStarted { .. } => self.enter(Stage::Planning),
            Event::EditorStarted { iteration, .. } => self.enter(Stage::Editing(*iteration)),
            Event::ApplyStarted { .. } => self.enter(Stage::Applying),
            Event::PatchStaged { files, .. } => files.clone_into(&mut self.staged),
            Event::VerifyStarted { commands, .. } => {
                self.enter(Stage::Checking(commands.clone()));
            }
            Event::VerificationRun { command, baseline: false, .. } => {
                if let Stage::Checking(commands) = &mut self.stage
                    && let Some(at) = commands.iter().position(|it| it == command)
                {
                    commands.remove(at);
                }
            }
            Event::ModelReply { usage, charged, cost_nano_usd, error, .. } => {
                if let Some(usage) = usage
                    && let Some(hit) = usage.hit
                {
                    self.prompt += usage.prompt;
                    self.hit += hit;
                }
                self.cost_unknown |= cost_nano_usd.is_none();
                self.charge(Charge::of(*charged, usage.as_ref(), error.as_ref()));
            }
            Event::CallDropped { charged, .. } => self.charge(Charge::AtMost(*charged)),
            Event::LaneCompleted { files, .. } => {
                self.changed(files);
                self.end(Stage::Done, at);
            }
            Event::LaneFailed { attempt, files, .. } => {
                self.attempt = *attempt;
                self.changed(files);
                self.end(Stage::Failed, at);
            }
            _ => {}
        }
    }

    /// Keeps the changes of an earlier attempt if this one changed nothing, as `diff --lane` does.
    fn changed(&mut self, files: &[StagedFile]) {
        if !files.is_empty() {
            files.clone_into(&mut self.files);
        }
    }

    fn charge(&mut self, charge: Charge) {
        self.received = 0;
        self.waiting = None;
        self.spent = self.spent.plus(charge.spending());
    }
}

/// The lanes of a run.
#[derive(Debug, Default)]
pub(crate) struct LaneTable {
    lanes: BTreeMap<LaneId, Lane>,
    /// The lanes that were merged last.
    merged: Vec<LaneId>,
    /// The largest number of lanes merged so far.
    most_merged: usize,
}

impl LaneTable {
    /// Returns true if the run has no lanes.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Returns the lanes by number. The lane that repairs the combined result comes last, as it also runs last.
    fn in_order(&self) -> impl Iterator<Item = (LaneId, &Lane)> {
        let (repair, planned): (Vec<_>, Vec<_>) =
            self.lanes.iter().partition(|(id, _)| **id == LaneId::TOGETHER);
        planned.into_iter().chain(repair).map(|(id, lane)| (*id, lane))
    }

    /// Names the lanes that were merged last: all of them, or a subset during a bisection.
    pub(crate) fn merged(&self) -> String {
        if self.merged.len() == self.most_merged {
            return "all lanes".to_owned();
        }
        let lanes: Vec<String> = self.merged.iter().map(LaneId::to_string).collect();
        let plural = if lanes.len() == 1 { "" } else { "s" };
        format!("lane{plural} {}", lanes.join(", "))
    }

    /// Records an event of a lane or about lanes. `at` is the time since the run started.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest changes no row")]
    pub(crate) fn event(&mut self, lane: Option<LaneId>, event: &Event, at: Duration) {
        if let Some(lane) = lane {
            self.lanes.entry(lane).or_default().event(event, at);
            return;
        }
        match event {
            Event::LanesPlanned { lanes, .. } => {
                let planned = lanes.iter().map(|lane| {
                    let (title, after) = (lane.title.clone(), lane.after.clone());
                    (lane.lane, Lane { title, after, ..Lane::default() })
                });
                self.lanes.extend(planned);
            }
            Event::LaneMerged { lane, .. } => self.end(*lane, Stage::Merged, at),
            Event::LaneConflicted { lane, .. } => self.end(*lane, Stage::Conflicted, at),
            Event::LanesMerged { lanes, .. } => {
                lanes.clone_into(&mut self.merged);
                self.most_merged = self.most_merged.max(lanes.len());
                if lanes.contains(&LaneId::TOGETHER) {
                    self.end(LaneId::TOGETHER, Stage::Merged, at);
                }
            }
            Event::LanesFinished { lanes } => {
                for lane in lanes {
                    self.end(lane.lane, stage_of(lane), at);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, lane: LaneId, stage: Stage, at: Duration) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.end(stage, at);
        }
    }

    /// Counts a piece of an answer that arrived in a lane.
    pub(crate) fn hear(&mut self, lane: LaneId, bytes: usize) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.received += bytes;
            lane.waiting = None;
        }
    }

    /// Records that a lane waits, and why.
    pub(crate) fn wait(&mut self, lane: LaneId, why: String) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.waiting = Some(why);
        }
    }

    /// Returns the files of the patch set that a lane staged last.
    pub(crate) fn staged(&self, lane: LaneId) -> &[StagedFile] {
        self.lanes.get(&lane).map_or(&[], |lane| &lane.staged)
    }
}

const fn stage_of(lane: &EndedLane) -> Stage {
    match lane.end {
        LaneEnd::Merged => Stage::Merged,
        LaneEnd::Staged => Stage::Done,
        LaneEnd::Empty => Stage::Empty,
        LaneEnd::Failed { .. } => Stage::Failed,
        LaneEnd::Conflicted { .. } => Stage::Conflicted,
    }
}

#[cfg(test)]
mod tests;
