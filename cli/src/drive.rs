//! Opens a session in a workspace and drives it for a view: signals go to the view, Ctrl-C cancels the request.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::run::workspace::{CommitRefused, Extent, Staged};
use config::Settings;
use facts::event::Event;
use facts::signal::{ApprovalQuestion, Attendance, Signal};
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::interrupts::{Interrupt, Interrupts};
use front::session::{Lock, Session, SessionChoice, SessionEvent};
use jiff::tz::Offset;
use model::price::Prices;
use model::{ChatModel, DeepSeekClient, NoModel};
use orchestrator::autopilot::Autopilot;
use orchestrator::autopilot::course::CourseWish;
use orchestrator::request::Request;
use orchestrator::root::{RequestOutcome, Setup};
use tokio::sync::oneshot;
use tokio::time::Interval;
use tools::clock::{Clock as _, IdSource as _, RandomIds, SystemClock};
use tools::redact::Redactor;
use tools::regular;

use crate::past::note_place;
use crate::prompts::of_workspace;
use crate::refused_parameters;
use crate::render::{self, RunPresenter};
use crate::surroundings::Surroundings;

/// How a command uses the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceUse {
    /// Read only; other processes may work there at the same time.
    Read,
    /// Read and write, under the workspace lock.
    Write,
}

/// A session, driven for a view.
pub(crate) struct Drive {
    /// The session.
    pub(crate) session: Session,
    /// The signal listener. Kept from the first wait on, so that no signal is missed between two requests.
    interrupts: Option<Interrupts>,
    /// True while model output is not shown.
    is_quiet: bool,
    /// Called now and then while something is at work, to pass on what other terminals want.
    heed: Option<Box<dyn FnMut() + Send>>,
    /// True once the user has stopped what is at work.
    stopping: bool,
    /// True once the program was asked to exit during a request.
    pub(crate) leaves: bool,
}

impl Drive {
    /// Opens a session in the workspace.
    pub(crate) async fn open(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
        which: SessionChoice,
        purpose: WorkspaceUse,
        view: &mut dyn RunPresenter,
    ) -> Result<Self, CliError> {
        let mut access = around.access(settings, &workspace);
        for warning in settings.warnings.iter().chain(&access.warnings) {
            view.note(&format!("warning: {warning}"));
        }
        if let Some(why) = around.too_wide(&workspace) {
            view.note(&format!("warning: {why}"));
        }
        if let Some(url) = access.proposed_url.take() {
            access.base_url =
                proposed(&url, around.stdin_is_terminal && around.stderr_is_terminal).await?;
        }
        let config = &settings.config;
        if access.key.is_none() && access.base_url.starts_with("https://api.deepseek.com") {
            let variable = &config.llm.api_key_env;
            return Err(CliError::new(CliErrorKind::Usage, "there is no API key").hint(format!(
                "get one at https://platform.deepseek.com/api_keys and store it with `deepseek auth login`, or export {variable}=sk-…; `deepseek demo` needs no key"
            )));
        }
        let key = access.key.iter().map(|key| key.expose().to_owned());
        let redactor = around.redactor().knowing(key.filter(|key| !key.is_empty()));
        let model =
            DeepSeekClient::new(&config.llm, &access.base_url, access.key).map_err(|error| {
                CliError::caused(CliErrorKind::Usage, &error).hint(exit::of_client(&error))
            })?;
        let model = refused_parameters::remembering(model, &around.state_dir()?);
        let attendance = view.attendance();
        Self::start(
            around,
            settings,
            workspace,
            (which, purpose),
            (Arc::new(model), redactor),
            attendance,
        )
        .await
    }

    /// Says that a long run is about to start while calls cost more.
    pub(crate) fn warn_of_peak(settings: &Settings, view: &mut dyn RunPresenter) {
        let llm = &settings.config.llm;
        let Ok(prices) = Prices::new(&llm.prices, &llm.peak) else { return };
        let models = [&llm.max_think_model, &llm.base_model, &llm.flash_model];
        let now = SystemClock.now();
        let peak = models.into_iter().find_map(|role| prices.peak(&role.model, now));
        if let Some((end, factor)) = peak {
            let end = Offset::UTC.to_datetime(end).strftime("%H:%M");
            view.note(&format!(
                "peak prices apply until {end} UTC: calls cost {factor} times as much"
            ));
        }
    }

