//! Selects the lines of a text to show. Pure: lines are never cut, and nothing is read.

/// Minimum width of the line number, in digits.
const NUMBER_DIGITS: usize = 4;

/// Formats a line with its number in front. An empty one is `  15|`.
pub(super) fn numbered_line(number: usize, line: &str) -> String {
    let space = if line == "\n" { "" } else { " " };
    format!("{number:>NUMBER_DIGITS$}|{space}{line}")
}

/// Returns a code fence that is longer than any in `text`.
pub(super) fn fence_around(text: &str) -> String {
    let (mut longest, mut rest) = (0, text);
    while let Some(run) = rest.find('`').and_then(|start| rest.get(start..)) {
        rest = run.trim_start_matches('`');
        longest = longest.max(run.len() - rest.len());
    }
    "`".repeat(longest.max(2) + 1)
}

/// Returns the number of bytes that [`numbered`] puts in front of a line.
fn number_bytes(number: usize, line: &str) -> usize {
    let digits = number.checked_ilog10().unwrap_or_default() as usize + 1;
    digits.max(NUMBER_DIGITS) + 1 + usize::from(line != "\n")
}

/// Lines `first` to `last`, from 1, both inclusive. `last` is before `first` if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShownSpan {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A text with the positions of its lines.
#[derive(Debug)]
pub(super) struct ExcerptLines {
    text: String,
    /// The byte offset of each line, and the end of the text.
    starts: Vec<usize>,
    /// The bytes needed to show all lines before each line, and all lines.
    costs: Vec<usize>,
}

