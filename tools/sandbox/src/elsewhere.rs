//! Where there is no Linux: nothing is confined, and that is said.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::orders::{Failure, ProcessBounds, Step};
use crate::sandbox::{Confined, Confining, Ground, Sandbox, Wanted};

/// No command line is a helper's.
pub fn helper(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Leaves the process as it is.
pub fn shut_in(_: ProcessBounds) -> io::Result<()> {
    Ok(())
}

impl Sandbox {
    /// Nothing: there are no walls.
    pub fn confine(&self, _: &Wanted<'_>) -> io::Result<Option<Confined>> {
        Ok(None)
    }
}

/// Only one is possible.
pub(crate) fn level(_: &Ground) -> Confining {
    let on = Some("this version confines commands on Linux only".to_owned());
    Confining::None(Failure { step: Step::Landlock, on, errno: 0 })
}
