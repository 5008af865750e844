//! What lanes are told to do. Pure.

use std::fmt::Write as _;

use crate::pattern::Pattern;
use crate::team_plan::{LanePlan, TeamPlan};
use actors::failure::FailureClass;
use actors::lane_id::LaneId;
use tools::tree::RepoPath;

/// A part of a request. What lanes have in common comes first, so that it is paid once.
pub(super) fn part(request: &str, plan: &TeamPlan, lane: &LanePlan, done: &[LaneId]) -> String {
    let mut text = format!("{request}\n\nThis is done in lanes, at the same time:\n");
    for LanePlan { id, title, goal, owns, .. } in &plan.lanes {
        let owns: Vec<&str> = owns.iter().map(Pattern::as_str).collect();
        writeln!(text, "- lane {id} ({title}): {goal} Its own: {}", owns.join(", ")).ok();
    }
    let LanePlan { id, title, goal, .. } = lane;
    write!(
        text,
        "No lane may touch what another owns. What nobody owns may be changed as far as it has to be.\n\nYou are lane {id}: {title}\n{goal}\nDo this part, and nothing of the others."
    )
    .ok();
    if !done.is_empty() {
        let done: Vec<String> = done.iter().map(LaneId::to_string).collect();
        write!(text, "\nWhat these lanes did is in the tree already: {}.", done.join(", ")).ok();
    }
    text
}

/// A part that was done before, and does not fit in.
pub(super) fn again(part: &str, paths: &[RepoPath]) -> String {
    format!(
        "{part}\n\nYou did this before, at the same time as the other lanes. What they did is in the tree by now, and what you did does not fit in with it, in these files:\n{}\nDo it again on the tree as it is now. Keep what the others did.",
        list(paths)
    )
}

/// What fails only when these parts of a request come together.
pub(super) fn mend<'l>(
    request: &str,
    lanes: impl IntoIterator<Item = &'l LanePlan>,
    class: FailureClass,
    details: &str,
) -> String {
    let goal = |lane: &LanePlan| format!("- lane {} ({}): {}", lane.id, lane.title, lane.goal);
    let goals: Vec<String> = lanes.into_iter().map(goal).collect();
    format!(
        "{request}\n\nThis was done in parts that each work alone, and all of it is in the tree already. Together these parts fail:\n{}\n\nclassification: {}\n{details}\nMend that with as little change as can be, and keep what the parts were for.",
        goals.join("\n"),
        class.name()
    )
}

fn list(paths: &[RepoPath]) -> String {
    paths.iter().map(|path| format!("- {path}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::team_plan::TeamLimits;

    use super::*;

    #[test]
    fn a_part_begins_like_all_others_and_says_whose_files_are_whose() {
        let plan = "TEAM_PLAN_V1\nLANE|01|Parser|read it\nOWN|01|src/parse/\nLANE|02|Docs|describe it\nOWN|02|docs/*.md\nTEAM_PLAN_END";
        let (plan, _) = TeamPlan::parse(plan, TeamLimits { max_lanes: 4 }).unwrap();
        let [first, second] = [0, 1].map(|at| part("Do it.", &plan, &plan.lanes[at], &[]));
        let common = first.split("You are lane").next().unwrap();
        assert!(second.starts_with(common) && common.starts_with("Do it.\n"));
        assert!(common.contains("- lane 02 (Docs): describe it Its own: docs/*.md\n"), "{common}");
        assert!(second.ends_with(
            "You are lane 02: Docs\ndescribe it\nDo this part, and nothing of the others."
        ));
        let done = part("Do it.", &plan, &plan.lanes[1], &[plan.lanes[0].id]);
        assert!(done.ends_with("is in the tree already: 01."));
        let again = again(&first, &[RepoPath::parse("a").unwrap()]);
        assert!(again.starts_with(&first) && again.contains("these files:\n- a\n"));
    }
}
