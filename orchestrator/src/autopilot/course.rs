//! The course of a long task as a state machine: what happened goes in, what to do next comes out. Pure.

use std::time::Duration;

use actors::talk::prompts::Prompts;
use config::Budget;
use facts::amounts::Spending;
use facts::autopilot::{AutopilotEnd, ChangedFile, WorkBounds};
use facts::delivery::{Delivery, Limit};
use facts::event::Event;
use model::price::Usd;
use tree::{Change, FileState, RepoPath};

use super::pilot_state::{PilotState, TakenStep};
use super::steering_answer::SteeringAnswer;
use crate::request::{PilotPart, Request, SteeringQuestion};

/// The steering dialogue begins anew after this many answers, so that it does not grow without end.
const LONGEST_DIALOGUE: usize = 24;

/// The course of a long task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// What has been done.
    pub work: PilotState,
    at: CoursePoint,
    wish: Option<CourseWish>,
    /// Number of answers in the steering dialogue, and of steps that it knows of.
    answers: usize,
    known: usize,
    /// True after a question without a usable answer.
    asks_again: bool,
    /// What the command printed last.
    output: String,
}

/// A wish of the user about the course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CourseWish {
    /// Rest after the current step.
    Pause,
    /// Stop now.
    Stop,
}

/// Where a course is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CoursePoint {
    /// Between two steps.
    Between,
    /// Resting between two steps.
    Resting,
    /// The command that decides is run.
    Checking,
    /// The steering model is asked.
    Asking,
    /// It has answered.
    Answered(String),
    /// A step is worked on.
    Working(String),
    /// A step has ended, and its changes may have to be undone.
    Worked(Box<StepEnd>),
    /// A request that is no part of the course is finished first.
    Aside,
    /// The course is over.
    Over,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnd {
    /// The step.
    pub step: String,
    /// How it ended.
    pub delivery: Delivery,
    /// The files that it changed, with their content before and after.
    pub files: Vec<ChangedFile>,
    /// What it cost.
    pub spent: Spending,
    /// The patch that undoes its changes, unless it has been applied.
    pub undo: Option<String>,
}

impl StepEnd {
    /// Returns the end of a step that made these changes.
    pub(super) fn new(step: &str, delivery: Delivery, changes: &[Change], spent: Spending) -> Self {
        type Sides<'c> = (&'c RepoPath, Option<&'c FileState>, Option<&'c FileState>);
        let file = |(path, before, after): Sides<'_>| ChangedFile {
            path: path.to_string(),
            before: before.map(FileState::hash),
            after: after.map(FileState::hash),
        };
        let files = changes.iter().flat_map(Change::sides).map(file).collect();
        Self { step: step.to_owned(), delivery, files, spent, undo: None }
    }

    /// Returns true if what it changed is kept.
    const fn is_done(&self) -> bool {
        matches!(self.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. })
    }
}

