//! Tools that models call to answer questions: the result of each call, valid or not, and that nothing is written.

use std::fs;
use std::os::unix::fs::symlink;

use mock::{Behaviour, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use crate::support::{Project, Provider, Run, Terminal, World, shell};

/// Returns an answer that calls these tools.
fn calls(tools: &[(&str, Value)]) -> ScriptedReply {
    let call = |(name, arguments): &(&str, Value)| ScriptedCall {
        name: (*name).to_owned(),
        arguments: arguments.as_str().map_or(arguments.to_string(), str::to_owned),
    };
    let tool_calls = tools.iter().map(call).collect();
    ScriptedReply { tool_calls, ..ScriptedReply::of(Behaviour::ToolCall) }.to("analysis")
}

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

/// Returns the results of the tool calls in the model's `number`th request.
fn tool_results(world: &World, number: usize) -> Vec<Value> {
    let requests = world.provider.of("analysis");
    let messages = requests[number - 1].request.json["messages"].as_array().unwrap().clone();
    let results = messages.into_iter().rev().take_while(|it| it["role"] == "tool");
    let mut results: Vec<Value> =
        results.map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap()).collect();
    results.reverse();
    results
}

fn answer(run: &Run) -> &str {
    run.all("TurnAdded").last().unwrap()["text"].as_str().unwrap()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_model_reads_by_calling_tools_and_answers() {
    // With a Cargo.toml a check would create a build directory; tool calls must not create it.
    let files = [
        ("greet.txt", "hello\n"),
        ("src/a.rs", "fn greet() {}\n"),
        (".env", "TOKEN=x1\n"),
        ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n"),
    ];
    let replies = vec![
        calls(&[
            ("fs_list", json!({})),
            ("fs_read", json!({"path": "greet.txt"})),
            ("fs_search_rg", json!({"pattern": "gr..t", "glob": "*.rs"})),
            ("symbol_find", json!({"name": "greet"})),
        ]),
        calls(&[
            ("git_status", json!({})),
            ("git_diff", json!({})),
            ("git_show", json!({"revision": "HEAD", "path": "greet.txt"})),
            ("index_query", json!({"words": "greeting"})),
        ]),
        says("It greets, in src/a.rs:1."),
    ];
    let world = World::of(Project::new(&files), Provider::new(replies));
    world.project.write("greet.txt", "hello\nagain\n");
    world.project.write(".env", "TOKEN=y2\n");
    let changed_at = || fs::metadata(world.project.root()).unwrap().modified().unwrap();
    let (before, at) = (world.project.hashes(""), changed_at());
    let run = world.asks("Where is the greeting?");
    assert_eq!((run.code, answer(&run)), (Some(0), "It greets, in src/a.rs:1."), "{}", run.stderr);
    let first = &world.provider.of("analysis")[0].request.json;
    assert_eq!(first["tools"].as_array().unwrap().len(), 10);
    let values = |number| -> Vec<String> {
        let value = |it: Value| it["value"].as_str().unwrap_or_else(|| panic!("{it}")).to_owned();
        tool_results(&world, number).into_iter().map(value).collect()
    };
    let [list, read, search, symbol] = values(2).try_into().unwrap();
    assert!(list.contains("greet.txt") && list.contains("src/ (1 file)"), "{list}");
    assert!(read.contains("   2| again"), "{read}");
    assert!(search.contains("src/a.rs\n   1| fn greet() {}"), "{search}");
    assert!(symbol.contains("### src/a.rs"), "{symbol}");
    let [status, diff, show, query] = values(3).try_into().unwrap();
    assert!(status.contains(" M greet.txt"), "{status}");
    assert!(diff.contains("| +again") && diff.contains("not shown: .env"), "{diff}");
    assert!(!diff.contains("y2"), "{diff}");
    assert!(show.contains("### HEAD:greet.txt\n```\n   1| hello\n```"), "{show}");
    assert!(query.contains("### src/a.rs\n```\n   1| fn greet() {}"), "{query}");
    assert_eq!(world.project.hashes(""), before, "something was written");
    assert_eq!(changed_at(), at, "something was created and removed again");
    assert_eq!(run.all("ToolResult").len(), 8);
    replays(&world);
}

#[test]
fn every_invalid_call_gets_a_helpful_error() {
    let project = Project::new(&[("a.txt", "one\n"), ("long.txt", "x\n")]);
    let root = project.root().to_owned();
    fs::write(root.join("bytes"), [0, 159, 146, 150]).unwrap();
    fs::write(root.join("mixed.txt"), b"d\xc3\xa9j\xc3\xa0 caf\xe9\n").unwrap();
    fs::write(root.join("key.pem"), "secret\n").unwrap();
    fs::File::create(root.join("huge.txt")).unwrap().set_len(1 << 30).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/etc/passwd", root.join("out")).unwrap();
    shell(&root, "mkfifo pipe; mkdir -m 0 shut");
    let bad = [
        ("fs_read", json!({"path": "none.txt"}), "no such file"),
        ("fs_read", json!({"path": "bytes"}), "not text"),
        ("fs_read", json!({"path": "mixed.txt"}), "not text"),
        ("fs_read", json!({"path": "huge.txt"}), "1073741824 bytes"),
        ("fs_read", json!({"path": "loop"}), "no such directory"),
        ("fs_read", json!({"path": "out"}), "no such directory"),
        ("fs_read", json!({"path": "out/passwd"}), "behind a symlink"),
        ("fs_read", json!({"path": "pipe"}), "no such directory"),
        ("fs_read", json!({"path": "key.pem"}), "secret"),
        ("fs_read", json!({"path": ".git/config"}), "in `.git`"),
        ("fs_read", json!({"path": "../up"}), "out of the workspace"),
        ("fs_read", json!({"path": "a\u{0}b"}), "control character"),
        ("fs_read", json!({"path": "a.txt", "first_line": 9}), "only 1 line"),
        ("fs_read", json!({"file": "a.txt"}), "unknown field `file`"),
        ("fs_read", json!("{\"path\": \"a"), "it takes path [first_line] [last_line]"),
        ("fs_list", json!({"directory": "nowhere"}), "no such directory"),
        ("fs_search_rg", json!({"pattern": "("}), "not a regular expression"),
        ("fs_search_rg", json!({"pattern": "a", "glob": "[z"}), "not a pattern for paths"),
        ("git_show", json!({"revision": "nothing"}), "git: "),
        ("git_show", json!({"revision": "HEAD", "path": "key.pem"}), "secret"),
        ("git_diff", json!({"range": "--output=a.txt"}), "a revision is"),
        ("git_diff", json!({"range": "HEAD nowhere"}), "git: "),
        ("symbol_find", json!({"name": "::"}), "regular expression"),
        ("fs_write", json!({"path": "a.txt"}), "no tool `fs_write`"),
    ];
    let calls_of: Vec<(&str, Value)> =
        bad.iter().map(|(name, it, _)| (*name, it.clone())).collect();
    let replies = vec![calls(&calls_of[..12]), calls(&calls_of[12..]), says("I give up.")];
    let world = World::of(project, Provider::new(replies));
    let run = world.asks("What is there?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let results: Vec<Value> =
        tool_results(&world, 2).into_iter().chain(tool_results(&world, 3)).collect();
    assert_eq!(results.len(), bad.len());
    for ((name, arguments, expected), result) in bad.iter().zip(results) {
        let error =
            result["error"].as_str().unwrap_or_else(|| panic!("{name} {arguments}: {result}"));
        assert!(error.contains(expected) && result["ok"] == false, "{name} {arguments}: {error}");
    }
    assert_eq!(world.project.read("a.txt"), "one\n");
    replays(&world);
}

#[test]
fn calls_share_the_size_limit_of_a_round_and_fail_once_it_is_used_up() {
    let long = "a line that is as long as lines are in most files of a project\n".repeat(400);
    let many: Vec<(&str, Value)> =
        (0..40).map(|_| ("fs_search_rg", json!({"pattern": "line"}))).collect();
    let few = [
        ("fs_read", json!({"path": "long.txt", "first_line": 1, "last_line": 300})),
        ("fs_list", json!({})),
        ("fs_search_rg", json!({"pattern": "hello", "glob": "src"})),
        ("fs_search_rg", json!({"pattern": "hello", "glob": "nowhere"})),
    ];
    let replies = vec![calls(&few), calls(&many), says("So.")];
    let files = [("long.txt", long.as_str()), ("src/deep/a.txt", "hello\n")];
    let world = World::of(Project::new(&files), Provider::new(replies));
    let run = world.asks("What is there?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let [read, list, found, nowhere] = tool_results(&world, 2).try_into().unwrap();
    let cut = read["value"].as_str().unwrap();
    assert!(cut.contains("read on from the next line") && cut.len() < 8_000, "{cut}");
    assert!(list["value"].as_str().unwrap().contains("src/ (1 file)"));
    assert!(found["value"].as_str().unwrap().contains("src/deep/a.txt\n   1| hello"));
    assert!(nowhere["error"].as_str().unwrap().contains("no file that may be read matches"));
    assert_eq!(read["rounds_left"], 5);
    let all = tool_results(&world, 3);
    assert!(all[0]["value"].as_str().unwrap().contains("long.txt\n   1| "), "{}", all[0]);
    assert!(all[39]["error"].as_str().unwrap().contains("is used up"), "{}", all[39]);
}

#[test]
fn a_model_without_native_tools_calls_them_by_lines_of_text() {
    let replies = vec![
        says("NEED_TOOL|git.status\nNEED_TOOL|fs.read|{\"path\":\"greet.txt\"}"),
        says("It says hello."),
    ];
    let world = World::greeting(replies).configure("[llm]\nnative_tools = false");
    let run = world.asks("What does it say?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let first = &world.provider.of("analysis")[0].request.json;
    assert!(first.get("tools").is_none());
    let asked = world.provider.last_message("analysis", 1);
    assert!(
        asked.contains("NEED_TOOL|<name>|<arguments>")
            && asked.contains("- git.show revision [path] [first_line] [last_line]:")
    );
    let prompt = world.provider.last_message("analysis", 2);
    assert!(prompt.contains("[1] git status:") && prompt.contains("   1| hello"), "{prompt}");
    replays(&world);
}

#[test]
fn with_tools_off_no_tools_are_offered() {
    let world = World::greeting(vec![says("It says hello.")]);
    let run = world.deepseek(["ask", "--tools=false", "What does it say?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.requests().iter().all(|it| it.request.json.get("tools").is_none()));
}

#[test]
fn a_model_that_only_calls_tools_has_to_answer_in_the_end() {
    let world = World::greeting(vec![calls(&[("fs_list", json!({}))]).forever()]);
    let run = world.asks("What is there?");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let asked = world.provider.of("analysis").len();
    assert!(asked <= 2 * (6 + 3), "{asked} calls");
    let choices: Vec<Value> = world
        .provider
        .of("analysis")
        .iter()
        .take(7)
        .map(|it| it.request.json["tool_choice"].clone())
        .collect();
    assert_eq!(choices[..6], vec![Value::Null; 6], "tools are allowed first");
    assert_eq!(choices[6], "none", "then an answer is required");
    let terms = run.all("ModelRequest");
    assert_eq!(terms[6]["terms"]["tool_choice"], "none");
    assert!(terms.iter().all(|it| it["conversation"].as_str().is_some_and(|id| !id.is_empty())));
    assert!(run.stderr.contains("no looks are left"), "{}", run.stderr);
    replays(&world);
}

#[test]
fn line_ranges_are_accepted_in_every_form_that_models_write() {
    let lines = (1..=9).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let replies = vec![
        calls(&[
            ("fs_read", json!({"path": "deep/long.txt:3-4"})),
            ("fs_read", json!({"path": "deep/long.txt", "first_line": "7", "last_line": "7"})),
            ("git_show", json!({"revision": "HEAD", "path": "deep/long.txt", "last_line": 2})),
            ("fs_read", json!({"path": "long.txt"})),
            ("index_query", json!({"words": "哪里决定排序"})),
        ]),
        says("So."),
    ];
    let files = [("deep/long.txt", lines.as_str()), ("a.rs", "fn sort() {}\n")];
    let world = World::of(Project::new(&files), Provider::new(replies));
    let run = world.asks("What is there?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let [part, one, was, meant, chinese] = tool_results(&world, 2).try_into().unwrap();
    let value = |it: &Value| it["value"].as_str().unwrap().to_owned();
    assert!(value(&part).contains("lines 3-4 of 9\n```\n   3| line 3\n   4| line 4\n```"));
    assert!(value(&one).contains("lines 7-7 of 9\n```\n   7| line 7\n```"));
    let was = value(&was);
    assert!(was.contains("HEAD:deep/long.txt lines 1-2 of 9\n```\n   1| line 1\n"), "{was}");
    assert!(meant["error"].as_str().unwrap().ends_with("there is deep/long.txt"), "{meant}");
    assert!(value(&chinese).contains("try English words"), "{chinese}");
    replays(&world);
}

#[test]
fn a_review_leaves_out_generated_files() {
    let lock = "[[package]]\nname = \"locked\"\n";
    let files = [("Cargo.lock", lock), ("src/a.rs", "fn a() {}\n")];
    let review = "REVIEW_V1\nSUMMARY|Fine.\nREVIEW_END";
    let world = World::of(Project::new(&files), Provider::new(vec![says(review)]));
    world.project.write("Cargo.lock", lock.repeat(2));
    world.project.write("src/a.rs", "fn b() {}\n");
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let asked = world.provider.last_message("analysis", 1);
    assert!(asked.contains("fn b()") && asked.contains("Cargo.lock: generated file"));
    assert!(!asked.contains("locked"), "{asked}");
    assert!(asked.contains("The user's request:\n\nReview uncommitted changes.\n"), "{asked}");
}

#[test]
fn in_plan_mode_no_tool_starts_a_process() {
    let replies = vec![calls(&[("git_status", json!({})), ("fs_list", json!({}))]), says("So.")];
    let world = World::greeting(replies).configure("[policy]\nmode = \"plan\"");
    let run = world.asks("What is there?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let results = tool_results(&world, 2);
    assert!(
        results[0]["error"].as_str().unwrap().contains("plan mode") && results[1]["ok"] == true
    );
}

#[test]
fn without_a_terminal_the_model_is_told_to_state_its_assumptions() {
    let ask = || calls(&[("user_ask", json!({"question": "Which greeting?"}))]);
    let replies = vec![ask(), ask(), ask(), says("I took the first.")];
    let world = World::greeting(replies);
    let run = world.asks("Which one?");
    assert_eq!((run.code, answer(&run)), (Some(0), "I took the first."), "{}", run.stderr);
    for number in [2, 3] {
        let value = tool_results(&world, number)[0]["value"].to_string();
        assert!(value.contains("say what you assumed"), "{value}");
    }
    assert!(tool_results(&world, 4)[0]["error"].as_str().unwrap().contains("asked again"));
    assert_eq!(run.all("UserAsked").len(), 2);
    let states: Vec<&str> =
        run.all("SessionStateChanged").iter().map(|it| it["to"].as_str().unwrap()).collect();
    assert!(states.contains(&"AwaitingUserInput"), "{states:?}");
    assert!(run.all("TransitionRefused").is_empty());
    replays(&world);
}

#[test]
fn the_user_can_answer_a_models_question() {
    let replies = vec![
        calls(&[("user_ask", json!({"question": "Loud or quiet?"}))]),
        says("Then it is quiet."),
    ];
    let world = World::greeting(replies);
    let mut terminal = Terminal::start(&mut world.deepseek(["ask", "Which one?"]));
    terminal.until("Loud or quiet?", 1);
    terminal.until("Your answer", 1);
    terminal.types("quiet, please\n");
    terminal.until("Then it is quiet.", 1);
    assert_eq!(terminal.end(), Some(0));
    let value = tool_results(&world, 2)[0]["value"].to_string();
    assert!(value.contains("quiet, please"), "{value}");
    replays(&world);
}

#[test]
fn the_architect_can_ask_the_user() {
    let replies = [ScriptedReply::text("NEED_ANSWER|hello world or hello there?").to("architect")]
        .into_iter()
        .chain(crate::support::greeting_fix());
    let world = World::greeting(replies.collect::<Vec<_>>());
    let run = world.chat("Fix the greeting");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.last_message("architect", 2).contains("say what you assumed"));
    assert_eq!(run.one("UserAsked")["question"], "hello world or hello there?");
    replays(&world);
}

#[test]
fn the_tools_are_listed() {
    let world = World::greeting(vec![]);
    let listed = world.deepseek(["tools", "list"]).run();
    assert!(
        listed.stdout.starts_with("fs.list [directory]\n    List a directory"),
        "{}",
        listed.stdout
    );
    let listed = world.deepseek(["tools", "list", "--output", "json"]).run();
    let tools: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(tools[1]["parameters"]["required"], json!(["path"]));
}

#[test]
fn a_read_tells_the_hash_and_a_query_its_number_its_files_and_its_freshness() {
    let files = [
        ("src/parcel.rs", "fn weigh_parcel() {}\n"),
        ("src/ship.rs", "fn ship_parcel() {}\n"),
        ("notes/parcel.md", "A parcel is weighed.\n"),
    ];
    let replies = vec![
        calls(&[
            ("fs_read", json!({"path": "src/parcel.rs"})),
            ("index_query", json!({"words": "parcel", "top_k": 1})),
            ("index_query", json!({"words": "parcel", "glob": "notes/**"})),
            ("index_query", json!({"words": "parcel", "glob": "nowhere/**"})),
        ]),
        says("It is weighed."),
        calls(&[("index_query", json!({"words": "parcel", "glob": "src/*.rs"}))]),
        says("Still."),
    ];
    let world = World::of(Project::new(&files), Provider::new(replies));
    assert_eq!(world.asks("How is it weighed?").code, Some(0));
    let told = |number: usize| -> Vec<String> {
        let results = tool_results(&world, number);
        results.iter().map(|it| it["value"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let results = told(2);
    let hash = tree::FileHash::of(b"fn weigh_parcel() {}\n").to_string();
    assert!(results[0].contains(&format!("sha256 {}", &hash[..8])), "{}", results[0]);
    assert_eq!(results[1].matches("parcel.").count() + results[1].matches("ship.rs").count(), 1);
    assert!(results[2].contains("notes/parcel.md") && !results[2].contains("src/"), "{results:?}");
    assert_eq!(tool_results(&world, 2)[3]["ok"], false);
    // What the first run has indexed is told apart from what changed since.
    world.deepseek(["index", "update"]).run();
    let asked = |condition: &str| {
        let run = world.deepseek(["index", "query", "parcel", "--output", "json"]).run();
        assert_eq!(run.events[0]["condition"], condition, "{}", run.stdout);
    };
    asked("fresh");
    world.project.write("src/ship.rs", "fn ship_the_parcel() {}\n");
    asked("stale");
    assert_eq!(world.asks("And now?").code, Some(0));
    assert!(told(4)[0].contains("the index is"), "{:?}", told(4));
}
