//! A course as a whole: what it does next, and that it comes to the same end wherever it is killed.

use std::collections::BTreeMap;

use actors::talk::prompts::Prompts;
use facts::amounts::{Amount, Spending};
use facts::autopilot::{AutopilotEnd, WorkBounds};
use facts::delivery::{Delivery, FailureKind, Limit, NeedsWork, Rollback, UndoTarget, Verified};
use facts::event::{Blob, Event};
use facts::words::Side;
use proptest::prelude::*;
use tree::{Change, FileMode, FileState, RepoPath};

use super::course::{Course, CourseInput, CourseWish, Interrupted, NextMove, StepEnd};
use super::past_course::CourseReader;
use super::pilot_state::PilotState;
use crate::request::{PilotPart, Request, SteeringQuestion};
use crate::session::turn::FinishedTurn;

const SPENT: Spending = Spending {
    known: Amount { nano_usd: model::price::Usd::ZERO, tokens: 7, calls: 1, reasoning: 0 },
    unknown: Amount { nano_usd: model::price::Usd::ZERO, tokens: 0, calls: 0, reasoning: 0 },
};

fn course(until: Option<&str>, bounds: WorkBounds) -> Course {
    Course::new(PilotState::new("t".to_owned(), until.map(str::to_owned), bounds))
}

fn next(lines: &str) -> String {
    format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END")
}

fn answered(answer: Option<&str>) -> CourseInput {
    let delivery = Delivery::Delivered { verified: Verified::NotNeeded };
    CourseInput::Answered { delivery, answer: answer.map(next), spent: SPENT }
}

fn delivered() -> Delivery {
    Delivery::Delivered { verified: Verified::Passed }
}

fn needs_work() -> Delivery {
    Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail: "d".into() }
}

/// The end of a step that changed a file, with a patch that undoes it.
fn worked(step: &str, delivery: Delivery) -> CourseInput {
    let end = StepEnd::new(step, delivery, &[change(step)], SPENT);
    CourseInput::Worked(Box::new(StepEnd { undo: Some("p".to_owned()), ..end }))
}

fn change(content: &str) -> Change {
    let state = FileState { bytes: content.as_bytes().to_vec().into(), mode: FileMode::Regular };
    Change::of(RepoPath::parse("a").unwrap(), None, Some(state)).unwrap()
}

#[test]
fn a_step_follows_a_question_and_its_changes_are_undone_unless_delivered() {
    let mut course = course(None, WorkBounds::default());
    assert_eq!(course.step(CourseInput::Begin(None)).1, NextMove::Ask);
    let (told, next) = course.step(answered(Some("NEXT|s\nLATER|l")));
    assert_eq!((told.len(), next), (0, NextMove::Take("s".to_owned())));
    assert_eq!(course.work.later, ["l"]);
    let (told, next) = course.step(worked("s", needs_work()));
    assert_eq!((told.len(), next), (0, NextMove::Undo("p".to_owned())), "nothing is told before");
    let (told, next) = course.step(CourseInput::Undone);
    assert_eq!(next, NextMove::Ask);
    assert!(
        matches!(&told[..], [Event::AutopilotStepTaken { stays: false, files, .. }] if files.is_empty())
    );
    course.step(answered(Some("NEXT|s2")));
    let (told, _) = course.step(worked("s2", delivered()));
    assert!(matches!(&told[..], [Event::AutopilotStepTaken { stays: true, .. }]));
    assert_eq!(course.work.spent().known.tokens, 4 * 7, "two questions and two steps");
    let (_, next) = course.step(answered(Some("DONE|it is")));
    assert_eq!(next, NextMove::End(AutopilotEnd::Done { shown_by: "it is".to_owned() }));
}

#[test]
fn the_command_decides_before_each_question() {
    let mut course = course(Some("make"), WorkBounds::default());
    assert_eq!(course.step(CourseInput::Begin(None)).1, NextMove::Check);
    let fails = || CourseInput::Checked { passes: false, output: "1 failed".to_owned() };
    assert_eq!(course.step(fails()).1, NextMove::Ask);
    course.step(answered(Some("NEXT|s")));
    assert_eq!(course.step(worked("s", delivered())).1, NextMove::Check);
    assert!(course.work.rounds[0].failure.is_none());
    let passes = CourseInput::Checked { passes: true, output: String::new() };
    assert_eq!(course.step(passes).1, NextMove::End(AutopilotEnd::Reached));
}

