//! Commands that are refused: for how they are given, for settings and places, and for lack of what they are about.

use std::fs;
use std::os::unix::fs::symlink;

use super::follow::Printed;
use crate::support::{Project, Provider, World, shell};

/// The scenarios.
pub(super) const ALL: &[fn(&Printed)] =
    &[command_lines, settings, nothing_yet, keys_and_places, indexes, samples];

fn command_lines(hints: &Printed) {
    let world = World::greeting(Vec::new());
    for fails in [
        &["rewnd"] as &[&str],
        &["login"],
        &["resume"],
        &["rewnd", "3"],
        &["exec", "fix the greeting"],
        &["run", "fix the greeting"],
        &["--force-execute", "--tools=false", "-p", "x"],
        &["config", "get", "-v", "--output", "json"],
        &["-p", ""],
        &["-p", "/undo"],
        &["-p", "/resume x"],
        &["-p", "/review --staged"],
        &["-p", "/sessions"],
        &["-p", "/help"],
        &["-p", "!ls"],
        &["-r", "-p", "x"],
        &["mock", "--addr", "0.0.0.0:0", "--script", "none.toml"],
        &["--workspace", "nowhere", "-p", "x"],
        &["prompts", "show", "nothing"],
        &["policy", "forget", "nothing"],
        &["memory", "show", "99"],
        &["mcp", "get", "nothing"],
        &["mcp", "remove", "nothing"],
        &["review", "no-such-branch"],
    ] {
        hints.follow(&world, fails);
    }
    // Our flag takes the place of theirs.
    for (theirs, ours) in [("--full-auto", "--approval auto"), ("--print", "-p TEXT")] {
        let run = world.deepseek([theirs]).run();
        hints.note(&run);
        assert!(run.stderr.contains(&format!("here that is `{ours}`")), "{}", run.stderr);
    }
}

