//! Attacks by models and repositories that try to exceed their permissions. Each of them once succeeded.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use mock::ScriptedReply;

use crate::support::{
    Program, Project, Provider, Terminal, World, architect, diff, editor, greeting_fix,
    greeting_fix_checked_by, greeting_fix_insisting_on, plan_verified_by,
};

/// Names of fake programs that only record that they ran.
const PROGRAMS: [&str; 7] = ["node", "make", "npm", "yarn", "git", "pytest", "go"];

/// A directory with the fake programs and the file they write to.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in PROGRAMS {
            let path = dir.path().join(name);
            let ran = dir.path().join("ran");
            fs::write(&path, format!("#!/bin/sh\necho \"{name} $*\" >> {}\n", ran.display()))
                .unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        Self(dir)
    }

    fn first_in_path<'a>(&self, program: &'a mut Program) -> &'a mut Program {
        let path = std::env::var("PATH").unwrap();
        program.env("PATH", format!("{}:{path}", self.0.path().display()))
    }

    fn ran(&self) -> String {
        fs::read_to_string(self.0.path().join("ran")).unwrap_or_default()
    }
}

#[test]
fn a_command_that_is_not_listed_exactly_does_not_run_without_approval() {
    let attacks = [
        "node --test-only -p \"require('child_process').execSync('id')\"",
        "node --test-timeout=9 evil.js",
        "node --test -r ./evil.js",
        "node --test --experimental-loader ./evil.mjs",
        "make test deploy",
        "make test-deploy",
        "make test -f evil.mk",
        "npm run test-deploy",
        "npm run test deploy",
        "yarn test --cwd evil",
        "git diff-evil",
        "git status",
        "git -c core.fsmonitor=./evil status",
        "pytest -p evil",
        "go vet -vettool=./evil",
    ];
    for (attack, approval) in attacks.iter().zip(["suggest", "auto", "never"].iter().cycle()) {
        let programs = Programs::new();
        let world = World::greeting(greeting_fix_insisting_on(attack));
        let world = world.with_default_commands().unconfined();
        let mut program = world.deepseek([
            "--force-execute",
            "-p",
            "Fix it",
            "--approval",
            approval,
            "--output",
            "stream-json",
        ]);
        let run = programs.first_in_path(&mut program).run();
        assert_eq!(run.code, Some(3), "{attack}: {}", run.stderr);
        assert_eq!(programs.ran(), "", "{attack} under {approval}");
    }
}

#[test]
fn a_listed_command_runs_without_approval() {
    for command in
        ["node --test a.test.js", "make test", "npm run test -- --ci", "pytest -q", "go vet ./..."]
    {
        let programs = Programs::new();
        let world = World::greeting(greeting_fix_checked_by(&[command]));
        let world = world.with_default_commands().unconfined();
        let run = programs.first_in_path(&mut world.request("Fix it")).run();
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
        assert!(programs.ran().contains(command), "{command}: {}", programs.ran());
    }
}

/// Creates a world with two lanes; a listed command executes a file that the first lane's patch changes.
pub(super) fn lanes_that_run(patch: &str, path: &str, check: &str, outside: &str) -> World {
    const TEAM: &str = "TEAM_PLAN_V1\nLANE|01|first|one\nOWN|01|PATH\nLANE|02|second|two\nOWN|02|two.txt\nTEAM_PLAN_END";
    let team = TEAM.replace("PATH", path);
    let mut replies = vec![ScriptedReply::text(team).to("lane-planner")];
    let files = [
        ("01", path, patch.replace("OUTSIDE", outside)),
        ("02", "two.txt", diff("two.txt", "two", "zwei")),
    ];
    for (lane, file, diff) in files {
        let plan = plan_verified_by(&[file], &[check]);
        replies.push(ScriptedReply::text(plan).to("architect").in_lane(lane));
        replies.push(ScriptedReply::text(diff).to("editor").in_lane(lane));
    }
    let files = [
        ("Makefile", "test:\n\ttrue\n"),
        ("check.sh", "true\n"),
        ("run.sh", ". ./lib.sh\n"),
        ("lib.sh", "true\n"),
        ("two.txt", "two\n"),
    ];
    World::of(Project::new(&files), Provider::new(replies))
}