    /// Opens a session that makes no model calls.
    pub(crate) async fn open_offline(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
    ) -> Result<Self, CliError> {
        let model: (Arc<dyn ChatModel>, Redactor) = (Arc::new(NoModel), around.redactor());
        let attendance = Attendance::Unattended;
        Self::start(
            around,
            settings,
            workspace,
            (SessionChoice::New, WorkspaceUse::Write),
            model,
            attendance,
        )
        .await
    }

    async fn start(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
        (which, purpose): (SessionChoice, WorkspaceUse),
        (model, redactor): (Arc<dyn ChatModel>, Redactor),
        attendance: Attendance,
    ) -> Result<Self, CliError> {
        let state = around.state_dir()?;
        for kept in ["sessions", "workspaces", "commits"] {
            regular::keep_private(&state.join(kept));
        }
        let own = around.workspace_state(&workspace)?;
        let config = &settings.config;
        let mut lock = Lock::new(
            (purpose == WorkspaceUse::Write).then(|| own.join("lock")),
            Duration::from_secs(config.limits.workspace_lock_timeout_seconds),
        );
        lock.take(render::waits).await.map_err(|error| exit::locked(&error))?;
        note_place(&state, &workspace);
        let id = match &which {
            SessionChoice::New => RandomIds.fresh(),
            SessionChoice::Earlier(id) => id.clone(),
        };
        let places = around.places(&workspace)?;
        let sandbox = around.sandbox(settings, &workspace)?;
        let (prompts, warning) = of_workspace(settings, &workspace)?;
        if let Some(warning) = warning {
            render::warn(&format!("warning: {warning}"));
        }
        let servers = around.servers(&workspace, config)?;
        let setup = Setup {
            servers,
            workspace,
            session_dir: state.join("sessions").join(&id),
            cache: own.join("verify"),
            places,
            config: Arc::new(config.clone()),
            model,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            env: around.seen_by_commands(config),
            redactor,
            sandbox,
            prompts,
            attendance,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let opened = Session::open(id, &which, setup, lock).await;
        let session = opened.map_err(|error| exit::not_started(&error))?;
        Ok(Self {
            session,
            interrupts: None,
            is_quiet: false,
            heed: None,
            stopping: false,
            leaves: false,
        })
    }

    /// Calls `heed` now and then while something is at work.
    pub(crate) fn heeding(&mut self, heed: impl FnMut() + Send + 'static) {
        self.heed = Some(Box::new(heed));
    }

    /// Takes the workspace lock again for the next request.
    pub(crate) async fn acquire(&mut self) -> Result<(), CliError> {
        self.session.acquire(render::waits).await.map_err(|error| exit::locked(&error))
    }

    /// Runs a request to its delivery. The first Ctrl-C cancels it.
    pub(crate) async fn run(
        &mut self,
        request: Request,
        view: &mut dyn RunPresenter,
    ) -> Result<RequestOutcome, CliError> {
        self.acquire().await?;
        view.submitted();
        self.session.begin(request);
        let outcome = self.watch(view).await?;
        view.outcome(&outcome, &self.session.id);
        Ok(outcome)
    }

    /// Resumes the interrupted run of this session, if there is one. The caller shows the outcome.
    pub(crate) async fn resume(
        &mut self,
        view: &mut dyn RunPresenter,
    ) -> Result<Option<RequestOutcome>, CliError> {
        if !self.show_interrupted(view) {
            return Ok(None);
        }
        self.session.resume();
        self.watch(view).await.map(Some)
    }

    /// Shows the interrupted run of this session as far as it came. Returns false if there is none.
    pub(crate) fn show_interrupted(&self, view: &mut dyn RunPresenter) -> bool {
        let Some(interrupted) = self.session.interrupted() else { return false };
        let request = interrupted.request().lines().next().unwrap_or_default();
        view.note(&render::harmless(&format!("resuming: {request}")));
        for recorded in interrupted.events() {
            view.earlier(&recorded.scope, &recorded.event);
        }
        true
    }

    /// Follows an autopilot to its next news, or to its end. The first Ctrl-C stops it. If `is_quiet`, what models write is not
    /// shown.
    pub(crate) async fn follow(
        &mut self,
        autopilot: &Autopilot,
        view: &mut dyn RunPresenter,
        is_quiet: bool,
    ) -> Result<SessionEvent, CliError> {
        self.is_quiet = is_quiet;
        self.next_event(view, &|_| autopilot.wish(Some(CourseWish::Stop))).await
    }

    /// Returns when the program is asked to exit while no request is running.
    pub(crate) async fn asked_to_leave(&mut self) -> Result<(), CliError> {
        listen(&mut self.interrupts)?.leave().await;
        Ok(())
    }

    /// Returns on Ctrl-C, or when the program is asked to exit, while no request is running.
    pub(crate) async fn stopped(&mut self) -> Result<Interrupt, CliError> {
        Ok(listen(&mut self.interrupts)?.next().await)
    }

    async fn watch(&mut self, view: &mut dyn RunPresenter) -> Result<RequestOutcome, CliError> {
        self.stopping = false;
        loop {
            match Box::pin(self.next_event(view, &Session::cancel)).await? {
                SessionEvent::Ended(Ok(outcome)) => return Ok(*outcome),
                SessionEvent::Ended(Err(died)) => return Err(exit::died(&died)),
                SessionEvent::Signal(_)
                | SessionEvent::Applied(_)
                | SessionEvent::AutopilotNews(_)
                | SessionEvent::AutopilotEnded(_) => {}
            }
        }
    }

    /// Shows signals until something else happens. The first interrupt calls `cancel`; the second is an error.
    async fn next_event(
        &mut self,
        view: &mut dyn RunPresenter,
        cancel: &(dyn Fn(&Session) + Sync),
    ) -> Result<SessionEvent, CliError> {
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        let interrupts = listen(&mut self.interrupts)?;
        // An interrupt that came while a question was open.
        let mut noticed = None;
        loop {
            tokio::select! {
                biased;
                next = self.session.next() => match next {
                    SessionEvent::Signal(Signal::Text(..) | Signal::Reasoning(..)) if self.is_quiet => {}
                    SessionEvent::Signal(signal) => {
                        // Only the user can end this, so every view shows it.
                        if let Signal::Paused(why) = &signal {
                            view.note(&render::harmless(why));
                        }
                        if view.attendance() == Attendance::Unattended && sends_images(&signal) {
                            view.note("images are sent as they are: secrets in them cannot be masked");
                        }
                        // A question may stay open for a long time; a signal or another terminal can stop the run before it is
                        // answered.
                        let mut shown = view.signal(signal);
                        while let Err(interrupt) = poll_until(&mut shown, or_tick(interrupts, &mut tick)).await {
                            noticed = noticed.or(interrupt);
                            if noticed.is_some() {
                                cancel(&self.session);
                            } else if let Some(heed) = &mut self.heed {
                                heed();
                            }
                        }
                    }
                    next @ (SessionEvent::Ended(_)
                    | SessionEvent::Applied(_)
                    | SessionEvent::AutopilotNews(_)
                    | SessionEvent::AutopilotEnded(_)) => return Ok(next),
                },
                interrupt = or_next(&mut noticed, interrupts) => {
                    self.leaves |= interrupt == Interrupt::Leave;
                    if std::mem::replace(&mut self.stopping, true) {
                        return Err(CliError::new(CliErrorKind::Interrupted, "stopped at once"));
                    }
                    view.note("stopping …");
                    cancel(&self.session);
                }
                _ = tick.tick() => {
                    view.tick();
                    if let Some(heed) = &mut self.heed {
                        heed();
                    }
                }
            }
        }
    }

    /// Applies a patch set that was staged earlier. Returns `None` if the user interrupted the question, which then stays
    /// unanswered.
    pub(crate) async fn apply(
        &mut self,
        staged: Staged,
        view: &mut dyn RunPresenter,
    ) -> Result<Option<Result<Extent, CommitRefused>>, CliError> {
        let interrupts = listen(&mut self.interrupts)?;
        let mut stopped = false;
        self.session.apply(staged);
        loop {
            tokio::select! {
                biased;
                next = self.session.next() => match next {
                    SessionEvent::Signal(Signal::Question(_)) if stopped => return Ok(None),
                    SessionEvent::Signal(Signal::Question(question)) => {
                        let (answer, mut answered) = oneshot::channel();
                        let asker = question.answer;
                        let question = Signal::Question(ApprovalQuestion { answer, ..question });
                        let mut shown = view.signal(question);
                        if poll_until(&mut shown, interrupts.next()).await.is_err() {
                            // The question is withdrawn.
                            answered.close();
                            shown.await;
                            return Ok(None);
                        }
                        tokio::select! {
                            biased;
                            // Without an answer, the asker learns that there is no user.
                            answer = answered => drop(answer.map(|answer| asker.send(answer))),
                            // The view left the question open, because it was interrupted as well.
                            _ = interrupts.next() => return Ok(None),
                        }
                    }
                    SessionEvent::Signal(signal) => view.signal(signal).await,
                    SessionEvent::Applied(result) => return Ok((result.is_ok() || !stopped).then_some(result)),
                    SessionEvent::Ended(_) | SessionEvent::AutopilotNews(_) | SessionEvent::AutopilotEnded(_) => {}
                },
                _ = interrupts.next() => stopped = true,
            }
        }
    }
}

/// Returns true if images will be sent to a model.
fn sends_images(signal: &Signal) -> bool {
    let Signal::Event(envelope) = signal else { return false };
    matches!(&envelope.event, Event::ImagesRead { images, unseen_by: None }
        if images.iter().any(|image| image.content().is_some()))
}

/// Polls `work` until `end` completes. Returns the error if `end` came first; `work` can then be polled again.
async fn poll_until<T, E>(
    work: &mut (impl Future<Output = T> + Unpin),
    end: impl Future<Output = E>,
) -> Result<T, E> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        ended = end => Err(ended),
    }
}

