//! Fits the evidence for a request into a budget, section by section, and never exceeds it.

use index::{FileKind, RankedFile, Ranking};
use tree::{ListedFile, RepoPath};

use super::evidence::Spread;
use super::excerpt::{ShownSpan, merge_spans, uncovered};
use super::instructions::{self, Instructions};
use super::items::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::long_file::spans_of_long_file;
use super::named::{NamedFiles, is_data};
use super::overview::overview;
use super::passages::{FEW_FILES, MANY_FILES, MOST_FILES, MOST_SPANS, PackingTurn, Pick, choose};
use super::reader::{CachingReader, Text, Unshown};
use super::render;
use super::spans::{best_spans, defined, main_definitions};
use super::wanted::{WantedFile, share_bytes};

/// Maximum sizes in the stable part, in bytes: of the README, and of the contribution guide.
const README_BYTES: usize = 1200;
const CONVENTION_BYTES: usize = 800;

/// A tree with at most this many bytes of text is shown whole.
const SMALL_TREE_BYTES: u64 = 8000;
/// A tree with more files than this is not small.
const SMALL_TREE_FILES: usize = 200;

/// Maximum number of files in the map.
const MAP: usize = 40;
/// The map gets at least one part in this many of the space.
const MAP_PART: usize = 8;
/// Maximum number of further files that are only named, if few files are shown.
const NEXT_FILES: usize = 6;
/// Maximum number of definitions listed per file.
const DEFINITIONS_PER_FILE: usize = 6;
/// Maximum number of definitions per file that are shown because the user named them.
const MOST_NAMED: usize = 2;
/// Longer names are assumed to be generated.
const MAX_DEFINITION_BYTES: usize = 60;

/// Evidence being assembled.
pub(super) struct Packing<'a> {
    reader: CachingReader<'a>,
    files: &'a [ListedFile],
    names: &'a NamedFiles,
    /// Bytes of the whole budget, and bytes left.
    total: usize,
    left: usize,
    /// The lines already shown, which are not shown again.
    shown: Vec<(RepoPath, ShownSpan)>,
    /// Files shown whole.
    whole: Vec<RepoPath>,
    evidence: Evidence,
}

