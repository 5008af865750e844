//! The sandbox of this process: how far commands can be confined here, found out by trying, and what a command needs to run so.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use config::{Floor, SandboxMode};
use serde::{Deserialize, Serialize};
use tools::regular;

#[cfg(not(target_os = "linux"))]
use crate::elsewhere::level as tried;
use crate::orders::{Ended, Failure, Lack, Network};
#[cfg(target_os = "linux")]
use crate::probe::level as tried;
use crate::survey::Tree;

/// Bytes of a note on what the user accepted.
const MAX_ACCEPTANCE_BYTES: u64 = 1 << 16;

/// How far commands are confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confining {
    /// Wholly, but for what is named.
    Full(Vec<Lack>),
    /// With Landlock and seccomp alone.
    Floor {
        /// Why not wholly; none where the configuration says so.
        missing: Option<Failure>,
        /// What else is not there.
        lacks: Vec<Lack>,
    },
    /// Not at all: why not even in part.
    None(Failure),
    /// Not at all, because the user said so.
    Off,
}

impl Confining {
    /// It in one word.
    pub const fn degree(&self) -> Degree {
        match self {
            Self::Full(_) => Degree::Full,
            Self::Floor { .. } => Degree::Floor,
            Self::None(_) | Self::Off => Degree::None,
        }
    }
}

impl fmt::Display for Confining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lacks: &[Lack] = match self {
            Self::Full(lacks) => {
                f.write_str("commands are confined")?;
                lacks
            }
            Self::Floor { missing, lacks } => {
                f.write_str("commands are confined in part, by Landlock and seccomp alone")?;
                if let Some(missing) = missing {
                    write!(f, " (missing: {missing})")?;
                }
                f.write_str(": they cannot use sockets, not even their own")?;
                lacks
            }
            Self::None(why) => return write!(f, "commands are not confined (missing: {why})"),
            Self::Off => return f.write_str("commands are not confined: the sandbox is off"),
        };
        for lack in lacks {
            f.write_str(match lack {
                Lack::OwnProc => "; they see a list of all processes",
                Lack::Signals => "; they can send signals to your other processes",
            })?;
        }
        Ok(())
    }
}

/// How far a command was confined, in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degree {
    /// Wholly.
    Full,
    /// In part.
    Floor,
    /// Not at all.
    #[default]
    None,
}

/// Where things are that a sandbox is made of.
#[derive(Debug, Clone, Default)]
pub struct SandboxPlaces {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// A directory of the state that is the workspace's alone: caches of commands are kept there.
    pub private: PathBuf,
    /// Values of variables of the environment that the program was started in.
    pub vars: std::collections::BTreeMap<String, String>,
}

/// How commands are confined by this process.
#[derive(Debug)]
pub struct Sandbox {
    /// What walls are made of; none where there are none.
    ground: Option<Box<Ground>>,
    tried: OnceLock<Confining>,
}

/// Settings and places.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) settings: config::SandboxSettings,
    pub(crate) places: SandboxPlaces,
}

/// What a command needs of the sandbox.
#[derive(Clone, Copy)]
pub struct Wanted<'w> {
    /// The tree it runs in.
    pub tree: &'w Tree<'w>,
    /// Where in the tree.
    pub cwd: &'w Path,
    /// What it may read beside the tree.
    pub read: &'w [PathBuf],
    /// Whom it reaches.
    pub network: Network,
}

/// A command that is ready to be started behind walls.
#[derive(Debug)]
pub struct Confined {
    /// The program to start, and its first arguments; the words of the command follow.
    pub program: [&'static OsStr; 2],
    /// Its standard input.
    pub stdin: File,
    /// Variables that are different for it.
    pub env: Vec<(OsString, OsString)>,
    /// How far it is confined.
    pub degree: Degree,
    /// How it is ended before its time.
    pub ends: Ends,
    /// What is told of it later.
    pub report: ReportFile,
}

/// How a command behind walls is ended with all that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Its process group is killed, and the kernel does the rest.
    Killed,
    /// Its helper is told with `SIGUSR1`, and ends what there is before it ends itself.
    Told,
}

/// What will be told of a command.
#[derive(Debug)]
pub struct ReportFile {
    file: File,
    start: u64,
    /// Directories that were made for it, and go again if they are empty.
    made: Vec<PathBuf>,
    /// A directory that goes with it.
    scratch: Option<tempfile::TempDir>,
}

