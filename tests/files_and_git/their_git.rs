//! The user's git as it is: every layout of `.git` that git makes, files that git keeps off the disk, settings that hold for
//! commands, and git's own refusals. The repositories are made by git.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::confinement::environment::has;
use crate::confinement::sandbox::skipped;
use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, plan_verified_by, shell,
};

/// An author for commits, and settings for git that tests need.
const AS: &str = "git -c user.name=t -c user.email=t@example.org -c protocol.file.allow=always -c init.defaultBranch=main";

/// Returns a world with an empty project and a greeting repository in the directory `up` of its home.
fn world(answers: Vec<mock::ScriptedReply>) -> World {
    let world = World::of(Project::without_git(&[]), Provider::new(answers));
    fs::create_dir(world.home().join("up")).unwrap();
    let up = "mkdir sub; printf 'hello\\n' > greet.txt; echo 1 > one; echo 2 > two; echo x > sub/x; printf 'grep -q world greet.txt\\n' > check.sh";
    shell(
        &world.home().join("up"),
        &format!("{up}; {AS} init -q; git add -A; {AS} commit -qm start"),
    );
    world
}

/// Runs a script in the home directory, with the project's directory as `$ws`. Returns the workspace.
fn made(world: &World, script: &str, workspace: &str) -> PathBuf {
    let ws = world.project.root().display();
    shell(world.home(), &format!("set -e; ws={ws}; up=$PWD/up; {script}"));
    world.project.path(workspace)
}

/// The layouts: a script that makes one, and the directory that is the workspace.
const LAYOUTS: [(&str, &str, &str); 10] = [
    ("linked worktree", "git -C up worktree add -q $ws/w -b other", "w"),
    (
        "submodule",
        "cd $ws; AS init -q; AS submodule add -q $up vendor/lib; AS commit -qm sub",
        "vendor/lib",
    ),
    ("git directory elsewhere", "AS clone -q --separate-git-dir $PWD/elsewhere up $ws/w", "w"),
    (
        "link to a git directory",
        "AS clone -q up $ws/w; mkdir -p .repo/projects; mv $ws/w/.git .repo/projects/w.git; ln -s $PWD/.repo/projects/w.git $ws/w/.git",
        "w",
    ),
    (
        "sparse index",
        "AS clone -q up $ws/w; git -C $ws/w sparse-checkout set --cone --sparse-index",
        "w",
    ),
    (
        "partial clone, remote away",
        "git -C up config uploadpack.allowFilter true; AS clone -q --filter=blob:none file://$up $ws/w; mv up away",
        "w",
    ),
    (
        "shallow clone",
        "cd up; AS commit -q --allow-empty -m next; AS clone -q --depth 1 file://$up $ws/w",
        "w",
    ),
    (
        "pointers of LFS",
        "AS clone -q up $ws/w; cd $ws/w; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 9\\n' > a.bin; git add -A; AS commit -qm lfs",
        "w",
    ),
    (
        "SHA-256",
        "mkdir $ws/w; cp -r up/* $ws/w; cd $ws/w; AS init -q --object-format=sha256; git add -A; AS commit -qm start",
        "w",
    ),
    (
        "borrowed objects in the tree",
        "AS clone -q up $ws/w; cd $ws/w; git gc -q; git pack-refs --all",
        "w",
    ),
];

/// Prepares the program in another directory than the project's.
fn within<'a>(world: &World, workspace: &'a str, args: &[&'a str]) -> Run {
    world.deepseek(["--workspace", workspace].into_iter().chain(args.iter().copied())).run()
}

#[test]
fn git_works_for_commands_in_every_layout_that_git_makes() {
    for (layout, script, workspace) in LAYOUTS {
        let world = world(Vec::new());
        let workspace = made(&world, &script.replace("AS", AS), workspace);
        fs::write(workspace.join("new.txt"), "new\n").unwrap();
        let line = "git rev-parse HEAD && git log --format=%s && git status --short";
        let outside = shell(&workspace, line);
        let run = within(&world, workspace.to_str().unwrap(), &["sandbox", "--", line]);
        assert_eq!((run.code, run.stdout), (Some(0), outside), "{layout}: {}", run.stderr);
    }
}

