//! Systems other than Linux: commands are not confined, and this is reported.

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::ground::{CommandNeeds, ConfinementLevel, Ground};
use crate::orders::{CommandStreams, ConfinementStep, Failure, ProcessBounds, ShownElsewhere};
use crate::sandbox::{Confined, Sandbox};
use crate::unsupported_scratch::ScratchLayers;

/// Returns `None`: there is no helper.
pub fn helper(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Returns `None`: there is no helper.
pub fn unconfined(_: CommandStreams, _: Option<ShownElsewhere>) -> io::Result<Option<Confined>> {
    Ok(None)
}

/// Fails: there is no helper.
pub fn pass_streams(_: BorrowedFd<'_>, _: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing.
pub fn shut_in(_: ProcessBounds) -> io::Result<()> {
    Ok(())
}

impl Sandbox {
    /// Returns `None`: commands are not confined.
    pub fn confine(&self, _: &CommandNeeds<'_>) -> io::Result<Option<Confined>> {
        Ok(None)
    }

    /// Does nothing.
    pub fn prepare(&self, _: &CommandNeeds<'_>) {}

    /// Returns `None`: nothing is hidden.
    pub fn first_hidden(&self, _: &CommandNeeds<'_>, _: &[PathBuf]) -> Option<PathBuf> {
        None
    }

    /// Returns `None`: commands are not confined.
    pub fn scratch_layers(&self, _: &CommandNeeds<'_>) -> Result<Option<ScratchLayers>, Failure> {
        Ok(None)
    }
}

/// Returns the only possible level, `None`.
pub(crate) fn level_without(ground: &Ground, _: Failure) -> ConfinementLevel {
    level(ground)
}

/// Succeeds: there is nothing to try.
pub(crate) fn tried_on(
    _: &Ground,
    _: &ConfinementLevel,
    _: &CommandNeeds<'_>,
) -> Result<(), Failure> {
    Ok(())
}

/// Returns the only possible level, `None`.
pub(crate) fn level(_: &Ground) -> ConfinementLevel {
    let on = Some("this version confines commands on Linux only".to_owned());
    ConfinementLevel::None(Failure { step: ConfinementStep::Landlock, on, errno: 0 })
}
