//! Registers a directory as a git worktree of the private repository, so that git shows a lane's commands what has
//! changed. The user's repository is only read, for its history and its ignore rules.
//!
//! A directory without git is registered as well, to record that a lane is running, but git does not find the
//! registration.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::index::entry::{Flags, Mode};
use gix::index::{File, State};
use gix::objs::CommitRef;

use super::rules::lowered;
use crate::git_dirs::index_stat;
use crate::repository::UserRepository;
use crate::snapshot::objects::{Objects, Survives};
use crate::{Entries, FileHash, FileMode, KeptFile, RepoPath, SnapshotError, Snapshots};
use tools::clock::Timestamp;
use tools::regular::{self, MAX_NOTE_BYTES};

const DIR: &str = "worktrees";

/// File with the commit that the worktree started from. `HEAD` is not reliable, because commands may move it.
const BASE: &str = "base";

/// Turns off all conversions of line ends and content: trees hold the exact bytes of the files.
const ATTRIBUTES: &str = "* -text !eol !filter !ident !working-tree-encoding\n";

/// The registration of a worktree in the private repository.
pub(super) struct Registration {
    dir: PathBuf,
    /// The worktree.
    root: PathBuf,
}

/// Returns the paths of the registered worktrees, which may no longer exist.
pub(super) fn registered(snapshots: &Snapshots) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir(snapshots.dir().join(DIR)).into_iter().flatten().flatten();
    let root = |dir: PathBuf| {
        let gitdir = fs::read(dir.join("gitdir")).ok()?;
        Some(Path::new(OsStr::from_bytes(gitdir.trim_ascii_end())).parent()?.to_owned())
    };
    all.filter_map(move |entry| root(entry.path()))
}

impl Registration {
    /// Returns the registration of the worktree at `root`. Its name is unique, even if other worktrees have the same
    /// file name.
    pub(super) fn of(snapshots: &Snapshots, root: &Path) -> Registration {
        let hash = FileHash::of(root.as_os_str().as_bytes()).to_string();
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let hash: String = hash.chars().take(8).collect();
        Registration {
            dir: snapshots.dir().join(DIR).join(format!("{name}-{hash}")),
            root: root.to_owned(),
        }
    }

    /// Registers the worktree with `entries` as its base, on top of the user's last commit. Returns true if the user
    /// has a git repository.
    pub(super) fn make(
        &self,
        snapshots: &Snapshots,
        entries: &Entries,
        now: Timestamp,
    ) -> Result<bool, SnapshotError> {
        let _lock = snapshots.lock()?;
        let objects = snapshots.open_or_make()?;
        let theirs = snapshots.theirs();
        let lender = theirs.as_ref().filter(|theirs| theirs.lends());
        let head = lender.and_then(|it| it.repository.head_id().ok()).map(gix::Id::detach);
        let parent = head.filter(|head| objects.has(*head));
        let tree = objects.write_tree(entries, Survives::Death)?;
        let commit = base(&objects, tree, parent, now)?;
        let write = || {
            if self.dir.exists() {
                fs::remove_dir_all(&self.dir)?;
            }
            fs::create_dir_all(&self.dir)?;
            let dot_git = self.root.join(".git");
            fs::write(self.dir.join("gitdir"), line(&[dot_git.as_os_str().as_bytes()]))?;
            fs::write(self.dir.join("commondir"), "../..\n")?;
            self.point_to(commit)?;
            // Keeps git from pruning it before the directory exists.
            fs::write(self.dir.join("locked"), "a lane is running\n")?;
            if let Some(theirs) = &theirs {
                settings(snapshots, theirs)?;
            }
            Ok(())
        };
        write().map_err(|source| self.failed(source))?;
        Ok(theirs.is_some())
    }

    /// Makes git find the registration from `root`, which becomes the worktree.
    pub(super) fn link(&self, root: &Path) -> Result<(), SnapshotError> {
        let line = line(&[b"gitdir: ", self.dir.as_os_str().as_bytes()]);
        fs::write(root.join(".git"), line).map_err(|source| self.failed(source))
    }

    /// Makes `entries` the base, on top of the parent of the old base.
    pub(super) fn rebase(
        &self,
        snapshots: &Snapshots,
        entries: &Entries,
    ) -> Result<(), SnapshotError> {
        let objects = snapshots.open_or_make()?;
        let head = fs::read(self.dir.join(BASE)).map_err(|source| self.failed(source))?;
        let invalid = || self.failed(io::ErrorKind::InvalidData.into());
        let head = ObjectId::from_hex(head.trim_ascii_end()).map_err(|_| invalid())?;
        let old = objects.repo.find_object(head).map_err(|source| snapshots.unusable(source))?;
        let old = CommitRef::from_bytes(&old.data, head.kind()).map_err(|_| invalid())?;
        let seconds = old.committer().ok().and_then(|who| who.time().ok()).map(|time| time.seconds);
        let made = Timestamp::from_second(seconds.unwrap_or_default()).unwrap_or_default();
        let parent = old.parents().next();
        let tree = objects.write_tree(entries, Survives::Death)?;
        let commit = base(&objects, tree, parent, made)?;
        self.point_to(commit).map_err(|source| self.failed(source))
    }

