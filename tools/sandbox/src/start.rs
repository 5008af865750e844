//! Prepares a command for its start by the helper.

use std::ffi::OsStr;
use std::io;

use crate::ground::{CommandNeeds, ConfinementLevel, Degree, Ground};
use crate::helper::{OUTER, UNCONFINED, can_help};
use crate::orders::{CommandStreams, UnconfinedOrders, Walls};
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
/// no helper: on other systems, and in programs that do not call [`helper()`](crate::helper()).
pub fn unconfined(streams: CommandStreams) -> io::Result<Option<Confined>> {
    if !can_help() {
        return Ok(None);
    }
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let (stdin, report) = handed_over(&UnconfinedOrders { parent, streams })?;
    let program = [OsStr::new(SELF), OsStr::new(UNCONFINED)];
    let (env, degree, ends) = (Vec::new(), Degree::None, Ends::Told);
    Ok(Some(Confined { program, stdin, env, degree, ends, report }))
}
