//! One attempt of a variant at a case: the request is carried out by another process, whose session tells what it used, and
//! the hidden tests judge the result.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use facts::delivery::Delivery;
use facts::event::Event;
use journal::{History, Story};
use model::price::Usd;
use sandbox::ShownElsewhere;
use shell::Exit;
use tools::blocking::on_a_thread;

use crate::eval_error::EvalError;
use crate::results::place::EvalPlace;
use crate::results::record::{AttemptResult, EvalCase, TestVerdict, UsedTotals, Variant};
use crate::scratch::process::{EndedProgram, ProgramRun};
use crate::scratch::repository::Scratch;
use crate::scratch::trial::Trial;
use crate::scratch::workshop::Workshop;

/// The most characters of the tests' output that the next attempt is told.
const MAX_TOLD: usize = 6000;
/// Flags with which a request never waits for a user: the scratch repository may be changed, and commands run confined.
const UNATTENDED: [&str; 4] = ["--output", "json", "--yolo", "--force-execute"];

/// An attempt to be made, or to be continued after a crash.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) case: &'a EvalCase,
    pub(crate) variant: &'a Variant,
    pub(crate) commands: &'a [String],
    /// From 1.
    pub(crate) number: u32,
    /// The results of earlier attempts.
    pub(crate) earlier: &'a [AttemptResult],
    pub(crate) scratch: &'a Scratch,
    pub(crate) budget: Option<Usd>,
    /// Variables that lead to the models, if these are not the user's.
    pub(crate) access: Vec<(String, String)>,
    /// Flags that go with them.
    pub(crate) access_flags: Vec<String>,
}

/// What the sessions of a variant say about a case so far.
#[derive(Debug, Default)]
struct SessionsSoFar {
    /// Number of requests.
    requests: usize,
    /// True if the last request has not ended.
    is_open: bool,
    delivery: Option<Delivery>,
    used: UsedTotals,
    refusals: u64,
}

impl Attempt<'_> {
    /// Makes the attempt and judges it.
    pub(crate) async fn make(
        self,
        workshop: &Workshop,
        place: &EvalPlace,
    ) -> Result<AttemptResult, EvalError> {
        let home = place.run(&self.case.id, &self.variant.name).join("home");
        let before = self.sessions(workshop, &home).await;
        let began = workshop.clock.now();
        let trouble = if before.requests >= self.number as usize && !before.is_open {
            None
        } else {
            let end = self.carry_out(workshop, place, &home, before.is_open).await?;
            trouble(&end)
        };
        let took = workshop.clock.now().duration_since(began).as_millis();
        let after = self.sessions(workshop, &home).await;
        if let Some(Delivery::Paused { why }) = &after.delivery {
            return Err(EvalError::Paused { why: why.to_string() });
        }
        if let (None, Some(why)) = (&after.delivery, &trouble)
            && after.requests < self.number as usize
        {
            return Err(EvalError::NotStarted {
                variant: self.variant.name.clone(),
                why: why.clone(),
            });
        }
        let verdict = self.judge(workshop, place, &after, trouble).await?;
        let used = self.earlier.iter().fold(after.used, |left, earlier| left.without(earlier.used));
        let refusals = self.earlier.iter().map(|earlier| earlier.refusals).sum();
        Ok(AttemptResult {
            verdict,
            delivery: after.delivery,
            used,
            refusals: after.refusals.saturating_sub(refusals),
            elapsed_ms: u64::try_from(took).unwrap_or_default(),
        })
    }

    /// Runs the request, or resumes it.
    async fn carry_out(
        &self,
        workshop: &Workshop,
        place: &EvalPlace,
        home: &Path,
        is_open: bool,
    ) -> Result<EndedProgram, EvalError> {
        let scratch = self.scratch;
        let is_elsewhere = workshop.is_seen_in_place() && scratch.seen != scratch.top;
        let workspace = workshop.workspace_of(scratch);
        let mut words: Vec<OsString> = vec![place.builds().join(&self.variant.build).into()];
        if is_open {
            words.extend(["run", "--output", "json"].map(OsString::from));
        } else {
            words.extend(["-p".into(), self.request(place).into()]);
            words.extend(UNATTENDED.map(OsString::from));
            words.extend(self.variant.flags.iter().map(OsString::from));
            words.extend(self.access_flags.iter().map(OsString::from));
            if self.number > 1 {
                words.push("-c".into());
            }
            if let Some(budget) = self.budget {
                words.extend(["--budget-usd".into(), format!("{:.6}", budget.dollars()).into()]);
            }
        }
        words.extend(["--workspace".into(), workspace.clone().into()]);
        let mut vars = workshop.vars.clone();
        vars.insert("DEEPSEEK_HOME".to_owned(), home.display().to_string());
        vars.extend(self.access.iter().cloned());
        let shown = is_elsewhere.then(|| ShownElsewhere {
            dirs: vec![(scratch.top.clone().into(), scratch.seen.clone().into())],
            cwd: workspace.into(),
        });
        let limit = Duration::from_secs(workshop.config.eval.attempt_seconds);
        let run = ProgramRun { words, cwd: scratch.top.clone(), vars, shown, limit };
        let failed = |error| EvalError::File { path: place.builds(), error };
        run.run().await.map_err(failed)
    }

    /// Returns what is asked: the request of the case, or from the second attempt on what the tests said.
    fn request(&self, place: &EvalPlace) -> String {
        if self.number == 1 {
            return self.case.request.clone();
        }
        let output = place.tests(&self.case.id, &self.variant.name, self.number - 1);
        let start = output.char_indices().rev().nth(MAX_TOLD).map_or(0, |(at, _)| at);
        let output = output.get(start..).unwrap_or_default();
        format!(
            "The tests still fail. This is their output:\n\n{output}\n\nFix the code; the tests are right."
        )
    }

    /// Keeps the diff, puts the hidden tests over the result, and runs them.
    async fn judge(
        &self,
        workshop: &Workshop,
        place: &EvalPlace,
        after: &SessionsSoFar,
        trouble: Option<String>,
    ) -> Result<TestVerdict, EvalError> {
        let file =
            |ending| place.attempt_file(&self.case.id, &self.variant.name, self.number, ending);
        let (diff, output) = (file("diff"), file("txt"));
        let (scratch, at) = (self.scratch.clone(), diff);
        on_a_thread(move || {
            // After a crash, the hidden tests may lie over the result already.
            if at.exists() {
                return Ok(());
            }
            let text = scratch.diff()?;
            std::fs::write(&at, text).map_err(|error| EvalError::File { path: at, error })
        })
        .await?;
        let files = workshop.files_of(self.case).await?;
        workshop.put_tests(self.scratch, files).await?;
        let trial = match &after.delivery {
            Some(Delivery::Failed { message, .. }) => {
                Trial::cannot_run(format!("the request failed: {message}"))
            }
            Some(_) | None => workshop.run_tests(self.commands, self.scratch).await,
        };
        let text = trouble.map(|why| format!("{why}\n")).unwrap_or_default() + &trial.output;
        let write =
            on_a_thread(move || std::fs::write(&output, text).map_err(|error| (output, error)));
        write.await.map_err(|(path, error)| EvalError::File { path, error })?;
        Ok(trial.verdict)
    }

    /// Reads what the sessions in the variant's home say.
    async fn sessions(&self, workshop: &Workshop, home: &Path) -> SessionsSoFar {
        let (home, workspace) = (home.to_owned(), workshop.workspace_of(self.scratch));
        on_a_thread(move || sessions_in(&home, &workspace)).await
    }
}

