//! Prepares a confined command for its start.

use std::ffi::OsStr;
use std::io;

use crate::ground::{CommandNeeds, ConfinementLevel, Degree, Ground};
use crate::helper::OUTER;
use crate::orders::Walls;
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
