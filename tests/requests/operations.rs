//! What a plan has the program do to files without a diff: it is part of one change, which one rewind takes back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use mock::ScriptedReply;

use crate::support::{Project, Provider, Run, World, architect, diff, editor, shell};

/// Returns a plan of these lines.
fn plan(lines: &str) -> ScriptedReply {
    architect(format!(
        "ARCHITECT_PLAN_V1\nPLAN|tidy up\n{lines}VERIFY|sh check.sh\nARCHITECT_PLAN_END"
    ))
}

/// A project whose check wants everything tidied up.
fn untidy() -> Project {
    let project = Project::without_git(&[
        ("old/mod.txt", "the module\n"),
        ("old/deep/part.txt", "a part\n"),
        ("user.txt", "uses old\n"),
        ("dead.txt", &"an unused line\n".repeat(30)),
        ("run.sh", "echo hello\n"),
        (
            "check.sh",
            "test ! -e dead.txt && test ! -e old/mod.txt && grep -q part new/deep/part.txt && \
             test -x run.sh && grep -q 'uses new' user.txt && grep -q 'the new module' new/mod.txt\n",
        ),
        (".gitignore", "*.log\n"),
    ]);
    project.write("old/picture.bin", [0, 159, 146, 150]);
    project.commit();
    project.write("old/build.log", "ignored\n");
    project
}

const ALL: &str = "FILE|user.txt:1-1|say new\nFILE|new/mod.txt:1-1|say new\n\
    MOVE|old|new|a better name\nDELETE|dead.txt|unused\nMODE|run.sh|755|it is a script\n";

fn is_executable(world: &World, path: &str) -> bool {
    fs::metadata(world.project.path(path)).unwrap().permissions().mode() & 0o100 != 0
}

