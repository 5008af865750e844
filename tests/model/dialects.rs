//! Servers that do not understand what DeepSeek's does: what they refuse is left out, once.

use mock::{Options, ScriptedReply};

use crate::support::{Project, Provider, World, diff, plan};

/// Returns a world whose server speaks this dialect.
fn world(dialect: &str, replies: Vec<ScriptedReply>) -> World {
    let options = Options { dialect: dialect.to_owned(), ..Options::default() };
    World::of(Project::greeting(), Provider::with(replies, options))
}

fn replies() -> Vec<ScriptedReply> {
    let architect = ScriptedReply {
        reasoning: Some("Let me think.".to_owned()),
        ..ScriptedReply::text(plan(&["greet.txt"])).to("architect")
    };
    vec![
        architect,
        ScriptedReply::text(diff("greet.txt", "hello", "hello world")).to("editor"),
        ScriptedReply::text("It greets.").to("analysis").forever(),
    ]
}

/// Returns the number of requests that were refused.
fn refused(world: &World) -> usize {
    world.provider.requests().iter().filter(|seen| seen.status == Some(400)).count()
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn what_a_server_refuses_is_left_out_once_and_remembered() {
    for (dialect, most) in [("openai", 4), ("openrouter", 3), ("mistral", 4), ("vllm", 3)] {
        let world = world(dialect, replies());
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{dialect}: {}", run.stderr);
        let first = refused(&world);
        assert!((1..=most).contains(&first), "{dialect}: {first} refusals");
        replays(&world);
        let run = world.asks("What does it do?");
        assert_eq!(run.code, Some(0), "{dialect}: {}", run.stderr);
        assert_eq!(refused(&world), first, "{dialect}: refused again what was refused before");
        replays(&world);
        let plan = world.provider.requests().into_iter().rfind(|seen| {
            seen.status == Some(200) && seen.request.header("x-agent-role") == Some("architect")
        });
        assert!(plan.unwrap().request.json.get("thinking").is_none(), "{dialect}");
    }
}

#[test]
fn a_server_whose_dialect_is_set_refuses_nothing() {
    for dialect in ["openai", "openrouter", "mistral", "vllm", "plain"] {
        let mut configured = format!("[llm]\ndialect = \"{dialect}\"\n");
        if dialect == "plain" {
            configured += "native_tools = false\n";
        }
        let world = world(dialect, replies()).configure(&configured);
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{dialect}: {}", run.stderr);
        assert_eq!(world.asks("What does it do?").code, Some(0), "{dialect}");
        assert_eq!(refused(&world), 0, "{dialect}");
    }
}

#[test]
fn a_server_without_tools_is_told_how_to_call_them_by_lines_of_text() {
    let replies = vec![
        ScriptedReply::text("NEED_TOOL|fs.read|{\"path\":\"greet.txt\"}").to("analysis"),
        ScriptedReply::text("It says hello.").to("analysis").forever(),
    ];
    let world = world("plain", replies);
    let run = world.asks("What does it say?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let before = refused(&world);
    let asked = world.provider.requests();
    let read = asked.iter().filter(|seen| seen.status == Some(200)).collect::<Vec<_>>();
    assert!(read.iter().all(|seen| seen.request.json.get("tools").is_none()));
    let last = |at: usize| read[at].request.json["messages"].as_array().unwrap().last().cloned();
    assert!(last(0).unwrap()["content"].as_str().unwrap().contains("NEED_TOOL|<name>|<arguments>"));
    assert!(last(1).unwrap()["content"].as_str().unwrap().contains("   1| hello"));
    replays(&world);
    // The next question is asked like this from the start.
    assert_eq!(world.asks("And now?").code, Some(0));
    assert_eq!(refused(&world), before);
    replays(&world);
}

#[test]
fn doctor_sends_what_a_request_sends_and_says_what_is_left_out() {
    let replies = vec![ScriptedReply::text("Yes.").forever()];
    let world = world("openai", replies);
    for _ in 0..2 {
        let run = world.deepseek(["doctor"]).run();
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("(without max_tokens, thinking)"), "{}", run.stdout);
    }
    let before = refused(&world);
    assert_eq!(world.asks("What does it do?").code, Some(0));
    assert_eq!(refused(&world), before, "what doctor found out is used");
}

#[test]
fn a_length_limit_that_a_server_finds_too_large_is_lowered() {
    let refusal = ScriptedReply {
        behaviour: mock::Behaviour::Http400,
        ..ScriptedReply::text(
            "max_tokens is too large: 32768. This model supports at most 16384 completion tokens, \
             whereas you provided 32768.",
        )
    };
    let answer = ScriptedReply::text("It greets.").forever();
    let world = World::greeting(vec![refusal.to("analysis"), answer]);
    let run = world.asks("What does it do?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let limits: Vec<_> = world
        .provider
        .of("analysis")
        .iter()
        .map(|it| it.request.json["max_tokens"].as_u64())
        .collect();
    assert_eq!(limits, [Some(32768), Some(16384)]);
    replays(&world);
}
