//! The course of an autopilot as its journal tells it: how far it is, and where it goes on.

use std::path::Path;
use std::time::Duration;

use facts::amounts::Spending;
use facts::delivery::{Rollback, UndoTarget};
use facts::event::{Blob, Event};
use journal::read::{ReadError, Record, content, read_journal};
use tree::Settlement;

use super::course::{Course, CoursePoint, StepEnd};
use super::pilot_state::PilotState;
use crate::session::past_requests::{EarlierError, runs};
use crate::session::turn::FinishedTurn;

/// A course that was begun.
#[derive(Debug, Clone)]
pub struct PastCourse {
    /// Its state.
    pub course: Course,
    /// The configuration that its steps are taken with, as TOML.
    pub config: String,
}

/// The kinds of events that tell of a course.
const TELLING: [&str; 10] = [
    "AutopilotBegan",
    "AutopilotAsked",
    "AutopilotAnswered",
    "AutopilotStepTaken",
    "AutopilotPaused",
    "AutopilotEnded",
    "TurnAdded",
    "RunFinished",
    "PatchApplied",
    "CommitSettled",
];

/// Returns the course that was begun in the session whose journal is in this directory; `None` if there is none.
pub fn past_course(session: &Path) -> Result<Option<PastCourse>, EarlierError> {
    let reading = read_journal(session)?;
    let mut turns = Vec::new();
    for run in runs(&reading.records) {
        turns.extend(run.turn(session)?);
    }
    let is_told = |record: &&Record| !record.scope().is_part() && TELLING.contains(&record.name());
    let mut following = CourseReader::new(turns);
    for record in reading.records.iter().filter(is_told) {
        if let Some(event) = record.event() {
            following.follow(record.run.as_deref(), event);
        }
    }
    let Some((course, config)) = following.begun else { return Ok(None) };
    let damaged = |_| ReadError::Content { hash: config.blob };
    let config = String::from_utf8(content(session, &config)?).map_err(damaged)?;
    Ok(Some(PastCourse { course, config }))
}

/// A course, while its events are read.
pub(super) struct CourseReader {
    turns: Vec<FinishedTurn>,
    /// The last request of the course, and the answer in it. It counts once the request has ended.
    run: Option<String>,
    answer: Option<String>,
    /// The course, and the configuration that its steps are taken with.
    pub(super) begun: Option<(Course, Blob)>,
}

impl CourseReader {
    /// `turns` are the finished turns of the session.
    pub(super) const fn new(turns: Vec<FinishedTurn>) -> Self {
        Self { turns, run: None, answer: None, begun: None }
    }

    /// Takes in the next event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events do not tell of a course")]
    pub(super) fn follow(&mut self, run: Option<&str>, event: Event) {
        if let Event::AutopilotBegan { task, until, bounds, config } = event {
            let (course, with) = self.begun.get_or_insert_with(|| {
                (Course::new(PilotState::new(task, until, bounds)), config.clone())
            });
            (course.work.bounds, course.work.end, *with) = (bounds, None, config);
            return;
        }
        let Some((course, _)) = &mut self.begun else { return };
        match event {
            Event::AutopilotAsked { failure, .. } => {
                (self.run, self.answer) = (run.map(str::to_owned), None);
                if let Some(last) = course.work.rounds.last_mut() {
                    last.failure = failure;
                }
                course.put(CoursePoint::Asking);
            }
            Event::AutopilotAnswered { answer, .. } => self.answer = Some(answer),
            Event::TurnAdded { course: Some(_), text, .. } => {
                self.run = run.map(str::to_owned);
                course.put(CoursePoint::Working(text));
            }
            Event::RunFinished { delivery, spent, spent_unknown, rollbacks }
                if self.run.as_deref() == run =>
            {
                let spent = Spending { known: spent, unknown: spent_unknown };
                match course.at().clone() {
                    CoursePoint::Working(step) => {
                        let turn = self.turns.iter().find(|turn| Some(turn.run.as_str()) == run);
                        let changes = turn.map(|turn| &turn.changes[..]).unwrap_or_default();
                        let undo = undo_patch(&rollbacks);
                        let end = StepEnd::new(&step, delivery, changes, spent);
                        course.put(CoursePoint::Worked(Box::new(StepEnd { undo, ..end })));
                    }
                    CoursePoint::Asking => {
                        course.work.chose(spent);
                        match self.answer.take() {
                            Some(answer) => course.hear(&answer),
                            None => course.put(CoursePoint::Between),
                        }
                    }
                    _ => course.work.chose(spent),
                }
            }
            Event::PatchApplied { patch }
            | Event::CommitSettled { patch, outcome: Settlement::Completed, .. } => {
                course.undone(&patch);
            }
            Event::AutopilotStepTaken { worked_ms, .. } => {
                course.has_worked(Duration::from_millis(worked_ms));
                course.follow_step(event);
            }
            Event::AutopilotPaused { worked_ms } => {
                course.has_worked(Duration::from_millis(worked_ms));
            }
            Event::AutopilotEnded { end, worked_ms } => {
                course.has_worked(Duration::from_millis(worked_ms));
                course.work.end = Some(end);
            }
            _ => {}
        }
    }
}

/// Returns the patch that undoes everything a request changed.
pub(super) fn undo_patch(rollbacks: &[Rollback]) -> Option<String> {
    let start = rollbacks.iter().find(|rollback| rollback.to == UndoTarget::Start);
    start.map(|rollback| rollback.patch.clone())
}
