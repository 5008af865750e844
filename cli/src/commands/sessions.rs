//! `deepseek sessions`: lists, shows and prunes sessions. The list comes from the projections, events from the journal.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use front::error::{CliError, CliErrorKind};
use journal::read::read_journal;
use journal::repair::is_in_use;
use journal::{AdoptError, Reach, Summary};
use serde_json::{Value, json};
use tools::clock::{Clock as _, SystemClock, Timestamp};
use tools::count::counted;
use tools::ids::short_id;

use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render::{self, describe};
use crate::surroundings::Surroundings;

/// List sessions, or show one.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// List the sessions of all workspaces.
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the sessions of this workspace, newest first.
    List {
        /// List the sessions of all workspaces.
        #[arg(long)]
        all: bool,
    },
    /// Take along the sessions, checkpoints and memory of this project from where it was.
    ///
    /// A project that was renamed or moved is found again by itself. This is for one that was copied or restored elsewhere.
    Adopt {
        /// The directory in which the project was.
        #[arg(value_name = "DIR")]
        from: PathBuf,
    },
    /// Delete old sessions of this workspace and their data.
    Prune(PruneArgs),
    /// Show the events of a session.
    Show {
        /// The session: its id, the start or end of it, or `latest`.
        #[arg(value_name = "SESSION", default_value = "latest")]
        id: String,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct PruneArgs {
    /// Keep the N sessions that were used last.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Keep sessions used in the last DAYS days.
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u32>,
    /// Only list what would be deleted.
    #[arg(long, group = "how")]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &SessionsArgs,
) -> Result<(), CliError> {
    match &args.action {
        None => list(around, global, args.all),
        Some(Action::List { all }) => list(around, global, *all),
        Some(Action::Adopt { from }) => adopt(around, global, from),
        Some(Action::Prune(args)) => prune(around, global, args),
        Some(Action::Show { id }) => show(around, global, id),
    }
}

fn list(around: &Surroundings, global: &Global, all: bool) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let mut sessions = past.sessions(if all { Reach::Everywhere } else { Reach::Here })?;
    // Those of several workspaces come one workspace after the other.
    sessions.sort_by_cached_key(Summary::last_used);
    if sessions.is_empty() {
        render::warn(
            "there are no sessions in this workspace yet (--all lists those of all workspaces)",
        );
    }
    if global.output == OutputFormat::Text {
        for session in &sessions {
            render::print_line(&render::harmless(&as_line(around, session)));
        }
    } else {
        let list: Vec<Value> = sessions.iter().map(as_json).collect();
        render::json_line(&Value::Array(list));
    }
    Ok(())
}

/// Takes along the past of a project that was at another path.
fn adopt(around: &Surroundings, global: &Global, from: &Path) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let from = around.cwd.join(from);
    journal::adopt(&around.state_dir()?, &from, &workspace).map_err(|error| {
        let hint = match &error {
            AdoptError::StillThere(_) => "`deepseek fork --into DIR` continues a session elsewhere",
            AdoptError::Unknown(_) => "`deepseek sessions list --all` lists all sessions",
            AdoptError::NotNew(_) => {
                "both pasts cannot be joined; `deepseek rewind` lists the checkpoints here"
            }
            AdoptError::InUse => "wait until its request has ended, or stop it",
            AdoptError::Io { .. } => {
                "check the permissions of DEEPSEEK_HOME, which holds the sessions"
            }
        };
        CliError::caused(CliErrorKind::Usage, &error).hint(hint)
    })?;
    render::warn(&render::harmless(&format!(
        "the sessions, checkpoints and memory of {} belong to {} now",
        from.display(),
        workspace.display()
    )));
    Ok(())
}

/// Deletes old sessions, except those in use.
fn prune(around: &Surroundings, global: &Global, args: &PruneArgs) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let sessions = past.sessions(Reach::Here)?;
    let mut removed = Vec::new();
    for session in doomed(&sessions, args, SystemClock.now()) {
        let dir = past.dir(&session.id);
        // Another process is using this session.
        if is_in_use(&dir) {
            continue;
        }
        if !args.dry_run {
            fs::remove_dir_all(&dir).map_err(|error| {
                let what = format!("cannot delete {}: {error}", dir.display());
                CliError::new(CliErrorKind::NotDelivered, what)
            })?;
        }
        removed.push(session);
    }
    if global.output == OutputFormat::Text {
        for session in &removed {
            render::print_line(&format!("{}  {}", session.id, session.used));
        }
        let done = if args.dry_run { "would be deleted" } else { "deleted" };
        render::warn(&format!(
            "{} of {} {done}",
            removed.len(),
            counted(sessions.len(), "session")
        ));
    } else {
        let ids: Vec<&str> = removed.iter().map(|session| session.id.as_str()).collect();
        render::json_line(&json!({ "removed": ids, "dry_run": args.dry_run }));
    }
    Ok(())
}

