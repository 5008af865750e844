//! Pipes, devices, giant files and links where a regular file is expected: nothing waits for them, and no link is followed.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::fence::lanes_that_run;
use crate::support::{Project, Run, Terminal, World, greeting_fix};

/// Puts a file at a path of a project that blocks when it is opened, or that has no end.
fn put(project: &Project, path: &str, what: &str) {
    let at = project.path(path);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    if at.is_dir() { fs::remove_dir_all(&at) } else { fs::remove_file(&at) }.ok();
    match what {
        "pipe" => mknodat(CWD, &at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        "zeros" => symlink("/dev/zero", &at).unwrap(),
        "link to a pipe" => {
            let pipe = project.root().with_extension("pipe");
            if !pipe.exists() {
                mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            }
            symlink(pipe, &at).unwrap();
        }
        _ => File::create(&at).unwrap().set_len(20 << 30).unwrap(),
    }
}

const KINDS: [&str; 4] = ["pipe", "zeros", "link to a pipe", "giant"];

#[test]
fn pipes_devices_and_giant_files_in_a_clone_do_not_block_a_run() {
    let paths = [
        ".env",
        ".git",
        ".gitignore",
        "sub/.gitignore",
        ".ignore",
        ".git/info/exclude",
        ".git/HEAD",
        ".git/config",
        ".git/packed-refs",
        ".git/commondir",
        ".git/objects/info/alternates",
        ".git/index",
        ".git/refs/heads/master",
        ".git/refs/heads/other",
        ".git/shallow",
        ".git/objects/pack/pack-1.idx",
    ];
    for (at, path) in paths.iter().enumerate() {
        // Every path as a pipe, and as one of the other kinds.
        for what in ["pipe", KINDS[1 + at % 3]] {
            if what == "giant" && path.contains("refs/heads") {
                continue;
            }
            let world = World::greeting(greeting_fix());
            put(&world.project, path, what);
            let run = world.chat("Fix the greeting");
            assert_eq!(run.ending(), "0 delivered/proven", "{path} is a {what}: {}", run.stderr);
            assert_eq!(world.project.read("greet.txt"), "hello world\n");
            let back = world.deepseek(["rewind", "1"]).run();
            assert_eq!(back.code, Some(0), "{path} is a {what}: {}", back.stderr);
            assert_eq!(world.project.read("greet.txt"), "hello\n");
        }
    }
}

#[test]
fn links_and_alternates_in_a_repository_do_not_block_a_run() {
    type Trap = fn(&Project);
    let traps: [(&str, Trap); 4] = [
        ("objects/info is a link", |project| {
            put(project, "dir/alternates", "pipe");
            fs::remove_dir_all(project.path(".git/objects/info")).unwrap();
            symlink(project.path("dir"), project.path(".git/objects/info")).unwrap();
        }),
        ("objects is a link", |project| {
            fs::rename(project.path(".git/objects"), project.path("objs")).unwrap();
            symlink("../objs", project.path(".git/objects")).unwrap();
            put(project, "objs/info/alternates", "pipe");
        }),
        ("alternates are quoted", |project| {
            put(project, "oo/info/alternates", "pipe");
            let list = format!("\"{}/o\\157\"\n", project.root().display());
            project.write(".git/objects/info/alternates", list);
        }),
        ("a link to itself", |project| {
            symlink("..", project.path(".git/objects/loop")).unwrap();
        }),
    ];
    for (name, trap) in traps {
        let world = World::greeting(greeting_fix());
        world.project.write(".gitignore", "dir\nobjs\noo\n");
        trap(&world.project);
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{name}: {}", run.stderr);
    }
}

#[test]
fn a_configuration_behind_a_symlink_is_refused() {
    for (link, to) in [(".deepseek/config.toml", "../conf/config.toml"), (".deepseek", "conf")] {
        let world = World::greeting(greeting_fix());
        world.project.write("conf/config.toml", "policy.mode = \"agent\"\n");
        if link.ends_with("toml") {
            fs::create_dir(world.project.path(".deepseek")).unwrap();
        }
        symlink(to, world.project.path(link)).unwrap();
        let run = world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("must not be a symlink"), "{}", run.stderr);
    }
}

