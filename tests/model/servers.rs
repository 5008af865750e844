//! Servers that report false usage, never end an answer, or hardly answer at all: budgets and memory limits hold anyway.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mock::{Behaviour, Exchange, Options, Replies, ScriptedReply};
use serde_json::json;

use crate::support::{Project, Provider, Run, World};

/// Short deadlines, practically unlimited repair turns and attempts, and no peak prices.
const CONFIG: &str = r"
[llm]
first_token_timeout_seconds = 1
idle_timeout_seconds = 1
call_timeout_seconds = 5
max_retries = 3

[llm.peak]
windows = []

[agent_loop]
architect_parse_retries = 1000
max_iterations = 1000
";

/// The limit on a run's anonymous memory: 60 MiB, less what the mapped program file takes up, which is large in test builds.
const MAX_MEMORY_KIB: u64 = 36 * 1024;

/// Returns the servers by name.
fn servers() -> Vec<(String, ScriptedReply)> {
    let named = |behaviour: Behaviour, times| {
        (
            behaviour.name().to_owned(),
            ScriptedReply { behaviour, ..ScriptedReply::text("on and on ".repeat(times)) },
        )
    };
    // Small chunks, because the server counts generated text even if it is never read.
    let others = [
        Behaviour::NonstreamEmptyLines,
        Behaviour::EndlessEvents,
        Behaviour::KeepaliveForever,
        Behaviour::KeepaliveMid,
        Behaviour::StallAfterHeaders,
        Behaviour::StallMid,
        Behaviour::UsageAbsent,
    ];
    let on_and_on = Behaviour::ENDLESS_TEXTS.map(|behaviour| named(behaviour, 20));
    let mut servers =
        [on_and_on.to_vec(), others.map(|behaviour| named(behaviour, 1000)).to_vec()].concat();
    // One byte per second: the deadline ends it long before the answer is complete.
    let (name, stutter) = named(Behaviour::Stutter, 1000);
    servers.push((name, ScriptedReply { chunk_delay_ms: 1000, ..stutter }));
    let count =
        |count: serde_json::Value| json!({"prompt_tokens": count, "completion_tokens": count});
    for usage in [
        count(json!(0)),
        count(json!(1)),
        count(json!(null)),
        count(json!(-1)),
        count(json!("many")),
        count(json!(0.5)),
        count(json!(u32::MAX)),
        count(json!(u64::MAX)),
        json!({"prompt_tokens": 1}),
        json!({"prompt_tokens": 0, "completion_tokens": 0, "prompt_cache_hit_tokens": 1_000_000}),
        json!("nothing"),
    ] {
        // Short answers, so that many requests are made.
        let (_, honest) = named(Behaviour::Text, 100);
        servers.push((usage.to_string(), ScriptedReply { usage_told: Some(usage), ..honest }));
    }
    servers
}

/// Answers each request with `reply`, numbered: a model that repeats itself is not asked again.
fn numbered(reply: &ScriptedReply) -> impl Fn() -> ScriptedReply + Send + Sync + use<> {
    let (reply, count) = (reply.clone(), AtomicUsize::new(0));
    move || {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let text = reply.text.as_ref().map(|text| format!("{number} {text}"));
        ScriptedReply { text, ..reply.clone() }
    }
}

/// Returns what the server counted: tokens, and their price in billionths of a dollar.
fn counted(requests: &[Exchange]) -> (u64, u64) {
    let (mut tokens, mut nanos) = (0, 0);
    for exchange in requests {
        let usage = exchange.counted();
        tokens += usage.total();
        let (hit, miss, output) = match exchange.request.json["model"].as_str() {
            Some("deepseek-v4-pro") => (22, 660, 1980),
            _ => (3, 150, 600),
        };
        nanos += usage.hit.unwrap() * hit + usage.miss() * miss + usage.output * output;
    }
    (tokens, nanos)
}

/// Returns the largest reservation of a request: the bytes of its body plus `max_tokens`.
fn capped(requests: &[Exchange]) -> u64 {
    let of = |exchange: &Exchange| {
        let max_tokens = exchange.request.json["max_tokens"].as_u64().unwrap_or_default();
        exchange.request.body.len() as u64 + max_tokens
    };
    requests.iter().map(of).max().unwrap_or_default()
}

/// A budget limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Tokens(u64),
    NanoUsd(u64),
    Calls(u64),
    WallSeconds(u64),
}

