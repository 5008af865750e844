//! `kill -9` while lanes work, are merged and are written: the resumed run delivers the same tree, and the user's repository is
//! untouched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mock::{ReceivedRequest, Replies, ScriptedReply};
use tree::FileHash;

use crate::sessions::resume::{
    RESUME, answers_so_far, has_begun, has_ended, killed_at, nothing_was_paid_twice, sleep,
};
use crate::support::{Project, Provider, World, plan_verified_by, shell, short_or_long};

const TEAM: &str = "TEAM_PLAN_V1\nLANE|01|make a|a, and what is made of it\nOWN|01|a.txt\nOWN|01|gen/\nLANE|02|make b|b\nOWN|02|b.txt\nLANE|03|make c|c, when there is a\nOWN|03|c.txt\nAFTER|03|01\nTEAM_PLAN_END";

/// Lanes 01 and 02 pass alone but fail together, until `peace.txt` exists.
const CHECK: &str = "[ -e a.txt ] && [ -e b.txt ] && [ ! -e peace.txt ] && echo 'FAILED a.txt::peace - they fight' && exit 1\n! grep -q bad c.txt 2>/dev/null\n";

/// A command that writes files beside the patch of its lane.
const MAKES: &str = "mkdir gen && printf 'a\\000b' > gen/bin && ln -s ../a.txt gen/link\n";

pub(crate) const REQUEST: [&str; 9] = [
    "--force-execute",
    "-p",
    "Make the files",
    "--approval",
    "auto",
    "--output",
    "stream-json",
    "--teammate-mode",
    "on",
];

fn new_file(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

fn in_list(old: &str, new: &str) -> String {
    format!("--- a/list.txt\n+++ b/list.txt\n@@ -1 +1 @@\n-{old}\n+{new}\n")
}

/// A team run with everything: an unreadable plan, files made by a command, a lane that waits, a failed check, a conflict, and
/// a failure of the combined lanes. Each answer depends only on its request.
fn eventful() -> Replies {
    Replies::driven(|request| ScriptedReply::text(answer(request)))
}

fn answer(request: &ReceivedRequest) -> String {
    let (role, lane) = (request.header("x-agent-role").unwrap(), request.header("x-agent-lane"));
    let again = request.json["messages"].to_string().contains("list of a");
    let check = "sh check.sh";
    let all = match (role, lane) {
        ("lane-planner", _) => vec!["Let me think.".to_owned(), TEAM.to_owned()],
        ("architect", Some("01")) => {
            vec![plan_verified_by(&["a.txt", "list.txt"], &["sh makes.sh", check])]
        }
        ("editor", Some("01")) => vec![new_file("a.txt", "a") + &in_list("list", "list of a")],
        // This lane's own check always passes; after the conflict it is planned again on top of the others.
        ("architect", Some("02")) => vec![plan_verified_by(&["b.txt", "list.txt"], &["true"])],
        ("editor", Some("02")) => {
            let old = if again { "list of a" } else { "list" };
            vec![new_file("b.txt", "b") + &in_list(old, "list of a and b")]
        }
        ("architect", Some("03")) => vec![plan_verified_by(&["c.txt"], &[check])],
        ("editor", Some("03")) => {
            let fixed = "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-bad\n+c\n".to_owned();
            vec![new_file("c.txt", "bad"), fixed]
        }
        ("architect", Some("00")) => vec![plan_verified_by(&["peace.txt"], &[check])],
        ("editor", Some("00")) => vec![new_file("peace.txt", "peace")],
        ("analysis", _) => vec!["It is.".to_owned()],
        other => panic!("{other:?}"),
    };
    all[answers_so_far(request).min(all.len() - 1)].clone()
}

/// Creates a world for such a team run.
pub(crate) fn world() -> World {
    let project = Project::new(&[("list.txt", "list\n"), ("check.sh", CHECK), ("makes.sh", MAKES)]);
    project.write("notes.txt", "not committed\n");
    let allow = "[policy]\nallow_commands = [\"sh check.sh\", \"sh makes.sh\", \"true\"]\n[agent_loop.safety_gate]\nmax_files_without_approval = 20\n";
    World::of(project, Provider::new(eventful())).configure(allow)
}

/// Hashes everything in the user's directory and repository, by path; links by their targets.
fn everything(world: &World) -> BTreeMap<PathBuf, FileHash> {
    let root = world.project.root();
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            let data = std::fs::symlink_metadata(&path).unwrap();
            if data.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                found.insert(name, FileHash::of(target.to_str().unwrap().as_bytes()));
            } else if data.is_dir() {
                dirs.push(path);
            } else {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = data.permissions().mode() & 0o111;
                let content = std::fs::read(&path).unwrap();
                found.insert(name, FileHash::of(&[&content[..], &mode.to_le_bytes()].concat()));
            }
        }
    }
    found
}

