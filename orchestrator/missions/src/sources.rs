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

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSources {
    /// The files, those that matter most first.
    pub files: Vec<SourceFile>,
    /// How much of the workspace that is.
    pub coverage: Coverage,
}

/// Which files are read, as far as there is room.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// Those that matter most for a goal come first.
    About(String),
    /// Those that patterns stand for; all where there are none.
    Named(Vec<Pattern>),
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
        let room = run.config().missions.source_tokens.saturating_mul(BYTES_PER_TOKEN);
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

/// Reads what is wanted. Blocks.
fn read(index: &Index, wanted: &Wanted, room: usize, run: &Run) -> ReadSources {
    let (listed, _) = index.files();
    let is_wanted = |path: &RepoPath| match wanted {
        Wanted::Named(patterns) if !patterns.is_empty() => {
            patterns.iter().any(|pattern| pattern.matches(path))
        }
        Wanted::About(_) | Wanted::Named(_) => FileKind::of(path) != FileKind::Aside,
    };
    let listed: Vec<Listed> = listed
        .into_iter()
        .filter(|file| is_wanted(&file.path))
        .filter(|file| file.bytes <= index.max_file_bytes() && index.may_read(&file.path))
        .collect();
    let ranked = match wanted {
        Wanted::About(goal) => index.rank(goal, &listed).files,
        Wanted::Named(_) => Vec::new(),
    };
    let ranked: Vec<&RepoPath> = ranked.iter().map(|file| &file.path).collect();
    let others = listed.iter().map(|file| &file.path).filter(|path| !ranked.contains(path));
    let (mut files, mut left) = (Vec::new(), room);
    for path in ranked.iter().copied().chain(others) {
        let Some(text) = text_of(index.tree(), path, index.max_file_bytes()) else { continue };
        // A file that does not fit makes room for smaller ones.
        if text.len() <= left {
            left -= text.len();
            let text = run.redactor.redact(&text).into_owned();
            files.push(SourceFile { path: path.clone(), text });
        }
    }
    let coverage = Coverage {
        files_seen: files.len(),
        files_total: listed.len(),
        bytes_seen: (room - left) as u64,
        bytes_total: listed.iter().map(|file| file.bytes).sum(),
    };
    ReadSources { files, coverage }
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
pub fn now(index: &Index, paths: &[RepoPath], run: &Run) -> Vec<SourceFile> {
    let readable = paths.iter().filter(|path| index.may_read(path));
    let source = |path: &RepoPath| {
        let text = text_of(index.tree(), path, index.max_file_bytes())?;
        Some(SourceFile { path: path.clone(), text: run.redactor.redact(&text).into_owned() })
    };
    readable.filter_map(source).collect()
}
