//! A change that is planned in parts: it is made in a worktree, checked whole, and written once.

use std::fs;
use std::path::PathBuf;

use mock::{Behaviour, ReceivedRequest, Replies, ScriptedReply};
use serde_json::Value;

use crate::lanes::team_crashes::worktrees;
use crate::sessions::resume::{
    RESUME, answers_so_far, has_begun, has_ended, journal, killed_at, nothing_was_paid_twice,
};
use crate::support::{Project, Provider, Run, World, architect, diff, editor, plan, short_or_long};

/// The files of the project, each of which says `old`.
const FILES: [&str; 6] = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"];
const REQUEST: &str = "Say new everywhere";

/// A project whose check passes once no file says `old`.
fn old() -> Project {
    let check = "grep -l old *.txt && exit 1; exit 0\n";
    let files = FILES.iter().map(|file| (*file, "old\n"));
    Project::new(&files.chain([("check.sh", check)]).collect::<Vec<_>>())
}

/// Returns the plan of a part; the last one says nothing of what remains.
fn part(files: &[&str], remains: &str) -> String {
    let more = if remains.is_empty() { String::new() } else { format!("MORE|{remains}\n") };
    plan(files).replace("ARCHITECT_PLAN_END", &format!("{more}ARCHITECT_PLAN_END"))
}

fn says_new(files: &[&str]) -> String {
    files.iter().map(|file| diff(file, "old", "new")).collect()
}

/// The answers of a change in three parts.
fn three_parts() -> Vec<ScriptedReply> {
    vec![
        architect(part(&FILES[..2], "c to f")),
        editor(says_new(&FILES[..2])),
        architect(part(&FILES[2..4], "e and f")),
        editor(says_new(&FILES[2..4])),
        architect(part(&FILES[4..], "")),
        editor(says_new(&FILES[4..])),
    ]
}

/// Returns the one of these answers that a request is for.
fn answer_of_three_parts(request: &ReceivedRequest) -> ScriptedReply {
    let is_editor = request.header("x-agent-role") == Some("editor");
    three_parts()[2 * answers_so_far(request) + usize::from(is_editor)].clone()
}

/// Returns what the files say, in a word each.
fn said(world: &World) -> String {
    FILES.map(|file| world.project.read(file).trim().to_owned()).join(" ")
}

fn assert_replays(world: &World) {
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
}

fn patch_of(run: &Run, title: &str) -> String {
    let staged = run.all("PatchStaged");
    let patch = staged.iter().find(|it| it["title"].as_str().unwrap().contains(title));
    patch.unwrap_or_else(|| panic!("{staged:?}"))["patch"].as_str().unwrap().to_owned()
}

#[test]
fn a_change_in_parts_is_checked_whole_written_once_and_taken_back_at_once() {
    let world = World::of(old(), Provider::new(three_parts()));
    let before = world.project.hashes("");
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(said(&world), "new new new new new new");
    assert_eq!(
        world.provider.roles(),
        "architect editor architect editor architect editor",
        "each part costs a plan and a diff"
    );
    let written =
        run.events.iter().filter(|it| it["kind"] == "PatchApplied@v1" && it["lane"].is_null());
    assert_eq!(written.count(), 1, "the workspace is written once");
    assert_eq!(worktrees(&world), Vec::<PathBuf>::new());

    let second = world.provider.last_message("architect", 2);
    for words in [
        "Part 1 of the change is made",
        "a.txt, b.txt",
        "only what they say after the last part decides",
        "c.txt",
        "What remains, as you said: c to f",
        "at most 6 more may follow",
    ] {
        assert!(second.contains(words), "{words} in {second}");
    }
    let draft = world.provider.last_message("editor", 1);
    assert!(draft.contains("not part of your diff: c to f"), "{draft}");
    let next = world.provider.last_message("editor", 2);
    assert!(!next.contains("the last one failed"), "{next}");

    assert_replays(&world);
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(world.project.hashes(""), before);
}

#[test]
fn a_derived_check_whose_program_is_not_installed_is_neither_offered_nor_run() {
    let kind = "[projects.plain]\nmanifests = [\"a.txt\"]\nis_root = true\ntests = [{ run = \"no-such-tool test\" }]\n";
    let world = World::of(old(), Provider::new(three_parts())).configure(kind);
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(!world.provider.last_message("architect", 1).contains("no-such-tool"));
    let is_missing = |it: &Value| it["data"]["missing_programs"][0] == "no-such-tool";
    assert!(journal(&world).iter().any(is_missing));
    assert_replays(&world);
}

