//! Tests against servers that misbehave at the HTTP level. Each server is a thread that answers one connection with raw
//! bytes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::{AgentRole, Awaited, ToolChoice};

const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"four\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
/// Short timeouts, for servers that go silent.
const BOUNDS: AnswerBounds = AnswerBounds {
    connect: Duration::from_secs(10),
    first_token: Duration::from_millis(300),
    idle: Duration::from_millis(300),
    whole: Duration::from_secs(20),
    stream_bytes: 1 << 20,
};

/// Sends a request to a server that answers with what `say` writes and then keeps the connection open. Returns the result.
fn asked(
    bounds: AnswerBounds,
    say: impl FnOnce(&mut TcpStream) -> io::Result<()> + Send + 'static,
) -> Result<ModelReply, ModelError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (asked, is_over) = mpsc::channel::<()>();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let heard = stream.read(&mut [0; 1 << 12]).unwrap();
        assert!(heard > 0);
        // The client may have left before everything is written.
        drop(say(&mut stream));
        is_over.recv().unwrap_err();
    });
    let key = Some(Secret::from("sk-1".to_owned()));
    let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
    let client = DeepSeekClient { bounds, ..DeepSeekClient::new(&llm, &base, key).unwrap() };
    let request = ChatRequest {
        role: AgentRole::Editor,
        run: "run".to_owned(),
        lane: None,
        model: "m".to_owned(),
        thinking: None,
        max_tokens: 100,
        max_bytes: 1000,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        dialect: llm.dialects["deepseek"].clone().into(),
        messages: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(client.attempt(&request, &mut |_| ()));
    drop((runtime, asked));
    server.join().unwrap();
    reply
}

/// Sends a request to a server that answers with `text`.
fn of(text: String) -> Result<ModelReply, ModelError> {
    asked(BOUNDS, move |stream| stream.write_all(text.as_bytes()))
}

/// Compresses `piece` repeated over many megabytes, after `begin`.
fn bomb(begin: &str, piece: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(begin.as_bytes()).unwrap();
    let block = piece.repeat(1 << 14);
    (0..64).for_each(|_| encoder.write_all(block.as_bytes()).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_stream_counts_by_its_decompressed_size() {
    for (begin, piece) in
        [("", ": alive, still alive\n\n"), ("data: ", "never-ending-line"), ("", "\n\n\n\n")]
    {
        let body = bomb(begin, piece);
        let head =
            format!("{STREAM}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
        let reply =
            asked(BOUNDS, move |stream| stream.write_all(&[head.as_bytes(), &body].concat()));
        assert!(matches!(reply, Err(ModelError::Malformed { .. })), "{piece:?}: {reply:?}");
    }
}

#[test]
fn an_answer_may_arrive_a_byte_at_a_time() {
    let chunks: String =
        ANSWER.split_inclusive(|_| true).flat_map(|byte| ["1\r\n", byte, "\r\n"]).collect();
    let reply = of(format!("{STREAM}transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"));
    assert_eq!(reply.unwrap().content, "four");
}

#[test]
fn redirects_are_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}/chat/completions", other.local_addr().unwrap());
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let reply =
            of(format!("HTTP/1.1 {status}\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"));
        assert!(reply.is_err(), "{status}: {reply:?}");
        assert!(!format!("{reply:?}").contains("sk-1"), "{reply:?}");
    }
    other.set_nonblocking(true).unwrap();
    assert_eq!(other.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn endless_headers_are_an_error() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n{ANSWER}", "x".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n{ANSWER}", "x: y\r\n".repeat(1 << 17));
    for text in [long, many] {
        let reply = of(text);
        assert!(
            matches!(reply, Err(ModelError::Transport { .. } | ModelError::Malformed { .. })),
            "{reply:?}"
        );
    }
    // An endless series of interim responses.
    let reply = asked(BOUNDS, |stream| {
        loop {
            stream.write_all(&b"HTTP/1.1 102 Processing\r\n\r\n".repeat(100))?;
        }
    });
    assert!(matches!(reply, Err(ModelError::TimedOut { .. })), "{reply:?}");
}

#[test]
fn an_answer_that_gave_its_reason_is_complete_without_an_end_marker() {
    let text = ANSWER.replace("data: [DONE]\n\n", "");
    let chunked =
        format!("{STREAM}transfer-encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n", text.len());
    // The connection stays open, or breaks.
    for body in [
        chunked.clone(),
        format!("{chunked}zz"),
        format!("{STREAM}content-length: 20\r\n\r\n{text}"),
    ] {
        let reply = of(body.clone());
        let is_cut = body.contains("content-length");
        assert_eq!(reply.is_err(), is_cut, "{reply:?}");
    }
    let unfinished = text.replace("\"stop\"", "null");
    let reply = of(format!(
        "{STREAM}transfer-encoding: chunked\r\n\r\n{:x}\r\n{unfinished}\r\n",
        unfinished.len()
    ));
    assert!(matches!(reply, Err(ModelError::TimedOut { what: Awaited::Byte, .. })), "{reply:?}");
}

#[test]
fn wrong_lengths_are_errors() {
    let chunk =
        |size: &str| format!("{STREAM}transfer-encoding: chunked\r\n\r\n{size}\r\n: x\n\n\r\n");
    for text in [
        chunk("ffffffffffffffffff"),
        chunk("-1"),
        chunk("zz"),
        format!("{STREAM}content-length: 9\r\ncontent-length: 10\r\n\r\n{ANSWER}"),
        format!("{STREAM}content-length: -1\r\n\r\n{ANSWER}"),
        format!("{STREAM}content-length: 20\r\n\r\n{ANSWER}"),
    ] {
        let reply = of(text.clone());
        assert!(reply.is_err(), "{text:?}: {reply:?}");
    }
}

#[test]
fn what_was_refused_of_either_way_of_thinking_is_remembered() {
    let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
    let client = DeepSeekClient::new(&llm, "http://127.0.0.1:1", None).unwrap();
    let without = |refused: &[config::Parameter], most_tokens| SpokenDialect {
        refused: refused.iter().copied().collect(),
        most_tokens,
        ..SpokenDialect::default()
    };
    let (thinking, effort) = (config::Parameter::Thinking, config::Parameter::ReasoningEffort);
    client.remember("m", &without(&[thinking, effort], Some(9)));
    client.remember("m", &without(&[thinking], None));
    assert_eq!(client.dialect("m"), without(&[thinking, effort], Some(9)));
    assert!(client.dialect("another").is_usual());
}
