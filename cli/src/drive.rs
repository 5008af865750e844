//! Starts an orchestrator for a workspace and drives requests through it: signals to the view, Ctrl-C to a cancel.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::delivery::{Delivery, FailureKind, NeedsWork};
use actors::publisher::{Attendance, Signal};
use actors::workspace::{CommitRefused, NotApplied};
use config::Settings;
use journal::log::LogError;
use model::{ChatModel, DeepSeekClient, ErrorClass, NoModel};
use orchestrator::earlier::CutShort;
use orchestrator::lock::{LockError, WorkspaceLock};
use orchestrator::orchestrator::{Orchestrator, Outcome, Setup, StartError};
use orchestrator::request::Request;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tools::clock::{IdSource as _, RandomIds, SystemClock};
use tools::redact::Redactor;
use tools::regular;
use tree::CommitError;

use crate::error::{CliError, Kind};
use crate::flags::Require;
use crate::prompts::of_workspace;
use crate::render::{self, View};
use crate::surroundings::Surroundings;

/// What a command may do to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It only reads: others may work beside it.
    Read,
    /// It may write: nobody else may.
    Write,
}

/// Which session a command works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// One that begins.
    New,
    /// That of the past with this id.
    Earlier(String),
}

/// A session of this process.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// The run that was interrupted in it.
    cut_short: Option<CutShort>,
    orchestrator: Orchestrator,
    signals: mpsc::Receiver<Signal>,
    lock: Lock,
    /// Interrupts, from the first wait on, so that none is missed between two requests.
    interrupts: Option<mpsc::Receiver<Interrupt>>,
    /// Whether the whole program was asked to end while a request was at work.
    pub(crate) leaves: bool,
}

/// The right to write to the workspace, while somebody has it.
struct Lock {
    /// Where it is, if this session writes at all.
    path: Option<PathBuf>,
    patience: Duration,
    held: Option<WorkspaceLock>,
}

impl Lock {
    /// Takes it, unless it is held. Whether it had to be taken.
    async fn take(&mut self) -> Result<bool, CliError> {
        let Some(path) = self.path.as_ref().filter(|_| self.held.is_none()) else {
            return Ok(false);
        };
        let taken = WorkspaceLock::acquire(path, self.patience).await;
        self.held = Some(taken.map_err(|error| locked(&error))?);
        Ok(true)
    }
}

