//! Tests the client against the fake, over real sockets: every behaviour and the error class it must lead to.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use config::Effort;
use config::access::Secret;
use serde_json::json;

use super::*;
use model::{
    AgentRole, AnswerBounds, Awaited, ChatMessage, ChatModel as _, ChatRequest, DeepSeekClient,
    ModelError, ModelReply, ReplyDelta, ToolChoice, Usage,
};

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Long enough for anything that works, even on a busy machine.
const PATIENT: AnswerBounds = AnswerBounds {
    connect: Duration::from_secs(5),
    first_token: Duration::from_secs(10),
    idle: Duration::from_secs(10),
    whole: Duration::from_secs(10),
    stream_bytes: 1 << 20,
};

/// For answers that never come. Still long enough for those that do, on a busy machine.
const IMPATIENT: AnswerBounds = AnswerBounds { idle: Duration::from_millis(900), ..PATIENT };

/// For answers that consist of keep-alives only.
const UNHEARD: AnswerBounds = AnswerBounds { first_token: Duration::from_millis(300), ..PATIENT };

async fn start(replies: Vec<ScriptedReply>, options: Options) -> Server {
    Server::start(ANYWHERE, replies, options, None).await.unwrap()
}

fn client(server: &Server, bounds: AnswerBounds, key: Option<&str>) -> DeepSeekClient {
    let key = key.map(|key| Secret::from(key.to_owned()));
    let llm = config::Llm {
        api_key_env: "THE_KEY".to_owned(),
        ..config::resolve_layers(&config::Inputs::default()).unwrap().config.llm
    };
    DeepSeekClient::new(&llm, &server.base_url(), key).unwrap().within(bounds)
}

fn request(text: &str) -> ChatRequest {
    ChatRequest {
        role: AgentRole::Editor,
        run: "run-1".into(),
        lane: Some("02".into()),
        model: "deepseek-flash".into(),
        thinking: Some(Effort::High),
        max_tokens: 1000,
        max_bytes: 4000,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        dialect: dialect::named(dialect::DEEPSEEK).unwrap().into(),
        messages: vec![ChatMessage::user(text)],
    }
}

async fn ask(client: &DeepSeekClient, request: &ChatRequest) -> Result<ModelReply, ModelError> {
    client.attempt(request, &mut |_| {}).await
}

/// Returns the result of a request that gets this reply.
async fn outcome(
    reply: ScriptedReply,
    bounds: AnswerBounds,
) -> (Result<ModelReply, ModelError>, Vec<ReplyDelta>) {
    let server = start(vec![reply], Options::default()).await;
    let mut deltas = Vec::new();
    let client = client(&server, bounds, Some("sk-right"));
    let result = client.attempt(&request("hi"), &mut |delta| deltas.push(delta)).await;
    (result, deltas)
}

/// Returns the class that every behaviour must lead to.
const fn expected(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::Text
        | Behaviour::ReasoningText
        | Behaviour::TextThenToolCall
        | Behaviour::UsageTrailingChunk
        | Behaviour::UsageAbsent
        | Behaviour::KeepaliveThenText
        | Behaviour::ChoicesNull
        | Behaviour::UnknownFields
        | Behaviour::CrlfAndBom
        | Behaviour::Utf8Split
        | Behaviour::OneByteWrites
        | Behaviour::Gzip
        | Behaviour::Slow
        | Behaviour::EofNoDone
        | Behaviour::DoneWithoutBlankLine
        | Behaviour::WrongContentType
        | Behaviour::NonstreamEmptyLines
        | Behaviour::Random => "reply",
        Behaviour::ReasoningOnly
        | Behaviour::ToolCall
        | Behaviour::InvalidJsonArguments
        | Behaviour::EmptyStop
        | Behaviour::BlankJson => "empty",
        Behaviour::Length
        | Behaviour::LengthMidArguments
        | Behaviour::EndlessText
        | Behaviour::EndlessReasoning
        | Behaviour::EndlessUnknownField => "length",
        Behaviour::ContentFilter => "content_filter",
        Behaviour::InsufficientSystemResource => "out_of_capacity",
        Behaviour::KeepaliveForever
        | Behaviour::KeepaliveMid
        | Behaviour::EndlessEvents
        | Behaviour::Stutter
        | Behaviour::StallAfterHeaders
        | Behaviour::StallMid => "timed_out",
        Behaviour::ResetBeforeHeaders | Behaviour::ResetMid => "transport",
        Behaviour::MalformedJsonEvent
        | Behaviour::HtmlPage
        | Behaviour::EndlessLine
        | Behaviour::Raw => "malformed",
        Behaviour::ErrorEvent => "interrupted",
        Behaviour::Http400 | Behaviour::Http413 | Behaviour::Http422 => "invalid_request",
        Behaviour::Http401 => "auth",
        Behaviour::Http402 => "quota",
        Behaviour::Http429 => "rate_limited",
        Behaviour::Http500 | Behaviour::Http502Html | Behaviour::Http503 => "server",
    }
}

