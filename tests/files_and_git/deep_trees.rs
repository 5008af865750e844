//! Trees that are deeper than a stack, or than a path is long: as far as a path can name them, they are listed, searched,
//! snapshotted, copied and removed like others; what is deeper is left alone, and hidden from commands.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use mock::ScriptedReply;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::confinement::sandbox::skipped;
use crate::support::{Project, Provider, World, architect, greeting_fix, plan_verified_by};

/// Creates directories, one in the other, below `root`, with a file in the last one.
fn dig(root: &Path, depth: usize, file: &str) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = openat(&dir, "d", flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = openat(&dir, file, flags, Mode::RUSR | Mode::WUSR).unwrap();
    rustix::io::write(&file, b"needle\n").unwrap();
}

/// Removes what [`dig`] created, which the drop of a temporary directory could not.
fn fill_in(project: &Project) {
    tree::remove_tree(&project.path("d")).unwrap();
}

#[test]
fn a_tree_of_fifteen_hundred_levels_is_like_any_other() {
    let project = Project::greeting();
    dig(project.root(), 1_500, "leaf.txt");
    let replies = [vec![architect("NEED_SEARCH|needle")], greeting_fix()].concat();
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let shown = world.provider.last_message("architect", 2);
    assert!(shown.contains("d/d/d/leaf.txt"), "the file is found");
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    fill_in(&world.project);
}

#[test]
fn lanes_work_in_copies_of_a_deep_tree() {
    let lane = |id: &str, file: &str| {
        let new = format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+{id}\n");
        let plan = plan_verified_by(&[file], &["sh check.sh"]);
        [
            ScriptedReply::text(plan).to("architect").in_lane(id),
            ScriptedReply::text(new).to("editor").in_lane(id),
        ]
    };
    let team = "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\nTEAM_PLAN_END";
    let planner = vec![ScriptedReply::text(team).to("lane-planner")];
    let replies = [planner, lane("01", "a.txt").to_vec(), lane("02", "b.txt").to_vec()].concat();
    let project = Project::new(&[("check.sh", "! grep -q bad *.txt\n"), ("base.txt", "base\n")]);
    dig(project.root(), 1_500, "leaf.txt");
    let world = World::of(project, Provider::new(replies));
    let run = world.request("Make the files").args(["--teammate-mode", "on"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        (world.project.read("a.txt"), world.project.read("b.txt")),
        ("01\n".into(), "02\n".into())
    );
    let workspaces = fs::read_dir(world.state().join("workspaces")).unwrap().flatten();
    let left =
        workspaces.flat_map(|it| fs::read_dir(it.path().join("lanes")).into_iter().flatten());
    assert_eq!(left.count(), 0, "the copies are removed");
    fill_in(&world.project);
}

#[test]
fn what_no_path_can_name_is_left_alone_and_hidden_from_commands() {
    let project = Project::greeting();
    dig(project.root(), 5_000, ".env");
    // It goes down step by step, as far as it can.
    let goes = r"
import os
here, depth = os.open('.', os.O_RDONLY), 0
while True:
    try:
        below = os.open('d', os.O_RDONLY, dir_fd=here)
    except OSError:
        break
    os.close(here)
    here, depth = below, depth + 1
try:
    print('read', os.read(os.open('.env', os.O_RDONLY, dir_fd=here), 99))
except OSError:
    print('hidden below', depth)
";
    project.write("goes.py", goes);
    let world = World::of(project, Provider::new(greeting_fix()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let reached = world.deepseek(["sandbox", "--", "python3", "goes.py"]).run();
    if reached.stdout.starts_with("hidden below") {
        let depth: usize = reached.stdout.trim().rsplit(' ').next().unwrap().parse().unwrap();
        assert!((1_400..1_600).contains(&depth), "{depth}");
    } else {
        assert!(!reached.stdout.contains("needle"), "a secret was read: {}", reached.stdout);
        skipped(&format!("nothing goes down here: {}{}", reached.stdout, reached.stderr));
    }
    fill_in(&world.project);
}
