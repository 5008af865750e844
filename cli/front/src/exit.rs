//! Exit codes and hints for every way in which a request or a command can end. Pure.

use std::io;

use actors::run::workspace::{CommitRefused, Extent};
use facts::delivery::{Delivery, FailureKind, Level, Limit, NeedsWork};
use facts::signal::Attendance;
use facts::write_failure::WriteFailure;
use journal::log::LogError;
use model::{ClientError, ErrorClass};
use orchestrator::root::StartError;
use orchestrator::workspace::lock::LockError;
use tree::CommitError;

use crate::error::{CliError, CliErrorKind};
use crate::session::Died;

/// The cure for a state directory that cannot be written to.
const MAKE_ROOM: &str = "free some space there, check that you may write there, or set DEEPSEEK_HOME to a directory on another disk";

/// The cure for a state directory that this user cannot have.
const OWN_PLACE: &str = "set DEEPSEEK_HOME to a directory that you may write to; it holds sessions, checkpoints and caches";

/// The error for an orchestrator that died.
pub fn died(why: &Died) -> CliError {
    CliError::caused(CliErrorKind::Internal, why)
        .hint("to see what was recorded: `deepseek sessions show`")
}

/// The error for a command that was stopped while its question was open.
pub fn stopped_at_a_question() -> CliError {
    CliError::new(CliErrorKind::Interrupted, "stopped; nothing was written")
}

/// Returns how much of a change that the user requested directly was written; `None` means it was stopped at the question.
pub fn of_change(
    result: Option<Result<Extent, CommitRefused>>,
    attendance: Attendance,
) -> Result<Extent, CliError> {
    match result {
        Some(Ok(extent)) => Ok(extent),
        None => Err(stopped_at_a_question()),
        Some(Err(CommitRefused::Denied(denied))) => {
            let hint = match attendance {
                Attendance::Attended => denied.hint.to_string(),
                Attendance::Unattended => {
                    "`deepseek apply --yes` applies it without asking".to_owned()
                }
            };
            Err(CliError::new(CliErrorKind::Denied, denied.to_string()).hint(hint))
        }
        Some(Err(error @ CommitRefused::NotApplied(WriteFailure::Stale { .. }))) => {
            Err(CliError::caused(CliErrorKind::NotDelivered, &error)
                .hint("nothing was written; the patch no longer fits, so ask for the change again"))
        }
        Some(Err(error @ (CommitRefused::NotApplied(_) | CommitRefused::Gone))) => {
            Err(CliError::caused(CliErrorKind::NotDelivered, &error)
                .hint("nothing was written; fix the cause and run the command again"))
        }
    }
}

/// Returns the error of a request that ended, if it failed or is verified less than `require` demands.
pub fn exit_error(delivery: &Delivery, require: Option<Level>) -> Result<(), CliError> {
    match delivery {
        Delivery::Delivered { verified }
            if require.is_some_and(|least| !verified.is_at_least(least)) =>
        {
            let error = CliError::new(
                CliErrorKind::NotDelivered,
                format!("not verified enough: {verified}"),
            );
            Err(error.hint("the change is in the workspace: keep it, undo it, or ask for a test that fails without it"))
        }
        Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. } => Ok(()),
        Delivery::NeedsWork { why, detail } => {
            let error =
                CliError::new(CliErrorKind::NotDelivered, format!("not delivered: {detail}"));
            Err(error.hint(next_step(*why)))
        }
        Delivery::Denied { what, hint, card } => {
            let what = match card {
                Some(_) => what.to_string(),
                None => format!("denied: {what}"),
            };
            Err(CliError::new(CliErrorKind::Denied, what).hint(hint.to_string()))
        }
        Delivery::Cancelled => Err(CliError::new(CliErrorKind::Interrupted, "stopped")),
        Delivery::Paused { why } => {
            Err(CliError::new(CliErrorKind::Provider, format!("paused: {why}"))
                .hint("`deepseek run` resumes it"))
        }
        Delivery::BudgetExhausted { limit, detail } => {
            Err(CliError::new(CliErrorKind::Budget, detail.to_string()).hint(to_raise(*limit)))
        }
        Delivery::Failed { class, message } => Err(failure(*class, &message.to_string())),
    }
}