#[tokio::test]
async fn every_behaviour_leads_to_its_class() {
    let text = "naïve 你好 🎉\n--- a/x\n+++ b/x\n";
    for behaviour in Behaviour::ALL {
        let expected = expected(*behaviour);
        let of = vec![Behaviour::Gzip];
        let said =
            if *behaviour == Behaviour::EndlessLine { text.repeat(100) } else { text.into() };
        let reply = ScriptedReply { behaviour: *behaviour, of, ..ScriptedReply::text(said) };
        let bounds = match (behaviour, expected) {
            // `stutter` sends one byte per 10 ms, and its answer has more bytes than fit in this time.
            (Behaviour::Stutter, _) => {
                AnswerBounds { whole: Duration::from_millis(300), ..PATIENT }
            }
            (Behaviour::KeepaliveForever | Behaviour::EndlessEvents, _) => UNHEARD,
            (_, "timed_out") => IMPATIENT,
            _ => PATIENT,
        };
        let (result, deltas) = outcome(reply, bounds).await;
        let class = result.as_ref().map_or_else(|error| error.class().name(), |_| "reply");
        assert_eq!(class, expected, "{}: {result:?}", behaviour.name());
        if let Ok(reply) = result {
            assert_eq!(reply.content, text, "{}", behaviour.name());
            assert_eq!(reply.usage.is_some(), *behaviour != Behaviour::UsageAbsent);
            let streamed: String = deltas
                .iter()
                .filter_map(|delta| match delta {
                    ReplyDelta::Text(text) => Some(text.as_str()),
                    ReplyDelta::Reasoning(_) | ReplyDelta::Hidden(_) | ReplyDelta::KeepAlive => {
                        None
                    }
                })
                .collect();
            assert_eq!(streamed, text, "{}", behaviour.name());
        }
    }
}

#[tokio::test]
async fn a_timeout_reports_what_was_awaited() {
    for (behaviour, bounds, expected, started) in [
        (Behaviour::KeepaliveForever, UNHEARD, Awaited::FirstToken, false),
        (Behaviour::StallAfterHeaders, IMPATIENT, Awaited::Byte, false),
        (Behaviour::StallMid, IMPATIENT, Awaited::Byte, true),
        (Behaviour::KeepaliveMid, IMPATIENT, Awaited::Byte, true),
        (Behaviour::EndlessEvents, UNHEARD, Awaited::FirstToken, true),
    ] {
        let error = outcome(ScriptedReply::of(behaviour), bounds).await.0.unwrap_err();
        assert!(
            matches!(error, ModelError::TimedOut { what, .. } if what == expected),
            "{error:?}"
        );
        assert_eq!(error.answer_started(), started, "{error:?}");
    }
    let whole = AnswerBounds { whole: Duration::from_millis(50), ..PATIENT };
    let error = outcome(ScriptedReply::of(Behaviour::KeepaliveForever), whole).await.0.unwrap_err();
    assert!(matches!(error, ModelError::TimedOut { what: Awaited::End, .. }), "{error:?}");
}

#[tokio::test]
async fn a_slow_answer_may_take_its_time_once_it_has_begun() {
    let first_token = Duration::from_secs(2);
    let slow =
        ScriptedReply { chunk_chars: 1, chunk_delay_ms: 500, ..ScriptedReply::text("seven") };
    let (result, _) = outcome(slow, AnswerBounds { first_token, ..PATIENT }).await;
    assert_eq!(result.unwrap().content, "seven");
}

