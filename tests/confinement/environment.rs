//! The user's environment holds for confined commands: virtual environments, prefixes of package managers, links, mounts.
//! What a repository brings widens nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::confinement::sandbox::skipped;
use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, plan_verified_by, shell,
};

/// A secret that no command may read.
const CANARY: &str = "canary-7be1c09f4d52a836";

/// Creates a world with an empty project, or returns `None`, and prints so, if commands are not fully confined here.
fn confined() -> Option<World> {
    let project = Project::new(&[("f.py", "a = 1\n")]);
    let world = World::of(project, Provider::new(Vec::new()));
    let policy = world.deepseek(["policy", "show", "--output", "json"]).run();
    let policy: serde_json::Value = serde_json::from_str(&policy.stdout).unwrap();
    if policy["confinement"] != "full" {
        skipped(&format!("commands are confined so far here: {}", policy["confinement"]));
        return None;
    }
    Some(world)
}

/// Writes an executable file in the home directory.
fn put(world: &World, path: &str, text: &str) {
    let path = world.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn link(world: &World, path: &str, to: &str) {
    let path = world.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(to, path).unwrap();
}

/// Runs a command line with these directories of the home directory first in `PATH`.
fn runs(world: &World, path: &[&str], line: &str) -> Run {
    let dirs = path.iter().map(|dir| world.home().join(dir).display().to_string());
    let all: Vec<String> = dirs.chain(std::env::var("PATH")).collect();
    world.deepseek(["sandbox", "--", line]).env("PATH", all.join(":")).run()
}

fn says(run: &Run, text: &str) {
    assert!(run.stdout.contains(text), "{}\n{}", run.stdout, run.stderr);
}

/// Returns whether a program is on this machine; prints so if not.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !is_there {
        skipped(&format!("there is no {program} here"));
    }
    is_there
}

#[test]
fn a_virtual_environment_anywhere_has_its_packages_and_programs() {
    let (Some(world), true) = (confined(), has("python3")) else { return };
    for dir in [".virtualenvs/p", "work/envs/q", ".local/share/tool/venv"] {
        let env = world.home().join(dir);
        shell(world.home(), &format!("python3 -m venv --without-pip {}", env.display()));
        let site = "python3 -c 'import site; print(site.getsitepackages()[0])'";
        let site = shell(&env, &format!("PATH={}/bin:$PATH {site}", env.display()));
        fs::write(Path::new(site.trim()).join("helper.py"), "x = 'from the environment'\n")
            .unwrap();
        let run =
            runs(&world, &[&format!("{dir}/bin")], "python3 -c 'import helper; print(helper.x)'");
        says(&run, "from the environment");
        // A script of the environment, called without activating it.
        let script = format!("#!{}/bin/python3\nimport helper; print(helper.x)\n", env.display());
        put(&world, "bin/tool", &script);
        says(&runs(&world, &["bin"], "tool"), "from the environment");
        fs::remove_file(world.home().join("bin/tool")).unwrap();
    }
}

#[test]
fn environments_of_managers_that_no_list_knows_work() {
    let Some(world) = confined() else { return };
    // As micromamba makes them.
    put(
        &world,
        "micromamba/envs/p/bin/tool",
        "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/part.sh\"\n",
    );
    put(&world, "micromamba/envs/p/lib/part.sh", "echo it runs\n");
    fs::create_dir_all(world.home().join("micromamba/envs/p/conda-meta")).unwrap();
    says(&runs(&world, &["micromamba/envs/p/bin"], "tool"), "it runs");
    // As a prefix of npm, and of Homebrew.
    for (at, package) in [(".npm-global", "lib/node_modules/t"), ("brew", "Cellar/t/1.0/bin")] {
        put(
            &world,
            &format!("{at}/{package}/cli"),
            "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/part\"\n",
        );
        put(&world, &format!("{at}/{package}/part"), "it runs\n");
        link(&world, &format!("{at}/bin/mytool"), &format!("../{package}/cli"));
        says(&runs(&world, &[&format!("{at}/bin")], "mytool"), "it runs");
    }
    // Package managers that Corepack has loaded.
    put(&world, "node/yarn", "#!/bin/sh\ncat ~/.cache/node/corepack/v1/yarn/4.0.0/yarn.js\n");
    put(&world, ".cache/node/corepack/v1/yarn/4.0.0/yarn.js", "it runs\n");
    says(&runs(&world, &["node"], "yarn"), "it runs");
    // A link in a directory of links to a checkout elsewhere.
    put(
        &world,
        "src/checkout/bin/other",
        "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../part\"\n",
    );
    put(&world, "src/checkout/part", "it runs\n");
    link(
        &world,
        ".local/bin/other",
        &world.home().join("src/checkout/bin/other").display().to_string(),
    );
    says(&runs(&world, &[".local/bin"], "other"), "it runs");
}

