//! The program's own overhead: whole processes against a model that answers immediately, as ratios to a process that does nothing.
//!
//! Prints a table and asserts nothing. `cargo bench -p deepseek --bench overhead`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, starts what it measures, and fails by panicking"
)]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::{Timestamp, Unit};
use mock::{Options, ReceivedRequest, Replies, ScriptedReply, Server};
use serde_json::Value;
use testkit::answers::{diff, plan};

const ROUNDS: usize = 15;

/// The measurements of one kind of process.
struct Figures {
    wall: Duration,
    peak_kib: u64,
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let binary = env!("CARGO_BIN_EXE_deepseek");
    let nothing = measure(|| (), || Command::new("true"));
    println!("{:<34} {:>9} {:>9} {:>9} {:>9}  more", "", "median", "× true", "target", "peak");
    row("true", &nothing, &nothing, "", "");

    let version = measure(|| (), || with(binary, &["--version"]));
    row("--version", &version, &nothing, "<= 6", "< 10 MB");

    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("ws");
    for (name, calls, edit) in [
        ("one-shot answer", 1, false),
        ("one-file edit", 2, true),
        ("20 calls in one run", 20, true),
    ] {
        let editor_calls = calls - 1;
        let server = runtime.block_on(start(editor_calls));
        let url = server.base_url();
        let home = dir.path().join("home");
        lay_out(&workspace, &home, editor_calls);
        let words = if edit { "Fix src/value.txt" } else { "What is in src/value.txt?" };
        let figures = measure(
            || reset(&workspace),
            || {
                let mut command = with(binary, &["-p", words, "--approval", "auto"]);
                if edit {
                    // Deciding whether it is an edit would take another call.
                    command.arg("--force-execute");
                }
                command
                    .env("DEEPSEEK_BASE_URL", &url)
                    .env("DEEPSEEK_API_KEY", "k")
                    .env("DEEPSEEK_HOME", &home);
                command.env("XDG_CONFIG_HOME", home.join("config")).current_dir(&workspace);
                command
            },
        );
        let (target, memory) = match calls {
            1 => ("<= 60", "< 30 MB"),
            2 => ("<= 110", "< 35 MB"),
            _ => ("<= 430", "< 50 MB"),
        };
        row(name, &figures, &nothing, target, memory);
        tell_run(&server, &home, calls);
    }
}

/// Prints the prompt tokens as counted by the server, and the program's own share of the last run's wall time.
fn tell_run(server: &Server, home: &Path, calls: usize) {
    let requests = server.requests();
    let last = &requests[requests.len() - calls..];
    let prompt: u64 =
        last.iter().map(|exchange| exchange.usage.map_or(0, |usage| usage.prompt)).sum();
    let sessions = home.join("sessions");
    let newest = fs::read_dir(sessions).unwrap().flatten().map(|entry| entry.path()).max().unwrap();
    let events: Vec<Value> = fs::read_to_string(newest.join("events.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| events.iter().filter(|event| event["kind"] == kind).collect::<Vec<_>>();
    let finished = of("RunFinished@v3")[0]["data"]["delivery"]["state"].clone();
    let moment = |event: &Value| event["at"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let span = |from: &str, to: &str| -> f64 {
        let spans = of(from).into_iter().zip(of(to));
        spans.map(|(from, to)| (moment(to) - moment(from)).total(Unit::Second).unwrap()).sum()
    };
    let total = (moment(events.last().unwrap()) - moment(&events[0])).total(Unit::Second).unwrap();
    let model = span("ModelRequest@v1", "ModelReply@v1");
    let verify: u64 = of("VerificationRun@v1")
        .iter()
        .map(|run| run["data"]["elapsed_ms"].as_u64().unwrap())
        .sum();
    let own = total * 1e3 - model * 1e3 - verify as f64;
    println!(
        "{:<34} {calls} calls, {prompt} prompt tokens, {finished}; model {:.0} ms, verify {verify} ms, own {own:.0} ms (target < 25)",
        "",
        model * 1e3
    );
}

fn row(name: &str, figures: &Figures, nothing: &Figures, target: &str, memory: &str) {
    let ratio = figures.wall.as_secs_f64() / nothing.wall.as_secs_f64();
    println!(
        "{name:<34} {:>6.2} ms {ratio:>9.1} {target:>9} {:>6.1} MB  {memory}",
        figures.wall.as_secs_f64() * 1e3,
        figures.peak_kib as f64 / 1024.0
    );
}

fn with(binary: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments);
    command
}

/// Measures the median wall time and the peak memory of several runs.
fn measure(before: impl Fn(), make: impl Fn() -> Command) -> Figures {
    let mut walls = Vec::new();
    let mut peak_kib = 0;
    for round in 0..=ROUNDS {
        before();
        let mut command = make();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        let status = Path::new("/proc").join(child.id().to_string()).join("status");
        // The high-water mark only grows, so the last sample before the exit is good enough.
        let watch = round == 0;
        while watch && child.try_wait().unwrap().is_none() {
            peak_kib = peak_kib.max(high_water(&status));
        }
        let ended = child.wait().unwrap();
        walls.push(start.elapsed());
        assert!(ended.success(), "{command:?} ended with {ended}");
    }
    walls.remove(0);
    walls.sort();
    Figures { wall: walls[walls.len() / 2], peak_kib }
}

fn high_water(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Creates a project whose check passes once the value has been incremented `edits` times.
fn lay_out(workspace: &Path, home: &Path, edits: usize) {
    fs::create_dir_all(workspace.join("src")).unwrap();
    fs::create_dir_all(home.join("config/deepseek")).unwrap();
    let check = format!(
        "grep -q 'value {edits}$' src/value.txt && exit 0\necho \"FAILED t.py::$(tr ' ' _ < src/value.txt)\"\nexit 1\n"
    );
    fs::write(workspace.join("check.sh"), check).unwrap();
    for n in 0..40 {
        fs::write(
            workspace.join(format!("src/module{n}.rs")),
            format!("pub fn f{n}() {{}}\n").repeat(30),
        )
        .unwrap();
    }
    let config =
        "[policy]\nallow_commands = [\"sh check.sh\"]\n[agent_loop]\nmax_iterations = 40\n";
    fs::write(home.join("config/deepseek/config.toml"), config).unwrap();
}

fn reset(workspace: &Path) {
    fs::write(workspace.join("src/value.txt"), "value 0\n").unwrap();
}

/// Starts a model that plans once and increments the value with every diff.
async fn start(edits: usize) -> Server {
    let answer = move |request: &ReceivedRequest| match request.header("x-agent-role") {
        Some("architect") => ScriptedReply::text(plan(&["src/value.txt"], &["sh check.sh"])),
        Some("editor") => {
            let done = request.messages().filter(|(role, _)| *role == "assistant").count();
            let next = (done + 1).min(edits.max(1));
            let (old, new) = (format!("value {done}"), format!("value {next}"));
            ScriptedReply::text(diff("src/value.txt", &old, &new))
        }
        _ => ScriptedReply::text("It holds a number."),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Server::start(address, Replies::driven(answer), Options::default(), None).await.unwrap()
}
