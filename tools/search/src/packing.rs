//! Fits what a survey found into a budget, section by section, and never more than the budget holds.

use std::rc::Rc;

use super::choice::{Pick, Place, by_relevance, choose, introductions, is_vague};
use super::evidence::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::excerpt::{Lines, Span, merge};
use super::map::{Language, definitions};
use super::named::NamedFile;
use super::reader::{Reader, Text, Unshown};
use super::render;
use super::survey::Survey;
use tree::RepoPath;

/// Files that speak to agents, in every directory on the way to what is named.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Places shown when a file is named, and when none is.
const PLACES_WITH_NAMED: usize = 8;
const PLACES: usize = 24;
/// Bytes of the excerpts, and of the map, beside a named file.
const SECTION_WITH_NAMED_BYTES: usize = 2400;

/// Files in the map that have to do with the request: with a file named, and with none.
const MAP_WITH_NAMED: usize = 20;
const MAP: usize = 40;
/// Files in the map that do not.
const OTHERS: usize = 20;
/// Files whose definitions are shown though nothing asks for them.
const OVERVIEW_DEFINITIONS: usize = 24;
const DEFINITIONS_PER_FILE: usize = 6;
/// A longer name is a generated one.
const MAX_DEFINITION_BYTES: usize = 60;

const MAX_OUTCOMES: usize = 3;
const MAX_OUTCOME_BYTES: usize = 200;

