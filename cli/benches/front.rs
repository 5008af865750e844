//! Responsiveness of the terminal interface: the time to the prompt, the time from a key to the screen while eight lanes stream,
//! and the memory used by a long transcript. Runs the real program on a pseudo-terminal, against a model that streams.
//!
//! Prints a table and asserts nothing. `cargo bench -p deepseek --bench front`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, starts what it measures, and fails by panicking"
)]

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use mock::{Options, ReceivedRequest, Replies, ScriptedReply, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;
use testkit::answers::{plan, team};

const ROWS: u16 = 40;
const COLUMNS: u16 = 100;
const STARTS: usize = 15;
const LANES: usize = 8;
const KEYS: usize = 300;
const LINES: usize = 10_000;
/// A wait longer than this means that the program hangs.
const HANGS: Duration = Duration::from_mins(2);

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let start = Server::start(address, Replies::driven(answer), Options::default(), None);
    let server = runtime.block_on(start).unwrap();
    let desk = Desk::lay_out(server.base_url());
    println!("{:<34} {:>10} {:>10} {:>10}  target", "", "median", "p95", "worst");
    row("start to prompt", &starts(&desk), "<= 30 ms");
    let (keys, peak) = keys(&desk);
    row(&format!("key to screen, {LANES} lanes streaming"), &keys, "< 16 ms (p95)");
    println!("{:<34} {:>7.1} MB", "  peak memory", megabytes(peak));
    let (idle, resident, keys) = transcript(&desk);
    row(&format!("key to screen, {LINES} lines above"), &keys, "< 2 ms (p95)");
    println!("{:<34} {:>7.1} MB", "resident at the first prompt", megabytes(idle));
    println!(
        "{:<34} {:>7.1} MB {:>22} < 40 MB",
        format!("resident after {LINES} lines"),
        megabytes(resident),
        ""
    );
}

fn row(name: &str, measured: &[Duration], target: &str) {
    let mut sorted = measured.to_vec();
    sorted.sort();
    let of = |share: usize| {
        let at = (sorted.len() * share / 100).min(sorted.len() - 1);
        format!("{:.2} ms", sorted[at].as_secs_f64() * 1e3)
    };
    println!("{name:<34} {:>10} {:>10} {:>10}  {target}", of(50), of(95), of(100));
}

fn megabytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// Measures the time from the start of the process to the prompt.
fn starts(desk: &Desk) -> Vec<Duration> {
    let start = || {
        let begun = Instant::now();
        let mut screen = Screen::start(&mut desk.deepseek(&[]));
        screen.until(|rows| rows.contains('›'));
        begun.elapsed()
    };
    start();
    (0..STARTS).map(|_| start()).collect()
}

/// Measures the time from a key to the screen while lanes stream, and the peak memory in KiB.
fn keys(desk: &Desk) -> (Vec<Duration>, u64) {
    let lanes = LANES.to_string();
    let mut screen = Screen::start(&mut desk.deepseek(&[
        "--force-execute",
        "--approval",
        "auto",
        "--teammate-mode",
        "on",
        "--max-subagents",
        &lanes,
    ]));
    screen.until(|rows| rows.contains('›'));
    screen.types("Fill the columns\r");
    // All lanes are streaming, and parts of their answers have arrived.
    screen.until(|rows| rows.matches("editing").count() == LANES);
    let measured = screen.echoes(KEYS);
    let streaming = screen.rows().matches("editing").count();
    assert_eq!(streaming, LANES, "some lanes finished too early:\n{}", screen.rows());
    (measured, screen.memory("VmHWM:"))
}

/// Measures the memory at the first prompt and after a long answer, in KiB, and then the time from a key to the screen.
fn transcript(desk: &Desk) -> (u64, u64, Vec<Duration>) {
    let mut screen = Screen::start(&mut desk.deepseek(&[]));
    screen.until(|rows| rows.contains('›'));
    let idle = screen.memory("VmRSS:");
    screen.types("/ask Say much\r");
    screen.until(|rows| rows.contains("the last line") && rows.contains("tokens in"));
    (idle, screen.memory("VmRSS:"), screen.echoes(KEYS))
}

