//! The state of a run, folded from its events and signals, and the text to show for each of them. Pure: callers pass the time.

mod ending;
mod events;
mod lines;
mod mission;
mod used;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checks::proof::OldTree;
use checks::wording::short_number;
use facts::event::{Event, StagedFile};
use facts::grammar::plan::StepMark;
use facts::lane_id::LaneId;
use facts::scope::Scope;
use facts::signal::Acceptance;
use facts::signal::{ApprovalQuestion, Holds, OpenQuestion, Proposal, Signal};
use facts::words::RequestIntent;
use model::{AgentRole, ModelError};
use orchestrator::root::RequestOutcome;
use tools::count::counted;

use crate::answer::{Offers, ShownQuestion};
use crate::diff::{changes_as_text, harmless, harmless_text};
use crate::lanes::LaneTable;
use crate::paint::{Background, Paint};

pub use self::lines::settled;
pub use self::mission::MissionState;
pub use self::used::Used;
pub use crate::lanes::lines::Detail;

use self::lines::longer_thinker;
pub(crate) use self::lines::{check_in_words, why_it_failed};

/// The activity while an answer arrives.
const ANSWERING: &str = "answering";

/// Text to show for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewItem {
    /// Whole lines about the run.
    Line(String),
    /// A piece of the result, as it arrives. Control characters are made harmless; lines end with a newline.
    Piece(String),
}

/// When an answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Piece by piece, as it arrives.
    AsItComes,
    /// As a whole, at the end.
    AtTheEnd,
}

/// What a front end shows of a run, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewOptions {
    /// Whether to use colours.
    pub paint: Paint,
    /// How much is shown of each lane in lines, which depends on whether there is a table of lanes.
    pub detail: Detail,
    /// When an answer is shown.
    pub streams: Streams,
    /// How much of the usage is shown.
    pub accounts: Accounts,
    /// Where the user enters commands.
    pub commands: CommandsGiven,
    /// Whether to offer a commit.
    pub commits: Commits,
}

/// Whether a delivered change can be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Commits {
    /// The workspace is under git.
    Offered,
    /// The workspace is not under git.
    #[default]
    NotOffered,
}

/// How much of a run's usage is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounts {
    /// Calls, tokens, cost and time.
    InALine,
    /// Also the cache, and the prompt tokens of each role.
    InFull,
}

/// Where the user enters commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandsGiven {
    /// In a shell: `deepseek diff`.
    OfTheShell,
    /// In the conversation: `/diff`.
    OfTheConversation,
    /// Nowhere: commands would not find what a demo leaves behind.
    Nowhere,
}

impl CommandsGiven {
    /// Returns how the user can have a message treated as an edit that was taken for a question.
    pub(crate) const fn edit_hint(self) -> &'static str {
        match self {
            Self::OfTheConversation => "use /edit TEXT to request an edit",
            Self::OfTheShell | Self::Nowhere => "use --force-execute to request an edit",
        }
    }

    /// Returns what a command does, and the command as the user enters it; `None` if commands cannot be used.
    pub(crate) fn way(self, does: &str, words: &str) -> Option<String> {
        match self {
            Self::OfTheShell => Some(format!("{does}: deepseek {words}")),
            Self::OfTheConversation => Some(format!("{does}: /{words}")),
            Self::Nowhere => None,
        }
    }
}

/// The current plan, with the mark of each step.
#[derive(Debug, Default)]
struct CurrentPlan {
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
            && *intent != RequestIntent::Review
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

/// A view of a run and its usage. All times count from the same arbitrary moment.
#[derive(Debug)]
pub struct RunView {
    options: ViewOptions,
    phase: String,
    waiting: Option<String>,
    since: Duration,
    started: Duration,
    heard: usize,
    plan_only: bool,
    /// True if the run is a review; its answer is shown at the end, in its own form.
    reviews: bool,
    plan: CurrentPlan,
    /// The files of the last patch set, shown once it is applied.
    staged: Vec<StagedFile>,
    /// Where the last diff of each lane was read leniently; shown to the user who approves it.
    tolerated: BTreeMap<Option<LaneId>, String>,
    undo: UndoPoint,
    /// The result of the tests of the change on the old tree, if they were tried there.
    on_old_tree: Option<OldTree>,
    /// How many tests each check of the last verification skipped.
    skipped: BTreeMap<String, u64>,
    /// The last failure of a call, so that it is shown once.
    last_failure: Option<ModelError>,
    /// The reason for which the last answer was refused.
    last_refusal: String,
    streamed: String,
    /// The model that answers in place of the configured one, because it thinks longer.
    thinker: Option<String>,
    used: Used,
    /// What models were not shown, as far as the user knows it.
    omitted: BTreeSet<String>,
    /// Servers of tools that cannot be used, as far as the user knows it.
    unusable: BTreeSet<String>,
    /// The confinement of commands, as it was last shown.
    confined: String,
    /// The lanes of the run, if it has any.
    lanes: LaneTable,
    /// The progress of the mission, if the run is one.
    mission: MissionState,
    /// Text that has not been returned yet.
    shown: Vec<ViewItem>,
}

impl RunView {
    /// Creates a view without a run.
    pub fn new(options: ViewOptions, at: Duration) -> Self {
        Self {
            options,
            phase: "reading the request".to_owned(),
            waiting: None,
            since: at,
            started: at,
            heard: 0,
            plan_only: false,
            reviews: false,
            plan: CurrentPlan::default(),
            staged: Vec::new(),
            tolerated: BTreeMap::new(),
            undo: UndoPoint::default(),
            on_old_tree: None,
            skipped: BTreeMap::new(),
            last_failure: None,
            last_refusal: String::new(),
            streamed: String::new(),
            thinker: None,
            used: Used::default(),
            omitted: BTreeSet::new(),
            unusable: BTreeSet::new(),
            confined: String::new(),
            lanes: LaneTable::default(),
            mission: MissionState::default(),
            shown: Vec::new(),
        }
    }

