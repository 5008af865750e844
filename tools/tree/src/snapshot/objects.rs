//! Reads and writes objects of the private repository: files and trees. Which ones is decided elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::objs::tree::{Entry, EntryKind, EntryMode};
use gix::objs::{Exists as _, Kind, Tree, TreeRefIter, Write as _, WriteTo as _};
use gix::odb::loose;

use super::kept::{Entries, KeptFile, SnapshotError};
use super::pack::Packs;
use crate::{FileMode, FileState, RepoPath};

/// What a written object has to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survives {
    /// A power cut: it is synced, and a damaged object left by an earlier power cut is written again.
    PowerCut,
    /// The death of this process.
    Death,
}

/// Permissions of an object's file: git's own for synced objects, and writable for objects that are not synced.
const SYNCED: u32 = 0o444;
const UNSYNCED: u32 = 0o644;

/// The objects of the repository, including borrowed ones.
pub(crate) struct Objects {
    pub(crate) repo: gix::Repository,
    /// Its own loose objects.
    pub(crate) own: loose::Store,
    /// Its own packs.
    pub(crate) packs: RefCell<Packs>,
    /// True while new objects go into a pack.
    packing: Cell<bool>,
    /// Like the repository's object store, but without a refresh on every miss: the user's repository may lack every
    /// object.
    known: gix::OdbHandle,
    dir: PathBuf,
}

/// Returns the directory that a path is in; empty at the top.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

impl Objects {
    pub(crate) fn new(repo: gix::Repository, dir: &Path) -> Self {
        let own = loose::Store::at(dir.join("objects"), gix::hash::Kind::Sha1);
        let packs = RefCell::new(Packs::of(dir.join("objects/pack")));
        let mut known = repo.objects.clone();
        known.refresh_never();
        Self { repo, own, packs, packing: Cell::new(false), known, dir: dir.to_owned() }
    }

