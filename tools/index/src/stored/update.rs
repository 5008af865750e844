//! Updates an index file by file. Only one thread of one process does this at a time.

use std::borrow::Cow;
use std::path::Path;

use tools::encoding::decode;
use tree::{Entry as Found, FileHash, ListedFile, ReadTree, RepoPath};

use crate::defined::document::{self, Document};
use crate::ranked::git;
use crate::ranked::history::GitHistory;
use crate::ranked::mentions::Mentions;
use crate::stored::manifest::ManifestEntry;
use crate::stored::store::{StoreError, Writing};

/// How much text to add before the first commit, in bytes, and before any later one. Each batch is twice as large as the one
/// before, so that a process that ends soon keeps most of what it has done, and a long update makes few commits.
const FIRST_BATCH_BYTES: u64 = 1 << 20;
const LARGEST_BATCH_BYTES: u64 = 16 << 20;

/// The result of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updated {
    /// Files that were added or re-read.
    pub added: usize,
    /// Files that no longer exist.
    pub removed: usize,
    /// Files that were up to date.
    pub kept: usize,
}

/// Updates the index in `dir` to cover `files`, which must be sorted by path. Calls `on_file` with the number of files
/// done, and ends if that returns false.
pub(crate) fn update(
    dir: &Path,
    tree: &ReadTree,
    files: &[ListedFile],
    max_file_bytes: u64,
    on_file: &mut dyn FnMut(usize) -> bool,
) -> Result<Updated, StoreError> {
    let mut writing = Writing::begin(dir)?;
    let before = writing.before.take();
    let is_new = before.is_none();
    let before = before.unwrap_or_default();
    let mut updated = Updated::default();
    let is_there = |path: &RepoPath| files.binary_search_by(|file| file.path.cmp(path)).is_ok();
    let gone: Vec<RepoPath> =
        before.entries.keys().filter(|path| !is_there(path)).cloned().collect();
    for path in gone {
        writing.remove_store(&path);
        updated.removed += 1;
    }
    let baseline = git::head(tree.root());
    let mut is_dirty = is_new || updated.removed > 0 || writing.manifest.baseline != baseline;
    writing.manifest.baseline = baseline;
    let (mut pending, mut batch) = (0, FIRST_BATCH_BYTES);
    for (file, done) in files.iter().zip(0..) {
        if !on_file(done) {
            break;
        }
        if before.unchanged(&file.path, file.bytes, file.modified).is_some() {
            updated.kept += 1;
            continue;
        }
        is_dirty = true;
        let (mut entry, text) = look(tree, file, max_file_bytes);
        match writing.manifest.entries.get_mut(&file.path) {
            Some(known) if known.id == entry.id && text.is_some() == (known.words > 0) => {
                known.modified = file.modified;
                updated.kept += 1;
                continue;
            }
            Some(_) | None => {}
        }
        let document = text.map(|text| Document::of(&file.path, &text));
        let words = document.as_ref().map_or(0, |document| document.words.len());
        entry.words = u32::try_from(words).unwrap_or(u32::MAX);
        writing.put(file.path.clone(), entry, document)?;
        updated.added += 1;
        pending += file.bytes;
        if pending >= batch {
            writing.commit()?;
            (pending, batch) = (0, LARGEST_BATCH_BYTES.min(2 * batch));
        }
    }
    on_file(files.len());
    if is_dirty {
        writing.commit()?;
    }
    writing.finish()?;
    Ok(updated)
}

/// Reads a file. Returns its entry, and its text if it is to be searched.
fn look(tree: &ReadTree, file: &ListedFile, max_bytes: u64) -> (ManifestEntry, Option<String>) {
    let content = match tree.entry(&file.path, max_bytes) {
        Ok(Found::File(state)) => Some(state.bytes),
        Ok(_) | Err(_) => None,
    };
    let hash = FileHash::of(content.as_deref().unwrap_or_default());
    let text = content.as_deref().and_then(text_of).map(Cow::into_owned);
    let id = document::id(&file.path, &hash);
    (ManifestEntry { bytes: file.bytes, modified: file.modified, hash, id, words: 0 }, text)
}

/// Returns `bytes` as text, unless they are binary.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    Some(decode(bytes)?.text)
}

/// Updates the stored history of the workspace, at `path`, and returns its index.
pub(crate) fn update_history(path: &Path, workspace: &Path) -> Result<Mentions, StoreError> {
    let tip = git::head(workspace).unwrap_or_default();
    if let Some(mentions) = read_mentions(path).filter(|mentions| mentions.tip == tip) {
        return Ok(mentions);
    }
    let known = read_history(path).unwrap_or_default();
    let history = git::read_history(workspace, known)
        .unwrap_or_else(|| GitHistory { tip, commits: Vec::new() });
    if let Some(above) = path.parent() {
        tools::regular::create_dir(above)?;
    }
    let mentions = Mentions::write(&history);
    write(path, &history.write())?;
    write(&path.with_extension(MENTIONS), &mentions)?;
    Ok(Mentions::read(mentions).unwrap_or_default())
}

fn write(path: &Path, text: &str) -> Result<(), StoreError> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The extension of the file with the index of the history next to it.
const MENTIONS: &str = "mentions";
const MAX_HISTORY_BYTES: u64 = 256 << 20;

/// Reads the history stored at `path`.
fn read_history(path: &Path) -> Option<GitHistory> {
    GitHistory::read(&tools::regular::read_text(path, MAX_HISTORY_BYTES).ok()?)
}

/// Reads the index of the history stored at `path`.
pub(crate) fn read_mentions(path: &Path) -> Option<Mentions> {
    let text = tools::regular::read_text(&path.with_extension(MENTIONS), MAX_HISTORY_BYTES);
    Mentions::read(text.ok()?)
}
