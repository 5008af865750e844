//! Feeds any bytes as a model's answer: the result is a plan that keeps its promises, or a refusal that explains
//! itself.

use std::sync::LazyLock;

use config::ApplyStrategy;
use deepseek_patch::{
    ApplyPlan, BaseState, PatchLimits, PatchScope, PutAside, Refusal, Repair, Tolerance,
    Tolerances, prepare_with,
};
use tree::{Change, Entry, FileHash, Op, RepoPath};

use super::tree::{LIBRARY, SAMPLE, path};

/// The scopes: every file, some, a single one, and every file for an author who saw another tree.
static SCOPES: LazyLock<[PatchScope; 4]> = LazyLock::new(|| {
    let only = |paths: &[&str]| PatchScope {
        declared: Some(paths.iter().map(|text| path(text)).collect()),
        ..PatchScope::default()
    };
    let seen = LIBRARY.replace("/// All of it.", "/// The total.");
    let stale = BaseState::of("def a():\n    return 1\n".into());
    let hash_only = BaseState::File { hash: FileHash::of(b"all:\n"), bytes: None };
    let bases = [
        (path("src/lib.rs"), BaseState::of(seen.into())),
        (path("twins.py"), stale),
        (path("Makefile"), hash_only),
        (path("empty"), BaseState::Missing),
        (path("gone"), BaseState::of("gone\n".into())),
    ];
    [
        PatchScope::default(),
        only(&["src/lib.rs", "README.md", "twins.py", "src/new.rs", "nested"]),
        only(&["windows.txt"]),
        PatchScope { bases: bases.into(), declared: None },
    ]
});

/// The maximum length of a refusal, in bytes: 6,000, the line that exceeds it, and the closing line.
const MODEL_BYTES: usize = 6_200;

/// Reads `answer` as a diff of the sample, as strictly and as tolerantly as possible.
pub fn check(answer: &[u8]) {
    for scope in SCOPES.iter() {
        let outcome = |allowed| prepare(answer, scope, &PatchLimits::default(), allowed);
        let (kind, strict) = (outcome(Tolerances::ALL), outcome(Tolerances::NONE));
        assert_eq!(kind, outcome(Tolerances::ALL), "the same input gives two results");
        check_outcome(&kind, scope, answer);
        check_outcome(&strict, scope, answer);
        if let Ok(plan) = &kind {
            for repair in &plan.repairs {
                let without = outcome(Tolerances::ALL.without(repair.tolerance));
                let repairs = without.iter().flat_map(|plan| &plan.repairs);
                assert!(
                    !repairs.clone().any(|other| other.tolerance == repair.tolerance),
                    "{repair} is switched off"
                );
            }
        }
        if let Ok(plan) = &strict {
            assert_eq!(plan.repairs, [], "nothing may be tolerated");
            // The text around a diff decides how it is read: without these two, a CR may belong to the file, and
            // reasoning may be content.
            let same_text =
                Tolerances::ALL.without(Tolerance::Preamble).without(Tolerance::CrlfAnswer);
            assert_eq!(outcome(same_text).as_ref(), Ok(plan), "correct without any tolerance");
        }
        check_limits(answer, scope, &kind);
    }
}

type Outcome = Result<ApplyPlan, Refusal>;

fn prepare(
    answer: &[u8],
    scope: &PatchScope,
    limits: &PatchLimits,
    allowed: Tolerances,
) -> Outcome {
    prepare_with(answer, scope, ApplyStrategy::Auto, limits, &|path| SAMPLE.read(path), allowed)
}

fn check_outcome(outcome: &Outcome, scope: &PatchScope, answer: &[u8]) {
    match outcome {
        Ok(plan) => check_plan(plan, scope, answer),
        Err(refusal) => check_refusal(refusal, answer),
    }
}

