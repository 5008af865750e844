//! The cost of confinement per command: requests with few and with many checks, in turn without a sandbox, with the floor and
//! with full confinement. The one-time cost per request cancels out.
//!
//! Prints a table and asserts nothing. `cargo bench -p deepseek --bench walls`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, starts what it measures, and fails by panicking"
)]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mock::{Options, ReceivedRequest, Replies, ScriptedReply, Server};
use testkit::answers::{diff, plan};
use tokio::runtime::Runtime;

const ROUNDS: usize = 20;
/// The number of checks of the two requests. Each check runs twice: before the change and after it.
const FEW: usize = 1;
const MANY: usize = 11;

/// Sandbox modes, each with its target cost per command.
const MODES: [(&str, &str); 3] = [("off", ""), ("floor", "<= 4 ms"), ("auto", "<= 12 ms")];

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let servers = [FEW, MANY].map(|checks| served(&runtime, checks));
    let mut took = MODES.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for ((mode, _), took) in MODES.iter().zip(&mut took) {
            for (server, took) in servers.iter().zip(took) {
                took.push(request(mode, &server.base_url()));
            }
        }
    }
    println!("{:<6} {:>14} {:>13} {:>9}", "mode", "per command", "over off", "target");
    let mut bare = None;
    for ((mode, target), took) in MODES.into_iter().zip(took) {
        let [few, many] = took.map(median);
        let each = (many - few) / (2 * (MANY - FEW)) as f64;
        let beyond = each - *bare.get_or_insert(each);
        println!("{mode:<6} {each:>11.2} ms {beyond:>10.2} ms {target:>9}");
    }
}

/// Starts a model that plans one edit and `checks` checks, all of which pass.
fn served(runtime: &Runtime, checks: usize) -> Server {
    let answer = move |request: &ReceivedRequest| match request.header("x-agent-role") {
        Some("architect") => {
            let checks: Vec<String> = (0..checks).map(|n| format!("true {n}")).collect();
            let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
            ScriptedReply::text(plan(&["value.txt"], &checks))
        }
        _ => ScriptedReply::text(diff("value.txt", "value 0", "value 1")),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::start(address, Replies::driven(answer), Options::default(), None);
    runtime.block_on(server).unwrap()
}

/// Runs one request and returns its wall time.
fn request(mode: &str, url: &str) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let (workspace, home) = (dir.path().join("ws"), dir.path().join("home"));
    fs::create_dir_all(&workspace).unwrap();
    fs::create_dir_all(home.join("config/deepseek")).unwrap();
    fs::write(workspace.join("value.txt"), "value 0\n").unwrap();
    let config = format!(
        "[policy]\nallow_commands = [\"true *\"]\n[sandbox]\nmode = \"{mode}\"\nfloor = \"accept\"\n"
    );
    fs::write(home.join("config/deepseek/config.toml"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepseek"));
    command
        .args(["-p", "Fix value.txt", "--approval", "auto", "--force-execute"])
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("DEEPSEEK_HOME", home.join("state"))
        .env("DEEPSEEK_BASE_URL", url)
        .env("DEEPSEEK_API_KEY", "k")
        .current_dir(&workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    command.status().unwrap();
    start.elapsed()
}

/// Returns the median in milliseconds.
fn median(mut of: Vec<Duration>) -> f64 {
    of.sort();
    of.get(of.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e3
}