#[test]
fn an_installation_that_a_variable_names_is_readable() {
    let Some(world) = confined() else { return };
    put(&world, "jdk/bin/java", "#!/bin/sh\necho it runs\n");
    let home = world.home().join("jdk");
    let line = "$JAVA_HOME/bin/java";
    says(&world.deepseek(["sandbox", "--", line]).env("JAVA_HOME", &home).run(), "it runs");
}

#[test]
fn packages_above_a_package_of_the_repository_are_readable() {
    let Some(world) = confined() else { return };
    world.project.write("package.json", "{}");
    world.project.write("node_modules/dep/index.js", "it is there\n");
    world.project.write("packages/a/package.json", "{}");
    let package = world.project.path("packages/a");
    let words = ["--workspace", package.to_str().unwrap(), "sandbox", "--"];
    let run = |line| world.deepseek(words.into_iter().chain([line])).run();
    says(&run("cat ../../node_modules/dep/index.js"), "it is there");
    world.project.write("secret.txt", CANARY);
    assert!(!run("cat ../../secret.txt").stdout.contains(CANARY));
}

#[test]
fn a_user_without_a_home_directory_can_run_commands() {
    let Some(world) = confined() else { return };
    for home in ["/", "/nonexistent"] {
        let mut program = world.deepseek(["sandbox", "--", "echo $HOME; touch $HOME/x; cat f.py"]);
        let run = program.env("HOME", home).run();
        says(&run, "a = 1");
        assert!(!Path::new("/x").exists());
    }
}

#[test]
fn what_a_repository_brings_opens_nothing() {
    let (Some(world), true) = (confined(), has("python3")) else { return };
    let home = world.home().to_owned();
    for path in [".aws/credentials", ".ssh/config", ".config/app/token", "notes/secret.txt"] {
        put(&world, path, CANARY);
    }
    put(&world, ".aws/python3", "");
    world.project.write(".venv/pyvenv.cfg", format!("home = {}/.aws\n", home.display()));
    fs::create_dir_all(world.project.path(".venv/bin")).unwrap();
    fs::create_dir_all(world.project.path("node_modules/.bin")).unwrap();
    for (link, to) in [
        (".venv/bin/python", ".aws/credentials"),
        ("node_modules/.bin/x", ".ssh/config"),
        ("node_modules/.bin/y", "notes/secret.txt"),
    ] {
        symlink(home.join(to), world.project.path(link)).unwrap();
    }
    let inside = format!("{0}/.venv/bin:{0}/node_modules/.bin", world.project.root().display());
    let path = format!("{inside}:{}", std::env::var("PATH").unwrap());
    for line in [
        "cat .venv/bin/python",
        "cat node_modules/.bin/x node_modules/.bin/y",
        "cat ~/.aws/credentials ~/.ssh/config ~/.config/app/token ~/notes/secret.txt",
        "find ~ -type f -exec cat {} +",
    ] {
        let run = world.deepseek(["sandbox", "--", line]).env("PATH", &path).run();
        assert!(!run.stdout.contains(CANARY), "{line}: {}", run.stdout);
    }
    // Outside the repository, an environment that names such a directory does not open it either.
    put(&world, "envs/p/pyvenv.cfg", &format!("home = {}/.aws\n", home.display()));
    put(&world, "envs/p/bin/tool", "#!/bin/sh\n");
    link(&world, "bin/aws", &home.join(".aws/credentials").display().to_string());
    let run = runs(&world, &["envs/p/bin", "bin"], "cat ~/.aws/credentials; cat $(which aws)");
    assert!(!run.stdout.contains(CANARY), "{}", run.stdout);
}

/// Runs a command line in the project, after mounts that nothing else sees.
fn with_mounts(world: &World, mounts: &str, line: &str) -> Run {
    let script = format!("{mounts} && exec {} sandbox -- '{line}'", env!("CARGO_BIN_EXE_deepseek"));
    world.program(Path::new("unshare"), ["-m", "sh", "-c", &script]).run()
}

#[test]
fn a_tree_with_mounts_in_it_is_seen_whole() {
    let Some(world) = confined() else { return };
    if !rustix::process::geteuid().is_root() || !has("unshare") {
        skipped("only root can mount something in the project");
        return;
    }
    world.project.write("node_modules/.keep", "");
    world.project.write("deep/er/vol/.keep", "");
    world.project.write("deep/beside.txt", "beside\n");
    world.project.write("conf.txt", "ours\n");
    let run = with_mounts(
        &world,
        "mount -t tmpfs none node_modules && echo there > node_modules/dep.txt",
        "cat node_modules/dep.txt f.py; echo x > node_modules/new && cat node_modules/new",
    );
    says(&run, "there\na = 1\nx\n");
    let run = with_mounts(
        &world,
        "mount -t tmpfs none deep/er/vol && echo there > deep/er/vol/a && mount --bind deep/beside.txt conf.txt",
        "cat deep/er/vol/a deep/beside.txt conf.txt; echo x > deep/er/new; echo y > deep/er/vol/b; rm deep/beside.txt; ls deep",
    );
    says(&run, "there\nbeside\nbeside\n");
    assert!(run.stdout.ends_with("er\n"), "{}", run.stdout);
    assert_eq!(world.project.read("deep/beside.txt"), "beside\n");
    assert!(!world.project.path("deep/er/new").exists());
}

