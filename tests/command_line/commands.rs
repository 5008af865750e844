//! The command line: help, refused arguments, the configuration, and the commands other than requests.

use std::fs;
use std::num::NonZero;

use mock::ScriptedReply;

use crate::promises::docs::ROOT;
use crate::support::{
    Program, Project, Provider, Terminal, World, diff, greeting_fix, plan, wait_until,
};

/// Creates a world in which no model is called.
fn without_answers() -> World {
    World::greeting(Vec::new())
}

#[test]
fn every_command_has_help() {
    let world = without_answers();
    let mut waiting = vec![Vec::new()];
    let mut helped = 0;
    while let Some(command) = waiting.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let run = world.deepseek(words.iter().copied()).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(run.stdout.contains("Usage: deepseek"), "{words:?}");
        helped += 1;
        let below = run.stdout.split("Commands:\n").nth(1).unwrap_or_default();
        let names = below.lines().take_while(|line| !line.is_empty());
        // A continuation line of the previous command's description is indented further.
        let names = names.filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            waiting.push(command.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    assert!(helped > 15, "{helped} commands");
}

#[test]
fn unsupported_flags_and_combinations_are_refused_and_never_ignored() {
    let world = without_answers();
    let cases: [&[&str]; 10] = [
        &["--hetun", "--yolo", "-p", "Fix it"],
        &["--teammate-mode=never", "-p", "Fix it"],
        &["--teammate-mode", "sessions"],
        &["--max-subagents", "3", "run"],
        &["-c", "-p", "Fix it"],
        &["-r", "latest", "-p", "Fix it"],
        &["--mouse-capture", "--no-mouse-capture", "-p", "Fix it"],
        &["--force-execute", "--plan-only", "-p", "Fix it"],
        &["--no-such-flag"],
        &["no-such-command"],
    ];
    for args in cases {
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.starts_with("error: "), "{args:?}: {}", run.stderr);
    }
    assert!(world.provider.requests().is_empty());
}

#[test]
fn the_index_can_be_built_updated_inspected_and_queried() {
    let world = without_answers();
    let index = |args: &[&str]| {
        let args = ["index"].iter().chain(args).chain(&["--output", "json"]);
        let run = world.deepseek(args.copied()).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    assert_eq!(index(&["status"])["condition"], "missing");
    let built = index(&["build"]);
    assert!(built["added"].as_u64().unwrap() > 0, "{built}");
    let status = index(&["status"]);
    assert_eq!((&status["condition"], &status["files"]), (&"fresh".into(), &built["added"]));
    world.project.write("pagination.rs", "fn turn_page() {}\n");
    assert_eq!(index(&["status"])["condition"], "stale");
    assert_eq!(
        index(&["query", "turn the pages", "--limit", "1"])["files"][0]["path"],
        "pagination.rs"
    );
    index(&["update"]);
    assert_eq!(index(&["status"])["condition"], "fresh");
}

#[test]
fn policy_shows_the_table_and_the_lists_with_their_sources() {
    let world = without_answers().with_default_commands();
    let shown = world.deepseek(["policy", "show", "--confinement", "full"]).run();
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(shown.stdout);
    let shown = world.deepseek(["policy", "show", "--yolo", "--output", "json"]).run();
    let policy: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&policy["mode"], &policy["approval"]), (&"yolo".into(), &"suggest".into()));
    assert_eq!(policy["values"]["policy.mode"]["source"], "flag --yolo");
    // Three modes, four stages, thirteen actions, five levels of confinement.
    assert_eq!(policy["table"].as_array().unwrap().len(), 3 * 4 * 13 * 5);
}

#[test]
fn a_configuration_error_names_the_file_the_line_and_the_nearest_key() {
    let world = without_answers();
    let cases = [
        (
            "[llm]\nbase_urll = \"x\"\n",
            "wrong.toml:2: unknown key `llm.base_urll`; did you mean `llm.base_url`?",
        ),
        ("[llm]\n\nmax_retries = \"many\"\n", "wrong.toml:3: `llm.max_retries`"),
        ("[policy]\napproval = \"sometimes\"\n", "wrong.toml:2: `policy.approval`"),
        ("[llm\n", "wrong.toml:1: "),
    ];
    for (text, words) in cases {
        world.project.write("wrong.toml", text);
        for args in [vec!["config", "show"], vec!["-p", "Fix it"]] {
            let run = world.deepseek(args.into_iter().chain(["--config", "wrong.toml"])).run();
            assert_eq!(run.code, Some(2), "{text}: {}", run.stderr);
            assert!(run.stderr.contains(words) && run.stderr.contains("hint: "), "{}", run.stderr);
        }
    }
    let nowhere = world.deepseek(["config", "show", "--config", "nowhere.toml"]).run();
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.stderr);
    let profile = world.deepseek(["config", "show", "--profile", "nobody"]).run();
    assert_eq!(profile.code, Some(2), "{}", profile.stderr);
    assert!(world.provider.requests().is_empty());
}