    fn point_to(&self, commit: ObjectId) -> io::Result<()> {
        fs::write(self.dir.join(BASE), format!("{commit}\n"))?;
        fs::write(self.dir.join("HEAD"), format!("{commit}\n"))
    }

    /// Writes git's index of `files`. Git compares the content of files without metadata.
    pub(super) fn write_index<'a>(
        &self,
        files: impl Iterator<Item = (&'a RepoPath, KeptFile, Option<&'a Metadata>)>,
    ) -> Result<(), SnapshotError> {
        let mut state = State::new(gix::hash::Kind::Sha1);
        for (path, kept, data) in files {
            let mode = match kept.mode {
                FileMode::Regular => Mode::FILE,
                FileMode::Executable => Mode::FILE_EXECUTABLE,
                FileMode::Symlink => Mode::SYMLINK,
            };
            let stat = data.map(index_stat).unwrap_or_default();
            let path = path.as_str().as_bytes().as_bstr();
            state.dangerously_push_entry(stat, kept.id, Flags::empty(), mode, path);
        }
        state.sort_entries();
        let mut bytes = Vec::new();
        let options = gix::index::write::Options::default();
        let path = self.dir.join("index");
        let written = File::from_state(state, path.clone()).write_to(&mut bytes, options);
        written.map_err(|source| self.failed(io::Error::other(source)))?;
        fs::write(path, bytes).map_err(|source| self.failed(source))
    }

    /// Returns true if git finds the worktree.
    pub(super) fn is_git(&self) -> bool {
        self.dir.join("index").exists()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn failed(&self, source: io::Error) -> SnapshotError {
        SnapshotError::Io { path: self.dir.clone(), source }
    }
}

fn base(
    objects: &Objects,
    tree: ObjectId,
    parent: Option<ObjectId>,
    now: Timestamp,
) -> Result<ObjectId, SnapshotError> {
    objects.commit(tree, parent, "the base of a lane\n".to_owned(), now, Survives::Death)
}

/// Writes settings for git in every worktree: the user's ignore rules from outside the workspace, the shallow boundary
/// of the history, and that git must not repack or drop anything here.
fn settings(snapshots: &Snapshots, theirs: &UserRepository) -> io::Result<()> {
    let (dir, common) = (snapshots.dir(), theirs.repository.common_dir());
    fs::create_dir_all(dir.join("info"))?;
    write_if_new(&dir.join("info/exclude"), excludes(snapshots, theirs).as_bytes())?;
    write_if_new(&dir.join("info/attributes"), ATTRIBUTES.as_bytes())?;
    match regular::read_regular_file(&common.join("shallow"), MAX_NOTE_BYTES) {
        Ok(shallow) if theirs.lends() => write_if_new(&dir.join("shallow"), &shallow)?,
        Ok(_) | Err(_) if dir.join("shallow").exists() => fs::remove_file(dir.join("shallow"))?,
        Ok(_) | Err(_) => {}
    }
    let config = fs::read_to_string(dir.join("config"))?;
    if !config.contains("[gc]") {
        fs::write(dir.join("config"), config + "[gc]\n\tauto = 0\n")?;
    }
    Ok(())
}

/// Returns the rules of `info/exclude`, and those of ignore files above the workspace, which a worktree does not have.
fn excludes(snapshots: &Snapshots, theirs: &UserRepository) -> String {
    let read = |path: PathBuf| {
        let bytes = regular::read_regular_file(&path, MAX_NOTE_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let UserRepository { repository, top } = theirs;
    let below = snapshots.workspace.strip_prefix(top).unwrap_or(Path::new(""));
    let names: Vec<String> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = lowered(&read(repository.common_dir().join("info/exclude")), &names);
    let mut above = top.clone();
    for (depth, name) in names.iter().enumerate() {
        all += &lowered(&read(above.join(".gitignore")), names.get(depth..).unwrap_or_default());
        above.push(name);
    }
    all
}

fn write_if_new(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text)
}

fn line(parts: &[&[u8]]) -> Vec<u8> {
    [&parts.concat(), &b"\n"[..]].concat()
}
