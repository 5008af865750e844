use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const PLAN: &str = "TEAM_PLAN_V1\nLANE|01|Parser|read a|b as one\nOWN|01|src/parse/**\nOWN|01|src/lex.rs\nLANE|02|Docs|describe it\nOWN|02|docs/*.md\nAFTER|02|01\nTEAM_PLAN_END";

fn parse(answer: &str) -> Result<(TeamPlan, Vec<Leniency>), ContractError> {
    TeamPlan::parse(answer, TeamLimits { max_lanes: 4 })
}

fn plan(body: &str) -> TeamPlan {
    parse(&format!("TEAM_PLAN_V1\n{body}\nTEAM_PLAN_END")).unwrap().0
}

fn rule(body: &str) -> String {
    parse(&format!("TEAM_PLAN_V1\n{body}\nTEAM_PLAN_END")).unwrap_err().to_string()
}

fn id(number: u8) -> LaneId {
    LaneId::new(number).unwrap()
}

fn ids(numbers: &[u8]) -> BTreeSet<LaneId> {
    numbers.iter().copied().map(id).collect()
}

/// Returns a plan of lanes with one file each, some of which wait for others.
fn waiting(lanes: u8, after: &[(u8, u8)]) -> String {
    let mut body: Vec<String> =
        (1..=lanes).map(|n| format!("LANE|{n:02}|t|g\nOWN|{n:02}|f{n}")).collect();
    body.extend(after.iter().map(|(later, sooner)| format!("AFTER|{later:02}|{sooner:02}")));
    body.join("\n")
}

#[test]
fn a_plan_is_parsed_and_printed_unchanged() {
    let (plan, tolerances) = parse(PLAN).unwrap();
    assert_eq!(plan.lanes[0].goal, "read a|b as one");
    assert_eq!(plan.lanes[1].after, ids(&[1]));
    assert_eq!(plan.to_string(), PLAN);
    assert!(tolerances.is_empty());
}

#[test]
fn the_three_tolerances_are_recorded() {
    let answer = format!("Sure:\n\n```\n{}\n```\n", PLAN.replace("|src", "|./src"));
    let (plan, tolerances) = parse(&answer).unwrap();
    assert_eq!(plan, parse(PLAN).unwrap().0);
    assert_eq!(tolerances, [Leniency::Fence, Leniency::Preamble, Leniency::DotSlash]);
}

#[test]
fn the_instructions_contain_the_contract() {
    let text = planner_instructions(&Prompts::default(), TeamLimits { max_lanes: 4 });
    for line in ["TEAM_PLAN_V1", "LANE|<", "OWN|<", "AFTER|<", "TEAM_PLAN_END"] {
        assert!(text.lines().any(|it| it.starts_with(line)), "{line}");
    }
    assert!(text.contains("2 to 4 lanes") && text.contains("at most 128 in all"));
    assert!(!text.contains("{{"));
}

