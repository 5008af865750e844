//! Runs one command: behind the walls that there are, in a process group of its own, without a terminal, its output drained to a
//! cap, ended with its children at the deadline or on drop.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sandbox::{Confined, Degree, Ended, Ends, ReportFile, Reported};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::fence::Fence;
use super::leftovers::Noted;
use super::{CommandLine, Environment};
use tools::redact::{Redacted, Redactor};
use tools::relocate::relocate;

/// How a command is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Working directory.
    pub cwd: PathBuf,
    /// Killed after this long.
    pub timeout: Duration,
    /// Bytes kept from the start and from the end of the output, each.
    pub keep_bytes: usize,
    /// Between the polite and the final signal, and for stragglers that keep the pipe open.
    pub kill_grace: Duration,
    /// What it sees of the environment.
    pub env: Environment,
    /// The directory in whose place it runs: variables that name it name `cwd` for the command, and those that lead git to
    /// another repository than the one of `cwd` are not seen.
    pub in_place_of: Option<PathBuf>,
    /// Where it is noted while it runs, for [`super::end_leftovers`].
    pub notes: Option<PathBuf>,
    /// What confines it; none where nothing is to.
    pub fence: Option<Fence>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed at its deadline.
    TimedOut,
    /// There is no such program.
    NotFound,
    /// The system could not start it.
    NotStarted(String),
}

/// What a command printed, both streams in the order written: all of it, or head and tail.
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
        // Trimmed in bulk: twice the cap is held at most.
        if self.tail.len() > self.keep * 2 {
            self.tail.drain(..self.tail.len() - self.keep);
        }
    }

    /// Bytes printed in all.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Takes secrets out of it.
    pub fn mask(&mut self, redactor: &Redactor) {
        let mut masked = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let Redacted { text, count } = redactor.redacted(&text);
            self.masked += count;
            text.into_owned().into_bytes()
        };
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        (self.head, self.tail) = if left_out == 0 {
            // What is cut in two is found as a whole.
            (masked(&[self.head.as_slice(), &self.tail].concat()), Vec::new())
        } else {
            (masked(&self.head), masked(&self.tail))
        };
        self.total = left_out + (self.head.len() + self.tail.len()) as u64;
    }

    /// How many secrets were taken out of it.
    pub const fn masked(&self) -> usize {
        self.masked
    }

    /// The text, with a line that says what was left out of the middle. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        self.excerpt(self.keep)
    }

    /// As [`Self::text`], with at most `keep` bytes of the start and of the end.
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
        format!("{head}\n… {left_out} bytes left out …\n{tail}")
    }
}

/// What came of a command.
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
    /// What it changed in the tree, by paths below it, which is not kept: the first of it.
    pub discarded: Vec<PathBuf>,
}

impl CommandOutcome {
    /// Of one that was not started.
    pub fn not_started(why: String) -> Self {
        Self {
            exit: Exit::NotStarted(why),
            output: Captured::default(),
            elapsed: Duration::ZERO,
            confined: Degree::None,
            discarded: Vec::new(),
        }
    }

