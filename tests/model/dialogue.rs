//! The dialogue with models, seen from the provider: reads, missing files, and the memory of earlier turns.

use mock::{Behaviour, CacheMode, Options, ScriptedReply};

use crate::support::{
    Project, Provider, Terminal, World, architect, diff, editor, greeting_fix, plan,
};

fn reply(role: &str, text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to(role)
}

/// Creates a shop project whose total is computed in a file that no request mentions.
fn shop() -> Project {
    let project = Project::greeting();
    project.write("src/cart.py", "class Cart:\n    def total(self):\n        return 1\n");
    project.write("src/receipt.py", "from cart import Cart\n\nprint(Cart().total())\n");
    project
}

#[test]
fn the_architect_can_read_before_it_plans() {
    let looks = "Let me see.\nNEED_SEARCH|Cart\\(\nNEED_SYMBOL|total\nNEED_LIST|src\nNEED_CONTEXT|src/cart.py:2-3\nNEED_CONTEXT|.env";
    let replies = [vec![architect(looks)], greeting_fix()].concat();
    let world = World::of(shop(), Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect editor");
    let prompt = world.provider.last_message("architect", 2);
    for part in [
        "src/receipt.py\n   3| print(Cart().total())",
        "### src/cart.py lines 2-3 of 3\n```\n   2|     def total(self):\n   3|         return 1\n```",
        "cart.py\nreceipt.py",
        ".env is not shown",
        "Rounds of looks left before you must answer: 5.",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let looked = run.one("Looked");
    assert_eq!(looked["looks"].as_array().unwrap().len(), 5);
    assert_eq!(looked["tolerances"][0], "preamble");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_round_of_reads_shows_no_line_twice() {
    let looks = "NEED_CONTEXT|src/cart.py:2-3\nNEED_SYMBOL|total\nNEED_CONTEXT|src/cart.py";
    let replies = [vec![architect(looks)], greeting_fix()].concat();
    let world = World::of(shop(), Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("architect", 2);
    for line in ["   1| class Cart:", "   2|     def total(self):", "   3|         return 1"] {
        assert_eq!(prompt.matches(line).count(), 1, "{line}: {prompt}");
    }
    assert!(prompt.contains("### src/cart.py lines 2-3 of 3\n(as it was shown above)"), "{prompt}");
}

#[test]
fn files_shown_by_the_plan_are_read_only_for_the_editor() {
    let show = "FILE|greet.txt|as asked\nSHOW|src/cart.py:2-3\nSHOW|.env\nSHOW|greet.txt";
    let showing = plan(&["greet.txt"]).replace("FILE|greet.txt|as asked", show);
    let both = format!(
        "{}{}",
        diff("greet.txt", "hello", "hello world"),
        diff("src/cart.py", "class Cart:", "class Basket:")
    );
    let replies = || vec![architect(showing.as_str()), editor(both.as_str())];
    let world = World::of(shop(), Provider::new(replies()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("editor", 1);
    let shown = "To read, not to change:\n\n[1] ### src/cart.py lines 2-3 of 3\n```\n   2|     def total(self):";
    assert!(prompt.contains(shown) && prompt.contains(".env is not shown"), "{prompt}");
    assert_eq!(prompt.matches("| hello").count(), 1, "{prompt}");
    assert_eq!(world.project.read("src/cart.py").lines().next(), Some("class Cart:"));
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);

    // Lines that were shown in the same dialogue are not sent again.
    let looks = architect("NEED_CONTEXT|src/cart.py:2-3\nNEED_CONTEXT|.env");
    let world = World::of(shop(), Provider::new([vec![looks], replies()].concat()))
        .configure("[llm.max_think_model]\nmodel = \"deepseek-flash\"\nthinking = false\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(!world.provider.last_message("editor", 1).contains("To read"), "{}", run.stderr);
}

#[test]
fn a_role_that_only_reads_is_warned_and_finally_ends_the_run() {
    let looks = (0..9).map(|number| architect(format!("NEED_SEARCH|word{number}")));
    let world =
        World::greeting(looks.collect::<Vec<_>>()).configure("[agent_loop]\nmax_look_rounds = 2\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/no_plan", "{}", run.stderr);
    assert_eq!(world.provider.requests().len(), 2 + 3);
    assert!(world.provider.last_message("architect", 4).contains("no looks are left"));
}

#[test]
fn reads_are_bounded_and_report_omissions() {
    let project = Project::greeting();
    project.write("big.py", "def total(): pass\n".repeat(3_000));
    let looks = "NEED_CONTEXT|big.py\nNEED_SEARCH|def\nNEED_CONTEXT|big.py:1-3000";
    let replies = [vec![architect(looks)], greeting_fix()].concat();
    let world = World::of(project, Provider::new(replies));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.len() < 4 * 4_000 + 1_000, "{}", prompt.len());
    for part in ["big.py has 3000 lines", "(this file has more)", " of 3000\n"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[test]
fn a_file_missing_from_the_plan_is_added_without_using_up_an_attempt() {
    let project = Project::greeting();
    project.write("name.txt", "moon\n");
    let both = format!(
        "{}{}",
        diff("greet.txt", "hello", "hello world"),
        diff("name.txt", "moon", "world")
    );
    let replies = vec![
        architect(plan(&["greet.txt"])),
        editor("NEED_FILE|name.txt|the name stands there"),
        architect(plan(&["greet.txt", "name.txt"])),
        editor(both),
    ];
    let world =
        World::of(project, Provider::new(replies)).configure("[agent_loop]\nmax_iterations = 1\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor architect editor");
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.contains("- name.txt: the name stands there"), "{prompt}");
    // The Editor is not shown again what it has seen.
    let prompt = world.provider.last_message("editor", 2);
    assert!(prompt.contains("| moon") && !prompt.contains("### greet.txt"), "{prompt}");
    assert_eq!(world.project.read("name.txt"), "world\n");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn an_editor_that_always_asks_for_another_file_ends_the_run() {
    let replies = vec![
        architect(plan(&["greet.txt"])).forever(),
        editor("NEED_FILE|name.txt|it is needed").forever(),
    ];
    let world = World::greeting(replies).configure("[agent_loop]\nmax_iterations = 2\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/no_draft", "{}", run.stderr);
    assert!(world.provider.requests().len() <= 2 * (2 + 2), "{}", world.provider.roles());
}

#[test]
fn done_is_accepted_only_after_a_diff_was_applied() {
    let replies = vec![
        architect(plan(&["greet.txt"])),
        editor("DONE|it greets already"),
        editor(diff("greet.txt", "hello", "hello world")),
    ];
    let world = World::greeting(replies);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(
        world.provider.last_message("editor", 2).contains("only when a diff of yours is applied")
    );
}

#[test]
fn after_an_empty_answer_the_request_is_changed_and_not_repeated() {
    let behaviours = [Behaviour::EmptyStop, Behaviour::ReasoningOnly];
    for behaviour in behaviours {
        let empty = ScriptedReply::of(behaviour).to("architect");
        let world = World::greeting([vec![empty.clone(), empty], greeting_fix()].concat());
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{behaviour:?}: {}", run.stderr);
        assert_eq!(world.provider.roles(), "architect architect architect editor");
        let bodies: Vec<_> =
            world.provider.of("architect").iter().map(|it| it.request.json.clone()).collect();
        assert!(world.provider.last_message("architect", 2).contains("the answer has no text"));
        let room = |at: usize| bodies[at]["max_tokens"].as_u64().unwrap();
        assert_eq!((room(1), room(2)), (room(0), 2 * room(0)), "{behaviour:?}");
    }
}

#[test]
fn roles_of_one_model_continue_one_dialogue() {
    let world =
        World::greeting([vec![architect("NEED_CONTEXT|greet.txt")], greeting_fix()].concat())
            .configure("[llm.max_think_model]\nmodel = \"deepseek-flash\"\nthinking = false\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let messages = |role: &str, at: usize| {
        world.provider.of(role)[at].request.json["messages"].as_array().unwrap().clone()
    };
    let (planned, drafted) = (messages("architect", 1), messages("editor", 0));
    assert_eq!(drafted[..planned.len()], planned);
    // The plan and the file are already in the dialogue.
    let prompt = world.provider.last_message("editor", 1);
    assert!(prompt.contains("(as it was shown above)") && !prompt.contains("| hello"), "{prompt}");
    assert!(prompt.contains("the last ARCHITECT_PLAN_V1 above"), "{prompt}");
    let hit = world.provider.of("editor")[0].usage.unwrap();
    assert!(hit.hit.unwrap() * 10 > hit.prompt * 5, "{hit:?}");
}

#[test]
fn a_later_turn_knows_earlier_requests_changes_and_answers() {
    let answer = reply("analysis", "There are two moons.");
    let replies = [vec![answer], greeting_fix(), vec![architect(plan(&["greet.txt"]))]].concat();
    let world = World::greeting(replies);
    assert_eq!(world.asks("How many moons are there?").code, Some(0));
    let edit =
        |request: &'static str| ["-c", "--force-execute", "-p", request, "--approval", "auto"];
    let first = world.deepseek(edit("Greet the world, as we agreed")).run();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let second = world.deepseek(["-c", "--plan-only", "-p", "Take that back"]).run();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let prompt = world.provider.last_message("architect", 2);
    for part in [
        "The user: How many moons are there?",
        "Outcome: answered.",
        "There are two moons.",
        "The user: Greet the world, as we agreed",
        "Outcome: delivered.",
        "PLAN|do what was asked",
        "+hello world",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(prompt.matches("Outcome: delivered.").count(), 1, "{prompt}");
}

#[test]
fn a_later_turn_knows_the_last_failure_in_the_same_and_in_another_process() {
    let turns = || {
        let wrong = [("hello", "hello moon"), ("hello moon", "hello sun")];
        let drafts = wrong.map(|(old, new)| editor(diff("greet.txt", old, new)));
        [
            vec![architect(plan(&["greet.txt"]))],
            drafts.to_vec(),
            vec![reply("analysis", "It fails.")],
        ]
    };
    let most = "[agent_loop]\nmax_iterations = 2\n";
    let apart = World::greeting(turns().concat()).configure(most);
    let edit = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];
    assert_eq!(apart.deepseek(edit).run().code, Some(1));
    assert_eq!(apart.deepseek(["-c", "ask", "Why?"]).run().code, Some(0));
    let prompt = apart.provider.last_message("analysis", 1);
    let failed = "What failed in the end:\n`sh check.sh` failed: exit 1";
    assert!(prompt.contains(failed) && prompt.contains("it says hello sun"), "{prompt}");
    assert!(!prompt.contains("it says hello moon"), "{prompt}");

    let together = World::greeting(turns().concat()).configure(most);
    let mut terminal = Terminal::start(&mut together.deepseek(["--plain", "--approval", "auto"]));
    for (turn, said) in ["Fix the greeting", "Why?"].iter().enumerate() {
        terminal.until("›", turn + 1);
        terminal.types(&format!("{said}\r"));
        terminal.until(["not delivered", "It fails."][turn], 1);
    }
    terminal.until("›", 3);
    terminal.types("\x04");
    terminal.end();
    assert_eq!(together.provider.last_message("analysis", 1), prompt);
}

#[test]
fn a_turn_gets_the_same_prompt_in_the_same_and_in_another_process() {
    let turns =
        || [vec![reply("analysis", "Two.")], greeting_fix(), vec![reply("analysis", "One.")]];
    let apart = World::greeting(turns().concat());
    assert_eq!(apart.asks("How many?").code, Some(0));
    let edit = ["-c", "--force-execute", "-p", "Fix the greeting", "--approval", "auto"];
    assert_eq!(apart.deepseek(edit).run().code, Some(0));
    assert_eq!(apart.deepseek(["-c", "ask", "What now?"]).run().code, Some(0));

    let together = World::greeting(turns().concat());
    let mut terminal = Terminal::start(&mut together.deepseek(["--plain", "--approval", "auto"]));
    for (turn, said) in ["How many?", "Fix the greeting", "What now?"].iter().enumerate() {
        terminal.until("›", turn + 1);
        terminal.types(&format!("{said}\r"));
        terminal.until(["Two.", "delivered", "One."][turn], 1);
    }
    terminal.until("›", 4);
    terminal.types("\x04");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(
        together.provider.last_message("analysis", 2),
        apart.provider.last_message("analysis", 2)
    );
}

#[test]
fn the_intent_is_not_decided_by_verbs_or_question_marks() {
    for message in [
        "Show the total with a currency sign on the receipt",
        "Do not print lines with quantity 0",
        "receipt() crashes when it is empty, could you fix it?",
        "now also show that number, as we said",
    ] {
        let world = World::greeting(greeting_fix());
        let run = world.message(message).run();
        assert_eq!(run.ending(), "0 delivered/proven", "{message}: {}", run.stderr);
        assert_eq!(world.provider.roles(), "architect editor", "{message}");
    }
    let asks = reply("architect", "QUESTION|which colour to fix");
    let world = World::greeting(vec![asks, reply("analysis", "Red.")]);
    let run = world.deepseek(["-p", "Fix which colour?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("taken for a question"), "{}", run.stderr);
}

#[test]
fn the_editor_sees_the_request_and_the_earlier_check_output() {
    let world = World::greeting(vec![
        architect(plan(&["greet.txt"])),
        editor(diff("greet.txt", "hello", "hello moon")),
        editor(diff("greet.txt", "hello moon", "hello world")),
    ]);
    let run = world.chat("Fix the greeting, please");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(world.provider.last_message("editor", 1).contains("Fix the greeting, please"));
    let prompt = world.provider.last_message("editor", 2);
    assert!(prompt.contains("Before any change:\n`sh check.sh` failed: exit 1"), "{prompt}");
}

/// Creates a tree too large to be shown in full: thirty modules on different topics, with instructions and a README.
fn library() -> Project {
    let project = Project::greeting();
    project.write("AGENTS.md", "# Rules\n\nTests come with every change. No abbreviations.\n");
    project.write("README.md", "# Library\n\nFilters paths.\n\n## Tests\n\n    sh check.sh\n");
    project.write(".gitignore", "target\n*.swp\ntags\n");
    for topic in [
        "parser", "walker", "matcher", "printer", "colours", "threads", "pipes", "sorting",
        "regexes", "globs", "types", "dates", "hashes", "trees", "queues", "locks", "caches",
        "clocks", "logs", "units", "names", "links", "ranges", "pages", "fonts", "sounds", "grids",
        "maps", "seeds",
    ] {
        let function = format!(
            "/// Handles {topic}.\npub fn {topic}_of(text: &str) -> usize {{\n    text.len()\n}}\n\n"
        );
        project.write(&format!("src/{topic}.rs"), function.repeat(8));
    }
    let ignore = "/// Reads ignore rules, one pattern a line.\npub fn add_line(&mut self, line: &str) -> bool {\n    self.globs.push(line.trim().to_owned())\n}\n";
    project.write("src/gitignore.rs", ignore);
    project
}

#[test]
fn naming_a_file_does_not_hide_the_files_that_the_request_is_about() {
    let world = World::of(library(), Provider::new(greeting_fix()));
    let request = "A byte order mark at the start of a .gitignore makes its first pattern match nothing: the line is added to the ignore rules with it";
    let run = world.chat(request);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let prompt = world.provider.last_message("architect", 1);
    assert!(prompt.contains("pub fn add_line"), "{prompt}");
    assert!(prompt.contains("*.swp"), "the named file is shown as well: {prompt}");
}

#[test]
fn requests_share_the_workspace_prefix_and_the_provider_caches_it() {
    let replies = (0..3).flat_map(|_| greeting_fix()).collect::<Vec<_>>();
    let options = Options { cache: CacheMode::CommonPrefix, ..Options::default() };
    let world = World::of(library(), Provider::with(replies, options));
    for (turn, request) in
        ["Fix the parser", "Sort the pages", "Colour the grids"].iter().enumerate()
    {
        world.project.write("greet.txt", "hello\n");
        // An edit elsewhere does not change the prefix that all requests share.
        world.project.write("src/units.rs", format!("// edit {turn}\n"));
        let run = world.chat(request);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let third = world.provider.of("architect").remove(2);
    let messages = third.request.json["messages"].as_array().unwrap().clone();
    let said = |at: usize| messages[at]["content"].as_str().unwrap().to_owned();
    let (common, rest) = (said(0), said(1));
    let own = rest.find("Found in the workspace for this request").unwrap();
    assert!(rest[..own].contains("No abbreviations.") && rest[..own].contains("sh check.sh"));
    let stable = (common.len() + own) as u64 / 4;
    let hit = third.usage.unwrap().hit.unwrap();
    assert!(hit + 128 >= stable, "{hit} of {stable} tokens");
}

#[test]
fn the_session_that_was_used_last_is_continued() {
    let answers = ["One.", "Two.", "Three.", "Four."];
    let world = World::greeting(answers.map(|text| reply("analysis", text)).to_vec());
    assert_eq!(world.asks("First of the older?").code, Some(0));
    let older = world.deepseek(["sessions"]).run().stdout[..6].to_owned();
    assert_eq!(world.asks("First of the newer?").code, Some(0));
    assert_eq!(world.deepseek(["-r", &older, "ask", "Second of the older?"]).run().code, Some(0));
    assert_eq!(world.deepseek(["-c", "ask", "Third of the older?"]).run().code, Some(0));
    let prompt = world.provider.last_message("analysis", 4);
    for part in ["First of the older?", "Second of the older?"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let listed = world.deepseek(["sessions"]).run().stdout;
    assert!(listed.starts_with(&older), "{listed}");
    assert!(world.deepseek(["sessions", "show"]).run().stdout.contains("Second of the older?"));
}

#[test]
fn a_command_in_a_conversation_is_about_its_own_session() {
    let world = World::greeting(["One.", "Two."].map(|text| reply("analysis", text)).to_vec());
    let mut terminal = Terminal::start(world.deepseek(["--plain"]).env("PAGER", "cat"));
    terminal.until("›", 1);
    terminal.types("/ask What is here?\r");
    terminal.until("One.", 1);
    terminal.until("›", 2);
    // Another conversation in the same directory is used meanwhile.
    assert_eq!(world.asks("What is elsewhere?").code, Some(0));
    terminal.types("/sessions show\r");
    terminal.until("What is here?", 2);
    terminal.until("›", 3);
    assert!(!terminal.shown().contains("What is elsewhere?"), "{}", terminal.shown());
    terminal.types("\x04");
    terminal.end();
}
