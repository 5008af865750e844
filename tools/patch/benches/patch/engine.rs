//! The engine, driven as its callers drive it: paths declared, the bytes the author saw at hand, no bounds.

use std::time::Duration;

use config::ApplyStrategy;
use deepseek_patch::{ApplyPlan, BaseState, PatchLimits, PatchScope, Refusal, prepare};
use tree::{CommitLog, ReadTree, RepoPath, WriteTree};

use crate::corpus::{Case, Corpus};
use crate::sandbox::Sandbox;

/// How long to wait for another writer; there is none.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a patch may touch and its author saw.
pub(crate) fn scope(corpus: &Corpus, case: &Case) -> PatchScope {
    let declared = case.allow.iter().filter_map(|path| RepoPath::parse(path).ok());
    let seen = case.base.as_ref().unwrap_or(&case.pre).iter().filter(|entry| entry.is_file());
    let bases = seen.filter_map(|entry| {
        let path = RepoPath::parse(&entry.0).ok()?;
        Some((path, BaseState::of(corpus.bytes(entry).into())))
    });
    PatchScope {
        declared: (!case.allow.is_empty()).then(|| declared.collect()),
        bases: bases.collect(),
    }
}

/// The resulting bytes of every path. Reads the tree, writes nothing.
pub(crate) fn plan(
    tree: &ReadTree,
    patch: &[u8],
    scope: &PatchScope,
) -> Result<ApplyPlan, Refusal> {
    prepare(patch, scope, ApplyStrategy::Auto, &PatchLimits::default(), &|path| {
        tree.entry(path, u64::MAX)
    })
}

/// Plans, and makes it so: durably, and so that a crash in between is settled by the next start.
pub(crate) fn apply(sandbox: &Sandbox, patch: &[u8], scope: &PatchScope) -> bool {
    let log = CommitLog::at(sandbox.log(), PATIENCE).unwrap();
    let tree = WriteTree::open(&sandbox.root(), log).unwrap();
    plan(&tree.reader(), patch, scope).is_ok_and(|plan| tree.commit(&plan, "benchmark").is_ok())
}