#[test]
fn files_are_deleted_moved_and_made_executable_with_the_diff_in_one_change() {
    let drafted = diff("user.txt", "uses old", "uses new")
        + &diff("new/mod.txt", "the module", "the new module");
    let world = World::of(untidy(), Provider::new(vec![plan(ALL), editor(drafted)]));
    let before = world.project.hashes("");
    let run = world.chat("Tidy up");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let shown = world.provider.last_message("editor", 1);
    assert!(shown.contains("- MOVE|old|new|a better name\n- DELETE|dead.txt|unused\n"), "{shown}");
    assert!(shown.contains("new/mod.txt") && shown.contains("the module"), "{shown}");
    assert_eq!(run.all("PatchApplied").len(), 1, "one change");
    let moved = fs::read(world.project.path("new/picture.bin")).unwrap();
    assert_eq!(moved, [0, 159, 146, 150]);
    assert!(is_executable(&world, "run.sh") && !world.project.path("old/mod.txt").exists());
    assert_eq!(world.project.read("old/build.log"), "ignored\n", "it is not part of the project");

    let shown = world.deepseek(["diff", "--run", "latest"]).run().stdout;
    for words in ["old mode 100644\nnew mode 100755", "rename from old/picture.bin", "+uses new"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(world.project.hashes(""), before);
    assert!(!is_executable(&world, "run.sh"));
    fs::write(world.home().join("shown.diff"), shown).unwrap();
    let applied = format!("git apply --check '{}'", world.home().join("shown.diff").display());
    shell(world.project.root(), &applied);
}

#[test]
fn a_plan_of_operations_alone_needs_no_editor() {
    let project = Project::new(&[
        ("a.txt", "a\n"),
        ("dead.txt", "b\n"),
        ("check.sh", "test -f sub/b.txt && test ! -e dead.txt\n"),
    ]);
    let lines = "MOVE|a.txt|sub/b.txt|its place\nDELETE|dead.txt|unused\n";
    let world = World::of(project, Provider::new(vec![plan(lines)]));
    let run = world.chat("Move a.txt and delete what is unused");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect");
    let mut changed = world.project.changed();
    changed.sort();
    assert_eq!(changed, ["a.txt", "dead.txt", "sub/b.txt"]);
    let said = world.deepseek(["diff", "--run", "latest"]).run().stdout;
    assert!(said.contains("rename to sub/b.txt") || said.contains("+++ b/sub/b.txt"), "{said}");
}

#[test]
fn a_file_that_was_only_moved_is_shown_with_both_names() {
    let project = Project::new(&[("a.txt", "a\n"), ("check.sh", "test -f sub/b.txt\n")]);
    let world = World::of(project, Provider::new(vec![plan("MOVE|a.txt|sub/b.txt|its place\n")]));
    let args = ["--force-execute", "-p", "Move a.txt", "--approval", "auto"];
    let said = world.deepseek(args).run().stderr;
    assert!(said.contains("delivered: a.txt → sub/b.txt +0 -0\n"), "{said}");
}

#[test]
fn if_checks_fail_after_operations_alone_the_architect_is_asked() {
    let project = Project::new(&[("a.txt", "a\n"), ("check.sh", "test ! -e b.txt\n")]);
    let moves = plan("MOVE|a.txt|b.txt|as asked\n");
    let back = plan("MOVE|b.txt|c.txt|the check wants no b.txt\n");
    let world = World::of(project, Provider::new(vec![moves, back]));
    let run = world.chat("Move a.txt away");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect");
    assert_eq!(world.project.read("c.txt"), "a\n");
}

/// Runs a request with a plan that is refused, each time, and then one that is not.
fn refused(lines: &str) -> (World, Run) {
    let replies = vec![plan(lines), plan(lines), plan("DELETE|dead.txt|unused\n")];
    let project = untidy();
    project.write("check.sh", "test ! -e dead.txt\n");
    project.write("old/.env", "TOKEN=not-for-models-1234567890\n");
    project.commit();
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Tidy up");
    (world, run)
}

#[test]
fn what_cannot_be_taken_back_or_would_lose_something_is_refused() {
    for (lines, rule) in [
        ("DELETE|old/build.log|a log\n", "git ignores it"),
        ("MOVE|old/build.log|b.log|a log\n", "git ignores it"),
        ("DELETE|old/.env|a secret\n", ".env"),
        ("MOVE|old|new|a better name\n", "old/.env"),
        ("DELETE|gone.txt|a file\n", "there is no such file"),
        ("DELETE|old|all of it\n", "it is a directory: name its files"),
        ("MOVE|run.sh|user.txt|a script\n", "user.txt exists, and nothing is written over"),
        ("MOVE|old|new|a name\nFILE|old/mod.txt|say new\n", "name its new path, new/mod.txt"),
        ("DELETE|.git/config|unused\n", ".git"),
        ("DELETE|.deepseek/config.toml|unused\n", "only the user may change .deepseek"),
        ("DELETE|../x|unused\n", ".."),
        ("MODE|run.sh|4755|root\n", "MODE|<path>|755|<why>"),
    ] {
        let (world, run) = refused(lines);
        assert_eq!(run.ending(), "0 delivered/proven", "{lines}: {}", run.stderr);
        for turn in [2, 3] {
            let told = world.provider.last_message("architect", turn);
            assert!(told.contains(rule), "{lines}: {told}");
        }
        assert_eq!(world.project.read("old/build.log"), "ignored\n");
        assert_eq!(world.project.changed(), ["dead.txt"], "{lines}");
        assert!(!world.provider.all_messages().contains("not-for-models"), "{lines}");
    }
}

#[test]
fn a_symlink_is_not_followed_by_an_operation() {
    let project = untidy();
    std::os::unix::fs::symlink("dead.txt", project.path("link")).unwrap();
    project.write("check.sh", "test ! -e dead.txt\n");
    project.commit();
    let replies = vec![plan("DELETE|link|unused\n"), plan("DELETE|dead.txt|unused\n")];
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Tidy up");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(world.provider.last_message("architect", 2).contains("it is a symlink"));
}
