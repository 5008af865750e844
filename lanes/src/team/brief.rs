//! The instructions for lanes. Pure.

use crate::team::split::path_pattern::Pattern;
use crate::team::split::team_plan::{LanePlan, TeamPlan};
use actors::talk::prompts::{Prompt, Prompts};
use checks::failure_class::FailureClass;
use facts::lane_id::LaneId;
use tree::RepoPath;

/// Returns the instructions for one part of a request. The text that all lanes share comes first, so that the provider
/// caches it.
pub(super) fn lane_instructions(
    prompts: &Prompts,
    request: &str,
    plan: &TeamPlan,
    lane: &LanePlan,
    done: &[LaneId],
) -> String {
    let lanes: Vec<String> = plan.lanes.iter().map(|lane| owned(prompts, lane)).collect();
    let LanePlan { id, title, goal, brief, .. } = lane;
    let goal = brief.as_ref().unwrap_or(goal);
    let done: Vec<String> = done.iter().map(LaneId::to_string).collect();
    let done = if done.is_empty() {
        String::new()
    } else {
        format!("\n{}", prompts.render(Prompt::LanesDone, &[("lanes", &done.join(", "))]))
    };
    prompts.render(
        Prompt::LanePart,
        &[
            ("request", &request),
            ("lanes", &lanes.join("\n")),
            ("id", id),
            ("title", title),
            ("goal", goal),
            ("done", &done),
        ],
    )
}

fn owned(prompts: &Prompts, lane: &LanePlan) -> String {
    let LanePlan { id, title, goal, owns, .. } = lane;
    let owns: Vec<&str> = owns.iter().map(Pattern::as_str).collect();
    prompts.render(
        Prompt::LaneOwned,
        &[("id", id), ("title", title), ("goal", goal), ("owns", &owns.join(", "))],
    )
}

/// Returns the instructions for doing a part again because it conflicts with others.
pub(super) fn replanned(prompts: &Prompts, part: &str, paths: &[RepoPath]) -> String {
    prompts.render(Prompt::LaneAgain, &[("part", &part), ("files", &list(paths))])
}

/// Returns the instructions for fixing checks that fail only when these parts are merged.
pub(super) fn fix<'l>(
    prompts: &Prompts,
    request: &str,
    lanes: impl IntoIterator<Item = &'l LanePlan>,
    class: FailureClass,
    details: &str,
) -> String {
    let goal = |lane: &LanePlan| {
        let LanePlan { id, title, goal, .. } = lane;
        prompts.render(Prompt::LaneGoal, &[("id", id), ("title", title), ("goal", goal)])
    };
    let goals: Vec<String> = lanes.into_iter().map(goal).collect();
    prompts.render(
        Prompt::LanesTogether,
        &[
            ("request", &request),
            ("lanes", &goals.join("\n")),
            ("class", &class.name()),
            ("details", &details),
        ],
    )
}

fn list(paths: &[RepoPath]) -> String {
    paths.iter().map(|path| format!("- {path}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::team::split::team_plan::TeamLimits;

    use super::*;

    #[test]
    fn parts_share_their_beginning_and_list_the_owners_of_files() {
        let plan = "TEAM_PLAN_V1\nLANE|01|Parser|read it\nOWN|01|src/parse/\nLANE|02|Docs|describe it\nOWN|02|docs/*.md\nTEAM_PLAN_END";
        let (plan, _) = TeamPlan::parse(plan, TeamLimits { max_lanes: 4 }).unwrap();
        let prompts = Prompts::default();
        let [first, second] =
            [0, 1].map(|at| lane_instructions(&prompts, "Do it.", &plan, &plan.lanes[at], &[]));
        let common = first.split("You are lane").next().unwrap();
        assert!(second.starts_with(common) && common.starts_with("Do it.\n"));
        assert!(common.contains("- lane 02 (Docs): describe it It owns: docs/*.md\n"), "{common}");
        assert!(second.ends_with(
            "You are lane 02: Docs\ndescribe it\nDo this part and nothing of the others."
        ));
        let done =
            lane_instructions(&prompts, "Do it.", &plan, &plan.lanes[1], &[plan.lanes[0].id]);
        assert!(done.ends_with("is already in the tree: 01."));
        let replanned = replanned(&prompts, &first, &[RepoPath::parse("a").unwrap()]);
        assert!(replanned.starts_with(&first) && replanned.contains("these files:\n- a\n"));
    }
}
