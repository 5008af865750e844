//! First steps: the workspace directory, `--set`, output formats, `init`, and starting without a key.

use mock::ScriptedReply;

use crate::support::{Project, Provider, Terminal, World, greeting_fix};

#[test]
fn a_request_in_a_subdirectory_is_about_the_whole_project() {
    let world = World::greeting(greeting_fix());
    world.project.write("src/deep/x.txt", "x\n");
    let request = "--force-execute -p 'Fix the greeting' --approval auto";
    let run = world.after("cd src/deep", request).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let root = world.project.root().canonicalize().unwrap();
    let expected = format!("workspace: {} (from src/deep/)\n", root.display());
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    let [above, below] = ["cd .", "cd src"].map(|cd| world.after(cd, "sessions").run().stdout);
    assert_eq!((above.lines().count(), &above), (1, &below));
    // Paths are relative to the user's directory, and `--workspace` names the workspace exactly.
    let run = world.after("cd src", "rewind 1 ../greet.txt --dry-run").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let run = world.after("cd src", "sessions --workspace .").run();
    assert_eq!(run.stdout, "", "{}", run.stderr);
}

#[test]
fn set_changes_any_key_for_one_run() {
    let world = World::greeting(Vec::new());
    let get = |set: &[&str]| {
        let words = ["config", "get", "agent_loop.max_iterations"];
        let set = set.iter().flat_map(|it| ["--set", it]);
        world.deepseek(words.into_iter().chain(set)).run()
    };
    assert_eq!(
        get(&["agent_loop.max_iterations=7", "agent_loop.max_iterations = 9"]).stdout,
        "9\n"
    );
    for (set, says) in [
        ("agent_loop.max_iteration=7", "did you mean `agent_loop.max_iterations`"),
        ("agent_loop.max_iterations=many", "agent_loop.max_iterations"),
        ("agent_loop", "KEY=VALUE"),
    ] {
        let run = get(&[set]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{set}");
        assert!(run.stderr.contains(says), "{set}: {}", run.stderr);
    }
}

#[test]
fn failures_are_json_documents_with_json_output() {
    let world = World::greeting(Vec::new());
    for (words, says) in [
        (["sessions", "show", "nobody"], "there is no session `nobody`"),
        (["sessions", "shoe", "latest"], "unrecognized subcommand"),
        (["run", "fix", "it"], "it takes a session id"),
        (["config", "get", "-v"], "not provided: <KEY>"),
    ] {
        let run = world.deepseek(words.into_iter().chain(["--output", "json"])).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        let error = &run.events[0]["error"];
        assert_eq!((error["kind"].as_str(), error["exit"].as_u64()), (Some("usage"), Some(2)));
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        assert!(error["hint"].as_str().is_some(), "{error}");
    }
    // A failure that is reported as an outcome is not reported again.
    let run = world.deepseek(["ask", "Is it?", "--output", "json"]).run();
    assert_eq!((run.code, run.events.len()), (Some(5), 1), "{}", run.stdout);
    let run = world.deepseek(["ask", "Is it?", "--output", "stream-json"]).run();
    assert_eq!(run.events.last().unwrap()["kind"], "Outcome", "{}", run.stdout);
    let run = world.deepseek(["-r", "nobody", "-p", "x", "--output", "stream-json"]).run();
    assert_eq!(run.events.last().unwrap()["kind"], "Error", "{}", run.stdout);
}

#[test]
fn times_are_shown_in_the_users_time_zone_and_ids_by_their_ends() {
    let world = World::greeting(vec![ScriptedReply::text("It is.").to("analysis")]);
    world.deepseek(["ask", "Is it?"]).run();
    let json = world.deepseek(["sessions", "--output", "json"]).run();
    let id = json.events[0][0]["id"].as_str().unwrap().to_owned();
    let started = json.events[0][0]["started"].as_str().unwrap().to_owned();
    assert!(started.ends_with('Z'), "{started}");
    let [utc, kolkata] = ["UTC", "Asia/Kolkata"]
        .map(|zone| world.deepseek(["sessions"]).env("TZ", zone).run().stdout);
    let minute = started[..16].replace('T', " ");
    assert!(utc.starts_with(&format!("{}  {minute}  answered", &id[10..])), "{utc}");
    assert_ne!(utc, kolkata);
    let shown = world.deepseek(["sessions", "show", &id[10..]]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
}

#[test]
fn the_pager_is_used_only_at_a_terminal() {
    let world = World::greeting(Vec::new());
    let shown = |pager: &str| {
        let mut program = world.deepseek(["config", "show"]);
        let mut terminal = Terminal::start(program.env("PAGER", pager));
        assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
        terminal
    };
    shown("sed s/^/paged:/").until("paged:llm.base_url", 1);
    for none in ["", "cat", "no-such-pager"] {
        shown(none).until("llm.base_url", 1);
    }
    // An editor gets the terminal itself.
    world.project.write("editor.sh", "test -t 1 && echo at a terminal\n");
    let mut program = world.deepseek(["config", "edit", "--local"]);
    let mut terminal =
        Terminal::start(program.env("PAGER", "cat -A").env("EDITOR", "sh editor.sh"));
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    terminal.until("at a terminal\r\n", 1);
    let piped = world.deepseek(["config", "show"]).env("PAGER", "sed s/^/paged:/").run();
    assert!(!piped.stdout.contains("paged:"), "{}", piped.stdout);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let world = World::greeting(Vec::new());
    let page = world.deepseek(["man"]).run();
    assert!(page.stdout.contains(".TH deepseek 1"), "{}", page.stdout);
    assert_eq!(world.deepseek(["man", "--into", "pages/man1"]).run().code, Some(0));
    for page in ["deepseek.1", "deepseek-rewind.1", "deepseek-config-set.1"] {
        assert!(world.project.path("pages/man1").join(page).exists(), "{page}");
    }
}

#[test]
fn working_in_the_home_directory_gives_a_warning() {
    let world = World::greeting(vec![ScriptedReply::text("It is.").to("analysis")]);
    let home = world.home().display().to_string();
    let run = world.deepseek(["ask", "Is it?", "--workspace", &home]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("warning: the workspace is your home directory"), "{}", run.stderr);
}

#[test]
fn init_writes_agents_md_and_never_overwrites_it() {
    let files =
        [("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", ""), ("docs/a.md", "")];
    let world = World::of(Project::new(&files), Provider::new(Vec::new()));
    let run = world.after("cd src", "init").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let written = world.project.read("AGENTS.md");
    for part in ["\n- `cargo test`\n", "\n- `docs/`\n- `src/`\n"] {
        assert!(written.contains(part), "{written}");
    }
    assert!(
        run.stdout.contains("  - `cargo test`\n"),
        "the written text must be shown: {}",
        run.stdout
    );
    let configuration = world.project.read(".deepseek/config.toml");
    assert_eq!(world.deepseek(["config", "show"]).run().code, Some(0));
    world.project.write("AGENTS.md", "Mine.\n");
    let again = world.deepseek(["init"]).run();
    assert!(again.stderr.contains("AGENTS.md already exists"), "{}", again.stderr);
    assert_eq!(world.project.read("AGENTS.md"), "Mine.\n");
    assert_eq!(world.project.read(".deepseek/config.toml"), configuration);
    let json = world.deepseek(["init", "--output", "json"]).run();
    assert_eq!(json.events[0]["written"], serde_json::json!([]));
    assert_eq!(json.events[0]["checks"], serde_json::json!(["cargo test"]));
}

#[test]
fn without_a_key_the_hint_says_where_to_get_and_how_to_store_one() {
    let world = World::greeting(Vec::new());
    let mut program = world.deepseek(["-p", "Fix it"]);
    let run = program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    insta::assert_snapshot!(run.stderr, @"
    error: there is no API key
    hint: get one at https://platform.deepseek.com/api_keys and store it with `deepseek auth login`, or export DEEPSEEK_API_KEY=sk-…; `deepseek demo` needs no key
    ");
    let mut login = world.deepseek(["auth", "login"]);
    let login =
        login.env_remove("DEEPSEEK_API_KEY").input("sk-0123456789abcdef0123456789abcdef\n").run();
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    let status = world.deepseek(["auth", "status"]).env_remove("DEEPSEEK_API_KEY").run();
    assert_eq!(status.code, Some(0), "{}", status.stderr);
}

#[test]
fn a_slash_command_as_a_request_makes_no_model_call() {
    let world = World::greeting(vec![ScriptedReply::text("One.").to("analysis")]);
    for (text, hint) in [
        ("/cost", "`deepseek usage`"),
        ("/undo", "`deepseek rewind`"),
        ("/status", "`deepseek` starts a conversation"),
        ("/statsu", "did you mean /status?"),
        ("/review HEAD", "`deepseek review HEAD`"),
    ] {
        let piped = world.deepseek(Vec::<&str>::new()).input(text).run();
        let given = world.deepseek(["-p", text]).run();
        for run in [piped, given] {
            assert_eq!(run.code, Some(2), "{text}: {}", run.stderr);
            assert!(run.stderr.contains(hint), "{text}: {}", run.stderr);
        }
    }
    assert_eq!(world.provider.roles(), "");
    // A request that says what it is needs no model to decide that.
    let run = world.deepseek(Vec::<&str>::new()).input("/ask What is a lexer?\n").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.provider.roles(), "analysis");
}
