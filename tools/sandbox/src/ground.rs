//! What confinement stands on: the settings and places of a sandbox, how far it confines, and what a command needs of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::orders::{CommandStreams, Failure, Lack, Network};
#[cfg(target_os = "linux")]
use crate::scratch::ScratchLayers;
use crate::secrets_and_caches::Tree;
#[cfg(not(target_os = "linux"))]
use crate::unsupported_scratch::ScratchLayers;

/// How far commands are confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinementLevel {
    /// Fully, except for the parts listed.
    Full(Vec<Lack>),
    /// With Landlock and seccomp only.
    Floor {
        /// Why not fully; `None` if the configuration asks for this level.
        missing: Option<Failure>,
        /// Other parts that are missing.
        lacks: Vec<Lack>,
    },
    /// Not at all; why even `Floor` failed.
    None(Failure),
    /// Not at all, because the user turned the sandbox off.
    Off,
}

impl ConfinementLevel {
    /// Returns the level without its details.
    pub const fn degree(&self) -> Degree {
        match self {
            Self::Full(_) => Degree::Full,
            Self::Floor { .. } => Degree::Floor,
            Self::None(_) | Self::Off => Degree::None,
        }
    }
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lacks: &[Lack] = match self {
            Self::Full(lacks) => {
                f.write_str("commands are confined")?;
                lacks
            }
            Self::Floor { missing, lacks } => {
                f.write_str("commands are partly confined, by Landlock and seccomp alone")?;
                if let Some(missing) = missing {
                    write!(f, " (missing: {missing})")?;
                }
                f.write_str(": they cannot use sockets, not even their own, and share memory (/dev/shm) with your other programs")?;
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

/// How far a command was confined, without details.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degree {
    /// Fully.
    Full,
    /// Partly.
    Floor,
    /// Not at all.
    #[default]
    None,
}

/// The directories and variables that a sandbox needs.
#[derive(Debug, Clone, Default)]
pub struct SandboxPlaces {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The workspace, for which git reads its settings.
    pub workspace: PathBuf,
    /// A state directory of this workspace only; the caches of commands are kept there.
    pub private: PathBuf,
    /// The environment variables that the program was started with.
    pub vars: BTreeMap<String, String>,
    /// Those that commands get.
    pub passed: BTreeMap<String, String>,
    /// Directories of the user in which programs keep data. A program on `PATH` does not make one of them readable.
    pub kept: Vec<PathBuf>,
}

/// The settings and places.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) settings: config::SandboxSettings,
    pub(crate) places: SandboxPlaces,
    /// The directories in `PATH`, and what the programs in them need, once known.
    pub(crate) programs: OnceLock<BTreeSet<PathBuf>>,
    /// What commands get of the settings of the user's git, once known.
    pub(crate) git: OnceLock<GitSettings>,
}

/// What commands get of the settings of the user's git.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitSettings {
    /// The settings, as a configuration file of git.
    pub(crate) text: String,
    /// The files that they name.
    pub(crate) files: Vec<PathBuf>,
}

/// What a command needs from the sandbox.
#[derive(Clone, Copy)]
pub struct CommandNeeds<'w> {
    /// The tree in which it runs.
    pub tree: &'w Tree<'w>,
    /// The working directory in the tree.
    pub cwd: &'w Path,
    /// Its standard input and output.
    pub streams: CommandStreams,
    /// Further paths that it may read, outside the tree.
    pub read: &'w [PathBuf],
    /// Paths that it may write to, outside the tree; what it writes there is kept.
    pub write: &'w [PathBuf],
    /// The name of the home directory that it writes to and finds again; `None` for one that is empty each time.
    pub home: Option<&'w str>,
    /// The network it can reach.
    pub network: Network,
    /// The layers that it shares with other commands; `None` if it has its own.
    pub layers: Option<&'w ScratchLayers>,
}

impl Ground {
    /// Returns the home directory that is kept under a name.
    pub(crate) fn kept_home(&self, name: &str) -> PathBuf {
        self.places.private.join("homes").join(name)
    }

    /// Returns the file that records what the user accepted.
    pub(crate) fn acceptance(&self) -> PathBuf {
        self.places.private.join("accepted")
    }
}
