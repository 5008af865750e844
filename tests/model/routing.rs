//! The choice of the model for a question: by score, recorded, escalated at most once, and never against the user's choice.

use mock::ScriptedReply;

use crate::support::{Project, Provider, Run, World};

const DESIGN: &str = "Design the architecture of a plugin system that must be deterministic";

/// A model for long thought that is not the one for questions.
const STRONGEST: &str = "[llm.max_think_model]\nmodel = \"deepseek-v4-pro\"\n";

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

fn world(replies: Vec<ScriptedReply>) -> World {
    World::of(Project::greeting(), Provider::new(replies)).configure(STRONGEST)
}

/// Returns the models that were called, in order.
fn asked(world: &World) -> Vec<String> {
    let model = |seen: &mock::Exchange| seen.request.json["model"].as_str().unwrap().to_owned();
    world.provider.requests().iter().map(model).collect()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

fn chosen(run: &Run) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let decisions = run.all("RouterDecision").into_iter();
    decisions.map(|it| (text(&it["selected_model"]), text(&it["assessment"]["choice"]))).collect()
}

#[test]
fn a_hard_question_goes_to_the_strongest_model_and_an_easy_one_does_not() {
    let world = world(vec![says("It greets."), says("Like this.")]);
    let easy = world.asks("What does greet.txt say?");
    assert_eq!(chosen(&easy), [("deepseek-flash".to_owned(), "own".to_owned())]);
    let hard = world.asks(DESIGN);
    assert_eq!(chosen(&hard), [("deepseek-v4-pro".to_owned(), "max_think".to_owned())]);
    assert_eq!(asked(&world), ["deepseek-flash", "deepseek-v4-pro"]);
    let decision = hard.one("RouterDecision");
    assert!(decision["assessment"]["score"].as_f64().unwrap() >= 0.72);
    let reasons = serde_json::json!(["keywords", "constraints", "breadth", "unattended"]);
    assert_eq!(decision["assessment"]["reasons"], reasons);
    assert!(decision["prompt_hash"].as_str().unwrap().len() > 16);
    replays(&world);
    let seq =
        hard.events.iter().find(|it| it["kind"] == "RouterDecision@v2").unwrap()["seq"].to_string();
    let explained = world.deepseek(["explain", &seq]).run();
    assert!(
        explained.stdout.contains("deepseek-v4-pro, which thinks longest, answers (score 0.8"),
        "{}",
        explained.stdout
    );
}

#[test]
fn for_an_uncertain_score_a_small_model_decides() {
    let config = "[router]\nuncertain_from = 0.0\nmax_think_threshold = 2.0\n";
    for (word, model) in
        [("YES", "deepseek-v4-pro"), ("NO", "deepseek-flash"), ("Well", "deepseek-flash")]
    {
        let world = world(vec![ScriptedReply::text(word).to("intent"), says("It greets.")])
            .configure(&format!("{STRONGEST}{config}"));
        let run = world.asks("What does greet.txt say?");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(asked(&world), ["deepseek-flash", model], "{word}");
        assert_eq!(chosen(&run).len(), 2);
        replays(&world);
    }
}

#[test]
fn without_a_usable_answer_the_question_is_escalated_once() {
    let broken = vec![says("NEED_CONTEXT|../outside"); 3];
    let world = world([broken, vec![says("It greets.")]].concat());
    let run = world.asks("What does greet.txt say?");
    assert_eq!(
        (run.code, run.one("RouterEscalation")["to"].as_str()),
        (Some(0), Some("deepseek-v4-pro"))
    );
    assert_eq!(asked(&world).last().map(String::as_str), Some("deepseek-v4-pro"));
    replays(&world);

    let world = self::world(vec![says("NEED_CONTEXT|../outside").forever()]);
    let run = world.asks("What does greet.txt say?");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(run.all("RouterEscalation").len(), 1, "escalated more than once");
}

#[test]
fn a_model_or_thinking_mode_fixed_by_the_user_is_not_changed() {
    for fixed in
        [vec!["--model", "deepseek-flash"], vec!["--thinking", "off"], vec!["--thinking", "on"]]
    {
        let world = world(vec![says("Like this.")]);
        let args = ["ask", DESIGN, "--output", "stream-json"];
        let run = world.deepseek(args.into_iter().chain(fixed.iter().copied())).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(asked(&world), ["deepseek-flash"], "{fixed:?}");
        let reasons = run.one("RouterDecision")["assessment"]["reasons"].clone();
        assert_eq!(reasons.as_array().unwrap().last().unwrap(), "fixed");
        let thinks = world.provider.requests()[0].request.json["thinking"]["type"].clone();
        assert_eq!(thinks == "enabled", fixed[1] == "on", "{thinks}");
    }
    let world = world(vec![says("Like this.")]);
    let run =
        world.deepseek(["ask", DESIGN, "--thinking", "auto", "--output", "stream-json"]).run();
    assert_eq!(chosen(&run)[0].1, "max_think");
}

