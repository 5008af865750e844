//! Chooses the lines of a file to show for a request: windows around matching lines, widened to whole definitions.
//! Pure.

use index::{Definition, RankedFile, WINDOW};
use tree::RepoPath;

use crate::excerpt::ShownSpan;
use crate::look::SymbolName;

/// A longer definition is not shown whole for the sake of a few lines, unless it is the only one around them.
const MAX_DEFINITION_LINES: u32 = 60;
/// Nor is a longer one than this.
const MAX_ONLY_DEFINITION_LINES: u32 = 150;
/// Lines of context before and after the matching lines of a window.
const CONTEXT: u32 = 3;
/// Lines with less than this fraction of the weight of the best line in their window do not widen it.
const MIN_WEIGHT: f64 = 0.25;

/// Lines worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorthSpan {
    /// All that belongs together, such as a function.
    pub(super) whole: ShownSpan,
    /// The lines next to the place itself.
    pub(super) near: ShownSpan,
}

/// Returns at most `most` spans worth showing, best first. They may overlap.
pub(super) fn best_spans(
    file: &RankedFile,
    definitions: &[Definition],
    count: usize,
    most: usize,
) -> Vec<ShownSpan> {
    let windows =
        file.windows.iter().take(most).map(|window| (window.first, window.first + WINDOW - 1));
    windows.map(|window| span(window, &file.lines, definitions, count)).collect()
}

/// Returns the lines worth showing, best first: around the matching lines of each window, the whole definition, and the
/// lines next to it for where that does not fit. They may overlap.
pub(super) fn whole_spans(
    file: &RankedFile,
    definitions: &[Definition],
    count: usize,
) -> Vec<WorthSpan> {
    let span = |lines| within(lines, count);
    let mut spans: Vec<WorthSpan> = Vec::new();
    for window in &file.windows {
        let mut lines = relevant(&file.lines, (window.first, window.first + WINDOW - 1));
        lines.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for (line, _) in lines {
            let near = next_to(line);
            let whole = whole(line, definitions).or_else(|| innermost(line, definitions));
            let worth = WorthSpan { whole: span(whole.unwrap_or(near)), near: span(near) };
            if !spans.iter().any(|it| it.whole == worth.whole) {
                spans.push(worth);
            }
        }
    }
    spans
}

/// Returns the definitions around these lines, or the lines next to those outside of any.
pub(super) fn around_lines(
    lines: &[usize],
    definitions: &[Definition],
    count: usize,
) -> Vec<ShownSpan> {
    let lines = lines.iter().filter_map(|line| u32::try_from(*line).ok());
    let spans = lines.map(|line| innermost(line, definitions).unwrap_or_else(|| next_to(line)));
    spans.map(|lines| within(lines, count)).collect()
}

/// Returns the spans of the definitions in a file with one of these names that contain no other such definition: of a class
/// and its method, the method. Of a qualified name, those of its owner if there are any.
pub(super) fn defined_whole(
    names: &[SymbolName],
    path: &RepoPath,
    definitions: &[Definition],
    count: usize,
) -> Vec<ShownSpan> {
    let named = names.iter().flat_map(|name| {
        let found = name.among(path, definitions);
        let is_known = found.iter().any(|(is_owned, _)| *is_owned);
        let found = found.into_iter().filter(move |(is_owned, _)| *is_owned == is_known);
        found.map(|(_, definition)| definition).collect::<Vec<_>>()
    });
    let named: Vec<&Definition> = named.collect();
    let holds = |outer: &Definition, inner: &Definition| {
        outer.first <= inner.first && inner.last <= outer.last && outer != inner
    };
    let inner = named.iter().filter(|outer| !named.iter().any(|inner| holds(outer, inner)));
    inner.map(|it| within((it.first, it.last), count)).collect()
}

/// Returns the name of the innermost definition around the best matching line of a file, with its kind and its lines.
pub(super) fn best_definition(file: &RankedFile, definitions: &[Definition]) -> Option<String> {
    let window = file.windows.first()?;
    let lines = relevant(&file.lines, (window.first, window.first + WINDOW - 1));
    let best = lines.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?.0;
    let innermost = around(best, definitions).min_by_key(|it| it.last - it.first)?;
    let Definition { kind, name, first, last, .. } = innermost;
    Some(format!("{kind} {name} {first}-{last}"))
}

/// Returns the spans of at most `most` definitions with one of these names. Long ones are cut.
pub(super) fn defined(
    names: &[SymbolName],
    definitions: &[Definition],
    count: usize,
    most: usize,
) -> Vec<ShownSpan> {
    let is_named = |it: &&Definition| names.iter().any(|name| name.bare == it.name);
    let named = definitions.iter().filter(|it| it.kind != "impl").filter(is_named);
    let cut =
        |it: &Definition| (it.first, it.last.min(it.first.saturating_add(MAX_DEFINITION_LINES)));
    named.map(|it| within(cut(it), count)).take(most).collect()
}

fn span(
    (first, last): (u32, u32),
    lines: &[(u32, f64)],
    definitions: &[Definition],
    count: usize,
) -> ShownSpan {
    let relevant = relevant(lines, (first, last));
    let from = relevant.first().map_or(first, |(line, _)| *line);
    let to = relevant.last().map_or(last, |(line, _)| *line);
    let start = whole(from, definitions).map_or(from.saturating_sub(CONTEXT), |(first, _)| first);
    let end = whole(to, definitions).map_or(to.saturating_add(CONTEXT), |(_, last)| last);
    within((start, end), count)
}