#[test]
fn a_derived_check_that_fails_as_before_does_not_keep_a_change_from_being_delivered() {
    let kind = "[projects.plain]\nmanifests = [\"a.txt\"]\nis_root = true\ntests = [{ run = \"sh old.sh\" }]\n";
    let allowed = "[policy]\nallow_commands = [\"sh check.sh\", \"sh old.sh\"]\n";
    let project = old();
    project.write("old.sh", "echo 'FAILED old::one - as ever'\nexit 1\n");
    project.commit();
    let world =
        World::of(project, Provider::new(three_parts())).configure(&format!("{kind}{allowed}"));
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    assert_eq!(said(&world), "new new new new new new");
    assert_replays(&world);
}

#[test]
fn a_diff_may_come_with_the_plan_of_any_part() {
    let drafted = |files: &[&str], remains: &str| {
        architect(format!("{}\nEDITOR_DRAFT_V1\n{}", part(files, remains), says_new(files)))
    };
    let replies = vec![
        drafted(&FILES[..2], "c to f"),
        drafted(&FILES[2..4], "e and f"),
        drafted(&FILES[4..], ""),
    ];
    let world = World::of(old(), Provider::new(replies));
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "0 delivered/proven", "{:?}", run.all("DraftPassedOver"));
    assert_eq!(said(&world), "new new new new new new");
    assert_eq!(world.provider.roles(), "architect architect architect");
    assert_replays(&world);
    let calls = run.all("EditorStarted").iter().map(|it| it["call"].clone()).collect::<Vec<_>>();
    let replies = run.all("ModelReply").iter().map(|it| it["call"].clone()).collect::<Vec<_>>();
    assert_eq!(calls, replies);
}

#[test]
fn a_change_in_parts_that_fails_leaves_the_workspace_alone_and_is_staged() {
    let mut replies = three_parts();
    replies.truncate(4);
    replies.push(architect("I cannot go on.").forever());
    let world = World::of(old(), Provider::new(replies));
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "1 needs_work/staged", "{}", run.stderr);
    assert_eq!(said(&world), "old old old old old old");
    assert!(run.stderr.contains("`deepseek apply`"), "{}", run.stderr);
    assert_replays(&world);

    let patch = patch_of(&run, "the parts that were made");
    let shown = world.deepseek(["diff", &patch]).run();
    assert!(shown.stdout.contains("+++ b/d.txt"), "{}{}", shown.stdout, shown.stderr);
    let applied = world.deepseek(["apply", "--yes", &patch]).run();
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert_eq!(said(&world), "new new new new old old");
}

#[test]
fn with_the_budget_at_its_end_the_parts_are_staged() {
    let world = World::of(old(), Provider::new(three_parts())).configure("[budget]\ncalls = 4\n");
    let run = world.chat(REQUEST);
    assert_eq!(run.code, Some(4), "{}\n{}", run.ending(), run.stderr);
    assert!(run.stderr.contains("what was done is staged as "), "{}", run.stderr);
    assert_eq!(said(&world), "old old old old old old");
    assert_replays(&world);
}

#[test]
fn if_the_provider_fails_in_between_the_parts_are_staged_and_named() {
    let mut replies = three_parts();
    replies.truncate(2);
    replies.push(ScriptedReply::of(Behaviour::Http401).to("architect").forever());
    let world = World::of(old(), Provider::new(replies));
    let run = world.chat(REQUEST);
    assert_eq!(run.code, Some(5), "{}\n{}", run.ending(), run.stderr);
    assert!(run.stderr.contains("what was done is staged as "), "{}", run.stderr);
    assert_eq!(said(&world), "old old old old old old");
    assert_replays(&world);
}

#[test]
fn a_file_that_the_user_changes_meanwhile_is_not_written_over() {
    let project = old();
    let file = project.path("a.txt");
    let replies = Replies::driven(move |request| {
        let reply = answer_of_three_parts(request);
        if reply == three_parts()[4] {
            fs::write(&file, "mine\n").unwrap();
        }
        reply
    });
    let world = World::of(project, Provider::new(replies));
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "1 needs_work/staged", "{}", run.stderr);
    assert_eq!(said(&world), "mine old old old old old");
    assert!(run.stderr.contains("your own changes in a.txt"), "{}", run.stderr);
    assert!(!patch_of(&run, "the parts that were made").is_empty());
}

