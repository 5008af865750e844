//! What a request is about, found in an index and in the files that the index does not have as they are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use tree::{Entry, Listed, ReadTree, RepoPath};

use crate::bm25;
use crate::definitions::{Definition, definitions};
use crate::document::each_word;
use crate::history::History;
use crate::kind::FileKind;
use crate::manifest::Manifest;
use crate::postings::Postings;
use crate::rank::{self, FileFacts, Window};
use crate::store::{Places, Reading, StoreError};
use crate::update::text_of;
use crate::words;

/// Different words of a request that are looked for.
const MAX_WORDS: usize = 256;
/// Files whose names say only what they are in their directory.
const NAMELESS: [&str; 6] = ["mod", "lib", "main", "index", "__init__", "src"];
/// Bytes of text outside the index whose definitions are looked for, and that are searched at all.
pub(crate) const MAX_PARSED_BYTES: u64 = 1 << 20;
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// The files of a tree that a request is about.
#[derive(Default)]
pub struct Ranking {
    /// Best first.
    pub files: Vec<RankedFile>,
    /// Whether something was not there in time: earlier commits, definitions, or all of the text.
    pub partial: bool,
    source: Option<(Arc<Reading>, Places)>,
    numbers: HashMap<RepoPath, u32>,
}

/// A file that a request is about.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Where it is.
    pub path: RepoPath,
    /// What it is for.
    pub kind: FileKind,
    /// Windows of its lines with words of the request, best first.
    pub windows: Vec<Window>,
    /// Lines with such words, in order, and how much they say; only of the first files.
    pub lines: Vec<(u32, f64)>,
}

impl Ranking {
    /// The definitions of a file; its text is asked for if they are not in the index.
    pub fn definitions(
        &self,
        path: &RepoPath,
        text: impl FnOnce() -> Option<String>,
    ) -> Vec<Definition> {
        let known = self.source.as_ref().zip(self.numbers.get(path));
        let known = known.and_then(|((reading, places), file)| reading.definitions(*file, places));
        known.unwrap_or_else(|| text().map(|text| definitions(path, &text)).unwrap_or_default())
    }
}

/// Words that only hold a sentence together. No other word is too common to be looked for.
const FUNCTION_WORDS: &str = "\
    about all also an and any are as at be because been but by can could did do does doesn don for from \
    had has have here how however if in instead into is isn it its may me might must my no not now of on \
    only or other our out over own should so some such than that the their them then there these they \
    this those though thus to too up us very was we were what when where which while will with would you \
    your";

fn function_words() -> &'static HashSet<String> {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let mut stems = HashSet::new();
        words::each(FUNCTION_WORDS, |word| {
            stems.insert(word.to_owned());
        });
        stems
    });
    &STEMS
}

/// The words of a request, each once, as they are looked for.
pub(crate) fn words_of(request: &str) -> Vec<String> {
    let mut sought: Vec<String> = Vec::new();
    words::each(request, |word| {
        if function_words().contains(word) {
            return;
        }
        if sought.len() < MAX_WORDS && !sought.iter().any(|known| known == word) {
            sought.push(word.to_owned());
        }
    });
    sought
}

/// The files that are not as the manifest has them, and their bytes.
pub(crate) fn changed<'a>(
    manifest: Option<&Manifest>,
    files: &'a [Listed],
    max_bytes: u64,
) -> (Vec<&'a Listed>, u64) {
    let is_changed = |file: &&Listed| {
        manifest
            .is_none_or(|known| known.unchanged(&file.path, file.bytes, file.modified).is_none())
    };
    let changed: Vec<&Listed> = files.iter().filter(is_changed).collect();
    let bytes = changed.iter().map(|file| file.bytes).filter(|bytes| *bytes <= max_bytes).sum();
    (changed, bytes)
}

