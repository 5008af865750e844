//! Finds out how far commands can be confined on this machine by confining one that does nothing. What the kernel
//! claims to support is not always what it lets a program do.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use config::SandboxMode;

use crate::orders::{Failure, Lack, Network, Step};
use crate::sandbox::{ConfinementLevel, Ground, Wanted};
use crate::survey::{Tree, Writes};

/// Tries the levels from the strongest down.
pub(crate) fn level(ground: &Ground) -> ConfinementLevel {
    let deadline = Instant::now() + Duration::from_millis(ground.settings.probe_timeout_ms);
    let full = match ground.settings.mode {
        SandboxMode::Off => return ConfinementLevel::Off,
        SandboxMode::Floor => Err(None),
        SandboxMode::Auto => {
            attempt(ground, &ConfinementLevel::Full(Vec::new()), deadline).map_err(Some)
        }
    };
    let missing = match full {
        Ok(lacks) => return ConfinementLevel::Full(lacks),
        Err(missing) => missing,
    };
    let floor = ConfinementLevel::Floor { missing: missing.clone(), lacks: Vec::new() };
    match attempt(ground, &floor, deadline) {
        Ok(lacks) => ConfinementLevel::Floor { missing, lacks },
        Err(failure) => ConfinementLevel::None(failure),
    }
}

/// Confines a command that does nothing, in an empty tree. Returns what is missing at this level.
fn attempt(
    ground: &Ground,
    level: &ConfinementLevel,
    deadline: Instant,
) -> Result<Vec<Lack>, Failure> {
    let failed = |error: &io::Error| Failure::of(Step::Init, error);
    let dir = ground.scratch().map_err(|error| failed(&error))?;
    let root = dir.path().canonicalize().map_err(|error| failed(&error))?;
    let tree = Tree {
        root: &root,
        writes: Writes::Discarded,
        is_secret: &|_| false,
        has_tracked: &|_: &Path| false,
    };
    let wanted = Wanted { tree: &tree, cwd: &root, read: &[], network: Network::Own };
    let confined = ground.confine(level, &wanted).map_err(|error| failed(&error))?;
    let Some(mut confined) = confined else {
        return Err(Failure { step: Step::Init, on: None, errno: 0 });
    };
    let [program, first] = confined.program;
    #[expect(clippy::disallowed_methods, reason = "it runs no command and has its own deadline")]
    let mut helper = Command::new(program);
    helper.arg(first).stdin(Stdio::from(confined.stdin)).env_clear();
    let child = helper.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| failed(&error))?;
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let ended = pid.map(|pid| wait_until(pid, deadline));
    if !matches!(ended, Some(Ok(true))) {
        child.kill().ok();
        child.wait().map_err(|error| failed(&error))?;
        return Err(Failure { step: Step::Init, on: Some("timed out".into()), errno: 0 });
    }
    child.wait().map_err(|error| failed(&error))?;
    let lacks = confined.report.lacks().map_err(|error| failed(&error))?;
    let outcome = confined.report.read().map_err(|error| failed(&error))?;
    match (outcome.ended, outcome.failed) {
        (Some(_), None) => Ok(lacks),
        (_, Some(failure)) => Err(failure),
        (None, None) => Err(Failure { step: Step::Init, on: None, errno: 0 }),
    }
}

/// Waits until a process ends or the deadline passes. Returns whether it ended.
fn wait_until(pid: rustix::process::Pid, deadline: Instant) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&left))? > 0)
}
