//! Runs one command: confined as far as possible, in its own process group, without a terminal. Its output is drained
//! up to a cap. At the deadline or on drop, it is ended with all its children.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sandbox::{Confined, Degree, Ended, Ends, Failure, ReportFile, Reported};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tools::count::counted;

use super::fence::CommandConfinement;
use super::leftovers::Noted;
use super::{CommandLine, Environment};
use tools::redact::{Redacted, Redactor};
use tools::relocate::relocate;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Working directory.
    pub cwd: PathBuf,
    /// The command is killed after this time.
    pub timeout: Duration,
    /// Bytes of output to keep from the start, and as many from the end.
    pub keep_bytes: usize,
    /// Time between the polite and the final signal, and to wait for children that keep the pipe open.
    pub kill_grace: Duration,
    /// The environment of the command.
    pub env: Environment,
    /// The directory that `cwd` is a copy of. Variables that lead git to another repository are removed.
    pub in_place_of: Option<PathBuf>,
    /// True if the command sees the copy under the path of that directory. Otherwise variables that name the directory are
    /// changed to name `cwd`.
    pub appears_in_place: bool,
    /// The directory that records the running command for [`super::end_leftovers`]; `None` to keep no record.
    pub notes: Option<PathBuf>,
    /// The confinement; `None` to run unconfined.
    pub fence: Option<CommandConfinement>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Exited with this status.
    Code(i32),
    /// Ended by this signal.
    Signal(i32),
    /// Killed at its deadline.
    TimedOut,
    /// The program does not exist.
    NotFound,
    /// The system could not start it; the reason.
    NotStarted(String),
}

/// The output of a command, both streams in the order written: all of it, or its head and tail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    keep: usize,
    total: u64,
    masked: usize,
}

impl Captured {
    fn new(keep: usize) -> Self {
        Self { keep, ..Self::default() }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // Trimmed in bulk, so at most twice the cap is held.
        if self.tail.len() > self.keep * 2 {
            self.tail.drain(..self.tail.len() - self.keep);
        }
    }

