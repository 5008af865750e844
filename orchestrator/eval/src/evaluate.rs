//! An evaluation: draws cases, finds out whether each is one, and has variants work on them, several at a time and within a
//! budget. It can be killed at any point and continued.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use config::Config;
use shell::Exit;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tools::blocking::on_a_thread;
use tools::clock::seeded_order;
use tree::{FileHash, UserRepository};

use crate::answers::AnswerDesk;
use crate::budget::EvalBudget;
use crate::case_work::CaseWork;
use crate::drawn::commits::{Commit, commits, git};
use crate::drawn::draw::{DrawOptions, case_id};
use crate::drawn::exercises::{ExerciseOptions, draw_exercises};
use crate::eval_error::EvalError;
use crate::events::{EvalEvent, EvalSink};
use crate::results::compare::{EvalReport, JudgedCase};
use crate::results::log::RecordLog;
use crate::results::place::EvalPlace;
use crate::results::record::{
    CaseGround, CaseOrigin, Drawn, EvalCase, EvalRecord, LeftOutCase, Variant,
};
use crate::scratch::ground::check_case;
use crate::scratch::hidden::CaseFiles;
use crate::scratch::process::ProgramRun;
use crate::scratch::workshop::{Workshop, workshop};
use crate::setup::{EvalSetup, RunLimits};

/// An evaluation that this process works on.
#[derive(Debug)]
pub struct Evaluation {
    pub(crate) place: EvalPlace,
    setup: EvalSetup,
    pub(crate) workshop: Workshop,
    log: Arc<RecordLog>,
    records: Mutex<Vec<EvalRecord>>,
    /// Locked as long as this exists.
    _lock: File,
}

