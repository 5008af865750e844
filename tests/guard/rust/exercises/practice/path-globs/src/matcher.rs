//! Compares globs and paths.

use crate::pattern::{Part, Segment};

/// Whether the segments match all names of a path.
pub(crate) fn path(segments: &[Segment], names: &[&str]) -> bool {
    match (segments.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((Segment::AnyDepth, [])), _) => true,
        (Some((Segment::AnyDepth, others)), Some((_, further))) => path(others, further) || path(segments, further),
        (Some((Segment::One(parts), others)), Some((first, further))) => {
            name(parts, first.as_bytes()) && path(others, further)
        }
        _ => false,
    }
}

/// Whether the parts match the whole name of a file or directory.
fn name(parts: &[Part], text: &[u8]) -> bool {
    let Some((part, others)) = parts.split_first() else {
        return text.is_empty();
    };
    if *part == Part::AnyText {
        return (0..=text.len()).any(|skipped| name(others, &text[skipped..]));
    }
    match text.split_first() {
        Some((first, further)) => one(part, char::from(*first)) && name(others, further),
        None => false,
    }
}

fn one(part: &Part, character: char) -> bool {
    match part {
        Part::Literal(literal) => *literal == character,
        Part::AnyChar => true,
        Part::AnyText => false,
        Part::Class { negated, ranges } => {
            ranges.iter().any(|&(low, high)| low <= character && character <= high) != *negated
        }
    }
}
