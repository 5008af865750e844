//! Prepares a confined command for its start.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;

use crate::helper::OUTER;
use crate::orders::{Walls, give};
use crate::sandbox::{Confined, ConfinementLevel, Degree, Ends, Ground, ReportFile, Wanted};

/// This program, even if its file has been replaced since it started.
pub(crate) const SELF: &str = "/proc/self/exe";

impl Ground {
    /// Prepares a confined command; `None` if commands are not confined. Blocks.
    pub(crate) fn confine(
        &self,
        level: &ConfinementLevel,
        wanted: &Wanted<'_>,
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

/// Returns the orders as the helper's standard input, and the file for its report.
pub(crate) fn handed_over(orders: &impl Serialize) -> io::Result<(File, ReportFile)> {
    let mut file = File::from(memfd_create("orders", MemfdFlags::CLOEXEC)?);
    let start = give(&mut file, orders)?;
    Ok((file.try_clone()?, ReportFile::new(file, start)))
}
