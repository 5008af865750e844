//! Fits what is known for a request into a budget, section by section, and never more than the budget holds.

use index::{FileKind, RankedFile, Ranking};
use tree::{Listed, RepoPath};

use super::evidence::{Evidence, EvidenceItem, ItemKind, MapLine, Spread};
use super::excerpt::{Span, merge, uncovered};
use super::named::{Names, is_data};
use super::overview::overview;
use super::passages::{FEW_FILES, MANY_FILES, MOST_FILES, MOST_SPANS, Pick, Turn, choose};
use super::reader::{Reader, Text, Unshown};
use super::render;
use super::spans::{defined, main_definitions, spans};
use super::telling::telling;
use super::wanted::{Wanted, share};

/// Files that speak to agents, in every directory on the way to what is named.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Bytes of the instructions in the stable part, and of what says what the project is and how it is worked on.
const INSTRUCTION_BYTES: usize = 6000;
const README_BYTES: usize = 1200;
const CONVENTION_BYTES: usize = 800;

/// A tree of at most so many bytes of text is shown whole.
const SMALL_TREE_BYTES: u64 = 8000;
/// A tree of more files is not small.
const SMALL_TREE_FILES: usize = 200;

/// Files in the map, and definitions of each.
const MAP: usize = 40;
/// What part of the room is kept for it.
const MAP_PART: usize = 8;
/// Files that are named behind those that are shown for a few words.
const NEXT_FILES: usize = 6;
const DEFINITIONS_PER_FILE: usize = 6;
/// Definitions of a file that are shown because they are named.
const MOST_NAMED: usize = 2;
/// A longer name is a generated one.
const MAX_DEFINITION_BYTES: usize = 60;

/// Evidence that is being put together.
pub(super) struct Packing<'a> {
    reader: Reader<'a>,
    files: &'a [Listed],
    names: &'a Names,
    /// Bytes of the whole budget, and those that are left.
    total: usize,
    left: usize,
    /// What is shown of which file, and may not be shown again.
    shown: Vec<(RepoPath, Span)>,
    /// Files that are shown whole.
    whole: Vec<RepoPath>,
    evidence: Evidence,
}

