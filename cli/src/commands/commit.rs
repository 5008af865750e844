//! `deepseek commit`: commits what deepseek changed since the last commit to the user's git, with a message made from the
//! requests and plans. Other changes, staged or not, are left alone.

mod message;
mod standing;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::process::Output as Ended;
use std::time::Duration;

use actors::event::Event;
use actors::words::Side;
use bytes::Bytes;
use clap::Args;
use front::describe;
use front::error::{CliError, Kind};
use front::exit;
use front::session::Lock;
use journal::{Story, StoryEntry};
use orchestrator::checkpoints::CheckpointHistory;
use serde_json::json;
use shell::Git;
use tree::{Checkpoint, RepoPath};

use self::message::{Done, proposed};
use self::standing::{FileChange, standing};
use self::status::{Dirty, State, read};
use crate::checkpoints;
use crate::flags::{Global, Output};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Commit what deepseek changed since the last commit, and nothing else.
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
struct Proposal {
    files: Vec<Dirty>,
    /// Files that the user has also changed.
    with_own: BTreeSet<String>,
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
    let history = checkpoints::history(around, global)?;
    let hidden = ["DEEPSEEK_API_KEY", config.llm.api_key_env.as_str()];
    let git = Git { dir: &workspace, hidden: &hidden };
    let past = Past::find(around, global)?;
    let mut proposal = propose(git, &history, &past)?;
    if let Some(message) = &args.message {
        message.clone_into(&mut proposal.message);
    }
    if global.output == Output::Text {
        show(&proposal);
    }
    if !args.yes {
        agreed(around, global, proposal.files.len()).await?;
    }
    let commit = commit(git, &proposal)?;
    if global.output == Output::Text {
        render::warn(&format!("committed as {commit}"));
    } else {
        let files: Vec<&str> = proposal.files.iter().map(|file| file.path.as_str()).collect();
        render::json_line(
            &json!({ "commit": commit, "message": proposal.message, "files": files }),
        );
    }
    Ok(())
}

