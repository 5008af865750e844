//! What is known of a run, folded from its events and signals, and what each of them is worth to be told. Pure: times are given.

mod ending;
mod events;
mod lines;
mod mission;
mod used;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::plan::StepMark;
use actors::publisher::{Holds, OpenQuestion, Proposal, Question, Signal};
use actors::scope::Scope;
use actors::words::Intent;
use actors::workspace::Taken;
use anstyle::{AnsiColor, Style};
use model::{AgentRole, ModelError};
use orchestrator::orchestrator::Outcome;

use crate::answer::{Offers, OnScreen};
use crate::diff::{changes_as_text, harmless, harmless_text};
use crate::lanes::LaneTable;
use crate::paint::{Background, Paint};

pub use self::lines::settled;
pub use self::mission::MissionState;
pub use self::used::Used;
pub use crate::lanes::lines::Detail;

pub(crate) use self::lines::{check_in_words, why_it_failed};

/// What a view is worth to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Whole lines about the run.
    Line(String),
    /// A piece of the result, as it comes; control characters of it are harmless, lines end with a newline.
    Piece(String),
}

/// Whether an answer is shown as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Piece by piece.
    AsItComes,
    /// As a whole, at the end.
    AtTheEnd,
}

/// What a front shows of a run, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shows {
    /// Whether to colour.
    pub paint: Paint,
    /// Whether there is a table of lanes beside what is told.
    pub detail: Detail,
    /// Whether an answer is shown as it comes.
    pub streams: Streams,
    /// What is told of what was used.
    pub accounts: Accounts,
    /// Where commands are given.
    pub commands: CommandsGiven,
    /// Whether a commit is offered.
    pub commits: Commits,
}

/// Whether what is delivered can be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Commits {
    /// The workspace is under git.
    Offered,
    /// It is not.
    #[default]
    NotOffered,
}

/// What is told of what a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounts {
    /// Calls, tokens, cost and time.
    InALine,
    /// Also the cache, and what each role had the provider read.
    InFull,
}

/// Where the user gives commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandsGiven {
    /// In a shell: `deepseek diff`.
    OfTheShell,
    /// In the conversation: `/diff`.
    OfTheConversation,
    /// Nowhere: what a demonstration leaves behind is not where commands look.
    Nowhere,
}

impl CommandsGiven {
    /// How the user has done what was taken for a question.
    pub(crate) const fn has_it_done(self) -> &'static str {
        match self {
            Self::OfTheConversation => "/edit TEXT has it done",
            Self::OfTheShell | Self::Nowhere => "with --force-execute it is done",
        }
    }

    /// What a command does, and the command as the user gives it.
    pub(crate) fn way(self, does: &str, words: &str) -> Option<String> {
        match self {
            Self::OfTheShell => Some(format!("{does}: deepseek {words}")),
            Self::OfTheConversation => Some(format!("{does}: /{words}")),
            Self::Nowhere => None,
        }
    }
}

/// The plan in hand.
#[derive(Debug, Default)]
struct InHand {
    version: u32,
    steps: Vec<(String, Option<StepMark>)>,
}

/// The checkpoint that undoes the last request which changed something, found from the events of a session in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UndoPoint {
    /// The checkpoint before the first change of that request; `None` if no request has changed anything.
    start: Option<u64>,
    /// True once the last request has changed something.
    has_changed: bool,
}

impl UndoPoint {
    /// Takes in the next event.
    pub fn note(&mut self, event: &Event) {
        if let Event::RunStarted { intent, .. } = event
            && *intent != Intent::Review
        {
            self.has_changed = false;
        }
        if let Event::CheckpointCreated { checkpoint, .. } = event
            && !std::mem::replace(&mut self.has_changed, true)
        {
            self.start = Some(*checkpoint);
        }
    }
}

/// A run, and what was used in it. Times are counted from any moment, the same for all of them.
#[derive(Debug)]
pub struct RunView {
    shows: Shows,
    phase: String,
    waiting: Option<String>,
    since: Duration,
    started: Duration,
    heard: usize,
    plan_only: bool,
    /// Whether the run is a review, whose answer is told in its own form at the end.
    reviews: bool,
    plan: InHand,
    /// The files of the last patch set, shown once it is applied.
    staged: Vec<StagedFile>,
    /// Where the last diff was read tolerantly, in each lane: whoever approves it is told.
    tolerated: BTreeMap<Option<LaneId>, String>,
    undo: UndoPoint,
    /// The last failure of a call, so that it is told once.
    last_failure: Option<ModelError>,
    streamed: String,
    used: Used,
    /// How far commands are confined, as it was told last.
    confined: String,
    /// The lanes of the run, if it has any.
    lanes: LaneTable,
    /// How the mission stands, if the run is one.
    mission: MissionState,
    told: Vec<Told>,
}

