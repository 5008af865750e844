//! What a command is confined with, as it is held by whoever runs commands: the sandbox, the tree, and what is known of it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Confinement, Gaps};
use sandbox::{Confined, Confining, Network, Sandbox, Tree, Wanted, Writes};

/// A question about a path.
type Asked<P> = Arc<dyn Fn(&P) -> bool + Send + Sync>;

/// What a command is confined with. Cheap to clone.
#[derive(Clone)]
pub struct Fence {
    /// How commands are confined on this machine.
    pub sandbox: Arc<Sandbox>,
    /// The tree that it runs in.
    pub tree: PathBuf,
    /// What becomes of what it writes there.
    pub writes: Writes,
    /// What it may read beside it.
    pub read: Vec<PathBuf>,
    /// Whom it reaches.
    pub network: Network,
    /// Whether a file, by its path below the tree, is secret.
    pub is_secret: Asked<str>,
    /// Whether git tracks something in a directory.
    pub has_tracked: Asked<Path>,
}

/// How far commands are confined, to policy.
pub fn confinement(sandbox: &Sandbox, level: &Confining) -> Confinement {
    match level {
        Confining::Full(_) => Confinement::Full,
        Confining::Floor { .. } if sandbox.is_accepted(level) => {
            Confinement::Floor { missing: Gaps::Accepted }
        }
        Confining::Floor { .. } => Confinement::Floor { missing: Gaps::Untold },
        Confining::None(_) => Confinement::None,
        Confining::Off => Confinement::Off,
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl Fence {
    /// What a command in `cwd` needs to be started behind walls; none where there are none.
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
