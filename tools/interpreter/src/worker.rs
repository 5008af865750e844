//! The process that runs a program: a copy of this program that isolates itself before it reads any input, connected by
//! pipes.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;
use sandbox::{ProcessBounds, shut_in};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tools::worker_process::worker_process;

use crate::task::{ProgramEnding, ProgramOutcome, ProgramStep, Task};
use crate::work::work;

/// The first word of the worker's command line.
const WORKER: &str = "--within-a-program";
/// Maximum size of a worker's input and output, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// How much longer than its computing time a worker may take.
const GRACE: Duration = Duration::from_secs(5);

/// Does the work of the worker if the command line asks for it. Returns `None` otherwise.
pub fn worker(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if args.nth(1)?.to_str()? != WORKER {
        return None;
    }
    Some(if work_here().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn work_here() -> io::Result<()> {
    let mut given = Vec::new();
    io::stdin().take(MAX_BYTES).read_to_end(&mut given)?;
    let task: Task = postcard::from_bytes(&given).map_err(io::Error::other)?;
    let bounds = ProcessBounds {
        memory_bytes: task.limits.memory_bytes,
        cpu_seconds: task.limits.seconds + 1,
    };
    shut_in(bounds)?;
    let step = postcard::to_allocvec(&work(task)).map_err(io::Error::other)?;
    let mut stdout = io::stdout();
    stdout.write_all(&step)?;
    stdout.flush()
}

/// Runs one step of a program in a separate process. Dropping the future ends the process.
pub async fn step(task: &Task) -> ProgramStep {
    let wall = Duration::from_secs(task.limits.seconds) + GRACE;
    let attended = tokio::time::timeout(wall, attend(task)).await;
    let end = match attended {
        Ok(Ok(step)) => return step,
        Ok(Err(end)) => end,
        Err(_) => ProgramEnding::TimedOut,
    };
    ProgramStep::Ended(ProgramOutcome::of(end))
}

async fn attend(task: &Task) -> Result<ProgramStep, ProgramEnding> {
    let given = postcard::to_allocvec(task).map_err(|_| ProgramEnding::NotStarted)?;
    let mut child =
        process().and_then(|mut it| it.spawn()).map_err(|_| ProgramEnding::NotStarted)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(ProgramEnding::NotStarted);
    };
    let give = async move {
        // A worker that died does not read all of it; its exit status says why.
        stdin.write_all(&given).await.ok();
    };
    let take = async move {
        let mut answer = Vec::new();
        stdout.take(MAX_BYTES).read_to_end(&mut answer).await.ok();
        answer
    };
    let ((), answer, status) = tokio::join!(give, take, child.wait());
    match status {
        Ok(status) if status.success() => {
            postcard::from_bytes(&answer).map_err(|_| ProgramEnding::Died)
        }
        Ok(status) if OUT_OF_TIME.map(Signal::as_raw).contains(&status.signal().unwrap_or(0)) => {
            Err(ProgramEnding::TimedOut)
        }
        Ok(_) | Err(_) => Err(ProgramEnding::Died),
    }
}

/// The signals with which the system ends a process that exceeded its processor time.
const OUT_OF_TIME: [Signal; 2] = [Signal::XCPU, Signal::KILL];

/// Returns the command that starts the worker. It ends when it is dropped.
fn process() -> io::Result<Command> {
    let mut process = Command::from(worker_process(WORKER)?);
    process.kill_on_drop(true);
    Ok(process)
}