    /// Returns true if the object exists, own or borrowed.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        self.packs.borrow().have(id) || self.known.exists(&id)
    }

    /// Returns true if the object is stored in this repository.
    pub(crate) fn owns(&self, id: ObjectId) -> bool {
        self.packs.borrow().have(id) || self.own.contains(&id)
    }

    /// Returns true if a blob is stored in this repository.
    pub(crate) fn owns_blob(&self, bytes: &[u8]) -> bool {
        self.id(Kind::Blob, bytes).is_ok_and(|id| self.owns(id))
    }

    /// Collects new objects in a pack until they are [settled](Self::settle). Otherwise many objects would mean many
    /// files and syncs.
    pub(crate) fn pack(&self) {
        self.packing.set(true);
    }

    /// Writes the collected objects. They are durable on return.
    pub(crate) fn settle(&self) -> Result<(), SnapshotError> {
        self.packing.set(false);
        self.packs.borrow_mut().write().map_err(|source| self.failed(source))
    }

    /// Stores a blob, unless it exists or can be borrowed.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<ObjectId, SnapshotError> {
        let id = self.id(Kind::Blob, bytes)?;
        if self.has(id) { Ok(id) } else { self.write_new(Kind::Blob, bytes, id) }
    }

    /// Stores a blob in this repository, so that no other repository can drop it.
    pub(crate) fn own_blob(&self, bytes: &[u8]) -> Result<ObjectId, SnapshotError> {
        self.own_object(Kind::Blob, bytes, Survives::PowerCut)
    }

    pub(crate) fn own_object(
        &self,
        kind: Kind,
        bytes: &[u8],
        survives: Survives,
    ) -> Result<ObjectId, SnapshotError> {
        let id = self.id(kind, bytes)?;
        // Packs are always synced.
        if self.packs.borrow().have(id) {
            return Ok(id);
        }
        match survives {
            Survives::Death if self.own.contains(&id) => Ok(id),
            Survives::Death => self.write_new(kind, bytes, id),
            Survives::PowerCut => {
                if !self.is_whole(id, bytes) {
                    self.write_new(kind, bytes, id)?;
                }
                if !self.packing.get() || self.own.contains(&id) {
                    self.sync_object(id)?;
                }
                Ok(id)
            }
        }
    }

    /// Writes a new object.
    fn write_new(&self, kind: Kind, bytes: &[u8], id: ObjectId) -> Result<ObjectId, SnapshotError> {
        if !self.packing.get() {
            return self.write_unsynced(kind, bytes, id);
        }
        let put = self.packs.borrow_mut().put(kind, bytes, id);
        put.map(|()| id).map_err(|source| self.failed(source))
    }

    /// Writes an object and marks it as not synced by making its file writable, which git's own object files never are.
    fn write_unsynced(
        &self,
        kind: Kind,
        bytes: &[u8],
        id: ObjectId,
    ) -> Result<ObjectId, SnapshotError> {
        self.write(kind, bytes, id)?;
        let path = self.own.object_path(&id);
        fs::set_permissions(&path, Permissions::from_mode(UNSYNCED))
            .map_err(|source| SnapshotError::Io { path, source })?;
        Ok(id)
    }

    /// Makes one of its own objects durable, unless it is marked as synced.
    fn sync_object(&self, id: ObjectId) -> Result<(), SnapshotError> {
        let path = self.own.object_path(&id);
        let synced = fs::metadata(&path).and_then(|data| {
            if data.permissions().mode() & 0o200 == 0 {
                return Ok(());
            }
            let file = fs::File::open(&path)?;
            file.sync_all()?;
            file.set_permissions(Permissions::from_mode(SYNCED))
        });
        synced.map_err(|source| SnapshotError::Io { path, source })
    }

    /// Returns true if the object is stored here with these bytes. A power cut may have truncated it; such a file is
    /// removed.
    fn is_whole(&self, id: ObjectId, bytes: &[u8]) -> bool {
        let mut buffer = Vec::new();
        let whole = self.own.contains(&id)
            && matches!(self.own.try_find(&id, &mut buffer), Ok(Some(found)) if found.data == bytes);
        if !whole {
            fs::remove_file(self.own.object_path(&id)).unwrap_or_default();
        }
        whole
    }

    /// Syncs a file or directory of the repository.
    pub(crate) fn sync(&self, name: &str) -> io::Result<()> {
        fs::File::open(self.dir.join(name))?.sync_all()
    }

    fn id(&self, kind: Kind, bytes: &[u8]) -> Result<ObjectId, SnapshotError> {
        gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, bytes)
            .map_err(|source| self.unusable(source))
    }

    fn write(&self, kind: Kind, bytes: &[u8], id: ObjectId) -> Result<ObjectId, SnapshotError> {
        tools::fault::point().map_err(|source| self.failed(source))?;
        self.own.write_buf_with_known_id(kind, bytes, id).map_err(|source| self.unusable(source))
    }

    /// Writes the tree of these entries, with all its subtrees: the deepest first, however deep they are.
    pub(crate) fn write_tree(
        &self,
        entries: &Entries,
        survives: Survives,
    ) -> Result<ObjectId, SnapshotError> {
        let mut directories = BTreeMap::from([("", Vec::new())]);
        for (path, KeptFile { mode, id }) in entries {
            let above = above(path.as_str());
            // A directory whose parent is known has all of its ancestors.
            let unknown = std::iter::successors(Some(above), |dir| {
                (!dir.is_empty()).then(|| self::above(dir))
            });
            let unknown: Vec<&str> =
                unknown.take_while(|dir| !directories.contains_key(dir)).collect();
            directories.extend(unknown.into_iter().map(|dir| (dir, Vec::new())));
            let mode = EntryMode::from(EntryKind::from(*mode));
            let entry = Entry { mode, filename: path.name().into(), oid: *id };
            directories.entry(above).or_default().push(entry);
        }
        loop {
            // A directory comes after its parent, so the last one has no others left in it.
            let (dir, mut entries) = directories.pop_last().unwrap_or_default();
            entries.sort();
            let mut bytes = Vec::new();
            Tree { entries }.write_to(&mut bytes).map_err(|source| self.failed(source))?;
            let oid = self.own_object(Kind::Tree, &bytes, survives)?;
            if dir.is_empty() {
                return Ok(oid);
            }
            let filename = dir.rsplit('/').next().unwrap_or(dir).into();
            let entry = Entry { mode: EntryKind::Tree.into(), filename, oid };
            directories.entry(above(dir)).or_default().push(entry);
        }
    }

    /// Returns the files and symlinks of a tree.
    pub(crate) fn tree(&self, id: ObjectId) -> Result<Entries, SnapshotError> {
        let mut found = BTreeMap::new();
        let mut open = vec![(String::new(), id)];
        while let Some((above, id)) = open.pop() {
            let tree = self.repo.find_object(id).map_err(|source| self.unusable(source))?;
            for entry in TreeRefIter::from_bytes(&tree.data, gix::hash::Kind::Sha1) {
                let entry = entry.map_err(|source| self.unusable(source))?;
                let Ok(name) = entry.filename.to_str() else { continue };
                let text = format!("{above}{name}");
                match FileMode::try_from(entry.mode.kind()) {
                    Ok(mode) => {
                        if let Ok(path) = RepoPath::parse(&text) {
                            found.insert(path, KeptFile { mode, id: entry.oid.to_owned() });
                        }
                    }
                    Err(EntryKind::Tree) => open.push((format!("{text}/"), entry.oid.to_owned())),
                    Err(_) => {}
                }
            }
        }
        Ok(found)
    }

    /// Returns a stored file or symlink.
    pub(crate) fn file(&self, path: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError> {
        Ok(FileState { bytes: self.content(path, kept)?.into(), mode: kept.mode })
    }

    /// Returns the stored bytes: the content of a file, or the target of a symlink.
    pub(crate) fn content(
        &self,
        path: &RepoPath,
        kept: KeptFile,
    ) -> Result<Vec<u8>, SnapshotError> {
        let found = self.repo.try_find_object(kept.id).map_err(|source| self.unusable(source))?;
        let object = found.ok_or_else(|| SnapshotError::Lost { path: path.clone() })?;
        Ok(object.detach().data)
    }

    pub(crate) fn failed(&self, source: io::Error) -> SnapshotError {
        SnapshotError::Io { path: self.dir.clone(), source }
    }

    pub(crate) fn unusable(&self, source: gix::Error) -> SnapshotError {
        SnapshotError::Repository { dir: self.dir.clone(), source: Box::new(source) }
    }
}

impl From<FileMode> for EntryKind {
    fn from(mode: FileMode) -> Self {
        match mode {
            FileMode::Regular => Self::Blob,
            FileMode::Executable => Self::BlobExecutable,
            FileMode::Symlink => Self::Link,
        }
    }
}

impl TryFrom<EntryKind> for FileMode {
    type Error = EntryKind;

    fn try_from(kind: EntryKind) -> Result<Self, EntryKind> {
        match kind {
            EntryKind::Blob => Ok(Self::Regular),
            EntryKind::BlobExecutable => Ok(Self::Executable),
            EntryKind::Link => Ok(Self::Symlink),
            EntryKind::Tree | EntryKind::Commit => Err(kind),
        }
    }
}