#[test]
fn every_value_is_shown_with_its_source_and_no_key_is_shown() {
    let world = without_answers().configure("[profiles.fast.llm]\nmax_retries = 0\n");
    world.project.write(".deepseek/config.toml", "[agent_loop]\nmax_iterations = 3\n");
    let run = world.deepseek(["config", "show", "--profile", "fast", "--budget-usd", "0.5"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let source = |key: &str| {
        let line = run.stdout.lines().find(|line| line.starts_with(&format!("{key} ")));
        line.unwrap_or_else(|| panic!("{key} is not shown")).split("  # ").nth(1).unwrap()
    };
    assert_eq!(source("llm.peak.holidays"), "default");
    assert!(source("llm.retry_base_ms").ends_with("config.toml"), "{}", run.stdout);
    assert!(source("agent_loop.max_iterations").contains(".deepseek/config.toml"));
    assert_eq!(source("llm.max_retries"), "profile fast");
    assert!(source("llm.base_url").contains("DEEPSEEK_BASE_URL"));
    assert!(source("budget.usd").contains("--budget-usd"));
    assert!(!(run.stdout + &run.stderr).contains(crate::support::KEY));
}

#[test]
fn lanes_can_be_configured_by_flags() {
    let world = without_answers();
    for (flags, mode, subagents, warning) in [
        (vec!["--teammate-mode"], "auto", "10", ""),
        (vec!["--teammate-mode", "on"], "on", "10", ""),
        (vec!["--max-subagents", "20"], "off", "20", ""),
        (vec!["--max-subagents", "50"], "off", "20", "--max-subagents 50: at most 20; using 20"),
        (vec!["--max-subagents", "0"], "off", "1", "--max-subagents 0: at least 1; using 1"),
        (vec!["--max-subagents", "-2"], "off", "1", "--max-subagents -2: at least 1; using 1"),
    ] {
        let run = world.deepseek(flags.iter().copied().chain(["config", "show"])).run();
        assert_eq!(run.code, Some(0), "{flags:?}: {}", run.stderr);
        assert!(run.stdout.contains(&format!("lanes.mode = \"{mode}\"")), "{}", run.stdout);
        let line = format!("lanes.max_subagents = {subagents}  # ");
        assert!(run.stdout.contains(&line), "{flags:?}: {}", run.stdout);
        let said: Vec<&str> = run.stderr.lines().filter(|line| !line.is_empty()).collect();
        let warning = (!warning.is_empty()).then(|| format!("warning: {warning}"));
        assert_eq!(said, warning.iter().collect::<Vec<_>>(), "{flags:?}");
    }
}

#[test]
fn config_get_returns_what_config_set_stored_and_an_invalid_value_changes_nothing() {
    let world = without_answers();
    assert_eq!(world.deepseek(["config", "set", "llm.max_retries", "7"]).run().code, Some(0));
    let got = world.deepseek(["config", "get", "llm.max_retries"]).run();
    assert_eq!(got.stdout, "7\n");
    for (key, value) in [("llm.max_retrys", "1"), ("llm.max_retries", "many")] {
        let run = world.deepseek(["config", "set", key, value]).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
    }
    assert_eq!(world.deepseek(["config", "get", "llm.max_retries"]).run().stdout, "7\n");
}

#[test]
fn a_workspace_cannot_choose_which_server_gets_the_key() {
    let thief = Provider::new(Vec::new());
    let world = World::greeting(vec![ScriptedReply::text("It greets.").to("analysis")]);
    let url = thief.base_url();
    world.project.write(
        ".deepseek/config.toml",
        format!("[llm]\nbase_url = \"{url}\"\n[policy]\nmode = \"yolo\"\n"),
    );
    world.project.write(".env", format!("DEEPSEEK_BASE_URL={url}\n"));
    let run = world.deepseek(["ask", "What is this?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("warning: "), "{}", run.stderr);
    assert!(thief.requests().is_empty());
    let mode = world.deepseek(["config", "get", "policy.mode"]).run();
    assert_eq!(mode.stdout.trim().trim_matches('"'), "agent");
}

#[test]
fn the_mock_command_serves_a_script_in_its_own_process() {
    let world = without_answers();
    let quoted = |text: &str| format!("'''\n{text}'''");
    let script = format!(
        "[[reply]]\nrole = \"architect\"\ntext = {}\n[[reply]]\nrole = \"editor\"\ntext = {}\n",
        quoted(&plan(&["greet.txt"])),
        quoted(&diff("greet.txt", "hello", "hello world"))
    );
    let elsewhere = Project::without_git(&[("script.toml", &script)]);
    let args = ["mock", "--script", "script.toml", "--log", "requests.jsonl"];
    let mut program = Program::new(env!("CARGO_BIN_EXE_deepseek"), elsewhere.root());
    let mock = program.args(args).env("HOME", elsewhere.root()).start();
    let url = wait_until(std::time::Duration::from_secs(30), || {
        let said = mock.stdout_so_far();
        let url = said.split_whitespace().find(|word| word.starts_with("http://"))?;
        said.contains('\n').then(|| url.to_owned())
    });
    let run = world.request("Fix the greeting").env("DEEPSEEK_BASE_URL", url.unwrap()).run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let log = elsewhere.read("requests.jsonl");
    assert_eq!(log.lines().count(), 2);
    assert!(!log.contains(crate::support::KEY));
    drop(mock);
}

#[test]
fn sessions_are_listed_and_shown() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    let list = world.deepseek(["sessions", "list"]).run();
    assert_eq!(list.code, Some(0), "{}", list.stderr);
    assert!(list.stdout.contains("Fix the greeting"), "{}", list.stdout);
    let id = fs::read_dir(world.state().join("sessions")).unwrap().next().unwrap().unwrap();
    let id = id.file_name().into_string().unwrap();
    let show = world.deepseek(["sessions", "show", &id[..12]]).run();
    assert_eq!(show.code, Some(0), "{}", show.stderr);
    assert!(show.stdout.contains("RunFinished"), "{}", show.stdout);
    let nobody = world.deepseek(["sessions", "show", "nobody"]).run();
    assert_eq!(nobody.code, Some(2), "{}", nobody.stderr);
}

#[test]
fn the_summary_shows_calls_tokens_and_cost_and_with_v_cache_hits_and_misses() {
    let world = World::greeting(greeting_fix());
    let run =
        world.deepseek(["--force-execute", "-p", "Fix the greeting", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for word in ["2 calls", " tokens in, ", " out", "$", "session"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("cache: "), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}'), "no colours without a terminal");
    let again = world.deepseek(["ask", "Why?", "-v"]).run();
    for word in ["hit", "miss", "avoidable"] {
        assert!(again.stderr.contains(word), "{word}: {}", again.stderr);
    }
}

#[test]
fn the_hint_for_the_full_output_of_a_failed_check_works() {
    let check = "i=0; while [ $i -lt 20 ]; do echo noise $i; i=$((i+1)); done; echo 'FAILED t.py::a - no'; exit 1";
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", check)]);
    let world = World::of(project, Provider::new(greeting_fix()));
    let world = world.configure("[agent_loop]\nmax_iterations = 1\n");
    let run =
        world.deepseek(["--force-execute", "-p", "Fix the greeting", "--approval", "auto"]).run();
    let hint = run.stderr.split("full output: deepseek ").nth(1).expect(&run.stderr);
    let words: Vec<&str> = hint.lines().next().unwrap().split(' ').collect();
    let explained = world.deepseek(words).run();
    assert_eq!(explained.code, Some(0), "{}", explained.stderr);
    assert!(explained.stdout.contains("noise 19\nFAILED t.py::a - no"), "{}", explained.stdout);
}

#[test]
fn a_request_can_come_from_standard_input() {
    let world = World::greeting(greeting_fix());
    let run = world
        .deepseek(["--force-execute", "--approval", "auto", "--output", "json"])
        .input("Fix the greeting\n")
        .run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.events.len(), 1, "{}", run.stdout);
    assert_eq!(run.events[0]["delivery"]["state"], "delivered");
    assert_eq!(run.events[0]["changes"].as_array().unwrap().len(), 1);
}

#[test]
fn piped_text_is_added_to_a_request_given_as_an_argument() {
    let answers = ["One.", "Two.", "Three."].map(|text| ScriptedReply::text(text).to("analysis"));
    let world = World::greeting(answers.to_vec());
    for words in [&["ask", "Why?"][..], &["--tools=false", "-p", "Why?"], &["ask", "Why", "not?"]] {
        let run = world.deepseek(words.iter().copied()).input("a stack trace\n").run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let asked = world.provider.requests().last().unwrap().request.json["messages"].to_string();
        let piped = r"?\n\n<stdin>\na stack trace\n</stdin>";
        assert!(asked.contains(piped), "{words:?}: {asked}");
    }
    let too_long = "x".repeat(500_000);
    let run = world.deepseek(["ask", "Why?"]).input(&too_long).run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("more than 400000 bytes"), "{}", run.stderr);
}

#[test]
fn a_pipe_to_which_nothing_is_written_does_not_block_a_request() {
    let world = World::greeting(vec![ScriptedReply::text("Two.").to("analysis")]);
    let (read, _write) = std::io::pipe().unwrap();
    let run = world.deepseek(["ask", "Why?"]).stdin(read).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("nothing arrives on standard input"), "{}", run.stderr);
}

#[test]
fn a_page_is_exported_to_a_file() {
    let world = World::greeting(vec![ScriptedReply::text("Two.").to("analysis")]);
    world.deepseek(["ask", "Why?"]).run();
    let printed = world.deepseek(["export", "--html"]).run();
    let run = world.deepseek(["export", "--html", "--out", "report.html"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    assert!(run.stderr.contains("report.html"), "{}", run.stderr);
    assert_eq!(world.project.read("report.html"), printed.stdout);
    let mut terminal = Terminal::start(&mut world.deepseek(["export", "--html"]));
    assert_eq!(terminal.ends(), Some(2), "{}", terminal.shown());
    assert!(terminal.shown().contains("--out report.html"), "{}", terminal.shown());
}

#[test]
fn doctor_reports_a_missing_key_and_an_unreachable_provider() {
    let world = World::greeting(vec![ScriptedReply::text("Yes.").to("intent").forever()]);
    let run = world.deepseek(["doctor"]).run();
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    let mut program = world.deepseek(["doctor"]);
    let run =
        program.env_remove("DEEPSEEK_API_KEY").env("DEEPSEEK_BASE_URL", "http://127.0.0.1:1").run();
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stdout.contains("DEEPSEEK_API_KEY"), "{}", run.stdout);
}

/// Returns the lines of the recorded demo, without those that contain a number or a path, which differ between runs.
fn recorded_demo() -> Vec<String> {
    const ENOUGH_ROWS: NonZero<u16> = NonZero::new(300).unwrap();
    const COLUMNS: NonZero<u16> = NonZero::new(100).unwrap();
    let mut terminal = vt100::Parser::new(ENOUGH_ROWS, COLUMNS, 0);
    for line in fs::read_to_string(format!("{ROOT}/docs/demo.cast")).unwrap().lines().skip(1) {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        terminal.process(event[2].as_str().unwrap().as_bytes());
    }
    let rows = terminal.screen().rows(0, COLUMNS.get()).map(|row| row.trim_end().to_owned());
    let varies = |row: &String| row.contains("/tmp/") || row.contains(|c: char| c.is_ascii_digit());
    rows.filter(|row| !row.is_empty() && !varies(row)).collect()
}

#[test]
fn the_demo_needs_no_key_and_shows_a_refused_patch_a_failed_check_and_a_delivery() {
    let world = without_answers();
    let mut program = world.deepseek(["demo"]);
    program.with_cargo().env("TMPDIR", world.project.root());
    let run = program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = run.stdout + &run.stderr;
    for words in ["scripted", "patch refused", "failed (exit", "passed", "Delivered", "calls"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // The recording shows what is said now.
    let recorded = recorded_demo();
    assert!(recorded.len() > 20, "{recorded:#?}");
    for line in recorded {
        assert!(said.contains(&line), "docs/demo.cast is out of date ({line}): {said}");
    }
    // Other commands do not look into the demo's state, so it must not suggest them.
    assert!(!said.contains("undo: ") && !said.contains("commit: "), "{said}");
    assert!(world.provider.requests().is_empty());
}

#[test]
fn config_commands_edit_lists_in_every_toml_form() {
    let world = World::greeting(greeting_fix()).with_default_commands();
    let said = |args: &[&str]| {
        let run = world.deepseek(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        run.stdout
    };
    said(&["config", "set", "policy", "{ mode = \"agent\" }"]);
    said(&["config", "add", "policy.allow_commands", "./a.sh", "--", "-x y"]);
    let all = said(&["config", "get", "policy.allow_commands"]);
    assert!(all.contains("cargo test*") && all.contains("./a.sh") && all.contains("-x y"), "{all}");
    let own = || {
        let shown = said(&["config", "show"]);
        let line = shown.lines().find(|line| line.starts_with("policy.allow_commands")).unwrap();
        fs::read_to_string(line.split_once("# user ").unwrap().1).unwrap()
    };
    assert!(own().contains("[\"...\", \"./a.sh\", \"-x y\"]"), "only what is added: {}", own());
    said(&["config", "remove", "policy.allow_commands", "./a.sh"]);
    let all = said(&["config", "get", "policy.allow_commands"]);
    assert!(all.contains("cargo test*") && !all.contains("./a.sh"), "{all}");
    assert!(own().contains("[\"...\", \"-x y\"]"), "{}", own());
    said(&["config", "remove", "policy.allow_commands", "cargo test*"]);
    let all = said(&["config", "get", "policy.allow_commands"]);
    assert!(!all.contains("cargo test*") && all.contains("-x y"), "{all}");
    said(&["config", "set", "policy.options.cargo test", "[\"--doc\"]"]);
    assert_eq!(said(&["config", "get", "policy.options.cargo test"]).trim(), "[\"--doc\"]");
    said(&["config", "unset", "policy.allow_commands"]);
    let again = world.deepseek(["config", "unset", "policy.allow_commands"]).run();
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    let missing = world.deepseek(["config", "remove", "policy.allow_commands", "no such"]).run();
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
}

#[test]
fn unquoted_words_are_a_request_and_a_mistyped_command_costs_nothing() {
    let world = World::greeting(greeting_fix());
    let words = ["--force-execute", "--approval", "auto", "fix", "the", "greeting"];
    let run = world.deepseek(words).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.last_message("architect", 1).contains("fix the greeting"));
    let asked = world.provider.requests().len();
    for (word, meant) in [("exec", "deepseek -p"), ("sesions", "deepseek sessions")] {
        let run = world.deepseek([word]).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(meant), "{}", run.stderr);
    }
    assert_eq!(world.provider.requests().len(), asked);
}

#[test]
fn a_verbose_run_logs_every_event_and_targets_are_the_names_of_crates() {
    let log = |args: &[&str], filter: Option<&str>| {
        let world = World::greeting(greeting_fix());
        let request = ["-p", "Fix the greeting", "--approval", "auto", "--force-execute"];
        let mut program = world.deepseek(request.into_iter().chain(args.iter().copied()));
        if let Some(filter) = filter {
            program.env("DEEPSEEK_LOG", filter);
        }
        program.run().stderr
    };
    for shown in [log(&["-v"], None), log(&[], Some("deepseek_journal=info"))] {
        for kind in ["RunStarted@v1", "ModelRequest@v1", "PatchApplied@v1", "RunFinished@v3"] {
            assert!(shown.contains(kind), "{kind} in {shown}");
        }
    }
    for quiet in [log(&[], None), log(&[], Some("deepseek_patch=debug"))] {
        assert!(!quiet.contains("RunStarted@v1"), "{quiet}");
    }
}

#[test]
fn settings_under_other_names_are_read_and_written_back_under_ours() {
    let world = World::greeting(Vec::<ScriptedReply>::new());
    let file = world.home().join("config/deepseek/config.toml");
    let text = "# mine\ndefault_mode = \"normal\"\n[llm]\nbase_model = \"deepseek-v4-pro\"\n[policy]\napprove_edits = \"ask\"\n";
    fs::write(&file, text).unwrap();
    let get = |key: &str| {
        let run = world.deepseek(["config", "get", key]).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout.trim().to_owned()
    };
    assert_eq!(get("policy.mode"), "agent");
    assert_eq!(get("llm.base_model"), "deepseek-v4-pro");
    assert_eq!(get("router.threshold_high"), "0.72");
    let run = world.deepseek(["config", "set", "router.threshold_high", "0.8"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = fs::read_to_string(&file).unwrap();
    for part in ["mode = \"agent\"", "approval = \"suggest\"", "max_think_threshold = 0.8"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["default_mode", "normal", "approve_edits", "threshold_high", "base_model = "] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    assert_eq!(get("llm.base_model.model"), "deepseek-v4-pro");
    let run = world.deepseek(["config", "set", "index.enabled", "false"]).run();
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("the index cannot be turned off"), "{}", run.stderr);
}