fn check_plan(plan: &ApplyPlan, scope: &PatchScope, answer: &[u8]) {
    let may_touch = |path: &RepoPath| {
        assert_eq!(RepoPath::parse(path.as_str()).as_ref(), Ok(path), "not a valid path");
        scope.declared.as_ref().is_none_or(|declared| declared.contains(path))
    };
    assert!(plan.changes.is_sorted_by(|a, b| a.path < b.path), "unsorted or repeated paths");
    assert!(plan.changes.iter().flat_map(Change::paths).all(may_touch), "{:?}", plan.changes);
    for Repair { tolerance, file, .. } in &plan.repairs {
        let is_left = |path: &RepoPath| plan.put_aside.iter().any(|left| left.path == *path);
        let holds = |path: &RepoPath| {
            if *tolerance == Tolerance::Aside { is_left(path) } else { may_touch(path) }
        };
        assert!(file.as_ref().is_none_or(holds), "{tolerance:?} of {file:?}");
    }
    for PutAside { path, text } in &plan.put_aside {
        assert!(!may_touch(path) && !plan.changes.is_empty(), "{path} is put aside for no reason");
        let answer = String::from_utf8_lossy(answer);
        let is_there = |line: &str| answer.contains(line.trim_end_matches('\r'));
        assert!(!text.is_empty() && text.lines().all(is_there), "{text} is not in the answer");
    }
    plan.changes.iter().for_each(check_change);
    assert!(SAMPLE.after(plan).is_sound(), "a file below a file: {:?}", plan.changes);
    assert_eq!(plan.summary().files.len(), plan.changes.len());
}

/// Checks that a change starts from the current file and does what its operation says.
fn check_change(Change { path, op, before, after }: &Change) {
    let from = match op {
        Op::Rename { from } => from,
        Op::Create | Op::Modify | Op::Delete => path,
    };
    assert_eq!(*before, SAMPLE.state(from), "{from} is not in its current state");
    let is_free = matches!(SAMPLE.read(path), Ok(Entry::Missing) | Err(_)) && path.is_portable();
    let holds = match (op, before, after) {
        (Op::Create, None, Some(_)) => is_free,
        (Op::Rename { from }, Some(_), Some(_)) => is_free && from != path,
        (Op::Modify, Some(before), Some(after)) => before.bytes != after.bytes,
        (Op::Delete, Some(_), None) => true,
        (Op::Create | Op::Rename { .. } | Op::Modify | Op::Delete, ..) => false,
    };
    assert!(holds, "{path}: {op:?} does something else");
    assert!(after.iter().all(|state| !state.bytes.contains(&0)), "{path} became binary");
}

/// Checks that a refusal says briefly why, where, and what to do next.
fn check_refusal(refusal: &Refusal, answer: &[u8]) {
    let told = refusal.for_model();
    let first = refusal.mismatches.first().expect("a refusal has a reason");
    assert!(told.len() <= MODEL_BYTES, "{} bytes", told.len());
    assert!(told.contains(first.reason.code()) && told.contains(first.reason.advice()), "{told}");
    let lines: Vec<&[u8]> = answer.split(|byte| *byte == b'\n').collect();
    for mismatch in &refusal.mismatches {
        if let Some(hunk) = &mismatch.hunk {
            assert!((1..=hunk.of).contains(&hunk.index), "{hunk:?}");
            let line = lines.get(hunk.line.wrapping_sub(1)).copied().unwrap_or_default();
            assert!(
                String::from_utf8_lossy(line).contains(&hunk.header),
                "{hunk:?} is not at its line"
            );
        }
        if let Some(nearest) = &mismatch.nearest {
            assert!((1..=lines.len()).contains(&nearest.answer_line), "{nearest:?}");
            assert!(nearest.line >= 1 && nearest.matched <= nearest.of, "{nearest:?}");
        }
    }
}

/// Checks that a limit only turns a plan into a refusal.
fn check_limits(answer: &[u8], scope: &PatchScope, unlimited: &Outcome) {
    let limits =
        PatchLimits { max_diff_bytes: Some(1_000), max_file_bytes: Some(600), max_files: Some(2) };
    let Ok(plan) = prepare(answer, scope, &limits, Tolerances::ALL) else { return };
    assert_eq!(Ok(&plan), unlimited.as_ref());
    assert!(answer.len() <= 1_000 && plan.changes.iter().flat_map(Change::paths).count() <= 2);
    let sizes = plan.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    assert!(sizes.map(|state| state.bytes.len()).max().unwrap_or_default() <= 600);
}