#[test]
fn a_change_is_made_and_committed_in_every_layout() {
    for (layout, script, workspace) in LAYOUTS {
        let answers = vec![
            architect(plan_verified_by(&["greet.txt"], &["sh check.sh"])),
            editor(diff("greet.txt", "hello", "hello world")),
        ];
        let world = world(answers);
        let workspace = made(&world, &script.replace("AS", AS), workspace);
        let at = workspace.to_str().unwrap();
        let run = within(&world, at, &["-p", "greet", "--approval", "auto", "--force-execute"]);
        assert_eq!(run.code, Some(0), "{layout}: {}", run.stderr);
        assert!(run.stderr.contains("proven"), "{layout}: {}", run.stderr);
        shell(&workspace, "git config user.name t; git config user.email t@example.org");
        let run = within(&world, at, &["commit", "--yes"]);
        assert_eq!(run.code, Some(0), "{layout}: {}", run.stderr);
        assert_eq!(
            shell(&workspace, "git status --porcelain; git show HEAD:greet.txt"),
            "hello world\n"
        );
        let run = within(&world, at, &["rewind", "1"]);
        assert_eq!(run.code, Some(0), "{layout}: {}", run.stderr);
        assert_eq!(fs::read_to_string(workspace.join("greet.txt")).unwrap(), "hello\n");
    }
}

#[test]
fn git_works_in_a_workspace_below_the_top_of_its_repository() {
    let world = world(Vec::new());
    let workspace = made(&world, &format!("{AS} clone -q up $ws/w"), "w/sub");
    fs::write(workspace.join("x"), "changed\n").unwrap();
    let line = "git rev-parse HEAD && git log --format=%s -- . && git diff --relative";
    let outside = shell(&workspace, line);
    let run = within(&world, workspace.to_str().unwrap(), &["sandbox", "--", line]);
    assert_eq!((run.code, run.stdout), (Some(0), outside), "{}", run.stderr);
}

#[test]
fn a_pointer_that_an_archive_could_contain_shows_no_repository() {
    let world = world(Vec::new());
    let up = world.home().join("up");
    // The repository of a home directory knows nothing of what is below it.
    let of_home =
        format!("{AS} init -q; echo x > .profile; git add .profile; {AS} commit -qm home");
    for (attack, script) in [
        ("file", "mkdir $ws/w; cp up/one up/two $ws/w; echo \"gitdir: $up/.git\" > $ws/w/.git".to_owned()),
        ("link", "mkdir $ws/w; cp up/one up/two $ws/w; ln -s $up/.git $ws/w/.git".to_owned()),
        (
            "claims to be a worktree",
            "mkdir -p $ws/w/g; cp up/one $ws/w; echo 'gitdir: g' > $ws/w/.git; cp up/.git/HEAD $ws/w/g; echo $up/.git > $ws/w/g/commondir; echo $ws/w/.git > $ws/w/g/gitdir".to_owned(),
        ),
        ("below a home", format!("{of_home}; mkdir -p w; echo y > w/y; ln -s $PWD/w $ws/w")),
    ] {
        let world = World::of(Project::without_git(&[]), Provider::new(Vec::new()));
        symlink(&up, world.home().join("up")).unwrap();
        let workspace = made(&world, &script, "w");
        let workspace = workspace.canonicalize().unwrap();
        let line = format!("git log --format=%s; cat {}/.git/HEAD", up.display());
        let run = within(&world, workspace.to_str().unwrap(), &["sandbox", "--", &line]);
        assert_ne!(run.code, Some(0), "{attack}: {}", run.stdout);
        assert!(!run.stdout.contains("start\n") && !run.stdout.contains("ref:"), "{attack}: {}", run.stdout);
    }
}

/// Ways in which git keeps `pkg/b/g.py` off the disk, after a commit that has it.
const KEPT_OFF: [(&str, &str); 4] = [
    ("sparse checkout", "git sparse-checkout set pkg/a"),
    ("sparse index", "git sparse-checkout set --cone --sparse-index pkg/a"),
    ("skip-worktree", "git update-index --skip-worktree pkg/b/g.py; rm -r pkg/b"),
    ("no checkout", "rm -r pkg; rm .git/index"),
];

