//! How a command is confined, from the caller's side: the sandbox, the tree, and what is known about the tree.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Confinement, Gaps};
use sandbox::{
    CommandNeeds, CommandStreams, Confined, ConfinementLevel, ConfinementStep, Failure, Network,
    Sandbox, ScratchLayers, Tree, TreeWrites,
};

/// A predicate on a path.
type Asked<P> = Arc<dyn Fn(&P) -> bool + Send + Sync>;

/// Returns the directories that belong to one.
type Dirs = Arc<dyn Fn(&Path) -> Vec<PathBuf> + Send + Sync>;

/// The confinement of a command. Cheap to clone.
#[derive(Clone)]
pub struct CommandConfinement {
    /// The sandbox of this process.
    pub sandbox: Arc<Sandbox>,
    /// The tree in which the command runs.
    pub tree: PathBuf,
    /// The path at which the command sees it, where it is fully confined.
    pub at: PathBuf,
    /// What happens to its writes in the tree.
    pub writes: TreeWrites,
    /// Further paths that it may read, outside the tree.
    pub read: Vec<PathBuf>,
    /// Paths that it may write to, outside the tree.
    pub write: Vec<PathBuf>,
    /// The name of the home directory that it writes to and finds again; `None` for one that is empty each time.
    pub home: Option<String>,
    /// The network it can reach.
    pub network: Network,
    /// Returns whether a file is secret, given its path relative to the tree.
    pub is_secret: Asked<str>,
    /// Returns whether nothing in a directory is part of the project: git tracks nothing there, and shows nothing new.
    pub is_unseen: Asked<Path>,
    /// Returns the directories outside the tree that git reads for it, given where this program keeps its own.
    pub git_dirs: Dirs,
    /// The layers that the command shares with others; `None` if it has its own.
    pub layers: Option<Arc<ScratchLayers>>,
}

/// Converts the level of confinement to policy's terms.
pub fn confinement(sandbox: &Sandbox, level: &ConfinementLevel) -> Confinement {
    match level {
        ConfinementLevel::Full(_) => Confinement::Full,
        ConfinementLevel::Floor { .. } if sandbox.is_accepted(level) => {
            Confinement::Floor { missing: Gaps::Accepted }
        }
        ConfinementLevel::Floor { .. } => Confinement::Floor { missing: Gaps::Untold },
        ConfinementLevel::None(_) => Confinement::None,
        ConfinementLevel::Off => Confinement::Off,
    }
}

impl fmt::Debug for CommandConfinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl CommandConfinement {
    /// Prepares a confined command in `cwd`; `None` if commands are not confined.
    pub(super) async fn confine(
        &self,
        cwd: &Path,
        streams: CommandStreams,
    ) -> io::Result<Option<Confined>> {
        let cwd = cwd.to_owned();
        self.blocking(move |fence| {
            let cwd = cwd.canonicalize()?;
            fence.with_wanted(&cwd, |wanted| {
                fence.sandbox.confine(&CommandNeeds { streams, ..*wanted })
            })?
        })
        .await?
    }

    /// Mounts layers over the tree, to be shared by several commands; `None` if commands are not fully confined.
    pub async fn scratch_layers(&self) -> Result<Option<ScratchLayers>, Failure> {
        let failed = |error: &io::Error| Failure {
            step: ConfinementStep::Init,
            on: Some(error.to_string()),
            errno: 0,
        };
        let made = self.blocking(|fence| {
            fence.with_wanted(&fence.tree, |wanted| fence.sandbox.scratch_layers(wanted))
        });
        made.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?
    }

    /// Tries full confinement on the tree.
    pub async fn try_on(&self) -> Result<(), Failure> {
        let failed = |error: &io::Error| Failure {
            step: ConfinementStep::Init,
            on: Some(error.to_string()),
            errno: 0,
        };
        let tried = self.blocking(|fence| {
            fence.with_wanted(&fence.tree, |wanted| fence.sandbox.try_on(wanted))
        });
        tried.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?
    }

    /// Finds out what commands need, so that the first one need not wait for it.
    pub async fn prepare(&self) {
        let prepared = self.blocking(|fence| {
            fence.with_wanted(&fence.tree, |wanted| fence.sandbox.prepare(wanted))
        });
        prepared.await.ok();
    }

    /// Returns the first of these paths that exists but is hidden from commands.
    pub async fn first_hidden(&self, paths: Vec<PathBuf>) -> Option<PathBuf> {
        let found = self.blocking(move |fence| {
            fence.with_wanted(&fence.tree, |wanted| fence.sandbox.first_hidden(wanted, &paths))
        });
        found.await.ok()?.ok()?
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CommandConfinement) -> T + Send + 'static,
    ) -> io::Result<T> {
        let fence = self.clone();
        tokio::task::spawn_blocking(move || work(&fence)).await.map_err(io::Error::other)
    }

    fn with_wanted<T>(
        &self,
        cwd: &Path,
        use_it: impl FnOnce(&CommandNeeds<'_>) -> T,
    ) -> io::Result<T> {
        let tree = Tree {
            root: &self.tree.canonicalize()?,
            at: &self.at,
            writes: self.writes,
            is_secret: &*self.is_secret,
            is_unseen: &*self.is_unseen,
            git_dirs: &*self.git_dirs,
        };
        Ok(use_it(&CommandNeeds {
            tree: &tree,
            cwd,
            streams: CommandStreams::OfHelper,
            read: &self.read,
            write: &self.write,
            home: self.home.as_deref(),
            network: self.network,
            layers: self.layers.as_deref(),
        }))
    }
}
