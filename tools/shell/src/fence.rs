//! How a command is confined, from the caller's side: the sandbox, the tree, and what is known about the tree.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Confinement, Gaps};
use sandbox::{Confined, ConfinementLevel, Network, Sandbox, Tree, Wanted, Writes};

/// A predicate on a path.
type Asked<P> = Arc<dyn Fn(&P) -> bool + Send + Sync>;

/// The confinement of a command. Cheap to clone.
#[derive(Clone)]
pub struct Fence {
    /// The sandbox of this process.
    pub sandbox: Arc<Sandbox>,
    /// The tree in which the command runs.
    pub tree: PathBuf,
    /// What happens to its writes in the tree.
    pub writes: Writes,
    /// Further paths that it may read, outside the tree.
    pub read: Vec<PathBuf>,
    /// The network it can reach.
    pub network: Network,
    /// Returns whether a file is secret, given its path relative to the tree.
    pub is_secret: Asked<str>,
    /// Returns whether git tracks anything in a directory.
    pub has_tracked: Asked<Path>,
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

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl Fence {
    /// Prepares a confined command in `cwd`; `None` if commands are not confined.
    pub(super) async fn confine(&self, cwd: &Path) -> io::Result<Option<Confined>> {
        let (fence, cwd) = (self.clone(), cwd.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let tree = Tree {
                root: &fence.tree.canonicalize()?,
                writes: fence.writes,
                is_secret: &*fence.is_secret,
                has_tracked: &*fence.has_tracked,
            };
            let cwd = cwd.canonicalize()?;
            let (read, network) = (&fence.read, fence.network);
            fence.sandbox.confine(&Wanted { tree: &tree, cwd: &cwd, read, network })
        });
        looked.await.map_err(io::Error::other)?
    }
}
