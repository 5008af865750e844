//! The process that decodes an image: a copy of this program that isolates itself, connected by pipes.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use sandbox::{ProcessBounds, shut_in};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tools::worker_process::worker_process;

use crate::fit::{FittedImage, ImageBounds, ImageError, MAX_BASE64_BYTES, fitted};

/// The first word of the worker's command line.
const WORKER: &str = "--with-an-image";
/// What the process may use: memory in bytes, and processor time in seconds.
const BOUNDS: ProcessBounds = ProcessBounds { memory_bytes: 256 << 20, cpu_seconds: 2 };
/// How long the process may take, on a machine that is busy with other things.
const WALL: Duration = Duration::from_secs(20);

type Fitted = Result<FittedImage, ImageError>;

/// Does the work of the worker if the command line asks for it. Returns `None` otherwise.
pub fn worker(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if args.nth(1)?.to_str()? != WORKER {
        return None;
    }
    Some(if work_here().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn work_here() -> io::Result<()> {
    shut_in(BOUNDS)?;
    let mut given = Vec::new();
    io::stdin().read_to_end(&mut given)?;
    let (bounds, bytes) =
        postcard::take_from_bytes::<ImageBounds>(&given).map_err(io::Error::other)?;
    let answer = postcard::to_allocvec(&fitted(bytes, bounds)).map_err(io::Error::other)?;
    let mut stdout = io::stdout();
    stdout.write_all(&answer)?;
    stdout.flush()
}

/// Decodes an image in a separate process, and shrinks it if it exceeds its bounds. Dropping the future ends the process.
pub async fn fit(bytes: &[u8], bounds: ImageBounds) -> Fitted {
    let attended = tokio::time::timeout(WALL, attend(bytes, bounds)).await;
    attended.unwrap_or(Err(ImageError::TimedOut))
}

async fn attend(bytes: &[u8], bounds: ImageBounds) -> Fitted {
    let bounds = postcard::to_allocvec(&bounds).map_err(|_| ImageError::Died)?;
    let mut child = process().and_then(|mut it| it.spawn()).map_err(|_| ImageError::Died)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else { return Err(ImageError::Died) };
    let give = async move {
        // A worker that died does not read all of it; its exit status says why.
        stdin.write_all(&bounds).await.ok();
        stdin.write_all(bytes).await.ok();
    };
    let take = async move {
        let mut answer = Vec::new();
        stdout.take(MAX_BASE64_BYTES).read_to_end(&mut answer).await.ok();
        answer
    };
    let ((), answer, status) = tokio::join!(give, take, child.wait());
    let ended_by = |status: ExitStatus| status.signal().and_then(Signal::from_named_raw);
    match status {
        Ok(status) if status.success() => {
            postcard::from_bytes(&answer).unwrap_or(Err(ImageError::Died))
        }
        Ok(status) => Err(match ended_by(status) {
            Some(Signal::XCPU | Signal::KILL) => ImageError::TimedOut,
            Some(Signal::ABORT) => ImageError::Memory,
            Some(_) | None => ImageError::Died,
        }),
        Err(_) => Err(ImageError::Died),
    }
}

/// Returns the command that starts the worker. It ends when it is dropped.
fn process() -> io::Result<Command> {
    let mut process = Command::from(worker_process(WORKER)?);
    process.kill_on_drop(true);
    Ok(process)
}