/// What the sandbox hides is named with the command that shows it, which works when it is run.
#[test]
fn a_path_that_the_sandbox_hides_is_named_with_the_way_to_show_it() {
    for mode in ["auto", "floor"] {
        let data = tempfile::tempdir().unwrap();
        let limits = data.path().join("limits.txt");
        fs::write(&limits, "5\n").unwrap();
        let check = format!("sh -c 'cat {} && grep -q 5 f.py'", limits.display());
        let plan = || architect(plan_verified_by(&["f.py"], &[&check]));
        let no_other = architect("DONE|nothing else can check it");
        let edit = || editor(diff("f.py", "a = 1", "a = 5"));
        let project = Project::new(&[("f.py", "a = 1\n")]);
        let config = format!("[sandbox]\nmode = \"{mode}\"\nfloor = \"accept\"\n");
        let replies = vec![plan(), edit(), no_other, plan(), edit()];
        let world = World::of(project, Provider::new(replies)).configure(&config);
        let run = world.request("Make it five").args(["--yolo"]).run();
        assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
        let missing = &run.all("VerificationRun")[0]["findings"]["missing"];
        assert_eq!(missing["kind"], "hidden", "{mode}: {missing}");
        let cure = missing["cure"].as_str().unwrap().strip_prefix("deepseek ").unwrap();
        world.deepseek(cure.split(' ')).run();
        fs::write(world.project.path("f.py"), "a = 1\n").unwrap();
        let run = world.request("Make it five").args(["--yolo"]).run();
        assert_eq!(run.ending(), "0 delivered/proven", "{mode}: {}", run.stderr);
    }
}

/// The kernel puts no overlay over one that is over another. So a tree in such a place cannot be under layers.
#[test]
fn a_tree_that_cannot_be_confined_fully_is_confined_as_far_as_possible() {
    if confined().is_none() || !rustix::process::geteuid().is_root() || !has("unshare") {
        skipped("only root can mount an overlay");
        return;
    }
    let check = "sh -c 'touch made && grep -q 5 f.py'";
    for floor in ["accept", "ask"] {
        let replies = vec![
            architect(plan_verified_by(&["f.py"], &[check])),
            editor(diff("f.py", "a = 1", "a = 5")),
        ];
        let project = Project::new(&[("f.py", "a = 1\n")]);
        let config = format!("[sandbox]\nfloor = \"{floor}\"\n");
        let world = World::of(project, Provider::new(replies)).configure(&config);
        let over = "for n in 1 2; do mkdir -p /mnt/u$n /mnt/w$n && mount -t overlay none -o lowerdir=.,upperdir=/mnt/u$n,workdir=/mnt/w$n . && cd .; done";
        let mounts =
            format!("mount -t tmpfs none /mnt && cd {} && {over}", world.project.root().display());
        let request = "-p five --yolo --force-execute";
        let script = format!(
            "{mounts} && cd {} && {} doctor; {} {request}; cat f.py",
            world.project.root().display(),
            env!("CARGO_BIN_EXE_deepseek"),
            env!("CARGO_BIN_EXE_deepseek"),
        );
        let run = world.program(Path::new("unshare"), ["-m", "sh", "-c", &script]).run();
        assert!(run.stdout.contains("partly confined"), "doctor: {}{}", run.stdout, run.stderr);
        if floor == "accept" {
            assert!(
                run.stderr.contains("✓ delivered") && run.stderr.contains("proven"),
                "{}",
                run.stderr
            );
            assert!(run.stdout.ends_with("a = 5\n"), "{}", run.stdout);
        } else {
            assert!(run.stderr.contains("✗ denied"), "{}", run.stderr);
        }
        assert!(!world.project.path("made").exists());
    }
}

#[test]
fn the_program_of_an_active_environment_is_never_called_missing() {
    let (Some(_), true) = (confined(), has("python3")) else { return };
    let check = "python3 -c 'import f, helper; assert f.a == 5'";
    let replies = vec![
        architect(plan_verified_by(&["f.py"], &[check])),
        editor(diff("f.py", "a = 1", "a = 5")),
    ];
    let project = Project::new(&[("f.py", "a = 1\n")]);
    let world = World::of(project, Provider::new(replies));
    let env = world.home().join("envs/p");
    shell(world.home(), &format!("python3 -m venv --without-pip {}", env.display()));
    let site = shell(&env, "ls -d lib/python3*/site-packages");
    fs::write(env.join(site.trim()).join("helper.py"), "").unwrap();
    let path = format!("{}/bin:{}", env.display(), std::env::var("PATH").unwrap());
    let run = world.request("Make it five").args(["--yolo"]).env("PATH", path).run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
}