impl ExcerptLines {
    pub(super) fn of(text: &str) -> ExcerptLines {
        let (mut starts, mut costs) = (vec![0], vec![0]);
        let (mut start, mut cost) = (0, 0);
        for (line, number) in text.split_inclusive('\n').zip(1..) {
            start += line.len();
            cost += line.len() + number_bytes(number, line);
            starts.push(start);
            costs.push(cost);
        }
        ExcerptLines { text: text.to_owned(), starts, costs }
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the span of all lines.
    pub(super) fn all(&self) -> ShownSpan {
        ShownSpan { first: 1, last: self.count() }
    }

    /// Returns the lines with their line endings. Empty if the span is out of range.
    pub(super) fn slice(&self, span: ShownSpan) -> &str {
        let from = self.starts.get(span.first.saturating_sub(1));
        let to = self.starts.get(span.last);
        let range = from.zip(to).and_then(|(from, to)| self.text.get(*from..*to));
        range.unwrap_or_default()
    }

    /// Returns the bytes needed to show the lines.
    pub(super) fn cost(&self, span: ShownSpan) -> usize {
        let from = self.costs.get(span.first.saturating_sub(1));
        let to = self.costs.get(span.last);
        from.zip(to).and_then(|(from, to)| to.checked_sub(*from)).unwrap_or_default()
    }

    fn line_cost(&self, line: usize) -> usize {
        self.cost(ShownSpan { first: line, last: line })
    }

    /// Returns as many whole lines from the beginning as can be shown in `max_bytes`.
    pub(super) fn head(&self, max_bytes: usize) -> Option<ShownSpan> {
        self.from(1, max_bytes)
    }

    /// Returns as many whole lines starting at line `first` as can be shown in `max_bytes`.
    pub(super) fn from(&self, first: usize, max_bytes: usize) -> Option<ShownSpan> {
        let before = self.costs.get(first.saturating_sub(1))?;
        let last = self.costs.partition_point(|cost| *cost <= before.saturating_add(max_bytes)) - 1;
        (last >= first).then_some(ShownSpan { first, last })
    }

    /// Returns as many whole lines around `line` as can be shown in `max_bytes`.
    pub(super) fn around(&self, line: usize, max_bytes: usize) -> Option<ShownSpan> {
        let line = line.clamp(1, self.count().max(1));
        let mut span = ShownSpan { first: line, last: line };
        let mut left = max_bytes.checked_sub(self.line_cost(line))?;
        loop {
            let before = span;
            if span.first > 1
                && let Some(rest) = left.checked_sub(self.line_cost(span.first - 1))
            {
                (span.first, left) = (span.first - 1, rest);
            }
            if span.last < self.count()
                && let Some(rest) = left.checked_sub(self.line_cost(span.last + 1))
            {
                (span.last, left) = (span.last + 1, rest);
            }
            if span == before {
                return (self.count() > 0).then_some(span);
            }
        }
    }
}

/// Returns the parts of `span` that are not in `shown`.
pub(super) fn uncovered(span: ShownSpan, shown: &[ShownSpan]) -> Vec<ShownSpan> {
    shown.iter().fold(vec![span], |left, shown| {
        left.into_iter().flat_map(|span| outside(span, *shown)).collect()
    })
}

/// Returns the spans in order, with adjacent and overlapping ones merged.
pub(super) fn merge_spans(mut spans: Vec<ShownSpan>) -> Vec<ShownSpan> {
    spans.sort();
    let mut merged: Vec<ShownSpan> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.first <= last.last + 1 => last.last = last.last.max(span.last),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

/// Merges spans of a text between which there are only blank lines: these say where something can be added, and cost less than
/// another heading.
pub(super) fn merge_across_blanks(spans: Vec<ShownSpan>, text: &str) -> Vec<ShownSpan> {
    let lines: Vec<&str> = text.lines().collect();
    let are_blank = |between: std::ops::Range<usize>| {
        lines.get(between).is_some_and(|lines| lines.iter().all(|line| line.trim().is_empty()))
    };
    let mut merged: Vec<ShownSpan> = Vec::new();
    for span in merge_spans(spans) {
        match merged.last_mut() {
            Some(last) if are_blank(last.last..span.first - 1) => last.last = span.last,
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

/// Returns the parts of `span` before and after `shown`.
fn outside(span: ShownSpan, shown: ShownSpan) -> impl Iterator<Item = ShownSpan> {
    let before = ShownSpan { last: span.last.min(shown.first.saturating_sub(1)), ..span };
    let after = ShownSpan { first: span.first.max(shown.last + 1), ..span };
    [before, after].into_iter().filter(|span| span.first <= span.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: usize, last: usize) -> ShownSpan {
        ShownSpan { first, last }
    }

    #[test]
    fn lines_are_counted_as_editors_do() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\r\nb", 2)] {
            let lines = ExcerptLines::of(text);
            assert_eq!(lines.count(), count, "{text:?}");
            assert_eq!(lines.slice(lines.all()), text);
        }
        let lines = ExcerptLines::of("a\nb\nc");
        assert_eq!(lines.slice(span(2, 3)), "b\nc");
        assert_eq!(lines.slice(span(3, 9)), "");
    }

    #[test]
    fn spans_between_blank_lines_are_one() {
        let text = "def a():\n    pass\n\n  \ndef b():\n    pass\nx = 1\ndef c():\n    pass\n";
        let merged = |spans: &[ShownSpan]| merge_across_blanks(spans.to_vec(), text);
        assert_eq!(merged(&[span(5, 6), span(1, 2)]), [span(1, 6)]);
        assert_eq!(merged(&[span(5, 6), span(8, 9)]), [span(5, 6), span(8, 9)]);
        assert_eq!(merged(&[span(1, 5), span(4, 9)]), [span(1, 9)]);
        assert_eq!(merged(&[span(9, 20), span(30, 31)]), [span(9, 20), span(30, 31)]);
    }

    #[test]
    fn heads_and_context_are_whole_lines() {
        let lines = ExcerptLines::of("12\n45\n修\n");
        assert_eq!(lines.head(8), None);
        assert_eq!(lines.head(17), Some(span(1, 1)));
        assert_eq!(lines.head(99), Some(span(1, 3)));
        assert_eq!(lines.around(2, 8), None);
        assert_eq!(lines.around(2, 18), Some(span(1, 2)));
        assert_eq!(lines.around(2, 28), Some(span(1, 3)));
        assert_eq!(lines.around(99, 10), Some(span(3, 3)));
        assert_eq!(ExcerptLines::of("").around(1, 9), None);
        assert_eq!(ExcerptLines::of("").head(9), None);
    }

    #[test]
    fn spans_are_merged_and_shown_lines_subtracted() {
        assert_eq!(merge_spans(vec![span(8, 9), span(1, 3), span(4, 5)]), [span(1, 5), span(8, 9)]);
        let shown = [span(4, 5), span(8, 20)];
        assert_eq!(uncovered(span(1, 9), &shown), [span(1, 3), span(6, 7)]);
        assert!(uncovered(span(4, 5), &shown).is_empty());
    }

    #[test]
    fn the_cost_of_a_line_is_exact() {
        for number in [1, 9, 9999, 10_000, 123_456] {
            for line in ["", "\n", " \n", "a\n"] {
                let shown = numbered_line(number, line);
                assert_eq!(shown.len(), line.len() + number_bytes(number, line), "{shown:?}");
            }
        }
        assert_eq!(numbered_line(7, "\n"), "   7|\n");
    }

    proptest::proptest! {
        #[test]
        fn spans_stay_inside_any_text(text in "[a修 {}\n]{0,60}", line in 0usize..20, max in 0usize..90) {
            let lines = ExcerptLines::of(&text);
            for span in [lines.head(max), lines.around(line, max)].into_iter().flatten() {
                proptest::prop_assert!(span.first >= 1 && span.last <= lines.count());
                proptest::prop_assert!(lines.cost(span) <= max);
            }
        }
    }
}
