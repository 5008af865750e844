//! The sandbox of this process: how far commands can be confined here, found out by trying, and what a command needs to run so.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use config::SandboxMode;

#[cfg(not(target_os = "linux"))]
use crate::elsewhere::level as tried;
use crate::orders::{Ended, Failure, Lack, Network};
#[cfg(target_os = "linux")]
use crate::probe::level as tried;
use crate::survey::Tree;

/// How far commands are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
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

/// Where things are that a sandbox is made of.
#[derive(Debug, Clone, Default)]
pub struct Places {
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
    tried: OnceLock<Level>,
}

/// Settings and places.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) settings: config::Sandbox,
    pub(crate) places: Places,
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
    /// How it is ended before its time.
    pub ends: Ends,
    /// What is told of it later.
    pub report: Report,
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
pub struct Report {
    file: File,
    start: u64,
    /// Directories that were made for it, and go again if they are empty.
    made: Vec<PathBuf>,
    /// A directory that goes with it.
    scratch: Option<tempfile::TempDir>,
}

/// What was told of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended, if it did.
    pub ended: Option<Ended>,
    /// The error number for which it could not be started.
    pub not_started: Option<i32>,
    /// The wall that could not be put up, so that nothing was run.
    pub failed: Option<Failure>,
    /// What it changed in the tree, which is not kept.
    pub discarded: Vec<PathBuf>,
    /// How much more there was.
    pub discarded_more: usize,
}

impl Sandbox {
    /// One with these settings.
    pub fn new(settings: config::Sandbox, places: Places) -> Self {
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
    pub fn level(&self) -> &Level {
        self.tried.get_or_init(|| self.ground.as_deref().map_or(Level::Off, tried))
    }

    /// How far commands are confined, if that was tried already.
    pub fn known_level(&self) -> Option<&Level> {
        self.tried.get()
    }
}

impl Report {
    pub(crate) const fn new(file: File, start: u64) -> Self {
        Self { file, start, made: Vec::new(), scratch: None }
    }

    pub(crate) fn with(mut self, made: Vec<PathBuf>, scratch: Option<tempfile::TempDir>) -> Self {
        self.made = made;
        self.scratch = scratch;
        self
    }

    /// Reads it. All of the command has ended.
    pub fn read(mut self) -> io::Result<Outcome> {
        use crate::orders::Told;
        let mut outcome = Outcome::default();
        for told in crate::orders::told(&mut self.file, self.start)? {
            match told {
                Told::Failed(failure) => outcome.failed = Some(failure),
                Told::Lacks(_) => {}
                Told::NotStarted(errno) => outcome.not_started = Some(errno),
                Told::Ended(ended) => outcome.ended = Some(ended),
                Told::Discarded { paths, more } => {
                    outcome.discarded = paths.into_iter().map(PathBuf::from).collect();
                    outcome.discarded_more = more;
                }
            }
        }
        Ok(outcome)
    }

    pub(crate) fn lacks(&mut self) -> io::Result<Vec<Lack>> {
        use crate::orders::Told;
        let told = crate::orders::told(&mut self.file, self.start)?;
        Ok(told
            .into_iter()
            .filter_map(|it| if let Told::Lacks(lack) = it { Some(lack) } else { None })
            .collect())
    }
}

impl Drop for Report {
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
