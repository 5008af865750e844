//! What confinement costs a command: requests with few and with many checks, without walls, on the floor and behind full walls,
//! in turns. What the walls cost a request once is not counted.
//!
//! Prints a table; it judges nothing. `cargo bench -p deepseek --bench walls`

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

use mock::{Options, ReceivedRequest, Replies, Reply, Server};
use testkit::answers::{diff, plan};
use tokio::runtime::Runtime;

const ROUNDS: usize = 20;
/// Checks of the one request and of the other. Each runs twice: before the change, and after it.
const FEW: usize = 1;
const MANY: usize = 11;

/// Modes of the sandbox, each with what its walls may cost a command.
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
    println!("{:<6} {:>14} {:>13} {:>9}", "walls", "each command", "beyond none", "target");
    let mut bare = None;
    for ((mode, target), took) in MODES.into_iter().zip(took) {
        let [few, many] = took.map(median);
        let each = (many - few) / (2 * (MANY - FEW)) as f64;
        let beyond = each - *bare.get_or_insert(each);
        println!("{mode:<6} {each:>11.2} ms {beyond:>10.2} ms {target:>9}");
    }
}

/// A model that plans one edit and so many checks, which all pass.
fn served(runtime: &Runtime, checks: usize) -> Server {
    let answer = move |request: &ReceivedRequest| match request.header("x-agent-role") {
        Some("architect") => {
            let checks: Vec<String> = (0..checks).map(|n| format!("true {n}")).collect();
            let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
            Reply::text(plan(&["value.txt"], &checks))
        }
        _ => Reply::text(diff("value.txt", "value 0", "value 1")),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::start(address, Replies::driven(answer), Options::default(), None);
    runtime.block_on(server).unwrap()
}

/// The wall time of one request.
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

/// In milliseconds.
fn median(mut of: Vec<Duration>) -> f64 {
    of.sort();
    of.get(of.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e3
}
