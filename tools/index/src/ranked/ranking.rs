//! Ranks files for a request, using an index, and the files themselves where the index is missing or outdated.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use tree::{Entry as Found, FileHash, ListedFile, ReadTree, RepoPath};

use crate::defined::definitions::{Definition, definitions_of_file};
use crate::defined::document::each_word;
use crate::defined::kind::FileKind;
use crate::ranked::bm25;
use crate::ranked::mentions::Mentions;
use crate::ranked::rank::{self, FileFacts, Window};
use crate::ranked::stems;
use crate::stored::manifest::{Manifest, ManifestEntry};
use crate::stored::postings::Postings;
use crate::stored::store::{IndexReading, StoreError, StorePlaces};
use crate::stored::update::text_of;

/// Maximum number of distinct words of a request to search for.
const MAX_WORDS: usize = 256;
/// A longer text before a colon is a sentence, not a scope, in bytes.
const MAX_SCOPE_BYTES: usize = 40;
/// File names that say nothing by themselves; the directory's name is used instead.
const NAMELESS: [&str; 6] = ["mod", "lib", "main", "index", "__init__", "src"];
/// Limits for text outside the index, in bytes: up to the first, definitions are found; up to the second, text is searched.
pub(crate) const MAX_PARSED_BYTES: u64 = 1 << 20;
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// The files of a tree that a request is about.
#[derive(Default)]
pub struct Ranking {
    /// The files, best first.
    pub files: Vec<RankedFile>,
    /// True if something was not available in time: earlier commits, definitions, or some of the text.
    pub partial: bool,
    /// Number of files that changed since they were indexed; they were read for this ranking.
    pub stale: usize,
    source: Option<(Arc<IndexReading>, StorePlaces)>,
}

/// A file that a request is about.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// The index of the file in the list of files.
    pub number: u32,
    /// The path of the file.
    pub path: RepoPath,
    /// The purpose of the file.
    pub kind: FileKind,
    /// Windows that contain words of the request, best first.
    pub windows: Vec<Window>,
    /// Lines that contain such words, in order, with their weights; only for the first files.
    pub lines: Vec<(u32, f64)>,
}

impl Ranking {
    pub(crate) fn of_stale(self, stale: usize) -> Self {
        Self { stale, ..self }
    }

    /// Returns the definitions of a file. Calls `text` if they are not in the index.
    pub fn definitions(
        &self,
        file: &RankedFile,
        text: impl FnOnce() -> Option<String>,
    ) -> Vec<Definition> {
        let known = self.source.as_ref();
        let known = known.and_then(|(reading, places)| reading.definitions(file.number, places));
        known.unwrap_or_else(|| {
            text().map(|text| definitions_of_file(&file.path, &text)).unwrap_or_default()
        })
    }

    /// Returns the hash of a file, if it is up to date in the index.
    pub fn hash(&self, file: &RankedFile) -> Option<FileHash> {
        let (reading, places) = self.source.as_ref()?;
        let entry = reading.manifest.entries.get(&file.path);
        entry.filter(|_| places.has(file.number)).map(|entry| entry.hash)
    }
}

/// Function words, which are not searched for. All other words are, however common.
const FUNCTION_WORDS: &str = "\
    about all also an and any are as at be because been but by can could did do does doesn don for from \
    had has have here how however if in instead into is isn it its may me might must my no not now of on \
    only or other our out over own should so some such than that the their them then there these they \
    this those though thus to too up us very was we were what when where which while will with would you \
    your";

fn function_words() -> &'static HashSet<String> {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let mut stems = HashSet::new();
        stems::each(FUNCTION_WORDS, |word| {
            stems.insert(word.to_owned());
        });
        stems
    });
    &STEMS
}

/// Returns the distinct words of a request, stemmed for the search.
pub(crate) fn words_of(request: &str) -> Vec<String> {
    let mut sought: Vec<String> = Vec::new();
    stems::each(request, |word| {
        if function_words().contains(word) {
            return;
        }
        if sought.len() < MAX_WORDS && !sought.iter().any(|known| known == word) {
            sought.push(word.to_owned());
        }
    });
    sought
}