/// Ranks `files`, sorted by path, for a request.
pub(crate) fn rank(
    request: &str,
    tree: &ReadTree,
    files: &[Listed],
    max_bytes: u64,
    reading: Option<Arc<Reading>>,
    history: Option<&History>,
) -> Result<Ranking, StoreError> {
    let sought = words_of(request);
    let mut facts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut file_of = HashMap::new();
    let mut outside = Vec::new();
    for (file, number) in files.iter().zip(0..) {
        let known = reading
            .as_ref()
            .and_then(|reading| reading.manifest.unchanged(&file.path, file.bytes, file.modified));
        match known {
            Some(entry) if entry.words > 0 => {
                facts.insert(number, entry.words);
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
    let complete = search(tree, &outside, max_bytes, &sought, &mut postings, &mut facts);
    postings.iter_mut().for_each(Postings::sort);

    let weights: Vec<f64> =
        postings.iter().map(|found| bm25::idf(facts.len(), found.len())).collect();
    // From here on files are numbered without those that are no text.
    let listed: Vec<(u32, &Listed)> =
        files.iter().zip(0..).map(|(file, number)| (number, file)).collect();
    let facts_of: Vec<FileFacts> = listed
        .iter()
        .map(|(number, file)| FileFacts {
            kind: FileKind::of(&file.path),
            words: facts.get(number).copied().unwrap_or_default(),
            name: name_score(&file.path, &sought, &weights),
        })
        .collect();
    let by_path: HashMap<&str, u32> = listed
        .iter()
        .filter(|(number, _)| facts.contains_key(number))
        .map(|(number, file)| (file.path.as_str(), *number))
        .collect();
    let credits = history.map(|history| history.credits(&sought, &by_path));
    let ranked = rank::rank(&facts_of, facts.len(), &postings, &credits.unwrap_or_default());
    let named = ranked.into_iter().filter_map(|ranked| {
        let path = files.get(ranked.file as usize)?.path.clone();
        Some(RankedFile {
            kind: FileKind::of(&path),
            path,
            windows: ranked.windows,
            lines: ranked.lines,
        })
    });
    Ok(Ranking {
        files: named.collect(),
        partial: !complete || history.is_none(),
        numbers: file_of
            .values()
            .filter_map(|number| Some((files.get(*number as usize)?.path.clone(), *number)))
            .collect(),
        source,
    })
}

/// Adds what is in files outside the index; whether all of it was seen.
fn search(
    tree: &ReadTree,
    outside: &[(u32, &Listed)],
    max_bytes: u64,
    sought: &[String],
    postings: &mut [Postings],
    lengths: &mut BTreeMap<u32, u32>,
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
        let Ok(Entry::File(state)) = tree.entry(&listed.path, max_bytes) else { continue };
        let Some(text) = text_of(&state.bytes) else { continue };
        let defined = if seen <= MAX_PARSED_BYTES {
            definitions(&listed.path, text)
        } else {
            complete = false;
            Vec::new()
        };
        let mut length = 0_u32;
        let mut lines: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        each_word(&listed.path, text, &defined, |line, word| {
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
        if length > 0 {
            lengths.insert(*file, length);
        }
    }
    complete
}

/// How much the words of the file's name say, if all of them are sought: nothing otherwise.
fn name_score(path: &RepoPath, sought: &[String], weights: &[f64]) -> f64 {
    let stem = |name: &str| name.split_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut parts = path.as_str().rsplit('/');
    let name = parts.next().map(stem).unwrap_or_default();
    let mut above = || parts.find(|part| !NAMELESS.contains(part)).map(stem);
    let name = if NAMELESS.contains(&name.as_str()) { above().unwrap_or(name) } else { name };
    let (mut sum, mut any, mut all) = (0.0, false, true);
    words::each(&name, |word| {
        any = true;
        match sought.iter().zip(weights).find(|(known, _)| *known == word) {
            Some((_, weight)) => sum += weight,
            None => all = false,
        }
    });
    if any && all { sum } else { 0.0 }
}
