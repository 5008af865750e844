//! The index on disk: tantivy stores the postings, and a manifest lists the files they cover. Does not rank, and does
//! not read the files of a tree.
//!
//! Tantivy's token positions are used for line numbers. Each tantivy commit names its manifest, so both change
//! atomically. A document's id is derived from its path and content, so a reader's results are correct whatever is
//! written concurrently.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tantivy::columnar::Column;
use tantivy::directory::MmapDirectory;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::postings::Postings as _;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
    Value as _,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    DocAddress, DocSet as _, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TERMINATED,
    TantivyDocument, Term,
};
use thiserror::Error;
use tools::regular;
use tree::{FileHash, RepoPath};

use crate::defined::definitions::{self, Definition};
use crate::defined::document::Document;
use crate::stored::manifest::{Manifest, ManifestEntry, ManifestError};
use crate::stored::postings::Postings;
use crate::stored::settled::{self, MAX_META_BYTES, META};
use crate::stored::unsynced::Unsynced;

/// Memory of the writer, in bytes; what does not fit becomes a segment of its own.
const WRITER_BYTES: usize = 40 << 20;
/// Upper bound for the size of a manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;

/// Why an index cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no index.
    #[error("there is no index")]
    Missing,
    /// The index is unusable and will be rebuilt.
    #[error("the index is unusable: {0}")]
    Unusable(#[from] ManifestError),
    /// Another process is writing it.
    #[error("another process is writing the index")]
    Locked,
    /// An I/O error.
    #[error("cannot read or write the index")]
    Io(#[from] io::Error),
    /// An error of tantivy.
    #[error("cannot read or write the index")]
    Library(#[from] tantivy::TantivyError),
}

/// The fields of a document.
#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    words: Field,
    definitions: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        id: builder.add_u64_field("id", INDEXED | FAST),
        words: builder.add_text_field("words", TextOptions::default().set_indexing_options(words)),
        definitions: builder.add_text_field("definitions", STORED),
    };
    (builder.build(), fields)
}

/// An index open for reading, as it was when it was opened.
pub(crate) struct IndexReading {
    /// The files in the index.
    pub(crate) manifest: Manifest,
    /// The hash of tantivy's own manifest.
    meta: FileHash,
    /// The files of the index on disk, with their sizes.
    parts: Vec<(PathBuf, u64)>,
    searcher: Searcher,
    fields: Fields,
    /// The document ids in each segment, by position; `None` for deleted documents.
    ids: Vec<Vec<Option<u64>>>,
}

/// Maps documents of a [`Reading`] to files, and back.
pub(crate) struct StorePlaces {
    by_segment: Vec<Vec<Option<u32>>>,
    by_file: HashMap<u32, DocAddress>,
}

impl StorePlaces {
    /// Returns whether the file has a document.
    pub(crate) fn has(&self, file: u32) -> bool {
        self.by_file.contains_key(&file)
    }
}

