//! `deepseek rewind`: returns to any checkpoint by undoing exactly the program's changes and none of the user's.

use std::collections::BTreeMap;

use mock::ScriptedReply;
use serde_json::Value;

use crate::support::{
    Project, Provider, World, architect, diff, editor, greeting_fix, plan, shell, short_or_long,
};

const CHECK: (&str, &str) = ("check.sh", "exit 0\n");

/// A file that both edit: the program the first line, the user the last.
fn shared(ours: u32, theirs: u32) -> String {
    format!("ours {ours}\n\nbetween\n\ntheirs {theirs}\n")
}

/// The state of the tree, split into the program's part ("ours") and the user's part ("theirs").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shares {
    /// How often the program changed its line, by path; `None` while the file does not exist.
    ours: BTreeMap<String, Option<u32>>,
    /// How often the user changed theirs, by path.
    theirs: BTreeMap<String, u32>,
}

impl Shares {
    /// Returns the tree with the program's part from `self` and the user's from `theirs`.
    fn tree(&self, theirs: &BTreeMap<String, u32>) -> BTreeMap<String, String> {
        let written = self.ours.iter().filter_map(|(path, ours)| Some((path, (*ours)?)));
        let written = written.map(|(path, ours)| (path.clone(), shared(ours, count(theirs, path))));
        let own = theirs.iter().filter(|(path, _)| path.starts_with("mine/"));
        let own = own.map(|(path, count)| (path.clone(), format!("{count}\n")));
        written.chain(own).collect()
    }
}

fn count(theirs: &BTreeMap<String, u32>, path: &str) -> u32 {
    theirs.get(path).copied().unwrap_or_default()
}

/// Prefixes each line of a text with a diff sign.
fn signed(sign: char, text: &str) -> String {
    text.split_inclusive('\n').flat_map(|line| [sign.to_string(), line.to_owned()]).collect()
}

/// Makes the program's next change in `shares`, and returns it as model answers.
fn our_turn(random: &mut fastrand::Rng, shares: &mut Shares) -> [ScriptedReply; 2] {
    let path = format!("src/f{}.txt", random.u32(0..6));
    let theirs = count(&shares.theirs, &path);
    let ours = shares.ours.entry(path.clone()).or_default();
    let answer = match *ours {
        None => {
            // A file that the program creates has no part of the user's yet.
            *ours = Some(0);
            let lines = signed('+', &shared(0, theirs));
            format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,5 @@\n{lines}")
        }
        Some(n) if theirs == 0 && random.u8(0..4) == 0 => {
            *ours = None;
            let lines = signed('-', &shared(n, 0));
            format!("--- a/{path}\n+++ /dev/null\n@@ -1,5 +0,0 @@\n{lines}")
        }
        Some(n) => {
            *ours = Some(n + 1);
            diff(&path, &format!("ours {n}"), &format!("ours {}", n + 1))
        }
    };
    [architect(plan(&[path.as_str()])), editor(answer)]
}

/// Makes the user's next change, in the workspace and in `shares`: in a file that existed from the start, or in one of their
/// own.
fn their_turn(random: &mut fastrand::Rng, shares: &mut Shares, project: &Project) {
    let path = match random.u8(0..3) {
        0 => format!("mine/{}", random.u8(0..4)),
        _ => "src/f0.txt".to_owned(),
    };
    let ours = shares.ours.get(&path).copied().flatten();
    if path.starts_with("src/") && ours.is_none() {
        return;
    }
    let theirs = shares.theirs.entry(path.clone()).or_default();
    *theirs += 1;
    project.write(&path, ours.map_or_else(|| format!("{theirs}\n"), |ours| shared(ours, *theirs)));
}

/// Returns the files under test, with their contents.
fn tree(project: &Project) -> BTreeMap<String, String> {
    let root = project.root().to_string_lossy().into_owned();
    let files = ["src", "mine"]
        .map(|dir| if project.path(dir).exists() { project.hashes(dir) } else { BTreeMap::new() });
    let paths = files.iter().flat_map(BTreeMap::keys);
    let names = paths.map(|path| path.to_string_lossy()[root.len() + 1..].to_owned());
    names.map(|name| (name.clone(), project.read(&name))).collect()
}

