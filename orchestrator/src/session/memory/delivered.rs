//! What a delivery adds to the memory of its workspace: the checks that passed, the user's decisions, the changed files.

use std::path::PathBuf;
use std::sync::PoisonError;

use actors::run::{Run, UserWord};
use actors::talk::prompts::Prompt;
use facts::delivery::Verified;
use facts::grammar::plan::Plan;
use tools::blocking::on_a_thread;
use tree::{Change, ReadTree, RepoPath};

use crate::session::turn::decisions;

use super::{Basis, MANIFESTS, Memo, MemoKind, Memory, basis_of};

/// A delivery to remember.
pub(crate) struct Delivered<'d> {
    pub(crate) request: &'d str,
    pub(crate) plan: Option<&'d Plan>,
    pub(crate) changes: &'d [Change],
    pub(crate) verified: &'d Verified,
}

/// Where to remember it.
pub(crate) struct DeliveryPlace {
    pub(crate) tree: ReadTree,
    pub(crate) file: PathBuf,
    pub(crate) session: String,
}

/// Remembers a delivery. A replayed run adds nothing. A failure is only logged: the next request just knows less.
pub(crate) async fn remember(run: &Run, delivered: Delivered<'_>, place: DeliveryPlace) {
    let bounds = run.config().memory.clone();
    if !bounds.enabled || run.only_compares() {
        return;
    }
    let paths: Vec<RepoPath> = delivered.changes.iter().flat_map(Change::paths).cloned().collect();
    let (checks, decisions) = (checks(run, &delivered), decided(run));
    let outcome = outcome(run, delivered.request, &paths);
    let at = run.clock.now().to_string();
    let max_bytes = run.config().limits.max_indexed_file_bytes;
    let remembered = on_a_thread(move || {
        let DeliveryPlace { tree, file, session } = place;
        let manifests = MANIFESTS.iter().filter_map(|name| RepoPath::parse(name).ok());
        let manifests = basis_of(&tree, max_bytes, manifests);
        let manifests: Vec<Basis> =
            manifests.into_iter().filter(|basis| basis.hash.is_some()).collect();
        let mut memory = Memory::read(&file)?;
        let mut note = |kind, text, basis| {
            let (at, session) = (at.clone(), session.clone());
            memory.remember(Memo { id: 0, kind, text, basis, at, session }, bounds.max_memos);
        };
        for text in checks {
            note(MemoKind::Fact, text, manifests.clone());
        }
        for text in decisions {
            note(MemoKind::Decision, text, Vec::new());
        }
        note(MemoKind::Outcome, outcome, basis_of(&tree, max_bytes, paths));
        memory.write(&file)
    });
    if let Err(error) = remembered.await {
        tracing::warn!(%error, "the delivery could not be remembered");
    }
}

fn outcome(run: &Run, request: &str, paths: &[RepoPath]) -> String {
    let first_line = run.redactor.redact(request.lines().next().unwrap_or_default()).into_owned();
    let named: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    run.prompts()
        .render(Prompt::MemoOutcome, &[("request", &first_line), ("files", &named.join(", "))])
}

/// Returns memos for the checks, but only if they passed and could have failed.
fn checks(run: &Run, delivered: &Delivered<'_>) -> Vec<String> {
    let passed = matches!(delivered.verified, Verified::Passed | Verified::Proven);
    let commands = delivered.plan.iter().filter(|_| passed).flat_map(|plan| &plan.verify);
    let memo = |command| run.prompts().render(Prompt::MemoCheck, &[("command", command)]);
    commands.map(|command| memo(command)).collect()
}

/// Returns what the user decided in answer to questions. Messages to the run are about its request only.
fn decided(run: &Run) -> Vec<String> {
    let said = run.user_said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let said: Vec<UserWord> =
        said.into_iter().filter(|word| !matches!(word, UserWord::Said { .. })).collect();
    decisions(run.prompts(), &said)
}
