//! Hundreds of hostile diffs, generated from a seed by combining places, forms and dressings.
//!
//! All are judged by the real patch engine and policy rules; some are also run end to end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{AgentLoop, ApplyStrategy, Approval, Config, Mode, Policy};
use patch::{ApplyPlan, PatchLimits, PatchScope, prepare};
use policy::{Act, Author, ChangeSize, Confinement, PolicyRules, SizeCount, Stage, Verdict};
use tree::{Change, CommitLog, ReadTree, RepoPath, WriteTree};

use crate::support::{
    Project, Provider, World, architect, editor, plan_verified_by, shell, short_or_long,
};

/// Targets of the diffs, in the project of [`project_with_links_to`]. `OUTSIDE` is a directory outside of it.
const PLACES: [&str; 30] = [
    "OUTSIDE/kept",
    "OUTSIDE/new",
    "../new",
    "../../../../../../tmp/new",
    "sub/../../new",
    "./../new",
    "out/kept",
    "out/new",
    "link",
    "sub/loop/../../new",
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".git./config",
    ".g\u{200c}it/config",
    "git~1/config",
    "sub/.git/config",
    ".deepseek/config.toml",
    ".DeepSeek/config.toml",
    "sub/.deepseek/prompts/editor.md",
    ".github/workflows/ci.yml",
    ".githooks/pre-push",
    ".envrc",
    ".gitmodules",
    "C:\\new",
    "sub\\..\\..\\new",
    "new.txt",
    "sub/new.txt",
    "greet.txt",
    "check.sh",
];

/// Forms of a diff: `AT` is the target.
const FORMS: [&str; 18] = [
    "--- a/AT\n+++ b/AT\n@@ -1 +1 @@\n-hello\n+pwned\n",
    "--- AT\n+++ AT\n@@ -1 +1 @@\n-hello\n+pwned\n",
    "--- /dev/null\n+++ b/AT\n@@ -0,0 +1 @@\n+pwned\n",
    "--- /dev/null\n+++ AT\n@@ -0,0 +1 @@\n+pwned\n",
    "--- a/AT\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n",
    "--- a/greet.txt\n+++ b/AT\n@@ -1 +1 @@\n-hello\n+pwned\n",
    "diff --git a/greet.txt b/greet.txt\n--- a/AT\n+++ b/AT\n@@ -1 +1 @@\n-hello\n+pwned\n",
    "diff --git a/AT b/AT\nnew file mode 100755\n--- /dev/null\n+++ b/AT\n@@ -0,0 +1 @@\n+pwned\n",
    "diff --git a/AT b/AT\nnew file mode 120000\n--- /dev/null\n+++ b/AT\n@@ -0,0 +1 @@\n+OUTSIDE/kept\n",
    "diff --git a/AT b/AT\nnew file mode 104755\n--- /dev/null\n+++ b/AT\n@@ -0,0 +1 @@\n+pwned\n",
    "diff --git a/AT b/AT\nold mode 100644\nnew mode 100755\n",
    "diff --git a/AT b/AT\nindex 1111111..2222222 120000\n--- a/AT\n+++ b/AT\n@@ -1 +1 @@\n-hello\n+OUTSIDE\n",
    "diff --git a/greet.txt b/AT\nsimilarity index 100%\nrename from greet.txt\nrename to AT\n",
    "diff --git a/AT b/new.txt\nsimilarity index 100%\nrename from AT\nrename to new.txt\n",
    "diff --git a/greet.txt b/AT\ncopy from greet.txt\ncopy to AT\n",
    "diff --git a/AT b/AT\nGIT binary patch\nliteral 5\nMcmZQzWMT#Y01f~L\n",
    "--- \"a/AT\"\n+++ \"b/AT\"\n@@ -1 +1 @@\n-hello\n+pwned\n",
    "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello\n+pwned\n--- /dev/null\n+++ b/AT\n@@ -0,0 +1 @@\n+pwned\n",
];

const DRESSES: [&str; 5] =
    ["DIFF", "```diff\nDIFF```\n", "Here it is:\n\nDIFF", "> DIFF", "<think>no</think>\nDIFF"];

fn diffs(seed: u64, count: usize, outside: &Path) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pick = |from: &[&'static str]| from[random.usize(..from.len())];
    let diff = |_| {
        let (form, place) = (pick(&FORMS), pick(&PLACES));
        let diff = form.replace("AT", place).replace("OUTSIDE", outside.to_str().unwrap());
        match pick(&DRESSES) {
            "> DIFF" => diff.lines().flat_map(|line| ["> ", line, "\n"]).collect(),
            dress => dress.replace("DIFF", &diff),
        }
    };
    (0..count).map(diff).collect()
}

/// Creates a directory outside the project, with a file like one of the project's.
fn outside() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("kept"), "hello\n").unwrap();
    dir
}

/// Creates a project with symlinks that lead to `outside`.
fn project_with_links_to(outside: &Path) -> Project {
    let files = ["greet.txt", "sub/greet.txt", ".github/workflows/ci.yml", ".deepseek/config.toml"];
    let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "hello\n")).collect();
    let project = Project::new(&files);
    project.write("check.sh", "true\n");
    project.write("sub/.git/config", "hello\n");
    for (link, to) in
        [("out", outside), ("link", &outside.join("kept")), ("sub/loop", Path::new(".."))]
    {
        symlink(to, project.path(link)).unwrap();
    }
    project
}

