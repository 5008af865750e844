//! How a request or a command ends: exit codes and hints, from what came of it. Pure.

use actors::delivery::{Delivery, FailureKind, Level, NeedsWork};
use actors::publisher::Attendance;
use actors::workspace::{CommitRefused, Extent, NotApplied};
use journal::log::LogError;
use model::ErrorClass;
use orchestrator::lock::LockError;
use orchestrator::orchestrator::StartError;
use tree::CommitError;

use crate::error::{CliError, Kind};
use crate::session::Died;

/// The orchestrator died, and why.
pub fn died(why: &Died) -> CliError {
    CliError::caused(Kind::Internal, why)
        .hint("what was done is in the journal: `deepseek sessions show`")
}

/// How much was written of a change that the user asked for directly, where it was not stopped at the question.
pub fn of_change(
    result: Option<Result<Extent, CommitRefused>>,
    attendance: Attendance,
) -> Result<Extent, CliError> {
    match result {
        Some(Ok(extent)) => Ok(extent),
        None => Err(CliError::new(Kind::Interrupted, "stopped; nothing was written")),
        Some(Err(CommitRefused::Denied(denied))) => {
            let hint = match attendance {
                Attendance::Attended => denied.hint.to_string(),
                Attendance::Unattended => "`deepseek apply --yes` does not ask".to_owned(),
            };
            Err(CliError::new(Kind::Denied, denied.to_string()).hint(hint))
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
pub fn of(delivery: &Delivery, require: Option<Level>) -> Result<(), CliError> {
    match delivery {
        Delivery::Delivered { verified }
            if require.is_some_and(|least| !verified.is_at_least(least)) =>
        {
            let error = CliError::new(Kind::NotDelivered, format!("not verified enough: {verified}"));
            Err(error.hint("the change is in the workspace: keep it, undo it, or ask for a test that fails without it"))
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
        NeedsWork::PreExisting => {
            "the change is in the workspace: keep it, undo it, or ask to have the earlier failures mended"
        }
        NeedsWork::Unverifiable => {
            "the change is in the workspace: keep it or undo it; to have it verified, install or allow what the checks need"
        }
        NeedsWork::NoPlan | NeedsWork::NoAnswer => {
            "say it in other words, or name the files; what was answered: `deepseek sessions show`"
        }
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

/// Why a session has no right to write.
pub fn locked(error: &LockError) -> CliError {
    match error {
        LockError::Held { .. } => CliError::caused(Kind::NotDelivered, error)
            .hint("wait until its request has ended, or stop it"),
        LockError::Io { .. } => CliError::caused(Kind::Internal, error),
    }
}

/// Why a session could not be opened.
pub fn not_started(error: &StartError) -> CliError {
    match error {
        StartError::Terms(_) | StartError::Workspace(CommitError::Tree(_)) => {
            CliError::caused(Kind::Usage, error)
        }
        StartError::Workspace(_) => CliError::caused(Kind::NotDelivered, error).hint(
            "is the workspace writable, and DEEPSEEK_HOME? Is another process writing there?",
        ),
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