#[tokio::test]
async fn successive_calls_share_a_connection() {
    // Slow, so that the end of the body arrives after `[DONE]` and not together with it.
    let reply = ScriptedReply { chunk_delay_ms: 1, ..ScriptedReply::of(Behaviour::Slow) }.forever();
    let server = start(vec![reply], Options::default()).await;
    let client = client(&server, PATIENT, Some("k"));
    for _ in 0..10 {
        ask(&client, &request("hi")).await.unwrap();
    }
    let most = server.requests().iter().map(|exchange| exchange.connection).max();
    // A busy machine may close some connections early; one for each call would mean that none is ever reused.
    assert!(most < Some(9), "{most:?} connections for 10 calls");
}

#[tokio::test]
async fn an_interrupted_answer_reports_what_arrived() {
    let reply =
        |behaviour| ScriptedReply { chunk_chars: 1, behaviour, ..ScriptedReply::text("four") };
    for behaviour in [Behaviour::ResetMid, Behaviour::StallMid, Behaviour::MalformedJsonEvent] {
        let error = outcome(reply(behaviour), IMPATIENT).await.0.unwrap_err();
        let partial = error.partial().unwrap();
        assert!((1..4).contains(&partial.bytes), "{error:?}");
        assert_eq!(partial.usage, None);
    }
    // It gave its reason, so it is whole.
    let whole = outcome(reply(Behaviour::EofNoDone), PATIENT).await.0.unwrap();
    assert_eq!((whole.content.as_str(), whole.usage.unwrap().output), ("four", 1));
}

#[tokio::test]
async fn endless_answers_are_cut_and_counted() {
    for behaviour in Behaviour::ENDLESS_TEXTS {
        let server = start(
            vec![ScriptedReply { behaviour, ..ScriptedReply::text("x".repeat(100)) }],
            Options::default(),
        )
        .await;
        let mut heard = 0;
        let mut hear = |delta| match delta {
            ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) => heard += text.len(),
            ReplyDelta::Hidden(bytes) => heard += bytes,
            ReplyDelta::KeepAlive => {}
        };
        let client = client(&server, PATIENT, Some("k"));
        let error = client.attempt(&request("hi"), &mut hear).await.unwrap_err();
        let unfinished = error.partial().map_or(0, |partial| partial.bytes);
        let heard = heard as u64 + unfinished;
        assert!((4000..4000 + 17 * 1024).contains(&heard), "{heard}: {error:?}");
        while server.in_flight() > 0 {
            tokio::task::yield_now().await;
        }
        let counted = server.requests()[0].counted().output;
        // Only one of the two numbers includes the head of the event.
        assert!(counted * 4 + 100 >= heard, "{counted} tokens, {heard} bytes");
    }
    let bounds = AnswerBounds { stream_bytes: 10_000, ..PATIENT };
    let error = outcome(ScriptedReply::of(Behaviour::EndlessEvents), bounds).await.0.unwrap_err();
    assert_eq!(error.class().name(), "malformed");
}

#[tokio::test]
async fn the_usage_field_may_be_anything() {
    for told in [json!(null), json!("much"), json!({"prompt_tokens": -1, "completion_tokens": 2})] {
        let reply = ScriptedReply { usage_told: Some(told.clone()), ..ScriptedReply::text("x") };
        assert_eq!(outcome(reply, PATIENT).await.0.unwrap().usage, None, "{told}");
    }
}

#[tokio::test]
async fn keep_alives_and_reasoning_are_passed_on() {
    let reasoning = ScriptedReply {
        reasoning: Some("hm".into()),
        ..ScriptedReply::of(Behaviour::KeepaliveThenText)
    };
    let (result, deltas) =
        outcome(ScriptedReply { keepalive_total_ms: 1, ..reasoning }, PATIENT).await;
    let text = |text: &str| text.to_owned();
    let expected =
        [ReplyDelta::KeepAlive, ReplyDelta::Reasoning(text("hm")), ReplyDelta::Text(text("ok"))];
    assert_eq!(deltas, expected);
    assert_eq!(result.unwrap().reasoning.as_deref(), Some("hm"));
}