    /// Exit status 0 within the limit: the only success there is.
    pub fn succeeded(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

/// Is given what a command prints, as it comes.
pub type Hears<'h> = &'h mut (dyn FnMut(&[u8]) + Send);

/// Runs `command` to its end. Dropping the future ends the command and all that it started.
pub async fn run(command: &CommandLine, options: &RunOptions) -> CommandOutcome {
    run_heard(command, options, &mut |_| {}).await
}

/// As [`run`], for whoever wants to hear what the command prints while it runs: all of it, without a cap.
pub async fn run_heard(
    command: &CommandLine,
    options: &RunOptions,
    hears: Hears<'_>,
) -> CommandOutcome {
    let start = Instant::now();
    let mut output = Captured::new(options.keep_bytes);
    let (mut confined, mut discarded) = (Degree::None, Vec::new());
    let exit = match start_group(command, options).await {
        Ok((mut group, pipe)) => {
            confined = group.degree;
            let exit = attend(&mut group, pipe, options, start, (&mut output, hears)).await;
            match group.report.take() {
                Some(report) if exit != Exit::TimedOut => told(report, &mut discarded),
                _ => exit,
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        Err(error) => Exit::NotStarted(error.to_string()),
    };
    CommandOutcome { exit, output, elapsed: start.elapsed(), confined, discarded }
}

/// How a command behind walls ended, by what was told of it.
fn told(report: ReportFile, discarded: &mut Vec<PathBuf>) -> Exit {
    const NO_SUCH_FILE: i32 = 2;
    let outcome = match report.read() {
        Ok(outcome) => outcome,
        Err(error) => return Exit::NotStarted(format!("the sandbox told nothing: {error}")),
    };
    let Reported { ended, not_started, failed, discarded: paths } = outcome;
    *discarded = paths;
    match (failed, not_started, ended) {
        (Some(failure), ..) => Exit::NotStarted(format!(
            "the sandbox could not be set up: {failure}; `deepseek doctor` tries it"
        )),
        (None, Some(NO_SUCH_FILE), _) => Exit::NotFound,
        (None, Some(errno), _) => Exit::NotStarted(io::Error::from_raw_os_error(errno).to_string()),
        (None, None, Some(Ended::Code(code))) => exit_of_code(code),
        (None, None, Some(Ended::Signal(signal))) => Exit::Signal(signal),
        (None, None, None) => Exit::NotStarted("the sandbox ended before the command".to_owned()),
    }
}

/// The child with the reading end of the one pipe both its streams go to.
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
        moved_env(&mut process, &options.env, other, &options.cwd);
    }
    let degree = confined.as_ref().map_or(Degree::None, |confined| confined.degree);
    let (ends, report) = behind_walls(&mut process, confined);
    let child = process.spawn()?;
    // `process` still holds the writing ends; the pipe closes only when they are gone.
    drop(process);
    let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let noted = leader.zip(options.notes.as_ref()).and_then(|(it, dir)| Noted::new(dir, it, ends));
    Ok((Group { child, leader, degree, ends, report, _noted: noted }, pipe))
}

/// The process to start: the command itself, or the helper that puts up the walls for it.
fn process_of(words: Vec<OsString>, confined: Option<&Confined>) -> Command {
    let first = confined.into_iter().flat_map(|confined| confined.program).map(OsString::from);
    let mut all = first.chain(words);
    let mut process = Command::new(all.next().unwrap_or_default());
    process.args(all);
    process
}

/// Variables that name directories which are elsewhere behind walls: where they are by default, there is one.
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

/// What is different for a process that puts up walls. Without them it gets a process group, which the helper makes itself.
fn behind_walls(process: &mut Command, confined: Option<Confined>) -> (Ends, Option<ReportFile>) {
    let Some(Confined { stdin, env, ends, report, .. }) = confined else {
        process.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        return (Ends::Killed, None);
    };
    process.stdin(stdin).envs(env).kill_on_drop(ends == Ends::Killed);
    // They name places that are not there.
    for name in NAMING_PLACES {
        process.env_remove(name);
    }
    (ends, Some(report))
}

/// The variables that git calls local to a repository (`git rev-parse --local-env-vars`), all but those of its configuration.
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

/// What the environment says of `from`, said of `to`.
fn moved_env(process: &mut Command, env: &Environment, from: &Path, to: &Path) {
    // Of a directory that the user lives in, commands need far more than a copy has.
    let is_home = env.vars.get("HOME").is_some_and(|home| Path::new(home).starts_with(from));
    let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
    for (name, value) in env.vars.iter().filter(|_| !is_home) {
        if let Some(moved) = relocate(value.as_bytes(), from, to) {
            process.env(name, OsStr::from_bytes(&moved));
        }
    }
    for name in OF_A_REPOSITORY {
        process.env_remove(name);
    }
}

/// A child and everything it started, ended when this is dropped.
struct Group {
    child: Child,
    leader: Option<Pid>,
    degree: Degree,
    ends: Ends,
    report: Option<ReportFile>,
    _noted: Option<Noted>,
}

impl Group {
    /// Signals all that is left of the group, its first process or not.
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may be gone already, which is what was wanted.
            kill_process_group(leader, signal).ok();
        }
    }

    /// Ends all of it.
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

/// Drains the pipe and waits for the end, whichever comes last, within the deadline.
async fn attend(
    group: &mut Group,
    mut pipe: pipe::Receiver,
    options: &RunOptions,
    start: Instant,
    (output, hears): (&mut Captured, Hears<'_>),
) -> Exit {
    let deadline = tokio::time::sleep_until(start + options.timeout);
    tokio::pin!(deadline);
    let mut buffer = vec![0; 64 * 1024];
    let mut open = true;
    let status = loop {
        tokio::select! {
            read = pipe.read(&mut buffer), if open => open = take(&read, &buffer, output, hears),
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
    // Children that outlived their parent: what they printed is taken, what they hold is not waited for.
    let rest = async {
        while open {
            open = take(&pipe.read(&mut buffer).await, &buffer, output, hears);
        }
    };
    tokio::time::timeout(options.kill_grace, rest).await.ok();
    // Dropping the group ends what is left of it.
    exit
}

/// Keeps what was read; false at the end of the pipe.
fn take(read: &io::Result<usize>, buffer: &[u8], output: &mut Captured, hears: Hears<'_>) -> bool {
    match read {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            let read = buffer.get(..*count).unwrap_or_default();
            output.push(read);
            hears(read);
            true
        }
    }
}

/// The exit in our words.
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

/// A shell says 127 for a program that is not there.
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
            notes: None,
            fence: None,
        }
    }

    async fn sh(text: &str, options: &RunOptions) -> CommandOutcome {
        run(&CommandLine::parse(text).unwrap(), options).await
    }

    #[tokio::test]
    async fn exit_codes_signals_and_missing_programs_are_told_apart() {
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
    async fn what_is_set_before_a_command_is_set_for_it() {
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
    async fn what_names_the_other_directory_names_this_one_unless_the_user_lives_there() {
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
    async fn a_grandchild_that_keeps_the_pipe_does_not_keep_us() {
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