#[test]
fn lines_may_come_in_any_order() {
    let plan = plan("AFTER|02|01\nOWN|02|b/\nOWN|01|a/\nLANE|02|t|g\nLANE|01|t|g");
    assert_eq!(plan.lanes.iter().map(|lane| lane.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(plan.lanes[1].owns[0].as_str(), "b/**");
}

#[test]
fn every_broken_rule_quotes_its_line() {
    const ONE: &str = "LANE|01|t|g\nOWN|01|a";
    for (body, quoted) in [
        ("", "line 3: `TEAM_PLAN_END`: a plan needs at least one lane"),
        ("OWN|01|a", "line 3: `TEAM_PLAN_END`: a plan needs at least one lane"),
        ("LANE|01|t|g", "line 2: `LANE|01|t|g`: each lane must own something"),
        ("LANE|1|t|g", "line 2: `LANE|1|t|g`: a lane is named by two digits"),
        ("LANE|00|t|g", "two digits, 01 to 99"),
        ("LANE|01|t", "the line must read LANE|<id>|<title>|<goal>"),
        ("LANE|01||g", "the line must read LANE|"),
        ("LANE", "two digits"),
        ("LANE|01|t|g\nLANE|01|u|h", "line 3: `LANE|01|u|h`: each lane has one LANE line"),
        ("LANE|01|t|g\nOWN|01", "the line must read OWN|"),
        ("LANE|01|t|g\nOWN|01|/etc", "line 3: `OWN|01|/etc`: the path is absolute"),
        ("LANE|01|t|g\nOWN|01|../x", "leads out of the workspace"),
        ("LANE|01|t|g\nOWN|01|.git/", "the path is in `.git`"),
        ("LANE|01|t|g\nOWN|01|a\nOWN|01|./a", "line 4: `OWN|01|./a`: this lane already owns that"),
        ("LANE|01|t|g\nOWN|01|a\nOWN|02|b", "line 4: `OWN|02|b`: there is no LANE|02 in the plan"),
        ("LANE|01|t|g\nOWN|01|a\nAFTER|01|02", "line 4: `AFTER|01|02`: there is no LANE|02"),
        ("LANE|01|t|g\nOWN|01|a\nAFTER|02|01", "line 4: `AFTER|02|01`: there is no LANE|02"),
        (
            "LANE|01|t|g\nOWN|01|a\nAFTER|01|01",
            "line 4: `AFTER|01|01`: a lane cannot wait for itself",
        ),
        ("LANE|01|t|g\nOWN|01|a\nAFTER|01", "the line must read AFTER|<id>|<id>"),
        ("PLAN|x", "only LANE|, OWN| and AFTER| lines are allowed in the plan"),
    ] {
        assert!(rule(body).contains(quoted), "{body}: {}", rule(body));
    }
    assert!(rule(&format!("{ONE}\nsrc/x")).contains("line 4: `src/x`: only LANE|"));
    assert!(rule(&waiting(2, &[(2, 1), (2, 1)])).contains("already waits for that one"));
    assert!(parse("no plan").unwrap_err().to_string().contains("line 1: `no plan`"));
    assert!(parse(&format!("{PLAN}\nOWN|01|a")).unwrap_err().rule.contains("nothing may follow"));
    assert!(parse("TEAM_PLAN_V1\nLANE|01|t|g").unwrap_err().rule.contains("must end"));
}

#[test]
fn a_plan_with_too_many_lanes_is_refused() {
    assert_eq!(plan(&waiting(4, &[])).lanes.len(), 4);
    assert!(rule(&waiting(5, &[])).ends_with("`LANE|05|t|g`: a plan may have at most 4 lanes"));
}

#[test]
fn a_file_has_one_owner() {
    assert_eq!(
        rule("LANE|01|t|g\nOWN|01|x\nOWN|01|src/**\nLANE|02|t|g\nOWN|02|y\nOWN|02|src/a.rs"),
        "line 7: `OWN|02|src/a.rs`: a file has only one owner, and line 4 could match the same file: `OWN|01|src/**`"
    );
    // Patterns of the same lane may overlap.
    let plan = plan("LANE|01|t|g\nOWN|01|src/\nOWN|01|src/a.rs\nLANE|02|t|g\nOWN|02|docs/");
    let owner = |path| plan.owner_of(&RepoPath::parse(path).unwrap());
    assert_eq!(owner("src/a.rs"), Some(id(1)));
    assert_eq!(owner("docs/x/y.md"), Some(id(2)));
    assert_eq!(owner("Cargo.lock"), None);
}

#[test]
fn lanes_that_wait_for_each_other_are_named() {
    assert_eq!(
        rule(&waiting(4, &[(1, 4), (2, 3), (4, 3), (3, 2)])),
        "line 13: `AFTER|03|02`: lanes cannot wait for each other: 02 after 03 after 02"
    );
    assert_eq!(
        rule(&waiting(3, &[(1, 2), (3, 1), (2, 3)])),
        "line 10: `AFTER|02|03`: lanes cannot wait for each other: 01 after 02 after 03 after 01"
    );
}

#[test]
fn a_lane_starts_when_those_it_waits_for_have_ended() {
    let plan = plan(&waiting(4, &[(1, 3), (3, 4)]));
    assert_eq!(plan.merge_order(), [id(2), id(4), id(3), id(1)]);
    assert_eq!(plan.needs(id(1)), ids(&[3, 4]));
    assert_eq!(plan.needs(id(2)), ids(&[]));
    assert_eq!(plan.ready(&ids(&[]), &ids(&[])), [id(2), id(4)]);
    assert_eq!(plan.ready(&ids(&[]), &ids(&[2, 4])), []);
    assert_eq!(plan.ready(&ids(&[4]), &ids(&[2, 4])), [id(3)]);
    assert_eq!(plan.ready(&ids(&[3, 4]), &ids(&[2, 3, 4])), [id(1)]);
}

#[test]
fn a_huge_answer_is_refused_quickly() {
    let began = Instant::now();
    let many: Vec<String> = (0..10_000).map(|n| format!("OWN|01|f{n}")).collect();
    let error = rule(&format!("LANE|01|t|g\n{}", many.join("\n")));
    assert_eq!(
        error,
        "line 131: `OWN|01|f128`: a plan may have at most 128 OWN lines: own directories"
    );
    // The hardest patterns to compare within the bounds.
    let hard = |n: usize| {
        let (lane, last) = [(1, 'b'), (2, 'c')][n % 2];
        format!("OWN|{lane:02}|{}{:07b}{last}", "*0".repeat(90), n / 2)
    };
    let hard: Vec<String> = (0..128).map(hard).collect();
    assert_eq!(plan(&format!("LANE|01|t|g\nLANE|02|t|g\n{}", hard.join("\n"))).lanes.len(), 2);
    rule(&"LANE|01|t|g\n".repeat(100_000));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

fn some_plan() -> impl Strategy<Value = TeamPlan> {
    let lane = ("[a-z é]{0,8}[a-z]", "[a-z|é ]{0,8}[a-z]", 1usize..4, any::<u8>());
    proptest::collection::btree_map(1u8..=99, lane, 1..5).prop_map(|lanes| {
        let mut plan = TeamPlan { lanes: Vec::new() };
        for (number, (title, goal, owned, after)) in lanes {
            let owns = (0..owned).map(|n| format!("l{number}/{n}/").parse().unwrap()).collect();
            let sooner = plan.lanes.iter().enumerate();
            let sooner = sooner.filter(|(nth, _)| after >> nth & 1 == 1).map(|(_, lane)| lane.id);
            let after = sooner.collect();
            let (title, goal) = (title.trim().to_owned(), goal.trim_matches([' ', '|']).to_owned());
            plan.lanes.push(LanePlan { id: id(number), title, goal, brief: None, owns, after });
        }
        plan
    })
}

proptest! {
    #[test]
    fn a_printed_plan_is_parsed_back(plan in some_plan()) {
        prop_assert_eq!(&parse(&plan.to_string()).unwrap().0, &plan);
    }

    #[test]
    fn any_answer_is_parsed_or_refused(
        answer in "(TEAM_PLAN_V1\n|LANE\\|01|OWN\\|01|AFTER\\|02|\\||\\|t\\|g\n|TEAM_PLAN_END|```|\n|\\PC){0,30}"
    ) {
        parse(&answer).ok();
    }

    #[test]
    fn no_lane_is_merged_before_one_it_waits_for(
        after in proptest::collection::btree_set((1u8..=6, 1u8..=6), 0..8),
    ) {
        let after: Vec<(u8, u8)> = after.into_iter().filter(|(later, sooner)| later != sooner).collect();
        let body = waiting(6, &after);
        let answer = format!("TEAM_PLAN_V1\n{body}\nTEAM_PLAN_END");
        match TeamPlan::parse(&answer, TeamLimits { max_lanes: 6 }) {
            Ok((plan, _)) => {
                let order = plan.merge_order();
                prop_assert_eq!(order.len(), 6);
                for (nth, lane) in order.iter().enumerate() {
                    let before: BTreeSet<LaneId> = order[..nth].iter().copied().collect();
                    prop_assert!(plan.needs(*lane).is_subset(&before));
                    // No smaller lane was ready.
                    let ready = plan.ready(&before, &before);
                    prop_assert_eq!(ready.first(), Some(lane));
                }
            }
            Err(error) => {
                // Each name waits for the next, and the first equals the last.
                let (_, cycle) = error.rule.split_once("each other: ").unwrap();
                let cycle: Vec<u8> = cycle.split(" after ").map(|n| n.parse().unwrap()).collect();
                prop_assert!(cycle.len() > 2 && cycle.first() == cycle.last());
                prop_assert!(cycle.windows(2).all(|edge| after.contains(&(edge[0], edge[1]))));
            }
        }
    }
}