    /// Resets the view for a request that was submitted at this time. What an undo of the previous run needs is kept until the
    /// new one changes something.
    pub fn submitted(&mut self, at: Duration) {
        "reading the request".clone_into(&mut self.phase);
        (self.waiting, self.heard) = (None, 0);
        (self.since, self.started) = (at, at);
        (self.used, self.mission) = (Used::default(), MissionState::default());
        (self.plan, self.lanes) = (CurrentPlan::default(), LaneTable::default());
        self.tolerated.clear();
        self.staged.clear();
        self.thinker = None;
    }

    /// Records a signal and returns the text to show for it. For questions, see [`Self::question`].
    pub fn signal(&mut self, signal: &Signal, at: Duration) -> Vec<ViewItem> {
        match signal {
            Signal::Event(envelope) => self.event(envelope, at),
            Signal::Text(speaker, text) => match speaker.scope.lane() {
                Some(lane) => self.lanes.hear(lane, text.len()),
                None => self.hear(speaker.role, text, at),
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
            Signal::Paused(why) => self.waiting = Some(harmless(why)),
            Signal::Unapprovable(why) => self.say(format!("  ! {}", harmless(why))),
            Signal::Confined(level) => self.tell_confined(&level.to_string()),
            Signal::Question(_) | Signal::Asked(_) => {}
        }
        std::mem::take(&mut self.shown)
    }

    /// Records an event of the request from before this process started, without showing it.
    pub fn earlier(&mut self, scope: &Scope, event: &Event, at: Duration) {
        let lane = scope.lane();
        self.lanes.event(lane, event, at.saturating_sub(self.started));
        self.undo.note(event);
        self.note_work(lane, event);
        self.count(event, lane);
        match scope.child() {
            Some(number) => self.child_event(number, event),
            None if lane.is_none() => self.mission_event(event, at),
            None => {}
        }
        self.shown.clear();
    }

    /// Returns a request for approval as it is shown.
    pub fn question(&self, question: &ApprovalQuestion) -> ShownQuestion {
        let tolerated = self.tolerated.get(&question.scope.lane()).cloned().unwrap_or_default();
        let change = match question.what {
            Proposal::Patch(_, taken) => Some(taken),
            Proposal::Command(..)
            | Proposal::Mission(_)
            | Proposal::Network(_)
            | Proposal::Tool(_) => None,
        };
        let (shown, asks, offers) = match &question.what {
            Proposal::Patch(changes, taken) => {
                let shown = changes_as_text(changes, self.options.paint) + &tolerated;
                let paths = changes.iter().map(|change| change.path.to_string());
                let offers = match taken {
                    taken if taken.is_by_file() && changes.len() > 1 => {
                        Offers::Files(paths.collect())
                    }
                    Acceptance::ByFile | Acceptance::RestStays | Acceptance::Whole => Offers::Once,
                };
                (shown, "Apply it?", offers)
            }
            Proposal::Command(command, holds) => {
                let offers = match holds {
                    Holds::InThisRun => Offers::Once,
                    Holds::Always => Offers::Always(command.clone()),
                };
                (format!("  $ {}\n", harmless(command)), "Run it?", offers)
            }
            Proposal::Mission(card) => {
                let asks = "To change it, answer no with a reason. Execute it?";
                (format!("{}\n", harmless_text(card)), asks, Offers::Once)
            }
            Proposal::Network(command) => {
                (format!("  $ {}\n", harmless(command)), "Run it with it?", Offers::Once)
            }
            Proposal::Tool(call) => (format!("  {}\n", harmless(call)), "Call it?", Offers::Once),
        };
        let who = asker(&question.scope);
        let asks = format!("{}. {asks}", harmless_text(&question.why));
        ShownQuestion { who, shown, asks, offers, change }
    }

    /// Returns a model's question as it is shown. The user answers it in words.
    pub fn open_question(question: &OpenQuestion) -> ShownQuestion {
        let who = asker(&question.scope);
        let asks = harmless_text(&question.text);
        ShownQuestion { who, shown: String::new(), asks, offers: Offers::Once, change: None }
    }

    /// Returns the current activity in one line.
    pub fn progress(&self, at: Duration) -> String {
        let seconds = at.saturating_sub(self.since).as_secs_f64();
        let mut line = format!("{} · {seconds:.0} s", self.phase);
        if let Some(why) = &self.waiting {
            write!(line, " · {why}").ok();
        } else if self.heard > 0 {
            write!(line, " · about {} out", counted(self.heard.div_ceil(4), "token")).ok();
        }
        if self.used.prompt > 0 {
            write!(line, " · {} tokens sent", short_number(self.used.prompt)).ok();
        }
        if let Some(cost) = self.used.cost {
            write!(line, " · {cost} so far").ok();
        }
        line
    }

    /// Returns a row for each lane, none wider than `width` cells.
    pub fn lane_rows(&self, width: usize, at: Duration) -> Vec<String> {
        self.lanes.rows(width, at.saturating_sub(self.started), self.options.paint)
    }

    /// Returns the steps of the current plan with their marks; `None` for steps without one.
    pub fn steps(&self) -> &[(String, Option<StepMark>)] {
        &self.plan.steps
    }

    /// Returns the checkpoint before the first change of the last run that changed something.
    pub const fn undo_start(&self) -> Option<u64> {
        self.undo.start
    }

    /// Sets what can be undone of the requests that the session had before it was opened.
    pub const fn resumes_after(&mut self, undo: UndoPoint) {
        self.undo = undo;
    }

    /// Returns the model that answers now in place of the configured one, because it thinks longer.
    pub fn thinker(&self) -> Option<&str> {
        self.thinker.as_deref()
    }

    /// Returns the usage so far.
    pub const fn used(&self) -> &Used {
        &self.used
    }

    /// Returns true while only a part of an answer has been shown.
    pub const fn is_streaming(&self) -> bool {
        !self.streamed.is_empty()
    }

    /// Returns the text to show at the end of a run in the session with this id.
    pub fn outcome(
        &mut self,
        outcome: &RequestOutcome,
        session: &str,
        at: Duration,
    ) -> Vec<ViewItem> {
        self.ended(outcome, session, at);
        (self.plan, self.thinker) = (CurrentPlan::default(), None);
        std::mem::take(&mut self.shown)
    }

    /// Says what models are not shown, each of it once.
    fn say_omitted(&mut self, omitted: &[String]) {
        for line in omitted {
            if self.omitted.insert(line.clone()) {
                self.say(format!("  not shown to the model: {}", harmless(line)));
            }
        }
    }

    fn say(&mut self, text: impl Into<String>) {
        self.shown.push(ViewItem::Line(text.into()));
    }

    fn result(&mut self, text: impl Into<String>) {
        self.shown.push(ViewItem::Piece(text.into()));
    }

    /// Sets the background of the terminal.
    pub fn set_background(&mut self, background: Background) {
        self.options.paint = self.options.paint.on(background);
    }

    fn style(&self, colour: AnsiColor, text: &str) -> String {
        self.options.paint.with(Style::new().fg_color(Some(colour.into())).bold(), text)
    }

    fn enter(&mut self, phase: &str, more: &str, at: Duration) {
        phase.clone_into(&mut self.phase);
        self.since = at;
        self.waiting = None;
        self.heard = 0;
        let title = self.style(AnsiColor::Blue, &format!("● {phase}"));
        self.say(format!("{title} {more}").trim_end());
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other events do not concern the work")]
    fn note_work(&mut self, lane: Option<LaneId>, event: &Event) {
        match event {
            Event::RunStarted { intent, .. } => {
                self.reviews = *intent == RequestIntent::Review;
                // A review may follow the request that it reviews.
                if !self.reviews {
                    self.plan = CurrentPlan::default();
                }
            }
            Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. }
                if lane.is_none() =>
            {
                let steps = plan.steps.iter().map(|step| (harmless(step), None)).collect();
                self.plan = CurrentPlan { version: *version, steps };
            }
            Event::RouterDecision { .. } | Event::RouterEscalation { .. } => {
                self.thinker = longer_thinker(event).map(|(model, _)| harmless(model));
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

    /// Records a piece of an answer. It is shown at once if it is the result the user asked for, otherwise only counted.
    fn hear(&mut self, role: AgentRole, text: &str, at: Duration) {
        self.heard += text.len();
        self.waiting = None;
        let is_answer = role == AgentRole::Analysis && !self.reviews;
        if is_answer && self.phase != ANSWERING {
            ANSWERING.clone_into(&mut self.phase);
            self.since = at;
        }
        if is_answer && self.options.streams == Streams::AsItComes {
            self.streamed.push_str(text);
            self.result(harmless_text(text));
        }
    }
}

/// Returns the lane that asks, as a prefix; empty if the run itself asks.
fn asker(scope: &Scope) -> String {
    scope.lane().map_or_else(String::new, |lane| format!("lane {lane} asks: "))
}

#[cfg(test)]
mod tests;