impl Limit {
    fn configured(self) -> String {
        match self {
            Self::Tokens(tokens) => format!("[budget]\ntokens = {tokens}\n"),
            Self::NanoUsd(nanos) => {
                format!("[budget]\nusd = {}.{:09}\n", nanos / 1_000_000_000, nanos % 1_000_000_000)
            }
            Self::Calls(calls) => format!("[budget]\ncalls = {calls}\n"),
            Self::WallSeconds(seconds) => format!("[budget]\nwall_seconds = {seconds}\n"),
        }
    }

    /// Returns the amount by which the limit was exceeded, by the server's count, and the amount allowed: one truncated answer.
    fn excess(self, requests: &[Exchange]) -> (u64, u64) {
        let (tokens, nanos) = counted(requests);
        let capped = capped(requests);
        match self {
            Self::Tokens(limit) => (tokens.saturating_sub(limit), capped),
            Self::NanoUsd(limit) => (nanos.saturating_sub(limit), capped * 1980),
            Self::Calls(limit) => ((requests.len() as u64).saturating_sub(limit), 0),
            Self::WallSeconds(_) => (0, 0),
        }
    }
}

/// Runs a request. Returns the result and the peak of its anonymous memory in KiB.
fn measured(world: &World, args: &[&str]) -> (Run, u64) {
    let mut program = world.request("Fix the greeting");
    let running = program.args(args).start();
    let status = format!("/proc/{}/status", running.id());
    let mut most = 0;
    let ended = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        // Before exec, the process has the memory of the test runner.
        if !status.starts_with("Name:\tdeepseek\n") {
            return;
        }
        let taken = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let taken = taken.and_then(|taken| taken.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(taken.unwrap_or_default());
    };
    (running.end_watching(ended), most)
}

/// Runs all cases, several at a time since most of them wait, and fails with the errors of those that failed.
fn run_all<C: Sync>(cases: &[C], case: impl Fn(&C) -> Result<String, String> + Sync) {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(it) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
            let result = case(it);
            results.lock().unwrap().push(result);
        }
    };
    thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(work))));
    let results = results.into_inner().unwrap();
    // Bypasses the test runner's capture, so that the excess is visible even if the test passes.
    let lines =
        results.iter().map(|line| format!("{}\n", line.as_ref().unwrap_or_else(|wrong| wrong)));
    io::stdout().write_all(lines.collect::<String>().as_bytes()).unwrap();
    let wrong: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that a run kept to its budget and memory limit and ended as expected.
fn check_limits(
    name: &str,
    limit: Limit,
    world: &World,
    (run, memory): (Run, u64),
) -> Result<String, String> {
    let requests = world.provider.requests();
    let (excess, allowed) = limit.excess(&requests);
    let line = format!(
        "{name}, {limit:?}: {}, {} calls, {excess} over of {allowed} allowed, {} MiB",
        run.ending(),
        requests.len(),
        memory / 1024
    );
    let ends = [
        "4 budget_exhausted",
        "5 failed/timed_out",
        "5 failed/malformed",
        "1 needs_work/lanes_failed",
    ];
    let good =
        ends.contains(&run.ending().as_str()) && excess <= allowed && memory < MAX_MEMORY_KIB;
    if good { Ok(line) } else { Err(format!("{line}: {}", run.stderr)) }
}

#[test]
fn every_kind_of_budget_holds_whatever_the_server_reports() {
    let mut cases = Vec::new();
    for (name, reply) in servers() {
        for limit in [
            Limit::Tokens(40_000),
            Limit::NanoUsd(50_000_000),
            Limit::Calls(4),
            Limit::WallSeconds(2),
        ] {
            cases.push((name.clone(), reply.clone(), limit));
        }
    }
    run_all(&cases, |(name, reply, limit)| {
        let reply = numbered(reply);
        let provider = Provider::new(Replies::driven(move |_| reply()));
        let world = World::of(Project::greeting(), provider)
            .configure(&format!("{CONFIG}{}", limit.configured()));
        let measured = measured(&world, &[]);
        check_limits(name, *limit, &world, measured)
    });
}

const FOUR: &str = "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\n\
    LANE|03|c|make c\nOWN|03|c.txt\nLANE|04|d|make d\nOWN|04|d.txt\nTEAM_PLAN_END";