impl RunView {
    /// A view of nothing yet.
    pub fn new(shows: Shows, at: Duration) -> Self {
        Self {
            shows,
            phase: "reading the request".to_owned(),
            waiting: None,
            since: at,
            started: at,
            heard: 0,
            plan_only: false,
            reviews: false,
            plan: InHand::default(),
            staged: Vec::new(),
            tolerated: BTreeMap::new(),
            undo: UndoPoint::default(),
            last_failure: None,
            streamed: String::new(),
            used: Used::default(),
            confined: String::new(),
            lanes: LaneTable::default(),
            mission: MissionState::default(),
            told: Vec::new(),
        }
    }

    /// A request was submitted at this time: nothing that is shown while it runs is left of the one before it. What an undo
    /// needs of that one is kept until the new one changes something.
    pub fn submitted(&mut self, at: Duration) {
        "reading the request".clone_into(&mut self.phase);
        (self.waiting, self.heard) = (None, 0);
        (self.since, self.started) = (at, at);
        (self.used, self.mission) = (Used::default(), MissionState::default());
        (self.plan, self.lanes) = (InHand::default(), LaneTable::default());
        self.tolerated.clear();
        self.staged.clear();
    }

    /// Takes in what happened, and tells what is worth it. Questions are told by [`Self::question`].
    pub fn signal(&mut self, signal: &Signal, at: Duration) -> Vec<Told> {
        match signal {
            Signal::Event(envelope) => self.event(envelope, at),
            Signal::Text(speaker, text) => match speaker.scope.lane() {
                Some(lane) => self.lanes.hear(lane, text.len()),
                None => self.hear(speaker.role, text),
            },
            Signal::Reasoning(speaker, text) => match speaker.scope.lane() {
                Some(lane) => self.lanes.hear(lane, text.len()),
                None => self.heard += text.len(),
            },
            Signal::Waiting(scope, why) => match (scope.lane(), scope.child()) {
                (Some(lane), _) => self.lanes.wait(lane, why.to_string()),
                (None, Some(number)) => self.child_waits(number, why),
                (None, None) => self.waiting = Some(harmless(why)),
            },
            Signal::Confined(level) => self.tell_confined(&level.to_string()),
            Signal::Question(_) | Signal::Asked(_) => {}
        }
        std::mem::take(&mut self.told)
    }

    /// Takes in what happened to the request before this process lived.
    pub fn earlier(&mut self, scope: &Scope, event: &Event, at: Duration) {
        let lane = scope.lane();
        self.lanes.event(lane, event, at.saturating_sub(self.started));
        self.undo.note(event);
        self.note_plan(lane, event);
        self.count(event, lane);
        match scope.child() {
            Some(number) => self.child_event(number, event),
            None if lane.is_none() => self.mission_event(event, at),
            None => {}
        }
        self.told.clear();
    }

    /// A question as it stands on the screen.
    pub fn question(&self, question: &Question) -> OnScreen {
        let tolerated = self.tolerated.get(&question.scope.lane()).cloned().unwrap_or_default();
        let change = match question.what {
            Proposal::Patch(_, taken) => Some(taken),
            Proposal::Command(..) | Proposal::Mission(_) | Proposal::Network(_) => None,
        };
        let (shown, asks, offers) = match &question.what {
            Proposal::Patch(changes, taken) => {
                let shown = changes_as_text(changes, self.shows.paint) + &tolerated;
                let paths = changes.iter().map(|change| change.path.to_string());
                let offers = match taken {
                    taken if taken.is_by_file() && changes.len() > 1 => {
                        Offers::Files(paths.collect())
                    }
                    Taken::ByFile | Taken::RestStays | Taken::Whole => Offers::Once,
                };
                (shown, "Apply it?", offers)
            }
            Proposal::Command(command, holds) => {
                let offers = match holds {
                    Holds::InThisRun => Offers::Once,
                    Holds::Always => Offers::Always,
                };
                (format!("  $ {}\n", harmless(command)), "Run it?", offers)
            }
            Proposal::Mission(card) => {
                let asks = "A no with a reason has it changed. Carry it out?";
                (format!("{}\n", harmless_text(card)), asks, Offers::Once)
            }
            Proposal::Network(command) => {
                (format!("  $ {}\n", harmless(command)), "Run it again with it?", Offers::Once)
            }
        };
        let who = asker(&question.scope);
        let asks = format!("{}. {asks}", harmless_text(&question.why));
        OnScreen { who, shown, asks, offers, change }
    }

