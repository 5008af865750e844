//! The effect of reading the files that a mission or a program is about, as far as they fit.

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use index::{FileKind, Index};
use lanes::team::split::path_pattern::Pattern;
use search::BYTES_PER_TOKEN;
use tools::blocking::on_a_thread;
use tools::encoding::decode;
use tools::long_lines::shortened;
use tree::{Entry, ListedFile, ReadTree, RepoPath};

use crate::card::Coverage;
use crate::research::passage::SourceFile;

/// Ratio of a program's memory to the size of the files it is given.
const MEMORY_OF_FILES: u64 = 64;

/// The result of reading files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSources {
    /// The files: most relevant to the goal first; for a program, ordered by path.
    pub files: Vec<SourceFile>,
    /// How much of the workspace was read.
    pub coverage: Coverage,
}

/// Which files to read, as far as they fit.
#[derive(Debug, Clone)]
pub(crate) enum WantedFiles {
    /// All files, most relevant to this goal first.
    About(String),
    /// Files that match the patterns, or all if there are none; those that the program names first.
    Named { patterns: Vec<Pattern>, program: String },
}

/// The effect of reading files.
pub(crate) struct SourceReading<'r> {
    pub(crate) wanted: WantedFiles,
    pub(crate) index: &'r Index,
}

impl Effect for SourceReading<'_> {
    type Outcome = ReadSources;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<ReadSources> {
        let Event::SourcesRead { files, files_total, bytes, bytes_total, sources } = event else {
            return Trace::Absent;
        };
        let coverage = Coverage {
            files_seen: *files,
            files_total: *files_total,
            bytes_seen: *bytes,
            bytes_total: *bytes_total,
        };
        let files = serde_json::from_slice(&sources.content).unwrap_or_default();
        Trace::Done(ReadSources { files, coverage })
    }

    async fn act(&mut self, run: &Run) -> Result<ReadSources, JournalClosed> {
        let bounds = &run.config().missions;
        let room = match &self.wanted {
            WantedFiles::About(_) => bounds.source_tokens.saturating_mul(BYTES_PER_TOKEN),
            // No model reads these files; the limit is the program's memory.
            WantedFiles::Named { .. } => {
                usize::try_from((bounds.program_memory_mb << 20) / MEMORY_OF_FILES)
                    .unwrap_or(usize::MAX)
            }
        };
        let (index, wanted, asked_by) = (self.index.clone(), self.wanted.clone(), run.clone());
        let sources = on_a_thread(move || read(&index, &wanted, room, &asked_by)).await;
        let Coverage { files_seen, files_total, bytes_seen, bytes_total } = sources.coverage;
        // Texts can always be serialised.
        let json = serde_json::to_vec(&sources.files).unwrap_or_default();
        let read = Event::SourcesRead {
            files: files_seen,
            files_total,
            bytes: bytes_seen,
            bytes_total,
            sources: Blob::new(json),
        };
        run.record(read).await?;
        Ok(sources)
    }
}

/// The effect of reading files in their current state.
pub(crate) struct Rereading<'r> {
    pub(crate) paths: Vec<RepoPath>,
    pub(crate) index: &'r Index,
}

impl Effect for Rereading<'_> {
    type Outcome = Vec<SourceFile>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Vec<SourceFile>> {
        let Event::SourcesRead { sources, .. } = event else { return Trace::Absent };
        Trace::Done(serde_json::from_slice(&sources.content).unwrap_or_default())
    }

    async fn act(&mut self, run: &Run) -> Result<Vec<SourceFile>, JournalClosed> {
        let files_total = self.paths.len();
        let sources = read_now(run, self.index, self.paths.clone()).await;
        let bytes: u64 = sources.iter().map(|source| source.text.len() as u64).sum();
        let read = Event::SourcesRead {
            files: sources.len(),
            files_total,
            bytes,
            bytes_total: bytes,
            // Paths and texts can always be serialised.
            sources: Blob::new(serde_json::to_vec(&sources).unwrap_or_default()),
        };
        run.record(read).await?;
        Ok(sources)
    }
}

/// Reads files in their current state; those that are gone or may not be read are left out.
pub(crate) async fn read_now(run: &Run, index: &Index, paths: Vec<RepoPath>) -> Vec<SourceFile> {
    let (index, run) = (index.clone(), run.clone());
    on_a_thread(move || now(&index, &paths, &run)).await
}

