//! Fits the evidence for a request into a budget, section by section, and never exceeds it.

use std::cmp::Reverse;

use index::{FileKind, RankedFile, Ranking, is_hidden};
use tree::{ListedFile, RepoPath};

use super::depth::{SHOWN_FILES, choose_deep};
use super::evidence::Spread;
use super::example::{self, is_example, lines_elsewhere};
use super::excerpt::{ShownSpan, merge_across_blanks, uncovered};
use super::instructions::{self, Instructions};
use super::items::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::long_file::spans_of_long_file;
use super::named::{NamedFiles, is_data};
use super::overview::overview;
use super::passages::{MOST_FILES, MOST_SPANS, Pick, choose};
use super::rare_lines::RareLines;
use super::reader::{CachingReader, Text, Unshown};
use super::render;
use super::spans::{
    around_lines, best_definition, best_spans, defined, defined_whole, whole_spans,
};
use super::terms::Term;
use super::text::Hit;
use super::wanted::{WantedFile, share_bytes};

/// Maximum sizes in the stable part, in bytes: of the README, and of the contribution guide.
const README_BYTES: usize = 1200;
const CONVENTION_BYTES: usize = 800;

/// A longer text that the request repeats is not shown again.
const REPEATED_BYTES: usize = 80;

/// A tree with more files than this is not small, nor is one with more bytes, whatever they are.
const SMALL_TREE_FILES: usize = 200;
const SMALL_TREE_BYTES: u64 = 8_000_000;

/// Number of files of which those that are shown are chosen.
const CONSIDERED_FILES: usize = 15;
/// Maximum number of further files that are only named, and of the bytes for that.
const NEXT_FILES: usize = 10;
const NEXT_FILES_BYTES: usize = 800;
/// Maximum number of bytes for lines with what the request quotes or names.
const MENTION_BYTES: usize = 1200;
/// The part of the space, in percent, that an example may take, and the maximum number of files that are tried for one.
const EXAMPLE_PERCENT: usize = 50;
const MOST_EXAMPLES: usize = 5;
/// Maximum number of definitions per file that are shown because the user named them.
const MOST_NAMED: usize = 2;
/// Longer names are assumed to be generated.
const MAX_DEFINITION_BYTES: usize = 60;