/// Returns the part of these lines that is in a file of `count` lines.
fn within((first, last): (u32, u32), count: usize) -> ShownSpan {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let number = |line: u32| line.clamp(1, count) as usize;
    ShownSpan { first: number(first), last: number(last) }
}

/// Returns the lines next to a line.
const fn next_to(line: u32) -> (u32, u32) {
    (line.saturating_sub(CONTEXT), line.saturating_add(CONTEXT))
}

/// Returns the definitions around a line.
fn around(line: u32, definitions: &[Definition]) -> impl Iterator<Item = &Definition> {
    definitions.iter().filter(move |it| (it.first..=it.last).contains(&line))
}

/// Returns the lines between `first` and `last` that are not much less relevant than the best one among them.
fn relevant(lines: &[(u32, f64)], (first, last): (u32, u32)) -> Vec<(u32, f64)> {
    let start = lines.partition_point(|(line, _)| *line < first);
    let end = lines.partition_point(|(line, _)| *line <= last);
    let inside = lines.get(start..end).unwrap_or_default();
    let best = inside.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    inside.iter().filter(|(_, weight)| *weight >= MIN_WEIGHT * best).copied().collect()
}

/// Returns the smallest definition around `line`, unless it is very long.
fn innermost(line: u32, definitions: &[Definition]) -> Option<(u32, u32)> {
    let around = around(line, definitions).map(|it| (it.first, it.last));
    let innermost = around.min_by_key(|(first, last)| last - first)?;
    (innermost.1 - innermost.0 < MAX_ONLY_DEFINITION_LINES).then_some(innermost)
}

/// Returns the largest definition around `line` that is small enough to be shown whole.
fn whole(line: u32, definitions: &[Definition]) -> Option<(u32, u32)> {
    let small = around(line, definitions)
        .map(|it| (it.first, it.last))
        .filter(|(f, l)| l - f < MAX_DEFINITION_LINES);
    small.max_by_key(|(first, last)| last - first)
}

#[cfg(test)]
mod tests {
    use index::{FileKind, Window};

    use super::*;

    fn file(firsts: &[u32], lines: &[(u32, f64)]) -> RankedFile {
        RankedFile {
            number: 0,
            path: RepoPath::parse("a.rs").unwrap(),
            kind: FileKind::Source,
            windows: firsts.iter().map(|first| Window { first: *first, score: 1.0 }).collect(),
            lines: lines.to_vec(),
        }
    }

    fn definition(name: &str, first: u32, last: u32, depth: u32) -> Definition {
        let name = name.to_owned();
        Definition { kind: "fn".to_owned(), name, first, line: first, last, depth }
    }

    #[test]
    fn a_window_is_cut_to_its_matching_lines() {
        let file = file(&[21], &[(20, 9.0), (22, 0.1), (30, 1.0), (33, 0.5), (61, 9.0)]);
        assert_eq!(best_spans(&file, &[], 100, 9), [ShownSpan { first: 27, last: 36 }]);
        assert_eq!(best_spans(&file, &[], 34, 9), [ShownSpan { first: 27, last: 34 }]);
    }

    #[test]
    fn a_window_is_widened_to_small_whole_definitions() {
        let lines = [(30, 1.0), (41, 1.0)];
        let definitions =
            [definition("all", 1, 99, 0), definition("a", 25, 35, 1), definition("b", 40, 55, 1)];
        assert_eq!(
            best_spans(&file(&[21], &lines), &definitions, 100, 9),
            [ShownSpan { first: 25, last: 55 }]
        );
    }

    #[test]
    fn a_named_definition_is_shown_from_its_beginning() {
        let definitions =
            [definition("all", 1, 999, 0), definition("a", 25, 35, 1), definition("b", 40, 55, 1)];
        let of = |names: &[&str]| {
            let names: Vec<SymbolName> =
                names.iter().filter_map(|name| SymbolName::of(name)).collect();
            let spans = defined(&names, &definitions, 990, 2);
            spans.iter().map(|span| (span.first, span.last)).collect::<Vec<_>>()
        };
        assert_eq!(of(&["b", "c"]), [(40, 55)]);
        assert_eq!(of(&["b", "a", "all"]), [(1, 61), (25, 35)]);
    }

    #[test]
    fn a_qualified_name_is_the_method_of_its_type() {
        let definitions = [
            definition("Cart", 1, 30, 0),
            definition("add", 5, 9, 1),
            definition("Order", 40, 70, 0),
            definition("add", 50, 59, 1),
        ];
        let of = |name: &str| {
            let names = [SymbolName::of(name).unwrap()];
            let path = RepoPath::parse("shop/lines.py").unwrap();
            let spans = defined_whole(&names, &path, &definitions, 70);
            spans.iter().map(|span| (span.first, span.last)).collect::<Vec<_>>()
        };
        assert_eq!(of("Order.add()"), [(50, 59)]);
        assert_eq!(of("Cart::add"), [(5, 9)]);
        assert_eq!(of("lines.add"), [(5, 9), (50, 59)]);
        assert_eq!(of("cart.add"), [(5, 9), (50, 59)], "its owner is not known");
        assert_eq!(of("Cart"), [(1, 30)]);
    }
}
