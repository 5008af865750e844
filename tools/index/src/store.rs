//! An index on disk: tantivy keeps the postings, and a manifest says of which files. It ranks nothing and reads no file of a
//! tree.
//!
//! Positions are numbers of lines. A commit of tantivy names the manifest that belongs to it, so both change together, and a
//! document is named by its path and content: what a reader finds is right whatever was written meanwhile.

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

use crate::definitions::{self, Definition};
use crate::document::Document;
use crate::manifest::{Entry, Manifest, ManifestError};
use crate::postings::Postings;
use crate::settled::{self, MAX_META_BYTES, META};
use crate::unsynced::Unsynced;

/// Memory of the writer; what does not fit is written as a part of its own.
const WRITER_BYTES: usize = 40 << 20;
/// Bytes that no manifest has.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;

/// Why there is no index.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is none.
    #[error("there is no index")]
    Missing,
    /// It is of no use, and is built anew.
    #[error("the index is of no use: {0}")]
    Unusable(#[from] ManifestError),
    /// Another process writes it.
    #[error("another process writes the index")]
    Locked,
    /// The system said no.
    #[error("the index cannot be read or written")]
    Io(#[from] io::Error),
    /// The library said no.
    #[error("the index cannot be read or written")]
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

/// An index that is read: as it was when it was opened.
pub(crate) struct Reading {
    /// What it holds.
    pub(crate) manifest: Manifest,
    /// Of what tantivy keeps as its own manifest.
    meta: FileHash,
    /// The files that are read, with their sizes.
    parts: Vec<(PathBuf, u64)>,
    searcher: Searcher,
    fields: Fields,
    /// The document at each place of each segment.
    ids: Vec<Vec<Option<u64>>>,
}

/// Which documents of a [`Reading`] stand for which files.
pub(crate) struct Places {
    by_segment: Vec<Vec<Option<u32>>>,
    by_file: HashMap<u32, DocAddress>,
}

impl Places {
    /// Whether the file has a document.
    pub(crate) fn has(&self, file: u32) -> bool {
        self.by_file.contains_key(&file)
    }
}

impl Reading {
    /// Opens what is in `dir`.
    pub(crate) fn open(dir: &Path) -> Result<Reading, StoreError> {
        if !dir.join(META).exists() {
            return Err(StoreError::Missing);
        }
        if !settled::is_sound(dir) {
            return Err(ManifestError::Damaged.into());
        }
        let meta = regular::read(&dir.join(META), MAX_META_BYTES)?;
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
        Ok(Reading { manifest, meta: FileHash::of(&meta), parts, searcher, fields, ids })
    }

    /// Whether `dir` still has just this. What is mapped into memory is not what was opened once a file is cut short.
    pub(crate) fn is_current(&self, dir: &Path) -> bool {
        let meta = regular::read(&dir.join(META), MAX_META_BYTES).ok();
        meta.is_some_and(|meta| FileHash::of(&meta) == self.meta)
            && self.parts.iter().all(|(path, bytes)| size(path) == Some(*bytes))
    }

    /// Finds the documents; `file_of` says the file of each that counts. Others do not exist.
    pub(crate) fn places(&self, file_of: &HashMap<u64, u32>) -> Places {
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
        Places { by_segment, by_file }
    }

    /// Adds where `word` stands.
    pub(crate) fn postings(
        &self,
        word: &str,
        places: &Places,
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

    /// The definitions of a file that has a document here.
    pub(crate) fn definitions(&self, file: u32, places: &Places) -> Option<Vec<Definition>> {
        let document: TantivyDocument = self.searcher.doc(*places.by_file.get(&file)?).ok()?;
        let text = document.get_first(self.fields.definitions)?;
        Some(definitions::read(text.as_str()?))
    }
}

/// An index that is written, by this process alone.
pub(crate) struct Writing {
    /// What it will hold.
    pub(crate) manifest: Manifest,
    /// What it held, if there was one.
    pub(crate) before: Option<Manifest>,
    dir: PathBuf,
    fields: Fields,
    writer: IndexWriter,
    _lock: File,
}

impl Writing {
    /// Opens what is in `dir` for writing, or begins anew where that is of no use.
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
        let (before, index) = match Reading::open(dir) {
            Ok(reading) => {
                settled::begin(dir)?;
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

    /// Takes in a file, in the place of what was known of it.
    pub(crate) fn put(
        &mut self,
        path: RepoPath,
        entry: Entry,
        document: Option<Document>,
    ) -> Result<(), StoreError> {
        self.remove(&path);
        if let Some(document) = document {
            let document = stored(self.fields, entry.id, document);
            self.writer.add_document(document)?;
        }
        self.manifest.entries.insert(path, entry);
        Ok(())
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, path: &RepoPath) {
        if let Some(entry) = self.manifest.entries.remove(path) {
            self.writer.delete_term(Term::from_field_u64(self.fields.id, entry.id));
        }
    }

    /// Makes everything until now what readers find.
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

    /// Waits until the parts are put together, and lets others write.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        Ok(self.writer.wait_merging_threads()?)
    }
}

fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|data| data.len())
}

/// Writes to the file, and says when that was by the clock that says when files are modified.
fn touched(file: &mut File) -> io::Result<i64> {
    file.write_all(b".")?;
    Ok(tree::modified(&file.metadata()?))
}

/// Deletes what is in `dir`. Threads of a writer that was dropped end in their own time, and may leave another file there.
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

/// What is not there is removed.
fn gone(removed: io::Result<()>) -> Result<(), StoreError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes lists of deleted documents that a writer which was killed left: the next one would give its own the same names, and
/// cannot.
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
    settled::begin(dir)?;
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
    stored.add_text(fields.definitions, definitions::write(&document.definitions));
    let tokens = document.words.into_iter().map(token).collect();
    stored.add_pre_tokenized_text(fields.words, PreTokenizedString { text: String::new(), tokens });
    stored
}
