//! Tests of servers at an address, over real HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::CallOutcome;
use crate::fake_http::{FakeHttp, FakeSession, HttpSaid, adding, older};

fn answered(text: &str) -> CallOutcome {
    CallOutcome::Answered { text: text.to_owned(), failed: false }
}

#[tokio::test]
async fn tools_of_an_address_are_listed_and_called_in_its_session() {
    let fake = FakeHttp::start(|_, asked| older(asked)).await;
    let mut server = McpServer { url: format!("{}/mcp", fake.origin), ..McpServer::default() };
    server.headers.insert("X-Key".to_owned(), "${KEY}".to_owned());
    let session = FakeSession::with(server);
    assert_eq!(session.look().await.unwrap()[0].name, "add");
    session.approve();
    assert_eq!(session.call().await, answered("3"));
    assert_eq!(session.call().await, answered("3"));
    let asked = fake.asked();
    for request in asked.iter().filter(|it| it.method == "POST") {
        assert_eq!((request.path.as_str(), request.header("x-key")), ("/mcp", Some("k-1")));
        let of_session = (request.called() != "initialize").then_some("session-1");
        assert_eq!(request.header("mcp-session-id"), of_session, "{request:?}");
    }
    assert_eq!((fake.calls("initialize"), fake.calls("tools/call")), (2, 2));
}

#[tokio::test]
async fn answers_may_be_streams_of_events() {
    let fake = FakeHttp::start(|_, asked| match (asked.called().as_str(), older(asked)) {
        ("tools/list" | "tools/call", HttpSaid::Answer(200, _, body)) => {
            let answer: Value = serde_json::from_str(&body).unwrap();
            HttpSaid::event(&answer)
        }
        (_, other) => other,
    })
    .await;
    let session = FakeSession::at(&fake.origin);
    session.approve();
    assert_eq!(session.call().await, answered("3"));
}

