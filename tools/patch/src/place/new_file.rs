//! Computes the bytes of a new file from its hunks. Pure.

use crate::added::{self, FileHabits};
use crate::diff::hunk_lines::{self, HunkLine, Kind};
use crate::diff::lines::{Eol, Lines};
use crate::diff::sections::{Hunk, Reading};
use crate::place::rewrite::{Rewritten, repair};
use crate::plan::tolerance::{Tolerance, Tolerances};
use crate::refusal::reasons::{PatchMismatch, Reason};

/// Creates a file from `hunks`. The name is used in messages, and for its extension.
pub(crate) fn create(
    hunks: &[&Hunk<'_>],
    name: &str,
    allowed: Tolerances,
) -> Result<Rewritten, Vec<PatchMismatch>> {
    let mut made = Rewritten::default();
    for (index, hunk) in hunks.iter().enumerate() {
        let lines = Lines::of(&made.bytes);
        let follows = |lines: usize| {
            hunk.numbers.is_some_and(|numbers| numbers.old == 0 && numbers.new == lines + 1)
        };
        if index > 0 && (!follows(lines.len()) || lines.is_open()) {
            let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, name);
            return Err(vec![mismatch.note("Write a new file as one hunk.")]);
        }
        let tolerates = append(&mut made.bytes, hunk, name, allowed).map_err(|mismatch| {
            let (file, hunk) = (Some(name.to_owned()), Some(hunk.reference(index, hunks.len())));
            vec![PatchMismatch { file, hunk, ..*mismatch }]
        })?;
        made.repairs.extend(tolerates.map(|tolerance| repair(tolerance, hunk, index)));
    }
    Ok(made)
}

/// Adds the content of a hunk of a new file, and returns the tolerance used.
fn append(
    bytes: &mut Vec<u8>,
    hunk: &Hunk<'_>,
    name: &str,
    allowed: Tolerances,
) -> Result<Option<Tolerance>, Box<PatchMismatch>> {
    let is_usable = |Reading { body, tolerates }: &&Reading<'_>| {
        let end = body.last().map_or(0, |line| line.at);
        let mut tail = hunk.longest().iter().filter(|line| line.at > end);
        // Text after a blank line may be code that lost its markers, unless the header excludes it by its counts.
        let is_whole = !tail.any(HunkLine::is_bare) || hunk_lines::holds(body, hunk.numbers);
        tolerates.is_none_or(|needed| allowed.allow(needed))
            && !body.is_empty()
            && body.iter().all(|line| line.kind == Kind::Added)
            && is_whole
    };
    let Some(Reading { body, tolerates }) = hunk.readings.iter().find(is_usable) else {
        let is_empty = hunk.longest().is_empty();
        let reason = if is_empty { Reason::EmptyHunk } else { Reason::NewFileHasOldLines };
        return Err(PatchMismatch::answer(reason).into());
    };
    let habits = FileHabits::of(b"", name);
    let damage = added::found(&habits, body);
    if let Some(mismatch) = damage.or_else(|| added::found_throughout(&habits, &[body])) {
        return Err(mismatch.into());
    }
    if body.iter().rev().skip(1).any(|line| line.eol == Eol::None) {
        return Err(PatchMismatch::answer(Reason::EofMarkerNotAtEof).into());
    }
    bytes.extend(body.iter().flat_map(|line| [line.text, line.eol.as_bytes()]).flatten());
    Ok(*tolerates)
}
