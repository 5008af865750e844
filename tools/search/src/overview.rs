//! Selects the informative lines at the beginning of a README: no logos, badges or markup. Pure.

use super::excerpt::{ExcerptLines, ShownSpan, merge_spans};

/// Returns the first informative lines, in at most `bytes`.
pub(super) fn overview(lines: &ExcerptLines, bytes: usize) -> Vec<ShownSpan> {
    let mut reading = Reading::default();
    let (mut spans, mut left, mut was_blank) = (Vec::new(), bytes, true);
    for (line, at) in lines.text().lines().zip(1..) {
        let is_blank = line.trim().is_empty();
        if !reading.is_informative(line) || is_blank && was_blank {
            continue;
        }
        let span = ShownSpan { first: at, last: at };
        let Some(rest) = left.checked_sub(lines.cost(span)) else { break };
        (left, was_blank) = (rest, is_blank);
        spans.push(span);
    }
    merge_spans(spans)
}

/// The state of reading a README.
#[derive(Default)]
struct Reading {
    in_code: bool,
    in_tag: bool,
}

impl Reading {
    /// Returns true unless a line only draws something. Blank lines count as informative, because they separate
    /// paragraphs.
    fn is_informative(&mut self, line: &str) -> bool {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            self.in_code = !self.in_code;
            return true;
        }
        if self.in_code || line.is_empty() {
            return true;
        }
        if self.in_tag {
            self.in_tag = !line.contains('>');
            return false;
        }
        let is_tag = line.starts_with('<')
            && line.get(1..).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_alphabetic() || "/!".contains(c))
            });
        self.in_tag = is_tag && !line.contains('>');
        let is_drawn = is_tag || line.starts_with("![") || line.starts_with("[![");
        !is_drawn || outside_brackets(line).any(char::is_alphanumeric)
    }
}

/// Returns the characters of a line outside brackets: not part of tags, links or pictures.
fn outside_brackets(line: &str) -> impl Iterator<Item = char> {
    let mut depth = 0_usize;
    line.chars().filter(move |c| {
        match c {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, bytes: usize) -> String {
        let lines = ExcerptLines::of(text);
        overview(&lines, bytes).into_iter().map(|span| lines.slice(span)).collect()
    }

    #[test]
    fn logos_and_badges_are_left_out() {
        let text = "<p align=\"center\">\n  <img src=\"logo.svg\"\n       width=\"200\">\n</p>\n\n<h1 align=\"center\">Lister</h1>\n\n[![Build](https://x/b.svg)](https://x) ![Licence](https://x/l.svg)\n[![Docs][docs]][link]\n<!-- sponsors -->\n\nLists files, `Vec<Path>` first.\n\n```html\n<p>\n```\n[Guide](guide.md)\n";
        let kept = "<h1 align=\"center\">Lister</h1>\n\nLists files, `Vec<Path>` first.\n\n```html\n<p>\n```\n[Guide](guide.md)\n";
        assert_eq!(shown(text, 1000), kept);
        assert_eq!(shown("<3 lists\n\n\n<https://x.org>\nmore\n", 1000), "<3 lists\n\nmore\n");
    }

    #[test]
    fn as_many_lines_as_fit_are_shown() {
        assert_eq!(shown("# A\n\nb\nc\n", 19), "# A\n\n");
        assert_eq!(shown("", 9), "");
        assert_eq!(shown("<img\n", 99), "");
    }

    proptest::proptest! {
        #[test]
        fn spans_are_sorted_and_fit(text in "[<>\\[\\]!()a` \n]{0,60}", bytes in 0usize..90) {
            let lines = ExcerptLines::of(&text);
            let spans = overview(&lines, bytes);
            proptest::prop_assert!(spans.is_sorted());
            proptest::prop_assert!(spans.iter().map(|span| lines.cost(*span)).sum::<usize>() <= bytes);
        }
    }
}