#[tokio::test]
async fn a_server_without_a_handshake_is_asked_what_it_can() {
    for status in [400, 200] {
        let fake = FakeHttp::start(move |_, asked| {
            let id = asked.json()["id"].clone();
            let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
            match asked.called().as_str() {
                "server/discover" => HttpSaid::json(&result(json!({
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": {} },
                    "ttlMs": 0,
                    "cacheScope": "private",
                }))),
                "tools/list" => HttpSaid::json(&result(json!({
                    "resultType": "complete", "tools": [adding()], "ttlMs": 0, "cacheScope": "private",
                }))),
                "tools/call" => HttpSaid::json(&result(json!({
                    "resultType": "complete", "content": [{ "type": "text", "text": "3" }],
                }))),
                _ if status == 400 => HttpSaid::status(400),
                _ => HttpSaid::json(&json!({
                    "jsonrpc": "2.0", "id": id,
                    "error": { "code": -32601, "message": "no such method" },
                })),
            }
        })
        .await;
        let session = FakeSession::at(&fake.origin);
        session.approve();
        assert_eq!(session.call().await, answered("3"), "{status}");
        let call = fake.asked().into_iter().find(|it| it.called() == "tools/call").unwrap();
        assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(call.header("mcp-name"), Some("add"));
        assert_eq!(call.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn the_beginning_is_tried_again_and_a_call_is_not() {
    let failures = AtomicUsize::new(0);
    let fake = FakeHttp::start(move |_, asked| match asked.called().as_str() {
        "initialize" | "tools/list"
            if failures.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) =>
        {
            HttpSaid::status(503)
        }
        "tools/call" => HttpSaid::status(502),
        _ => older(asked),
    })
    .await;
    let session = FakeSession::at(&fake.origin);
    session.approve();
    let why = "it answers with HTTP 502".to_owned();
    assert_eq!(session.call().await, CallOutcome::Unknown(why));
    assert_eq!((fake.calls("initialize"), fake.calls("tools/list")), (2, 2));
    assert_eq!(fake.calls("tools/call"), 1);
}

#[tokio::test]
async fn a_call_whose_answer_breaks_off_is_not_known_and_one_that_never_left_is_refused() {
    let fake = FakeHttp::start(|_, asked| match asked.called().as_str() {
        "tools/call" => HttpSaid::Nothing,
        _ => older(asked),
    })
    .await;
    let session = FakeSession::at(&fake.origin);
    session.approve();
    let outcome = session.call().await;
    assert!(
        matches!(&outcome, CallOutcome::Unknown(why) if why.contains("broke off")),
        "{outcome:?}"
    );
    assert_eq!(fake.calls("tools/call"), 1);

    let unreachable = FakeSession::at("http://127.0.0.1:1/secret-path");
    unreachable.approve();
    let outcome = unreachable.call().await;
    let CallOutcome::Refused(why) = &outcome else { panic!("{outcome:?}") };
    assert!(why.contains("http://127.0.0.1:1/ cannot be reached"), "{why}");
    assert!(!why.contains("secret-path"), "{why}");
}

#[tokio::test]
async fn a_redirect_to_another_address_is_refused() {
    let other = FakeHttp::start(|_, asked| older(asked)).await;
    let to = format!("{}/mcp?key=1", other.origin);
    let fake = FakeHttp::start(move |own, asked| match asked.path.as_str() {
        "/near" => HttpSaid::status(307).with("location", &format!("{own}/mcp")),
        "/far" => HttpSaid::status(307).with("location", &to),
        "/get" => HttpSaid::status(302).with("location", &format!("{own}/mcp")),
        _ => older(asked),
    })
    .await;
    let at = |path: &str| FakeSession::at(&format!("{}{path}", fake.origin));
    assert_eq!(at("/near").look().await.unwrap().len(), 1);
    let why = at("/far").look().await.unwrap_err().to_string();
    assert!(
        why.ends_with(&format!(
            "it leads on to {}/mcp, which is another address than the one that you approved",
            other.origin
        )),
        "{why}"
    );
    assert!(at("/get").look().await.is_err());
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_refusal_says_how_to_log_in() {
    for (status, header, expected) in [
        (
            401,
            Some("Bearer resource_metadata=\"x\""),
            "it wants a login; log in with `deepseek mcp login fake`",
        ),
        (401, None, "it wants a login; log in with `deepseek mcp login fake`"),
        (
            403,
            Some("Bearer error=\"insufficient_scope\", scope=\"files:write $(id) -x `y`\""),
            "it wants a login with more rights; log in with `deepseek mcp login fake --scope files:write`",
        ),
        (404, None, "it has no server of this protocol at the address (HTTP 404)"),
    ] {
        let fake = FakeHttp::start(move |_, _| match header {
            Some(header) => HttpSaid::status(status).with("www-authenticate", header),
            None => HttpSaid::status(status),
        })
        .await;
        let why = FakeSession::at(&fake.origin).look().await.unwrap_err().to_string();
        assert_eq!(why, format!("the MCP server `fake`: {expected}"));
        assert_eq!(fake.asked().len(), 1);
    }
    let fake = FakeHttp::start(|_, _| HttpSaid::status(401)).await;
    let mut server = McpServer { url: fake.origin.clone(), ..McpServer::default() };
    server.headers.insert("authorization".to_owned(), "Bearer ${KEY}".to_owned());
    let why = FakeSession::with(server).look().await.unwrap_err().to_string();
    assert!(
        why.ends_with("it refuses the header `Authorization` of its entry (HTTP 401)"),
        "{why}"
    );
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_refused() {
    for as_event in [false, true] {
        let fake = FakeHttp::start(move |_, asked| match asked.called().as_str() {
            "tools/call" => {
                let text = "x".repeat(20 << 20);
                let answer = json!({
                    "jsonrpc": "2.0", "id": asked.json()["id"],
                    "result": { "content": [{ "type": "text", "text": text }] },
                });
                if as_event { HttpSaid::event(&answer) } else { HttpSaid::json(&answer) }
            }
            _ => older(asked),
        })
        .await;
        let session = FakeSession::at(&fake.origin);
        session.approve();
        let max = session.settings.max_message_bytes;
        let why = format!("it sent a message of more than {max} bytes (mcp.max_message_bytes)");
        assert_eq!(session.call().await, CallOutcome::Unknown(why), "{as_event}");
    }
}

#[tokio::test]
async fn a_stream_that_never_ends_is_left_at_the_limit_of_a_call() {
    let fake = FakeHttp::start(|_, asked| match asked.called().as_str() {
        "tools/call" => HttpSaid::Endless(": begin\n\n".to_owned()),
        _ => older(asked),
    })
    .await;
    let server = McpServer {
        url: fake.origin.clone(),
        call_timeout_seconds: Some(1),
        ..McpServer::default()
    };
    let session = FakeSession::with(server);
    session.approve();
    let why = "it did not answer in time (mcp.call_timeout_seconds)".to_owned();
    assert_eq!(session.call().await, CallOutcome::Unknown(why));
    assert_eq!(fake.calls("tools/call"), 1);
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_refused_before_anything_is_sent() {
    for (url, header, expected) in [
        ("http://me:pass@127.0.0.1:1/", "x", "`url` has a user name or password"),
        ("http://127.0.0.1:1/${NONE}", "x", "the variable NONE is not set"),
        ("http://127.0.0.1:1/", "a\nb", "the value of the header `X` cannot be sent"),
    ] {
        let mut server = McpServer { url: url.to_owned(), ..McpServer::default() };
        server.headers.insert("X".to_owned(), header.to_owned());
        let why = FakeSession::with(server).look().await.unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        assert!(!why.contains("pass@"), "{why}");
    }
}
