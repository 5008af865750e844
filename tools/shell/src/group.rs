//! A process with everything it starts: how it is started, signalled and ended, and how its end is told.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sandbox::{Confined, Degree, Ended, Ends, Failure, ReportFile, Reported};
use tokio::process::{Child, Command};

use super::leftovers::Noted;

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

/// Returns the process to start: the command itself, or the helper that runs it.
pub(super) fn process_of(words: Vec<OsString>, confined: Option<&Confined>) -> Command {
    let first = confined.into_iter().flat_map(|confined| confined.program).map(OsString::from);
    let mut all = first.chain(words);
    let mut process = Command::new(all.next().unwrap_or_default());
    process.args(all).stdin(Stdio::null());
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

/// Adjusts a process for its confinement. Without a helper it gets its own process group, which the helper otherwise
/// creates itself.
fn apply_confinement(
    process: &mut Command,
    confined: Option<Confined>,
) -> (Degree, Ends, Option<ReportFile>) {
    let Some(Confined { stdin, env, degree, ends, report, .. }) = confined else {
        process.process_group(0).kill_on_drop(true);
        return (Degree::None, Ends::Killed, None);
    };
    process.stdin(stdin).envs(env).kill_on_drop(ends == Ends::Killed);
    if degree != Degree::None {
        // They name directories that do not exist in the sandbox.
        for name in NAMING_PLACES {
            process.env_remove(name);
        }
    }
    (degree, ends, Some(report))
}

/// A child and everything it started. Dropping it ends them all.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    pub(super) child: Child,
    pub(super) degree: Degree,
    leader: Option<Pid>,
    ends: Ends,
    report: Option<ReportFile>,
    _noted: Option<Noted>,
}

impl ProcessGroup {
    /// Starts a process that [`process_of`] returned for this confinement. `notes` is the directory that records it.
    pub(super) fn start(
        mut process: Command,
        confined: Option<Confined>,
        notes: Option<&Path>,
    ) -> io::Result<Self> {
        let (degree, ends, report) = apply_confinement(&mut process, confined);
        // Dropping `process` then closes its ends of pipes and sockets.
        let child = process.spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let noted = leader.zip(notes).and_then(|(leader, dir)| Noted::new(dir, leader, ends));
        Ok(Self { child, degree, leader, ends, report, _noted: noted })
    }

    /// Returns how the command ended, given how the process did, and the helper's report. Call it once, after the end.
    pub(super) fn told(&mut self, exit: Exit) -> (Exit, Reported) {
        match self.report.take().map(ReportFile::read) {
            Some(Ok(reported)) => (reported_exit(&reported), reported),
            Some(Err(error)) => {
                let why = format!("the sandbox's report cannot be read: {error}");
                (Exit::NotStarted(why), Reported::default())
            }
            None => (exit, Reported::default()),
        }
    }

    /// Signals the whole group, even if its leader is gone.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may be gone already, which is fine.
            kill_process_group(leader, signal).ok();
        }
    }

    /// Ends the whole group.
    pub(super) fn end(&self) {
        match (self.ends, self.leader) {
            // Once the helper is reaped, its id may be that of another process.
            (Ends::Told, Some(helper)) if self.child.id().is_some() => {
                kill_process(helper, Signal::USR1).ok();
            }
            (Ends::Told, _) => {}
            (Ends::Killed, _) => self.signal(Signal::KILL),
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
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

pub(super) fn walls_text(failure: &Failure) -> String {
    format!("cannot set up the sandbox: {failure}; run `deepseek doctor` to check it")
}

/// Converts an exit status.
pub(super) fn exit_of(status: io::Result<ExitStatus>) -> Exit {
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