/// Selects the sessions to delete: neither among the last used `keep` nor used in the last `older_than` days. `sessions` has the
/// last used first.
fn doomed<'s>(
    sessions: &'s [Summary],
    args: &PruneArgs,
    now: Timestamp,
) -> impl Iterator<Item = &'s Summary> {
    const SECONDS_A_DAY: i64 = 24 * 60 * 60;
    let newest = args.keep.unwrap_or_default();
    let days = args.older_than.unwrap_or_default();
    let limit = now.as_second().saturating_sub(i64::from(days) * SECONDS_A_DAY);
    sessions.iter().skip(newest).filter(move |session| {
        session.used.parse::<Timestamp>().is_ok_and(|used| used.as_second() <= limit)
    })
}

fn as_line(around: &Surroundings, session: &Summary) -> String {
    const SHOWN: usize = 60;
    let ended = match (session.ended, &session.applied) {
        (Some(ended), _) => ended.replace('_', " "),
        (None, Some(_)) if session.requests.is_empty() => "applied".to_owned(),
        (None, None) if session.requests.is_empty() => "empty".to_owned(),
        (None, _) => "unfinished".to_owned(),
    };
    let request = match (session.requests.first(), &session.applied) {
        (Some(request), _) => request.clone(),
        (None, Some(patch)) => format!("(patch {patch})"),
        (None, None) => String::new(),
    };
    let request: String =
        request.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    let Summary { id, used, usage, .. } = session;
    let (id, used) = (short_id(id), around.local(used));
    let line = format!("{id}  {used}  {ended:<16}  {:>10}  {request}", usage.cost());
    line.trim_end().to_owned()
}

fn as_json(session: &Summary) -> Value {
    let mut document = json!(session);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("usage".to_owned(), json!(session.usage));
    }
    document
}

fn show(around: &Surroundings, global: &Global, id: &str) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(id)?;
    let dir = past.dir(&session);
    let reading =
        read_journal(&dir).map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    if reading.torn_bytes > 0 {
        render::warn(&format!(
            "warning: the last line is torn ({}); it was never acted on",
            counted(reading.torn_bytes, "byte")
        ));
    }
    if global.output == OutputFormat::Text {
        let story = past.story(&session)?;
        for entry in &story.entries {
            let event = describe::event(&story, entry);
            render::print_line(&render::harmless(&format!("{}  {event}", around.local(&entry.at))));
        }
        let hint = around.naming(
            "`deepseek explain N --full` shows an event with its request, answer, diff or output",
        );
        // In a pager, it is the last line of the text; elsewhere it is no part of it.
        if around.stdout_is_terminal {
            render::print_line(&hint);
        } else {
            render::warn(&hint);
        }
        return Ok(());
    }
    for record in &reading.records {
        let mut line = json!({
            "seq": record.seq, "at": record.at, "kind": record.kind, "run": record.run, "data": record.data,
        });
        if let (Some(fields), Some(lane)) = (line.as_object_mut(), &record.lane) {
            fields.insert("lane".to_owned(), json!(lane));
        }
        render::json_line(&line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use facts::words::SessionState;
    use journal::Tally;

    use super::*;

    #[test]
    fn only_sessions_that_are_old_and_not_among_the_newest_are_deleted() {
        let session = |id: &str, started: &str| Summary {
            id: id.to_owned(),
            started: started.to_owned(),
            used: started.to_owned(),
            workspace: String::new(),
            version: String::new(),
            state: SessionState::Idle,
            requests: Vec::new(),
            ended: None,
            applied: None,
            events: 0,
            usage: Tally::default(),
        };
        let sessions = [
            session("4", "2026-01-10T00:00:00.000Z"),
            session("3", "2026-01-09T00:00:00.000Z"),
            session("2", "2026-01-01T00:00:00.000Z"),
            session("1", "no time at all"),
        ];
        let now: Timestamp = "2026-01-10T12:00:00Z".parse().unwrap();
        let ids = |keep, older_than| -> Vec<&str> {
            let args = PruneArgs { keep, older_than, dry_run: false };
            doomed(&sessions, &args, now).map(|session| session.id.as_str()).collect()
        };
        assert_eq!(ids(Some(1), None), ["3", "2"]);
        assert_eq!(ids(None, Some(2)), ["2"]);
        assert_eq!(ids(Some(3), Some(0)), [""; 0]);
    }
}