/// Waits for the next interrupt, but not longer than until the next tick.
async fn or_tick(interrupts: &mut Interrupts, tick: &mut Interval) -> Option<Interrupt> {
    tokio::select! {
        biased;
        interrupt = interrupts.next() => Some(interrupt),
        _ = tick.tick() => None,
    }
}

/// Returns the interrupt that was noticed, or waits for the next one.
async fn or_next(noticed: &mut Option<Interrupt>, interrupts: &mut Interrupts) -> Interrupt {
    match noticed.take() {
        Some(interrupt) => interrupt,
        None => interrupts.next().await,
    }
}

/// Returns the signal listener, starting it if necessary.
fn listen(interrupts: &mut Option<Interrupts>) -> Result<&mut Interrupts, CliError> {
    let listening = match interrupts.take() {
        Some(listening) => listening,
        None => Interrupts::listen()?,
    };
    Ok(interrupts.insert(listening))
}

/// Returns the server that the workspace's `.env` names, if the user allows it.
async fn proposed(url: &str, someone_is_there: bool) -> Result<String, CliError> {
    let shown = render::harmless(url);
    let question = format!("The .env of this workspace sends requests to {shown}. Continue?");
    if someone_is_there && render::ask::yes_or_no(&question, None).await? {
        return Ok(url.to_owned());
    }
    Err(CliError::new(
        CliErrorKind::Denied,
        format!("the .env of this workspace sends requests to {shown}"),
    )
    .hint("to allow it: deepseek trust; to use another server: export DEEPSEEK_BASE_URL=…"))
}