fn sessions_in(home: &Path, workspace: &Path) -> SessionsSoFar {
    let history = History::find(home, workspace);
    let mut so_far = SessionsSoFar { used: UsedTotals::NOTHING, ..SessionsSoFar::default() };
    for session in history.homes.sessions() {
        let Ok(read) = history.story(session) else { continue };
        so_far.add(&read.value);
    }
    so_far
}

impl SessionsSoFar {
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events matter here")]
    fn add(&mut self, story: &Story) {
        let usage = &story.summary.usage;
        let cost = usage.cost_nano_usd.unwrap_or_default();
        self.requests += story.summary.requests.len();
        self.is_open = story.summary.is_cut_short();
        self.used = self.used.with(UsedTotals {
            calls: usage.calls,
            new: usage.miss(),
            cached: usage.hit.unwrap_or_default(),
            unknown: usage.prompt_of_unknown_hit,
            output: usage.output,
            cost_nano_usd: (usage.calls_of_unknown_cost == 0).then_some(cost),
        });
        for event in story.entries.iter().filter_map(|entry| entry.event.as_ref()) {
            match event {
                Event::RunFinished { delivery, .. } => self.delivery = Some(delivery.clone()),
                Event::TurnAdded { speaker: facts::words::Side::User, .. } => self.delivery = None,
                Event::PlanRefused { .. }
                | Event::DraftRefused { .. }
                | Event::AnswerRefused { .. }
                | Event::PatchRefused { .. } => self.refusals += 1,
                _ => {}
            }
        }
    }
}

/// Returns what a program said when it did not end well.
fn trouble(end: &EndedProgram) -> Option<String> {
    let said = end.stderr.trim();
    let said = if said.is_empty() { end.stdout.trim() } else { said };
    let how = match &end.exit {
        Exit::Code(0) => return None,
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "it took too long".to_owned(),
        Exit::NotFound => "there is no such program".to_owned(),
        Exit::NotStarted(why) => why.clone(),
    };
    Some(format!("{how}: {said}"))
}
