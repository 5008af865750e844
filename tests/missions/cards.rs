//! What a mission's card says binds: its limits, its models, what it rests on; and how a card is answered.

use mock::{ReceivedRequest, Replies, ScriptedReply};
use serde_json::Value;

use crate::missions::mission::{GOAL, card, carried_out, hash, mission, planned, research, world};
use crate::sessions::resume::journal;
use crate::support::{Project, Provider, Run, Terminal, World, editor};

/// Returns the tokens of all calls so far, as the provider counted them.
fn tokens(world: &World) -> u64 {
    world.provider.requests().iter().map(|seen| seen.usage.map_or(0, |it| it.total())).sum()
}

/// Returns a card as JSON.
fn shown(world: &World, hash: &str) -> Value {
    let run = world.deepseek(["mission", "show", hash, "--output", "json"]).run();
    serde_json::from_str(&run.stdout).unwrap()
}

/// Asserts that a text has each of these parts.
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Creates a world with a waiting card, whose mission was started with these flags.
fn waiting(answers: Vec<ScriptedReply>, flags: &[&str]) -> (World, String) {
    let world =
        world(planned(card("greet.txt", "sh check.sh")).into_iter().chain(answers).collect());
    let run = mission(&world, flags);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let hash = hash(&world);
    (world, hash)
}

fn approve(world: &World, hash: &str, flags: &[&str]) -> Run {
    world.deepseek(["mission", "approve", hash].into_iter().chain(flags.iter().copied())).run()
}

#[test]
fn the_limits_of_a_card_bind_in_another_process() {
    let prose = editor("I would rather talk about it. ".repeat(1400)).forever();
    let [plan, _] = carried_out().try_into().unwrap();
    let (world, hash) = waiting(vec![plan.forever(), prose], &["--budget-tokens", "100000"]);
    let research = tokens(&world);
    let run = world.deepseek(["mission", "show"]).run();
    assert_has(&run.stdout, &["Limits   100000 tokens"]);
    let run = approve(&world, &hash, &[]);
    assert_eq!(run.code, Some(4), "{}\n{}", run.stdout, run.stderr);
    assert!(tokens(&world) <= 100_000, "{} tokens, {research} for research", tokens(&world));
    assert_has(&run.stderr, &["of the budget of 100000 tokens"]);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
    // A raised limit needs a card of its own; the answers to its questions are kept.
    assert_has(
        &run.stderr,
        &["hint: its card sets this limit", "deepseek mission \"GOAL\" --budget-tokens N"],
    );
    // A flag can narrow what the card allows, and not widen it.
    let before = tokens(&world);
    let run = approve(&world, &hash, &["--budget-tokens", "900000"]);
    assert_eq!(run.code, Some(4), "{}\n{}", run.stdout, run.stderr);
    assert!(tokens(&world) - before <= 100_000 - research, "{}", tokens(&world) - before);
    let run = approve(&world, &hash, &["--budget-tokens", "1000"]);
    assert_eq!(run.code, Some(4), "{}\n{}", run.stdout, run.stderr);
    assert_has(&run.stderr, &["of the budget of 1000 tokens", "hint: raise the limit with"]);
}