/// Returns the words before the colon of a request like `pager: …`. They name its subject, so in a path they weigh as
/// much as the rarest word.
fn scope(request: &str) -> HashSet<String> {
    let mut scope = HashSet::new();
    let first = request.trim_start().lines().next().and_then(|line| line.split_once(": "));
    if let Some((about, _)) = first.filter(|(about, _)| about.len() <= MAX_SCOPE_BYTES) {
        stems::each(about, |word| {
            scope.insert(word.to_owned());
        });
    }
    scope
}

/// Returns the manifest's entry for each file that is unchanged.
fn known<'m>(
    manifest: Option<&'m Manifest>,
    files: &[ListedFile],
) -> Vec<Option<&'m ManifestEntry>> {
    let none = || files.iter().map(|_| None).collect();
    manifest.map_or_else(none, |manifest| manifest.unchanged_among(files))
}

/// Returns the files that differ from the manifest, and their total size in bytes.
pub(crate) fn changed_files<'a>(
    manifest: Option<&Manifest>,
    files: &'a [ListedFile],
    max_bytes: u64,
) -> (Vec<&'a ListedFile>, u64) {
    let changed = known(manifest, files).into_iter().zip(files);
    let changed: Vec<&ListedFile> =
        changed.filter_map(|(known, file)| known.is_none().then_some(file)).collect();
    let bytes = changed.iter().map(|file| file.bytes).filter(|bytes| *bytes <= max_bytes).sum();
    (changed, bytes)
}

/// Ranks `files`, which must be sorted by path, for a request.
pub(crate) fn rank_for_request(
    request: &str,
    tree: &ReadTree,
    files: &[ListedFile],
    max_bytes: u64,
    reading: Option<Arc<IndexReading>>,
    history: Option<&Mentions>,
) -> Result<Ranking, StoreError> {
    let sought = words_of(request);
    // The number of words in each file; zero means that it is not text.
    let mut lengths = vec![0_u32; files.len()];
    let mut file_of = HashMap::new();
    let mut outside = Vec::new();
    let manifest = reading.as_ref().map(|reading| &reading.manifest);
    let known = known(manifest, files);
    for (((file, known), length), number) in files.iter().zip(known).zip(&mut lengths).zip(0..) {
        match known {
            Some(entry) if entry.words > 0 => {
                *length = entry.words;
                file_of.insert(entry.id, number);
            }
            Some(_) => {}
            None => outside.push((number, file)),
        }
    }
    let mut postings = vec![Postings::default(); sought.len()];
    let source = reading.map(|reading| {
        let places = reading.places(&file_of);
        (reading, places)
    });
    if let Some((reading, places)) = &source {
        for (word, postings) in sought.iter().zip(&mut postings) {
            reading.postings(word, places, postings)?;
        }
    }
    let complete = search(tree, &outside, max_bytes, &sought, &mut postings, &mut lengths);
    let texts = lengths.iter().filter(|length| **length > 0).count();
    postings.iter_mut().for_each(Postings::sort);

    let scope = scope(request);
    let weights = sought.iter().zip(&postings).map(|(word, found)| {
        let having = if scope.contains(word) { 1 } else { found.len() };
        bm25::idf(texts, having)
    });
    let weights: Vec<f64> = weights.collect();
    let mut in_path = vec![0.0; files.len()];
    for (found, weight) in postings.iter().zip(&weights) {
        // Words of a path are on line 0.
        for (file, _) in found.iter().filter(|(_, lines)| lines.first() == Some(&0)) {
            if let Some(sum) = in_path.get_mut(file as usize) {
                *sum += weight;
            }
        }
    }
    let facts_of = files.iter().zip(&lengths).zip(in_path).map(|((file, words), path)| FileFacts {
        kind: FileKind::of_size(&file.path, file.bytes),
        words: *words,
        name: if path > 0.0 { name_score(&file.path, &sought, &weights) } else { 0.0 },
        path,
    });
    let facts_of: Vec<FileFacts> = facts_of.collect();
    let credits = history.map(|history| history.credits(&sought, files, &lengths));
    let ranked = rank::rank_files(&facts_of, texts, &postings, &credits.unwrap_or_default());
    let named = ranked.into_iter().filter_map(|ranked| {
        let number = ranked.file as usize;
        Some(RankedFile {
            number: ranked.file,
            kind: facts_of.get(number)?.kind,
            path: files.get(number)?.path.clone(),
            windows: ranked.windows,
            lines: ranked.lines,
        })
    });
    Ok(Ranking {
        files: named.collect(),
        partial: !complete || history.is_none(),
        source,
        ..Ranking::default()
    })
}