/// Evidence being assembled.
pub(super) struct Packing<'a> {
    reader: CachingReader<'a>,
    files: &'a [ListedFile],
    names: &'a NamedFiles,
    /// The request, which is shown too.
    request: &'a str,
    /// Where what the request quotes or names is.
    pub(super) rare_lines: RareLines,
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
        request: &'a str,
        tokens: usize,
    ) -> Packing<'a> {
        let total = tokens.saturating_mul(render::BYTES_PER_TOKEN);
        let evidence = Evidence { files: files.len(), ..Evidence::default() };
        let (shown, whole, rare_lines) = (Vec::new(), Vec::new(), RareLines::default());
        let left = total;
        Packing { reader, files, names, request, rare_lines, total, left, shown, whole, evidence }
    }

    /// Adds what is the same for every request: instructions and checks.
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
    }

    /// Adds the beginning of the README and of the contribution guide to what is the same for every request.
    pub(super) fn overview(&mut self) {
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

    /// Adds all files if the tree is small: if they take at most `tokens`, which may be more than the budget. Returns true
    /// if it is.
    pub(super) fn everything(&mut self, tokens: usize) -> bool {
        let is_worth = |file: &&ListedFile| {
            FileKind::of_size(&file.path, file.bytes) != FileKind::Aside
                && !is_hidden(file.path.as_str())
        };
        let files: Vec<&ListedFile> =
            self.files.iter().filter(is_worth).take(SMALL_TREE_FILES + 1).collect();
        let listed: u64 = files.iter().map(|file| file.bytes).sum();
        if files.len() > SMALL_TREE_FILES || listed > SMALL_TREE_BYTES {
            return false;
        }
        let most = tokens.saturating_mul(render::BYTES_PER_TOKEN);
        let named = self.total - self.left;
        let (mut items, mut cost) = (Vec::new(), 0);
        for file in files {
            // What is no text is not shown.
            let Ok(text) = self.reader.text(&file.path) else { continue };
            if self.is_in_request(&text) {
                continue;
            }
            for span in self.unseen(&file.path, &[text.lines.all()]) {
                let item = EvidenceItem::of(ItemKind::Passage, &file.path, &text, span);
                cost += render::item(&item).len();
                items.push(item);
            }
            if named + cost > most {
                return false;
            }
        }
        self.left = self.left.max(cost);
        let mut section = self.left;
        for item in items {
            self.push(item, &mut section);
        }
        true
    }

    /// Adds passages related to the request, and the next files.
    pub(super) fn spread(&mut self, ranking: &Ranking, spread: Spread) {
        (self.evidence.partial, self.evidence.stale) = (ranking.partial, ranking.stale);
        match spread {
            Spread::Whole => self.definitions(ranking),
            Spread::Deep => self.passages(ranking),
            Spread::Named => return,
        }
        self.other_lines();
        self.next_files(ranking);
    }

    /// Adds the first of the `candidates` for an example that fits and that other files name, and the lines that do.
    /// `lines_with` returns the lines with some terms, if they are few, and the index of the term.
    pub(super) fn example(
        &mut self,
        candidates: &[&ListedFile],
        lines_with: impl Fn(&[&Term]) -> Vec<(usize, Hit)>,
    ) {
        let most = self.left.saturating_sub(self.kept_bytes()) * EXAMPLE_PERCENT / 100;
        let mut examples = Vec::new();
        for file in candidates {
            let Ok(text) = self.reader.text(&file.path) else { continue };
            let item = EvidenceItem::of(ItemKind::Example, &file.path, &text, text.lines.all());
            if render::item(&item).len() > most || examples.len() == MOST_EXAMPLES {
                break;
            }
            if is_example(file, &text, candidates) {
                examples.push((*file, example::term(file), item));
            }
        }
        let terms: Vec<&Term> = examples.iter().map(|(_, term, _)| term).collect();
        let naming = lines_with(&terms);
        for (at, (file, _, item)) in examples.into_iter().enumerate() {
            let naming = naming.iter().filter(|(of, _)| *of == at).map(|(_, hit)| hit.clone());
            let lines = lines_elsewhere(file, naming);
            if !lines.is_empty() && self.push(item, &mut { most }) {
                self.whole.push(file.path.clone());
                self.evidence.example_lines = self.fitting_lines(lines);
                return;
            }
        }
    }

    /// Returns the bytes that are kept for lines and names, which come after what is shown of the files.
    fn kept_bytes(&self) -> usize {
        let lines: usize = self.rare_lines.lines.iter().map(|hit| render::mention(hit).len()).sum();
        NEXT_FILES_BYTES + (lines + render::TITLE_BYTES).min(MENTION_BYTES)
    }

    /// Adds further lines with what the request quotes or names.
    fn other_lines(&mut self) {
        let is_shown = |hit: &Hit| {
            let mut items = self.evidence.items.iter();
            items.any(|item| {
                item.path == hit.path && (item.first_line..=item.last_line).contains(&hit.line)
            })
        };
        let lines = self.rare_lines.lines.iter().filter(|hit| !is_shown(hit)).cloned().collect();
        self.evidence.mentions = self.fitting_lines(lines);
    }

    /// Takes the space for the first of `lines` that fit, and returns these.
    fn fitting_lines(&mut self, lines: Vec<Hit>) -> Vec<Hit> {
        let (most, mut cost) = (self.left.min(MENTION_BYTES), render::TITLE_BYTES);
        let fits = |hit: &Hit| {
            let with = cost + render::mention(hit).len();
            let fits = with <= most;
            cost = if fits { with } else { cost };
            fits
        };
        let lines: Vec<Hit> = lines.into_iter().take_while(fits).collect();
        if !lines.is_empty() {
            self.left -= cost;
        }
        lines
    }

    /// Returns what there is to choose from in a file.
    fn pick(&mut self, file: &RankedFile, ranking: &Ranking, spread: Spread) -> Option<Pick> {
        let text = self.reader.text(&file.path).ok()?;
        if self.is_in_request(&text) {
            return None;
        }
        text.knows(ranking.hash(file));
        let definitions = ranking.definitions(file, || Some(text.lines.text().to_owned()));
        let count = text.lines.count();
        let symbols = &self.names.symbols;
        let (named, others, near) = match spread {
            Spread::Whole => {
                let spans = whole_spans(file, &definitions, count);
                let (whole, near) = spans.iter().map(|it| (it.whole, it.near)).unzip();
                let around = |lines: Vec<usize>| around_lines(&lines, &definitions, count);
                let literal = around(self.rare_lines.literal_in(&file.path).collect());
                let used = around(self.rare_lines.in_file(&file.path).collect());
                let defined = defined_whole(symbols, &file.path, &definitions, count);
                let named = [defined, literal, used].concat();

                (named, whole, near)
            }
            Spread::Deep | Spread::Named => (
                defined(symbols, &definitions, count, MOST_NAMED),
                best_spans(file, &definitions, count, MOST_SPANS),
                Vec::new(),
            ),
        };
        let (named, worth) = (named.len(), [named, others].concat());
        let shown = self.shown.iter().filter(|(path, _)| *path == file.path);
        let shown = shown.map(|(_, span)| *span).collect();
        let (path, kind, overhead) = (file.path.clone(), file.kind, overhead(&file.path, &text));
        Some(Pick { path, kind, text, overhead, worth, near, named, shown, chosen: Vec::new() })
    }

    /// Returns true if the request has the whole text, as where it was written down in the workspace first.
    fn is_in_request(&self, text: &Text) -> bool {
        let text = text.lines.text().trim();
        text.len() >= REPEATED_BYTES && self.request.contains(text)
    }

    /// Returns the related files of which something is not shown yet, best first.
    fn candidates<'r>(&self, ranking: &'r Ranking, most: usize) -> Vec<&'r RankedFile> {
        let files = ranking.files.iter().filter(|file| !self.whole.contains(&file.path));
        files.take(most).collect()
    }

    /// Adds the whole definitions that the request is about, of the first files.
    fn definitions(&mut self, ranking: &Ranking) {
        let mut candidates = self.candidates(ranking, CONSIDERED_FILES);
        // Where most of what the request quotes or names is, there is most to see.
        candidates.sort_by_key(|file| Reverse(self.rare_lines.in_file(&file.path).count()));
        candidates.truncate(SHOWN_FILES);
        let mut picks: Vec<Pick> = candidates
            .into_iter()
            .filter_map(|file| self.pick(file, ranking, Spread::Whole))
            .collect();
        choose_deep(self.left.saturating_sub(self.kept_bytes()), &mut picks);
        self.add_chosen(picks);
    }

    /// Adds the lines related to the request, in turns.
    fn passages(&mut self, ranking: &Ranking) {
        let candidates = self.candidates(ranking, MOST_FILES);
        let room = self.left.saturating_sub(self.kept_bytes());
        let picks =
            choose(room, |number| self.pick(candidates.get(number)?, ranking, Spread::Deep));
        self.add_chosen(picks);
    }

    /// Adds the chosen lines of files.
    fn add_chosen(&mut self, picks: Vec<Pick>) {
        let mut section = self.left;
        for Pick { path, text, chosen, .. } in picks {
            for span in merge_across_blanks(chosen, text.lines.text()) {
                let passage = EvidenceItem::of(ItemKind::Passage, &path, &text, span);
                if self.push(passage, &mut section) && span == text.lines.all() {
                    self.whole.push(path.clone());
                }
            }
        }
    }

    /// Names the next related files, of which nothing is shown, each with the definition that the request is about.
    fn next_files(&mut self, ranking: &Ranking) {
        let mut section = self.left.min(NEXT_FILES_BYTES);
        let shown: Vec<&RepoPath> = self.evidence.items.iter().map(|item| &item.path).collect();
        let next = ranking.files.iter().filter(|file| !shown.contains(&&file.path));
        for file in next.take(NEXT_FILES).collect::<Vec<_>>() {
            let definition = self.best_definition(file, ranking);
            self.map_line(&file.path, definition.into_iter().collect(), &mut section);
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

    fn best_definition(&mut self, file: &RankedFile, ranking: &Ranking) -> Option<String> {
        let reader = &mut self.reader;
        let text = || reader.text(&file.path).ok().map(|text| text.lines.text().to_owned());
        best_definition(file, &ranking.definitions(file, text))
            .filter(|text| text.len() <= MAX_DEFINITION_BYTES)
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
