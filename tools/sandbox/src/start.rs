//! Gets a command ready to be started behind walls.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::helper::OUTER;
use crate::orders::{Orders, Walls, give};
use crate::sandbox::{Confined, Confining, Degree, Ends, Ground, ReportFile, Wanted};

/// This program, also when its file was replaced meanwhile.
const SELF: &str = "/proc/self/exe";

impl Ground {
    /// What a command needs to be started behind walls; none where there are none. Blocks.
    pub(crate) fn confine(
        &self,
        level: &Confining,
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

/// The orders as the helper's standard input, and what it will tell.
fn handed_over(orders: &Orders) -> io::Result<(File, ReportFile)> {
    let mut file = File::from(memfd_create("orders", MemfdFlags::CLOEXEC)?);
    let start = give(&mut file, orders)?;
    Ok((file.try_clone()?, ReportFile::new(file, start)))
}
