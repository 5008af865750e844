//! The lanes of a run as a table: what events and signals tell of each. Pure: times are given, rows are text of a given width.

mod ending;
pub(crate) mod lines;
pub(crate) mod rows;

use std::collections::BTreeMap;
use std::time::Duration;

use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::ledger::Amount;
use actors::team::{EndedLane, LaneEnd};

/// Where a lane stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Stage {
    /// It has not begun; these have to end before.
    #[default]
    Waiting,
    /// It gets its worktree.
    Opening,
    Planning,
    Editing(u32),
    Applying,
    /// These commands are still to be run.
    Checking(Vec<String>),
    /// It did its part, and has not been merged.
    Done,
    Merged,
    Empty,
    Failed,
    Conflicted,
}

impl Stage {
    /// Whether a crew is at it.
    const fn is_at_work(&self) -> bool {
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

/// What is known of a lane.
#[derive(Debug, Clone, Default)]
struct Lane {
    title: String,
    after: Vec<LaneId>,
    stage: Stage,
    attempt: u32,
    /// Why it waits.
    waiting: Option<String>,
    /// When its attempt began; none while it is idle.
    since: Option<Duration>,
    /// How long its attempts took that have ended.
    took: Duration,
    spent: Amount,
    cost_unknown: bool,
    prompt: u64,
    hit: u64,
    /// Bytes of the answer that is on its way.
    heard: usize,
    /// What it changed in the last attempt that changed something.
    files: Vec<StagedFile>,
    /// The patch set that was staged last.
    staged: Vec<StagedFile>,
}

impl Lane {
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.waiting = None;
        self.heard = 0;
    }

    /// Its work has ended.
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
            Event::EditorStarted { iteration } => self.enter(Stage::Editing(*iteration)),
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
            Event::ModelReply { usage, charged, cost_nano_usd, .. } => {
                if let Some(usage) = usage {
                    self.prompt += usage.prompt;
                    self.hit += usage.hit;
                }
                self.cost_unknown |= cost_nano_usd.is_none();
                self.charge(charged);
            }
            Event::CallDropped { charged, .. } => self.charge(charged),
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

    /// What an attempt did is not forgotten for a later one that did nothing: that is what `diff --lane` shows, too.
    fn changed(&mut self, files: &[StagedFile]) {
        if !files.is_empty() {
            files.clone_into(&mut self.files);
        }
    }

    fn charge(&mut self, charged: &Amount) {
        self.heard = 0;
        self.waiting = None;
        self.spent.tokens += charged.tokens;
        self.spent.calls += charged.calls;
        self.spent.nano_usd = self.spent.nano_usd + charged.nano_usd;
    }
}

/// The lanes of a run.
#[derive(Debug, Default)]
pub(crate) struct LaneTable {
    lanes: BTreeMap<LaneId, Lane>,
    /// Those that were brought together last.
    together: Vec<LaneId>,
    /// The most that were.
    most: usize,
}

impl LaneTable {
    /// Whether the run has no lanes.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The lanes by number; where lanes are mended that do not fit together comes last, as it does in time.
    fn in_order(&self) -> impl Iterator<Item = (LaneId, &Lane)> {
        let (mended, planned): (Vec<_>, Vec<_>) =
            self.lanes.iter().partition(|(id, _)| **id == LaneId::TOGETHER);
        planned.into_iter().chain(mended).map(|(id, lane)| (*id, lane))
    }

    /// The lanes that were brought together last, in words: all, or so many of them as a search asks for.
    pub(crate) fn together(&self) -> String {
        if self.together.len() == self.most {
            return "all lanes".to_owned();
        }
        let lanes: Vec<String> = self.together.iter().map(LaneId::to_string).collect();
        let plural = if lanes.len() == 1 { "" } else { "s" };
        format!("lane{plural} {}", lanes.join(", "))
    }

    /// Something happened, in a lane or to lanes. `at` is the time since the run began.
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
                lanes.clone_into(&mut self.together);
                self.most = self.most.max(lanes.len());
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

    /// A piece of an answer came in a lane.
    pub(crate) fn hear(&mut self, lane: LaneId, bytes: usize) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.heard += bytes;
            lane.waiting = None;
        }
    }

    /// A lane waits.
    pub(crate) fn wait(&mut self, lane: LaneId, why: String) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.waiting = Some(why);
        }
    }

    /// The patch set that a lane staged last.
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
