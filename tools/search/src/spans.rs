//! Chooses the lines of a file to show for a request: windows around matching lines, widened to whole definitions.
//! Pure.

use index::{Definition, RankedFile, WINDOW};

use crate::excerpt::ShownSpan;

/// A longer definition is not shown whole for the sake of a few lines.
const MAX_DEFINITION_LINES: u32 = 60;
/// Lines of context before and after the matching lines of a window.
const CONTEXT: u32 = 3;
/// Lines with less than this fraction of the weight of the best line in their window do not widen it.
const MIN_WEIGHT: f64 = 0.25;

/// Returns at most `most` spans worth showing, best first. They may overlap.
pub(super) fn best_spans(
    file: &RankedFile,
    definitions: &[Definition],
    count: usize,
    most: usize,
) -> Vec<ShownSpan> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let windows =
        file.windows.iter().take(most).map(|window| (window.first, window.first + WINDOW - 1));
    windows.map(|window| span(window, &file.lines, definitions, count)).collect()
}

/// Returns the spans of at most `most` definitions with one of these names. Long ones are cut.
pub(super) fn defined(
    names: &[String],
    definitions: &[Definition],
    count: usize,
    most: usize,
) -> Vec<ShownSpan> {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let number = |line: u32| line.clamp(1, count) as usize;
    let named = definitions.iter().filter(|it| it.kind != "impl" && names.contains(&it.name));
    let spans = named.map(|it| ShownSpan {
        first: number(it.first),
        last: number(it.last.min(it.first.saturating_add(MAX_DEFINITION_LINES))),
    });
    spans.take(most).collect()
}

fn span(
    (first, last): (u32, u32),
    lines: &[(u32, f64)],
    definitions: &[Definition],
    count: u32,
) -> ShownSpan {
    let start = lines.partition_point(|(line, _)| *line < first);
    let end = lines.partition_point(|(line, _)| *line <= last);
    let inside = || lines.get(start..end).unwrap_or_default().iter();
    let best = inside().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let relevant =
        || inside().filter(|(_, weight)| *weight >= MIN_WEIGHT * best).map(|(line, _)| *line);
    let (from, to) = (relevant().next().unwrap_or(first), relevant().next_back().unwrap_or(last));
    let start = whole(from, definitions).map_or(from.saturating_sub(CONTEXT), |(first, _)| first);
    let end = whole(to, definitions).map_or(to.saturating_add(CONTEXT), |(_, last)| last);
    let number = |line: u32| line.clamp(1, count.max(1)) as usize;
    ShownSpan { first: number(start), last: number(end) }
}

/// Returns the largest definition around `line` that is small enough to be shown whole.
fn whole(line: u32, definitions: &[Definition]) -> Option<(u32, u32)> {
    let around = definitions.iter().filter(|d| (d.first..=d.last).contains(&line));
    let small = around.map(|d| (d.first, d.last)).filter(|(f, l)| l - f < MAX_DEFINITION_LINES);
    small.max_by_key(|(first, last)| last - first)
}

/// Returns the main definitions of a file, as shown in a map: the outermost `most`, in line order.
pub(super) fn main_definitions(definitions: &[Definition], most: usize) -> Vec<&Definition> {
    let mut main: Vec<&Definition> = definitions.iter().filter(|d| d.kind != "impl").collect();
    main.sort_by_key(|definition| (definition.depth, definition.line));
    main.truncate(most);
    main.sort_by_key(|definition| definition.line);
    main
}

#[cfg(test)]
mod tests {
    use index::{FileKind, Window};
    use tree::RepoPath;

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
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let spans = defined(&names, &definitions, 990, 2);
            spans.iter().map(|span| (span.first, span.last)).collect::<Vec<_>>()
        };
        assert_eq!(of(&["b", "c"]), [(40, 55)]);
        assert_eq!(of(&["b", "a", "all"]), [(1, 61), (25, 35)]);
    }

    #[test]
    fn the_outermost_definitions_are_the_main_ones() {
        let definitions =
            [definition("a", 1, 9, 0), definition("b", 2, 3, 1), definition("c", 10, 12, 0)];
        let names = main_definitions(&definitions, 2);
        assert_eq!(names.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    }
}
