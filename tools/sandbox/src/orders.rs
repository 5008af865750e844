//! What the helper is told to do, and what it tells of it: both in one file in memory that is the helper's standard input.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use serde::{Deserialize, Serialize};

/// How a command is to be confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The process that starts the helper: without it there is nothing to do.
    pub(crate) parent: i32,
    /// The walls.
    pub(crate) walls: Walls,
    /// Whom the command reaches.
    pub(crate) network: Network,
    /// What it may use.
    pub(crate) limits: Limits,
}

/// The walls around a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Walls {
    /// Namespaces with a view of their own, and what the floor has.
    Full(View),
    /// Landlock and seccomp alone.
    Floor(Grants),
}

/// Whom a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Network {
    /// Itself.
    Own,
    /// Whom the user reaches.
    Host,
}

/// What a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Processes at once, where they are counted for the command alone.
    pub(crate) processes: u64,
    /// Bytes of a file.
    pub(crate) file_bytes: u64,
}

/// What a process may use that needs nothing but what it has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessBounds {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Seconds of the processor.
    pub cpu_seconds: u64,
}

/// What a command sees, where it has a view of its own. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// Where it starts.
    pub(crate) cwd: OsString,
    /// The tree.
    pub(crate) tree: OsString,
    /// Whether it is a copy that is written. Otherwise the command sees its own writes there, and they are thrown away.
    pub(crate) is_copy: bool,
    /// What lies elsewhere and can be read.
    pub(crate) read: Vec<OsString>,
    /// Symbolic links, each with what it says.
    pub(crate) links: Vec<(OsString, OsString)>,
    /// Directories elsewhere that seem to be written, like the tree.
    pub(crate) layered: Vec<OsString>,
    /// Directories that are written, each with where it is seen.
    pub(crate) kept: Vec<(OsString, OsString)>,
    /// The home directory, which is seen empty but for what the other lists have.
    pub(crate) home: Option<OsString>,
    /// What lies in the tree and is written: build directories.
    pub(crate) built: Vec<OsString>,
    /// What lies in the tree and is not even written over.
    pub(crate) fixed: Vec<OsString>,
    /// Files that are seen empty.
    pub(crate) hidden: Vec<OsString>,
    /// Bytes that may be written to what is thrown away.
    pub(crate) scratch_bytes: u64,
}

/// What a command may open, where it has no view of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grants {
    /// Read and executed, with all that lies below.
    pub(crate) read: Vec<OsString>,
    /// Directories that are listed, and nothing else.
    pub(crate) list: Vec<OsString>,
    /// Read, executed and written, with all that lies below.
    pub(crate) write: Vec<OsString>,
}

/// A thing that the helper tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// The walls do not stand, and nothing was run.
    Failed(Failure),
    /// The walls stand, all but this.
    Lacks(Lack),
    /// The command could not be started, for this error number.
    NotStarted(i32),
    /// The command ended.
    Ended(Ended),
    /// What it changed in the tree and is gone, by paths below it: the first of it.
    Discarded(Vec<OsString>),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A wall that could not be put up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was tried.
    pub step: Step,
    /// On what, if that says more.
    pub on: Option<String>,
    /// The error number; 0 if there was none.
    pub errno: i32,
}

/// What walls are put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The helper reads its orders.
    Orders,
    /// A session of its own.
    Session,
    /// New namespaces.
    Namespaces,
    /// Ids in the user namespace.
    Ids,
    /// The loopback interface.
    Loopback,
    /// A root of its own.
    Root,
    /// Something seen in it.
    Bind,
    /// A layer over a directory.
    Overlay,
    /// Devices.
    Devices,
    /// The first process of the pid namespace.
    Init,
    /// Rights of the helper that the command does not get.
    Capabilities,
    /// Limits of resources.
    Limits,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
}

/// What walls can stand without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Lack {
    /// A `/proc` of the pid namespace alone: that of the machine is seen.
    OwnProc,
    /// The scopes of Landlock: processes outside can be signalled.
    Signals,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orders => "reading the orders",
            Self::Session => "a new session",
            Self::Namespaces => "new namespaces",
            Self::Ids => "ids in a user namespace",
            Self::Loopback => "a loopback interface",
            Self::Root => "a root directory",
            Self::Bind => "a bind mount",
            Self::Overlay => "an overlay",
            Self::Devices => "devices",
            Self::Init => "a first process",
            Self::Capabilities => "dropping capabilities",
            Self::Limits => "limits of resources",
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
    /// That of an error.
    pub(crate) fn of(step: Step, error: &io::Error) -> Self {
        Self { step, on: None, errno: error.raw_os_error().unwrap_or_default() }
    }
}

/// Writes orders to `file`, which is read from its beginning then. The number of bytes.
pub(crate) fn give(file: &mut File, orders: &Orders) -> io::Result<u64> {
    let text = serde_json::to_vec(orders)?;
    file.write_all(&text)?;
    file.rewind()?;
    Ok(text.len() as u64)
}

/// Reads orders from where `file` stands to its end.
pub(crate) fn take(file: &mut File) -> io::Result<Orders> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Adds what is told at the end of `file`.
pub(crate) fn tell(file: &mut File, told: &Notice) -> io::Result<()> {
    let mut line = serde_json::to_vec(told)?;
    line.push(b'\n');
    file.seek(SeekFrom::End(0))?;
    file.write_all(&line)
}

/// What was told behind the first `start` bytes of `file`. A line that is none ends it.
pub(crate) fn told(file: &mut File, start: u64) -> io::Result<Vec<Notice>> {
    const MAX_BYTES: u64 = 1 << 20;
    file.seek(SeekFrom::Start(start))?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(text
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect())
}
