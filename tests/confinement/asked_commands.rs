//! Commands that need the user: what is asked before they run, what each answer does, and what holds afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::sandbox::{Level, Site};
use crate::support::{
    Project, Provider, Terminal, World, architect, diff, editor, greeting_fix_checked_by,
    plan_verified_by,
};

#[test]
fn without_full_confinement_a_run_needs_approval_and_the_hint_allows_it() {
    let Some(_) = Site::at(Level::Floor) else { return };
    let twice =
        [greeting_fix_checked_by(&["sh check.sh"]), greeting_fix_checked_by(&["sh check.sh"])];
    let world = World::greeting(twice.concat()).configure("[sandbox]\nmode = \"floor\"\n");
    let run = world.request("Fix it").args(["--yolo"]).run();
    assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
    let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
    assert!(hint.contains("to accept this level of confinement: deepseek "), "{hint}");
    let command = hint.split(": deepseek ").nth(1).unwrap();
    let done = world.deepseek_by_shell(command).run();
    assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
    world.project.write("greet.txt", "hello\n");
    let run = world.chat("Fix it");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.all("VerificationRun")[0]["findings"]["confined"], "floor");
}

/// Starts a request at a terminal, with the default approval mode.
fn at_terminal(world: &World) -> Terminal {
    Terminal::start(&mut world.deepseek(["--force-execute", "-p", "Fix the greeting"]))
}

#[test]
fn always_allows_a_command_until_the_script_it_runs_changes() {
    let check = "sh own.sh greet.txt";
    let world = World::greeting(vec![greeting_fix_checked_by(&[check]); 4].concat());
    world.project.write("own.sh", "grep -q world $1\n");
    let mut terminal = at_terminal(&world);
    terminal.until("Run it? [y/N; always", 1);
    terminal.types("what\n");
    terminal.until("Run it? [y/N; always", 2);
    terminal.types("show\n");
    terminal.until("$ sh own.sh", 2);
    terminal.types("always\n");
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    assert_eq!(terminal.end(), Some(0));
    world.project.write("greet.txt", "hello\n");
    let unattended = world.deepseek(["--force-execute", "-p", "Fix it"]).run();
    assert!(!unattended.stderr.contains("not listed"), "{}", unattended.stderr);
    assert_eq!(unattended.code, Some(3), "the patch still needs approval");
    let listed = world.deepseek(["policy", "allowed"]).run().stdout;
    assert_eq!(listed, format!("{check}\n"));
    let mut terminal = at_terminal(&world);
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    assert_eq!(terminal.end(), Some(0));
    world.project.write("greet.txt", "hello\n");
    world.project.write("own.sh", "grep world $1\n");
    let mut terminal = at_terminal(&world);
    terminal.until("Run it? [y/N; always", 1);
    terminal.types("n\n");
    terminal.until("Apply it? [y/N", 1);
    terminal.types("n\n");
    assert_eq!(terminal.end(), Some(3));
    assert_eq!(world.deepseek(["policy", "forget", check]).run().code, Some(0));
    assert_eq!(world.deepseek(["policy", "forget", check]).run().code, Some(2));
}

#[test]
fn a_no_with_a_reason_goes_back_to_the_model() {
    let world = World::greeting(vec![
        architect(plan_verified_by(&["greet.txt"], &["sh check.sh"])),
        editor(diff("greet.txt", "hello", "hello old world")),
        architect(plan_verified_by(&["greet.txt"], &["sh check.sh"])),
        editor(diff("greet.txt", "hello", "hello world")),
    ]);
    let mut terminal = at_terminal(&world);
    terminal.until("Apply it? [y/N", 1);
    terminal.types("no, because the world is young\n");
    terminal.until("Apply it? [y/N", 2);
    terminal.types("y\n");
    terminal.until("session ", 1);
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert!(world.provider.last_message("architect", 2).contains("said no: the world is young"));
    let memory = world.deepseek(["memory", "list"]).run().stdout;
    let decision = "decision  asked about greet.txt, the user said no: the world is young";
    assert!(memory.contains(decision), "{memory}");
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn a_check_gets_network_access_only_if_the_user_allows_it() {
    let Some(site) = Site::at(Level::Full) else { return };
    let port = site.tcp.local_addr().unwrap().port();
    let check = format!(
        "bash -c ': > /dev/tcp/127.0.0.1/{port}' 2>/dev/null || {{ echo 'curl: (6) Could not resolve host: x'; exit 1; }}\n"
    );
    let world = || {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", &check)]);
        World::of(project, Provider::new(greeting_fix_checked_by(&["sh check.sh"])))
    };
    let unattended = world();
    let run = unattended.chat("Fix it");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    assert_eq!(run.one("ApprovalDenied")["action"]["network"], "sh check.sh");
    let replayed = unattended.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    let run = world().request("Fix it").args(["--network"]).run();
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let asked = world();
    let mut terminal = at_terminal(&asked);
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("Run it with it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("session ", 1);
    assert_eq!(terminal.end(), Some(0));
}

/// A lock file names what is loaded, so loading it is offered instead of running the tests with the network.
#[test]
fn what_a_lock_file_names_is_loaded_if_the_user_allows_it() {
    let Some(site) = Site::at(Level::Full) else { return };
    let port = site.tcp.local_addr().unwrap().port();
    let npm = format!(
        "#!/bin/bash\ncase $1 in\ninstall) : > /dev/tcp/127.0.0.1/{port} && mkdir -p node_modules/jest ;;\ntest) test -d node_modules/jest || {{ echo 'sh: 1: jest: not found'; exit 127; }} ;;\nesac\n"
    );
    let world = |files: &[(&str, &str)]| {
        let package = ("package.json", "{\"scripts\": {\"test\": \"jest\"}}\n");
        let project = Project::new(&[files, &[("greet.txt", "hello\n"), package]].concat());
        let other = architect("DONE|nothing else can check it");
        let replies = [greeting_fix_checked_by(&["npm test"]), vec![other]].concat();
        let world = World::of(project, Provider::new(replies)).with_default_commands();
        let program = world.home().join(".local/bin/npm");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, &npm).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        world
    };
    let path = |world: &World| {
        let bin = world.home().join(".local/bin");
        format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
    };
    let locked = [("package-lock.json", "{}\n")];
    let asked = world(&locked);
    let mut program = asked.deepseek(["--force-execute", "-p", "Fix the greeting"]);
    let mut terminal = Terminal::start(program.env("PATH", path(&asked)));
    terminal.until("Apply it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("$ npm install", 1);
    terminal.until("Run it with it? [y/N", 1);
    terminal.types("y\n");
    terminal.until("checks passed; ", 1);
    terminal.until("session ", 1);
    assert_eq!(terminal.end(), Some(0));
    assert!(!asked.project.path("node_modules").exists());
    let replayed = asked.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    for (files, denied) in [(&locked[..], vec!["npm install"]), (&[], vec![])] {
        let unattended = world(files);
        let run = unattended.request("Fix it").env("PATH", path(&unattended)).run();
        assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
        let actions = run.all("ApprovalDenied");
        let commands: Vec<&str> =
            actions.iter().map(|it| it["action"]["network"].as_str().unwrap()).collect();
        assert_eq!(commands, denied);
    }
}
