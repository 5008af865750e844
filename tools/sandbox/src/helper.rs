//! The helper: this program started once more. It confines itself and runs a command in this confinement, runs one without,
//! or holds the layers of several commands. No other code of the program runs before it, and in particular no thread.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signalfd::SignalFd;
use rustix::process::{
    DumpableBehavior, Signal, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, setsid,
};
use rustix::thread::CapabilitySet;

use crate::attend;
use crate::changed::notice;
use crate::orders::{
    ConfinementStep, Failure, Grants, HoldOrders, Lack, Network, Notice, Orders, UnconfinedOrders,
    Walls, take_orders, tell_notice,
};
use crate::walls::seccomp::Behind;
use crate::walls::{landlock, limits, namespaces, seccomp, view};

/// The first word of the helper's command line.
pub(crate) const OUTER: &str = "--behind-walls";
/// The first word of the command line of the inner process, started by the helper.
const INNER: &str = "--within-walls";
/// The first word of the command line of a helper that does not confine the command.
pub(crate) const UNCONFINED: &str = "--without-walls";
/// The first word of the command line of a process that holds layers for several commands.
pub(crate) const HOLDER: &str = "--holding-layers";

/// True if this program calls [`helper`]. Others, such as most tests, cannot be started as one.
static CAN_HELP: AtomicBool = AtomicBool::new(false);

/// Returns whether this program, started once more, is the helper.
pub(crate) fn can_help() -> bool {
    CAN_HELP.load(Ordering::Relaxed)
}

/// Does the work of the helper if the command line asks for it; the words of the command follow. Returns `None` otherwise.
pub fn helper(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    CAN_HELP.store(true, Ordering::Relaxed);
    let work = match args.nth(1)?.to_str()? {
        OUTER => outer,
        INNER => within,
        UNCONFINED => attendant,
        HOLDER => holder,
        _ => return None,
    };
    let words: Vec<OsString> = args.collect();
    let Ok(mut report) = orders_file() else { return Some(ExitCode::FAILURE) };
    if let Err(failure) = work(&words, &mut report)
        && tell_notice(&mut report, &Notice::Failed(failure)).is_err()
    {
        return Some(ExitCode::FAILURE);
    }
    Some(ExitCode::SUCCESS)
}

/// Returns the orders, in a descriptor that the command does not inherit.
fn orders_file() -> io::Result<File> {
    Ok(File::from(rustix::stdio::stdin().try_clone_to_owned()?))
}

/// The outer process: sets up the confinement that the inner process needs, and ends what is left running in it.
fn outer(words: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders: Orders =
        take_orders(report).map_err(|error| Failure::of(ConfinementStep::Orders, &error))?;
    setsid().map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    let signals = attend::hold_back()?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    limits::of_files(orders.limits)?;
    match &orders.walls {
        Walls::Full(seen) => {
            let holder = seen.held.as_ref().map(|held| held.holder);
            namespaces::enter_namespaces(orders.network, holder)?;
            if !end_with_parent(Signal::KILL, orders.parent)? {
                return Ok(());
            }
            limits::of_processes(orders.limits)?;
            let layers = view::enter_view(seen)?;
            limits::keep_for_init()?;
            let inner = inner(words, report)?;
            let waited = attend::wait_for(&inner, &signals);
            let told = waited.and_then(|_| tell_notice(report, &notice(&layers)));
            told.map_err(|error| Failure::of(ConfinementStep::Init, &error))
        }
        Walls::Floor(grants) => {
            let start = |report: &mut File| start_on_floor(words, grants, &orders, report);
            attend_to_all(start, orders.parent, &signals, report)
        }
    }
}

/// The process that runs a command without confining it, and ends what is left running of it.
fn attendant(words: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders: UnconfinedOrders =
        take_orders(report).map_err(|error| Failure::of(ConfinementStep::Orders, &error))?;
    setsid().map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    let signals = attend::hold_back()?;
    if let Some(shown) = &orders.shown {
        namespaces::enter_to_hold()?;
        view::show_elsewhere(shown)?;
    }
    let start = |report: &mut File| {
        attend::start_command(words, orders.streams, report)
            .map_err(|error| Failure::of(ConfinementStep::Init, &error))
    };
    attend_to_all(start, orders.parent, &signals, report)
}