const PRECIOUS: &str = "precious = 1\nprecious = 2\n";

/// Returns a world in which git keeps `pkg/b/g.py` off the disk, and models insist on making it.
fn keeping_off(how: &str) -> World {
    let project = Project::new(&[("pkg/a/f.py", "a = 1\n"), ("pkg/b/g.py", PRECIOUS)]);
    shell(project.root(), how);
    let plan = plan_verified_by(&["pkg/b/g.py", "new.py"], &["test -d pkg"]);
    let created = "--- /dev/null\n+++ b/pkg/b/g.py\n@@ -0,0 +1 @@\n+brand new\n";
    World::of(project, Provider::new(vec![architect(plan).forever(), editor(created).forever()]))
}

#[test]
fn a_file_that_git_keeps_off_the_disk_is_no_new_file() {
    for (how, script) in KEPT_OFF {
        let world = keeping_off(script);
        let run = world.deepseek(["-p", "make it", "--approval", "auto", "--force-execute"]).run();
        assert_eq!(run.code, Some(1), "{how}: {}", run.stderr);
        assert!(!world.project.path("pkg/b/g.py").exists(), "{how}");
        let told = "git tracks it, but it is not on the disk";
        assert!(run.stderr.contains(told), "{how}: {}", run.stderr);
        assert!(world.provider.last_message("architect", 2).contains(told), "{how}");
        let run = world.deepseek(["commit", "--yes"]).run();
        assert_eq!(run.code, Some(1), "{how}: {}", run.stderr);
        assert_eq!(shell(world.project.root(), "git show HEAD:pkg/b/g.py"), PRECIOUS, "{how}");
    }
}

#[test]
fn the_command_that_is_named_brings_the_file_to_the_disk() {
    for (how, script) in KEPT_OFF {
        let world = keeping_off(script);
        let run = world.deepseek(["-p", "make it", "--approval", "auto", "--force-execute"]).run();
        let (_, cure) = run.stderr.split_once("to bring it there: ").unwrap();
        shell(world.project.root(), cure.lines().next().unwrap());
        assert_eq!(world.project.read("pkg/b/g.py"), PRECIOUS, "{how}");
    }
}

