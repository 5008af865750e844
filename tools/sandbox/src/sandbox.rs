//! The sandbox of this process: how far commands can be confined, found out by trial, and what a confined command needs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use config::{Floor, SandboxMode};
use tools::regular;

use crate::ground::{CommandNeeds, ConfinementLevel, Degree, Ground, SandboxPlaces};
use crate::orders::Failure;
#[cfg(target_os = "linux")]
use crate::probe::{level as tried, level_without, tried_on};
use crate::report::ReportFile;
#[cfg(target_os = "linux")]
use crate::scratch::ScratchLayers;
#[cfg(not(target_os = "linux"))]
use crate::unsupported::{level as tried, level_without, tried_on};
#[cfg(not(target_os = "linux"))]
use crate::unsupported_scratch::ScratchLayers;

/// Maximum size of the file that records what the user accepted, in bytes.
const MAX_ACCEPTANCE_BYTES: u64 = 1 << 16;

/// Confines the commands of this process.
#[derive(Debug)]
pub struct Sandbox {
    /// What confinement is based on; `None` if the sandbox is off.
    ground: Option<Box<Ground>>,
    tried: Mutex<Option<ConfinementLevel>>,
}

/// A confined command, ready to be started.
#[derive(Debug)]
pub struct Confined {
    /// The program to start and its first argument; the words of the command follow.
    pub program: [&'static OsStr; 2],
    /// Its standard input.
    pub stdin: File,
    /// Variables to set for it.
    pub env: Vec<(OsString, OsString)>,
    /// How far it is confined.
    pub degree: Degree,
    /// How to end it early.
    pub ends: Ends,
    /// The file in which the helper reports.
    pub report: ReportFile,
}

/// How to end a confined command with everything it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Kill its process group; the kernel ends the rest.
    Killed,
    /// Signal its helper with `SIGUSR1`; the helper ends everything else, then itself.
    Told,
}

impl Sandbox {
    /// Creates a sandbox with these settings.
    pub fn new(settings: config::SandboxSettings, places: SandboxPlaces) -> Self {
        if settings.mode == SandboxMode::Off {
            return Self::off();
        }
        let ground = Ground { settings, places, programs: OnceLock::new(), git: OnceLock::new() };
        Self { ground: Some(Box::new(ground)), tried: Mutex::default() }
    }

    /// Creates a sandbox that does not confine commands.
    pub fn off() -> Self {
        Self { ground: None, tried: Mutex::default() }
    }

    /// Prepares a confined command; `None` if commands are not confined. Blocks.
    #[cfg(target_os = "linux")]
    pub fn confine(&self, wanted: &CommandNeeds<'_>) -> io::Result<Option<Confined>> {
        match &self.ground {
            Some(ground) => ground.confine(&self.level(), wanted),
            None => Ok(None),
        }
    }

    /// Mounts layers for several commands; `None` if commands are not fully confined. Blocks.
    #[cfg(target_os = "linux")]
    pub fn scratch_layers(
        &self,
        wanted: &CommandNeeds<'_>,
    ) -> Result<Option<ScratchLayers>, Failure> {
        match (&self.ground, self.level().degree()) {
            (Some(ground), Degree::Full) => ground.scratch_layers(wanted).map(Some),
            (Some(_) | None, Degree::Full | Degree::Floor | Degree::None) => Ok(None),
        }
    }

    /// Returns how far commands are confined. The first call tries it, which blocks for up to `probe_timeout_ms`, unless
    /// an earlier process found that full confinement works.
    pub fn level(&self) -> ConfinementLevel {
        let mut known = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = || self.ground.as_deref().map_or(ConfinementLevel::Off, tried);
        known.get_or_insert_with(tried).clone()
    }

    /// Learns that full confinement failed for a command. Returns the level that remains. Blocks.
    pub fn fall(&self, failure: Failure) -> ConfinementLevel {
        let mut known = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let level = match (&self.ground, known.take()) {
            (Some(ground), Some(ConfinementLevel::Full(_))) => level_without(ground, failure),
            (Some(_) | None, Some(level)) => level,
            (_, None) => ConfinementLevel::Off,
        };
        known.insert(level).clone()
    }

    /// Tries full confinement on a tree, as a command in it would have it. Blocks.
    pub fn try_on(&self, wanted: &CommandNeeds<'_>) -> Result<(), Failure> {
        match (&self.ground, self.level()) {
            (Some(ground), level @ ConfinementLevel::Full(_)) => tried_on(ground, &level, wanted),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Finds out what commands in a tree need, so that the first one need not wait for it. Blocks.
    #[cfg(target_os = "linux")]
    pub fn prepare(&self, wanted: &CommandNeeds<'_>) {
        let is_confined = self.level().degree() != Degree::None;
        if let Some(ground) = self.ground.as_ref().filter(|_| is_confined) {
            ground.outside(wanted);
        }
    }

    /// Returns the first of these paths that exists but is hidden from commands in a tree. Blocks.
    #[cfg(target_os = "linux")]
    pub fn first_hidden(&self, wanted: &CommandNeeds<'_>, paths: &[PathBuf]) -> Option<PathBuf> {
        let is_confined = self.level().degree() != Degree::None;
        self.ground.as_ref().filter(|_| is_confined)?.first_hidden(wanted, paths)
    }

    /// Returns the directory that is kept under a name as the home directory of commands; `None` if they are not confined. The
    /// first call may block as [`Self::level`] does.
    pub fn kept_home(&self, name: &str) -> Option<PathBuf> {
        let is_confined = self.level().degree() != Degree::None;
        Some(self.ground.as_ref().filter(|_| is_confined)?.kept_home(name))
    }

    /// Returns whether the user accepted this level of confinement in this workspace.
    pub fn is_accepted(&self, level: &ConfinementLevel) -> bool {
        let Some(ground) = &self.ground else { return false };
        let noted = || {
            let text = regular::read_text(&ground.acceptance(), MAX_ACCEPTANCE_BYTES).ok()?;
            serde_json::from_str::<ConfinementLevel>(&text).ok()
        };
        ground.settings.floor == Floor::Accept || noted().as_ref() == Some(level)
    }

    /// Records that the user accepted this level.
    pub fn accept(&self, level: &ConfinementLevel) -> io::Result<()> {
        let Some(ground) = &self.ground else { return Ok(()) };
        let path = ground.acceptance();
        if let Some(dir) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        regular::write_regular_file(&path, &serde_json::to_vec(level)?)
    }

    /// Returns how far commands are confined, if that is known already.
    pub fn known_level(&self) -> Option<ConfinementLevel> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
