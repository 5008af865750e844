//! Plans as models write them, and the rules that they may break.

use proptest::prelude::*;

use super::*;

const PLAN: &str = "ARCHITECT_PLAN_V1\nPLAN|fix the sum\nFILE|src/lib.rs|use + in total()\nVERIFY|cargo test\nACCEPT|total adds\nARCHITECT_PLAN_END";

fn parse(answer: &str) -> Result<(Plan, Vec<Leniency>), ContractError> {
    let may_end = MayEnd::Applied;
    Plan::parse(answer, PlanLimits { max_files: 12, max_checks: 3, may_end })
}

fn rule(body: &str) -> String {
    parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap_err().to_string()
}

#[test]
fn the_contract_as_written() {
    let (plan, tolerances) = parse(PLAN).unwrap();
    assert_eq!(plan.files[0].path.as_str(), "src/lib.rs");
    assert_eq!(plan.to_string(), PLAN);
    assert!(tolerances.is_empty());
}

#[test]
fn criteria_name_the_checks_that_show_them() {
    let body = "PLAN|a\nFILE|x|b\nVERIFY|cargo test sum\nVERIFY|grep -E 'a|b' c\nACCEPT|it adds | cargo test sum\nACCEPT|a|b holds\nACCEPT|it is fast\nACCEPT|x|y is gone|grep -E 'a|b' c\nACCEPT|cargo test sum";
    let (plan, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
    let read: Vec<_> = plan.criteria().map(|it| (it.criterion, it.shown_by)).collect();
    let expected = [
        ("it adds", Some("cargo test sum")),
        ("a|b holds", None),
        ("it is fast", None),
        ("x|y is gone", Some("grep -E 'a|b' c")),
        ("cargo test sum", Some("cargo test sum")),
    ];
    assert_eq!(read, expected);
}

#[test]
fn a_step_names_files_by_path_or_name() {
    let body = "PLAN|Call `a.rs`, then (src/b.rs).\nPLAN|Concerning cc\nPLAN|Tidy c\nFILE|src/a.rs|x\nFILE|src/b.rs|y\nFILE|c|z";
    let (plan, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
    let named = |step: usize| plan.files_of_step(&plan.steps[step]);
    assert_eq!(
        named(0),
        ["src/a.rs", "src/b.rs"].map(|it| RepoPath::parse(it).unwrap()).iter().collect::<Vec<_>>()
    );
    assert!(named(1).is_empty());
    let changed = RepoPath::parse("src/b.rs").unwrap();
    assert_eq!(plan.marks(&[&changed]), [StepMark::Done, StepMark::Done, StepMark::Untouched]);
}

#[test]
fn a_plan_names_other_files_for_the_editor_to_read() {
    let body = "PLAN|a\nFILE|x|b\nSHOW|./y:3-9,20-30\nSHOW|z";
    let (plan, tolerances) =
        parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
    let shown: Vec<String> = plan.show.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["y:3-9", "y:20-30", "z"]);
    assert_eq!(tolerances, [Leniency::DotSlash]);
    assert!(rule("PLAN|a\nFILE|x|b\nSHOW|").contains("SHOW|<path>[:<first>-<last>]"));
    assert!(rule("PLAN|a\nFILE|x|b\nSHOW|y:9-3").contains("one-based"));
}

#[test]
fn the_three_tolerances_are_recorded() {
    let answer = format!("Sure, here it is:\n\n```text\n{}\n```\n", PLAN.replace("|src", "|./src"));
    let (plan, tolerances) = parse(&answer).unwrap();
    assert_eq!(plan.files[0].path.as_str(), "src/lib.rs");
    assert_eq!(tolerances, [Leniency::Fence, Leniency::Preamble, Leniency::DotSlash]);
}

#[test]
fn prose_around_marks_and_wrapped_steps_are_tolerated() {
    let marked = PLAN.replace("PLAN|fix", "- PLAN|fix").replace("FILE|", "* FILE|");
    let marked = format!("Here:\n**{}\nHope this helps!", marked.replacen("_V1", "_V1**", 1));
    let (plan, tolerances) = parse(&marked).unwrap();
    assert_eq!(plan, parse(PLAN).unwrap().0);
    assert_eq!(tolerances, [Leniency::Preamble]);
    let wrapped = PLAN.replace("the sum\n", "the sum:\n- first a | b\n- then c\n");
    let (plan, tolerances) = parse(&wrapped).unwrap();
    assert_eq!(plan.steps, ["fix the sum: - first a | b - then c"]);
    assert_eq!(tolerances, [Leniency::Continued]);
    assert!(rule("PLAN|a\nFILE|x|b\nVERIFY|cargo\ntest").contains("only PLAN|"));
}

#[test]
fn a_plan_together_with_another_answer_is_refused() {
    for other in [
        "NEED_CONTEXT|src/lib.rs",
        "PLAN|a step above the block",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
        "diff --git a/x b/x",
        "*** Begin Patch",
        "TEAM_PLAN_V1\nLANE|01|a|b\nTEAM_PLAN_END",
    ] {
        let above = parse(&format!("I see.\n{other}\n{PLAN}")).unwrap_err();
        assert!(above.line == 2 && above.rule.contains("this is not part of the block"), "{above}");
        let below = parse(&format!("{PLAN}\n{other}")).unwrap_err();
        assert!(below.rule.contains("nothing may follow"), "{below}");
    }
    let twice = parse(&format!("{PLAN}\n{PLAN}")).unwrap_err();
    assert!(twice.rule.contains("nothing may follow"), "{twice}");
}

#[test]
fn a_diff_after_the_plan_is_another_part_of_the_answer() {
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 @@\n-a\n+b\n";
    for line in ["EDITOR_DRAFT_V1", "**EDITOR_DRAFT_V1**", "  `EDITOR_DRAFT_V1`  "] {
        let answer = format!("{PLAN}\n{line}\n{diff}");
        let (plan, draft) = Plan::with_draft(&answer);
        assert_eq!((parse(plan), draft), (parse(PLAN), Some(diff)), "{line}");
    }
    let thought = format!("EDITOR_DRAFT_V1 may follow\nEDITOR_DRAFT_V1\n</think>\n{PLAN}");
    assert_eq!(Plan::with_draft(&thought), (thought.as_str(), None));
    assert_eq!(Plan::with_draft(PLAN), (PLAN, None));
}

#[test]
fn leaked_reasoning_is_ignored() {
    let answer = format!("{}PLAN|or so\n</think>\n{PLAN}", PLAN.replace("lib", "other"));
    assert_eq!(parse(&answer).unwrap().0, parse(PLAN).unwrap().0);
    let within = "ARCHITECT_PLAN_V1\nPLAN|strip </think>\nFILE|x|b\nARCHITECT_PLAN_END";
    assert_eq!(parse(within).unwrap().0.steps, ["strip </think>"]);
}

#[test]
fn a_check_that_fails_in_its_last_part_may_be_joined_to_others() {
    for check in ["cat a | grep -q b", "sh a || exit 1", "sh a; exit $?", "[ -s a ] && sh a"] {
        let body = format!("PLAN|a\nFILE|a|b\nVERIFY|{check}");
        let (plan, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
        assert_eq!(plan.verify, [check]);
    }
    let hidden = rule("PLAN|a\nFILE|a|b\nVERIFY|sh a | tee log");
    assert!(hidden.contains("a failure of `sh a` is not seen, since a pipe"), "{hidden}");
}

#[test]
fn every_broken_rule_quotes_its_line() {
    assert_eq!(
        rule("PLAN|a\nFILE|../x|b"),
        "line 3: `FILE|../x|b`: ".to_owned() + &RepoPath::parse("../x").unwrap_err().to_string()
    );
    assert!(rule("PLAN|a\nFILE|/etc/passwd|b").contains("line 3: `FILE|/etc/passwd|b`"));
    assert!(rule("PLAN|a\nFILE|.git/config|b").contains("line 3"));
    assert!(rule("PLAN|a\nRETRIEVE|x").contains("only PLAN|"));
    assert!(rule("PLAN|a\nFILE|x").contains("FILE|<path>|<intent>"));
    assert!(rule("PLAN|a\nFILE|x|b\nFILE|./x|c").contains("declared once"));
    assert!(rule("PLAN|a").contains("needs a FILE, DELETE"));
    assert!(rule("FILE|a|b").contains("at least one PLAN"));
    assert!(rule("NO_EDIT|true|r\nFILE|a|b\nPLAN|c").contains("exclude"));
    assert!(rule("NO_EDIT|false|r").contains("NO_EDIT|true|<reason>"));
    assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|echo 'x").contains("a quote is not closed"));
    assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|").contains("VERIFY|<command>"));
    assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|cargo test || true").contains("must fail when"));
    assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|cargo test ) | cat").contains("join with && only"));
    let dialect = rule("PLAN|a\nFILE|a|b\nVERIFY|[[ $(<a) == *b ]]");
    assert!(dialect.contains("does not know `[[`: write `[ … ]`"), "{dialect}");
    assert!(parse("no plan").unwrap_err().to_string().contains("line 1: `no plan`"));
    assert!(parse("").is_err());
    assert!(parse("ARCHITECT_PLAN_V1\nPLAN|a").unwrap_err().rule.contains("must end"));
}

#[test]
fn the_fourth_check_is_one_too_many() {
    let checks: Vec<String> = (0..4).map(|n| format!("VERIFY|make t{n}")).collect();
    let error = rule(&format!("PLAN|a\nFILE|f|x\n{}", checks.join("\n")));
    assert_eq!(error, "line 7: `VERIFY|make t3`: a plan may name at most 3 checks");
}

#[test]
fn the_thirteenth_file_is_one_too_many() {
    let named: Vec<String> =
        (0..40).map(|n| format!("FILE|n{n}:3-4|x\nMOVE|m{n}|o{n}|y")).collect();
    let body = format!("PLAN|a\nFILE|f|x\n{}", named.join("\n"));
    let (wide, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
    assert_eq!((wide.files.len(), wide.operations.len()), (41, 40));
    let files: Vec<String> = (0..13).map(|n| format!("FILE|f{n}|x")).collect();
    let error = rule(&format!("PLAN|a\n{}", files.join("\n")));
    assert_eq!(
        error,
        "line 15: `FILE|f12|x`: a plan may declare at most 12 files without naming the lines that change: name them, or plan a \
         part and say with MORE|<what remains> what is planned after it"
    );
}

#[test]
fn a_part_of_a_change_says_what_remains() {
    let of =
        |more: &str| format!("ARCHITECT_PLAN_V1\nPLAN|a\nFILE|x|b\n{more}\nARCHITECT_PLAN_END");
    let more = |lines: &str| parse(&of(lines)).unwrap().0.more;
    assert_eq!(more("RISK|none"), None);
    assert_eq!(more("MORE|the tests").as_deref(), Some("the tests"));
    assert_eq!(more("MORE|the tests\nMORE|the docs").as_deref(), Some("the tests; the docs"));
    assert_eq!(more("MORE|the tests\nof b").as_deref(), Some("the tests of b"));
    assert!(rule("PLAN|a\nFILE|x|b\nMORE|").contains("MORE|<what remains>"));
    assert!(rule("NO_EDIT|true|done\nMORE|the tests").contains("exclude each other"));
}

#[test]
fn a_plan_without_edits_needs_only_a_reason() {
    let (plan, _) = parse("ARCHITECT_PLAN_V1\nNO_EDIT|true|it works\nARCHITECT_PLAN_END").unwrap();
    assert_eq!(plan.no_edit.as_deref(), Some("it works"));
}

#[test]
fn that_nothing_more_is_needed_may_be_said_with_and_without_the_block() {
    let reason = |answer: &str| parse(answer).unwrap().0.no_edit.unwrap();
    let block = |line: &str| format!("ARCHITECT_PLAN_V1\n{line}\nARCHITECT_PLAN_END");
    for answer in ["DONE|it works", "I looked again.\n```\nDONE|it works\n```"] {
        assert_eq!(reason(answer), "it works");
    }
    assert_eq!(reason(&block("VERIFY|make check\nDONE|it works")), "it works");
    assert_eq!(reason("NO_EDIT|true|it works"), "it works");
    assert!(rule("DONE|a\nFILE|x|b").contains("exclude each other"));
    assert!(parse("DONE|").unwrap_err().rule.contains("DONE|<reason>"));
    assert!(parse("NEED_CONTEXT|a\nDONE|it works").is_err(), "ask first, or end");
    let may_end = MayEnd::NothingApplied;
    let early = |answer: &str| {
        Plan::parse(answer, PlanLimits { may_end, ..PlanLimits::default() }).unwrap_err()
    };
    for answer in ["DONE|it works", &block("DONE|it works")] {
        assert!(early(answer).rule.contains("only once a change is applied"), "{answer}");
    }
}

proptest! {
    #[test]
    fn a_printed_plan_parses_back(
        steps in proptest::collection::vec("[a-z|é ]{0,8}[a-z]", 1..4),
        names in proptest::collection::btree_set("[a-z]{1,6}\\.rs", 1..5),
        intent in "[a-z|]{1,9}",
        lines in proptest::collection::vec((1_usize..9, 9_usize..20), 0..3),
    ) {
        let steps = steps.into_iter().map(|s| s.trim().to_owned()).collect();
        let files = names.iter()
            .map(|name| FileIntent { path: RepoPath::parse(name).unwrap(), lines: lines.clone(), intent: intent.clone() })
            .collect();
        let show = names.iter().zip(&lines).map(|(name, lines)| Look::Context { path: RepoPath::parse(name).unwrap(), lines: Some(*lines) });
        let operations = names.iter().map(|name| PlannedOperation { operation: FileOperation::Delete { path: RepoPath::parse(name).unwrap() }, why: "a | b".into() }).collect();
        let plan = Plan { steps, files, operations, show: show.collect(), verify: vec!["a b".into()], assumptions: vec!["it | is so".into()], risks: vec!["none".into()], more: Some("the | rest".into()), ..Plan::default() };
        prop_assert_eq!(parse(&plan.to_string()).unwrap().0, plan);
    }

    #[test]
    fn no_answer_makes_the_parser_panic(answer in "(ARCHITECT_PLAN_V1\n|PLAN\\||FILE\\||NO_EDIT\\||DONE\\||ARCHITECT_PLAN_END|```|\n|\\PC){0,30}") {
        parse(&answer).ok();
    }
}
