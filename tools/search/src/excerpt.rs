//! Which lines of a text to show. Pure: lines are never cut, and nothing is read.

/// Lines shown before and after a hit.
const CONTEXT: usize = 2;
/// Most lines of a definition.
const MAX_BLOCK_LINES: usize = 40;
/// Most lines of attributes and documentation before it.
const MAX_LEAD_LINES: usize = 4;

/// Lines `first` to `last`, from 1, both included; `last` is before `first` when there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A text and where its lines begin.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    /// The byte at which each line begins, and the end of the text.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Lines<'a> {
        let mut starts = vec![0];
        for line in text.split_inclusive('\n') {
            starts.push(starts.last().copied().unwrap_or_default() + line.len());
        }
        Lines { text, starts }
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// All of them.
    pub(super) fn all(&self) -> Span {
        Span { first: 1, last: self.count() }
    }

    /// The lines with their ends; empty where there are none.
    pub(super) fn slice(&self, span: Span) -> &'a str {
        let from = self.starts.get(span.first.saturating_sub(1));
        let to = self.starts.get(span.last);
        let range = from.zip(to).and_then(|(from, to)| self.text.get(*from..*to));
        range.unwrap_or_default()
    }

    fn line(&self, line: usize) -> &'a str {
        self.slice(Span { first: line, last: line })
    }

    /// As many whole lines from the first one as are at most `max_bytes`.
    pub(super) fn head(&self, max_bytes: usize) -> Option<Span> {
        let last = self.starts.partition_point(|start| *start <= max_bytes) - 1;
        (last > 0).then_some(Span { first: 1, last })
    }

    /// As many whole lines around `line` as are at most `max_bytes`.
    pub(super) fn around(&self, line: usize, max_bytes: usize) -> Option<Span> {
        let line = line.clamp(1, self.count().max(1));
        let mut span = Span { first: line, last: line };
        let mut left = max_bytes.checked_sub(self.line(line).len())?;
        loop {
            let before = span;
            if span.first > 1
                && let Some(rest) = left.checked_sub(self.line(span.first - 1).len())
            {
                (span.first, left) = (span.first - 1, rest);
            }
            if span.last < self.count()
                && let Some(rest) = left.checked_sub(self.line(span.last + 1).len())
            {
                (span.last, left) = (span.last + 1, rest);
            }
            if span == before {
                return (self.count() > 0).then_some(span);
            }
        }
    }

    /// `line` with some context.
    pub(super) fn hit(&self, line: usize) -> Span {
        let last = line.saturating_add(CONTEXT).min(self.count());
        Span { first: line.saturating_sub(CONTEXT).max(1), last }
    }

    /// The definition that begins on `line`, as far as its indentation shows, with what leads to it.
    pub(super) fn block(&self, line: usize) -> Span {
        let base = indent(self.line(line));
        let mut last = line.min(self.count());
        for next in line + 1..=self.count().min(line.saturating_add(MAX_BLOCK_LINES - 1)) {
            let text = self.line(next);
            let word = text.trim();
            if word.is_empty() {
                continue;
            }
            if indent(text) <= base {
                if word.starts_with('}') || word == "end" {
                    last = next;
                    break;
                }
                // The signature goes on.
                if !word.starts_with([')', ']', '{']) && !word.starts_with("where") {
                    break;
                }
            }
            last = next;
        }
        let leads = (line.saturating_sub(MAX_LEAD_LINES).max(1)..line).rev();
        let first = leads.take_while(|lead| is_lead(self.line(*lead))).last().unwrap_or(line);
        Span { first, last }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_lead(line: &str) -> bool {
    ["#[", "///", "@"].iter().any(|lead| line.trim_start().starts_with(lead))
}

/// Spans in order, with those that touch or overlap made one, and without what lies in `shown`.
pub(super) fn merge(mut spans: Vec<Span>, shown: Option<Span>) -> Vec<Span> {
    spans.sort();
    let mut merged: Vec<Span> = Vec::new();
    for span in spans.into_iter().flat_map(|span| outside(span, shown)) {
        match merged.last_mut() {
            Some(last) if span.first <= last.last + 1 => last.last = last.last.max(span.last),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

/// What of `span` is before and after `shown`.
fn outside(span: Span, shown: Option<Span>) -> impl Iterator<Item = Span> {
    let (before, after) = match shown {
        None => (span, None),
        Some(shown) => (
            Span { last: span.last.min(shown.first.saturating_sub(1)), ..span },
            Some(Span { first: span.first.max(shown.last + 1), ..span }),
        ),
    };
    [Some(before), after].into_iter().flatten().filter(|span| span.first <= span.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: usize, last: usize) -> Span {
        Span { first, last }
    }

    #[test]
    fn lines_are_counted_as_editors_do() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\r\nb", 2)] {
            let lines = Lines::of(text);
            assert_eq!(lines.count(), count, "{text:?}");
            assert_eq!(lines.slice(lines.all()), text);
        }
        let lines = Lines::of("a\nb\nc");
        assert_eq!(lines.slice(span(2, 3)), "b\nc");
        assert_eq!(lines.slice(span(3, 9)), "");
    }

    #[test]
    fn heads_and_surroundings_are_whole_lines() {
        let lines = Lines::of("12\n45\n修\n");
        assert_eq!(lines.head(2), None);
        assert_eq!(lines.head(5), Some(span(1, 1)));
        assert_eq!(lines.head(99), Some(span(1, 3)));
        assert_eq!(lines.around(2, 2), None);
        assert_eq!(lines.around(2, 6), Some(span(1, 2)));
        assert_eq!(lines.around(2, 10), Some(span(1, 3)));
        assert_eq!(lines.around(99, 4), Some(span(3, 3)));
        assert_eq!(Lines::of("").around(1, 9), None);
        assert_eq!(Lines::of("").head(9), None);
    }

    #[test]
    fn a_definition_ends_where_its_indentation_does() {
        let rust = "x\n/// Doc.\n#[a]\nfn a(\n    b: u8,\n) {\n    c();\n\n}\n\nfn d() {}\n";
        assert_eq!(Lines::of(rust).block(4), span(2, 9));
        let python = "def a():\n    b()\n\n\ndef c(): ...\n";
        assert_eq!(Lines::of(python).block(1), span(1, 2));
        assert_eq!(Lines::of("def a\n  b\nend\nc\n").block(1), span(1, 3));
        let long = format!("fn a() {{\n{}}}\n", "    b();\n".repeat(100));
        assert_eq!(Lines::of(&long).block(1), span(1, MAX_BLOCK_LINES));
    }

    #[test]
    fn spans_are_merged_and_kept_apart_from_what_is_shown() {
        assert_eq!(merge(vec![span(8, 9), span(1, 3), span(4, 5)], None), [span(1, 5), span(8, 9)]);
        assert_eq!(merge(vec![span(1, 9)], Some(span(4, 5))), [span(1, 3), span(6, 9)]);
        assert!(merge(vec![span(4, 5)], Some(span(1, 5))).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn stays_inside_any_text(text in "[a修 {}\n]{0,60}", line in 0usize..20, max in 0usize..50) {
            let lines = Lines::of(&text);
            for span in [lines.head(max), lines.around(line, max)].into_iter().flatten() {
                proptest::prop_assert!(span.first >= 1 && span.last <= lines.count());
                proptest::prop_assert!(lines.slice(span).len() <= max);
            }
            for span in [lines.hit(line), lines.block(line)] {
                proptest::prop_assert!(span.last <= lines.count());
                lines.slice(span);
            }
        }
    }
}