/// Answers as a model that splits the task into lanes and streams slow or long answers.
fn answer(request: &ReceivedRequest) -> ScriptedReply {
    let lane = request.header("x-agent-lane").unwrap_or_default();
    let file = format!("{lane}.txt");
    match request.header("x-agent-role") {
        Some("lane-planner") => {
            ScriptedReply::text(team((1..=LANES).map(|n| (n, format!("{n:02}.txt")))))
        }
        Some("architect") => ScriptedReply::text(plan(&[&file], &["sh check.sh"])),
        Some("editor") => {
            let lines = 20_000;
            let head = format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{lines} @@\n");
            let text = head + &"+a line of a file\n".repeat(lines);
            ScriptedReply { chunk_chars: 12, chunk_delay_ms: 5, ..ScriptedReply::text(text) }
        }
        _ => {
            let line = |n| format!("line {n}: what is said here is as long as such lines are.\n\n");
            let lines: String = (1..LINES / 2).map(line).collect();
            ScriptedReply { chunk_chars: 200, ..ScriptedReply::text(lines + "the last line") }
        }
    }
}

/// A workspace and the environment to run the program in it.
struct Desk {
    dir: TempDir,
    url: String,
}

impl Desk {
    fn lay_out(url: String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("ws")).unwrap();
        fs::create_dir_all(dir.path().join("home/config/deepseek")).unwrap();
        fs::write(dir.path().join("ws/check.sh"), "test -s 01.txt\n").unwrap();
        let config = "[policy]\nallow_commands = [\"sh check.sh\"]\n[lanes]\nmax_lanes = 8\n";
        fs::write(dir.path().join("home/config/deepseek/config.toml"), config).unwrap();
        Self { dir, url }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn deepseek(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deepseek"));
        command.args(words).current_dir(self.path("ws")).env_clear();
        for name in ["PATH", "HOME"] {
            command.env(name, std::env::var_os(name).unwrap_or_default());
        }
        command
            .env("TERM", "xterm-256color")
            .env("DEEPSEEK_BASE_URL", &self.url)
            .env("DEEPSEEK_API_KEY", "k")
            .env("DEEPSEEK_HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/config"));
        command
    }
}

/// The program on a pseudo-terminal, with the contents of its screen. Dropping it kills the program.
struct Screen {
    child: Child,
    master: File,
    parser: vt100::Parser,
}

impl Screen {
    fn start(program: &mut Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = Path::new(OsStr::from_bytes(name.to_bytes()));
        let slave = OpenOptions::new().read(true).write(true).open(slave).unwrap();
        let end = || slave.try_clone().unwrap();
        let child = program.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let some = |number: u16| number.try_into().unwrap();
        let parser = vt100::Parser::new(some(ROWS), some(COLUMNS), 0);
        Self { child, master: File::from(master), parser }
    }

    /// Returns the contents of the screen.
    fn rows(&self) -> String {
        self.parser.screen().contents()
    }

    /// Reads output, waiting for at most `most`. Returns true if there was any.
    fn read(&mut self, most: Duration) -> bool {
        let most = Timespec::try_from(most).unwrap();
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut ready, Some(&most)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 8192];
        let count = self.master.read(&mut buffer).unwrap();
        self.parser.process(&buffer[..count]);
        true
    }

    fn until(&mut self, is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.rows()) {
            assert!(begun.elapsed() < HANGS, "the program hangs:\n{}", self.rows());
            self.read(Duration::from_millis(100));
        }
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Types keys, each a moment after the previous one is shown, and returns how long each took to appear.
    fn echoes(&mut self, keys: usize) -> Vec<Duration> {
        const MOMENT: Duration = Duration::from_millis(17);
        let mut typed = String::from("› ");
        let mut measured = Vec::new();
        for n in 0..keys {
            if typed.len() > 60 {
                self.types("\x15");
                typed.truncate("› ".len());
                self.until(|rows| !rows.contains("› a"));
            }
            let until = Instant::now() + MOMENT;
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                self.read(left);
            }
            let key = char::from(b'a' + u8::try_from(n % 26).unwrap());
            let key = if typed == "› " { 'a' } else { key };
            typed.push(key);
            let begun = Instant::now();
            self.types(key.encode_utf8(&mut [0; 4]));
            self.until(|rows| rows.contains(&typed));
            measured.push(begun.elapsed());
        }
        measured
    }

    /// Returns a memory figure from `/proc/PID/status`, in KiB.
    fn memory(&self, name: &str) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Both fail if the program has already exited.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