#[test]
fn one_heuristic_alone_is_left_to_a_small_model() {
    for request in ["Explain the architecture", "做一个计划", "1. read it\n2. count its lines"]
    {
        for (word, model, line) in [
            ("YES", "deepseek-v4-pro", "asking deepseek-v4-pro to think longer: "),
            ("NO", "deepseek-flash", ""),
        ] {
            let world = world(vec![ScriptedReply::text(word).to("intent"), says("It greets.")]);
            let run = world.deepseek(["ask", request]).run();
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            assert_eq!(asked(&world), ["deepseek-flash", model], "{request} {word}");
            assert!(run.stderr.contains(line), "{}", run.stderr);
            assert_eq!(run.stderr.contains("to think longer"), !line.is_empty(), "{}", run.stderr);
        }
    }
}

/// A log whose every line has words of all lists, and an arrow.
fn log() -> String {
    let line =
        |n| format!("2026-11-27T02:03:04 ERROR app::design: must plan {n} -> 计划 think hard\n");
    (0..400).map(line).collect()
}

#[test]
fn a_pasted_log_changes_neither_the_choice_nor_what_the_small_model_is_asked() {
    for (asked_for, replies, models) in [
        ("Why does greet.txt greet? It should not.", vec![], vec!["deepseek-flash"]),
        (
            "Explain the architecture of greet.txt.",
            vec![ScriptedReply::text("NO").to("intent")],
            vec!["deepseek-flash", "deepseek-flash"],
        ),
    ] {
        let log = log();
        let mut choices = Vec::new();
        for request in [
            asked_for.to_owned(),
            format!("{asked_for}\n\n{log}"),
            format!("{asked_for}\n```\n{log}```"),
            format!("{log}\n{asked_for}"),
        ] {
            let world = world([replies.clone(), vec![says("It greets.")]].concat());
            let run = world.asks(&request);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            assert_eq!(asked(&world), models, "{request:.80}");
            choices.push(chosen(&run));
            let bodies = world.provider.requests();
            let has_log = |at: usize| bodies[at].request.json.to_string().contains("app::design");
            assert_eq!(
                has_log(models.len() - 1),
                request.len() > 1_000,
                "the model is shown the log"
            );
            assert!(models.len() == 1 || !has_log(0), "the small model is shown the log");
        }
        assert!(choices.iter().all(|it| *it == choices[0]), "{choices:?}");
    }
}

#[test]
fn what_a_file_says_does_not_count() {
    let notes = format!("### 计划\n1. think hard\n2. design\n{}", log());
    let project = Project::new(&[("greet.txt", "hello\n"), ("notes.md", &notes)]);
    let world = World::of(project, Provider::new(vec![says("It greets.")]));
    let run = world.asks("What does @notes.md say?");
    assert_eq!(chosen(&run), [("deepseek-flash".to_owned(), "own".to_owned())]);
    let reasons = run.one("RouterDecision")["assessment"]["reasons"].clone();
    assert_eq!(reasons, serde_json::json!(["breadth", "unattended"]));
}

#[test]
fn usage_tells_what_each_way_of_choosing_led_to() {
    let yes = || ScriptedReply::text("YES").to("intent");
    let replies = vec![says("It greets."), says("Like this."), yes(), says("So.")];
    let broken = vec![says("NEED_CONTEXT|../outside"); 3];
    let world = world(
        [replies, broken.clone(), vec![says("At last.")], vec![broken[0].clone().forever()]]
            .concat(),
    );
    for request in ["What is it?", DESIGN, "Explain the architecture", "What else?", "And this?"] {
        world.asks(request);
    }
    let rows = world.deepseek(["usage", "--by", "decision", "--output", "json"]).run();
    let told = &rows.events[0];
    let row = |row: &serde_json::Value| {
        let of = |name: &str| row[name].as_u64().unwrap();
        let name = row["decision"].as_str().unwrap_or("all").to_owned();
        (name, of("questions"), of("delivered"), row["usage"]["calls"].as_u64().unwrap())
    };
    let table: Vec<_> = told["rows"].as_array().unwrap().iter().map(row).collect();
    let expected = [
        ("own", 1, 1, 1),
        ("max_think", 1, 1, 1),
        ("question_max_think", 1, 1, 2),
        ("escalated", 2, 1, 10),
    ];
    let expected = expected
        .map(|(name, questions, delivered, calls)| (name.to_owned(), questions, delivered, calls));
    assert_eq!(table, expected);
    assert_eq!(row(&told["total"]), ("all".to_owned(), 5, 4, 14));
    let shown = world.deepseek(["usage", "--by", "decision"]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let first: Vec<&str> = shown.stdout.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first[..4], ["questions", "delivered", "decision", "calls"], "{}", shown.stdout);
}