#[test]
fn the_models_of_a_card_carry_it_out() {
    // Not the default of any of these roles.
    let flags = [
        "llm.max_think_model.model=\"deepseek-flash\"",
        "llm.base_model.model=\"deepseek-v4-pro\"",
        "llm.flash_model.model=\"deepseek-v4-flash\"",
    ];
    let flags: Vec<&str> = flags.iter().flat_map(|flag| ["--set", flag]).collect();
    let (world, hash) = waiting(carried_out(), &flags);
    assert_has(
        &world.deepseek(["mission", "show"]).run().stdout,
        &["Models   deepseek-flash, deepseek-v4-flash, deepseek-v4-pro"],
    );
    let run = approve(&world, &hash, &["--model", "deepseek-v4-pro"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert_has(
        &run.stderr,
        &["not by deepseek-v4-pro", "approve it without --model: deepseek mission approve"],
    );
    let seen = world.provider.requests().len();
    let run = approve(&world, &hash, &[]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    let requests = world.provider.requests();
    for exchange in requests.iter().skip(seen) {
        let role = exchange.request.header("x-agent-role").unwrap();
        let model = match role {
            "architect" => "deepseek-flash",
            "editor" => "deepseek-v4-pro",
            _ => "deepseek-v4-flash",
        };
        assert_eq!(exchange.request.json["model"], model, "{role}");
    }
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_card_lets_commands_use_the_network_only_if_it_says_so() {
    let (world, hash) = waiting(carried_out(), &[]);
    assert!(!shown(&world, &hash)["card"]["capabilities"]["network"].as_bool().unwrap());
    let run = approve(&world, &hash, &["--network"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let config = journal(&world).into_iter().filter(|it| it["kind"] == "VerificationRun@v1");
    assert!(config.count() > 0);
    let (world, hash) = waiting(carried_out(), &["--network"]);
    let card = shown(&world, &hash);
    assert!(card["card"]["capabilities"]["network"].as_bool().unwrap());
    assert_has(&world.deepseek(["mission", "show"]).run().stdout, &["use the network"]);
}

#[test]
fn a_card_is_not_carried_out_on_files_that_changed_since() {
    let revised = ScriptedReply::text(card("greet.txt", "sh check.sh"))
        .to("researcher")
        .when_asked("look again");
    let (world, hash) = waiting([vec![revised], carried_out()].concat(), &[]);
    world.project.write("check.sh", "grep -q world greet.txt # now\n");
    let run = approve(&world, &hash, &["--yolo"]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    assert_has(
        &run.stderr,
        &[
            "check.sh",
            "changed since the card was made",
            "make a card for the files as they are with",
        ],
    );
    assert!(world.provider.of("architect").is_empty());
    let list = world.deepseek(["mission", "list"]).run();
    assert_has(&list.stdout, &["not carried out"]);
    // The hinted way: a new version, on the files as they are.
    let run = world.deepseek(["mission", "modify", &hash, "look", "again"]).run();
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let run = approve(&world, &crate::missions::mission::hash(&world), &[]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn at_a_terminal_a_card_on_changed_files_is_asked_about_anew() {
    for (answer, code, greeting) in [("y", 0, "hello world\n"), ("n", 3, "hello\n")] {
        let answers = planned(card("greet.txt", "sh check.sh")).into_iter().chain(carried_out());
        let world = world(answers.collect());
        let mut terminal = Terminal::start(&mut world.deepseek(["mission", GOAL, "--plain"]));
        terminal.until("Execute it?", 1);
        world.project.write("check.sh", "grep -q world greet.txt # now\n");
        terminal.types("y\r");
        terminal.until("Execute it?", 2);
        assert!(terminal.shown().contains("changed since the card was made: check.sh"));
        terminal.types(&format!("{answer}\r"));
        assert_eq!(terminal.ends(), Some(code), "{}", terminal.shown());
        assert_eq!(world.project.read("greet.txt"), greeting);
    }
}

#[test]
fn approving_takes_eight_characters_of_the_hash() {
    let (world, hash) = waiting(carried_out(), &[]);
    for short in [&hash[..1], &hash[..7]] {
        let run = approve(&world, short, &[]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert_has(
            &run.stderr,
            &["at least 8 characters", &format!("deepseek mission approve {hash}")],
        );
        let run = world.deepseek(["mission", GOAL, "--approve-mission", short]).run();
        assert_eq!(run.code, Some(2), "{}", run.stderr);
    }
    assert_eq!(approve(&world, &hash[..8], &[]).code, Some(0));
}

#[test]
fn a_changed_card_shows_what_differs_from_the_version_before() {
    let revised = card("greet.txt", "make test")
        .replace("greet the world|Have", "greet everyone|Have")
        .replace("READS|01|greet.txt", "READS|01|greet.txt\nREADS|01|notes.txt");
    let revised = ScriptedReply::text(revised).to("researcher").when_asked("use make");
    let (world, first) = waiting(vec![revised], &[]);
    assert!(shown(&world, &first)["card"].get("changes").is_none());
    let run = world.deepseek(["mission", "modify", &first, "use", "make"]).run();
    assert_has(
        &run.stdout,
        &[
            "Changes since version 1",
            "+ 01 reads notes.txt",
            "- 02 runs `sh check.sh`",
            "+ 02 runs `make test`",
            "- 02 write: greet the world: Have greet.txt greet the world.",
            "+ 02 write: greet everyone: Have greet.txt greet the world.",
        ],
    );
    assert!(!run.stdout.contains("+ 02 writes"), "{}", run.stdout);
    let card = shown(&world, &hash(&world));
    let changes = card["card"]["changes"].as_array().unwrap();
    let added =
        |change: &&Value| change["change"] == "added" && change["item"]["command"] == "make test";
    assert_eq!(changes.iter().filter(added).count(), 1, "{changes:?}");
}

#[test]
fn a_card_that_waits_or_was_rejected_is_called_so() {
    let world = world(planned(card("greet.txt", "sh check.sh")));
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3));
    assert!(!run.stderr.contains("denied"), "{}", run.stderr);
    assert_has(&run.stderr, &["the mission card awaits approval"]);
    let hash = hash(&world);
    let list = world.deepseek(["sessions"]).run();
    assert_has(&list.stdout, &["card waits"]);
    let run = world.deepseek(["mission", "reject", &hash, "--output", "json"]).run();
    assert_eq!(run.code, Some(3));
    assert!(!run.stderr.contains("denied"), "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["delivery"]["state"], "denied", "{document}");
    assert_eq!(document["delivery"]["card"], "rejected", "{document}");
    let list = world.deepseek(["sessions"]).run();
    assert_has(&list.stdout, &["card rejected"]);
}

/// A project of which a mission reads `greet.txt` and reads `late.txt` only for a hypothesis.
fn read_late(write: impl Fn(&ReceivedRequest, &std::path::Path) + Send + Sync + 'static) -> World {
    let late: Vec<String> = (1..=60).map(|at| format!("line {at} of the late file")).collect();
    let project = Project::greeting();
    project.write("late.txt", late.join("\n"));
    project.commit();
    let root = project.root().to_owned();
    let found = "FINDINGS_V1\nFINDING|3-4|7|9|the greeting is decided here\nFINDINGS_END";
    let look = "HYPOTHESES_V1\nHYPOTHESIS|late.txt:1-9|Is it decided here?\nHYPOTHESES_END";
    let plan =
        card("greet.txt", "sh check.sh").replace("READS|01|greet.txt", "READS|01|late.txt") + "\n";
    let plan = plan
        .replace("WRITES|02", "READS|02|late.txt\nWRITES|02")
        .replace("UNDER|1|1\n", "UNDER|1|1,2\n");
    let answers = [
        vec![
            ScriptedReply::text(look).to("researcher").when_asked("HYPOTHESES_V1"),
            ScriptedReply::text(found).to("child").when_asked("Is it decided here?"),
        ],
        research(),
        vec![
            ScriptedReply::text(plan.clone())
                .to("researcher")
                .when_asked("Write the plan of the mission")
                .forever(),
        ],
        carried_out(),
    ];
    let script = std::sync::Mutex::new(Replies::from(answers.concat()));
    let replies = Replies::driven(move |request| {
        write(request, &root);
        script.lock().unwrap().take(request).unwrap_or_else(|| ScriptedReply::text("nothing more"))
    });
    World::of(project, Provider::new(replies)).configure("[missions]\nsource_tokens = 40\n")
}

#[test]
fn findings_in_files_read_late_are_checked_like_the_others() {
    let world = read_late(|_, _| {});
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let first = hash(&world);
    let late = |hash: &str| {
        let card = shown(&world, hash);
        let findings = card["card"]["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|it| it["evidence"]["path"] == "late.txt").unwrap()
    };
    assert_eq!(late(&first)["mechanical"], true);
    let run = world.deepseek(["mission", "modify", &first, "say", "it", "again"]).run();
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let second = hash(&world);
    assert_eq!(late(&second)["mechanical"], true, "its lines have not changed");
    let run = approve(&world, &second, &[]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    let prompt = world.provider.last_message("architect", 1);
    assert_has(&prompt, &["the greeting is decided here (late.txt:3-4", "its lines are unchanged"]);
    assert!(!prompt.contains("its lines have changed"), "{prompt}");
}

#[test]
fn a_file_that_changes_while_claims_are_checked_is_noticed() {
    let world = read_late(|request, root| {
        if request.asks("Does this claim hold") {
            std::fs::write(root.join("late.txt"), "rewritten\n").unwrap();
        }
    });
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let card = shown(&world, &hash(&world));
    let findings = card["card"]["findings"].as_array().unwrap();
    let late = findings.iter().find(|it| it["evidence"]["path"] == "late.txt").unwrap();
    assert_eq!(late["mechanical"], false, "{late}");
    assert_has(&run.stdout, &["low confidence: its lines have changed"]);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn small_budgets_suffice_for_small_missions() {
    for (flag, value) in [
        ("--budget-usd", "0.1"),
        ("--budget-usd", "0.05"),
        ("--budget-tokens", "80000"),
        ("--budget-tokens", "60000"),
    ] {
        let (world, hash) = waiting(carried_out(), &[flag, value]);
        let run = approve(&world, &hash, &[]);
        assert_eq!(run.code, Some(0), "{flag} {value}: {}\n{}", run.stdout, run.stderr);
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{flag} {value}: {}", replay.stderr);
    }
}

#[test]
fn a_card_whose_dialogue_the_budget_does_not_cover_is_planned_from_the_findings() {
    let answers = planned(card("greet.txt", "sh check.sh")).into_iter().map(ScriptedReply::forever);
    let world = world(answers.collect());
    // One question at a time: how many the budget covers does not depend on their order.
    let run = mission(&world, &["--budget-tokens", "12000", "--max-subagents", "1"]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    let asked = world.provider.of("researcher");
    let said: String = asked.last().unwrap().request.messages().map(|(_, text)| text).collect();
    assert!(!said.contains("HYPOTHESES_V1"), "the dialogue starts over: {said}");
    assert_has(&said, &["greet.txt greets nobody (greet.txt:1", "small model: holds"]);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn messages_name_the_users_own_budget() {
    for (flag, value, named) in [
        ("--budget-tokens", "4000", "of the budget of 4000 tokens"),
        ("--budget-usd", "0.0012", "of the budget of $0.0012"),
    ] {
        let world = world(planned(card("greet.txt", "sh check.sh")));
        let run = mission(&world, &[flag, value]);
        assert_eq!(run.code, Some(4), "{}\n{}", run.stdout, run.stderr);
        assert_has(&run.stderr, &[named]);
    }
}