/// Evidence that is being put together.
pub(super) struct Packing<'a> {
    reader: Reader<'a>,
    survey: &'a Survey,
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
    pub(super) fn new(reader: Reader<'a>, survey: &'a Survey, tokens: usize) -> Packing<'a> {
        let total = tokens.saturating_mul(render::BYTES_PER_TOKEN);
        let evidence = Evidence {
            items: Vec::new(),
            map: Vec::new(),
            outcomes: Vec::new(),
            omitted: Vec::new(),
            files: survey.files.len(),
            truncated: survey.truncated,
        };
        Packing {
            reader,
            survey,
            total,
            left: total,
            shown: Vec::new(),
            whole: Vec::new(),
            evidence,
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

    /// The instructions from the root down to what is named, in at most a quarter of the budget.
    pub(super) fn instructions(&mut self) {
        let mut section = self.total / 4;
        let mut seen = Vec::new();
        let names = &self.survey.names;
        let directories = names.directories_of_all();
        let inside = directories.iter().map(|directory| format!("{directory}/"));
        for directory in std::iter::once(String::new()).chain(inside) {
            for name in INSTRUCTIONS {
                let Ok(path) = RepoPath::parse(&format!("{directory}{name}")) else { continue };
                let named = names.files.iter().any(|file| file.path == path);
                let Ok(text) = self.reader.text(&path) else { continue };
                if named || text.text.trim().is_empty() || seen.contains(&text.hash) {
                    continue;
                }
                seen.push(text.hash);
                let max_bytes = section.min(self.left);
                self.head(ItemKind::Instructions, &path, &text, max_bytes, &mut section);
            }
        }
    }

    /// The named files: whole while they fit; large ones share what small ones leave.
    pub(super) fn named(&mut self) {
        let mut wanted = Vec::new();
        for file in &self.survey.names.files {
            match self.reader.text(&file.path) {
                Ok(text) => {
                    let lines = Lines::of(&text.text);
                    let all = item(ItemKind::Named, &file.path, &text, &lines, lines.all());
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
            let lines = Lines::of(&text.text);
            let max_bytes = share.saturating_sub(overhead(&file.path, &text.text));
            let span = match file.line {
                Some(line) => lines.around(line, max_bytes),
                None => lines.head(max_bytes),
            };
            self.part(ItemKind::Named, &file.path, &text, span, &mut section);
        }
    }

    /// Definitions and uses of what the request talks about.
    pub(super) fn excerpts(&mut self) {
        let named = !self.survey.names.files.is_empty();
        let (most, mut section) = if named {
            (PLACES_WITH_NAMED, (self.total / 8).min(SECTION_WITH_NAMED_BYTES))
        } else {
            (PLACES, self.total / 3)
        };
        for Pick { path, places } in choose(self.survey, &self.whole, most) {
            let Ok(text) = self.reader.text(path) else { continue };
            let lines = Lines::of(&text.text);
            let span = |place: &Place| {
                if place.defines { lines.block(place.line) } else { lines.hit(place.line) }
            };
            let shown = self.shown.iter().find(|(known, _)| known == path).map(|(_, span)| *span);
            for span in merge(places.iter().map(span).collect(), shown) {
                let defines = places
                    .iter()
                    .any(|place| place.defines && (span.first..=span.last).contains(&place.line));
                let kind = if defines { ItemKind::Definition } else { ItemKind::Hit };
                self.push(item(kind, path, &text, &lines, span), &mut section);
            }
        }
    }

    /// What the project is, if the request says nothing more precise.
    pub(super) fn overview(&mut self) {
        let survey = self.survey;
        if !is_vague(survey) {
            return;
        }
        let mut section = self.total / 6;
        for (path, max_bytes) in introductions(survey) {
            let Ok(text) = self.reader.text(path) else { continue };
            let lines = Lines::of(&text.text);
            let max_bytes = max_bytes.min(section.saturating_sub(overhead(path, &text.text)));
            if let Some(span) = lines.head(max_bytes) {
                self.push(item(ItemKind::Overview, path, &text, &lines, span), &mut section);
            }
        }
    }

    /// The files that have to do with the request, and some that do not, in at most a sixth of the budget.
    pub(super) fn map(&mut self) {
        let survey = self.survey;
        let named = !survey.names.files.is_empty();
        let (most, max_bytes) =
            if named { (MAP_WITH_NAMED, SECTION_WITH_NAMED_BYTES) } else { (MAP, usize::MAX) };
        let mut section = (self.total / 6).min(max_bytes).min(self.left);
        let (relevant, others) = by_relevance(survey);
        let vague = is_vague(survey);
        let most_others = if vague { MAP } else { OTHERS };
        let mut with_definitions = if vague { OVERVIEW_DEFINITIONS } else { 0 };
        for file in relevant.into_iter().take(most) {
            let definitions = if self.whole.contains(&file.path) {
                Vec::new()
            } else {
                self.definitions(&file.path)
            };
            self.map_line(&file.path, definitions, &mut section);
        }
        for file in others.into_iter().take(most_others) {
            let definitions = if with_definitions > 0 && Language::of(&file.path).is_some() {
                with_definitions -= 1;
                self.definitions(&file.path)
            } else {
                Vec::new()
            };
            self.map_line(&file.path, definitions, &mut section);
        }
    }

    /// What became of earlier runs.
    pub(super) fn outcomes(&mut self, outcomes: &[String]) {
        for outcome in outcomes.iter().take(MAX_OUTCOMES) {
            let words: Vec<&str> = outcome.split_whitespace().collect();
            let mut line = words.join(" ");
            line.truncate(line.floor_char_boundary(MAX_OUTCOME_BYTES));
            if take_line(&mut self.left, self.evidence.outcomes.is_empty(), &line) {
                self.evidence.outcomes.push(line);
            }
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
        let lines = Lines::of(&text.text);
        let whole = item(kind, path, text, &lines, lines.all());
        let span = if render::item(&whole).len() <= max_bytes {
            Some(lines.all())
        } else {
            lines.head(max_bytes.saturating_sub(overhead(path, &text.text)))
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
        let lines = Lines::of(&text.text);
        let shown = span.filter(|span| self.push(item(kind, path, text, &lines, *span), section));
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

    fn definitions(&mut self, path: &RepoPath) -> Vec<String> {
        if Language::of(path).is_none() {
            return Vec::new();
        }
        let Ok(text) = self.reader.text(path) else { return Vec::new() };
        let definitions = definitions(path, &text.text, DEFINITIONS_PER_FILE).into_iter();
        let named =
            definitions.map(|definition| format!("{} {}", definition.kind, definition.name));
        named.filter(|text| text.len() <= MAX_DEFINITION_BYTES).collect()
    }
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

/// Bytes around the text of an item, at most.
fn overhead(path: &RepoPath, text: &str) -> usize {
    const HEAD_BYTES: usize = 128;
    path.as_str().len() + 2 * render::fence(text).len() + HEAD_BYTES
}

fn item(
    kind: ItemKind,
    path: &RepoPath,
    text: &Text,
    lines: &Lines<'_>,
    span: Span,
) -> EvidenceItem {
    EvidenceItem {
        kind,
        path: path.clone(),
        first_line: span.first,
        last_line: span.last,
        lines: lines.count(),
        hash: text.hash,
        text: lines.slice(span).to_owned(),
    }
}