#[test]
fn a_model_without_a_usable_answer_is_asked_once_more() {
    let mut course = course(None, WorkBounds::default());
    course.step(CourseInput::Begin(None));
    assert_eq!(course.step(answered(None)).1, NextMove::Ask);
    assert_eq!(course.step(answered(Some("NEXT|s"))).1, NextMove::Take("s".to_owned()));
    course.step(worked("s", delivered()));
    assert_eq!(course.step(answered(None)).1, NextMove::Ask);
    let (_, end) = course.step(answered(None));
    assert!(matches!(end, NextMove::End(AutopilotEnd::Stuck { .. })), "{end:?}");
}

#[test]
fn a_pause_takes_effect_between_two_steps_and_a_stop_at_once() {
    let working = || {
        let mut course = course(None, WorkBounds::default());
        course.step(CourseInput::Begin(None));
        course.step(answered(Some("NEXT|s")));
        course
    };
    let wish = |course: &mut Course, wish| course.step(CourseInput::Wish(wish)).1;
    let mut course = working();
    assert_eq!(wish(&mut course, Some(CourseWish::Pause)), NextMove::Wait);
    let (told, next) = course.step(worked("s", delivered()));
    assert_eq!((told.len(), next), (2, NextMove::Rest), "the step and the pause");
    assert_eq!(wish(&mut course, None), NextMove::Ask);
    // Paused and gone on before the step ends.
    let mut course = working();
    wish(&mut course, Some(CourseWish::Pause));
    assert_eq!(wish(&mut course, None), NextMove::Wait);
    assert_eq!(course.step(worked("s", delivered())).1, NextMove::Ask);
    // Stopped while a step is worked on: what it changed is undone first.
    let mut course = working();
    assert_eq!(wish(&mut course, Some(CourseWish::Stop)), NextMove::Cancel);
    assert_eq!(course.step(worked("s", Delivery::Cancelled)).1, NextMove::Undo("p".to_owned()));
    assert_eq!(wish(&mut course, Some(CourseWish::Stop)), NextMove::Wait);
    assert_eq!(course.step(CourseInput::Undone).1, NextMove::End(AutopilotEnd::Stopped));
    assert_eq!(course.work.rounds.len(), 1);
    // Stopped too late to cancel: no further step begins.
    let mut course = working();
    wish(&mut course, Some(CourseWish::Stop));
    assert_eq!(course.step(worked("s", delivered())).1, NextMove::End(AutopilotEnd::Stopped));
    // Stopped while it rests.
    let mut course = working();
    wish(&mut course, Some(CourseWish::Pause));
    course.step(worked("s", delivered()));
    assert_eq!(wish(&mut course, Some(CourseWish::Stop)), NextMove::End(AutopilotEnd::Stopped));
    assert_eq!(wish(&mut course, None), NextMove::Wait, "it is over");
}

#[test]
fn the_end_of_a_request_may_be_the_end_of_the_course() {
    let budget = |limit| Delivery::BudgetExhausted { limit, detail: "d".into() };
    let denied = Delivery::denied("w".into(), "h".into());
    for (delivery, end) in [
        (budget(Limit::WallTime), Some(AutopilotEnd::Time)),
        (budget(Limit::Tokens), Some(AutopilotEnd::Budget)),
        (denied, Some(AutopilotEnd::Denied { hint: "h".to_owned() })),
        (Delivery::Cancelled, Some(AutopilotEnd::Stopped)),
        (Delivery::failed(FailureKind::Internal, "f"), None),
        (needs_work(), None),
    ] {
        let mut course = course(None, WorkBounds::default());
        course.step(CourseInput::Begin(None));
        course.step(answered(Some("NEXT|s")));
        let end = end.map_or(NextMove::Ask, NextMove::End);
        course.step(worked("s", delivery.clone()));
        assert_eq!(course.step(CourseInput::Undone).1, end, "{delivery:?}");
    }
}

#[test]
fn requests_are_narrowed_to_what_is_left_of_the_limits() {
    let bounds = WorkBounds { tokens: Some(20), ..WorkBounds::default() };
    let mut course = course(None, bounds);
    course.step(CourseInput::Begin(None));
    course.step(answered(Some("NEXT|s")));
    let budget: config::Budget = config::defaults_of("budget").unwrap();
    assert_eq!(course.narrowed(&budget).tokens, 13);
    course.step(worked("s", delivered()));
    let (_, next) = course.step(answered(Some("NEXT|s2")));
    assert_eq!(next, NextMove::Take("s2".to_owned()));
    assert_eq!(course.narrowed(&budget).tokens, 1, "zero would mean no limit");
    let (_, next) = course.step(worked("s2", delivered()));
    assert_eq!(next, NextMove::End(AutopilotEnd::Budget));
}