#[test]
fn a_part_that_changes_nothing_ends_the_change() {
    let mut replies = three_parts();
    replies[3] = editor("DONE|c and d are right as they are");
    let world = World::of(old(), Provider::new(replies));
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "1 needs_work/staged", "{}", run.stderr);
    assert!(run.stderr.contains("part 2 of the change has nothing to change"), "{}", run.stderr);
}

#[test]
fn there_are_at_most_max_parts() {
    let configured = "[agent_loop]\nmax_parts = 2\n";
    let world = World::of(old(), Provider::new(three_parts())).configure(configured);
    let run = world.chat(REQUEST);
    assert_eq!(run.ending(), "1 needs_work/staged", "{}", run.stderr);
    let says = "needs more than 2 parts (`agent_loop.max_parts`)";
    assert!(run.stderr.contains(says), "{}", run.stderr);
}

#[test]
fn a_plan_alone_shows_what_would_be_planned_later() {
    let world = World::of(old(), Provider::new(three_parts()));
    let run = world.deepseek(["plan", REQUEST]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("planned later: c to f"), "{}", run.stdout);
    assert_eq!(said(&world), "old old old old old old");
}

#[test]
fn a_change_in_parts_killed_anywhere_leaves_the_workspace_alone_until_all_are_made_and_is_resumed()
{
    let args = ["--force-execute", "-p", REQUEST, "--approval", "auto"];
    let mut kills = 0;
    for step in (0..).step_by(short_or_long(9, 1)) {
        let world = World::of(old(), Provider::new(Replies::driven(answer_of_three_parts)));
        let run = killed_at(&world, step, &args);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        kills += 1;
        let is_merged = journal(&world).iter().any(|event| event["kind"] == "LanesMerged@v1");
        let found = said(&world);
        assert!(is_merged || found == "old old old old old old", "step {step}: {found}");
        if !has_begun(&world) {
            continue;
        }
        if !has_ended(&world) {
            let mut recorded = journal(&world).into_iter();
            let made = recorded.any(|it| it["kind"] == "PatchApplied@v1" && !it["lane"].is_null());
            let looked = world.deepseek(["diff"]).run();
            let hint =
                "`deepseek diff --lane 01` shows what a lane of the interrupted request made";
            // The whole change is staged before it is written.
            let is_staged = looked.code == Some(0);
            assert_eq!(
                looked.stderr.contains(hint),
                made && !is_staged,
                "step {step}: {}",
                looked.stderr
            );
            let run = world.deepseek(RESUME).run();
            assert_eq!(run.code, Some(0), "step {step}: {}", run.stderr);
        }
        assert_eq!(said(&world), "new new new new new new", "step {step}");
        assert_eq!(nothing_was_paid_twice(&world), Ok(()), "step {step}");
        assert_replays(&world);
        world.deepseek(["ask", "Is it done?"]).run();
        assert_eq!(worktrees(&world), Vec::<PathBuf>::new(), "step {step}");
    }
    assert!(kills > 10, "{kills}");
}

#[test]
fn a_lane_of_a_team_makes_its_part_in_parts() {
    let team = "TEAM_PLAN_V1\nLANE|01|a and b|say new\nOWN|01|a.txt\nOWN|01|b.txt\nLANE|02|notes|write notes\n\
                OWN|02|notes.txt\nTEAM_PLAN_END";
    let lane =
        |text: String, role: &str, lane: &str| ScriptedReply::text(text).to(role).in_lane(lane);
    let replies = vec![
        ScriptedReply::text(team).to("lane-planner"),
        lane(part(&["a.txt"], "b"), "architect", "01"),
        lane(says_new(&["a.txt"]), "editor", "01"),
        lane(part(&["b.txt"], ""), "architect", "01"),
        lane(says_new(&["b.txt"]), "editor", "01"),
        lane(plan(&["notes.txt"]), "architect", "02"),
        lane("--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+notes\n".to_owned(), "editor", "02"),
    ];
    let project = old();
    project.write("check.sh", "true\n");
    project.commit();
    let world = World::of(project, Provider::new(replies));
    let run = world.request(REQUEST).args(["--teammate-mode", "on", "--yolo"]).run();
    assert_eq!(run.code, Some(0), "{}\n{}", run.ending(), run.stderr);
    assert_eq!(said(&world), "new new old old old old");
    assert_eq!(world.project.read("notes.txt"), "notes\n");
}
