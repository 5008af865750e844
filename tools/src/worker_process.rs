//! This program, started again as a worker that isolates itself.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the command that starts this program again with `word` as its first argument, even if its file has been replaced.
/// It has no environment, and is connected by pipes.
#[expect(
    clippy::disallowed_methods,
    reason = "it is no command of a project, and whoever starts it waits in time"
)]
pub fn worker_process(word: &str) -> io::Result<Command> {
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe()?
    };
    let mut process = Command::new(program);
    process.arg(word).env_clear().current_dir("/").process_group(0);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(process)
}
