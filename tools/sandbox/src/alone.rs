//! A process that isolates itself: it works with what it has open, and reaches nothing else.

use std::io;

use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::CapabilitySet;

use crate::orders::{Failure, Grants, Network, ProcessBounds};
use crate::walls::seccomp::{self, Behind};
use crate::walls::{landlock, limits};

/// Permanently gives up access to files, sockets and other processes. The process ends with its parent.
pub fn shut_in(bounds: ProcessBounds) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::thread::set_no_new_privs(true)?;
    let failed = |failure: Failure| io::Error::other(failure.to_string());
    // The limits hold without Landlock, which is available on nearly all machines.
    landlock::restrict(&Grants::default()).ok();
    limits::drop_capabilities(CapabilitySet::empty()).map_err(failed)?;
    limits::of_one_alone(bounds).map_err(failed)?;
    seccomp::filter(Behind::Landlock, Network::Own).map_err(failed)
}
