//! `deepseek commit`: commits what deepseek changed and no commit has yet to the user's git, with a message made from the
//! requests and plans. Other changes, staged or not, are left alone.

mod committed;
mod left_out;
mod message;
mod standing;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use facts::event::Event;
use facts::words::Side;
use front::describe;
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::session::Lock;
use journal::{Story, StoryEntry};
use orchestrator::workspace::checkpoints::{CheckpointHistory, Presence, presence};
use serde_json::json;
use shell::Git;
use tree::{Checkpoint, Entry, FileState, ReadTree, RepoPath};

use self::committed::LastCommitFiles;
use self::left_out::{LeftOutOfCommit, Seen, WhyLeftOut};
use self::message::{Done, proposed};
use self::standing::{FileChange, standing};
use self::status::{Dirty, State};
use crate::checkpoints;
use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;
use crate::their_git::{self, output_of};

/// Commit what deepseek changed and no commit has yet, and nothing else.
#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// Commit with this message instead.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Commit without asking.
    #[arg(long)]
    yes: bool,
}

/// A proposed commit.
#[derive(Default)]
struct Proposal {
    files: Vec<Dirty>,
    /// Files that the user has also changed.
    with_own: BTreeSet<String>,
    /// Files of the same requests that cannot be part of it.
    left_out: Vec<LeftOutOfCommit>,
    message: String,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &CommitArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let config = &settings.config;
    let mut lock = Lock::new(
        Some(around.workspace_state(&workspace)?.join("lock")),
        Duration::from_secs(config.limits.workspace_lock_timeout_seconds),
    );
    lock.take(render::waits).await.map_err(|error| exit::locked(&error))?;
    let history = checkpoints::read_checkpoints(around, global)?;
    let hidden = ["DEEPSEEK_API_KEY", config.llm.api_key_env.as_str()];
    let git = Git { dir: &workspace, hidden: &hidden };
    let past = Past::find(around, global)?;
    let mut proposal = propose(git, &history, &past)?;
    if let Some(message) = &args.message {
        message.clone_into(&mut proposal.message);
    }
    if global.output == OutputFormat::Text {
        show(&proposal);
    }
    if !args.yes {
        agreed(around, global, proposal.files.len()).await?;
    }
    let commit = commit(git, &proposal)?;
    if global.output == OutputFormat::Text {
        render::warn(&format!("committed as {commit}"));
    } else {
        let files: Vec<&str> = proposal.files.iter().map(|file| file.path.as_str()).collect();
        let left_out = proposal
            .left_out
            .iter()
            .map(|LeftOutOfCommit { path, why }| json!({ "path": path, "why": why.to_string() }));
        let left_out: Vec<_> = left_out.collect();
        render::json_line(&json!({
            "commit": commit, "message": proposal.message, "files": files, "left_out": left_out
        }));
    }
    Ok(())
}

/// Finds the changes of deepseek that no commit has, and composes a message for them.
fn propose(git: Git<'_>, history: &CheckpointHistory, past: &Past) -> Result<Proposal, CliError> {
    let prefix = their_git::prefix(git, "`deepseek commit`", CliErrorKind::NotDelivered)?;
    let made = history.checkpoints();
    let own: BTreeSet<&RepoPath> =
        made.iter().flat_map(|it| &it.own).map(|own| &own.path).collect();
    let seen = Seen::by_git(git, &prefix, &own)?;
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for Checkpoint { note, own, .. } in made {
        let run = (note.session.as_str(), note.run.as_deref().unwrap_or(&note.session));
        if own.iter().any(|own| seen.has(&own.path)) && !runs.contains(&run) {
            runs.push(run);
        }
    }
    let mut changes: BTreeMap<RepoPath, Vec<FileChange<'_, Option<FileState>>>> = BTreeMap::new();
    for (_, run) in &runs {
        for it in history.changes_of_run(run).map_err(|it| checkpoints::unreadable(&it))? {
            let change = FileChange { run, before: it.before, after: it.after };
            changes.entry(it.path).or_default().push(change);
        }
    }
    let committed = LastCommitFiles::read(git, &prefix, &seen.dirty)?;
    let tree =
        ReadTree::open(git.dir).map_err(|it| CliError::caused(CliErrorKind::NotDelivered, &it))?;
    let mut proposal = Proposal::default();
    let (mut stand, mut left_out) = (BTreeSet::new(), Vec::new());
    for (path, changes) in changes {
        let ours = lacking(committed.forms(&path), changes);
        let now = match tree.entry_or_link(&path, u64::MAX) {
            Ok(Entry::File(state)) => Some(state),
            Ok(_) | Err(_) => None,
        };
        let of_path: Vec<&str> = standing(&ours);
        let Some(last) = ours.last().filter(|_| !of_path.is_empty()) else { continue };
        let is_gone = ours.iter().all(|it| {
            presence(now.as_ref(), it.before.as_ref(), it.after.as_ref()) == Presence::Absent
        });
        let Some(file) = seen.dirty.iter().find(|file| file.path == path.as_str()) else {
            let why = seen.left_out.get(&path).filter(|_| !is_gone).cloned();
            left_out.extend(why.map(|why| (of_path, LeftOutOfCommit { path, why })));
            continue;
        };
        if is_gone {
            left_out.push((of_path, LeftOutOfCommit { path, why: WhyLeftOut::Gone }));
            continue;
        }
        if now.as_ref().map(|it| &it.bytes) != last.after.as_ref().map(|it| &it.bytes) {
            proposal.with_own.insert(file.path.clone());
        }
        let is_created = ours.first().is_some_and(|first| first.before.is_none());
        let replaces = is_created && !committed.forms(&path).is_empty();
        let state = if replaces { State::Replaced } else { file.state };
        proposal.files.push(Dirty { path: file.path.clone(), state });
        stand.extend(of_path);
    }
    // What else the same requests changed; if there is no commit, whatever requests did.
    left_out.retain(|(runs, _)| stand.is_empty() || runs.iter().any(|run| stand.contains(run)));
    proposal.left_out = left_out.into_iter().map(|(_, it)| it).collect();
    if proposal.files.is_empty() {
        return Err(nothing(&proposal.left_out));
    }
    let mut done: Vec<Done> = Vec::new();
    for (session, run) in runs.into_iter().filter(|(_, run)| stand.contains(run)) {
        done.extend(past.story(session).ok().and_then(|story| of_run(&story, run)));
    }
    proposal.message = proposed(&done);
    Ok(proposal)
}

