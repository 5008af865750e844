//! Prepares a command for its start by the helper.

use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::ground::{CommandNeeds, ConfinementLevel, Degree, Ground};
use crate::helper::{OUTER, UNCONFINED, can_help};
use crate::orders::{CommandStreams, ShownElsewhere, UnconfinedOrders, Walls};
use crate::report::{SELF, handed_over};
use crate::sandbox::{Confined, Ends};

impl Ground {
    /// Prepares a confined command; `None` if commands are not confined. Blocks.
    pub(crate) fn confine(
        &self,
        level: &ConfinementLevel,
        wanted: &CommandNeeds<'_>,
    ) -> io::Result<Option<Confined>> {
        let Some(plan) = self.plan(level, wanted)? else { return Ok(None) };
        let (stdin, report) = handed_over(&plan.orders)?;
        let report = report.with(plan.made, plan.scratch);
        let program = [OsStr::new(SELF), OsStr::new(OUTER)];
        let (degree, ends) = match plan.orders.walls {
            Walls::Full(_) => (Degree::Full, Ends::Killed),
            Walls::Floor(_) => (Degree::Floor, Ends::Told),
        };
        Ok(Some(Confined { program, stdin, env: plan.env, degree, ends, report }))
    }
}

/// Prepares a command that is not confined, but ends with this process, as does everything it starts; `None` if there is
/// no helper: on other systems, and in programs that do not call [`helper()`](crate::helper()). It sees the directories of `shown` at other
/// paths.
pub fn unconfined(
    streams: CommandStreams,
    shown: Option<ShownElsewhere>,
) -> io::Result<Option<Confined>> {
    if !can_help() {
        return Ok(None);
    }
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let (stdin, report) = handed_over(&UnconfinedOrders { parent, streams, shown })?;
    let program = [OsStr::new(SELF), OsStr::new(UNCONFINED)];
    let (env, degree, ends) = (Vec::new(), Degree::None, Ends::Told);
    Ok(Some(Confined { program, stdin, env, degree, ends, report }))
}

/// Returns what has to be the standard output of the helper, so that the command gets this input and output. It needs
/// [`CommandStreams::Passed`].
pub fn pass_streams(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let (here, there) = UnixStream::pair()?;
    let passed = [input, output];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    if !rights.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // They arrive although this end is closed by then.
    sendmsg(here, &[IoSlice::new(b".")], &mut rights, SendFlags::empty())?;
    Ok(there.into())
}
