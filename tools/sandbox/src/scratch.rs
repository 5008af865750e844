//! Layers that the commands of one verification share: what one writes, the next one sees, and all of it is discarded at
//! the end.
//!
//! They are mounted by a process of their own, since a mount lasts as long as the mount namespace it is in. This process
//! reaches what is in them through `/proc`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;

use crate::changed::{Layer, changed_paths};
use crate::ground::{CommandNeeds, Ground};
use crate::helper::HOLDER;
use crate::orders::{ConfinementStep, Failure, HeldLayer, HeldLayers, HoldOrders};
use crate::report::{ReportFile, SELF, handed_over};
use crate::walls::layers::held;

/// How long mounting may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of the tree among the layers.
const TREE: usize = 0;

/// Layers over a tree, and over the caches around it. Dropping them discards what was written.
#[derive(Debug)]
pub struct ScratchLayers {
    /// Dropped before the directory on disk.
    holder: Holder,
    /// The directory of the tree, under the layers.
    tree: PathBuf,
    /// The directories under layers.
    layers: Vec<OsString>,
    of_tree: Vec<HeldLayer>,
    #[expect(dead_code, reason = "it is removed when dropped")]
    on_disk: Option<OnDisk>,
}

/// The process that holds the layers. It ends when this is dropped.
#[derive(Debug)]
struct Holder {
    process: Child,
    /// The process ends as well when the other end of this is closed, as after a crash.
    life: UnixStream,
}

impl Ground {
    /// Mounts layers for the commands of a verification. Blocks.
    pub(crate) fn scratch_layers(
        &self,
        wanted: &CommandNeeds<'_>,
    ) -> Result<ScratchLayers, Failure> {
        let failed = |error: io::Error| Failure::of(ConfinementStep::Init, &error);
        let tree = wanted.tree.root.to_owned();
        let outside = self.outside(wanted);
        let layers: Vec<_> = std::iter::once(tree.as_os_str())
            .chain(outside.layered.iter().map(|path| path.as_os_str()))
            .map(OsStr::to_owned)
            .collect();
        let on_disk = if has_memory_for(self.settings.scratch_bytes) {
            None
        } else {
            Some(OnDisk::create(&self.places.private.join("tmp")).map_err(failed)?)
        };
        let orders = HoldOrders {
            layers: layers.clone(),
            on_disk: on_disk.as_ref().map(|dir| dir.0.clone().into()),
            scratch_bytes: self.settings.scratch_bytes,
        };
        let (mut holder, report) = Holder::start(&orders).map_err(failed)?;
        let mut of_tree = holder.ready(report)?;
        of_tree.retain(|layer| layer.number == TREE);
        Ok(ScratchLayers { holder, tree, layers, of_tree, on_disk })
    }
}

impl Holder {
    /// Starts the process. Returns it with the file in which it reports.
    fn start(orders: &HoldOrders) -> io::Result<(Self, ReportFile)> {
        let (stdin, report) = handed_over(orders)?;
        let (life, end) = UnixStream::pair()?;
        life.set_read_timeout(Some(PATIENCE))?;
        #[expect(
            clippy::disallowed_methods,
            reason = "it runs no command, and ends with its owner"
        )]
        let mut process = Command::new(SELF);
        process.arg(HOLDER).env_clear().stdin(stdin).stdout(OwnedFd::from(end));
        let process = process.stderr(Stdio::null()).spawn()?;
        Ok((Self { process, life }, report))
    }

    /// Waits until the layers are mounted. Returns them.
    fn ready(&mut self, report: ReportFile) -> Result<Vec<HeldLayer>, Failure> {
        let is_ready = self.life.read(&mut [0]).is_ok_and(|count| count == 1);
        let (failure, layers) =
            report.held().map_err(|error| Failure::of(ConfinementStep::Init, &error))?;
        match failure {
            Some(failure) => Err(failure),
            None if is_ready => Ok(layers),
            None => {
                Err(Failure { step: ConfinementStep::Init, on: Some("timed out".into()), errno: 0 })
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended by now.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl ScratchLayers {
    pub(crate) fn held(&self) -> HeldLayers {
        HeldLayers { holder: self.holder.process.id(), layers: self.layers.clone() }
    }

    /// Returns the directory at which this process reaches a path of the holder.
    fn at(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.process.id()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the directory at which this process reaches the tree with what was written to it. Write there only while no
    /// command runs.
    pub fn tree(&self) -> PathBuf {
        self.at(&held(TREE))
    }

    /// Returns the paths in the tree, relative to it, that differ from what is under the layers. Directories for which
    /// `skips` returns true are not searched. Blocks.
    pub fn changed(&self, skips: &dyn Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
        let open = |layer: &HeldLayer| {
            let (at, written) = (PathBuf::from(&layer.at), PathBuf::from(&layer.written));
            let (upper, lower) = (File::open(self.at(&written))?, File::open(self.tree.join(&at))?);
            Ok(Layer { at, written, upper, lower })
        };
        let layers = self.of_tree.iter().map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(changed_paths(&layers, skips))
    }
}

/// Returns true if a full layer would leave as much memory as it takes.
fn has_memory_for(bytes: u64) -> bool {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = table.lines().find_map(|line| {
        let kilobytes = line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?;
        kilobytes.trim().parse::<u64>().ok()
    });
    available.is_none_or(|kilobytes| kilobytes / 2 >= bytes / 1024)
}

/// A directory for layers that are not kept in memory. It is removed when dropped; one that a crash left is removed when
/// the next is created.
#[derive(Debug)]
struct OnDisk(PathBuf);

impl OnDisk {
    const PREFIX: &str = "layers-";

    fn create(dir: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).create(dir)?;
        for entry in fs::read_dir(dir)?.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(Self::PREFIX));
            let owner = owner.and_then(|name| name.split('-').next()?.parse::<i32>().ok());
            let is_left = owner
                .and_then(rustix::process::Pid::from_raw)
                .is_some_and(|owner| rustix::process::test_kill_process(owner) == Err(Errno::SRCH));
            if is_left {
                drop(Self(entry.path()));
            }
        }
        let prefix = format!("{}{}-", Self::PREFIX, std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(dir.canonicalize()?)?;
        Ok(Self(made.keep()))
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        // The kernel makes the working directory of an overlay inaccessible.
        for layer in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            fs::set_permissions(layer.path().join("work/work"), Permissions::from_mode(0o700)).ok();
        }
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, dir = %self.0.display(), "could not remove the layers of commands");
        }
    }
}
