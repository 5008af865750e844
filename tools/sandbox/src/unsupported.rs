//! Systems other than Linux: commands are not confined, and this is reported.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::orders::{Failure, ProcessBounds, Step};
use crate::sandbox::{Confined, ConfinementLevel, Ground, Sandbox, Wanted};

/// Returns `None`: there is no helper.
pub fn helper(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Does nothing.
pub fn shut_in(_: ProcessBounds) -> io::Result<()> {
    Ok(())
}

impl Sandbox {
    /// Returns `None`: commands are not confined.
    pub fn confine(&self, _: &Wanted<'_>) -> io::Result<Option<Confined>> {
        Ok(None)
    }
}

/// Returns the only possible level, `None`.
pub(crate) fn level(_: &Ground) -> ConfinementLevel {
    let on = Some("this version confines commands on Linux only".to_owned());
    ConfinementLevel::None(Failure { step: Step::Landlock, on, errno: 0 })
}
