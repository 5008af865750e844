//! Writes many new objects to a few git packs, each written and synced as a whole. Objects are stored whole, never as
//! deltas.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::index;
use gix::zlib::Compression;
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use tools::fault;

/// Size at which a pack is written out, in bytes. The size limit of files keeps it below 4 GiB.
const FULL: usize = 32 << 20;
/// Offset of the first object, after the signature, the version and the object count.
const HEADER: usize = 12;

/// An object of the pack being filled.
struct Packed {
    id: ObjectId,
    crc: u32,
    offset: u32,
}

/// The packs of a repository: the existing ones and the one being filled.
pub(crate) struct Packs {
    dir: PathBuf,
    there: Vec<index::File>,
    /// Objects in the pack being filled and in those filled before.
    filled: HashSet<ObjectId>,
    objects: Vec<Packed>,
    bytes: Vec<u8>,
    deflate: Compress,
}

impl Packs {
    /// Opens the packs in `dir`, which may be missing.
    pub(crate) fn of(dir: PathBuf) -> Self {
        let there = paths(&dir, "idx").filter_map(|path| read(&path)).collect();
        let deflate = Compress::new(Compression::new(1).unwrap_or_default());
        let (objects, bytes) = (Vec::new(), Vec::new());
        Self { dir, there, filled: HashSet::new(), objects, bytes, deflate }
    }

    /// Returns the directory of the packs.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns true if one of the packs has the object.
    pub(crate) fn have(&self, id: ObjectId) -> bool {
        self.filled.contains(&id) || self.there.iter().any(|pack| pack.lookup(id).is_some())
    }

    /// Adds an object to the pack being filled. It can be read once the pack is written.
    pub(crate) fn put(&mut self, kind: Kind, data: &[u8], id: ObjectId) -> io::Result<()> {
        if self.bytes.is_empty() {
            self.bytes.resize(HEADER, 0);
        }
        let begin = self.bytes.len();
        let offset = u32::try_from(begin).map_err(io::Error::other)?;
        head(kind, data.len(), &mut self.bytes);
        let at = self.bytes.len();
        // Incompressible data grows by a few bytes per block.
        self.bytes.resize(at + data.len() + data.len() / 256 + 64, 0);
        self.deflate.reset();
        let room = self.bytes.get_mut(at..).unwrap_or_default();
        self.deflate.compress(data, room, FlushCompress::Finish).map_err(io::Error::other)?;
        if self.deflate.total_in() != data.len() as u64 {
            return Err(io::Error::other("a compressed object is larger than expected"));
        }
        let took = usize::try_from(self.deflate.total_out()).map_err(io::Error::other)?;
        self.bytes.truncate(at + took);
        let crc = crc32fast::hash(self.bytes.get(begin..).unwrap_or_default());
        self.objects.push(Packed { id, crc, offset });
        self.filled.insert(id);
        if self.bytes.len() < FULL { Ok(()) } else { self.write() }
    }

    /// Writes the pack being filled, unless it is empty. Durable on return.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let (mut pack, mut objects) =
            (std::mem::take(&mut self.bytes), std::mem::take(&mut self.objects));
        if objects.is_empty() {
            return Ok(());
        }
        let count = u32::try_from(objects.len()).map_err(io::Error::other)?;
        let header = [*b"PACK", 2_u32.to_be_bytes(), count.to_be_bytes()].concat();
        pack.splice(..HEADER, header);
        let sum = sum(&pack)?;
        pack.extend_from_slice(sum.as_slice());
        objects.sort_by_key(|object| object.id);
        let index = index(&objects, sum)?;
        fs::create_dir_all(&self.dir)?;
        // A pack counts only with its index, so the index is written last.
        for (end, bytes) in [("pack", &pack), ("idx", &index)] {
            let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
            file.write_all(bytes)?;
            fault::point()?;
            file.as_file().sync_all()?;
            file.persist(self.dir.join(format!("pack-{sum}.{end}")))?;
        }
        fault::point()?;
        File::open(&self.dir)?.sync_all()
    }

    /// Removes what only a crash can leave behind: temporary files, and packs without an index.
    pub(crate) fn drop_half_written(&self) {
        let half = paths(&self.dir, "pack").filter(|path| !path.with_extension("idx").exists());
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let temporary =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp"));
        for path in half.chain(temporary.map(|entry| entry.path())) {
            fs::remove_file(path).unwrap_or_default();
        }
    }

    /// Returns the written packs: the path of each index, and the objects in it.
    pub(crate) fn written(&self) -> Vec<(PathBuf, Vec<ObjectId>)> {
        let indices = paths(&self.dir, "idx").filter_map(|path| read(&path));
        let ids = |pack: &index::File| pack.iter().map(|entry| entry.oid).collect();
        indices.map(|pack| (pack.path().to_owned(), ids(&pack))).collect()
    }
}

/// Returns the size of a pack and its index on disk, in bytes.
pub(crate) fn size(index: &Path) -> u64 {
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |data| data.len());
    bytes(index) + bytes(&index.with_extension("pack"))
}

/// Removes a pack. Handles that are open stay readable.
pub(crate) fn drop_pack(index: &Path) -> io::Result<()> {
    fs::remove_file(index)?;
    fs::remove_file(index.with_extension("pack"))
}

fn paths(dir: &Path, end: &'static str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(move |path| path.extension().is_some_and(|it| it == end))
}

fn read(path: &Path) -> Option<index::File> {
    index::File::at(path, gix::hash::Kind::Sha1).ok()
}

/// Writes the kind and size of an object: four bits of the size in the first byte, seven in each following byte.
fn head(kind: Kind, bytes: usize, pack: &mut Vec<u8>) {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let (mut byte, mut rest) = ((kind << 4) | low(bytes, 4), bytes >> 4);
    while rest > 0 {
        pack.push(byte | 0x80);
        (byte, rest) = (low(rest, 7), rest >> 7);
    }
    pack.push(byte);
}

/// Returns the lowest `bits` bits of a number, at most seven.
fn low(number: usize, bits: u32) -> u8 {
    let [byte, ..] = number.to_le_bytes();
    byte & ((1 << bits) - 1)
}

/// Returns the index of a pack in format version 2.
fn index(objects: &[Packed], pack: ObjectId) -> io::Result<Vec<u8>> {
    let mut bytes = b"\xfftOc\x00\x00\x00\x02".to_vec();
    let mut below = 0;
    for first in 0..=u8::MAX {
        let more = objects.iter().skip(below).take_while(|it| it.id.first_byte() <= first);
        below += more.count();
        bytes.extend(u32::try_from(below).map_err(io::Error::other)?.to_be_bytes());
    }
    for object in objects {
        bytes.extend_from_slice(object.id.as_slice());
    }
    bytes.extend(objects.iter().flat_map(|object| object.crc.to_be_bytes()));
    bytes.extend(objects.iter().flat_map(|object| object.offset.to_be_bytes()));
    bytes.extend_from_slice(pack.as_slice());
    let sum = sum(&bytes)?;
    bytes.extend_from_slice(sum.as_slice());
    Ok(bytes)
}

fn sum(bytes: &[u8]) -> io::Result<ObjectId> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().map_err(io::Error::other)
}
