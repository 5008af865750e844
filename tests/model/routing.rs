//! The choice of the model for a question: by score, recorded, escalated at most once, and never against the user's choice.

use mock::ScriptedReply;

use crate::support::{Project, Provider, Run, World};

const DESIGN: &str = "Design the architecture of a plugin system that must be deterministic";

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

fn world(replies: Vec<ScriptedReply>) -> World {
    World::of(Project::greeting(), Provider::new(replies))
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
    let reasons = serde_json::json!(["keywords", "constraints", "breadth"]);
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
            .configure(config);
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
