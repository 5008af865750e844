//! A real crate, one of our dependencies, broken in one line: the bug is fixed, with the crate's own tests as the check.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Program, Project, Provider, World, architect, editor, plan_verified_by};

/// Returns the directory with the source of a dependency.
fn source_of(package: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Program::new(env!("CARGO"), root);
    let said = cargo.args(["-vV"]).with_cargo().run().stdout;
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut cargo = Program::new(env!("CARGO"), root);
    // Sources for other platforms may be missing, since this test was built without them.
    cargo.args(["metadata", "--offline", "--locked", "--format-version", "1"]);
    let run = cargo.args(["--filter-platform", host]).with_cargo().run();
    let metadata: Value = serde_json::from_str(&run.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().find(|known| known["name"] == package).unwrap();
    Path::new(found["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// Copies a directory recursively.
fn copy(from: &Path, project: &Project, below: &str) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            copy(&entry.path(), project, &format!("{name}/"));
        } else {
            project.write(&name, fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn a_bug_in_a_real_crate_is_fixed_until_its_own_tests_pass() {
    let project = Project::without_git(&[(".gitignore", "target\nCargo.lock\n")]);
    copy(&source_of("strsim"), &project, "");
    let right = project.read("src/lib.rs");
    assert!(right.contains("count += 1;"), "hamming() has changed");
    project.write("src/lib.rs", right.replacen("count += 1;", "count += 2;", 1));
    project.commit();
    let counts = |old: u32, new: u32| {
        // The line number in the header is wrong, as it often is in diffs by models.
        format!(
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -7,3 +7,3 @@\n                 if x != y {{\n-                    count += {old};\n+                    count += {new};\n                 }}\n"
        )
    };
    let provider = Provider::new(vec![
        architect(plan_verified_by(&["src/lib.rs"], &["cargo test --offline --lib"])),
        editor(counts(2, 3)),
        editor(counts(3, 1)),
    ]);
    let world =
        World::of(project, provider).configure("[policy]\nallow_commands = [\"cargo test*\"]\n");
    let before = world.project.hashes(".git");
    let run = world.request("Fix the failing tests of hamming in src/lib.rs").with_cargo().run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.hashes(".git"), before);
    assert_eq!(world.project.changed(), ["src/lib.rs"]);
    assert_eq!(world.project.read("src/lib.rs"), right);
    let prompt = world.provider.last_message("editor", 2);
    assert!(prompt.contains("hamming") && prompt.contains("count += 3"), "{prompt}");
}
