//! Removes line numbers that were copied into a hunk along with the lines after them. Pure.

use crate::diff::gutter;
use crate::diff::headers::Numbers;
use crate::diff::hunk_lines::{self, HunkLine, Kind};
use crate::diff::sections::{Hunk, Reading};
use crate::place::compare::Tier;
use crate::place::locate::Image;

/// Returns the hunk without its line numbers, at the place that they state; `None` if one of them may be content.
///
/// Every old line must carry the number that it has in the file, and the header must not name another place that
/// matches. Either no added line carries a number, or all of them do (blank ones aside): continuing from the lines
/// before them, in their column, and in a file that has no such lines of its own. `shift` is the number of lines by
/// which earlier hunks have moved new line numbers.
pub(crate) fn without_numbers<'a>(
    image: &Image<'_>,
    hunk: &Hunk<'a>,
    shift: isize,
) -> Option<Hunk<'a>> {
    hunk.readings.iter().find_map(|reading| {
        let first = reading.body.iter().find(|line| line.is_old())?;
        let (first, _) = gutter::read(first.text)?;
        let body = bare(image, &reading.body, first, shift)?;
        let old = hunk_lines::old_lines(&body);
        let fits = |line: usize| image.fits(&old, line.saturating_sub(1), Tier::Trailing);
        let contradicts = |numbers: Numbers| numbers.old != first && fits(numbers.old);
        if !fits(first) || hunk.numbers.is_some_and(contradicts) {
            return None;
        }
        let (old_count, new_count) = hunk_lines::counts(&body);
        let new = first.checked_add_signed(shift)?;
        Some(Hunk {
            numbers: Some(Numbers { old: first, old_count, new, new_count }),
            readings: vec![Reading { body, tolerates: reading.tolerates }],
            ..*hunk
        })
    })
}

/// Returns the lines of `body` without their numbers; the first old one must be `first`.
fn bare<'a>(
    image: &Image<'_>,
    body: &[HunkLine<'a>],
    first: usize,
    shift: isize,
) -> Option<Vec<HunkLine<'a>>> {
    let is_added = |line: &&HunkLine<'_>| line.kind == Kind::Added;
    let added_carry = body.iter().filter(is_added).any(|line| gutter::read(line.text).is_some());
    if added_carry && image.lines.from(0).any(|line| gutter::read(line.text).is_some()) {
        return None;
    }
    let bar = |line: &HunkLine<'_>| line.text.iter().position(|byte| *byte == b'|');
    let bars: Vec<usize> = hunk_lines::old_lines(body).into_iter().filter_map(bar).collect();
    // A context line may have one space less: copied as it was shown, it used that space for its marker.
    let is_aligned = |at: usize| bars.iter().any(|old| at == *old || at == old + 1);
    let mut count = Count { old: first, new: first.checked_add_signed(shift)?, block: first };
    let mut expected: Option<[usize; 2]> = None;
    let mut lines = Vec::with_capacity(body.len());
    for line in body {
        let found = gutter::read(line.text);
        let (number, rest) = match (line.kind, found) {
            (Kind::Added, None) if !added_carry || line.is_blank() => {
                // A blank line may have been counted or not.
                expected = expected.map(|[least, most]| [least, most.saturating_add(1)]);
                count.pass(line.kind);
                lines.push(*line);
                continue;
            }
            (_, None) => return None,
            (_, Some(found)) => found,
        };
        let is_right = match line.kind {
            Kind::Context | Kind::Removed => number == count.old,
            Kind::Added if !bar(line).is_some_and(is_aligned) => false,
            Kind::Added => match expected {
                Some([least, most]) => (least..=most).contains(&number),
                None => count.may_begin(number),
            },
        };
        if !is_right {
            return None;
        }
        let next = number.saturating_add(1);
        expected = (line.kind == Kind::Added).then_some([next, next]);
        count.pass(line.kind);
        let text = rest.strip_prefix(b" ").unwrap_or(rest);
        lines.push(HunkLine { text, raw: rest, ..*line });
    }
    Some(lines)
}

/// The line numbers at a position in a hunk.
struct Count {
    /// The number of the next old line.
    old: usize,
    /// The number of the next new line.
    new: usize,
    /// The number of the first line of the current change.
    block: usize,
}

impl Count {
    fn pass(&mut self, kind: Kind) {
        self.old = self.old.saturating_add(usize::from(kind != Kind::Added));
        self.new = self.new.saturating_add(usize::from(kind != Kind::Removed));
        if kind == Kind::Context {
            self.block = self.old;
        }
    }

    /// Returns true if added lines may be numbered from `number` on: by their new numbers, by those of the lines they
    /// replace, or continuing from those.
    fn may_begin(&self, number: usize) -> bool {
        [self.new, self.block, self.old].contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::hunk_lines::read_all;

    const FILE: &str = "one\ntwo\n\nfour\nfive\n";

    /// Returns `body` without numbers.
    fn bare_of(file: &str, body: &str, shift: isize) -> Option<String> {
        let lines: Vec<&[u8]> = body.lines().map(str::as_bytes).collect();
        let readings = vec![Reading { body: read_all(&lines, 1), tolerates: None }];
        let hunk = Hunk { header: b"@@", at: 1, numbers: None, readings };
        let bare = without_numbers(&Image::of(file.as_bytes()), &hunk, shift)?;
        let line = |line: &HunkLine<'_>| {
            let marker = match line.kind {
                Kind::Context => " ",
                Kind::Removed => "-",
                Kind::Added => "+",
            };
            format!("{marker}{}\n", String::from_utf8_lossy(line.text))
        };
        Some(bare.readings[0].body.iter().map(line).collect())
    }

    #[test]
    fn correct_numbers_are_removed() {
        let plain = " two\n \n-four\n+4\n+and\n five\n";
        for body in [
            "    2| two\n    3|\n-   4| four\n+4\n+and\n    5| five",
            "    2| two\n    3|\n-   4| four\n+   4| 4\n+   5| and\n    5| five",
            "   2| two\n   3|\n-  4| four\n+  5| 4\n+  6| and\n   5| five",
        ] {
            assert_eq!(bare_of(FILE, body, 0).as_deref(), Some(plain), "{body}");
        }
        let shifted = "    2| two\n+  12| a\n+  13| b\n+\n+  14| c";
        assert_eq!(bare_of(FILE, shifted, 9).unwrap(), " two\n+a\n+b\n+\n+c\n");
    }

    #[test]
    fn numbers_that_may_be_content_stay() {
        for body in [
            "    2| two\n-   5| four\n+4",
            "    3| two\n-   4| four\n+4",
            "    2| two\n \n-   4| four\n+4",
            " two\n-   4| four\n+4",
            "    4| four\n+   9| a",
            "    4| four\n+   5| a\n+   7| b",
            "    4| four\n+   5| a\n+b",
            "    4| flour\n+   5| a",
            "+   1| a\n+   2| b",
        ] {
            assert_eq!(bare_of(FILE, body, 0), None, "{body}");
        }
        let listing = "a\n   7| b\n";
        assert_eq!(bare_of(listing, "    1| a\n+   2| x", 0), None);
        assert_eq!(bare_of(listing, "    1| a\n+x", 0).as_deref(), Some(" a\n+x\n"));
    }
}
