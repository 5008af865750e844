//! Processes: the program under test and helper tools. Each has a deadline, so that a hang fails the test.

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

/// A process that runs longer than this hangs. Generous enough for a busy machine.
const HANGS: Duration = Duration::from_mins(1);

/// Runs a shell script and returns what it prints. It has to succeed.
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

/// A process to be started, with only `PATH` in its environment.
pub(crate) struct Program {
    command: Command,
}

impl Program {
    /// Prepares `program` to run in `dir`.
    #[expect(clippy::disallowed_methods, reason = "a test watches processes from outside")]
    pub(crate) fn new(program: impl AsRef<OsStr>, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Self { command }
    }

    /// Starts it in another directory.
    pub(crate) fn within(&mut self, dir: &Path) -> &mut Self {
        self.command.current_dir(dir);
        self
    }

    /// Adds arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn env_remove(&mut self, name: &str) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Connects standard input to a pipe.
    pub(crate) fn stdin(&mut self, pipe: std::io::PipeReader) -> &mut Self {
        self.command.stdin(pipe);
        self
    }

    /// Sets the content of standard input.
    pub(crate) fn input(&mut self, text: &str) -> &mut Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        self.command.stdin(file);
        self
    }

    /// Passes on the variables by which cargo finds its toolchain and its downloaded sources.
    pub(crate) fn with_cargo(&mut self) -> &mut Self {
        for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                self.env(name, value);
            }
        }
        self
    }

    /// Lets it find the toolchains that are installed for the user of the tests.
    pub(crate) fn with_toolchains(&mut self) -> &mut Self {
        for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT"] {
            if let Some(value) = std::env::var_os(name) {
                self.env(name, value);
            }
        }
        self
    }

    /// Runs it as another user.
    pub(crate) fn user(&mut self, id: u32) -> &mut Self {
        self.command.uid(id).gid(id);
        self
    }

    /// Starts it with all three streams at a terminal. Afterwards only the process holds that end of the terminal open.
    pub(crate) fn at_terminal(&mut self, terminal: &File) -> Child {
        if !self.command.get_envs().any(|(name, _)| name == "TERM") {
            self.command.env("TERM", "xterm-256color");
        }
        let end = || terminal.try_clone().unwrap();
        let child = self.command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        child
    }

    /// Starts it. Its output goes to files, so that it never blocks on an unread pipe.
    pub(crate) fn start(&mut self) -> Running {
        let (stdout, stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        self.command.stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
        let child = self.command.spawn().unwrap();
        Running { child, started: Instant::now(), stdout, stderr }
    }

    /// Starts it and waits until it ends.
    pub(crate) fn run(&mut self) -> Run {
        self.start().end()
    }
}

/// A running process, killed on drop.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    stdout: File,
    stderr: File,
}

impl Running {
    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its standard output so far.
    pub(crate) fn stdout_so_far(&self) -> String {
        self.stdout_of()()
    }

    /// Returns a function that returns its standard output so far.
    pub(crate) fn stdout_of(&self) -> impl Fn() -> String + use<> {
        written_to(&self.stdout)
    }

    /// Returns a function that returns its standard error so far.
    pub(crate) fn stderr_of(&self) -> impl Fn() -> String + use<> {
        written_to(&self.stderr)
    }

    /// Presses Ctrl-C and waits for the process to end. Returns how long that took.
    pub(crate) fn interrupt(self) -> (Run, Duration) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        let pressed = Instant::now();
        kill_process(id, Signal::INT).unwrap();
        let run = self.end();
        (run, pressed.elapsed())
    }

    /// Kills it with SIGKILL, as in a power cut.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until `seen` returns true. The process must not end before.
    pub(crate) fn until(&mut self, seen: impl Fn() -> bool) {
        let happened = wait_until(HANGS, || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the process ended too early: {}", content(&self.stderr));
            seen().then_some(())
        });
        assert!(happened.is_some(), "timed out; standard error so far:\n{}", content(&self.stderr));
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until it ends by itself. Panics if it hangs.
    pub(crate) fn end(self) -> Run {
        self.end_watching(|| ())
    }

    /// Like [`Self::end`], and calls `look` repeatedly while it runs.
    pub(crate) fn end_watching(mut self, mut look: impl FnMut()) -> Run {
        let ended = wait_until(HANGS, || {
            look();
            self.child.try_wait().unwrap()
        });
        let Some(status) = ended else {
            self.child.kill().ok();
            panic!(
                "the process hangs; output so far:\n{}\n{}",
                content(&self.stdout),
                content(&self.stderr)
            );
        };
        let elapsed = self.started.elapsed();
        Run::new(code(status), content(&self.stdout), content(&self.stderr), elapsed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is the usual case.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Polls `look` until it returns `Some`, or until `limit` has passed.
pub(crate) fn wait_until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    const PAUSE: Duration = Duration::from_millis(2);
    let started = Instant::now();
    loop {
        let seen = look();
        if seen.is_some() || started.elapsed() > limit {
            return seen;
        }
        #[expect(clippy::disallowed_methods, reason = "a test may poll")]
        std::thread::sleep(PAUSE);
    }
}

/// Returns the processes that are left in `dir` or below, according to /proc. Killed processes get a moment to disappear.
pub(crate) fn processes_left_in(dir: &Path) -> Vec<String> {
    const GRACE: Duration = Duration::from_secs(5);
    wait_until(GRACE, || processes_in(dir).is_empty().then(Vec::new))
        .unwrap_or_else(|| processes_in(dir))
}

/// Returns the command lines of the processes whose working directory is `dir` or below.
pub(crate) fn processes_in(dir: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let inside = processes
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)));
    inside.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default()).collect()
}

/// Returns the exit code; `None` if a signal ended the process.
fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// Returns a function that returns what is written to a file so far.
fn written_to(file: &File) -> impl Fn() -> String + use<> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    move || fs::read_to_string(&path).unwrap()
}

fn content(mut file: &File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