#[test]
fn a_history_that_is_not_a_regular_file_is_ignored() {
    for what in KINDS {
        let world = World::greeting(greeting_fix());
        let home = Project::without_git(&[]);
        put(&home, "history", what);
        let mut program = world.deepseek(["--plain"]);
        let mut terminal = Terminal::start(program.env("DEEPSEEK_HOME", home.root()));
        terminal.until("›", 1);
        terminal.types("/exit\r");
        assert_eq!(terminal.end(), Some(0), "{what}");
    }
}

#[test]
fn pipes_devices_and_giant_files_in_a_clone_do_not_block_lanes() {
    for (at, path) in
        [".env", ".git/info/exclude", ".git/shallow", "node_modules/x"].iter().enumerate()
    {
        let patch = "--- a/check.sh\n+++ b/check.sh\n@@ -1 +1 @@\n-true\n+test -s two.txt\n";
        let world = lanes_that_run(patch, "check.sh", "sh check.sh", "");
        world.project.write(".gitignore", ".env\nnode_modules\n");
        put(&world.project, path, KINDS[at % 3]);
        let args = [
            "--force-execute",
            "-p",
            "Fix both files",
            "--teammate-mode",
            "on",
            "--approval",
            "auto",
        ];
        let run = world.deepseek(args).run();
        assert_eq!(run.code, Some(0), "{path}: {}", run.stderr);
        assert_eq!(world.project.read("two.txt"), "zwei\n");
    }
}

#[test]
fn a_configuration_that_is_not_a_regular_file_is_an_error_at_once() {
    for what in KINDS {
        let world = World::greeting(greeting_fix());
        put(&world.project, ".deepseek/config.toml", what);
        for args in [
            &["ask", "why?"][..],
            &["config", "show"],
            &["doctor"],
            &["--force-execute", "-p", "Fix it"],
        ] {
            let run = world.deepseek(args.iter().copied()).run();
            let expected = if args == ["doctor"] { 1 } else { 2 };
            assert_eq!(run.code, Some(expected), "{what}: {args:?}: {}", run.stderr);
            let said = run.stdout + &run.stderr;
            assert!(said.contains(".deepseek/config.toml"), "{what}: {args:?}: {said}");
        }
    }
}

#[test]
fn state_that_is_not_a_regular_file_never_blocks_a_command() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    let session = fs::read_dir(world.state().join("sessions")).unwrap().next().unwrap().unwrap();
    let home = fs::read_dir(world.state().join("workspaces")).unwrap().next().unwrap().unwrap();
    let kept = fs::read_dir(home.path().join("verify")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let own = [
        session.path().join("events.jsonl"),
        home.path().join("projections.sqlite"),
        home.path().join("lock"),
        home.path().join("checkpoints.git/config"),
        home.path().join("checkpoints.git/HEAD"),
    ];
    for path in own.into_iter().chain(kept) {
        let kept = fs::read(&path).unwrap_or_default();
        fs::remove_file(&path).ok();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for args in [
            &["--force-execute", "-p", "Fix it", "--approval", "auto"][..],
            &["usage"],
            &["sessions"],
            &["replay"],
            &["-c", "--force-execute", "-p", "Fix it"],
            &["doctor"],
            &["rewind"],
        ] {
            // It only matters that it ends.
            let run: Run = world.deepseek(args.iter().copied()).run();
            assert!(run.code.is_some(), "{}: {args:?}: {}", path.display(), run.stderr);
        }
        fs::remove_file(&path).ok();
        fs::write(&path, kept).unwrap();
    }
}

#[test]
fn a_symlink_in_place_of_a_state_file_is_not_followed_for_writing() {
    for name in ["lock", "projections.sqlite", "verify/running"] {
        let world = World::greeting([greeting_fix(), greeting_fix()].concat());
        assert_eq!(world.chat("Fix the greeting").code, Some(0));
        assert_eq!(world.deepseek(["usage"]).run().code, Some(0));
        let home = fs::read_dir(world.state().join("workspaces")).unwrap().next().unwrap().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target");
        fs::write(&target, "mine").unwrap();
        let path = home.path().join(name);
        fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).ok();
        symlink(&target, &path).unwrap();
        for args in [&["--force-execute", "-p", "Fix it", "--approval", "auto"][..], &["usage"]] {
            let run = world.deepseek(args.iter().copied()).run();
            assert!(run.code.is_some(), "{name}: {}", run.stderr);
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine", "{name}");
    }
}