/// A request that was interrupted when the last process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupted {
    /// The question for the next step.
    Question,
    /// This step.
    Step(String),
    /// A request that is no part of the course.
    Other,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CourseInput {
    /// The course begins, or goes on in another process.
    Begin(Option<Interrupted>),
    /// The command that decides was run.
    Checked {
        /// True if it passes.
        passes: bool,
        /// What it printed.
        output: String,
    },
    /// The question for the next step has ended.
    Answered {
        /// How.
        delivery: Delivery,
        /// The answer, if it was usable.
        answer: Option<String>,
        /// What it cost.
        spent: Spending,
    },
    /// The step has ended.
    Worked(Box<StepEnd>),
    /// The changes of the step are undone.
    Undone,
    /// The interrupted request that is no part of the course has ended; with its cost.
    Aside(Spending),
    /// The user wants the course to rest or to stop; `None` to go on.
    Wish(Option<CourseWish>),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextMove {
    /// Wait: something is under way, or the course is over.
    Wait,
    /// Take up the interrupted request.
    TakeUp,
    /// Run the command that decides.
    Check,
    /// Ask the steering model.
    Ask,
    /// Take this step.
    Take(String),
    /// Apply this patch, to undo a step.
    Undo(String),
    /// Rest until the user's next wish.
    Rest,
    /// Cancel the request that is running.
    Cancel,
    /// End the course. Work that is under way is dropped.
    End(AutopilotEnd),
}

impl Course {
    /// A course that has not begun.
    pub const fn new(work: PilotState) -> Self {
        Self {
            work,
            at: CoursePoint::Between,
            wish: None,
            answers: 0,
            known: 0,
            asks_again: false,
            output: String::new(),
        }
    }

    /// Returns where it is.
    pub(super) const fn at(&self) -> &CoursePoint {
        &self.at
    }

    /// Returns the step that is worked on, or is about to be.
    pub fn current_step(&self) -> Option<String> {
        match &self.at {
            CoursePoint::Working(step) => Some(step.clone()),
            CoursePoint::Answered(answer) => match SteeringAnswer::read(answer, None) {
                Ok(SteeringAnswer::Next { step, .. }) => Some(step),
                Ok(SteeringAnswer::Done(_) | SteeringAnswer::Stuck(_)) | Err(_) => None,
            },
            CoursePoint::Between
            | CoursePoint::Resting
            | CoursePoint::Checking
            | CoursePoint::Asking
            | CoursePoint::Worked(_)
            | CoursePoint::Aside
            | CoursePoint::Over => None,
        }
    }

    /// Puts it where a journal says it is.
    pub(super) fn put(&mut self, at: CoursePoint) {
        self.at = at;
    }

    /// Takes in what happened, and returns what to record of it and what to do next.
    pub fn step(&mut self, input: CourseInput) -> (Vec<Event>, NextMove) {
        let mut told = Vec::new();
        let next = match input {
            CourseInput::Begin(None) => match self.at.clone() {
                CoursePoint::Answered(answer) => self.answered(&answer),
                CoursePoint::Worked(end) => self.worked(*end, &mut told),
                CoursePoint::Between
                | CoursePoint::Resting
                | CoursePoint::Checking
                | CoursePoint::Asking
                | CoursePoint::Working(_)
                | CoursePoint::Aside
                | CoursePoint::Over => self.between(&mut told),
            },
            CourseInput::Begin(Some(interrupted)) => {
                self.at = match interrupted {
                    Interrupted::Question => CoursePoint::Asking,
                    Interrupted::Step(step) => CoursePoint::Working(step),
                    Interrupted::Other => CoursePoint::Aside,
                };
                NextMove::TakeUp
            }
            CourseInput::Checked { passes: true, .. } => self.end(AutopilotEnd::Reached),
            CourseInput::Checked { passes: false, output } => {
                self.work.failed_with(&output);
                self.output = output;
                self.ask_unless_over()
            }
            CourseInput::Answered { delivery, answer, spent } => {
                self.work.chose(spent);
                match (ended(&delivery), answer) {
                    (Some(end), _) => self.end(end),
                    (None, Some(answer)) => {
                        self.hear(&answer);
                        self.answered(&answer)
                    }
                    (None, None) if self.asks_again => self.end(AutopilotEnd::Stuck {
                        reason: "the model gave no usable answer about the next step".to_owned(),
                    }),
                    (None, None) => {
                        self.asks_again = true;
                        self.ask_unless_over()
                    }
                }
            }
            CourseInput::Worked(end) => self.worked(*end, &mut told),
            CourseInput::Undone => {
                let CoursePoint::Worked(end) = self.at.clone() else {
                    return (told, NextMove::Wait);
                };
                self.taken(*end, &mut told)
            }
            CourseInput::Aside(spent) => {
                self.work.chose(spent);
                self.between(&mut told)
            }
            CourseInput::Wish(wish) => self.wished(wish, &mut told),
        };
        (told, next)
    }

    /// Adds an answer to what the steering dialogue knows, and takes over its plan.
    pub(super) fn hear(&mut self, answer: &str) {
        (self.answers, self.known) = (self.answers + 1, self.work.rounds.len());
        self.asks_again = false;
        if let Ok(SteeringAnswer::Next { later, .. }) = SteeringAnswer::read(answer, None) {
            self.work.later = later;
        }
        self.at = CoursePoint::Answered(answer.to_owned());
    }

    fn answered(&mut self, answer: &str) -> NextMove {
        if self.wish == Some(CourseWish::Stop) {
            return self.end(AutopilotEnd::Stopped);
        }
        match SteeringAnswer::read(answer, self.work.until.as_deref()) {
            Ok(SteeringAnswer::Next { step, .. }) => {
                self.at = CoursePoint::Working(step.clone());
                NextMove::Take(step)
            }
            Ok(SteeringAnswer::Done(shown_by)) => self.end(AutopilotEnd::Done { shown_by }),
            Ok(SteeringAnswer::Stuck(reason)) => self.end(AutopilotEnd::Stuck { reason }),
            // The task has been changed since.
            Err(_) => self.ask_unless_over(),
        }
    }

    fn worked(&mut self, end: StepEnd, told: &mut Vec<Event>) -> NextMove {
        match end.undo.clone().filter(|_| !end.is_done()) {
            Some(patch) => {
                self.at = CoursePoint::Worked(Box::new(end));
                NextMove::Undo(patch)
            }
            None => self.taken(end, told),
        }
    }

    fn taken(&mut self, end: StepEnd, told: &mut Vec<Event>) -> NextMove {
        let stays = end.is_done() && !end.files.is_empty();
        let StepEnd { step, delivery, files, spent, .. } = end;
        let Spending { known: spent, unknown: spent_unknown } = self.work.charged_to_step(spent);
        let ended = ended(&delivery);
        let files = if stays { files } else { Vec::new() };
        let (to_come, worked_ms) = (self.work.later.len(), self.worked_ms());
        let event = Event::AutopilotStepTaken {
            step,
            delivery,
            stays,
            files,
            spent,
            spent_unknown,
            to_come,
            worked_ms,
        };
        self.follow_step(event.clone());
        told.push(event);
        match ended {
            Some(end) => self.end(end),
            None => self.between(told),
        }
    }

    /// Adds a step that was taken.
    pub(super) fn follow_step(&mut self, taken: Event) {
        let Event::AutopilotStepTaken {
            step,
            delivery,
            stays,
            files: turned,
            spent,
            spent_unknown,
            to_come,
            ..
        } = taken
        else {
            return;
        };
        let (end, files) =
            (delivery.in_words(), turned.iter().map(|file| file.path.clone()).collect());
        let failure = None;
        let taken =
            TakenStep { step, end, stays, files, turned, spent, spent_unknown, to_come, failure };
        self.work.rounds.push(taken);
        self.work.charged_to_step(Spending::default());
        self.at = CoursePoint::Between;
    }

    /// Notes that a patch was applied: it may be the one that undoes the last step.
    pub(super) fn undone(&mut self, patch: &str) {
        if let CoursePoint::Worked(end) = &mut self.at {
            end.undo.take_if(|undo| undo == patch);
        }
    }

    fn between(&mut self, told: &mut Vec<Event>) -> NextMove {
        match (self.wish, &self.work.until) {
            (Some(CourseWish::Stop), _) => self.end(AutopilotEnd::Stopped),
            (Some(CourseWish::Pause), _) => {
                self.at = CoursePoint::Resting;
                told.push(Event::AutopilotPaused { worked_ms: self.worked_ms() });
                NextMove::Rest
            }
            (None, Some(_)) => {
                self.at = CoursePoint::Checking;
                NextMove::Check
            }
            (None, None) => self.ask_unless_over(),
        }
    }

    fn ask_unless_over(&mut self) -> NextMove {
        if let Some(end) = self.work.is_over() {
            return self.end(end);
        }
        self.at = CoursePoint::Asking;
        NextMove::Ask
    }

    fn wished(&mut self, wish: Option<CourseWish>, told: &mut Vec<Event>) -> NextMove {
        self.wish = wish;
        match (&self.at, wish) {
            (CoursePoint::Resting, None) => self.between(told),
            (
                CoursePoint::Resting | CoursePoint::Between | CoursePoint::Checking,
                Some(CourseWish::Stop),
            ) => self.end(AutopilotEnd::Stopped),
            (
                CoursePoint::Asking | CoursePoint::Working(_) | CoursePoint::Aside,
                Some(CourseWish::Stop),
            ) => NextMove::Cancel,
            _ => NextMove::Wait,
        }
    }

    fn end(&mut self, end: AutopilotEnd) -> NextMove {
        self.at = CoursePoint::Over;
        self.work.end = Some(end.clone());
        NextMove::End(end)
    }

    /// Returns the working time so far, in milliseconds.
    pub(super) fn worked_ms(&self) -> u64 {
        u64::try_from(self.work.worked.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the request that asks for the next step.
    pub(super) fn question(&self, prompts: &Prompts) -> Request {
        let opens = self.answers.is_multiple_of(LONGEST_DIALOGUE);
        let said = if opens {
            self.work.opening(prompts, &self.output)
        } else {
            self.work.next_question(prompts, self.known, &self.output)
        };
        let failure = self.work.rounds.last().and_then(|round| round.failure);
        let until = self.work.until.clone();
        Request::pilot(
            &self.work.task,
            PilotPart::Question(SteeringQuestion { opens, until, failure, said }),
        )
    }

    /// Returns the request of a step.
    pub(super) fn request(&self, step: &str, prompts: &Prompts) -> Request {
        Request::pilot(step, PilotPart::Step { course: self.work.course(prompts) })
    }

    /// Returns the budget of the next request: what is left of the limits.
    pub(super) fn narrowed(&self, budget: &Budget) -> Budget {
        let mut budget = *budget;
        let spent = self.work.spent().at_most();
        let WorkBounds { time, usd, tokens, .. } = self.work.bounds;
        if let Some(most) = usd {
            // Zero would mean no limit.
            let left = most.saturating_sub(spent.nano_usd).nanos().max(1);
            budget.usd = Usd::from_nanos(left).dollars();
        }
        if let Some(most) = tokens {
            budget.tokens = most.saturating_sub(spent.tokens).max(1);
        }
        if let Some(most) = time {
            budget.wall_seconds = most.saturating_sub(self.work.worked).as_secs().max(1);
        }
        budget
    }

    /// Sets the working time so far.
    pub(super) const fn has_worked(&mut self, time: Duration) {
        self.work.worked = time;
    }
}

/// Returns why the course ends with a request, if it does.
fn ended(delivery: &Delivery) -> Option<AutopilotEnd> {
    match delivery {
        Delivery::Cancelled | Delivery::Paused { .. } => Some(AutopilotEnd::Stopped),
        Delivery::BudgetExhausted { limit: Limit::WallTime, .. } => Some(AutopilotEnd::Time),
        Delivery::BudgetExhausted { .. } => Some(AutopilotEnd::Budget),
        Delivery::Denied { hint, .. } => Some(AutopilotEnd::Denied { hint: hint.to_string() }),
        Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::NeedsWork { .. }
        | Delivery::Failed { .. } => None,
    }
}
