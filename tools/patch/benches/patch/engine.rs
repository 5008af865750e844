//! Runs the engine as its callers do: with declared paths, the bytes that the author saw, and no limits.

use std::collections::BTreeMap;
use std::time::Duration;

use config::ApplyStrategy;
use deepseek_patch::{
    ApplyPlan, BaseState, PatchLimits, PatchScope, Refusal, Tolerances, prepare_with,
};
use tree::{CommitLog, Entry, FileMode, FileState, ReadTree, RepoPath, WriteTree};

use crate::corpus::{Case, Corpus, Expect, Kind, TreeFile};
use crate::sandbox::Sandbox;

/// The groups whose trees contain only files.
pub(crate) const GROUPS: [&str; 3] = ["real-commits", "llm-style", "threeway"];
/// How long to wait for another writer; there is none here.
const PATIENCE: Duration = Duration::from_secs(1);

/// The paths that a patch may change, with what its author saw.
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

/// Computes the resulting bytes of every path. Reads the tree, writes nothing.
pub(crate) fn plan(
    tree: &ReadTree,
    patch: &[u8],
    scope: &PatchScope,
) -> Result<ApplyPlan, Refusal> {
    let current = |path: &RepoPath| tree.entry(path, u64::MAX);
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    prepare_with(patch, scope, auto, &limits, &current, Tolerances::UNATTENDED)
}

/// Plans a patch and writes it durably, so that the next start recovers from a crash in between.
pub(crate) fn apply(sandbox: &Sandbox, patch: &[u8], scope: &PatchScope) -> bool {
    let log = CommitLog::at(sandbox.log(), PATIENCE).unwrap();
    let tree = WriteTree::open(&sandbox.root(), log).unwrap();
    plan(&tree.reader(), patch, scope).is_ok_and(|plan| tree.commit(&plan, "benchmark").is_ok())
}

/// Judges every case in memory; returns true if nothing was written wrongly.
pub(crate) fn judge_all(corpus: &Corpus) -> bool {
    let mut by_kind: BTreeMap<(&str, &str), [u32; 3]> = BTreeMap::new();
    for case in &corpus.cases {
        let [right, wrong_write] = judge(corpus, case);
        if wrong_write || !right {
            println!("{}{}", if wrong_write { "WRONG WRITE " } else { "" }, case.id);
        }
        let sums = by_kind.entry((&case.corpus, &case.kind)).or_default();
        let more = [true, right, wrong_write];
        sums.iter_mut().zip(more).for_each(|(sum, one)| *sum += u32::from(one));
    }
    let short = by_kind.iter().filter(|(_, [cases, right, wrong])| right < cases || *wrong > 0);
    for ((group, kind), [cases, right, wrong]) in short {
        println!("{group}/{kind}: {right} of {cases} as expected, {wrong} wrong writes");
    }
    let sum = |at: usize| by_kind.values().map(|sums| sums[at]).sum::<u32>();
    println!("{} of {} as expected, {} wrong writes", sum(1), sum(0), sum(2));
    sum(2) == 0
}

/// Returns whether a case ends as expected, and whether it writes something that it must not.
fn judge(corpus: &Corpus, case: &Case) -> [bool; 2] {
    type Files = BTreeMap<RepoPath, FileState>;
    let files = |entries: &[TreeFile]| -> Files {
        let files = entries.iter().filter_map(|entry| {
            let mode = FileMode::of_file(entry.1 == Kind::Executable);
            let state = FileState { bytes: corpus.bytes(entry).into(), mode };
            Some((RepoPath::parse(&entry.0).ok()?, state))
        });
        files.collect()
    };
    let before = files(&case.pre);
    let wanted = case.post.as_deref().map(files);
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    let current =
        |path: &RepoPath| Ok(before.get(path).cloned().map_or(Entry::Missing, Entry::File));
    let patch = case.patch.as_bytes();
    let allowed = Tolerances::UNATTENDED;
    let plan = prepare_with(patch, &scope(corpus, case), auto, &limits, &current, allowed);
    let after = plan.as_ref().ok().map(|plan| {
        let mut after = before.clone();
        for (path, _, state) in plan.changes.iter().flat_map(|change| change.sides()) {
            match state {
                Some(state) => after.insert(path.clone(), state.clone()),
                None => after.remove(path),
            };
        }
        after
    });
    let applied = after.is_some() && after == wanted;
    let as_was = after.as_ref().is_none_or(|after| *after == before);
    let right = match case.expect {
        Expect::Exact => applied,
        Expect::ExactOrRefuse => applied || after.is_none(),
        Expect::Refuse => after.is_none(),
        Expect::Unchanged => as_was || applied,
    };
    let allowed = case.expect != Expect::Refuse && applied;
    let wrong_write = !as_was && !allowed;
    match &plan {
        Ok(plan) if wrong_write => plan.repairs.iter().for_each(|repair| println!("  {repair}")),
        Err(refusal) if !right => println!("  {refusal}"),
        Ok(_) | Err(_) => {}
    }
    [right, wrong_write]
}