/// What a question says: whether it opens a dialogue, and its text.
fn question(course: &Course) -> SteeringQuestion {
    let request: Request = course.question(&Prompts::default());
    let Some(PilotPart::Question(question)) = request.pilot else { panic!("no question") };
    assert_eq!(request.text, "t", "the steering question is not the user's");
    question
}

#[test]
fn each_question_adds_to_the_dialogue_what_is_new_and_a_long_one_begins_anew() {
    let mut course = course(None, WorkBounds::default());
    course.step(CourseInput::Begin(None));
    let mut opened = Vec::new();
    for at in 1..=50 {
        let asked = question(&course);
        if asked.opens {
            opened.push(at);
            assert!(asked.said.contains("You steer a long task"), "{}", asked.said);
        } else {
            let last = format!("{}. step {}", at - 1, at - 1);
            assert!(asked.said.starts_with(&last) && asked.said.len() < 300, "{}", asked.said);
        }
        let step = format!("step {at}");
        course.step(answered(Some(&format!("NEXT|{step}"))));
        course.step(worked(&step, delivered()));
    }
    assert_eq!(opened, [1, 25, 49]);
}

/// An outside world in which a course is flown, and killed after some events.
struct World<'s> {
    script: &'s [bool],
    journal: Vec<(Option<String>, Event)>,
    turns: Vec<FinishedTurn>,
    kill_at: usize,
    undone: BTreeMap<String, usize>,
}

