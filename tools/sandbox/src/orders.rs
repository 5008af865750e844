//! The helper's orders and its reports, both in one in-memory file that is the helper's standard input.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum number of paths in a tree that are reported as changed by a command.
pub const MAX_TOLD: usize = 1000;

/// How to confine a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The process that starts the helper; if it is gone, there is nothing to do.
    pub(crate) parent: i32,
    /// The standard input and output of the command.
    pub(crate) streams: CommandStreams,
    /// The kind of confinement.
    pub(crate) walls: Walls,
    /// The network the command can reach.
    pub(crate) network: Network,
    /// The resources it may use.
    pub(crate) limits: ProcessLimits,
}

/// The orders for a command that is not confined, but ends with the process that started the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnconfinedOrders {
    /// The process that starts the helper; if it is gone, there is nothing to do.
    pub(crate) parent: i32,
    /// The standard input and output of the command.
    pub(crate) streams: CommandStreams,
    /// Where directories appear to it, besides their own place.
    pub(crate) shown: Option<ShownElsewhere>,
}

/// Directories that a program sees at other paths than everyone else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownElsewhere {
    /// Existing directories, each with an existing directory at which it appears instead of what is there.
    pub dirs: Vec<(OsString, OsString)>,
    /// The working directory, as the program sees it.
    pub cwd: OsString,
}

/// The standard input and output of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandStreams {
    /// No input, and the output of the helper.
    OfHelper,
    /// As passed to the helper over the socket that is its standard output.
    Passed,
}

/// The confinement of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Walls {
    /// Namespaces with a file system view of its own, and everything that `Floor` has.
    Full(Box<FileSystemView>),
    /// Landlock and seccomp only.
    Floor(Grants),
}

/// The network that a command can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Network {
    /// Its own loopback interface.
    Own,
    /// The user's network.
    Host,
}

/// The resources that a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessLimits {
    /// Maximum number of processes at a time, where they are counted for the command alone.
    pub(crate) processes: u64,
    /// Maximum size of a file, in bytes.
    pub(crate) file_bytes: u64,
}

/// Limits for a process that needs only what it has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessBounds {
    /// Maximum memory, in bytes.
    pub memory_bytes: u64,
    /// Maximum processor time, in seconds.
    pub cpu_seconds: u64,
}

/// The file system as a command sees it at level `Full`. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileSystemView {
    /// The working directory.
    pub(crate) cwd: OsString,
    /// The path at which the tree appears.
    pub(crate) tree: OsString,
    /// The directory that appears there.
    pub(crate) source: OsString,
    /// True if writes to the tree are kept. Otherwise they go to a layer.
    pub(crate) is_kept: bool,
    /// The layers that the command shares with others; `None` if it has its own, which are discarded with it.
    pub(crate) held: Option<HeldLayers>,
    /// Readable paths outside the tree.
    pub(crate) read: Vec<OsString>,
    /// Symbolic links, each with its target.
    pub(crate) links: Vec<(OsString, OsString)>,
    /// Directories outside the tree under a discarded layer of writes.
    pub(crate) layered: Vec<OsString>,
    /// Writable directories, each with the path where it appears.
    pub(crate) kept: Vec<(OsString, OsString)>,
    /// The home directory, which appears empty except for what the other lists contain.
    pub(crate) home: Option<OsString>,
    /// The directory that appears there instead, if what is written to it is kept.
    pub(crate) kept_home: Option<OsString>,
    /// Writable paths in the tree: caches of builds. Each with the directory that appears there.
    pub(crate) caches: Vec<(OsString, OsString)>,
    /// Paths in the tree that are read-only, without a layer for writes.
    pub(crate) fixed: Vec<OsString>,
    /// Files outside the tree that commands find with this content, and may change.
    pub(crate) made: Vec<(OsString, String)>,
    /// Files and directories that appear empty.
    pub(crate) hidden: Vec<OsString>,
    /// Maximum size of discarded writes, in bytes.
    pub(crate) scratch_bytes: u64,
}

/// Layers that a process of their own holds, for several commands one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldLayers {
    /// The process.
    pub(crate) holder: u32,
    /// The directories under the layers, in the order of their numbers.
    pub(crate) layers: Vec<OsString>,
}

/// The orders of the process that holds layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HoldOrders {
    /// The directories to put under layers.
    pub(crate) layers: Vec<OsString>,
    /// An existing directory for what is written to the layers; `None` to keep it in memory.
    pub(crate) on_disk: Option<OsString>,
    /// Maximum size of what is written, where it is kept in memory, in bytes.
    pub(crate) scratch_bytes: u64,
}