/// Returns the changes that the committed forms of a file lack, oldest first.
fn lacking<'r>(
    committed: &[FileState],
    mut changes: Vec<FileChange<'r, Option<FileState>>>,
) -> Vec<FileChange<'r, Option<FileState>>> {
    let has = |form: Option<&FileState>, it: &FileChange<'_, Option<FileState>>| {
        presence(form, it.before.as_ref(), it.after.as_ref()) == Presence::Whole
    };
    let is_there = |it: &FileChange<'_, Option<FileState>>| match committed {
        [] => has(None, it),
        forms => forms.iter().any(|form| has(Some(form), it)),
    };
    let known = changes.iter().rposition(is_there).map_or(0, |last| last + 1);
    changes.split_off(known)
}

fn nothing(left_out: &[LeftOutOfCommit]) -> CliError {
    let error = CliError::new(CliErrorKind::NotDelivered, "there is nothing to commit");
    if left_out.is_empty() {
        return error.hint(
            "`deepseek rewind` lists what deepseek changed; changes that are committed or undone are left out here",
        );
    }
    let left_out: Vec<String> = left_out.iter().map(LeftOutOfCommit::to_string).collect();
    error.hint(format!("left out: {}", left_out.join("; ")))
}

/// Returns the request and the plan of a run.
fn of_run(story: &Story, run: &str) -> Option<Done> {
    let own = |entry: &&StoryEntry| entry.run.as_deref() == Some(run) && entry.lane.is_none();
    let events = || story.entries.iter().filter(own).filter_map(|entry| entry.event.as_ref());
    let request = events().find_map(|event| {
        let Event::TurnAdded { speaker: Side::User, text, .. } = event else { return None };
        Some(text.clone())
    })?;
    let plan = events().filter_map(describe::describe_plan).last();
    Some(Done { request, steps: plan.map(|(_, plan)| plan.steps.clone()).unwrap_or_default() })
}

fn show(Proposal { files, with_own, left_out, message }: &Proposal) {
    for Dirty { path, state } in files {
        let own = if with_own.contains(path) { ", with changes of yours" } else { "" };
        let state = match state {
            State::New => "new",
            State::Changed => "changed",
            State::Replaced => "replaces the version of the last commit, which was not on the disk",
            State::Deleted => "deleted",
            State::Ignored => "ignored",
        };
        render::warn(&render::harmless(&format!("  {path} ({state}{own})")));
    }
    for left_out in left_out {
        render::warn(&render::harmless(&format!("  left out: {left_out}")));
    }
    let message = message.replace('\n', "\n    ");
    render::warn(&render::harmless(&format!("\n    {}\n", message.trim_end())));
}

/// Asks for approval. Without a terminal a commit needs `--yes`.
async fn agreed(around: &Surroundings, global: &Global, count: usize) -> Result<(), CliError> {
    if !(around.stdin_is_terminal && around.stderr_is_terminal) {
        return Err(CliError::new(
            CliErrorKind::Denied,
            "a commit needs approval, and there is no terminal to ask on",
        )
        .hint("`deepseek commit --yes` does not ask"));
    }
    let files = if count == 1 { "this file" } else { "these files" };
    let question = format!("Commit {files} with this message?");
    if render::ask::yes_or_no(&question, around.asks(global)).await? {
        return Ok(());
    }
    Err(CliError::new(CliErrorKind::Denied, "nothing was committed")
        .hint("`deepseek commit -m 'TEXT'` commits with another message"))
}

/// Commits these files in their current state and returns the commit's short id. Other staged changes stay staged.
fn commit(git: Git<'_>, proposal: &Proposal) -> Result<String, CliError> {
    let of = |wanted: &dyn Fn(&Dirty) -> bool| -> Vec<&str> {
        proposal.files.iter().filter(|it| wanted(it)).map(|it| it.path.as_str()).collect()
    };
    let new = of(&|file| file.state == State::New);
    if !new.is_empty() {
        // `git commit --only` accepts tracked files only.
        output_of(git.output(&[vec!["add", "--intent-to-add", "--"], new.clone()].concat()))?;
    }
    let words = vec!["commit", "--quiet", "--only", "-m", &proposal.message, "--"];
    // A hook may ask something.
    tui::restore_echo();
    let ended = git
        .attended(&[words, of(&|_| true)].concat())
        .map_err(|error| their_git::not_started(&error))?;
    if !ended.success() {
        if !new.is_empty() {
            output_of(git.output(&[vec!["update-index", "--force-remove", "--"], new].concat()))?;
        }
        return Err(CliError::new(
            CliErrorKind::NotDelivered,
            "git did not commit; nothing has changed",
        )
        .hint("git or a hook printed the reason above"));
    }
    output_of(git.output(&["rev-parse", "--short", "HEAD"])).map(|id| id.trim().to_owned())
}
