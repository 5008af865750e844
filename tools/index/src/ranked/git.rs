//! Reads the history of a workspace from the user's repository, without writing to it.

use std::collections::HashMap;
use std::path::Path;

use gix::ObjectId;
use gix::diff::tree::recorder::Change;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use tree::{UserRepository, head_of};

use crate::ranked::history::{COMMITS, GitHistory, MAX_PATHS, PastCommit};

/// Maximum number of commits visited, including merges and others that are skipped.
const MAX_WALKED: usize = 4 * COMMITS;

/// Returns the commit that is checked out in the workspace.
pub(crate) fn head(workspace: &Path) -> Option<String> {
    head_of(workspace)
}

/// Reads the history of the workspace. Commits in `known` are not read again.
pub(crate) fn read_history(workspace: &Path, known: GitHistory) -> Option<GitHistory> {
    let UserRepository { mut repository, top } = UserRepository::around(workspace)?;
    repository.object_cache_size_if_unset(8 << 20);
    let prefix = workspace.strip_prefix(top).ok()?.to_str()?.to_owned();
    let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
    let tip = head(workspace)?;
    let mut known: HashMap<String, PastCommit> =
        known.commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    let start = ObjectId::from_hex(tip.as_bytes()).ok()?;
    let walk = repository
        .rev_walk([start])
        .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
        .all()
        .ok()?;
    let mut commits = Vec::new();
    let mut state = gix::diff::tree::State::default();
    // In a shallow clone, the walk fails at the oldest commit.
    for info in walk.take(MAX_WALKED).map_while(Result::ok) {
        let [parent] = *info.parent_ids else { continue };
        let id = info.id.to_string();
        let commit = known.remove(&id);
        let commit = commit.or_else(|| read(&repository, info.id, parent, &prefix, &mut state));
        commits.extend(commit);
        if commits.len() == COMMITS {
            break;
        }
    }
    Some(GitHistory { tip, commits })
}

fn read(
    repository: &gix::Repository,
    id: ObjectId,
    parent: ObjectId,
    prefix: &str,
    state: &mut gix::diff::tree::State,
) -> Option<PastCommit> {
    let commit = repository.find_commit(id).ok()?;
    let [before, after] = [repository.find_commit(parent).ok()?.tree().ok()?, commit.tree().ok()?];
    let mut recorder = gix::diff::tree::Recorder::default();
    gix::diff::tree(
        gix::objs::TreeRefIter::from_bytes(&before.data, repository.object_hash()),
        gix::objs::TreeRefIter::from_bytes(&after.data, repository.object_hash()),
        state,
        &repository.objects,
        &mut recorder,
    )
    .ok()?;
    let files = recorder.records.iter().filter_map(|change| {
        let (mode, path) = match change {
            Change::Addition { entry_mode, path, .. }
            | Change::Deletion { entry_mode, path, .. }
            | Change::Modification { entry_mode, path, .. } => (entry_mode, path),
        };
        let path = std::str::from_utf8(path).ok()?.strip_prefix(prefix)?;
        mode.is_blob().then(|| path.to_owned())
    });
    let mut paths: Vec<String> = files.take(MAX_PATHS + 1).collect();
    if paths.len() > MAX_PATHS {
        paths.clear();
    }
    let message = commit.message_raw().ok()?.to_string();
    Some(PastCommit::new(id.to_string(), &message, paths))
}
