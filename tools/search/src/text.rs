//! Searches text in files line by line with ripgrep's own libraries. It searches the given files and lists none itself.

use std::thread;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks};
use thiserror::Error;
use tools::encoding::decode;
use tree::{Entry, ListedFile, ReadTree, RepoPath};

/// Files searched before checking whether there are enough hits.
const BATCH_FILES: usize = 1024;
/// Number of files that are worth another thread.
const FILES_PER_THREAD: usize = 128;
/// More threads do not read faster from one disk.
const MAX_THREADS: usize = 8;

/// How a pattern is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// Every character stands for itself.
    Literal,
    /// A regular expression in the syntax of the regex crate; it never spans lines.
    Regex,
}

/// Limits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Maximum file size in bytes; larger files are skipped.
    pub file_bytes: u64,
    /// Maximum number of hits in one file.
    pub hits_per_file: usize,
    /// Maximum number of hits overall.
    pub hits: usize,
    /// Maximum length of a returned line in bytes; longer ones are cut at a character boundary.
    pub line_bytes: usize,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub path: RepoPath,
    /// The line number, from 1.
    pub line: usize,
    /// The line without its line ending, at most [`SearchLimits::line_bytes`] of it. Invalid UTF-8 is replaced.
    pub text: String,
}

/// A pattern that cannot be searched for.
#[derive(Debug, Error)]
#[error("`{pattern}` is not a pattern for one line")]
pub struct PatternError {
    pattern: String,
    #[source]
    source: grep_regex::Error,
}

/// Returns the matching lines of `files`, in the order of `files` and then by line.
///
/// Binary and unreadable files have no matches. The search is case-sensitive.
pub fn search(
    tree: &ReadTree,
    files: &[ListedFile],
    pattern: &str,
    kind: PatternKind,
    limits: &SearchLimits,
) -> Result<Vec<Hit>, PatternError> {
    let matcher = RegexMatcherBuilder::new()
        .fixed_strings(kind == PatternKind::Literal)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|source| PatternError { pattern: pattern.to_owned(), source })?;
    let mut hits = Vec::new();
    for batch in files.chunks(BATCH_FILES) {
        let found =
            in_parallel(batch, |searcher, file| hits_in(searcher, &matcher, tree, file, limits));
        hits.extend(found.into_iter().flatten());
        if hits.len() >= limits.hits {
            break;
        }
    }
    hits.truncate(limits.hits);
    Ok(hits)
}

fn hits_in(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    tree: &ReadTree,
    file: &ListedFile,
    limits: &SearchLimits,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    if limits.hits_per_file == 0 {
        return hits;
    }
    matching_lines(searcher, matcher, tree, file, limits.file_bytes, |line, text| {
        let text = text.get(..text.floor_char_boundary(limits.line_bytes)).unwrap_or(text);
        hits.push(Hit { path: file.path.clone(), line, text: text.to_owned() });
        hits.len() < limits.hits_per_file
    });
    hits
}

/// Calls `on_line` with every matching line of a text file and its number, until it returns false.
pub(super) fn matching_lines(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    tree: &ReadTree,
    file: &ListedFile,
    max_bytes: u64,
    mut on_line: impl FnMut(usize, &str) -> bool,
) {
    if file.bytes > max_bytes {
        return;
    }
    let Ok(Entry::File(state)) = tree.entry(&file.path, max_bytes) else { return };
    // Text with bytes that are not text is searched too.
    let text = match decode(&state.bytes) {
        Some(decoded) => decoded.text,
        None if state.bytes.contains(&0) => return,
        None => String::from_utf8_lossy(&state.bytes),
    };
    let sink = sinks::Lossy(|line, text| {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        Ok(on_line(line, text.trim_end_matches(['\n', '\r'])))
    });
    if let Err(error) = searcher.search_slice(matcher, text.as_bytes(), sink) {
        tracing::debug!(path = %file.path, %error, "cannot search a file");
    }
}

/// Returns the result of `work` for every file, in the order of `files`, on as many threads as are worthwhile.
pub(super) fn in_parallel<T: Send>(
    files: &[ListedFile],
    work: impl Fn(&mut Searcher, &ListedFile) -> T + Sync,
) -> Vec<T> {
    let on_this_thread = |files: &[ListedFile]| -> Vec<T> {
        let mut searcher = searcher();
        files.iter().map(|file| work(&mut searcher, file)).collect()
    };
    if files.len() < 2 * FILES_PER_THREAD {
        return on_this_thread(files);
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(files.len() / FILES_PER_THREAD);
    let share = files.len().div_ceil(threads);
    thread::scope(|scope| {
        let workers: Vec<_> = files
            .chunks(share)
            .map(|part| {
                let on_this_thread = &on_this_thread;
                scope.spawn(move || on_this_thread(part))
            })
            .collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn searcher() -> Searcher {
    SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::none()).build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tree::list_files;

    const LIMITS: SearchLimits =
        SearchLimits { file_bytes: 1000, hits_per_file: 2, hits: 5, line_bytes: 12 };

    fn found(
        root: &std::path::Path,
        pattern: &str,
        kind: PatternKind,
    ) -> Vec<(String, usize, String)> {
        let tree = ReadTree::open(root).unwrap();
        let files = list_files(root, 10_000).files;
        let hits = search(&tree, &files, pattern, kind, &LIMITS).unwrap();
        hits.into_iter().map(|hit| (hit.path.to_string(), hit.line, hit.text)).collect()
    }

    #[test]
    fn finds_lines_and_cuts_them_between_characters() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.txt"), "one\r\nf(x) 修复修复修复\nf(x)\nf(x)\n").unwrap();
        fs::write(home.path().join("b.bin"), b"f(x)\n\0\n").unwrap();
        fs::write(home.path().join("c.txt"), b"f(x) \xff").unwrap();
        fs::write(home.path().join("d.txt"), format!("f(x){}", "-".repeat(1000))).unwrap();

        let literal = found(home.path(), "f(x)", PatternKind::Literal);
        assert_eq!(
            literal,
            [
                ("a.txt".into(), 2, "f(x) 修复".into()),
                ("a.txt".into(), 3, "f(x)".into()),
                ("c.txt".into(), 1, "f(x) ÿ".into()),
            ]
        );
        assert_eq!(found(home.path(), "^o.e$", PatternKind::Regex).len(), 0);
        assert_eq!(found(home.path(), "^o.e\r?$", PatternKind::Regex).len(), 1);
        assert_eq!(found(home.path(), r"^f\(x\)$", PatternKind::Regex).len(), 2);
        assert!(found(home.path(), r"F\(X\)", PatternKind::Regex).is_empty());
    }

    #[test]
    fn a_pattern_over_lines_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let tree = ReadTree::open(home.path()).unwrap();
        for (pattern, kind) in [("a\nb", PatternKind::Literal), ("(", PatternKind::Regex)] {
            assert!(search(&tree, &[], pattern, kind, &LIMITS).is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn many_files_on_many_threads_keep_their_order() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..600 {
            fs::write(home.path().join(format!("f{number:03}")), format!("needle {number}"))
                .unwrap();
        }
        let files = list_files(home.path(), 10_000).files;
        let paths = in_parallel(&files, |_, file| file.path.to_string());
        assert_eq!(paths.len(), 600);
        assert!(paths.is_sorted());
        let first: Vec<usize> = (0..5).collect();
        let hits = found(home.path(), "needle", PatternKind::Literal);
        let numbers: Vec<usize> = hits
            .iter()
            .map(|(_, _, text)| text.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers, first);
    }
}