/// Returns every path below some directories with its link target, or its mode and content.
fn snapshot(dirs: &[&Path]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut dirs: Vec<PathBuf> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let what = if data.is_dir() {
                dirs.push(path.clone());
                String::new()
            } else if data.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                format!(
                    "{:o} {}",
                    data.permissions().mode(),
                    String::from_utf8_lossy(&fs::read(&path).unwrap())
                )
            };
            found.insert(path, what);
        }
    }
    found
}

/// Returns the default rules under every approval mode and under yolo.
pub(crate) fn all_rules() -> Vec<(&'static str, PolicyRules)> {
    let Config { policy, agent_loop: AgentLoop { safety_gate, .. }, .. } =
        config::resolve_layers(&config::Inputs::default()).unwrap().config;
    let rules = |name, approval, mode| {
        (name, PolicyRules::new(&Policy { approval, mode, ..policy.clone() }, safety_gate).unwrap())
    };
    vec![
        rules("suggest", Approval::Suggest, Mode::Agent),
        rules("auto", Approval::Auto, Mode::Agent),
        rules("never", Approval::Never, Mode::Agent),
        rules("yolo", Approval::Suggest, Mode::Yolo),
    ]
}

/// Returns true if a path is in a `.deepseek` directory.
fn is_ours(path: &str) -> bool {
    path.to_lowercase().split('/').any(|name| name == ".deepseek")
}

/// Returns the rules' verdict on a patch that a model wrote.
fn judged(rules: &PolicyRules, plan: &ApplyPlan) -> Verdict {
    let paths: Vec<&str> =
        plan.changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
    let size = ChangeSize {
        files: paths.len(),
        lines: plan.added() + plan.removed(),
        of: SizeCount::Patch,
    };
    let act = Act::Patch { author: Author::Model, paths: &paths, size };
    rules.decide(Stage::Executing, act, Confinement::Full)
}

/// Snapshots what no patch may change: everything outside, in `.git` and in `.deepseek`, and the targets of links.
fn forbidden(project: &Project, outside: &Path) -> BTreeMap<PathBuf, String> {
    let is_own = |path: &Path| path.iter().any(|name| name == ".git" || name == ".deepseek");
    let mut found = snapshot(&[outside, project.root()]);
    found.retain(|path, what| path.starts_with(outside) || is_own(path) || what.starts_with("->"));
    found
}

#[test]
fn no_generated_diff_changes_anything_outside_under_any_rules() {
    let outside = outside();
    let project = project_with_links_to(outside.path());
    let read = ReadTree::open(project.root()).unwrap();
    let current = |path: &RepoPath| read.entry(path, u64::MAX);
    let (rules, limits) = (all_rules(), PatchLimits::default());
    let (mut refused, mut written) = (0, 0);
    for diff in diffs(14, 200, outside.path()) {
        let (scope, auto) = (PatchScope::default(), ApplyStrategy::Auto);
        let Ok(plan) = prepare(diff.as_bytes(), &scope, auto, &limits, &current) else {
            refused += 1;
            continue;
        };
        let touched: Vec<&str> =
            plan.changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
        let allowed_under =
            rules.iter().filter(|(_, rules)| judged(rules, &plan) == Verdict::Allow);
        let allowed_under: Vec<&str> = allowed_under.map(|(name, _)| *name).collect();
        let is_forbidden = |path: &&str| is_ours(path) || *path == ".envrc";
        let expected: &[&str] = if touched.iter().any(is_forbidden) {
            &[]
        } else if touched.iter().any(|path| path.starts_with(".git")) {
            // Other tools execute it.
            &["yolo"]
        } else {
            &["auto", "yolo"]
        };
        assert_eq!(allowed_under, expected, "{diff}");
        if allowed_under.is_empty() || plan.changes.is_empty() {
            continue;
        }
        written += 1;
        let fresh = project_with_links_to(outside.path());
        let before = forbidden(&fresh, outside.path());
        let tree = WriteTree::open(fresh.root(), CommitLog::none(Duration::from_secs(1))).unwrap();
        tree.commit(&plan, "attack").unwrap();
        assert_eq!(forbidden(&fresh, outside.path()), before, "{diff}");
        let modes = shell(fresh.root(), "find . -perm /6000 -print");
        assert_eq!(modes, "", "{diff}");
    }
    assert!(refused >= 100 && written >= 5, "{refused} refused, {written} written");
}

#[test]
fn no_generated_diff_in_a_run_changes_anything_forbidden_under_any_approval() {
    let flags = ["--approval=suggest", "--approval=auto", "--approval=never", "--yolo"];
    for (seed, flag) in (1..).zip(flags) {
        let outside = outside();
        for diff in diffs(seed, short_or_long(6, 200), outside.path()) {
            let declared: Vec<&str> = PLACES.into_iter().filter(|at| diff.contains(at)).collect();
            let plan = plan_verified_by(
                &[declared.as_slice(), &["greet.txt", "new.txt"]].concat(),
                &["true"],
            );
            let replies = vec![architect(plan).forever(), editor(diff.clone()).forever()];
            let world = World::of(project_with_links_to(outside.path()), Provider::new(replies));
            let before = forbidden(&world.project, outside.path());
            let run = world.deepseek(["--force-execute", "-p", "Fix it", flag]).run();
            assert!(run.code.is_some(), "{flag}: {diff}{}", run.stderr);
            assert_eq!(
                forbidden(&world.project, outside.path()),
                before,
                "{flag}: {diff}{}",
                run.stderr
            );
        }
    }
}