impl Evaluation {
    /// Opens or creates the evaluation at a place, for this process alone. Blocks.
    pub fn open(place: EvalPlace, setup: EvalSetup) -> Result<Self, EvalError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            move |error| EvalError::File { path, error }
        };
        fs::create_dir_all(place.builds()).map_err(file(place.dir()))?;
        let lock = File::create(place.lock()).map_err(file(place.dir()))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => EvalError::InUse,
            fs::TryLockError::Error(error) => EvalError::File { path: place.lock(), error },
        })?;
        let (log, records) = RecordLog::open(&place.records()).map_err(file(&place.records()))?;
        let workshop = workshop(&setup)?;
        let log = Arc::new(log);
        Ok(Self { place, setup, workshop, log, records: Mutex::new(records), _lock: lock })
    }

    /// Returns its place.
    pub const fn place(&self) -> &EvalPlace {
        &self.place
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// Returns its report; `None` if no cases have been drawn.
    pub fn report(&self) -> Option<EvalReport> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        EvalReport::of(self.place.id(), &records)
    }

    pub(crate) async fn record(&self, record: EvalRecord) -> Result<(), EvalError> {
        let failed = |error| EvalError::File { path: self.place.records(), error };
        let (log, line) = (Arc::clone(&self.log), record.clone());
        on_a_thread(move || log.append(&line)).await.map_err(failed)?;
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        Ok(())
    }

    /// Draws cases from the history of the workspace, and checks each.
    pub async fn draw_commits(
        &self,
        options: &DrawOptions,
        sink: &EvalSink,
    ) -> Result<(), EvalError> {
        let top = self.workshop.source.top.clone().ok_or(EvalError::NoRepository)?;
        let (at, range) = (top.clone(), options.range.clone());
        let all = on_a_thread(move || commits(&at, &range)).await?;
        let order = seeded_order(options.seed, all.len());
        let (mut cases, mut left_out, mut grounds) = (Vec::new(), Vec::new(), Vec::new());
        let mut looked_at = 0;
        for commit in order.into_iter().filter_map(|at| all.get(at)) {
            if cases.len() >= options.count {
                break;
            }
            looked_at += 1;
            match self.look_at(&top, commit, options, sink).await? {
                Ok((case, ground)) => {
                    grounds.push(EvalRecord::Checked { case: case.id.clone(), ground });
                    cases.push(case);
                }
                Err(left) => {
                    sink(EvalEvent::LeftOut(left.clone()));
                    left_out.push(left);
                }
            }
        }
        let from = self.setup.workspace.clone().unwrap_or_default().display().to_string();
        let not_looked_at = all.len() - looked_at;
        self.drawn(from, (cases, left_out, not_looked_at)).await?;
        for ground in grounds {
            self.record(ground).await?;
        }
        Ok(())
    }

    /// Looks at a commit. Returns it as a case that holds, or why it is left out.
    async fn look_at(
        &self,
        top: &Path,
        commit: &Commit,
        options: &DrawOptions,
        sink: &EvalSink,
    ) -> Result<Result<(EvalCase, CaseGround), LeftOutCase>, EvalError> {
        let (id, title) = (case_id(&commit.id), commit.title().to_owned());
        let left = |why: String| Ok(Err(LeftOutCase { id: id.clone(), title: title.clone(), why }));
        if let Some(why) = options.why_not(commit) {
            return left(why);
        }
        let (at, of) = (top.to_owned(), commit.clone());
        let (files, is_formatting) = on_a_thread(move || {
            let user = UserRepository::around(&at).ok_or(EvalError::NoRepository)?;
            Ok::<_, EvalError>((CaseFiles::of_commit(&user, &of)?, is_formatting(&at, &of)))
        })
        .await?;
        let tests = files.test_paths();
        if tests.is_empty() {
            return left("it changes no tests".to_owned());
        }
        if is_formatting {
            return left("it changes only the formatting".to_owned());
        }
        let parent = commit.parents.first().cloned().unwrap_or_default();
        let case = EvalCase {
            id: id.clone(),
            title: title.clone(),
            group: String::new(),
            request: options.request(commit),
            origin: CaseOrigin::Commit { id: commit.id.clone(), parent },
            tests,
            tries: 1,
        };
        sink(EvalEvent::Checking { case: id.clone() });
        let ground = check_case(&self.workshop, &case, &self.place.check(&id)).await?;
        match ground {
            CaseGround::Holds { .. } => {
                sink(EvalEvent::Checked { case: id, ground: ground.clone() });
                Ok(Ok((case, ground)))
            }
            CaseGround::NoCase { why } => left(format!("no case: {why}")),
            CaseGround::CannotRun { why } => left(format!("cannot run here: {why}")),
        }
    }

    /// Draws exercises.
    pub async fn draw_exercises(&self, options: &ExerciseOptions) -> Result<(), EvalError> {
        let options = options.clone();
        let from = options.dir.display().to_string();
        let drawn = on_a_thread(move || draw_exercises(&options)).await?;
        self.drawn(from, drawn).await
    }

    async fn drawn(
        &self,
        from: String,
        (cases, left_out, not_looked_at): (Vec<EvalCase>, Vec<LeftOutCase>, usize),
    ) -> Result<(), EvalError> {
        let (version, at) = (self.setup.version.to_owned(), self.setup.clock.now().to_string());
        let drawn = Drawn { version, at, from, cases, left_out, not_looked_at };
        self.record(EvalRecord::Drawn(drawn)).await
    }

    /// Checks the cases that have not been checked, several at a time.
    pub async fn check(
        self: &Arc<Self>,
        parallel: usize,
        sink: &EvalSink,
    ) -> Result<(), EvalError> {
        let report = self.report().ok_or(EvalError::NotDrawn)?;
        let unchecked = report.cases.into_iter().filter(|judged| judged.ground.is_none());
        let places = Arc::new(Semaphore::new(parallel.max(1)));
        let mut work = JoinSet::new();
        for JudgedCase { case, .. } in unchecked {
            let (own, sink, places) = (Arc::clone(self), Arc::clone(sink), Arc::clone(&places));
            work.spawn(async move {
                let _place = places.acquire_owned().await;
                sink(EvalEvent::Checking { case: case.id.clone() });
                let dir = own.place.check(&case.id);
                let ground = check_case(&own.workshop, &case, &dir).await?;
                sink(EvalEvent::Checked { case: case.id.clone(), ground: ground.clone() });
                own.record(EvalRecord::Checked { case: case.id, ground }).await
            });
        }
        all_done(work).await
    }

    /// Adds a variant, unless it is there: a build, which is copied, with flags. Returns its name.
    pub async fn enter(&self, program: &Path, flags: Vec<String>) -> Result<String, EvalError> {
        let (from, builds) = (program.to_owned(), self.place.builds());
        let build = on_a_thread(move || keep_build(&from, &builds)).await?;
        let known = self.report().ok_or(EvalError::NotDrawn)?.variants;
        let is_same = |it: &Variant| it.build == build && it.flags == flags;
        if let Some(same) = known.iter().map(|it| &it.variant).find(|it| is_same(it)) {
            return Ok(same.name.clone());
        }
        let run = ProgramRun {
            words: vec![self.place.builds().join(&build).into(), "--version".into()],
            cwd: self.place.dir().to_owned(),
            vars: self.workshop.vars.clone(),
            shown: None,
            limit: Duration::from_secs(self.config().eval.version_seconds),
        };
        let refused =
            |why: String| EvalError::NotStarted { variant: program.display().to_string(), why };
        let end = run.run().await.map_err(|error| refused(error.to_string()))?;
        if end.exit != Exit::Code(0) {
            return Err(refused(format!("`--version` failed: {}", end.stderr.trim())));
        }
        let version = end.stdout.trim().to_owned();
        let has_other_build = known.iter().any(|it| it.variant.build != build);
        let plain = if flags.is_empty() { "default".to_owned() } else { flags.join(" ") };
        let mut name = plain.clone();
        if has_other_build || known.iter().any(|it| it.variant.name == name) {
            let short: String = build.chars().take(6).collect();
            name = format!("{plain} (build {short})");
        }
        let variant = Variant { name: name.clone(), version, build, flags };
        self.record(EvalRecord::Entered(variant)).await?;
        Ok(name)
    }

    /// Has variants work on all cases that hold and that they have not finished.
    pub async fn run(
        self: &Arc<Self>,
        names: &[String],
        limits: RunLimits,
        answers: Option<Arc<AnswerDesk>>,
        sink: &EvalSink,
    ) -> Result<(), EvalError> {
        let report = self.report().ok_or(EvalError::NotDrawn)?;
        let budget = Arc::new(EvalBudget::of(&report, limits));
        let places = Arc::new(Semaphore::new(limits.parallel.max(1)));
        let mut work = JoinSet::new();
        for judged in &report.cases {
            let Some(CaseGround::Holds { commands, .. }) = &judged.ground else { continue };
            for sums in report.variants.iter().filter(|it| names.contains(&it.variant.name)) {
                let variant = sums.variant.clone();
                let row = judged.row(&variant.name);
                let earlier = row.map(|row| row.attempts.clone()).unwrap_or_default();
                let task = CaseWork {
                    own: Arc::clone(self),
                    case: judged.case.clone(),
                    commands: commands.clone(),
                    variant,
                    earlier,
                    is_open: row.is_some_and(|row| row.is_open),
                    budget: Arc::clone(&budget),
                    answers: answers.clone(),
                    sink: Arc::clone(sink),
                };
                let places = Arc::clone(&places);
                if !task.is_finished() {
                    work.spawn(async move {
                        let _place = places.acquire_owned().await;
                        task.finish().await
                    });
                }
            }
        }
        all_done(work).await
    }
}