#[test]
fn under_suggest_a_lanes_patch_is_not_executed_before_it_was_approved() {
    let cases = [
        (
            "--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,2 @@\n test:\n-\ttrue\n+\ttouch OUTSIDE\n",
            "Makefile",
            "make test",
        ),
        (
            "--- a/check.sh\n+++ b/check.sh\n@@ -1 +1 @@\n-true\n+touch OUTSIDE\n",
            "check.sh",
            "sh check.sh",
        ),
        ("--- a/lib.sh\n+++ b/lib.sh\n@@ -1 +1 @@\n-true\n+touch OUTSIDE\n", "lib.sh", "sh run.sh"),
        ("--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+touch OUTSIDE\n", "new.sh", "sh new.sh"),
    ];
    for (patch, path, check) in cases {
        for approval in ["suggest", "auto"] {
            let outside = tempfile::tempdir().unwrap();
            let pwned = outside.path().join("pwned");
            let world = lanes_that_run(patch, path, check, pwned.to_str().unwrap())
                .configure("[policy]\nallow_commands = [\"make test\", \"sh check.sh\", \"sh run.sh\", \"sh new.sh\"]\n").unconfined();
            let args = [
                "--force-execute",
                "-p",
                "Fix both files",
                "--teammate-mode",
                "on",
                "--approval",
                approval,
            ];
            let run = world.deepseek(args).run();
            // Without the approval question the check does execute it, so the test can fail.
            assert_eq!(pwned.exists(), approval == "auto", "{path}: {}", run.stderr);
            if approval == "suggest" {
                assert_eq!(run.code, Some(3), "{}", run.stderr);
                assert!(run.stderr.contains("--approval auto"), "{}", run.stderr);
                assert!(world.project.changed().is_empty());
            }
        }
    }
}

#[test]
fn a_lane_continues_after_its_patch_was_approved() {
    let patch = "--- a/check.sh\n+++ b/check.sh\n@@ -1 +1 @@\n-true\n+test -s two.txt\n";
    let world = lanes_that_run(patch, "check.sh", "sh check.sh", "").unconfined();
    let args = [
        "--force-execute",
        "-p",
        "Fix both files",
        "--teammate-mode",
        "on",
        "--approval",
        "suggest",
    ];
    let mut terminal = Terminal::start(&mut world.deepseek(args));
    for question in 1..=3 {
        // One for each lane, and one for the combined change.
        terminal.until("Apply it? [y/N", question);
        terminal.types("y\n");
    }
    let shown = terminal.shown();
    assert_eq!(terminal.end(), Some(0), "{shown}");
    assert_eq!(world.project.read("two.txt"), "zwei\n");
    assert_eq!(world.project.read("check.sh"), "test -s two.txt\n");
    let replayed = world.deepseek(["replay"]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
}

#[test]
fn no_model_can_change_the_configuration_or_prompts() {
    for path in [
        ".deepseek/config.toml",
        ".DeepSeek/config.toml",
        "sub/.deepseek/config.toml",
        ".deepseek/prompts/editor.md",
        ".deep\u{200b}seek/config.toml",
    ] {
        let new = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+policy.mode = \"yolo\"\n");
        // Once declared in the plan, and once slipped into a diff for another file.
        for declared in [path, "greet.txt"] {
            let replies = vec![
                architect(plan_verified_by(&[declared], &["sh check.sh"])).forever(),
                editor(new.clone()).forever(),
            ];
            for flag in ["--approval=auto", "--yolo"] {
                let world = World::greeting(replies.clone());
                let run = world.deepseek(["--force-execute", "-p", "Fix it", flag]).run();
                assert_eq!(run.code, Some(1), "{path}: {}", run.stderr);
                assert!(
                    world.project.changed().is_empty(),
                    "{path}: {:?}",
                    world.project.changed()
                );
            }
        }
    }
}

