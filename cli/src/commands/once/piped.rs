//! Text piped into a command whose request is an argument: `git diff | deepseek -p "explain this"`.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use front::error::{CliError, CliErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

use crate::render;

/// The most bytes that are read.
const MAX_BYTES: u64 = 400_000;
/// How long to wait for the first byte. A pipe may stay open although nothing is written to it.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Returns a request with what is piped to standard input, if anything is. Only pipes and files count: a terminal and
/// `/dev/null` have nothing to add.
pub(crate) fn with_piped(request: String) -> Result<String, CliError> {
    let unread = |error: io::Error| {
        CliError::new(CliErrorKind::Usage, format!("cannot read standard input: {error}"))
    };
    let stdin = io::stdin();
    let kind = rustix::fs::fstat(&stdin).map(|it| FileType::from_raw_mode(it.st_mode));
    match kind {
        Ok(FileType::RegularFile) => {}
        Ok(FileType::Fifo | FileType::Socket) => {
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            if poll(&mut ready, Some(&PATIENCE)).map_err(|error| unread(error.into()))? == 0 {
                render::warn("nothing arrives on standard input: going on without it");
                return Ok(request);
            }
        }
        _ => return Ok(request),
    }
    let mut piped = Vec::new();
    let input = File::from(stdin.as_fd().try_clone_to_owned().map_err(unread)?);
    input.take(MAX_BYTES + 1).read_to_end(&mut piped).map_err(unread)?;
    if piped.len() as u64 > MAX_BYTES {
        let error = format!("more than {MAX_BYTES} bytes on standard input");
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("write it to a file of the workspace and name the file in the request"));
    }
    let piped = String::from_utf8_lossy(&piped);
    let piped = piped.trim_end();
    Ok(if piped.is_empty() { request } else { format!("{request}\n\n<stdin>\n{piped}\n</stdin>") })
}