/// Searches files outside the index. Returns whether all of their text and definitions were covered.
fn search(
    tree: &ReadTree,
    outside: &[(u32, &ListedFile)],
    max_bytes: u64,
    sought: &[String],
    postings: &mut [Postings],
    lengths: &mut [u32],
) -> bool {
    let number: HashMap<&str, usize> =
        sought.iter().zip(0..).map(|(word, at)| (word.as_str(), at)).collect();
    let mut seen = 0;
    let mut complete = true;
    for (file, listed) in outside.iter().filter(|(_, listed)| listed.bytes <= max_bytes) {
        if seen + listed.bytes > MAX_SEARCHED_BYTES {
            complete = false;
            continue;
        }
        seen += listed.bytes;
        let Ok(Found::File(state)) = tree.entry(&listed.path, max_bytes) else { continue };
        let Some(text) = text_of(&state.bytes) else { continue };
        let defined = if seen <= MAX_PARSED_BYTES {
            definitions_of_file(&listed.path, &text)
        } else {
            complete = false;
            Vec::new()
        };
        let mut length = 0_u32;
        let mut lines: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        each_word(&listed.path, &text, &defined, |line, word| {
            length = length.saturating_add(1);
            if let Some(at) = number.get(word) {
                lines.entry(*at).or_default().push(line);
            }
        });
        for (at, mut found) in lines {
            found.sort_unstable();
            if let Some(postings) = postings.get_mut(at) {
                postings.add(*file, |lines| lines.extend(found));
            }
        }
        if let Some(known) = lengths.get_mut(*file as usize) {
            *known = length;
        }
    }
    complete
}

/// Returns the total weight of the words in the file's name if all of them are sought, otherwise zero.
fn name_score(path: &RepoPath, sought: &[String], weights: &[f64]) -> f64 {
    let stem = |name: &str| name.split_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut parts = path.as_str().rsplit('/');
    let name = parts.next().map(stem).unwrap_or_default();
    let mut above = || parts.find(|part| !NAMELESS.contains(part)).map(stem);
    let name = if NAMELESS.contains(&name.as_str()) { above().unwrap_or(name) } else { name };
    let (mut sum, mut any, mut all) = (0.0, false, true);
    stems::each(&name, |word| {
        any = true;
        if !all {
            return;
        }
        match sought.iter().zip(weights).find(|(known, _)| *known == word) {
            Some((_, weight)) => sum += weight,
            None => all = false,
        }
    });
    if any && all { sum } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_before_a_colon_is_the_scope() {
        let of = |request: &str| {
            let mut words: Vec<String> = scope(request).into_iter().collect();
            words.sort();
            words.join(" ")
        };
        assert_eq!(of("Pager: turn the page\nread: no"), "pager");
        assert_eq!(of("\nfeat(page_list): turn"), "feat list pag");
        assert_eq!(of("see std::fs:read"), "");
        assert_eq!(of("When I turn the first page of a long book this comes: error"), "");
    }

    #[test]
    fn a_file_name_from_the_scope_weighs_as_much_as_the_rarest_word() {
        let home = tempfile::tempdir().unwrap();
        for name in ["list", "page", "read"] {
            let text = "fn list() {}\nfn read() {}\n";
            std::fs::write(home.path().join(format!("{name}.rs")), text).unwrap();
        }
        let tree = ReadTree::open(home.path()).unwrap();
        let files = tree::list_files(home.path(), 9).files;
        let order = |request: &str| -> Vec<String> {
            let ranking = rank_for_request(request, &tree, &files, 999, None, None).unwrap();
            ranking.files.iter().map(|file| file.path.to_string()).collect()
        };
        assert_eq!(order("read a list or a page").first().unwrap(), "page.rs");
        assert_eq!(order("list: read a page or a list").first().unwrap(), "list.rs");
    }
}