fn settings(hints: &Printed) {
    let world = World::greeting(Vec::new());
    for fails in [
        &["config", "get", "no.key"] as &[&str],
        &["config", "set", "no.key", "1"],
        &["config", "add", "llm.base_url", "x"],
        &["config", "remove", "policy.allow_commands", "no such entry"],
        &["--set", "no.key=1", "-p", "x"],
        &["config", "set", "llm.max_retries", "many"],
    ] {
        hints.follow(&world, fails);
    }
    let run = world.deepseek(["config", "edit"]).run();
    hints.note(&run);
    assert!(run.stderr.contains("set $EDITOR"), "{}", run.stderr);
    hints.follow_by(&["-p", "x"], |args| {
        let mut program = world.deepseek(args.iter().copied());
        program.env("DEEPSEEK_BASE_URL", "nonsense");
        program
    });
    // A broken file is opened, and can be mended.
    let file = world.home().join("config/deepseek/config.toml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, "policy = [").unwrap();
    let run = world.deepseek(["-p", "x"]).run();
    hints.note(&run);
    assert!(run.stderr.contains("`deepseek config edit` opens the file"), "{}", run.stderr);
    fs::write(&file, good).unwrap();
    world.project.write(".deepseek/config.toml", "policy = [");
    for fails in [&["config", "show"] as &[&str], &["-p", "x"], &["doctor"]] {
        let run = world.deepseek(fails.iter().copied()).run();
        hints.note(&run);
        let said = run.stdout + &run.stderr;
        assert!(said.contains("`deepseek config edit --local` opens the file"), "{said}");
    }
    world.project.write("editor.sh", ": > \"$1\"\n");
    let editor = format!("sh {}", world.project.path("editor.sh").display());
    let run = world.deepseek(["config", "edit", "--local"]).env("EDITOR", editor).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.deepseek(["config", "show"]).run().code, Some(0));
    // A link is replaced with a regular file.
    let link = world.project.path(".deepseek/config.toml");
    fs::remove_file(&link).unwrap();
    symlink("../greet.txt", &link).unwrap();
    hints.follow(&world, &["config", "show"]);
    fs::remove_file(&link).unwrap();
    world.project.write(".deepseek/config.toml", "");
    world.project.write(".deepseek/prompts/architect.md", "{{nothing}}");
    assert_eq!(world.deepseek(["trust"]).run().code, Some(0));
    hints.follow(&world, &["--force-execute", "-p", "x"]);
}

fn nothing_yet(hints: &Printed) {
    let world = World::greeting(Vec::new());
    for fails in [
        &["sessions", "show"] as &[&str],
        &["sessions", "show", "nothing"],
        &["replay", "nothing"],
        &["export", "nothing"],
        &["-c", "-p", "x"],
        &["diff"],
        &["diff", "HEAD"],
        &["diff", "--lane", "02"],
        &["diff", "--run", "nothing"],
        &["apply"],
        &["rewind", "99"],
        &["commit"],
        &["mission", "show"],
        &["mission", "show", "nothing"],
        &["autopilot", "resume"],
        &["autopilot", "status"],
        &["sessions", "adopt", "nowhere"],
    ] {
        hints.follow(&world, fails);
    }
    let world = World::of(Project::without_git(&[]), Provider::new(Vec::new()));
    let run = world.deepseek(["commit"]).run();
    hints.note(&run);
    assert!(run.stderr.contains("to create it: git init"), "{}", run.stderr);
    shell(world.project.root(), "git init -q");
    hints.follow(&world, &["commit"]);
}

fn keys_and_places(hints: &Printed) {
    let world = World::greeting(Vec::new());
    hints.follow(&world, &["auth", "login"]);
    for fails in [["auth", "status"].as_slice(), &["doctor"]] {
        hints.follow_by(fails, |args| {
            let mut program = world.deepseek(args.iter().copied());
            program.env_remove("DEEPSEEK_API_KEY");
            program
        });
    }
    let mut homeless = world.deepseek(["policy", "show"]);
    homeless.env_remove("HOME").env_remove("XDG_CONFIG_HOME").env_remove("DEEPSEEK_HOME");
    hints.note(&homeless.run());
    // A file, and then a link to itself, is where the state belongs.
    let file = world.home().join("file");
    fs::write(&file, "").unwrap();
    let circle = world.home().join("circle");
    symlink("circle", &circle).unwrap();
    for state in [file.join("state"), circle] {
        for args in [&["-p", "x", "--force-execute"][..], &["ask", "why?"], &["commit"]] {
            let run = world.deepseek(args.iter().copied()).env("DEEPSEEK_HOME", &state).run();
            hints.note(&run);
            assert!(run.stderr.contains("DEEPSEEK_HOME"), "{args:?}: {}", run.stderr);
            let run = world.deepseek(args.iter().copied()).run();
            assert!(!run.stderr.contains("DEEPSEEK_HOME"), "{args:?}: {}", run.stderr);
        }
    }
}

fn indexes(hints: &Printed) {
    let world = World::greeting(Vec::new());
    assert_eq!(world.deepseek(["index", "build"]).run().code, Some(0));
    let root = world.project.root().canonicalize().unwrap();
    let lock = journal::workspace_state(&world.state(), &root).join("index.lock");
    let held = fs::File::options().write(true).open(&lock).unwrap();
    held.lock().unwrap();
    hints.follow(&world, &["index", "build"]);
    held.unlock().unwrap();
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    hints.follow(&world, &["index", "update"]);
}

fn samples(hints: &Printed) {
    let world = World::greeting(Vec::new());
    for fails in [&["demo"] as &[&str], &["demo", "--python"]] {
        let run = world.deepseek(fails.iter().copied()).env("PATH", "/nowhere").run();
        hints.note(&run);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
    }
    let mut program = world.deepseek(["demo"]);
    hints.note(&program.with_toolchains().env("TMPDIR", "/nowhere").run());
}