/// How the user can raise a limit of the budget.
const fn to_raise(limit: Limit) -> &'static str {
    match limit {
        Limit::Usd => "raise the limit with `--budget-usd USD`, or set budget.usd",
        Limit::Tokens => "raise the limit with `--budget-tokens N`, or set budget.tokens",
        Limit::Calls => "raise budget.calls in the configuration",
        Limit::Reasoning => {
            "raise budget.reasoning_tokens in the configuration, or think less: --thinking off"
        }
        Limit::WallTime => "raise budget.wall_seconds in the configuration",
        Limit::NoPrice => {
            "add the price of the model to llm.prices, or use another model: `--model NAME`"
        }
    }
}

/// What the user can do about a request that was not delivered.
const fn next_step(why: NeedsWork) -> &'static str {
    match why {
        NeedsWork::IterationsUsedUp | NeedsWork::NoDraft => {
            "describe the task in more detail, or raise agent_loop.max_iterations; to see the attempts: `deepseek sessions show`"
        }
        NeedsWork::ChecksFail => {
            "the change is in the workspace: undo it, or say what is wrong with it or with the checks"
        }
        NeedsWork::PreExisting => {
            "the change is in the workspace: keep it, undo it, or ask for a fix of the earlier failures"
        }
        NeedsWork::Unverifiable => {
            "the change is in the workspace: keep it or undo it; to verify it, install or allow what the checks need"
        }
        NeedsWork::NoPlan | NeedsWork::NoAnswer => {
            "rephrase the request or name the files; to see the answers: `deepseek sessions show`"
        }
        NeedsWork::Uneditable => {
            "change the file yourself, or say in the request that it stays as it is"
        }
        NeedsWork::LanesFailed => {
            "to see what a lane did: `deepseek diff --lane NN`; ask for the missing part, or try again with `--teammate-mode off`"
        }
        NeedsWork::Staged => "to see the change: `deepseek diff`; to apply it: `deepseek apply`",
        NeedsWork::Crashed => "this is a bug; to see what was recorded: `deepseek sessions show`",
    }
}

fn failure(class: FailureKind, message: &str) -> CliError {
    let (kind, hint) = match class {
        FailureKind::Write => (
            CliErrorKind::NotDelivered,
            "check the free disk space and the permissions of the workspace",
        ),
        FailureKind::Journal => (CliErrorKind::Internal, MAKE_ROOM),
        FailureKind::Internal | FailureKind::Admission => (
            CliErrorKind::Internal,
            "this is a bug; to see what was recorded: `deepseek sessions show`",
        ),
        FailureKind::Resume => (
            CliErrorKind::NotDelivered,
            "its changes are in the workspace: undo them with `deepseek rewind`, or repeat the request in this session with `deepseek -r ID -p TEXT`",
        ),
        FailureKind::Worktree => (
            CliErrorKind::NotDelivered,
            "check the free disk space and the permissions of DEEPSEEK_HOME, which holds the worktrees of lanes",
        ),
        FailureKind::Model(class) => (CliErrorKind::Provider, cure(class)),
    };
    CliError::new(kind, message).hint(hint)
}

/// What the user can do about a model call that failed.
const fn cure(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => {
            "check the key: `deepseek doctor`; to store another one: `deepseek auth login`"
        }
        ErrorClass::Quota => {
            "top up the account, or put the key of another one in the variable that llm.api_key_env names"
        }
        ErrorClass::RateLimited => {
            "try again later, lower llm.max_concurrent_calls, or raise llm.max_retries"
        }
        ErrorClass::ContextTooLong => {
            "start a new session, or add the model to llm.context_windows with the tokens that it accepts"
        }
        ErrorClass::InvalidRequest => {
            "check that llm.base_url is the address of an API (`deepseek doctor`), and that it has the model of llm.*.model (`deepseek config show`); to use another model: `deepseek --model NAME`"
        }
        ErrorClass::WaitTooLong => "try again then, or raise llm.max_retry_after_seconds",
        ErrorClass::Unreachable | ErrorClass::Transport => {
            "check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`"
        }
        ErrorClass::Malformed => {
            "check that llm.base_url is the address of an API, not of a web page: `deepseek doctor`; if it is, the problem is at the provider"
        }
        ErrorClass::TimedOut => {
            "try again later, or raise llm.first_token_timeout_seconds, llm.idle_timeout_seconds or llm.call_timeout_seconds"
        }
        ErrorClass::Server
        | ErrorClass::Truncated
        | ErrorClass::Interrupted
        | ErrorClass::OutOfCapacity => "the problem is at the provider: try again later",
        ErrorClass::Lost => "make the request again",
        ErrorClass::Empty | ErrorClass::ContentFilter => {
            "rephrase the request, or use another model: llm.*.model or `--model NAME`"
        }
        ErrorClass::Length => "raise llm.*.max_output_tokens",
    }
}