impl<'a> Packing<'a> {
    pub(super) fn new(
        reader: Reader<'a>,
        files: &'a [Listed],
        names: &'a Names,
        tokens: usize,
    ) -> Packing<'a> {
        let total = tokens.saturating_mul(render::BYTES_PER_TOKEN);
        let evidence = Evidence { files: files.len(), ..Evidence::default() };
        let (shown, whole) = (Vec::new(), Vec::new());
        Packing { reader, files, names, total, left: total, shown, whole, evidence }
    }

    /// What is the same for every request: instructions, what the project is, conventions and checks.
    pub(super) fn stable(&mut self, checks: &[String]) {
        self.evidence.checks = checks.to_vec();
        let at_root = |name: &str| {
            let lower = name.to_lowercase();
            let is_it = |file: &&Listed| file.path.as_str().to_lowercase().starts_with(&lower);
            let shallow = |file: &&Listed| !file.path.as_str().contains('/');
            self.files.iter().filter(shallow).find(is_it).map(|file| file.path.clone())
        };
        let (readme, contributing) = (at_root("readme"), at_root("contributing"));
        let instructions = INSTRUCTIONS.iter().filter_map(|name| RepoPath::parse(name).ok());
        let instructions =
            instructions.map(|path| (ItemKind::Instructions, path, INSTRUCTION_BYTES));
        let others = [(readme, README_BYTES), (contributing, CONVENTION_BYTES)];
        let others = others
            .into_iter()
            .filter_map(|(path, bytes)| path.map(|path| (ItemKind::Overview, path, bytes)));
        for (kind, path, bytes) in instructions.chain(others).collect::<Vec<_>>() {
            let Ok(text) = self.reader.text(&path) else { continue };
            let known = self.evidence.stable.iter().any(|item| item.hash == text.hash());
            let lines = &text.lines;
            let spans = match kind {
                ItemKind::Overview => overview(lines, bytes),
                ItemKind::Instructions | ItemKind::Named | ItemKind::Passage => {
                    lines.head(bytes).into_iter().collect()
                }
            };
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            if known || lines.text().trim().is_empty() {
                continue;
            }
            let span = Span { first: first.first, last: last.last };
            let said = spans.iter().map(|span| lines.slice(*span)).collect();
            self.evidence
                .stable
                .push(EvidenceItem { text: said, ..item(kind, &path, &text, span) });
            // What only draws is not worth showing, unless the file is named.
            if span.last == lines.count() {
                self.whole.push(path.clone());
            }
            self.shown.extend(spans.into_iter().map(|span| (path.clone(), span)));
        }
    }

    /// What of these lines of a file is not shown yet.
    fn unseen(&self, path: &RepoPath, spans: &[Span]) -> Vec<Span> {
        let shown = self.shown.iter().filter(|(shown, _)| shown == path);
        let shown: Vec<Span> = shown.map(|(_, span)| *span).collect();
        spans.iter().flat_map(|span| uncovered(*span, &shown)).collect()
    }

    /// Lines about what is not shown, in at most an eighth of the budget.
    pub(super) fn notes(&mut self, notes: &[String]) {
        for note in notes {
            let told: usize = self.evidence.omitted.iter().map(String::len).sum();
            if told + note.len() <= self.total / 8
                && take_line(&mut self.left, self.evidence.omitted.is_empty(), note)
            {
                self.evidence.omitted.push(note.clone());
            }
        }
    }

    /// The instructions below the root on the way to what is named, in at most a quarter of the budget.
    pub(super) fn instructions(&mut self) {
        let mut section = self.total / 4;
        let mut seen: Vec<_> = self.evidence.stable.iter().map(|item| item.hash).collect();
        for directory in self.names.directories_of_all() {
            for name in INSTRUCTIONS {
                let Ok(path) = RepoPath::parse(&format!("{directory}/{name}")) else { continue };
                let named = self.names.files.iter().any(|file| file.path == path);
                let Ok(text) = self.reader.text(&path) else { continue };
                if named || text.lines.text().trim().is_empty() || seen.contains(&text.hash()) {
                    continue;
                }
                seen.push(text.hash());
                let max_bytes = section.min(self.left);
                self.head(ItemKind::Instructions, &path, &text, max_bytes, &mut section);
            }
        }
    }

    /// The named files: whole while they fit; large ones share what small ones leave, and show what the request is about.
    pub(super) fn named<'r>(&mut self, ranking: impl Fn() -> &'r Ranking) {
        let mut wanted = Vec::new();
        for file in &self.names.files {
            match self.reader.text(&file.path) {
                Ok(text) if self.unseen(&file.path, &[text.lines.all()]).is_empty() => {}
                Ok(text) => {
                    let lines = &text.lines;
                    let all = item(ItemKind::Named, &file.path, &text, lines.all());
                    wanted.push(Wanted { file, cost: render::item(&all).len(), share: 0, text });
                }
                Err(why) => self.unshown(&file.path, why),
            }
        }
        let mut section = self.left - self.left / 4;
        share(&mut wanted, section);
        for Wanted { file, text, cost, share } in wanted {
            if cost <= share {
                self.head(ItemKind::Named, &file.path, &text, share, &mut section);
                continue;
            }
            let lines = &text.lines;
            let max_bytes = share.saturating_sub(overhead(&file.path, &text));
            let spans = match file.line {
                Some(line) => lines.around(line, max_bytes).into_iter().collect(),
                None => telling(&file.path, &text, overhead(&file.path, &text), share, ranking()),
            };
            self.part(ItemKind::Named, &file.path, &text, &spans, &mut section);
        }
    }

    /// All files of a tree that is small; whether it is.
    pub(super) fn everything(&mut self) -> bool {
        let is_worth = |file: &&Listed| FileKind::of(&file.path) != FileKind::Aside;
        let files = self.files.iter().filter(is_worth).take(SMALL_TREE_FILES + 1);
        let files: Vec<&Listed> = files.collect();
        if files.len() > SMALL_TREE_FILES {
            return false;
        }
        let mut texts = Vec::new();
        let mut bytes = 0;
        for file in files {
            let Ok(text) = self.reader.text(&file.path) else { continue };
            bytes += file.bytes;
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

    /// What has to do with the request, and the files that come next.
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

    /// The lines that have to do with the request, by turns.
    fn passages(&mut self, ranking: &Ranking, turns: &[Turn]) {
        self.evidence.partial = ranking.partial;
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
            let others = spans(file, &definitions, count, MOST_SPANS);
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
            for span in merge(chosen) {
                let passage = item(ItemKind::Passage, &path, &text, span);
                if self.push(passage, &mut section) && span == text.lines.all() {
                    self.whole.push(path.clone());
                }
            }
        }
    }

    /// The first files that have to do with the request and are not shown.
    fn next_files(&mut self, ranking: &Ranking) {
        let mut section = self.left;
        let shown: Vec<&RepoPath> = self.evidence.items.iter().map(|item| &item.path).collect();
        let next = ranking.files.iter().filter(|file| !shown.contains(&&file.path));
        for file in next.take(NEXT_FILES).collect::<Vec<_>>() {
            self.map_line(&file.path, Vec::new(), &mut section);
        }
    }

    /// The files that have to do with the request, with what they define.
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
        let is_ranked = |file: &&Listed| ranking.files.iter().any(|r| r.path == file.path);
        let mut others: Vec<&Listed> = self.files.iter().filter(|file| !is_ranked(file)).collect();
        others
            .sort_by_cached_key(|file| (FileKind::of(&file.path), file.path.components().count()));
        for file in others.into_iter().take(most) {
            self.map_line(&file.path, Vec::new(), &mut section);
        }
    }

    /// The evidence. Settings and data that were named are read after what the request is about.
    pub(super) fn finish(mut self) -> Evidence {
        self.evidence.items.sort_by_key(|it| it.kind == ItemKind::Named && is_data(&it.path));
        self.evidence
    }

    /// Shows the file, but for what is shown already: whole if that is at most `max_bytes`, and else its beginning.
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
        let cost = |span: &Span| render::item(&item(kind, path, text, *span)).len();
        let mut left = max_bytes;
        if spans.iter().map(cost).sum::<usize>() > max_bytes {
            let fitting = |span: &Span| {
                let from = lines.from(span.first, left.saturating_sub(overhead))?;
                let fitting = Span { last: from.last.min(span.last), ..from };
                left = left.saturating_sub(lines.cost(fitting) + overhead);
                Some(fitting)
            };
            spans = spans.iter().map_while(fitting).collect();
        }
        self.part(kind, path, text, &spans, section);
    }

    /// Shows some lines, but for what is shown already, and says so where they are not all.
    fn part(
        &mut self,
        kind: ItemKind,
        path: &RepoPath,
        text: &Text,
        spans: &[Span],
        section: &mut usize,
    ) {
        let lines = &text.lines;
        let mut shown = self.unseen(path, spans);
        shown.retain(|span| self.push(item(kind, path, text, *span), section));
        let told: Vec<String> =
            shown.iter().map(|span| format!("{}-{}", span.first, span.last)).collect();
        self.shown.extend(shown.into_iter().map(|span| (path.clone(), span)));
        if self.unseen(path, &[lines.all()]).is_empty() {
            self.whole.push(path.clone());
            return;
        }
        let note = if told.is_empty() {
            format!("{path}: does not fit")
        } else {
            format!("{path}: only lines {} of {} fit", told.join(", "), lines.count())
        };
        self.notes(&[note]);
    }

    fn unshown(&mut self, path: &RepoPath, why: Unshown) {
        self.notes(&[format!("{path}: {why}")]);
    }

    /// Adds the item if it fits into the section and the budget.
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

/// Takes the bytes of a line in a list, and of the list's title before the first one.
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

/// Bytes around the lines of an item, at most.
fn overhead(path: &RepoPath, text: &Text) -> usize {
    const HEAD_BYTES: usize = 56;
    path.as_str().len() + 2 * text.fence.len() + HEAD_BYTES
}

fn item(kind: ItemKind, path: &RepoPath, text: &Text, span: Span) -> EvidenceItem {
    EvidenceItem {
        kind,
        path: path.clone(),
        first_line: span.first,
        last_line: span.last,
        lines: text.lines.count(),
        hash: text.hash(),
        text: text.lines.slice(span).to_owned(),
    }
}
