//! The lane planner's grammar: no two lanes own the same path, waiting lanes have an order, and a printed plan is
//! parsed back to itself.

use std::collections::BTreeSet;

use deepseek_lanes::team::split::team_plan::{TeamLimits, TeamPlan};

use super::answer::{count, is_of, parts, written};

const LIMITS: TeamLimits = TeamLimits { max_lanes: 4 };

/// Parses `input` as a team plan.
pub fn check(input: &[u8]) {
    let answer = written(input);
    match TeamPlan::parse(&answer, LIMITS) {
        Ok((plan, _)) => accepted(&plan, &answer),
        Err(error) => is_of(&error, &answer),
    }
}

fn accepted(plan: &TeamPlan, answer: &str) {
    assert!(TeamPlan::is_formed(answer));
    let (above, lines) = parts(answer, "TEAM_PLAN_V1", "TEAM_PLAN_END");
    for key in ["LANE", "OWN", "AFTER"] {
        assert_eq!(count(&above, key), 0, "{answer:?} has a {key} line above its block");
    }
    assert_eq!(count(&lines, "LANE"), plan.lanes.len(), "{answer:?}");
    let owned: usize = plan.lanes.iter().map(|lane| lane.owns.len()).sum();
    assert_eq!(count(&lines, "OWN"), owned, "{answer:?}");
    let waits: usize = plan.lanes.iter().map(|lane| lane.after.len()).sum();
    assert_eq!(count(&lines, "AFTER"), waits, "{answer:?}");

    assert!((1..=LIMITS.max_lanes).contains(&plan.lanes.len()));
    for (nth, lane) in plan.lanes.iter().enumerate() {
        assert!(!lane.owns.is_empty(), "{} owns nothing", lane.id);
        for other in plan.lanes.iter().take(nth) {
            assert_ne!(lane.id, other.id);
            let mut pairs =
                lane.owns.iter().flat_map(|own| other.owns.iter().map(move |it| (own, it)));
            assert!(!pairs.any(|(own, others)| own.overlaps(others)), "{answer:?}");
        }
    }
    let order = plan.merge_order();
    assert_eq!(order.len(), plan.lanes.len(), "{answer:?} has lanes that never begin");
    let mut merged = BTreeSet::new();
    for id in order {
        let lane = plan.lane(id).expect("the order contains only its lanes");
        assert!(lane.after.is_subset(&merged), "{id} comes before what it waits for");
        merged.insert(id);
    }
    let printed = plan.to_string();
    let (reparsed, tolerances) =
        TeamPlan::parse(&printed, LIMITS).expect("a printed plan is parsed");
    assert_eq!((&reparsed, tolerances), (plan, vec![]), "{printed}");
}