impl Session {
    /// Opens a session in the workspace.
    pub(crate) async fn open(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
        which: Which,
        purpose: Use,
        view: &mut dyn View,
    ) -> Result<Self, CliError> {
        let mut access = around.access(settings, &workspace);
        for warning in settings.warnings.iter().chain(&access.warnings) {
            view.note(&format!("warning: {warning}"));
        }
        if let Some(url) = access.proposed_url.take() {
            access.base_url =
                proposed(&url, around.stdin_is_terminal && around.stderr_is_terminal).await?;
        }
        let config = &settings.config;
        if access.key.is_none() && access.base_url.starts_with("https://api.deepseek.com") {
            let variable = &config.llm.api_key_env;
            return Err(CliError::new(Kind::Usage, "there is no key for the provider").hint(format!(
                "deepseek auth login, or export {variable}=sk-…, or try `deepseek demo` which needs none"
            )));
        }
        let key = access.key.iter().map(|key| key.expose().to_owned());
        let redactor = around.redactor().knowing(key.filter(|key| !key.is_empty()));
        let model =
            DeepSeekClient::new(&config.llm, &access.base_url, access.key).map_err(|error| {
                CliError::caused(Kind::Usage, &error)
                    .hint("look at llm.base_url with `deepseek config show`")
            })?;
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

    /// Opens a session that asks no model.
    pub(crate) async fn open_offline(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
    ) -> Result<Self, CliError> {
        let model: (Arc<dyn ChatModel>, Redactor) = (Arc::new(NoModel), around.redactor());
        let attendance = Attendance::Unattended;
        Self::start(around, settings, workspace, (Which::New, Use::Write), model, attendance).await
    }

    async fn start(
        around: &Surroundings,
        settings: &Settings,
        workspace: PathBuf,
        (which, purpose): (Which, Use),
        (model, redactor): (Arc<dyn ChatModel>, Redactor),
        attendance: Attendance,
    ) -> Result<Self, CliError> {
        let state = around.state_dir()?;
        for kept in ["sessions", "workspaces", "commits"] {
            regular::keep_private(&state.join(kept));
        }
        let own = around.workspace_state(&workspace)?;
        let config = &settings.config;
        let mut lock = Lock {
            path: (purpose == Use::Write).then(|| own.join("lock")),
            patience: Duration::from_secs(config.limits.workspace_lock_timeout_seconds),
            held: None,
        };
        lock.take().await?;
        let id = match &which {
            Which::New => RandomIds.fresh(),
            Which::Earlier(id) => id.clone(),
        };
        let places = around.places(&workspace)?;
        let sandbox = around.sandbox(settings, &workspace)?;
        let (prompts, warning) = of_workspace(settings, &workspace)?;
        if let Some(warning) = warning {
            render::warn(&format!("warning: {warning}"));
        }
        let setup = Setup {
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
        let opened = match which {
            Which::New => Orchestrator::start(setup).await.map(|(it, signals)| (it, signals, None)),
            Which::Earlier(_) => Orchestrator::go_on(setup).await,
        };
        let (orchestrator, signals, cut_short) = opened.map_err(|error| not_started(&error))?;
        tracing::info!(session = id, "session opened");
        Ok(Self { id, cut_short, orchestrator, signals, lock, interrupts: None, leaves: false })
    }

    /// Lets others work in the workspace until the next request.
    pub(crate) fn let_go(&mut self) {
        self.lock.held = None;
    }

    /// Takes the workspace again, for the next request.
    pub(crate) async fn take_hold(&mut self) -> Result<(), CliError> {
        if self.lock.take().await? {
            self.orchestrator.settle().await;
        }
        Ok(())
    }

    /// Takes a request to its delivery. The first Ctrl-C cancels it.
    pub(crate) async fn run(
        &mut self,
        request: Request,
        view: &mut dyn View,
    ) -> Result<Outcome, CliError> {
        self.take_hold().await?;
        let orchestrator = self.orchestrator.clone();
        let outcome = self.watch(orchestrator.run(request), view).await?;
        view.outcome(&outcome, &self.id);
        Ok(outcome)
    }

    /// Whether a run was interrupted in this session.
    pub(crate) const fn has_open_run(&self) -> bool {
        self.cut_short.is_some()
    }

    /// Takes up the run that was interrupted in this session, if there is one. Telling its outcome is left to the caller.
    pub(crate) async fn take_up(
        &mut self,
        view: &mut dyn View,
    ) -> Result<Option<Outcome>, CliError> {
        let Some(cut_short) = self.cut_short.take() else { return Ok(None) };
        let request = cut_short.request().lines().next().unwrap_or_default();
        view.note(&render::harmless(&format!("going on with: {request}")));
        for recorded in cut_short.events() {
            view.earlier(recorded.scope.lane(), &recorded.event);
        }
        let orchestrator = self.orchestrator.clone();
        self.watch(orchestrator.take_up(cut_short), view).await.map(Some)
    }

    /// Comes back when the program is asked to end while no request is at work.
    pub(crate) async fn told_to_leave(&mut self) -> Result<(), CliError> {
        let interrupts = listen(&mut self.interrupts)?;
        while let Some(interrupt) = interrupts.recv().await {
            if interrupt == Interrupt::Leave {
                break;
            }
        }
        Ok(())
    }

    async fn watch(
        &mut self,
        work: impl Future<Output = Result<Outcome, Unanswered>>,
        view: &mut dyn View,
    ) -> Result<Outcome, CliError> {
        tokio::pin!(work);
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        let interrupts = listen(&mut self.interrupts)?;
        let mut stopping = false;
        let outcome = loop {
            tokio::select! {
                biased;
                Some(signal) = self.signals.recv() => view.signal(signal).await,
                outcome = &mut work => break outcome,
                Some(interrupt) = interrupts.recv() => {
                    self.leaves |= interrupt == Interrupt::Leave;
                    if std::mem::replace(&mut stopping, true) {
                        return Err(CliError::new(Kind::Interrupted, "stopped at once"));
                    }
                    view.note("stopping …");
                    self.orchestrator.cancel();
                }
                _ = tick.tick() => view.tick(),
            }
        };
        // Every event of the run was sent before its end was.
        while let Ok(signal) = self.signals.try_recv() {
            view.signal(signal).await;
        }
        let died = || {
            let why = self.orchestrator.journal_failure().unwrap_or("the orchestrator died");
            CliError::new(Kind::Internal, why)
                .hint("what was done is in the journal: `deepseek sessions show`")
        };
        outcome.map_err(|_| died())
    }

    /// Applies a patch set that was staged earlier. `None` when the user stopped it at the question.
    pub(crate) async fn apply(
        &mut self,
        staged: actors::workspace::Staged,
        view: &mut dyn View,
    ) -> Result<Option<Result<(), CommitRefused>>, CliError> {
        let orchestrator = self.orchestrator.clone();
        let work = orchestrator.apply(staged);
        tokio::pin!(work);
        let interrupts = listen(&mut self.interrupts)?;
        let mut stopped = false;
        let result = loop {
            tokio::select! {
                biased;
                Some(signal) = self.signals.recv() => view.signal(signal).await,
                Some(_) = interrupts.recv() => stopped = true,
                result = &mut work => break result,
            }
        };
        Ok((result.is_ok() || !stopped).then_some(result))
    }
}

/// What stops a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    /// Ctrl-C: the request, and nothing else.
    Stop,
    /// The polite signal, or a terminal that is gone: everything.
    Leave,
}

/// Interrupts as they come, listened to from now on if they were not before.
fn listen(
    interrupts: &mut Option<mpsc::Receiver<Interrupt>>,
) -> Result<&mut mpsc::Receiver<Interrupt>, CliError> {
    let listening = match interrupts.take() {
        Some(listening) => listening,
        None => self::interrupts()?,
    };
    Ok(interrupts.insert(listening))
}

/// A server that the workspace's `.env` names, if the user lets requests go there.
async fn proposed(url: &str, someone_is_there: bool) -> Result<String, CliError> {
    let shown = render::harmless(url);
    let question = format!("The .env of this workspace sends requests to {shown}.");
    if someone_is_there && render::ask::yes_or_no(&question).await {
        return Ok(url.to_owned());
    }
    Err(CliError::new(
        Kind::Denied,
        format!("the .env of this workspace sends requests to {shown}"),
    )
    .hint("if that is wanted: deepseek trust; else say where they go: export DEEPSEEK_BASE_URL=…"))
}

fn interrupts() -> Result<mpsc::Receiver<Interrupt>, CliError> {
    let failed =
        |error| CliError::new(Kind::Internal, format!("cannot listen to signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let mut quit = signal(SignalKind::quit()).map_err(failed)?;
    let (tell, told) = mpsc::channel(2);
    tokio::spawn(async move {
        loop {
            let interrupt = tokio::select! {
                _ = interrupt.recv() => Interrupt::Stop,
                _ = terminate.recv() => Interrupt::Leave,
                _ = hangup.recv() => Interrupt::Leave,
                _ = quit.recv() => Interrupt::Leave,
            };
            if tell.send(interrupt).await.is_err() {
                return;
            }
        }
    });
    Ok(told)
}

/// What came of a change the user asked for directly; none when it was stopped at the question.
pub(crate) fn exit_of_change(result: Option<Result<(), CommitRefused>>) -> Result<(), CliError> {
    match result {
        Some(Ok(())) => Ok(()),
        None => Err(CliError::new(Kind::Interrupted, "stopped; nothing was written")),
        Some(Err(CommitRefused::Denied(denied))) => {
            Err(CliError::new(Kind::Denied, denied.to_string())
                .hint("`deepseek apply --yes` does not ask"))
        }
        Some(Err(error @ CommitRefused::NotApplied(NotApplied::Stale { .. }))) => {
            Err(CliError::caused(Kind::NotDelivered, &error).hint(
                "nothing was written; the workspace is not as it was when the patch was made",
            ))
        }
        Some(Err(error @ (CommitRefused::NotApplied(_) | CommitRefused::Gone))) => {
            Err(CliError::caused(Kind::NotDelivered, &error).hint("nothing was written"))
        }
    }
}

/// The exit of a request that ended, which has to be verified as far as `require` says.
pub(crate) fn exit_of(delivery: &Delivery, require: Option<Require>) -> Result<(), CliError> {
    match delivery {
        Delivery::Delivered { verified }
            if require.is_some_and(|least| !verified.is_at_least(least.level())) =>
        {
            let error = CliError::new(Kind::NotDelivered, format!("not verified enough: {verified}"));
            Err(error.hint("the change is in the workspace; what --require asks for is not shown"))
        }
        Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. } => Ok(()),
        Delivery::NeedsWork { why, detail } => {
            let error = CliError::new(Kind::NotDelivered, format!("not delivered: {detail}"));
            Err(error.hint(way_on(*why)))
        }
        Delivery::Denied { what, hint } => {
            Err(CliError::new(Kind::Denied, format!("denied: {what}")).hint(hint.to_string()))
        }
        Delivery::Cancelled => Err(CliError::new(Kind::Interrupted, "stopped")),
        Delivery::BudgetExhausted { detail, .. } => Err(CliError::new(Kind::Budget, detail.to_string())
            .hint("raise it: budget.* in the configuration, --budget-usd, --budget-tokens; a model without a price needs one in llm.prices")),
        Delivery::Failed { class, message } => Err(failure(*class, &message.to_string())),
    }
}

/// What the user can do about a request that was not delivered.
const fn way_on(why: NeedsWork) -> &'static str {
    match why {
        NeedsWork::IterationsUsedUp | NeedsWork::NoDraft => {
            "say more precisely what is wanted, or raise agent_loop.max_iterations; what was tried: `deepseek sessions show`"
        }
        NeedsWork::PreExisting => "the change is in the workspace; what fails now failed before it",
        NeedsWork::Unverifiable => {
            "the change is in the workspace; see to the command and run it yourself"
        }
        NeedsWork::NoPlan | NeedsWork::NoAnswer => "say it in other words, or name the files",
        NeedsWork::LanesFailed => {
            "what a lane did: `deepseek diff --lane NN`; ask for what is missing, or again with --teammate-mode off"
        }
        NeedsWork::Staged => "`deepseek diff` shows what was made, and `deepseek apply` writes it",
        NeedsWork::Crashed => {
            "this is a bug; what was done is in the journal: `deepseek sessions show`"
        }
    }
}

fn failure(class: FailureKind, message: &str) -> CliError {
    let (kind, hint) = match class {
        FailureKind::Write => {
            (Kind::NotDelivered, "nothing was changed; free space or permissions may be missing")
        }
        FailureKind::Journal => {
            (Kind::Internal, "nothing is acted on that cannot be journaled; is the disk full?")
        }
        FailureKind::Internal | FailureKind::Admission => (
            Kind::Internal,
            "this is a bug; what was done is in the journal: `deepseek sessions show`",
        ),
        FailureKind::Resume => (
            Kind::NotDelivered,
            "what it changed is in the workspace, and `deepseek rewind` undoes it; ask again in this session with `deepseek -r ID -p`",
        ),
        FailureKind::Worktree => (
            Kind::NotDelivered,
            "worktrees of lanes are kept under DEEPSEEK_HOME; is it writable and is there room?",
        ),
        FailureKind::Model(class) => (Kind::Provider, cure(class)),
    };
    CliError::new(kind, message).hint(hint)
}

/// What the user can do about a call that failed.
const fn cure(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => "check the key: `deepseek doctor`",
        ErrorClass::Quota => {
            "top up the account, or use another: the key is in the variable that llm.api_key_env names"
        }
        ErrorClass::RateLimited => {
            "wait a little, or have less asked at once: llm.max_concurrent_calls, llm.max_retries"
        }
        ErrorClass::ContextTooLong => {
            "begin a new session, or say how much the model holds: llm.context_window_tokens"
        }
        ErrorClass::InvalidRequest => {
            "does this server have this model? `deepseek config show` names both: llm.base_url, and llm.*.model or --model"
        }
        ErrorClass::Transport => {
            "check the network and llm.base_url, and whether it is http or https: `deepseek doctor`"
        }
        ErrorClass::Malformed => {
            "llm.base_url has to be the address of an API, not of a page: `deepseek doctor`"
        }
        ErrorClass::TimedOut => {
            "ask again later, or wait longer: llm.first_token_timeout_seconds, llm.idle_timeout_seconds, llm.call_timeout_seconds"
        }
        ErrorClass::Server
        | ErrorClass::Truncated
        | ErrorClass::Interrupted
        | ErrorClass::OutOfCapacity
        | ErrorClass::Lost => "the fault is the provider's: ask again later",
        ErrorClass::Empty | ErrorClass::ContentFilter => {
            "say it in other words, or ask another model: llm.*.model or --model"
        }
        ErrorClass::Length => "raise what an answer may have: llm.*.max_output_tokens",
    }
}

