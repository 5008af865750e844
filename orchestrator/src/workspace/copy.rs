//! Copies of the workspace, for commands that must not see or change the current one. They are stored next to the worktrees
//! of lanes and are collected like them after a crash.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use actors::run::Run;
use actors::run::workspace::{Copied, NoCopy};
use futures_util::future::BoxFuture;
use lanes::lane::worktrees::{Claim, claim_named, tidy};
use policy::Verdict;
use tools::blocking::on_a_thread;
use tree::{
    Entries, Extras, FileThen, InCopy, ReadTree, Rest, SeenAt, SnapshotError, Snapshots, Worktree,
    add_rest, list_files, share_repository,
};

/// Makes copies of the workspace.
#[derive(Clone)]
pub(crate) struct Copies {
    /// The snapshots of the workspace.
    pub(crate) snapshots: Snapshots,
    /// The directory of worktrees.
    pub(crate) lanes: PathBuf,
    /// The session's id.
    pub(crate) session: String,
    /// The run that needs a copy.
    pub(crate) run: Run,
}

/// A copy, and the claim that marks it as in use.
struct Copy {
    dir: PathBuf,
    /// Directories outside that links in the copy lead to.
    linked: Vec<PathBuf>,
    snapshots: Snapshots,
    claim: Claim,
}

impl Copies {
    /// Copies the workspace, with some files in another state.
    pub(crate) async fn of(
        &self,
        tree: &ReadTree,
        files: &[FileThen],
    ) -> Result<Box<dyn Copied>, NoCopy> {
        let name = format!("{}.{}", self.run.id(), self.run.ids.fresh());
        let claim = claim_named(&self.lanes, &name, &self.session, &self.run).await?;
        // Some projects are named after their directory.
        let dir = claim.dir.join(tree.root().file_name().unwrap_or(OsStr::new("tree")));
        let (snapshots, linked) = (self.snapshots.clone(), Vec::new());
        let mut copy = Copy { dir, linked, snapshots, claim };
        let (tree, files, run) = (tree.clone(), files.to_vec(), self.run.clone());
        let made = on_a_thread(move || {
            let filled = copy.fill(&tree, &files, &run);
            (copy, filled)
        });
        let (copy, filled) = made.await;
        match filled {
            Ok(()) => Ok(Box::new(copy)),
            Err(error) => {
                Box::new(copy).remove().await;
                Err(error)
            }
        }
    }
}

impl Copy {
    /// Writes the files. Blocks.
    fn fill(&mut self, tree: &ReadTree, files: &[FileThen], run: &Run) -> Result<(), NoCopy> {
        let (now, config) = (run.clock.now(), run.config());
        let max_bytes = config.sandbox.copy_bytes;
        let listed = list_files(tree.root(), config.limits.max_workspace_files).files;
        if listed.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes)) > max_bytes {
            return Err(NoCopy::TooLarge { max_bytes });
        }
        let snapshot = self.snapshots.take(tree, &[], now)?;
        let entries = with(&self.snapshots, snapshot.entries, files)?;
        let is_cache = |name: &&String| is_built(name, tree.root(), &config.sandbox);
        let share: Vec<String> = config.lanes.share.iter().filter(is_cache).cloned().collect();
        let extras = Extras {
            left_out: &snapshot.left_out,
            share: &share,
            max_copied_bytes: config.lanes.max_copied_bytes,
            seen: SeenAt::ItsOwnPath,
            now,
        };
        // An earlier process may have been killed here.
        Worktree::remove(&self.snapshots, &self.dir)?;
        Worktree::create(&self.snapshots, &entries, &self.dir, &extras)?;
        let rules = &run.terms.rules;
        let is_gone = |path: &str| files.iter().any(|(file, _)| file.as_str() == path);
        let rest = Rest {
            in_copy: &|path, is_dir| {
                let is_secret = !matches!(rules.may_read(path), Verdict::Allow);
                if is_gone(path) || is_secret {
                    InCopy::LeftOut
                } else if is_dir && is_built(path, tree.root(), &config.sandbox) {
                    InCopy::CopiedOrLeftOut
                } else {
                    InCopy::CopiedOrLinked
                }
            },
            max_bytes,
        };
        self.linked = add_rest(tree.root(), &self.dir, &rest)?;
        self.linked.extend(share_repository(tree.root(), &self.dir)?);
        Ok(())
    }
}

/// Returns true if builds write to a directory, so that it cannot be a link in a copy.
fn is_built(path: &str, root: &Path, settings: &config::SandboxSettings) -> bool {
    let path = Path::new(path);
    let (Some(name), Some(above)) = (path.file_name(), path.parent()) else { return false };
    let tables = settings.caches.iter().chain(&settings.outputs);
    let mut manifests = tables.filter(|(_, dirs)| {
        dirs.iter().any(|dir| name == dir.trim_end_matches(config::OR_SOURCES))
    });
    manifests.any(|(manifest, _)| {
        let beside = root.join(above).read_dir().into_iter().flatten().flatten();
        let mut names = beside.map(|entry| entry.file_name());
        names.any(|name| config::is_manifest(manifest, &name.to_string_lossy()))
    })
}

/// Returns the entries with some files in another state.
fn with(
    snapshots: &Snapshots,
    mut entries: Entries,
    files: &[FileThen],
) -> Result<Entries, SnapshotError> {
    for (path, state) in files {
        match state {
            Some(state) => drop(entries.insert(path.clone(), snapshots.keep_file(state)?)),
            None => drop(entries.remove(path)),
        }
    }
    Ok(entries)
}

impl Copied for Copy {
    fn root(&self) -> &Path {
        &self.dir
    }

    fn linked(&self) -> &[PathBuf] {
        &self.linked
    }

    fn remove(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(on_a_thread(move || drop(tidy(&self.snapshots, &self.claim.dir, &[]))))
    }
}
