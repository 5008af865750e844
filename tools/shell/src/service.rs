//! Runs a long-lived program that serves this one over its standard input and output, behind the same walls as a command.
//! It ends with everything it started when its handle is dropped, and when this program ends in whatever way.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use sandbox::{
    CommandStreams, Degree, Failure, Reported, ShownElsewhere, pass_streams, unconfined,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Environment;
use super::captured::Captured;
use super::fence::CommandConfinement;
use super::group::{Exit, ProcessGroup, exit_of, process_of};

/// How to start a service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Working directory.
    pub cwd: PathBuf,
    /// The environment of the service.
    pub env: Environment,
    /// The confinement; `None` to run unconfined.
    pub fence: Option<CommandConfinement>,
    /// The directory that records the running service for [`super::end_leftovers`]; `None` to keep no record.
    pub notes: Option<PathBuf>,
    /// How long an orderly end waits before each harsher means.
    pub kill_grace: Duration,
    /// Bytes of standard error to keep from the start, and as many from the end.
    pub keep_stderr_bytes: usize,
}

/// A program that serves this one over its standard input and output. Dropping it ends everything at once.
#[derive(Debug)]
pub struct Service {
    state: State,
    degree: Degree,
    streams: Option<(pipe::Sender, pipe::Receiver)>,
    stderr: Arc<Mutex<Captured>>,
    /// The task that reads standard error.
    drain: JoinSet<()>,
    kill_grace: Duration,
}

#[derive(Debug)]
enum State {
    Running(ProcessGroup),
    Ended(ServiceEnd),
}

/// How a service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceEnd {
    /// How it ended; [`Exit::TimedOut`] if it had to be killed.
    pub exit: Exit,
    /// Paths in the tree, relative to it, whose changes were discarded; only the first ones.
    pub discarded: Vec<PathBuf>,
    /// The step of the confinement that failed; nothing was run then.
    pub walls_failed: Option<Failure>,
}

/// Starts a service: a program and its arguments. That the program does not exist may be told only by [`Service::wait`].
///
/// The service ends with the thread that starts it, so call this on a thread of the runtime, never in `spawn_blocking`.
pub async fn start_service(words: &[OsString], options: &ServiceOptions) -> io::Result<Service> {
    start_service_elsewhere(words, options, None).await
}

/// As [`start_service`]; without a confinement, the service sees these directories at other paths.
pub async fn start_service_elsewhere(
    words: &[OsString],
    options: &ServiceOptions,
    shown: Option<ShownElsewhere>,
) -> io::Result<Service> {
    let streams = CommandStreams::Passed;
    let confined = match &options.fence {
        Some(fence) => fence.confine(&options.cwd, streams).await?,
        None => None,
    };
    let confined = match confined {
        Some(confined) => Some(confined),
        None => unconfined(streams, shown)?,
    };
    let ((stdin, to), (from, stdout), (errors, stderr)) = (io::pipe()?, io::pipe()?, io::pipe()?);
    let mut process = process_of(words.to_vec(), confined.as_ref());
    process.current_dir(&options.cwd).env_clear().envs(options.env.vars.iter()).stderr(stderr);
    if confined.is_some() {
        process.stdout(pass_streams(stdin.as_fd(), stdout.as_fd())?);
    } else {
        process.stdin(stdin).stdout(stdout);
    }
    let group = ProcessGroup::start(process, confined, options.notes.as_deref())?;
    let stderr = Arc::new(Mutex::new(Captured::new(options.keep_stderr_bytes)));
    let mut drain = JoinSet::new();
    drain.spawn(keep(pipe::Receiver::from_owned_fd(errors.into())?, Arc::clone(&stderr)));
    let to = pipe::Sender::from_owned_fd(to.into())?;
    let streams = Some((to, pipe::Receiver::from_owned_fd(from.into())?));
    let (degree, state) = (group.degree, State::Running(group));
    Ok(Service { state, degree, streams, stderr, drain, kill_grace: options.kill_grace })
}

/// Reads standard error to its end, so that a flood does not hold up the service.
async fn keep(mut pipe: pipe::Receiver, kept: Arc<Mutex<Captured>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let read = buffer.get(..count).unwrap_or_default();
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }
}