/// Reads the wanted files. Blocks.
fn read(index: &Index, wanted: &WantedFiles, room: usize, run: &Run) -> ReadSources {
    let (listed, _) = index.files();
    let is_wanted = |path: &RepoPath| match wanted {
        WantedFiles::Named { patterns, .. } if !patterns.is_empty() => {
            patterns.iter().any(|pattern| pattern.matches(path))
        }
        WantedFiles::About(_) | WantedFiles::Named { .. } => FileKind::of(path) != FileKind::Aside,
    };
    let listed: Vec<ListedFile> = listed
        .into_iter()
        .filter(|file| is_wanted(&file.path))
        .filter(|file| file.bytes <= index.max_file_bytes() && index.may_read(&file.path))
        .collect();
    let (goal, ranked) = match wanted {
        WantedFiles::About(goal) => (goal.as_str(), index.rank(goal, &listed).files),
        WantedFiles::Named { program, .. } => (program.as_str(), Vec::new()),
    };
    let ranked: Vec<RepoPath> = ranked.into_iter().map(|file| file.path).collect();
    let most = run.config().missions.common_tokens.saturating_mul(BYTES_PER_TOKEN);
    let (mut files, mut left) = (Vec::new(), room);
    // Files that are not text do not count as readable.
    let (mut files_total, mut bytes_total) = (0, 0);
    for path in reading_order(goal, &listed, &ranked, most as u64) {
        let Some(text) = text_of(index.tree(), path, index.max_file_bytes()) else { continue };
        files_total += 1;
        bytes_total += text.len() as u64;
        // If a file does not fit, smaller ones after it may.
        if text.len() <= left {
            left -= text.len();
            let text = run.redactor.redact(&text).into_owned();
            files.push(SourceFile { path: path.clone(), text });
        }
    }
    // The order decides which files fit; a program gets them sorted by path.
    if matches!(wanted, WantedFiles::Named { .. }) {
        files.sort_by(|one, other| one.path.cmp(&other.path));
    }
    let coverage = Coverage {
        files_seen: files.len(),
        files_total,
        bytes_seen: (room - left) as u64,
        bytes_total,
    };
    ReadSources { files, coverage }
}

/// Orders files for reading: files that the goal names or that are in a directory it names, then the others, each by
/// rank; last come files of more than `most` bytes, each of which would take the space of many. Pure.
fn reading_order<'l>(
    goal: &str,
    listed: &'l [ListedFile],
    ranked: &[RepoPath],
    most: u64,
) -> Vec<&'l RepoPath> {
    let apart = |c: char| c.is_whitespace() || "`'\",;()".contains(c);
    let words = goal.split(apart).map(|word| word.trim_end_matches(['/', '.', ':', '?', '!']));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_below =
        |path: &str, word: &str| path.strip_prefix(word).is_some_and(|rest| rest.starts_with('/'));
    let place = |file: &&ListedFile| {
        let path = file.path.as_str();
        let is_large = file.bytes > most && !words.contains(&path);
        let is_named = words.iter().any(|word| *word == path || is_below(path, word));
        let rank = ranked.iter().position(|it| *it == file.path);
        (is_large, !is_named, rank.unwrap_or(usize::MAX))
    };
    let mut files: Vec<&ListedFile> = listed.iter().collect();
    files.sort_by_cached_key(place);
    files.into_iter().map(|file| &file.path).collect()
}

/// Returns a file's text; `None` if it is missing or not text. Blocks.
fn text_of(tree: &ReadTree, path: &RepoPath, max_bytes: u64) -> Option<String> {
    match tree.entry(path, max_bytes).ok()? {
        Entry::File(file) => Some(shortened(&decode(&file.bytes)?.text).into_owned()),
        Entry::Missing
        | Entry::Directory
        | Entry::Symlink
        | Entry::TooLarge { .. }
        | Entry::Other => None,
    }
}

/// Returns the current content of those files that exist and may be read. Blocks.
fn now(index: &Index, paths: &[RepoPath], run: &Run) -> Vec<SourceFile> {
    let readable = paths.iter().filter(|path| index.may_read(path));
    let source = |path: &RepoPath| {
        let text = text_of(index.tree(), path, index.max_file_bytes())?;
        Some(SourceFile { path: path.clone(), text: run.redactor.redact(&text).into_owned() })
    };
    readable.filter_map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_the_goal_are_read_first_and_large_files_last() {
        let path = |name: &str| RepoPath::parse(name).unwrap();
        let listed: Vec<ListedFile> =
            [("a.rs", 9), ("big.rs", 999), ("cli/b.rs", 9), ("lib/c.rs", 9), ("cli/d.rs", 9)]
                .map(|(name, bytes)| ListedFile { path: path(name), bytes, modified: 0 })
                .to_vec();
        let ranked = [path("big.rs"), path("cli/d.rs"), path("a.rs")];
        let order = |goal: &str| -> Vec<String> {
            reading_order(goal, &listed, &ranked, 100).iter().map(ToString::to_string).collect()
        };
        assert_eq!(order("look at it all"), ["cli/d.rs", "a.rs", "cli/b.rs", "lib/c.rs", "big.rs"]);
        assert_eq!(
            order("what of `lib/`, and of cli?"),
            ["cli/d.rs", "cli/b.rs", "lib/c.rs", "a.rs", "big.rs"]
        );
        assert_eq!(order("fix big.rs")[0], "big.rs");
    }
}
