//! The helper: this program once more, which puts walls up around itself and runs a command behind them. Nothing of the program
//! runs before it, no thread above all.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _};
use std::process::{Child, Command, ExitCode};

use rustix::process::{
    DumpableBehavior, Signal, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, setsid,
};
use rustix::thread::CapabilitySet;

use crate::attend;
use crate::orders::{Failure, Grants, Lack, Network, Notice, Orders, Step, Walls, take, tell};
use crate::walls::seccomp::Behind;
use crate::walls::{landlock, limits, namespaces, seccomp, view};

/// The first word of a command line that is the helper's.
pub(crate) const OUTER: &str = "--behind-walls";
/// That of the process that the helper starts in turn.
const INNER: &str = "--within-walls";

/// Does the work of the helper, if the command line says so: the words of the command follow. None otherwise.
pub fn helper(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let is_inner = match args.nth(1)?.to_str()? {
        OUTER => false,
        INNER => true,
        _ => return None,
    };
    let words: Vec<OsString> = args.collect();
    let Ok(mut report) = orders_file() else { return Some(ExitCode::FAILURE) };
    let done = if is_inner { within(&words, &mut report) } else { outer(&words, &mut report) };
    if let Err(failure) = done
        && tell(&mut report, &Notice::Failed(failure)).is_err()
    {
        return Some(ExitCode::FAILURE);
    }
    Some(ExitCode::SUCCESS)
}

fn orders_file() -> io::Result<File> {
    Ok(File::from(rustix::io::dup(rustix::stdio::stdin())?))
}

/// The outer process: it puts up the walls that others then stand on, and ends what is left behind them.
fn outer(words: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders = take(report).map_err(|error| Failure::of(Step::Orders, &error))?;
    setsid().map_err(|error| Failure::of(Step::Session, &error.into()))?;
    let signals = attend::hold_back()?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| Failure::of(Step::Session, &error.into()))?;
    limits::of_files(orders.limits)?;
    match &orders.walls {
        Walls::Full(seen) => {
            namespaces::enter(orders.network)?;
            if !end_with_parent(Signal::KILL, &orders)? {
                return Ok(());
            }
            limits::of_processes(orders.limits)?;
            let layer = view::enter(seen)?;
            limits::keep_for_init()?;
            let inner = inner(words, report)?;
            let waited = attend::wait_for(&inner, &signals);
            let told = waited.and_then(|_| layer.map_or(Ok(()), |it| tell(report, &it.told())));
            told.map_err(|error| Failure::of(Step::Init, &error))
        }
        Walls::Floor(grants) => {
            if !end_with_parent(attend::END_ALL, &orders)? {
                return Ok(());
            }
            set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|error| Failure::of(Step::Session, &error.into()))?;
            let started = on_the_floor(words, grants, orders.network, report)?;
            let followed = attend::follow(started, &signals, report);
            attend::end_the_rest();
            followed.map_err(|error| Failure::of(Step::Init, &error))
        }
    }
}

/// Starts the command from a thread that gives up its rights and is gone then: the walls are around what a thread starts, and
/// this process, outside of them, can be signalled by nothing that is behind them.
fn on_the_floor(
    words: &[OsString],
    grants: &Grants,
    network: Network,
    report: &mut File,
) -> Result<Option<Child>, Failure> {
    let start = || {
        limits::drop_capabilities(limits::OF_FILES)?;
        shut(grants, Behind::Landlock, network, report)?;
        attend::start(words, report).map_err(|error| Failure::of(Step::Init, &error))
    };
    let ended = || io::Error::other("the thread ended");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, start);
        let thread = thread.map_err(|error| Failure::of(Step::Init, &error))?;
        thread.join().map_err(|_| Failure::of(Step::Init, &ended()))?
    })
}

/// Starts the inner process, which reads the same orders.
fn inner(words: &[OsString], report: &mut File) -> Result<Child, Failure> {
    let mut started = || {
        let stdin = report.try_clone()?;
        report.rewind()?;
        #[expect(clippy::disallowed_methods, reason = "it runs what the crate shell has started")]
        let mut inner = Command::new("/proc/self/exe");
        inner.arg(INNER).args(words).stdin(stdin).spawn()
    };
    started().map_err(|error| Failure::of(Step::Init, &error))
}

/// The inner process, the first of its pid namespace, with which all in it end: it gives up what it may, and runs the command.
fn within(words: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders = take(report).map_err(|error| Failure::of(Step::Orders, &error))?;
    let Walls::Full(seen) = &orders.walls else {
        return Err(Failure { step: Step::Orders, on: None, errno: 0 });
    };
    let signals = attend::hold_back()?;
    if view::own_proc().is_err() {
        lacks(Lack::OwnProc, report)?;
    }
    limits::drop_capabilities(CapabilitySet::empty())?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::of(Step::Session, &error.into()))?;
    shut(&view::grants(seen), Behind::Namespaces, orders.network, report)?;
    attend::start(words, report)
        .and_then(|started| attend::follow(started, &signals, report))
        .map_err(|error| Failure::of(Step::Init, &error))
}

/// The last walls: from here on nothing can be taken back, by whoever is behind them.
fn shut(
    grants: &Grants,
    behind: Behind,
    network: Network,
    report: &mut File,
) -> Result<(), Failure> {
    // What is reported must not be written by the command, which is of the same user.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Failure::of(Step::Session, &error.into()))?;
    if let Some(lack) = landlock::restrict(grants)? {
        lacks(lack, report)?;
    }
    seccomp::filter(behind, network)
}

fn lacks(lack: Lack, report: &mut File) -> Result<(), Failure> {
    tell(report, &Notice::Lacks(lack)).map_err(|error| Failure::of(Step::Orders, &error))
}

/// Has the kernel send this process a signal when its parent ends. Whether the parent is still there. What changes the rights
/// of a process takes this back.
fn end_with_parent(signal: Signal, orders: &Orders) -> Result<bool, Failure> {
    set_parent_process_death_signal(Some(signal))
        .map_err(|error| Failure::of(Step::Session, &error.into()))?;
    Ok(getppid().map(|parent| parent.as_raw_nonzero().get()) == Some(orders.parent))
}
