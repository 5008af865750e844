//! The effect of reading the files that a mission or a program is about, as far as there is room.

use actors::closed::JournalClosed;
use actors::effect::{Effect, Trace};
use actors::event::{Blob, Event};
use actors::run::Run;
use index::{FileKind, Index};
use lanes::pattern::Pattern;
use search::BYTES_PER_TOKEN;
use tools::blocking::on_a_thread;
use tree::{Entry, Listed, ReadTree, RepoPath};

use crate::card::Coverage;
use crate::passage::SourceFile;

/// How much more memory a program may take than the files that it is given.
const MEMORY_OF_FILES: u64 = 64;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSources {
    /// The files, those that matter most for a goal first; for a program in the order of paths.
    pub files: Vec<SourceFile>,
    /// How much of the workspace that is.
    pub coverage: Coverage,
}

/// Which files are read, as far as there is room.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// Those that matter most for a goal come first.
    About(String),
    /// Those that patterns stand for; all where there are none. Those that a program names come first.
    Named { patterns: Vec<Pattern>, program: String },
}

/// The effect of reading files.
pub(crate) struct Reading<'r> {
    pub(crate) wanted: Wanted,
    pub(crate) index: &'r Index,
}

impl Effect for Reading<'_> {
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
            Wanted::About(_) => bounds.source_tokens.saturating_mul(BYTES_PER_TOKEN),
            // No model reads these: what counts is what the program holds.
            Wanted::Named { .. } => {
                usize::try_from((bounds.program_memory_mb << 20) / MEMORY_OF_FILES)
                    .unwrap_or(usize::MAX)
            }
        };
        let (index, wanted, asked_by) = (self.index.clone(), self.wanted.clone(), run.clone());
        let sources = on_a_thread(move || read(&index, &wanted, room, &asked_by)).await;
        let Coverage { files_seen, files_total, bytes_seen, bytes_total } = sources.coverage;
        // Texts have no form that could not be written.
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

/// The effect of reading files as they are now.
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
        let (index, paths, asked_by) = (self.index.clone(), self.paths.clone(), run.clone());
        let files_total = paths.len();
        let sources = on_a_thread(move || now(&index, &paths, &asked_by)).await;
        let bytes: u64 = sources.iter().map(|source| source.text.len() as u64).sum();
        let read = Event::SourcesRead {
            files: sources.len(),
            files_total,
            bytes,
            bytes_total: bytes,
            // Paths and texts have no form that could not be written.
            sources: Blob::new(serde_json::to_vec(&sources).unwrap_or_default()),
        };
        run.record(read).await?;
        Ok(sources)
    }
}

/// Reads what is wanted. Blocks.
fn read(index: &Index, wanted: &Wanted, room: usize, run: &Run) -> ReadSources {
    let (listed, _) = index.files();
    let is_wanted = |path: &RepoPath| match wanted {
        Wanted::Named { patterns, .. } if !patterns.is_empty() => {
            patterns.iter().any(|pattern| pattern.matches(path))
        }
        Wanted::About(_) | Wanted::Named { .. } => FileKind::of(path) != FileKind::Aside,
    };
    let listed: Vec<Listed> = listed
        .into_iter()
        .filter(|file| is_wanted(&file.path))
        .filter(|file| file.bytes <= index.max_file_bytes() && index.may_read(&file.path))
        .collect();
    let (goal, ranked) = match wanted {
        Wanted::About(goal) => (goal.as_str(), index.rank(goal, &listed).files),
        Wanted::Named { program, .. } => (program.as_str(), Vec::new()),
    };
    let ranked: Vec<RepoPath> = ranked.into_iter().map(|file| file.path).collect();
    let most = run.config().missions.common_tokens.saturating_mul(BYTES_PER_TOKEN);
    let (mut files, mut left) = (Vec::new(), room);
    // What is no text is none of the files that could be read.
    let (mut files_total, mut bytes_total) = (0, 0);
    for path in in_order(goal, &listed, &ranked, most as u64) {
        let Some(text) = text_of(index.tree(), path, index.max_file_bytes()) else { continue };
        files_total += 1;
        bytes_total += text.len() as u64;
        // A file that does not fit makes room for smaller ones.
        if text.len() <= left {
            left -= text.len();
            let text = run.redactor.redact(&text).into_owned();
            files.push(SourceFile { path: path.clone(), text });
        }
    }
    // Which come first decides what there is room for; a program has them in the order of paths.
    if matches!(wanted, Wanted::Named { .. }) {
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

/// In which order files are read: those that rank highest first, before them those below a directory that the goal names, and in
/// the end those of more than `most` bytes, each of which would take the room of many. Pure.
fn in_order<'l>(
    goal: &str,
    listed: &'l [Listed],
    ranked: &[RepoPath],
    most: u64,
) -> Vec<&'l RepoPath> {
    let apart = |c: char| c.is_whitespace() || "`'\",;()".contains(c);
    let words = goal.split(apart).map(|word| word.trim_end_matches(['/', '.', ':', '?', '!']));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_below =
        |path: &str, word: &str| path.strip_prefix(word).is_some_and(|rest| rest.starts_with('/'));
    let place = |file: &&Listed| {
        let path = file.path.as_str();
        let is_large = file.bytes > most && !words.contains(&path);
        let is_named = words.iter().any(|word| *word == path || is_below(path, word));
        let rank = ranked.iter().position(|it| *it == file.path);
        (is_large, !is_named, rank.unwrap_or(usize::MAX))
    };
    let mut files: Vec<&Listed> = listed.iter().collect();
    files.sort_by_cached_key(place);
    files.into_iter().map(|file| &file.path).collect()
}

/// What a file says; `None` if it is no text, or not there. Blocks.
fn text_of(tree: &ReadTree, path: &RepoPath, max_bytes: u64) -> Option<String> {
    match tree.entry(path, max_bytes).ok()? {
        Entry::File(file) => String::from_utf8(file.bytes.to_vec()).ok(),
        Entry::Missing
        | Entry::Directory
        | Entry::Symlink
        | Entry::TooLarge { .. }
        | Entry::Other => None,
    }
}

/// The files of these paths as they are now, those that are there and may be read. Blocks.
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
    fn what_the_goal_names_is_read_first_and_what_takes_much_room_last() {
        let path = |name: &str| RepoPath::parse(name).unwrap();
        let listed: Vec<Listed> =
            [("a.rs", 9), ("big.rs", 999), ("cli/b.rs", 9), ("lib/c.rs", 9), ("cli/d.rs", 9)]
                .map(|(name, bytes)| Listed { path: path(name), bytes, modified: 0 })
                .to_vec();
        let ranked = [path("big.rs"), path("cli/d.rs"), path("a.rs")];
        let order = |goal: &str| -> Vec<String> {
            in_order(goal, &listed, &ranked, 100).iter().map(ToString::to_string).collect()
        };
        assert_eq!(order("look at it all"), ["cli/d.rs", "a.rs", "cli/b.rs", "lib/c.rs", "big.rs"]);
        assert_eq!(
            order("what of `lib/`, and of cli?"),
            ["cli/d.rs", "cli/b.rs", "lib/c.rs", "a.rs", "big.rs"]
        );
        assert_eq!(order("mend big.rs")[0], "big.rs");
    }
}