#[test]
fn a_file_that_the_user_deleted_may_be_made_again_and_the_commit_says_so() {
    let answers = vec![
        architect(plan_verified_by(&["gone.py"], &["test -f gone.py"])),
        editor("--- /dev/null\n+++ b/gone.py\n@@ -0,0 +1 @@\n+brand new\n"),
    ];
    let project = Project::new(&[("gone.py", PRECIOUS), ("f.py", "a\n")]);
    shell(project.root(), "rm gone.py");
    let world = World::of(project, Provider::new(answers));
    assert_eq!(world.chat("make it").code, Some(0));
    let run = world.deepseek(["commit"]).run();
    assert!(
        run.stderr.contains("gone.py (replaces the version of the last commit"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_patch_and_a_rewind_keep_off_what_git_keeps_off() {
    // The file is changed first; then the user leaves it out.
    let answers = vec![
        architect(plan_verified_by(&["pkg/b/g.py"], &["test -d pkg"])),
        editor(
            "--- a/pkg/b/g.py\n+++ b/pkg/b/g.py\n@@ -1,2 +1,2 @@\n-precious = 1\n+precious = 3\n precious = 2\n",
        ),
    ];
    let project = Project::new(&[("pkg/a/f.py", "a = 1\n"), ("pkg/b/g.py", PRECIOUS)]);
    let world = World::of(project, Provider::new(answers));
    assert_eq!(world.chat("change it").code, Some(0));
    shell(world.project.root(), &format!("{AS} commit -qam mine; git sparse-checkout set pkg/a"));
    let run = world.deepseek(["rewind", "1"]).run();
    assert_ne!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("git sparse-checkout add pkg/b"), "{}", run.stderr);
    let patch = "--- /dev/null\n+++ b/pkg/b/g.py\n@@ -0,0 +1 @@\n+x\n";
    let run = world.deepseek(["patch", "apply", "-"]).input(patch).run();
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stdout.contains("not_on_disk") || run.stderr.contains("not_on_disk"),
        "{}",
        run.stderr
    );
    assert!(!world.project.path("pkg/b").exists());
}

#[test]
fn a_look_at_a_file_that_is_kept_off_says_so() {
    let answers = vec![
        mock::ScriptedReply::text("NEED_CONTEXT|pkg/b/g.py").to("analysis"),
        mock::ScriptedReply::text("It is not here.").to("analysis"),
    ];
    let project = Project::new(&[("pkg/a/f.py", "a = 1\n"), ("pkg/b/g.py", PRECIOUS)]);
    shell(project.root(), "git sparse-checkout set pkg/a");
    let world = World::of(project, Provider::new(answers));
    let run = world.asks("what is in pkg/b/g.py?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = world.provider.last_message("analysis", 2);
    assert!(told.contains("the sparse checkout leaves it out"), "{told}");
}

/// Writes the user's settings of git.
fn settings(world: &World, text: &str) {
    fs::write(world.home().join(".gitconfig"), text).unwrap();
}

/// Runs a command line confined; `None`, and prints so, if commands are not confined here.
fn confined(world: &World, line: &str) -> Option<Run> {
    let policy = world.deepseek(["policy", "show", "--output", "json"]).run();
    let policy: serde_json::Value = serde_json::from_str(&policy.stdout).unwrap();
    if policy["confinement"] == "none" {
        skipped("commands are not confined here");
        return None;
    }
    Some(world.deepseek(["sandbox", "--", line]).run())
}

#[test]
fn the_users_settings_hold_for_commands_without_helpers_hooks_and_secrets() {
    let world = World::of(Project::new(&[("f.py", "a\n")]), Provider::new(Vec::new()));
    let included = world.home().join("work.inc");
    fs::write(&included, "[user]\n\temail = me@work.example.org\n").unwrap();
    let root = world.project.root().canonicalize().unwrap();
    settings(
        &world,
        &format!(
            "[user]\n\tname = Me \"and\" \\\\ me\n\temail = me@home.example.org\n\tsigningKey = canary\n[init]\n\tdefaultBranch = trunk\n[core]\n\thooksPath = /canary\n\teditor = canary\n[credential]\n\thelper = !canary\n[url \"https://canary@example.org\"]\n\tinsteadOf = x\n[http]\n\textraHeader = canary\n[commit]\n\tgpgSign = true\n[includeIf \"gitdir:{}/\"]\n\tpath = {}\n",
            root.display(),
            included.display()
        ),
    );
    let line = "git config --list && cd $(mktemp -d) && git init -q x && cd x && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>' && git branch --show-current && git config --global user.name other && git config user.name";
    let Some(run) = confined(&world, line) else { return };
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("canary"), "{}", run.stdout);
    let end = "Me and \\ me <me@work.example.org>\ntrunk\nother\n";
    assert!(run.stdout.ends_with(end), "{}", run.stdout);
    let kept = fs::read_to_string(world.home().join(".gitconfig")).unwrap();
    assert!(!kept.contains("other"), "the user's own file is not written to");
}

#[test]
fn settings_hold_behind_a_linked_home_and_another_file() {
    let world = World::of(Project::new(&[("f.py", "a\n")]), Provider::new(Vec::new()));
    settings(&world, "[user]\n\tname = Me\n");
    let other = world.home().join("other.inc");
    fs::write(&other, "[user]\n\tname = Other\n").unwrap();
    let linked = tempfile::tempdir().unwrap();
    let home = linked.path().join("home");
    symlink(world.home(), &home).unwrap();
    if confined(&world, "true").is_none() {
        return;
    }
    let args = ["sandbox", "--", "git config user.name; echo"];
    let run = world.deepseek(args).env("HOME", &home).run();
    assert_eq!(run.stdout, "Me\n\n", "{}", run.stderr);
    let run = world.deepseek(args).env("GIT_CONFIG_GLOBAL", &other).run();
    assert_eq!(run.stdout, "Other\n\n", "{}", run.stderr);
}

#[test]
fn the_settings_of_the_repository_go_before_those_of_the_user() {
    let world = World::of(Project::new(&[("f.py", "a\n")]), Provider::new(Vec::new()));
    settings(&world, "[user]\n\tname = Me\n[core]\n\tabbrev = 9\n");
    shell(world.project.root(), "git config user.name here");
    let Some(run) = confined(&world, "git config user.name; git rev-parse --short HEAD") else {
        return;
    };
    let lines: Vec<usize> = run.stdout.lines().map(str::len).collect();
    assert!(run.stdout.starts_with("here\n") && lines == [4, 9], "{}", run.stdout);
}

#[test]
fn ignored_files_and_line_ends_are_those_of_the_user() {
    let world = World::of(Project::new(&[("f.txt", "a\n")]), Provider::new(Vec::new()));
    fs::write(world.home().join("ignored"), "*.mine\n").unwrap();
    fs::write(world.home().join("attributes"), "*.crlf text eol=crlf\n").unwrap();
    settings(
        &world,
        "[core]\n\texcludesFile = ~/ignored\n\tattributesFile = ~/attributes\n\tautocrlf = input\n",
    );
    world.project.write("a.mine", "x\n");
    world.project.write("b.yours", "x\n");
    world.project.write("f.txt", "a\r\n");
    let Some(run) = confined(&world, "git status --short; git check-attr eol a.crlf") else {
        return;
    };
    let outside = world
        .program(Path::new("sh"), ["-c", "git status --short; git check-attr eol a.crlf"])
        .run();
    assert_eq!(run.stdout, outside.stdout);
    assert!(run.stdout.contains("b.yours") && run.stdout.contains("crlf\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("a.mine"), "{}", run.stdout);
}

#[test]
fn the_refusal_of_a_repository_is_in_gits_words_and_its_cure_works() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can give a repository to another user");
        return;
    }
    let fine =
        mock::ScriptedReply::text("REVIEW_V1\nSUMMARY|Fine.\nREVIEW_END").to("analysis").forever();
    let world = World::of(Project::new(&[("f.py", "a\n")]), Provider::new(vec![fine]));
    world.project.write("f.py", "b\n");
    shell(world.project.root(), "chown -R 12345:12345 .");
    for command in [&["review"][..], &["commit", "--yes"]] {
        let run = world.deepseek(command.iter().copied()).run();
        assert!(run.stderr.contains("error: git: detected dubious ownership"), "{}", run.stderr);
        assert!(!run.stderr.contains("git init"), "{}", run.stderr);
        let (_, cure) = run.stderr.split_once("call: ").unwrap();
        assert!(cure.starts_with("git config --global --add safe.directory"), "{cure}");
        if command == ["commit", "--yes"] {
            let cure = cure.lines().next().unwrap();
            assert_eq!(world.program(Path::new("sh"), ["-c", cure]).run().code, Some(0));
        }
    }
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.last_message("analysis", 1).contains("| +b"));
}

#[test]
fn objects_that_are_borrowed_from_elsewhere_are_named_with_what_shows_them() {
    if !has("git") {
        return;
    }
    let fine =
        mock::ScriptedReply::text("REVIEW_V1\nSUMMARY|Fine.\nREVIEW_END").to("analysis").forever();
    let world = world(vec![fine]);
    let workspace = made(&world, &format!("{AS} clone -q --shared up $ws/w"), "w");
    fs::write(workspace.join("one"), "changed\n").unwrap();
    let at = workspace.to_str().unwrap();
    let run = within(&world, at, &["review"]);
    if run.code == Some(0) {
        skipped("commands are not confined here");
        return;
    }
    let cure = run.stderr.split_once("which this shows: deepseek ");
    let (_, cure) = cure.unwrap_or_else(|| panic!("{}{}", run.stderr, run.stdout));
    let words: Vec<&str> = cure.lines().next().unwrap().split(' ').collect();
    assert_eq!(within(&world, at, &words).code, Some(0), "{cure}");
    let run = within(&world, at, &["review"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