/// What was told of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// How it ended, if it did.
    pub ended: Option<Ended>,
    /// The error number for which it could not be started.
    pub not_started: Option<i32>,
    /// The wall that could not be put up, so that nothing was run.
    pub failed: Option<Failure>,
    /// What it changed in the tree, which is not kept: the first of it.
    pub discarded: Vec<PathBuf>,
}

impl Sandbox {
    /// One with these settings.
    pub fn new(settings: config::SandboxSettings, places: SandboxPlaces) -> Self {
        if settings.mode == SandboxMode::Off {
            return Self::off();
        }
        let ground = Ground { settings, places };
        Self { ground: Some(Box::new(ground)), tried: OnceLock::new() }
    }

    /// None: commands are not confined.
    pub fn off() -> Self {
        Self { ground: None, tried: OnceLock::new() }
    }

    /// What a command needs to be started behind walls; none where there are none. Blocks.
    #[cfg(target_os = "linux")]
    pub fn confine(&self, wanted: &Wanted<'_>) -> io::Result<Option<Confined>> {
        match &self.ground {
            Some(ground) => ground.confine(self.level(), wanted),
            None => Ok(None),
        }
    }

    /// How far commands are confined. The first time it tries, and blocks as long as `probe_timeout_ms` at most.
    pub fn level(&self) -> &Confining {
        self.tried.get_or_init(|| self.ground.as_deref().map_or(Confining::Off, tried))
    }

    /// Whether the user accepted that commands are confined only so far in this workspace.
    pub fn is_accepted(&self, level: &Confining) -> bool {
        let Some(ground) = &self.ground else { return false };
        let noted = || {
            let text = regular::read_text(&ground.acceptance(), MAX_ACCEPTANCE_BYTES).ok()?;
            serde_json::from_str::<Confining>(&text).ok()
        };
        ground.settings.floor == Floor::Accept || noted().as_ref() == Some(level)
    }

    /// Notes that the user accepted it.
    pub fn accept(&self, level: &Confining) -> io::Result<()> {
        let Some(ground) = &self.ground else { return Ok(()) };
        let path = ground.acceptance();
        if let Some(dir) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        regular::write(&path, &serde_json::to_vec(level)?)
    }

    /// How far commands are confined, if that was tried already.
    pub fn known_level(&self) -> Option<&Confining> {
        self.tried.get()
    }
}

impl Ground {
    /// Where it is noted what the user accepted.
    fn acceptance(&self) -> PathBuf {
        self.places.private.join("accepted")
    }
}

impl ReportFile {
    pub(crate) const fn new(file: File, start: u64) -> Self {
        Self { file, start, made: Vec::new(), scratch: None }
    }

    pub(crate) fn with(mut self, made: Vec<PathBuf>, scratch: Option<tempfile::TempDir>) -> Self {
        self.made = made;
        self.scratch = scratch;
        self
    }

    /// Reads it. All of the command has ended.
    pub fn read(mut self) -> io::Result<Reported> {
        use crate::orders::Notice;
        let mut outcome = Reported::default();
        for told in crate::orders::told(&mut self.file, self.start)? {
            match told {
                Notice::Failed(failure) => outcome.failed = Some(failure),
                Notice::Lacks(_) => {}
                Notice::NotStarted(errno) => outcome.not_started = Some(errno),
                Notice::Ended(ended) => outcome.ended = Some(ended),
                Notice::Discarded(paths) => {
                    outcome.discarded = paths.into_iter().map(PathBuf::from).collect();
                }
            }
        }
        Ok(outcome)
    }

    pub(crate) fn lacks(&mut self) -> io::Result<Vec<Lack>> {
        use crate::orders::Notice;
        let told = crate::orders::told(&mut self.file, self.start)?;
        Ok(told
            .into_iter()
            .filter_map(|it| if let Notice::Lacks(lack) = it { Some(lack) } else { None })
            .collect())
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        for dir in &self.made {
            // One that something was built in stays.
            fs::remove_dir(dir).ok();
        }
        if let Some(scratch) = self.scratch.take()
            && let Err(error) = scratch.close()
        {
            tracing::debug!(%error, "temporary files of a command could not be removed");
        }
    }
}