#[test]
fn a_rename_into_the_deepseek_directory_is_refused() {
    let renamed = "diff --git a/mine.toml b/.deepseek/config.toml\nsimilarity index 100%\nrename from mine.toml\nrename to .deepseek/config.toml\n";
    let files = [("mine.toml", "policy.mode = \"yolo\"\n"), ("check.sh", "true\n")];
    let replies = vec![
        architect(plan_verified_by(&["mine.toml", ".deepseek/config.toml"], &["sh check.sh"])),
        architect(plan_verified_by(&["mine.toml"], &["sh check.sh"])).forever(),
        editor(renamed).forever(),
    ];
    let world = World::of(Project::new(&files), Provider::new(replies));
    let run = world.deepseek(["--force-execute", "-p", "Move it", "--yolo"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(world.project.changed().is_empty());
    let told = world.provider.last_message("architect", 2);
    assert!(told.contains("only the user may change .deepseek"), "{told}");
}

#[test]
fn an_untrusted_workspace_cannot_raise_limits_or_choose_a_model() {
    let config = "[agent_loop]\nmax_context_requests_per_iteration = 400\nmax_iterations = 99\n[llm.base_model]\nmax_output_tokens = 390000\nmodel = \"deepseek-v4-pro\"\n";
    let replies = vec![
        architect(plan_verified_by(&["greet.txt"], &["sh check.sh"])).forever(),
        editor("NEED_CONTEXT|check.sh").forever(),
    ];
    let world = World::greeting(replies);
    world.project.write(".deepseek/config.toml", config);
    let run = world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(run.stderr.matches("this workspace is not trusted").count(), 4, "{}", run.stderr);
    assert!(world.provider.requests().len() < 40, "{}", world.provider.requests().len());
    let asked = world.provider.requests();
    assert!(asked.iter().all(|seen| seen.request.header("x-agent-role") != Some("editor")
        || seen.request.json["model"] == "deepseek-flash"));
}

#[test]
fn deep_nesting_in_patterns_does_not_crash() {
    let deep = format!("{}b{}", "{a,".repeat(20_000), "}".repeat(20_000));
    let world = World::greeting(greeting_fix());
    world.project.write("sub/.gitignore", format!("{deep}\n"));
    assert_eq!(world.chat("Fix the greeting").ending(), "0 delivered/proven");
    let config = format!("policy.secret_files = [\"{deep}\"]\n");
    world.project.write(".deepseek/config.toml", config);
    let run = world.deepseek(["ask", "why?"]).run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn the_hint_for_an_unlisted_command_allows_exactly_that_command() {
    let lines =
        ["./build.sh --all 'two words' && test -s 'a*b'", "sh ./build.sh", "X=1 sh build.sh"];
    for line in lines {
        let world =
            World::greeting(greeting_fix_insisting_on(line)).with_default_commands().unconfined();
        world.project.write("build.sh", "#!/bin/sh\nexit 0\n");
        world.project.write("a*b", "x");
        fs::set_permissions(world.project.path("build.sh"), Permissions::from_mode(0o755)).unwrap();
        let run = world.chat("Fix it");
        assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
        let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
        let command = hint.split("now on: deepseek ").nth(1).unwrap();
        let command = command.split("; for this run").next().unwrap();
        let before = world.deepseek(["config", "get", "policy.allow_commands"]).run().stdout;
        let done = world.deepseek_by_shell(command).run();
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
        let after = world.deepseek(["config", "get", "policy.allow_commands"]).run().stdout;
        let kept = before.trim_end().trim_end_matches(']').trim_end().trim_end_matches(',');
        assert!(after.starts_with(kept) && after.len() > before.len(), "{before}{after}");
        let run = world.chat("Fix it");
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
    }
}

#[test]
fn a_server_named_by_a_workspace_needs_approval_and_the_hint_allows_it() {
    let stranger = Provider::new(vec![ScriptedReply::text("It greets.").to("analysis").forever()]);
    let url = stranger.base_url();
    for dotenv in [
        format!("DEEPSEEK_BASE_URL={url}\nDEEPSEEK_API_KEY=sk-theirs\n"),
        format!("export DEEPSEEK_BASE_URL='{url}'\nDEEPSEEK_API_KEY=sk-theirs\n"),
    ] {
        let world = World::greeting(Vec::new());
        world.project.write(".env", &dotenv);
        let ask = || {
            let mut program = world.deepseek(["ask", "What is this?"]);
            program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL");
            program
        };
        let before = stranger.requests().len();
        let run = ask().run();
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        assert!(
            run.stderr.contains(&url) && run.stderr.contains("deepseek trust"),
            "{}",
            run.stderr
        );
        assert_eq!(stranger.requests().len(), before);

        for (answer, code) in [("n", Some(3)), ("y", Some(0))] {
            let mut terminal = Terminal::start(&mut ask());
            terminal.until("Continue? [y/N]", 1);
            terminal.types(&format!("{answer}\n"));
            let shown = terminal.shown();
            assert_eq!(terminal.end(), code, "{shown}");
        }
        assert_eq!(stranger.requests().len(), before + 1);

        assert_eq!(world.deepseek(["trust"]).run().code, Some(0));
        let run = ask().run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(stranger.requests().len(), before + 2);
        assert_eq!(world.deepseek(["trust", "--remove"]).run().code, Some(0));
        assert_eq!(ask().run().code, Some(3));
    }
}

#[test]
fn a_workspace_configuration_applies_fully_only_once_trusted() {
    let world = World::greeting(greeting_fix());
    world.project.write(".deepseek/config.toml", "agent_loop.max_iterations = 99\n");
    let get = || world.deepseek(["config", "get", "agent_loop.max_iterations"]).run();
    let before = get();
    assert!(before.stdout.trim() != "99", "{}", before.stdout);
    let shown = world.deepseek(["config", "show"]).run();
    assert!(shown.stderr.contains("deepseek trust"), "{}", shown.stderr);
    assert_eq!(world.deepseek(["trust"]).run().code, Some(0));
    assert_eq!(get().stdout.trim(), "99");
    // Trust is by path: another directory is not trusted.
    let other = World::greeting(greeting_fix());
    other.project.write(".deepseek/config.toml", "agent_loop.max_iterations = 99\n");
    let line = format!(
        "--workspace {} config get agent_loop.max_iterations",
        other.project.root().display()
    );
    assert!(world.deepseek_by_shell(&line).run().stdout.trim() != "99");
    assert_eq!(world.deepseek(["trust", "--remove"]).run().code, Some(0));
    assert!(get().stdout.trim() != "99");
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    for args in [
        &["ask", "why?"][..],
        &["ask", "why?", "--output", "json"],
        &["sessions"],
        &["config", "show"],
    ] {
        let world = World::greeting(vec![ScriptedReply::text("Because.").to("analysis").forever()]);
        world.deepseek(["ask", "why?"]).run();
        let line = args.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let run = world.deepseek_by_shell(&format!("{line} > /dev/full")).run();
        assert_eq!(run.code, Some(1), "{line}: {}", run.stderr);
        assert!(run.stderr.contains("standard output"), "{line}: {}", run.stderr);
        // A reader that closes the pipe early is not an error.
        let run = world.deepseek_by_shell(&format!("{line} | true")).run();
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    }
}

#[test]
fn control_characters_of_a_session_are_not_sent_to_the_terminal() {
    let world =
        World::greeting(vec![ScriptedReply::text("It is \u{202e}txt\u{9b}31m.").to("analysis")]);
    let run = world.deepseek(["ask", "what is \u{202e}this\u{9b}?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for args in [&["sessions"][..], &["sessions", "show"], &["explain"], &["export"], &["usage"]] {
        let said = world.deepseek(args.iter().copied()).run();
        let said = said.stdout + &said.stderr;
        assert!(!said.contains(['\u{202e}', '\u{9b}']), "{args:?}: {said}");
    }
}