#[test]
fn a_change_that_was_taken_back_by_hand_stays_listed() {
    let world = World::greeting(greeting_fix());
    let words = ["--force-execute", "--approval", "auto", "-p", "Fix the greeting"];
    assert_eq!(world.deepseek(words).run().code, Some(0));
    world.project.write("greet.txt", "hello\n");
    let listed = world.deepseek(["rewind"]).run();
    assert!(listed.stdout.contains("Fix the greeting"), "{}{}", listed.stdout, listed.stderr);
    let diff = world.deepseek(["diff", "--run", "latest"]).run();
    assert!(diff.stdout.contains("+hello world"), "{}{}", diff.stdout, diff.stderr);
    let back = world.deepseek(["rewind", "1"]).run();
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert!(back.stderr.contains("nothing left to undo"), "{}", back.stderr);
}

#[test]
fn a_failed_run_names_the_command_that_undoes_it() {
    let wrong = |old: &str, new: &str| editor(diff("greet.txt", old, new));
    let replies = vec![
        architect(plan(&["greet.txt"])),
        wrong("hello", "hello moon"),
        wrong("hello moon", "hello sun"),
    ];
    let world = World::greeting(replies).configure("[agent_loop]\nmax_iterations = 2\n");
    let run =
        world.deepseek(["--force-execute", "-p", "Fix the greeting", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = "✗ not delivered: every attempt failed\n  changed so far: greet.txt +1 -1\n  undo: deepseek rewind 1\n";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    let why = "    FAILED greet.txt::greeting - it says hello moon\n";
    assert_eq!(run.stderr.matches(why).count(), 1, "{}", run.stderr);
    assert_eq!(world.deepseek(["rewind", "1"]).run().code, Some(0));
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn every_checkpoint_of_a_random_history_can_be_restored() {
    const CHECKPOINTS: usize = 30;
    let mut random = fastrand::Rng::with_seed(11);
    let project =
        Project::new(&[CHECK, ("src/f0.txt", &shared(0, 0)), ("src/f1.txt", &shared(0, 0))]);
    let mut shares = Shares::default();
    for path in ["src/f0.txt", "src/f1.txt"] {
        shares.ours.insert(path.to_owned(), Some(0));
    }
    // The user has a part in this file from the start, so the program never deletes it.
    shares.theirs.insert("src/f0.txt".to_owned(), 1);
    project.write("src/f0.txt", shared(0, 1));
    let mut turns = Vec::new();
    let (mut before, mut answers) = (Vec::new(), Vec::new());
    let mut planned = shares.clone();
    for _ in 0..CHECKPOINTS {
        let users = random.u8(0..3);
        turns.push((users, random.fork()));
        let (_, mut fork) = turns.last().cloned().unwrap();
        let scratch = Project::without_git(&[]);
        (0..users).for_each(|_| their_turn(&mut fork, &mut planned, &scratch));
        before.push(planned.clone());
        answers.extend(our_turn(&mut fork, &mut planned));
    }
    let world =
        World::of(project, Provider::new(answers)).configure("[agent_loop]\nbaseline = \"off\"\n");
    let git = world.project.hashes(".git");
    for (users, mut fork) in turns {
        (0..users).for_each(|_| their_turn(&mut fork, &mut shares, &world.project));
        our_turn(&mut fork, &mut shares);
        let run = world.chat("Change something");
        assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
        assert_eq!(tree(&world.project), shares.tree(&shares.theirs));
    }

    let end = tree(&world.project);
    for (number, then) in (1..).zip(&before) {
        let run = world.deepseek(["rewind", &number.to_string()]).run();
        assert_eq!(run.code, Some(0), "{number}: {}", run.stderr);
        assert_eq!(tree(&world.project), then.tree(&shares.theirs), "checkpoint {number}");
        // A rewind is a change and can be undone itself.
        world.deepseek(["rewind", "latest"]).run();
        assert_eq!(tree(&world.project), end, "back from checkpoint {number}");
    }
    assert_eq!(world.project.hashes(".git"), git, "the user's repository changed");
}

/// Creates a world in which the greeting was fixed.
fn with_fixed_greeting() -> World {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.chat("Fix the greeting").ending(), "0 delivered/proven");
    world
}

#[test]
fn checkpoints_are_listed_and_shown() {
    let world = World::greeting(greeting_fix());
    let none = world.deepseek(["rewind"]).run();
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("no checkpoint"), "{}", none.stderr);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.one("CheckpointCreated@v1")["checkpoint"], 1);

    let list = world.deepseek(["rewind"]).run();
    assert!(list.stdout.starts_with("   1  "), "{}", list.stdout);
    assert!(list.stdout.contains("1 file  Fix the greeting · iteration 1"), "{}", list.stdout);
    let json = world.deepseek(["rewind", "--output", "json"]).run();
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json[0]["paths"], serde_json::json!(["greet.txt"]));

    let shown = world.deepseek(["rewind", "1", "--show"]).run();
    assert!(shown.stdout.ends_with("@@ -1 +1 @@\n-hello\n+hello world\n"), "{}", shown.stdout);
    let dry = world.deepseek(["rewind", "1", "--dry-run"]).run();
    assert!(dry.stdout.ends_with("@@ -1 +1 @@\n-hello world\n+hello\n"), "{}", dry.stdout);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    for wrong in ["2", "x", "0"] {
        assert_eq!(world.deepseek(["rewind", wrong]).run().code, Some(2), "{wrong}");
    }
    assert_eq!(world.deepseek(["rewind", "1", "../out"]).run().code, Some(2));
}