impl Service {
    /// Returns the streams to its standard input and from its standard output, once. Dropping the first one asks most
    /// services to end.
    pub const fn take_streams(&mut self) -> Option<(pipe::Sender, pipe::Receiver)> {
        self.streams.take()
    }

    /// Returns what it printed to standard error so far, with a line in place of an omitted middle. Not masked.
    pub fn stderr_text(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Returns how far it is confined.
    pub const fn degree(&self) -> Degree {
        self.degree
    }

    /// Returns how it ended, if it has.
    pub fn exited(&mut self) -> Option<ServiceEnd> {
        match &mut self.state {
            State::Running(group) => {
                let status = group.child.try_wait().transpose()?;
                Some(self.ended(status))
            }
            State::Ended(end) => Some(end.clone()),
        }
    }

    /// Waits until it ends by itself, and until what it printed to standard error is read. May be cancelled, and called
    /// again.
    pub async fn wait(&mut self) -> ServiceEnd {
        let status = match &mut self.state {
            State::Running(group) => group.child.wait().await,
            State::Ended(end) => return end.clone(),
        };
        // What it left running may hold standard error open.
        timeout(self.kill_grace, self.drain.join_next()).await.ok();
        self.ended(status)
    }

    /// Learns how it ended, and ends what it left running.
    fn ended(&mut self, status: io::Result<ExitStatus>) -> ServiceEnd {
        let (exit, reported) = match &mut self.state {
            State::Running(group) => group.told(exit_of(status)),
            State::Ended(end) => return end.clone(),
        };
        let Reported { discarded, failed: walls_failed, .. } = reported;
        let end = ServiceEnd { exit, discarded, walls_failed };
        self.state = State::Ended(end.clone());
        end
    }

    /// Ends it in order. Drop the streams before, which asks it to end; what does not end is told to, and then killed.
    pub async fn end(mut self) -> ServiceEnd {
        drop(self.streams.take());
        if let Ok(end) = timeout(self.kill_grace, self.wait()).await {
            return end;
        }
        if let State::Running(group) = &self.state {
            group.signal(Signal::TERM);
        }
        if let Ok(end) = timeout(self.kill_grace, self.wait()).await {
            return end;
        }
        if let State::Running(group) = &mut self.state {
            group.end();
            timeout(self.kill_grace, group.child.wait()).await.ok();
        }
        ServiceEnd { exit: Exit::TimedOut, discarded: Vec::new(), walls_failed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    /// These tests have no helper, as on systems other than Linux. Those in `tests/service.rs` have one.
    async fn started(script: &str) -> (Service, pipe::Sender, BufReader<pipe::Receiver>) {
        let options = ServiceOptions {
            cwd: std::env::temp_dir(),
            env: Environment::default(),
            fence: None,
            notes: None,
            kill_grace: Duration::from_mins(1),
            keep_stderr_bytes: 1000,
        };
        let words = ["sh", "-c", script].map(OsString::from);
        let mut service = start_service(&words, &options).await.unwrap();
        let (to, from) = service.take_streams().unwrap();
        (service, to, BufReader::new(from))
    }

    #[tokio::test]
    async fn without_a_helper_a_service_serves_and_tells_its_exit() {
        let (mut service, mut to, mut from) =
            started("read line; echo \"got $line\"; echo why >&2; read line; exit 3").await;
        to.write_all(b"x\n").await.unwrap();
        let mut line = String::new();
        from.read_line(&mut line).await.unwrap();
        assert_eq!((line.as_str(), service.exited()), ("got x\n", None));
        drop(to);
        assert_eq!(service.wait().await.exit, Exit::Code(3));
        assert_eq!(service.stderr_text(), "why\n");
        assert_eq!(service.end().await.exit, Exit::Code(3));
    }

    #[tokio::test]
    async fn without_a_helper_a_dropped_service_ends_with_what_it_started() {
        let (service, _to, mut from) = started("sleep 1000 & echo ready; cat").await;
        let mut text = String::new();
        from.read_line(&mut text).await.unwrap();
        drop(service);
        // All that hold its output open have ended.
        assert_eq!(from.read_line(&mut text).await.unwrap(), 0);
    }
}
