//! Finds out how far commands can be confined on this machine by confining one that does nothing. What the kernel
//! claims to support is not always what it lets a program do, and what works for an empty tree does not always work for
//! the user's.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use config::SandboxMode;

use crate::ground::{CommandNeeds, ConfinementLevel, Ground};
use crate::orders::{CommandStreams, ConfinementStep, Failure, Lack, Network};
use crate::remembered::RememberedLevel;
use crate::secrets_and_caches::{Tree, TreeWrites};

/// Returns the strongest level that works: as remembered, or as tried.
pub(crate) fn level(ground: &Ground) -> ConfinementLevel {
    match ground.settings.mode {
        SandboxMode::Off => ConfinementLevel::Off,
        SandboxMode::Floor => floor(ground, None),
        SandboxMode::Auto => {
            let note = RememberedLevel::in_dir(&ground.places.private);
            if let Some(lacks) = note.read() {
                return ConfinementLevel::Full(lacks);
            }
            match attempt(ground, &ConfinementLevel::Full(Vec::new())) {
                Ok(lacks) => {
                    note.write(&lacks);
                    ConfinementLevel::Full(lacks)
                }
                Err(missing) => floor(ground, Some(missing)),
            }
        }
    }
}

/// Returns the strongest level below full confinement, which failed for a command.
pub(crate) fn level_without(ground: &Ground, failure: Failure) -> ConfinementLevel {
    RememberedLevel::in_dir(&ground.places.private).forget();
    floor(ground, Some(failure))
}

fn floor(ground: &Ground, missing: Option<Failure>) -> ConfinementLevel {
    let floor = ConfinementLevel::Floor { missing: missing.clone(), lacks: Vec::new() };
    match attempt(ground, &floor) {
        Ok(lacks) => ConfinementLevel::Floor { missing, lacks },
        Err(failure) => ConfinementLevel::None(failure),
    }
}

/// Confines a command that does nothing, in an empty tree. Returns what is missing at this level.
fn attempt(ground: &Ground, level: &ConfinementLevel) -> Result<Vec<Lack>, Failure> {
    let failed = |error: &io::Error| Failure::of(ConfinementStep::Init, error);
    let dir = ground.scratch().map_err(|error| {
        let place = ground.places.private.display().to_string();
        Failure { on: Some(place), ..failed(&error) }
    })?;
    let root = dir.path().canonicalize().map_err(|error| failed(&error))?;
    let tree = Tree {
        root: &root,
        at: &root,
        writes: TreeWrites::Discarded,
        is_secret: &|_| false,
        is_unseen: &|_: &Path| false,
        git_dirs: &|_: &Path| Vec::new(),
    };
    let (nothing, network, layers) = (&[][..], Network::Own, None);
    let streams = CommandStreams::OfHelper;
    let (tree, cwd, read, write, home) = (&tree, &*root, nothing, nothing, None);
    let wanted = CommandNeeds { tree, cwd, streams, read, write, home, network, layers };
    nothing_confined(ground, level, &wanted)
}

/// Confines a command that does nothing.
pub(crate) fn tried_on(
    ground: &Ground,
    level: &ConfinementLevel,
    wanted: &CommandNeeds<'_>,
) -> Result<(), Failure> {
    nothing_confined(ground, level, wanted).map(drop)
}

fn nothing_confined(
    ground: &Ground,
    level: &ConfinementLevel,
    wanted: &CommandNeeds<'_>,
) -> Result<Vec<Lack>, Failure> {
    let failed = |error: &io::Error| Failure::of(ConfinementStep::Init, error);
    // Asking git has a limit of its own: a repository may hold it up.
    ground.git_settings();
    let deadline = Instant::now() + Duration::from_millis(ground.settings.probe_timeout_ms);
    let confined = ground.confine(level, wanted).map_err(|error| failed(&error))?;
    let Some(mut confined) = confined else {
        return Err(Failure { step: ConfinementStep::Init, on: None, errno: 0 });
    };
    let [program, first] = confined.program;
    #[expect(clippy::disallowed_methods, reason = "it runs no command and has its own deadline")]
    let mut helper = Command::new(program);
    helper.arg(first).stdin(Stdio::from(confined.stdin)).env_clear();
    let child = helper.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| failed(&error))?;
    if !ended_by(&child, deadline) {
        child.kill().ok();
        child.wait().map_err(|error| failed(&error))?;
        return Err(Failure {
            step: ConfinementStep::Init,
            on: Some("timed out".into()),
            errno: 0,
        });
    }
    child.wait().map_err(|error| failed(&error))?;
    let lacks = confined.report.lacks().map_err(|error| failed(&error))?;
    let outcome = confined.report.read().map_err(|error| failed(&error))?;
    match (outcome.ended, outcome.failed) {
        (Some(_), None) => Ok(lacks),
        (_, Some(failure)) => Err(failure),
        (None, None) => Err(Failure { step: ConfinementStep::Init, on: None, errno: 0 }),
    }
}

/// Waits until a child ends. Returns false if it takes longer.
pub(crate) fn ends_within(child: &Child, patience: Duration) -> bool {
    ended_by(child, Instant::now() + patience)
}

fn ended_by(child: &Child, deadline: Instant) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // What has ended after its deadline has not ended in time, however late it is looked at.
    pid.is_some_and(|pid| Instant::now() < deadline && wait_until(pid, deadline).unwrap_or(false))
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
