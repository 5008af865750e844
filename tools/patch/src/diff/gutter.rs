//! Lines with line numbers, as files are shown to models. This is the only place that writes and reads the format.

use std::fmt::Write as _;

/// The minimum width of a number, in columns.
const COLUMNS: usize = 4;

/// Returns the lines of `text`, each after its number: `  14| let x = 1;`. The first is line `first` of its file.
///
/// Numbers are aligned to the right; an empty line is `  15|`.
pub fn numbered(text: &str, first: usize) -> String {
    let lines = text.split_inclusive('\n');
    let last = first.saturating_add(lines.clone().count().saturating_sub(1));
    let columns = COLUMNS.max(last.to_string().len());
    let mut shown = String::with_capacity(text.len() + text.len() / 4);
    for (number, line) in (first..).zip(lines) {
        let space = if line == "\n" { "" } else { " " };
        write!(shown, "{number:>columns$}|{space}{line}").unwrap_or_default();
    }
    shown
}

/// Returns the number before a line, and what follows the bar: nothing, or a space and the line.
pub(crate) fn read(line: &[u8]) -> Option<(usize, &[u8])> {
    let line = line.trim_ascii_start();
    let (number, rest) = line.split_at_checked(line.iter().position(|byte| *byte == b'|')?)?;
    let rest = rest.get(1..)?;
    let is_number = number.first().is_some_and(|digit| (b'1'..=b'9').contains(digit))
        && number.iter().all(u8::is_ascii_digit);
    let is_line = rest.is_empty() || rest.starts_with(b" ");
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    (is_number && is_line).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_right_aligned() {
        assert_eq!(numbered("a\n\n  b\n", 9), "   9| a\n  10|\n  11|   b\n");
        assert_eq!(numbered("a\nb", 9_999), " 9999| a\n10000| b");
        assert_eq!(numbered("", 1), "");
        assert_eq!(numbered("\n \n", 1), "   1|\n   2|  \n");
    }

    #[test]
    fn text_that_is_not_exactly_a_line_number_is_rejected() {
        for line in ["x| a", "12 | a", "12|a", "012| a", "| a", "-3| a", "12", "| 12 | a |", ""] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn numbered_lines_can_be_read_back(lines in proptest::collection::vec("[ -~ä]{0,9}", 0..20), first in 1_usize..20_000, ended: bool) {
            let text = lines.join("\n") + if ended { "\n" } else { "" };
            let shown = numbered(&text, first);
            prop_assert_eq!(shown.lines().count(), text.lines().count());
            for (at, (shown, line)) in shown.lines().zip(text.lines()).enumerate() {
                let (number, rest) = read(shown.as_bytes()).unwrap();
                prop_assert_eq!(number, first + at);
                prop_assert_eq!(rest.strip_prefix(b" ").unwrap_or(rest), line.as_bytes());
            }
        }
    }
}
