//! Starts the command, waits for its end, and ends what it left running.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, Signal as NixSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use crate::orders::{CommandStreams, ConfinementStep, Ended, Failure, Notice, tell_notice};

/// The signal that makes a helper end everything it started, and itself.
pub(crate) const END_ALL: Signal = Signal::USR1;

/// The signals that do not end the helper; the command, in the same group, still receives them.
pub(crate) fn held_back() -> SigSet {
    [
        NixSignal::SIGCHLD,
        NixSignal::SIGUSR1,
        NixSignal::SIGTERM,
        NixSignal::SIGINT,
        NixSignal::SIGHUP,
        NixSignal::SIGQUIT,
    ]
    .into_iter()
    .collect()
}

/// Blocks these signals permanently and returns a descriptor to read them from.
pub(crate) fn hold_back() -> Result<SignalFd, Failure> {
    let signals = held_back();
    let held = || {
        signals.thread_block()?;
        SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)
    };
    held().map_err(|error: nix::Error| Failure::of(ConfinementStep::Session, &error.into()))
}

/// Starts a command. Returns `None` if there is nothing to wait for; the reason is reported.
pub(crate) fn start_command(
    words: &[OsString],
    streams: CommandStreams,
    report: &mut File,
) -> io::Result<Option<Child>> {
    let Some((program, arguments)) = words.split_first() else {
        tell_notice(report, &Notice::Ended(Ended::Code(0)))?;
        return Ok(None);
    };
    #[expect(clippy::disallowed_methods, reason = "runs on behalf of the crate shell")]
    let mut command = Command::new(program);
    match streams {
        CommandStreams::OfHelper => command.stdin(Stdio::null()),
        CommandStreams::Passed => {
            let [input, output] = passed_streams()?;
            command.stdin(input).stdout(output)
        }
    };
    match command.args(arguments).spawn() {
        Ok(child) => Ok(Some(child)),
        Err(error) => {
            tell_notice(report, &Notice::NotStarted(error.raw_os_error().unwrap_or_default()))?;
            Ok(None)
        }
    }
}

/// Receives the standard input and output that were passed to this helper.
fn passed_streams() -> io::Result<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let (over, flags) = (rustix::stdio::stdout(), RecvFlags::CMSG_CLOEXEC);
    recvmsg(over, &mut [IoSliceMut::new(&mut [0])], &mut rights, flags)?;
    let passed = rights.drain().filter_map(|message| {
        if let RecvAncillaryMessage::ScmRights(passed) = message { Some(passed) } else { None }
    });
    let passed: Vec<OwnedFd> = passed.flatten().collect();
    passed.try_into().map_err(|_| io::ErrorKind::UnexpectedEof.into())
}

/// Waits for the end of the started command, and reports it.
pub(crate) fn follow(
    started: Option<Child>,
    signals: &SignalFd,
    report: &mut File,
) -> io::Result<()> {
    let Some(child) = started else { return Ok(()) };
    wait_for(&child, signals)?.map_or(Ok(()), |ended| tell_notice(report, &Notice::Ended(ended)))
}

/// Waits until a child ends or this process is told to end everything. Returns how the child ended; `None` in the
/// latter case.
pub(crate) fn wait_for(child: &Child, signals: &SignalFd) -> io::Result<Option<Ended>> {
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    while let Some(signal) = next(signals)? {
        if signal == Signal::CHILD {
            if let Some(ended) = reap(leader)? {
                return Ok(Some(ended));
            }
        } else if signal == END_ALL {
            break;
        }
    }
    Ok(None)
}

fn next(signals: &SignalFd) -> io::Result<Option<Signal>> {
    let read = signals.read_signal()?;
    Ok(read.and_then(|read| Signal::from_named_raw(i32::try_from(read.ssi_signo).ok()?)))
}

/// Reaps all ended children. Returns how `leader` ended, if it did.
fn reap(leader: Option<Pid>) -> io::Result<Option<Ended>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid) == leader => return Ok(ended(status)),
            Ok(Some(_)) => {}
            Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

fn ended(status: WaitStatus) -> Option<Ended> {
    status.exit_status().map(Ended::Code).or_else(|| status.terminating_signal().map(Ended::Signal))
}

/// Ends all descendants of this process, including orphans. Needed because without a pid namespace they do not end by
/// themselves.
pub(crate) fn end_the_rest() {
    // Gives up on processes that start others as fast as they are ended.
    const ROUNDS: usize = 1000;
    for _ in 0..ROUNDS {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Err(rustix::io::Errno::CHILD) => return,
                Ok(None) | Err(_) => break,
            }
        }
        for child in children() {
            // It may have ended by now.
            kill_process(child, Signal::KILL).ok();
        }
        std::thread::yield_now();
    }
}

/// Returns the child processes of this process.
fn children() -> Vec<Pid> {
    let me = getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(Pid::from_raw).filter(|pid| parent(*pid) == Some(me)).collect()
}

fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}