    /// A question of a model as it stands on the screen. It is answered in words.
    pub fn open_question(question: &OpenQuestion) -> OnScreen {
        let who = asker(&question.scope);
        let asks = harmless_text(&question.text);
        OnScreen { who, shown: String::new(), asks, offers: Offers::Once, change: None }
    }

    /// What it is doing, in a line: for whoever waits.
    pub fn progress(&self, at: Duration) -> String {
        let seconds = at.saturating_sub(self.since).as_secs_f64();
        let mut line = format!("{} · {seconds:.0} s", self.phase);
        if let Some(why) = &self.waiting {
            write!(line, " · {why}").ok();
        } else if self.heard > 0 {
            write!(line, " · about {} tokens", self.heard / 4).ok();
        }
        if let Some(cost) = self.used.cost {
            write!(line, " · {cost} so far").ok();
        }
        line
    }

    /// A row for each lane, none wider than `width` cells.
    pub fn lane_rows(&self, width: usize, at: Duration) -> Vec<String> {
        self.lanes.rows(width, at.saturating_sub(self.started), self.shows.paint)
    }

    /// The steps of the plan in hand, with what became of them.
    pub fn steps(&self) -> &[(String, Option<StepMark>)] {
        &self.plan.steps
    }

    /// The checkpoint before the first change of the last run that changed something.
    pub const fn start(&self) -> Option<u64> {
        self.undo.start
    }

    /// Sets what can be undone of the requests that the session had before it was opened.
    pub const fn resumes_after(&mut self, undo: UndoPoint) {
        self.undo = undo;
    }

    /// What was used so far.
    pub const fn used(&self) -> &Used {
        &self.used
    }

    /// Whether a part of an answer has been told, and its end has not.
    pub const fn is_streaming(&self) -> bool {
        !self.streamed.is_empty()
    }

    /// What is told when the run has ended in the session of this id.
    pub fn outcome(&mut self, outcome: &Outcome, session: &str, at: Duration) -> Vec<Told> {
        self.ended(outcome, session, at);
        self.plan = InHand::default();
        std::mem::take(&mut self.told)
    }

    fn say(&mut self, text: impl Into<String>) {
        self.told.push(Told::Line(text.into()));
    }

    fn result(&mut self, text: impl Into<String>) {
        self.told.push(Told::Piece(text.into()));
    }

    /// What the terminal shows it on has turned out to be this.
    pub fn stands_on(&mut self, background: Background) {
        self.shows.paint = self.shows.paint.on(background);
    }

    fn style(&self, colour: AnsiColor, text: &str) -> String {
        self.shows.paint.with(Style::new().fg_color(Some(colour.into())).bold(), text)
    }

    fn enter(&mut self, phase: &str, more: &str, at: Duration) {
        phase.clone_into(&mut self.phase);
        self.since = at;
        self.waiting = None;
        self.heard = 0;
        let title = self.style(AnsiColor::Blue, &format!("● {phase}"));
        self.say(format!("{title} {more}").trim_end());
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events say nothing of the plan")]
    fn note_plan(&mut self, lane: Option<LaneId>, event: &Event) {
        match event {
            Event::RunStarted { intent, .. } => {
                self.reviews = *intent == Intent::Review;
                // A review may follow the request that it is of.
                if !self.reviews {
                    self.plan = InHand::default();
                }
            }
            Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. }
                if lane.is_none() =>
            {
                let steps = plan.steps.iter().map(|step| (harmless(step), None)).collect();
                self.plan = InHand { version: *version, steps };
            }
            Event::StepMarked { plan, step, mark } if *plan == self.plan.version => {
                if let Some((_, marked)) =
                    step.checked_sub(1).and_then(|at| self.plan.steps.get_mut(at))
                {
                    *marked = Some(*mark);
                }
            }
            _ => {}
        }
    }

    /// A piece of an answer: told at once when it is what the user asked for, else only counted.
    fn hear(&mut self, role: AgentRole, text: &str) {
        self.heard += text.len();
        self.waiting = None;
        let is_answer = role == AgentRole::Analysis && !self.reviews;
        if is_answer && self.shows.streams == Streams::AsItComes {
            self.streamed.push_str(text);
            self.result(harmless_text(text));
        }
    }
}

/// Who asks, where it is not the run itself.
fn asker(scope: &Scope) -> String {
    scope.lane().map_or_else(String::new, |lane| format!("lane {lane} asks: "))
}

#[cfg(test)]
mod tests;
