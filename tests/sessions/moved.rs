//! Projects that moved keep their past; homes that are not the user's; requests that begin with a dash; limits that are
//! hit.

use std::fs;
use std::path::{Path, PathBuf};

use mock::ScriptedReply;

use crate::support::{Project, Provider, Run, World, greeting_fix, shell};

/// Returns a world whose greeting was fixed, and that answers questions.
fn with_a_past() -> World {
    let answers = ScriptedReply::text("It greets.").to("analysis").forever();
    let world = World::greeting(greeting_fix().into_iter().chain([answers]).collect::<Vec<_>>());
    let run = world.chat("fix the greeting.");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    world
}

/// Runs the program in a workspace.
fn at(world: &World, workspace: &Path, args: &[&str]) -> Run {
    let workspace = workspace.to_str().unwrap();
    let args = ["--workspace", workspace].into_iter().chain(args.iter().copied());
    world.deepseek(args).within(world.home()).run()
}

/// Returns the id of the latest session.
fn session(world: &World, workspace: &Path) -> String {
    let run = at(world, workspace, &["sessions", "--output", "json"]);
    let sessions: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    sessions[0]["session"].as_str().or(sessions[0]["id"].as_str()).unwrap().to_owned()
}

/// Moves the project to another place in the same directory. Returns the new path.
fn renamed(world: &World) -> PathBuf {
    let (old, new) = (world.project.root(), world.home().join("renamed"));
    fs::rename(old, &new).unwrap();
    new
}

fn greeting(workspace: &Path) -> String {
    fs::read_to_string(workspace.join("greet.txt")).unwrap()
}