fn locked(error: &LockError) -> CliError {
    match error {
        LockError::Held { .. } => CliError::caused(Kind::NotDelivered, error)
            .hint("wait until its request has ended, or stop it"),
        LockError::Io { .. } => CliError::caused(Kind::Internal, error),
    }
}

fn not_started(error: &StartError) -> CliError {
    match error {
        StartError::Terms(_) | StartError::Workspace(CommitError::Tree(_)) => {
            CliError::caused(Kind::Usage, error)
        }
        StartError::Workspace(_) => CliError::caused(Kind::NotDelivered, error)
            .hint("is the workspace writable, and DEEPSEEK_HOME? Is somebody else writing there?"),
        StartError::Journal(LogError::InUse(_)) => {
            CliError::caused(Kind::NotDelivered, error).hint("wait for it, or stop it")
        }
        StartError::Journal(LogError::Damaged(_)) => CliError::caused(Kind::Internal, error)
            .hint("`deepseek doctor --repair` keeps what is valid of it"),
        StartError::Earlier(_) => CliError::caused(Kind::Internal, error)
            .hint("what was done is in the workspace; begin a new session with the same request"),
        StartError::Journal(_) => CliError::caused(Kind::Internal, error)
            .hint("sessions are kept under DEEPSEEK_HOME; is it writable and is there room?"),
        StartError::Actors(_) => CliError::caused(Kind::Internal, error),
    }
}
