//! Fits what is known for a request into a budget, section by section, and never more than the budget holds.

use std::rc::Rc;

use index::{FileKind, RankedFile, Ranking};
use tree::{Listed, RepoPath};

use super::evidence::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::excerpt::{Span, merge};
use super::named::{NamedFile, Names};
use super::passages::{MOST_FILES, MOST_SPANS, Pick, choose};
use super::reader::{Reader, Text, Unshown};
use super::render;
use super::spans::{main_definitions, spans};

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
const DEFINITIONS_PER_FILE: usize = 6;
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

/// A named file that waits for its share.
struct Wanted<'a> {
    file: &'a NamedFile,
    text: Rc<Text>,
    /// Bytes to show it whole.
    cost: usize,
    /// Bytes it gets.
    share: usize,
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
            let Some(span) = lines.head(bytes).filter(|_| !known) else { continue };
            if !text.lines.text().trim().is_empty() {
                self.evidence.stable.push(item(kind, &path, &text, span));
            }
        }
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

    /// The named files: whole while they fit; large ones share what small ones leave.
    pub(super) fn named(&mut self) {
        let mut wanted = Vec::new();
        for file in &self.names.files {
            match self.reader.text(&file.path) {
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
            let span = match file.line {
                Some(line) => lines.around(line, max_bytes),
                None => lines.head(max_bytes),
            };
            self.part(ItemKind::Named, &file.path, &text, span, &mut section);
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
        let in_stable = |path: &RepoPath| {
            let whole = |item: &&EvidenceItem| item.last_line == item.lines;
            self.evidence.stable.iter().filter(whole).any(|item| item.path == *path)
        };
        texts.retain(|(path, _)| !in_stable(path) && !self.whole.contains(path));
        let mut section = self.left;
        for (path, text) in texts {
            let max_bytes = section;
            self.head(ItemKind::Passage, &path, &text, max_bytes, &mut section);
        }
        true
    }

    /// The lines that have to do with the request: the best of each of the first files, then more of them.
    pub(super) fn passages(&mut self, ranking: &Ranking) {
        self.evidence.partial = ranking.partial;
        let candidates: Vec<&RankedFile> = ranking
            .files
            .iter()
            .filter(|file| !self.whole.contains(&file.path))
            .take(MOST_FILES)
            .collect();
        let (reader, shown) = (&mut self.reader, &self.shown);
        let pick = |number: usize| {
            let file = candidates.get(number)?;
            let text = reader.text(&file.path).ok()?;
            text.knows(ranking.hash(file));
            let definitions = ranking.definitions(file, || Some(text.lines.text().to_owned()));
            let worth = spans(file, &definitions, text.lines.count(), MOST_SPANS);
            let shown = shown.iter().filter(|(path, _)| *path == file.path);
            let shown = shown.map(|(_, span)| *span).collect();
            let overhead = overhead(&file.path, &text);
            let path = file.path.clone();
            Some(Pick { path, text, overhead, worth, shown, chosen: Vec::new() })
        };
        let picks = choose(self.left - map_share(self.left), pick);
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

    /// The files that have to do with the request, with what they define.
    pub(super) fn map(&mut self, ranking: &Ranking) {
        let mut section = map_share(self.total).max(self.left / 2).min(self.left);
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

    /// The evidence.
    pub(super) fn finish(self) -> Evidence {
        self.evidence
    }

    /// Shows the file from its beginning: whole if that is at most `max_bytes`.
    fn head(
        &mut self,
        kind: ItemKind,
        path: &RepoPath,
        text: &Text,
        max_bytes: usize,
        section: &mut usize,
    ) {
        let lines = &text.lines;
        let whole = item(kind, path, text, lines.all());
        let span = if render::item(&whole).len() <= max_bytes {
            Some(lines.all())
        } else {
            lines.head(max_bytes.saturating_sub(overhead(path, text)))
        };
        self.part(kind, path, text, span, section);
    }

    /// Shows some lines, and says so where they are not all.
    fn part(
        &mut self,
        kind: ItemKind,
        path: &RepoPath,
        text: &Text,
        span: Option<Span>,
        section: &mut usize,
    ) {
        let lines = &text.lines;
        let shown = span.filter(|span| self.push(item(kind, path, text, *span), section));
        let note = match shown {
            Some(span) if span == lines.all() => {
                self.whole.push(path.clone());
                return;
            }
            Some(span) => {
                self.shown.push((path.clone(), span));
                format!("{path}: only lines {}-{} of {} fit", span.first, span.last, lines.count())
            }
            None => format!("{path}: does not fit"),
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

/// What is kept for the map.
fn map_share(bytes: usize) -> usize {
    bytes / 8
}

/// Gives every file its share of `bytes`: what a small one does not need, the larger ones get.
fn share(wanted: &mut [Wanted<'_>], bytes: usize) {
    let mut by_cost: Vec<&mut Wanted<'_>> = wanted.iter_mut().collect();
    by_cost.sort_by_key(|wanted| wanted.cost);
    let (mut left, mut count) = (bytes, by_cost.len());
    for wanted in by_cost {
        wanted.share = wanted.cost.min(left / count.max(1));
        left -= wanted.share;
        count -= 1;
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