/// Returns git's view of the repository, and a hash of each of its files.
fn repository(world: &World) -> (String, BTreeMap<PathBuf, FileHash>) {
    let root = world.project.root();
    let mut files = everything(world);
    files.retain(|path, _| path.starts_with(".git"));
    let listed = shell(
        root,
        "git worktree list; git for-each-ref; git stash list; git config --list --local",
    );
    (listed, files)
}

fn delivered(world: &World) -> BTreeMap<PathBuf, FileHash> {
    let mut files = everything(world);
    files.retain(|path, _| !path.starts_with(".git"));
    files
}

/// Returns the worktrees in the state directory.
pub(crate) fn worktrees(world: &World) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for workspace in std::fs::read_dir(world.state().join("workspaces")).into_iter().flatten() {
        let lanes = workspace.unwrap().path().join("lanes");
        found.extend(std::fs::read_dir(lanes).into_iter().flatten().map(|run| run.unwrap().path()));
    }
    found
}

/// Returns the files that an uninterrupted run delivers, and how long it took.
fn uninterrupted_run() -> (BTreeMap<PathBuf, FileHash>, Duration) {
    let world = world();
    let before = repository(&world);
    let run = world.deepseek(REQUEST).run();
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(run.one("LaneConflicted")["lane"], "02");
    assert_eq!(run.one("LanesBisected")["lanes"].to_string(), r#"["01","02"]"#);
    assert_eq!(repository(&world), before);
    assert_eq!(worktrees(&world), Vec::<PathBuf>::new());
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
    let files = delivered(&world);
    for made in ["a.txt", "b.txt", "c.txt", "peace.txt"] {
        assert!(files.contains_key(&PathBuf::from(made)), "{made}: {files:?}");
    }
    assert!(!files.contains_key(&PathBuf::from("gen/bin")), "what commands make is discarded");
    assert_eq!(world.project.read("list.txt"), "list of a and b\n");
    (files, run.elapsed)
}

/// Resumes the run to its end, and checks the result.
fn resume_and_check(world: &World, expected: &BTreeMap<PathBuf, FileHash>, context: &str) {
    if !has_ended(world) {
        let args = if has_begun(world) { RESUME.as_slice() } else { &REQUEST };
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{context}: {}\n{}", run.stdout, run.stderr);
    }
    assert_eq!(&delivered(world), expected, "{context}");
    assert_eq!(nothing_was_paid_twice(world), Ok(()), "{context}");
    // The next start collects what the crash left behind.
    world.deepseek(["ask", "Is it done?"]).run();
    assert_eq!(worktrees(world), Vec::<PathBuf>::new(), "{context}");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{context}: {}{}", replay.stdout, replay.stderr);
}

struct Rounds {
    random: u32,
    stride: usize,
}

fn rounds() -> Rounds {
    short_or_long(Rounds { random: 10, stride: 40 }, Rounds { random: 200, stride: 1 })
}

#[test]
fn a_team_killed_at_any_step_is_resumed() {
    let (expected, _) = uninterrupted_run();
    let mut steps = 0;
    for step in (0..).step_by(rounds().stride) {
        let world = world();
        let before = repository(&world);
        let run = killed_at(&world, step, &REQUEST);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        resume_and_check(&world, &expected, &format!("step {step}"));
        assert_eq!(repository(&world), before, "step {step}");
        steps += 1;
    }
    assert!(steps > 5, "{steps} steps");
}

#[test]
fn a_team_killed_repeatedly_at_random_times_is_resumed() {
    let (expected, took) = uninterrupted_run();
    let took = took.min(Duration::from_millis(1500));
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..rounds().random {
        let world = world();
        let before = repository(&world);
        for life in 0..3 {
            if has_ended(&world) || (life > 0 && !has_begun(&world)) {
                break;
            }
            let args = if life > 0 { RESUME.as_slice() } else { &REQUEST };
            let running = world.deepseek(args.iter().copied()).start();
            sleep(took.mul_f64(random.f64() * 0.8));
            running.kill();
        }
        resume_and_check(&world, &expected, &format!("round {round}"));
        assert_eq!(repository(&world), before, "round {round}");
    }
}