/// What a command may open at level `Floor`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grants {
    /// Paths to read and execute, with everything below.
    pub(crate) read: Vec<OsString>,
    /// Directories that may only be listed.
    pub(crate) list: Vec<OsString>,
    /// Paths to read, execute and write, with everything below.
    pub(crate) write: Vec<OsString>,
}

/// A report from the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// The confinement failed, and nothing was run.
    Failed(Failure),
    /// The command is confined except for this.
    Lacks(Lack),
    /// The command could not be started; the error number.
    NotStarted(i32),
    /// The command ended.
    Ended(Ended),
    /// Paths in the tree, relative to it, whose changes were discarded; only the first ones.
    Discarded(Vec<OsString>),
    /// The layers that are held, those of one directory after the other.
    Holds(Vec<HeldLayer>),
}

/// A layer that is held, as the process that holds it sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldLayer {
    /// The number of the directory.
    pub(crate) number: usize,
    /// The path below the directory.
    pub(crate) at: OsString,
    /// The directory that receives what is written.
    pub(crate) written: OsString,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Exited with this status.
    Code(i32),
    /// Ended by this signal.
    Signal(i32),
}

/// A step of the confinement that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The step.
    pub step: ConfinementStep,
    /// What it was applied to, where that helps.
    pub on: Option<String>,
    /// The error number; 0 if there was none.
    pub errno: i32,
}

/// A step in setting up the confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinementStep {
    /// Reading the helper's orders.
    Orders,
    /// Creating a session.
    Session,
    /// Creating namespaces.
    Namespaces,
    /// Mapping ids in the user namespace.
    Ids,
    /// Turning on the loopback interface.
    Loopback,
    /// Creating a root directory.
    Root,
    /// Joining the namespaces of the process that holds the layers.
    Join,
    /// Mounting a path into it.
    Bind,
    /// Mounting an overlay over a directory.
    Overlay,
    /// Creating devices.
    Devices,
    /// Starting the first process of the pid namespace.
    Init,
    /// Dropping capabilities.
    Capabilities,
    /// Setting resource limits.
    Limits,
    /// Applying Landlock.
    Landlock,
    /// Filtering system calls.
    Seccomp,
}

/// An optional part of the confinement that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Lack {
    /// A `/proc` of its own: the command sees all processes of the machine.
    OwnProc,
    /// The scopes of Landlock: the command can signal processes outside.
    Signals,
}

impl fmt::Display for ConfinementStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orders => "reading the orders",
            Self::Session => "a new session",
            Self::Namespaces => "new namespaces",
            Self::Ids => "ids in a user namespace",
            Self::Loopback => "a loopback interface",
            Self::Root => "a root directory",
            Self::Join => "the layers of other commands",
            Self::Bind => "a bind mount",
            Self::Overlay => "an overlay",
            Self::Devices => "devices",
            Self::Init => "a first process",
            Self::Capabilities => "dropping capabilities",
            Self::Limits => "resource limits",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(on) = &self.on {
            write!(f, " ({on})")?;
        }
        match self.errno {
            0 => f.write_str(": not available"),
            errno => write!(f, ": {}", io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Failure {
    /// Creates a failure from an I/O error.
    pub(crate) fn of(step: ConfinementStep, error: &io::Error) -> Self {
        Self { step, on: None, errno: error.raw_os_error().unwrap_or_default() }
    }
}

/// Writes orders to `file` and rewinds it. Returns their size in bytes.
pub(crate) fn give_orders(file: &mut File, orders: &impl Serialize) -> io::Result<u64> {
    let text = serde_json::to_vec(orders)?;
    file.write_all(&text)?;
    file.rewind()?;
    Ok(text.len() as u64)
}

/// Reads orders from the current position of `file` to its end.
pub(crate) fn take_orders<O: DeserializeOwned>(file: &mut File) -> io::Result<O> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Appends a notice to `file`.
pub(crate) fn tell_notice(file: &mut File, told: &Notice) -> io::Result<()> {
    let mut line = serde_json::to_vec(told)?;
    line.push(b'\n');
    file.seek(SeekFrom::End(0))?;
    file.write_all(&line)
}

/// Returns the notices after the first `start` bytes of `file`. Stops at the first invalid line.
pub(crate) fn notices(file: &mut File, start: u64) -> io::Result<Vec<Notice>> {
    const MAX_BYTES: u64 = 1 << 20;
    file.seek(SeekFrom::Start(start))?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(text
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect())
}