impl<'a> Packing<'a> {
    pub(super) fn new(
        reader: CachingReader<'a>,
        files: &'a [ListedFile],
        names: &'a NamedFiles,
        tokens: usize,
    ) -> Packing<'a> {
        let total = tokens.saturating_mul(render::BYTES_PER_TOKEN);
        let evidence = Evidence { files: files.len(), ..Evidence::default() };
        let (shown, whole) = (Vec::new(), Vec::new());
        Packing { reader, files, names, total, left: total, shown, whole, evidence }
    }

    /// Adds what is the same for every request: instructions, project overview, conventions and checks.
    pub(super) fn stable(&mut self, checks: &[String], instruction_bytes: usize) {
        self.evidence.checks = checks.to_vec();
        let root = std::iter::once(None);
        let Instructions { shown, omitted } =
            instructions::read_instructions(&mut self.reader, root, instruction_bytes);
        self.notes(&omitted);
        for item in shown {
            self.note_shown(&item);
            self.evidence.stable.push(item);
        }
        let at_root = |name: &str| {
            let lower = name.to_lowercase();
            let is_it = |file: &&ListedFile| file.path.as_str().to_lowercase().starts_with(&lower);
            let shallow = |file: &&ListedFile| !file.path.as_str().contains('/');
            self.files.iter().filter(shallow).find(is_it).map(|file| file.path.clone())
        };
        let (readme, contributing) = (at_root("readme"), at_root("contributing"));
        let others = [(readme, README_BYTES), (contributing, CONVENTION_BYTES)];
        for (path, bytes) in others.into_iter().filter_map(|(path, bytes)| Some((path?, bytes))) {
            let Ok(text) = self.reader.text(&path) else { continue };
            let known = self.evidence.stable.iter().any(|item| item.hash == text.hash());
            let lines = &text.lines;
            let spans = overview(lines, bytes);
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            if known || lines.text().trim().is_empty() {
                continue;
            }
            let span = ShownSpan { first: first.first, last: last.last };
            let said = spans.iter().map(|span| lines.slice(*span)).collect();
            self.evidence.stable.push(EvidenceItem {
                text: said,
                ..EvidenceItem::of(ItemKind::Overview, &path, &text, span)
            });
            // The skipped lines only draw something and are not shown later, unless the user names the file.
            if span.last == lines.count() {
                self.whole.push(path.clone());
            }
            self.shown.extend(spans.into_iter().map(|span| (path.clone(), span)));
        }
    }

    /// Returns the parts of `spans` that are not shown yet.
    fn unseen(&self, path: &RepoPath, spans: &[ShownSpan]) -> Vec<ShownSpan> {
        let shown = self.shown.iter().filter(|(shown, _)| shown == path);
        let shown: Vec<ShownSpan> = shown.map(|(_, span)| *span).collect();
        spans.iter().flat_map(|span| uncovered(*span, &shown)).collect()
    }

    /// Adds notes about what is not shown, in at most an eighth of the budget.
    pub(super) fn notes(&mut self, notes: &[String]) {
        for note in notes {
            let noted: usize = self.evidence.omitted.iter().map(String::len).sum();
            if noted + note.len() <= self.total / 8
                && take_line(&mut self.left, self.evidence.omitted.is_empty(), note)
            {
                self.evidence.omitted.push(note.clone());
            }
        }
    }

    /// Adds the instructions for the directories of named files.
    pub(super) fn instructions(&mut self, max_bytes: usize) {
        let directories = self.names.directories_named_or_above();
        let Instructions { mut shown, omitted } = instructions::read_instructions(
            &mut self.reader,
            directories.iter().map(Some),
            max_bytes,
        );
        let known: Vec<_> = self.evidence.stable.iter().map(|item| item.hash).collect();
        shown.retain(|item| !known.contains(&item.hash));
        self.notes(&omitted);
        for item in &shown {
            self.note_shown(item);
        }
        self.evidence.instructions = shown;
    }

    /// Notes that lines of a file need not be shown again.
    fn note_shown(&mut self, item: &EvidenceItem) {
        let span = ShownSpan { first: item.first_line, last: item.last_line };
        self.shown.push((item.path.clone(), span));
        if item.last_line == item.lines {
            self.whole.push(item.path.clone());
        }
    }

    /// Adds the named files: whole if they fit. Large ones share what small ones leave, and show the lines that the
    /// request is about.
    pub(super) fn named<'r>(&mut self, ranking: impl Fn() -> &'r Ranking) {
        let mut wanted = Vec::new();
        for file in &self.names.files {
            match self.reader.text(&file.path) {
                Ok(text) if self.unseen(&file.path, &[text.lines.all()]).is_empty() => {}
                Ok(text) => {
                    let lines = &text.lines;
                    let all = EvidenceItem::of(ItemKind::Named, &file.path, &text, lines.all());
                    wanted.push(WantedFile {
                        file,
                        cost: render::item(&all).len(),
                        share: 0,
                        text,
                    });
                }
                Err(why) => self.unshown(&file.path, &why),
            }
        }
        let mut section = self.left - self.left / 4;
        share_bytes(&mut wanted, section);
        for WantedFile { file, text, cost, share } in wanted {
            if cost <= share {
                self.head(ItemKind::Named, &file.path, &text, share, &mut section);
                continue;
            }
            let lines = &text.lines;
            let max_bytes = share.saturating_sub(overhead(&file.path, &text));
            let spans = match file.line {
                Some(line) => lines.around(line, max_bytes).into_iter().collect(),
                None => spans_of_long_file(
                    &file.path,
                    &text,
                    overhead(&file.path, &text),
                    share,
                    ranking(),
                ),
            };
            self.part(ItemKind::Named, &file.path, &text, &spans, &mut section);
        }
    }

    /// Adds all files if the tree is small. Returns true if it is.
    pub(super) fn everything(&mut self) -> bool {
        let is_worth = |file: &&ListedFile| FileKind::of(&file.path) != FileKind::Aside;
        let files = self.files.iter().filter(is_worth).take(SMALL_TREE_FILES + 1);
        let files: Vec<&ListedFile> = files.collect();
        if files.len() > SMALL_TREE_FILES {
            return false;
        }
        let mut texts = Vec::new();
        let mut bytes = 0;
        for file in files {
            let Ok(text) = self.reader.text(&file.path) else { continue };
            bytes += text.lines.text().len() as u64;
            if bytes > SMALL_TREE_BYTES {
                return false;
            }
            texts.push((file.path.clone(), text));
        }
        texts.retain(|(path, _)| !self.whole.contains(path));
        let mut section = self.left;
        for (path, text) in texts {
            let max_bytes = section;
            self.head(ItemKind::Passage, &path, &text, max_bytes, &mut section);
        }
        true
    }

    /// Adds passages related to the request, and the next files.
    pub(super) fn spread(&mut self, ranking: &Ranking, spread: Spread) {
        match spread {
            Spread::Wide => {
                self.passages(ranking, &MANY_FILES);
                self.map(ranking);
            }
            Spread::Deep => {
                self.passages(ranking, &FEW_FILES);
                self.next_files(ranking);
            }
            Spread::Named => {}
        }
    }

    /// Adds the lines related to the request, in turns.
    fn passages(&mut self, ranking: &Ranking, turns: &[PackingTurn]) {
        (self.evidence.partial, self.evidence.stale) = (ranking.partial, ranking.stale);
        let candidates: Vec<&RankedFile> = ranking
            .files
            .iter()
            .filter(|file| !self.whole.contains(&file.path))
            .take(MOST_FILES)
            .collect();
        let (reader, shown, symbols) = (&mut self.reader, &self.shown, &self.names.symbols);
        let pick = |number: usize| {
            let file = candidates.get(number)?;
            let text = reader.text(&file.path).ok()?;
            text.knows(ranking.hash(file));
            let definitions = ranking.definitions(file, || Some(text.lines.text().to_owned()));
            let count = text.lines.count();
            let named = defined(symbols, &definitions, count, MOST_NAMED);
            let others = best_spans(file, &definitions, count, MOST_SPANS);
            let (named, worth) = (named.len(), [named, others].concat());
            let shown = shown.iter().filter(|(path, _)| *path == file.path);
            let shown = shown.map(|(_, span)| *span).collect();
            let overhead = overhead(&file.path, &text);
            let path = file.path.clone();
            Some(Pick { path, text, overhead, worth, named, shown, chosen: Vec::new() })
        };
        let picks = choose(turns, self.left - self.left / MAP_PART, pick);
        let mut section = self.left;
        for Pick { path, text, chosen, .. } in picks {
            for span in merge_spans(chosen) {
                let passage = EvidenceItem::of(ItemKind::Passage, &path, &text, span);
                if self.push(passage, &mut section) && span == text.lines.all() {
                    self.whole.push(path.clone());
                }
            }
        }
    }

    /// Names the first related files that are not shown.
    fn next_files(&mut self, ranking: &Ranking) {
        let mut section = self.left;
        let shown: Vec<&RepoPath> = self.evidence.items.iter().map(|item| &item.path).collect();
        let next = ranking.files.iter().filter(|file| !shown.contains(&&file.path));
        for file in next.take(NEXT_FILES).collect::<Vec<_>>() {
            self.map_line(&file.path, Vec::new(), &mut section);
        }
    }

    /// Adds the related files with their definitions, then other files.
    fn map(&mut self, ranking: &Ranking) {
        let mut section = (self.total / MAP_PART).max(self.left / 2).min(self.left);
        for file in ranking.files.iter().take(MAP) {
            let definitions = if self.whole.contains(&file.path) {
                Vec::new()
            } else {
                self.definitions(file, ranking)
            };
            self.map_line(&file.path, definitions, &mut section);
        }
        let most = MAP.saturating_sub(ranking.files.len());
        if most == 0 {
            return;
        }
        let is_ranked = |file: &&ListedFile| ranking.files.iter().any(|r| r.path == file.path);
        let mut others: Vec<&ListedFile> =
            self.files.iter().filter(|file| !is_ranked(file)).collect();
        others
            .sort_by_cached_key(|file| (FileKind::of(&file.path), file.path.components().count()));
        for file in others.into_iter().take(most) {
            self.map_line(&file.path, Vec::new(), &mut section);
        }
    }

    /// Returns the evidence. Named settings and data files come after the files that the request is about.
    pub(super) fn finish(mut self) -> Evidence {
        self.evidence.items.sort_by_key(|it| it.kind == ItemKind::Named && is_data(&it.path));
        self.evidence
    }

    /// Shows the part of the file that is not shown yet: whole if it takes at most `max_bytes`, otherwise its
    /// beginning.
    fn head(
        &mut self,
        kind: ItemKind,
        path: &RepoPath,
        text: &Text,
        max_bytes: usize,
        section: &mut usize,
    ) {
        let (lines, overhead) = (&text.lines, overhead(path, text));
        let mut spans = self.unseen(path, &[lines.all()]);
        let cost =
            |span: &ShownSpan| render::item(&EvidenceItem::of(kind, path, text, *span)).len();
        let mut left = max_bytes;
        if spans.iter().map(cost).sum::<usize>() > max_bytes {
            let fitting = |span: &ShownSpan| {
                let from = lines.from(span.first, left.saturating_sub(overhead))?;
                let fitting = ShownSpan { last: from.last.min(span.last), ..from };
                left = left.saturating_sub(lines.cost(fitting) + overhead);
                Some(fitting)
            };
            spans = spans.iter().map_while(fitting).collect();
        }
        self.part(kind, path, text, &spans, section);
    }

    /// Shows the parts of `spans` that are not shown yet, and adds a note if some lines of the file remain unshown.
    fn part(
        &mut self,
        kind: ItemKind,
        path: &RepoPath,
        text: &Text,
        spans: &[ShownSpan],
        section: &mut usize,
    ) {
        let lines = &text.lines;
        let mut shown = self.unseen(path, spans);
        shown.retain(|span| self.push(EvidenceItem::of(kind, path, text, *span), section));
        let shown_ranges: Vec<String> =
            shown.iter().map(|span| format!("{}-{}", span.first, span.last)).collect();
        self.shown.extend(shown.into_iter().map(|span| (path.clone(), span)));
        if self.unseen(path, &[lines.all()]).is_empty() {
            self.whole.push(path.clone());
            return;
        }
        let note = if shown_ranges.is_empty() {
            format!("{path}: does not fit")
        } else {
            format!("{path}: only lines {} of {} fit", shown_ranges.join(", "), lines.count())
        };
        self.notes(&[note]);
    }

    fn unshown(&mut self, path: &RepoPath, why: &Unshown) {
        self.notes(&[format!("{path}: {why}")]);
    }

    /// Adds the item if it fits into both the section and the budget.
    fn push(&mut self, item: EvidenceItem, section: &mut usize) -> bool {
        let cost = render::item(&item).len();
        if cost > *section || cost > self.left {
            return false;
        }
        *section -= cost;
        self.left -= cost;
        self.evidence.items.push(item);
        true
    }

    fn map_line(&mut self, path: &RepoPath, definitions: Vec<String>, section: &mut usize) {
        let line = MapLine { path: path.clone(), definitions };
        let title = if self.evidence.map.is_empty() { render::TITLE_BYTES } else { 0 };
        let cost = render::map_line(&line).len() + title;
        if cost <= *section && cost <= self.left {
            *section -= cost;
            self.left -= cost;
            self.evidence.map.push(line);
        }
    }

    fn definitions(&mut self, file: &RankedFile, ranking: &Ranking) -> Vec<String> {
        let reader = &mut self.reader;
        let text = || reader.text(&file.path).ok().map(|text| text.lines.text().to_owned());
        let definitions = ranking.definitions(file, text);
        let main = main_definitions(&definitions, DEFINITIONS_PER_FILE).into_iter();
        let named = main.map(|definition| format!("{} {}", definition.kind, definition.name));
        named.filter(|text| text.len() <= MAX_DEFINITION_BYTES).collect()
    }
}

/// Takes the bytes of a list line from `left`, plus those of the list's title for the first one. Returns false if they
/// do not fit.
fn take_line(left: &mut usize, is_first: bool, line: &str) -> bool {
    let title = if is_first { render::TITLE_BYTES } else { 0 };
    match left.checked_sub(render::list_line(line).len() + title) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

/// Returns an upper bound for the bytes around the lines of an item.
fn overhead(path: &RepoPath, text: &Text) -> usize {
    const HEAD_BYTES: usize = 56;
    path.as_str().len() + 2 * text.fence.len() + render::encoding(text.encoding).len() + HEAD_BYTES
}