/// What the user can do about a client that cannot be made.
pub const fn of_client(error: &ClientError) -> &'static str {
    match error {
        ClientError::Proxy { .. } => {
            "correct the variable or unset it; NO_PROXY names hosts that need no proxy"
        }
        ClientError::Certificates { .. } | ClientError::Setup(_) => {
            "set SSL_CERT_FILE to a file of certificates in PEM form, SSL_CERT_DIR to a directory of them, or unset both"
        }
        ClientError::Address(_) | ClientError::Dialect { .. } | ClientError::Key => {
            "check llm.base_url with `deepseek config show`"
        }
    }
}

/// The error of a session that did not get the lock of the workspace.
pub fn locked(error: &LockError) -> CliError {
    match error {
        LockError::Held { .. } => CliError::caused(CliErrorKind::NotDelivered, error)
            .hint("wait until its request has ended, or stop it"),
        // A home that is not the user's, as in containers, is a setting.
        LockError::Io { source, .. } if is_refused(source) => {
            CliError::caused(CliErrorKind::Usage, error).hint(OWN_PLACE)
        }
        LockError::Io { .. } => CliError::caused(CliErrorKind::Internal, error).hint(MAKE_ROOM),
    }
}

/// Returns true if the system does not let this user write there at all.
fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::NotFound
    )
}

/// The error of a session that could not be opened.
pub fn not_started(error: &StartError) -> CliError {
    match error {
        StartError::Terms(_) | StartError::Workspace(CommitError::Tree(_)) => {
            CliError::caused(CliErrorKind::Usage, error)
        }
        StartError::Workspace(_) => CliError::caused(CliErrorKind::NotDelivered, error)
            .hint("check that the workspace and DEEPSEEK_HOME are writable, and that no other process is writing there"),
        StartError::Journal(LogError::InUse(_)) => {
            CliError::caused(CliErrorKind::NotDelivered, error).hint("wait until it ends, or stop it")
        }
        StartError::Journal(LogError::Damaged(_)) => CliError::caused(CliErrorKind::Internal, error)
            .hint("to keep its valid part and move the rest aside: `deepseek doctor --repair`"),
        StartError::Earlier(_) => CliError::caused(CliErrorKind::Internal, error)
            .hint("its changes are in the workspace; repeat the request in a new session"),
        StartError::Journal(LogError::Open { source, .. }) if is_refused(source) => {
            CliError::caused(CliErrorKind::Usage, error).hint(OWN_PLACE)
        }
        StartError::Journal(_) => CliError::caused(CliErrorKind::Internal, error)
            .hint("check the free disk space and the permissions of DEEPSEEK_HOME, which holds the sessions"),
        StartError::Actors(_) | StartError::Gone(_) => {
            CliError::caused(CliErrorKind::Internal, error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures that cannot be brought about from outside.
    #[test]
    fn what_goes_wrong_inside_has_a_way_on_as_well() {
        let recorded = "to see what was recorded: `deepseek sessions show`";
        let bug = "this is a bug; to see what was recorded: `deepseek sessions show`";
        assert_eq!(died(&Died("why".to_owned())).advice(), Some(recorded));
        for class in [FailureKind::Internal, FailureKind::Admission] {
            assert_eq!(failure(class, "why").advice(), Some(bug));
        }
        assert_eq!(next_step(NeedsWork::Crashed), bug);
        assert_eq!(cure(ErrorClass::Lost), "make the request again");
        let not_written = WriteFailure::NotWritten { message: "why".into() };
        let refused = of_change(Some(Err(not_written.into())), Attendance::Unattended);
        let again = "nothing was written; fix the cause and run the command again";
        assert_eq!(refused.unwrap_err().advice(), Some(again));
    }
}