impl World<'_> {
    /// Writes an event. `None` once it is killed.
    fn write(&mut self, run: Option<&str>, event: Event) -> Option<()> {
        if self.journal.len() == self.kill_at {
            return None;
        }
        self.journal.push((run.map(str::to_owned), event));
        Some(())
    }

    fn count(&self, is_it: impl Fn(&Event) -> bool) -> usize {
        self.journal.iter().filter(|(_, event)| is_it(event)).count()
    }

    /// Asks the steering model, or resumes that: it names step after step.
    fn ask(&mut self, course: &Course, is_new: bool) -> Option<CourseInput> {
        if is_new {
            let SteeringQuestion { opens, until, failure, said } = question(course);
            let run = format!("q{}", self.count(|it| matches!(it, Event::AutopilotAsked { .. })));
            let asked = Event::AutopilotAsked { task: "t".to_owned(), opens, until, failure, said };
            self.write(Some(&run), asked)?;
        }
        let number = self.count(|it| matches!(it, Event::AutopilotAsked { .. }));
        let run = format!("q{}", number - 1);
        let lines = if number > self.script.len() {
            "DONE|all of it".to_owned()
        } else {
            format!("NEXT|step {number}\nLATER|more")
        };
        let answer = next(&lines);
        if self.count(|it| matches!(it, Event::AutopilotAnswered { .. })) < number {
            let told = Blob::new("");
            self.write(Some(&run), Event::AutopilotAnswered { told, answer })?;
        }
        let delivery = Delivery::Delivered { verified: Verified::NotNeeded };
        self.finish(&run, delivery, Vec::new())?;
        Some(answered(Some(&lines)))
    }

    /// Takes a step, or resumes it.
    fn take(&mut self, step: &str, is_new: bool) -> Option<CourseInput> {
        let is_step = |it: &Event| matches!(it, Event::TurnAdded { .. });
        if is_new {
            let run = format!("s{}", self.count(is_step));
            let (speaker, text, course) = (Side::User, step.to_owned(), Some(String::new()));
            let turn = Event::TurnAdded { speaker, text, intent: None, card: None, course };
            self.write(Some(&run), turn)?;
        }
        let at = self.count(is_step) - 1;
        let (run, patch) = (format!("s{at}"), format!("undo s{at}"));
        let is_done = self.script[at];
        let delivery = if is_done { delivered() } else { needs_work() };
        let rollback = Rollback { patch: patch.clone(), to: UndoTarget::Start };
        let rollbacks = if is_done { Vec::new() } else { vec![rollback] };
        let turn = FinishedTurn {
            run: run.clone(),
            request: step.to_owned(),
            images: Vec::new(),
            delivery: delivery.clone(),
            plan: None,
            said: Vec::new(),
            answer: None,
            changes: vec![change(step)],
            failing: Vec::new(),
        };
        self.turns.push(turn);
        self.finish(&run, delivery.clone(), rollbacks)?;
        let end = StepEnd::new(step, delivery, &[change(step)], SPENT);
        let undo = (!is_done).then_some(patch);
        Some(CourseInput::Worked(Box::new(StepEnd { undo, ..end })))
    }

    fn finish(&mut self, run: &str, delivery: Delivery, rollbacks: Vec<Rollback>) -> Option<()> {
        let Spending { known: spent, unknown: spent_unknown } = SPENT;
        self.write(Some(run), Event::RunFinished { delivery, spent, spent_unknown, rollbacks })
    }

    /// Begins a course or goes on with it. `None` if it is killed.
    fn fly(&mut self) -> Option<(PilotState, Request)> {
        let mut following = CourseReader::new(self.turns.clone());
        for (run, event) in self.journal.clone() {
            following.follow(run.as_deref(), event);
        }
        let begun = following.begun.map(|(course, _)| course);
        let mut course = begun.unwrap_or_else(|| course(None, WorkBounds::default()));
        if course.work.end.is_some() {
            let asked = course.question(&Prompts::default());
            return Some((course.work, asked));
        }
        let PilotState { task, until, bounds, .. } = course.work.clone();
        let config = Blob::new("");
        self.write(None, Event::AutopilotBegan { task, until, bounds, config })?;
        let ended = |run: &str| {
            let ends = |(of, event): &(Option<String>, Event)| {
                of.as_deref() == Some(run) && matches!(event, Event::RunFinished { .. })
            };
            self.journal.iter().any(ends)
        };
        let last = self.journal.iter().rev().find_map(|(run, event)| Some((run.clone()?, event)));
        let interrupted = last.filter(|(run, _)| !ended(run)).map(|(run, _)| {
            if run.starts_with('q') {
                return Interrupted::Question;
            }
            let step = self.journal.iter().find_map(|(of, event)| {
                let Event::TurnAdded { text, .. } = event else { return None };
                (of.as_ref() == Some(&run)).then(|| text.clone())
            });
            Interrupted::Step(step.unwrap())
        });
        let mut input = CourseInput::Begin(interrupted.clone());
        loop {
            let (told, next) = course.step(input);
            for event in told {
                self.write(None, event)?;
            }
            input = match next {
                NextMove::TakeUp => match interrupted.clone() {
                    Some(Interrupted::Step(step)) => self.take(&step, false)?,
                    _ => self.ask(&course, false)?,
                },
                NextMove::Ask => self.ask(&course, true)?,
                NextMove::Take(step) => self.take(&step, true)?,
                NextMove::Undo(patch) => {
                    self.write(None, Event::PatchApplied { patch: patch.clone() })?;
                    *self.undone.entry(patch).or_default() += 1;
                    CourseInput::Undone
                }
                NextMove::End(end) => {
                    self.write(None, Event::AutopilotEnded { end, worked_ms: 0 })?;
                    let asked = course.question(&Prompts::default());
                    return Some((course.work, asked));
                }
                NextMove::Wait | NextMove::Check | NextMove::Rest | NextMove::Cancel => {
                    panic!("{next:?}")
                }
            };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn a_course_that_is_killed_comes_to_the_same_end(
        script in proptest::collection::vec(proptest::bool::weighted(0.7), 0..6),
    ) {
        let world = |kill_at| World {
            script: &script,
            journal: Vec::new(),
            turns: Vec::new(),
            kill_at,
            undone: BTreeMap::new(),
        };
        let mut whole = world(usize::MAX);
        let end = whole.fly().unwrap();
        for kill_at in 0..whole.journal.len() {
            let mut killed = world(kill_at);
            prop_assert!(killed.fly().is_none());
            killed.kill_at = usize::MAX;
            let resumed = killed.fly().unwrap();
            prop_assert_eq!(&resumed, &end, "killed at {}", kill_at);
            let undone = killed.count(|it| matches!(it, Event::PatchApplied { .. }));
            prop_assert_eq!(undone, whole.undone.len(), "killed at {}", kill_at);
        }
    }
}
