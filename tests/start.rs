//! How one begins: in which directory, with what written down, and without a key.

use crate::support::{Project, Provider, World, mended};

#[test]
fn a_request_below_the_root_of_a_project_is_about_the_project() {
    let world = World::greeting(mended());
    world.project.write("src/deep/x.txt", "x\n");
    let request = "--force-execute -p 'Fix the greeting' --approval auto";
    let run = world.after("cd src/deep", request).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let root = world.project.root().canonicalize().unwrap();
    let told = format!("workspace: {} (from src/deep/)\n", root.display());
    assert!(run.stderr.starts_with(&told), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    let [above, below] = ["cd .", "cd src"].map(|cd| world.after(cd, "sessions").run().stdout);
    assert_eq!((above.lines().count(), &above), (1, &below));
    // A path is one from where the user is, and the directory that is named is the workspace.
    let run = world.after("cd src", "rewind 1 ../greet.txt --dry-run").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let run = world.after("cd src", "sessions --workspace .").run();
    assert_eq!(run.stdout, "", "{}", run.stderr);
}

#[test]
fn whoever_works_in_the_home_directory_is_warned() {
    let world = World::greeting(vec![mock::Reply::text("It is.").to("analysis")]);
    let home = world.home().display().to_string();
    let run = world.deepseek(["ask", "Is it?", "--workspace", &home]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("warning: the workspace is your home directory"), "{}", run.stderr);
}

#[test]
fn what_a_project_tells_agents_is_written_once() {
    let files =
        [("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", ""), ("docs/a.md", "")];
    let world = World::of(Project::new(&files), Provider::new(Vec::new()));
    let run = world.after("cd src", "init").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let written = world.project.read("AGENTS.md");
    for part in ["\n- `cargo test`\n", "\n- `docs/`\n- `src/`\n"] {
        assert!(written.contains(part), "{written}");
    }
    assert!(run.stdout.contains("  - `cargo test`\n"), "what is written is shown: {}", run.stdout);
    let configuration = world.project.read(".deepseek/config.toml");
    assert_eq!(world.deepseek(["config", "show"]).run().code, Some(0));
    world.project.write("AGENTS.md", "Mine.\n");
    let again = world.deepseek(["init"]).run();
    assert!(again.stderr.contains("AGENTS.md is there already"), "{}", again.stderr);
    assert_eq!(world.project.read("AGENTS.md"), "Mine.\n");
    assert_eq!(world.project.read(".deepseek/config.toml"), configuration);
    let json = world.deepseek(["init", "--output", "json"]).run();
    assert_eq!(json.events[0]["written"], serde_json::json!([]));
    assert_eq!(json.events[0]["checks"], serde_json::json!(["cargo test"]));
}

#[test]
fn without_a_key_one_is_told_where_it_comes_from_and_how_to_keep_it() {
    let world = World::greeting(Vec::new());
    let mut program = world.deepseek(["-p", "Fix it"]);
    let run = program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    insta::assert_snapshot!(run.stderr, @"
    error: there is no API key
    hint: get one at https://platform.deepseek.com/api_keys and keep it with `deepseek auth login`, or export DEEPSEEK_API_KEY=sk-…; `deepseek demo` needs none
    ");
    let mut login = world.deepseek(["auth", "login"]);
    let login =
        login.env_remove("DEEPSEEK_API_KEY").input("sk-0123456789abcdef0123456789abcdef\n").run();
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    let status = world.deepseek(["auth", "status"]).env_remove("DEEPSEEK_API_KEY").run();
    assert_eq!(status.code, Some(0), "{}", status.stderr);
}