impl IndexReading {
    /// Opens the index in `dir`.
    pub(crate) fn open(dir: &Path) -> Result<IndexReading, StoreError> {
        if !dir.join(META).exists() {
            return Err(StoreError::Missing);
        }
        if !settled::is_sound(dir) {
            return Err(ManifestError::Damaged.into());
        }
        let meta = regular::read_regular_file(&dir.join(META), MAX_META_BYTES)?;
        let index =
            tantivy::Index::open(MmapDirectory::open(dir).map_err(tantivy::TantivyError::from)?)?;
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(ManifestError::OtherVersion.into());
        }
        let name = index.load_metas()?.payload.ok_or(StoreError::Missing)?;
        let path = dir.join(Path::new(&name).file_name().ok_or(ManifestError::Damaged)?);
        let text = match regular::read_text(&path, MAX_MANIFEST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ManifestError::Damaged.into());
            }
            Err(error) => return Err(error.into()),
        };
        let manifest = Manifest::read(&text)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher: Searcher = tantivy::IndexReader::searcher(&reader);
        let mut ids = Vec::new();
        for segment in searcher.segment_readers() {
            let column: Column<u64> = segment.fast_fields().u64("id")?;
            let alive = |doc| segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc));
            let docs = 0..segment.max_doc();
            ids.push(docs.map(|doc| column.first(doc).filter(|_| alive(doc))).collect());
        }
        let segments: Vec<String> =
            index.searchable_segment_ids()?.iter().map(SegmentId::uuid_string).collect();
        let mut parts = Vec::new();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_read = segments.iter().any(|segment| name.starts_with(segment.as_str()));
            parts.extend(size(&path).filter(|_| is_read).map(|bytes| (path, bytes)));
        }
        Ok(IndexReading { manifest, meta: FileHash::of(&meta), parts, searcher, fields, ids })
    }

    /// Returns whether `dir` still has exactly this index. Sizes are checked as well, since truncating a file changes
    /// its memory map.
    pub(crate) fn is_current(&self, dir: &Path) -> bool {
        let meta = regular::read_regular_file(&dir.join(META), MAX_META_BYTES).ok();
        meta.is_some_and(|meta| FileHash::of(&meta) == self.meta)
            && self.parts.iter().all(|(path, bytes)| size(path) == Some(*bytes))
    }

    /// Locates documents; `file_of` maps the ids of the relevant ones to their files. All others are ignored.
    pub(crate) fn places(&self, file_of: &HashMap<u64, u32>) -> StorePlaces {
        let mut by_file = HashMap::new();
        let mut by_segment = Vec::new();
        for (ids, segment) in self.ids.iter().zip(0..) {
            let mut places = Vec::with_capacity(ids.len());
            for (id, doc) in ids.iter().zip(0..) {
                let file = id.and_then(|id| file_of.get(&id).copied());
                let is_new = |file: &u32| {
                    let address = DocAddress::new(segment, doc);
                    *by_file.entry(*file).or_insert(address) == address
                };
                places.push(file.filter(is_new));
            }
            by_segment.push(places);
        }
        StorePlaces { by_segment, by_file }
    }

    /// Adds the occurrences of `word`.
    pub(crate) fn postings(
        &self,
        word: &str,
        places: &StorePlaces,
        postings: &mut Postings,
    ) -> Result<(), StoreError> {
        let term = Term::from_field_text(self.fields.words, word);
        for (segment, places) in self.searcher.segment_readers().iter().zip(&places.by_segment) {
            let inverted = segment.inverted_index(self.fields.words)?;
            let found = inverted.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)?;
            let Some(mut found) = found else { continue };
            let mut doc = found.doc();
            while doc != TERMINATED {
                if let Some(file) = places.get(doc as usize).copied().flatten() {
                    postings.add(file, |lines| found.append_positions_with_offset(0, lines));
                }
                doc = found.advance();
            }
        }
        Ok(())
    }

    /// Returns the definitions of a file, if it has a document.
    pub(crate) fn definitions(&self, file: u32, places: &StorePlaces) -> Option<Vec<Definition>> {
        let document: TantivyDocument = self.searcher.doc(*places.by_file.get(&file)?).ok()?;
        let text = document.get_first(self.fields.definitions)?;
        Some(definitions::read_definitions(text.as_str()?))
    }
}

/// An index open for writing, exclusively for this process.
pub(crate) struct Writing {
    /// The files that it will contain.
    pub(crate) manifest: Manifest,
    /// The files that it contained before, if it existed.
    pub(crate) before: Option<Manifest>,
    dir: PathBuf,
    fields: Fields,
    writer: IndexWriter,
    _lock: File,
}

