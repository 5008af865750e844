//! Answers as servers really send them: each is read as it is meant, or refused after one call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mock::{Behaviour, ScriptedReply};

use crate::support::World;

const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The answer that most cases mean.
const MEANT: &str = "It is 1.";

/// How a case must end.
#[derive(Clone, Copy)]
enum Reading {
    /// The answer is shown.
    Read,
    /// The run fails with this class.
    Refused(&'static str),
}

#[derive(Clone)]
struct Case {
    name: &'static str,
    media_type: &'static str,
    body: String,
    reading: Reading,
}

fn read(name: &'static str, media_type: &'static str, body: impl Into<String>) -> Case {
    Case { name, media_type, body: body.into(), reading: Reading::Read }
}

fn refused(
    name: &'static str,
    class: &'static str,
    media_type: &'static str,
    body: impl Into<String>,
) -> Case {
    Case { name, media_type, body: body.into(), reading: Reading::Refused(class) }
}

/// Returns a stream of these events.
fn stream(events: &[&str]) -> String {
    events.iter().map(|event| ["data: ", event, "\n\n"].concat()).collect()
}

/// Returns a chunk with a choice that has these fields.
fn chunk(choice: &str) -> String {
    format!(r#"{{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{{{choice}}}]}}"#)
}

/// Returns a stream of a choice, a chunk with a finish reason, and the end marker.
fn choice(choice: &str) -> String {
    stream(&[&chunk(choice), STOP, "[DONE]"])
}

/// Returns an object with this message.
fn whole(message: &str) -> String {
    format!(
        r#"{{"id":"x","choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
    )
}

/// Returns a stream whose answer ends with this finish reason, as JSON.
fn finished(reason: &str) -> String {
    let last = chunk(&format!(r#""index":0,"delta":{{}},"finish_reason":{reason}"#));
    stream(&[&chunk(TEXT), &last, "[DONE]"])
}

/// Returns a stream whose last chunk has this usage.
fn with_usage(usage: &str) -> String {
    let last =
        format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop"}}],"usage":{usage}}}"#);
    stream(&[&chunk(TEXT), &last, "[DONE]"])
}

const USAGE: &str = r#"{"prompt_tokens":900,"completion_tokens":20,"total_tokens":920}"#;
const TEXT: &str = r#""index":0,"delta":{"content":"It is 1."},"finish_reason":null"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":20}}"#;

fn packings() -> Vec<Case> {
    let plain = stream(&[&chunk(TEXT), STOP, "[DONE]"]);
    let object = whole(r#"{"role":"assistant","content":"It is 1."}"#);
    let pretty = object.replace(',', ",\n  ").replace('{', "{\n  ");
    let data_lines = chunk(TEXT).replace(',', ",\ndata: ");
    vec![
        read("a stream", STREAM, plain.clone()),
        read("a stream said to be JSON", JSON, plain.clone()),
        read("a stream said to be HTML", "text/html", plain.clone()),
        read("a stream said to be bytes", "application/octet-stream", plain.clone()),
        read("a media type in capitals", "TEXT/EVENT-STREAM; CHARSET=UTF-8", plain.clone()),
        read("lines that end with CRLF", STREAM, plain.replace('\n', "\r\n")),
        read("lines that end with CR", STREAM, plain.replace('\n', "\r")),
        read("a byte order mark", STREAM, format!("\u{feff}{plain}")),
        read("no space after the colon", STREAM, plain.replace("data: ", "data:")),
        read(
            "other fields of events",
            STREAM,
            plain.replace("data: ", "event: message\nid: 7\nretry: 5\ndata: "),
        ),
        read(
            "comments between events",
            STREAM,
            plain.replace("data: ", ": OPENROUTER PROCESSING\n\ndata: "),
        ),
        read("an event of several lines", STREAM, stream(&[&data_lines, STOP, "[DONE]"])),
        read("no blank line at the end", STREAM, plain.trim_end()),
        read("an end marker between blanks", STREAM, plain.replace("[DONE]", "  [DONE] ")),
        read(
            "events after the end",
            STREAM,
            format!("{plain}data: {}\n\n", chunk(r#""delta":{"content":" Not."}"#)),
        ),
        read("an object", JSON, object.clone()),
        read("an object said to be text", "text/plain", object.clone()),
        read("an object said to be a stream", STREAM, object.clone()),
        read("an object after empty lines", JSON, format!("\n\n\n{object}\n")),
        read("an object after a byte order mark", JSON, format!("\u{feff}{object}")),
        read("an object of many lines", JSON, pretty),
    ]
}

fn ends() -> Vec<Case> {
    vec![
        read("no end marker", STREAM, stream(&[&chunk(TEXT), STOP])),
        read("no finish reason", STREAM, stream(&[&chunk(TEXT), "[DONE]"])),
        read("an empty finish reason", STREAM, finished("\"\"")),
        read("a finish reason of no type", STREAM, finished("7")),
        read("eos", STREAM, finished("\"eos\"")),
        read("STOP", STREAM, finished("\"STOP\"")),
        read("end_turn", STREAM, finished("\"end_turn\"")),
        read(
            "a finish reason with the text",
            STREAM,
            stream(&[&chunk(r#""delta":{"content":"It is 1."},"finish_reason":"stop""#)]),
        ),
        read(
            "usage in a chunk of its own",
            STREAM,
            stream(&[
                &chunk(TEXT),
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
                "[DONE]",
            ]),
        ),
        read(
            "usage with other names",
            STREAM,
            with_usage(r#"{"input_tokens":9,"output_tokens":2}"#),
        ),
        read("usage of no type", STREAM, with_usage("\"none\"")),
        read(
            "usage with texts",
            STREAM,
            with_usage(r#"{"prompt_tokens":"9","completion_tokens":null}"#),
        ),
        read("no usage", STREAM, with_usage("null")),
    ]
}

fn fields() -> Vec<Case> {
    vec![
        read(
            "content in parts",
            STREAM,
            choice(r#""delta":{"content":[{"type":"text","text":"It is 1."}]}"#),
        ),
        read("content in texts", STREAM, choice(r#""delta":{"content":["It is"," 1."]}"#)),
        read(
            "reasoning among the parts",
            STREAM,
            choice(
                r#""delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"It is 1."}]}"#,
            ),
        ),
        read(
            "message for delta",
            STREAM,
            choice(r#""message":{"role":"assistant","content":"It is 1."}"#),
        ),
        read(
            "delta null beside a message",
            STREAM,
            choice(r#""delta":null,"message":{"content":"It is 1."}"#),
        ),
        read(
            "an object in parts",
            JSON,
            whole(r#"{"content":[{"type":"text","text":"It is 1."}]}"#),
        ),
        read(
            "ids of no type",
            STREAM,
            stream(&[&chunk(TEXT).replace("\"x\"", "7").replace("\"m\"", "[]"), STOP, "[DONE]"]),
        ),
        read(
            "nulls everywhere",
            STREAM,
            stream(&[
                &format!(
                    r#"{{"id":null,"model":null,"usage":null,"error":null,"choices":[{{{TEXT},"logprobs":null}}]}}"#
                ),
                STOP,
                "[DONE]",
            ]),
        ),
        read(
            "unknown fields",
            STREAM,
            choice(&format!(r#"{TEXT},"matched_stop":[1,{{}}],"stop_reason":null"#)),
        ),
    ]
}

fn pieces() -> Vec<Case> {
    vec![
        read(
            "log probabilities",
            STREAM,
            choice(&format!(
                r#"{TEXT},"logprobs":{{"content":[{{"token":"It","logprob":-1.5}}]}}"#
            )),
        ),
        read(
            "a first piece without text",
            STREAM,
            stream(&[
                &chunk(
                    r#""delta":{"role":"assistant","content":null,"refusal":null,"tool_calls":[]}"#,
                ),
                &chunk(TEXT),
                STOP,
                "[DONE]",
            ]),
        ),
        read(
            "pings",
            STREAM,
            stream(&[r#"{"type":"ping"}"#, &chunk(TEXT), r#"{"type":"ping"}"#, STOP, "[DONE]"]),
        ),
        read(
            "choices null",
            STREAM,
            stream(&[r#"{"choices":null}"#, &chunk(TEXT), STOP, "[DONE]"]),
        ),
        read(
            "choices of no type",
            STREAM,
            stream(&[r#"{"choices":"none"}"#, &chunk(TEXT), STOP, "[DONE]"]),
        ),
        read(
            "a second choice",
            STREAM,
            stream(&[
                &format!(
                    r#"{{"choices":[{{{TEXT}}},{{"index":1,"delta":{{"content":"Or 2."}}}}]}}"#
                ),
                STOP,
                "[DONE]",
            ]),
        ),
        read(
            "reasoning by its other name",
            STREAM,
            choice(r#""delta":{"reasoning":"Hm.","content":"It is 1."}"#),
        ),
        read(
            "reasoning in tags",
            STREAM,
            choice(r#""delta":{"content":"<think>\nIs it 2? No.\n</think>\n\nIt is 1."}"#),
        ),
        read(
            "reasoning in tags in pieces",
            STREAM,
            stream(&[
                &chunk(r#""delta":{"content":"<th"}"#),
                &chunk(r#""delta":{"content":"ink>Hm.</th"}"#),
                &chunk(r#""delta":{"content":"ink>It is 1."}"#),
                STOP,
                "[DONE]",
            ]),
        ),
        read(
            "calls of tools that are no list",
            STREAM,
            choice(r#""delta":{"content":"It is 1.","tool_calls":{}}"#),
        ),
    ]
}

fn unreadable() -> Vec<Case> {
    vec![
        refused(
            "a page",
            "malformed",
            "text/html",
            "<!doctype html>\n<html><body>Sign in</body></html>",
        ),
        refused("a word", "malformed", "text/plain", "ok"),
        refused("an object of another kind", "malformed", JSON, r#"{"result":"It is 1."}"#),
        refused("no choices", "malformed", JSON, r#"{"choices":[]}"#),
        refused("a list", "malformed", JSON, r#"[{"choices":[]}]"#),
        refused(
            "lines of objects",
            "malformed",
            "application/x-ndjson",
            "{\"message\":{\"content\":\"It is\"}}\n{\"message\":{\"content\":\" 1.\"},\"done\":true}\n",
        ),
        refused(
            "events of another API",
            "malformed",
            STREAM,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"It is 1.\"}}\n\n",
        ),
        refused("an event that is no object", "malformed", STREAM, stream(&["It is 1.", "[DONE]"])),
        refused("only an end marker", "malformed", STREAM, stream(&["[DONE]"])),
        refused("a filter by another name", "content_filter", STREAM, finished("\"SAFETY\"")),
        refused(
            "no quota, in an object",
            "quota",
            JSON,
            r#"{"error":{"message":"insufficient_quota"}}"#,
        ),
    ]
}

/// Asks a question that gets an answer. Returns what is wrong.
fn wrong(case: &Case) -> Option<String> {
    let reply = ScriptedReply {
        behaviour: Behaviour::Raw,
        media_type: Some(case.media_type.to_owned()),
        ..ScriptedReply::text(case.body.clone())
    };
    let world = World::greeting(vec![reply.to("analysis").forever()]);
    let run = world.asks("What is it?");
    let calls = world.provider.requests().len();
    let ending = run.ending();
    let turns = run.all("TurnAdded");
    let shown = turns.last().and_then(|turn| turn["text"].as_str()).unwrap_or_default();
    let good = match case.reading {
        Reading::Read => ending == "0 delivered/not_needed" && shown == MEANT,
        Reading::Refused(class) => ending == format!("5 failed/{class}"),
    };
    let says = || format!("{}: {ending}, {calls} calls, {shown:?}: {}", case.name, run.stderr);
    (!good || calls != 1).then(says)
}

#[test]
fn every_odd_answer_is_read_as_meant_or_refused_after_one_call() {
    let cases = [packings(), ends(), fields(), pieces(), unreadable()].concat();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let (next, bad) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
            bad.lock().unwrap().extend(wrong(case));
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let bad = bad.into_inner().unwrap();
    assert!(bad.is_empty(), "{} of {}: {bad:#?}", bad.len(), cases.len());
}
