//! Processes: the program under test and the tools around it, none of which may hang.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::run::Run;

/// Longer than anything takes that does not hang, on a machine that does much else.
const HANGS: Duration = Duration::from_mins(1);

/// What a command prints. It has to succeed.
pub(crate) fn shell(dir: &Path, script: &str) -> String {
    let mut program = Program::new("sh", dir);
    program
        .args(["-c", script])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let run = program.run();
    assert_eq!(run.code, Some(0), "{script}: {}", run.stderr);
    run.stdout
}

/// A process to be started, with nothing in its environment but a path.
pub(crate) struct Program {
    command: Command,
}

impl Program {
    /// A process of this program, in this directory.
    #[expect(clippy::disallowed_methods, reason = "a test watches processes from outside")]
    pub(crate) fn new(program: impl AsRef<OsStr>, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Self { command }
    }

    /// Adds arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    pub(crate) fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable away.
    pub(crate) fn env_remove(&mut self, name: &str) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Gives it something to read.
    pub(crate) fn input(&mut self, text: &str) -> &mut Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        self.command.stdin(file);
        self
    }

    /// Gives it the variables by which cargo finds its toolchain and the sources it has.
    pub(crate) fn with_cargo(&mut self) -> &mut Self {
        for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                self.env(name, value);
            }
        }
        self
    }

    /// Has another user run it.
    pub(crate) fn user(&mut self, id: u32) -> &mut Self {
        self.command.uid(id).gid(id);
        self
    }

    /// Starts it with everything at a terminal, which only it holds open then.
    pub(crate) fn at_terminal(&mut self, terminal: &File) -> Child {
        let end = || terminal.try_clone().unwrap();
        let child = self.command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        child
    }

    /// Starts it. What it prints goes to files, so that nobody has to read while it runs.
    pub(crate) fn start(&mut self) -> Running {
        let (stdout, stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        self.command.stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
        let child = self.command.spawn().unwrap();
        Running { child, started: Instant::now(), stdout, stderr }
    }

    /// Runs it to its end.
    pub(crate) fn run(&mut self) -> Run {
        self.start().end()
    }
}

/// A process that is running. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    stdout: File,
    stderr: File,
}

impl Running {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        let path = format!("/proc/self/fd/{}", self.stdout.as_raw_fd());
        fs::read_to_string(path).unwrap()
    }

    /// Presses Ctrl-C, waits for the end, and tells how long that took.
    pub(crate) fn interrupt(self) -> (Run, Duration) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        let pressed = Instant::now();
        kill_process(id, Signal::INT).unwrap();
        let run = self.end();
        (run, pressed.elapsed())
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has led to something. It must not end before.
    pub(crate) fn until(&mut self, seen: impl Fn() -> bool) {
        let happened = wait_until(HANGS, || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", content(&self.stderr));
            seen().then_some(())
        });
        assert!(happened.is_some(), "nothing happens; it has said:\n{}", content(&self.stderr));
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until it ends by itself. Hanging is a failure.
    pub(crate) fn end(self) -> Run {
        self.end_watching(|| ())
    }

    /// The same, looking at something again and again while it runs.
    pub(crate) fn end_watching(mut self, mut look: impl FnMut()) -> Run {
        let ended = wait_until(HANGS, || {
            look();
            self.child.try_wait().unwrap()
        });
        let Some(status) = ended else {
            self.child.kill().ok();
            panic!("it hangs; it has said:\n{}\n{}", content(&self.stdout), content(&self.stderr));
        };
        let elapsed = self.started.elapsed();
        Run::new(code(status), content(&self.stdout), content(&self.stderr), elapsed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended, which is the usual case.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Looks again and again until there is something to see, or the time is over.
pub(crate) fn wait_until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    const PAUSE: Duration = Duration::from_millis(2);
    let started = Instant::now();
    loop {
        let seen = look();
        if seen.is_some() || started.elapsed() > limit {
            return seen;
        }
        #[expect(clippy::disallowed_methods, reason = "a test has nothing else to do")]
        std::thread::sleep(PAUSE);
    }
}

/// The processes that are left in `dir` or below, by what /proc says. What was killed may take a moment to be gone.
pub(crate) fn left_in(dir: &Path) -> Vec<String> {
    const GOING: Duration = Duration::from_secs(5);
    wait_until(GOING, || processes_in(dir).is_empty().then(Vec::new))
        .unwrap_or_else(|| processes_in(dir))
}

/// The command lines of the processes that work in `dir` or below.
pub(crate) fn processes_in(dir: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let inside = processes
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)));
    inside.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default()).collect()
}

/// The exit code; none when a signal ended it.
fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}

fn content(mut file: &File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