impl Writing {
    /// Opens the index in `dir` for writing, or creates a new one if it is unusable.
    pub(crate) fn begin(dir: &Path) -> Result<Writing, StoreError> {
        if let Some(above) = dir.parent() {
            regular::create_dir(above)?;
        }
        let mut lock = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .open(dir.with_extension("lock"))?;
        let started = touched(&mut lock)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => StoreError::Locked,
            fs::TryLockError::Error(error) => error.into(),
        })?;
        let (before, index) = match IndexReading::open(dir) {
            Ok(reading) => {
                settled::begin_writing(dir)?;
                (Some(reading.manifest), tantivy::Index::open(Unsynced::open(dir)?)?)
            }
            Err(_) => (None, create(dir)?),
        };
        remove_left(&index, dir)?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        let manifest = Manifest { started, ..before.clone().unwrap_or_default() };
        Ok(Writing {
            manifest,
            before,
            dir: dir.to_owned(),
            fields: schema().1,
            writer,
            _lock: lock,
        })
    }

    /// Adds a file, replacing its previous version.
    pub(crate) fn put(
        &mut self,
        path: RepoPath,
        entry: ManifestEntry,
        document: Option<Document>,
    ) -> Result<(), StoreError> {
        self.remove_store(&path);
        if let Some(document) = document {
            let document = stored(self.fields, entry.id, document);
            self.writer.add_document(document)?;
        }
        self.manifest.entries.insert(path, entry);
        Ok(())
    }

    /// Removes a file.
    pub(crate) fn remove_store(&mut self, path: &RepoPath) {
        if let Some(entry) = self.manifest.entries.remove(path) {
            self.writer.delete_term(Term::from_field_u64(self.fields.id, entry.id));
        }
    }

    /// Makes all changes so far visible to readers.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        let text = self.manifest.write();
        let name = format!("manifest-{:.16}", FileHash::of(text.as_bytes()).to_string());
        let half = self.dir.join("manifest-half");
        let mut file = regular::create(&half)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&half, self.dir.join(&name))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&name);
        prepared.commit()?;
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let old = entry.file_name();
            if old.to_string_lossy().starts_with("manifest-") && *old != *name {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Waits for segment merges, and releases the lock.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        Ok(self.writer.wait_merging_threads()?)
    }
}

fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|data| data.len())
}

/// Writes to the file and returns its modification time, which comes from the same clock as those of the indexed files.
fn touched(file: &mut File) -> io::Result<i64> {
    file.write_all(b".")?;
    Ok(tree::modified(&file.metadata()?))
}

/// Deletes `dir`. Retries, because threads of a dropped writer may still add files to it.
pub(crate) fn remove(dir: &Path) -> Result<(), StoreError> {
    const TRIES: usize = 100;
    for _ in 1..TRIES {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::yield_now();
            }
            removed => return gone(removed),
        }
    }
    gone(fs::remove_dir_all(dir))
}

/// Treats a missing directory as removed.
fn gone(removed: io::Result<()>) -> Result<(), StoreError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes lists of deleted documents left by a killed writer. The next writer would create files of the same names,
/// and fail.
fn remove_left(index: &tantivy::Index, dir: &Path) -> Result<(), StoreError> {
    let named = |segment: &SegmentMeta| {
        segment.delete_opstamp().map(|at| format!("{}.{at}.del", segment.id().uuid_string()))
    };
    let known: Vec<String> = index.searchable_segment_metas()?.iter().filter_map(named).collect();
    for entry in fs::read_dir(dir)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_list = path.extension().is_some_and(|extension| extension == "del");
        if is_list && !known.iter().any(|known| name == known.as_str()) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn create(dir: &Path) -> Result<tantivy::Index, StoreError> {
    remove(dir)?;
    regular::create_dir(dir)?;
    settled::begin_writing(dir)?;
    let settings =
        IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
    Ok(tantivy::Index::create(Unsynced::open(dir)?, schema().0, settings)?)
}

fn stored(fields: Fields, id: u64, document: Document) -> TantivyDocument {
    let token = |(line, text): (u32, String)| Token {
        offset_from: 0,
        offset_to: 0,
        position: line as usize,
        text,
        position_length: 1,
    };
    let mut stored = TantivyDocument::new();
    stored.add_u64(fields.id, id);
    stored.add_text(fields.definitions, definitions::write_definitions(&document.definitions));
    let tokens = document.words.into_iter().map(token).collect();
    stored.add_pre_tokenized_text(fields.words, PreTokenizedString { text: String::new(), tokens });
    stored
}