#[tokio::test]
async fn retry_after_is_part_of_the_error() {
    for behaviour in [Behaviour::Http429, Behaviour::Http503] {
        let with = ScriptedReply { retry_after: Some("7".into()), ..ScriptedReply::of(behaviour) };
        let error = outcome(with, PATIENT).await.0.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let error = outcome(ScriptedReply::of(behaviour), PATIENT).await.0.unwrap_err();
        assert_eq!(error.retry_after(), None);
    }
}

#[tokio::test]
async fn a_request_is_recorded_as_it_was_sent() {
    let server = start(vec![ScriptedReply::text("yes").to("editor")], Options::default()).await;
    let asked = request("is it?");
    ask(&client(&server, PATIENT, Some("sk-right")), &asked).await.unwrap();
    let all = server.requests();
    let [exchange] = all.as_slice() else { panic!("{all:?}") };
    let seen = &exchange.request;
    assert_eq!(seen.body, asked.body());
    assert_eq!(seen.messages().collect::<Vec<_>>(), [("user", "is it?")]);
    for (name, value) in [
        ("authorization", "Bearer sk-right"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("user-agent", concat!("deepseek/", env!("CARGO_PKG_VERSION"))),
        ("x-agent-role", "editor"),
        ("x-agent-run", "run-1"),
        ("x-agent-lane", "02"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(exchange.status, Some(200));
    assert_eq!(exchange.behaviour, Some(Behaviour::Text));
    assert!(exchange.usage.is_some_and(|usage| usage.prompt > 0 && usage.output == 1));
}

#[tokio::test]
async fn an_exhausted_script_is_a_server_error() {
    let server = start(vec![ScriptedReply::text("plan").to("architect")], Options::default()).await;
    let error = ask(&client(&server, PATIENT, Some("k")), &request("hi")).await.unwrap_err();
    let message = "mock script exhausted".to_owned();
    assert_eq!(error, ModelError::Server { status: 500, message, retry_after: None });
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_reported_without_the_key() {
    let options = Options { expected_key: Some("sk-right".into()), ..Options::default() };
    let server = start(vec![], options).await;
    let missing = ask(&client(&server, PATIENT, None), &request("hi")).await.unwrap_err();
    assert_eq!(missing.class().name(), "auth");
    assert!(
        missing.to_string().contains("no key was sent, because THE_KEY is not set"),
        "{missing}"
    );
    let wrong =
        ask(&client(&server, PATIENT, Some("sk-12345678")), &request("hi")).await.unwrap_err();
    assert_eq!(wrong.class().name(), "auth");
    assert!(wrong.to_string().contains("****") && !wrong.to_string().contains("5678"), "{wrong}");
    let open = Options { require_key: false, ..Options::default() };
    let server = start(vec![ScriptedReply::text("ok")], open).await;
    assert!(ask(&client(&server, PATIENT, None), &request("hi")).await.is_ok());
}

#[tokio::test]
async fn a_growing_conversation_hits_the_cache() {
    let long = "x".repeat(4000);
    let server = start(vec![ScriptedReply::text(&long).forever()], Options::default()).await;
    let client = client(&server, PATIENT, Some("k"));
    let mut asked = request(&long);
    let first = ask(&client, &asked).await.unwrap();
    let first_usage = first.usage.unwrap();
    assert_eq!(first_usage.hit, Some(0));
    asked.messages.push(ChatMessage::Assistant {
        content: first.content,
        reasoning_content: None,
        tool_calls: Vec::new(),
    });
    asked.messages.push(ChatMessage::user("more"));
    let second = ask(&client, &asked).await.unwrap().usage.unwrap();
    let hit = second.hit.unwrap();
    assert_eq!(hit % 128, 0);
    assert!(hit + 128 > first_usage.total(), "{second:?} after {first_usage:?}");
    assert_eq!(server.requests()[1].usage, Some(second));
}

#[tokio::test]
async fn token_counts_can_be_overridden() {
    let usage =
        UsageOverride { prompt: Some(10), hit: Some(4), output: Some(3), reasoning: Some(2) };
    let (result, _) = outcome(ScriptedReply { usage, ..ScriptedReply::text("x") }, PATIENT).await;
    let expected = Usage { prompt: 10, hit: Some(4), output: 3, reasoning: Some(2) };
    assert_eq!(result.unwrap().usage, Some(expected));
}

#[tokio::test]
async fn a_function_can_answer() {
    let echo = Replies::driven(|request| {
        let said: String = request.messages().map(|(_, text)| text).collect();
        ScriptedReply::text(format!("{said}!"))
    });
    let server = Server::start(ANYWHERE, echo, Options::default(), None).await.unwrap();
    let client = client(&server, PATIENT, Some("k"));
    assert_eq!(ask(&client, &request("hi")).await.unwrap().content, "hi!");
    assert_eq!(ask(&client, &request("ho")).await.unwrap().content, "ho!");
}

#[tokio::test]
async fn excess_concurrent_requests_are_refused_and_use_up_nothing() {
    let options = Options { concurrency_429: 1, ..Options::default() };
    let hang = ScriptedReply::of(Behaviour::StallAfterHeaders);
    let server = start(vec![hang, ScriptedReply::text("then")], options).await;
    let client = client(&server, PATIENT, Some("k"));
    let (one, two) = (request("one"), request("two"));
    let mut first = Box::pin(ask(&client, &one));
    while server.in_flight() == 0 {
        tokio::select! {
            _ = &mut first => panic!("it hangs"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(ask(&client, &two).await.unwrap_err().class().name(), "rate_limited");
    drop(first);
    while server.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&client, &two).await.unwrap().content, "then");
}

#[tokio::test]
async fn a_closed_port_refuses_and_opens_later() {
    let options = Options { connection_refused_ms: 150, ..Options::default() };
    let server = start(vec![ScriptedReply::text("late")], options).await;
    let client = client(&server, PATIENT, Some("k"));
    // The server's task, which has not run yet, must first close the port.
    tokio::task::yield_now().await;
    let refused = ask(&client, &request("hi")).await.unwrap_err();
    assert_eq!(refused.class().name(), "unreachable");
    assert!(!refused.answer_started());
    let answer = loop {
        if let Ok(reply) = ask(&client, &request("hi")).await {
            break reply.content;
        }
    };
    assert_eq!(answer, "late");
}

#[tokio::test]
async fn dropping_a_server_closes_its_connections() {
    let server = start(vec![ScriptedReply::of(Behaviour::StallMid)], Options::default()).await;
    let client = client(&server, PATIENT, Some("k"));
    let asked = request("hi");
    let mut attempt = Box::pin(ask(&client, &asked));
    while server.in_flight() == 0 {
        tokio::select! {
            _ = &mut attempt => panic!("it hangs"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(server);
    assert_eq!(attempt.await.unwrap_err().class().name(), "transport");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_choices() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let of =
            vec![Behaviour::Text, Behaviour::Http500, Behaviour::EmptyStop, Behaviour::Http429];
        let random = ScriptedReply { of, ..ScriptedReply::of(Behaviour::Random) };
        let options = Options { seed: 7, ..Options::default() };
        let server = start(vec![random.forever()], options).await;
        let client = client(&server, PATIENT, Some("k"));
        for _ in 0..12 {
            drop(ask(&client, &request("hi")).await);
        }
        let drawn: Vec<_> = server.requests().iter().map(|exchange| exchange.behaviour).collect();
        seen.push(drawn);
    }
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0].iter().any(|behaviour| *behaviour != seen[0][0]));
}

#[tokio::test]
async fn the_log_has_a_line_for_each_request_and_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.jsonl");
    let server =
        Server::start(ANYWHERE, vec![ScriptedReply::text("ok")], Options::default(), Some(&log));
    let server = server.await.unwrap();
    let client = client(&server, PATIENT, Some("sk-secret-key"));
    let asked = request("hi");
    ask(&client, &asked).await.unwrap();
    ask(&client, &asked).await.unwrap_err();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("secret"));
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["role"], "editor");
    assert_eq!(lines[0]["raw"].as_str().unwrap().as_bytes(), asked.body());
    assert_eq!(lines[0]["body"]["messages"][0]["content"], "hi");
    assert_eq!(lines[0]["status"], 200);
    assert_eq!(lines[0]["usage"]["output"], 1);
    assert_eq!(
        (&lines[1]["status"], &lines[1]["refusal"]),
        (&500.into(), &"mock script exhausted".into())
    );
}
