//! Runs one command: confined as far as possible, in its own process group, without a terminal. Its output is drained
//! up to a cap. At the deadline or on drop, it is ended with all its children.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use sandbox::{CommandStreams, Degree, Failure, Reported};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::Instant;
use tools::relocate::relocate;

use super::captured::Captured;
use super::fence::CommandConfinement;
use super::group::{Exit, ProcessGroup, exit_of, process_of, walls_text};
use super::{CommandLine, Environment};

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
            if exit == Exit::TimedOut {
                exit
            } else {
                let (exit, report) = group.told(exit);
                reported = report;
                exit
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        Err(error) => Exit::NotStarted(error.to_string()),
    };
    let Reported { discarded, failed: walls_failed, .. } = reported;
    CommandOutcome { exit, output, elapsed: start.elapsed(), confined, discarded, walls_failed }
}

/// Starts the command. Returns it with the reading end of the pipe that both its streams go to.
async fn start_group(
    command: &CommandLine,
    options: &RunOptions,
) -> io::Result<(ProcessGroup, pipe::Receiver)> {
    let words: Vec<OsString> = match command.segments() {
        [segment] if !command.needs_shell() => {
            let arguments = segment.words.iter().skip(1).map(OsString::from);
            [command.program().into()].into_iter().chain(arguments).collect()
        }
        _ => vec!["sh".into(), "-c".into(), command.text().into()],
    };
    let confined = match &options.fence {
        Some(fence) => fence.confine(&options.cwd, CommandStreams::OfHelper).await?,
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
    let group = ProcessGroup::start(process, confined, options.notes.as_deref())?;
    Ok((group, pipe::Receiver::from_owned_fd(reader.into())?))
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

/// Drains the pipe and waits for the end, both within the deadline.
async fn attend(
    group: &mut ProcessGroup,
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