/// Finds the uncommitted changes that deepseek made since the last commit, and composes a message for them.
fn propose(git: Git<'_>, history: &CheckpointHistory, past: &Past) -> Result<Proposal, CliError> {
    let prefix = said(git.output(&["rev-parse", "--show-prefix"])).map_err(|error| {
        error.hint("`deepseek commit` needs a git repository; to create one: git init")
    })?;
    // Before the first commit there is no last commit, and all changes count.
    let last = said(git.output(&["log", "-1", "--format=%ct"])).ok();
    let last: Option<i64> = last.and_then(|seconds| seconds.trim().parse().ok());
    let is_since = |made: &&Checkpoint| last.is_none_or(|last| made.at.as_second() >= last);
    let made: Vec<&Checkpoint> = history.checkpoints().iter().filter(is_since).collect();
    let paths: BTreeSet<&str> =
        made.iter().flat_map(|made| &made.own).map(|own| own.path.as_str()).collect();
    let nothing = || {
        CliError::new(Kind::NotDelivered, "there is nothing to commit").hint(
            "`deepseek rewind` lists what deepseek changed; changes that are committed or undone are left out here",
        )
    };
    if paths.is_empty() {
        return Err(nothing());
    }
    let words = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--"];
    let words: Vec<&str> = words.into_iter().chain(paths).collect();
    let files = read(&said(git.output(&words))?, prefix.trim_end());
    if files.is_empty() {
        return Err(nothing());
    }
    let mut done: Vec<Done> = Vec::new();
    let mut after = BTreeMap::new();
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for note in made.iter().map(|made| &made.note) {
        let run = (note.session.as_str(), note.run.as_deref().unwrap_or(&note.session));
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let mut states: BTreeMap<RepoPath, Vec<FileChange<'_, Option<Bytes>>>> = BTreeMap::new();
    for (_, run) in &runs {
        for it in history.changes_of_run(run).map_err(|it| checkpoints::unreadable(&it))? {
            let [before, end] = [it.before, it.after].map(|state| state.map(|state| state.bytes));
            after.insert(it.path.clone(), end.clone());
            states.entry(it.path).or_default().push(FileChange { run, before, after: end });
        }
    }
    let is_dirty = |path: &RepoPath| files.iter().any(|file| file.path == path.as_str());
    let of_dirty = states.into_iter().filter(|(path, _)| is_dirty(path));
    let stand: BTreeSet<&str> = of_dirty.flat_map(|(_, states)| standing(states)).collect();
    for (session, run) in runs.into_iter().filter(|(_, run)| stand.contains(run)) {
        done.extend(past.story(session).ok().and_then(|story| of_run(&story, run)));
    }
    let is_own = |file: &&Dirty| {
        let path = RepoPath::parse(&file.path).ok();
        let ours = path.and_then(|path| after.get(&path)).cloned().flatten();
        fs::read(git.dir.join(&file.path)).ok().as_deref() != ours.as_deref()
    };
    let with_own = files.iter().filter(is_own).map(|file| file.path.clone()).collect();
    Ok(Proposal { message: proposed(&done), files, with_own })
}

/// Returns the request and the plan of a run.
fn of_run(story: &Story, run: &str) -> Option<Done> {
    let own = |entry: &&StoryEntry| entry.run.as_deref() == Some(run) && entry.lane.is_none();
    let events = || story.entries.iter().filter(own).filter_map(|entry| entry.event.as_ref());
    let request = events().find_map(|event| {
        let Event::TurnAdded { speaker: Side::User, text, .. } = event else { return None };
        Some(text.clone())
    })?;
    let plan = events().filter_map(describe::plan).last();
    Some(Done { request, steps: plan.map(|(_, plan)| plan.steps.clone()).unwrap_or_default() })
}

fn show(Proposal { files, with_own, message }: &Proposal) {
    for Dirty { path, state } in files {
        let own = if with_own.contains(path) { ", with changes of yours" } else { "" };
        let state = match state {
            State::New => "new",
            State::Changed => "changed",
            State::Deleted => "deleted",
        };
        render::warn(&render::harmless(&format!("  {path} ({state}{own})")));
    }
    let message = message.replace('\n', "\n    ");
    render::warn(&render::harmless(&format!("\n    {}\n", message.trim_end())));
}

/// Asks for approval. Without a terminal a commit needs `--yes`.
async fn agreed(around: &Surroundings, global: &Global, count: usize) -> Result<(), CliError> {
    if !(around.stdin_is_terminal && around.stderr_is_terminal) {
        return Err(CliError::new(
            Kind::Denied,
            "a commit needs approval, and there is no terminal to ask on",
        )
        .hint("`deepseek commit --yes` does not ask"));
    }
    let files = if count == 1 { "this file" } else { "these files" };
    let question = format!("Commit {files} with this message?");
    if render::ask::yes_or_no(&question, around.asks(global)).await? {
        return Ok(());
    }
    Err(CliError::new(Kind::Denied, "nothing was committed")
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
        said(git.output(&[vec!["add", "--intent-to-add", "--"], new.clone()].concat()))?;
    }
    let words = vec!["commit", "--quiet", "--only", "-m", &proposal.message, "--"];
    // A hook may ask something.
    tui::restore_echo();
    let ended = git.attended(&[words, of(&|_| true)].concat()).map_err(|error| no_git(&error))?;
    if !ended.success() {
        if !new.is_empty() {
            said(git.output(&[vec!["update-index", "--force-remove", "--"], new].concat()))?;
        }
        return Err(CliError::new(Kind::NotDelivered, "git did not commit; nothing has changed")
            .hint("git or a hook printed the reason above"));
    }
    said(git.output(&["rev-parse", "--short", "HEAD"])).map(|id| id.trim().to_owned())
}

/// Returns git's output, or an error with its message.
fn said(ended: io::Result<Ended>) -> Result<String, CliError> {
    let ended = ended.map_err(|error| no_git(&error))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&ended.stderr);
    let why = why.trim().trim_start_matches("fatal: ");
    Err(CliError::new(Kind::NotDelivered, format!("git: {why}")))
}

fn no_git(error: &io::Error) -> CliError {
    CliError::new(Kind::NotDelivered, format!("cannot start git: {error}"))
}
