//! Decides which white space differences in old lines still leave the new lines correct. The place of the hunk is
//! already known.

use crate::diff::hunk_lines::{HunkLine, Kind, added_lines};
use crate::diff::lines::Line;
use crate::place::compare::{Tier, indentation, words_of};
use crate::refusal::reasons::Reason;

/// An old line of a hunk and the line of the file that it matched.
type Pair<'x> = (&'x HunkLine<'x>, Line<'x>);

/// Checks the differences that `tier` tolerated in old lines.
pub(crate) fn check(
    reading: &[HunkLine<'_>],
    matched: &[Pair<'_>],
    tier: Tier,
) -> Result<(), Reason> {
    if tier >= Tier::Space {
        check_indentation(reading, matched)?;
    }
    let is_fixed = |pair: &Pair<'_>| pair.0.kind != Kind::Removed || is_sound(reading, pair);
    if tier < Tier::Gaps || matched.iter().all(is_fixed) {
        Ok(())
    } else {
        Err(Reason::HunkNotFound)
    }
}

/// Checks tolerated differences in the indentation of context: they must be tabs for spaces throughout, or every new
/// line must replace one that is indented as in the file. Added lines must not repeat the wrong indentation.
fn check_indentation(reading: &[HunkLine<'_>], matched: &[Pair<'_>]) -> Result<(), Reason> {
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    for (line, file) in matched.iter().filter(|(line, _)| !line.is_blank()) {
        let found = indentation(file.text);
        let said = if indentation(line.raw) == found { found } else { indentation(line.text) };
        pairs.push((said, found));
    }
    let is_retabbed = |tab| pairs.iter().all(|(said, found)| width(said, tab) == width(found, tab));
    let may_differ = || only_replaces(reading) && is_shifted(matched);
    if !((1..=8).any(is_retabbed) || may_differ()) {
        return Err(Reason::IndentMismatch);
    }
    let wrong: Vec<u8> = pairs
        .iter()
        .filter(|(said, found)| said.first() != found.first())
        .filter_map(|(said, _)| said.first().copied())
        .collect();
    let mut added = added_lines(reading).filter(|line| !line.is_blank());
    if added.any(|line| line.text.first().is_some_and(|byte| wrong.contains(byte))) {
        return Err(Reason::IndentStyleMismatch);
    }
    Ok(())
}

/// Returns true if all context is shifted by the same number of columns: in a block that moved, a line with another
/// shift is a different line.
fn is_shifted(matched: &[Pair<'_>]) -> bool {
    let is_context = |(line, _): &&Pair<'_>| line.kind == Kind::Context && !line.is_blank();
    let context = || matched.iter().filter(is_context);
    (1..=8).any(|tab| {
        let indented = |text| width(indentation(text), tab).cast_signed();
        let mut shifts = context().map(|(line, file)| indented(line.text) - indented(file.text));
        let first = shifts.next();
        shifts.all(|shift| Some(shift) == first)
    })
}

/// Returns true if all added lines are next to a removed line. Those are indented as in the file, whatever the context
/// looks like.
fn only_replaces(reading: &[HunkLine<'_>]) -> bool {
    let replaces = |run: &[HunkLine<'_>]| {
        let mut removed = run.iter().filter(|line| line.kind == Kind::Removed);
        removed.any(|line| !line.is_blank())
    };
    let mut runs = reading.split(|line| line.kind == Kind::Context);
    runs.all(|run| added_lines(run).next().is_none() || replaces(run))
}

/// Returns true if a removed line differs from the file only in spaces between words, not inside what may be a string,
/// and not in what the hunk changes.
fn is_sound(reading: &[HunkLine<'_>], (line, file): &Pair<'_>) -> bool {
    if line.text.trim_ascii_end() == file.text.trim_ascii_end() {
        return true;
    }
    let pieces =
        |text| <[u8]>::chunk_by(text, |a, b| a.is_ascii_whitespace() == b.is_ascii_whitespace());
    let [said, found] = [line.text, file.text].map(|text| pieces(text.trim_ascii()));
    let mut in_string = false;
    let mut pairs = said.zip(found);
    pairs.all(|(said, found)| {
        in_string |= found.iter().any(|byte| b"\"'`".contains(byte));
        let is_spaces = |gap: &[u8]| gap.iter().all(|byte| *byte == b' ');
        said == found || !in_string && is_spaces(said) && is_spaces(found)
    }) && !added_lines(reading).any(|new| words_of(new.text).eq(words_of(line.text)))
}

/// Returns the width of an indentation with tabs of `tab` columns.
fn width(indentation: &[u8], tab: usize) -> usize {
    indentation.iter().map(|byte| if *byte == b'\t' { tab } else { 1 }).sum()
}