#[test]
fn git_can_read_the_checkpoint_repository() {
    let world = with_fixed_greeting();
    let workspaces = std::fs::read_dir(world.state().join("workspaces")).unwrap();
    let own = workspaces.map(|dir| dir.unwrap().path().join("checkpoints.git"));
    let repository = own.last().unwrap();
    let log = shell(
        &repository,
        "git log --format=%s refs/checkpoints/00000001 && git fsck --strict --no-dangling",
    );
    assert_eq!(log, "Fix the greeting · iteration 1\nbefore: Fix the greeting · iteration 1\n");
    let show = |commit: &str| shell(&repository, &format!("git show {commit}:greet.txt"));
    assert_eq!(show("refs/checkpoints/00000001"), "hello world\n");
    assert_eq!(show("refs/checkpoints/00000001^"), "hello\n");
}

#[test]
fn a_file_changed_on_the_same_lines_is_only_restored_with_exact() {
    let world = with_fixed_greeting();
    world.project.write("greet.txt", "hello world and everybody\n");
    let left = world.deepseek(["rewind", "1"]).run();
    assert_eq!(left.code, Some(1));
    assert!(
        left.stderr.contains("greet.txt was left unchanged: the same lines were changed since"),
        "{}",
        left.stderr
    );
    assert!(left.stderr.contains("hint: --exact"), "{}", left.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world and everybody\n");

    let exact = world.deepseek(["rewind", "1", "--exact"]).run();
    assert_eq!(exact.code, Some(0), "{}", exact.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    world.deepseek(["rewind", "latest"]).run();
    assert_eq!(
        world.project.read("greet.txt"),
        "hello world and everybody\n",
        "the user's edit was lost"
    );
}

#[test]
fn a_rewind_can_be_limited_to_paths() {
    let project = Project::without_git(&[CHECK, ("a/x", "1\n"), ("b", "1\n")]);
    let patch = diff("a/x", "1", "2") + &diff("b", "1", "2");
    let world =
        World::of(project, Provider::new(vec![architect(plan(&["a/x", "b"])), editor(patch)]));
    assert_eq!(world.chat("Change both files").ending(), "0 delivered/passed");
    let run = world.deepseek(["rewind", "1", "a/"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        (world.project.read("a/x"), world.project.read("b")),
        ("1\n".to_owned(), "2\n".to_owned())
    );
}

#[test]
fn diff_shows_the_changes_of_a_run_and_all_changes_since_a_checkpoint() {
    let world = World::greeting(
        [
            greeting_fix(),
            vec![
                architect(plan(&["new.txt"])),
                editor("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n".to_owned()),
            ],
        ]
        .concat(),
    );
    let first = world.chat("Fix the greeting");
    world.project.write("mine.txt", "mine\n");
    assert_eq!(world.chat("Add a file").ending(), "0 delivered/passed");

    let begun = first.events.iter().find(|it| it["kind"] == "RunStarted@v1").unwrap();
    let of_first = world.deepseek(["diff", "--run", begun["run"].as_str().unwrap()]).run();
    let of_latest = world.deepseek(["diff", "--run", "latest"]).run();
    let since_first = world.deepseek(["diff", "--since", "1"]).run();
    let since_second = world.deepseek(["diff", "--since", "2"]).run();
    let names = |diff: &str| -> Vec<String> {
        diff.lines().filter_map(|line| Some(line.strip_prefix("+++ b/")?.to_owned())).collect()
    };
    assert_eq!(names(&of_first.stdout), ["greet.txt"], "{}", of_first.stderr);
    assert_eq!(names(&of_latest.stdout), ["new.txt"]);
    assert_eq!(names(&since_first.stdout), ["greet.txt", "mine.txt", "new.txt"]);
    assert_eq!(names(&since_second.stdout), ["new.txt"]);
    assert_eq!(world.deepseek(["diff", "--run", "nobody"]).run().code, Some(2));
}

#[test]
fn an_ambiguous_or_empty_id_is_refused() {
    let world = with_fixed_greeting();
    for (id, says) in [("", "no run or session"), ("0", "matches"), ("no-id", "no run or session")]
    {
        let run = world.deepseek(["diff", "--run", id]).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{id}");
        assert!(run.stderr.contains(says), "{id}: {}", run.stderr);
    }
    assert_eq!(world.deepseek(["diff", ""]).run().code, Some(2));
}

#[test]
fn edits_by_the_user_between_two_patches_are_not_attributed_to_the_run() {
    // The check plays the user: it changes the last line between two patches of the run.
    const MEDDLES: &str = "grep -q 'ours 2' f && exit 0\nsed -i 's/theirs 0/theirs 1/' f\nexit 1\n";
    let project = Project::new(&[("check.sh", MEDDLES), ("f", &shared(0, 0))]);
    let step = |n: u32| editor(diff("f", &format!("ours {n}"), &format!("ours {}", n + 1)));
    let world = World::of(project, Provider::new(vec![architect(plan(&["f"])), step(0), step(1)]))
        .configure("[agent_loop]\nbaseline = \"off\"\n")
        .unconfined();
    assert_eq!(world.chat("Change the first line").ending(), "0 delivered/passed");
    assert_eq!(world.project.read("f"), shared(2, 1));
    let of_session = world.deepseek(["diff", "--run", "latest"]).run();
    let changed: Vec<&str> = of_session
        .stdout
        .lines()
        .filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        })
        .collect();
    assert_eq!(changed, ["-ours 0", "+ours 2"]);
}

#[test]
fn json_output_lists_restored_and_skipped_files() {
    let world = with_fixed_greeting();
    let json = |args: &[&str]| -> Value {
        let run = world.deepseek(args.iter().copied().chain(["--output", "json"])).run();
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    };
    let dry = json(&["rewind", "1", "--dry-run"]);
    assert_eq!(
        (&dry["files"][0]["path"], &dry["left"]),
        (&"greet.txt".into(), &Value::Array(vec![]))
    );
    let back = json(&["rewind", "1"]);
    assert_eq!((&back["files"][0]["path"], &back["checkpoint"]), (&"greet.txt".into(), &1.into()));
    json(&["rewind", "latest"]);
    world.project.write("greet.txt", "mine\n");
    let left = json(&["rewind", "1"]);
    assert_eq!(left["left"][0]["path"], "greet.txt");
    assert_eq!(world.deepseek(["rewind", "1", "no-such-path"]).run().code, Some(2));
}

#[test]
fn a_file_is_not_restored_over_a_directory() {
    let project = Project::without_git(&[CHECK, ("a", "1\n")]);
    let gone = "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
    let made = "--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+2\n";
    let answers = vec![
        architect(plan(&["a"])),
        editor(gone.to_owned()),
        architect(plan(&["a/b"])),
        editor(made.to_owned()),
    ];
    let world = World::of(project, Provider::new(answers));
    for request in ["Remove the file", "Add a file"] {
        assert_eq!(world.chat(request).ending(), "0 delivered/passed");
    }
    for args in [vec!["rewind", "1"], vec!["rewind", "1", "--exact"]] {
        let run = world.deepseek(args.clone()).run();
        assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
        assert_eq!(world.project.read("a/b"), "2\n", "{args:?}");
    }
    assert_eq!(world.deepseek(["rewind", "2"]).run().code, Some(0));
    assert_eq!(world.deepseek(["rewind", "1"]).run().code, Some(0));
    assert_eq!(world.project.read("a"), "1\n");
}

#[test]
fn a_former_symlink_of_the_user_never_causes_a_file_to_be_deleted() {
    let project = Project::without_git(&[CHECK, ("elsewhere", "x\n"), ("b", "1\n")]);
    std::os::unix::fs::symlink("elsewhere", project.path("a")).unwrap();
    let answers = vec![
        architect(plan(&["b"])),
        editor(diff("b", "1", "2")),
        architect(plan(&["a"])),
        editor(diff("a", "theirs", "ours")),
    ];
    let world = World::of(project, Provider::new(answers));
    assert_eq!(world.chat("Change one").ending(), "0 delivered/passed");
    std::fs::remove_file(world.project.path("a")).unwrap();
    world.project.write("a", "theirs\n");
    assert_eq!(world.chat("Change the other").ending(), "0 delivered/passed");
    let run = world.deepseek(["rewind", "1", "--exact"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(world.project.read("a"), "ours\n");
    assert_eq!(world.project.read("b"), "1\n");
}

#[test]
fn a_rewind_killed_at_any_step_can_be_repeated() {
    let world = with_fixed_greeting();
    let mut ends = [0, 0];
    for step in (0..).step_by(short_or_long(3, 1)) {
        let killed =
            world.deepseek(["rewind", "1"]).env("DEEPSEEK_KILL_AT", step.to_string()).run();
        if killed.code == Some(0) {
            break;
        }
        assert_eq!(killed.code, None, "step {step}: {}", killed.stderr);
        let list = world.deepseek(["rewind"]).run();
        assert_eq!(list.code, Some(0), "step {step}: {}", list.stderr);
        let now = world.project.read("greet.txt");
        assert!(["hello\n", "hello world\n"].contains(&now.as_str()), "step {step}: {now}");
        ends[usize::from(now == "hello\n")] += 1;
        let again = world.deepseek(["rewind", "1"]).run();
        assert_eq!(again.code, Some(0), "step {step}: {}", again.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello\n", "step {step}");
        let undone = world.deepseek(["rewind", "latest"]).run();
        assert_eq!(undone.code, Some(0), "step {step}: {}", undone.stderr);
        assert_eq!(
            world.project.read("greet.txt"),
            "hello world\n",
            "step {step}: {}",
            undone.stderr
        );
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn a_rewind_says_whether_it_undoes_or_redoes() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    let after = world.project.read("greet.txt");
    for (said, text) in [
        ("undone: all deepseek changes since checkpoint 1; to redo it", "hello\n"),
        ("redone: what the rewind of checkpoint 2 took back; to undo it", after.as_str()),
        ("undone: all deepseek changes since checkpoint 3; to redo it", "hello\n"),
        ("redone: what the rewind of checkpoint 4 took back; to undo it", after.as_str()),
    ] {
        let back = if said.ends_with("redo it") && said.contains('1') { "1" } else { "latest" };
        let run = world.deepseek(["rewind", back]).run();
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert_eq!(world.project.read("greet.txt"), text);
    }
}