#[test]
fn four_lanes_together_exceed_no_limit_by_more_than_one_answer() {
    let mut cases = Vec::new();
    for (name, reply) in servers() {
        for limit in [Limit::Tokens(120_000), Limit::NanoUsd(150_000_000), Limit::Calls(9)] {
            cases.push((name.clone(), reply.clone(), limit));
        }
    }
    run_all(&cases, |(name, reply, limit)| {
        let lying = numbered(reply);
        let provider =
            Provider::new(Replies::driven(move |request| match request.header("x-agent-role") {
                Some("lane-planner") => ScriptedReply::text(FOUR),
                _ => lying(),
            }));
        let world = World::of(Project::greeting(), provider)
            .configure(&format!("{CONFIG}{}", limit.configured()));
        let measured = measured(&world, &["--teammate-mode", "on"]);
        check_limits(name, *limit, &world, measured)
    });
}

/// A provider that refuses requests, with the expected cause and hint.
struct Refused {
    world: World,
    base_url: String,
    cause: &'static str,
    hint: &'static str,
}

fn refused(
    replies: Vec<ScriptedReply>,
    options: Options,
    cause: &'static str,
    hint: &'static str,
) -> Refused {
    let world = World::of(Project::greeting(), Provider::with(replies, options));
    let base_url = world.provider.base_url();
    Refused { world, base_url, cause, hint }
}

impl Refused {
    /// Asks a question.
    fn ask(&self, args: &[&str]) -> Run {
        let mut program = self.world.deepseek([&["ask", "What is this?"], args].concat());
        program.env("DEEPSEEK_BASE_URL", &self.base_url).run()
    }
}

/// Starts a server without TLS and returns an https URL for it.
fn without_tls() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let heard = stream.read(&mut [0; 4096]).unwrap_or_default();
            let refusal =
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            // A client that expects TLS may close the connection before the answer.
            drop((heard, stream.write_all(refusal)));
        }
    });
    format!("https://{address}")
}

#[test]
fn a_refusal_by_the_provider_is_reported_once_with_cause_and_hint() {
    let none = Options::default;
    let answers = vec![ScriptedReply::text("It greets.")];
    let mut unknown = refused(answers, none(), "supported API model names", "--model");
    unknown.world = unknown.world.configure("[llm.base_model]\nmodel = \"no-such-model\"\n");
    let plain = refused(vec![], none(), "does not speak TLS", "http or https");
    let plain = Refused { base_url: without_tls(), ..plain };
    let broke = Options { empty_balance: true, ..none() };
    let locked = Options { expected_key: Some("sk-another".to_owned()), ..none() };
    let of = |behaviour| vec![ScriptedReply::of(behaviour).forever()];
    for case in [
        &unknown,
        &plain,
        &refused(vec![], broke, "no balance", "top up"),
        &refused(vec![], locked, "refused the key", "deepseek doctor"),
        &refused(of(Behaviour::HtmlPage), none(), "text/html", "the address of an API"),
        &refused(of(Behaviour::Http503), none(), "status 503", "try again later"),
        &refused(of(Behaviour::ContentFilter), none(), "content filter", "rephrase the request"),
        &refused(of(Behaviour::Http413), none(), "status 413", "deepseek config show"),
    ] {
        let run = case.ask(&[]);
        assert_eq!(run.code, Some(5), "{}: {}", case.cause, run.stderr);
        let lines = |start: &str| {
            let lines = run.stderr.lines().filter(|line| line.starts_with(start));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (errors, hints) = (lines("error:"), lines("hint:"));
        assert!(errors.len() == 1 && errors[0].contains(case.cause), "{}", run.stderr);
        assert!(hints.len() == 1 && hints[0].contains(case.hint), "{}", run.stderr);
        // A retried failure is reported at the retry and once more at the end.
        let often = 1 + run.stderr.matches("a call failed:").count();
        assert!(often <= 2, "reported more than once: {}", run.stderr);
        assert_eq!(
            run.stderr.matches(case.cause).count(),
            often,
            "reported more than once: {}",
            run.stderr
        );
    }
    // The hints work.
    let run = unknown.ask(&["--model", "deepseek-flash"]);
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "It greets."), "{}", run.stderr);
    let doctor = plain.world.deepseek(["doctor"]).env("DEEPSEEK_BASE_URL", &plain.base_url).run();
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.stdout.contains("does not speak TLS"), "{}", doctor.stdout);
}