/// Starts a command and waits for its end, or for that of the parent. Then ends everything that the command started.
fn attend_to_all(
    start: impl FnOnce(&mut File) -> Result<Option<Child>, Failure>,
    parent: i32,
    signals: &SignalFd,
    report: &mut File,
) -> Result<(), Failure> {
    if !end_with_parent(attend::END_ALL, parent)? {
        return Ok(());
    }
    set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    let started = start(report)?;
    let followed = attend::follow(started, signals, report);
    attend::end_the_rest();
    followed.map_err(|error| Failure::of(ConfinementStep::Init, &error))
}

/// The process that holds layers: mounts them, says so, and stays until its owner goes away. It runs nothing.
fn holder(_: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders: HoldOrders =
        take_orders(report).map_err(|error| Failure::of(ConfinementStep::Orders, &error))?;
    setsid().map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    namespaces::enter_to_hold()?;
    let layers = view::hold(&orders)?;
    tell_notice(report, &Notice::Holds(layers))
        .map_err(|error| Failure::of(ConfinementStep::Orders, &error))?;
    let owner = rustix::stdio::stdout();
    let told = rustix::io::write(owner, b".");
    // Returns when the other end is closed.
    told.and_then(|_| rustix::io::read(owner, &mut [0_u8; 1]))
        .map(drop)
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))
}

/// Starts the command from a temporary thread that gives up its rights. The confinement applies to what this thread
/// starts; this process stays outside, where no confined process can signal it.
fn start_on_floor(
    words: &[OsString],
    grants: &Grants,
    orders: &Orders,
    report: &mut File,
) -> Result<Option<Child>, Failure> {
    let start = || {
        limits::drop_capabilities(limits::OF_FILES)?;
        shut(grants, Behind::Landlock, orders.network, report)?;
        attend::start_command(words, orders.streams, report)
            .map_err(|error| Failure::of(ConfinementStep::Init, &error))
    };
    let ended = || io::Error::other("the thread ended");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, start);
        let thread = thread.map_err(|error| Failure::of(ConfinementStep::Init, &error))?;
        thread.join().map_err(|_| Failure::of(ConfinementStep::Init, &ended()))?
    })
}

/// Starts the inner process, which reads the same orders.
fn inner(words: &[OsString], report: &mut File) -> Result<Child, Failure> {
    let mut started = || {
        let stdin = report.try_clone()?;
        report.rewind()?;
        #[expect(clippy::disallowed_methods, reason = "runs on behalf of the crate shell")]
        let mut inner = Command::new("/proc/self/exe");
        inner.arg(INNER).args(words).stdin(stdin).spawn()
    };
    started().map_err(|error| Failure::of(ConfinementStep::Init, &error))
}

/// The inner process: gives up its remaining rights and runs the command. It is the first of its pid namespace, so all
/// processes in it end with it.
fn within(words: &[OsString], report: &mut File) -> Result<(), Failure> {
    let orders: Orders =
        take_orders(report).map_err(|error| Failure::of(ConfinementStep::Orders, &error))?;
    let Walls::Full(seen) = &orders.walls else {
        return Err(Failure { step: ConfinementStep::Orders, on: None, errno: 0 });
    };
    let signals = attend::hold_back()?;
    if view::own_proc().is_err() {
        lacks(Lack::OwnProc, report)?;
    }
    limits::drop_capabilities(CapabilitySet::empty())?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    shut(&view::grants(seen), Behind::Namespaces, orders.network, report)?;
    attend::start_command(words, orders.streams, report)
        .and_then(|started| attend::follow(started, &signals, report))
        .map_err(|error| Failure::of(ConfinementStep::Init, &error))
}

/// Applies the final restrictions. From here on, a confined process cannot undo anything.
fn shut(
    grants: &Grants,
    behind: Behind,
    network: Network,
    report: &mut File,
) -> Result<(), Failure> {
    // Otherwise the command, which runs as the same user, could write to the report.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    if let Some(lack) = landlock::restrict(grants)? {
        lacks(lack, report)?;
    }
    seccomp::filter(behind, network)
}

fn lacks(lack: Lack, report: &mut File) -> Result<(), Failure> {
    tell_notice(report, &Notice::Lacks(lack))
        .map_err(|error| Failure::of(ConfinementStep::Orders, &error))
}

/// Makes the kernel send this process a signal when its parent ends. Returns whether the parent is still alive.
/// Changing the rights of the process cancels this.
fn end_with_parent(signal: Signal, owner: i32) -> Result<bool, Failure> {
    set_parent_process_death_signal(Some(signal))
        .map_err(|error| Failure::of(ConfinementStep::Session, &error.into()))?;
    Ok(getppid().map(|parent| parent.as_raw_nonzero().get()) == Some(owner))
}