/// Waits for all tasks. Returns the first failure, when all have ended.
async fn all_done(mut work: JoinSet<Result<(), EvalError>>) -> Result<(), EvalError> {
    let mut first = Ok(());
    while let Some(done) = work.join_next().await {
        let done = done.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()));
        if first.is_ok() {
            first = done;
        }
    }
    first
}

/// Returns true if a commit changes nothing but white space outside its tests.
fn is_formatting(top: &Path, commit: &Commit) -> bool {
    let Some(parent) = commit.parents.first() else { return false };
    let code = commit.changes.iter().map(|changed| changed.path.as_str());
    let words = ["diff", "--exit-code", "-w", "--ignore-blank-lines", parent, &commit.id, "--"];
    let code: Vec<&str> = code
        .filter(|path| {
            tree::RepoPath::parse(path).is_ok_and(|path| !checks::proof::is_test_path(&path))
        })
        .collect();
    !code.is_empty() && git(top, &[words.as_slice(), &code].concat()).is_ok()
}

/// Copies a build, so that it stays what it is and can be run where the workspace is covered. Returns its name.
fn keep_build(program: &Path, builds: &Path) -> Result<String, EvalError> {
    let file = |error| EvalError::File { path: program.to_owned(), error };
    let bytes = fs::read(program).map_err(file)?;
    let name: String = FileHash::of(&bytes).to_string().chars().take(16).collect();
    let to = builds.join(&name);
    if !to.exists() {
        let half = builds.join(format!("{name}.new"));
        fs::copy(program, &half).map_err(file)?;
        fs::rename(&half, &to).map_err(file)?;
    }
    Ok(name)
}
