//! Tasks that are done in lanes: split, worked on at once, brought together, verified as a whole, written once.

use tools::model::mock::Reply;

use crate::support::{Project, Provider, Run, World, plan_verified_by};

/// What the lane planner answers.
fn team(lines: &str) -> Reply {
    Reply::text(format!("TEAM_PLAN_V1\n{lines}\nTEAM_PLAN_END")).to("lane-planner")
}

/// What a lane is told to do, and does: a plan for one file, and its diff.
fn lane(id: &str, file: &str, diff: &str, check: &str) -> [Reply; 2] {
    let plan = plan_verified_by(&[file], &[check]);
    [Reply::text(plan).to("architect").in_lane(id), Reply::text(diff).to("editor").in_lane(id)]
}

/// A diff that makes a file of one line.
fn new_file(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

const THREE: &str = "LANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\nLANE|03|c|make c\nOWN|03|c.txt";

/// A project of one file, whose check passes unless a file says `bad`.
fn project() -> Project {
    Project::new(&[("base.txt", "base\n"), ("check.sh", "! grep -q bad *.txt\n")])
}

fn work(world: &World) -> Run {
    let mut program = world.request("Make the files");
    program.args(["--teammate-mode", "on"]);
    program.run()
}

#[test]
fn three_lanes_arrive_as_one_change() {
    let mut replies = vec![team(THREE)];
    for (id, file) in [("01", "a.txt"), ("02", "b.txt"), ("03", "c.txt")] {
        replies.extend(lane(id, file, &new_file(file, id), "sh check.sh"));
    }
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    for (id, file) in [("01", "a.txt"), ("02", "b.txt"), ("03", "c.txt")] {
        assert_eq!(world.project.read(file), format!("{id}\n"));
    }
    assert_eq!(run.all("PatchApplied").len(), 4, "one in each lane, and one in the workspace");
}