    /// Returns the size of the whole output, in bytes.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Masks the secrets in it.
    pub fn mask(&mut self, redactor: &Redactor) {
        let mut masked = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let Redacted { text, count } = redactor.redacted(&text);
            self.masked += count;
            text.into_owned().into_bytes()
        };
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        (self.head, self.tail) = if left_out == 0 {
            // Joined first, to find a secret that is split between head and tail.
            (masked(&[self.head.as_slice(), &self.tail].concat()), Vec::new())
        } else {
            (masked(&self.head), masked(&self.tail))
        };
        self.total = left_out + (self.head.len() + self.tail.len()) as u64;
    }

    /// Returns the number of masked secrets.
    pub const fn masked(&self) -> usize {
        self.masked
    }

    /// Returns the text, with a line in place of the omitted middle. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        self.excerpt(self.keep)
    }

    /// Returns the text before and after the omitted middle; the second is empty if nothing is omitted.
    pub fn parts(&self) -> (String, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if self.total == (self.head.len() + self.tail.len()) as u64 {
            return (text(&[self.head.as_slice(), &self.tail].concat()), String::new());
        }
        (text(&self.head), text(&self.tail))
    }

    /// Like [`Self::text`], with at most `keep` bytes of the start and of the end.
    pub fn excerpt(&self, keep: usize) -> String {
        let (head, tail) = (self.head.as_slice(), self.tail.as_slice());
        let left_out_between = self.total - (head.len() + tail.len()) as u64;
        let whole = [head, tail].concat();
        if left_out_between == 0 && whole.len() <= keep * 2 {
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let tail = if tail.is_empty() { head } else { tail };
        let head = head.get(..keep).unwrap_or(head);
        let tail = tail.get(tail.len().saturating_sub(keep)..).unwrap_or_default();
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n… {} left out …\n{tail}", counted(left_out, "byte"))
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub output: Captured,
    /// How long it took.
    pub elapsed: Duration,
    /// How far it was confined.
    pub confined: Degree,
    /// Paths in the tree, relative to it, whose changes were discarded; only the first ones.
    pub discarded: Vec<PathBuf>,
    /// The step of the confinement that failed; nothing was run then.
    pub walls_failed: Option<Failure>,
}

impl CommandOutcome {
    /// Creates the outcome of a command that was not started.
    pub fn not_started(why: String) -> Self {
        Self {
            exit: Exit::NotStarted(why),
            output: Captured::default(),
            elapsed: Duration::ZERO,
            confined: Degree::None,
            discarded: Vec::new(),
            walls_failed: None,
        }
    }

    /// Creates the outcome of a command that its caller ended.
    pub fn timed_out(elapsed: Duration) -> Self {
        Self { exit: Exit::TimedOut, elapsed, ..Self::not_started(String::new()) }
    }

    /// Creates the outcome of a command that was not started because its confinement could not be set up.
    pub fn without_walls(failure: Failure) -> Self {
        let why = walls_text(&failure);
        Self { confined: Degree::Full, walls_failed: Some(failure), ..Self::not_started(why) }
    }

    /// Returns whether it succeeded: exit status 0 within the time limit.
    pub fn succeeded(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

/// Receives what a command prints, as it comes.
pub type OutputSink<'h> = &'h mut (dyn FnMut(&[u8]) + Send);

/// Runs `command` to its end. Dropping the future ends the command and everything it started.
pub async fn run(command: &CommandLine, options: &RunOptions) -> CommandOutcome {
    run_heard(command, options, &mut |_| {}).await
}

/// As [`run`], for whoever wants to hear what the command prints while it runs: all of it, without a cap.
pub async fn run_heard(
    command: &CommandLine,
    options: &RunOptions,
    sink: OutputSink<'_>,
) -> CommandOutcome {
    let start = Instant::now();
    let mut output = Captured::new(options.keep_bytes);
    let mut confined = Degree::None;
    let mut reported = Reported::default();
    let exit = match start_group(command, options).await {
        Ok((mut group, pipe)) => {
            confined = group.degree;
            let exit = attend(&mut group, pipe, options, start, (&mut output, sink)).await;
            match group.report.take().map(ReportFile::read) {
                Some(Ok(report)) if exit != Exit::TimedOut => {
                    reported = report;
                    reported_exit(&reported)
                }
                Some(Err(error)) if exit != Exit::TimedOut => {
                    Exit::NotStarted(format!("the sandbox's report cannot be read: {error}"))
                }
                Some(Ok(_) | Err(_)) | None => exit,
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        Err(error) => Exit::NotStarted(error.to_string()),
    };
    let Reported { discarded, failed: walls_failed, .. } = reported;
    CommandOutcome { exit, output, elapsed: start.elapsed(), confined, discarded, walls_failed }
}

fn walls_text(failure: &Failure) -> String {
    format!("cannot set up the sandbox: {failure}; run `deepseek doctor` to check it")
}

/// Determines from its report how a confined command ended.
fn reported_exit(report: &Reported) -> Exit {
    const NO_SUCH_FILE: i32 = 2;
    match (&report.failed, report.not_started, report.ended) {
        (Some(failure), ..) => Exit::NotStarted(walls_text(failure)),
        (None, Some(NO_SUCH_FILE), _) => Exit::NotFound,
        (None, Some(errno), _) => Exit::NotStarted(io::Error::from_raw_os_error(errno).to_string()),
        (None, None, Some(Ended::Code(code))) => exit_of_code(code),
        (None, None, Some(Ended::Signal(signal))) => Exit::Signal(signal),
        (None, None, None) => Exit::NotStarted("the sandbox ended before the command".to_owned()),
    }
}

/// Starts the command. Returns it with the reading end of the pipe that both its streams go to.
async fn start_group(
    command: &CommandLine,
    options: &RunOptions,
) -> io::Result<(Group, pipe::Receiver)> {
    let words: Vec<OsString> = match command.segments() {
        [segment] if !command.needs_shell() => {
            let arguments = segment.words.iter().skip(1).map(OsString::from);
            [command.program().into()].into_iter().chain(arguments).collect()
        }
        _ => vec!["sh".into(), "-c".into(), command.text().into()],
    };
    let confined = match &options.fence {
        Some(fence) => fence.confine(&options.cwd).await?,
        None => None,
    };
    let mut process = process_of(words, confined.as_ref());
    let (reader, writer) = io::pipe()?;
    process.current_dir(&options.cwd);
    process.stdout(writer.try_clone()?).stderr(writer);
    process.env_clear().envs(options.env.vars.iter());
    if let Some(other) = &options.in_place_of {
        if !options.appears_in_place {
            moved_env(&mut process, &options.env, other, &options.cwd);
        }
        for name in OF_A_REPOSITORY {
            process.env_remove(name);
        }
    }
    let degree = confined.as_ref().map_or(Degree::None, |confined| confined.degree);
    let (ends, report) = apply_confinement(&mut process, confined);
    let child = process.spawn()?;
    // `process` still holds the write ends; the pipe closes only when they are dropped.
    drop(process);
    let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let noted = leader.zip(options.notes.as_ref()).and_then(|(it, dir)| Noted::new(dir, it, ends));
    Ok((Group { child, leader, degree, ends, report, _noted: noted }, pipe))
}

/// Returns the process to start: the command itself, or the helper that confines it.
fn process_of(words: Vec<OsString>, confined: Option<&Confined>) -> Command {
    let first = confined.into_iter().flat_map(|confined| confined.program).map(OsString::from);
    let mut all = first.chain(words);
    let mut process = Command::new(all.next().unwrap_or_default());
    process.args(all);
    process
}

/// Variables naming directories that are elsewhere in the sandbox. Without the variable, programs use the default
/// place, which exists there.
const NAMING_PLACES: [&str; 9] = [
    "GOCACHE",
    "TEMP",
    "TEMPDIR",
    "TMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Adjusts a process for its confinement. Without one it gets its own process group, which the helper otherwise creates
/// itself.
fn apply_confinement(
    process: &mut Command,
    confined: Option<Confined>,
) -> (Ends, Option<ReportFile>) {
    let Some(Confined { stdin, env, ends, report, .. }) = confined else {
        process.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        return (Ends::Killed, None);
    };
    process.stdin(stdin).envs(env).kill_on_drop(ends == Ends::Killed);
    // They name directories that do not exist in the sandbox.
    for name in NAMING_PLACES {
        process.env_remove(name);
    }
    (ends, Some(report))
}

/// The variables that git considers local to a repository (`git rev-parse --local-env-vars`), except its configuration.
const OF_A_REPOSITORY: [&str; 11] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Changes variables that name `from` to name `to`.
fn moved_env(process: &mut Command, env: &Environment, from: &Path, to: &Path) {
    // The copy lacks most of what commands need from a home directory.
    let is_home = env.vars.get("HOME").is_some_and(|home| Path::new(home).starts_with(from));
    let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
    for (name, value) in env.vars.iter().filter(|_| !is_home) {
        if let Some(moved) = relocate(value.as_bytes(), from, to) {
            process.env(name, OsStr::from_bytes(&moved));
        }
    }
}

/// A child and everything it started. Dropping it ends them all.
struct Group {
    child: Child,
    leader: Option<Pid>,
    degree: Degree,
    ends: Ends,
    report: Option<ReportFile>,
    _noted: Option<Noted>,
}

impl Group {
    /// Signals the whole group, even if its leader is gone.
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may be gone already, which is fine.
            kill_process_group(leader, signal).ok();
        }
    }

    /// Ends the whole group.
    fn end(&self) {
        match (self.ends, self.leader) {
            (Ends::Told, Some(helper)) => {
                kill_process(helper, Signal::USR1).ok();
            }
            (Ends::Killed, _) | (Ends::Told, None) => self.signal(Signal::KILL),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Drains the pipe and waits for the end, both within the deadline.
async fn attend(
    group: &mut Group,
    mut pipe: pipe::Receiver,
    options: &RunOptions,
    start: Instant,
    (output, sink): (&mut Captured, OutputSink<'_>),
) -> Exit {
    let deadline = tokio::time::sleep_until(start + options.timeout);
    tokio::pin!(deadline);
    let mut buffer = vec![0; 64 * 1024];
    let mut open = true;
    let status = loop {
        tokio::select! {
            read = pipe.read(&mut buffer), if open => open = take(&read, &buffer, output, sink),
            status = group.child.wait() => break Some(status),
            () = &mut deadline => break None,
        }
    };
    let exit = if let Some(status) = status {
        exit_of(status)
    } else {
        group.signal(Signal::TERM);
        let ended = tokio::time::timeout(options.kill_grace, group.child.wait()).await;
        tracing::debug!(polite = ended.is_ok(), "command ended at its deadline");
        group.end();
        Exit::TimedOut
    };
    // Children may outlive their parent: their output is collected, but they are not waited for.
    let rest = async {
        while open {
            open = take(&pipe.read(&mut buffer).await, &buffer, output, sink);
        }
    };
    tokio::time::timeout(options.kill_grace, rest).await.ok();
    // Dropping the group ends the rest of it.
    exit
}

/// Stores what was read. Returns false at the end of the pipe.
fn take(
    read: &io::Result<usize>,
    buffer: &[u8],
    output: &mut Captured,
    sink: OutputSink<'_>,
) -> bool {
    match read {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            let read = buffer.get(..*count).unwrap_or_default();
            output.push(read);
            sink(read);
            true
        }
    }
}

/// Converts an exit status.
fn exit_of(status: io::Result<ExitStatus>) -> Exit {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => exit_of_code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::NotStarted("ended without a status".to_owned()),
        },
        Err(error) => Exit::NotStarted(error.to_string()),
    }
}

/// Converts an exit code; a shell exits with 127 if the program does not exist.
const fn exit_of_code(code: i32) -> Exit {
    match code {
        127 => Exit::NotFound,
        code => Exit::Code(code),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn options() -> RunOptions {
        RunOptions {
            cwd: std::env::temp_dir(),
            timeout: Duration::from_mins(1),
            keep_bytes: 1000,
            kill_grace: Duration::from_millis(200),
            env: Environment::default(),
            in_place_of: None,
            appears_in_place: false,
            notes: None,
            fence: None,
        }
    }

    async fn sh(text: &str, options: &RunOptions) -> CommandOutcome {
        run(&CommandLine::parse(text).unwrap(), options).await
    }

    #[tokio::test]
    async fn exit_codes_signals_and_missing_programs_are_distinguished() {
        let options = options();
        assert!(sh("true", &options).await.succeeded());
        assert_eq!(sh("false", &options).await.exit, Exit::Code(1));
        assert_eq!(sh("exit 3 ; true", &options).await.exit, Exit::Code(3));
        assert_eq!(sh("kill -9 $$", &options).await.exit, Exit::Signal(9));
        assert_eq!(sh("no-such-program-here", &options).await.exit, Exit::NotFound);
        assert_eq!(sh("no-such-program-here | no-such-other", &options).await.exit, Exit::NotFound);
        let nowhere = RunOptions { cwd: "/no/such/dir".into(), ..options };
        assert_eq!(sh("true", &nowhere).await.exit, Exit::NotFound);
    }

    #[tokio::test]
    async fn assignments_before_a_command_apply_to_it() {
        let line = "GREETING='good day' sh -c 'test \"$GREETING\" = \"good day\"'";
        assert!(sh(line, &options()).await.succeeded());
    }

    #[tokio::test]
    async fn both_streams_come_in_order_and_large_output_is_capped() {
        let outcome = sh("echo a; echo b >&2; echo c", &options()).await;
        assert_eq!(outcome.output.text(), "a\nb\nc\n");
        let outcome = sh("echo first; head -c 100000000 /dev/zero; echo last", &options()).await;
        assert!(outcome.succeeded());
        assert_eq!(outcome.output.total(), 100_000_011);
        let text = outcome.output.text();
        assert!(text.starts_with("first\n") && text.ends_with("last\n"), "{} bytes", text.len());
        assert!(text.contains("99998011 bytes left out"), "{} bytes", text.len());
    }

    #[tokio::test]
    async fn variables_naming_the_original_directory_are_moved_unless_it_holds_the_home() {
        let cwd = std::env::temp_dir();
        for (home, is) in [("/home/u", cwd.join("bin")), ("/w/home", PathBuf::from("/w/bin"))] {
            let vars = [("HERE", "/w/bin"), ("HOME", home)];
            let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let env = Environment { vars: Arc::new(vars) };
            let in_place_of = Some(PathBuf::from("/w"));
            let outcome =
                sh("echo \"${HERE:-/w/bin}\"", &RunOptions { env, in_place_of, ..options() }).await;
            assert_eq!(outcome.output.text().trim(), is.to_str().unwrap());
        }
    }

    #[tokio::test]
    async fn a_hanging_command_is_killed_with_its_children() {
        let options = RunOptions { timeout: Duration::from_millis(50), ..options() };
        let outcome = sh("sleep 600 & echo $!; wait", &options).await;
        assert_eq!(outcome.exit, Exit::TimedOut);
        let child = outcome.output.text().trim().to_owned();
        assert!(!Path::new("/proc").join(child).join("cwd").exists());
    }

    #[tokio::test]
    async fn a_grandchild_that_holds_the_pipe_does_not_block_the_run() {
        let outcome = sh("sleep 600 & echo done", &options()).await;
        assert_eq!((outcome.exit, outcome.output.text()), (Exit::Code(0), "done\n".to_owned()));
    }

    #[tokio::test]
    async fn dropping_the_future_kills_the_group() {
        let dir = tempfile::tempdir().unwrap();
        let options = RunOptions { cwd: dir.path().to_owned(), ..options() };
        let command = CommandLine::parse("echo $$ > pid; mv pid ready; sleep 600; true").unwrap();
        let ready = dir.path().join("ready");
        let seen = async {
            while !ready.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            outcome = run(&command, &options) => panic!("{outcome:?}"),
            () = seen => {}
        }
        let pid = std::fs::read_to_string(ready).unwrap();
        let gone = async {
            while std::fs::read(format!("/proc/{}/cmdline", pid.trim()))
                .is_ok_and(|line| !line.is_empty())
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    }
}
