//! The grammars of the Architect and the Editor: everything said is read, a printed plan is parsed back to itself, and
//! a refusal names a line of the answer.

use std::collections::BTreeSet;

use checks::proves_nothing::hides_failure;
use facts::grammar::contract::unmarked;
use facts::grammar::draft::{self, EditorAnswer, MayEnd};
use facts::grammar::look::{self, Looks};
use facts::grammar::plan::{Plan, PlanLimits};
use shell::CommandLine;

use super::answer::{count, is_of, parts, written};

const LIMITS: PlanLimits = PlanLimits { max_files: 5, max_checks: 4, may_end: MayEnd::Applied };

/// Parses `input` as an answer of every kind.
pub fn check(input: &[u8]) {
    let answer = written(input);
    match Plan::parse(&answer, LIMITS) {
        Ok((plan, _)) => accepted(&plan, &answer),
        Err(error) => is_of(&error, &answer),
    }
    match look::read_looks(&answer) {
        Some(Ok(Looks { looks, .. })) => {
            assert!(!looks.is_empty(), "{answer:?} asks for nothing");
            let plans = answer.lines().any(|line| line.trim().starts_with("PLAN|"));
            assert!(!plans, "{answer:?} asks and plans");
        }
        Some(Err(error)) => is_of(&error, &answer),
        None => {}
    }
    for may_end in [MayEnd::Applied, MayEnd::NothingApplied] {
        match draft::parse_draft(&answer, may_end) {
            Ok(EditorAnswer::Diff(diff)) => {
                assert_eq!(diff, answer, "a diff is passed on unchanged");
            }
            Ok(EditorAnswer::NeedFiles(files)) => assert!(!files.is_empty()),
            Ok(EditorAnswer::Done { .. }) => assert_eq!(may_end, MayEnd::Applied),
            Err(error) => is_of(&error, &answer),
        }
    }
}

fn accepted(plan: &Plan, answer: &str) {
    assert!(Plan::is_formed(answer));
    let has_block = answer.lines().any(|line| unmarked(line) == "ARCHITECT_PLAN_V1");
    if !has_block {
        let reason = plan.no_edit.clone();
        assert!(reason.is_some(), "{answer:?} has no block");
        assert_eq!(*plan, Plan { no_edit: reason, ..Plan::default() });
        return;
    }
    let (above, lines) = parts(answer, "ARCHITECT_PLAN_V1", "ARCHITECT_PLAN_END");
    for key in [
        "PLAN", "FILE", "DELETE", "MOVE", "MODE", "SHOW", "VERIFY", "ACCEPT", "ASSUME", "RISK",
        "MORE", "NO_EDIT",
    ] {
        assert_eq!(count(&above, key), 0, "{answer:?} has a {key} line above its block");
    }
    let asks = |line: &&str| line.starts_with("NEED_") && line.contains('|');
    assert!(!above.iter().any(asks), "{answer:?} asks and plans");
    // No line is dropped; of several NO_EDIT or DONE lines the last one counts.
    assert_eq!(count(&lines, "PLAN"), plan.steps.len(), "{answer:?}");
    assert_eq!(count(&lines, "FILE"), plan.files.len(), "{answer:?}");
    let operations = ["DELETE", "MOVE", "MODE"].map(|key| count(&lines, key));
    assert_eq!(operations.iter().sum::<usize>(), plan.operations.len(), "{answer:?}");
    assert_eq!(count(&lines, "VERIFY"), plan.verify.len(), "{answer:?}");
    assert_eq!(count(&lines, "ACCEPT"), plan.accept.len(), "{answer:?}");
    assert_eq!(count(&lines, "ASSUME"), plan.assumptions.len(), "{answer:?}");
    assert_eq!(count(&lines, "RISK"), plan.risks.len(), "{answer:?}");
    assert_eq!(count(&lines, "MORE") > 0, plan.more.is_some(), "{answer:?}");
    let ends = count(&lines, "NO_EDIT") + count(&lines, "DONE");
    assert_eq!(ends > 0, plan.no_edit.is_some(), "{answer:?}");
    assert_eq!(count(&lines, "SHOW") > 0, !plan.show.is_empty(), "{answer:?}");

    let paths: BTreeSet<_> = plan.files.iter().map(|file| &file.path).collect();
    assert_eq!(paths.len(), plan.files.len(), "each file is declared once");
    let at_large = plan.files.iter().filter(|file| file.lines.is_empty()).count();
    assert!(at_large <= LIMITS.max_files && plan.verify.len() <= LIMITS.max_checks);
    assert_eq!(plan.no_edit.is_some(), plan.touched().next().is_none());
    for command in &plan.verify {
        let line = CommandLine::parse(command).expect("a check is a command");
        assert!(hides_failure(&line).is_none(), "{command:?} hides its failure");
    }
    let printed = plan.to_string();
    let (reparsed, tolerances) = Plan::parse(&printed, LIMITS).expect("a printed plan is parsed");
    assert_eq!((&reparsed, tolerances), (plan, vec![]), "{printed}");
}