#[test]
fn a_renamed_project_keeps_its_sessions_checkpoints_and_memory() {
    let world = with_a_past();
    let id = session(&world, world.project.root());
    let memory = |workspace: &Path| at(&world, workspace, &["memory", "list"]).stdout;
    let known = memory(world.project.root());
    assert!(!known.is_empty());
    let new = renamed(&world);
    let run = at(&world, &new, &["-r", &id, "-p", "what did we do?", "--tools", "false"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("this project was at "), "{}", run.stderr);
    assert!(world.provider.last_message("analysis", 1).contains("fix the greeting."));
    assert_eq!(memory(&new), known);
    let run = at(&world, &new, &["rewind", "1"]);
    assert_eq!((run.code, greeting(&new).as_str()), (Some(0), "hello\n"), "{}", run.stderr);
    assert!(!run.stderr.contains("this project was at "), "it is said once: {}", run.stderr);
    // Another project in the old place begins anew, and the first goes back and forth.
    shell(world.home(), &format!("cp -r renamed {}", world.project.root().display()));
    let run = at(&world, world.project.root(), &["sessions"]);
    assert!(run.stderr.contains("there are no sessions"), "{}{}", run.stdout, run.stderr);
    let again = world.home().join("again");
    fs::rename(&new, &again).unwrap();
    assert_eq!(at(&world, &again, &["replay", &id]).code, Some(0));
}

#[test]
fn a_copied_project_is_adopted_as_the_hint_says() {
    let world = with_a_past();
    let id = session(&world, world.project.root());
    let new = world.home().join("restored");
    shell(world.home(), &format!("cp -r {} restored", world.project.root().display()));
    let asks = ["-r", &id, "-p", "what did we do?", "--tools", "false"];
    // While the old directory is there, the past stays.
    let run = at(&world, &new, &asks);
    let hint = format!("--workspace {}", world.project.root().canonicalize().unwrap().display());
    assert!(run.code == Some(2) && run.stderr.contains(&hint), "{}", run.stderr);
    let old = world.project.root().to_str().unwrap().to_owned();
    let run = at(&world, &new, &["sessions", "adopt", &old]);
    assert!(run.code == Some(2) && run.stderr.contains("is still there"), "{}", run.stderr);
    fs::remove_dir_all(world.project.root()).unwrap();
    let run = at(&world, &new, &asks);
    let (_, command) = run.stderr.split_once("if this is the same project: deepseek ").unwrap();
    let words: Vec<&str> = command.trim().split(' ').collect();
    let run = at(&world, &new, &words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(at(&world, &new, &asks).code, Some(0));
    assert_eq!(at(&world, &new, &["rewind", "1"]).code, Some(0));
    assert_eq!(greeting(&new), "hello\n");
    let run = at(&world, &new, &["sessions", "adopt", "/no/such/project"]);
    assert!(run.code == Some(2) && run.stderr.contains("nothing is known about"), "{}", run.stderr);
}

#[test]
fn a_home_that_is_not_the_users_is_a_setting() {
    // No directory can be made there.
    for home in ["/sys", "/proc"] {
        let world = World::greeting(greeting_fix());
        for args in [&["-p", "fix it"][..], &["ask", "why?"], &["commit"], &["doctor"]] {
            let mut program = world.deepseek(args.iter().copied());
            program.env("HOME", home).env_remove("DEEPSEEK_HOME").env_remove("XDG_CONFIG_HOME");
            let run = program.run();
            assert!(
                run.code.is_some_and(|code| code != 0 && code != 70),
                "{args:?}: {:?}",
                run.code
            );
            let said = run.stdout + &run.stderr;
            assert!(said.contains("set DEEPSEEK_HOME to a directory"), "{args:?}: {said}");
        }
        // With it, everything works; commands have a home of their own.
        let mut program = world.request("fix it");
        let run = program.env("HOME", home).env_remove("XDG_CONFIG_HOME").run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut program = world.deepseek(["sandbox", "--", "cd && pwd && touch x"]);
        let run = program.env("HOME", home).env_remove("XDG_CONFIG_HOME").run();
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_request_that_begins_with_a_dash_is_a_request() {
    for (args, request) in [
        (&["-p", "- fix a\n- fix b"][..], "- fix a\n- fix b"),
        (&["--prompt", "---\ntitle: x\n---\nexplain"], "---\ntitle: x\n---\nexplain"),
        (&["- why is it so?"], "- why is it so?"),
        (&["ask", "--verbose is ignored, why?", "--color", "never"], "--verbose is ignored, why?"),
        (&["ask", "-1 is returned instead of 0"], "-1 is returned instead of 0"),
    ] {
        let answer = ScriptedReply::text("Because.").to("analysis");
        let world = World::greeting(vec![answer]);
        let mut words = args.to_vec();
        if args[0] != "ask" {
            words.extend(["--tools", "false"]);
        }
        let run = world.deepseek(words).run();
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        let asked = world.provider.last_message("analysis", 1);
        assert!(asked.contains(request), "{args:?}: {asked}");
    }
    let world = World::greeting(Vec::<ScriptedReply>::new());
    for args in [&["--nonsense"][..], &["-p", "--yolo"], &["ask", "-Z"]] {
        assert_eq!(world.deepseek(args.iter().copied()).run().code, Some(2), "{args:?}");
    }
}

#[test]
fn files_beyond_the_limit_are_told_to_the_model_and_the_user() {
    let answers = vec![
        ScriptedReply::text("NEED_SEARCH|frobnicate").to("analysis"),
        ScriptedReply::text("NEED_SEARCH|frobnicate|zz/*.py").to("analysis"),
        ScriptedReply::text("NEED_LIST|zz").to("analysis"),
        ScriptedReply::text("It is 1.").to("analysis"),
    ];
    let files: Vec<String> = (0..12).map(|n| format!("a/f{n:02}.py")).collect();
    let mut all: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "x = 1\n")).collect();
    all.push(("zz/target.py", "frobnicate = 1\n"));
    let world = World::of(Project::new(&all), Provider::new(answers));
    let world = world.configure("limits.max_workspace_files = 10");
    let run = world.deepseek(["ask", "what is the default?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = "files beyond the first 10, which are neither listed nor searched (limits.max_workspace_files)";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    let look = |number| world.provider.last_message("analysis", number);
    assert!(look(2).contains("Not all files were searched: the workspace has more than 10."));
    assert!(look(3).contains("1| frobnicate = 1") && !look(3).contains("Not all"), "{}", look(3));
    assert!(look(4).contains("target.py") && !look(4).contains("Not all"), "{}", look(4));
    // What the message names helps.
    let world = world.configure("limits.max_workspace_files = 100");
    let run = world.deepseek(["index", "query", "frobnicate"]).run();
    assert!(run.stdout.contains("zz/target.py"), "{}{}", run.stdout, run.stderr);
}
